package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"termio/internal/api"
	"termio/internal/pty"
	"termio/internal/termtest"
	"termio/internal/vt"
)

// face starts the interface from a shell on a terminal of its own.
func (p *place) face(t *testing.T, size pty.Size, args ...string) *outer {
	t.Helper()
	argv := append([]string{"/bin/sh", "-c", `termio "$@"; echo "code=$?."; read x`, "sh"}, args...)
	return &outer{termtest.OpenOuter(t, size, pty.Command{Argv: argv, Env: append(p.env[:len(p.env):len(p.env)], "COLORTERM=truecolor"), Dir: p.dir})}
}

// paneOf is where the interface draws the session's terminal: right of the list, below
// the title, above the last row.
func paneOf(s *vt.Screen) (x, y, cols, rows int) {
	w, h := s.Size()
	x = min(w*3/10, 40) + 1
	return x, 1, w - x, h - 2
}

// paneDiffers compares a session's screen with what the interface shows of it, cell for
// cell, and the cursor; "" where they are equal.
func paneDiffers(want, got *vt.Screen, same func(w, g vt.Cell) bool) string {
	px, py, cols, rows := paneOf(got)
	if c, r := want.Size(); c != cols || r != rows {
		return fmt.Sprintf("the session is %dx%d, its pane %dx%d", c, r, cols, rows)
	}
	for y := range rows {
		for x := range cols {
			w, g := want.Cell(x, vt.Row(y)), got.Cell(px+x, vt.Row(py+y))
			if !same(w, g) {
				return fmt.Sprintf("column %d of row %d is %+v, want %+v\nthe interface\n%s\nthe session\n%s",
					x, y, g, w, strings.Join(got.Text(), "\n"), strings.Join(want.Text(), "\n"))
			}
		}
	}
	w, g := want.Cursor(), got.Cursor()
	if w.Visible != g.Visible || w.Visible && (w.X+px != g.X || w.Y+py != g.Y) {
		return fmt.Sprintf("the cursor is %+v, want %+v in the pane", g, w)
	}
	return ""
}

// agrees waits until the pane shows what the session's own screen has.
func (p *place) agrees(o *outer, link string) {
	o.T.Helper()
	diff := ""
	defer func() {
		if o.T.Failed() {
			o.T.Log(diff)
		}
	}()
	o.Until("the session's screen in the pane", func() bool {
		diff = paneDiffers(p.screen(link), o.Screen, func(w, g vt.Cell) bool { return w == g })
		return diff == ""
	})
}

// leaves quits the interface from the terminal.
func (o *outer) leaves() {
	o.T.Helper()
	o.Types("\x1cq")
	if code := o.ends(); code != 0 {
		o.T.Errorf("the interface ends with %d:\n%s", code, o.Text())
	}
	o.isRestored()
}

