package vt

// rect is a rectangle of cells, inclusive.
type rect struct{ top, left, bottom, right int }

// rectArg reads four parameters from i on, in the order of the rectangle
// controls: top, left, bottom, right. In origin mode they count from the
// margins. It reports false for an empty rectangle.
func (s *Screen) rectArg(i int) (rect, bool) {
	p := &s.parser
	r := rect{
		top: s.line(p.arg(i, 1) - 1), left: s.column(p.arg(i+1, 1) - 1),
		bottom: s.line(p.arg(i+2, s.rows) - 1), right: s.column(p.arg(i+3, s.cols) - 1),
	}
	r.bottom, r.right = min(r.bottom, s.rows-1), min(r.right, s.cols-1)
	return r, r.top <= r.bottom && r.left <= r.right
}

// rectangle runs the controls of the form CSI … $ final.
func (s *Screen) rectangle(final byte) {
	p := &s.parser
	switch final {
	case 'z', '{', 'v', 'r', 't':
		r, ok := s.rectArg(0)
		if !ok {
			return
		}
		s.cur.pending = false
		switch final {
		case 'z': // DECERA
			s.eraseRect(r, false)
		case '{': // DECSERA
			s.eraseRect(r, true)
		case 'v': // DECCRA
			s.copyRect(r, s.line(p.arg(5, 1)-1), s.column(p.arg(6, 1)-1))
		case 'r', 't': // DECCARA, DECRARA
			s.changeRect(r, final == 't')
		}
	case 'x': // DECFRA
		ch := p.argz(0, 0)
		if r, ok := s.rectArg(1); ok && (ch >= 0x20 && ch <= 0x7e || ch >= 0xa0 && ch <= 0xff) {
			s.cur.pending = false
			pen := s.cur.pen
			s.fillRect(r, cell{pen.lo | uint64(ch), pen.fg, pen.bg})
		}
	}
}

func (s *Screen) eraseRect(r rect, selective bool) {
	if !selective {
		s.fillRect(r, s.erased())
		return
	}
	for y := r.top; y <= r.bottom; y++ {
		wrapped := s.row(y).wrapped
		s.erase(y, r.left, r.right, true)
		s.row(y).wrapped = wrapped && s.row(y).len() == s.cols
	}
}

func (s *Screen) fillRect(r rect, fill cell) {
	for y := r.top; y <= r.bottom; y++ {
		c := s.whole(y)
		severAt(c, r.left)
		severAt(c, r.right+1)
		for x := r.left; x <= r.right; x++ {
			c[x] = fill
		}
	}
}

// copyRect copies r to top, left; the two may overlap. What does not fit is
// cut off.
func (s *Screen) copyRect(r rect, top, left int) {
	w := min(r.right-r.left+1, s.cols-left)
	h := min(r.bottom-r.top+1, s.rows-top)
	if w <= 0 || h <= 0 {
		return
	}
	buf := make([]cell, 0, w*h)
	for y := range h {
		src := s.row(r.top + y)
		at := len(buf)
		for x := range w {
			buf = append(buf, src.at(r.left+x))
		}
		// A wide character cut by the edge of the source is half a character.
		line := buf[at:]
		if line[0].lo&roleMask == roleTail {
			line[0] = cell{lo: ' ', bg: line[0].bg}
		}
		if line[w-1].lo&roleMask == roleHead {
			line[w-1] = cell{lo: ' ', bg: line[w-1].bg}
		}
	}
	for y := range h {
		c := s.whole(top + y)
		severAt(c, left)
		severAt(c, left+w)
		copy(c[left:left+w], buf[y*w:])
	}
}

// changeRect sets (DECCARA) or flips (DECRARA) attributes: bold, underline,
// blink and inverse. DECSACE says whether the area is the rectangle or the
// stream of characters between its corners.
func (s *Screen) changeRect(r rect, flip bool) {
	for y := r.top; y <= r.bottom; y++ {
		from, to := r.left, r.right
		if !s.modes.has(modeRectExtent) {
			if y > r.top {
				from = 0
			}
			if y < r.bottom {
				to = s.cols - 1
			}
		}
		c := s.whole(y)
		for x := from; x <= to; x++ {
			// A wide character changes as one, by its head.
			switch c[x].lo & roleMask {
			case roleTail:
				continue
			case roleHead:
				c[x].lo = s.changeAttrs(c[x].lo, flip)
				c[x+1].lo = c[x].style().lo | roleTail
			default:
				c[x].lo = s.changeAttrs(c[x].lo, flip)
			}
		}
	}
}

func (s *Screen) changeAttrs(lo uint64, flip bool) uint64 {
	const single = uint64(SingleUnderline) << ulShift
	p := &s.parser
	apply := func(bit uint64, on bool) {
		switch {
		case flip && on:
			if lo&bit != 0 {
				lo &^= bit
			} else {
				lo |= bit
			}
		case on:
			lo |= bit
		case !flip:
			lo &^= bit
		}
	}
	underline := func(on bool) {
		switch has := lo&ulMask != 0; {
		case flip && on && has, !on && !flip:
			lo &^= ulMask
		case on && !has:
			lo |= single
		}
	}
	for i := 4; i < max(p.np, 5); i++ {
		switch v := p.argz(i, 0); v {
		case 0:
			if flip {
				apply(attrBit(Bold), true)
				underline(true)
				apply(attrBit(Blink), true)
				apply(attrBit(Inverse), true)
				continue
			}
			lo &^= attrBit(Bold) | attrBit(Blink) | attrBit(Inverse) | ulMask
		case 1, 22:
			apply(attrBit(Bold), v == 1)
		case 4, 24:
			underline(v == 4)
		case 5, 25:
			apply(attrBit(Blink), v == 5)
		case 7, 27:
			apply(attrBit(Inverse), v == 7)
		}
	}
	return lo
}

func attrBit(a Attr) uint64 { return uint64(a) << attrShift }
