package agent

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"termio/internal/api"
)

// A verdict is what all words together say.
type verdict struct {
	status api.Status
	won    Channel
	why    string
	dialog *api.Dialog
	// from is when what won began to be so; zero is now.
	from time.Time
	// fresh says that an idle is a new fact, not the rest after a done.
	fresh bool
	// hold is when the verdict takes effect, zero for at once.
	hold time.Time
	// again is when the words have to be weighed anew, zero for never.
	again time.Time
}

// decide weighs all words and commits the verdict.
func (mc *Machine) decide(before memory, now time.Time) Change {
	mc.notes = make(map[Channel]string)
	v := mc.weigh(now)
	if !v.hold.IsZero() && now.Before(v.hold) && mc.s.TurnOpen {
		v = verdict{
			status: api.Working, won: v.won, again: v.hold,
			why: fmt.Sprintf("%s says %s, and whether the turn is done may still be told", v.won, v.status.State()),
		}
	}
	return mc.commit(v, before, now)
}

// weigh is the one place where a status is decided. It goes by authority: the process
// itself, dialogs that are open now, what the hooks said, and what corrects them.
func (mc *Machine) weigh(now time.Time) verdict {
	s := &mc.s
	switch w := s.Words[ChannelProcess]; {
	case w == nil:
	case w.Ended: // whatever else still arrives of it
		return verdict{status: api.Idle, won: ChannelProcess, why: "the agent's process has ended", fresh: true}
	case mc.m.IsShell() && w.Status == api.Working:
		return verdict{status: api.Working, won: ChannelProcess, why: "a command runs in the foreground", from: w.Since}
	case mc.m.IsShell():
		return verdict{status: api.Idle, won: ChannelProcess, why: "nothing runs in the foreground", fresh: true}
	}
	level, lw := mc.level()
	asks, ok := mc.attention(level, lw, now)
	if ok {
		return asks
	}
	v := mc.turn(level, lw, now)
	v.again = earlier(v.again, asks.again, now)
	if h := mc.word(ChannelHook); h != nil && h.Status == api.NeedsYou {
		// What could withdraw the hook's attention may still come.
		v.again = earlier(v.again, h.At.Add(hookGrace), now)
	}
	return v
}

// word is a channel's last word if the channel counts; why it does not is noted.
func (mc *Machine) word(ch Channel) *word {
	w := mc.s.Words[ch]
	if w == nil {
		return nil
	}
	if reason := mc.discounted(ch); reason != "" {
		mc.notes[ch] = reason
		return nil
	}
	return w
}

// discounted says why a channel does not count for this agent, "" when it does.
func (mc *Machine) discounted(ch Channel) string {
	m := mc.m
	switch {
	case m == nil && ch != ChannelProcess:
		return "a plain shell has no such channel"
	case ch == ChannelHook && m.Hooks == nil:
		return "not counted: the manifest has no hooks"
	case ch == ChannelTranscript && m.TranscriptRules == nil:
		return "not counted: the manifest has no transcript rules"
	case ch == ChannelProgram && !m.ProgramStatus:
		return "not counted: the manifest has no programStatus"
	case ch == ChannelProgress && !m.ProgressStatus:
		return "not counted: the manifest has no progressStatus"
	case ch == ChannelProgress && mc.s.Words[ChannelHook] != nil:
		return "not counted: the agent's hooks report"
	case ch == ChannelTitle && m.TitleStatus == nil:
		return "not counted: the manifest has no titleStatus"
	case ch == ChannelComposer && !m.marksTurns():
		return "not counted: the manifest's composer has no working"
	case ch == ChannelScreen && m.Hooks != nil:
		return "not counted: the agent has hooks"
	case ch == ChannelActivity && m.hasChannel():
		return "not counted: the agent has better channels"
	}
	return ""
}

// hasChannel reports whether the manifest gives any channel, so that mere output
// says nothing.
func (m *Manifest) hasChannel() bool {
	return m.Hooks != nil || m.TitleStatus != nil || m.Status != nil || m.ProgressStatus || m.ProgramStatus || m.StatusFile != nil || m.marksTurns()
}

// marksTurns reports whether the manifest says what stands around the composer while a
// turn runs.
func (m *Manifest) marksTurns() bool {
	return m != nil && m.ComposerRule != nil && len(m.ComposerRule.Working) > 0
}

