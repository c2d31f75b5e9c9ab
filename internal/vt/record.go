package vt

import (
	"encoding/binary"
	"errors"
	"unicode/utf8"
)

// A record is one line as the history and the binary snapshot hold it:
//
//	flags byte, then runs of columns in one style and of one kind:
//	uvarint n<<3 | kind<<1 | styled
//	if styled: a byte with a bit for each of attributes, foreground and
//	background that is not zero, then those as uvarints
//	kind ascii: n bytes · narrow (ASCII among them), wide: n runes in UTF-8 ·
//	clusters: n times (byte length | wide bit, bytes)
//
// Blank columns at the end are left out unless the line is wrapped.
const (
	recWrapped = 1 << 0
	// recSpacer: the last column was left for a wide character that wrapped.
	recSpacer = 1 << 1

	kindASCII    = 0
	kindNarrow   = 1
	kindWide     = 2
	kindClusters = 3

	hasAttrs = 1 << 0
	hasFG    = 1 << 1
	hasBG    = 1 << 2

	clusterWide = 0x80
	// maxRunHeader bounds the bytes of a run before its payload.
	maxRunHeader = 3*binary.MaxVarintLen32 + binary.MaxVarintLen64
)

var errRecord = errors.New("malformed line record")

// appendStyle appends the style part of a run.
func appendStyle(b []byte, st cell) []byte {
	at := len(b)
	b = append(b, 0)
	if st.lo != 0 {
		b[at] |= hasAttrs
		b = binary.AppendUvarint(b, st.lo>>31)
	}
	if st.fg != 0 {
		b[at] |= hasFG
		b = binary.AppendUvarint(b, packColor(st.fg))
	}
	if st.bg != 0 {
		b[at] |= hasBG
		b = binary.AppendUvarint(b, packColor(st.bg))
	}
	return b
}

// packColor keeps palette colours to two bytes.
func packColor(c Color) uint64 { return uint64(c&0xffffff)<<2 | uint64(c>>24) }

func unpackColor(v uint64) (Color, bool) {
	if v >= 1<<26 {
		return 0, false
	}
	c := Color(v&3)<<24 | Color(v>>2)
	return c, c.valid()
}

// appendRecord encodes r.
func (s *Screen) appendRecord(b []byte, r *row) []byte {
	if !r.cells {
		return appendTextRecord(b, r)
	}
	n, flags := len(r.c), byte(0)
	if r.wrapped {
		flags = recWrapped
		if n > 0 && r.c[n-1].isSpacer() {
			flags |= recSpacer
			n--
		}
	} else {
		n = r.trimmed()
	}
	b = append(b, flags)
	var prev cell
	for c := r.c[:n]; len(c) > 0; {
		st := c[0].style()
		kind, cells, count := runOf(c, st)
		b = appendRunHeader(b, count, kind, st, prev)
		b = s.appendPayload(b, c[:cells], kind)
		c, prev = c[cells:], st
	}
	return b
}

// runOf measures the run at the start of c: its kind, its length in cells and
// in things with text. Narrow characters and ASCII go together.
func runOf(c []cell, st cell) (kind, cells, count int) {
	kind = kindOf(c[0].lo)
	i := 0
	if kind > kindNarrow {
		for i < len(c) && c[i].style() == st && kindOf(c[i].lo) == kind {
			i += c[i].width()
			count++
		}
		return kind, min(i, len(c)), count
	}
	kind = kindASCII
	for i < len(c) && c[i].fg == st.fg && c[i].bg == st.bg {
		if lo := c[i].lo &^ runeMask; lo != st.lo && lo != st.lo|roleSpacer {
			break
		}
		if c[i].lo&runeMask >= utf8.RuneSelf {
			kind = kindNarrow
		}
		i++
	}
	i = max(i, 1) // a tail without its head must not stop the caller
	return kind, i, i
}

func appendRunHeader(b []byte, n, kind int, st, prev cell) []byte {
	if st == prev {
		return binary.AppendUvarint(b, uint64(n)<<3|uint64(kind)<<1)
	}
	b = binary.AppendUvarint(b, uint64(n)<<3|uint64(kind)<<1|1)
	return appendStyle(b, st)
}

