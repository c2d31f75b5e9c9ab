package keeper

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"termio/internal/pty"
)

// stage is a terminal without a keeper: the test starts what runs on it.
type stage struct {
	t      *testing.T
	master int // as the keeper holds it
	term   *Terminal
	got    []byte
}

func newStage(t *testing.T) *stage {
	t.Helper()
	master, err := pty.Open(pty.Size{Cols: 80, Rows: 24})
	if err != nil {
		t.Fatal(err)
	}
	mine, err := unix.FcntlInt(uintptr(master), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		t.Fatal(err)
	}
	ring, err := newRing(0)
	if err != nil {
		t.Fatal(err)
	}
	term, _, err := newTerminal(sessionRecord{ID: "a"}, mine, ring, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{t: t, master: master, term: term}
	t.Cleanup(func() { unix.Close(master) })
	return s
}

// start starts a script and takes its status when it ends.
func (s *stage) start(script string) chan syscall.WaitStatus {
	s.t.Helper()
	p, err := pty.Start(s.master, pty.Command{
		Argv: []string{"sh", "-c", script}, Env: []string{"PATH=" + os.Getenv("PATH")}, Dir: "/",
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.term.restart(p)
	status, done := make(chan syscall.WaitStatus, 1), make(chan struct{})
	go func() {
		defer close(done)
		var ws syscall.WaitStatus
		if _, err := syscall.Wait4(p.PID, &ws, 0, nil); err == nil {
			status <- ws
		}
	}()
	s.t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if err := pty.End(ctx, 0, p); err != nil {
			s.t.Error(err)
		}
		<-done
	})
	return status
}

// until reads until text has come.
func (s *stage) until(text string) {
	s.t.Helper()
	timeout := time.AfterFunc(patience, s.term.Drain)
	defer timeout.Stop()
	for !bytes.Contains(s.got, []byte(text)) {
		p, seq, err := s.term.Read()
		if err != nil {
			s.t.Fatalf("waiting for %q, got %q: %v", text, s.got, err)
		}
		if want := s.term.Ring().Head() - uint64(len(p)); seq != want {
			s.t.Fatalf("%d bytes at %d, want at %d", len(p), seq, want)
		}
		s.got = append(s.got, p...)
	}
	_, s.got, _ = bytes.Cut(s.got, []byte(text))
}

// eof reads until the terminal's other end is closed.
func (s *stage) eof() {
	s.t.Helper()
	timeout := time.AfterFunc(patience, s.term.Drain)
	defer timeout.Stop()
	for {
		_, _, err := s.term.Read()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			s.t.Fatal(err)
		}
	}
}

// The shell that takes an ended agent's place goes on where that one stopped.
func TestTerminalServesOneProgramAfterAnother(t *testing.T) {
	s := newStage(t)
	defer s.term.Close()
	s.start("echo first")
	s.until("first\r\n")
	s.eof()
	s.term.Drain()
	if _, _, err := s.term.Read(); !errors.Is(err, ErrDrained) {
		t.Errorf("the end was said again: %v", err)
	}
	s.term.restart(s.term.Proc()) // as a start does
	head := s.term.Ring().Head()
	if head != uint64(len("first\r\n")) {
		t.Fatalf("head %d", head)
	}
	// A reader that waits already must hear of the next program.
	reading := make(chan string, 1)
	go func() {
		p, seq, err := s.term.Read()
		if err != nil || seq != head {
			reading <- fmt.Sprintf("error %v, at %d", err, seq)
		}
		reading <- string(p)
	}()
	s.start("echo second; read x; echo third")
	select {
	case got := <-reading:
		if !strings.HasPrefix("second\r\n", got) { // a terminal may pass on a line in pieces
			t.Fatalf("got %q", got)
		}
		s.got = append(s.got, got...)
		s.until("second\r\n")
	case <-time.After(patience):
		t.Fatal("the reader hears nothing of the second program")
	}
	if _, err := s.term.Write(t.Context(), []byte("\n")); err != nil {
		t.Fatal(err)
	}
	s.until("third\r\n")
	s.eof()
}

// What runs in the background holds the terminal open after the command's end.
func TestTerminalDrain(t *testing.T) {
	s := newStage(t)
	defer s.term.Close()
	status := s.start(`trap '' HUP; tail -f /dev/null & printf last; exit 4`)
	if ws := <-status; ws.ExitStatus() != 4 {
		t.Fatalf("status %v", ws)
	}
	s.term.Drain()
	p, _, err := s.term.Read()
	if err != nil || string(p) != "last" {
		t.Errorf("got %q, %v", p, err)
	}
	if p, _, err = s.term.Read(); !errors.Is(err, ErrDrained) {
		t.Errorf("got %q, %v", p, err)
	}
	s.start("echo again; read x") // the next program ends draining
	s.until("again\r\n")
}

func TestTerminalDrainWakesItsReader(t *testing.T) {
	s := newStage(t)
	defer s.term.Close()
	s.start("echo up; read x")
	s.until("up\r\n")
	done := make(chan error, 1)
	go func() {
		_, _, err := s.term.Read()
		done <- err
	}()
	s.term.Drain()
	select {
	case err := <-done:
		if !errors.Is(err, ErrDrained) {
			t.Error(err)
		}
	case <-time.After(patience):
		t.Error("the reader sleeps on")
	}
}

