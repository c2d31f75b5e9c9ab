package demo

import (
	"fmt"
	"sort"
	"strings"
)

// A composer is the box that takes a person's text. The loop owns it.
type composer struct {
	value string
	pos   int // cursor, in bytes, at the edge of a character
	// attached are pastes that show as a line; by that line.
	attached map[string]string
	pastes   int // that were attached so far, for their numbers
	vim      string
}

// The modes of a vim composer; "" is none.
const (
	vimInsert = "insert"
	vimNormal = "normal"
)

// clear empties the composer. A modal one stays in its mode, as Claude Code's does.
func (c *composer) clear() { c.value, c.pos, c.attached = "", 0, nil }

func (c *composer) set(text string) { c.value, c.pos = text, len(text) }

// text is what would be submitted: attachments stand for what was pasted.
func (c *composer) text() string {
	if len(c.attached) == 0 {
		return c.value
	}
	pairs := make([]string, 0, 2*len(c.attached))
	for line, content := range c.attached {
		pairs = append(pairs, line, content)
	}
	return strings.NewReplacer(pairs...).Replace(c.value)
}

func (c *composer) insert(s string) {
	c.value = c.value[:c.pos] + s + c.value[c.pos:]
	c.pos += len(s)
}

// paste inserts pasted text, as a line that stands for it from attach bytes on; 0 is
// never.
func (c *composer) paste(s string, attach int) {
	s = strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
	if attach == 0 || len(s) < attach {
		c.insert(s)
		return
	}
	c.pastes++
	line := fmt.Sprintf("[Pasted text #%d +%d lines]", c.pastes, strings.Count(s, "\n")+1)
	if c.attached == nil {
		c.attached = map[string]string{}
	}
	c.attached[line] = s
	c.insert(line)
}

// key does what an editing key does and reports whether it was one.
func (c *composer) key(name string) bool {
	switch name {
	case "left", "ctrl+b":
		c.pos -= last(c.value[:c.pos])
	case "right", "ctrl+f":
		c.pos += next(c.value[c.pos:])
	case "home", "ctrl+a":
		c.pos = c.lineStart()
	case "end", "ctrl+e":
		c.pos = c.lineEnd()
	case "up", "ctrl+p":
		c.vertical(-1)
	case "down", "ctrl+n":
		c.vertical(1)
	case "backspace", "ctrl+h", "shift+backspace":
		n := last(c.value[:c.pos])
		c.value = c.value[:c.pos-n] + c.value[c.pos:]
		c.pos -= n
	case "delete":
		c.value = c.value[:c.pos] + c.value[c.pos+next(c.value[c.pos:]):]
	case "ctrl+k":
		c.value = c.value[:c.pos] + c.value[c.lineEnd():]
	case "ctrl+u":
		from := c.lineStart()
		c.value, c.pos = c.value[:from]+c.value[c.pos:], from
	case "ctrl+w", "alt+backspace":
		head := strings.TrimRight(c.value[:c.pos], " ")
		head = head[:strings.LastIndexAny(head, " \n")+1]
		c.value, c.pos = head+c.value[c.pos:], len(head)
	case "ctrl+j", "shift+enter", "alt+enter", "ctrl+enter":
		c.insert("\n")
	case "tab":
		c.insert("    ")
	case "space", "shift+space":
		c.insert(" ")
	default:
		return false
	}
	return true
}

// normal does what a character means in vim's normal mode.
func (c *composer) normal(r rune) {
	switch r {
	case 'i':
		c.vim = vimInsert
	case 'a':
		c.key("right")
		c.vim = vimInsert
	case 'I':
		c.key("home")
		c.vim = vimInsert
	case 'A':
		c.key("end")
		c.vim = vimInsert
	case 'h':
		c.key("left")
	case 'l':
		c.key("right")
	case 'j':
		c.key("down")
	case 'k':
		c.key("up")
	case '0':
		c.key("home")
	case '$':
		c.key("end")
	case 'x':
		c.key("delete")
	case 'D':
		c.key("ctrl+k")
	}
}

func (c *composer) lineStart() int { return strings.LastIndexByte(c.value[:c.pos], '\n') + 1 }

func (c *composer) lineEnd() int {
	if i := strings.IndexByte(c.value[c.pos:], '\n'); i >= 0 {
		return c.pos + i
	}
	return len(c.value)
}

// vertical moves the cursor a line up or down, as near to its column as there is.
func (c *composer) vertical(by int) {
	column := width(c.value[c.lineStart():c.pos])
	if by < 0 {
		if c.lineStart() == 0 {
			return
		}
		c.pos = c.lineStart() - 1
	} else {
		if c.lineEnd() == len(c.value) {
			return
		}
		c.pos = c.lineEnd() + 1
	}
	from := c.lineStart()
	head, _ := cut(c.value[from:c.lineEnd()], column)
	c.pos = from + len(head)
}

// rows lays the text out; the cursor's place is in rows and cells. Of a long text
// the rows around the cursor are given.
func (c *composer) rows(cells, most int) (rows []string, cx, cy int) {
	rows, starts := fold(c.value, cells)
	cy = max(sort.SearchInts(starts, c.pos+1)-1, 0)
	cx = width(c.value[starts[cy]:c.pos])
	if cx >= cells { // the cursor waits on the row that the next character opens
		if cy+1 == len(rows) || starts[cy+1] > c.pos {
			rows = append(rows[:cy+1], append([]string{""}, rows[cy+1:]...)...)
		}
		cx, cy = 0, cy+1
	}
	if len(rows) > most {
		from := min(max(cy-most+1, 0), len(rows)-most)
		rows, cy = rows[from:from+most], cy-from
	}
	return rows, cx, cy
}