// level is the strongest channel that holds a state until it changes: it outranks the
// ones after it wholly, so that two levels never take turns.
func (mc *Machine) level() (Channel, *word) {
	found, best := Channel(""), (*word)(nil)
	for _, ch := range []Channel{ChannelProgram, ChannelFile, ChannelTitle, ChannelComposer, ChannelProgress, ChannelScreen} {
		w := mc.word(ch)
		switch {
		case ch == ChannelComposer && mc.word(ChannelHook) != nil: // see stopped
		case w == nil || w.Status == "" && !w.Busy:
		case !w.Busy && mc.showedTurn():
			// It has told of no turn yet: what it says is of the start, and the one that was
			// begun at the launch is about to be told.
			mc.notes[ch] = "of the start: the screen has shown a turn"
		case best != nil:
			if w.Status != best.Status {
				mc.notes[ch] = fmt.Sprintf("outranked by %s", found)
			}
		default:
			found, best = ch, w
		}
	}
	return found, best
}

// showedTurn reports whether the screen, and no hook, has shown a turn since the start
// that goes on as far as is known.
func (mc *Machine) showedTurn() bool {
	c := mc.word(ChannelComposer)
	return c != nil && c.Busy && mc.s.TurnOpen && mc.word(ChannelHook) == nil
}

// attention says whether the session is blocked on its person: by a dialog on the
// screen, by a level, or by a hook whose question has not been settled since. Of the
// verdict on a session that is not, only the time to look again counts.
func (mc *Machine) attention(level Channel, lw *word, now time.Time) (verdict, bool) {
	var again time.Time
	hook, dialog := mc.word(ChannelHook), mc.word(ChannelDialog)
	if dialog != nil && dialog.Status == api.NeedsYou {
		if until, answered := mc.answered(dialog, level, lw, now); answered {
			dialog, again = nil, until
		}
	}
	if dialog != nil && dialog.Status == api.NeedsYou {
		return verdict{
			status: api.NeedsYou, won: ChannelDialog, why: "a dialog is open on the screen: " + dialog.Rule,
			dialog: mc.enrich(dialog.Dialog, hook, lw),
		}, true
	}
	if lw != nil && lw.Status == api.NeedsYou {
		if v, settled := mc.gone(dialog, level, lw, now); settled {
			return v, true
		}
		d := lw.Dialog
		if hook != nil && hook.Status == api.NeedsYou && hook.Dialog != nil && !hook.At.Before(lw.Left) {
			d = hook.Dialog
		}
		return verdict{status: api.NeedsYou, won: level, why: fmt.Sprintf("%s says so: %s", level, lw.Rule), dialog: d}, true
	}
	if title := mc.word(ChannelTitle); title != nil && title.Status == api.NeedsYou && !goesOn(level, lw, title.At) {
		delete(mc.notes, ChannelTitle)
		v := verdict{status: api.NeedsYou, won: ChannelTitle, why: "the title matches " + title.Rule}
		if hook != nil && hook.Status == api.NeedsYou {
			v.dialog = hook.Dialog
		}
		return v, true
	}
	if hook == nil || hook.Status != api.NeedsYou {
		return verdict{again: again}, false
	}
	if reason := mc.withdrawn(hook, level, lw, now); reason != "" {
		mc.notes[ChannelHook] = "withdrawn: " + reason
		return verdict{again: again}, false
	}
	v := verdict{status: api.NeedsYou, won: ChannelHook, why: "the hook " + hook.Event + " said so", dialog: hook.Dialog}
	if lw != nil && lw.Busy && !sticky(hook.Dialog) {
		v.again = earlier(v.again, hook.At.Add(hookGrace), now)
	}
	return v, true
}

// answered reports whether a level went on since the dialog opened: the screen is
// about to show that it is gone, or that there is another one. What it still shows of
// the dialog meanwhile counts only past until.
func (mc *Machine) answered(dialog *word, level Channel, lw *word, now time.Time) (until time.Time, ok bool) {
	if !exact(level, lw) {
		return until, false
	}
	left := lw.Left
	if lw.Status != api.NeedsYou && lw.Since.After(left) {
		left = lw.Since
	}
	until = left.Add(staleDialog)
	if !left.After(dialog.Since) || dialog.At.After(left) && !now.Before(until) {
		return until, false
	}
	mc.notes[ChannelDialog] = fmt.Sprintf("%s said %s since it opened", level, restWord(lw))
	return until, true
}

