package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"termio/internal/api"
	"termio/internal/pty"
	"termio/internal/termtest"
	"termio/internal/vt"
)

// place is a termio home and a project's folder for a Go test, as setup is for a
// script.
type place struct {
	t    *testing.T
	env  []string
	dir  string
	home string
}

func newPlace(t *testing.T) *place {
	t.Helper()
	dir, err := os.MkdirTemp("", "tm")
	if err != nil {
		t.Fatal(err)
	}
	p := &place{t: t, dir: filepath.Join(dir, "app"), home: filepath.Join(dir, "h")}
	if err := os.Mkdir(p.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	p.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TERMIO_HOME=" + p.home, "SHELL=/bin/sh", "PS1=$ ", "ENV=", "LANG=C.UTF-8", "TERM=xterm-256color",
		"GORACE=atexit_sleep_ms=0", "TERMIO_CLI_TIMEOUT=120", // as in setup
	}
	t.Cleanup(func() {
		p.termio("daemon", "stop")
		if left := leftBehind(p.home); len(left) > 0 {
			t.Error("left behind:\n" + strings.Join(left, "\n"))
		}
		_ = os.RemoveAll(dir)
	})
	return p
}

// termio runs the command and gives its standard output; it must succeed.
func (p *place) termio(args ...string) string {
	p.t.Helper()
	cmd := exec.Command("termio", args...)
	cmd.Dir, cmd.Env = p.dir, p.env
	out, err := cmd.Output()
	if err != nil {
		var errs []byte
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			errs = exit.Stderr
		}
		p.t.Fatalf("termio %q: %v\n%s%s", args, err, out, errs)
	}
	return strings.TrimSpace(string(out))
}

// An outer is a person's terminal with an attach in it, started from a shell.
type outer struct{ *termtest.Outer }

// attach starts `termio attach` from a shell on a terminal of its own. The shell
// tells the exit code, then waits for a key.
func (p *place) attach(size pty.Size, args ...string) *outer {
	p.t.Helper()
	argv := append([]string{"/bin/sh", "-c", `termio attach "$@"; echo "code=$?."; read x`, "sh"}, args...)
	return &outer{termtest.OpenOuter(p.t, size, pty.Command{Argv: argv, Env: p.env, Dir: p.dir})}
}

// screen is a session's screen as the daemon has it.
func (p *place) screen(link string) *vt.Screen {
	p.t.Helper()
	return termtest.Snapshot(p.t, p.home, p.dir, link)
}

// processes are the attach's two: the guard, and the one that passes bytes.
func (o *outer) processes() (guard, second int) {
	o.T.Helper()
	members, err := pty.Members(o.Proc.PID)
	if err != nil || len(members) != 3 {
		o.T.Fatalf("%+v, %v", members, err)
	}
	return members[1].PID, members[2].PID
}

// ends waits for the attach's end and gives its exit code, as a shell has it.
func (o *outer) ends() int {
	o.T.Helper()
	code := -1
	o.Until("the exit code", func() bool {
		_, tail, ok := strings.Cut(string(o.Raw), "code=") // the screen may have been cleared since
		if ok {
			_, err := fmt.Sscanf(tail, "%d.", &code)
			ok = err == nil
		}
		return ok
	})
	return code
}

// isRestored checks that the terminal is as a shell wants it, then ends the shell.
func (o *outer) isRestored() {
	o.T.Helper()
	defer o.Leave()
	if got, want := o.Screen.Modes(), vt.New(vt.Options{Cols: 80, Rows: 24}).Modes(); got != want {
		o.T.Errorf("the terminal's modes are %+v, want %+v", got, want)
	}
	if o.Screen.AltScreen() {
		o.T.Error("the terminal shows its other screen")
	}
	if modes, err := pty.GetModes(o.FD); err != nil || !modes.Canonical || !modes.Echo || !modes.Signals {
		o.T.Errorf("the line's modes are %+v, %v", modes, err)
	}
}

// wild is a program that switches on everything it can find and shows its keys.
const wild = `printf '\033[?1049h\033[?1003h\033[?1006h\033[?1004h\033[?2004h\033[?1h\033[>1u\033[?25l\033]2;wild\007'; stty raw -echo; echo re''ady; exec cat -v`

