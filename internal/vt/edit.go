package vt

// erase blanks columns from..to of row y. Selective erase spares protected
// cells and keeps the attributes of none.
func (s *Screen) erase(y, from, to int, selective bool) {
	to = min(to, s.cols-1)
	if from > to {
		return
	}
	r := s.touch(y)
	if to == s.cols-1 {
		r.wrapped = false
		if from == 0 {
			s.cutAbove(y)
		}
	}
	fill := s.erased()
	if fill == blank && !selective && to >= r.len()-1 {
		if from < r.len() {
			r.cut(from)
		}
		return
	}
	c := r.upto(s.cols, s.cols)
	if selective {
		for x := from; x <= to; x++ {
			if c[x].lo&flagProtected == 0 {
				splitWide(c, x)
				c[x] = fill
			}
		}
		return
	}
	severAt(c, from)
	severAt(c, to+1)
	for x := from; x <= to; x++ {
		c[x] = fill
	}
}

// eraseDisplay is ED and DECSED.
func (s *Screen) eraseDisplay(mode int, selective bool) {
	c := &s.cur
	switch mode {
	case 0:
		s.eraseLine(0, selective)
		for y := c.y + 1; y < s.rows; y++ {
			s.erase(y, 0, s.cols-1, selective)
		}
	case 1:
		s.eraseLine(1, selective)
		for y := range c.y {
			s.erase(y, 0, s.cols-1, selective)
		}
	case 2:
		for y := range s.rows {
			s.erase(y, 0, s.cols-1, selective)
		}
		c.pending = false
	case 3: // xterm: the history
		s.history.forget()
		s.changed = true
	}
}

// eraseLine is EL and DECSEL.
func (s *Screen) eraseLine(mode int, selective bool) {
	c := &s.cur
	switch mode {
	case 0:
		s.erase(c.y, c.x, s.cols-1, selective)
	case 1:
		s.erase(c.y, 0, c.x, selective)
	case 2:
		s.erase(c.y, 0, s.cols-1, selective)
	default:
		return
	}
	c.pending = false
}

// eraseChars is ECH. It ignores margins and never crosses the line.
func (s *Screen) eraseChars(n int) {
	c := &s.cur
	c.pending = false
	s.erase(c.y, c.x, c.x+n-1, false)
}

// insertCells opens n columns at x, moving what is right of them to the edge.
func (s *Screen) insertCells(y, x, n, edge int) {
	n = min(n, edge-x+1)
	if n <= 0 {
		return
	}
	r := s.touch(y)
	if edge == s.cols-1 {
		r.wrapped = false
	}
	c := r.upto(s.cols, s.cols)
	severAt(c, x)
	severAt(c, edge+1)
	severAt(c, edge+1-n)
	copy(c[x+n:edge+1], c[x:])
	fill := s.erased()
	for i := x; i < x+n; i++ {
		c[i] = fill
	}
}

// deleteCells removes n columns at x and blanks as many at the edge.
func (s *Screen) deleteCells(y, x, n, edge int) {
	n = min(n, edge-x+1)
	if n <= 0 {
		return
	}
	r := s.touch(y)
	if edge == s.cols-1 {
		r.wrapped = false
	}
	c := r.upto(s.cols, s.cols)
	severAt(c, x)
	severAt(c, x+n)
	severAt(c, edge+1)
	copy(c[x:edge+1], c[x+n:edge+1])
	fill := s.erased()
	for i := edge + 1 - n; i <= edge; i++ {
		c[i] = fill
	}
}

// insertChars is ICH, deleteChars DCH: inside the side margins only.
func (s *Screen) insertChars(n int) {
	c := &s.cur
	c.pending = false
	if c.x >= s.left && c.x <= s.right {
		s.insertCells(c.y, c.x, n, s.right)
	}
}

func (s *Screen) deleteChars(n int) {
	c := &s.cur
	c.pending = false
	if c.x >= s.left && c.x <= s.right {
		s.deleteCells(c.y, c.x, n, s.right)
	}
}

// insertLines is IL, deleteLines DL: inside the margins, and to the left one.
func (s *Screen) insertLines(n int) {
	if s.inRegion() {
		s.scrollDown(s.cur.y, s.bottom, n)
		s.setX(s.left)
	}
}

func (s *Screen) deleteLines(n int) {
	if s.inRegion() {
		s.scrollUp(s.cur.y, s.bottom, n, false)
		s.setX(s.left)
	}
}

// insertColumns is DECIC, deleteColumns DECDC.
func (s *Screen) insertColumns(x, n int) {
	if !s.inRegion() {
		return
	}
	s.cur.pending = false
	for y := s.top; y <= s.bottom; y++ {
		s.insertCells(y, x, n, s.right)
	}
}

func (s *Screen) deleteColumns(x, n int) {
	if !s.inRegion() {
		return
	}
	s.cur.pending = false
	for y := s.top; y <= s.bottom; y++ {
		s.deleteCells(y, x, n, s.right)
	}
}

// scrollLeft is SL, scrollRight SR: the whole region, wherever the cursor is
// inside it.
func (s *Screen) scrollLeft(n int)  { s.deleteColumns(s.left, n) }
func (s *Screen) scrollRight(n int) { s.insertColumns(s.left, n) }

// backIndex is DECBI: left, scrolling right at the left margin.
func (s *Screen) backIndex() {
	c := &s.cur
	switch {
	case c.x == s.left:
		s.insertColumns(s.left, 1)
	case c.x > 0:
		s.setX(c.x - 1)
	}
}

// forwardIndex is DECFI: right, scrolling left at the right margin.
func (s *Screen) forwardIndex() {
	c := &s.cur
	switch {
	case c.x == s.right:
		s.deleteColumns(s.left, 1)
	case c.x < s.cols-1:
		s.setX(c.x + 1)
	}
}