// gone is the verdict when a dialog has left the screen of an agent whose status file
// still says that it waits: the file is written a moment later. If it goes on to say
// so, something waits that the screen's rules do not know.
func (mc *Machine) gone(dialog *word, level Channel, lw *word, now time.Time) (v verdict, ok bool) {
	if level != ChannelFile || dialog == nil || !dialog.Left.After(lw.Since) {
		return v, false
	}
	until := dialog.Left.Add(staleDialog)
	if !now.Before(until) {
		return v, false
	}
	mc.notes[level] = "the dialog has left the screen since"
	v = verdict{status: api.Idle, won: ChannelDialog, why: "the dialog has left the screen", again: until}
	if mc.s.TurnOpen {
		v.status = api.Working
	}
	return v, true
}

// exact reports whether a level is one by which the agent itself tells its state, and
// at once: what is drawn, the title too, follows it.
func exact(level Channel, lw *word) bool {
	return lw != nil && (level == ChannelProgram || level == ChannelFile)
}

// goesOn reports whether an exact level has come to say something else than needs-you
// since a time.
func goesOn(level Channel, lw *word, since time.Time) bool {
	return exact(level, lw) && lw.Status != api.NeedsYou && lw.Since.After(since)
}

// sticky says that a dialog is none on the screen: a limit or a login rests until the
// next prompt, whatever the levels say of the turn.
func sticky(d *api.Dialog) bool {
	return d != nil && (d.Kind == api.DialogLimit || d.Kind == api.DialogLogin)
}

// withdrawn says what settled a hook's attention since, "" for nothing.
func (mc *Machine) withdrawn(hook *word, level Channel, lw *word, now time.Time) string {
	newer := func(w *word) bool { return w != nil && w.At.After(hook.At) }
	if sticky(hook.Dialog) {
		if lw != nil && lw.Status == api.Working && lw.Since.After(hook.At) {
			return "the agent works again"
		}
		return ""
	}
	dialog, title, transcript := mc.word(ChannelDialog), mc.word(ChannelTitle), mc.word(ChannelTranscript)
	switch {
	case dialog != nil && dialog.Left.After(hook.At):
		return "its dialog left the screen"
	case newer(lw):
		return fmt.Sprintf("%s said %s since", level, restWord(lw))
	case title != nil && title.Left.After(hook.At):
		return "the title changed"
	case newer(transcript):
		return "the transcript went on: " + transcript.Rule
	case mc.composed(hook.At):
		return "the composer is back on the screen"
	case lw == nil || !lw.Busy:
	case level == ChannelProgram:
		// It tells of questions itself, in the same instant. A hook that is alone with
		// one came late, or another hook of the person's gave the answer.
		return fmt.Sprintf("%s says %s", level, restWord(lw))
	case !now.Before(hook.At.Add(hookGrace)):
		return fmt.Sprintf("%s says %s all the while", level, restWord(lw))
	}
	return ""
}

func restWord(w *word) string {
	if w.Status == "" {
		return "nothing anymore"
	}
	return w.Status.State()
}

// enrich gives a dialog seen on the screen what other channels know better: the text
// of a question whose top has left the screen, and the kind.
func (mc *Machine) enrich(d *api.Dialog, hook, lw *word) *api.Dialog {
	if d == nil || d.Question != "" {
		return d
	}
	c := *d
	if hook != nil && hook.Status == api.NeedsYou && hook.Dialog != nil {
		c.Question, c.Detail = hook.Dialog.Question, hook.Dialog.Detail
	} else if lw != nil && lw.Status == api.NeedsYou && lw.Dialog != nil {
		c.Question = lw.Dialog.Question
	}
	return &c
}

