package demo

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// A turn runs one prompt. Its goroutine goes through the steps and asks the loop
// for everything it needs; the loop owns the fields.
type turn struct {
	a      *agent
	ctx    context.Context
	cancel context.CancelFunc
	prompt prompt

	began    time.Time
	verb     string
	silent   bool // no spinner, no title
	shown    bool // something came out
	ending   bool // the step that runs is the last; the turn's goroutine owns it
	closed   bool // a closing text was said; likewise
	reply    strings.Builder
	tools    int
	failed   bool
	denied   bool
	answered func(query string) // wakes a step that waits for the terminal
}

// The words of the spinner, by turn.
var spinnerVerbs = [...]string{"Working", "Rehearsing", "Improvising", "Reading the script", "Prompting"}

// begin starts a turn.
func (a *agent) begin(p prompt) {
	t := &turn{a: a, prompt: p, began: a.now(), verb: spinnerVerbs[a.conv.turns%len(spinnerVerbs)]}
	t.ctx, t.cancel = context.WithCancel(a.ctx)
	sc := parseScript(p.text)
	t.silent = len(sc.steps) > 0 && sc.steps[0].verb == "think"
	a.turn, a.escapes, a.failure, a.ownTitle = t, 0, "", ""
	if a.topic == "" && !p.machine {
		a.topic = shorten(clean(firstLine(strings.TrimSpace(topicOf(sc)))), 40)
	}
	if !p.machine {
		a.sayUser(p.text)
	}
	if err := a.conv.beginTurn(a.set.transcript); err != nil {
		a.sayError(err.Error())
	}
	if t.silent {
		a.status = statusWorking
		a.programRecord()
	} else {
		a.announce(statusWorking)
		a.startTicking()
	}
	a.wg.Go(func() {
		t.run(sc)
		a.post(func() { a.ended(t) })
	})
}

// topicOf is what a title says of a prompt.
func topicOf(sc script) string {
	if sc.words != "" {
		return sc.words
	}
	for _, s := range sc.steps {
		if s.text != "" {
			return s.verb + ": " + s.text
		}
	}
	return ""
}

// interrupt stops the turn, as Esc does. No hook tells of it, as with the real one.
func (a *agent) interrupt() {
	if a.turn == nil || a.turn.ctx.Err() != nil {
		return
	}
	a.note("interrupt", nil)
	a.turn.cancel()
}

// ended cleans up after a turn whose goroutine is through.
func (a *agent) ended(t *turn) {
	if a.turn != t || a.code != nil {
		return
	}
	interrupted := t.ctx.Err() != nil || t.denied
	a.turn = nil
	for _, e := range a.entries {
		e.open = false
	}
	if d := a.dialog; d != nil {
		a.dialog = nil
		d.cancel()
	}
	t.cancel()
	switch {
	case interrupted:
		a.interrupted(t)
		a.announce(statusIdle)
	case t.failed:
		a.announce(statusError)
	default:
		a.announce(statusDone)
	}
	a.nextTurn()
}

// interrupted shows and records an interruption.
func (a *agent) interrupted(t *turn) {
	if a.set.restore && !t.shown && !t.denied {
		back := func() { a.composer.set(t.prompt.text + a.composer.value) } // in front of what has come meanwhile
		if a.set.restoreDelay == 0 {
			back()
		} else {
			a.after(a.ctx, a.set.restoreDelay, back)
		}
	}
	a.sayUnder("Interrupted · What should I do instead?")
	text := "[Request interrupted by user]"
	if t.denied {
		text = "[Request interrupted by user for tool use]"
	}
	a.record(line{Type: "user", Message: &message{Role: "user", Content: []block{{Type: "text", Text: text}}}})
	if err := a.conv.flush(); err != nil {
		a.sayError(err.Error())
	}
}

// nextTurn begins what waited.
func (a *agent) nextTurn() {
	if len(a.queue) == 0 {
		return
	}
	p := a.queue[0]
	a.queue = a.queue[1:]
	if p.told { // merged: all that were told of run as one
		p.parts = []string{p.text}
		for len(a.queue) > 0 && a.queue[0].told {
			p.text += "\n" + a.queue[0].text
			p.parts = append(p.parts, a.queue[0].text)
			a.queue = a.queue[1:]
		}
	}
	a.begin(p)
}

// record writes a line of the transcript.
func (a *agent) record(l line) {
	if err := a.conv.write(a.set.transcript, a.cwd, a.now(), l); err != nil {
		a.sayError(err.Error())
	}
}

// steer adds a text to the running turn.
func (t *turn) steer(text string) {
	t.a.report("UserPromptSubmit", map[string]any{"prompt": text})
	t.a.record(userLine(text, false))
}

func userLine(text string, machine bool) line {
	l := line{Type: "user", Message: &message{Role: "user", Content: text}, IsMeta: machine}
	if !machine {
		l.Origin = &origin{Kind: "human"}
	}
	return l
}

