package main

import (
	"strings"
	"syscall"
	"testing"

	"termio/internal/pty"
)

// answers presses a key in the inbox until the question has been seen for long enough,
// and waits for what follows.
func (o *outer) answers(key, then string) {
	o.T.Helper()
	const tooSoon = "only just"
	for {
		o.Types(key)
		o.Until(then, func() bool { return strings.Contains(o.Text(), then) || strings.Contains(o.Text(), tooSoon) })
		if !strings.Contains(o.Text(), tooSoon) {
			return
		}
		o.Types("\x1b[A") // clears the notice
		o.Until("an empty last row", func() bool { return !strings.Contains(o.Text(), tooSoon) })
	}
}

// isEnded ends the interface without a key: those that follow a question closely are
// not taken.
func (o *outer) isEnded() {
	o.T.Helper()
	_, second := o.processes()
	if err := syscall.Kill(second, syscall.SIGTERM); err != nil {
		o.T.Fatal(err)
	}
	if code := o.ends(); code != 0 {
		o.T.Errorf("the interface ends with %d:\n%s", code, o.Text())
	}
	o.isRestored()
}

// On a telephone: all questions in one place, each answered with one key, one in words.
func TestInboxAnswersAgents(t *testing.T) {
	p := newPlace(t)
	p.termio("open", ".")
	first := p.termio("sessions", "spawn", "--agent", "demo", "--wait", "[[ask First?|A|B]] [[say All is well.]]")
	second := p.termio("sessions", "spawn", "--agent", "demo", "--wait", "[[ask 哪一个？|红|蓝]]")
	first, second = strings.Fields(first)[0], strings.Fields(second)[0]
	o := p.face(t, pty.Size{Cols: 40, Rows: 20})
	o.Shows("2 need you")
	o.Types("i")
	o.Shows("Needs you · 1 of 2")
	o.answers("2", "哪一个？")
	o.Types("w橙色")
	o.Shows("橙色")
	o.answers("\r", "2 done")
	for link, want := range map[string]string{first: "First? → B", second: "哪一个？ → 橙色"} {
		if got := p.termio("sessions", "read", "--scrollback", link); !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	o.isEnded()
}

// An agent is started with a prompt, gets another one without being gone to, and is
// found again by a part of its title.
func TestInterfaceStartsAgents(t *testing.T) {
	p := newPlace(t)
	p.termio("settings", "set", "default-agent", "demo")
	p.termio("open", ".")
	o := p.face(t, pty.Size{Cols: 100, Rows: 30})
	o.Shows("New agent")
	o.Types("n")
	o.Shows("› Demo")
	o.Types("[[say 你好，world]]\r")
	o.Shows("● 你好，world")
	o.Types("\x1cs")
	o.Shows("⏎ send")
	o.Types("[[say 再见]]\r")
	o.Shows("sent to")
	o.Shows("● 再见")
	o.Types("t")
	o.Shows("· Terminal")
	o.Types("\x1co")
	o.Shows("Open quickly")
	o.Types("你好\r")
	o.Shows("● 再见")
	o.Types("\x1c:")
	o.Shows("session.rename")
	o.Types("session.ren\r")
	o.Shows("Title")
	o.Types("\x15改名\r")
	o.Until("the new title", func() bool { return strings.Contains(o.Text(), "改名") })
	o.Types("\r")
	o.leaves()
}
