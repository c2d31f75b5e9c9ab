package termtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"termio/internal/api"
	"termio/internal/client"
	"termio/internal/config"
	"termio/internal/pty"
	"termio/internal/vt"
)

// An Outer is a person's own terminal: a program runs on it, such as an attach. What
// is written to it goes into a screen, which knows its modes and answers what it is
// asked as a terminal does.
type Outer struct {
	T      testing.TB
	FD     int
	Screen *vt.Screen
	Raw    []byte // all that was written to it
	Proc   pty.Proc

	master *os.File
}

// Size is a terminal's size in cells.
func Size(cols, rows int) pty.Size { return pty.Size{Cols: uint16(cols), Rows: uint16(rows)} }

// OpenOuter starts a program on a terminal of its own. The program is ended with
// Leave, or with what it is.
func OpenOuter(t testing.TB, size pty.Size, c pty.Command) *Outer {
	t.Helper()
	fd, err := pty.Open(size)
	if err != nil {
		t.Fatal(err)
	}
	c.Size = size
	proc, err := pty.Start(fd, c)
	if err != nil {
		t.Fatal(err)
	}
	o := &Outer{
		T: t, FD: fd, Proc: proc, master: os.NewFile(uintptr(fd), "outer"),
		Screen: vt.New(vt.Options{Cols: int(size.Cols), Rows: int(size.Rows), History: 5000}),
	}
	t.Cleanup(func() { _ = o.master.Close() })
	return o
}

// Until takes in what is written to the terminal until it is as wanted.
func (o *Outer) Until(what string, want func() bool) {
	o.T.Helper()
	if err := o.master.SetReadDeadline(time.Now().Add(Patience)); err != nil {
		o.T.Fatal(err)
	}
	buf := make([]byte, 64<<10)
	for !want() {
		n, err := o.master.Read(buf)
		o.take(buf[:n])
		if err != nil {
			o.T.Fatalf("waiting for %s: %v\nthe screen is\n%s\nthe last that came: %q", what, err, o.Text(), o.Raw[max(0, len(o.Raw)-4000):])
		}
	}
}

// take takes in what was written to the terminal, and answers what it was asked. The
// answer may come too late for who asked.
func (o *Outer) take(p []byte) {
	o.Raw = append(o.Raw, p...)
	_, _ = o.Screen.Write(p)
	if answers := o.Screen.TakeReplies(); len(answers) > 0 {
		_, _ = o.master.Write(answers)
	}
}

// Text is what the terminal shows.
func (o *Outer) Text() string { return strings.Join(o.Screen.Text(), "\n") }

// Shows waits for a text on the screen, in one line or over several.
func (o *Outer) Shows(text string) {
	o.T.Helper()
	o.Until(strconv.Quote(text), func() bool { return strings.Contains(strings.Join(o.Screen.Text(), ""), text) })
}

// Equals waits until the terminal shows the same as a screen, cell for cell.
func (o *Outer) Equals(want func() *vt.Screen) {
	o.T.Helper()
	diff := ""
	defer func() {
		if o.T.Failed() {
			o.T.Log(diff)
		}
	}()
	o.Until("the session's screen", func() bool {
		s := want()
		cols, rows := s.Size()
		diff = Difference(s, vt.View{Cols: cols, Rows: rows}, o.Screen)
		return diff == ""
	})
}

// Types types.
func (o *Outer) Types(s string) {
	o.T.Helper()
	if err := o.master.SetWriteDeadline(time.Now().Add(Patience)); err != nil {
		o.T.Fatal(err)
	}
	if _, err := io.WriteString(o.master, s); err != nil {
		o.T.Fatal(err)
	}
}

// Resize gives the terminal another size.
func (o *Outer) Resize(cols, rows int) {
	o.T.Helper()
	o.Screen.Resize(cols, rows)
	if err := pty.SetSize(o.FD, pty.Size{Cols: uint16(cols), Rows: uint16(rows)}); err != nil {
		o.T.Fatal(err)
	}
}

// Leave types a line end, on which the program ends, waits for its end and the
// terminal's, and reads what was written till then.
func (o *Outer) Leave() {
	o.T.Helper()
	o.Types("\n")
	o.HangsUp()
}

// HangsUp waits for the end of the program and of all else on the terminal.
func (o *Outer) HangsUp() {
	o.T.Helper()
	if err := o.master.SetReadDeadline(time.Now().Add(Patience)); err != nil {
		o.T.Fatal(err)
	}
	buf := make([]byte, 64<<10)
	for {
		n, err := o.master.Read(buf)
		o.take(buf[:n])
		if errors.Is(err, syscall.EIO) {
			break
		}
		if err != nil {
			o.T.Fatalf("the program on the terminal does not end: %v", err)
		}
	}
	var status syscall.WaitStatus
	for {
		if _, err := syscall.Wait4(o.Proc.PID, &status, 0, nil); !errors.Is(err, syscall.EINTR) {
			return
		}
	}
}

// Difference compares a terminal with a rectangle of a screen, cell for cell, and
// the cursors; it is "" where they are equal. A wide character that an edge of the
// rectangle cuts through is blank on the terminal.
func Difference(want *vt.Screen, v vt.View, got *vt.Screen) string {
	return difference(want, v, got, func(w, g vt.Cell) bool { return w == g })
}

// difference is Difference with a judge of which cells are equal.
func difference(want *vt.Screen, v vt.View, got *vt.Screen, equal func(w, g vt.Cell) bool) string {
	var diffs []string
	for y := range v.Rows {
		for x := range v.Cols {
			w := want.Cell(v.X+x, vt.Row(v.Y+y))
			if w.Width == 0 && x == 0 || w.Width == 2 && x == v.Cols-1 {
				w.Text, w.Width = " ", 1
			}
			if g := got.Cell(x, vt.Row(y)); !equal(w, g) {
				diffs = append(diffs, fmt.Sprintf("column %d of row %d is %+v, want %+v", x, y, g, w))
			}
		}
	}
	if len(diffs) > 3 {
		diffs = append(diffs[:3], fmt.Sprintf("and %d cells more", len(diffs)-3))
	}
	w, g := want.Cursor(), got.Cursor()
	w.X, w.Y = w.X-v.X, w.Y-v.Y
	w.Style, g.Style, w.Pending, g.Pending = 0, 0, false, false
	if w.Visible != g.Visible || w.Visible && w != g {
		diffs = append(diffs, fmt.Sprintf("the cursor is %+v, want %+v", g, w))
	}
	if len(diffs) == 0 {
		return ""
	}
	return fmt.Sprintf("%s\nthe terminal shows\n%s\nthe session\n%s", strings.Join(diffs, "\n"), strings.Join(got.Text(), "\n"), strings.Join(want.Text(), "\n"))
}

// Snapshot is a session's screen as the daemon of a home has it now, with all of its
// history. dir is a folder of the session's project.
func Snapshot(t testing.TB, home, dir, link string) *vt.Screen {
	t.Helper()
	paths, err := config.NewPaths(home, os.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	c, err := client.Dial(ctx, paths, client.Options{Cwd: dir})
	if err != nil {
		t.Fatal(err)
	}
	a, err := c.Attach(ctx, link, client.AttachOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	var hello api.AttachHello
	for {
		f, err := a.Read()
		if err != nil {
			t.Fatal(err)
		}
		switch f.Kind {
		case api.FrameHello:
			decode(t, f.Payload, &hello)
		case api.FrameSnapshot:
			s := vt.New(vt.Options{Cols: hello.Cols, Rows: hello.Rows, History: 10000})
			_, _ = s.Write(f.Payload[8:])
			return s
		}
	}
}
