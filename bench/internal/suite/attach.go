package suite

import (
	"context"
	"fmt"
	"time"

	"termio/bench/internal/kid"
	"termio/bench/internal/machine"
	"termio/bench/internal/payload"
	"termio/bench/internal/peer"
	"termio/internal/client"
)

// fill writes a history of so many coloured lines into a session, and the mark below it.
func (s *Suite) fill(p peer.Peer, name string, k *kid.Kid) error {
	if err := fit(p, name, k); err != nil {
		return err
	}
	_, err := k.Do(kid.Order{Do: kid.Drain, File: s.loads["ansi"], Query: p.Asks()})
	return err
}

// attach measures A1: from the start of the command line that attaches until it has
// drawn the last of the screen, in milliseconds, with a full history behind it; A2, how
// many bytes it draws until then; and A3, how long reading the screen takes, by a call
// of the command line and over the socket.
func (s *Suite) attach() error {
	var turns []turn
	for _, p := range s.peers {
		if !p.Asks() { // it has no screen to draw
			continue
		}
		name := s.name()
		k, end, err := s.session(p, name)
		if err != nil {
			return err
		}
		defer end()
		if err := s.fill(p, name, k); err != nil {
			return fmt.Errorf("%s: %w", p.Name(), err)
		}
		turns = append(turns, turn{p.Name(), func(r *readings) error { return s.attachOnce(r, p, name) }})
	}
	s.play(s.rounds(21, 7), turns...)
	return nil
}

// attachOnce is one trial.
func (s *Suite) attachOnce(r *readings, p peer.Peer, name string) error {
	began := time.Now()
	t, err := peer.Open(p.Attach(name))
	if err != nil {
		return err
	}
	defer t.Close()
	if err := t.Until(payload.Mark); err != nil {
		return err
	}
	r.millis("A1", time.Since(began))
	if err := t.Quiet(100 * time.Millisecond); err != nil {
		return err
	}
	r.set("A2", float64(t.Bytes))
	t.Close()
	return s.readScreen(r, p, name)
}

// readScreen measures A3 at the programs that can print a screen.
func (s *Suite) readScreen(r *readings, p peer.Peer, name string) error {
	switch p {
	case peer.Peer(s.tmux):
		d, err := repeated(starts, func() error { _, err := s.tmux.Screen(name); return err })
		if err != nil {
			return err
		}
		r.millis("A3.call", d)
		r.millis("A3.socket", d)
	case peer.Peer(s.termio):
		d, err := repeated(starts, func() error { _, err := s.termio.ReadCalled(name); return err })
		if err != nil {
			return err
		}
		r.millis("A3.call", d)
		d, err = repeated(starts, func() error {
			_, err := s.termio.Client().Read(context.Background(), s.termio.Link(name), client.ReadOptions{})
			return err
		})
		if err != nil {
			return err
		}
		r.millis("A3.socket", d)
	}
	return nil
}

// history measures M2: what a session costs its server whose history is full of
// coloured lines, in MiB, the mean of ten.
func (s *Suite) history() error {
	const sessions = 10
	var turns []turn
	for _, p := range s.peers {
		if !p.Asks() {
			continue
		}
		turns = append(turns, turn{p.Name(), func(r *readings) error { return s.historyOf(r, p, sessions) }})
	}
	s.play(s.rounds(3, 1), turns...)
	return nil
}

func (s *Suite) historyOf(r *readings, p peer.Peer, sessions int) error {
	// A server that has had such sessions before keeps their memory for the next ones.
	if err := p.Stop(); err != nil && !gone(err) {
		return err
	}
	if err := p.Start(); err != nil {
		return err
	}
	servers := map[int]bool{}
	memory := func() (sum int64, err error) {
		for pid := range servers {
			m, err := machine.Memory(pid)
			if err != nil {
				return 0, err
			}
			sum += m
		}
		return sum, nil
	}
	// A server that is there before its sessions has memory of its own.
	if pids, err := p.Servers(0); err == nil && len(pids) > 0 && pids[0] != 0 {
		for _, pid := range pids {
			servers[pid] = true
		}
	}
	before, err := memory()
	if err != nil {
		return err
	}
	for range sessions {
		name := s.name()
		k, end, err := s.session(p, name)
		if err != nil {
			return err
		}
		defer end()
		if err := s.fill(p, name, k); err != nil {
			return err
		}
		pids, err := p.Servers(k.Parent)
		if err != nil {
			return err
		}
		for _, pid := range pids {
			servers[pid] = true
		}
	}
	time.Sleep(2 * time.Second)
	after, err := memory()
	r.set("M2", float64(after-before)/float64(sessions)/(1<<20))
	return err
}
