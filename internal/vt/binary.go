package vt

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"unicode/utf8"
)

// The binary form of a Screen: a magic word with the version, then sections in
// a fixed order, integers as varints, strings and lists with their length in
// front. It is exact: unfinished input and history are in it. What waits to be
// taken (answers, events) is not, nor are the options but the history limit.
const binaryMagic = "termio-vt\x00\x01"

// binaryVersion grows with every change of the form; other versions are
// refused, for the form is only kept over a restart or an upgrade.
const binaryVersion = 1

var errBinary = errors.New("malformed screen")

// MarshalBinary returns the exact state of the screen.
func (s *Screen) MarshalBinary() ([]byte, error) { return s.AppendBinary(nil) }

// AppendBinary appends the exact state of the screen. The error is always nil.
func (s *Screen) AppendBinary(dst []byte) ([]byte, error) {
	w := writer{s: s, b: append(dst, binaryMagic...)}
	w.ints(binaryVersion, s.cols, s.rows, s.opt.History, s.cellW, s.cellH)
	w.flag(s.AltScreen())
	w.uint(uint64(s.modes))
	w.uint(uint64(s.savedModes))
	w.ints(s.top, s.bottom, s.left, s.right, int(s.cursorStyle), int(s.otherKeys), int(s.singleShift))
	w.ints(int(s.last.r), s.last.x, int(s.last.state))
	w.uint(s.gen)
	w.uint(s.scrolled)
	w.uint(s.scrollGen)
	w.tabs()
	w.exts()
	w.cursor(s.cur)
	w.titles()
	w.colors()
	w.parser()
	w.grid(&s.main)
	w.grid(&s.alt)
	w.history()
	return w.b, nil
}

type writer struct {
	s   *Screen
	b   []byte
	rec []byte
}

func (w *writer) uint(v uint64) { w.b = binary.AppendUvarint(w.b, v) }

func (w *writer) ints(v ...int) {
	for _, n := range v {
		w.b = binary.AppendVarint(w.b, int64(n))
	}
}

func (w *writer) flag(v bool) {
	if v {
		w.b = append(w.b, 1)
	} else {
		w.b = append(w.b, 0)
	}
}

func (w *writer) str(v string) {
	w.uint(uint64(len(v)))
	w.b = append(w.b, v...)
}

func (w *writer) tabs() {
	w.flag(w.s.tabs != nil)
	for _, on := range w.s.tabs {
		w.flag(on)
	}
}

func (w *writer) exts() {
	items := w.s.exts.items
	w.uint(uint64(len(items)))
	for _, e := range items[min(1, len(items)):] {
		w.uint(packColor(e.ul))
		w.str(e.uri)
		w.str(e.id)
	}
}

func (w *writer) cursor(c cursor) {
	w.ints(c.x, c.y, int(c.gl))
	w.flag(c.pending)
	w.flag(c.origin)
	w.flag(c.set)
	w.b = append(w.b, c.charset[:]...)
	w.b = appendStyle(w.b, c.pen)
}

func (w *writer) titles() {
	t := &w.s.titles
	w.str(w.s.dir)
	w.str(t.title)
	w.str(t.icon)
	w.uint(uint64(len(t.stack)))
	for _, e := range t.stack {
		w.str(e.title)
		w.str(e.icon)
	}
}

func (w *writer) colors() {
	c := &w.s.colors
	w.flag(c.custom)
	for _, v := range c.defaults {
		w.uint(uint64(v))
	}
	keys := c.sorted()
	w.uint(uint64(len(keys)))
	for _, k := range keys {
		w.ints(k, int(c.overrides[k]))
	}
}

func (w *writer) parser() {
	p := &w.s.parser
	w.b = append(w.b, byte(p.state), p.kind, p.priv, p.inter, p.inter2, byte(p.np))
	w.flag(p.drop)
	w.flag(p.full)
	w.uint(uint64(p.sub))
	for _, v := range p.par[:p.np] {
		w.ints(int(v))
	}
	w.str(string(p.u8[:p.u8n]))
	inSequence := p.state == inEscape || p.state == inEscapeInter || p.state == inCSI
	inText := (p.state == inString || p.state == inStringEsc) && !p.drop
	w.uint(uint64(w.s.out.unfinished))
	if inSequence {
		w.str(string(p.seq))
	} else {
		w.str("")
	}
	if inText {
		w.str(string(p.str))
	} else {
		w.str("")
	}
}

func (w *writer) grid(g *grid) {
	w.cursor(g.saved)
	w.b = append(w.b, g.kitty.n, g.kitty.now)
	w.b = append(w.b, g.kitty.stack[:]...)
	w.ints(g.x, g.y)
	w.flag(g.pending)
	w.flag(g.rows != nil)
	for y := range g.rows {
		r := &g.rows[(g.top+y)%len(g.rows)]
		w.uint(r.gen)
		w.record(w.s.appendRecord(w.rec[:0], r))
	}
}

