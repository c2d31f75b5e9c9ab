package vt

import "strings"

// deviceAttributes is DA1: a VT400 with selective erase, horizontal scrolling,
// colour, rectangles and clipboard writes.
func (s *Screen) deviceAttributes() { s.reply("\x1b[?64;6;21;22;28;52c") }

// version is XTVERSION.
func (s *Screen) version() {
	name := "termio"
	if s.opt.Version != "" {
		name += " " + cleanText([]byte(s.opt.Version), 64)
	}
	s.reply("\x1bP>|%s\x1b\\", name)
}

// cursorReport is the position for CPR, from 1, from the margins in origin
// mode.
func (s *Screen) cursorReport() (line, column int) {
	x, y := s.cur.x, s.cur.y
	if s.cur.origin {
		x, y = x-s.left, y-s.top
	}
	return y + 1, x + 1
}

// deviceStatus is DSR.
func (s *Screen) deviceStatus(n int) {
	switch n {
	case 5:
		s.reply("\x1b[0n")
	case 6:
		l, c := s.cursorReport()
		s.reply("\x1b[%d;%dR", l, c)
	default:
		s.query()
	}
}

// privateDeviceStatus is DSR with a question mark.
func (s *Screen) privateDeviceStatus(n int) {
	switch n {
	case 6: // DECXCPR; the page is always 1
		l, c := s.cursorReport()
		s.reply("\x1b[?%d;%d;1R", l, c)
	case 15: // printer: none
		s.reply("\x1b[?13n")
	case 25: // user-defined keys: locked
		s.reply("\x1b[?21n")
	case 26: // keyboard: North American
		s.reply("\x1b[?27;1;0;0n")
	case 53, 55: // locator: none
		s.reply("\x1b[?50n")
	case 56:
		s.reply("\x1b[?57;0n")
	case 62: // macro space
		s.reply("\x1b[0*{")
	case 63: // memory checksum
		s.reply("\x1bP%d!~0000\x1b\\", s.parser.argz(1, 0))
	case 75: // data integrity
		s.reply("\x1b[?70n")
	case 85: // multiple sessions: not configured
		s.reply("\x1b[?83n")
	case 996: // colour scheme
		s.reply("\x1b[?997;%dn", s.colors.scheme())
	default:
		s.query()
	}
}

// terminalParameters is DECREQTPARM.
func (s *Screen) terminalParameters(n int) {
	if n <= 1 {
		s.reply("\x1b[%d;1;1;128;128;1;0x", n+2)
	}
}

// windowOp is XTWINOPS. Reports are answered; a program can't move, resize or
// read the title of windows it does not have.
func (s *Screen) windowOp(n int) {
	switch n {
	case 11: // not iconified
		s.reply("\x1b[1t")
	case 13:
		s.reply("\x1b[3;0;0t")
	case 14:
		s.reply("\x1b[4;%d;%dt", s.rows*s.cellH, s.cols*s.cellW)
	case 15:
		s.reply("\x1b[5;%d;%dt", s.rows*s.cellH, s.cols*s.cellW)
	case 16:
		s.reply("\x1b[6;%d;%dt", s.cellH, s.cellW)
	case 18:
		s.reply("\x1b[8;%d;%dt", s.rows, s.cols)
	case 19:
		s.reply("\x1b[9;%d;%dt", s.rows, s.cols)
	case 20:
		s.reply("\x1b]L\x1b\\")
	case 21:
		s.reply("\x1b]l\x1b\\")
	case 22:
		s.query()
		s.titles.push()
	case 23:
		s.query()
		s.popTitle(s.parser.argz(1, 0))
	}
}

// reportSize is the in-band resize report of mode 2048.
func (s *Screen) reportSize() {
	s.send("\x1b[48;%d;%d;%d;%dt", s.rows, s.cols, s.rows*s.cellH, s.cols*s.cellW)
}

// setKeyModifiers is XTMODKEYS; only modifyOtherKeys is kept.
func (s *Screen) setKeyModifiers() {
	p := &s.parser
	if p.np == 0 || p.argz(0, 0) == 4 {
		s.otherKeys = uint8(min(p.argz(1, 0), 3))
	}
}

// queryKeyModifiers is XTQMODKEYS.
func (s *Screen) queryKeyModifiers(n int) {
	if n == 4 {
		s.reply("\x1b[>4;%dm", s.otherKeys)
	}
}

// dcs runs a device control string: the queries DECRQSS and XTGETTCAP. Others
// do nothing.
func (s *Screen) dcs(b []byte) {
	d := string(b)
	switch {
	case strings.HasPrefix(d, "$q"):
		s.requestSetting(d[2:])
	case strings.HasPrefix(d, "+q"):
		s.capabilities(d[2:])
	case strings.HasPrefix(d, "+Q"): // resources of xterm: none here
		s.query()
	}
}

// requestSetting is DECRQSS.
func (s *Screen) requestSetting(what string) {
	switch what {
	case "m":
		s.reply("\x1bP1$r0%sm\x1b\\", s.appendSGR(nil, s.cur.pen))
	case "r":
		s.reply("\x1bP1$r%d;%dr\x1b\\", s.top+1, s.bottom+1)
	case "s":
		s.reply("\x1bP1$r%d;%ds\x1b\\", s.left+1, s.right+1)
	case " q":
		s.reply("\x1bP1$r%d q\x1b\\", s.cursorStyle)
	case "\"q":
		s.reply("\x1bP1$r%d\"q\x1b\\", s.cur.pen.lo&flagProtected/flagProtected)
	case "\"p":
		s.reply("\x1bP1$r64;1\"p\x1b\\")
	case "*x":
		s.reply("\x1bP1$r%d*x\x1b\\", 1+s.modes&modeRectExtent/modeRectExtent)
	case "t", "*|":
		s.reply("\x1bP1$r%d%s\x1b\\", s.rows, what)
	case "$|":
		s.reply("\x1bP1$r%d$|\x1b\\", s.cols)
	default:
		s.reply("\x1bP0$r\x1b\\")
	}
}

// capabilities is XTGETTCAP: names and values in hexadecimal.
func (s *Screen) capabilities(names string) {
	for name := range strings.SplitSeq(names, ";") {
		value, ok := "", true
		switch strings.ToLower(name) {
		case "544e", "6e616d65": // TN, name
			value = "787465726d2d323536636f6c6f72" // xterm-256color
		case "436f", "636f6c6f7273": // Co, colors
			value = "323536" // 256
		case "524742": // RGB
			value = "38" // 8
		default:
			ok = false
		}
		if !ok {
			s.reply("\x1bP0+r\x1b\\")
			continue
		}
		s.reply("\x1bP1+r%s=%s\x1b\\", name, value)
	}
}

// apc runs an application program command. The only ones that are looked at are those
// of kitty's graphics, which stay without an answer: no graphics. A terminal that had
// some would answer each of them.
func (s *Screen) apc(b []byte) {
	if len(b) > 0 && b[0] == 'G' {
		s.query()
	}
}