// turn says whether a turn runs, from the newest of the events and the level.
func (mc *Machine) turn(level Channel, lw *word, now time.Time) verdict {
	base, bw := mc.base()
	if !mc.m.IsShell() && !mc.m.hasChannel() {
		return mc.activity(now)
	}
	switch {
	case lw == nil && bw == nil:
		return verdict{status: api.Idle, why: "nothing was heard yet"}
	case lw == nil:
		if v, ok := mc.stopped(base, bw, now); ok {
			return v
		}
		return mc.queued(base, bw, now)
	case lw.Status == api.Working:
		return mc.busy(level, lw, base, bw, now)
	case bw == nil:
		return mc.corrected(level, lw, nil)
	case bw.Status == api.Working || bw.Status == api.NeedsYou:
		if bw.Status == api.Working && bw.At.After(lw.At) && !(lw.Busy && !now.Before(bw.At.Add(hookGrace))) {
			v := mc.event(base, bw)
			if lw.Busy {
				v.again = earlier(v.again, bw.At.Add(hookGrace), now)
			}
			return v
		}
		mc.notes[base] = fmt.Sprintf("corrected by %s", level)
		return mc.corrected(level, lw, bw)
	}
	// Both rest. A done of this turn is more than a level's idle.
	if bw.At.Before(mc.s.TurnAt) {
		mc.notes[base] = "of an earlier turn"
		return mc.corrected(level, lw, bw)
	}
	if bw.Status == api.Done || lw.Status != api.Done && bw.At.After(lw.At) {
		return mc.event(base, bw)
	}
	return mc.corrected(level, lw, bw)
}

// base is the newer of the two channels that tell of events.
func (mc *Machine) base() (Channel, *word) {
	hook, transcript := mc.word(ChannelHook), mc.word(ChannelTranscript)
	if transcript == nil || transcript.Status == "" {
		return ChannelHook, hook
	}
	if hook == nil || transcript.At.After(hook.At) {
		return ChannelTranscript, transcript
	}
	mc.notes[ChannelTranscript] = "older than the last hook"
	return ChannelHook, hook
}

// event is the verdict of an event that no level contradicts.
func (mc *Machine) event(ch Channel, w *word) verdict {
	v := verdict{status: w.Status, won: ch, why: fmt.Sprintf("%s %s said %s", ch, eventName(w), w.Status.State()), from: w.At, fresh: true}
	if ch == ChannelHook && w.Status == api.Done && mc.m.Hooks.DoneSettleMS > 0 {
		v.hold = w.At.Add(time.Duration(mc.m.Hooks.DoneSettleMS) * time.Millisecond)
	}
	if w.Status == api.NeedsYou { // withdrawn: the turn that asked goes on, if it runs
		v.status, v.why = api.Idle, "what was asked has been settled"
		if mc.s.TurnOpen {
			v.status = api.Working
		}
	}
	return v
}

// stopped is the verdict where events alone say that a turn runs, and the mark of a
// running turn has gone from around the composer: it was interrupted, or what it asked
// for was refused. It counts only if the mark was seen in this turn, or a dialog was: a
// version that draws another mark is then no worse off than without the rule.
func (mc *Machine) stopped(base Channel, bw *word, now time.Time) (verdict, bool) {
	c, dialog := mc.word(ChannelComposer), mc.word(ChannelDialog)
	if c == nil || !c.Busy || c.Status != "" || bw.Status != api.Working && bw.Status != api.NeedsYou {
		return verdict{}, false
	}
	if !mc.s.TurnOpen {
		if bw.At.After(mc.s.TurnEnd) {
			return verdict{}, false
		}
		// The event is of the turn that was taken for over, and nothing has come since.
		mc.notes[base] = fmt.Sprintf("corrected by %s", ChannelComposer)
		v := mc.corrected(ChannelComposer, c, bw)
		v.why = mc.s.Why
		return v, true
	}
	since := c.Since
	if dialog != nil && dialog.Left.After(since) && !c.At.Before(dialog.Left) {
		since = dialog.Left
	}
	if since.Before(mc.s.TurnAt) {
		return verdict{}, false
	}
	until := since.Add(restSettle)
	if end := bw.At.Add(hookGrace); bw.Status == api.Working && end.After(until) {
		until = end
	}
	if now.Before(until) {
		v := mc.event(base, bw)
		v.again = until
		return v, true
	}
	mc.notes[base] = fmt.Sprintf("corrected by %s", ChannelComposer)
	v := mc.corrected(ChannelComposer, c, bw)
	v.why = "the mark of a running turn has gone from the screen, and nothing said how it ended"
	return v, true
}

// composed reports whether the composer stands on the screen again, some time after an
// event: no dialog is open then.
func (mc *Machine) composed(event time.Time) bool {
	c := mc.word(ChannelComposer)
	return c != nil && c.At.Sub(event) >= composerBack
}

