package suite

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"time"

	"termio/bench/internal/kid"
	"termio/bench/internal/peer"
)

// event is what a hook gets on standard input: the event before a tool is used, as
// coding agents send it, 1 KB with the tool's input.
const event = `{"session_id":"2f6c1f0e-6a52-4a8e-9a3b-5b0f8d3c7e11","transcript_path":"/home/ada/.agent/projects/-home-ada-shop/2f6c1f0e.jsonl",` +
	`"cwd":"/home/ada/shop","permission_mode":"default","hook_event_name":"PreToolUse","tool_name":"Edit","tool_input":{"file_path":` +
	`"/home/ada/shop/internal/cart/cart.go","old_string":"func (c *Cart) Total() int {\n\tsum := 0\n\tfor _, item := range c.items {\n` +
	`\t\tsum += item.Price * item.Count\n\t}\n\treturn sum\n}","new_string":"// Total is the price of everything in the cart, in cents, ` +
	`after the discount.\nfunc (c *Cart) Total() int {\n\tsum := 0\n\tfor _, item := range c.items {\n\t\tsum += item.Price * item.Count\n` +
	`\t}\n\tif c.discount > 0 {\n\t\tsum -= sum * c.discount / 100\n\t}\n\treturn max(sum, 0)\n}","replace_all":false},` +
	`"tool_use_id":"toolu_01QZ5V6m3k9cX1Yt8r2LwAbC","background_tasks":[],"prompt":"The discount is not applied. Find out why, mend it and add a test that fails without it."}`

// repeated does something short several times and gives the median of what it took, so
// that a turn's reading is not one roll of the dice.
func repeated(n int, do func() error) (time.Duration, error) {
	took := make([]time.Duration, n)
	for i := range took {
		began := time.Now()
		if err := do(); err != nil {
			return 0, err
		}
		took[i] = time.Since(began)
	}
	return middle(took), nil
}

// starts is how often a command line is started in a turn.
const starts = 5

// start measures L3: what a call of the command line costs before it does anything, in
// milliseconds: termio version, tmux -V, and a Go program that does nothing.
func (s *Suite) start() error {
	turns := []turn{
		{"termio", s.starting(func() *exec.Cmd { return s.termio.Command("version") }, "L3")},
		{"bare", s.starting(func() *exec.Cmd { return s.world.Command(s.Bare) }, "L3")},
	}
	if s.tmux != nil {
		turns = append(turns, turn{"tmux", s.starting(func() *exec.Cmd { return s.world.Command("tmux", "-V") }, "L3")})
	}
	s.play(s.rounds(25, 9), turns...)
	return nil
}

// starting is a turn that measures a command line, in milliseconds, for figures.
func (s *Suite) starting(cmd func() *exec.Cmd, figures ...string) func(*readings) error {
	return func(r *readings) error {
		d, err := repeated(starts, func() error { return cmd().Run() })
		if err != nil {
			return err
		}
		for _, f := range figures {
			r.millis(f, d)
		}
		return nil
	}
}

// hook measures H1: what an agent pays for a hook, in milliseconds, from the start of
// the shell that runs the line until its end has been seen: termio's own line, a Go
// program that posts the same JSON in the same way, tmux set-option, and an empty
// line. All run in one of termio's sessions, as a hook does.
func (s *Suite) hook() error {
	return s.withKid(s.termio, func(name string, k *kid.Kid) error {
		line := func(words string) func(*readings) error {
			return func(r *readings) error {
				a, err := k.Do(kid.Order{Do: kid.Exec, Argv: []string{"/bin/sh", "-c", words}, Stdin: event, Times: starts})
				if err != nil {
					return err
				}
				r.millis("H1", middle(a.Took))
				return nil
			}
		}
		guarded := func(program, args string) string {
			return fmt.Sprintf("[ ! -x '%s' ] || exec '%s' %s", program, program, args)
		}
		turns := []turn{
			{"termio", line(guarded(s.termio.Paths().StableExe, "agent report working --event PreToolUse"))},
			{"post", line(guarded(s.Post, ""))},
			{"sh", line(":")},
		}
		if s.tmux != nil {
			idle := s.name()
			if err := s.tmux.Create(idle, peer.Idle); err != nil {
				return err
			}
			socket := filepath.Join(s.world.Dir, "tmux.sock")
			turns = append(turns, turn{"tmux", line(fmt.Sprintf("exec tmux -S '%s' set-option -t =%s: @status working", socket, idle))})
		}
		s.play(s.rounds(41, 15), turns...)
		return nil
	})
}
