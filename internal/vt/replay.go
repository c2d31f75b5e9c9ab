package vt

import (
	"strconv"
	"unicode/utf8"
)

// AppendReplay appends escape sequences that bring a fresh Screen of the same
// size to an equal state, and any xterm-like terminal, whatever was on it
// before, to the same picture and modes: up to historyLines lines of history,
// both screens, cursors, margins, tabs, character sets, pen, keyboard state,
// titles. An unfinished sequence is not part of it: AppendUnfinished gives that.
func (s *Screen) AppendReplay(dst []byte, historyLines int) []byte {
	w := replayer{s: s, b: AppendReset(dst)}
	w.str("\x1b[?2026h\x1b[?5W\x1b[H\x1b[2J") // drawn in one go
	w.replay(historyLines)
	return w.b
}

// AppendUnfinished appends the bytes of the control sequence or character
// that has begun but not ended. Fed after the replay they make it go on.
func (s *Screen) AppendUnfinished(dst []byte) []byte {
	p := &s.parser
	switch p.state {
	case inGround:
		return append(dst, p.u8[:p.u8n]...)
	case inEscape, inEscapeInter, inCSI:
		return append(dst, p.seq...)
	case inCSIIgnore:
		return append(dst, "\x1b[!0"...) // any ignored sequence is like another
	}
	switch {
	case !p.drop:
		dst = append(append(dst, 0x1b, p.kind), p.str...)
	case p.kind == ']':
		dst = append(dst, "\x1b]!"...) // a command nobody reads, which BEL ends
	default:
		dst = append(dst, "\x1bX"...)
	}
	if p.state == inStringEsc {
		dst = append(dst, 0x1b)
	}
	return dst
}

// replayer writes a replay. pen is the style the other side has now.
type replayer struct {
	s   *Screen
	b   []byte
	pen cell
	// state is the cluster the other side would join to.
	state clusterState
	lone  bool // the other side has clusters off
	outer bool // the other side is somebody's terminal: see outer.go
	// wrapped: the row before goes on in the next; spacer: it left its last
	// column to a wide character.
	wrapped, spacer bool
	rec             []byte
}

func (w *replayer) str(text string) { w.b = append(w.b, text...) }

// csi writes CSI prefix parameters suffix.
func (w *replayer) csi(prefix string, suffix string, params ...int) {
	w.str("\x1b[" + prefix)
	for i, p := range params {
		if i > 0 {
			w.b = append(w.b, ';')
		}
		w.b = strconv.AppendInt(w.b, int64(p), 10)
	}
	w.str(suffix)
	w.state = stateNone
}

func (w *replayer) to(x, y int) { w.csi("", "H", y+1, x+1) }

func (w *replayer) replay(historyLines int) {
	s := w.s
	w.history(historyLines)
	w.grid(&s.main)
	w.setPen(cell{})
	w.saved(&s.main)
	w.kitty(&s.main)
	if s.alt.rows != nil || s.alt.saved.set || s.alt.kitty != (kittyStack{}) {
		w.altScreen()
	}
	w.titles()
	w.colors()
	w.tabs()
	if s.cursorStyle != 0 {
		w.csi("", " q", int(s.cursorStyle))
	}
	if s.otherKeys != 0 {
		w.csi(">", "m", 4, int(s.otherKeys))
	}
	w.modesAndCursor()
}

// history writes lines so that they scroll into the other side's history when
// the rows of the main screen follow.
func (w *replayer) history(n int) {
	h := &w.s.history
	h.each(max(0, h.len()-n), h.len(), func(rec []byte) {
		if w.record(rec); !w.wrapped {
			w.newline()
		}
	})
}

// grid writes all rows of g from the cursor on, which is at column 0.
func (w *replayer) grid(g *grid) {
	for y := range g.rows {
		w.rec = w.s.appendRecord(w.rec[:0], &g.rows[(g.top+y)%len(g.rows)])
		if w.record(w.rec); !w.wrapped && y < len(g.rows)-1 {
			w.newline()
		}
	}
	w.wrapped, w.spacer = false, false
}

