package tui

import (
	"fmt"
	"slices"

	"termio/internal/api"
	"termio/internal/vt"
)

// An action is something that a person can have done: by its key while the list has
// the keys, by the command line, by the palette.
type action struct {
	id    string // what a file of keys calls it; never changes
	title string
	keys  []string // as vt.ParseKey reads them
	hint  string   // how the last row spells it; "" leaves it out
	run   func(m *model) []command
}

// actions is the one table of them. It is a function, so that a command that shows no
// interface pays nothing for it. Parts in files of their own add theirs here.
func actions(w *words) []action {
	return slices.Concat(moveActions(w), inboxActions(w), startActions(w), paletteActions(w), sessionActions(w), viewActions(w))
}

func moveActions(w *words) []action {
	move := func(by int) func(*model) []command {
		return func(m *model) []command { m.move(by); return nil }
	}
	return []action{
		{"list.up", w.actUp, []string{"up", "k"}, "", move(-1)},
		{"list.down", w.actDown, []string{"down", "j"}, "", move(+1)},
		{"list.page-up", w.actUp, []string{"ctrl-u"}, "", func(m *model) []command { m.move(-m.layout().rows.h / 2); return nil }},
		{"list.page-down", w.actDown, []string{"ctrl-d"}, "", func(m *model) []command { m.move(m.layout().rows.h / 2); return nil }},
		{"list.first", w.actUp, []string{"home", "g"}, "", func(m *model) []command { m.move(-len(m.list)); return nil }},
		{"list.last", w.actDown, []string{"end", "G"}, "", func(m *model) []command { m.move(len(m.list)); return nil }},
		{"list.fold", w.actFold, []string{"space", "left", "h"}, "", (*model).foldSelected},
		{"pane.focus", w.actPane, []string{"enter", "right", "l"}, "⏎", (*model).enter},
		{"pane.back", w.actPane, []string{"escape"}, "", (*model).toPane},
		{"ask.next", w.actNextAsk, []string{"tab", "!"}, "tab", (*model).nextAsk},
		{"session.next", w.actNextSession, []string{"]"}, "", func(m *model) []command { m.step(+1); return nil }},
		{"session.previous", w.actPrevSession, []string{"["}, "", func(m *model) []command { m.step(-1); return nil }},
	}
}

func sessionActions(w *words) []action {
	return []action{
		{"terminal.new", w.actTerminal, []string{"t"}, "t", func(m *model) []command {
			a := m.layout().pane
			return []command{startTerminal(m.call, m.folder(), a.w, a.h)}
		}},
		{"session.rename", w.actRename, []string{"r"}, "r", (*model).askTitle},
		{"session.close", w.actClose, []string{"x"}, "x", (*model).askClose},
		{"session.resume", w.actResume, []string{"R"}, "", (*model).resumeSelected},
		{"session.pin", w.actPin, []string{"p"}, "", func(m *model) []command {
			if s, ok := m.selected(); ok {
				m.view.pinned[s.Link] = !m.view.pinned[s.Link]
				m.relist()
			}
			return nil
		}},
		{"session.explain", w.actExplain, []string{"E"}, "", (*model).explainSelected},
		{"pane.send-prefix", w.actSendKey, []string{"\\"}, "", func(m *model) []command {
			if m.pane != nil && m.pane.live != nil {
				m.pane.live.key(m.keys.prefix)
				return m.toPane()
			}
			return nil
		}},
	}
}

func viewActions(w *words) []action {
	return []action{
		{"view.ended", w.closed, []string{"e"}, "", func(m *model) []command {
			m.view.ended = !m.view.ended
			m.relist()
			return nil
		}},
		{"view.list", w.actHide, []string{"b"}, "", func(m *model) []command {
			m.hidden = !m.hidden
			if m.hidden {
				return m.toPane()
			}
			m.fit()
			return nil
		}},
		{"view.redraw", w.actRedraw, []string{"ctrl-l"}, "", func(m *model) []command { m.whole = true; return nil }},
		{"help", w.actHelp, []string{"?", "f1"}, "?", func(m *model) []command { m.push(helpPage(m), false); return nil }},
		{"quit", w.actQuit, []string{"q", "ctrl-c"}, "q", func(m *model) []command { m.quitting = true; return nil }},
	}
}

