package suite

import (
	"context"
	"fmt"
	"os/exec"
	"time"

	"termio/bench/internal/machine"
	"termio/bench/internal/peer"
	"termio/internal/client"
)

// crowd measures at 1, 100 and 1000 sessions that do nothing (quick: 1 and 100): L1, what
// listing them takes by a call of the command line, in milliseconds; L2, over the
// socket; M1, what the servers hold of memory, in MiB; M3, what they use of the
// processor and how often they wake up in a while in which nothing happens, and how
// many threads they have. And C4: what making one of the sessions from the hundred and
// first to the last took, on average, in milliseconds.
func (s *Suite) crowd() error {
	sizes := []int{1, 100, 1000}
	if s.Quick {
		sizes = sizes[:2]
	}
	many := []peer.Peer{s.termio}
	if s.tmux != nil {
		many = append(many, s.tmux)
	}
	have := 0
	for _, size := range sizes {
		for _, p := range many {
			began := time.Now()
			for range size - have {
				if _, _, err := s.created(func(name string) error { return p.Create(name, peer.Idle) }); err != nil {
					return fmt.Errorf("%s: %w", p.Name(), err)
				}
			}
			if size > 100 {
				s.note("C4", p.Name(), time.Since(began).Seconds()*1000/float64(size-have))
			}
		}
		have = size
		s.list(size)
		if size > 1 {
			if err := s.idle(many, size); err != nil {
				return err
			}
		}
	}
	return nil
}

// list plays the rounds of L1 and L2.
func (s *Suite) list(size int) {
	figure := fmt.Sprintf("L1.%d", size)
	if !s.wanted(figure, "L2") {
		return
	}
	called := fmt.Sprintf("L2.%d", size)
	turns := []turn{
		{"bare", s.starting(func() *exec.Cmd { return s.world.Command(s.Bare) }, figure)},
		{"termio", s.starting(s.termio.List, figure)},
		{"termio socket", func(r *readings) error {
			d, err := repeated(starts, func() error {
				_, err := s.termio.Client().List(context.Background(), client.ListOptions{})
				return err
			})
			r.millis(called, d)
			return err
		}},
	}
	if s.tmux != nil { // its list is read by a call of the command line in any case
		turns = append(turns, turn{"tmux", s.starting(s.tmux.List, figure, called)})
	}
	s.play(s.rounds(21, 9), turns...)
}

// idle takes the readings of M1 and M3.
func (s *Suite) idle(many []peer.Peer, size int) error {
	if !s.wanted("M1", "M3") {
		return nil
	}
	settle, window := 15*time.Second, 10*time.Second
	if s.Quick {
		settle, window = 3*time.Second, 5*time.Second
	}
	time.Sleep(settle)
	type reading struct {
		pids    []int
		cpu     time.Duration
		wakeups int64
	}
	take := func(p peer.Peer) (r reading, err error) {
		if r.pids, err = p.Servers(0); err != nil {
			return r, err
		}
		if r.cpu, err = machine.CPU(r.pids...); err != nil {
			return r, err
		}
		r.wakeups, err = machine.Wakeups(r.pids...)
		return r, err
	}
	before := map[string]reading{}
	for _, p := range many {
		r, err := take(p)
		if err != nil {
			return err
		}
		before[p.Name()] = r
	}
	time.Sleep(window)
	for _, p := range many {
		r, err := take(p)
		if err != nil {
			return err
		}
		was := before[p.Name()]
		s.note(fmt.Sprintf("M3.cpu.%d", size), p.Name(), (r.cpu-was.cpu).Seconds()*1000/window.Seconds())
		s.note(fmt.Sprintf("M3.wakeups.%d", size), p.Name(), float64(r.wakeups-was.wakeups)/window.Seconds())
		threads, err := machine.Threads(r.pids...)
		if err != nil {
			return err
		}
		s.note(fmt.Sprintf("M3.threads.%d", size), p.Name(), float64(threads))
		memory, err := machine.Memory(r.pids...)
		if err != nil {
			return err
		}
		s.note(fmt.Sprintf("M1.%d", size), p.Name(), float64(memory)/(1<<20))
	}
	return nil
}
