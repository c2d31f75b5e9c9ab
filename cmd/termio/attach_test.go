package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"termio/internal/api"
	"termio/internal/pty"
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

// An outer is a person's terminal with an attach in it. What is written to it goes
// into a screen, which knows its modes as a terminal would.
type outer struct {
	t      *testing.T
	master *os.File
	fd     int
	screen *vt.Screen
	raw    []byte // all that was written to it
	guard  pty.Proc
}

// attach starts `termio attach` on a terminal of its own.
func (p *place) attach(size pty.Size, args ...string) *outer {
	p.t.Helper()
	exe, err := exec.LookPath("termio")
	if err != nil {
		p.t.Fatal(err)
	}
	fd, err := pty.Open(size)
	if err != nil {
		p.t.Fatal(err)
	}
	proc, err := pty.Start(fd, pty.Command{Argv: append([]string{exe, "attach"}, args...), Env: p.env, Dir: p.dir, Size: size})
	if err != nil {
		p.t.Fatal(err)
	}
	o := &outer{
		t: p.t, fd: fd, guard: proc, master: os.NewFile(uintptr(fd), "outer"),
		screen: vt.New(vt.Options{Cols: int(size.Cols), Rows: int(size.Rows)}),
	}
	p.t.Cleanup(func() { _ = o.master.Close() })
	return o
}

// until reads what is written to the terminal until the screen is as wanted.
func (o *outer) until(what string, want func() bool) {
	o.t.Helper()
	if err := o.master.SetReadDeadline(time.Now().Add(patience)); err != nil {
		o.t.Fatal(err)
	}
	buf := make([]byte, 64<<10)
	for !want() {
		n, err := o.master.Read(buf)
		o.raw = append(o.raw, buf[:n]...)
		_, _ = o.screen.Write(buf[:n])
		if err != nil {
			o.t.Fatalf("waiting for %s: %v\nthe screen is\n%s\nall that came: %q", what, err, strings.Join(o.screen.Text(), "\n"), o.raw)
		}
	}
}

// shows waits for a text on the screen.
func (o *outer) shows(text string) {
	o.t.Helper()
	o.until(strconv.Quote(text), func() bool { return strings.Contains(strings.Join(o.screen.Text(), "\n"), text) })
}

func (o *outer) types(s string) {
	o.t.Helper()
	if _, err := io.WriteString(o.master, s); err != nil {
		o.t.Fatal(err)
	}
}

