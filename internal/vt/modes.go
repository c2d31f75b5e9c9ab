package vt

import "strconv"

// modeSet holds every mode as a bit, so that state is copied and compared as
// one word.
type modeSet uint64

func (m modeSet) has(bit modeSet) bool { return m&bit != 0 }

// The bits stand in the binary form: new ones go to the end.
const (
	modeInsert  modeSet = 1 << iota // IRM
	modeNewline                     // LNM
	modeCursorKeys
	modeKeypad
	modeReverseScreen
	modeWrap
	modeAutorepeat
	modeCursorBlink
	modeCursor
	modeAllow132
	modeReverseWrap
	modeBackarrow
	modeSideMargins
	modeMouseX10
	modeMouseNormal
	modeMouseButton
	modeMouseAny
	modeFocus
	modeMouseUTF8
	modeMouseSGR
	modeMouseURXVT
	modeMousePixels
	modeAltScroll
	modePaste
	modeSync
	modeGraphemes
	modeColorScheme
	modeResizeReports
	modeRectExtent // DECSACE 2; no DECRQM number
	mode132        // DECCOLM; the size is the host's, only the mode is kept
	modeMetaEscape
	modeCount = iota
)

const (
	defaultModes = modeWrap | modeAutorepeat | modeCursor | modeGraphemes | modeMetaEscape

	mouseTracking = modeMouseX10 | modeMouseNormal | modeMouseButton | modeMouseAny
	mouseEncoding = modeMouseUTF8 | modeMouseSGR | modeMouseURXVT | modeMousePixels
	// seenModes change the picture or the cursor.
	seenModes = modeReverseScreen | modeCursorBlink | modeCursor
)

// privateModes are the DEC and xterm modes that are one bit. Origin mode and
// the alternate screen live elsewhere.
var privateModes = [...]struct {
	number int
	bit    modeSet
}{
	{1, modeCursorKeys},
	{3, mode132},
	{5, modeReverseScreen},
	{7, modeWrap},
	{8, modeAutorepeat},
	{9, modeMouseX10},
	{12, modeCursorBlink},
	{25, modeCursor},
	{40, modeAllow132},
	{45, modeReverseWrap},
	{66, modeKeypad},
	{67, modeBackarrow},
	{69, modeSideMargins},
	{1000, modeMouseNormal},
	{1002, modeMouseButton},
	{1003, modeMouseAny},
	{1004, modeFocus},
	{1005, modeMouseUTF8},
	{1006, modeMouseSGR},
	{1007, modeAltScroll},
	{1015, modeMouseURXVT},
	{1016, modeMousePixels},
	{1036, modeMetaEscape},
	{2004, modePaste},
	{2026, modeSync},
	{2027, modeGraphemes},
	{2031, modeColorScheme},
	{2048, modeResizeReports},
}

func privateMode(n int) (modeSet, bool) {
	for _, m := range privateModes {
		if m.number == n {
			return m.bit, true
		}
	}
	return 0, false
}

func ansiMode(n int) (modeSet, bool) {
	switch n {
	case 4:
		return modeInsert, true
	case 20:
		return modeNewline, true
	}
	return 0, false
}

// setMode sets one bit with what goes along with it.
func (s *Screen) setMode(m modeSet, on bool) {
	before := s.modes
	if on {
		switch {
		case m&mouseTracking != 0:
			s.modes &^= mouseTracking // xterm keeps one
		case m&mouseEncoding != 0:
			s.modes &^= mouseEncoding
		}
		s.modes |= m
	} else {
		switch {
		case m&mouseTracking != 0:
			m = mouseTracking
		case m&mouseEncoding != 0:
			m &= s.modes
		}
		s.modes &^= m
	}
	switch m {
	case modeWrap:
		if !on {
			s.cur.pending = false
		}
	case modeSideMargins:
		if !on {
			s.left, s.right = 0, s.cols-1
			s.checkPending()
		}
	case mode132:
		if before.has(modeAllow132) {
			s.columnMode()
		}
	}
	if (before^s.modes)&seenModes != 0 {
		s.changed = true
	}
}

// columnMode is what DECCOLM does beside changing the width, which is the
// host's: it clears the screen, resets the margins and goes home.
func (s *Screen) columnMode() {
	s.resetMargins()
	s.cur.origin = false
	s.eraseDisplay(2, false)
	s.moveTo(0, 0)
}

