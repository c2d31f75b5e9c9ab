package vt

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// parseState numbers stand in the binary form.
type parseState uint8

const (
	inGround parseState = iota
	inEscape
	inEscapeInter // after an intermediate byte
	inCSI
	inCSIIgnore
	inString    // payload of OSC, DCS, APC, PM, SOS
	inStringEsc // ESC inside a string: the end, or another sequence
)

// Bounds of one control sequence. A CSI longer than maxSequence is ignored up
// to its final byte, parameters past maxParams are dropped, a string longer
// than maxString is read to its end and does nothing. Queries past maxHeld
// bytes are not answered.
const (
	maxParams   = 32
	maxSequence = 256
	maxString   = 1 << 20
	maxHeld     = 4096
	maxNumber   = 1 << 24
)

type parser struct {
	state  parseState
	kind   byte // of the string: the final byte of its introducer
	drop   bool // nothing reads the string, its payload is not kept
	priv   byte // '<', '=', '>', '?' or 0
	inter  byte
	inter2 byte // of an escape sequence
	full   bool // more than maxParams parameters
	np     int
	par    [maxParams]int32 // -1 is absent
	sub    uint32           // bit i: parameter i was introduced by a colon

	u8  [utf8.UTFMax]byte // unfinished character
	u8n int
	// seq holds the bytes of the unfinished escape or CSI sequence, str the
	// payload of the unfinished string.
	seq []byte
	str []byte
}

// arg is parameter i, def when absent or 0.
func (p *parser) arg(i, def int) int {
	if i >= p.np || p.par[i] <= 0 {
		return def
	}
	return int(p.par[i])
}

// argz is parameter i, def when absent.
func (p *parser) argz(i, def int) int {
	if i >= p.np || p.par[i] < 0 {
		return def
	}
	return int(p.par[i])
}

// isSub reports whether parameter i is a sub-parameter.
func (p *parser) isSub(i int) bool { return i < p.np && p.sub&(1<<i) != 0 }

func (p *parser) clearSequence() {
	p.priv, p.inter, p.inter2, p.np, p.sub, p.full = 0, 0, 0, 0, 0, false
}

// Write feeds what a program wrote. It takes everything and never fails. Any
// split of the bytes over calls gives the same screen.
func (s *Screen) Write(p []byte) (n int, err error) {
	s.beginWrite(len(p))
	for b := p; len(b) > 0; {
		switch s.parser.state {
		case inGround:
			b = s.ground(b)
		case inString:
			b = s.payload(b)
		default:
			s.out.pos = len(p) - len(b)
			s.step(b[0])
			b = b[1:]
		}
	}
	s.endWrite()
	return len(p), nil
}

func (s *Screen) ground(b []byte) []byte {
	p := &s.parser
	if p.u8n > 0 {
		if b = s.continueUTF8(b); p.state != inGround {
			return b
		}
	}
	for len(b) > 0 {
		c := b[0]
		switch {
		case c-0x20 < 0x5f:
			b = b[s.printASCII(b):]
		case c == '\n':
			s.lineFeed()
			b = b[1:]
		case c == '\r':
			s.last = lastPrinted{}
			s.carriageReturn()
			b = b[1:]
		case c >= 0x80:
			if b = s.printUTF8(b); p.state != inGround {
				return b
			}
		case c == 0x1b:
			s.out.startSequence(len(b))
			if len(b) >= 3 && b[1] == '[' {
				if n := s.csiWhole(b); n > 0 {
					b = b[n:]
					continue
				}
			}
			s.enterEscape()
			return b[1:]
		default:
			s.out.startSequence(len(b))
			s.out.pos++
			s.control(c)
			b = b[1:]
		}
	}
	return b
}

// asciiRun returns the length of the leading run of printable ASCII.
func asciiRun(b []byte) int {
	i := 0
	for len(b)-i >= 8 {
		v := binary.LittleEndian.Uint64(b[i:])
		const high = 0x8080808080808080
		if m := (v | (v - 0x2020202020202020) | (v + 0x0101010101010101)) & high; m != 0 {
			// A borrow may mark later bytes too, never an earlier one.
			return i + bits.TrailingZeros64(m)>>3
		}
		i += 8
	}
	for i < len(b) && b[i]-0x20 < 0x5f {
		i++
	}
	return i
}

func (s *Screen) enterEscape() {
	p := &s.parser
	p.state = inEscape
	p.clearSequence()
	p.seq = append(p.seq[:0], 0x1b)
}

