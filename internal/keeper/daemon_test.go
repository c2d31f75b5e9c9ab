package keeper

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"termio/internal/pty"
)

// Ten callers that find no daemon start ten; one of them stays.
func TestOneOfManyStartsWins(t *testing.T) {
	d := newDaemon(t)
	type outcome struct {
		cmd  *exec.Cmd
		line string
		err  error
	}
	outcomes := make(chan outcome, 10)
	for range cap(outcomes) {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		cfg := d.cfg
		cfg.ReadyFD = 3
		cmd := d.command(cfg)
		cmd.ExtraFiles = []*os.File{w}
		cmd.Stderr = nil
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		w.Close()
		go func() {
			defer r.Close()
			line, err := bufio.NewReader(r).ReadString('\n')
			outcomes <- outcome{cmd, strings.TrimSuffix(line, "\n"), err}
		}()
	}
	var refusals []string
	for range cap(outcomes) {
		o := <-outcomes
		switch {
		case o.err != nil:
			t.Errorf("a keeper said %q: %v", o.line, o.err)
		case o.line != "ready":
			refusals = append(refusals, o.line)
			if err := o.cmd.Wait(); err == nil {
				t.Error("a keeper that lost ended without an error")
			}
		case d.cmd != nil:
			t.Error("two keepers are ready")
			_ = o.cmd.Process.Kill()
			_ = o.cmd.Wait()
		default:
			d.cmd, d.done = o.cmd, make(chan error, 1)
			go func() { d.done <- o.cmd.Wait() }()
		}
	}
	if d.cmd == nil {
		t.Fatal("no keeper is ready")
	}
	for _, line := range refusals {
		// One that came before the winner had written its number can't name it.
		if named := fmt.Sprintf("a daemon is running already: process %d", d.cmd.Process.Pid); line != named && !strings.HasSuffix(line, "is locked") {
			t.Errorf("a loser said %q, want %q", line, named)
		}
	}
	if r := d.dial().call(hostCall{Op: "info"}); r.Keeper != d.cmd.Process.Pid {
		t.Errorf("served by keeper %d, ready was %d", r.Keeper, d.cmd.Process.Pid)
	}
}

func TestSocketAndLockArePrivate(t *testing.T) {
	d := newDaemon(t).mustStart()
	for path, want := range map[string]os.FileMode{
		filepath.Dir(d.cfg.Socket): os.ModeDir | 0o700,
		d.cfg.Socket:               os.ModeSocket | 0o600,
		d.cfg.LockFile:             0o600,
	} {
		info, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode() != want {
			t.Errorf("%s is %v, want %v", path, info.Mode(), want)
		}
	}
}

