package quick

import (
	"syscall"
	"time"
)

// wait waits until a descriptor can be read.
func wait(fd int, within time.Duration) (ready bool, err error) {
	s, ok := set(fd)
	if !ok {
		return false, syscall.EBADF
	}
	tv := syscall.NsecToTimeval(within.Nanoseconds())
	n, err := syscall.Select(fd+1, &s, nil, nil, &tv)
	return n > 0, err
}
