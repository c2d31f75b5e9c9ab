package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"termio/internal/pty"
	"termio/internal/termtest"
)

func (p *place) judged(t *testing.T, size pty.Size, command string) *termtest.Judges {
	t.Helper()
	link := p.termio("sessions", "run", "--cwd", ".", command)
	return termtest.Judge(t, termtest.Judged{Home: p.home, Dir: p.dir, Env: p.env, Termio: "termio", Link: link}, size)
}

func TestAttachAsTmuxSeesIt(t *testing.T) {
	termtest.Need(t, "tmux")
	p := newPlace(t)
	size := pty.Size{Cols: 100, Rows: 30}
	t.Run("typing", func(t *testing.T) {
		j := p.judged(t, size, "echo re''ady; cat")
		j.Agree("ready")
		for _, text := range []string{"plain", "日本語 한국어 ไทย", "naïve café", "😀 🚀 ok", strings.Repeat("long ", 40)} {
			j.Direct.Types(text + "\r")
			j.Agree(text[:3])
			j.Tmux.Types("and " + text + "\r")
			j.Agree("and " + text[:3])
		}
		j.Direct.Types("\x04printf '\\033[1;31mred\\033[0m \\033[4:3munder\\033[0m \\033[48;5;22mgreen\\033[K\\033[0m \\033[38;2;1;2;3mrgb\\033[0m\\n'; echo en''d\r")
		j.Agree("end")
		j.End()
	})
	t.Run("vim", func(t *testing.T) {
		termtest.Need(t, "vim")
		file := filepath.Join(p.dir, "some.go")
		text := "package some\n\n// 日本語 comment 😀\nfunc f() string { return \"x\" }\n" + strings.Repeat("\tvar x = 1 // more of it\n", 60)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		j := p.judged(t, size, "vim -u NONE -N -n -i NONE -c 'syntax on' -c 'set number mouse=a ruler' some.go; echo its e''nd")
		j.Agree("package some")
		j.Direct.Types("Onew line, typed here\x1b")
		j.Agree("new line, typed here")
		j.Tmux.Types("\x06") // a page on, in the other one
		j.Agree("more of it")
		j.Direct.Types(":vsplit\r")
		j.Agree("some.go")
		j.Direct.Types("G:set nonumber\r/typed\r")
		j.Agree("new line, typed here")
		j.Direct.Types(":qa!\r")
		j.Agree("its end")
		j.End()
	})
	t.Run("htop", func(t *testing.T) {
		termtest.Need(t, "htop")
		j := p.judged(t, size, "htop -d 600; echo its e''nd") // a minute between two pictures
		j.Agree("F10Quit")
		j.Direct.Types("\x1bOQ") // the setup
		j.Agree("Setup")
		j.Direct.Types("\x1b[21~")
		j.Agree("F10Quit")
		j.Direct.Types("q")
		j.Agree("its end")
		j.End()
	})
}
