package tui

import (
	"time"

	"termio/internal/api"
	"termio/internal/vt"
)

// draw draws the whole interface. It changes nothing.
func (m *model) draw(c *canvas) {
	c.reset(m.cols, m.rows)
	l := m.layout()
	m.drawList(c, l)
	m.drawAsk(c, l)
	rule := m.theme.rule
	if m.focus == onPane {
		rule = m.theme.ruleLive
	}
	for y := range l.rule.h {
		c.text(l.rule.row(y), rule, "│")
	}
	m.drawTitle(c, l.title)
	if !l.pane.empty() {
		m.drawPane(c, l.pane)
	}
	m.drawBar(c, l.bar)
	screen := c.bounds()
	for _, t := range m.layers {
		t.draw(m, c, t.place(screen))
	}
}

// drawPane draws the selected session's terminal, or why there is none.
func (m *model) drawPane(c *canvas, r rect) {
	switch p := m.pane; {
	case p == nil:
		c.text(cut(r.row(r.h/2), max((r.w-vt.Width(m.words.nothingYet))/2, 0)), m.theme.faint, m.welcome())
	case p.live == nil:
		s := m.fleet.sessions[p.link]
		c.text(r.row(0).inset(1), m.theme.dim, m.words.ended)
		c.text(r.row(1).inset(1), m.theme.faint, s.Reason)
		c.text(r.row(2).inset(1), m.theme.faint, "R  "+m.words.actResume)
	default:
		p.draw(c, r, m.focus == onPane && len(m.layers) == 0, m.theme.faint)
	}
}

// welcome is what stands where no session is shown.
func (m *model) welcome() string {
	if !m.fleet.known {
		return ""
	}
	return m.words.nothingYet + "  n " + m.words.actNew + "  t " + m.words.actTerminal
}

// drawTitle names the session above its terminal.
func (m *model) drawTitle(c *canvas, r rect) {
	if r.empty() || m.pane == nil {
		return
	}
	s := m.fleet.sessions[m.pane.link]
	r = r.inset(1)
	glyph, st := m.mark(s)
	c.text(r, st, glyph)
	r = cut(r, 2)
	right := ""
	if r.w >= 50 {
		right = s.Agent + " · "
	}
	if s.Since > 0 {
		right += m.words.statusWord(s.Status) + " " + m.words.age(m.now.Sub(time.UnixMilli(s.Since)))
	}
	if r.w > 30 {
		r.w -= c.right(r, m.theme.dim, right) + 2
	}
	c.text(r, m.theme.title, s.Title)
}

// drawBar draws the last row: what the person has to know now, else the keys.
func (m *model) drawBar(c *canvas, r rect) {
	if r.empty() {
		return
	}
	switch p := m.pane; {
	case m.notice != "" && m.noticeBad:
		c.text(r, m.theme.errText, m.notice)
	case m.daemonErr != nil:
		c.text(r, m.theme.errText, m.words.daemonGone)
	case m.notice != "":
		c.text(r, m.theme.text, m.notice)
	case p != nil && p.live != nil && p.lost:
		c.text(r, m.theme.errText, m.words.linkDown)
	case p != nil && p.live != nil && p.ended != "":
		c.text(r, m.theme.dim, m.words.ended+" "+p.ended)
	case p != nil && p.back > 0:
		c.text(r, m.theme.needsYou, m.words.scrolledBack(p.back))
	case len(m.layers) > 0: // which says by itself what its keys are
	case m.focus == onPane:
		m.drawPaneBar(c, r)
	default:
		m.drawKeys(c, r)
	}
}

// drawPaneBar says how to get away from the terminal, and who waits meanwhile.
func (m *model) drawPaneBar(c *canvas, r rect) {
	if p := m.pane; p != nil && p.ready && !p.leads && (p.vtView.cols != p.cols || p.vtView.rows != p.rows) {
		c.text(r, m.theme.needsYou, m.words.sizeOfOther(p.vtView.cols, p.vtView.rows))
		return
	}
	if t := m.fleet.total(); t.needsYou > 0 && m.fleet.sessions[m.cursor].Status != api.NeedsYou {
		text := " " + m.words.needCount(t.needsYou) + " "
		r.w -= c.right(r, m.theme.alarm, text) + 1
	}
	r = cut(r, c.text(r, m.theme.key, m.keys.prefix.String()))
	c.text(cut(r, 1), m.theme.bar, m.words.actSidebar)
}

// drawKeys draws the keys that are most wanted, as many as fit.
func (m *model) drawKeys(c *canvas, r rect) {
	if _, d := m.openDialog(); d != nil && len(d.Options) > 0 {
		r = cut(r, c.text(r, m.theme.alarm, " 1-"+count(len(d.Options))+" "))
		r = cut(r, c.text(cut(r, 1), m.theme.needsYou, m.words.answerHint)+3)
	}
	for _, a := range m.acts {
		if a.hint == "" || r.w < vt.Width(a.hint)+1+vt.Width(a.title) {
			continue
		}
		r = cut(r, c.text(r, m.theme.key, a.hint)+1)
		r = cut(r, c.text(r, m.theme.bar, a.title)+2)
	}
}
