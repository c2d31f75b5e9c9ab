package vt

import (
	"bytes"
	"fmt"
	"slices"
)

// Equal reports whether two screens show and do the same: both screens with
// their attributes, history, cursors, modes, titles and the unfinished
// sequence. Line numbers, generations, and what waits to be taken don't count.
func (s *Screen) Equal(o *Screen) bool { return s.difference(o) == "" }

// difference names the first thing that differs, for tests.
func (s *Screen) difference(o *Screen) string {
	if s.cols != o.cols || s.rows != o.rows {
		return fmt.Sprintf("size %dx%d, %dx%d", s.cols, s.rows, o.cols, o.rows)
	}
	for _, d := range []struct {
		name string
		a, b any
	}{
		{"alternate screen", s.AltScreen(), o.AltScreen()},
		{"margins", [4]int{s.top, s.bottom, s.left, s.right}, [4]int{o.top, o.bottom, o.left, o.right}},
		{"modes", s.modes, o.modes},
		{"saved modes", s.savedModes, o.savedModes},
		{"main keyboard", s.main.kitty, o.main.kitty},
		{"alternate keyboard", s.alt.kitty, o.alt.kitty},
		{"cursor style", s.cursorStyle, o.cursorStyle},
		{"modifyOtherKeys", s.otherKeys, o.otherKeys},
		{"single shift", s.singleShift, o.singleShift},
		{"title", s.titles.title, o.titles.title},
		{"icon title", s.titles.icon, o.titles.icon},
		{"directory", s.dir, o.dir},
		{"cursor", s.plainCursor(s.cur), o.plainCursor(o.cur)},
		{"main saved cursor", s.plainCursor(s.main.saved), o.plainCursor(o.main.saved)},
		{"alternate saved cursor", s.plainCursor(s.alt.saved), o.plainCursor(o.alt.saved)},
		{"history length", s.HistoryLen(), o.HistoryLen()},
		{"unfinished input", string(s.AppendUnfinished(nil)), string(o.AppendUnfinished(nil))},
	} {
		if d.a != d.b {
			return fmt.Sprintf("%s: %+v, %+v", d.name, d.a, d.b)
		}
	}
	if !slices.Equal(s.titles.stack, o.titles.stack) {
		return "title stack"
	}
	if !slices.Equal(s.colors.sorted(), o.colors.sorted()) {
		return "colours"
	}
	for i, v := range s.colors.overrides {
		if o.colors.overrides[i] != v {
			return "colours"
		}
	}
	for x := range s.cols {
		if s.isTab(x) != o.isTab(x) {
			return fmt.Sprintf("tab stop %d", x)
		}
	}
	if d := s.gridDifference(&s.main, o, &o.main); d != "" {
		return "main screen " + d
	}
	if d := s.gridDifference(&s.alt, o, &o.alt); d != "" {
		return "alternate screen " + d
	}
	return s.historyDifference(o)
}

// shownCursor is a cursor with its style resolved, for comparing.
type shownCursor struct {
	cursor
	style Style
	prot  bool
}

func (s *Screen) plainCursor(c cursor) shownCursor {
	out := shownCursor{cursor: c, style: s.styleOf(c.pen), prot: c.pen.lo&flagProtected != 0}
	out.pen = cell{}
	return out
}

func (s *Screen) gridDifference(g *grid, o *Screen, h *grid) string {
	blankRow := &row{}
	for y := range s.rows {
		a, b := blankRow, blankRow
		if g.rows != nil {
			a = &g.rows[(g.top+y)%len(g.rows)]
		}
		if h.rows != nil {
			b = &h.rows[(h.top+y)%len(h.rows)]
		}
		if a.wrapped != b.wrapped {
			return fmt.Sprintf("row %d wrapped: %v, %v", y, a.wrapped, b.wrapped)
		}
		for x := range max(a.len(), b.len()) {
			p, q := a.at(x), b.at(x)
			if s.cell(p) != o.cell(q) || (p.lo^q.lo)&flagProtected != 0 {
				return fmt.Sprintf("cell %d,%d: %+v, %+v", x, y, s.cell(p), o.cell(q))
			}
		}
	}
	return ""
}

func (s *Screen) historyDifference(o *Screen) string {
	plain := len(s.exts.items) == 0 && len(o.exts.items) == 0
	var theirs [][]byte
	o.history.each(0, o.history.len(), func(rec []byte) { theirs = append(theirs, rec) })
	i, diff := 0, ""
	s.history.each(0, s.history.len(), func(rec []byte) {
		other := theirs[i]
		i++
		// A spacer may have become a blank of its own.
		if diff != "" || bytes.Equal(rec, other) && plain {
			return
		}
		a, b := s.AppendHistory(nil, HistoryLine(i-1)), o.AppendHistory(nil, HistoryLine(i-1))
		if rec[0]&recWrapped != other[0]&recWrapped {
			diff = fmt.Sprintf("history line %d wrapped: %v, %v", i-1, rec[0], other[0])
			return
		}
		for x := range max(len(a), len(b)) {
			p, q := Cell{Text: " ", Width: 1}, Cell{Text: " ", Width: 1}
			if x < len(a) {
				p = a[x]
			}
			if x < len(b) {
				q = b[x]
			}
			if p != q {
				diff = fmt.Sprintf("history line %d column %d: %+v, %+v", i-1, x, p, q)
				return
			}
		}
	})
	return diff
}
