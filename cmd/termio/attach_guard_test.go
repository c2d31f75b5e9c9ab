package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"termio/internal/pty"
	"termio/internal/termtest"
	"termio/internal/vt"
)

// states are what a terminal says of itself when it is asked: each mode that a program
// may set (DECRQM), the keyboard's flags, the cursor's style, the title.
func states(s *vt.Screen) []string {
	var asked []byte
	for _, n := range []int{
		1, 5, 6, 7, 8, 9, 12, 25, 45, 47, 66, 67, 69, 1000, 1002, 1003, 1004, 1005, 1006, 1007, 1015, 1016, 1036, 1049, 2004, 2026, 2027, 2031, 2048,
	} {
		asked = fmt.Appendf(asked, "\x1b[?%d$p", n)
	}
	asked = append(asked, "\x1b[4$p\x1b[20$p\x1b[?u\x1b[?4m\x1bP$q q\x1b\\\x1bP$qr\x1b\\\x1bP$qm\x1b\\\x1b]11;?\x1b\\"...)
	_, _ = s.Write(asked)
	return append(strings.SplitAfter(string(s.TakeReplies()), "y"), s.Title())
}

// wildest switches on all that wild does, and what else a program can find.
const wildest = `printf '\033[?1h\033=\033[?5h\033[?7l\033[?12h\033[4h\033[20h\033[2;9r\033[?6h\033[?69h\033[?2031h\033[?2048h\033[>4;2m\033[>31u\033[3 q\033]11;#123456\007\033[1;31m\033)0'; ` +
	`printf '\033[?1049h\033[?1003h\033[?1016h\033[?1004h\033[?2004h\033[>15u\033[>7u\033[?25l\033]2;wildest\007\033[?2026h'; stty raw -echo; echo re''ady; exec cat >/dev/null`

// However an attach ends, the person's terminal is exactly as it was, also where it
// was not as terminals are at first.
func TestAttachLeavesTheTerminalAsItWas(t *testing.T) {
	p := newPlace(t)
	link := p.termio("sessions", "run", "--cwd", ".", wildest)
	const guard, second = true, false
	tests := []struct {
		name string
		whom bool
		sig  syscall.Signal
		says string // beside the line that a shell prints
	}{
		{"the second process is killed", second, syscall.SIGKILL, "ended from outside"},
		{"the second process panics", second, syscall.SIGABRT, "goroutine "},
		{"the second process is hung up", second, syscall.SIGHUP, "[detached from "},
		{"the guard is hung up", guard, syscall.SIGHUP, "[detached from "},
		{"the guard is killed", guard, syscall.SIGKILL, ""},
		{"the detach key", guard, 0, "[detached from "},
	}
	for _, before := range []struct{ name, set string }{
		{"a fresh terminal", ""},
		{"a terminal with modes of its own", `printf '\033[?2004h\033[?1004h\033[?1006h\033[?1h\033[?12h\033[>5u\033]2;mine\007'; stty -ixon eof ^E`},
	} {
		for _, tt := range tests {
			t.Run(before.name+", "+tt.name, func(t *testing.T) {
				o := &outer{termtest.OpenOuter(t, pty.Size{Cols: 100, Rows: 30}, pty.Command{
					Argv: []string{"/bin/sh", "-c", before.set + `
						echo "first $(stty -g)."; read x; termio attach "$1"; echo "then $(stty -g)."; read x`, "sh", link},
					Env: p.env, Dir: p.dir,
				})}
				o.Shows("first ")
				o.Shows(".")
				_, line, _ := strings.Cut(string(o.Raw), "first ")
				line, _, _ = strings.Cut(line, ".")
				want := states(o.Screen)
				o.Types("\n")
				o.Shows("ready")
				if o.Screen.Title() != "wildest" || !o.Screen.AltScreen() {
					t.Fatal("the session's modes have not reached the terminal")
				}
				pid, other := o.processes()
				if tt.whom == second {
					pid = other
				}
				if tt.sig == 0 {
					o.Types("\x1b[92;5:1u\x1b[<35;4;4M\x1b[92;5:3u") // and the mouse moves, and the key comes up
				} else if err := syscall.Kill(pid, tt.sig); err != nil {
					t.Fatal(err)
				}
				o.Until("what the shell says of the line", func() bool {
					_, after, ok := strings.Cut(string(o.Raw), "then ")
					return ok && strings.Contains(after, ".") && strings.Contains(string(o.Raw), "\x1b[23;0t")
				})
				if diff := cmp.Diff(want, states(o.Screen)); diff != "" {
					t.Errorf("the terminal (-before +after)\n%s", diff)
				}
				if tt.whom == second || tt.sig != syscall.SIGKILL { // else the shell may have looked first
					if !strings.Contains(string(o.Raw), "then "+line) {
						t.Errorf("the line was %s:\n%s", line, o.Text())
					}
				}
				if tt.says != "" && !strings.Contains(o.Text(), tt.says) && !strings.Contains(string(o.Raw), tt.says) {
					t.Errorf("%q is not told:\n%s", tt.says, o.Text())
				}
				if strings.Contains(o.Text(), "35;4;4") || strings.Contains(o.Text(), "92;5") {
					t.Errorf("reports of the terminal are left to the shell:\n%s", o.Text())
				}
				o.Leave()
			})
		}
	}
}

