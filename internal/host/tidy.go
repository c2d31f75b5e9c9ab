package host

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"termio/internal/pty"
	"termio/internal/vt"
)

// maxTidied is how many places where modes were taken back the next host is told; the
// oldest are forgotten first.
const maxTidied = 16

// tidyAtRest tidies once the shell that has the keyboard back is at rest. Before that
// it may be in the middle of a line of several commands, of which one has set the
// modes for the next; or it is no shell any more but what it was told to become.
func (s *session) tidyAtRest() {
	s.mu.Lock()
	leader, due := s.leader.PID, s.untidy && time.Since(s.lastOut) >= lookStill
	s.mu.Unlock()
	if !due {
		return
	}
	args, err := pty.Args(leader)
	shell := err == nil && len(args) > 0 && strings.TrimPrefix(filepath.Base(args[0]), "-") == filepath.Base(s.h.env.Shell)
	now := time.Now()
	s.mu.Lock()
	tidied := false
	if s.untidy && !s.closed && s.run.front == s.leader.PID && now.Sub(s.lastOut) >= lookStill {
		s.untidy = false
		tidied = shell && s.tidyLocked(now)
	}
	s.mu.Unlock()
	if tidied { // the next host has to know
		s.checkpoint()
	}
}

// tidyLocked takes back what a program has left switched on that is gone: it was
// killed, or ended badly. The shell would get reports of the mouse as typed text, and
// whoever attaches a terminal that does strange things. The next host does the same at
// the same place in the output. It reports whether there was anything.
func (s *session) tidyLocked(now time.Time) bool {
	b := leftovers(s.screen, s.shellModes)
	if len(b) == 0 {
		return false
	}
	s.log.Debug("modes of a program that is gone are taken back", "bytes", string(b))
	s.tidied = append(s.tidied, s.seq)
	if n := len(s.tidied) - maxTidied; n > 0 {
		s.tidied = slices.Delete(s.tidied, 0, n)
	}
	_, _ = s.screen.Write(b) // never fails
	s.screen.TakeReplies()   // there is no question in it
	s.fanOutLocked(s.seq, b, now)
	return true
}

// leftovers are the sequences that take back what a program has left switched on and
// the shell itself had not: the mouse, reports, the alternate screen, the keyboard, a
// hidden cursor. What stands in the cursor's line of the alternate screen, the prompt
// that the shell has written since, goes along.
func leftovers(screen *vt.Screen, shell vt.Modes) []byte {
	m := screen.Modes()
	var b []byte
	add := func(wrong bool, sequence string) {
		if wrong {
			b = append(b, sequence...)
		}
	}
	add(m.Sync, "\x1b[?2026l")
	if m.AltScreen {
		c := screen.Cursor()
		b = fmt.Appendf(b, "\x1b[?1049l\x1b[0m\x1b[r\x1b[999;1H\r\n%s\x1b[%dG", screen.RowText(vt.Row(c.Y)), c.X+1)
	}
	add(m.Mouse != vt.MouseOff && shell.Mouse == vt.MouseOff, "\x1b[?1000l")
	add(m.MouseEncoding != shell.MouseEncoding, "\x1b[?1005l\x1b[?1006l\x1b[?1015l\x1b[?1016l")
	add(m.Focus && !shell.Focus, "\x1b[?1004l")
	add(m.ColorScheme && !shell.ColorScheme, "\x1b[?2031l")
	add(m.ResizeReports && !shell.ResizeReports, "\x1b[?2048l")
	add(m.OtherKeys != shell.OtherKeys, fmt.Sprintf("\x1b[>4;%dm", shell.OtherKeys))
	add(m.AltScreen || m.Kitty != shell.Kitty, fmt.Sprintf("\x1b[<99u\x1b[=%d;1u", shell.Kitty))
	add(!m.CursorVisible, "\x1b[?25h")
	return b
}
