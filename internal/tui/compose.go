package tui

import (
	"context"
	"slices"
	"strings"

	"termio/internal/api"
	"termio/internal/vt"
)

// compose is a prompt for a session that is not gone to. It is no answer: while the
// session asks something, nothing is sent.
type compose struct {
	link    string
	title   string
	text    *field
	sending bool
	err     string
}

// composedMsg is the outcome of sending a prompt.
type composedMsg struct {
	from     *compose
	delivery api.Delivery
	err      error
}

// openCompose opens a prompt for the selected session.
func (m *model) openCompose() []command {
	s, ok := m.selected()
	if !ok || s.Status == api.Closed {
		m.say(m.words.nothingSelected)
		return nil
	}
	m.push(&compose{link: s.Link, title: s.Title, text: newField(m.drafts[s.Link])}, false)
	return nil
}

// Sizes of a prompt, in cells.
const composeCols, composeRows = 100, 9 // at most

func (p *compose) place(screen rect) rect {
	screen.h = max(screen.h-1, 0)
	r := screen.centred(composeCols, composeRows)
	r.y = screen.h - r.h
	return r
}

// fieldOf is where the text is.
func (p *compose) fieldOf(area rect) rect {
	return rect{area.x + 2, area.y + 1, area.w - 4, max(area.h-3-p.errRows(area.w-4), 1)}
}

func (p *compose) errRows(w int) int { return min(len(wrap(p.err, w)), 2) }

func (p *compose) update(m *model, msg message) []command {
	switch msg := msg.(type) {
	case pasteMsg:
		if !p.sending {
			p.text.insert(string(msg))
		}
	case keyMsg:
		switch k := vt.Key(msg); {
		case k.Name == vt.KeyEscape, k == m.keys.prefix, k == vt.Key{Rune: 'c', Mods: vt.Ctrl}:
			m.keepDraft(p.link, p.text.text())
			m.pop()
		case p.sending:
		case k == vt.Key{Name: vt.KeyEnter}:
			return p.send(m)
		default:
			p.err = ""
			p.text.key(k, p.fieldOf(p.place(m.screen())).w)
		}
	}
	return nil
}

func (p *compose) send(m *model) []command {
	text := strings.TrimSpace(p.text.text())
	if text == "" {
		return nil
	}
	if m.fleet.sessions[p.link].Status == api.NeedsYou {
		p.err = m.words.start.asksFirst
		return nil
	}
	p.sending, p.err = true, ""
	m.keepDraft(p.link, p.text.text())
	return []command{func(ctx context.Context) message {
		v, err := m.call.Send(ctx, p.link, api.SendRequest{Text: text})
		return composedMsg{p, v.Delivery, err}
	}}
}

// composed takes the outcome of sending a prompt.
func (m *model) composed(msg composedMsg) {
	p := msg.from
	open := slices.ContainsFunc(m.layers, func(t onTop) bool { return t.layer == p })
	p.sending = false
	if msg.err != nil {
		p.err = msg.err.Error()
		if !open {
			m.fail(p.err)
		}
		return
	}
	delete(m.drafts, p.link)
	m.layers = slices.DeleteFunc(m.layers, func(t onTop) bool { return t.layer == p })
	if msg.delivery == api.Queued {
		m.say(m.words.start.queued(p.title))
		return
	}
	m.say(m.words.start.sent(p.title))
}

func (p *compose) draw(m *model, c *canvas, area rect) {
	w := &m.words.start
	m.frameAround(c, area, w.to(p.title))
	ground := m.theme.selected
	ground.Attr = 0
	r := p.fieldOf(area)
	p.text.draw(c, r, under(m.theme.input, ground), under(m.theme.faint, ground), !p.sending, w.message)
	rows := p.errRows(r.w)
	for i, l := range wrap(p.err, r.w)[:rows] {
		c.text(rect{r.x, r.y + r.h + i, r.w, 1}, under(m.theme.errText, m.theme.panel), l)
	}
	hint := w.sendHint
	switch s := m.fleet.sessions[p.link]; {
	case p.sending:
		hint = w.sending
	case s.Status == api.Working:
		hint = w.worksHint
	}
	c.text(rect{r.x, area.y + area.h - 2, r.w, 1}, under(m.theme.faint, m.theme.panel), hint)
}
