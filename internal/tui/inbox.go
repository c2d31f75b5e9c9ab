package tui

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"termio/internal/api"
	"termio/internal/vt"
)

// The inbox shows the open questions of all projects, those that wait longest first, and
// takes the answers. A key answers the question that is drawn: that goes along, and the
// host presses nothing if another one is open by then. A question takes no answer before
// it has been on the screen for a moment, because the key was meant for the one that
// stood there before.
type inbox struct {
	s      api.SessionInfo // who asks, as it is drawn; no link: nobody, what was answered is on its way
	from   time.Time       // since when this question is shown
	pick   int             // the option that is marked; past the last one the person's own words are
	ticks  []bool          // of the options, where several can be ticked
	own    *field          // the person's own words, where the question takes them
	typing bool            // own has the keys
	gone   bool            // the question has gone while words were being typed, which stay to be seen
	top    int             // first line of the question that is shown
	sent   map[string]sent // answers on their way, by link
	drafts map[string]string
}

// sent is an answer whose outcome the fleet does not show yet.
type sent struct {
	s     api.SessionInfo // as it was answered
	own   string          // the person's own words, if it was answered with them
	taken time.Time       // when the host said that it went in
}

// takenFor is how long a question that was answered may go on to be told as open before
// it is asked again.
const takenFor = 5 * time.Second

// pending reports whether the answer of a session that asks now is on its way.
func (a sent) pending(now api.SessionInfo, at time.Time) bool {
	return sameAsk(now, a.s) && (a.taken.IsZero() || at.Sub(a.taken) < takenFor)
}

// answeredMsg is the outcome of an answer.
type answeredMsg struct {
	link string
	err  error
}

// inboxActions are what is done with all questions together.
func inboxActions(w *words) []action {
	return []action{{"ask.inbox", w.inbox.title, []string{"i"}, "i", (*model).openInbox}}
}

// openInbox opens the inbox, unless nobody needs anybody.
func (m *model) openInbox() []command {
	if len(m.fleet.asking()) == 0 {
		m.say(m.words.noneAsks)
		return nil
	}
	b := &inbox{sent: map[string]sent{}, drafts: map[string]string{}}
	if s, d := m.openDialog(); d != nil {
		b.show(m, s)
	}
	m.push(b, false)
	b.heard(m)
	return nil
}

// heard brings the inbox up to date with the fleet. It stays on its question as long as
// that is open; it closes when none is.
func (b *inbox) heard(m *model) {
	if b.gone {
		return
	}
	waiting := b.waiting(m)
	i := slices.IndexFunc(waiting, func(s api.SessionInfo) bool { return s.Link == b.s.Link })
	switch {
	case i >= 0 && sameAsk(waiting[i], b.s):
		b.s = waiting[i]
	case b.typing && b.own.text() != "":
		b.gone = true
	case i >= 0:
		b.show(m, waiting[i])
	case len(waiting) > 0:
		b.show(m, waiting[0])
	case len(m.fleet.asking()) > 0: // their answers are on their way
		b.show(m, api.SessionInfo{})
	default:
		m.remove(b)
	}
}

// waiting are the sessions that ask and have no answer on its way.
func (b *inbox) waiting(m *model) []api.SessionInfo {
	return slices.DeleteFunc(m.fleet.asking(), func(s api.SessionInfo) bool {
		a, ok := b.sent[s.Link]
		return ok && a.pending(s, m.now)
	})
}

// sameAsk reports whether a session still asks what it did.
func sameAsk(a, b api.SessionInfo) bool {
	if a.Link != b.Link || a.Since != b.Since || (a.Dialog == nil) != (b.Dialog == nil) {
		return false
	}
	if a.Dialog == nil {
		return true
	}
	x, y := a.Dialog, b.Dialog
	return x.Kind == y.Kind && x.Question == y.Question && x.Detail == y.Detail && x.Multiple == y.Multiple &&
		slices.EqualFunc(x.Options, y.Options, func(o, p api.Option) bool {
			return o.Number == p.Number && o.Key == p.Key && o.Label == p.Label
		})
}

// show puts a question on the screen.
func (b *inbox) show(m *model, s api.SessionInfo) {
	b.keepDraft()
	b.s, b.from = s, m.now
	b.pick, b.top, b.ticks, b.own, b.typing, b.gone = 0, 0, nil, nil, false, false
	d := s.Dialog
	if d == nil {
		return
	}
	for i, o := range d.Options {
		b.ticks = append(b.ticks, o.Chosen)
		if o.Selected {
			b.pick = i
		}
	}
	if d.Kind == api.DialogQuestion && !d.Multiple {
		b.own = newField(b.drafts[s.Link])
		b.typing = len(d.Options) == 0 || b.own.text() != ""
		if b.typing {
			b.pick = len(d.Options)
		}
	}
}