func (w *writer) record(rec []byte) {
	w.rec = rec
	w.uint(uint64(len(rec)))
	w.b = append(w.b, rec...)
}

func (w *writer) history() {
	h := &w.s.history
	w.uint(h.dropped())
	w.uint(uint64(h.len()))
	h.each(0, h.len(), func(rec []byte) {
		w.uint(uint64(len(rec)))
		w.b = append(w.b, rec...)
	})
}

// UnmarshalBinary makes s what AppendBinary wrote. ProgramStatus and Version
// stay as they are. Malformed data gives an error and leaves s unchanged.
func (s *Screen) UnmarshalBinary(data []byte) error {
	r := reader{b: data}
	n, err := r.screen(s.opt)
	if err != nil {
		return fmt.Errorf("decode screen: %w", err)
	}
	alt := n.AltScreen()
	*s = *n
	if alt {
		s.g = &s.alt
	} else {
		s.g = &s.main
	}
	return nil
}

// reader takes values off b. After the first malformed one bad is set and
// everything reads as zero.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) fail() { r.bad, r.b = true, nil }

func (r *reader) uint() uint64 {
	v, k := binary.Uvarint(r.b)
	if k <= 0 {
		r.fail()
		return 0
	}
	r.b = r.b[k:]
	return v
}

// num reads a number of at least lo and at most hi.
func (r *reader) num(lo, hi int) int {
	v, k := binary.Varint(r.b)
	if k <= 0 || v < int64(lo) || v > int64(hi) {
		r.fail()
		return lo
	}
	r.b = r.b[k:]
	return int(v)
}

func (r *reader) byte() byte {
	if len(r.b) == 0 {
		r.fail()
		return 0
	}
	v := r.b[0]
	r.b = r.b[1:]
	return v
}

func (r *reader) flag() bool { return r.byte() != 0 }

// bytes reads a string of at most limit bytes; it is not copied.
func (r *reader) bytes(limit int) []byte {
	n := r.uint()
	if n > uint64(limit) || n > uint64(len(r.b)) {
		r.fail()
		return nil
	}
	v := r.b[:n]
	r.b = r.b[n:]
	return v
}

// count is the length of a list, each of whose items takes at least one byte.
func (r *reader) count(limit int) int {
	n := r.uint()
	if n > uint64(limit) || n > uint64(len(r.b)) {
		r.fail()
		return 0
	}
	return int(n)
}

func (r *reader) text(limit int) string {
	v := string(r.bytes(limit))
	if v != cleanText([]byte(v), limit) {
		r.fail()
	}
	return v
}

func (r *reader) screen(o Options) (*Screen, error) {
	if len(r.b) < len(binaryMagic) || string(r.b[:len(binaryMagic)]) != binaryMagic {
		return nil, errors.New("not a screen")
	}
	r.b = r.b[len(binaryMagic):]
	if v := r.num(0, 1<<30); v != binaryVersion {
		return nil, fmt.Errorf("version %d, this is %d", v, binaryVersion)
	}
	o.Cols, o.Rows, o.History = r.num(1, maxCols), r.num(1, maxRows), r.num(0, maxHistoryLines)
	if r.bad || o.Rows > len(r.b) {
		return nil, errBinary // each row takes more than a byte
	}
	s := New(o)
	s.cellW, s.cellH = r.num(1, 1000), r.num(1, 1000)
	alt := r.flag()
	s.modes, s.savedModes = modeSet(r.uint()), modeSet(r.uint())
	s.top, s.bottom = r.num(0, s.rows-1), r.num(0, s.rows-1)
	s.left, s.right = r.num(0, s.cols-1), r.num(0, s.cols-1)
	s.cursorStyle, s.otherKeys = uint8(r.num(0, 6)), uint8(r.num(0, 3))
	s.singleShift = uint8(r.num(0, 3))
	s.last = lastPrinted{rune(r.num(0, utf8.MaxRune)), r.num(0, s.cols-1), clusterState(r.num(0, int(stateLinked)))}
	s.gen = r.uint()
	s.next = s.gen + 1
	s.scrolled, s.scrollGen = r.uint(), r.uint()
	if r.flag() {
		s.tabs = make([]bool, s.cols)
		for x := range s.tabs {
			s.tabs[x] = r.flag()
		}
	}
	r.exts(s)
	s.cur = r.cursor(s)
	if bytes.IndexByte(s.cur.charset[:], 0) >= 0 {
		r.fail()
	}
	r.titles(s)
	r.colors(s)
	r.parser(s)
	r.grid(s, &s.main)
	r.grid(s, &s.alt)
	r.history(s)
	if alt {
		s.g = &s.alt
	}
	s.changed = false
	if r.bad || len(r.b) > 0 || !s.sound() {
		return nil, errBinary
	}
	return s, nil
}

