package demo

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// Styles are parameters of SGR.
type style string

const (
	plain  style = ""
	bold   style = "1"
	dim    style = "2"
	accent style = "38;5;173" // warm
	cool   style = "38;5;110"
	bad    style = "38;5;167"
	grey   style = "38;5;245"
	user   style = "48;5;237;38;5;255"
)

// colourless leaves of a style what NO_COLOR allows.
func colourless(s style) style {
	if s == bold || s == dim {
		return s
	}
	return plain
}

// A row is one line of the screen: styled text and how many cells it takes.
type row struct {
	text  string
	cells int
}

// add appends text in a style.
func (r *row) add(st style, text string) {
	r.cells += width(text)
	if st == plain || text == "" {
		r.text += text
		return
	}
	r.text += "\x1b[" + string(st) + "m" + text + "\x1b[m"
}

// A frame is what the screen should show. In a terminal that scrolls, rows are only
// its live end, and done are the rows before it that never change again.
type frame struct {
	done   []row
	rows   []row
	x, y   int // cursor, in cells from the top left of rows
	cursor bool
}

// A painter brings the terminal from the last frame to the next. It writes whole
// rows, so that a changed row's text stands in one piece in the output, and nothing
// when nothing changed. The zero value knows nothing of the terminal.
type painter struct {
	inline     bool
	cols       int
	last       frame
	drawn      bool
	cursorLine int // inline: how far below the first live row the cursor is
}

// forget makes the next frame a whole one, after a resize.
func (p *painter) forget(cols int) { p.drawn, p.cols = false, cols }

// paint gives the bytes that make the terminal show f.
func (p *painter) paint(f frame) []byte {
	if p.inline {
		return p.scroll(f)
	}
	var b bytes.Buffer
	if !p.drawn {
		b.WriteString("\x1b[2J")
		p.last = frame{}
	}
	for y, r := range f.rows {
		if p.drawn && y < len(p.last.rows) && p.last.rows[y] == r {
			continue
		}
		if b.Len() == 0 {
			b.WriteString("\x1b[?25l")
		}
		fmt.Fprintf(&b, "\x1b[%d;1H%s", y+1, p.line(r))
	}
	if b.Len() == 0 && p.drawn && f.x == p.last.x && f.y == p.last.y && f.cursor == p.last.cursor {
		return nil
	}
	fmt.Fprintf(&b, "\x1b[%d;%dH", f.y+1, f.x+1)
	b.WriteString(show(f.cursor))
	p.last, p.drawn = f, true
	return b.Bytes()
}

// line is a row's text with the rest of its line erased. A full row is not erased
// after: the cursor then still stands on its last cell.
func (p *painter) line(r row) string {
	if r.cells >= p.cols {
		return r.text
	}
	return r.text + "\x1b[K"
}

// scroll paints on a terminal whose history keeps what is done.
func (p *painter) scroll(f frame) []byte {
	if p.drawn && len(f.done) == 0 && slices.Equal(f.rows, p.last.rows) &&
		f.x == p.last.x && f.y == p.last.y && f.cursor == p.last.cursor {
		return nil
	}
	var b bytes.Buffer
	b.WriteString("\x1b[?25l\r")
	if p.cursorLine > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", p.cursorLine)
	}
	b.WriteString("\x1b[J")
	for _, r := range f.done {
		b.WriteString(r.text + "\r\n")
	}
	for i, r := range f.rows {
		if i > 0 {
			b.WriteString("\r\n")
		}
		b.WriteString(r.text)
	}
	b.WriteString("\r")
	if up := len(f.rows) - 1 - f.y; up > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", up)
	}
	if f.x > 0 {
		fmt.Fprintf(&b, "\x1b[%dC", f.x)
	}
	b.WriteString(show(f.cursor))
	p.last, p.drawn, p.cursorLine = f, true, f.y
	p.last.done = nil
	return b.Bytes()
}

func show(cursor bool) string {
	if cursor {
		return "\x1b[?25h"
	}
	return "\x1b[?25l"
}

// rule is a line across the screen.
func rule(st style, what string, cols int) row {
	var r row
	r.add(st, strings.Repeat(what, max(cols, 0)))
	return r
}
