package demo

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// An entry is a paragraph of the conversation as it is shown.
type entry struct {
	mark  string // before its first row
	style style  // of the text
	text  string
	tight bool // no blank row before it
	open  bool // it still grows

	cached []row // rows at cachedCols, until the text changes
	cols   int
}

// Bounds of what is shown; the transcript has the whole.
const (
	maxEntries   = 2000
	maxEntryRows = 2000
	maxUserRows  = 20 // of a prompt's echo
	composerRows = 8
)

// say appends an entry.
func (a *agent) say(e *entry) *entry {
	a.entries = append(a.entries, e)
	if len(a.entries) > maxEntries {
		drop := len(a.entries) - maxEntries
		a.entries = append([]*entry(nil), a.entries[drop:]...)
		a.scrolled = max(a.scrolled-drop, 0)
	}
	return e
}

func (a *agent) sayText(text string) *entry { return a.say(&entry{mark: "● ", text: text}) }

func (a *agent) sayUnder(text string) *entry {
	return a.say(&entry{mark: "  ⎿  ", style: grey, text: text, tight: true})
}

func (a *agent) sayError(text string) *entry {
	return a.say(&entry{mark: "  ⎿  ", style: bad, text: text, tight: true})
}

func (a *agent) sayUser(text string) *entry {
	return a.say(&entry{mark: "❯ ", style: user, text: text})
}

// grow appends to an open entry.
func (e *entry) grow(text string) {
	e.text += text
	e.cached = nil
}

// rows lays an entry out.
func (e *entry) rows(cols int, paint func(style) style) []row {
	if e.cached != nil && e.cols == cols {
		return e.cached
	}
	var rows []row
	if !e.tight {
		rows = append(rows, row{})
	}
	indent := width(e.mark)
	lines := wrap(clean(e.text), cols-indent)
	most := maxEntryRows
	if e.style == user {
		most = maxUserRows
	}
	if more := len(lines) - most; more > 0 {
		lines = append(lines[:most:most], fmt.Sprintf("… +%d lines", more))
	}
	for i, l := range lines {
		var r row
		head := strings.Repeat(" ", indent)
		if i == 0 {
			head = e.mark
		}
		if e.style == user {
			r.add(paint(user), head+l+strings.Repeat(" ", max(cols-indent-width(l), 0)))
		} else {
			r.add(paint(grey), head)
			r.add(paint(e.style), l)
		}
		rows = append(rows, r)
	}
	e.cached, e.cols = rows, cols
	return rows
}

// paintStyle is a style as this terminal's person wants it.
func (a *agent) paintStyle(s style) style {
	if a.noColor {
		return colourless(s)
	}
	return s
}

// banner opens the conversation.
func (a *agent) banner() {
	a.say(&entry{mark: " ◆ ", style: bold, text: "Demo agent", tight: true})
	a.say(&entry{mark: "   ", style: grey, text: "scripted, no model behind it · /help lists what a prompt can do", tight: true})
	a.say(&entry{mark: "   ", style: grey, text: a.cwd, tight: true})
}

// frame is what the screen shows now.
func (a *agent) frame() frame {
	if a.set.screen == "inline" {
		return a.inlineFrame()
	}
	bottom, x, y, cursor := a.bottom()
	if over := len(bottom) - a.rows; over > 0 { // the end matters most
		bottom, y = bottom[over:], y-over
	}
	room := a.rows - len(bottom)
	var above []row
	for i := len(a.entries) - 1; i >= 0 && len(above) < room; i-- {
		above = append(append([]row(nil), a.entries[i].rows(a.cols, a.paintStyle)...), above...)
	}
	if over := len(above) - room; over > 0 {
		above = above[over:]
	}
	f := frame{rows: make([]row, 0, a.rows), x: clamp(x, a.cols), cursor: cursor && y >= 0}
	f.rows = append(f.rows, above...)
	for len(f.rows) < room {
		f.rows = append(f.rows, row{})
	}
	f.y = clamp(len(f.rows)+y, a.rows)
	f.rows = append(f.rows, bottom...)
	return f
}

func clamp(n, size int) int { return max(min(n, size-1), 0) }

