package vt

var asciiSets = [4]byte{'B', 'B', 'B', 'B'}

// control runs a C0 control.
func (s *Screen) control(c byte) {
	switch c {
	case 0x05: // ENQ: an empty answerback
		if s.parser.state == inGround {
			s.query()
		}
	case 0x07:
		s.bell()
		return
	case 0x08:
		s.last = lastPrinted{}
		s.backspace(1)
	case 0x09:
		s.last = lastPrinted{}
		s.tab(1)
	case 0x0a, 0x0b, 0x0c:
		s.lineFeed()
	case 0x0d:
		s.last = lastPrinted{}
		s.carriageReturn()
	case 0x0e:
		s.cur.gl = 1
	case 0x0f:
		s.cur.gl = 0
	}
}

func (s *Screen) lineFeed() {
	s.last = lastPrinted{}
	s.cur.pending = false
	s.index()
	if s.modes.has(modeNewline) {
		s.carriageReturn()
	}
}

func (s *Screen) carriageReturn() {
	c := &s.cur
	c.pending = false
	if c.x >= s.left {
		c.x = s.left
	} else {
		c.x = 0
	}
}

// escape runs an escape sequence without parameters.
func (s *Screen) escape(c byte) {
	p := &s.parser
	s.last = lastPrinted{}
	if p.inter != 0 {
		s.escapeInter(c)
		return
	}
	switch c {
	case '6': // DECBI
		s.backIndex()
	case '7': // DECSC
		s.saveCursor()
	case '8': // DECRC
		s.restoreCursor()
	case '9': // DECFI
		s.forwardIndex()
	case 'D': // IND
		s.cur.pending = false
		s.index()
	case 'E': // NEL
		s.carriageReturn()
		s.index()
	case 'H': // HTS
		s.setTab(s.cur.x, true)
	case 'M': // RI
		s.cur.pending = false
		s.reverseIndex()
	case 'N': // SS2
		s.singleShift = 2
	case 'O': // SS3
		s.singleShift = 3
	case 'c': // RIS
		s.history.forget()
		s.reset()
		s.emit(Event{Kind: EventReset})
	case 'n': // LS2
		s.cur.gl = 2
	case 'o': // LS3
		s.cur.gl = 3
	case '=': // DECKPAM
		s.setMode(modeKeypad, true)
	case '>': // DECKPNM
		s.setMode(modeKeypad, false)
	case 'Z': // DECID
		s.deviceAttributes()
	}
}

func (s *Screen) escapeInter(c byte) {
	p := &s.parser
	if p.inter2 != 0 {
		return
	}
	switch p.inter {
	case '(', ')', '*', '+': // SCS
		if !knownCharset(c) {
			c = 'B'
		}
		s.cur.charset[p.inter-'('] = c
	case '#':
		if c == '8' {
			s.alignmentTest()
		}
	}
}

// alignmentTest is DECALN: the screen full of E.
func (s *Screen) alignmentTest() {
	for y := range s.rows {
		r := s.touch(y)
		r.fill(cell{lo: 'E'}, s.cols)
	}
	s.resetMargins()
	s.cur.origin = false
	s.moveTo(0, 0)
}

// saveCursor is DECSC. A pending wrap is not saved: xterm.js and the recordings
// of xterm that it is tested with print over the last column after DECRC.
func (s *Screen) saveCursor() {
	s.g.saved = s.cur
	s.g.saved.set, s.g.saved.pending = true, false
}

// restoreCursor is DECRC. Without a saved cursor it goes home, as xterm does.
func (s *Screen) restoreCursor() {
	v := s.g.saved
	if !v.set {
		v = cursor{charset: asciiSets}
	}
	v.set = false
	s.cur = v
	c := &s.cur
	c.x, c.y = min(c.x, s.cols-1), min(c.y, s.rows-1)
	if c.origin {
		c.x, c.y = clamp(c.x, s.left, s.right), clamp(c.y, s.top, s.bottom)
	}
}

// checkPending ends a pending wrap where no character ends in the cursor's
// column any more. The line under one that stays has not gone on, as behind a
// character just printed: the row may be another that was moved there. The other
// places that keep a pending wrap can't get there.
func (s *Screen) checkPending() {
	c := &s.cur
	c.pending = c.pending && c.x == s.rightEdge() && s.modes.has(modeWrap) &&
		s.row(c.y).at(c.x).lo&roleMask != roleHead
	if c.pending && s.row(c.y).wrapped {
		s.touch(c.y).wrapped = false
	}
}
