package suite

import (
	"time"

	"termio/bench/internal/kid"
	"termio/bench/internal/peer"
)

// keys are what is typed: letters that no escape sequence of a redraw ends in, so that
// an echo can be told from one.
const keys = "vwxyz"

// echoIdle measures E1: from a key typed into an attached client until it shows there, in
// microseconds, median and 99th percentile of a trial; nothing else happens. The reader
// is a terminal with nothing in between.
func (s *Suite) echoIdle() error { return s.echo("E1", nil) }

// echoChatter measures E2: the same while fifty other sessions of the same program
// write a hundred bytes a hundred times a second each.
func (s *Suite) echoChatter() error {
	return s.echo("E2", func(p peer.Peer) (func(), error) { return s.beside(p, 50, kid.Order{Do: kid.Chatter}) })
}

// echoFlood measures E3: the same while one other session writes as fast as it can.
func (s *Suite) echoFlood() error {
	return s.echo("E3", func(p peer.Peer) (func(), error) {
		return s.beside(p, 1, kid.Order{Do: kid.Flood, File: s.loads["agent"]})
	})
}

// beside makes other sessions that do something meanwhile.
func (s *Suite) beside(p peer.Peer, n int, o kid.Order) (end func(), err error) {
	var ends []func()
	end = func() {
		for _, f := range ends {
			f()
		}
	}
	for range n {
		k, f, err := s.session(p, s.name())
		if err != nil {
			return end, err
		}
		ends = append(ends, f)
		if _, err := k.Do(o); err != nil {
			return end, err
		}
	}
	return end, nil
}

// echo plays the rounds of one of the three.
func (s *Suite) echo(figure string, company func(peer.Peer) (func(), error)) error {
	turns := []turn{}
	if company == nil {
		turns = append(turns, turn{"reader", func(r *readings) error {
			t, err := peer.Open(s.world.Command(s.Bench, "kid"))
			if err != nil {
				return err
			}
			defer t.Close()
			k, err := s.kids.Accept()
			if err != nil {
				return err
			}
			defer k.Close()
			return s.typeKeys(r, figure, t, k)
		}})
	}
	for _, p := range s.peers {
		turns = append(turns, turn{p.Name(), func(r *readings) error {
			return s.withKid(p, func(name string, k *kid.Kid) error {
				t, err := attached(p, name, k)
				if err != nil {
					return err
				}
				defer t.Close()
				if company != nil {
					end, err := company(p)
					defer end()
					if err != nil {
						return err
					}
				}
				return s.typeKeys(r, figure, t, k)
			})
		}})
	}
	s.play(s.rounds(11, 5), turns...)
	return nil
}

// typeKeys types with small pauses, as a fast typist does at most.
func (s *Suite) typeKeys(r *readings, figure string, t *peer.Terminal, k *kid.Kid) error {
	n := 400
	if s.Quick {
		n = 150
	}
	if _, err := k.Do(kid.Order{Do: kid.Echo}); err != nil {
		return err
	}
	took := make([]time.Duration, 0, n)
	for i := range n {
		time.Sleep(time.Millisecond + time.Duration(s.random.IntN(2000))*time.Microsecond)
		d, err := t.Key(keys[i%len(keys)])
		if err != nil {
			return err
		}
		took = append(took, d)
	}
	r.micros(figure+".p50", middle(took))
	r.micros(figure+".p99", nearly(took))
	return nil
}
