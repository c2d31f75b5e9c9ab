// Package pty opens pseudo-terminals, starts programs on them, asks about the
// processes that run there, and ends all of them.
//
// It hides ioctls, /proc and sysctl, and what fork and exec need to be exact
// about. The keeper opens terminals and starts children; the host asks about
// them and ends them. A master is a plain non-blocking descriptor, never an
// *os.File: its O_NONBLOCK belongs to the description that keeper and host
// share, and (*os.File).Fd would clear it for both.
//
// The package keeps no state, starts no goroutine that outlives a call, and
// neither waits for children (the keeper does, in one place) nor decides what a
// child's environment holds. Every function may be called concurrently.
//
// The macOS half compiles and is untested.
package pty

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Size is a terminal's size: in cells, and in pixels where the outer terminal
// told them (else 0).
type Size struct {
	Cols, Rows     uint16
	XPixel, YPixel uint16
}

// Command is a program to start on a terminal.
type Command struct {
	Argv []string // Argv[0] is looked up in the PATH of Env unless it has a slash
	Env  []string // the whole environment, "name=value"
	Dir  string   // absolute working folder; empty is the caller's own
	Size Size     // the terminal's size from the start; a zero Size leaves it
}

// A Stage says which step of a start failed.
type Stage string

// The stages of a start, in order.
const (
	StageFind     Stage = "find"     // the command is not in PATH, or not executable
	StageFolder   Stage = "folder"   // the working folder can't be entered
	StageTerminal Stage = "terminal" // no terminal to be had: descriptors or ptys are used up
	StageExec     Stage = "exec"     // fork or exec
)

// StartError says why a program was not started. It unwraps to the system's
// error: errors.Is works with fs.ErrNotExist, fs.ErrPermission, syscall.EMFILE.
type StartError struct {
	Stage Stage
	Path  string // the command, folder or device that it is about
	Err   error
}

func (e *StartError) Error() string {
	switch {
	case e.Stage == StageFind && errors.Is(e.Err, fs.ErrNotExist):
		return fmt.Sprintf("command %q not found", e.Path)
	case e.Stage == StageFind:
		return fmt.Sprintf("command %q: %v", e.Path, e.Err)
	case e.Stage == StageFolder:
		return fmt.Sprintf("folder %s: %v", e.Path, e.Err)
	case e.Stage == StageTerminal:
		return fmt.Sprintf("open a terminal: %s: %v", e.Path, e.Err)
	case errors.Is(e.Err, fs.ErrNotExist): // it was there a moment ago
		return fmt.Sprintf("start %s: the interpreter that its first line names is missing", e.Path)
	}
	return fmt.Sprintf("start %s: %v", e.Path, e.Err)
}

func (e *StartError) Unwrap() error { return e.Err }

// Open opens a terminal and returns its master: non-blocking, close-on-exec. The
// caller owns the descriptor. Errors are *StartError.
func Open(size Size) (master int, err error) {
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return -1, &StartError{StageTerminal, "/dev/ptmx", err}
	}
	if err = unlock(fd); err == nil && size != (Size{}) {
		err = SetSize(fd, size)
	}
	if err != nil {
		_ = unix.Close(fd)
		return -1, &StartError{StageTerminal, "/dev/ptmx", err}
	}
	return fd, nil
}

// Start starts c as the leader of a new session whose controlling terminal is
// master's, with that terminal as its standard input, output and error and
// nothing else open. The terminal's modes are set to the usual ones, and input
// that nobody has read yet is thrown away: a program may follow another that
// died on the same terminal, and must not get keys that were meant for it.
// The caller is the parent and has to wait for the child. Errors are *StartError.
func Start(master int, c Command) (Proc, error) {
	if len(c.Argv) == 0 {
		return Proc{}, &StartError{StageFind, "", fs.ErrNotExist}
	}
	path, err := LookPath(c.Argv[0], c.Dir, lookupEnv(c.Env, "PATH"))
	if err != nil {
		return Proc{}, err
	}
	// The child's chdir and exec share one error, so the folder is asked first.
	if err := checkFolder(c.Dir); err != nil {
		return Proc{}, &StartError{StageFolder, c.Dir, err}
	}
	slave, err := openPeer(master)
	if err != nil {
		return Proc{}, &StartError{StageTerminal, "its other end", err}
	}
	defer unix.Close(slave)
	if err := prepare(slave, c.Size); err != nil {
		return Proc{}, &StartError{StageTerminal, "its modes", err}
	}
	tty := uintptr(slave)
	pid, err := syscall.ForkExec(path, c.Argv, &syscall.ProcAttr{
		Dir:   c.Dir,
		Env:   c.Env,
		Files: []uintptr{tty, tty, tty},
		Sys:   &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0},
	})
	if err != nil {
		return Proc{}, &StartError{StageExec, path, err}
	}
	// Nobody has waited for it, so it is in the process table even when it has
	// ended already.
	info, err := Inspect(pid)
	if err != nil {
		return Proc{PID: pid}, nil // it runs; only its start time is unknown
	}
	return info.Proc, nil
}

// LookPath finds the executable that a child with this PATH gets for command. A
// command with a slash is taken as a path, relative to dir. Entries of PATH that
// are empty or relative are passed over: what a folder holds must not decide
// which program a name means. Errors are *StartError.
func LookPath(command, dir, path string) (string, error) {
	if command == "" {
		return "", &StartError{StageFind, command, fs.ErrNotExist}
	}
	if strings.Contains(command, "/") {
		full := command
		if !filepath.IsAbs(full) {
			full = filepath.Join(dir, full)
		}
		if err := checkExecutable(full); err != nil {
			return "", &StartError{StageFind, command, err}
		}
		return full, nil
	}
	if path == "" {
		path = "/usr/bin:/bin" // what exec's own search falls back to
	}
	found := error(syscall.ENOENT)
	for _, folder := range filepath.SplitList(path) {
		if !filepath.IsAbs(folder) {
			continue
		}
		full := filepath.Join(folder, command)
		err := checkExecutable(full)
		if err == nil {
			return full, nil
		}
		if errors.Is(err, fs.ErrPermission) {
			found = err // says more than "not found", if nothing better comes
		}
	}
	return "", &StartError{StageFind, command, found}
}

// checkExecutable tells whether this user may execute the file.
func checkExecutable(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return errors.Unwrap(err) // *fs.PathError: the path is said by the caller
	}
	if !info.Mode().IsRegular() {
		return syscall.EACCES
	}
	return unix.Faccessat(unix.AT_FDCWD, path, unix.X_OK, unix.AT_EACCESS)
}

// checkFolder tells whether dir can be a working folder.
func checkFolder(dir string) error {
	if dir == "" {
		return nil
	}
	info, err := os.Stat(dir)
	if err != nil {
		return errors.Unwrap(err)
	}
	if !info.IsDir() {
		return syscall.ENOTDIR
	}
	return unix.Faccessat(unix.AT_FDCWD, dir, unix.X_OK, unix.AT_EACCESS)
}

// lookupEnv returns the value of a variable; the last one counts, as in a shell.
func lookupEnv(env []string, name string) string {
	value := ""
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			value = v
		}
	}
	return value
}
