package demo

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	atp "termio/internal/agent"
	"termio/internal/pty"
	"termio/internal/vt"
)

// The test binary plays one more part: the demo agent on a terminal of its own.
func TestMain(m *testing.M) {
	switch os.Getenv("DEMO_TEST_ROLE") {
	case "agent":
		os.Exit(Run(context.Background(), os.Args[1:], Stdio{os.Stdin, os.Stdout, os.Stderr}, os.Environ()))
	}
	os.Exit(m.Run())
}

// hookCall is one run of the hook program. It writes two lines: one when it starts,
// without a payload, and one when it has read its input.
type hookCall struct {
	Args    []string
	Payload map[string]any
}

// hookProgram stands for `termio` in a home's bin folder.
const hookProgram = `#!/bin/sh
for a; do args="$args${args:+,}\"$a\""; done
echo "{\"Args\":[$args]}" >"$DEMO_TEST_HOOKS"
payload=$(cat)
printf '{"Args":[%s],"Payload":%s}\n' "$args" "$payload" >"$DEMO_TEST_HOOKS"
`

// patience is how long a test waits for what must happen.
const patience = time.Minute

// A bench is a terminal with the demo agent on it.
type bench struct {
	t      *testing.T
	dir    string // its working folder
	home   string
	master *os.File
	fd     int
	proc   pty.Proc

	answers bool // queries are answered, as a terminal does; set before the start

	mu     sync.Mutex
	vt     *vt.Screen
	output []byte
	ended  bool
	change *sync.Cond
	events []map[string]any
	seen   int        // events that have been waited for
	begun  []hookCall // reports that have started
	calls  []hookCall // and those that have read their payload
	mark   int        // output before it has been waited for
	done   chan struct{}
	status syscall.WaitStatus
	exited chan struct{}
}

// start runs the demo agent, 50 times as fast, with the given arguments.
func start(t *testing.T, args ...string) *bench {
	t.Helper()
	return startIn(t, t.TempDir(), args...)
}

// size80 is the usual terminal.
var size80 = pty.Size{Cols: 80, Rows: 24}

// startIn does so in a folder that an earlier one may have used.
func startIn(t *testing.T, dir string, args ...string) *bench {
	t.Helper()
	return startOn(t, dir, size80, false, args...)
}

