package main

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

// awaitEnd waits for a process to end and reports whether it did.
func awaitEnd(pid int) bool {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return errors.Is(err, unix.ESRCH)
	}
	defer func() { _ = unix.Close(fd) }()
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); {
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(fds, int(time.Until(deadline).Milliseconds())+1)
		if n > 0 || err != nil && !errors.Is(err, unix.EINTR) {
			return n > 0
		}
	}
	return false
}
