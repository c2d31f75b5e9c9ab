package tui

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"termio/internal/api"
	"termio/internal/vt"
)

// A message is anything that happens to the model: a key, a line of the fleet stream,
// the outcome of a call, a timer.
type message any

// A command is work that takes time, such as a call of the daemon. It runs in a
// goroutine of its own; what it returns comes back as a message (nil is none).
type command func(ctx context.Context) message

// Messages that are not the outer terminal's.
type (
	fleetMsg   struct{ line api.FleetLine }
	daemonMsg  struct{ err error }      // the stream is gone; nil: it is back
	sizeMsg    struct{ cols, rows int } // of the outer terminal, in cells
	paneMsg    struct{ link string }    // a pane's screen has changed, or its link to the host has
	tickMsg    struct{}                 // the time that wakeAt asked for has come
	noticeMsg  struct{ text string }    // tell the person
	failedMsg  struct{ err error }      // a call did not do what it was to do
	startedMsg struct{ link string }    // a session was started from here
)

// A terminal is what a pane needs of the host: the model asks, and never waits.
type terminals interface {
	// open begins to show a session at a size; paneMsg follows when there is something.
	open(link string, cols, rows int) live
}

// A live is one session's terminal. Its methods do not wait.
type live interface {
	view(*vtView)           // copies what is to be drawn
	resize(cols, rows int)  // the pane's own size; 0, 0 is one that is not shown
	key(k vt.Key) bool      // false: too much waits already, and this is lost
	mouse(m vt.Mouse) bool  //
	paste(text string) bool //
	focus(in bool)          //
	modes() vt.Modes        //
	close()                 // the session goes on
}

// focus is the part that has the keys.
type focus uint8

const (
	onList focus = iota
	onPane
)

// A layer lies over everything and has the keys while it is on top: a question, a line
// to type into, help. Parts that are dialogs are layers.
type layer interface {
	// place is where the layer is drawn, on a screen of that size.
	place(screen rect) rect
	// update takes a message; layers get keys, pastes and mouse events only.
	update(m *model, msg message) []command
	// draw draws the layer and never changes it.
	draw(m *model, c *canvas, area rect)
}

// A listener is a layer that shows the fleet; it hears of every change.
type listener interface{ heard(m *model) }

// onTop is a layer with the time from which it takes keys.
type onTop struct {
	layer
	deafUntil time.Time
}

// deafFor is how long a layer that opens by itself ignores keys: they were meant for
// what was there before.
const deafFor = 400 * time.Millisecond

// model is the whole interface. One goroutine owns it: messages go in by update, which
// does no I/O, and draw shows it without a change.
type model struct {
	words   *words
	theme   theme
	look    Look
	call    calls
	screens terminals
	keys    keymap
	acts    []action
	start   string // project root or link to select at the beginning

	cols, rows int
	now        time.Time // of the message at hand
	fleet      fleet
	view       view
	list       []row
	cursor     string // key of the selected row
	top        int    // first row of the list that is shown
	focus      focus
	hidden     bool // the list is, where there is room for both
	layers     []onTop
	deafUntil  time.Time // a layer has closed by itself: the keys of till then were meant for it
	pane       *pane
	frame      int // of the animation
	notice     string
	noticeBad  bool
	noticeAt   time.Time
	daemonErr  error
	early      []vt.Key // typed for the session that is about to be selected
	quitting   bool
	whole      bool              // the next frame is drawn whole
	asked      map[string]asked  // each open question, by the session that asks
	drafts     map[string]string // typed and not sent, by link; keepDraft writes it
	outerFocus bool
}

// push opens a layer. unasked says that nobody has just asked for it.
func (m *model) push(l layer, unasked bool) {
	t := onTop{layer: l}
	if unasked {
		t.deafUntil = m.now.Add(deafFor)
	}
	m.layers = append(m.layers, t)
}

// pop closes the layer on top.
func (m *model) pop() {
	if n := len(m.layers); n > 0 {
		m.layers = m.layers[:n-1]
	}
}

// remove closes a layer that nobody has asked to be closed. Keys that were meant for it
// are not for what is below.
func (m *model) remove(l layer) {
	m.layers = slices.DeleteFunc(m.layers, func(t onTop) bool { return t.layer == l })
	m.deafUntil = m.now.Add(deafFor)
}

// screen is all there is to draw on.
func (m *model) screen() rect { return rect{0, 0, m.cols, m.rows} }

// say tells the person something in the last row.
func (m *model) say(text string)  { m.notice, m.noticeBad, m.noticeAt = text, false, m.now }
func (m *model) fail(text string) { m.notice, m.noticeBad, m.noticeAt = text, true, m.now }