// What is at the socket's place decides: a dead daemon's is replaced, anything else
// stays as it is.
func TestWhatIsAtTheSocketsPlace(t *testing.T) {
	for _, tt := range []struct {
		name string
		put  func(t *testing.T, d *daemon)
		want string // in the keeper's word; SOCKET is its path
		stay bool
	}{
		{"a dead daemon's socket", func(t *testing.T, d *daemon) { listenAt(t, d.cfg.Socket).Close() }, "ready", false},
		{"a living socket", func(t *testing.T, d *daemon) {
			l := listenAt(t, d.cfg.Socket)
			t.Cleanup(func() { l.Close() })
		}, "SOCKET is served by a process that doesn't hold our lock; end it first", true},
		{"a file", func(t *testing.T, d *daemon) {
			if err := os.WriteFile(d.cfg.Socket, []byte("mine"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, "SOCKET is in the way and is no socket; move it away", true},
		{"a link", func(t *testing.T, d *daemon) {
			if err := os.Symlink("/etc/passwd", d.cfg.Socket); err != nil {
				t.Fatal(err)
			}
		}, "SOCKET is in the way and is no socket; move it away", true},
		{"a folder open to others", func(t *testing.T, d *daemon) {
			if err := os.Chmod(filepath.Dir(d.cfg.Socket), 0o777); err != nil {
				t.Fatal(err)
			}
		}, "can be written by others; look at what is in it, then chmod 700", true},
		{"a folder that others see into", func(t *testing.T, d *daemon) {
			if err := os.Chmod(filepath.Dir(d.cfg.Socket), 0o755); err != nil {
				t.Fatal(err)
			}
		}, "ready", false},
		{"a link in the folder's place", func(t *testing.T, d *daemon) {
			dir := filepath.Dir(d.cfg.Socket)
			if err := os.Remove(dir); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(t.TempDir(), dir); err != nil {
				t.Fatal(err)
			}
		}, "is not a folder itself; remove it or set TERMIO_HOME", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newDaemon(t)
			if err := os.Mkdir(filepath.Dir(d.cfg.Socket), 0o700); err != nil {
				t.Fatal(err)
			}
			tt.put(t, d)
			before, _ := os.Lstat(d.cfg.Socket)
			line := d.start(func(cmd *exec.Cmd) { cmd.Stderr = nil })
			if want := strings.ReplaceAll(tt.want, "SOCKET", d.cfg.Socket); !strings.Contains(line, want) {
				t.Errorf("the keeper said %q, want %q", line, want)
			}
			if line == "ready" {
				d.dial().call(hostCall{Op: "info"})
				return
			}
			if err := d.wait(); err == nil {
				t.Error("it ended without an error")
			}
			if after, _ := os.Lstat(d.cfg.Socket); tt.stay && before != nil && !os.SameFile(before, after) {
				t.Error("what was there has been changed")
			}
		})
	}
}

// listenAt listens like a foreign program whose socket stays when it ends.
func listenAt(t *testing.T, path string) *net.UnixListener {
	t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	return l
}

// A daemon that was killed whole leaves a socket and a lock file, and the next one
// minds neither.
func TestStartAfterEverythingWasKilled(t *testing.T) {
	d := newDaemon(t).mustStart()
	r := d.dial().call(hostCall{Op: "info"})
	host, err := pty.Inspect(r.PID)
	if err != nil {
		t.Fatal(err)
	}
	for _, pid := range []int{r.Keeper, r.PID} {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.wait(); err == nil {
		t.Error("a killed keeper ended well")
	}
	awaitEnd(t, host.Proc)
	d.mustStart()
	if again := d.dial().call(hostCall{Op: "info"}); again.Keeper == r.Keeper {
		t.Errorf("still served by keeper %d", r.Keeper)
	}
}

func TestStopEndsEverything(t *testing.T) {
	for _, tt := range []struct {
		name string
		stop func(d *daemon, c *caller)
	}{
		{"asked by a host", func(_ *daemon, c *caller) { c.call(hostCall{Op: "stop"}) }},
		{"terminated", func(d *daemon, _ *caller) {
			if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil {
				d.t.Fatal(err)
			}
		}},
		{"interrupted", func(d *daemon, _ *caller) {
			if err := d.cmd.Process.Signal(os.Interrupt); err != nil {
				d.t.Fatal(err)
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel() // each waits for two graces
			d := newDaemon(t)
			d.cfg.Grace = 3 * time.Second // for a shell's few steps on a busy machine
			d.mustStart()
			c := d.dial()
			host, err := pty.Inspect(c.call(hostCall{Op: "info"}).PID)
			if err != nil {
				t.Fatal(err)
			}
			polite := filepath.Join(t.TempDir(), "said goodbye")
			c.sh("a", `trap ': >'"'`+polite+`'"'; exit 0' HUP; echo up; while :; do read x; done`)
			c.sh("b", `trap '' HUP TERM; tail -f /dev/null & setsid tail -f /dev/null & echo up; while :; do wait; done`)
			c.sh("c", `trap '' HUP; tail -f /dev/null & echo up; exit 0`) // has ended and left something
			var left []pty.Proc
			for _, id := range []string{"a", "b", "c"} {
				c.call(hostCall{Op: "expect", ID: id, Text: "up\r\n"})
			}
			c.call(hostCall{Op: "exit", ID: "c"})
			for _, p := range descendants(t, d.cmd.Process.Pid) {
				left = append(left, p.Proc)
			}
			if len(left) < 6 { // with the host
				t.Fatalf("only %d processes to end", len(left))
			}

			tt.stop(d, c)
			if err := d.wait(); err != nil {
				t.Errorf("the keeper ended: %v", err)
			}
			for _, p := range append(left, host.Proc) {
				if p.Alive() {
					t.Errorf("process %d lives on", p.PID)
				}
			}
			if _, err := os.Stat(polite); err != nil {
				t.Errorf("no time to say goodbye: %v", err)
			}
			if _, err := os.Lstat(d.cfg.Socket); !os.IsNotExist(err) {
				t.Errorf("the socket is still there (%v)", err)
			}
			d.mustStart() // the lock is free
		})
	}
}

// A host that asks for a stop may have ended when the keeper comes to hear of it.
func TestStopAskedByAHostThatEnds(t *testing.T) {
	for range 20 {
		d := newDaemon(t).mustStart()
		_, _ = d.dial().try(hostCall{Op: "stop and go"}) // it does not live to answer
		if err := d.wait(); err != nil {
			t.Fatalf("the keeper ended: %v", err)
		}
	}
}

// descendants are the processes under one, whole.
func descendants(t *testing.T, pid int) []pty.Info {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*")
	if err != nil || len(stats) == 0 {
		t.Skip("no /proc to look into")
	}
	var under []pty.Info
	for _, s := range stats {
		p, err := strconv.Atoi(filepath.Base(s))
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range pty.Ancestors(p) {
			if a.Parent == pid {
				info, err := pty.Inspect(p)
				if err == nil {
					under = append(under, info)
				}
				break
			}
		}
	}
	return under
}

// When the keeper alone dies, nobody is asked to give up a shell.
func TestHostServesOnWithoutItsKeeper(t *testing.T) {
	d := newDaemon(t).mustStart()
	c := d.dial()
	r := c.call(hostCall{Op: "info"})
	host, err := pty.Inspect(r.PID)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if host.Alive() {
			_ = syscall.Kill(host.PID, syscall.SIGKILL)
			awaitEnd(t, host.Proc)
		}
	})
	p := c.sh("a", `echo up; read x; echo "got $x"; read x`).Proc
	c.call(hostCall{Op: "expect", ID: "a", Text: "up\r\n"})
	if err := syscall.Kill(r.Keeper, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := d.wait(); err == nil {
		t.Fatal("a killed keeper ended well")
	}
	c.call(hostCall{Op: "lost"})
	c.call(hostCall{Op: "write", ID: "a", Text: "on\n"})
	c.call(hostCall{Op: "expect", ID: "a", Text: "got on\r\n"})
	if r := d.dial().call(hostCall{Op: "info"}); r.PID != host.PID || !r.Lost {
		t.Errorf("a new caller got %+v", r)
	}
	if r, err := c.try(hostCall{Op: "start", ID: "b", Argv: []string{"sh"}, Dir: "/"}); err != nil || r.Error != ErrLost.Error() {
		t.Errorf("start: %+v (%v)", r, err)
	}
	// No second daemon beside it, and who asks is told whom to turn to.
	line := d.start(func(cmd *exec.Cmd) { cmd.Stderr = nil })
	if want := fmt.Sprintf("a daemon is running already: process %d", host.PID); line != want {
		t.Errorf("a second keeper said %q, want %q", line, want)
	}
	if err := d.wait(); err == nil {
		t.Error("a second keeper ended well")
	}
	// With the host its sessions end, and then the next daemon may start.
	if err := syscall.Kill(host.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	awaitEnd(t, host.Proc)
	awaitEnd(t, p)
	d.mustStart()
}

// A host that can't start must not leave callers waiting for ever.
func TestHostThatCannotStart(t *testing.T) {
	t.Run("missing", func(t *testing.T) {
		d := newDaemon(t)
		d.cfg.HostPath = "/no/such/host"
		if line := d.start(func(cmd *exec.Cmd) { cmd.Stderr = nil }); line != "start the host /no/such/host: no such file or directory" {
			t.Errorf("the keeper said %q", line)
		}
		if err := d.wait(); err == nil {
			t.Error("it ended without an error")
		}
		if _, err := os.Lstat(d.cfg.Socket); !os.IsNotExist(err) {
			t.Errorf("its socket is still there (%v)", err)
		}
	})
	t.Run("broken", func(t *testing.T) {
		d := newDaemon(t)
		d.cfg.HostRole = "broken host"
		if line := d.start(func(cmd *exec.Cmd) { cmd.Stderr = nil }); line != "ready" {
			t.Fatalf("the keeper said %q", line)
		}
		// Somebody waits from the first moment on.
		c, err := net.Dial("unix", d.cfg.Socket)
		if err == nil {
			defer c.Close()
			if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
				t.Fatal(err)
			}
			if n, err := io.ReadAll(c); os.IsTimeout(err) {
				t.Errorf("the caller got %q and waits", n)
			}
		}
		if err := d.wait(); err == nil {
			t.Error("the keeper ended well")
		}
	})
}
