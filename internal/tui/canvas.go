package tui

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"termio/internal/vt"
)

// A rect is a rectangle of the canvas, in cells from its top left.
type rect struct{ x, y, w, h int }

// empty reports whether nothing can be drawn in r.
func (r rect) empty() bool { return r.w <= 0 || r.h <= 0 }

// holds reports whether a cell lies in r.
func (r rect) holds(x, y int) bool { return x >= r.x && x < r.x+r.w && y >= r.y && y < r.y+r.h }

// row is the n-th row of r; it is empty outside r.
func (r rect) row(n int) rect {
	if n < 0 || n >= r.h {
		return rect{r.x, r.y, 0, 0}
	}
	return rect{r.x, r.y + n, r.w, 1}
}

// inset is r without n columns left and right.
func (r rect) inset(n int) rect { return rect{r.x + n, r.y, max(r.w-2*n, 0), r.h} }

// centred is a rectangle of at most w by h cells in the middle of r.
func (r rect) centred(w, h int) rect {
	w, h = min(w, r.w), min(h, r.h)
	return rect{r.x + (r.w-w)/2, r.y + (r.h-h)/2, w, h}
}

// A canvas is one frame as it is being drawn: cells, and where the cursor is. Parts
// draw on it in the order in which they lie over each other.
type canvas struct {
	w, h   int
	cells  []vt.Cell // row by row; the second column of a wide cluster has width 0
	cursor vt.Cursor // of the frame; invisible unless a part puts it somewhere
}

// blankCell is what an empty canvas consists of.
func blankCell() vt.Cell { return vt.Cell{Text: " ", Width: 1} }

// reset makes the canvas blank and of a size.
func (c *canvas) reset(w, h int) {
	if w != c.w || h != c.h {
		c.w, c.h = w, h
		c.cells = make([]vt.Cell, w*h)
	}
	for i := range c.cells {
		c.cells[i] = blankCell()
	}
	c.cursor = vt.Cursor{}
}

// bounds is the whole canvas.
func (c *canvas) bounds() rect { return rect{0, 0, c.w, c.h} }

// at is the cell at a place, a blank one outside.
func (c *canvas) at(x, y int) vt.Cell {
	if !c.bounds().holds(x, y) {
		return blankCell()
	}
	return c.cells[y*c.w+x]
}

// put draws one cell inside clip. A wide cluster that does not fit is drawn as a blank;
// one that is cut through by what is drawn over it loses its other half.
func (c *canvas) put(clip rect, x, y int, cell vt.Cell) {
	if !clip.holds(x, y) || !c.bounds().holds(x, y) {
		return
	}
	if cell.Width == 2 && (!clip.holds(x+1, y) || x+1 >= c.w) || cell.Width == 0 && x == clip.x {
		cell.Text, cell.Width = " ", 1
	}
	row := c.cells[y*c.w : (y+1)*c.w]
	if cell.Width != 0 {
		sever(row, x)
	}
	if cell.Width == 2 {
		sever(row, x+1)
		row[x+1] = vt.Cell{Style: cell.Style}
	}
	row[x] = cell
}

// sever blanks the other half of a wide cluster that is about to lose the half at x.
func sever(row []vt.Cell, x int) {
	switch {
	case row[x].Width == 0 && x > 0:
		row[x-1].Text, row[x-1].Width = " ", 1
		row[x].Text, row[x].Width = " ", 1
	case row[x].Width == 2 && x+1 < len(row):
		row[x+1].Text, row[x+1].Width = " ", 1
	}
}

// fill gives every cell of r a style and blanks it.
func (c *canvas) fill(r rect, st vt.Style) {
	for y := r.y; y < r.y+r.h; y++ {
		for x := r.x; x < r.x+r.w; x++ {
			c.put(r, x, y, vt.Cell{Text: " ", Width: 1, Style: st})
		}
	}
}

// text draws s from the left edge of the first row of r and gives the columns it took.
// What does not fit is cut between clusters, with an ellipsis in the last column.
// Control characters are left out: texts come from sessions too.
func (c *canvas) text(r rect, st vt.Style, s string) int {
	if r.empty() {
		return 0
	}
	s = plain(s)
	if vt.Width(s) > r.w {
		s, _ = vt.Cut(s, r.w-1)
		s = strings.TrimRight(s, " ") + "…"
	}
	x := r.x
	for s != "" {
		cl, w := cluster(s)
		s = s[len(cl):]
		if w == 0 {
			continue
		}
		c.put(r, x, r.y, vt.Cell{Text: cl, Width: w, Style: st})
		x += w
	}
	return x - r.x
}

// right draws s at the right edge of the first row of r and gives the columns it took.
func (c *canvas) right(r rect, st vt.Style, s string) int {
	w := min(vt.Width(plain(s)), r.w)
	return c.text(rect{r.x + r.w - w, r.y, w, r.h}, st, s)
}

// cluster is the first grapheme cluster of a text that is not empty, and its columns.
func cluster(s string) (string, int) {
	if s[0] < utf8.RuneSelf && (len(s) == 1 || s[1] < utf8.RuneSelf) {
		return s[:1], 1
	}
	for columns := 1; columns <= 2; columns++ {
		if cl, w := vt.Cut(s, columns); cl != "" {
			return cl, w
		}
	}
	_, n := utf8.DecodeRuneInString(s) // wider than any terminal draws it
	return s[:n], 0
}

// plain is a text without control characters and with spaces for tabs.
func plain(s string) string {
	if strings.IndexFunc(s, unprintable) < 0 {
		return s
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\n':
			return ' '
		case unprintable(r):
			return -1
		}
		return r
	}, s)
}

// unprintable holds for what moves cursors or turns text around instead of being seen.
func unprintable(r rune) bool {
	return unicode.IsControl(r) || r == '\u200e' || r == '\u200f' ||
		r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069' || r == '\u2028' || r == '\u2029'
}

// wrap breaks a text into lines of at most w columns, at spaces where there are any.
func wrap(s string, w int) []string {
	if w <= 0 {
		return nil
	}
	var lines []string
	for paragraph := range strings.SplitSeq(strings.TrimRight(s, "\n"), "\n") {
		paragraph = plain(paragraph)
		for vt.Width(paragraph) > w {
			head, _ := vt.Cut(paragraph, w)
			if head == "" { // one cluster that is wider than the line
				return lines
			}
			if at := strings.LastIndexByte(head, ' '); at > 0 && len(head) < len(paragraph) && paragraph[len(head)] != ' ' {
				head = head[:at]
			}
			lines = append(lines, strings.TrimRight(head, " "))
			paragraph = strings.TrimLeft(paragraph[len(head):], " ")
		}
		lines = append(lines, paragraph)
	}
	return lines
}
