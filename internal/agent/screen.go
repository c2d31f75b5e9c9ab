package agent

import (
	"strings"
	"unicode"
)

// A ScreenView is what is visible of a session's terminal.
type ScreenView struct {
	Rows          []string // the viewport from the top, trimmed on the right
	CursorX       int      // in cells
	CursorY       int      // row of the viewport, hidden or not; -1 is not known
	CursorVisible bool
	Title         string
	// Dim reports whether the cell at x, y is drawn faint or in a colour close to
	// the background's, as suggestions are; nil when nothing is.
	Dim func(x, y int) bool
	// Colours tells the colours of the cell at x, y apart: equal numbers are equal
	// colours. Nil where they are not known.
	Colours func(x, y int) uint64
}

// row is the text of a row, "" outside of the viewport.
func (v ScreenView) row(y int) string {
	if y < 0 || y >= len(v.Rows) {
		return ""
	}
	return v.Rows[y]
}

// last is the last row that is not blank, -1 when all are.
func (v ScreenView) last() int {
	y := len(v.Rows) - 1
	for y >= 0 && isBlank(v.Rows[y]) {
		y--
	}
	return y
}

// cursorIn reports whether the cursor shows in the rows from..to-1, or its place is not
// known.
func (v ScreenView) cursorIn(from, to int) bool {
	return v.CursorY < 0 || v.CursorVisible && v.CursorY >= from && v.CursorY < to
}

func isBlank(s string) bool { return strings.TrimSpace(s) == "" }

// isRuling reports whether a row only draws: rules, frames, dashes.
func isRuling(s string) bool {
	drawn := 0
	for _, r := range s {
		switch {
		case unicode.IsSpace(r):
		case r >= 0x2500 && r <= 0x259f, r == '-', r == '=', r == '_':
			drawn++
		default:
			return false
		}
	}
	return drawn >= 3
}

// unframe takes the sides of a box and the blanks around off a row.
func unframe(s string) string {
	return strings.TrimFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || r == '│' || r == '┃' || r == '║' || r == '▌' || r == '▐'
	})
}

// clean makes a line of text for people: control characters out, runs of blanks
// folded, cut to limit runes.
func clean(s string, limit int) string {
	var b strings.Builder
	n, space := 0, false
	for _, r := range s {
		if unicode.IsSpace(r) || unicode.IsControl(r) {
			space = b.Len() > 0
			continue
		}
		if !unicode.IsGraphic(r) {
			continue
		}
		if space {
			b.WriteByte(' ')
			n++
			space = false
		}
		if n >= limit {
			return strings.TrimRight(b.String(), " ") + "…"
		}
		b.WriteRune(r)
		n++
	}
	return b.String()
}

// cut shortens text that may have several lines to limit bytes, at a rune's border.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	limit -= len("…")
	for limit > 0 && s[limit]&0xc0 == 0x80 {
		limit--
	}
	return s[:max(limit, 0)] + "…"
}
