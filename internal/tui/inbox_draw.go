package tui

import (
	"fmt"
	"slices"
	"time"

	"termio/internal/api"
	"termio/internal/vt"
)

// Sizes of the inbox, in cells.
const (
	inboxCols, inboxRows = 100, 32 // at most
	queueFrom            = 76      // from this width on, all questions stand at its left
	queueCols            = 28
	ownRows              = 3 // of the person's own words while they are being typed
)

// inboxParts is where everything of the inbox is.
type inboxParts struct {
	queue   rect // all questions; empty where there is no room
	head    rect // who asks
	text    rect // the question and its detail
	options rect
	own     rect // the person's own words; empty unless they are being typed
	hint    rect
	lines   []textLine
	rows    []optionRow
}

// A textLine is a line of a question.
type textLine struct {
	text   string
	detail bool
}

// An optionRow is a row of the options that is seen: a label may take several.
type optionRow struct {
	y, option   int
	mark, label string
}

func (b *inbox) place(screen rect) rect {
	screen.h = max(screen.h-1, 0) // the last row says what has happened
	return screen.centred(inboxCols, inboxRows)
}

// parts is the one function from a place to where everything is.
func (b *inbox) parts(m *model, area rect) inboxParts {
	var p inboxParts
	in := rect{area.x + 2, area.y + 1, area.w - 4, area.h - 2}
	if area.w >= queueFrom {
		p.queue = rect{in.x, in.y, queueCols, in.h}
		in.x, in.w = in.x+queueCols+3, in.w-queueCols-3
	}
	if in.empty() {
		return inboxParts{}
	}
	p.head = rect{in.x, in.y, in.w, min(2, in.h)}
	p.hint = in.row(in.h - 1)
	in.y, in.h = in.y+2, in.h-3
	if in.h > 10 {
		in.y, in.h = in.y+1, in.h-2
	}
	if b.typing {
		h := min(ownRows, max(in.h/3, 1))
		p.own = rect{in.x + 2, in.y + in.h - h, in.w - 2, h}
		in.h -= h
	}
	rows := b.optionRows(m, in.w)
	least := min(3, in.h) // of the question, whatever there is to choose from
	h := max(min(len(rows), in.h-least), 0)
	for _, l := range wrap(b.question(), in.w) {
		p.lines = append(p.lines, textLine{text: l})
	}
	if d := b.s.Dialog; d != nil && d.Detail != "" {
		for _, l := range wrap(d.Detail, in.w) {
			p.lines = append(p.lines, textLine{text: l, detail: true})
		}
	}
	first := 0 // the marked option stays in sight
	if over := len(rows) - h; over > 0 {
		first = max(min(slices.IndexFunc(rows, func(r optionRow) bool { return r.option == b.pick })-h/2, over), 0)
	}
	p.text = rect{in.x, in.y, in.w, min(len(p.lines), in.h-h)}
	y := p.text.y + p.text.h
	if free := in.h - h - p.text.h; free > 0 {
		y++
	}
	p.options = rect{in.x, y, in.w, h}
	p.rows = rows[min(first, len(rows)):min(first+h, len(rows))]
	for i := range p.rows {
		p.rows[i].y = y + i
	}
	if b.typing { // beneath the option that they are
		p.own.y = y + h
	}
	return p
}

// question is what is asked: where no channel says so, what is on the screen.
func (b *inbox) question() string {
	if b.s.Dialog != nil {
		return b.s.Dialog.Question
	}
	return b.s.Prompt
}

// optionRows are the rows of all options.
func (b *inbox) optionRows(m *model, w int) []optionRow {
	var rows []optionRow
	add := func(i int, mark, label string) {
		for n, l := range wrap(label, w-2-vt.Width(mark)-1) {
			if n > 0 {
				mark = ""
			}
			rows = append(rows, optionRow{option: i, mark: mark, label: l})
		}
	}
	d := b.s.Dialog
	if d == nil {
		return nil
	}
	for i, o := range d.Options {
		mark := fmt.Sprintf("%2d", optionNumber(i, o))
		if o.Number == 0 && o.Key != "" {
			mark = " " + o.Key
		}
		if d.Multiple {
			mark += map[bool]string{true: " [x]", false: " [ ]"}[b.ticks[i]]
		}
		add(i, mark, o.Label)
	}
	if b.own != nil && (len(d.Options) > 0 || !b.typing) {
		add(len(d.Options), " w", m.words.inbox.ownWords)
	}
	return rows
}