// newline goes on with the next row in default style, for a scroll paints in
// the pen's background.
func (w *replayer) newline() {
	w.plainBackground()
	w.str("\r\n")
	w.state = stateNone
}

func (w *replayer) plainBackground() {
	if w.pen.bg != 0 {
		w.setPen(cell{})
	}
}

// record writes one line. A wrapped one goes to the last column, so that the
// first character of the next one wraps. Behind a cluster the column is set:
// terminals differ in how wide they think one is.
func (w *replayer) record(rec []byte) {
	flags, rec := rec[0], rec[1:]
	if len(rec) == 0 && w.wrapped {
		w.text(cell{}, []byte{' '}, 1) // something has to wrap
	}
	var st cell
	x, lost := 0, false
	for len(rec) > 0 {
		u, rest, err := nextRun(rec, st)
		if err != nil {
			break
		}
		st, rec = u.style, rest
		if lost {
			w.csi("", "G", x+1)
			lost = false
		}
		if u.kind == kindASCII && !w.wrapped {
			w.setPen(st)
			w.b = append(w.b, u.data...)
			w.state = stateOther
			x += len(u.data)
			continue
		}
		u.each(func(text []byte, width int) {
			if lost {
				w.csi("", "G", x+1)
			}
			w.text(st, text, width)
			x += width
			lost = u.kind == kindClusters
		})
	}
	w.wrapped, w.spacer = flags&recWrapped != 0, flags&recSpacer != 0
}

// carryOn makes the other side wrap before the first character of a row that
// another one goes on in.
func (w *replayer) carryOn(st cell, width int) {
	w.wrapped = false
	if w.spacer && width == 1 {
		w.setPen(cell{})
		w.str(" ") // the last column was left for a wide character
	}
	if st.bg == 0 {
		w.plainBackground()
		return
	}
	// Wrapping may scroll, and a scroll paints in the pen's background: the
	// wrap is made by a blank of the same width, which is then written over.
	w.setPen(cell{})
	if w.spacer && width == 2 {
		w.str("\u3000\r")
	} else {
		w.str(" \r")
	}
	w.state = stateNone
}

// text writes one cell at the cursor.
func (w *replayer) text(st cell, text []byte, width int) {
	if w.wrapped {
		w.carryOn(st, width)
	}
	w.setPen(st)
	if len(text) == 1 {
		w.b = append(w.b, text[0])
		w.state = stateOther
		return
	}
	if r, n := utf8.DecodeRune(text); n == len(text) && !w.lone {
		if cl := classOf(r); cl>>classJoinShift&classJoinMask == joinOther && int(cl&classWidth) == width {
			w.b = append(w.b, text...) // most text: on its own, as wide as ever
			w.state = stateOther
			return
		}
	}
	t := string(text)
	n, natural := cluster(t)
	// A cell that was not printed with clusters on is not made with them on.
	w.graphemes(n == len(t) && natural == width)
	r, _ := utf8.DecodeRuneInString(t)
	if joins, _ := w.state.next(classOf(r)); joins {
		// Any escape sequence ends the cluster before; this one does nothing
		// else, and keeps a pending wrap.
		w.str("\x1b(B")
	}
	w.str(t)
	w.state = endState(t)
}

// endState is the cluster state after text.
func endState(text string) clusterState {
	st := stateNone
	for _, r := range text {
		_, st = st.next(classOf(r))
	}
	return st
}

// graphemes turns clusters on or off on the other side.
func (w *replayer) graphemes(on bool) {
	if w.lone == on {
		w.lone = !on
		if on {
			w.str("\x1b[?2027h")
		} else {
			w.str("\x1b[?2027l")
		}
		w.state = stateNone
	}
}