// What a program takes off stacks that it has put nothing on, or saves in a terminal, while
// it is attached to, is not the person's: that is there afterwards.
func TestAttachUsesNothingUp(t *testing.T) {
	p := newPlace(t)
	link := p.termio("sessions", "run", "--cwd", ".", `stty raw -echo; echo re''ady; head -c1 >/dev/null; `+
		`printf '\033[<9u\033[22;0t\033[23;0t\033[23;0t\033[23;0t\033[?1h\033[?2004;1004;1006;1s\033[?2004;1004;1006;12;2048h\033[?2004;1004r'; echo do''ne; exec cat >/dev/null`)
	o := &outer{termtest.OpenOuter(t, pty.Size{Cols: 100, Rows: 30}, pty.Command{
		Argv: []string{"/bin/sh", "-c", `printf '\033[?2004h\033[?1004h\033[?1006h\033[?12h\033[>1u\033[>5u\033]2;mine\007'
			echo before; read x; termio attach "$1"; echo after; read x; printf '\033[<u'; echo popped; read x`, "sh", link},
		Env: p.env, Dir: p.dir,
	})}
	o.Shows("before")
	want := states(o.Screen)
	o.Types("\n")
	o.Shows("ready")
	o.Types("x")
	o.Shows("done")
	if o.Screen.Modes().ResizeReports {
		t.Error("the terminal was made to report its size")
	}
	o.Types("\x1c")
	o.Shows("after")
	if diff := cmp.Diff(want, states(o.Screen)); diff != "" {
		t.Errorf("the terminal (-before +after)\n%s", diff)
	}
	o.Types("\n")
	o.Shows("popped")
	if got := o.Screen.Modes().Kitty; got != 1 {
		t.Errorf("below the keyboard's flags were %d, want 1", got)
	}
	o.Leave()
}

// The guard is not in the way of the bytes.
func TestAttachGuardTouchesNoByte(t *testing.T) {
	p := newPlace(t)
	probe := p.probe(t, "")
	o := p.attach(pty.Size{Cols: 100, Rows: 30}, probe.link)
	o.Shows("ready")
	guard, _ := o.processes()
	counters := func() string {
		io, err := os.ReadFile(filepath.Join("/proc", fmt.Sprint(guard), "io"))
		if err != nil {
			t.Skip("NOT RUN: nothing counts the bytes of another process here: ", err)
		}
		return string(io)
	}
	before := counters()
	keys := strings.Repeat("0123456789", 10_000)
	o.Types(keys)
	probe.reads(keys)
	if after := counters(); after != before {
		t.Errorf("the guard read or wrote\n%s\nbefore, and after\n%s", before, after)
	}
	if err := syscall.Kill(guard, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	o.Types(keys)
	probe.reads(keys)
	if err := syscall.Kill(guard, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	o.Types("\x1c")
	o.ends()
	o.isRestored()
}

// The first attach of all starts the daemon, and does not wait for its end.
func TestAttachStartsTheDaemon(t *testing.T) {
	p := newPlace(t)
	o := p.attach(pty.Size{Cols: 100, Rows: 30}, "nothing-like-it")
	if code := o.ends(); code != 1 || !strings.Contains(string(o.Raw), "error: ") {
		t.Errorf("exit code %d: %q", code, o.Raw)
	}
	o.isRestored()
}
