package cli

import "golang.org/x/sys/unix"

const (
	getTermios  = unix.TCGETS
	setTermios  = unix.TCSETS // at once: what has been typed stays
	disabledKey = 0           // in a list of control characters
)
