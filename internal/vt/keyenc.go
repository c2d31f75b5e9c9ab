package vt

import (
	"strconv"
	"unicode"
	"unicode/utf8"
)

// The flags of the kitty keyboard protocol. Event types (2) say nothing about
// presses, which are all that is sent.
const (
	kittyDisambiguate = 1
	kittyAlternates   = 4
	kittyAll          = 8
	kittyText         = 16
)

// AppendKey appends what pressing k sends to the program under the modes in
// force: cursor and keypad modes, modifyOtherKeys, the kitty keyboard flags.
func (s *Screen) AppendKey(dst []byte, k Key) []byte {
	if k.Rune == 0 && k.Name.code() == (keyCode{}) {
		return dst
	}
	if flags := s.g.kitty.flags(); flags != 0 {
		if out, ok := appendKitty(dst, k, flags); ok {
			return out
		}
	}
	if code, mods, ok := s.otherKey(k); ok {
		return appendCSI(dst, '~', 27, 1+int(mods), code)
	}
	if k.Name != "" {
		return s.appendNamed(dst, k)
	}
	return appendChar(dst, k)
}

// appendCSI appends CSI parameters final; negative parameters are empty.
func appendCSI(dst []byte, final byte, params ...int) []byte {
	dst = append(dst, "\x1b["...)
	for i, p := range params {
		if i > 0 {
			dst = append(dst, ';')
		}
		if p >= 0 {
			dst = strconv.AppendInt(dst, int64(p), 10)
		}
	}
	return append(dst, final)
}

// appendNamed is the encoding of xterm's PC-style keys.
func (s *Screen) appendNamed(dst []byte, k Key) []byte {
	c := k.Name.code()
	mods := 1 + int(k.Mods&(Shift|Alt|Ctrl))
	switch {
	case c.text != 0:
		return s.appendKeypad(dst, k, c)
	case c.final == '~' && mods > 1:
		return appendCSI(dst, '~', c.code, mods)
	case c.final == '~':
		return appendCSI(dst, '~', c.code)
	case c.final != 'u' && mods > 1:
		return appendCSI(dst, c.final, 1, mods)
	case c.final >= 'P' && c.final <= 'S', c.final != 'u' && s.modes.has(modeCursorKeys):
		return append(dst, 0x1b, 'O', c.final)
	case c.final != 'u':
		return append(dst, 0x1b, '[', c.final)
	case k.Name == KeyTab && k.Mods&Shift != 0:
		return append(dst, "\x1b[Z"...)
	}
	if k.Mods&Alt != 0 {
		dst = append(dst, 0x1b)
	}
	switch k.Name {
	case KeyEnter:
		dst = append(dst, '\r')
		if s.modes.has(modeNewline) {
			dst = append(dst, '\n')
		}
	case KeyTab:
		dst = append(dst, '\t')
	case KeyEscape:
		dst = append(dst, 0x1b)
	case KeyBackspace:
		// Control turns one code into the other, as does the mode.
		if (k.Mods&Ctrl != 0) != s.modes.has(modeBackarrow) {
			return append(dst, 0x08)
		}
		dst = append(dst, 0x7f)
	}
	return dst
}

func (s *Screen) appendKeypad(dst []byte, k Key, c keyCode) []byte {
	if s.modes.has(modeKeypad) {
		return append(dst, 0x1b, 'O', c.keypad)
	}
	if c.text == '\r' {
		return s.appendNamed(dst, Key{Name: KeyEnter, Mods: k.Mods})
	}
	return appendChar(dst, Key{Rune: rune(c.text), Mods: k.Mods})
}

// appendChar is a character with modifiers as terminals always sent it.
func appendChar(dst []byte, k Key) []byte {
	r := k.Rune
	if k.Mods&Shift != 0 {
		r = unicode.ToUpper(r)
	}
	if k.Mods&Alt != 0 {
		dst = append(dst, 0x1b)
	}
	if k.Mods&Ctrl != 0 {
		if c, ok := controlCode(k.Rune); ok {
			return append(dst, c)
		}
	}
	return utf8.AppendRune(dst, r)
}