// setPen brings the other side's style to st.
func (w *replayer) setPen(st cell) {
	if st == w.pen {
		return
	}
	s := w.s
	old, now := s.ext(w.pen.lo), s.ext(st.lo)
	if old.uri != now.uri || old.id != now.id {
		w.str("\x1b]8;")
		if now.id != "" {
			w.str("id=" + now.id)
		}
		w.str(";" + now.uri + "\x1b\\")
		w.state = stateNone
	}
	if (st.lo^w.pen.lo)&flagProtected != 0 {
		w.csi("", "\"q", int(st.lo&flagProtected/flagProtected))
	}
	w.sgr(st, old.ul, now.ul)
	w.pen = st
}

// sgr changes attributes and colours: only the colours if nothing else
// differs, else all of it, from nothing.
func (w *replayer) sgr(st cell, oldUL, newUL Color) {
	const rest = attrMask | ulMask
	attrs := st.lo & rest
	same := attrs == w.pen.lo&rest && oldUL == newUL
	if same && st.fg == w.pen.fg && st.bg == w.pen.bg {
		return
	}
	w.str("\x1b[")
	from := len(w.b)
	if attrs == 0 && st.fg == 0 && st.bg == 0 && newUL == 0 {
		w.b = append(w.b, 'm')
		return
	}
	if same {
		if st.fg != w.pen.fg {
			w.b = appendColorOrDefault(w.b, st.fg, 30)
		}
		if st.bg != w.pen.bg {
			w.b = appendColorOrDefault(w.b, st.bg, 40)
		}
	} else {
		if w.pen.lo&rest != 0 || w.pen.fg != 0 || w.pen.bg != 0 || oldUL != 0 {
			w.b = append(w.b, ";0"...)
		}
		w.b = w.s.appendSGR(w.b, st)
	}
	// Every parameter comes with a semicolon in front.
	w.b = append(w.b[:from], w.b[from+1:]...)
	w.b = append(w.b, 'm')
}

func appendColorOrDefault(b []byte, c Color, base int) []byte {
	if c == 0 {
		return strconv.AppendInt(append(b, ';'), int64(base+9), 10)
	}
	return appendColor(b, c, base)
}

// saved sets the saved cursor of the screen that is shown on the other side.
// The margins are still the whole screen, so that origin mode moves nothing.
func (w *replayer) saved(g *grid) {
	v := g.saved
	if !v.set {
		return
	}
	if v.origin {
		w.str("\x1b[?6h")
	}
	w.to(v.x, v.y)
	w.charsets(v)
	w.setPen(v.pen)
	w.str("\x1b7")
	w.charsets(cursor{charset: asciiSets})
	w.setPen(cell{})
	if v.origin {
		w.str("\x1b[?6l")
	}
}

// charsets designates and invokes c's sets.
func (w *replayer) charsets(c cursor) {
	for i, set := range c.charset {
		w.b = append(w.b, 0x1b, "()*+"[i], set)
	}
	w.str([]string{"\x0f", "\x0e", "\x1bn", "\x1bo"}[c.gl])
	w.state = stateNone
}

func (w *replayer) kitty(g *grid) {
	k := &g.kitty
	if w.outer {
		w.csi("=", ";1u", k.flags())
		return
	}
	if *k == (kittyStack{}) {
		return
	}
	flags := append(append([]uint8{}, k.stack[:k.n]...), k.now)
	w.csi("=", ";1u", int(flags[0]))
	for _, f := range flags[1:] {
		w.csi(">", "u", int(f))
	}
}

// altScreen writes the alternate screen and leaves it if it is not shown.
func (w *replayer) altScreen() {
	s := w.s
	shown := s.AltScreen()
	if shown && s.main.saved.set {
		// 1049 saves the cursor: the one saved before goes in again, so that
		// leaving with 1049 goes where the program wanted.
		w.str("\x1b8\x1b[?1049h")
		w.charsets(cursor{charset: asciiSets})
		w.str("\x1b[?6l\x1b[0m\x1b[0\"q\x1b]8;;\x1b\\\x1b[2J")
		w.pen = cell{}
	} else {
		w.str("\x1b[?47h")
	}
	w.to(0, 0)
	w.grid(&s.alt)
	w.setPen(cell{})
	w.saved(&s.alt)
	w.kitty(&s.alt)
	switch {
	case shown:
	case s.alt.rows == nil:
		w.str("\x1b[?1047l")
	default:
		w.str("\x1b[?47l")
	}
}

