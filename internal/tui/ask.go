package tui

import (
	"strconv"
	"strings"

	"termio/internal/api"
)

// The question of the selected session stands below the list, so that it can be answered
// there with one key, also where no pane fits. What is answered is the dialog that was
// drawn: the host looks again at the moment of the key, and presses nothing if another
// one is open.

// openDialog is the dialog of the selected session.
func (m *model) openDialog() (api.SessionInfo, *api.Dialog) {
	s, ok := m.selected()
	if !ok || s.Status != api.NeedsYou || s.Dialog == nil {
		return s, nil
	}
	return s, s.Dialog
}

// maxQuestion bounds the lines of a question, so that its options stay on the screen.
const maxQuestion = 4

// askLines are the lines of the question and how many of them are its options.
func (m *model) askLines(w int) (lines []string, options int) {
	_, d := m.openDialog()
	if d == nil {
		return nil, 0
	}
	lines = wrap(d.Question, w)
	if d.Detail != "" {
		lines = append(lines, wrap(d.Detail, w)...)
	}
	if len(lines) > maxQuestion {
		lines = append(lines[:maxQuestion-1:maxQuestion-1], "…")
	}
	for i, o := range d.Options {
		lines = append(lines, strconv.Itoa(optionNumber(i, o))+" "+o.Label)
	}
	return lines, len(d.Options)
}

// askRows is how many rows the question takes; 0 if there is none. It is shown while the
// list has the keys: in the terminal the agent's own dialog stands.
func (m *model) askRows() int {
	if m.focus != onList {
		return 0
	}
	w := m.cols
	if w >= besideCols {
		w = max(min(w*3/10, listMax), listMin)
	}
	lines, _ := m.askLines(w - 1)
	if len(lines) == 0 {
		return 0
	}
	return len(lines) + 1
}

// optionNumber is the number that chooses an option.
func optionNumber(i int, o api.Option) int {
	if o.Number > 0 {
		return o.Number
	}
	return i + 1
}

func (m *model) drawAsk(c *canvas, l layout) {
	if l.ask.empty() {
		return
	}
	_, d := m.openDialog()
	lines, options := m.askLines(l.ask.w - 1)
	r := l.ask.row(0)
	for x := range r.w {
		c.text(rect{r.x + x, r.y, 1, 1}, m.theme.needsYou, "─")
	}
	if over := len(lines) + 1 - l.ask.h; over > 0 { // the options are what is needed
		lines = lines[over:]
	}
	for i, line := range lines {
		r := cut(l.ask.row(i+1), 1)
		st := m.theme.text
		if n := i - (len(lines) - options); n >= 0 {
			number, label, _ := strings.Cut(line, " ")
			r = cut(r, c.text(r, m.theme.key, number)+1)
			line = label
			if d.Options[len(d.Options)-(len(lines)-i)].Selected {
				st = m.theme.title
			}
		}
		c.text(r, st, line)
	}
}

// answerKey takes a digit as the answer to the question that is shown.
func (m *model) answerKey(digit rune) ([]command, bool) {
	s, d := m.openDialog()
	if d == nil {
		return nil, false
	}
	if m.now.Sub(m.asked[s.Link].at) < deafFor {
		m.say(m.words.tooSoon)
		return nil, true
	}
	for i, o := range d.Options {
		if n := optionNumber(i, o); n == int(digit-'0') {
			return []command{answer(m.call, s.Link, d, answerText(o))}, true
		}
	}
	return nil, false
}

// nextAsk selects the next session that needs its person: the one that has waited
// longest, then the one after it.
func (m *model) nextAsk() []command {
	asking := m.fleet.asking()
	if len(asking) == 0 {
		m.say(m.words.noneAsks)
		return nil
	}
	next := asking[0]
	for i, s := range asking {
		if s.Link == m.cursor {
			next = asking[(i+1)%len(asking)]
		}
	}
	m.choose(next.Link)
	return nil
}

// choose selects a session wherever it stands.
func (m *model) choose(link string) {
	m.start = link
	m.selectStart()
}
