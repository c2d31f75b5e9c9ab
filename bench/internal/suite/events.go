package suite

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"os/exec"
	"strings"
	"sync"
	"time"

	"termio/bench/internal/kid"
	"termio/bench/internal/machine"
)

// watchers are watches over termio's events, read line by line as tmux's are; each event
// that all of them have got is told once, with the time of the last.
type watchers struct {
	conns []net.Conn
	all   sync.WaitGroup
	each  chan time.Duration
	n     int
	ended chan struct{}
}

// watching starts n watches.
func (s *Suite) watching(n int) (*watchers, error) {
	w := &watchers{each: make(chan time.Duration, 4*n), n: n, ended: make(chan struct{})}
	ready := make(chan struct{}, n)
	for range n {
		conn, err := net.Dial("unix", s.termio.Paths().Socket)
		if err == nil {
			w.conns = append(w.conns, conn)
			_, err = io.WriteString(conn, "GET /v1/watch?all=1&state=working,needs-you,done,idle HTTP/1.1\r\nHost: termio\r\n\r\n")
		}
		if err != nil {
			w.close()
			return nil, fmt.Errorf("begin a watch: %w", err)
		}
		w.all.Go(func() { w.read(conn, ready) })
	}
	timeout := time.After(kid.Patience)
	for range n {
		select {
		case <-ready:
		case <-timeout:
			w.close()
			return nil, fmt.Errorf("the watches did not begin")
		}
	}
	return w, nil
}

// read tells of the events of one watch. The line of the session that is there already says
// that the watch stands.
func (w *watchers) read(conn net.Conn, ready chan<- struct{}) {
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		switch line := lines.Bytes(); {
		case !bytes.HasPrefix(line, []byte("{")): // head, or frame of a piece
		case bytes.Contains(line, []byte(`"snapshot":true`)):
			select {
			case ready <- struct{}{}:
			default:
			}
		default:
			select {
			case w.each <- machine.Now():
			case <-w.ended:
				return
			}
		}
	}
}

func (w *watchers) close() {
	close(w.ended)
	for _, conn := range w.conns {
		_ = conn.Close()
	}
	w.all.Wait()
}

// last waits for an event at all watchers and tells when the last had it.
func (w *watchers) last() (time.Duration, error) {
	var at time.Duration
	timeout := time.After(kid.Patience)
	for range w.n {
		select {
		case t := <-w.each:
			at = max(at, t)
		case <-timeout:
			return 0, fmt.Errorf("an event did not reach all watchers")
		}
	}
	return at, nil
}

// events measures V1: from a report on the socket until a watcher has its line, in
// microseconds; V2: until the last of a hundred has; and V3: from the start of a hook's
// shell until a watcher has its line, in milliseconds. Beside it, what a client of tmux
// in control mode waits for a line of a session's output, which is the fastest word that
// tmux has.
func (s *Suite) events() error {
	return s.withKid(s.termio, func(_ string, k *kid.Kid) error {
		one, err := s.watching(1)
		if err != nil {
			return err
		}
		turns := []turn{{"termio", func(r *readings) error { return s.reports(r, k, one) }}}
		if s.tmux != nil {
			t, end, err := s.controlled()
			if err != nil {
				one.close()
				return err
			}
			defer end()
			turns = append(turns, t)
		}
		s.play(s.rounds(11, 5), turns...)
		one.close()
		if !s.wanted("V2") {
			return nil
		}
		many, err := s.watching(100)
		if err != nil {
			return err
		}
		defer many.close()
		s.play(s.rounds(11, 5), turn{"termio", func(r *readings) error {
			took, err := s.posts(k, many, kid.Order{Do: kid.Post})
			if err != nil {
				return err
			}
			r.micros("V2", middle(took))
			return nil
		}})
		return nil
	})
}

// posts has a session report over and over, in changing states, and tells how long each
// took to all watchers.
func (s *Suite) posts(k *kid.Kid, w *watchers, o kid.Order) ([]time.Duration, error) {
	n := 60
	if s.Quick {
		n = 20
	}
	var took []time.Duration
	for range n {
		// Each report changes the state: the first, too, for nothing begins in need of attention.
		if o.Text = "attention"; s.reported == o.Text {
			o.Text = "working"
		}
		s.reported = o.Text
		if o.Do == kid.Exec {
			o.Argv = []string{"/bin/sh", "-c", fmt.Sprintf("exec '%s' agent report %s --event %s", s.termio.Paths().StableExe, o.Text, o.Text)}
		}
		a, err := k.Do(o)
		if err != nil {
			return nil, err
		}
		at, err := w.last()
		if err != nil {
			return nil, err
		}
		took = append(took, at-a.Began)
	}
	return took, nil
}

// reports is a turn of V1 and V3.
func (s *Suite) reports(r *readings, k *kid.Kid, w *watchers) error {
	took, err := s.posts(k, w, kid.Order{Do: kid.Post})
	if err != nil {
		return err
	}
	r.micros("V1.p50", middle(took))
	r.micros("V1.p99", nearly(took))
	if took, err = s.posts(k, w, kid.Order{Do: kid.Exec, Stdin: "{}", Times: 1}); err != nil {
		return err
	}
	r.millis("V3", middle(took))
	return nil
}

// controlled is the turn of tmux in control mode.
func (s *Suite) controlled() (t turn, end func(), err error) {
	name := s.name()
	k, hangUp, err := s.session(s.tmux, name)
	if err != nil {
		return t, nil, err
	}
	lines, stop, err := piped(s.tmux.Control(name))
	if err != nil {
		hangUp()
		return t, nil, err
	}
	end = func() {
		stop()
		hangUp()
	}
	t = turn{"tmux", func(r *readings) error {
		var took []time.Duration
		for i := range 20 {
			word := fmt.Sprintf("word-%d-", i)
			a, err := k.Do(kid.Order{Do: kid.Put, Text: word})
			if err != nil {
				return err
			}
			timeout := time.After(kid.Patience)
			for found := false; !found; {
				select {
				case l := <-lines:
					if found = strings.HasPrefix(l.text, "%output") && strings.Contains(l.text, word); found {
						took = append(took, l.at-a.Began)
					}
				case <-timeout:
					return fmt.Errorf("tmux did not tell of what was written")
				}
			}
		}
		r.micros("V1.p50", middle(took))
		r.micros("V1.p99", nearly(took))
		return nil
	}}
	return t, end, nil
}

// A line is what a command wrote, and when it was read.
type line struct {
	text string
	at   time.Duration
}

// piped runs a command and gives its lines. stop ends its input, and so the command.
func piped(cmd *exec.Cmd) (lines <-chan line, stop func(), err error) {
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	ch := make(chan line, 1024)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for sc := bufio.NewScanner(out); sc.Scan(); {
			select {
			case ch <- line{sc.Text(), machine.Now()}:
			default: // nobody waits for it
			}
		}
		_, _ = io.Copy(io.Discard, out)
	}()
	return ch, func() {
		_ = in.Close()
		<-done
		_ = cmd.Wait()
	}, nil
}
