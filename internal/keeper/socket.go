package keeper

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// RunningError says that another daemon holds the lock.
type RunningError struct {
	PID      int // its process; 0 when its file doesn't tell
	LockFile string
}

func (e *RunningError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("a daemon is running already: %s is locked", e.LockFile)
	}
	return fmt.Sprintf("a daemon is running already: process %d", e.PID)
}

// takeLock decides who is the daemon. The lock belongs to the open file, which the
// host gets as well, so it is free only when both have ended.
func takeLock(path string) (*os.File, error) {
	if err := makeFolder(filepath.Dir(path)); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the daemon: %w", err)
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		defer f.Close()
		return nil, &RunningError{PID: readPID(f), LockFile: path}
	}
	if err == nil {
		err = writePID(f)
	}
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("lock the daemon: %s: %w", path, err)
	}
	return f, nil
}

func readPID(f *os.File) int {
	text, err := io.ReadAll(io.LimitReader(f, 32))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0 // its holder has not written it yet
	}
	return pid
}

// writePID says in the lock file who its holder is.
func writePID(f *os.File) error {
	line := strconv.Itoa(os.Getpid()) + "\n"
	if _, err := f.WriteAt([]byte(line), 0); err != nil {
		return err
	}
	return f.Truncate(int64(len(line)))
}

// makeFolder makes or checks the folder of socket and lock: whoever can write
// there could put a socket of his own in our place.
func makeFolder(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the socket's folder: %w", err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("socket's folder: %w", err)
	}
	switch st, ok := info.Sys().(*syscall.Stat_t); {
	case !info.IsDir():
		return fmt.Errorf("socket's folder %s is not a folder itself; remove it or set TERMIO_HOME", dir)
	case ok && int(st.Uid) != os.Geteuid():
		return fmt.Errorf("socket's folder %s belongs to user %d, not to you", dir, st.Uid)
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("socket's folder %s can be written by others; look at what is in it, then chmod 700 %s", dir, dir)
	case info.Mode().Perm()&0o077 != 0:
		if err := os.Chmod(dir, 0o700); err != nil {
			return fmt.Errorf("socket's folder: %w", err)
		}
	}
	return nil
}

// listen opens the listening socket, as a raw descriptor. The caller holds the
// lock, so a socket that refuses is nobody's and is removed.
func listen(path string) (fd int, err error) {
	if err := makeFolder(filepath.Dir(path)); err != nil {
		return -1, err
	}
	if err := removeStale(path); err != nil {
		return -1, err
	}
	fd, err = newSocket()
	if err != nil {
		return -1, fmt.Errorf("open the socket: %w", err)
	}
	if err = unix.Bind(fd, &unix.SockaddrUnix{Name: path}); err == nil {
		// Nobody can connect before listen, so there is no moment of other modes.
		if err = os.Chmod(path, 0o600); err == nil {
			err = unix.Listen(fd, unix.SOMAXCONN)
		}
		if err != nil {
			_ = os.Remove(path)
		}
	}
	if err != nil {
		_ = unix.Close(fd)
		return -1, fmt.Errorf("listen on %s (%d bytes): %w", path, len(path), err)
	}
	return fd, nil
}

// removeStale removes a socket that a dead daemon left. What answers, or is no
// socket, stays.
func removeStale(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at the socket: %w", err)
	}
	if info.Mode().Type() != os.ModeSocket {
		return fmt.Errorf("%s is in the way and is no socket; move it away", path)
	}
	fd, err := newSocket()
	if err != nil {
		return fmt.Errorf("try the socket: %w", err)
	}
	defer unix.Close(fd)
	err = unix.Connect(fd, &unix.SockaddrUnix{Name: path})
	if errors.Is(err, unix.ECONNREFUSED) {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("remove a stale socket: %w", err)
		}
		return nil
	}
	if err == nil || errors.Is(err, unix.EAGAIN) { // EAGAIN: its backlog is full
		return fmt.Errorf("%s is served by a process that doesn't hold our lock; end it first", path)
	}
	return fmt.Errorf("try the socket %s: %w", path, err)
}

// newSocket makes a non-blocking, close-on-exec stream socket.
func newSocket() (int, error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return -1, err
	}
	unix.CloseOnExec(fd)
	if err := unix.SetNonblock(fd, true); err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	return fd, nil
}
