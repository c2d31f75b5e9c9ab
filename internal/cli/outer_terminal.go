package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"termio/internal/api"
	"termio/internal/tui"
	"termio/internal/vt"
)

// settleWithin is how long a terminal may take to answer that it has taken in the
// end of an attach. Over a slow link that is a round trip.
const settleWithin = 500 * time.Millisecond

// outerTerminal is the person's own terminal.
type outerTerminal struct {
	in, out *os.File
	saved   unix.Termios // as the shell had it
	screen  bool         // what is shown is drawn on the alternate screen, by the interface
}

// openTerminal remembers how the terminal is.
func openTerminal(in, out *os.File) (*outerTerminal, error) {
	modes, err := unix.IoctlGetTermios(int(in.Fd()), getTermios)
	if err != nil {
		return nil, fmt.Errorf("read the terminal's modes: %w", err)
	}
	return &outerTerminal{in: in, out: out, saved: *modes}, nil
}

func (t *outerTerminal) set(modes unix.Termios) error {
	if err := unix.IoctlSetTermios(int(t.in.Fd()), setTermios, &modes); err != nil {
		return fmt.Errorf("set the terminal's modes: %w", err)
	}
	return nil
}

// waiting are the modes while the session is being looked for: keys are neither
// echoed nor changed, so that the first ones arrive in it as they were typed. Only
// the interrupt key still is one.
func (t *outerTerminal) waiting() unix.Termios {
	m := t.raw()
	m.Oflag = t.saved.Oflag
	m.Lflag |= t.saved.Lflag & unix.ISIG
	for _, key := range []int{unix.VQUIT, unix.VSUSP} {
		m.Cc[key] = disabledKey
	}
	return m
}

// raw are the modes in which every byte passes.
func (t *outerTerminal) raw() unix.Termios {
	m := t.saved
	m.Iflag &^= unix.IGNBRK | unix.BRKINT | unix.PARMRK | unix.ISTRIP | unix.INLCR | unix.IGNCR | unix.ICRNL | unix.IXON
	m.Oflag &^= unix.OPOST
	m.Lflag &^= unix.ECHO | unix.ECHONL | unix.ICANON | unix.ISIG | unix.IEXTEN
	m.Cflag = m.Cflag&^(unix.CSIZE|unix.PARENB) | unix.CS8
	m.Cc[unix.VMIN], m.Cc[unix.VTIME] = 1, 0
	return m
}

// size is the terminal's size; zero where nobody knows.
func (t *outerTerminal) size() api.AttachSize {
	ws, err := unix.IoctlGetWinsize(int(t.out.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return api.AttachSize{}
	}
	return api.AttachSize{Cols: int(ws.Col), Rows: int(ws.Row), Width: int(ws.Xpixel), Height: int(ws.Ypixel)}
}

// inFront reports whether the terminal is ours: not so when the shell has it back.
// One that controls no session is nobody else's.
func (t *outerTerminal) inFront() bool {
	group, err := unix.IoctlGetInt(int(t.in.Fd()), unix.TIOCGPGRP)
	return err != nil || group == unix.Getpgrp()
}

// takeOver has the terminal keep its state, and moves what is on it up into its
// history: a session's picture clears the screen.
func (t *outerTerminal) takeOver() {
	b := vt.AppendOuterEnter(nil)
	if t.screen { // its own screen
		_, _ = t.out.Write(b)
		return
	}
	b = append(b, "\x1b[999;1H"...)
	b = append(b, bytes.Repeat([]byte("\n"), t.size().Rows)...)
	_, _ = t.out.Write(b)
}

// giveBack gives the terminal back as it was; drawn says that a session has been
// shown on it. Errors mean that it is gone.
func (t *outerTerminal) giveBack(drawn bool) {
	if drawn {
		_, _ = t.out.Write(t.leaving())
		t.settle()
	}
	_ = t.set(t.saved)
	if drawn && !t.screen {
		_, _ = t.out.Write([]byte("\n"))
	}
}

// giveBackLate is giveBack without a guard: the shell is in front again, may have
// changed the terminal for itself and reads from it.
func (t *outerTerminal) giveBackLate(drawn bool) {
	if modes, err := unix.IoctlGetTermios(int(t.in.Fd()), getTermios); err == nil && (*modes == t.raw() || *modes == t.waiting()) {
		_ = t.set(t.saved)
	}
	if drawn {
		_, _ = t.out.Write(append(t.leaving(), '\n'))
	}
}

// leaving ends what was drawn: the cursor is at the start of the last row, or on the
// main screen where it was.
func (t *outerTerminal) leaving() []byte {
	if t.screen {
		return tui.AppendLeave(nil)
	}
	return append(vt.AppendOuterLeave(nil), "\x1b[999;1H"...)
}

// errStopReading ends a wait for input.
var errStopReading = errors.New("reading was ended")

// read reads what is typed. It waits as long as patience, if that is not 0, and then
// gives nothing. Something to be read on stop, or its end, ends it: a read of a terminal
// is not to be interrupted otherwise without changing it for the shell as well.
func (t *outerTerminal) read(buf []byte, patience time.Duration, stop int) (int, error) {
	in := int(t.in.Fd())
	for {
		var set unix.FdSet
		set.Set(in)
		set.Set(stop)
		var within *unix.Timeval
		if patience > 0 {
			tv := unix.NsecToTimeval(patience.Nanoseconds())
			within = &tv
		}
		ready, err := unix.Select(max(in, stop)+1, &set, nil, nil, within)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return 0, fmt.Errorf("wait for input: %w", err)
		case ready == 0:
			return 0, nil
		case set.IsSet(stop):
			return 0, errStopReading
		}
		n, err := unix.Read(in, buf)
		switch {
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.EAGAIN):
			continue
		case err != nil || n == 0:
			return 0, errHungUp
		}
		return n, nil
	}
}

// settle takes in what the terminal has sent until it says that it has the end of the
// attach: reports of a mouse that moved, the release of the key that left. The shell
// would take them for typed text.
func (t *outerTerminal) settle() {
	if _, err := t.out.Write([]byte("\x1b[5n")); err != nil {
		return
	}
	var got []byte
	buf := make([]byte, 4096)
	in := int(t.in.Fd())
	for end := time.Now().Add(settleWithin); !bytes.Contains(got, []byte("\x1b[0n")); {
		left := time.Until(end)
		if left <= 0 {
			return
		}
		var set unix.FdSet
		set.Set(in)
		wait := unix.NsecToTimeval(left.Nanoseconds())
		n, err := unix.Select(in+1, &set, nil, nil, &wait)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n == 0 {
			return
		}
		if n, err = unix.Read(in, buf); err != nil || n == 0 {
			return
		}
		got = append(got, buf[:n]...)
	}
}
