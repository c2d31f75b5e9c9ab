package main

import (
	"fmt"
	"strings"
	"testing"

	"termio/internal/pty"
	"termio/internal/termtest"
	"termio/internal/vt"
)

// sized are the sizes of a desk's terminal, of a telephone's and of a small one.
var (
	desk  = pty.Size{Cols: 160, Rows: 72}
	phone = pty.Size{Cols: 47, Rows: 49}
	small = pty.Size{Cols: 80, Rows: 24}
)

// batches is a program that prints as many long lines as it is asked for, with
// colours and wide characters in them.
const batches = `stty -echo; echo re''ady; while read n b; do i=0; while [ $i -lt $n ]; do i=$((i+1)); ` +
	`printf 'batch %s \033[3%dmline %d\033[m 日本語 👩‍💻 %0120d.\n' "$b" $((i%8)) "$i" 7; done; echo "end of $b"; done`

// seesPart waits until a terminal shows the part of a session's screen that has the
// cursor in it.
func seesPart(o *outer, size pty.Size, want func() *vt.Screen) {
	o.T.Helper()
	diff := ""
	o.Until("a part of the session's screen", func() bool {
		s := want()
		cols, rows := s.Size()
		cur := s.Cursor()
		v := vt.View{X: max(0, cur.X-int(size.Cols)+1), Y: max(0, cur.Y-int(size.Rows)+1), Cols: min(int(size.Cols), cols), Rows: min(int(size.Rows), rows)}
		diff = termtest.Difference(s, v, o.Screen)
		return diff == ""
	})
}

// While somebody sits at a session, others that come and go change nothing for it:
// neither its size, nor its history, nor what is on the other screens.
func TestAttachOfCrossedSizes(t *testing.T) {
	p := newPlace(t)
	link := p.termio("sessions", "run", "--cwd", ".", batches)
	first := p.attach(desk, link)
	first.Shows("ready")
	screen := func() *vt.Screen { return p.screen(link) }
	const rounds = 20
	for i := range rounds {
		size := []pty.Size{phone, small, desk}[i%3]
		first.Types(fmt.Sprintf("300 %d\r", i)) // the output has begun, or soon does
		other := p.attach(size, link)
		first.Shows(fmt.Sprintf("end of %d", i))
		first.Equals(screen)
		other.Shows(fmt.Sprintf("end of %d", i))
		seesPart(other, size, screen)
		if cols, rows := screen().Size(); cols != int(desk.Cols) || rows != int(desk.Rows) {
			t.Fatalf("round %d: the session is %dx%d", i, cols, rows)
		}
		other.Types("\x1c")
		if code := other.ends(); code != 0 {
			t.Errorf("round %d: exit code %d", i, code)
		}
		other.isRestored()
	}
	first.Equals(screen)
	s := screen()
	want := rounds * 301
	if n := s.HistoryLen(); n < want-int(desk.Rows) || n > 2*want {
		t.Errorf("%d lines of history", n)
	}
	for i, text := range s.HistoryText(0, vt.HistoryLine(s.HistoryLen())) {
		if strings.HasPrefix(text, "batch ") && !strings.HasSuffix(text, "7.") {
			t.Fatalf("line %d of the history is %q", i, text)
		}
	}
	first.Types("\x1c")
	first.ends()
	first.isRestored()
}

// Who types has the session in the size of their terminal; the others see it in that
// size, and so does who had it before.
func TestAttachLeadGoesToWhoTypes(t *testing.T) {
	p := newPlace(t)
	link := p.termio("sessions", "run", "--cwd", ".", batches)
	a := p.attach(desk, link)
	a.Shows("ready")
	a.Types("3 a\r")
	a.Shows("end of a")
	b := p.attach(phone, link)
	screen := func() *vt.Screen { return p.screen(link) }
	seesPart(b, phone, screen)
	for _, turn := range []struct {
		who, other *outer
		size, seen pty.Size
	}{{b, a, phone, desk}, {a, b, desk, phone}, {b, a, phone, desk}} {
		text := fmt.Sprint("x", turn.size.Cols)
		turn.who.Types("2 " + text + "\r")
		turn.who.Shows("end of " + text)
		turn.who.Equals(screen)
		seesPart(turn.other, turn.seen, screen)
		if cols, rows := screen().Size(); cols != int(turn.size.Cols) || rows != int(turn.size.Rows) {
			t.Errorf("the session is %dx%d", cols, rows)
		}
	}
	// What a terminal sends by itself is no typing.
	a.Types("\x1b[I\x1b[<35;4;5M\x1b[O")
	b.Types("\r1 z\r") // the first line has the reports in it
	b.Shows("end of z")
	seesPart(a, desk, screen)
	if !strings.Contains(a.Text(), "the size of another terminal") {
		t.Errorf("nothing says whose size this is:\n%s", a.Text())
	}
	// A terminal that changes its size has what it shows drawn anew, whoever leads.
	a.Resize(int(small.Cols), int(small.Rows))
	seesPart(a, small, screen)
	b.Resize(60, 30)
	b.Equals(func() *vt.Screen {
		s := screen()
		if cols, rows := s.Size(); cols != 60 || rows != 30 {
			return vt.New(vt.Options{Cols: 1, Rows: 1}) // not yet
		}
		return s
	})
	for _, o := range []*outer{a, b} {
		o.Types("\x1c")
		o.ends()
		o.isRestored()
	}
}
