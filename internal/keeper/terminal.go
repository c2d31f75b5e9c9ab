package keeper

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"termio/internal/pty"
)

// ErrDrained is what Read returns instead of waiting, after Drain.
var ErrDrained = errors.New("no more output for now")

// Terminal is the host's end of a session's terminal.
//
// One goroutine reads: Read, Ring and Close are its own. Everything else may be
// called from anywhere. An idle Terminal costs that goroutine and nothing else: no
// buffer, no timer, no thread.
type Terminal struct {
	id   string
	file *os.File // in the netpoller
	raw  syscall.RawConn

	ring    *Ring
	waited  bool // the last read had to wait: nobody was held up by it
	hungUp  bool // io.EOF was returned and nothing was read since
	n       int
	err     error
	readNow func(fd uintptr) bool // kept, so that a read allocates nothing

	writing chan struct{} // holds a token while somebody writes
	// closed is set by Close: a RawConn's own word for it can't be told from others.
	closed atomic.Bool

	mu       sync.Mutex  // guards what follows
	draining atomic.Bool // set with the read deadline; read without mu
	proc     pty.Proc
}

// newTerminal takes over the descriptors of a session: its master and its ring's.
// With scratch, a window long, it recovers what a killed host had read; without,
// the ring is new.
func newTerminal(r sessionRecord, master, ring int, scratch []byte) (t *Terminal, recovered int, err error) {
	defer unix.Close(ring) // the mapping holds the memory
	t = &Terminal{id: r.ID, proc: r.proc(), waited: true, writing: make(chan struct{}, 1)}
	t.file = os.NewFile(uintptr(master), "terminal "+r.ID)
	if t.ring, err = openRing(ring); err != nil {
		_ = t.file.Close()
		return nil, 0, err
	}
	if scratch != nil {
		recovered, err = t.ring.recover(ring, scratch)
	}
	if err == nil {
		t.raw, err = t.file.SyscallConn()
	}
	if err != nil {
		_ = t.Close()
		return nil, 0, fmt.Errorf("open the terminal: %w", err)
	}
	t.readNow = t.readOnce
	return t, recovered, nil
}

// ID returns the session's name.
func (t *Terminal) ID() string { return t.id }

// Proc returns the process that was started last on this terminal.
func (t *Terminal) Proc() pty.Proc {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.proc
}

// Ring returns the session's last output.
func (t *Terminal) Ring() *Ring { return t.ring }

// Read waits for output and returns it, at most 64 KiB, with the offset of its
// first byte in all of the session's output. p lies in the ring and is valid until
// the next Read. A killed host loses nothing of it: it is published already.
//
// io.EOF says that no program holds the terminal any more. It is said once; Read
// then waits for the next program on it. Output that is still there comes before
// the end of its program is seen here, though it may be told on Exits first.
// os.ErrClosed after Close, ErrDrained after Drain.
func (t *Terminal) Read() (p []byte, seq uint64, err error) {
	if !t.waited {
		// A program that always has more would keep this thread for 10 ms at a
		// time while others wait for their keys to be echoed.
		runtime.Gosched()
	}
	t.n, t.err, t.waited = 0, nil, false
	for {
		if t.draining.Load() {
			done := false
			err = t.raw.Control(func(fd uintptr) { done = t.readNow(fd) })
			if err == nil && !done {
				err = ErrDrained
			}
		} else {
			err = t.raw.Read(t.readNow)
			if errors.Is(err, os.ErrDeadlineExceeded) {
				continue // Drain was called, or undone
			}
		}
		break
	}
	if t.closed.Load() { // the memory of the ring has gone too
		return nil, 0, os.ErrClosed
	}
	if err == nil {
		err = t.err
	}
	if err != nil {
		return nil, t.ring.Head(), err
	}
	p, seq = t.ring.publish(t.n)
	return p, seq, nil
}

// readOnce reads what is there and reports whether that is an answer; if not, the
// netpoller waits for more.
func (t *Terminal) readOnce(fd uintptr) bool {
	for {
		n, err := syscall.Read(int(fd), t.ring.window())
		switch {
		case n > 0:
			t.n, t.hungUp = n, false
			return true
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EAGAIN):
			t.waited = true
			return false
		case err == nil || errors.Is(err, syscall.EIO): // the other end is closed
			t.waited = true
			if t.hungUp {
				return false
			}
			t.hungUp, t.err = true, io.EOF
			return true
		default:
			t.err = fmt.Errorf("read the terminal: %w", err)
			return true
		}
	}
}

