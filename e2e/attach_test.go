package e2e_test

import (
	"strings"
	"testing"
	"time"

	"termio/internal/termtest"
)

// Two terminals that are attached to Claude Code, one of our own and one in tmux, show
// what the session shows, cell for cell: at rest, while a person types, with a menu and
// with a dialog open, and after a reply.
func TestClaudeAttached(t *testing.T) {
	termtest.Need(t, "tmux")
	w := newClaude(t)
	first := w.spawn(claude, "[[say hello, 日本 and 😀]]")
	j := termtest.Judge(t, termtest.Judged{Home: w.value("TERMIO_HOME"), Dir: w.project, Env: w.env, Termio: binary, Link: first.Target}, termtest.Size(100, 30))
	j.Agree("hello, 日本")
	j.Direct.Types("half a draft 日本語 🚀")
	j.Agree("half a draft")
	j.Tmux.Types(" and more")
	j.Agree("and more")
	j.Direct.Types("\x1b[13;2u") // another line
	j.Direct.Types("its second line")
	j.Agree("its second line")
	j.Direct.Types(strings.Repeat("\x7f", 80))
	j.Agree("hello, 日本")
	j.Direct.Types("/")
	j.Agree("/add-dir")
	j.Direct.Types("\x7f")
	j.Agree("hello, 日本")
	j.Direct.Types("[[bash: touch granted.txt]]")
	j.Agree("[[bash: touch granted.txt]]")
	j.Direct.Types("\r")
	j.Agree("Yes")
	// The dialog is deaf for a moment after it appears: a person presses the key again.
	var pressed time.Time
	j.Direct.Until("the dialog's end", func() bool {
		if !strings.Contains(j.Direct.Text(), "Do you want to proceed?") {
			return true
		}
		if time.Since(pressed) > time.Second {
			pressed = time.Now()
			j.Direct.Types("1")
		}
		return false
	})
	j.Direct.Until("the file that was granted", func() bool { return w.has("granted.txt") })
	j.Agree("granted.txt")
	j.End()
}
