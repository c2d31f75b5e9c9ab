package vt

// Everything here ends a pending wrap, as in xterm.

func (s *Screen) setX(x int) {
	s.cur.x = clamp(x, 0, s.cols-1)
	s.cur.pending = false
}

func (s *Screen) setY(y int) {
	s.cur.y = clamp(y, 0, s.rows-1)
	s.cur.pending = false
}

// moveTo is CUP: positions count from the margins in origin mode.
func (s *Screen) moveTo(x, y int) {
	s.setX(s.column(x))
	s.setY(s.line(y))
}

func (s *Screen) column(x int) int {
	if s.cur.origin {
		return min(x+s.left, s.right)
	}
	return x
}

func (s *Screen) line(y int) int {
	if s.cur.origin {
		return min(y+s.top, s.bottom)
	}
	return y
}

func (s *Screen) up(n int) {
	limit := 0
	if s.cur.y >= s.top {
		limit = s.top
	}
	s.setY(max(limit, s.cur.y-n))
}

func (s *Screen) down(n int) {
	limit := s.rows - 1
	if s.cur.y <= s.bottom {
		limit = s.bottom
	}
	s.setY(min(limit, s.cur.y+n))
}

func (s *Screen) forward(n int) { s.setX(min(s.rightEdge(), s.cur.x+n)) }

// lineRelative is VPR, which stops at the margins only in origin mode.
func (s *Screen) lineRelative(n int) {
	if s.cur.origin {
		s.down(n)
		return
	}
	s.setY(s.cur.y + n)
}

// leftEdge is where moving left stops.
func (s *Screen) leftEdge() int {
	if s.cur.x >= s.left {
		return s.left
	}
	return 0
}

// backspace is BS and CUB. With reverse wrap it goes on at the end of the row
// above, from the left edge.
func (s *Screen) backspace(n int) {
	c := &s.cur
	if !s.modes.has(modeReverseWrap) || !s.modes.has(modeWrap) {
		s.setX(max(s.leftEdge(), c.x-n))
		return
	}
	for n = min(n, s.cols*s.rows); n > 0; n-- {
		switch {
		case c.pending:
			c.pending = false // the cursor is past the last column already
		case c.x > s.leftEdge():
			c.x--
		case c.y > s.top && s.row(c.y-1).wrapped:
			c.y--
			c.x = s.right
		default:
			return
		}
	}
}

// tab moves to the n-th next tab stop, at most to the right edge.
func (s *Screen) tab(n int) {
	c := &s.cur
	edge := s.rightEdge()
	for ; n > 0 && c.x < edge; n-- {
		c.x++
		for c.x < edge && !s.isTab(c.x) {
			c.x++
		}
	}
}

func (s *Screen) backTab(n int) {
	c := &s.cur
	for ; n > 0 && c.x > 0; n-- {
		c.x--
		for c.x > 0 && !s.isTab(c.x) {
			c.x--
		}
	}
	c.pending = false
}

// isTab reports whether column x is a tab stop; a nil table is one every
// eight columns.
func (s *Screen) isTab(x int) bool {
	if s.tabs == nil {
		return x%8 == 0 && x > 0
	}
	return s.tabs[x]
}

func (s *Screen) setTab(x int, on bool) {
	if s.isTab(x) == on {
		return
	}
	s.ownTabs()
	s.tabs[x] = on
}

func (s *Screen) ownTabs() {
	if s.tabs != nil {
		return
	}
	tabs := make([]bool, s.cols)
	for x := range tabs {
		tabs[x] = s.isTab(x)
	}
	s.tabs = tabs
}

// clearTabs is TBC.
func (s *Screen) clearTabs(mode int) {
	switch mode {
	case 0:
		s.setTab(s.cur.x, false)
	case 3:
		s.ownTabs()
		clear(s.tabs)
	}
}

// setScrollRegion is DECSTBM, rows from 0.
func (s *Screen) setScrollRegion(top, bottom int) {
	bottom = min(bottom, s.rows-1)
	if top >= bottom {
		return
	}
	s.top, s.bottom = top, bottom
	s.moveTo(0, 0)
}

// setSideMargins is DECSLRM, columns from 0.
func (s *Screen) setSideMargins(left, right int) {
	right = min(right, s.cols-1)
	if left >= right {
		return
	}
	s.left, s.right = left, right
	s.moveTo(0, 0)
}