// run goes through the script, in the turn's goroutine. It returns early when the
// turn was interrupted; ended sees that for itself.
func (t *turn) run(sc script) {
	if !t.hook("UserPromptSubmit", map[string]any{"prompt": t.prompt.text}, !t.prompt.told) {
		return
	}
	parts := t.prompt.parts
	if parts == nil {
		parts = []string{t.prompt.text}
	}
	for _, text := range parts {
		if !t.write(userLine(text, t.prompt.machine)) {
			return
		}
	}
	for i, s := range sc.steps {
		t.ending = i == len(sc.steps)-1
		if !t.step(s) || t.failed || t.denied {
			break
		}
		if t.setting(func(s *settings) bool { return s.hooks == "chatty" }) {
			t.hook("Stop", nil, true)
		}
	}
	if t.ctx.Err() != nil || t.denied {
		return
	}
	if t.failed {
		t.hook("StopFailure", nil, true)
		return
	}
	if !t.closed { // as the real ones: the last word is a text
		t.ending = true
		if !t.stream(t.answerTo(sc)) {
			return
		}
	}
	t.finish()
}

// hook reports an event and waits until it went out, as the real agents do.
func (t *turn) hook(event string, fields map[string]any, on bool) bool {
	if !on {
		return t.ctx.Err() == nil
	}
	var sent <-chan struct{}
	if !t.a.do(t.ctx, func() {
		switch event {
		case "UserPromptSubmit":
			t.a.greet()
		case "Stop":
			fields = t.stopFields()
		case "StopFailure":
			fields = map[string]any{"error": "unknown", "last_assistant_message": t.a.failure}
		}
		sent = t.a.report(event, fields)
	}) {
		return false
	}
	select {
	case <-sent:
		return t.ctx.Err() == nil
	case <-t.ctx.Done():
		return false
	}
}

// splitPause is how long a torn line stays torn, with transcript=split.
const splitPause = 200 * time.Millisecond

// write adds a line to the transcript.
func (t *turn) write(l line) bool {
	torn := false
	if !t.a.do(t.ctx, func() { t.a.record(l); torn = t.a.set.transcript == "split" }) {
		return false
	}
	if !torn {
		return true
	}
	return t.wait(splitPause) && t.a.do(t.ctx, t.flush)
}

// flush writes what the transcript holds back; the loop calls it.
func (t *turn) flush() {
	if err := t.a.conv.flush(); err != nil {
		t.a.sayError(err.Error())
	}
}

// wordPause is between two words of a streamed reply.
const wordPause = 15 * time.Millisecond

// stream shows a text word by word and records it.
func (t *turn) stream(text string) bool {
	a := t.a
	var e *entry
	for i, word := range strings.SplitAfter(text, " ") {
		if i > 0 && !t.wait(wordPause) {
			return false
		}
		if !a.do(t.ctx, func() {
			if e == nil {
				e = a.sayText("")
				e.open, t.shown = true, true
			}
			e.grow(word)
		}) {
			return false
		}
	}
	if !a.do(t.ctx, func() {
		e.open = false
		if t.reply.Len() > 0 {
			t.reply.WriteString("\n\n")
		}
		t.reply.WriteString(text)
	}) {
		return false
	}
	stop := ""
	if t.ending {
		stop, t.closed = "end_turn", true
	}
	return t.write(t.assistant(stop, block{Type: "text", Text: text}))
}

func (t *turn) assistant(stop string, b ...block) line {
	return line{Type: "assistant", Message: &message{Role: "assistant", Content: b, StopReason: stop}}
}

// answerTo is the reply to words: the same to the same.
func (t *turn) answerTo(sc script) string {
	switch {
	case t.prompt.machine:
		return "Noted: the subagent has finished."
	case sc.words == "":
		return "Done."
	}
	words := len(strings.Fields(sc.words))
	return fmt.Sprintf("You wrote %d bytes, %d %s: “%s”\n\nI am a demo agent: no model is behind me, so the same words always get this same reply.",
		len(t.prompt.text), words, plural(words, "word"), shorten(clean(firstLine(sc.words)), 60))
}

func plural(n int, noun string) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}

// finish ends a turn that went well.
func (t *turn) finish() {
	a := t.a
	if !a.do(t.ctx, func() {
		spent := a.now().Sub(t.began)
		a.record(line{Type: "system", Subtype: "turn_duration", DurationMS: spent.Milliseconds()})
		a.say(&entry{mark: "✻ ", style: grey, text: "Done in " + spent.Truncate(time.Second).String()})
	}) {
		return
	}
	t.hook("Stop", nil, true)
	if t.setting(func(s *settings) bool { return s.transcript == "late" || s.transcript == "split" }) {
		t.wait(splitPause)
		a.do(t.ctx, t.flush)
	}
}
