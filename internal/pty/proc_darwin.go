package pty

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// stateZombie is SZOMB of sys/proc.h.
const stateZombie = 5

// Inspect reads one process from the process table. ErrGone when there is none.
func Inspect(pid int) (Info, error) {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if errors.Is(err, unix.ESRCH) || errors.Is(err, unix.EIO) {
		return Info{}, ErrGone // x/sys says EIO when the answer is empty
	}
	if err != nil {
		return Info{}, fmt.Errorf("read process %d: %w", pid, err)
	}
	return fromKinfo(k), nil
}

func fromKinfo(k *unix.KinfoProc) Info {
	pid := int(k.Proc.P_pid)
	name, _, _ := bytes.Cut(k.Proc.P_comm[:], []byte{0})
	session, err := unix.Getsid(pid) // kinfo has the address of the kernel's record only
	if err != nil {
		session = 0
	}
	started := k.Proc.P_starttime
	return Info{
		Proc:    Proc{PID: pid, Start: uint64(started.Sec)*1e6 + uint64(started.Usec)},
		Parent:  int(k.Eproc.Ppid),
		Group:   int(k.Eproc.Pgid),
		Session: session,
		Name:    string(name),
		Ended:   k.Proc.P_stat == stateZombie,
	}
}

// processes reads the whole process table.
func processes() ([]Info, error) {
	table, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil, fmt.Errorf("read the process table: %w", err)
	}
	all := make([]Info, 0, len(table))
	for i := range table {
		all = append(all, fromKinfo(&table[i]))
	}
	return all, nil
}

// Args returns the arguments that a process was started with, the program's name
// first. ErrGone when there is none.
func Args(pid int) ([]string, error) {
	args, _, err := argsAndEnviron(pid)
	return args, err
}

// Environ returns the environment that a process was started with, as far as the
// system shows it. ErrGone when there is no process.
func Environ(pid int) ([]string, error) {
	_, environ, err := argsAndEnviron(pid)
	return environ, err
}

func argsAndEnviron(pid int) (args, environ []string, err error) {
	data, err := unix.SysctlRaw("kern.procargs2", pid)
	if err != nil {
		if errors.Is(err, unix.ESRCH) || errors.Is(err, unix.EINVAL) {
			return nil, nil, ErrGone
		}
		return nil, nil, fmt.Errorf("read process %d: %w", pid, err)
	}
	// The number of arguments, the executable's path, padding, the arguments, then the
	// environment up to an empty word.
	if len(data) < 4 {
		return nil, nil, nil
	}
	count := binary.NativeEndian.Uint32(data)
	_, rest, _ := bytes.Cut(data[4:], []byte{0})
	rest = bytes.TrimLeft(rest, "\x00")
	for range count {
		arg, after, found := bytes.Cut(rest, []byte{0})
		if !found {
			return args, nil, nil
		}
		args, rest = append(args, string(arg)), after
	}
	for {
		word, after, found := bytes.Cut(rest, []byte{0})
		if !found || len(word) == 0 {
			return args, environ, nil
		}
		environ, rest = append(environ, string(word)), after
	}
}

// Holders is not to be had here.
func Holders(string) ([]int, error) { return nil, errors.ErrUnsupported }

// OpenFiles is not to be had here.
func OpenFiles(int) ([]string, error) { return nil, errors.ErrUnsupported }

// Cwd returns a process's working folder. ErrGone when there is no process.
func Cwd(pid int) (string, error) {
	// proc_info(2), flavour PROC_PIDVNODEPATHINFO: two records of vnode facts (152
	// bytes) and a path (1024), for the working folder and for the root.
	const (
		sysProcInfo  = 336
		callPIDInfo  = 2
		vnodePath    = 9
		pathAt       = 152
		pathLen      = 1024
		wholeInfoLen = 2 * (pathAt + pathLen)
	)
	var info [wholeInfoLen]byte
	n, _, errno := unix.Syscall6(sysProcInfo, callPIDInfo, uintptr(pid), vnodePath, 0,
		uintptr(unsafe.Pointer(&info[0])), wholeInfoLen)
	if errno == unix.ESRCH {
		return "", ErrGone
	}
	if errno != 0 || n != wholeInfoLen {
		return "", fmt.Errorf("read process %d: %w", pid, errno)
	}
	path, _, _ := bytes.Cut(info[pathAt:pathAt+pathLen], []byte{0})
	return string(path), nil
}