// What is typed through the interface shows, cell for cell, what the session's own
// screen has.
func TestInterfaceShowsTheSession(t *testing.T) {
	p := newPlace(t)
	size := pty.Size{Cols: 110, Rows: 30}
	t.Run("typing", func(t *testing.T) {
		link := p.termio("sessions", "run", "--cwd", ".", "echo re''ady; cat")
		o := p.face(t, size, link)
		o.Shows("ready")
		for _, text := range []string{"plain", "日本語 한국어 ไทย", "naïve café 👩‍👩‍👧‍👦 🇨🇭 1️⃣", strings.Repeat("long ", 40)} {
			o.Types(text + "\r")
			o.Shows(text[:3])
			p.agrees(o, link)
		}
		o.Types("\x04printf '\\033[1;31mred\\033[0m \\033[4:3;58:2::9:8:7munder\\033[0m \\033[48;5;22mgreen\\033[K\\033[0m \\033[38;2;1;2;3mrgb\\033[0m \\033]8;id=a;https://a.b/c\\033\\\\link\\033]8;;\\033\\\\ 修\\n'; echo en''d\r")
		o.Shows("end")
		p.agrees(o, link)
		o.leaves()
	})
	t.Run("vim", func(t *testing.T) {
		termtest.Need(t, "vim")
		text := "package some\n\n// 日本語 comment 😀\nfunc f() string { return \"x\" }\n" + strings.Repeat("\tvar x = 1 // more of it\n", 60)
		if err := os.WriteFile(filepath.Join(p.dir, "some.go"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		link := p.termio("sessions", "run", "--cwd", ".", "vim -u NONE -N -n -i NONE -c 'syntax on' -c 'set number mouse=a ruler' some.go; echo its e''nd")
		o := p.face(t, size, link)
		o.Shows("package some")
		p.agrees(o, link)
		o.Types("Onew line, typed here\x1b")
		o.Shows("new line, typed here")
		p.agrees(o, link)
		x, y, _, _ := paneOf(o.Screen)
		o.Types(fmt.Sprintf("\x1b[<0;%d;%dM\x1b[<0;%d;%dm", x+10, y+5, x+10, y+5)) // vim puts its cursor there
		p.agrees(o, link)
		for _, z := range [][2]int{{90, 25}, {131, 43}, {80, 24}} {
			o.Resize(z[0], z[1])
			p.agrees(o, link)
		}
		o.Types(":vsplit\r")
		p.agrees(o, link)
		o.Types(":qa!\r")
		o.Shows("its end")
		o.leaves()
	})
	t.Run("the demo agent", func(t *testing.T) {
		o := p.face(t, size)
		o.Shows("termio")
		link := p.termio("sessions", "spawn", "--agent", "demo", "[[set deaf=0ms]] [[ask Which colour?|Red|Blue]] [[say All is well.]]")
		o.Shows("1 needs you")
		o.Types("\t\r")
		o.Shows("2. Blue")
		p.agrees(o, link)
		o.Types("2")
		o.Shows("Demo · done")
		p.agrees(o, link)
		o.Types("[[say Typed 在这里.]]\r")
		o.Until("the reply below the prompt", func() bool { return strings.Count(o.Text(), "Typed 在这里.") == 2 })
		p.agrees(o, link)
		o.leaves()
	})
	t.Run("in tmux", func(t *testing.T) {
		termtest.Need(t, "tmux")
		link := p.termio("sessions", "run", "--cwd", ".", "echo re''ady; cat")
		m := termtest.OpenTmux(t, size, append(p.env[:len(p.env):len(p.env)], "COLORTERM=truecolor"), p.dir, "exec termio "+link)
		m.Shows("ready")
		m.Types("typed in tmux 日本語 naïve\r")
		m.Shows("naïve")
		diff := ""
		m.Until("the session's screen in the pane in tmux", func() bool {
			pane := m.Pane()
			if pane == nil {
				return false
			}
			diff = paneDiffers(p.screen(link), pane, func(w, g vt.Cell) bool {
				return w.Text == g.Text && w.Width == g.Width
			})
			return diff == ""
		})
		m.Types("\x1cq")
		m.HangsUp()
	})
}

// A question is answered in the list by its number, in the session that it was drawn for.
func TestInterfaceAnswersQuestions(t *testing.T) {
	p := newPlace(t)
	o := p.face(t, pty.Size{Cols: 40, Rows: 20}) // a telephone over ssh
	o.Shows("termio")
	link := p.termio("sessions", "spawn", "--agent", "demo", "[[ask Which colour?|Red|Blue]] [[say All is well.]]")
	o.Shows("1 needs you")
	o.Types("\t")
	o.Shows("2 Blue")
	o.Types("2")
	early := false
	o.Until("the end of the turn", func() bool {
		switch text := o.Text(); {
		case strings.Contains(text, "only just come"): // the key was not taken
			early = true
		case early && strings.Contains(text, "2 Blue"):
			early = false
			o.Types("2")
		}
		return strings.Contains(o.Text(), "1 done")
	})
	if got := p.termio("sessions", "read", "--scrollback", link); !strings.Contains(got, "Blue") || !strings.Contains(got, "All is well.") {
		t.Errorf("the agent was not answered:\n%s", got)
	}
	o.Types("\r")
	o.Shows("All is well.")
	o.leaves()
}

// However the interface ends, the person's terminal is as it was, what the shell had
// written still there.
func TestInterfaceGivesTheTerminalBack(t *testing.T) {
	p := newPlace(t)
	link := p.termio("sessions", "run", "--cwd", ".", wildest)
	const guard, second = true, false
	tests := []struct {
		name string
		whom bool
		sig  syscall.Signal
	}{
		{"the second process is killed", second, syscall.SIGKILL},
		{"the second process panics", second, syscall.SIGABRT},
		{"the second process is hung up", second, syscall.SIGHUP},
		{"the guard is hung up", guard, syscall.SIGHUP},
		{"the guard is killed", guard, syscall.SIGKILL},
		{"its person leaves", guard, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := &outer{termtest.OpenOuter(t, pty.Size{Cols: 100, Rows: 30}, pty.Command{
				Argv: []string{"/bin/sh", "-c", `printf '\033[?2004h\033[?1h\033]2;mine\007\033[1;31m'
					echo "first."; read x; termio "$1"; echo "then $(stty -a | grep -o '.icanon')."; read x`, "sh", link},
				Env: p.env, Dir: p.dir,
			})}
			o.Shows("first.")
			want := states(o.Screen)
			o.Types("\n")
			o.Shows("ready")
			pid, other := o.processes()
			if tt.whom == second {
				pid = other
			}
			if tt.sig == 0 {
				o.Types("\x1b[92;5u\x1b[<35;4;4Mq\x1b[92;5:3u")
			} else if err := syscall.Kill(pid, tt.sig); err != nil {
				t.Fatal(err)
			}
			o.Until("the shell, and the terminal's own screen", func() bool {
				return strings.Contains(string(o.Raw), "then ") && strings.Contains(string(o.Raw), "\x1b[23;0t")
			})
			if diff := cmp.Diff(want, states(o.Screen)); diff != "" {
				t.Errorf("the terminal (-before +after)\n%s", diff)
			}
			history := strings.Join(o.Screen.HistoryText(0, vt.HistoryLine(o.Screen.HistoryLen())), "\n")
			if o.Screen.AltScreen() || !strings.Contains(history+o.Text(), "first.") || strings.Contains(o.Text(), "ready") {
				t.Errorf("the terminal shows\n%s", o.Text())
			}
			o.Leave()
		})
	}
}

// The interface goes on when the host is replaced, and what is typed meanwhile arrives.
func TestInterfaceSurvivesTheHost(t *testing.T) {
	p := newPlace(t)
	probe := p.probe(t, "")
	o := p.face(t, pty.Size{Cols: 100, Rows: 30}, probe.link)
	o.Shows("ready")
	o.Types("before")
	probe.reads("before")
	p.termio("daemon", "restart")
	o.Types("after")
	probe.reads("after")
	o.leaves()
}

// Keys, mouse, pastes and focus reach the program as it has asked for them, and nothing
// of 100 KB is lost.
func TestInterfacePassesKeys(t *testing.T) {
	p := newPlace(t)
	tests := []struct{ name, modes, typed, want string }{
		{"plain", "", "a\x03\x1b[A\x7f\tü修\x1ba\r", "a\x03\x1b[A\x7f\tü修\x1ba\r"},
		{"application cursor keys", `\033[?1h`, "\x1b[A\x1b[H", "\x1bOA\x1bOH"},
		{"the outer terminal has the kitty protocol", "", "\x1b[97;5u\x1b[27u\x1b[13;2u", "\x01\x1b\r"},
		{"so has the program", `\033[=1;1u`, "\x1b[105;5u\x1b[27u\x1b[13;2u", "\x1b[105;5u\x1b[27u\x1b[13;2u"},
		{"an unfinished sequence is a key", "", "\x1b[", "\x1b["},
		{"paste in brackets", `\033[?2004h`, "\x1b[200~a\r\nb\x1b[31m\x1b[201~", "\x1b[200~a\nb[31m\x1b[201~"},
		{"paste without", "", "\x1b[200~a\nb\x1b[201~", "a\rb"},
		{"mouse", `\033[?1000h\033[?1006h`, "\x1b[<0;40;6M\x1b[<0;40;6m\x1b[<64;40;6M", "\x1b[<0;9;5M\x1b[<0;9;5m\x1b[<64;9;5M"},
		{"mouse that nobody wants", "", "\x1b[<0;40;6M\x1b[<0;40;6mx", "x"},
		{"100 KB", "", "\x1b[200~" + strings.Repeat("0123456789", 10_000) + "\x1b[201~", strings.Repeat("0123456789", 10_000)},
		{"100 KB without brackets", "", strings.Repeat("0123456789", 10_000), strings.Repeat("0123456789", 10_000)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			probe := p.probe(t, tt.modes)
			o := p.face(t, pty.Size{Cols: 100, Rows: 30}, probe.link)
			o.Shows("ready")
			o.Types(tt.typed + "!")
			probe.reads(tt.want + "!")
			o.leaves()
		})
	}
}

// In a session, or without a terminal, the folder is opened and selected in the
// interface that is there.
func TestInterfaceSelectsWhatIsOpened(t *testing.T) {
	p := newPlace(t)
	o := p.face(t, pty.Size{Cols: 100, Rows: 30})
	o.Shows("termio")
	other := filepath.Join(filepath.Dir(p.dir), "other")
	if err := os.Mkdir(other, 0o700); err != nil {
		t.Fatal(err)
	}
	if got := p.termio("open", other); !strings.Contains(got, "opened") {
		t.Errorf("termio open says %q", got)
	}
	o.Shows("  other")
	link := p.termio("sessions", "run", "--cwd", ".", "echo h''ere")
	if got := p.termio("sessions", "focus", link); !strings.Contains(got, link) {
		t.Errorf("focus says %q", got)
	}
	o.Shows("here")
	if id, _ := api.ParseSessionID(strings.TrimPrefix(link, api.LinkPrefix)); id == "" {
		t.Errorf("no link: %q", link)
	}
	o.Types("q")
	if code := o.ends(); code != 0 {
		t.Errorf("the interface ends with %d", code)
	}
	o.isRestored()
}
