package termtest

import (
	"os/exec"
	"testing"

	"termio/internal/pty"
	"termio/internal/vt"
)

// Judged is a session that is attached to.
type Judged struct {
	Home   string   // of the daemon
	Dir    string   // a folder of the session's project
	Env    []string // of the attaches
	Termio string   // the command
	Link   string
}

// Judges are two attaches to one session, one on a terminal of our own and one in a
// pane of tmux: both have to show what the daemon says that the session shows.
type Judges struct {
	t      testing.TB
	on     Judged
	Direct *Outer
	Tmux   *Tmux
}

// Judge attaches twice.
func Judge(t testing.TB, on Judged, size pty.Size) *Judges {
	t.Helper()
	termio, err := exec.LookPath(on.Termio)
	if err != nil {
		t.Fatal(err)
	}
	return &Judges{
		t: t, on: on,
		Direct: OpenOuter(t, size, pty.Command{Argv: []string{termio, "attach", on.Link}, Env: on.Env, Dir: on.Dir}),
		Tmux:   OpenTmux(t, size, on.Env, on.Dir, "exec '"+termio+"' attach "+on.Link),
	}
}

// Agree waits for a text, and until both terminals show what the session does.
func (j *Judges) Agree(text string) {
	j.t.Helper()
	screen := func() *vt.Screen { return Snapshot(j.t, j.on.Home, j.on.Dir, j.on.Link) }
	j.Direct.Shows(text)
	j.Direct.Equals(screen)
	j.Tmux.PaneEquals(screen)
}

// End leaves both, and checks that the terminal is as it was.
func (j *Judges) End() {
	j.t.Helper()
	j.Tmux.Types("\x1c")
	j.Tmux.HangsUp()
	j.Direct.Types("\x1c")
	j.Direct.HangsUp()
	cols, rows := j.Direct.Screen.Size()
	if got, want := j.Direct.Screen.Modes(), vt.New(vt.Options{Cols: cols, Rows: rows}).Modes(); got != want {
		j.t.Errorf("the terminal's modes are %+v, want %+v", got, want)
	}
}
