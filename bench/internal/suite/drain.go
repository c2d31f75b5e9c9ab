package suite

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"termio/bench/internal/kid"
	"termio/bench/internal/machine"
	"termio/bench/internal/payload"
	"termio/bench/internal/peer"
)

// drainFigures are D1 to D4 by payload.
var drainFigures = map[string]string{"plain": "D1", "ansi": "D2", "unicode": "D3", "agent": "D4"}

// drains measures D1 to D4 and D6: how fast a session without a client takes what its
// program writes, in MiB/s, from the first write until the terminal has answered a query
// that stands behind the last one (without a screen: until the last write is through);
// and what the servers use of the processor for it, in seconds per GiB. termio's screen
// is then compared with tmux's, row by row: a fast screen that is wrong counts as a
// failure.
func (s *Suite) drains() error {
	for _, kind := range payload.Kinds {
		if !s.wanted(drainFigures[kind], "D6."+kind) {
			continue
		}
		screens := map[string]string{}
		turns := []turn{{"reader", func(r *readings) error { return s.drainReader(r, kind) }}}
		for _, p := range s.peers {
			turns = append(turns, turn{p.Name(), func(r *readings) error {
				return s.withKid(p, func(name string, k *kid.Kid) error { return s.drain(r, p, name, k, kind, screens) })
			}})
		}
		s.play(s.rounds(9, 5), turns...)
		if ours, theirs := screens["termio"], screens["tmux"]; theirs != "" && ours != theirs {
			s.Wrong = append(s.Wrong, fmt.Sprintf("after the payload %s termio's screen is not tmux's: %s", kind, difference(ours, theirs)))
		}
	}
	return nil
}

// drain is one trial.
func (s *Suite) drain(r *readings, p peer.Peer, name string, k *kid.Kid, kind string, screens map[string]string) error {
	if err := fit(p, name, k); err != nil {
		return err
	}
	servers, err := p.Servers(k.Parent)
	if err != nil {
		return err
	}
	before, err := machine.CPU(servers...)
	if err != nil {
		return err
	}
	a, err := k.Do(kid.Order{Do: kid.Drain, File: s.loads[kind], Query: p.Asks()})
	if err != nil {
		return err
	}
	after, err := machine.CPU(servers...)
	if err != nil {
		return err
	}
	if err := s.rate(r, drainFigures[kind], kind, a.Ended-a.Began); err != nil {
		return err
	}
	size, err := s.size(kind)
	if err != nil {
		return err
	}
	r.set("D6."+kind, (after-before).Seconds()/size*1024)
	screen, err := p.Screen(name)
	if errors.Is(err, peer.ErrNoScreen) {
		return nil
	}
	screens[p.Name()] = normal(screen)
	return err
}

// size is a payload's size in MiB.
func (s *Suite) size(kind string) (float64, error) {
	fi, err := os.Stat(s.loads[kind])
	if err != nil {
		return 0, err
	}
	return float64(fi.Size()) / (1 << 20), nil
}

// rate notes how fast a payload went through, in MiB/s.
func (s *Suite) rate(r *readings, figure, kind string, took time.Duration) error {
	size, err := s.size(kind)
	if err != nil {
		return err
	}
	r.set(figure, size/took.Seconds())
	return nil
}

// drainReader is the floor: a terminal whose reader throws everything away.
func (s *Suite) drainReader(r *readings, kind string) error {
	t, err := peer.Open(s.world.Command(s.Bench, "kid"))
	if err != nil {
		return err
	}
	defer t.Close()
	stop := t.Drain()
	defer stop()
	k, err := s.kids.Accept()
	if err != nil {
		return err
	}
	defer k.Close()
	a, err := k.Do(kid.Order{Do: kid.Drain, File: s.loads[kind]})
	if err != nil {
		return err
	}
	return s.rate(r, drainFigures[kind], kind, a.Ended-a.Began)
}

// attachedDrains measures D5: the same with a client that shows the session and throws
// away what it draws, in MiB/s, from the first write until the client has been drawn
// the end mark.
func (s *Suite) attachedDrains() error {
	for _, kind := range []string{"plain", "ansi", "agent"} {
		figure := "D5." + kind
		if !s.wanted(figure) {
			continue
		}
		var turns []turn
		for _, p := range s.peers {
			turns = append(turns, turn{p.Name(), func(r *readings) error {
				return s.withKid(p, func(name string, k *kid.Kid) error {
					t, err := attached(p, name, k)
					if err != nil {
						return err
					}
					defer t.Close()
					if err := k.Order(kid.Order{Do: kid.Drain, File: s.loads[kind]}); err != nil {
						return err
					}
					if err := t.Until(payload.Mark); err != nil {
						return err
					}
					ended := machine.Now()
					a, err := k.Answered()
					if err != nil {
						return err
					}
					return s.rate(r, figure, kind, ended-a.Began)
				})
			}})
		}
		s.play(s.rounds(9, 3), turns...)
	}
	return nil
}

// normal is a screen's text without what programs print differently: blanks at the end
// of lines and empty lines at the end of the screen.
func normal(screen string) string {
	lines := strings.Split(screen, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

// difference is the first line in which two screens differ.
func difference(ours, theirs string) string {
	a, b := strings.Split(ours, "\n"), strings.Split(theirs, "\n")
	for i := range max(len(a), len(b)) {
		var x, y string
		if i < len(a) {
			x = a[i]
		}
		if i < len(b) {
			y = b[i]
		}
		if x != y {
			return fmt.Sprintf("line %d is %q, not %q", i+1, x, y)
		}
	}
	return "no line differs"
}
