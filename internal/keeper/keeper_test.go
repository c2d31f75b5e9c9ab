package keeper

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience is how long a test waits for an event before it gives up.
const patience = time.Minute

// daemon is a keeper with its host, as processes.
type daemon struct {
	t    *testing.T
	cfg  testConfig
	cmd  *exec.Cmd
	done chan error // gets the keeper's end once
}

// newDaemon prepares a daemon in a folder of its own; mustStart starts it.
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
		Grace:    200 * time.Millisecond,
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
func (d *daemon) start(change ...func(*exec.Cmd)) string {
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
	for _, f := range change {
		f(d.cmd)
	}
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
	// To the end, which is when it has closed its side: it then holds what it keeps.
	said, err := io.ReadAll(r)
	line, whole := strings.CutSuffix(string(said), "\n")
	if err != nil || !whole {
		d.t.Fatalf("the keeper said %q: %v", said, err)
	}
	return line
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
	d.t.Cleanup(func() { c.Close() })
	return &caller{d.t, c, json.NewDecoder(c)}
}

func (c *caller) try(call hostCall) (r hostReply, err error) {
	if err := c.conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return r, err
	}
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

// switches counts how often the threads of a process have been put to sleep or
// off a processor.
func switches(t *testing.T, pid int) int {
	t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	if err != nil || len(files) == 0 {
		t.Skip("no /proc to look into")
	}
	sum := 0
	for _, file := range files {
		status, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(status)) {
			if _, n, ok := strings.Cut(line, "voluntary_ctxt_switches:"); ok {
				k, err := strconv.Atoi(strings.TrimSpace(n))
				if err != nil {
					t.Fatal(err)
				}
				sum += k
			}
		}
	}
	return sum
}

// numbers starts a session that writes so many numbered records and ends.
func (c *caller) numbers(id string, count, ring int) hostReply {
	c.t.Helper()
	exe, err := os.Executable()
	if err != nil {
		c.t.Fatal(err)
	}
	return c.call(hostCall{
		Op: "start", ID: id, Argv: []string{exe, strconv.Itoa(count)}, Ring: ring,
		Env: []string{roleVar + "=numbers", "GORACE=atexit_sleep_ms=0"}, Dir: "/",
	})
}

// The keeper may cost nothing while output flows.
func TestKeeperSleepsWhileOutputFlows(t *testing.T) {
	const count = 512 << 10 // 8 MiB, some 2,000 reads
	d := newDaemon(t).mustStart()
	c := d.dial()
	keeper := c.call(hostCall{Op: "info"}).Keeper
	c.numbers("a", count, 0)
	c.call(hostCall{Op: "reach", ID: "a", Head: count * recordLen / 8})
	before := switches(t, keeper)
	c.call(hostCall{Op: "reach", ID: "a", Head: count * recordLen * 7 / 8})
	// The Go runtime looks around now and then, the session does not matter.
	if n := switches(t, keeper) - before; n > 100 {
		t.Errorf("%d context switches of the keeper during %d bytes", n, count*recordLen*3/4)
	}
	c.call(hostCall{Op: "exit", ID: "a"})
}