func (s *Screen) appendPayload(b []byte, c []cell, kind int) []byte {
	switch kind {
	case kindASCII:
		for i := range c {
			b = append(b, max(byte(c[i].lo), ' '))
		}
	case kindNarrow, kindWide:
		for i := 0; i < len(c); i += kind {
			switch r := rune(c[i].lo & runeMask); {
			case r < utf8.RuneSelf:
				b = append(b, byte(r))
			case r >= 0x800 && r < 0x10000:
				b = append(b, 0xe0|byte(r>>12), 0x80|byte(r>>6)&0xbf, 0x80|byte(r)&0xbf)
			default:
				b = utf8.AppendRune(b, r)
			}
		}
	default:
		for i := 0; i < len(c); i += c[i].width() {
			t := s.clusters.get(uint32(c[i].lo & runeMask))
			head := byte(len(t))
			if c[i].lo&roleMask == roleHead {
				head |= clusterWide
			}
			b = append(append(b, head), t...)
		}
	}
	return b
}

// kindOf is the kind of run a cell starts. A spacer that is no spacer any more
// is ASCII.
func kindOf(lo uint64) int {
	switch {
	case lo&flagCluster != 0:
		return kindClusters
	case lo&roleMask == roleHead:
		return kindWide
	case lo&runeMask < utf8.RuneSelf:
		return kindASCII
	}
	return kindNarrow
}

func appendTextRecord(b []byte, r *row) []byte {
	flags := byte(0)
	if r.wrapped {
		flags = recWrapped
	}
	b = append(b, flags)
	var prev cell
	for k, run := range r.runs {
		from, to := int(run.lo&runeMask), len(r.text)
		st := run.style()
		if k+1 < len(r.runs) {
			to = int(r.runs[k+1].lo & runeMask)
		} else if st == (cell{}) && !r.wrapped {
			for to > from && r.text[to-1] == ' ' {
				to--
			}
			if to == from {
				break
			}
		}
		b = appendRunHeader(b, to-from, kindASCII, st, prev)
		prev = st
		b = append(b, r.text[from:to]...)
	}
	return b
}

// A run is one run of a record being read.
type run struct {
	style cell
	kind  int
	n     int    // cells with text: runes, clusters or bytes
	data  []byte // payload
}

// nextRun takes one run off rec. prev is the style of the run before it. It
// accepts any bytes.
func nextRun(rec []byte, prev cell) (r run, rest []byte, err error) {
	h, k := binary.Uvarint(rec)
	if k <= 0 || h>>3 == 0 || h>>3 > maxCols {
		return r, nil, errRecord
	}
	rec = rec[k:]
	r = run{style: prev, kind: int(h >> 1 & 3), n: int(h >> 3)}
	if h&1 != 0 {
		if r.style, rec, err = readStyle(rec); err != nil {
			return r, nil, err
		}
	}
	size := 0
	switch r.kind {
	case kindASCII:
		size = r.n
	case kindNarrow, kindWide:
		for range r.n {
			if size >= len(rec) {
				return r, nil, errRecord
			}
			_, z := utf8.DecodeRune(rec[size:])
			size += z
		}
	default:
		for range r.n {
			if size >= len(rec) {
				return r, nil, errRecord
			}
			size += 1 + int(rec[size]&^clusterWide)
		}
	}
	if size > len(rec) {
		return r, nil, errRecord
	}
	r.data = rec[:size]
	return r, rec[size:], nil
}

func readStyle(rec []byte) (st cell, rest []byte, err error) {
	if len(rec) == 0 || rec[0] > hasAttrs|hasFG|hasBG {
		return st, nil, errRecord
	}
	has, rec := rec[0], rec[1:]
	if has&hasAttrs != 0 {
		a, k := binary.Uvarint(rec)
		if k <= 0 || a >= 1<<33 {
			return st, nil, errRecord
		}
		st.lo, rec = a<<31, rec[k:]
		if st.lo>>ulShift&0xff > uint64(DashedUnderline) {
			return st, nil, errRecord
		}
	}
	if has&hasFG != 0 {
		if st.fg, rec, err = readColor(rec); err != nil {
			return st, nil, err
		}
	}
	if has&hasBG != 0 {
		if st.bg, rec, err = readColor(rec); err != nil {
			return st, nil, err
		}
	}
	return st, rec, nil
}

func readColor(rec []byte) (Color, []byte, error) {
	v, k := binary.Uvarint(rec)
	c, ok := unpackColor(v)
	if k <= 0 || !ok {
		return 0, nil, errRecord
	}
	return c, rec[k:], nil
}

