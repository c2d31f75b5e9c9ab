package vt

// Resize changes the size. The main screen is wrapped anew with its history
// and the cursor keeps its place in the text; the alternate screen, which
// programs redraw, is cut or padded. Margins go back to the whole screen.
func (s *Screen) Resize(cols, rows int) {
	cols, rows = clamp(cols, 1, maxCols), clamp(rows, 1, maxRows)
	if cols == s.cols && rows == s.rows {
		return
	}
	onAlt := s.AltScreen()
	if onAlt {
		s.alt.x, s.alt.y, s.alt.pending = s.cur.x, s.cur.y, s.cur.pending
	} else {
		s.main.x, s.main.y, s.main.pending = s.cur.x, s.cur.y, s.cur.pending
	}
	oldCols := s.cols
	s.busy = true
	s.g = &s.main
	if cols == s.cols {
		s.resizeHeight(rows)
	} else {
		s.reflow(cols, rows)
	}
	s.busy = false
	s.resizeAlt(oldCols, cols, rows)
	s.cols, s.rows = cols, rows
	if onAlt {
		s.g = &s.alt
	}
	s.resetMargins()
	s.resizeTabs(oldCols)
	for _, g := range []*grid{&s.main, &s.alt} {
		g.x, g.y = min(g.x, cols-1), min(g.y, rows-1)
		g.saved.x, g.saved.y = min(g.saved.x, cols-1), min(g.saved.y, rows-1)
		if !g.saved.set {
			g.saved = cursor{}
		}
	}
	s.cur.x, s.cur.y, s.cur.pending = s.g.x, s.g.y, s.g.pending
	s.checkPending()
	s.last = lastPrinted{}
	s.stampAll()
	s.endChange()
	if s.modes.has(modeResizeReports) {
		s.reportSize()
	}
}

func (s *Screen) resizeTabs(oldCols int) {
	if s.tabs == nil {
		return
	}
	tabs := make([]bool, s.cols)
	copy(tabs, s.tabs)
	for x := oldCols; x < s.cols; x++ {
		tabs[x] = x%8 == 0
	}
	s.tabs = tabs
}

// resizeAlt cuts or pads the alternate screen, at the top where the cursor
// would leave it.
func (s *Screen) resizeAlt(oldCols, cols, rows int) {
	g := &s.alt
	if g.rows == nil {
		return
	}
	lines := g.inOrder()
	drop := clamp(g.y-rows+1, 0, max(0, len(lines)-rows))
	lines = lines[drop:]
	if len(lines) > rows {
		lines = lines[:rows]
	}
	for len(lines) < rows {
		lines = append(lines, row{})
	}
	lines[rows-1].wrapped = false
	if cols != oldCols {
		for y := range lines {
			lines[y].wrapped = false
			lines[y].setWidth(cols)
		}
	}
	g.rows, g.top = lines, 0
	g.y -= drop
	g.saved.y = max(g.saved.y-drop, 0)
}

// inOrder returns the rows of g from the top of the viewport.
func (g *grid) inOrder() []row {
	return append(append(make([]row, 0, len(g.rows)), g.rows[g.top:]...), g.rows[:g.top]...)
}

// used is the number of rows up to the last one with text, a cursor or a saved
// cursor. What follows is blank and worth nothing.
func (g *grid) used(lines []row) int {
	n := len(lines)
	last := g.y
	if g.saved.set {
		last = max(last, g.saved.y)
	}
	for n > 0 && n-1 > last && lines[n-1].trimmed() == 0 {
		n--
	}
	return n
}

// resizeHeight moves lines between the main screen and the history. Shrinking
// drops blank rows below the cursor first, then rolls up, at most until the
// cursor is on top; growing brings lines back if the screen was full.
func (s *Screen) resizeHeight(rows int) {
	g := &s.main
	lines := g.inOrder()
	used := g.used(lines)
	shift := 0
	switch {
	case used > rows:
		shift = -min(used-rows, g.y)
		for i := range -shift {
			s.history.push(s, &lines[i])
		}
		lines = lines[-shift:]
	case used == len(lines):
		shift = min(rows-used, s.history.len())
		lines = append(s.takeBack(shift), lines...)
	}
	s.showMain(lines, rows, shift)
}

// takeBack takes the n newest lines off the history.
func (s *Screen) takeBack(n int) []row {
	out := make([]row, n)
	for i := n - 1; i >= 0; i-- {
		s.decodeRow(s.history.pop(), &out[i])
	}
	return out
}

// showMain makes lines, cut or padded, the rows of the main screen. The
// cursors move down by shift.
func (s *Screen) showMain(lines []row, rows, shift int) {
	g := &s.main
	if len(lines) > rows {
		lines = lines[:rows]
	}
	for len(lines) < rows {
		lines = append(lines, row{})
	}
	lines[rows-1].wrapped = false
	g.rows, g.top = lines, 0
	g.y = clamp(g.y+shift, 0, rows-1)
	g.saved.y = clamp(g.saved.y+shift, 0, rows-1)
}