func (w *replayer) titles() {
	t := &w.s.titles
	set := func(p, now titlePair) titlePair {
		if p.title != now.title {
			w.str("\x1b]2;" + now.title + "\x1b\\")
		}
		if p.icon != now.icon {
			w.str("\x1b]1;" + now.icon + "\x1b\\")
		}
		return now
	}
	var p titlePair
	if !w.outer {
		for _, e := range t.stack {
			p = set(p, e)
			w.csi("", "t", 22, 0)
		}
	}
	set(p, titlePair{t.title, t.icon})
	if w.s.dir != "" {
		w.str("\x1b]7;" + w.s.dir + "\x1b\\")
	}
}

func (w *replayer) colors() {
	c := &w.s.colors
	for _, i := range c.sorted() {
		name := strconv.Itoa(i - paletteSize + 10)
		if i < paletteSize {
			name = "4;" + strconv.Itoa(i)
		}
		w.str("\x1b]" + name + ";" + spell(c.overrides[i]) + "\x1b\\")
	}
}

func (w *replayer) tabs() {
	s := w.s
	if s.tabs == nil {
		return
	}
	w.str("\x1b[3g")
	for x, on := range s.tabs {
		if on {
			w.to(x, 0)
			w.str("\x1bH")
		}
	}
}

// modesAndCursor comes last: from here on the other side is the program's.
func (w *replayer) modesAndCursor() {
	s := w.s
	c := s.cur
	w.graphemes(true)
	w.savedModes()
	w.graphemes(s.modes.has(modeGraphemes))
	if s.modes.has(modeSideMargins) {
		w.str("\x1b[?69h")
	}
	if s.top != 0 || s.bottom != s.rows-1 {
		w.csi("", "r", s.top+1, s.bottom+1)
	}
	if !s.fullWidth() {
		w.csi("", "s", s.left+1, s.right+1)
	}
	if c.origin {
		w.str("\x1b[?6h")
	}
	last := s.last.r != 0 && w.canPrintAgain()
	if c.pending && !last {
		w.printAgain(c.x)
		w.graphemes(s.modes.has(modeGraphemes))
	} else {
		w.toInRegion(c.x, c.y)
	}
	w.setPen(c.pen)
	if c.charset != asciiSets || c.gl != 0 {
		w.charsets(c)
	}
	switch s.singleShift {
	case 2:
		w.str("\x1bN")
	case 3:
		w.str("\x1bO")
	}
	w.modes(s.modes)
	w.endUpdate()
	if last {
		w.printAgain(s.last.x)
		w.setPen(c.pen)
	}
}

// toInRegion is to when margins and origin mode are in force.
func (w *replayer) toInRegion(x, y int) {
	if w.s.cur.origin {
		x, y = x-w.s.left, y-w.s.top
	}
	w.to(x, y)
}

// printAgain writes the cell at column x of the cursor's row over itself: there
// is no other way to make a wrap pending, or to let REP and combining
// characters go on.
func (w *replayer) printAgain(x int) {
	s := w.s
	r := s.row(s.cur.y)
	c := r.at(x)
	if c.lo&roleMask == roleTail {
		x--
		c = r.at(x)
	}
	w.toInRegion(x, s.cur.y)
	w.text(c.style(), s.appendCellText(nil, c.lo), c.width())
}

// canPrintAgain reports whether the character printed last can be written over
// itself under the modes and the pen of the program.
func (w *replayer) canPrintAgain() bool {
	s := w.s
	c := s.row(s.cur.y).at(s.last.x)
	old, now := s.ext(c.lo), s.ext(s.cur.pen.lo)
	text := string(s.appendCellText(nil, c.lo))
	n, width := cluster(text)
	return !s.modes.has(modeInsert) && s.modes.has(modeGraphemes) &&
		s.singleShift == 0 && s.cur.charset[s.cur.gl] == 'B' &&
		(c.lo^s.cur.pen.lo)&flagProtected == 0 && old.uri == now.uri && old.id == now.id &&
		n == len(text) && n > 0 && width == c.width()
}

