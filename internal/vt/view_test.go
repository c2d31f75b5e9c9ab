package vt

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// viewed is what a terminal of a view's size shows: the rectangle's cells, blank past
// the screen's edges and where an edge cuts through a wide character.
func viewed(s *Screen, v View, x, y int) Cell {
	c := s.Cell(v.X+x, Row(v.Y+y))
	if c.Width == 0 && x == 0 || c.Width == 2 && x == v.Cols-1 {
		c.Text, c.Width = " ", 1
	}
	return c
}

func TestView(t *testing.T) {
	const content = "\x1b[31mred\x1b[0m 日本語 ab\r\n👩‍💻 🇩🇪 e\u0301x\x1b[4;44munder\r\n\x1b[0m\x1b]8;;http://x\x07link\x1b]8;;\x07\x1b[7m      \x1b[0m\r\n\x1b[1;5Hf"
	dirty := "old text everywhere\r\nand more\x1b[44m\x1b[2K\x1b[0m"
	for _, v := range []View{{0, 0, 20, 6}, {0, 0, 6, 3}, {1, 0, 7, 2}, {5, 1, 9, 4}, {12, 2, 30, 10}, {0, 0, 40, 10}} {
		t.Run(fmt.Sprint(v), func(t *testing.T) {
			s := New(Options{Cols: 20, Rows: 6})
			s.Write([]byte(content))
			other := New(Options{Cols: v.Cols, Rows: v.Rows})
			other.Write([]byte(dirty))
			check := func(when string) {
				for y := range v.Rows {
					for x := range v.Cols {
						if diff := cmp.Diff(viewed(s, v, x, y), other.Cell(x, Row(y))); diff != "" {
							t.Errorf("%s: column %d of row %d (-want +got)\n%s", when, x, y, diff)
						}
					}
				}
				if cur, want := other.Cursor(), s.Cursor(); cur.Visible && (cur.X != want.X-v.X || cur.Y != want.Y-v.Y) {
					t.Errorf("%s: the cursor is at %d,%d", when, cur.X, cur.Y)
				}
			}
			other.Write(s.AppendView(nil, v, 0))
			check("at first")
			since := s.Generation()
			s.Write([]byte("\x1b[2;3H語!\x1b[K\x1b[5;1Hlast"))
			update := s.AppendView(nil, v, since)
			other.Write(update)
			check("after a change")
			if whole := s.AppendView(nil, v, 0); len(update) >= len(whole) {
				t.Errorf("a change takes %d bytes, everything %d", len(update), len(whole))
			}
		})
	}
}

func TestKeyModes(t *testing.T) {
	s := draw("\x1b[?1h\x1b=\x1b[?2004h\x1b[>5u\x1b[>4;2m\x1b[?1003h\x1b[?1006h\x1b[?1004h")
	other := draw("")
	other.Write(s.AppendKeyModes(nil))
	want := s.Modes()
	want.Mouse, want.MouseEncoding, want.Focus = MouseOff, MouseLegacy, false
	if diff := cmp.Diff(want, other.Modes()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
