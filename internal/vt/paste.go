package vt

import (
	"strings"
	"unicode/utf8"
)

// AppendPaste appends text as pasting it sends it. Control characters other
// than tab and newline are left out, so that a paste can't end its own
// brackets or press keys; invalid UTF-8 is replaced. With bracketed paste (mode
// 2004) the text stands in brackets with its newlines as LF, else each newline
// is a Return.
func (s *Screen) AppendPaste(dst []byte, text string) []byte {
	if !s.modes.has(modePaste) {
		return AppendTyped(dst, text, '\r')
	}
	dst = append(dst, "\x1b[200~"...)
	dst = appendText(dst, text, '\n')
	return append(dst, "\x1b[201~"...)
}

// AppendTyped appends text as if it were typed, without brackets whatever the
// program asked for. newline is what ends a line: CR is Return, LF is Ctrl-J.
func AppendTyped(dst []byte, text string, newline byte) []byte {
	return appendText(dst, text, newline)
}

// appendText appends what of text may go to a program.
func appendText(dst []byte, text string, newline byte) []byte {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	for _, r := range text { // invalid bytes come as U+FFFD
		switch {
		case r == '\n' || r == '\r':
			dst = append(dst, newline)
		case r == '\t':
			dst = append(dst, '\t')
		case r < 0x20 || r >= 0x7f && r < 0xa0:
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	return dst
}