// No byte that a host had read is lost, and none comes twice, wherever in its work
// SIGKILL hits it.
func TestKilledHostsLoseNothing(t *testing.T) {
	const count = 2 << 20 // 32 MiB
	kills := 60
	if testing.Short() {
		kills = 10
	}
	d := newDaemon(t).mustStart()
	c := d.dial()
	// One ring holds all of it, so that the end tells everything.
	child := c.numbers("a", count, count*recordLen+1<<20).Proc
	recovered, times, done := 0, 0, 0
	for ; done < kills; done++ {
		r := c.call(hostCall{Op: "info"})
		for _, s := range r.Sessions {
			recovered += s.Recovered
			if s.Recovered > 0 {
				times++
			}
		}
		if !child.Alive() {
			break
		}
		for range rand.IntN(8) { // more work before the end, for a while nobody can tell
			c.call(hostCall{Op: "info"})
		}
		if err := syscall.Kill(r.PID, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		for { // until the connection is to the next one
			c = d.dial()
			next, err := c.try(hostCall{Op: "info"})
			if err == nil && next.PID != r.PID {
				break
			}
		}
	}
	exit := c.call(hostCall{Op: "exit", ID: "a"}).Exit
	if exit.Code != 0 || exit.Signal != 0 || exit.Proc != child {
		t.Errorf("exit %+v", exit)
	}
	c.call(hostCall{Op: "eof", ID: "a"})
	head := c.call(hostCall{Op: "check", ID: "a"}).Head
	if head != count*recordLen {
		t.Errorf("%d bytes lost of %d", count*recordLen-head, count*recordLen)
	}
	t.Logf("%d kills, %d bytes lost, %d hosts left %d bytes unpublished", done, count*recordLen-head, times, recovered)
	if done == 0 {
		t.Error("no kill fell into the output")
	}
}

// hideHost makes the host impossible to start until the returned function is called.
func (d *daemon) hideHost() (show func()) {
	d.t.Helper()
	hidden := d.cfg.HostPath + ".hidden"
	if err := os.Rename(d.cfg.HostPath, hidden); err != nil {
		d.t.Fatal(err)
	}
	return func() {
		d.t.Helper()
		if err := os.Rename(hidden, d.cfg.HostPath); err != nil {
			d.t.Fatal(err)
		}
	}
}

func TestCallersWaitWhileThereIsNoHost(t *testing.T) {
	d := newDaemon(t).mustStart()
	c := d.dial()
	first := c.call(hostCall{Op: "info"})
	session := c.sh("a", `trap 'exit 7' TERM; echo up; while :; do read x; done`)
	c.call(hostCall{Op: "expect", ID: "a", Text: "up\r\n"})
	other := c.sh("b", "echo up; exec tail -f /dev/null")
	c.call(hostCall{Op: "expect", ID: "b", Text: "up\r\n"})

	show := d.hideHost()
	if _, err := c.try(hostCall{Op: "crash"}); err == nil {
		t.Fatal("the host answers after its death")
	}
	var waiting []*caller
	for range 20 {
		waiting = append(waiting, d.dial()) // succeeds: the keeper has the socket
	}
	// Meanwhile two commands end, one by its own choice and one not.
	for pid, sig := range map[int]syscall.Signal{session.Proc.PID: syscall.SIGTERM, other.Proc.PID: syscall.SIGKILL} {
		if err := syscall.Kill(pid, sig); err != nil {
			t.Fatal(err)
		}
	}
	show()

	for _, w := range waiting {
		r := w.call(hostCall{Op: "info"})
		if r.PID == first.PID || r.Keeper != first.Keeper {
			t.Errorf("served by %+v, first was %+v", r, first)
		}
	}
	exits := map[string]*Exit{}
	for _, id := range []string{"a", "b"} {
		exits[id] = waiting[0].call(hostCall{Op: "exit", ID: id}).Exit
	}
	if e := exits["a"]; e.Code != 7 || e.Signal != 0 || e.Proc != session.Proc {
		t.Errorf("exit of a: %+v", e)
	}
	if e := exits["b"]; e.Code != -1 || e.Signal != syscall.SIGKILL || e.Proc != other.Proc {
		t.Errorf("exit of b: %+v", e)
	}
}

// A host that the keeper can't understand would serve nobody: it makes room.
func TestHostThatTalksNonsenseIsReplaced(t *testing.T) {
	d := newDaemon(t).mustStart()
	c := d.dial()
	first := c.call(hostCall{Op: "info"})
	p := c.sh("a", "read x").Proc
	_, _ = c.try(hostCall{Op: "babble"}) // it may not live long enough to answer
	if r, err := c.try(hostCall{Op: "lost"}); err == nil {
		t.Errorf("the host lost its keeper instead: %+v", r)
	}
	second := d.dial().call(hostCall{Op: "info"})
	if second.PID == first.PID || len(second.Sessions) != 1 || second.Sessions[0].Proc != p {
		t.Errorf("first %+v, second %+v", first, second)
	}
}

// What is installed by then is what the next host runs.
func TestNextHostIsWhatIsInstalledThen(t *testing.T) {
	d := newDaemon(t).mustStart()
	c := d.dial()
	first := c.call(hostCall{Op: "info"})
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(exe)
	if err != nil {
		t.Fatal(err)
	}
	newer := filepath.Join(filepath.Dir(d.cfg.HostPath), "newer")
	if err := os.WriteFile(newer, data, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Symlink(newer, d.cfg.HostPath+".new"), os.Rename(d.cfg.HostPath+".new", d.cfg.HostPath)); err != nil {
		t.Fatal(err)
	}
	_, _ = c.try(hostCall{Op: "crash"})
	second := d.dial().call(hostCall{Op: "info"})
	if first.Exe != exe || second.Exe != newer {
		t.Errorf("first ran %s, second %s; want %s and %s", first.Exe, second.Exe, exe, newer)
	}
}

// An ended agent's place is taken by a shell on the same terminal.
func TestStartOnTheSameTerminal(t *testing.T) {
	d := newDaemon(t).mustStart()
	c := d.dial()
	first := c.sh("a", "echo one; read x; exit 2")
	if r, err := c.try(hostCall{Op: "start", ID: "a", Argv: []string{"sh"}}); err != nil || r.Error != ErrExists.Error() {
		t.Errorf("a second start answered %+v (%v)", r, err)
	}
	c.call(hostCall{Op: "write", ID: "a", Text: "\n"})
	if e := c.call(hostCall{Op: "exit", ID: "a"}).Exit; e.Code != 2 || e.Proc != first.Proc {
		t.Errorf("exit %+v", e)
	}
	second := c.sh("a", "echo two; read x; exit 5")
	c.call(hostCall{Op: "expect", ID: "a", Text: "two\r\n"})

	// The next host has both in one stream.
	_, _ = c.try(hostCall{Op: "crash"})
	c = d.dial()
	if r := c.call(hostCall{Op: "info"}); len(r.Sessions) != 1 || r.Sessions[0].Proc != second.Proc || r.Sessions[0].Exit != nil {
		t.Errorf("handed over %+v, want %+v", r.Sessions, second.Proc)
	}
	c.call(hostCall{Op: "expect", ID: "a", Text: "one\r\n"})
	c.call(hostCall{Op: "expect", ID: "a", Text: "two\r\n"})
	c.call(hostCall{Op: "write", ID: "a", Text: "\n"})
	if e := c.call(hostCall{Op: "exit", ID: "a"}).Exit; e.Code != 5 || e.Proc != second.Proc {
		t.Errorf("exit %+v", e)
	}
	// A shell that can't be started leaves everything as it was.
	if r, err := c.try(hostCall{Op: "start", ID: "a", Argv: []string{"no-such-shell"}, Dir: "/"}); err != nil || r.Stage != "find" || !r.Missing {
		t.Errorf("answer %+v (%v)", r, err)
	}
	c.sh("a", "echo three; read x")
	c.call(hostCall{Op: "expect", ID: "a", Text: "three\r\n"})
}

func TestStartThatFails(t *testing.T) {
	d := newDaemon(t).mustStart()
	c := d.dial()
	keeper := c.call(hostCall{Op: "info"}).Keeper
	before := counts(t, keeper)
	for _, tt := range []struct {
		call hostCall
		want string
	}{
		{hostCall{ID: "a", Argv: []string{"no-such-command"}, Dir: "/"}, `command "no-such-command" not found`},
		{hostCall{ID: "a", Argv: []string{"/bin/sh"}, Dir: "/no/such/folder"}, "folder /no/such/folder: no such file or directory"},
		{hostCall{ID: "a", Argv: []string{"/etc/passwd"}, Dir: "/"}, `command "/etc/passwd": permission denied`},
		{hostCall{ID: "", Argv: []string{"sh"}, Dir: "/"}, "start: no id or no command"},
		{hostCall{ID: "a", Dir: "/"}, "start: no id or no command"},
	} {
		tt.call.Op = "start"
		if r, err := c.try(tt.call); err != nil || r.Error != tt.want {
			t.Errorf("%+v: answer %+v (%v), want %q", tt.call, r, err, tt.want)
		}
	}
	if after := counts(t, keeper); after != before {
		t.Errorf("the keeper has %+v, before %+v", after, before)
	}
}

// count is what a process holds.
type count struct{ children, descriptors int }

func counts(t *testing.T, pid int) count {
	t.Helper()
	fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Skip("no /proc to look into")
	}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	n := count{descriptors: len(fds)}
	for _, stat := range stats {
		text, err := os.ReadFile(stat)
		if err != nil {
			continue // it has ended
		}
		// Zombies count: field 4 is the parent of the living and the dead.
		_, rest, _ := strings.Cut(string(text[strings.LastIndexByte(string(text), ')')+1:]), " ")
		if fields := strings.Fields(rest); len(fields) > 1 && fields[1] == strconv.Itoa(pid) {
			n.children++
		}
	}
	return n
}

