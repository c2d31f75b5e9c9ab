package vt

import "unicode/utf8"

// rightEdge is the last column the cursor can print on.
func (s *Screen) rightEdge() int {
	if s.cur.x <= s.right {
		return s.right
	}
	return s.cols - 1
}

// wrap moves to the start of the next row, after a character did not fit.
func (s *Screen) wrap() {
	c := &s.cur
	c.pending = false
	inside := c.x <= s.right
	if inside {
		c.x = s.left
	} else {
		c.x = 0
	}
	if c.y == s.rows-1 && (c.y != s.bottom || !inside) || c.y == s.bottom && !inside {
		return // nothing scrolls outside the margins: the row is overwritten
	}
	if s.fullWidth() {
		r := s.touch(c.y)
		if r.len() < s.cols {
			r.upto(s.cols, s.cols) // blanks at its end were not kept
		}
		r.wrapped = true
	}
	if c.y == s.bottom {
		s.scrollUp(s.top, s.bottom, 1, true)
		return
	}
	c.y++
}

// printASCII prints the leading run of printable ASCII and returns its length.
func (s *Screen) printASCII(b []byte) int {
	c := &s.cur
	n := asciiRun(b)
	if s.singleShift != 0 || c.charset[c.gl] != 'B' || s.modes.has(modeInsert) {
		for _, ch := range b[:n] {
			s.print(rune(ch))
		}
		return n
	}
	b = b[:n]
	s.changed = true
	for len(b) > 0 {
		if c.pending {
			s.wrap()
		}
		edge := s.rightEdge()
		k := min(len(b), edge-c.x+1)
		r := s.row(c.y)
		r.gen = s.next
		if !r.put(c.x, b[:k], &c.pen) {
			s.overwrite(r, c.x, b[:k])
		}
		c.x += k
		s.last.x = c.x - 1
		if c.x > edge {
			c.x = edge
			r.wrapped = false
			if s.modes.has(modeWrap) {
				c.pending = true
			} else if k < len(b) {
				// Each further character takes the last column.
				s.overwrite(r, edge, b[len(b)-1:])
				k = len(b)
			}
		}
		s.last.r = rune(b[k-1])
		b = b[k:]
	}
	s.last.state = stateOther
	return n
}

// overwrite writes ASCII into a row in cell form.
func (s *Screen) overwrite(r *row, x int, b []byte) {
	e := x + len(b)
	c := r.upto(e, s.cols)
	splitWide(c, x)
	if e < len(c) {
		severAt(c, e)
	}
	pen := s.cur.pen
	dst := c[x:e]
	for i, ch := range b {
		dst[i] = cell{pen.lo | uint64(ch), pen.fg, pen.bg}
	}
}

// print shows one rune: in a cell of its own, or as part of the cluster before.
func (s *Screen) print(r rune) {
	if r < utf8.RuneSelf {
		r = s.translate(r)
	} else {
		s.singleShift = 0
	}
	cl, w, state := uint8(1), 1, stateOther
	if r >= 0xa0 {
		cl = classOf(r)
		w = int(cl & classWidth)
		if w == 0 || cl>>classJoinShift != 0 {
			joins, after := s.last.state.next(cl)
			if !s.modes.has(modeGraphemes) {
				joins = false
				if cl>>classJoinShift&classJoinMask == joinRegional {
					w = 1
				}
			}
			if joins || w == 0 {
				s.join(r, cl, after)
				return
			}
			state = after
		}
	}
	s.last.r, s.last.state = r, state
	s.place(r, w)
}

// printRun prints as much of b as goes into the current row one cell after the
// other, ASCII or not, and returns the bytes taken. It stops, perhaps at once,
// at whatever needs more thought: controls, unfinished and ill-formed
// characters, those that join a cluster, the last column before a wide one.
func (s *Screen) printRun(b []byte) int {
	c := &s.cur
	if c.pending || s.singleShift != 0 || s.modes&(modeInsert|modeGraphemes) != modeGraphemes {
		return 0
	}
	ascii := c.charset[c.gl] == 'B'
	edge := s.rightEdge()
	row := s.row(c.y)
	old := row.upto(c.x, s.cols)
	if cap(old) < s.cols {
		row.room(s.cols)
		old = row.c
	}
	cells, pen := old[:s.cols], c.pen
	x, i := c.x, 0
	last := s.last
run:
	for i < len(b) && x <= edge {
		r, n := rune(b[i]), 1
		cl, after := uint8(1), stateOther
		switch {
		case r < utf8.RuneSelf:
			k := min(asciiRun(b[i:]), edge-x+1)
			if k == 0 || !ascii {
				break run
			}
			if i == 0 {
				severAt(old, x)
			}
			dst := cells[x : x+k]
			for j, ch := range b[i : i+k] {
				dst[j] = cell{pen.lo | uint64(ch), pen.fg, pen.bg}
			}
			x += k
			i += k
			last = lastPrinted{rune(b[i-1]), x - 1, stateOther}
			continue
		case r >= 0xe1 && r < 0xed && i+2 < len(b) && b[i+1]&0xc0 == 0x80 && b[i+2]&0xc0 == 0x80:
			r, n = r&0xf<<12|rune(b[i+1]&0x3f)<<6|rune(b[i+2]&0x3f), 3
			cl = classOf(r)
		case r >= 0xc3 && r < 0xe0 && i+1 < len(b) && b[i+1]&0xc0 == 0x80:
			r, n = r&0x1f<<6|rune(b[i+1]&0x3f), 2
			cl = classOf(r)
		default:
			if r, n = utf8.DecodeRune(b[i:]); n == 1 || r < 0xa0 {
				break run
			}
			cl = classOf(r)
		}
		if cl>>classJoinShift&classJoinMask != joinOther {
			var joins bool
			if joins, after = last.state.next(cl); joins {
				break
			}
		}
		w := int(cl & classWidth)
		if w == 0 || x+w > edge+1 {
			break
		}
		if i == 0 {
			severAt(old, x)
		}
		cells[x] = cell{pen.lo | uint64(r), pen.fg, pen.bg}
		last = lastPrinted{r, x, after}
		if w == 2 {
			cells[x].lo |= roleHead
			cells[x+1] = cell{pen.lo | roleTail, pen.fg, pen.bg}
		}
		x += w
		i += n
	}
	if i == 0 {
		return 0
	}
	if x < len(old) {
		if old[x].lo&roleMask == roleTail {
			old[x] = cell{lo: ' ', bg: old[x].bg}
		}
	} else {
		row.c = cells[:x]
	}
	row.gen = s.next
	s.changed = true
	s.last = last
	c.x = x
	if x > edge {
		c.x = edge
		c.pending = s.modes.has(modeWrap)
		row.wrapped = false
	}
	return i
}

