package demo

import "golang.org/x/sys/unix"

// flushInput throws away what a terminal holds unread.
func flushInput(fd int) error {
	const fread = 1 // FREAD of <sys/fcntl.h>: the input queue
	return unix.IoctlSetPointerInt(fd, unix.TIOCFLUSH, fread)
}
