package tui

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"termio/internal/api"
	"termio/internal/vt"
)

// A line is a line to type into, in the last row.
type line struct {
	label string
	text  string
	at    int // bytes of text before the cursor
	enter func(m *model, text string) []command
	hint  func(m *model, text string) string // stands behind the text
}

// newLine makes a line that holds a text already.
func newLine(label, text string, enter func(m *model, text string) []command) *line {
	return &line{label: label, text: text, at: len(text), enter: enter}
}

func (l *line) place(screen rect) rect { return screen.row(screen.h - 1) }

func (l *line) update(m *model, msg message) []command {
	switch msg := msg.(type) {
	case pasteMsg:
		l.insert(plain(string(msg)))
	case keyMsg:
		switch k := vt.Key(msg); {
		case k.Name == vt.KeyEscape, k == vt.Key{Rune: 'c', Mods: vt.Ctrl}, k == m.keys.prefix:
			m.pop()
		case k.Name == vt.KeyEnter:
			m.pop()
			return l.enter(m, l.text)
		default:
			l.key(k)
		}
	}
	return nil
}

// key edits the line.
func (l *line) key(k vt.Key) {
	switch {
	case k.Name == vt.KeyLeft && l.at > 0:
		l.at -= lastCluster(l.text[:l.at])
	case k.Name == vt.KeyRight && l.at < len(l.text):
		cl, _ := cluster(l.text[l.at:])
		l.at += len(cl)
	case k.Name == vt.KeyHome, k == vt.Key{Rune: 'a', Mods: vt.Ctrl}:
		l.at = 0
	case k.Name == vt.KeyEnd, k == vt.Key{Rune: 'e', Mods: vt.Ctrl}:
		l.at = len(l.text)
	case k.Name == vt.KeyBackspace && l.at > 0:
		n := lastCluster(l.text[:l.at])
		l.text, l.at = l.text[:l.at-n]+l.text[l.at:], l.at-n
	case k.Name == vt.KeyDelete && l.at < len(l.text):
		cl, _ := cluster(l.text[l.at:])
		l.text = l.text[:l.at] + l.text[l.at+len(cl):]
	case k == vt.Key{Rune: 'u', Mods: vt.Ctrl}:
		l.text, l.at = l.text[l.at:], 0
	case k == vt.Key{Rune: 'w', Mods: vt.Ctrl}:
		head := strings.TrimRight(l.text[:l.at], " ")
		head = head[:strings.LastIndexByte(head, ' ')+1]
		l.text, l.at = head+l.text[l.at:], len(head)
	case k.Rune != 0 && k.Rune != utf8.RuneError && k.Mods&^vt.Shift == 0:
		l.insert(string(k.Rune))
	}
}

func (l *line) insert(s string) {
	l.text = l.text[:l.at] + s + l.text[l.at:]
	l.at += len(s)
}

// lastCluster is the length in bytes of the last grapheme cluster of s.
func lastCluster(s string) int {
	n := 0
	for rest := s; rest != ""; rest = rest[n:] {
		cl, _ := cluster(rest)
		n = len(cl)
	}
	return n
}

func (l *line) draw(m *model, c *canvas, r rect) {
	c.fill(r, vt.Style{})
	r = cut(r, c.text(r, m.theme.key, l.label))
	r = cut(r, 1)
	before := l.text[:l.at]
	for vt.Width(before) >= r.w && before != "" { // the cursor stays in sight
		cl, _ := cluster(before)
		before = before[len(cl):]
	}
	used := c.text(r, m.theme.input, before+l.text[l.at:])
	c.cursor = vt.Cursor{X: r.x + min(vt.Width(before), max(r.w-1, 0)), Y: r.y, Visible: true}
	if l.hint != nil {
		c.text(cut(r, used+2), m.theme.dim, l.hint(m, l.text))
	}
}

// confirm asks before something is done that cannot be taken back.
type confirm struct {
	text string
	yes  func(m *model) []command
}

func (q *confirm) place(screen rect) rect { return screen.row(screen.h - 1) }