// Drain makes Read return what there is and then ErrDrained instead of waiting,
// also a Read that waits now: to finish a session whose command has ended while
// something in the background holds its terminal. A new Start on it undoes that.
func (t *Terminal) Drain() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.draining.Store(true)
	_ = t.file.SetReadDeadline(time.Unix(1, 0)) // fails when closed
}

// restart notes that a new command has been started on the terminal.
func (t *Terminal) restart(p pty.Proc) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.proc = p
	t.draining.Store(false)
	_ = t.file.SetReadDeadline(time.Time{})
}

// Write types p into the terminal, whole: two writes never mix. It waits while the
// program doesn't read, until ctx ends; n is how much went in.
func (t *Terminal) Write(ctx context.Context, p []byte) (n int, err error) {
	select {
	case t.writing <- struct{}{}:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	defer func() { <-t.writing }()
	interrupted := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		_ = t.file.SetWriteDeadline(time.Unix(1, 0))
		close(interrupted)
	})
	defer func() {
		if !stop() { // the deadline must not hit the next write
			<-interrupted
			_ = t.file.SetWriteDeadline(time.Time{})
		}
	}()
	var failed error
	err = t.raw.Write(func(fd uintptr) bool {
		for n < len(p) {
			m, err := syscall.Write(int(fd), p[n:])
			if m > 0 {
				n += m
			}
			switch {
			case errors.Is(err, syscall.EINTR):
			case errors.Is(err, syscall.EAGAIN):
				return false
			case err != nil:
				failed = err
				return true
			}
		}
		return true
	})
	switch {
	case t.closed.Load():
		return n, os.ErrClosed
	case errors.Is(err, os.ErrDeadlineExceeded):
		return n, ctx.Err()
	case err == nil:
		err = failed
	}
	if err != nil {
		return n, fmt.Errorf("write to the terminal: %w", err)
	}
	return n, nil
}

// TryWrite types what of p the program's terminal takes at once, without waiting;
// n is how much that was, 0 while somebody else writes.
func (t *Terminal) TryWrite(p []byte) (n int, err error) {
	select {
	case t.writing <- struct{}{}:
	default:
		return 0, nil
	}
	defer func() { <-t.writing }()
	err = t.control(func(fd int) error {
		for n < len(p) {
			m, err := syscall.Write(fd, p[n:])
			if m > 0 {
				n += m
			}
			switch {
			case errors.Is(err, syscall.EINTR):
			case errors.Is(err, syscall.EAGAIN):
				return nil
			case err != nil:
				return fmt.Errorf("write to the terminal: %w", err)
			}
		}
		return nil
	})
	return n, err
}

// Discard throws away what was typed and the program has not read.
func (t *Terminal) Discard() error { return t.control(pty.Discard) }

// control runs f with the master's descriptor.
func (t *Terminal) control(f func(fd int) error) error {
	var failed error
	err := t.raw.Control(func(fd uintptr) { failed = f(int(fd)) })
	if err != nil && t.closed.Load() {
		return os.ErrClosed
	}
	return errors.Join(err, failed)
}

// Resize sets the terminal's size and tells its program.
func (t *Terminal) Resize(s pty.Size) error {
	return t.control(func(fd int) error { return pty.SetSize(fd, s) })
}

// Size returns the terminal's size.
func (t *Terminal) Size() (s pty.Size, err error) {
	err = t.control(func(fd int) (err error) {
		s, err = pty.GetSize(fd)
		return err
	})
	return s, err
}

// Modes returns how the terminal treats what is typed.
func (t *Terminal) Modes() (m pty.Modes, err error) {
	err = t.control(func(fd int) (err error) {
		m, err = pty.GetModes(fd)
		return err
	})
	return m, err
}

// ForegroundGroup returns the process group that keys go to, 0 when there is none.
// It is one system call and looks at no process.
func (t *Terminal) ForegroundGroup() (group int, err error) {
	err = t.control(func(fd int) (err error) {
		group, err = pty.Foreground(fd)
		return err
	})
	return group, err
}

// Foreground returns the process that keys go to. pty.ErrGone when there is none.
func (t *Terminal) Foreground() (p pty.Info, err error) {
	err = t.control(func(fd int) (err error) {
		p, err = pty.ForegroundProcess(fd)
		return err
	})
	return p, err
}

// End ends everything that runs on the terminal, as pty.End does. Exits tells of
// its command when it did end.
func (t *Terminal) End(ctx context.Context, grace time.Duration) error {
	return pty.End(ctx, grace, t.Proc())
}

// Close closes this host's end and frees the ring's memory. The session lives on
// in the keeper until Conn.Release.
func (t *Terminal) Close() error {
	if t.closed.Swap(true) {
		return nil
	}
	return errors.Join(t.file.Close(), t.ring.close())
}
