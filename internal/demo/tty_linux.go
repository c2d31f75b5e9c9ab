package demo

import "golang.org/x/sys/unix"

// flushInput throws away what a terminal holds unread.
func flushInput(fd int) error { return unix.IoctlSetInt(fd, unix.TCFLSH, unix.TCIFLUSH) }