func (r *reader) exts(s *Screen) {
	n := r.count(maxExts)
	for i := 1; i < n && !r.bad; i++ {
		ul, ok := unpackColor(r.uint())
		e := ext{ul: ul, uri: r.text(maxLinkBytes), id: r.text(maxLinkBytes)}
		if !ok {
			r.fail()
			return
		}
		t := &s.exts
		if t.index == nil {
			t.items, t.index = []ext{{}}, make(map[ext]uint32)
		}
		t.items = append(t.items, e)
		if e == (ext{}) {
			t.free = append(t.free, uint32(i))
			continue
		}
		if _, twice := t.index[e]; twice {
			r.fail()
		}
		t.index[e] = uint32(i)
	}
}

func (r *reader) cursor(s *Screen) cursor {
	c := cursor{x: r.num(0, s.cols-1), y: r.num(0, s.rows-1), gl: uint8(r.num(0, 3))}
	c.pending, c.origin, c.set = r.flag(), r.flag(), r.flag()
	for i := range c.charset {
		c.charset[i] = r.byte()
		if set := c.charset[i]; !knownCharset(set) && (set != 0 || c.set) {
			r.fail()
		}
	}
	pen, rest, err := readStyle(r.b)
	if err != nil || !s.validExt(pen.lo) {
		r.fail()
		return c
	}
	c.pen, r.b = pen, rest
	return c
}

func (r *reader) titles(s *Screen) {
	s.dir = r.text(maxDir)
	s.titles.title, s.titles.icon = r.text(maxTitle), r.text(maxTitle)
	for range r.count(maxTitles) {
		s.titles.stack = append(s.titles.stack, titlePair{r.text(maxTitle), r.text(maxTitle)})
	}
}

func (r *reader) colors(s *Screen) {
	c := &s.colors
	c.custom = r.flag()
	for i := range c.defaults {
		c.defaults[i] = uint32(r.uint() & 0xffffff)
	}
	for range r.count(paletteSize + dynamicCount) {
		c.set(r.num(0, paletteSize+dynamicCount-1), uint32(r.num(0, 0xffffff)))
	}
}

func (r *reader) parser(s *Screen) {
	p := &s.parser
	p.state, p.kind, p.priv = parseState(r.byte()), r.byte(), r.byte()
	p.inter, p.inter2, p.np = r.byte(), r.byte(), int(r.byte())
	p.drop, p.full, p.sub = r.flag(), r.flag(), uint32(r.uint())
	if p.state > inStringEsc || p.np > maxParams {
		p.np = 0
		r.fail()
	}
	for i := range p.np {
		p.par[i] = int32(r.num(-1, maxNumber))
	}
	p.u8n = copy(p.u8[:], r.bytes(utf8.UTFMax-1))
	if p.u8n > 0 && (p.state != inGround || utf8.FullRune(p.u8[:p.u8n])) {
		r.fail()
	}
	s.out.unfinished = int(min(r.uint(), 1<<40))
	p.seq = append(p.seq, r.bytes(maxSequence)...)
	p.str = append(p.str, r.bytes(maxString)...)
	if (p.state == inString || p.state == inStringEsc) && p.kind == 0 {
		r.fail()
	}
}

func (r *reader) grid(s *Screen, g *grid) {
	g.saved = r.cursor(s)
	g.kitty.n, g.kitty.now = r.byte(), r.byte()&31
	for i := range g.kitty.stack {
		g.kitty.stack[i] = r.byte() & 31
	}
	if g.kitty.n > maxKitty {
		r.fail()
	}
	g.x, g.y = r.num(0, s.cols-1), r.num(0, s.rows-1)
	g.pending = r.flag()
	if g.rows = nil; !r.flag() {
		return
	}
	g.rows = make([]row, s.rows)
	for y := range g.rows {
		g.rows[y].gen = r.uint()
		rec := r.bytes(len(r.b))
		if r.bad || s.checkRecord(rec) != nil {
			r.fail()
			return
		}
		s.decodeRow(rec, &g.rows[y])
	}
}

func (r *reader) history(s *Screen) {
	dropped := r.uint()
	n := r.count(s.history.limit)
	for range n {
		rec := r.bytes(len(r.b))
		if r.bad || s.checkRecord(rec) != nil {
			r.fail()
			return
		}
		s.history.add(rec)
	}
	s.history.total = dropped + uint64(n)
}

// sound reports whether state that came from outside holds together.
func (s *Screen) sound() bool {
	c := s.cur
	switch {
	case len(s.main.rows) != s.rows, s.AltScreen() && s.alt.rows == nil:
		return false
	case s.top > s.bottom, s.left > s.right, !s.modes.has(modeSideMargins) && !s.fullWidth():
		return false
	case s.top == s.bottom && s.rows > 1, s.left == s.right && s.cols > 1:
		return false
	case s.modes>>modeCount != 0, s.savedModes>>modeCount != 0:
		return false
	case c.origin && (c.x < s.left || c.x > s.right || c.y < s.top || c.y > s.bottom):
		return false
	case c.set:
		return false
	}
	before := c.pending
	s.checkPending()
	return s.cur.pending == before
}
