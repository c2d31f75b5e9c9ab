package vt

// A grid is one of the two screens. Its rows form a ring: row y of the
// viewport is rows[(top+y)%len], so that scrolling the whole screen moves
// nothing.
type grid struct {
	rows  []row
	top   int
	saved cursor // DECSC; saved.set says whether there is one
	kitty kittyStack
	// x, y and pending are where the cursor was when the other screen was
	// switched to; only resizing looks at them.
	x, y    int
	pending bool
}

// cursor is what DECSC saves, and the live one.
type cursor struct {
	x, y    int
	pending bool // the next character wraps first
	pen     cell // style bits only
	origin  bool
	charset [4]byte // designations of G0 to G3: see charset.go
	gl      uint8   // the set in use
	set     bool
}

func (s *Screen) row(y int) *row {
	g := s.g
	i := g.top + y
	if i >= len(g.rows) {
		i -= len(g.rows)
	}
	return &g.rows[i]
}

// touch is row for a caller that changes it.
func (s *Screen) touch(y int) *row {
	r := s.row(y)
	r.gen = s.next
	s.changed = true
	return r
}

// whole is touch, in cell form and with every column present.
func (s *Screen) whole(y int) []cell {
	return s.touch(y).upto(s.cols, s.cols)
}

// erased is the cell that erasing leaves: the pen's background.
func (s *Screen) erased() cell { return cell{lo: ' ', bg: s.cur.pen.bg} }

func (s *Screen) fullWidth() bool { return s.left == 0 && s.right == s.cols-1 }

// inRegion reports whether the cursor is inside all four margins.
func (s *Screen) inRegion() bool {
	c := &s.cur
	return c.y >= s.top && c.y <= s.bottom && c.x >= s.left && c.x <= s.right
}

// index moves the cursor down, scrolling at the bottom margin.
func (s *Screen) index() {
	c := &s.cur
	switch {
	case c.y == s.bottom:
		if c.x >= s.left && c.x <= s.right {
			s.scrollUp(s.top, s.bottom, 1, true)
		}
	case c.y < s.rows-1:
		c.y++
	}
}

// reverseIndex moves the cursor up, scrolling at the top margin.
func (s *Screen) reverseIndex() {
	c := &s.cur
	switch {
	case c.y == s.top:
		if c.x >= s.left && c.x <= s.right {
			s.scrollDown(s.top, s.bottom, 1)
		}
	case c.y > 0:
		c.y--
	}
}

// scrollUp moves rows top..bottom up by n inside the side margins. Rows that
// leave the top of the main screen go to the history if keep is set.
func (s *Screen) scrollUp(top, bottom, n int, keep bool) {
	n = min(n, bottom-top+1)
	if n <= 0 {
		return
	}
	if !s.fullWidth() {
		s.shiftRows(top, bottom, n)
		return
	}
	keep = keep && top == 0 && s.g == &s.main
	fill := s.erased()
	s.changed = true
	if top == 0 && bottom == s.rows-1 {
		// Rows keep their stamp: one counter says that the ring moved.
		g := s.g
		for ; n > 0; n-- {
			r := &g.rows[g.top]
			if keep {
				s.history.push(s, r)
			}
			r.fill(fill, s.cols)
			r.gen = s.next
			if g.top++; g.top == len(g.rows) {
				g.top = 0
			}
			s.scrolled++
		}
		s.scrollGen = s.next
		return
	}
	if keep {
		for y := range n {
			s.history.push(s, s.row(y))
		}
	}
	s.rotate(top, bottom, n)
	for y := bottom - n + 1; y <= bottom; y++ {
		s.row(y).fill(fill, s.cols)
	}
	if bottom-n >= top {
		s.row(bottom - n).wrapped = false
	}
	s.cutAbove(top)
	s.stamp(top, bottom)
}

// scrollDown is scrollUp the other way; nothing comes back from the history.
func (s *Screen) scrollDown(top, bottom, n int) {
	n = min(n, bottom-top+1)
	if n <= 0 {
		return
	}
	if !s.fullWidth() {
		s.shiftRows(top, bottom, -n)
		return
	}
	fill := s.erased()
	s.rotate(top, bottom, bottom-top+1-n)
	for y := top; y < top+n; y++ {
		s.row(y).fill(fill, s.cols)
	}
	s.row(bottom).wrapped = false
	s.cutAbove(top)
	s.stamp(top, bottom)
}

// cutAbove ends the line that continued onto row y.
func (s *Screen) cutAbove(y int) {
	if y > 0 {
		s.row(y - 1).wrapped = false
	}
}

func (s *Screen) stamp(top, bottom int) {
	for y := top; y <= bottom; y++ {
		s.touch(y)
	}
}

// rotate moves row top+n to top, and so on round; three reversals need no
// second copy of the rows.
func (s *Screen) rotate(top, bottom, n int) {
	s.reverse(top, top+n-1)
	s.reverse(top+n, bottom)
	s.reverse(top, bottom)
}

func (s *Screen) reverse(a, b int) {
	for ; a < b; a, b = a+1, b-1 {
		p, q := s.row(a), s.row(b)
		*p, *q = *q, *p
	}
}

// shiftRows scrolls between side margins: cells move, rows stay. Positive n
// is up.
func (s *Screen) shiftRows(top, bottom, n int) {
	for y := top; y <= bottom; y++ {
		c := s.whole(y)
		severAt(c, s.left)
		severAt(c, s.right+1)
	}
	fill := s.erased()
	h := bottom - top + 1
	for i := range h {
		y := top + i
		if n < 0 {
			y = bottom - i
		}
		dst := s.whole(y)[s.left : s.right+1]
		if from := y + n; from >= top && from <= bottom {
			copy(dst, s.whole(from)[s.left:s.right+1])
			continue
		}
		for x := range dst {
			dst[x] = fill
		}
	}
}
