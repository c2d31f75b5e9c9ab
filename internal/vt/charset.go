package vt

import "strings"

// A character set is named by the final byte of its designation: 'B' is ASCII, '0'
// DEC's special graphics, the others national replacement sets (NRCS). Those replace
// a dozen characters of ASCII; they are taken as designated, without DECNRCM, as in
// xterm.js. Whatever is not known is ASCII.

// replaced are the characters of ASCII that national sets replace.
const replaced = "#@[\\]^_`{|}~"

// national are the replacements, in the order of replaced; a space replaces nothing.
var national = [...]struct {
	finals string
	chars  [len(replaced)]rune
}{
	{"A", [...]rune{'£', ' ', ' ', ' ', ' ', ' ', ' ', ' ', ' ', ' ', ' ', ' '}},
	{"4", [...]rune{'£', '¾', 'ĳ', '½', '|', ' ', ' ', ' ', '¨', 'ƒ', '¼', '´'}},
	{"C5", [...]rune{' ', ' ', 'Ä', 'Ö', 'Å', 'Ü', ' ', 'é', 'ä', 'ö', 'å', 'ü'}},
	{"R", [...]rune{'£', 'à', '°', 'ç', '§', ' ', ' ', ' ', 'é', 'ù', 'è', '¨'}},
	{"Q", [...]rune{' ', 'à', 'â', 'ç', 'ê', 'î', ' ', 'ô', 'é', 'ù', 'è', 'û'}},
	{"K", [...]rune{' ', '§', 'Ä', 'Ö', 'Ü', ' ', ' ', ' ', 'ä', 'ö', 'ü', 'ß'}},
	{"Y", [...]rune{'£', '§', '°', 'ç', 'é', ' ', ' ', 'ù', 'à', 'ò', 'è', 'ì'}},
	{"E6", [...]rune{' ', 'Ä', 'Æ', 'Ø', 'Å', 'Ü', ' ', 'ä', 'æ', 'ø', 'å', 'ü'}},
	{"Z", [...]rune{'£', '§', '¡', 'Ñ', '¿', ' ', ' ', ' ', '°', 'ñ', 'ç', ' '}},
	{"H7", [...]rune{' ', 'É', 'Ä', 'Ö', 'Å', 'Ü', ' ', 'é', 'ä', 'ö', 'å', 'ü'}},
	{"=", [...]rune{'ù', 'à', 'é', 'ç', 'ê', 'î', 'è', 'ô', 'ä', 'ö', 'ü', 'û'}},
}

// knownCharset reports whether final designates a set that is kept.
func knownCharset(final byte) bool {
	return strings.IndexByte("B0A4C5RQKYE6ZH7=", final) >= 0
}

// graphics is the DEC special character set, from '`' on.
var graphics = [...]rune{
	'◆', '▒', '␉', '␌', '␍', '␊', '°', '±', '␤', '␋', '┘', '┐', '┌', '└', '┼', '⎺',
	'⎻', '─', '⎼', '⎽', '├', '┤', '┴', '┬', '│', '≤', '≥', 'π', '≠', '£', '·',
}

// translate applies the character set in use to a character of ASCII.
func (s *Screen) translate(r rune) rune {
	set := s.cur.charset[s.cur.gl]
	if s.singleShift != 0 {
		set = s.cur.charset[s.singleShift]
		s.singleShift = 0
	}
	switch {
	case set == 'B':
		return r
	case set == '0' && r >= '`' && r < '`'+rune(len(graphics)):
		return graphics[r-'`']
	case set == '0' && r == '_':
		return ' '
	case set == '0':
		return r
	}
	i := strings.IndexRune(replaced, r)
	if i < 0 {
		return r
	}
	for _, n := range national {
		if strings.IndexByte(n.finals, set) >= 0 && n.chars[i] != ' ' {
			return n.chars[i]
		}
	}
	return r
}
