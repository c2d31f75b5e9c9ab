package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"termio/internal/api"
	"termio/internal/vt"
)

// paintEvery bounds how often a view is drawn.
const paintEvery = 16 * time.Millisecond

// display is a session on the person's terminal. While both have the same size, the
// session's output passes through untouched. Else it goes into a screen of the
// session's size, of which the terminal shows as much as fits, around the cursor: the
// view. Keys go to the session in either case; the first one makes the sizes equal.
type display struct {
	out   io.Writer
	own   func() api.AttachSize // the terminal's size
	plain bool                  // no attributes in what is said to the person
	dirty chan struct{}         // holds a value when the view has to be drawn

	mu      sync.Mutex
	session api.AttachSize
	screen  *vt.Screen // the view's; nil while output passes through
	view    vt.View
	shown   uint64 // generation of the screen that is shown; 0: none
	keys    []byte // modes of the keyboard that the terminal has
	title   string
	closed  bool // the terminal is being given back
}

func newDisplay(out io.Writer, own func() api.AttachSize, plain bool) *display {
	return &display{out: out, own: own, plain: plain, dirty: make(chan struct{}, 1)}
}

// sized takes the session's size; a snapshot follows where the lines move.
func (d *display) sized(z api.AttachSize) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.session = z
}

// snapshot draws the session anew.
func (d *display) snapshot(replay []byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	own := d.own()
	if own.Cols == 0 || own.Rows == 0 || own.Cols == d.session.Cols && own.Rows == d.session.Rows {
		d.screen = nil
		return d.write(replay)
	}
	d.screen = vt.New(vt.Options{Cols: d.session.Cols, Rows: d.session.Rows})
	_, _ = d.screen.Write(replay) // never fails
	d.view, d.shown, d.keys = vt.View{Cols: own.Cols, Rows: own.Rows}, 0, nil
	return d.paint()
}

// output takes what the session's program wrote.
func (d *display) output(p []byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.screen == nil {
		return d.write(p)
	}
	_, _ = d.screen.Write(p) // never fails
	poke(d.dirty)
	return nil
}

// run draws the view whenever it has changed, but not more often than eyes see.
func (d *display) run(ctx context.Context) error {
	for {
		select {
		case <-d.dirty:
		case <-ctx.Done():
			return nil
		}
		d.mu.Lock()
		err := d.paint()
		d.mu.Unlock()
		if err != nil {
			return err
		}
		pause := time.NewTimer(paintEvery)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return nil
		}
	}
}

// paint draws what has changed of the view. d.mu is held.
func (d *display) paint() error {
	s := d.screen
	if s == nil {
		return nil
	}
	s.TakeReplies() // the host gives the answers
	var b []byte
	for _, e := range s.TakeEvents(nil) {
		if e.Kind == vt.EventBell && d.shown > 0 {
			b = append(b, '\a')
		}
	}
	if d.shown == 0 {
		b = vt.AppendOuterBlank(b)
	}
	if v := follow(d.view, s.Cursor(), d.session); v != d.view {
		d.view, d.shown = v, 0
	}
	if keys := s.AppendKeyModes(nil); !bytes.Equal(keys, d.keys) {
		b, d.keys = append(b, keys...), keys
	}
	if t := s.Title(); t != d.title {
		b, d.title = fmt.Appendf(b, "\x1b]2;%s\x1b\\", t), t
	}
	whole := d.shown == 0
	b = s.AppendView(b, d.view, d.shown)
	if whole {
		b = append(b, d.hint()...)
	}
	d.shown = s.Generation()
	return d.write(b)
}

// follow moves a view as little as it takes to show the cursor.
func follow(v vt.View, c vt.Cursor, session api.AttachSize) vt.View {
	along := func(at, size, cursor, limit int) int {
		at = max(min(at, cursor), cursor-size+1)
		return max(min(at, limit-size), 0)
	}
	v.X = along(v.X, v.Cols, c.X, session.Cols)
	v.Y = along(v.Y, v.Rows, c.Y, session.Rows)
	return v
}

// hint says, where there is room below the view, whose size this is.
func (d *display) hint() []byte {
	if d.view.Rows <= d.session.Rows {
		return nil
	}
	text := fmt.Sprintf("[%dx%d, the size of another terminal; type to have yours]", d.session.Cols, d.session.Rows)
	return d.say(d.session.Rows+1, text)
}

// say draws words of our own in a row of the terminal and leaves all else as it is.
func (d *display) say(row int, text string) []byte {
	if cols := d.own().Cols; cols > 0 {
		text = cutCells(text, cols)
	}
	on, off := "\x1b[7m", "\x1b[27m"
	if d.plain {
		on, off = "", ""
	}
	return fmt.Appendf(nil, "\x1b7\x1b[?2026l\x1b[?6l\x1b[%d;1H\x1b[0m\x1b(B\x0f%s%s%s\x1b[K\x1b8", row, on, text, off)
}

// notice says something on the last row, until the session is drawn anew.
func (d *display) notice(text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	_ = d.write(d.say(max(d.own().Rows, 1), text))
}

// close ends all drawing.
func (d *display) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
}

// write draws. d.mu is held.
func (d *display) write(p []byte) error {
	if len(p) == 0 || d.closed {
		return nil
	}
	if _, err := d.out.Write(p); err != nil {
		return errHungUp
	}
	return nil
}

// poke leaves a value in a channel of size 1.
func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