func (q *confirm) update(m *model, msg message) []command {
	k, ok := msg.(keyMsg)
	if !ok {
		return nil
	}
	switch {
	case k.Rune == 'y' || k.Rune == 'Y':
		m.pop()
		return q.yes(m)
	case k.Rune == 'n' || k.Rune == 'N' || k.Name == vt.KeyEscape || k.Rune == 'q' || vt.Key(k) == m.keys.prefix:
		m.pop()
	}
	return nil
}

func (q *confirm) draw(m *model, c *canvas, r rect) {
	c.fill(r, vt.Style{})
	keys := " y " + m.words.yes + "  n " + m.words.no
	w := c.right(r, m.theme.key, keys)
	c.text(rect{r.x, r.y, r.w - w, 1}, m.theme.needsYou, q.text)
}

// page is a text to be read, with a title; any key but those that scroll closes it.
type page struct {
	title string
	lines []string
	top   int
}

func (p *page) place(screen rect) rect {
	w := vt.Width(p.title)
	for _, l := range p.lines {
		w = max(w, vt.Width(l))
	}
	r := screen.centred(w+4, len(p.lines)+2)
	return r
}

func (p *page) update(m *model, msg message) []command {
	k, ok := msg.(keyMsg)
	if !ok {
		return nil
	}
	last := max(len(p.lines)-(p.place(rect{0, 0, m.cols, m.rows}).h-2), 0)
	switch {
	case k.Name == vt.KeyDown || k.Rune == 'j':
		p.top = min(p.top+1, last)
	case k.Name == vt.KeyUp || k.Rune == 'k':
		p.top = max(p.top-1, 0)
	case k.Name == vt.KeyPageDown || k.Rune == ' ':
		p.top = min(p.top+m.rows/2, last)
	case k.Name == vt.KeyPageUp:
		p.top = max(p.top-m.rows/2, 0)
	default:
		m.pop()
	}
	return nil
}

func (p *page) draw(m *model, c *canvas, r rect) {
	m.frameAround(c, r, p.title)
	for i := range r.h - 2 {
		if p.top+i < len(p.lines) {
			c.text(r.row(i+1).inset(2), m.theme.panel, p.lines[p.top+i])
		}
	}
}

// frameAround draws the ground and the edge of a panel.
func (m *model) frameAround(c *canvas, r rect, title string) {
	c.fill(r, m.theme.panel)
	if r.w < 2 || r.h < 2 {
		return
	}
	edge := m.theme.panelEdge
	bar := strings.Repeat("─", r.w-2)
	c.text(r.row(0), edge, "╭"+bar+"╮")
	for y := 1; y < r.h-1; y++ {
		c.text(rect{r.x, r.y + y, 1, 1}, edge, "│")
		c.text(rect{r.x + r.w - 1, r.y + y, 1, 1}, edge, "│")
	}
	c.text(r.row(r.h-1), edge, "╰"+bar+"╯")
	if title != "" {
		c.text(cut(r.row(0).inset(1), 1), under(m.theme.title, m.theme.panel), " "+title+" ")
	}
}

// helpPage lists every action with its keys.
func helpPage(m *model) *page {
	h := &page{title: m.words.helpTitle}
	h.lines = []string{m.keys.prefix.String() + "  " + m.words.actSidebar + " ⇄ " + m.words.actPane, ""}
	for _, a := range m.acts {
		keys := strings.Join(a.keys, " ")
		h.lines = append(h.lines, keys+strings.Repeat(" ", max(20-vt.Width(keys), 1))+a.title)
	}
	return h
}

// explain asks what a status rests on, and shows it.
func explain(c calls, link string) command {
	return func(ctx context.Context) message {
		v, err := c.Explain(ctx, link)
		if err != nil {
			return failedMsg{err}
		}
		return explainedMsg{v}
	}
}

type explainedMsg struct{ reply api.ExplainReply }

// explanation is the page of an explain.
func explanation(v api.ExplainReply) *page {
	p := &page{title: v.Title, lines: []string{string(v.Status), v.Why, ""}}
	for _, e := range v.Evidence {
		won := " "
		if e.Won {
			won = "*"
		}
		p.lines = append(p.lines, strings.TrimSpace(fmt.Sprintf("%s %-10s %-9s %s %s %s", won, e.Channel, e.Status, e.Rule, e.Text, e.Note)))
	}
	return p
}