// inlineFrame is the same for a terminal whose history keeps what is done: entries
// that do not grow any more leave the frame.
func (a *agent) inlineFrame() frame {
	var f frame
	for a.scrolled < len(a.entries) && !a.entries[a.scrolled].open {
		f.done = append(f.done, a.entries[a.scrolled].rows(a.cols, a.paintStyle)...)
		a.scrolled++
	}
	var live []row
	for _, e := range a.entries[a.scrolled:] {
		live = append(live, e.rows(a.cols, a.paintStyle)...)
	}
	bottom, x, y, cursor := a.bottom()
	f.rows = append(live, bottom...)
	y += len(live)
	if over := len(f.rows) - a.rows; over > 0 {
		f.rows, y = f.rows[over:], y-over
	}
	f.x, f.y, f.cursor = clamp(x, a.cols), clamp(y, len(f.rows)), cursor && y >= 0
	return f
}

// spinner turns while a turn runs.
var spinner = [...]string{"·", "✢", "✳", "✶", "✻", "✽"}

// bottom is the live end of the screen: what runs, and the composer or the dialog.
func (a *agent) bottom() (rows []row, x, y int, cursor bool) {
	if d := a.dialog; d != nil {
		rows = append(rows, row{})
		lines, x, y := d.rows(a.cols)
		if a.noColor {
			for i := range lines {
				lines[i].text = uncoloured(lines[i].text)
			}
		}
		return append(rows, lines...), x, y + 1, true
	}
	if !a.ready {
		return nil, 0, 0, false
	}
	add := func(st style, text string) {
		var r row
		r.add(a.paintStyle(st), shorten(text, a.cols))
		rows = append(rows, r)
	}
	rows = append(rows, row{})
	if t := a.turn; t != nil && !t.silent {
		spent := a.now().Sub(t.began).Truncate(time.Second)
		add(accent, fmt.Sprintf("%s %s… (%s · esc to interrupt)", spinner[a.ticks%len(spinner)], t.verb, spent))
		rows = append(rows, row{})
	}
	for _, q := range a.queue {
		add(grey, "  queued: "+firstLine(clean(q.text)))
	}
	rows = append(rows, rule(a.paintStyle(grey), "─", a.cols))
	lines, cx, cy := a.composerRows()
	for i, l := range lines {
		var r row
		if i == 0 {
			r.add(a.paintStyle(plain), "❯ ")
		} else {
			r.add(plain, "  ")
		}
		if a.composer.value == "" {
			r.add(dim, l)
		} else {
			r.add(plain, l)
		}
		rows = append(rows, r)
	}
	x, y = cx+2, len(rows)-len(lines)+cy
	rows = append(rows, rule(a.paintStyle(grey), "─", a.cols))
	add(grey, a.footer())
	return rows, x, y, true
}

// composerRows are the composer's rows as they can be shown.
func (a *agent) composerRows() (lines []string, x, y int) {
	cells := max(a.cols-2, 1)
	if a.composer.value == "" {
		return []string{shorten(clean(firstLine(a.set.suggestion)), cells)}, 0, 0
	}
	shown := a.composer
	shown.value = visible(shown.value)
	return shown.rows(cells, composerRows)
}

// visible replaces control characters byte for byte, so that places in the text
// stay what they are.
func visible(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return unicode.IsControl(r) && r != '\n' }) < 0 {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch size := utf8.RuneLen(r); {
		case r == '\t':
			b.WriteByte(' ')
		case r != '\n' && unicode.IsControl(r):
			b.WriteString(strings.Repeat("?", size))
		default:
			b.WriteString(s[i : i+size])
		}
	}
	return b.String()
}

func (a *agent) footer() string {
	var parts []string
	if v := a.composer.vim; v != "" {
		parts = append(parts, "-- "+strings.ToUpper(v)+" --")
	}
	switch {
	case a.hint != "":
		parts = append(parts, a.hint)
	case a.turn != nil:
		parts = append(parts, "esc to interrupt")
	default:
		parts = append(parts, "/help for help")
	}
	if n := len(a.background); n > 0 {
		parts = append(parts, fmt.Sprintf("%d in the background", n))
	}
	return "  " + strings.Join(parts, " · ")
}

// firstLine is the first line of s, and says when there are more.
func firstLine(s string) string {
	l, rest, more := strings.Cut(s, "\n")
	if more && rest != "" {
		return l + " …"
	}
	return l
}

// uncoloured takes the styles out of a row's text.
func uncoloured(s string) string {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(s, "\x1b[")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		_, s, _ = strings.Cut(rest, "m")
	}
}

// draw brings the screen up to date.
func (a *agent) draw() {
	if !a.mounted || a.code != nil {
		return
	}
	a.writeBytes(a.painter.paint(a.frame()))
}