// csiWhole runs the CSI sequence at the start of b if all of it is there and
// it is well formed; 0 leaves it to step.
func (s *Screen) csiWhole(b []byte) int {
	p := &s.parser
	p.priv, p.inter, p.np, p.sub = 0, 0, 0, 0
	i := 2
	if c := b[i]; c >= '<' && c <= '?' {
		p.priv = c
		i++
	}
	for end := min(len(b), maxSequence); i < end; i++ {
		v := int32(-1)
		if d := b[i] - '0'; d < 10 {
			v = int32(d)
			for i++; i < end; i++ {
				if d = b[i] - '0'; d >= 10 {
					break
				}
				v = min(v*10+int32(d), maxNumber)
			}
			if i == end {
				return 0
			}
		}
		switch c := b[i]; {
		case c >= 0x40 && c <= 0x7e:
			if v >= 0 || p.np > 0 {
				p.par[p.np] = v
				p.np++
			}
			s.out.pos += i + 1
			s.csi(c)
			return i + 1
		case c == ';' || c == ':':
			if p.np >= maxParams-1 {
				return 0
			}
			p.par[p.np] = v
			p.np++
			if c == ':' {
				p.sub |= 1 << p.np
			}
		case c >= 0x20 && c <= 0x2f && p.inter == 0 && i+1 < end && b[i+1] >= 0x40:
			if v >= 0 || p.np > 0 {
				p.par[p.np] = v
				p.np++
			}
			p.inter = c
			if c = b[i+1]; c > 0x7e {
				return 0
			}
			s.out.pos += i + 2
			s.csi(c)
			return i + 2
		default:
			return 0
		}
	}
	return 0
}

// step takes one byte of an escape or CSI sequence. s.out.pos is its offset.
func (s *Screen) step(c byte) {
	p := &s.parser
	switch {
	case c == 0x18 || c == 0x1a: // CAN, SUB
		p.state = inGround
		return
	case p.state == inStringEsc:
		s.stringEsc(c)
		return
	case c == 0x1b:
		s.out.start = s.out.pos
		s.out.broke = s.out.over(s.out.pos)
		s.enterEscape()
		return
	case c < 0x20:
		s.control(c)
		return
	case p.state == inCSIIgnore:
		if c >= 0x40 && c <= 0x7e {
			p.state = inGround
		}
		return
	case c >= 0x7f:
		if c >= 0x80 {
			p.state = inGround // no sequence has such a byte
		}
		return
	}
	p.seq = append(p.seq, c)
	if p.state == inCSI {
		s.stepCSI(c)
		return
	}
	s.stepEscape(c)
}

func (s *Screen) stepEscape(c byte) {
	p := &s.parser
	switch {
	case c <= 0x2f:
		switch {
		case p.inter == 0:
			p.inter = c
		case p.inter2 == 0:
			p.inter2 = c
		default:
			p.inter2 = 0xff // no sequence has three
		}
		if len(p.seq) > maxSequence {
			p.seq = p.seq[:maxSequence]
		}
		p.state = inEscapeInter
	case p.state == inEscapeInter:
		p.state = inGround
		s.out.pos++
		s.escape(c)
	case c == '[':
		p.state = inCSI
		p.clearSequence()
	case c == ']' || c == 'P' || c == '_' || c == '^' || c == 'X' || c == 'k':
		p.state = inString
		p.kind = c
		p.drop = c == '^' || c == 'X' || c == 'k'
		p.str = p.str[:0]
	default:
		p.state = inGround
		s.out.pos++
		s.escape(c)
	}
}

func (s *Screen) stepCSI(c byte) {
	p := &s.parser
	switch {
	case len(p.seq) > maxSequence-1 && c < 0x40:
		p.state = inCSIIgnore
	case c-'0' < 10:
		if p.inter != 0 {
			p.state = inCSIIgnore
			return
		}
		s.digit(c)
	case c == ';' || c == ':':
		if p.inter != 0 {
			p.state = inCSIIgnore
			return
		}
		s.separator(c)
	case c >= '<' && c <= '?':
		if len(p.seq) != len("\x1b[?") {
			p.state = inCSIIgnore
			return
		}
		p.priv = c
	case c <= 0x2f:
		if p.inter != 0 {
			p.state = inCSIIgnore
			return
		}
		p.inter = c
	default:
		p.state = inGround
		s.out.pos++
		s.csi(c)
	}
}

func (s *Screen) digit(c byte) {
	p := &s.parser
	if p.full {
		return
	}
	if p.np == 0 {
		p.np, p.par[0] = 1, -1
	}
	v := &p.par[p.np-1]
	*v = min(max(*v, 0)*10+int32(c-'0'), maxNumber)
}

func (s *Screen) separator(c byte) {
	p := &s.parser
	if p.np == 0 {
		p.np, p.par[0] = 1, -1
	}
	if p.np == maxParams {
		p.full = true
		return
	}
	p.par[p.np] = -1
	if c == ':' {
		p.sub |= 1 << p.np
	}
	p.np++
}