// keepDraft keeps the words of the question that is left.
func (b *inbox) keepDraft() {
	if b.own == nil {
		return
	}
	b.drafts[b.s.Link] = b.own.text()
	if b.gone || b.own.text() == "" {
		delete(b.drafts, b.s.Link)
	}
}

// update takes a key, a paste or the mouse.
func (b *inbox) update(m *model, msg message) []command {
	switch msg := msg.(type) {
	case pasteMsg:
		if b.own != nil && !b.gone {
			b.typing = true
			b.own.insert(string(msg))
		}
	case mouseMsg:
		return b.mouse(m, vt.Mouse(msg))
	case keyMsg:
		m.notice = ""
		if b.typing {
			return b.typed(m, vt.Key(msg))
		}
		return b.key(m, vt.Key(msg))
	}
	return nil
}

// typed is a key for the person's own words.
func (b *inbox) typed(m *model, k vt.Key) []command {
	switch {
	case b.gone && (k.Name == vt.KeyEscape || k.Name == vt.KeyEnter):
		b.typing, b.gone, b.own = false, false, nil
		b.heard(m)
	case k.Name == vt.KeyEscape && len(b.s.Dialog.Options) == 0, k == m.keys.prefix, k == vt.Key{Rune: 'c', Mods: vt.Ctrl}:
		m.pop()
	case k.Name == vt.KeyEscape:
		b.typing = false
	case k.Name == vt.KeyTab:
		b.step(m, +1)
	case k == vt.Key{Name: vt.KeyEnter}:
		if text := strings.TrimSpace(b.own.text()); text != "" {
			return b.send(m, text, text)
		}
	case !b.gone:
		b.own.key(k, b.parts(m, b.place(m.screen())).own.w)
	}
	return nil
}

// key is a key while an option is to be chosen.
func (b *inbox) key(m *model, k vt.Key) []command {
	if d := b.s.Dialog; d != nil {
		for i, o := range d.Options {
			if k.Mods == 0 && k.Rune != 0 && (string(k.Rune) == o.Key || optionNumber(i, o) == int(k.Rune-'0')) {
				return b.choose(m, i)
			}
		}
	}
	switch {
	case k.Name == vt.KeyEscape, k.Rune == 'q' && k.Mods == 0, k == m.keys.prefix, k == vt.Key{Rune: 'c', Mods: vt.Ctrl}:
		m.pop()
	case k.Name == vt.KeyUp, k == vt.Key{Rune: 'k'}:
		b.pick = max(b.pick-1, 0)
	case k.Name == vt.KeyDown, k == vt.Key{Rune: 'j'}:
		b.pick = max(min(b.pick+1, b.choices()-1), 0)
	case k.Name == vt.KeyTab && k.Mods&vt.Shift != 0, k.Name == vt.KeyLeft:
		b.step(m, -1)
	case k.Name == vt.KeyTab, k.Name == vt.KeyRight:
		b.step(m, +1)
	case k.Name == vt.KeyPageUp, k == vt.Key{Rune: 'u', Mods: vt.Ctrl}:
		b.scroll(m, -1)
	case k.Name == vt.KeyPageDown, k == vt.Key{Rune: 'd', Mods: vt.Ctrl}:
		b.scroll(m, +1)
	case k == vt.Key{Rune: 'o'}:
		return b.goThere(m)
	case k == vt.Key{Rune: 'w'} && b.own != nil:
		b.pick, b.typing = b.choices()-1, true
	case k == vt.Key{Rune: ' '} && b.pick < len(b.ticks):
		return b.choose(m, b.pick)
	case k.Name == vt.KeyEnter && b.choices() == 0:
		if b.s.Link != "" && !b.deaf(m) {
			return b.goThere(m)
		}
	case k.Name == vt.KeyEnter && b.multiple():
		return b.sendTicked(m)
	case k.Name == vt.KeyEnter:
		return b.choose(m, b.pick)
	default:
		m.say(m.words.unknown)
	}
	return nil
}

// choices is how many there are: the options, and the person's own words.
func (b *inbox) choices() int {
	n := 0
	if b.s.Dialog != nil {
		n = len(b.s.Dialog.Options)
	}
	if b.own != nil {
		n++
	}
	return n
}

func (b *inbox) multiple() bool { return b.s.Dialog != nil && b.s.Dialog.Multiple }

// deaf says why no answer is taken yet, if so.
func (b *inbox) deaf(m *model) bool {
	if m.now.Sub(b.from) >= deafFor {
		return false
	}
	m.say(m.words.tooSoon)
	return true
}

