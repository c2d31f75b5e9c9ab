package tui

import (
	"strings"
	"time"

	"termio/internal/api"
	"termio/internal/vt"
)

// drawList draws the sidebar: the roll-up, then the rows.
func (m *model) drawList(c *canvas, l layout) {
	if l.list.empty() {
		return
	}
	m.drawHead(c, l.head)
	for i := range l.rows.h {
		if n := m.top + i; n < len(m.list) {
			m.drawRow(c, l.rows.row(i), &m.list[n])
		}
	}
}

// drawHead says in one line how the whole fleet is.
func (m *model) drawHead(c *canvas, r rect) {
	t := m.fleet.total()
	rows, more := m.layout().rows.h, ""
	if m.top > 0 {
		more = "↑" + count(m.top)
	}
	if below := len(m.list) - m.top - rows; below > 0 {
		more += "↓" + count(below)
	}
	if more != "" {
		r.w -= c.right(r, m.theme.faint, more) + 1
	}
	type part struct {
		st   vt.Style
		text string
	}
	var parts []part
	if t.needsYou > 0 {
		parts = append(parts, part{m.theme.alarm, " " + m.words.needCount(t.needsYou) + " "})
	}
	if t.working > 0 {
		parts = append(parts, part{m.theme.working, m.words.workCount(t.working)})
	}
	if t.done > 0 {
		parts = append(parts, part{m.theme.done, m.words.doneCount(t.done)})
	}
	if len(parts) == 0 {
		parts = []part{{m.theme.title, "termio"}}
	}
	for i, p := range parts {
		if i > 0 {
			r = cut(r, c.text(r, m.theme.faint, " · "))
		}
		r = cut(r, c.text(r, p.st, p.text))
	}
}

// cut is r without its first n columns.
func cut(r rect, n int) rect { return rect{r.x + n, r.y, max(r.w-n, 0), r.h} }

// drawRow draws one row: what it is at the left, how it is and how long at the right.
func (m *model) drawRow(c *canvas, r rect, row *row) {
	ground := vt.Style{}
	if row.key == m.cursor {
		ground = m.theme.shown
		if m.focus == onList {
			ground = m.theme.selected
		}
		c.fill(r, ground)
	}
	on := func(st vt.Style) vt.Style { return under(st, ground) }
	r = cut(r, 2*row.depth)
	switch row.kind {
	case rowSession:
		m.drawSession(c, r, row, on)
	case rowNone:
		c.text(r, on(m.theme.faint), row.title)
	default:
		m.drawPlace(c, r, row, on)
	}
}

// drawPlace draws a section, a project or a work tree, with the roll-up of what is in it.
func (m *model) drawPlace(c *canvas, r rect, row *row, on func(vt.Style) vt.Style) {
	mark := "  "
	switch {
	case row.folds && row.folded:
		mark = "▸ "
	case row.folds:
		mark = "▾ "
	}
	r = cut(r, c.text(r, on(m.theme.faint), mark))
	r.w -= m.drawCounts(c, r, row, on)
	st := m.theme.title
	if row.kind == rowWorktree {
		st = m.theme.text
		r = cut(r, c.text(r, on(m.theme.faint), "⎇ "))
	}
	r = cut(r, c.text(r, on(st), row.title))
	if row.detail != "" && r.w > 6 {
		c.text(cut(r, 1), on(m.theme.faint), row.detail)
	}
}

// drawCounts draws a place's roll-up at the right and gives the columns it took. The
// sessions below tell the rest, unless they are folded away.
func (m *model) drawCounts(c *canvas, r rect, row *row, on func(vt.Style) vt.Style) int {
	var text string
	var st vt.Style
	switch n := row.counts; n.status() {
	case api.NeedsYou:
		text, st = "! "+count(n.needsYou), m.theme.needsYou
	case api.Working:
		text, st = m.spinner()+" "+count(n.working), m.theme.working
	case api.Done:
		text, st = "● "+count(n.done), m.theme.done
	default:
		return 0
	}
	return c.right(r, on(st), text) + 1
}

// count spells a small number.
func count(n int) string {
	if n > 99 {
		return "99+"
	}
	var b [2]byte
	if n > 9 {
		b[0], b[1] = byte('0'+n/10), byte('0'+n%10)
		return string(b[:])
	}
	b[0] = byte('0' + n)
	return string(b[:1])
}

// drawSession draws a session: its mark, its title, and how long it has been so.
func (m *model) drawSession(c *canvas, r rect, row *row, on func(vt.Style) vt.Style) {
	s := row.session
	glyph, st := m.mark(s)
	c.text(r, on(st), glyph)
	r = cut(r, 2)
	if s.Since > 0 && r.w > 12 {
		age := m.words.age(m.now.Sub(time.UnixMilli(s.Since)))
		r.w -= c.right(r, on(m.theme.faint), age) + 1
	}
	title := m.theme.text
	switch {
	case s.Status == api.NeedsYou:
		title = m.theme.needsYou
	case unread(s):
		title = m.theme.unread
	case s.Status == api.Closed:
		title = m.theme.closed
	}
	used := c.text(r, on(title), s.Title)
	if tool := toolOf(s); tool != "" && s.Status == api.Working && r.w-used > 5 {
		c.text(cut(r, used+1), on(m.theme.faint), tool)
	}
}

// toolOf is what a working session is doing, from its description: "working 2m: Bash, 1
// in the background".
func toolOf(s api.SessionInfo) string {
	_, tool, _ := strings.Cut(s.Description, ": ")
	tool, _, _ = strings.Cut(tool, ", ")
	return tool
}

// mark is the one cell that says how a session is.
func (m *model) mark(s api.SessionInfo) (string, vt.Style) {
	switch s.Status {
	case api.NeedsYou:
		return "!", m.theme.alarm
	case api.Working:
		return m.spinner(), m.theme.working
	case api.Done:
		if unread(s) {
			return "●", m.theme.done
		}
		return "○", m.theme.done
	case api.Closed:
		return "×", m.theme.closed
	}
	return "·", m.theme.idle
}

// spinner is the frame of what moves: one dot that goes round, calmly.
func (m *model) spinner() string {
	const dots = "⠁⠈⠐⠠⢀⡀⠄⠂"
	if m.look.Still {
		return "⠶"
	}
	const size = len("⠁")
	i := m.frame % (len(dots) / size)
	return dots[i*size : (i+1)*size]
}

// statusWord is a status as the person's language has it.
func (w *words) statusWord(s api.Status) string {
	switch s {
	case api.Working:
		return w.working
	case api.Done:
		return w.done
	case api.NeedsYou:
		return w.needsYou
	case api.Closed:
		return w.closed
	}
	return w.idle
}
