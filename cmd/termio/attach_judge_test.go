package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"termio/internal/pty"
	"termio/internal/termtest"
	"termio/internal/vt"
)

// judged is one session with an attach on a terminal of our own and one in tmux: two
// terminals that have to show what the daemon says that the session shows.
type judged struct {
	t      *testing.T
	p      *place
	link   string
	direct *outer
	tmux   *termtest.Tmux
}

func (p *place) judged(t *testing.T, size pty.Size, command string) *judged {
	t.Helper()
	link := p.termio("sessions", "run", "--cwd", ".", command)
	j := &judged{t: t, p: p, link: link, direct: p.attach(size, link)}
	j.direct.T = t
	j.tmux = termtest.OpenTmux(t, size, p.env, p.dir, "exec termio attach "+link)
	return j
}

// agree waits for a text, and until both terminals show what the session does.
func (j *judged) agree(text string) {
	j.t.Helper()
	screen := func() *vt.Screen { return j.p.screen(j.link) }
	j.direct.Shows(text)
	j.direct.Equals(screen)
	j.tmux.PaneEquals(screen)
}

// end leaves both.
func (j *judged) end() {
	j.t.Helper()
	j.tmux.Types("\x1c")
	j.tmux.HangsUp()
	j.direct.Types("\x1c")
	if code := j.direct.ends(); code != 0 {
		j.t.Errorf("exit code %d", code)
	}
	j.direct.isRestored()
}

func TestAttachAsTmuxSeesIt(t *testing.T) {
	termtest.Need(t, "tmux")
	p := newPlace(t)
	size := pty.Size{Cols: 100, Rows: 30}
	t.Run("typing", func(t *testing.T) {
		j := p.judged(t, size, "echo re''ady; cat")
		j.agree("ready")
		for _, text := range []string{"plain", "日本語 한국어 ไทย", "naïve café", "😀 🚀 ok", strings.Repeat("long ", 40)} {
			j.direct.Types(text + "\r")
			j.agree(text[:3])
			j.tmux.Types("and " + text + "\r")
			j.agree("and " + text[:3])
		}
		j.direct.Types("\x04printf '\\033[1;31mred\\033[0m \\033[4:3munder\\033[0m \\033[48;5;22mgreen\\033[K\\033[0m \\033[38;2;1;2;3mrgb\\033[0m\\n'; echo en''d\r")
		j.agree("end")
		j.end()
	})
	t.Run("vim", func(t *testing.T) {
		termtest.Need(t, "vim")
		file := filepath.Join(p.dir, "some.go")
		text := "package some\n\n// 日本語 comment 😀\nfunc f() string { return \"x\" }\n" + strings.Repeat("\tvar x = 1 // more of it\n", 60)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		j := p.judged(t, size, "vim -u NONE -N -n -i NONE -c 'syntax on' -c 'set number mouse=a ruler' some.go; echo its e''nd")
		j.agree("package some")
		j.direct.Types("Onew line, typed here\x1b")
		j.agree("new line, typed here")
		j.tmux.Types("\x06") // a page on, in the other one
		j.agree("more of it")
		j.direct.Types(":vsplit\r")
		j.agree("some.go")
		j.direct.Types("G:set nonumber\r/typed\r")
		j.agree("new line, typed here")
		j.direct.Types(":qa!\r")
		j.agree("its end")
		j.end()
	})
	t.Run("htop", func(t *testing.T) {
		termtest.Need(t, "htop")
		j := p.judged(t, size, "htop -d 600; echo its e''nd") // a minute between two pictures
		j.agree("F10Quit")
		j.direct.Types("\x1bOQ") // the setup
		j.agree("Setup")
		j.direct.Types("\x1b[21~")
		j.agree("F10Quit")
		j.direct.Types("q")
		j.agree("its end")
		j.end()
	})
}