// setPrivateModes is DECSET and DECRST.
func (s *Screen) setPrivateModes(on bool) {
	p := &s.parser
	for i := range p.np {
		n := p.argz(i, 0)
		switch n {
		case 6:
			s.cur.origin = on
			s.moveTo(0, 0)
		case 47, 1047, 1049:
			s.switchScreen(n, on)
		case 1048:
			if on {
				s.saveCursor()
			} else {
				s.restoreCursor()
			}
		case 2048:
			s.setMode(modeResizeReports, on)
			if on {
				s.elsewhere("%s", p.withoutMode(n))
				s.reportSize()
			}
		default:
			if m, ok := privateMode(n); ok {
				s.setMode(m, on)
			}
		}
	}
}

// withoutMode is the DECSET being run without one of its modes; "" is none left.
func (p *parser) withoutMode(mode int) string {
	var rest []byte
	for i := range p.np {
		if n := p.argz(i, 0); n != mode {
			rest = strconv.AppendInt(append(rest, ';'), int64(n), 10)
		}
	}
	if rest == nil {
		return ""
	}
	return "\x1b[?" + string(rest[1:]) + "h"
}

// switchScreen is DECSET 47, 1047 and 1049: the screens share the cursor; 1049
// saves and clears, 1047 clears when it leaves.
func (s *Screen) switchScreen(n int, alt bool) {
	if alt == s.AltScreen() {
		switch {
		case n == 1049 && !alt:
			s.restoreCursor()
		case n == 1049:
			s.saveCursor()
			s.eraseAll()
		}
		return
	}
	if n == 1049 && alt {
		s.saveCursor()
	}
	g := s.g
	g.x, g.y, g.pending = s.cur.x, s.cur.y, s.cur.pending
	if alt {
		s.g = &s.alt
		if s.alt.rows == nil || n == 1049 {
			s.alt.rows, s.alt.top = make([]row, s.rows), 0
			if n == 1049 {
				s.eraseAll()
			}
		}
	} else {
		s.g = &s.main
		if n != 47 {
			s.alt.rows, s.alt.top = nil, 0
		}
		if n == 1049 {
			s.restoreCursor()
		}
	}
	s.checkPending()
	s.stampAll()
}

// eraseAll clears the screen shown in the pen's background.
func (s *Screen) eraseAll() {
	for y := range s.rows {
		s.touch(y).fill(s.erased(), s.cols)
	}
}

// isSet is the value of a private mode, and whether it is kept at all.
func (s *Screen) isSet(n int) (on, known bool) {
	switch n {
	case 6:
		return s.cur.origin, true
	case 47, 1047, 1049:
		return s.AltScreen(), true
	case 1048:
		return s.g.saved.set, true
	}
	m, ok := privateMode(n)
	return s.modes.has(m), ok
}

// reportPrivateMode is DECRQM for private modes.
func (s *Screen) reportPrivateMode(n int) {
	s.reply("\x1b[?%d;%d$y", n, modeReport(s.isSet(n)))
}

// reportMode is DECRQM for ANSI modes.
func (s *Screen) reportMode(n int) {
	m, ok := ansiMode(n)
	s.reply("\x1b[%d;%d$y", n, modeReport(s.modes.has(m), ok))
}

func modeReport(on, known bool) int {
	switch {
	case !known:
		return 0
	case on:
		return 1
	}
	return 2
}

// saveModes is XTSAVE, restoreModes XTRESTORE, for the modes that are one bit.
func (s *Screen) saveModes() {
	s.query()
	p := &s.parser
	for i := range p.np {
		if m, ok := privateMode(p.argz(i, 0)); ok {
			s.savedModes = s.savedModes&^m | s.modes&m
		}
	}
}

func (s *Screen) restoreModes() {
	s.query()
	p := &s.parser
	for i := range p.np {
		m, ok := privateMode(p.argz(i, 0))
		if !ok || s.modes&m == s.savedModes&m {
			continue
		}
		on := s.savedModes.has(m)
		s.setMode(m, on)
		if m != modeResizeReports {
			s.elsewhere("\x1b[?%d%c", p.argz(i, 0), setOrReset(on))
		}
	}
}

// setOrReset is the final byte of DECSET or DECRST.
func setOrReset(on bool) byte {
	if on {
		return 'h'
	}
	return 'l'
}

// MouseMode is which mouse events a program wants.
type MouseMode uint8