// noticeFor is how long a notice stays.
const noticeFor = 6 * time.Second

// update takes one message in. It does no I/O: what takes time is given back.
func (m *model) update(now time.Time, msg message) []command {
	m.now = now
	switch msg := msg.(type) {
	case keyMsg, mouseMsg, pasteMsg:
		return m.input(msg)
	case sizeMsg:
		m.cols, m.rows = msg.cols, msg.rows
		m.whole = true
		m.fit()
	case fleetMsg:
		return m.told(msg.line)
	case daemonMsg:
		m.daemonErr = msg.err
	case paneMsg:
		if m.pane != nil && m.pane.link == msg.link {
			m.pane.refresh()
		}
	case focusMsg:
		m.outerFocus = bool(msg)
		if m.pane != nil {
			m.pane.live.focus(bool(msg))
		}
	case colorMsg:
		m.setLight(isLight(msg))
	case schemeMsg:
		m.setLight(!msg.dark)
	case tickMsg:
		m.frame++
		if m.notice != "" && now.Sub(m.noticeAt) >= noticeFor {
			m.notice = ""
		}
	case answeredMsg:
		m.answered(msg)
	case agentsMsg:
		m.agentsFound(msg)
	case spawnedMsg:
		return m.spawned(msg)
	case filesMsg:
		m.filesFound(msg)
	case composedMsg:
		m.composed(msg)
	case explainedMsg:
		m.push(explanation(msg.reply), true)
	case noticeMsg:
		m.say(msg.text)
	case failedMsg:
		m.fail(msg.err.Error())
	case startedMsg:
		m.start = msg.link
		m.focus = onPane
		m.selectStart()
	}
	return nil
}

func (m *model) setLight(light bool) {
	if m.look.Light != light {
		m.look.Light = light
		m.theme = newTheme(m.look)
	}
}

// told takes a line of the fleet stream.
func (m *model) told(l api.FleetLine) []command {
	first := !m.fleet.known
	m.daemonErr = nil
	m.fleet.take(l)
	m.noteQuestions()
	for _, t := range slices.Clone(m.layers) {
		if h, ok := t.layer.(listener); ok {
			h.heard(m)
		}
	}
	m.relist()
	switch {
	case l.Focus != "":
		m.start = l.Focus
	case l.Open != "":
		m.start = l.Open
	}
	m.selectStart()
	if first && m.cursor == "" && len(m.list) > 0 {
		m.selectRow(m.firstSession())
	}
	m.showSelected()
	return nil
}

// asked is a question and when it was first shown here.
type asked struct {
	question string
	at       time.Time
}

// noteQuestions notes which questions are new.
func (m *model) noteQuestions() {
	before := m.asked
	m.asked = map[string]asked{}
	for _, s := range m.fleet.asking() {
		q := asked{at: m.now}
		if s.Dialog != nil {
			q.question = s.Dialog.Question + "\n" + s.Dialog.Detail
		}
		if old, ok := before[s.Link]; ok && old.question == q.question {
			q = old
		}
		m.asked[s.Link] = q
	}
}

// selectStart selects what was asked for, as soon as it is there. Of a project the
// session that most wants to be seen is.
func (m *model) selectStart() {
	if m.start == "" {
		return
	}
	if s, ok := m.fleet.sessions[m.start]; ok {
		delete(m.view.folded, s.ProjectRoot)
		delete(m.view.folded, s.Worktree)
		m.view.ended = m.view.ended || s.Status == api.Closed
		m.relist()
	}
	for i, r := range m.list {
		if r.key != m.start {
			continue
		}
		m.start = ""
		defer m.typeEarly()
		if r.kind == rowProject && i+1 < len(m.list) && m.list[i+1].kind == rowSession && !r.folded {
			m.selectRow(i + 1)
		} else {
			m.selectRow(i)
		}
		m.showSelected()
		return
	}
}

// typeEarly passes on what was typed for a session before it was there.
func (m *model) typeEarly() {
	early := m.early
	m.early = nil
	for _, k := range early {
		m.paneKey(k)
	}
}

// firstSession is the row of the first session, else 0.
func (m *model) firstSession() int {
	return max(slices.IndexFunc(m.list, func(r row) bool { return r.kind == rowSession }), 0)
}

// relist lays the list out anew. The selection stays on its row; if that has gone, it
// goes to the one that took its place.
func (m *model) relist() {
	at := m.at()
	m.view.keep = m.cursor
	m.list = m.fleet.rows(m.view, m.words)
	if m.cursor != "" && m.at() < 0 && len(m.list) > 0 {
		m.selectRow(min(max(at, 0), len(m.list)-1))
		m.setFocus(onList) // what is typed was not meant for the next one
	}
}