// queued is the verdict of an event where no level tells when the agent is at rest: a
// prompt that was taken in the turn begins a turn of its own, in a moment, and goes on
// for as long as the composer shows that it runs.
func (mc *Machine) queued(ch Channel, w *word, now time.Time) verdict {
	if w.Status != api.Done || mc.s.Queued == 0 || !mc.m.Timings().Queues {
		return mc.event(ch, w)
	}
	v := verdict{status: api.Working, won: ch, why: "the turn ended, and a prompt waits behind it"}
	end := w.At.Add(queueHold)
	if c := mc.word(ChannelComposer); c != nil && c.Busy {
		if c.Status == api.Working {
			v.won, v.why = ChannelComposer, fmt.Sprintf("%s said done, and the screen shows that a turn runs: %s", eventName(w), c.Rule)
			return v
		}
		end = w.At.Add(restSettle)
		if c.Since.After(w.At) {
			end = c.Since.Add(restSettle)
		}
	}
	if now.Before(end) {
		v.again = end
		return v
	}
	return mc.event(ch, w)
}

func eventName(w *word) string {
	if w.Event != "" {
		return w.Event
	}
	return w.Rule
}

// busy is the verdict while a level says working.
func (mc *Machine) busy(level Channel, lw *word, base Channel, bw *word, now time.Time) verdict {
	v := verdict{status: api.Working, won: level, why: fmt.Sprintf("%s says working: %s", level, lw.Rule), from: lw.Since}
	if bw == nil || bw.Status == api.Working || bw.Status == api.NeedsYou || bw.At.Before(lw.Since) {
		return v
	}
	if level != ChannelProgram && level != ChannelFile { // a spinner may lag behind
		return mc.event(base, bw)
	}
	mc.notes[base] = fmt.Sprintf("%s still says working", level)
	v.why = fmt.Sprintf("%s %s said %s, but %s still says working", base, eventName(bw), bw.Status.State(), level)
	return v
}

// corrected is the verdict of a level at rest over an event that says otherwise.
func (mc *Machine) corrected(level Channel, lw *word, bw *word) verdict {
	v := verdict{won: level, status: lw.Status, why: fmt.Sprintf("%s says %s: %s", level, restWord(lw), lw.Rule)}
	switch {
	case lw.Status == api.Done:
	case !mc.tellsDone():
		// No channel of this agent tells the end of a turn from an interruption.
		v.status = api.Done
		switch {
		case !mc.s.TurnOpen:
			v.status = mc.rested()
		case level == ChannelComposer: // one drawing may lack its mark
			v.hold = lw.Since.Add(restSettle)
		}
	case level == ChannelProgram:
		v.status = api.Idle
	default:
		v.status = api.Idle
		if bw != nil || mc.s.TurnOpen {
			v.hold = lw.Since.Add(restSettle)
		}
	}
	return v
}

// tellsDone reports whether a channel that has been heard says done at a turn's end,
// so that a bare idle means something else. Hooks that are declared and not installed
// tell nothing.
func (mc *Machine) tellsDone() bool {
	m, done := mc.m, string(api.Done)
	switch {
	case mc.word(ChannelProgram) != nil:
		return true
	case mc.word(ChannelHook) != nil &&
		slices.ContainsFunc(m.Hooks.Events, func(e HookEvent) bool { return e.State == done }):
		return true
	case mc.word(ChannelTranscript) != nil &&
		slices.ContainsFunc(m.TranscriptRules.Rules, func(r TranscriptRule) bool { return r.State == done }):
		return true
	}
	return m.StatusFile != nil && slices.Contains(slices.Collect(maps.Values(m.StatusFile.Values)), done)
}

// activity is the verdict of an agent of which only the output is seen.
func (mc *Machine) activity(now time.Time) verdict {
	w := mc.word(ChannelActivity)
	if w == nil {
		return verdict{status: api.Idle, why: "nothing was heard yet"}
	}
	quiet := w.At.Add(activityQuiet)
	switch {
	case !now.Before(quiet):
		v := verdict{status: api.Done, won: ChannelActivity, why: "no more output"}
		if !mc.s.TurnOpen {
			v.status = mc.rested()
		}
		return v
	case mc.s.TurnOpen || w.At.Sub(mc.s.ActiveFrom) >= activityStart:
		return verdict{status: api.Working, won: ChannelActivity, why: "its output goes on", from: mc.s.ActiveFrom, again: quiet}
	}
	return verdict{status: mc.rested(), won: ChannelActivity, why: "too little output to tell"}
}