func (b *inbox) draw(m *model, c *canvas, area rect) {
	waiting := b.waiting(m)
	title := m.words.inbox.title
	if n := len(waiting); n > 1 {
		i := slices.IndexFunc(waiting, func(s api.SessionInfo) bool { return s.Link == b.s.Link })
		title = m.words.inbox.ofAll(i+1, n)
	}
	m.frameAround(c, area, title)
	p := b.parts(m, area)
	on := func(st vt.Style) vt.Style { return under(st, m.theme.panel) }
	if !p.queue.empty() {
		b.drawQueue(m, c, p.queue, waiting)
	}
	if b.s.Link == "" {
		c.text(p.head, on(m.theme.dim), m.words.inbox.onItsWay)
		return
	}
	b.drawHead(m, c, p.head)
	for i := range p.text.h {
		if n := b.top + i; n < len(p.lines) {
			st := m.theme.title
			if p.lines[n].detail {
				st = m.theme.text
			}
			c.text(p.text.row(i), on(st), p.lines[n].text)
		}
	}
	if b.top > 0 {
		c.text(rect{p.text.x + p.text.w, p.text.y, 1, 1}, on(m.theme.key), "↑")
	}
	if b.top+p.text.h < len(p.lines) {
		c.text(rect{p.text.x + p.text.w, p.text.y + p.text.h - 1, 1, 1}, on(m.theme.key), "↓")
	}
	b.drawOptions(m, c, p)
	if b.typing {
		b.own.draw(c, p.own, under(m.theme.input, m.theme.selected), under(m.theme.faint, m.theme.selected), !b.gone, m.words.inbox.answer)
	}
	c.text(p.hint, on(m.theme.faint), b.hint(m))
}

// drawHead says who asks, since when, and where it is.
func (b *inbox) drawHead(m *model, c *canvas, r rect) {
	on := func(st vt.Style) vt.Style { return under(st, m.theme.panel) }
	glyph, st := m.mark(b.s)
	who := cut(r.row(0), c.text(r.row(0), st, glyph)+1)
	who.w -= c.right(who, on(m.theme.faint), m.words.age(m.now.Sub(time.UnixMilli(b.s.Since)))) + 1
	c.text(who, on(m.theme.needsYou), b.s.Title)
	where := b.s.Agent
	if b.s.Project != "" {
		where = b.s.Project + " · " + where
	}
	if d := b.s.Dialog; d != nil {
		if kind := m.words.inbox.kinds[d.Kind]; kind != "" {
			where += " · " + kind
		}
	}
	c.text(r.row(1), on(m.theme.faint), where)
}

func (b *inbox) drawOptions(m *model, c *canvas, p inboxParts) {
	for i, row := range p.rows {
		r := p.options.row(i)
		ground := m.theme.panel
		if row.option == b.pick && !b.gone {
			ground = m.theme.selected
			c.fill(r, ground)
		}
		if row.mark != "" {
			c.text(r, under(m.theme.key, ground), row.mark)
		}
		indent := 3
		if b.multiple() {
			indent = 7
		}
		c.text(cut(r, indent), under(m.theme.text, ground), row.label)
	}
}

// drawQueue draws all questions, the one that is shown marked.
func (b *inbox) drawQueue(m *model, c *canvas, r rect, waiting []api.SessionInfo) {
	for y := range r.h {
		c.text(rect{r.x + r.w + 1, r.y + y, 1, 1}, m.theme.panelEdge, "│")
	}
	for i, s := range waiting {
		row := r.row(i)
		ground := m.theme.panel
		if s.Link == b.s.Link {
			ground = m.theme.selected
			c.fill(row, ground)
		}
		age := m.words.age(m.now.Sub(time.UnixMilli(s.Since)))
		row.w -= c.right(row, under(m.theme.faint, ground), age) + 1
		c.text(row, under(m.theme.text, ground), s.Title)
	}
}

// hint says which keys there are.
func (b *inbox) hint(m *model) string {
	w := &m.words.inbox
	switch {
	case b.gone:
		return w.goneHint
	case b.typing:
		return w.typeHint
	case b.choices() == 0:
		return w.thereHint
	case b.multiple():
		return w.tickHint
	}
	return w.pickHint
}