func TestAttach(t *testing.T) {
	p := newPlace(t)
	link := p.termio("sessions", "run", "--cwd", ".", wild)
	for name, key := range map[string]string{"legacy": "\x1c", "kitty": "\x1b[92;5u", "modifyOtherKeys": "\x1b[27;5;92~"} {
		t.Run(name, func(t *testing.T) {
			o := p.attach(pty.Size{Cols: 100, Rows: 30}, link)
			o.T = t
			o.Shows("ready")
			if !o.Screen.AltScreen() || o.Screen.Modes() == vt.New(vt.Options{Cols: 80, Rows: 24}).Modes() {
				t.Error("the program's modes have not reached the terminal")
			}
			o.Types(name + "\x03\x1b[A\x1b[200~a\x1cb\x1b[201~\x1b[<0;1;1M\x1b[I")
			o.Shows(name + "^C^[[A^[[200~a^\\b^[[201~^[[<0;1;1M^[[I")
			o.Types(key)
			if code := o.ends(); code != 0 {
				t.Errorf("exit code %d", code)
			}
			o.isRestored()
			if !slices.ContainsFunc(o.Screen.Text(), func(s string) bool { return strings.HasPrefix(s, "[detached from ") }) {
				t.Errorf("the screen is\n%s", strings.Join(o.Screen.Text(), "\n"))
			}
		})
	}
	// The session has noticed nothing.
	if got := p.termio("sessions", "read", link); !strings.Contains(got, "legacy") {
		t.Errorf("the session shows\n%s", got)
	}
}

// Whatever ends the attach, the person's terminal is theirs again.
func TestAttachGivesTheTerminalBack(t *testing.T) {
	p := newPlace(t)
	link := p.termio("sessions", "run", "--cwd", ".", wild)
	const guard, second = true, false
	tests := []struct {
		name string
		whom bool
		sig  syscall.Signal
		code int
	}{
		{"the second process is killed", second, syscall.SIGKILL, 1},
		{"the second process is ended", second, syscall.SIGTERM, 0},
		{"the guard is ended", guard, syscall.SIGTERM, 0},
		{"the guard is interrupted", guard, syscall.SIGINT, 0},
		{"the guard is hung up", guard, syscall.SIGHUP, 0},
		{"the guard is killed", guard, syscall.SIGKILL, 128 + int(syscall.SIGKILL)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := p.attach(pty.Size{Cols: 100, Rows: 30}, link)
			o.T = t
			o.Shows("ready")
			pid, other := o.processes()
			if tt.whom == second {
				pid = other
			}
			if err := syscall.Kill(pid, tt.sig); err != nil {
				t.Fatal(err)
			}
			if code := o.ends(); code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
			// Where the guard is gone the shell may be there first.
			o.Until("the terminal's modes", func() bool { return strings.Contains(string(o.Raw), "\x1b[23;0t\x1b[999;1H") })
			o.isRestored()
		})
	}
	if v := p.termio("sessions", "list"); !strings.Contains(v, link) {
		t.Errorf("the session is gone:\n%s", v)
	}
}

// The session has the size of the terminal that is sat at, from the start and
// when it changes.
func TestAttachSize(t *testing.T) {
	p := newPlace(t)
	link := p.termio("sessions", "run", "--cwd", ".", `echo re''ady; while read x; do stty size; done`)
	o := p.attach(pty.Size{Cols: 100, Rows: 30}, link)
	o.Shows("ready")
	o.Types("\r")
	o.Shows("30 100")
	o.Resize(90, 20)
	o.Until("the new size", func() bool {
		if strings.Contains(strings.Join(o.Screen.Text(), "\n"), "20 90") {
			return true
		}
		o.Types("\r") // asks again
		return false
	})
	o.Types("\x1c")
	o.ends()
	o.isRestored()
}