// place puts a rune of width w into the next free cell and notes its column. A
// wide one is dropped where there are no two columns.
func (s *Screen) place(r rune, w int) {
	c := &s.cur
	if c.pending {
		s.wrap()
	}
	if w == 2 && c.x == s.rightEdge() && !s.makeRoomForWide() {
		s.last = lastPrinted{}
		return
	}
	edge := s.rightEdge()
	rw := s.touch(c.y)
	if s.modes.has(modeInsert) {
		s.insertCells(c.y, c.x, w, edge)
	}
	x := c.x
	cells := rw.upto(x+w, s.cols)
	splitWide(cells, x)
	lo := c.pen.lo | uint64(r)
	if w == 2 {
		splitWide(cells, x+1)
		cells[x] = cell{lo | roleHead, c.pen.fg, c.pen.bg}
		cells[x+1] = cell{c.pen.lo | roleTail, c.pen.fg, c.pen.bg}
	} else {
		cells[x] = cell{lo, c.pen.fg, c.pen.bg}
	}
	s.last.x = x
	s.advance(w, edge)
}

// advance moves the cursor over what was printed.
func (s *Screen) advance(w, edge int) {
	c := &s.cur
	c.x += w
	if c.x > edge {
		c.x = edge
		c.pending = s.modes.has(modeWrap)
		s.row(c.y).wrapped = false
	}
}

// noRoomForWide reports whether the cursor's line has a single column.
func (s *Screen) noRoomForWide() bool {
	return s.rightEdge() == s.left || s.cols == 1
}

// makeRoomForWide moves the cursor from the last column to where two columns
// are free. It reports false if there is no such place.
func (s *Screen) makeRoomForWide() bool {
	c := &s.cur
	if s.noRoomForWide() {
		return false
	}
	if !s.modes.has(modeWrap) {
		c.x--
		return true
	}
	cells := s.touch(c.y).upto(c.x+1, s.cols)
	splitWide(cells, c.x)
	cells[c.x] = blank
	if s.fullWidth() {
		cells[c.x].lo |= roleSpacer
	}
	s.wrap()
	return c.x < s.rightEdge()
}

// join adds r to the cluster printed last. A combining character with nothing
// before it is dropped, and so is one that makes the cluster wide where there
// are no two columns: a narrow cell that only holds what is wide could be drawn
// again by nobody.
func (s *Screen) join(r rune, cl uint8, after clusterState) {
	if s.last.r == 0 {
		return
	}
	x := s.last.x
	rw := s.row(s.cur.y)
	base := rw.at(x)
	if base.lo&roleMask == roleTail {
		return
	}
	wide := s.modes.has(modeGraphemes) && base.lo&roleMask != roleHead &&
		widen(1, classOf(s.firstRune(base.lo)), cl, r) == 2
	if wide && s.noRoomForWide() {
		return
	}
	bits, ok := s.joinCluster(base.lo, r)
	s.last.r = r
	s.last.state = after
	if !ok {
		return // too long or no space: the mark is lost, the base stays
	}
	s.touch(s.cur.y)
	cells := rw.upto(x+1, s.cols)
	keep := cells[x].lo &^ (runeMask | flagCluster)
	cells[x].lo = keep | bits
	if wide {
		s.widenLast(x)
	}
}

// firstRune is the base character of a cell.
func (s *Screen) firstRune(lo uint64) rune {
	if lo&flagCluster == 0 {
		return rune(lo & runeMask)
	}
	r, _ := utf8.DecodeRuneInString(s.clusters.get(uint32(lo & runeMask)))
	return r
}

// widenLast gives the cluster at x, printed last, a second column.
func (s *Screen) widenLast(x int) {
	c := &s.cur
	edge := s.rightEdge()
	if x >= edge {
		// It stands in the last column: it moves as if it had come wide.
		cells := s.touch(c.y).upto(x+1, s.cols)
		moved := cells[x]
		c.pending, c.x = false, x
		if !s.makeRoomForWide() {
			return
		}
		x = c.x
		cells = s.touch(c.y).upto(x+1, s.cols)
		splitWide(cells, x)
		cells[x] = moved
		s.last.x = x
		c.x = x + 1
		edge = s.rightEdge()
	}
	cells := s.touch(c.y).upto(x+2, s.cols)
	splitWide(cells, x+1)
	cells[x].lo = cells[x].lo&^roleMask | roleHead
	cells[x+1] = cell{cells[x].style().lo | roleTail, cells[x].fg, cells[x].bg}
	if c.x == x+1 {
		s.advance(1, edge)
	}
}

// repeat is REP: the last character again, n times.
func (s *Screen) repeat(r rune, n int) {
	for n = min(n, s.cols*s.rows); n > 0; n-- {
		s.print(r)
	}
}