// each calls f for every cell with text: its bytes and its width in columns.
func (r run) each(f func(text []byte, width int)) {
	d := r.data
	for range r.n {
		switch r.kind {
		case kindASCII:
			f(d[:1], 1)
			d = d[1:]
		case kindNarrow, kindWide:
			_, z := utf8.DecodeRune(d)
			f(d[:z], r.kind)
			d = d[z:]
		default:
			z, w := 1+int(d[0]&^clusterWide), 1+int(d[0]>>7)
			f(d[1:z], w)
			d = d[z:]
		}
	}
}

// columns is the width of the run.
func (r run) columns() int {
	switch r.kind {
	case kindWide:
		return 2 * r.n
	case kindClusters:
		w := 0
		r.each(func(_ []byte, width int) { w += width })
		return w
	}
	return r.n
}

// recordColumns is the width of a record this package wrote.
func recordColumns(rec []byte) int {
	n := 0
	var st cell
	for rec = rec[1:]; len(rec) > 0; {
		u, rest, err := nextRun(rec, st)
		if err != nil {
			break
		}
		n += u.columns()
		st, rec = u.style, rest
	}
	return n
}

// checkRecord reports whether rec is a line of this screen; everything else
// that reads records takes their form for granted.
func (s *Screen) checkRecord(rec []byte) error {
	if len(rec) == 0 || rec[0] > recWrapped|recSpacer || rec[0] == recSpacer {
		return errRecord
	}
	want := s.cols
	if rec[0]&recSpacer != 0 {
		want--
	}
	columns, wrapped := 0, rec[0]&recWrapped != 0
	var st cell
	for rec = rec[1:]; len(rec) > 0; {
		u, rest, err := nextRun(rec, st)
		if err != nil {
			return err
		}
		if columns += u.columns(); columns > want || !s.validExt(u.style.lo) || !u.valid() {
			return errRecord
		}
		st, rec = u.style, rest
	}
	// Wrapped lines are whole; so no short record stands for many columns.
	if wrapped && columns != want {
		return errRecord
	}
	return nil
}

// valid reports whether the payload is what the kind says.
func (r run) valid() bool {
	ok := true
	r.each(func(text []byte, _ int) {
		runes := 0
		for b := text; len(b) > 0; runes++ {
			c, z := utf8.DecodeRune(b)
			if c == utf8.RuneError && z == 1 || c < ' ' || c >= 0x7f && c < 0xa0 {
				ok = false
			}
			b = b[z:]
		}
		switch r.kind {
		case kindASCII:
			ok = ok && text[0] < utf8.RuneSelf
		case kindClusters:
			ok = ok && runes > 1
		case kindWide:
			ok = ok && len(text) > 1
		}
	})
	return ok
}

func (s *Screen) validExt(lo uint64) bool {
	i := lo >> extShift
	return i == 0 || int(i) < len(s.exts.items)
}

// decodeRow fills r from a record that checkRecord accepts, as all in the
// history are. Pure ASCII stays text.
func (s *Screen) decodeRow(rec []byte, r *row) {
	r.clear()
	columns := recordColumns(rec)
	flags, rec := rec[0], rec[1:]
	if flags&recSpacer != 0 {
		columns++
	}
	var st cell
	for len(rec) > 0 {
		u, rest, err := nextRun(rec, st)
		if err != nil {
			break
		}
		st, rec = u.style, rest
		x := r.len()
		if u.kind == kindASCII && r.put(x, u.data, &st) {
			continue
		}
		s.decodeCells(u, r.upto(x+u.columns(), columns)[x:])
	}
	if flags&recSpacer != 0 {
		r.upto(columns, columns)[columns-1].lo |= roleSpacer
	}
	r.wrapped = flags&recWrapped != 0
}

// decodeCells writes a run into dst, which has its width.
func (s *Screen) decodeCells(u run, dst []cell) {
	x := 0
	u.each(func(text []byte, width int) {
		c := u.style
		r, z := utf8.DecodeRune(text)
		bits := uint64(r)
		if z != len(text) {
			if v, ok := s.internCluster(text); ok {
				bits = v
			}
		}
		c.lo |= bits
		dst[x] = c
		if width == 2 {
			dst[x].lo |= roleHead
			dst[x+1] = u.style
			dst[x+1].lo |= roleTail
		}
		x += width
	})
}
