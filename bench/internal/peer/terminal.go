package peer

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"termio/bench/internal/kid"
	"termio/internal/pty"
)

// A Terminal is the person's: a program runs on it, what it draws is read and thrown
// away. Its descriptor is read and waited for by plain system calls, so that what the
// runtime's poller costs does not stand in every figure.
type Terminal struct {
	Bytes  int64 // read so far
	fd     int
	pid    int
	buf    []byte
	closed bool
}

// Open starts a program on a terminal of its own.
func Open(cmd *exec.Cmd) (*Terminal, error) {
	size := pty.Size{Cols: Cols, Rows: Rows}
	fd, err := pty.Open(size)
	if err != nil {
		return nil, err
	}
	proc, err := pty.Start(fd, pty.Command{Argv: cmd.Args, Env: cmd.Env, Dir: cmd.Dir, Size: size})
	if err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	return &Terminal{fd: fd, pid: proc.PID, buf: make([]byte, 64<<10)}, nil
}

// PID is the program's.
func (t *Terminal) PID() int { return t.pid }

// Ends of a read that are no fault of the terminal.
var (
	errEnded  = errors.New("the program on the terminal has ended")
	errSilent = errors.New("the terminal has nothing more to read")
)

// read reads what is there, waiting for it until the deadline.
func (t *Terminal) read(deadline time.Time) ([]byte, error) {
	for {
		n, err := unix.Read(t.fd, t.buf)
		switch {
		case n > 0:
			t.Bytes += int64(n)
			return t.buf[:n], nil
		case err == nil, errors.Is(err, unix.EIO):
			return nil, errEnded
		case !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR):
			return nil, fmt.Errorf("read the terminal: %w", err)
		}
		left := time.Until(deadline)
		if left <= 0 {
			return nil, errSilent
		}
		_, err = unix.Poll([]unix.PollFd{{Fd: int32(t.fd), Events: unix.POLLIN}}, int(left.Milliseconds())+1)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return nil, fmt.Errorf("wait for the terminal: %w", err)
		}
	}
}

// Until reads until a mark has come by, whole or in parts.
func (t *Terminal) Until(mark string) error {
	deadline := time.Now().Add(kid.Patience)
	var tail []byte // of what came before, shorter than the mark
	for {
		p, err := t.read(deadline)
		if err != nil {
			return fmt.Errorf("wait for %q: %w", mark, err)
		}
		joined := append(tail, p[:min(len(p), len(mark))]...)
		if bytes.Contains(joined, []byte(mark)) || bytes.Contains(p, []byte(mark)) {
			return nil
		}
		if len(p) >= len(mark) {
			joined = p
		}
		tail = append(tail[:0], joined[max(0, len(joined)-len(mark)+1):]...)
	}
}

// Quiet reads until nothing has come for a while: what is drawn is complete.
func (t *Terminal) Quiet(silence time.Duration) error {
	for {
		_, err := t.read(time.Now().Add(silence))
		if errors.Is(err, errSilent) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// Drain reads and throws away in a goroutine, until the function that is returned is
// called.
func (t *Terminal) Drain() (stop func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-quit:
				return
			default:
			}
			if _, err := t.read(time.Now().Add(20 * time.Millisecond)); err != nil && !errors.Is(err, errSilent) {
				return
			}
		}
	}()
	return func() {
		close(quit)
		<-done
	}
}

// Key types a key and waits until it shows.
func (t *Terminal) Key(key byte) (time.Duration, error) {
	began := time.Now()
	if _, err := unix.Write(t.fd, []byte{key}); err != nil {
		return 0, fmt.Errorf("type: %w", err)
	}
	deadline := began.Add(10 * time.Second)
	for {
		p, err := t.read(deadline)
		if err != nil {
			return 0, fmt.Errorf("the echo of %q: %w", key, err)
		}
		if bytes.IndexByte(p, key) >= 0 {
			return time.Since(began), nil
		}
	}
}

// Close hangs up, ends the program and waits for it.
func (t *Terminal) Close() {
	if t.closed {
		return
	}
	t.closed = true
	_ = unix.Kill(t.pid, syscall.SIGTERM)
	_ = unix.Close(t.fd) // the program gets a SIGHUP
	t.Wait()
}

// Wait waits for the program's end. One that does not end is killed.
func (t *Terminal) Wait() {
	kill := time.AfterFunc(endWait, func() { _ = unix.Kill(t.pid, syscall.SIGKILL) })
	defer kill.Stop()
	for {
		var status unix.WaitStatus
		if _, err := unix.Wait4(t.pid, &status, 0, nil); !errors.Is(err, unix.EINTR) {
			return
		}
	}
}
