package pty

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// SetSize sets the terminal's size; its foreground processes get SIGWINCH when
// that changes anything. fd is a master.
func SetSize(fd int, s Size) error {
	err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{
		Row: s.Rows, Col: s.Cols, Xpixel: s.XPixel, Ypixel: s.YPixel,
	})
	if err != nil {
		return fmt.Errorf("set the terminal's size: %w", err)
	}
	return nil
}

// GetSize returns the terminal's size. fd is a master.
func GetSize(fd int) (Size, error) {
	w, err := unix.IoctlGetWinsize(fd, unix.TIOCGWINSZ)
	if err != nil {
		return Size{}, fmt.Errorf("get the terminal's size: %w", err)
	}
	return Size{Cols: w.Col, Rows: w.Row, XPixel: w.Xpixel, YPixel: w.Ypixel}, nil
}

// Modes is how the terminal treats what is typed into it.
type Modes struct {
	// Canonical: the program gets whole lines. The kernel keeps at most 4095
	// bytes of a line and drops the rest without a word.
	Canonical bool
	// Echo: the kernel shows what is typed. Off in canonical mode is how programs
	// ask for a password.
	Echo bool
	// Signals: keys such as ^C become signals instead of bytes.
	Signals bool
}

// GetModes returns the terminal's modes. fd is a master.
func GetModes(fd int) (Modes, error) {
	t, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return Modes{}, fmt.Errorf("get the terminal's modes: %w", err)
	}
	return Modes{
		Canonical: t.Lflag&unix.ICANON != 0,
		Echo:      t.Lflag&unix.ECHO != 0,
		Signals:   t.Lflag&unix.ISIG != 0,
	}, nil
}

// Foreground returns the process group that the terminal's keys go to. fd is a
// master. It is 0 when the terminal has no session.
func Foreground(fd int) (group int, err error) {
	group, err = unix.IoctlGetInt(fd, unix.TIOCGPGRP)
	if err != nil {
		return 0, fmt.Errorf("get the terminal's foreground group: %w", err)
	}
	return group, nil
}

// ForegroundProcess returns the process that stands for the foreground group:
// its leader, or its oldest member when the leader has ended (the first command
// of a pipeline often does). fd is a master. ErrGone when there is none.
func ForegroundProcess(fd int) (Info, error) {
	group, err := Foreground(fd)
	if err != nil {
		return Info{}, err
	}
	if group <= 0 {
		return Info{}, ErrGone
	}
	if leader, err := Inspect(group); err == nil && leader.Group == group && !leader.Ended {
		return leader, nil
	}
	all, err := processes()
	if err != nil {
		return Info{}, err
	}
	oldest, found := Info{}, false
	for _, p := range all {
		if p.Group == group && !p.Ended && (!found || p.Start < oldest.Start) {
			oldest, found = p, true
		}
	}
	if !found {
		return Info{}, ErrGone
	}
	return oldest, nil
}

// Discard throws away what was typed and has not been read: of a program that reads
// nothing, so that the next key gets through to it. fd is a master.
func Discard(fd int) error {
	if err := flushOutput(fd); err != nil { // on its way
		return fmt.Errorf("discard what was typed: %w", err)
	}
	slave, err := openPeer(fd)
	if err != nil {
		return fmt.Errorf("open the terminal's other end: %w", err)
	}
	defer unix.Close(slave)
	if err := flushInput(slave); err != nil { // arrived
		return fmt.Errorf("discard what was typed: %w", err)
	}
	return nil
}

// prepare gives the other end of a terminal the modes and the size that a new
// program expects, whatever the one before left behind, and forgets unread input.
func prepare(slave int, size Size) error {
	t, err := unix.IoctlGetTermios(slave, getTermios)
	if err != nil {
		return err
	}
	// IUTF8 makes the kernel's own line editing erase whole characters.
	t.Iflag = unix.ICRNL | unix.IXON | unix.IUTF8
	t.Oflag = unix.OPOST | unix.ONLCR
	t.Cflag |= unix.CREAD | unix.CS8
	t.Lflag = unix.ISIG | unix.ICANON | unix.IEXTEN |
		unix.ECHO | unix.ECHOE | unix.ECHOK | unix.ECHOCTL | unix.ECHOKE
	for key, char := range map[int]uint8{
		unix.VINTR: 'C' & 0x1f, unix.VQUIT: '\\' & 0x1f, unix.VERASE: 0x7f, unix.VKILL: 'U' & 0x1f,
		unix.VEOF: 'D' & 0x1f, unix.VSTART: 'Q' & 0x1f, unix.VSTOP: 'S' & 0x1f, unix.VSUSP: 'Z' & 0x1f,
		unix.VREPRINT: 'R' & 0x1f, unix.VDISCARD: 'O' & 0x1f, unix.VWERASE: 'W' & 0x1f, unix.VLNEXT: 'V' & 0x1f,
		unix.VMIN: 1, unix.VTIME: 0,
	} {
		t.Cc[key] = char
	}
	if err := unix.IoctlSetTermios(slave, setTermios, t); err != nil {
		return err
	}
	if err := flushInput(slave); err != nil {
		return err
	}
	if size == (Size{}) {
		return nil
	}
	return SetSize(slave, size)
}
