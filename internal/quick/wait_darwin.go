package quick

import (
	"syscall"
	"time"
)

// wait waits until a descriptor can be read. Where time is up it is ready all the
// same as far as this system's call tells, so the set is looked at.
func wait(fd int, within time.Duration) (ready bool, err error) {
	s, ok := set(fd)
	if !ok {
		return false, syscall.EBADF
	}
	tv := syscall.NsecToTimeval(within.Nanoseconds())
	err = syscall.Select(fd+1, &s, nil, nil, &tv)
	return s != (syscall.FdSet{}), err
}