// The host's replacement is a pause, no more: what is shown and typed goes on.
func TestAttachSurvivesTheHost(t *testing.T) {
	p := newPlace(t)
	link := p.termio("sessions", "run", "--cwd", ".", "echo re''ady; stty -echo; cat -v")
	o := p.attach(pty.Size{Cols: 100, Rows: 30}, link)
	o.Shows("ready")
	o.Types("before\r")
	o.Shows("before")
	status := p.termio("daemon", "status")
	var keeper, host int
	for line := range strings.SplitSeq(status, "\n") {
		_, _ = fmt.Sscanf(line, "processes: keeper %d, host %d", &keeper, &host)
	}
	if host == 0 {
		t.Fatalf("no host in\n%s", status)
	}
	if err := syscall.Kill(host, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	// What is typed in the very moment of its death may be lost with it; when the
	// next one's picture is there, nothing is.
	o.Until("the picture of the next host", func() bool { return strings.Count(string(o.Raw), "\x1b[H\x1b[2J") == 2 })
	o.Types("after\r")
	o.Shows("after")
	o.Types("\x1c")
	if code := o.ends(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	o.isRestored()
}

// The end of the session is the end of the attach, and is told.
func TestAttachToWhatEnds(t *testing.T) {
	p := newPlace(t)
	link := p.termio("sessions", "run", "--cwd", ".", "echo re''ady; cat")
	o := p.attach(pty.Size{Cols: 100, Rows: 30}, link)
	o.Shows("ready")
	p.termio("sessions", "close", link)
	if code := o.ends(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	o.isRestored()
	if text := strings.Join(o.Screen.Text(), "\n"); !strings.Contains(text, "[session closed: echo re''ady; cat]") {
		t.Errorf("the screen is\n%s", text)
	}
}

// The host answers a program's questions; the person's terminal never sees them,
// so no second answer is typed into the session.
func TestAttachHidesQueries(t *testing.T) {
	p := newPlace(t)
	link := p.termio("sessions", "run", "--cwd", ".", `stty raw -echo; echo re''ady; head -c1 >/dev/null; printf 'one\033[ctwo\033[6nthree\033]11;?\007four'; exec cat -v`)
	o := p.attach(pty.Size{Cols: 100, Rows: 30}, link)
	o.Shows("ready")
	o.Types("x")
	o.Shows("onetwothreefour")
	o.Shows("rgb:") // the answer that the program got, from the host
	for _, query := range []string{"\x1b[c", "\x1b[6n", "\x1b]11;?"} {
		if strings.Contains(string(o.Raw), query) {
			t.Errorf("the terminal was asked %q", query)
		}
	}
	o.Types("\x1c")
	o.ends()
	o.isRestored()
}

// Without a terminal, and for a session inside itself, there is nothing to attach.
func TestAttachRefused(t *testing.T) {
	p := newPlace(t)
	link := p.termio("sessions", "run", "--cwd", ".", "echo re''ady")
	cmd := exec.Command("termio", "attach", link)
	cmd.Dir, cmd.Env = p.dir, p.env
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "attach needs a terminal") {
		t.Errorf("%v: %s", err, out)
	}
	o := p.attach(pty.Size{Cols: 100, Rows: 30}, "nothing-like-it")
	if code := o.ends(); code != 1 || !strings.Contains(string(o.Raw), "error: ") {
		t.Errorf("exit code %d: %q", code, o.Raw)
	}
	o.isRestored()

	p.env = append(p.env, "TERMIO_SESSION="+strings.TrimPrefix(link, api.LinkPrefix))
	o = p.attach(pty.Size{Cols: 100, Rows: 30}, link)
	if code := o.ends(); code != 1 || !strings.Contains(string(o.Raw), "cannot show itself") {
		t.Errorf("exit code %d: %q", code, o.Raw)
	}
	o.isRestored()
}

// A person's half-typed draft is neither merged with nor wiped by who sends.
func TestSendMeetsADraft(t *testing.T) {
	p := newPlace(t)
	p.env = append(p.env, "TERMIO_DEMO_SPEED=20")
	link := p.termio("sessions", "spawn", "--agent", "demo", "--cwd", ".", "--wait", "[[say ready]]")
	o := p.attach(pty.Size{Cols: 100, Rows: 30}, link)
	o.Shows("ready")
	o.Types("half a thought")
	o.Shows("half a thought")
	send := func(args ...string) (string, error) {
		cmd := exec.Command("termio", append([]string{"sessions", "send", link, "--json"}, args...)...)
		cmd.Dir, cmd.Env = p.dir, p.env
		out, err := cmd.Output()
		return string(out), err
	}
	if out, err := send("do this instead"); err == nil || !strings.Contains(out, `"error":"busy"`) {
		t.Errorf("%v: %s", err, out)
	}
	if text := p.termio("sessions", "read", link); !strings.Contains(text, "half a thought") || strings.Contains(text, "instead") {
		t.Errorf("the draft is gone:\n%s", text)
	}
	if out, err := send("[[say forced]]", "--force", "--wait"); err != nil || !strings.Contains(out, `"status":"done"`) {
		t.Errorf("%v: %s", err, out)
	}
	o.Types("\x1c")
	o.ends()
	o.isRestored()
}
