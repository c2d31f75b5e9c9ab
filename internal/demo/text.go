package demo

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"termio/internal/vt"
)

// Widths are in cells, and no text is cut inside a character a person sees.

// width is how many cells s takes.
func width(s string) int { return vt.Width(s) }

// cut gives the longest beginning of s that fits into cells, and its width.
func cut(s string, cells int) (string, int) { return vt.Cut(s, cells) }

// shorten cuts s to cells and says so with an ellipsis.
func shorten(s string, cells int) string {
	if width(s) <= cells {
		return s
	}
	s, _ = cut(s, cells-1)
	return s + "…"
}

// next is the length in bytes of the first character of s as a person sees it.
func next(s string) int {
	if s == "" {
		return 0
	}
	if s[0] == '\n' {
		return 1
	}
	for cells := 1; cells <= 2; cells++ { // a character takes one cell or two
		if head, _ := vt.Cut(s, cells); head != "" {
			return len(head)
		}
	}
	_, n := utf8.DecodeRuneInString(s)
	return n
}

// last is the length in bytes of the last one. Clusters do not reach over a
// newline, so only its last line is read.
func last(s string) int {
	line := s[strings.LastIndexByte(s, '\n')+1:]
	if line == "" {
		return len(s) - len(strings.TrimSuffix(s, "\n"))
	}
	n := 0
	for ; line != ""; line = line[n:] {
		n = next(line)
	}
	return n
}

// clean makes text harmless on a terminal: no control characters but newlines,
// tabs as blanks.
func clean(s string) string {
	s = strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\t", "    ")
	return strings.Map(func(r rune) rune {
		if r != '\n' && (unicode.IsControl(r) || r == '\u2028' || r == '\u2029') {
			return -1
		}
		return r
	}, s)
}

// wrap breaks text into rows of at most cells, at blanks where there are any. Every
// newline begins a row.
func wrap(s string, cells int) []string {
	cells = max(cells, 1)
	var rows []string
	for line := range strings.SplitSeq(s, "\n") {
		for width(line) > cells && next(line) < len(line) {
			head, _ := cut(line, cells)
			if head == "" { // a wide character in one cell
				head = line[:next(line)]
			}
			if i := strings.LastIndexByte(head, ' '); i > 0 && line[len(head)] != ' ' {
				head = head[:i]
			}
			rows = append(rows, head)
			line = strings.TrimPrefix(line[len(head):], " ")
		}
		rows = append(rows, line)
	}
	return rows
}

// fold breaks text into rows of exactly what fits, losing nothing, and tells for
// each at which byte of s it begins.
func fold(s string, cells int) (rows []string, starts []int) {
	cells = max(cells, 1)
	at := 0
	for {
		line, _, more := strings.Cut(s[at:], "\n")
		for first := true; first || line != ""; first = false {
			head, _ := cut(line, cells)
			if head == "" && line != "" {
				head = line[:next(line)]
			}
			rows, starts = append(rows, head), append(starts, at)
			at += len(head)
			line = line[len(head):]
		}
		if !more {
			return rows, starts
		}
		at++ // the newline
	}
}