// modes sets what differs from a fresh screen. A synchronised update comes
// last, for nothing is drawn after it.
func (w *replayer) modes(m modeSet) {
	diff := (m ^ defaultModes) &^ (modeSideMargins | modeGraphemes)
	if diff.has(modeInsert) {
		w.str("\x1b[4h")
	}
	if diff.has(modeNewline) {
		w.str("\x1b[20h")
	}
	if diff.has(modeRectExtent) {
		w.str("\x1b[2*x")
	}
	for _, p := range privateModes {
		if diff.has(p.bit) && p.bit != modeSync && p.bit != mode132 && p.bit != modeAllow132 {
			w.mode(p.number, m.has(p.bit))
		}
	}
	// DECCOLM only clears the screen when it is allowed to.
	if diff.has(mode132) {
		w.mode(3, true)
	}
	if diff.has(modeAllow132) {
		w.mode(40, true)
	}
	if diff.has(modeSync) {
		w.mode(2026, true)
	}
}

func (w *replayer) mode(n int, on bool) {
	w.str("\x1b[?")
	w.b = strconv.AppendInt(w.b, int64(n), 10)
	if on {
		w.b = append(w.b, 'h')
	} else {
		w.b = append(w.b, 'l')
	}
}

// savedModes replays XTSAVE: the modes are set, saved and set back.
func (w *replayer) savedModes() {
	if w.outer {
		return
	}
	diff := w.s.savedModes ^ defaultModes
	for _, p := range privateModes {
		if diff.has(p.bit) {
			w.mode(p.number, !defaultModes.has(p.bit))
			w.csi("?", "s", p.number)
			w.mode(p.number, defaultModes.has(p.bit))
		}
	}
}

// endUpdate shows what was drawn, unless the program is in the middle of an
// update of its own.
func (w *replayer) endUpdate() {
	if !w.s.modes.has(modeSync) {
		w.mode(2026, false)
	}
}

// AppendModes appends the sequences that set the modes in force, and only
// those, on a terminal whose modes are at their defaults.
func (s *Screen) AppendModes(dst []byte) []byte {
	w := replayer{s: s, b: dst}
	w.modes(s.modes)
	return w.b
}

// AppendReset appends what brings a terminal back to sane defaults after a
// session was shown on it: main screen, whole-screen margins, visible cursor,
// no mouse, no paste brackets, plain keyboard. The cursor stays where it is, or
// goes back to where it was before the alternate screen.
func AppendReset(dst []byte) []byte {
	return append(dst, ""+
		"\x18\x1b\\"+ // end what was under way
		"\x1b[?2026l"+
		"\x1b[<99u"+
		"\x1b7\x1b[?1049l"+ // on the main screen already, this comes back to the cursor just saved
		"\x1b[<99u"+resetPen+
		"\x1b7\x1b[?69l\x1b[r\x1b8\x1b[!p"+ // resetting margins goes home, soft reset may not know them
		resetModes...)
}

// What every reset contains.
const (
	resetPen   = "\x1b[0m\x1b[0\"q\x1b]8;;\x1b\\\x1b(B\x0f"
	resetModes = "" +
		"\x1b[>4m\x1b[4l\x1b[20l\x1b[?1l\x1b>\x1b[?5l\x1b[?7h\x1b[?9l\x1b[?25h\x1b[?45l\x1b[?66l\x1b[?67l" +
		"\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1004l\x1b[?1005l\x1b[?1006l\x1b[?1007l\x1b[?1015l\x1b[?1016l" +
		"\x1b[?2004l\x1b[?2031l\x1b[?2048l\x1b[0 q" +
		"\x1b]104\x1b\\\x1b]110\x1b\\\x1b]111\x1b\\\x1b]112\x1b\\"
)
