package vt

// csi runs a control sequence with its parameters in s.parser.
func (s *Screen) csi(final byte) {
	p := &s.parser
	if final == 'm' && p.priv == 0 && p.inter == 0 {
		s.sgr()
		return
	}
	last := s.last.r
	s.last = lastPrinted{}
	switch {
	case p.inter == 0 && p.priv == 0:
		s.csiPlain(final, last)
	case p.inter == 0:
		s.csiPrivate(final)
	default:
		s.csiInter(final)
	}
}

func (s *Screen) csiPlain(final byte, last rune) {
	p := &s.parser
	n := p.arg(0, 1)
	switch final {
	case '@':
		s.insertChars(n)
	case 'A':
		s.up(n)
	case 'B':
		s.down(n)
	case 'C', 'a':
		s.forward(n)
	case 'D', 'j':
		s.backspace(n)
	case 'E':
		s.down(n)
		s.carriageReturn()
	case 'F':
		s.up(n)
		s.carriageReturn()
	case 'G', '`':
		s.setX(s.column(n - 1))
	case 'H', 'f':
		s.moveTo(p.arg(1, 1)-1, n-1)
	case 'I':
		s.tab(min(n, s.cols))
	case 'J':
		s.eraseDisplay(p.argz(0, 0), false)
	case 'K':
		s.eraseLine(p.argz(0, 0), false)
	case 'L':
		s.insertLines(n)
	case 'M':
		s.deleteLines(n)
	case 'P':
		s.deleteChars(n)
	case 'S':
		s.scrollUp(s.top, s.bottom, n, true)
		s.checkPending()
	case 'T':
		if p.np <= 1 { // five parameters start mouse highlighting
			s.scrollDown(s.top, s.bottom, n)
			s.checkPending()
		}
	case 'X':
		s.eraseChars(n)
	case 'Z':
		s.backTab(min(n, s.cols))
	case '^':
		s.scrollDown(s.top, s.bottom, n)
		s.checkPending()
	case 'b':
		if last != 0 {
			s.repeat(last, n)
			s.last = lastPrinted{}
		}
	case 'd':
		s.setY(s.line(n - 1))
	case 'e':
		s.lineRelative(n)
	case 'g':
		s.clearTabs(p.argz(0, 0))
	case 'h', 'l':
		for i := range p.np {
			if m, ok := ansiMode(p.argz(i, 0)); ok {
				s.setMode(m, final == 'h')
			}
		}
	case 'r':
		s.setScrollRegion(p.arg(0, 1)-1, p.arg(1, s.rows)-1)
	case 's':
		if s.modes.has(modeSideMargins) {
			s.setSideMargins(p.arg(0, 1)-1, p.arg(1, s.cols)-1)
		} else if p.np == 0 {
			s.saveCursor()
		}
	case 'u':
		s.restoreCursor()
	case 'c':
		if p.argz(0, 0) == 0 {
			s.deviceAttributes()
		}
	case 'n':
		s.deviceStatus(p.argz(0, 0))
	case 't':
		s.windowOp(p.argz(0, 0))
	case 'x':
		s.terminalParameters(p.argz(0, 0))
	}
}

// setKitty sets the flags of the kitty keyboard protocol; no stack is moved.
const setKitty = "\x1b[=%d;1u"

func (s *Screen) csiPrivate(final byte) {
	p := &s.parser
	switch p.priv {
	case '?':
		switch final {
		case 'J':
			s.eraseDisplay(p.argz(0, 0), true)
		case 'K':
			s.eraseLine(p.argz(0, 0), true)
		case 'h', 'l':
			s.setPrivateModes(final == 'h')
		case 's':
			s.saveModes()
		case 'r':
			s.restoreModes()
		case 'n':
			s.privateDeviceStatus(p.argz(0, 0))
		case 'u':
			s.reply("\x1b[?%du", s.g.kitty.flags())
		case 'm':
			s.queryKeyModifiers(p.argz(0, 0))
		case 'S': // XTSMGRAPHICS: no graphics
			s.reply("\x1b[?%d;3;0S", p.argz(0, 0))
		case 'W':
			if p.argz(0, 0) == 5 { // DECST8C
				s.tabs = nil
			}
		}
	case '>':
		switch final {
		case 'c':
			s.reply("\x1b[>1;10;0c")
		case 'q':
			s.version()
		case 'u':
			s.g.kitty.push(p.argz(0, 0))
			s.elsewhere(setKitty, s.g.kitty.flags())
		case 'm':
			s.setKeyModifiers()
		case 'n':
			if p.argz(0, 4) == 4 {
				s.otherKeys = 0
			}
		}
	case '<':
		if final == 'u' {
			s.g.kitty.pop(p.arg(0, 1))
			s.elsewhere(setKitty, s.g.kitty.flags())
		}
	case '=':
		switch final {
		case 'c':
			s.reply("\x1bP!|00000000\x1b\\")
		case 'u':
			s.g.kitty.set(p.argz(0, 0), p.argz(1, 1))
		}
	}
}

func (s *Screen) csiInter(final byte) {
	p := &s.parser
	n := p.arg(0, 1)
	if p.priv == '?' {
		if p.inter == '$' && final == 'p' {
			s.reportPrivateMode(p.argz(0, 0))
		}
		return
	}
	if p.priv != 0 {
		return
	}
	switch p.inter {
	case '!':
		if final == 'p' {
			s.softReset()
		}
	case ' ':
		switch final {
		case '@':
			s.scrollLeft(n)
		case 'A':
			s.scrollRight(n)
		case 'q':
			if v := p.argz(0, 0); v <= 6 {
				s.cursorStyle = uint8(v)
				s.changed = true
			}
		}
	case '\'':
		switch final {
		case '}':
			s.insertColumns(s.cur.x, n)
		case '~':
			s.deleteColumns(s.cur.x, n)
		case '|': // DECRQLP: no locator
			s.query()
		}
	case '"':
		switch final {
		case 'q': // DECSCA
			s.cur.pen.lo &^= flagProtected
			if p.argz(0, 0) == 1 {
				s.cur.pen.lo |= flagProtected
			}
		case 'v': // DECRQDE: the displayed extent
			s.query()
		}
	case '$':
		switch final {
		case 'p':
			s.reportMode(p.argz(0, 0))
		case 'w', 'u': // DECRQPSR, DECRQTSR
			s.query()
		default:
			s.rectangle(final)
		}
	case '*':
		switch final {
		case 'x': // DECSACE
			s.setMode(modeRectExtent, p.argz(0, 0) == 2)
		case 'y': // DECRQCRA: a checksum of what is shown
			s.query()
		}
	case '#':
		if final == 'R' || final == '|' { // XTREPORTCOLORS, XTREPORTSGR
			s.query()
		}
	case '&':
		if final == 'u' { // DECRQUPSS
			s.query()
		}
	}
}

// softReset is DECSTR.
func (s *Screen) softReset() {
	s.setMode(modeInsert, false)
	s.setMode(modeSideMargins, false)
	s.setMode(modeCursorKeys, false)
	s.setMode(modeKeypad, false)
	s.setMode(modeReverseWrap, false)
	s.setMode(modeRectExtent, false)
	s.setMode(modeWrap, true)
	s.setMode(modeCursor, true)
	s.resetMargins()
	s.cur.origin, s.cur.pending = false, false
	s.cur.pen = cell{}
	s.cur.charset, s.cur.gl = asciiSets, 0
	s.singleShift = 0
	s.g.saved = cursor{}
	s.g.kitty = kittyStack{}
	s.otherKeys = 0
}