// payload takes the bytes of a string in one go.
func (s *Screen) payload(b []byte) []byte {
	p := &s.parser
	i := 0
	for i < len(b) && b[i] != 0x1b && b[i] != 7 && b[i] != 0x18 && b[i] != 0x1a {
		i++
	}
	s.keep(b[:i])
	if b = b[i:]; len(b) == 0 {
		return nil
	}
	s.out.pos = s.out.size - len(b)
	switch b[0] {
	case 0x1b:
		p.state = inStringEsc
	case 7:
		if p.kind == ']' {
			p.state = inGround
			s.out.pos++
			s.stringEnd("\x07")
		} else {
			s.keep(b[:1])
		}
	default:
		p.state = inGround
	}
	return b[1:]
}

// keep adds to the string's payload. Only OSC may be long: it carries the
// clipboard. Of the others no more is looked at than a query can hold.
func (s *Screen) keep(b []byte) {
	p := &s.parser
	if p.drop {
		return
	}
	limit := maxString
	if p.kind != ']' {
		limit = maxHeld
	}
	if len(p.str)+len(b) > limit {
		p.drop, p.str = true, nil
		return
	}
	p.str = append(p.str, b...)
}

// stringEsc decides what an ESC inside a string was. Anything but ST ends the
// string as ST does and begins a sequence of its own.
func (s *Screen) stringEsc(c byte) {
	p := &s.parser
	p.state = inGround
	if c == '\\' {
		s.out.pos++
		s.stringEnd("\x1b\\")
		return
	}
	at := s.out.pos
	s.out.pos = at - 1
	s.stringEnd("\x1b\\")
	s.out.start, s.out.pos = at-1, at
	s.out.broke = s.out.over(at - 1)
	s.enterEscape()
	s.step(c)
}

// stringEnd runs the string; answers end as it did.
func (s *Screen) stringEnd(terminator string) {
	p := &s.parser
	s.out.terminator = terminator
	if !p.drop {
		switch p.kind {
		case ']':
			s.osc(p.str)
		case 'P':
			s.dcs(p.str)
		case '_':
			s.apc(p.str)
		}
	}
	s.last = lastPrinted{}
	if cap(p.str) > pageBytes {
		p.str = nil
	}
	p.str = p.str[:0]
}

// continueUTF8 goes on with a character whose start came earlier.
func (s *Screen) continueUTF8(b []byte) []byte {
	p := &s.parser
	for len(b) > 0 {
		p.u8[p.u8n] = b[0]
		u := p.u8[:p.u8n+1]
		if !utf8.FullRune(u) {
			p.u8n++
			b = b[1:]
			continue
		}
		p.u8n = 0
		r, z := utf8.DecodeRune(u)
		if z != len(u) {
			s.print(utf8.RuneError) // what came earlier; b[0] is looked at again
			s.out.broke = s.out.over(s.out.size - len(b))
			return b
		}
		s.printOrC1(r)
		return b[1:]
	}
	return nil
}

// decodeUTF8 is utf8.DecodeRune, but an ill-formed sequence is replaced as a
// whole (maximal subpart, Unicode 3.9), as continueUTF8 has to do it too.
func decodeUTF8(b []byte) (r rune, n int) {
	r, n = utf8.DecodeRune(b)
	if r == utf8.RuneError && n == 1 {
		for n < len(b) && n < utf8.UTFMax-1 && !utf8.FullRune(b[:n+1]) {
			n++
		}
	}
	return r, n
}

// printUTF8 prints the text at the start of b, which begins with a byte of a
// longer character, and returns what is left. ASCII between goes along.
func (s *Screen) printUTF8(b []byte) []byte {
	for len(b) > 0 && (b[0] >= 0x80 || b[0]-0x20 < 0x5f) {
		if n := s.printRun(b); n > 0 {
			b = b[n:]
			continue
		}
		if b[0] < 0x80 {
			return b
		}
		if !utf8.FullRune(b) {
			s.out.startSequence(len(b))
			s.parser.u8n = copy(s.parser.u8[:], b)
			return nil
		}
		r, n := decodeUTF8(b)
		if r >= 0x80 && r < 0xa0 {
			s.out.startSequence(len(b))
			b = b[n:]
			if s.printOrC1(r); s.parser.state != inGround {
				return b
			}
			continue
		}
		s.print(r)
		if b = b[n:]; r == utf8.RuneError {
			s.out.broke = s.out.over(s.out.size - len(b))
		}
	}
	return b
}

// printOrC1 takes the C1 controls, which UTF-8 spells with two bytes, for the
// escape sequences they stand for.
func (s *Screen) printOrC1(r rune) {
	if r < 0x80 || r >= 0xa0 {
		s.print(r)
		return
	}
	s.enterEscape()
	s.out.pos = s.out.start + 1
	s.step(byte(r - 0x40))
}
