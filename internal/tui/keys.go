package tui

import (
	"termio/internal/api"
	"termio/internal/vt"
)

// input takes what the person does: to the layer on top, if there is one, else to the
// part that it is for.
func (m *model) input(msg message) []command {
	if n := len(m.layers); n > 0 {
		top := m.layers[n-1]
		if m.now.Before(top.deafUntil) {
			return nil
		}
		return top.update(m, msg)
	}
	if m.now.Before(m.deafUntil) {
		m.say(m.words.gone)
		return nil
	}
	switch msg := msg.(type) {
	case keyMsg:
		if m.focus == onPane {
			return m.paneKey(vt.Key(msg))
		}
		return m.listKey(vt.Key(msg))
	case pasteMsg:
		if m.focus == onPane && m.pane != nil && m.pane.live != nil {
			m.pane.scroll(-m.pane.back)
			if !m.pane.live.paste(string(msg)) {
				m.fail(m.words.linkDown)
			}
		}
	case mouseMsg:
		return m.mouse(vt.Mouse(msg))
	}
	return nil
}

// listKey is a key while the list has them.
func (m *model) listKey(k vt.Key) []command {
	m.notice = ""
	if k == m.keys.prefix {
		return m.toPane()
	}
	if k.Mods == 0 && k.Rune >= '1' && k.Rune <= '9' {
		if cmds, ok := m.answerKey(k.Rune); ok {
			return cmds
		}
	}
	if id, ok := m.keys.byKey[k]; ok {
		return m.do(id)
	}
	m.say(m.words.unknown)
	return nil
}

// paneKey is a key while the terminal has them: all but the prefix key are the session's.
func (m *model) paneKey(k vt.Key) []command {
	if k == m.keys.prefix {
		m.start, m.early = "", nil
		m.setFocus(onList)
		return nil
	}
	if m.start != "" { // what is about to be shown gets it, and nothing else
		if len(m.early) < maxEarly {
			m.early = append(m.early, k)
		}
		return nil
	}
	p := m.pane
	switch {
	case p == nil || p.live == nil || p.ended != "":
		m.setFocus(onList)
		return m.listKey(k)
	case k.Mods == vt.Shift && (k.Name == vt.KeyPageUp || k.Name == vt.KeyPageDown) && (p.history > 0 && !p.live.modes().AltScreen):
		by := max(p.rows-2, 1)
		if k.Name == vt.KeyPageDown {
			by = -by
		}
		p.scroll(by)
		return nil
	case p.back > 0:
		p.scroll(-p.back)
		if k.Name == vt.KeyEscape {
			return nil
		}
	}
	if !p.live.key(k) {
		m.fail(m.words.linkDown)
	}
	return nil
}

// wheelLines is how far a notch of the wheel scrolls.
const wheelLines = 3

// mouse is a mouse event: it belongs to the part that it is over.
func (m *model) mouse(e vt.Mouse) []command {
	l := m.layout()
	wheel := e.Button == vt.ButtonWheelUp || e.Button == vt.ButtonWheelDown
	press := e.Action == vt.MousePress && !wheel
	switch {
	case l.rows.holds(e.X, e.Y) && wheel:
		by := wheelLines
		if e.Button == vt.ButtonWheelUp {
			by = -by
		}
		m.top = max(min(m.top+by, len(m.list)-l.rows.h), 0)
	case l.rows.holds(e.X, e.Y) && press:
		return m.clickRow(m.top+e.Y-l.rows.y, e.X-l.rows.x)
	case l.ask.holds(e.X, e.Y) && press:
		_, d := m.openDialog()
		lines, options := m.askLines(l.ask.w - 1)
		if n := e.Y - l.ask.y - 1 - (min(len(lines), l.ask.h-1) - options); d != nil && n >= 0 && n < len(d.Options) {
			cmds, _ := m.answerKey(rune('0' + optionNumber(n, d.Options[n])))
			return cmds
		}
	case l.pane.holds(e.X, e.Y):
		return m.mousePane(e, l.pane, wheel, press)
	}
	return nil
}

// clickRow selects a row; on a place it folds.
func (m *model) clickRow(n, x int) []command {
	if n >= len(m.list) {
		return nil
	}
	again := m.list[n].key == m.cursor
	m.selectRow(n)
	r := m.list[n]
	switch {
	case r.folds && (again || x < 2*r.depth+2):
		m.fold(r.key)
	case r.kind == rowSession && again:
		m.setFocus(onPane)
		return nil
	}
	m.setFocus(onList)
	m.showSelected()
	return nil
}

// mousePane is a mouse event over the terminal: the program's, if it asked for it.
func (m *model) mousePane(e vt.Mouse, area rect, wheel, press bool) []command {
	p := m.pane
	if p == nil || p.live == nil {
		return nil
	}
	if press {
		m.setFocus(onPane)
	}
	modes := p.live.modes()
	if wheel && modes.Mouse == vt.MouseOff && !(modes.AltScreen && modes.AltScroll) {
		by := -wheelLines
		if e.Button == vt.ButtonWheelUp {
			by = wheelLines
		}
		p.scroll(by)
		return nil
	}
	ox, oy := p.origin(area)
	e.X, e.Y = e.X-area.x+ox, e.Y-area.y+oy
	p.live.mouse(e)
	return nil
}

// explainSelected shows what the status of the selected session rests on.
func (m *model) explainSelected() []command {
	s, ok := m.selected()
	if !ok || s.Status == api.Closed {
		m.say(m.words.nothingSelected)
		return nil
	}
	return []command{explain(m.call, s.Link)}
}