// The mouse modes, by their DECSET number.
const (
	MouseOff    MouseMode = iota
	MouseX10              // 9: presses only
	MouseNormal           // 1000: presses and releases
	MouseButton           // 1002: and motion while a button is down
	MouseAny              // 1003: and all motion
)

// MouseEncoding is how mouse events are written.
type MouseEncoding uint8

// The mouse encodings, by their DECSET number.
const (
	MouseLegacy MouseEncoding = iota
	MouseUTF8                 // 1005
	MouseSGR                  // 1006
	MouseURXVT                // 1015
	MousePixels               // 1016
)

// Modes is the state that decides how a client has to behave.
type Modes struct {
	AltScreen      bool
	CursorKeys     bool // DECCKM: application cursor keys
	Keypad         bool // DECKPAM: application keypad
	BracketedPaste bool // 2004
	Focus          bool // 1004: focus events wanted
	Mouse          MouseMode
	MouseEncoding  MouseEncoding
	AltScroll      bool // 1007: the wheel sends cursor keys on the alternate screen
	Sync           bool // 2026: an update is under way, the picture is not whole
	Graphemes      bool // 2027
	ColorScheme    bool // 2031: reports of light and dark wanted
	ResizeReports  bool // 2048
	ReverseScreen  bool // DECSCNM
	Wrap           bool // DECAWM
	Insert         bool // IRM
	Origin         bool // DECOM
	Newline        bool // LNM: Return sends CR LF
	CursorVisible  bool
	// OtherKeys is modifyOtherKeys, 0–3; Kitty the flags of the kitty
	// keyboard protocol in force on the screen shown.
	OtherKeys int
	Kitty     int
}

// Modes returns the modes in force.
func (s *Screen) Modes() Modes {
	m := s.modes
	out := Modes{
		AltScreen: s.AltScreen(), CursorKeys: m.has(modeCursorKeys), Keypad: m.has(modeKeypad),
		BracketedPaste: m.has(modePaste), Focus: m.has(modeFocus), AltScroll: m.has(modeAltScroll),
		Sync: m.has(modeSync), Graphemes: m.has(modeGraphemes), ColorScheme: m.has(modeColorScheme),
		ResizeReports: m.has(modeResizeReports), ReverseScreen: m.has(modeReverseScreen),
		Wrap: m.has(modeWrap), Insert: m.has(modeInsert), Origin: s.cur.origin,
		Newline: m.has(modeNewline), CursorVisible: m.has(modeCursor),
		OtherKeys: int(s.otherKeys), Kitty: s.g.kitty.flags(),
	}
	switch {
	case m.has(modeMouseX10):
		out.Mouse = MouseX10
	case m.has(modeMouseNormal):
		out.Mouse = MouseNormal
	case m.has(modeMouseButton):
		out.Mouse = MouseButton
	case m.has(modeMouseAny):
		out.Mouse = MouseAny
	}
	switch {
	case m.has(modeMouseUTF8):
		out.MouseEncoding = MouseUTF8
	case m.has(modeMouseSGR):
		out.MouseEncoding = MouseSGR
	case m.has(modeMouseURXVT):
		out.MouseEncoding = MouseURXVT
	case m.has(modeMousePixels):
		out.MouseEncoding = MousePixels
	}
	return out
}

// maxKitty bounds the stack of the kitty keyboard protocol; when it is full
// the oldest entry goes.
const maxKitty = 16

// kittyStack is the keyboard state of one screen: the flags in force and those
// that pop brings back.
type kittyStack struct {
	n     uint8
	now   uint8
	stack [maxKitty]uint8
}

func (k *kittyStack) flags() int { return int(k.now) }

func (k *kittyStack) push(flags int) {
	if k.n == maxKitty {
		copy(k.stack[:], k.stack[1:])
		k.n--
	}
	k.stack[k.n] = k.now
	k.n++
	k.now = uint8(flags & 31)
}

func (k *kittyStack) pop(n int) {
	if n > int(k.n) {
		*k = kittyStack{}
		return
	}
	k.n -= uint8(n)
	k.now = k.stack[k.n]
	clear(k.stack[k.n:])
}

// set changes the flags in force: mode 1 all, 2 adds, 3 takes away.
func (k *kittyStack) set(flags, mode int) {
	f := uint8(flags & 31)
	switch mode {
	case 1:
		k.now = f
	case 2:
		k.now |= f
	case 3:
		k.now &^= f
	}
}
