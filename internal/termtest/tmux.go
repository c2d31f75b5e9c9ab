package termtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"termio/internal/pty"
	"termio/internal/vt"
)

// Need ends a test that needs a program which is not there: loudly, and on CI as a
// failure.
func Need(t testing.TB, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err == nil {
		return
	}
	reason := "NOT RUN: " + program + " is not installed here; .ci/run setup does it"
	if os.Getenv("TERMIO_CI") != "" {
		t.Fatal(reason)
	}
	t.Skip(reason)
}

// Tmux is a tmux of its own with one pane, on a terminal of the same size: another
// judge of what an attach draws.
type Tmux struct {
	*Outer
	env []string
	dir string
}

// OpenTmux runs a command in tmux. Its server ends with the command, or with the test.
func OpenTmux(t testing.TB, size pty.Size, env []string, dir string, command string) *Tmux {
	t.Helper()
	tmux, err := exec.LookPath("tmux")
	if err != nil {
		t.Fatal(err)
	}
	folder, err := os.MkdirTemp("", "tx")
	if err != nil {
		t.Fatal(err)
	}
	conf := filepath.Join(folder, "conf")
	if err := os.WriteFile(conf, []byte("set -g status off\nset -s escape-time 0\nset -g default-terminal tmux-256color\nset -as terminal-features ',*:RGB'\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m := &Tmux{env: append(env[:len(env):len(env)], "TMUX_TMPDIR="+folder), dir: dir}
	t.Cleanup(func() {
		_, _ = m.run("kill-server") // mostly gone already
		if err := os.RemoveAll(folder); err != nil {
			t.Error(err)
		}
	})
	m.Outer = OpenOuter(t, size, pty.Command{
		Argv: []string{tmux, "-f", conf, "new-session", command}, Env: m.env, Dir: dir,
	})
	return m
}

// run runs a tmux command and gives what it printed.
func (m *Tmux) run(args ...string) (string, error) {
	cmd := exec.Command("tmux", args...)
	cmd.Env, cmd.Dir = m.env, m.dir
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("tmux %q: %w: %s", args, err, exit.Stderr)
	}
	return string(out), err
}

// Pane is what tmux says that its pane shows, as a screen. It is nil where there is
// no pane (yet).
func (m *Tmux) Pane() *vt.Screen {
	m.T.Helper()
	var cols, rows, x, y, visible int
	state, err := m.run("display-message", "-p", "#{pane_width} #{pane_height} #{cursor_x} #{cursor_y} #{cursor_flag}")
	if err != nil {
		return nil
	}
	if _, err := fmt.Sscan(state, &cols, &rows, &x, &y, &visible); err != nil {
		return nil
	}
	lines, err := m.run("capture-pane", "-p", "-e", "-N")
	if err != nil {
		return nil
	}
	s := vt.New(vt.Options{Cols: cols, Rows: rows})
	fmt.Fprintf(s, "%s\x1b[0m\x1b[%d;%dH", strings.ReplaceAll(strings.TrimSuffix(lines, "\n"), "\n", "\r\n"), y+1, x+1)
	if visible == 0 {
		fmt.Fprint(s, "\x1b[?25l")
	}
	return s
}

// PaneEquals waits until tmux says that its pane shows the same as a screen, cell for
// cell, but for what tmux does not keep.
func (m *Tmux) PaneEquals(want func() *vt.Screen) {
	m.T.Helper()
	diff := ""
	defer func() {
		if m.T.Failed() {
			m.T.Log(diff)
		}
	}()
	m.Until("the session's screen in tmux's pane", func() bool {
		got := m.Pane()
		if got == nil {
			return false
		}
		s := want()
		cols, rows := s.Size()
		diff = difference(s, vt.View{Cols: cols, Rows: rows}, got, sameInTmux)
		return diff == ""
	})
}

// sameInTmux compares with a cell as tmux gives it: without links, and without the
// background of what was erased at the end of a line.
func sameInTmux(w, g vt.Cell) bool {
	w.Style.Link, w.Style.LinkID = "", ""
	return w == g || w.Text == " " && g == vt.Cell{Text: " ", Width: 1} && w.Style == vt.Style{BG: w.Style.BG}
}