// controlCode is the C0 control that Ctrl makes of a character, digits as on a
// VT220.
func controlCode(r rune) (byte, bool) {
	switch {
	case r >= 'a' && r <= 'z', r >= '@' && r <= '_':
		return byte(r & 0x1f), true
	case r >= '3' && r <= '7':
		return byte(r-'3') + 0x1b, true
	}
	switch r {
	case ' ', '2', '`':
		return 0, true
	case '8', '?':
		return 0x7f, true
	case '/', '-':
		return 0x1f, true
	case '~':
		return 0x1e, true
	}
	return 0, false
}

// otherKey decides whether modifyOtherKeys takes the key: on level 1 where the
// plain encoding would lose the modifiers, from level 2 on every modified key
// but a shifted character.
func (s *Screen) otherKey(k Key) (code int, mods Mods, ok bool) {
	mods = k.Mods & (Shift | Alt | Ctrl)
	if s.otherKeys == 0 || mods == 0 {
		return 0, 0, false
	}
	code = int(k.Rune)
	if k.Name != "" {
		c := k.Name.code()
		if c.final != 'u' || k.Name == KeyTab && mods == Shift {
			return 0, 0, false
		}
		code = c.code
		if s.otherKeys == 1 {
			// Alt alone has its ESC, Ctrl+Backspace its BS.
			return code, mods, mods != Alt && (k.Name != KeyBackspace || mods != Ctrl)
		}
		return code, mods, true
	}
	if mods == Shift && k.Rune != ' ' {
		return 0, 0, false
	}
	if mods&Shift != 0 {
		code = int(unicode.ToUpper(k.Rune))
	}
	if s.otherKeys == 1 {
		_, plain := controlCode(k.Rune)
		return code, mods, mods&Ctrl != 0 && (!plain || mods&Shift != 0)
	}
	return code, mods, true
}

// appendKitty encodes a press for the kitty keyboard protocol. It reports
// false where the flags leave the key as it always was.
func appendKitty(dst []byte, k Key, flags int) ([]byte, bool) {
	all := flags&kittyAll != 0
	if k.Name != "" {
		return appendKittyNamed(dst, k, all, flags)
	}
	r, mods := k.Rune, k.Mods
	if low := unicode.ToLower(r); low != r {
		r, mods = low, mods|Shift // the key's code is never the shifted one
	}
	textual := mods&^Shift == 0
	if !all && (textual || flags&kittyDisambiguate == 0) {
		return nil, false
	}
	dst = append(dst, "\x1b["...)
	dst = strconv.AppendInt(dst, int64(r), 10)
	shifted := unicode.ToUpper(r)
	if flags&kittyAlternates != 0 && mods&Shift != 0 && shifted != r {
		dst = append(dst, ':')
		dst = strconv.AppendInt(dst, int64(shifted), 10)
	}
	text := flags&kittyText != 0 && all && textual
	if mods != 0 || text {
		dst = append(dst, ';')
	}
	if mods != 0 {
		dst = strconv.AppendInt(dst, int64(mods)+1, 10)
	}
	if text {
		if mods&Shift != 0 {
			r = shifted
		}
		dst = append(dst, ';')
		dst = strconv.AppendInt(dst, int64(r), 10)
	}
	return append(dst, 'u'), true
}

func appendKittyNamed(dst []byte, k Key, all bool, flags int) ([]byte, bool) {
	c := k.Name.code()
	mods := int(k.Mods) + 1
	code, final := c.code, c.final
	if c.kitty != 0 {
		code, final = c.kitty, 'u'
		if k.Name == "f3" {
			final = '~'
		}
	}
	switch {
	case flags&(kittyDisambiguate|kittyAll) == 0:
		return nil, false
	case c.text != 0 && !all && mods == 1:
		return nil, false
	case c.final == 'u' && !all && mods == 1 && k.Name != KeyEscape:
		return nil, false // Return, Tab and Backspace stay, so that a crashed program leaves a usable shell
	case final != 'u' && final != '~' && mods == 1:
		return append(dst, 0x1b, '[', final), true
	case final != 'u' && final != '~':
		return appendCSI(dst, final, 1, mods), true
	case mods == 1:
		return appendCSI(dst, final, code), true
	}
	return appendCSI(dst, final, code, mods), true
}