// Agents start servers, and those more of them; nothing of a closed session stays.
func TestClosedSessionsLeaveNothing(t *testing.T) {
	cycles := 200
	if testing.Short() {
		cycles = 20
	}
	d := newDaemon(t).mustStart()
	c := d.dial()
	host := c.call(hostCall{Op: "info"})
	const script = `
		sh -c 'sh -c "exec tail -f /dev/null" & exit 0' # a child without its parent
		setsid tail -f /dev/null &                        # a server
		trap '' HUP; tail -f /dev/null &                  # one that hears no hang-up
		echo up; wait`
	cycle := func() {
		c.sh("a", script)
		c.call(hostCall{Op: "expect", ID: "a", Text: "up\r\n"})
		c.call(hostCall{Op: "close", ID: "a"})
	}
	// An ended orphan is gone when the keeper has waited for it, of which nothing tells.
	// But it waits for all that have ended when it hears of any end. A release has no
	// answer, but what the keeper answers afterwards comes after it.
	settle := func() {
		c.sh("last", "exit 0")
		c.call(hostCall{Op: "exit", ID: "last"})
		c.call(hostCall{Op: "close", ID: "last"})
		if r, err := c.try(hostCall{Op: "start", ID: "b", Argv: []string{"no-such-command"}}); err != nil || r.Stage != "find" {
			t.Fatalf("answer %+v (%v)", r, err)
		}
	}
	cycle()
	settle()
	keeperBefore, hostBefore := counts(t, host.Keeper), counts(t, host.PID)
	for range cycles {
		cycle()
	}
	settle()
	keeperAfter, hostAfter := counts(t, host.Keeper), counts(t, host.PID)
	if keeperAfter != keeperBefore {
		t.Errorf("the keeper has %+v after %d sessions, had %+v", keeperAfter, cycles, keeperBefore)
	}
	if hostAfter != hostBefore {
		t.Errorf("the host has %+v after %d sessions, had %+v", hostAfter, cycles, hostBefore)
	}
}