// ends waits for the attach's end, reads what is left, and gives its exit code.
func (o *outer) ends() int {
	o.t.Helper()
	var status syscall.WaitStatus
	for {
		_, err := syscall.Wait4(o.guard.PID, &status, 0, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil {
			o.t.Fatal(err)
		}
		break
	}
	_ = o.master.SetReadDeadline(time.Now().Add(patience))
	rest, _ := io.ReadAll(o.master) // ends in EIO: nobody has the terminal open
	o.raw = append(o.raw, rest...)
	_, _ = o.screen.Write(rest)
	if status.Signaled() {
		return -int(status.Signal())
	}
	return status.ExitStatus()
}

// isRestored checks that the terminal is as a shell wants it.
func (o *outer) isRestored() {
	o.t.Helper()
	if got, want := o.screen.Modes(), vt.New(vt.Options{Cols: 80, Rows: 24}).Modes(); got != want {
		o.t.Errorf("the terminal's modes are %+v, want %+v", got, want)
	}
	if o.screen.AltScreen() {
		o.t.Error("the terminal shows its other screen")
	}
	if modes, err := pty.GetModes(o.fd); err != nil || !modes.Canonical || !modes.Echo || !modes.Signals {
		o.t.Errorf("the line's modes are %+v, %v", modes, err)
	}
}

// wild is a program that switches on everything it can find and shows its keys.
const wild = `printf '\033[?1049h\033[?1003h\033[?1006h\033[?1004h\033[?2004h\033[?1h\033[>1u\033[?25l\033]2;wild\007'; stty raw -echo; echo ready; exec cat -v`

func TestAttach(t *testing.T) {
	p := newPlace(t)
	link := p.termio("sessions", "run", "--cwd", ".", wild)
	for name, key := range map[string]string{"legacy": "\x1c", "kitty": "\x1b[92;5u", "modifyOtherKeys": "\x1b[27;5;92~"} {
		t.Run(name, func(t *testing.T) {
			o := p.attach(pty.Size{Cols: 100, Rows: 30}, link)
			o.t = t
			o.shows("ready")
			if !o.screen.AltScreen() || o.screen.Modes() == vt.New(vt.Options{Cols: 80, Rows: 24}).Modes() {
				t.Error("the program's modes have not reached the terminal")
			}
			o.types(name + "\x03\x1b[A\x1b[200~a\x1cb\x1b[201~\x1b[<0;1;1M\x1b[I")
			o.shows(name + "^C^[[A^[[200~a^\\b^[[201~^[[<0;1;1M^[[I")
			o.types(key)
			if code := o.ends(); code != 0 {
				t.Errorf("exit code %d", code)
			}
			o.isRestored()
			if !slices.ContainsFunc(o.screen.Text(), func(s string) bool { return strings.HasPrefix(s, "[detached from ") }) {
				t.Errorf("the screen is\n%s", strings.Join(o.screen.Text(), "\n"))
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
	second := func(t *testing.T, o *outer) int {
		t.Helper()
		members, err := pty.Members(o.guard.PID)
		if err != nil || len(members) != 2 {
			t.Fatalf("%+v, %v", members, err)
		}
		return members[1].PID
	}
	tests := []struct {
		name   string
		kill   func(t *testing.T, o *outer) (pid int, sig syscall.Signal)
		code   int
		bereft bool // the guard is the one that is gone
	}{
		{"the second process is killed", func(t *testing.T, o *outer) (int, syscall.Signal) { return second(t, o), syscall.SIGKILL }, 1, false},
		{"the second process is ended", func(t *testing.T, o *outer) (int, syscall.Signal) { return second(t, o), syscall.SIGTERM }, 0, false},
		{"the guard is ended", func(_ *testing.T, o *outer) (int, syscall.Signal) { return o.guard.PID, syscall.SIGTERM }, 0, false},
		{"the guard is hung up", func(_ *testing.T, o *outer) (int, syscall.Signal) { return o.guard.PID, syscall.SIGHUP }, 0, false},
		{"both are hung up", func(_ *testing.T, o *outer) (int, syscall.Signal) { return -o.guard.PID, syscall.SIGHUP }, 0, false},
		{"the guard is killed", func(_ *testing.T, o *outer) (int, syscall.Signal) { return o.guard.PID, syscall.SIGKILL }, -9, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := p.attach(pty.Size{Cols: 100, Rows: 30}, link)
			o.t = t
			o.shows("ready")
			pid, sig := tt.kill(t, o)
			if err := syscall.Kill(pid, sig); err != nil {
				t.Fatal(err)
			}
			if tt.bereft {
				o.until("the terminal's modes", func() bool { return !o.screen.AltScreen() })
			}
			if code := o.ends(); code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
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
	link := p.termio("sessions", "run", "--cwd", ".", `trap 'stty size' WINCH; echo ready; while :; do read x && stty size; done`)
	o := p.attach(pty.Size{Cols: 100, Rows: 30}, link)
	o.shows("ready")
	o.types("\r")
	o.shows("30 100")
	if err := pty.SetSize(o.fd, pty.Size{Cols: 90, Rows: 20}); err != nil {
		t.Fatal(err)
	}
	o.screen.Resize(90, 20)
	o.shows("20 90")
	o.types("\x1c")
	o.ends()
}

// The host's replacement is a pause, no more: what is shown and typed goes on.
func TestAttachSurvivesTheHost(t *testing.T) {
	p := newPlace(t)
	link := p.termio("sessions", "run", "--cwd", ".", "echo ready; stty -echo; cat -v")
	o := p.attach(pty.Size{Cols: 100, Rows: 30}, link)
	o.shows("ready")
	o.types("before\r")
	o.shows("before")
	status := p.termio("daemon", "status")
	var keeper, host int
	for _, line := range strings.Split(status, "\n") {
		_, _ = fmt.Sscanf(line, "processes: keeper %d, host %d", &keeper, &host)
	}
	if host == 0 {
		t.Fatalf("no host in\n%s", status)
	}
	if err := syscall.Kill(host, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	o.types("after\r")
	o.shows("after")
	o.types("\x1c")
	if code := o.ends(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	o.isRestored()
}

// The end of the session is the end of the attach, and is told.
func TestAttachToWhatEnds(t *testing.T) {
	p := newPlace(t)
	link := p.termio("sessions", "run", "--cwd", ".", "echo ready; cat")
	o := p.attach(pty.Size{Cols: 100, Rows: 30}, link)
	o.shows("ready")
	p.termio("sessions", "close", link)
	if code := o.ends(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	o.isRestored()
	if text := strings.Join(o.screen.Text(), "\n"); !strings.Contains(text, "[echo ready; cat was closed]") {
		t.Errorf("the screen is\n%s", text)
	}
}

// The host answers a program's questions; the person's terminal never sees them,
// so no second answer is typed into the session.
func TestAttachHidesQueries(t *testing.T) {
	p := newPlace(t)
	link := p.termio("sessions", "run", "--cwd", ".", `stty raw -echo; echo ready; head -c1 >/dev/null; printf 'one\033[ctwo\033[6nthree\033]11;?\007four'; exec cat -v`)
	o := p.attach(pty.Size{Cols: 100, Rows: 30}, link)
	o.shows("ready")
	o.types("x")
	o.shows("onetwothreefour")
	o.shows("rgb:") // the answer that the program got, from the host
	for _, query := range []string{"\x1b[c", "\x1b[6n", "]11;?"} {
		if strings.Contains(string(o.raw), query) {
			t.Errorf("the terminal was asked %q", query)
		}
	}
	o.types("\x1c")
	o.ends()
}

// Without a terminal, and for a session inside itself, there is nothing to attach.
func TestAttachRefused(t *testing.T) {
	p := newPlace(t)
	link := p.termio("sessions", "run", "--cwd", ".", "echo ready")
	cmd := exec.Command("termio", "attach", link)
	cmd.Dir, cmd.Env = p.dir, p.env
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "attach needs a terminal") {
		t.Errorf("%v: %s", err, out)
	}
	o := p.attach(pty.Size{Cols: 100, Rows: 30}, "nothing-like-it")
	if code := o.ends(); code != 1 || !strings.Contains(string(o.raw), "error: ") {
		t.Errorf("exit code %d: %q", code, o.raw)
	}
	o.isRestored()

	p.env = append(p.env, "TERMIO_SESSION="+strings.TrimPrefix(link, api.LinkPrefix))
	o = p.attach(pty.Size{Cols: 100, Rows: 30}, link)
	if code := o.ends(); code != 1 || !strings.Contains(string(o.raw), "cannot show itself") {
		t.Errorf("exit code %d: %q", code, o.raw)
	}
}
