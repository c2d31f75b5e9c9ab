package quick

import "unicode/utf8"

// maxDepth bounds how deep a value is nested.
const maxDepth = 32

// A decoder reads JSON of a daemon of this very version, and gives up on what such a
// one does not write: the whole program reads that. A first fault stays, and all that
// is read after it is empty.
type decoder struct {
	b     []byte
	at    int
	depth int
	bad   bool
}

// fail notes a fault.
func (d *decoder) fail() { d.bad = true }

// peek is the next character that is no space; 0 at the end or after a fault.
func (d *decoder) peek() byte {
	for ; d.at < len(d.b); d.at++ {
		switch c := d.b[d.at]; c {
		case ' ', '\t', '\r', '\n':
		default:
			if d.bad {
				return 0
			}
			return c
		}
	}
	return 0
}

// take passes over one character, which must be c.
func (d *decoder) take(c byte) {
	if d.peek() != c {
		d.fail()
		return
	}
	d.at++
}

// end reports whether all has been read without a fault.
func (d *decoder) end() bool { return d.peek() == 0 && !d.bad && d.at == len(d.b) }

// list reads an array's elements or an object's members, each by a call of one.
func (d *decoder) list(open, close byte, one func()) {
	d.take(open)
	if d.depth++; d.depth > maxDepth {
		d.fail()
	}
	for first := true; !d.bad && d.peek() != close; first = false {
		if !first {
			d.take(',')
			if d.peek() == close {
				d.fail()
			}
		}
		one()
	}
	d.take(close)
	d.depth--
}

// object reads an object. Each member's value is read by the call of member, which
// reports whether it knows the name; what it does not know is passed over. A name that
// comes twice would have to be the last one's, and is left to others.
func (d *decoder) object(member func(name string) bool) {
	seen := make([]string, 0, 32)
	d.list('{', '}', func() {
		name := d.text()
		for _, s := range seen {
			if s == name {
				d.fail()
			}
		}
		for i := range len(name) {
			if c := name[i]; c != '_' && (c < 'a' || c > 'z') && (c < '0' || c > '9') {
				d.fail() // others take it for a name that they know, whatever its case
			}
		}
		seen = append(seen, name)
		d.take(':')
		if !member(name) {
			d.pass()
		}
	})
}

// pass passes over any value.
func (d *decoder) pass() {
	switch c := d.peek(); c {
	case '{':
		d.list('{', '}', func() {
			d.text()
			d.take(':')
			d.pass()
		})
	case '[':
		d.list('[', ']', d.pass)
	case '"':
		d.text()
	case 't':
		d.word("true")
	case 'f':
		d.word("false")
	case 'n':
		d.word("null")
	default:
		d.integer()
	}
}

// word passes over a literal.
func (d *decoder) word(w string) {
	d.peek()
	if d.bad || len(d.b)-d.at < len(w) || string(d.b[d.at:d.at+len(w)]) != w {
		d.fail()
		return
	}
	d.at += len(w)
}

// integer passes over a whole number; the wire has no others.
func (d *decoder) integer() {
	if d.peek() == '-' {
		d.at++
	}
	from := d.at
	for d.at < len(d.b) && '0' <= d.b[d.at] && d.b[d.at] <= '9' {
		d.at++
	}
	if n := d.at - from; n == 0 || n > 1 && d.b[from] == '0' {
		d.fail()
	}
}

// text reads a string.
func (d *decoder) text() string {
	d.take('"')
	if d.bad {
		return ""
	}
	from := d.at
	for d.at < len(d.b) && d.b[d.at] != '"' && d.b[d.at] != '\\' && d.b[d.at] >= ' ' {
		d.at++
	}
	s := d.b[from:d.at]
	if d.at < len(d.b) && d.b[d.at] == '\\' {
		s = d.escaped(append(make([]byte, 0, 2*len(s)+64), s...))
	}
	if d.bad || d.at >= len(d.b) || d.b[d.at] != '"' || !utf8.Valid(s) {
		d.fail()
		return ""
	}
	d.at++
	return string(s)
}

// escaped reads on to a string's end, which it does not take, from its first escape.
func (d *decoder) escaped(s []byte) []byte {
	for d.at < len(d.b) && d.b[d.at] != '"' {
		c := d.b[d.at]
		d.at++
		switch {
		case c < ' ':
			d.fail()
			return nil
		case c != '\\':
			s = append(s, c)
		default:
			s = d.escape(s)
		}
	}
	return s
}

// escape reads what stands after a backslash.
func (d *decoder) escape(s []byte) []byte {
	if d.at >= len(d.b) {
		d.fail()
		return s
	}
	c := d.b[d.at]
	d.at++
	switch c {
	case '"', '\\', '/':
		return append(s, c)
	case 'b':
		return append(s, '\b')
	case 'f':
		return append(s, '\f')
	case 'n':
		return append(s, '\n')
	case 'r':
		return append(s, '\r')
	case 't':
		return append(s, '\t')
	case 'u':
		return utf8.AppendRune(s, d.hex())
	}
	d.fail()
	return s
}

// hex reads the four digits of a character. Halves of one are left to others.
func (d *decoder) hex() rune {
	var r rune
	for range 4 {
		if d.at >= len(d.b) {
			d.fail()
			return 0
		}
		c := d.b[d.at]
		d.at++
		switch {
		case '0' <= c && c <= '9':
			r = r<<4 | rune(c-'0')
		case 'a' <= c && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		case 'A' <= c && c <= 'F':
			r = r<<4 | rune(c-'A'+10)
		default:
			d.fail()
		}
	}
	if r >= 0xd800 && r <= 0xdfff {
		d.fail()
	}
	return r
}