// at is the place of the selected row in the list, -1 if there is none.
func (m *model) at() int {
	return slices.IndexFunc(m.list, func(r row) bool { return r.key == m.cursor })
}

// selected is the selected session.
func (m *model) selected() (api.SessionInfo, bool) {
	s, ok := m.fleet.sessions[m.cursor]
	return s, ok
}

// folder is the folder that new sessions start in: that of what is selected.
func (m *model) folder() string {
	if s, ok := m.selected(); ok {
		return cmp.Or(s.Worktree, s.ProjectRoot)
	}
	for i := m.at(); i >= 0; i-- {
		if k := m.list[i].kind; k == rowProject || k == rowWorktree {
			return m.list[i].key
		}
	}
	return ""
}

// selectRow selects the i-th row and brings it into sight.
func (m *model) selectRow(i int) {
	if i < 0 || i >= len(m.list) {
		return
	}
	m.cursor = m.list[i].key
	m.intoSight()
}

// intoSight scrolls the list as little as it takes to show the selected row.
func (m *model) intoSight() {
	rows := m.layout().rows.h
	i := m.at()
	if i < 0 || rows <= 0 {
		return
	}
	m.top = max(min(m.top, i), i-rows+1, 0)
	m.top = min(m.top, max(len(m.list)-rows, 0))
}

// showSelected shows the selected session in the pane. One that is left keeps its size
// and goes on; one whose terminal is not on the screen is not looked at. What a session
// showed last stays when it ends.
func (m *model) showSelected() {
	area := m.layout().pane
	if area.empty() {
		m.closePane()
		return
	}
	s, ok := m.selected()
	if !ok {
		return // a place is selected: the pane stays
	}
	if p := m.pane; p != nil && p.link == s.Link {
		if gone := p.live == nil || p.ended != ""; !gone || s.Status == api.Closed {
			return
		}
	}
	m.closePane()
	m.pane = &pane{link: s.Link}
	if s.Status != api.Closed {
		m.pane.cols, m.pane.rows = area.w, area.h
		m.pane.live = m.screens.open(s.Link, area.w, area.h)
	}
}

func (m *model) closePane() {
	if m.pane != nil && m.pane.live != nil {
		m.pane.live.close()
	}
	m.pane = nil
}

// fit gives the pane the size that the layout has for it.
func (m *model) fit() {
	m.intoSight()
	m.showSelected()
	if m.pane == nil || m.pane.live == nil {
		return
	}
	if a := m.layout().pane; a.w != m.pane.cols || a.h != m.pane.rows {
		m.pane.cols, m.pane.rows = a.w, a.h
		m.pane.live.resize(a.w, a.h)
	}
}

// moving reports whether something is drawn that moves.
func (m *model) moving() bool {
	return !m.look.Still && m.layout().list.w > 0 && slices.ContainsFunc(m.list, func(r row) bool {
		return r.kind == rowSession && r.session.Status == api.Working || r.folded && r.counts.working > 0
	})
}

// Times between frames that nothing but time causes.
const (
	frameEvery = 200 * time.Millisecond // of what moves
	ageEvery   = time.Minute            // of how long something lasts
)

// wakeAt is when the model wants a tickMsg; false if nothing on it changes by itself.
func (m *model) wakeAt() (time.Duration, bool) {
	switch {
	case m.moving():
		return frameEvery, true
	case m.notice != "":
		return max(m.noticeAt.Add(noticeFor).Sub(m.now), time.Millisecond), true
	case len(m.fleet.sessions) > 0:
		return ageEvery, true
	}
	return 0, false
}

// links are the sessions of the list in its order.
func (m *model) links() []string {
	var out []string
	for _, r := range m.list {
		if r.kind == rowSession {
			out = append(out, r.key)
		}
	}
	return out
}

// newModel makes a model of nothing yet.
func newModel(l Look, w *words, c calls, t terminals) *model {
	m := &model{
		words: w, look: l, theme: newTheme(l), call: c, screens: t, cols: 80, rows: 24, outerFocus: true,
		view: view{folded: map[string]bool{}, pinned: map[string]bool{}}, asked: map[string]asked{},
	}
	m.acts = actions(w)
	m.keys = newKeymap(m.acts)
	return m
}

// fold folds a place away, or opens it.
func (m *model) fold(key string) {
	if m.view.folded[key] {
		delete(m.view.folded, key)
	} else {
		m.view.folded = maps.Clone(m.view.folded)
		m.view.folded[key] = true
	}
	m.relist()
}