// startOn does so on a terminal of another size. With answers the terminal answers
// queries, as every real one does.
func startOn(t *testing.T, dir string, size pty.Size, answers bool, args ...string) *bench {
	t.Helper()
	args = append([]string{"--speed=50"}, args...)
	b := &bench{t: t, dir: dir, answers: answers, home: filepath.Join(dir, "home"), done: make(chan struct{}), exited: make(chan struct{})}
	b.change = sync.NewCond(&b.mu)
	b.vt = vt.New(vt.Options{Cols: int(size.Cols), Rows: int(size.Rows), History: 1000, ProgramStatus: true, Version: "test"})
	if err := os.MkdirAll(filepath.Join(b.home, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(b.home, "bin", "termio"), []byte(hookProgram), 0o700); err != nil {
		t.Fatal(err)
	}
	b.follow(b.path("events"), func(l []byte) {
		var e map[string]any
		if err := json.Unmarshal(l, &e); err != nil {
			t.Errorf("event %q: %v", l, err)
		}
		b.events = append(b.events, e)
	})
	b.follow(b.path("hooks"), func(l []byte) {
		var c hookCall
		if err := json.Unmarshal(l, &c); err != nil {
			t.Errorf("report %q: %v", l, err)
		}
		if c.Payload == nil {
			b.begun = append(b.begun, c)
		} else {
			b.calls = append(b.calls, c)
		}
	})
	if b.fd, err = pty.Open(size); err != nil {
		t.Fatal(err)
	}
	b.master = os.NewFile(uintptr(b.fd), "master")
	b.proc, err = pty.Start(b.fd, pty.Command{
		Argv: append([]string{exe, "--events", b.path("events")}, args...),
		Env: []string{
			"DEMO_TEST_ROLE=agent", "DEMO_TEST_HOOKS=" + b.path("hooks"), "TERM=xterm-256color", "LANG=C.UTF-8",
			"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TERMIO_HOME=" + b.home,
			"TERMIO_SESSION=7c9e6679-7425-40de-944b-e07fc1f90ae7", "GOCOVERDIR=" + os.TempDir(),
		},
		Dir: dir, Size: size,
	})
	if err != nil {
		t.Fatal(err)
	}
	go b.collect()
	go b.reap()
	t.Cleanup(func() {
		screen := b.screen()                          // as the test left it
		_ = syscall.Kill(b.proc.PID, syscall.SIGTERM) // it waits for its hooks; gone already in some tests
		late := time.AfterFunc(patience, func() { _ = syscall.Kill(b.proc.PID, syscall.SIGKILL) })
		<-b.exited
		late.Stop()
		_ = b.master.Close()
		<-b.done
		if t.Failed() {
			t.Logf("screen:\n%s\nevents: %v\nreports: %s", screen, b.events, b.hookNames())
		}
	})
	return b
}

func (b *bench) path(name string) string { return filepath.Join(b.dir, name) }

func (b *bench) collect() {
	defer close(b.done)
	buf := make([]byte, 32<<10)
	for {
		n, err := b.master.Read(buf)
		b.mu.Lock()
		b.output = append(b.output, buf[:n]...)
		_, _ = b.vt.Write(buf[:n]) // it takes everything
		replies := b.vt.TakeReplies()
		b.ended = err != nil
		b.change.Broadcast()
		b.mu.Unlock()
		if err != nil {
			return
		}
		if b.answers && len(replies) > 0 {
			_, _ = b.master.Write(replies) // fails with the read that follows
		}
	}
}

func (b *bench) reap() {
	_, err := syscall.Wait4(b.proc.PID, &b.status, 0, nil)
	for errors.Is(err, syscall.EINTR) {
		_, err = syscall.Wait4(b.proc.PID, &b.status, 0, nil)
	}
	close(b.exited)
}

// wait waits for text in the output after what was waited for last.
func (b *bench) wait(text string) {
	b.t.Helper()
	if !b.find(text) {
		b.t.Fatalf("no %q in the output", text)
	}
}

// find is wait without a verdict: false when the output ended or patience did.
func (b *bench) find(text string) (found bool) {
	b.until(func() bool {
		i := bytes.Index(b.output[b.mark:], []byte(text))
		if found = i >= 0; found {
			b.mark += i + len(text)
		}
		return found || b.ended
	})
	return found
}

// all is the output so far.
func (b *bench) all() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return string(b.output)
}

// send types bytes.
func (b *bench) send(s string) {
	b.t.Helper()
	if _, err := b.master.WriteString(s); err != nil {
		b.t.Fatal(err)
	}
}

// prompt pastes a prompt and sends it.
func (b *bench) prompt(s string) {
	b.t.Helper()
	b.send("\x1b[200~" + s + "\x1b[201~\r")
}

// exit waits for the end and gives the exit status.
func (b *bench) exit() syscall.WaitStatus {
	b.t.Helper()
	select {
	case <-b.exited:
	case <-time.After(patience):
		b.t.Fatal("still running")
	}
	<-b.done
	return b.status
}

// follow hands every line of a named pipe to got, with the lock held, until the
// test ends. A pipe rather than a file: a line's arrival is an event.
func (b *bench) follow(path string, got func(line []byte)) {
	b.t.Helper()
	if err := unix.Mkfifo(path, 0o600); err != nil {
		b.t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|unix.O_NONBLOCK, 0) // for both: it never ends by itself
	if err != nil {
		b.t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		r := bufio.NewReader(f)
		for {
			l, err := r.ReadBytes('\n')
			if err != nil {
				return
			}
			b.mu.Lock()
			got(l)
			b.change.Broadcast()
			b.mu.Unlock()
		}
	}()
	b.t.Cleanup(func() {
		_ = f.Close()
		<-done
		_ = os.Remove(path)
	})
}

