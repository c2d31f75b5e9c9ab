package suite

import (
	"time"

	"termio/bench/internal/peer"
)

// create measures C1: from the call of the command line that makes a session until it
// has returned and the session's program runs, in milliseconds; and C2, the same over
// the socket from a program that is there already, beside a terminal and a process
// started by hand.
func (s *Suite) create() error {
	var turns []turn
	for _, p := range s.peers {
		turns = append(turns, turn{p.Name(), func(r *readings) error {
			d, name, err := s.created(func(name string) error { return p.Create(name, peer.Idle) })
			if err != nil {
				return err
			}
			r.millis("C1", d)
			if p == peer.Peer(s.tmux) { // it has no other way
				r.millis("C2", d)
			}
			return p.Close(name)
		}})
	}
	turns = append(turns,
		turn{"termio socket", func(r *readings) error {
			d, name, err := s.created(func(name string) error { return s.termio.CreateCalled(name, peer.Idle) })
			if err != nil {
				return err
			}
			r.millis("C2", d)
			return s.termio.Close(name)
		}},
		turn{"floor", func(r *readings) error {
			var t *peer.Terminal
			d, _, err := s.created(func(string) (err error) {
				t, err = peer.Open(s.world.IdleCommand())
				return err
			})
			if t != nil {
				t.Close()
			}
			if err != nil {
				return err
			}
			r.millis("C2", d)
			return nil
		}})
	s.play(s.rounds(25, 9), turns...)
	return nil
}

// created makes a session with an idle program and tells how long it took until both
// the call had returned and the program ran.
func (s *Suite) created(make func(name string) error) (took time.Duration, name string, err error) {
	runs, cancel, err := s.world.Idling()
	if err != nil {
		return 0, "", err
	}
	name = s.name()
	began := time.Now()
	if err := make(name); err != nil {
		cancel()
		return 0, name, err
	}
	returned := time.Now()
	ran, err := runs()
	if ran.Before(returned) {
		ran = returned
	}
	return ran.Sub(began), name, err
}

// createCold measures C3: the same where nothing runs yet, in milliseconds; the daemon
// is started by the call.
func (s *Suite) createCold() error {
	cold := func(p peer.Peer) turn {
		return turn{p.Name(), func(r *readings) error {
			if err := p.Stop(); err != nil && !gone(err) {
				return err
			}
			d, _, err := s.created(func(name string) error { return p.Create(name, peer.Idle) })
			r.millis("C3", d)
			return err
		}}
	}
	turns := []turn{cold(s.termio)}
	if s.tmux != nil {
		turns = append(turns, cold(s.tmux))
	}
	s.play(s.rounds(11, 3), turns...)
	return nil
}