// rested is the status that goes on where nothing new is told: a dialog that was open
// outside of any turn, such as one at the start, has left by then.
func (mc *Machine) rested() api.Status {
	if mc.s.Status == api.NeedsYou && !mc.s.TurnOpen {
		return api.Idle
	}
	return mc.s.Status
}

// earlier is the sooner of two times that are set and still to come.
func earlier(a, b, now time.Time) time.Time {
	if !b.After(now) || !a.IsZero() && a.Before(b) {
		return a
	}
	return b
}

// commit makes the verdict the machine's state and says what that changed.
func (mc *Machine) commit(v verdict, before memory, now time.Time) Change {
	s := &mc.s
	if s.Status == api.Done && v.status == api.Idle && !v.fresh {
		v.status, v.why = api.Done, s.Why // done rests until new input
	}
	c := Change{From: before.Status, To: v.status, Changed: before.Status != v.status}
	busy := v.status == api.Working || v.status == api.NeedsYou && s.TurnOpen && !sticky(v.dialog)
	switch {
	case v.status == api.Working && !s.TurnOpen:
		mc.openTurn(v.from, now)
		c.TurnStarted = true
	case s.TurnOpen && !busy:
		c.TurnEnded = true
	case v.status == api.Done && before.Status != api.Done && !s.TurnOpen && (now.Sub(s.TurnEnd) > sameTurn || mc.restedBefore(v)):
		mc.openTurn(now, now) // only its end was seen
		c.TurnStarted, c.TurnEnded = true, true
	}
	if c.TurnEnded {
		s.TurnOpen, s.TurnEnd, s.Tool, s.Queued = false, now, "", 0
	}
	if c.Changed {
		s.Status, s.Since = v.status, now
	}
	s.Won, s.Why, s.Deadline = v.won, v.why, v.again
	mc.setDialog(v, before, &c, now)
	c.Background = s.background() != before.background()
	return c
}

// restedBefore reports whether it is a program that says done after it had been at
// rest since the last turn's end: of another turn, whose beginning it did not tell
// because it was over so soon. Claude Code 2.1.332 does that on a busy machine.
func (mc *Machine) restedBefore(v verdict) bool {
	w := mc.s.Words[ChannelProgram]
	return v.won == ChannelProgram && w.Since.After(mc.s.TurnEnd)
}

func (mc *Machine) openTurn(from, now time.Time) {
	if from.IsZero() || from.After(now) {
		from = now
	}
	mc.s.Turn++
	mc.s.TurnOpen, mc.s.TurnAt, mc.s.TurnPrompted, mc.s.Queued = true, from, false, 0
}

// setDialog keeps the open dialog and counts a new one.
func (mc *Machine) setDialog(v verdict, before memory, c *Change, now time.Time) {
	s := &mc.s
	if v.status != api.NeedsYou {
		s.Dialog = nil
		c.Dialog = before.Status == api.NeedsYou
		return
	}
	another := before.Status != api.NeedsYou
	switch program := s.Words[ChannelProgram]; {
	case another:
	case v.won == ChannelDialog && before.Won == ChannelDialog:
		another = !sameDialog(v.dialog, before.Dialog)
	case v.won == ChannelProgram:
		another = program.Left.Equal(program.Since) && program.Since.After(s.DialogAt)
	}
	if another {
		s.DialogSeq++
		s.DialogAt = now
	}
	c.Dialog = another || before.Dialog == nil != (v.dialog == nil)
	s.Dialog = v.dialog
}

// sameDialog compares what a dialog asks. Where its mark is and what is ticked do not
// matter, nor does one label: an option that takes text shows what was typed.
func sameDialog(a, b *api.Dialog) bool {
	if a == nil || b == nil {
		return a == b
	}
	if a.Kind != b.Kind || a.Question != b.Question || a.Detail != b.Detail || len(a.Options) != len(b.Options) {
		return false
	}
	differ := 0
	for i := range a.Options {
		if a.Options[i].Label != b.Options[i].Label {
			differ++
		}
	}
	return differ == 0 || differ == 1 && len(a.Options) > 1
}
