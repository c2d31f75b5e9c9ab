package termtest

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

// endsBy waits for the end of a process that is nobody's child here.
func endsBy(pid int, until time.Time) bool {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return errors.Is(err, unix.ESRCH)
	}
	defer unix.Close(fd)
	for {
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(fds, int(max(time.Until(until).Milliseconds(), 0)))
		if !errors.Is(err, unix.EINTR) {
			return n > 0
		}
	}
}
