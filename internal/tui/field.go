package tui

import (
	"strings"

	"termio/internal/vt"
)

// A field is a text of several lines that is being typed. Return is its owner's; with
// alt or shift, and as ctrl-j where a terminal tells neither, it begins a line.
type field struct{ in line }

func newField(text string) *field { return &field{in: *newLine("", text, nil)} }

// text is what has been typed.
func (f *field) text() string { return f.in.text }

// insert puts a text in at the cursor. What moves cursors is left out, line ends stay.
func (f *field) insert(s string) {
	s = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(s)
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = plain(lines[i])
	}
	f.in.insert(strings.Join(lines, "\n"))
}

// key edits the text; w is the width at which it is shown.
func (f *field) key(k vt.Key, w int) {
	switch {
	case k.Name == vt.KeyEnter, k == vt.Key{Rune: 'j', Mods: vt.Ctrl}:
		f.in.insert("\n")
	case k.Name == vt.KeyUp:
		f.vertical(-1, w)
	case k.Name == vt.KeyDown:
		f.vertical(+1, w)
	case k.Name == vt.KeyHome, k == vt.Key{Rune: 'a', Mods: vt.Ctrl}:
		f.in.at = f.row(w).from
	case k.Name == vt.KeyEnd, k == vt.Key{Rune: 'e', Mods: vt.Ctrl}:
		f.in.at = f.row(w).to
	default:
		f.in.key(k)
	}
}

// A span is a row of a field: bytes of its text.
type span struct{ from, to int }

// rows breaks the text into rows of at most w columns: at its line ends, behind spaces
// where there are any, else between clusters.
func (f *field) rows(w int) []span {
	var rows []span
	text := f.in.text
	from, space, used := 0, -1, 0
	for at := 0; at < len(text); {
		if text[at] == '\n' {
			rows = append(rows, span{from, at})
			at++
			from, space, used = at, -1, 0
			continue
		}
		cl, cols := cluster(text[at:])
		if used+cols > w && at > from {
			end := at
			if space > from {
				end = space
			}
			rows = append(rows, span{from, end})
			from, space, used = end, -1, vt.Width(text[end:at])
		}
		at, used = at+len(cl), used+cols
		if cl == " " {
			space = at
		}
	}
	return append(rows, span{from, len(text)})
}

// at is the row that the cursor is in.
func (f *field) at(rows []span) int {
	for i := len(rows) - 1; i > 0; i-- {
		if f.in.at >= rows[i].from {
			return i
		}
	}
	return 0
}

func (f *field) row(w int) span {
	rows := f.rows(w)
	r := rows[f.at(rows)]
	if r.to < len(f.in.text) && f.in.text[r.to] != '\n' && r.to > r.from { // the end of a row that goes on is the next one's beginning
		r.to -= lastCluster(f.in.text[r.from:r.to])
	}
	return r
}

// vertical moves the cursor by rows, to the column nearest to its own.
func (f *field) vertical(by, w int) {
	rows := f.rows(w)
	i := f.at(rows)
	to := i + by
	if to < 0 || to >= len(rows) {
		return
	}
	columns := vt.Width(f.in.text[rows[i].from:f.in.at])
	r := rows[to]
	head, _ := vt.Cut(f.in.text[r.from:r.to], columns)
	f.in.at = r.from + len(head)
	if f.in.at == r.to && r.to > r.from && to+1 < len(rows) && rows[to+1].from == r.to {
		f.in.at -= lastCluster(f.in.text[r.from:r.to])
	}
}

// draw draws the rows around the cursor, which is put there if the field has the keys.
// Empty, it says what it is for.
func (f *field) draw(c *canvas, r rect, st, faint vt.Style, hasKeys bool, what string) {
	if r.empty() {
		return
	}
	c.fill(r, st)
	rows := f.rows(r.w)
	at := f.at(rows)
	top := max(at-r.h+1, 0)
	if f.in.text == "" {
		c.text(r.row(0), faint, what)
	}
	for y := range min(r.h, len(rows)-top) {
		c.text(r.row(y), st, strings.TrimRight(f.in.text[rows[top+y].from:rows[top+y].to], " "))
	}
	if hasKeys {
		x := vt.Width(f.in.text[rows[at].from:f.in.at])
		c.cursor = vt.Cursor{X: r.x + min(x, r.w-1), Y: r.y + at - top, Visible: true}
	}
}
