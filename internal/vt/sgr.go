package vt

import "strconv"

// sgr is SGR: it changes the pen.
func (s *Screen) sgr() {
	p, pen := &s.parser, &s.cur.pen
	if p.np == 0 {
		p.np, p.par[0] = 1, 0
	}
	for i := 0; i < p.np; i++ {
		v := max(int(p.par[i]), 0)
		switch {
		case v == 0:
			*pen = cell{lo: pen.lo&flagProtected | s.linkOnly(pen.lo)}
		case v >= 30 && v <= 37:
			pen.fg = PaletteColor(uint8(v - 30))
		case v == 38:
			s.sgrColor(&i, &pen.fg)
		case v == 39:
			pen.fg = 0
		case v >= 40 && v <= 47:
			pen.bg = PaletteColor(uint8(v - 40))
		case v == 48:
			s.sgrColor(&i, &pen.bg)
		case v == 49:
			pen.bg = 0
		case v >= 90 && v <= 97:
			pen.fg = PaletteColor(uint8(v - 90 + 8))
		case v >= 100 && v <= 107:
			pen.bg = PaletteColor(uint8(v - 100 + 8))
		case v == 4:
			u := SingleUnderline
			if p.isSub(i + 1) {
				i++
				if u = Underline(p.argz(i, 0)); u > DashedUnderline {
					u = SingleUnderline
				}
			}
			pen.lo = pen.lo&^ulMask | uint64(u)<<ulShift
		case v == 58, v == 59:
			e := s.ext(pen.lo)
			e.ul = 0
			if v == 58 {
				s.sgrColor(&i, &e.ul)
			}
			pen.lo = pen.lo&^extMask | s.internExt(e)
		default:
			pen.lo = sgrAttr(pen.lo, v)
		}
		for p.isSub(i + 1) {
			i++ // sub-parameters that nothing above took
		}
	}
}

// linkOnly is the ext of lo without its underline colour.
func (s *Screen) linkOnly(lo uint64) uint64 {
	if lo&extMask == 0 {
		return 0
	}
	e := s.ext(lo)
	if e.ul == 0 {
		return lo & extMask
	}
	e.ul = 0
	return s.internExt(e)
}

func sgrAttr(lo uint64, v int) uint64 {
	switch v {
	case 1:
		return lo | attrBit(Bold)
	case 2:
		return lo | attrBit(Dim)
	case 3:
		return lo | attrBit(Italic)
	case 5, 6:
		return lo | attrBit(Blink)
	case 7:
		return lo | attrBit(Inverse)
	case 8:
		return lo | attrBit(Hidden)
	case 9:
		return lo | attrBit(Strike)
	case 21:
		return lo&^ulMask | uint64(DoubleUnderline)<<ulShift
	case 22:
		return lo &^ (attrBit(Bold) | attrBit(Dim))
	case 23:
		return lo &^ attrBit(Italic)
	case 24:
		return lo &^ ulMask
	case 25:
		return lo &^ attrBit(Blink)
	case 27:
		return lo &^ attrBit(Inverse)
	case 28:
		return lo &^ attrBit(Hidden)
	case 29:
		return lo &^ attrBit(Strike)
	case 53:
		return lo | attrBit(Overline)
	case 55:
		return lo &^ attrBit(Overline)
	}
	return lo
}

// sgrColor reads the colour after parameter *i, in the semicolon form of xterm
// or the colon form of ISO 8613-6, and moves *i behind it. A malformed one
// changes nothing.
func (s *Screen) sgrColor(i *int, dst *Color) {
	p, k := &s.parser, *i
	if p.isSub(k + 1) {
		end := k + 1
		for p.isSub(end) {
			end++
		}
		*i = end - 1
		switch p.argz(k+1, 0) {
		case 5:
			if end > k+2 {
				*dst = PaletteColor(uint8(p.argz(k+2, 0)))
			}
		case 2:
			at := k + 2
			if end-at >= 4 {
				at++ // the colour space
			}
			if at+2 < end {
				*dst = s.rgbArg(at)
			}
		}
		return
	}
	switch p.argz(k+1, 0) {
	case 5:
		*i = k + 2
		if k+2 < p.np {
			*dst = PaletteColor(uint8(p.argz(k+2, 0)))
		}
	case 2:
		*i = k + 4
		if k+4 < p.np {
			*dst = s.rgbArg(k + 2)
		}
	default:
		*i = p.np
	}
}

func (s *Screen) rgbArg(i int) Color {
	p := &s.parser
	return RGBColor(uint8(p.argz(i, 0)), uint8(p.argz(i+1, 0)), uint8(p.argz(i+2, 0)))
}

// appendSGR appends the parameters that set st from nothing, without link and
// protection, each with a semicolon in front: ";1;38;5;9".
func (s *Screen) appendSGR(b []byte, st cell) []byte {
	for i, code := range [...]string{"1", "2", "3", "5", "7", "8", "9", "53"} {
		if st.lo&(1<<(attrShift+i)) != 0 {
			b = append(append(b, ';'), code...)
		}
	}
	switch u := Underline(st.lo & ulMask >> ulShift); u {
	case NoUnderline:
	case SingleUnderline:
		b = append(b, ";4"...)
	default:
		b = append(b, ";4:"...)
		b = strconv.AppendUint(b, uint64(u), 10)
	}
	b = appendColor(b, st.fg, 30)
	b = appendColor(b, st.bg, 40)
	return appendColor(b, s.ext(st.lo).ul, 50)
}

// appendColor appends ";31", ";38;5;n" or ";38;2;r;g;b"; base is 30, 40 or,
// for underlines, 50, which only have the long forms, with colons.
func appendColor(b []byte, c Color, base int) []byte {
	num := func(sep byte, v int) { b = strconv.AppendInt(append(b, sep), int64(v), 10) }
	sep := byte(';')
	if base == 50 {
		sep = ':'
	}
	if i, ok := c.Palette(); ok {
		switch {
		case base == 50 || i >= 16:
			num(';', base+8)
			num(sep, 5)
			num(sep, int(i))
		case i < 8:
			num(';', base+int(i))
		default:
			num(';', base+60+int(i)-8)
		}
		return b
	}
	if r, g, bl, ok := c.RGB(); ok {
		num(';', base+8)
		num(sep, 2)
		if base == 50 {
			b = append(b, ':') // an empty colour space
		}
		num(sep, int(r))
		num(sep, int(g))
		num(sep, int(bl))
	}
	return b
}
