package pty

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// pidfd refers to a process by a descriptor, which no other process ever gets.
// It waits in the netpoller, without a thread of its own.
type pidfd struct {
	file *os.File
	raw  syscall.RawConn
}

// refer holds on to p. ErrGone when it has ended.
func refer(p Proc) (procRef, error) {
	fd, err := unix.PidfdOpen(p.PID, 0)
	switch {
	case errors.Is(err, unix.ESRCH):
		return nil, ErrGone
	case err != nil: // no pidfd before Linux 5.3, or no descriptor left
		return numbered(p), nil
	}
	if !p.Alive() { // asked after the open: what is the same now stays the same
		_ = unix.Close(fd)
		return nil, ErrGone
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		_ = unix.Close(fd)
		return numbered(p), nil
	}
	file := os.NewFile(uintptr(fd), "pidfd")
	raw, err := file.SyscallConn()
	if err != nil {
		_ = file.Close()
		return numbered(p), nil
	}
	return &pidfd{file: file, raw: raw}, nil
}

func (p *pidfd) signal(s syscall.Signal) error {
	var sent error
	if err := p.raw.Control(func(fd uintptr) { sent = unix.PidfdSendSignal(int(fd), s, nil, 0) }); err != nil {
		return err
	}
	return sent
}

func (p *pidfd) wait(ctx context.Context) bool {
	interrupted := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		_ = p.file.SetReadDeadline(time.Unix(1, 0))
		close(interrupted)
	})
	defer func() {
		if !stop() { // the deadline must not cut a later wait short
			<-interrupted
			_ = p.file.SetReadDeadline(time.Time{})
		}
	}()
	ended := false
	err := p.raw.Read(func(fd uintptr) bool {
		ended = readable(fd)
		return ended
	})
	return err == nil && ended
}

func (p *pidfd) close() { _ = p.file.Close() }

// readable tells whether a pidfd's process has ended.
func readable(fd uintptr) bool {
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n == 1
}
