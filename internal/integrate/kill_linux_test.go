package integrate

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"termio/internal/agent"
	"termio/internal/config"
)

// killHome names the home of a process that is to be killed while it edits; see
// TestKilledAtEverySystemCall.
const killHome = "TERMIO_TEST_KILL_HOME"

// killEdit is which edit that process makes.
const killEdit = "TERMIO_TEST_KILL_EDIT"

// killMark is the system call between those of the runtime and those of the edit.
const killMark = "getpgid"

// killAgent is the agent whose file is edited.
func killAgent() *agent.Manifest { return claude() }

func TestMain(m *testing.M) {
	home := os.Getenv(killHome)
	if home == "" {
		os.Exit(m.Run())
	}
	// One thread makes all the calls of the edit, so that they can be counted.
	runtime.LockOSThread()
	env, err := config.FromEnv([]string{"HOME=" + home})
	if err != nil {
		panic(err)
	}
	in := New(env)
	_, _ = syscall.Getpgid(0) // the mark between the runtime's own calls and the edit's
	switch os.Getenv(killEdit) {
	case "install":
		_, err = in.InstallHooks(killAgent())
	case "remove":
		_, err = in.RemoveHooks(killAgent())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// A process that edits a file and is killed at any of its system calls leaves the old
// file or the new one, whole, and what comes after goes on from there: an installation
// is there once, and a removal gives back the very bytes.
func TestKilledAtEverySystemCall(t *testing.T) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("NOT TESTED: a crash in the middle of an edit needs strace, which is not on the PATH")
	}
	const text = "{\n  \"mine\": 1\n}\n"
	for _, edit := range []string{"install", "remove"} {
		t.Run(edit, func(t *testing.T) {
			t.Parallel()
			k := &killing{t: t, strace: strace, edit: edit, old: text}
			calls := k.count()
			killed := 0
			for _, c := range calls {
				for n := c.first; n <= c.last; n++ {
					if k.killAt(c.name, n) {
						killed++
					}
				}
			}
			t.Logf("killed at %d calls of %d kinds", killed, len(calls))
			if killed < 20 {
				t.Errorf("killed at %d calls only: the edit makes more", killed)
			}
		})
	}
}

// killing runs edits under strace.
type killing struct {
	t                      *testing.T
	strace, edit, old, new string
}

// A killCall is a kind of system call and which of a process's are of the edit.
type killCall struct {
	name        string
	first, last int
}

// home makes a home as it is before the edit.
func (k *killing) home() (p *person, before string) {
	p = newPerson(k.t)
	p.write(k.old)
	if k.edit == "remove" {
		p.install()
	}
	return p, p.plain()
}

// run makes the edit under strace and gives what strace wrote; ok is false for a
// process that was killed.
func (k *killing) run(p *person, args ...string) (trace []byte, ok bool) {
	k.t.Helper()
	out := filepath.Join(k.t.TempDir(), "trace")
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, k.strace, append(append([]string{"-f", "-o", out}, args...), os.Args[0])...)
	cmd.Env = []string{killHome + "=" + p.home, killEdit + "=" + k.edit, "GOMAXPROCS=1", "GOGC=off", "PATH=" + os.Getenv("PATH")}
	stderr, err := cmd.CombinedOutput()
	trace, readErr := os.ReadFile(out)
	if readErr != nil || ctx.Err() != nil || len(stderr) > 0 && bytes.Contains(stderr, []byte("ptrace")) {
		k.t.Skipf("NOT TESTED: strace cannot trace here: %v %s", errors.Join(err, readErr), stderr)
	}
	if err != nil && cmd.ProcessState.ExitCode() == 1 && bytes.Contains(stderr, []byte("hooks")) {
		k.t.Fatalf("the edit failed: %s", stderr)
	}
	return trace, err == nil
}

var tracedCall = regexp.MustCompile(`^(\d+) +([a-z0-9_]+)\(`)

// count finds the calls that the edit makes: what comes after the mark in the thread
// that made it. Calls that only wait, or give memory, change nothing.
func (k *killing) count() []killCall {
	k.t.Helper()
	p, _ := k.home()
	trace, ok := k.run(p)
	if !ok {
		k.t.Fatalf("the edit failed: %s", trace)
	}
	k.new = p.plain()
	pid := ""
	for line := range bytes.Lines(trace) {
		if m := tracedCall.FindSubmatch(line); m != nil && string(m[2]) == killMark {
			pid = string(m[1])
		}
	}
	if pid == "" {
		k.t.Fatalf("no mark in %s", trace)
	}
	skip := "futex nanosleep madvise mmap munmap sched_yield getpid tgkill rt_sigprocmask rt_sigreturn epoll_pwait epoll_ctl clone clone3 sigaltstack gettid exit_group " + killMark
	var calls []killCall
	seen := map[string]int{}
	marked := false
	lines := bufio.NewScanner(bytes.NewReader(trace))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		m := tracedCall.FindStringSubmatch(lines.Text())
		if m == nil || m[1] != pid {
			continue
		}
		name := m[2]
		seen[name]++
		marked = marked || name == killMark
		if !marked || strings.Contains(" "+skip+" ", " "+name+" ") {
			continue
		}
		if n := len(calls); n > 0 {
			if i := indexCall(calls, name); i >= 0 {
				calls[i].last = seen[name]
				continue
			}
		}
		calls = append(calls, killCall{name, seen[name], seen[name]})
	}
	return calls
}

func indexCall(calls []killCall, name string) int {
	for i, c := range calls {
		if c.name == name {
			return i
		}
	}
	return -1
}

// killAt kills the edit at one call and looks at what is left; it reports whether the
// process came that far.
func (k *killing) killAt(name string, n int) bool {
	k.t.Helper()
	p, before := k.home()
	_, ok := k.run(p, "-e", "trace="+name, "-e", fmt.Sprintf("inject=%s:signal=SIGKILL:when=%d", name, n))
	switch got := p.plain(); {
	case ok && got != k.new:
		k.t.Errorf("%s %d: the edit was not made: %q", name, n, got)
	case got != before && got != k.new:
		k.t.Errorf("%s %d: the file is neither the old nor the new one: %q", name, n, got)
	}
	p.install()
	if got := p.state(); got != On {
		k.t.Errorf("%s %d: state %q after another installation", name, n, got)
	}
	p.remove()
	if got := p.read(); got != k.old {
		k.t.Errorf("%s %d: removed, the file is %q", name, n, got)
	}
	return !ok
}

// plain is the file's content with the program's place left out: each home has its own.
func (p *person) plain() string { return strings.ReplaceAll(p.read(), p.exe, "EXE") }
