package client

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"termio/internal/config"
)

// startTimeout is how long a daemon may take from its start until it serves.
const startTimeout = 10 * time.Second

// readyWord is the line by which a starting daemon says that it serves; any
// other line is why it does not.
const readyWord = "ready"

// start starts a daemon and returns a connection once it serves. Of several clients that
// come at once one starts it and the others find it there: a lock orders them.
// After a start that another client made the home may name another socket than
// before, so the paths are settled here.
func (c *Client) start(ctx context.Context) (net.Conn, error) {
	if err := c.paths.EnsureDirs(); err != nil {
		return nil, unavailable("cannot start a termio daemon: %v", err)
	}
	unlock, err := lock(c.paths.StartLock)
	if err != nil {
		return nil, unavailable("cannot start a termio daemon: %v", err)
	}
	defer unlock()
	if conn, err := c.connect(ctx); err == nil {
		return conn, nil
	} else if !absent(err) {
		return nil, c.unreachable(err)
	}
	if err := InstallProgram(c.paths, c.opts.Exe); err != nil {
		return nil, unavailable("cannot start a termio daemon: %v", err)
	}
	if err := c.launch(ctx); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, unavailable("the termio daemon did not start: %v; its log is at %s", err, c.paths.Log)
	}
	conn, err := c.connect(ctx)
	if err != nil {
		return nil, c.unreachable(err)
	}
	return conn, nil
}

// lock takes an exclusive lock on a file and gives the function that lets go
// of it. It waits: whoever holds it is bound by startTimeout.
func lock(file string) (unlock func(), err error) {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open start lock: %w", err)
	}
	rc, err := f.SyscallConn()
	if err == nil {
		var lockErr error
		err = rc.Control(func(fd uintptr) {
			for {
				lockErr = syscall.Flock(int(fd), syscall.LOCK_EX)
				if !errors.Is(lockErr, syscall.EINTR) {
					return
				}
			}
		})
		err = errors.Join(err, lockErr)
	}
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("take start lock: %w", err)
	}
	return func() { _ = f.Close() }, nil
}

// gone waits until no daemon holds its lock any more and reports whether that
// came before the context's end. Nobody starts the next one meanwhile.
func (c *Client) gone(ctx context.Context) bool {
	done := make(chan bool, 1)
	go func() {
		// The lock is waited for as long as the daemon lives, which the
		// caller need not.
		start, err := lock(c.paths.StartLock)
		if err == nil {
			defer start()
			var held func()
			if held, err = lock(c.paths.LockFile); err == nil {
				held()
			}
		}
		done <- err == nil
	}()
	select {
	case ok := <-done:
		return ok
	case <-ctx.Done():
		return false
	}
}

// launch runs the daemon, in a session of its own so that no terminal's end
// reaches it, and waits for its word on the ready pipe.
func (c *Client) launch(ctx context.Context) error {
	log, err := os.OpenFile(c.paths.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open its log: %w", err)
	}
	defer log.Close()
	ready, child, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("make ready pipe: %w", err)
	}
	defer ready.Close()
	cmd := exec.Command(c.paths.StableExe, "daemon", "run")
	cmd.Dir = c.paths.Home // no folder of the caller's is kept busy
	cmd.Env = append(DaemonEnviron(c.opts.Environ, c.paths), "TERMIO_READY_FD=3")
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{child} // descriptor 3
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	_ = child.Close()
	if err != nil {
		return err
	}
	_ = cmd.Process.Release()
	return awaitReady(ctx, ready)
}

// awaitReady reads the daemon's word. An end without one is a daemon that died.
func awaitReady(ctx context.Context, ready *os.File) error {
	if err := ready.SetReadDeadline(time.Now().Add(startTimeout)); err != nil {
		return fmt.Errorf("watch its start: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = ready.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	line, err := bufio.NewReader(io.LimitReader(ready, 4096)).ReadString('\n')
	line = strings.TrimSpace(line)
	switch {
	case line == readyWord:
		return nil
	case line != "":
		return errors.New(line)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("it was not ready after %s", startTimeout)
	}
	return errors.New("it ended before it was ready")
}

// DaemonEnviron is the environment of a daemon: the caller's, with the home made
// absolute and without the session that the caller happens to be in, for the
// daemon is nobody's child.
func DaemonEnviron(environ []string, paths config.Paths) []string {
	env := make([]string, 0, len(environ)+2)
	for _, kv := range environ {
		switch name, _, _ := strings.Cut(kv, "="); name {
		case "TERMIO_SESSION", "TERMIO_HOME", "TERMIO_READY_FD", "TERMIO_CLI_TIMEOUT":
		default:
			env = append(env, kv)
		}
	}
	return append(env, "TERMIO_HOME="+paths.Home)
}

// InstallProgram brings bin/termio up to date with a program; "" is the running
// one. Hooks and restarts of the host call that path, which outlives the binary
// that was started here: a build in a temporary folder vanishes, an upgrade moves
// files about.
func InstallProgram(paths config.Paths, exe string) error {
	if exe == "" {
		var err error
		if exe, err = os.Executable(); err != nil {
			return fmt.Errorf("find the program: %w", err)
		}
	}
	same, err := sameProgram(exe, paths.StableExe)
	if err != nil || same {
		return err
	}
	if err := replaceProgram(exe, paths.StableExe); err != nil {
		return fmt.Errorf("copy the program to %s: %w", paths.StableExe, err)
	}
	return nil
}

// sameProgram reports whether two files hold the same bytes.
func sameProgram(a, b string) (bool, error) {
	fa, err := os.Stat(a)
	if err != nil {
		return false, fmt.Errorf("find the program: %w", err)
	}
	fb, err := os.Stat(b)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	if os.SameFile(fa, fb) {
		return true, nil
	}
	if fa.Size() != fb.Size() {
		return false, nil
	}
	return sameBytes(a, b)
}

// sameBytes compares two files of one size.
func sameBytes(a, b string) (bool, error) {
	ra, err := os.Open(a)
	if err != nil {
		return false, err
	}
	defer ra.Close()
	rb, err := os.Open(b)
	if err != nil {
		return false, err
	}
	defer rb.Close()
	const block = 1 << 20
	ba, bb := make([]byte, block), make([]byte, block)
	for {
		na, errA := io.ReadFull(ra, ba)
		nb, errB := io.ReadFull(rb, bb)
		if !bytes.Equal(ba[:na], bb[:nb]) {
			return false, nil
		}
		switch {
		case errors.Is(errA, io.EOF), errors.Is(errA, io.ErrUnexpectedEOF):
			return true, nil
		case errA != nil:
			return false, errA
		case errB != nil:
			return false, errB
		}
	}
}

// replaceProgram puts a link or a copy of exe at stable in one step, so that a
// hook running at this moment finds the old program or the new one.
func replaceProgram(exe, stable string) error {
	if real, err := filepath.EvalSymlinks(exe); err == nil {
		exe = real
	}
	dir, err := os.MkdirTemp(filepath.Dir(stable), ".new-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	tmp := filepath.Join(dir, filepath.Base(stable))
	if err := os.Link(exe, tmp); err != nil { // another file system, or one without links
		if err := copyFile(exe, tmp); err != nil {
			return err
		}
	}
	return os.Rename(tmp, stable)
}

// copyFile copies a program with its bytes on the disk before it is named.
func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Sync(), out.Close())
}
