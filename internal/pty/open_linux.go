package pty

import "golang.org/x/sys/unix"

const (
	getTermios = unix.TCGETS
	setTermios = unix.TCSETS
)

// unlock lets the other end be opened.
func unlock(master int) error {
	return unix.IoctlSetPointerInt(master, unix.TIOCSPTLCK, 0)
}

// openPeer opens the other end through the master, so that it is the right one
// also when /dev/pts belongs to another mount namespace.
func openPeer(master int) (int, error) {
	fd, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(master), unix.TIOCGPTPEER,
		unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC)
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil
}

func flushInput(slave int) error { return unix.IoctlSetInt(slave, unix.TCFLSH, unix.TCIFLUSH) }

func flushOutput(master int) error { return unix.IoctlSetInt(master, unix.TCFLSH, unix.TCOFLUSH) }
