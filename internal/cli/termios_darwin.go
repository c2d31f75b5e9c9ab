package cli

import "golang.org/x/sys/unix"

const (
	getTermios  = unix.TIOCGETA
	setTermios  = unix.TIOCSETA // at once: what has been typed stays
	disabledKey = 0xff          // in a list of control characters
)