// A mark follows a position of the screen through reflow.
type mark struct {
	x, y int // column, row of the old screen
	at   int // offset in the logical line being wrapped, -1 not in it
	row  int // row of the output, -1 not yet met
}

// reflow wraps history and main screen anew. Lines that were whole and still
// fit are copied as they are.
func (s *Screen) reflow(cols, rows int) {
	g := &s.main
	lines := g.inOrder()
	used := g.used(lines)
	full := used == len(lines)
	lines = lines[:used]

	f := reflower{s: s, cols: cols, marks: []*mark{
		{x: g.x, y: g.y, at: -1, row: -1}, {x: g.saved.x, y: g.saved.y, at: -1, row: -1},
	}}
	if g.pending {
		f.marks[0].x++
	}
	f.history()
	f.screen(lines)

	s.cols = cols
	cur, saved := f.marks[0], f.marks[1]
	start := min(max(0, len(f.out)-rows), max(cur.row, 0))
	for i := range start {
		s.history.push(s, &f.out[i])
	}
	shift := -start
	out := f.out[start:]
	if full && len(out) < rows {
		back := s.takeBack(min(rows-len(out), s.history.len()))
		shift += len(back)
		out = append(back, out...)
	}
	g.y, g.saved.y = max(cur.row, 0), max(saved.row, 0)
	s.showMain(out, rows, shift)
	g.pending = cur.x == cols
	g.x, g.saved.x = min(cur.x, cols-1), min(saved.x, cols-1)
}

// reflower holds one reflow. Rows of a logical line are gathered in line and
// leave it in rows of the new width as soon as they are full, so that a line as
// long as the history needs no more memory than another.
type reflower struct {
	s     *Screen
	cols  int
	marks []*mark
	line  row
	at    int  // columns of line that have left it
	open  bool // the logical line goes on
	out   []row
	// toHistory says where rows go: the new history, or out.
	toHistory bool
	runs      []cell
	tmp       row    // a record of the history, decoded
	rec       []byte // and one being written
}

// screen wraps the rows of the screen.
func (f *reflower) screen(lines []row) {
	for y := range lines {
		r := &lines[y]
		if !r.wrapped && !f.open && r.trimmed() <= f.cols {
			f.keepRow(r, y)
			continue
		}
		for _, m := range f.marks {
			if m.y == y && m.row < 0 {
				m.at = f.line.len() + m.x
			}
		}
		f.gather(r)
		f.wrap(!r.wrapped || y == len(lines)-1)
	}
}

// keepRow takes a whole row over as it is.
func (f *reflower) keepRow(r *row, y int) {
	for _, m := range f.marks {
		if m.y == y {
			m.set(len(f.out), m.x, m.x == r.trimmed(), f.cols)
		}
	}
	keep := *r
	keep.setWidth(f.cols)
	f.out = append(f.out, keep)
}

// gather appends a row to the logical line.
func (f *reflower) gather(r *row) {
	f.open = true
	n := r.trimmed()
	if r.wrapped {
		n = r.len()
		if r.at(n - 1).isSpacer() {
			n--
		}
	}
	f.line.join(r, n)
}

// wrap takes full rows off the line, all of it if it ends here.
func (f *reflower) wrap(ends bool) {
	for f.line.len()-f.at > f.cols {
		e := f.at + f.cols
		if f.line.at(e).lo&roleMask == roleTail && f.cols > 1 {
			f.emit(e-1, true, true) // the last column stays free
		} else {
			f.emit(e, true, false)
		}
	}
	if ends {
		f.emit(f.line.len(), false, false)
		f.line.clear()
		f.open = false
	} else {
		f.line.drop(f.at)
	}
	for _, m := range f.marks {
		if m.at -= f.at; ends {
			m.at = -1
		}
	}
	f.at = 0
}

// set puts the mark on row y of the output. Column cols is only kept for a
// mark right behind the text: there a wrap is pending.
func (m *mark) set(y, x int, behind bool, cols int) {
	if x > cols || x == cols && !behind {
		x = cols - 1
	}
	m.row, m.x = y, x
}

// emit makes a row of the line up to column e.
func (f *reflower) emit(e int, wrapped, spacer bool) {
	for _, m := range f.marks {
		if m.row < 0 && m.at >= f.at && (m.at < e || !wrapped) {
			m.set(len(f.out), m.at-f.at, m.at == f.line.len(), f.cols)
		}
	}
	view := f.line.slice(f.at, e, f.runs)
	f.runs = view.runs
	f.at = e
	view.wrapped = wrapped
	if spacer || !f.toHistory {
		view = view.clone(f.cols)
	}
	if spacer {
		view.upto(f.cols, f.cols)[f.cols-1].lo |= roleSpacer
	}
	if f.toHistory {
		f.s.history.push(f.s, &view)
		return
	}
	f.out = append(f.out, view)
}