// choose answers with an option, ticks it where several can be, or begins the person's
// own words.
func (b *inbox) choose(m *model, i int) []command {
	d := b.s.Dialog
	switch {
	case d == nil || b.deaf(m):
	case i >= len(d.Options):
		b.pick, b.typing = i, b.own != nil
	case d.Multiple:
		b.pick, b.ticks[i] = i, !b.ticks[i]
	default:
		return b.send(m, answerText(d.Options[i]), "")
	}
	return nil
}

// sendTicked answers with the options that are ticked.
func (b *inbox) sendTicked(m *model) []command {
	var ticked []string
	for i, o := range b.s.Dialog.Options {
		if b.ticks[i] {
			ticked = append(ticked, answerText(o))
		}
	}
	if len(ticked) == 0 {
		m.say(m.words.inbox.tickFirst)
		return nil
	}
	return b.send(m, strings.Join(ticked, ","), "")
}

// answerText is the text that means an option and no other: a number that is not on the
// agent's screen would be taken for the person's own words.
func answerText(o api.Option) string {
	switch {
	case o.Number > 0:
		return strconv.Itoa(o.Number)
	case o.Key != "":
		return o.Key
	}
	return o.Label
}

// send answers the question that is shown, and shows the next one.
func (b *inbox) send(m *model, text, own string) []command {
	if b.deaf(m) {
		return nil
	}
	s := b.s
	b.sent[s.Link] = sent{s: s, own: own}
	b.own, b.typing, b.s = nil, false, api.SessionInfo{}
	delete(b.drafts, s.Link)
	b.heard(m)
	return []command{func(ctx context.Context) message {
		_, err := m.call.Send(ctx, s.Link, api.SendRequest{Text: text, Dialog: s.Dialog})
		return answeredMsg{s.Link, err}
	}}
}

// answered takes the outcome of an answer. What was not taken is asked again, with the
// person's own words still there.
func (m *model) answered(msg answeredMsg) {
	if msg.err != nil {
		m.fail(msg.err.Error())
	}
	b := m.inbox()
	if b == nil {
		return
	}
	a, ok := b.sent[msg.link]
	switch {
	case !ok:
		return
	case msg.err == nil: // the fleet tells when the session has gone on
		a.taken = m.now
		b.sent[msg.link] = a
		return
	case a.own != "":
		b.drafts[msg.link] = a.own
	}
	delete(b.sent, msg.link)
	b.heard(m)
}

// inbox is the inbox that is open, if it is.
func (m *model) inbox() *inbox {
	for _, t := range m.layers {
		if b, ok := t.layer.(*inbox); ok {
			return b
		}
	}
	return nil
}

// step shows another question.
func (b *inbox) step(m *model, by int) {
	waiting := b.waiting(m)
	if len(waiting) == 0 {
		return
	}
	i := slices.IndexFunc(waiting, func(s api.SessionInfo) bool { return s.Link == b.s.Link })
	if next := waiting[(i+by+len(waiting))%len(waiting)]; next.Link != b.s.Link {
		b.show(m, next)
	}
}

// scroll scrolls the question by half of what is seen of it.
func (b *inbox) scroll(m *model, by int) {
	p := b.parts(m, b.place(m.screen()))
	b.top = max(min(b.top+by*max(p.text.h/2, 1), len(p.lines)-p.text.h), 0)
}

// goThere leaves the inbox for the terminal of the session that asks.
func (b *inbox) goThere(m *model) []command {
	if b.s.Link == "" {
		return nil
	}
	m.pop()
	m.choose(b.s.Link)
	m.setFocus(onPane)
	return nil
}

// mouse is a press on an option or on another question, or the wheel.
func (b *inbox) mouse(m *model, e vt.Mouse) []command {
	area := b.place(m.screen())
	p := b.parts(m, area)
	switch {
	case e.Button == vt.ButtonWheelUp:
		b.scroll(m, -1)
	case e.Button == vt.ButtonWheelDown:
		b.scroll(m, +1)
	case e.Action != vt.MousePress || b.gone:
	case p.options.holds(e.X, e.Y):
		for _, row := range p.rows {
			if row.y == e.Y {
				return b.choose(m, row.option)
			}
		}
	case p.queue.holds(e.X, e.Y):
		if waiting := b.waiting(m); e.Y-p.queue.y < len(waiting) {
			if s := waiting[e.Y-p.queue.y]; s.Link != b.s.Link {
				b.show(m, s)
			}
		}
	case !area.holds(e.X, e.Y):
		m.pop()
	}
	return nil
}