// Whoever calls first may be a script with files open and signals ignored. Children
// must see neither.
func TestChildrenStartClean(t *testing.T) {
	d := newDaemon(t)
	leak, err := os.Create(filepath.Join(t.TempDir(), "leak"))
	if err != nil {
		t.Fatal(err)
	}
	defer leak.Close()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	line := d.start(func(cmd *exec.Cmd) {
		// As a shell starts a job in the background, and then some.
		cmd.Path, cmd.Args = "/bin/sh", []string{"sh", "-c", `trap '' HUP INT QUIT TERM TSTP TTIN TTOU PIPE; exec "$0"`, exe}
		cmd.ExtraFiles = append(cmd.ExtraFiles, leak, leak)
	})
	if line != "ready" {
		t.Fatalf("the keeper said %q", line)
	}
	c := d.dial()
	keeper := c.call(hostCall{Op: "info"})
	p := c.sh("a", `echo up; exec tail -f /dev/null`).Proc
	c.call(hostCall{Op: "expect", ID: "a", Text: "up\r\n"})

	for name, pid := range map[string]int{"child": p.PID, "keeper": keeper.Keeper, "host": keeper.PID} {
		fds, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
		if err != nil || len(fds) == 0 {
			t.Skip("no /proc to look into")
		}
		for _, fd := range fds {
			target, err := os.Readlink(fd)
			if err != nil {
				continue // it was for the look itself
			}
			n := filepath.Base(fd)
			if target == leak.Name() || name == "child" && n > "2" && !strings.HasSuffix(target, "/dev/null") {
				t.Errorf("%s: descriptor %s is %s", name, n, target)
			}
		}
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		for _, field := range []string{"SigIgn:", "SigBlk:"} {
			if mask, ok := strings.CutPrefix(line, field); ok && strings.Trim(mask, "0\t\n") != "" {
				t.Errorf("the child has %s", line)
			}
		}
	}
}
