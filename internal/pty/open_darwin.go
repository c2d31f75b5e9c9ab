package pty

import (
	"bytes"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	getTermios = unix.TIOCGETA
	setTermios = unix.TIOCSETA
)

// unlock grants and unlocks the other end.
func unlock(master int) error {
	if err := unix.IoctlSetInt(master, unix.TIOCPTYGRANT, 0); err != nil {
		return err
	}
	return unix.IoctlSetInt(master, unix.TIOCPTYUNLK, 0)
}

// openPeer opens the other end by its name; macOS has no way through the master.
func openPeer(master int) (int, error) {
	var name [128]byte // what TIOCPTYGNAME fills, sys/ttycom.h
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(master), unix.TIOCPTYGNAME, uintptr(unsafe.Pointer(&name[0])))
	if errno != 0 {
		return -1, errno
	}
	path, _, _ := bytes.Cut(name[:], []byte{0})
	return unix.Open(string(path), unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
}

func flushInput(slave int) error {
	return unix.IoctlSetPointerInt(slave, unix.TIOCFLUSH, unix.TCIFLUSH)
}

func flushOutput(master int) error {
	return unix.IoctlSetPointerInt(master, unix.TIOCFLUSH, unix.TCOFLUSH)
}