// A keymap says which key does what while the list has the keys.
type keymap struct {
	prefix vt.Key // goes from the terminal to the list, and back
	byKey  map[vt.Key]string
}

// defaultPrefix also leaves an attach.
func defaultPrefix() vt.Key { return vt.Key{Rune: '\\', Mods: vt.Ctrl} }

// newKeymap makes the keymap of a table. A key that is bound twice does what stands
// first.
func newKeymap(acts []action) keymap {
	k := keymap{prefix: defaultPrefix(), byKey: map[vt.Key]string{}}
	for _, a := range acts {
		for _, name := range a.keys {
			key, err := vt.ParseKey(name)
			if err != nil {
				panic(fmt.Sprintf("action %s: %v", a.id, err)) // broken invariant: a test reads the table
			}
			if _, taken := k.byKey[key]; !taken {
				k.byKey[key] = a.id
			}
		}
	}
	return k
}

// do runs an action by its id.
func (m *model) do(id string) []command {
	for i := range m.acts {
		if m.acts[i].id == id {
			return m.acts[i].run(m)
		}
	}
	m.fail(m.words.unknown)
	return nil
}

// move moves the selection.
func (m *model) move(by int) {
	if len(m.list) == 0 {
		return
	}
	m.selectRow(min(max(m.at()+by, 0), len(m.list)-1))
	m.showSelected()
}

// step goes to another session, past what is no session.
func (m *model) step(by int) {
	links := m.links()
	if len(links) == 0 {
		return
	}
	i := slices.Index(links, m.cursor)
	if i < 0 {
		i = 0
	} else {
		i = (i + by + len(links)) % len(links)
	}
	m.choose(links[i])
}

// foldSelected folds the selected place, or the one that holds the selected session.
func (m *model) foldSelected() []command {
	for i := m.at(); i >= 0; i-- {
		if r := m.list[i]; r.folds {
			m.selectRow(i)
			m.fold(r.key)
			return nil
		}
	}
	return nil
}

// setFocus gives the keys to a part.
func (m *model) setFocus(f focus) {
	if m.focus == f {
		return
	}
	m.focus = f
	m.fit()
	if m.pane != nil && m.pane.live != nil && m.outerFocus {
		m.pane.live.focus(f == onPane)
	}
}

// enter goes into what is selected: a session's terminal, or a place, which it opens.
func (m *model) enter() []command {
	if _, ok := m.selected(); !ok {
		return m.foldSelected()
	}
	m.setFocus(onPane)
	return nil
}

// toPane gives the keys to the terminal that is shown.
func (m *model) toPane() []command {
	if _, ok := m.selected(); ok || m.pane != nil {
		m.setFocus(onPane)
	}
	return nil
}

// askTitle asks for a title of the selected session.
func (m *model) askTitle() []command {
	s, ok := m.selected()
	if !ok {
		m.say(m.words.nothingSelected)
		return nil
	}
	m.push(newLine(m.words.renamePrompt, s.Title, func(m *model, text string) []command {
		return []command{renameSession(m.call, s.Link, text)}
	}), false)
	return nil
}

// askClose asks before it ends something.
func (m *model) askClose() []command {
	s, ok := m.selected()
	if !ok || s.Status == api.Closed {
		m.say(m.words.nothingSelected)
		return nil
	}
	m.push(&confirm{text: m.words.confirmClose(s.Title), yes: func(m *model) []command {
		return []command{closeSession(m.call, s.Link)}
	}}, false)
	return nil
}

func (m *model) resumeSelected() []command {
	s, ok := m.selected()
	if !ok || s.Status != api.Closed {
		m.say(m.words.nothingSelected)
		return nil
	}
	return []command{resumeSession(m.call, s.Link)}
}
