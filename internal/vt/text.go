package vt

import (
	"strings"
	"unicode/utf8"
)

// Row is a row of the viewport, 0 at the top.
type Row int

// HistoryLine is a line of the history, 0 the oldest that is kept.
type HistoryLine int

// Text returns the rows of the viewport, trimmed at the right.
func (s *Screen) Text() []string {
	out := make([]string, s.rows)
	for y := range out {
		out[y] = s.RowText(Row(y))
	}
	return out
}

// RowText is one row of the viewport, trimmed at the right; empty outside it.
func (s *Screen) RowText(y Row) string {
	if y < 0 || int(y) >= s.rows {
		return ""
	}
	r := s.row(int(y))
	if !r.cells {
		return strings.TrimRight(string(r.text), " ")
	}
	var b []byte
	for i := range r.c {
		b = s.appendCellText(b, r.c[i].lo)
	}
	return strings.TrimRight(string(b), " ")
}

// Wrapped reports whether the line on row y goes on at the next row.
func (s *Screen) Wrapped(y Row) bool {
	return y >= 0 && int(y) < s.rows && s.row(int(y)).wrapped
}

// appendCellText appends what the cell shows; nothing for the tail of a wide
// character.
func (s *Screen) appendCellText(b []byte, lo uint64) []byte {
	switch {
	case lo&roleMask == roleTail:
		return b
	case lo&flagCluster != 0:
		return append(b, s.clusters.get(uint32(lo&runeMask))...)
	case lo&runeMask < utf8.RuneSelf:
		return append(b, byte(lo))
	}
	return utf8.AppendRune(b, rune(lo&runeMask))
}

// HistoryText returns the history lines from..to-1, trimmed at the right. The
// range is cut to what there is.
func (s *Screen) HistoryText(from, to HistoryLine) []string {
	f, t := max(0, int(from)), min(int(to), s.history.len())
	if f >= t {
		return nil
	}
	out := make([]string, 0, t-f)
	var b []byte
	s.history.each(f, t, func(rec []byte) {
		b = appendRecordText(b[:0], rec)
		out = append(out, strings.TrimRight(string(b), " "))
	})
	return out
}

// HistoryWrapped reports whether history line n goes on at the next line.
func (s *Screen) HistoryWrapped(n HistoryLine) bool {
	wrapped := false
	s.history.each(int(n), int(n)+1, func(rec []byte) { wrapped = rec[0]&recWrapped != 0 })
	return wrapped
}

func appendRecordText(b, rec []byte) []byte {
	var st cell
	for rec = rec[1:]; len(rec) > 0; {
		u, rest, err := nextRun(rec, st)
		if err != nil {
			break
		}
		if u.kind == kindClusters {
			u.each(func(text []byte, _ int) { b = append(b, text...) })
		} else {
			b = append(b, u.data...)
		}
		st, rec = u.style, rest
	}
	return b
}

// Cell is the cell at column x of viewport row y: a blank one outside.
func (s *Screen) Cell(x int, y Row) Cell {
	if x < 0 || x >= s.cols || y < 0 || int(y) >= s.rows {
		return Cell{Text: " ", Width: 1}
	}
	return s.cell(s.row(int(y)).at(x))
}

// AppendRow appends the cells of viewport row y, one per column.
func (s *Screen) AppendRow(dst []Cell, y Row) []Cell {
	for x := range s.cols {
		dst = append(dst, s.Cell(x, y))
	}
	return dst
}

// AppendHistory appends the cells of history line n up to its last character.
func (s *Screen) AppendHistory(dst []Cell, n HistoryLine) []Cell {
	s.history.each(int(n), int(n)+1, func(rec []byte) {
		var st cell
		for rec = rec[1:]; len(rec) > 0; {
			u, rest, err := nextRun(rec, st)
			if err != nil {
				return
			}
			style := s.styleOf(u.style)
			u.each(func(text []byte, width int) {
				dst = append(dst, Cell{Text: string(text), Width: width, Style: style})
				if width == 2 {
					dst = append(dst, Cell{Style: style})
				}
			})
			st, rec = u.style, rest
		}
	})
	return dst
}

// ascii backs the texts of ASCII cells, so that reading them allocates nothing.
const ascii = " !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~"

func (s *Screen) cell(c cell) Cell {
	out := Cell{Width: c.width(), Style: s.styleOf(c)}
	switch r := c.lo & runeMask; {
	case out.Width == 0:
	case c.lo&flagCluster != 0:
		out.Text = s.clusters.get(uint32(r))
	case r < utf8.RuneSelf:
		out.Text = ascii[r-' ' : r-' '+1]
	default:
		out.Text = string(rune(r))
	}
	return out
}

func (s *Screen) styleOf(c cell) Style {
	e := s.ext(c.lo)
	return Style{
		Attr: Attr(c.lo >> attrShift), Underline: Underline(c.lo & ulMask >> ulShift),
		FG: c.fg, BG: c.bg, UL: e.ul, Link: e.uri, LinkID: e.id,
	}
}
