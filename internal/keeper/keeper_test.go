package keeper

import (
	"bufio"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience is how long a test waits for an event before it gives up.
const patience = 30 * time.Second

// daemon is a keeper with its host, as processes.
type daemon struct {
	t    *testing.T
	cfg  testConfig
	cmd  *exec.Cmd
	done chan error // gets the keeper's end once
}

// newDaemon prepares a daemon in a folder of its own; start starts it.
func newDaemon(t *testing.T) *daemon {
	t.Helper()
	// A socket's path has to be short, so t.TempDir is none for it.
	dir, err := os.MkdirTemp("", "tk")
	if err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	host := filepath.Join(dir, "host")
	if err := os.Symlink(exe, host); err != nil {
		t.Fatal(err)
	}
	d := &daemon{t: t, cfg: testConfig{
		Socket:   filepath.Join(dir, "run", "s"),
		LockFile: filepath.Join(dir, "run", "lock"),
		HostPath: host,
		HostRole: "host",
		Log:      filepath.Join(dir, "log"),
	}}
	t.Cleanup(func() {
		if d.cmd != nil {
			d.end()
		}
		if t.Failed() {
			if log, err := os.ReadFile(d.cfg.Log); err == nil {
				t.Logf("the keeper's log:\n%s", log)
			}
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return d
}

// start starts the keeper and returns what it says to who waits for it.
func (d *daemon) start() string {
	d.t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		d.t.Fatal(err)
	}
	defer r.Close()
	cfg := d.cfg
	cfg.ReadyFD = 3
	d.cmd = d.command(cfg)
	d.cmd.ExtraFiles = []*os.File{w}
	err = d.cmd.Start()
	w.Close()
	if err != nil {
		d.t.Fatal(err)
	}
	d.done = make(chan error, 1)
	go func(cmd *exec.Cmd) { d.done <- cmd.Wait() }(d.cmd)
	if err := r.SetReadDeadline(time.Now().Add(patience)); err != nil {
		d.t.Fatal(err)
	}
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		d.t.Fatalf("the keeper said %q: %v", line, err)
	}
	return strings.TrimSuffix(line, "\n")
}

func (d *daemon) command(cfg testConfig) *exec.Cmd {
	d.t.Helper()
	text, err := json.Marshal(cfg)
	if err != nil {
		d.t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		d.t.Fatal(err)
	}
	cmd := exec.Command(exe)
	// With -race a process would sleep for a second before it ends.
	cmd.Env = append(os.Environ(), roleVar+"=keeper", configVar+"="+string(text), "GORACE=atexit_sleep_ms=0")
	cmd.Stderr = os.Stderr
	return cmd
}

func (d *daemon) mustStart() *daemon {
	d.t.Helper()
	if line := d.start(); line != "ready" {
		d.t.Fatalf("the keeper said %q", line)
	}
	return d
}

// end stops the daemon the polite way, and the hard one when that fails.
func (d *daemon) end() {
	_ = d.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-d.done:
	case <-time.After(patience):
		d.t.Error("the keeper does not stop")
		_ = d.cmd.Process.Kill()
		<-d.done
	}
	d.cmd = nil
}

// wait waits for the keeper's own end.
func (d *daemon) wait() error {
	d.t.Helper()
	select {
	case err := <-d.done:
		d.cmd = nil
		return err
	case <-time.After(patience):
		d.t.Fatal("the keeper has not ended")
		return nil
	}
}

// caller is a connection to a host.
type caller struct {
	t    *testing.T
	conn net.Conn
	in   *json.Decoder
}

func (d *daemon) dial() *caller {
	d.t.Helper()
	c, err := net.Dial("unix", d.cfg.Socket)
	if err != nil {
		d.t.Fatal(err)
	}
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { c.Close() })
	return &caller{d.t, c, json.NewDecoder(c)}
}

func (c *caller) try(call hostCall) (r hostReply, err error) {
	if err := json.NewEncoder(c.conn).Encode(call); err != nil {
		return r, err
	}
	err = c.in.Decode(&r)
	return r, err
}

func (c *caller) call(call hostCall) hostReply {
	c.t.Helper()
	r, err := c.try(call)
	if err != nil {
		c.t.Fatalf("%s %s: %v", call.Op, call.ID, err)
	}
	if r.Error != "" {
		c.t.Fatalf("%s %s: %s", call.Op, call.ID, r.Error)
	}
	return r
}

// sh starts a shell script as a session.
func (c *caller) sh(id, script string) hostReply {
	c.t.Helper()
	return c.call(hostCall{Op: "start", ID: id, Argv: []string{"sh", "-c", script}, Env: []string{"PATH=" + os.Getenv("PATH")}, Dir: "/"})
}

func TestSessionLivesOnWithTheNextHost(t *testing.T) {
	d := newDaemon(t).mustStart()
	c := d.dial()
	first := c.call(hostCall{Op: "info"})
	started := c.sh("a", `echo one; read x; echo "two $x"; read x; exit 3`)
	c.call(hostCall{Op: "expect", ID: "a", Text: "one\r\n"})
	if _, err := c.try(hostCall{Op: "crash"}); err == nil {
		t.Fatal("the host answers after its death")
	}

	c = d.dial()
	second := c.call(hostCall{Op: "info"})
	if second.PID == first.PID || second.Keeper != first.Keeper || second.Hosts != 2 {
		t.Errorf("first %+v, second %+v", first, second)
	}
	if len(second.Sessions) != 1 || second.Sessions[0].Proc != started.Proc || second.Sessions[0].ID != "a" || second.Sessions[0].Exit != nil {
		t.Fatalf("the next host got %+v, want the session of %+v", second.Sessions, started.Proc)
	}
	if size := second.Sessions[0].Size; size.Cols != 80 || size.Rows != 24 {
		t.Errorf("size %+v", size)
	}
	c.call(hostCall{Op: "expect", ID: "a", Text: "one\r\n"}) // from the ring
	c.call(hostCall{Op: "write", ID: "a", Text: "in\n"})
	c.call(hostCall{Op: "expect", ID: "a", Text: "two in\r\n"})
	c.call(hostCall{Op: "write", ID: "a", Text: "\n"})
	r := c.call(hostCall{Op: "exit", ID: "a"})
	if r.Exit.Code != 3 || r.Exit.Signal != 0 || r.Exit.Proc != started.Proc {
		t.Errorf("exit %+v", r.Exit)
	}
}
