package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// A tty is the terminal the agent runs on. The loop writes; one goroutine reads.
type tty struct {
	in, out *os.File
	cooked  *term.State // to restore; nil while cooked
}

// openTTY checks that there is a terminal.
func openTTY(stdio Stdio) (*tty, error) {
	for _, f := range []*os.File{stdio.In, stdio.Out} {
		if !term.IsTerminal(int(f.Fd())) {
			return nil, errors.New("the demo agent draws on a terminal and this is none; start it in one, or use --probe FILE")
		}
	}
	return &tty{in: stdio.In, out: stdio.Out}, nil
}

// raw takes the terminal over. With drop, what was typed before is thrown away, as
// programs do that set their modes with a flush.
func (t *tty) raw(drop bool) error {
	state, err := term.MakeRaw(int(t.in.Fd()))
	if err != nil {
		return fmt.Errorf("make the terminal raw: %w", err)
	}
	t.cooked = state
	if drop {
		if err := flushInput(int(t.in.Fd())); err != nil {
			return fmt.Errorf("drop early input: %w", err)
		}
	}
	return nil
}

// restore gives the terminal back as it was.
func (t *tty) restore() error {
	if t.cooked == nil {
		return nil
	}
	err := term.Restore(int(t.in.Fd()), t.cooked)
	t.cooked = nil
	return err
}

// size is the terminal's size in cells; 80x24 where nobody has set one.
func (t *tty) size() (cols, rows int) {
	cols, rows, err := term.GetSize(int(t.out.Fd()))
	if err != nil || cols <= 0 || rows <= 0 {
		return 80, 24
	}
	return cols, rows
}

// reading says how the input is taken in.
type reading struct {
	bytes int           // at most so many at once; 0 is as much as there is
	every time.Duration // and so far apart
	lag   time.Duration // so long after it came
}

// read hands every piece of input to got until the input or ctx ends. pace is asked
// before each read, so that a reader can be slow on purpose. The piece is got's to
// keep.
func (t *tty) read(ctx context.Context, pace func() *reading, got func([]byte)) error {
	wakeR, wakeW, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("make the reader's wake-up: %w", err)
	}
	defer func() { _ = wakeR.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = wakeW.Close() })
	defer func() {
		if stop() {
			_ = wakeW.Close()
		}
	}()
	in, wake := int(t.in.Fd()), int(wakeR.Fd())
	buf := make([]byte, 64<<10)
	for ctx.Err() == nil {
		fds := []unix.PollFd{{Fd: int32(in), Events: unix.POLLIN}, {Fd: int32(wake), Events: unix.POLLIN}}
		if _, err := unix.Poll(fds, -1); err != nil && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("wait for input: %w", err)
		}
		if fds[0].Revents == 0 {
			continue
		}
		p := pace()
		if p.lag > 0 && !pause(ctx, p.lag) { // what comes meanwhile is read with it
			break
		}
		n, err := unix.Read(in, buf[:limit(p.bytes, len(buf))])
		switch {
		case errors.Is(err, unix.EINTR) || errors.Is(err, unix.EAGAIN):
			continue
		case err != nil:
			return fmt.Errorf("read input: %w", err)
		case n == 0:
			return nil
		}
		got(append([]byte(nil), buf[:n]...))
		if p.every > 0 {
			pause(ctx, p.every)
		}
	}
	return ctx.Err()
}

// limit is n, or all if n is not set.
func limit(n, all int) int {
	if n <= 0 || n > all {
		return all
	}
	return n
}

// pause waits and reports whether the time passed before ctx ended.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
