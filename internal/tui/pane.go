package tui

import (
	"termio/internal/vt"
)

// A vtView is what is drawn of a session's terminal: a copy, so that drawing waits for
// nobody who writes.
type vtView struct {
	cols, rows int         // of the session's screen
	cells      [][]vt.Cell // its rows, or lines of its history while scrolled back
	cursor     vt.Cursor
	history    int    // lines of history there are
	back       int    // how many lines up the view is; the caller's wish, cut to what there is
	lost       bool   // the link to the host is down
	ended      string // why nothing more comes; "" while something may
	ready      bool   // there is a picture
	leads      bool   // the session has this pane's size

	epoch uint64 // which screen the rows are of
	gen   uint64 // generation of that screen
	line  uint64 // number in the session of the first line shown while scrolled back
	was   int    // back when the rows were copied
}

// copyFrom brings the view up to date with a screen. epoch tells screens apart that
// follow each other. Only rows that have changed are copied.
func (v *vtView) copyFrom(s *vt.Screen, epoch uint64) {
	cols, rows := s.Size()
	since := v.gen
	if epoch != v.epoch || cols != v.cols || rows != v.rows || v.back > 0 || v.was > 0 || !v.ready {
		since = 0
	}
	v.history = s.HistoryLen()
	if v.back > 0 && v.was > 0 && epoch == v.epoch { // what is being read stays where it is
		v.back = int(int64(s.HistoryDropped()) + int64(v.history) - int64(v.line))
	}
	v.back = max(min(v.back, v.history), 0)
	v.line = s.HistoryDropped() + uint64(v.history-v.back)
	v.cols, v.rows, v.epoch, v.gen, v.ready = cols, rows, epoch, s.Generation(), true
	for len(v.cells) < rows {
		v.cells = append(v.cells, nil)
	}
	v.cells = v.cells[:rows]
	for y := range rows {
		switch n := v.history - v.back + y; {
		case n < v.history:
			v.cells[y] = s.AppendHistory(v.cells[y][:0], vt.HistoryLine(n))
		case since == 0 || s.RowGeneration(vt.Row(y-v.back)) > since:
			v.cells[y] = s.AppendRow(v.cells[y][:0], vt.Row(y-v.back))
		}
	}
	v.cursor = s.Cursor()
	v.cursor.Visible = v.cursor.Visible && v.back == 0
	v.was = v.back
}

// A pane is the terminal of one session in the interface.
type pane struct {
	link       string
	live       live // nil for a session that has ended
	cols, rows int  // its own size, which the session gets when it leads
	vtView
}

// refresh takes in what the session shows now.
func (p *pane) refresh() {
	if p.live != nil {
		p.live.view(&p.vtView)
	}
}

// scroll moves the view up by n lines, down for negative ones.
func (p *pane) scroll(n int) {
	p.back = max(min(p.back+n, p.history), 0)
	p.was = 0 // the wish is new
	p.refresh()
}

// origin is the cell of the session's screen that the pane's top left shows: a pane
// that is smaller shows the part around the cursor.
func (p *pane) origin(area rect) (x, y int) {
	along := func(size, cursor, limit int) int { return max(min(cursor-size/2, limit-size), 0) }
	if p.vtView.cols > area.w {
		x = along(area.w, p.cursor.X, p.vtView.cols)
	}
	if p.vtView.rows > area.h {
		y = along(area.h, p.cursor.Y, p.vtView.rows)
	}
	return x, y
}

// draw draws the session's screen. hasKeys says that the cursor is the person's; beyond
// is what lies around a screen that is smaller than the pane.
func (p *pane) draw(c *canvas, area rect, hasKeys bool, beyond vt.Style) {
	if !p.ready {
		return
	}
	if !p.leads && p.ended == "" {
		for y := range area.h {
			for x := range area.w {
				if x >= p.vtView.cols || y >= p.vtView.rows {
					c.put(area, area.x+x, area.y+y, vt.Cell{Text: "·", Width: 1, Style: beyond})
				}
			}
		}
	}
	ox, oy := p.origin(area)
	for y := range min(area.h, p.vtView.rows-oy) {
		line := p.cells[oy+y]
		for x := range min(area.w, p.vtView.cols-ox) {
			if ox+x < len(line) {
				c.put(area, area.x+x, area.y+y, line[ox+x])
			}
		}
	}
	if x, y := p.cursor.X-ox, p.cursor.Y-oy; hasKeys && p.cursor.Visible && x >= 0 && y >= 0 && x < area.w && y < area.h {
		c.cursor = vt.Cursor{X: area.x + x, Y: area.y + y, Visible: true, Style: p.cursor.Style}
	}
}