// A write to a program that doesn't read ends with its context, and is no harm to
// the next one.
func TestTerminalWriteIsInterrupted(t *testing.T) {
	s := newStage(t)
	defer s.term.Close()
	s.start(`stty raw -echo; echo up; kill -STOP $$; exec cat`)
	s.until("up\n")
	var ws syscall.WaitStatus // once it is stopped, what wakes it comes after that
	if _, err := syscall.Wait4(s.term.Proc().PID, &ws, syscall.WUNTRACED, nil); err != nil || !ws.Stopped() {
		t.Fatalf("status %v, %v", ws, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel) // most likely while it waits; right at any time
	big := bytes.Repeat([]byte("a"), 1<<20)
	n, err := s.term.Write(ctx, big)
	if !errors.Is(err, context.Canceled) || n >= len(big) {
		t.Fatalf("wrote %d of %d: %v", n, len(big), err)
	}
	if err := syscall.Kill(s.term.Proc().PID, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	written := make(chan error, 1)
	go func() {
		_, err := s.term.Write(t.Context(), []byte("end\n"))
		written <- err
	}()
	s.until(strings.Repeat("a", n) + "end\n")
	if err := <-written; err != nil {
		t.Error(err)
	}
}

// Whoever waits for another's write to end can give up.
func TestTerminalWriteWaitsItsTurn(t *testing.T) {
	s := newStage(t)
	defer s.term.Close()
	s.term.writing <- struct{}{} // another write
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := s.term.Write(ctx, []byte("x"))
		done <- err
	}()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("write: %v", err)
	}
}

func TestTerminalWritesDoNotMix(t *testing.T) {
	s := newStage(t)
	defer s.term.Close()
	s.start(`stty raw -echo; echo up; exec cat`)
	s.until("up\n")
	const each = 100_000 // more than the terminal holds
	written := make(chan error, 2)
	for _, c := range []string{"a", "b"} {
		go func() {
			_, err := s.term.Write(t.Context(), []byte(strings.Repeat(c, each)+"\n"))
			written <- err
		}()
	}
	var all []byte
	timeout := time.AfterFunc(patience, s.term.Drain)
	defer timeout.Stop()
	for bytes.Count(all, []byte("\n")) < 2 {
		p, _, err := s.term.Read()
		if err != nil {
			t.Fatalf("after %d bytes: %v", len(all), err)
		}
		all = append(all, p...)
	}
	for range 2 {
		if err := <-written; err != nil {
			t.Error(err)
		}
	}
	for line := range strings.SplitSeq(strings.TrimSpace(string(all)), "\n") {
		if line != strings.Repeat("a", each) && line != strings.Repeat("b", each) {
			t.Errorf("a line of %d bytes with %d a and %d b", len(line), strings.Count(line, "a"), strings.Count(line, "b"))
		}
	}
}

func TestTerminalAfterClose(t *testing.T) {
	s := newStage(t)
	s.start("read x")
	if err := s.term.Close(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.term.Read(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("read: %v", err)
	}
	if _, err := s.term.Write(t.Context(), []byte("x")); !errors.Is(err, os.ErrClosed) {
		t.Errorf("write: %v", err)
	}
	if err := s.term.Resize(pty.Size{Cols: 1, Rows: 1}); !errors.Is(err, os.ErrClosed) {
		t.Errorf("resize: %v", err)
	}
	if _, err := s.term.Foreground(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("foreground: %v", err)
	}
	s.term.Drain() // says nothing, does nothing
}

func TestTerminalFacts(t *testing.T) {
	s := newStage(t)
	defer s.term.Close()
	s.start(`stty -echo; trap 'stty size' WINCH; echo up; while :; do read x; done`)
	s.until("up\r\n")
	if err := s.term.Resize(pty.Size{Cols: 100, Rows: 30}); err != nil {
		t.Fatal(err)
	}
	s.until("30 100\r\n")
	if size, err := s.term.Size(); err != nil || size != (pty.Size{Cols: 100, Rows: 30}) {
		t.Errorf("size %v (%v)", size, err)
	}
	if modes, err := s.term.Modes(); err != nil || modes != (pty.Modes{Canonical: true, Signals: true}) {
		t.Errorf("modes %+v (%v)", modes, err)
	}
	if fg, err := s.term.Foreground(); err != nil || fg.Proc != s.term.Proc() || fg.Name != "sh" {
		t.Errorf("foreground %+v (%v), want %v", fg, err, s.term.Proc())
	}
}

// A read of what is there allocates nothing.
func TestReadAllocatesNothing(t *testing.T) {
	s := newStage(t)
	defer s.term.Close()
	s.start(`stty raw -echo; echo up; exec cat`)
	s.until("up\n")
	line := []byte("x\n")
	allocs := testing.AllocsPerRun(50, func() {
		if err := s.term.control(func(fd int) error {
			_, err := unix.Write(fd, line)
			return err
		}); err != nil {
			t.Error(err)
		}
		for range line {
			if _, _, err := s.term.Read(); err != nil {
				t.Error(err)
			}
			if s.term.Ring().Head()%2 == 1 {
				break // both bytes came at once
			}
		}
	})
	if allocs > 4 { // the write's own closures
		t.Errorf("%v allocations", allocs)
	}
}