// until waits until ok, which is called with the lock held, and reports whether it
// became true.
func (b *bench) until(ok func() bool) bool {
	expired := false
	timer := time.AfterFunc(patience, func() {
		b.mu.Lock()
		expired = true
		b.change.Broadcast()
		b.mu.Unlock()
	})
	defer timer.Stop()
	b.mu.Lock()
	defer b.mu.Unlock()
	for !ok() {
		if expired {
			return false
		}
		b.change.Wait()
	}
	return true
}

// event waits for an event of the agent's own log, with the given fields, after the
// one that was waited for last.
func (b *bench) event(name string, fields ...string) map[string]any {
	b.t.Helper()
	var found map[string]any
	if !b.until(func() bool {
		for i, e := range b.events[b.seen:] {
			ok := e["event"] == name
			for j := 0; j+1 < len(fields); j += 2 {
				ok = ok && fmt.Sprint(e[fields[j]]) == fields[j+1]
			}
			if ok {
				found, b.seen = e, b.seen+i+1
				return true
			}
		}
		return false
	}) {
		b.t.Fatalf("no event %s %v", name, fields)
	}
	return found
}

// hooks waits until n reports have come, and gives them.
func (b *bench) hooks(n int) []hookCall {
	b.t.Helper()
	if !b.until(func() bool { return len(b.calls) >= n }) {
		b.t.Fatalf("%d reports, want %d: %s", len(b.calls), n, b.hookNames())
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.calls)
}

// hookNames are the events that were reported so far, in order.
func (b *bench) hookNames() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var names []string
	for _, c := range b.calls {
		names = append(names, flagOf(c.Args, "--event"))
	}
	return strings.Join(names, " ")
}

// wantHooks waits for as many reports as want names, and compares.
func (b *bench) wantHooks(want string) []hookCall {
	b.t.Helper()
	calls := b.hooks(len(strings.Fields(want)))
	if got := b.hookNames(); got != want {
		b.t.Errorf("reports\n got %s\nwant %s", got, want)
	}
	return calls
}

func flagOf(args []string, flag string) string {
	if i := slices.Index(args, flag); i >= 0 && i+1 < len(args) {
		return args[i+1]
	}
	return ""
}

// transcript is the only conversation's.
func (b *bench) transcript() []line {
	b.t.Helper()
	files, err := filepath.Glob(filepath.Join(b.home, "demo", "*.jsonl"))
	if err != nil || len(files) != 1 {
		b.t.Fatalf("transcripts %v, %v; want one", files, err)
	}
	return lines[line](b.t, files[0])
}

// lines reads a file of JSON lines; what is not whole yet is left out.
func lines[T any](t *testing.T, path string) []T {
	t.Helper()
	data := read(t, path)
	var all []T
	for {
		l, rest, ok := strings.Cut(data, "\n")
		if !ok {
			return all
		}
		var v T
		if err := json.Unmarshal([]byte(l), &v); err != nil {
			t.Fatalf("%s: %v in %q", path, err, l)
		}
		all, data = append(all, v), rest
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return string(data)
}

// screen is what the screen shows now.
func (b *bench) screen() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.TrimRight(strings.Join(b.vt.Text(), "\n"), "\n")
}

// waitScreen waits until the screen shows text in one row.
func (b *bench) waitScreen(text string) {
	b.t.Helper()
	if !b.until(func() bool { return strings.Contains(strings.Join(b.vt.Text(), "\n"), text) }) {
		b.t.Fatalf("no %q on the screen", text)
	}
}

// view is the screen as the agent engine sees it.
func (b *bench) view() atp.ScreenView {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.vt.Cursor()
	return atp.ScreenView{
		Rows: b.vt.Text(), CursorX: c.X, CursorY: c.Y, CursorVisible: c.Visible, Title: b.vt.Title(),
		Dim: func(x, y int) bool { return b.vt.Cell(x, vt.Row(y)).Style.Attr&vt.Dim != 0 },
	}
}
