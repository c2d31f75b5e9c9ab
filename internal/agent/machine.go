package agent

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"termio/internal/api"
)

// The few timed rules. Each is armed only while what it waits for is possible.
const (
	// hookGrace is how long a hook's word stands against a level that says otherwise
	// all the while: hooks are started as processes and may come late.
	hookGrace = 2 * time.Second
	// restSettle is how long a level's idle waits for the done that may be on its way.
	restSettle = time.Second
	// queueHold is how long a finished turn waits for the prompt behind it to begin.
	queueHold = 3 * time.Second
	// sameTurn is how soon after a turn's end another word on that end may come.
	sameTurn = 5 * time.Second
	// staleDialog is how long a dialog may stay on the screen after the agent said that
	// it goes on: it draws when it comes to it.
	staleDialog = 2 * time.Second
	// beginLeeway is how long before an agent's start was noticed its own hooks may have
	// been: one that was started by hand is noticed by its first hook.
	beginLeeway = 5 * time.Second
	// composerBack is how long after a hook's question the composer counts as back: the
	// dialog is drawn a moment later.
	composerBack = time.Second
	// samePrompt is how far apart two channels tell of one prompt.
	samePrompt = 2 * time.Second
	// activityStart and activityQuiet bound a turn that only its output shows.
	activityStart = 1500 * time.Millisecond
	activityQuiet = 4 * time.Second
)

// A Change is what one piece of evidence did.
type Change struct {
	Changed  bool // the status did
	From, To api.Status
	// TurnStarted and TurnEnded say that a turn began or ended; both when only its end
	// was seen.
	TurnStarted, TurnEnded bool
	// Prompted says that the agent took a person's prompt.
	Prompted bool
	// Dialog says that another dialog is open than before, or none anymore.
	Dialog bool
	// Background says that the number of background tasks changed.
	Background bool
}

// A word is the last that a channel said.
type word struct {
	Status api.Status  `json:"status,omitempty"`
	At     time.Time   `json:"at"`              // of the last statement
	Since  time.Time   `json:"since"`           // since when it has said this
	Left   time.Time   `json:"left,omitzero"`   // when it last stopped to say attention
	Event  string      `json:"event,omitempty"` //
	Rule   string      `json:"rule,omitempty"`
	Text   string      `json:"text,omitempty"`
	Tool   string      `json:"tool,omitempty"`
	Dialog *api.Dialog `json:"dialog,omitempty"`
	Failed bool        `json:"failed,omitempty"`
	Ended  bool        `json:"ended,omitempty"`
	Busy   bool        `json:"busy,omitempty"` // has said working or attention since the agent started
}

// memory is the whole state of a machine, in the form in which it is stored.
type memory struct {
	Status   api.Status `json:"status"`
	Since    time.Time  `json:"since"`
	Begun    time.Time  `json:"begun,omitzero"` // when the program that has the session began
	Turn     uint64     `json:"turn"`
	Prompts  uint64     `json:"prompts"`
	Queued   int        `json:"queued,omitempty"` // prompts taken behind the running turn
	TurnOpen bool       `json:"turn_open,omitempty"`
	TurnAt   time.Time  `json:"turn_at,omitzero"`
	// TurnPrompted says that the running turn's own prompt was seen: the next one is
	// behind it.
	TurnPrompted bool `json:"turn_prompted,omitempty"`
	// HookPrompt says that hooks tell of prompts, LinePrompt when the transcript did.
	HookPrompt bool      `json:"hook_prompt,omitempty"`
	LinePrompt time.Time `json:"line_prompt,omitzero"`
	// Together is how many prompts the transcript has had since a turn last ended in it,
	// LineEnded that one has ended since its last prompt.
	Together   int               `json:"together,omitempty"`
	LineEnded  bool              `json:"line_ended,omitempty"`
	TurnEnd    time.Time         `json:"turn_end,omitzero"`
	Words      map[Channel]*word `json:"words"`
	Hooks      []string          `json:"hooks,omitempty"` // names of events since the start
	Tool       string            `json:"tool,omitempty"`
	Dialog     *api.Dialog       `json:"dialog,omitempty"`
	DialogSeq  uint64            `json:"dialog_seq"`
	DialogAt   time.Time         `json:"dialog_at,omitzero"`
	HookTasks  int               `json:"hook_tasks,omitempty"` // background tasks that a hook counted
	Records    []string          `json:"records,omitempty"`    // background tasks with a record that goes on
	Won        Channel           `json:"won,omitempty"`
	Why        string            `json:"why,omitempty"`
	InputAt    time.Time         `json:"input_at,omitzero"`
	ActiveFrom time.Time         `json:"active_from,omitzero"`
	Deadline   time.Time         `json:"deadline,omitzero"`
}

// A Machine holds what is known of one session's agent and says which status that
// makes. It keeps the last word of every channel and decides from all of them anew at
// each piece of evidence, so that the order in which they arrive matters little. It
// belongs to the session's goroutine.
type Machine struct {
	m *Manifest
	s memory
	// notes say of channels why their word did not count; made by every decision.
	notes map[Channel]string
}

// NewMachine makes the machine of a session that starts now. m is nil for a plain
// shell.
func NewMachine(m *Manifest, now time.Time) *Machine {
	mc := &Machine{m: m}
	mc.s = memory{Status: api.Idle, Since: now, Begun: now, Words: make(map[Channel]*word), Why: "nothing was heard yet"}
	return mc
}

// Begin tells the machine that another program has the session: an agent that was
// started or resumed, or, with nil, the shell after it. What was heard of the last
// one is forgotten; turns are counted on.
func (mc *Machine) Begin(m *Manifest, now time.Time) Change {
	before := mc.s
	mc.m = m
	mc.s = memory{
		Status: before.Status, Since: before.Since, Begun: now, Turn: before.Turn, Prompts: before.Prompts,
		TurnOpen: before.TurnOpen, TurnAt: before.TurnAt, TurnPrompted: before.TurnPrompted, TurnEnd: before.TurnEnd,
		Dialog: before.Dialog, DialogSeq: before.DialogSeq, DialogAt: before.DialogAt, Words: make(map[Channel]*word),
	}
	return mc.commit(verdict{status: api.Idle, won: ChannelProcess, why: "another program was started", fresh: true}, before, now)
}

// Apply takes one piece of evidence. Evidence from the future is taken as of now, and
// a hook that is older than the last one changes nothing.
func (mc *Machine) Apply(ev Evidence, now time.Time) Change {
	before := mc.s
	if ev.At.IsZero() || ev.At.After(now) {
		ev.At = now
	}
	prompted := mc.take(ev)
	c := mc.decide(before, now)
	if prompted {
		mc.promptTaken(before, &c)
	}
	return c
}

// promptTaken counts a prompt, as the running turn's own or as one behind it.
func (mc *Machine) promptTaken(before memory, c *Change) {
	s := &mc.s
	c.Prompted = true
	s.Prompts++
	switch {
	case !s.TurnOpen:
	case before.Status == api.NeedsYou && before.TurnOpen && s.Status == api.Working:
		// No prompt can be typed while a dialog is open: it was refused, which no
		// channel told, and this is another turn.
		mc.openTurn(s.TurnAt, s.Since)
		s.TurnPrompted, c.TurnStarted, c.TurnEnded = true, true, true
	case s.TurnPrompted:
		s.Queued++
	default:
		s.TurnPrompted = true
	}
}

// take keeps the evidence as its channel's last word, and reports whether it says
// that a prompt was taken.
func (mc *Machine) take(ev Evidence) (prompted bool) {
	s := &mc.s
	if ev.Channel == ChannelInput {
		s.InputAt = ev.At
		return false
	}
	if s.beforeBegin(ev) {
		return false
	}
	if ev.Record != "" {
		s.record(ev.Record, ev.Status)
		return false
	}
	if ev.Ended {
		mc.forget()
	}
	if ev.Channel == ChannelHook {
		if ev.Event != "" && !slices.Contains(s.Hooks, ev.Event) && len(s.Hooks) < 64 {
			s.Hooks = append(s.Hooks, ev.Event)
		}
		if ev.Background >= 0 {
			s.HookTasks = ev.Background
		}
	}
	if ev.Channel == ChannelTranscript {
		s.countTogether(ev)
	}
	old := s.Words[ev.Channel]
	if old != nil && ev.At.Before(old.At) {
		if ev.Channel == ChannelHook || ev.Channel == ChannelTranscript {
			return s.prompted(ev) // too late to say anything on the state
		}
		ev.At = old.At
	}
	w := &word{
		Status: ev.Status, At: ev.At, Since: ev.At, Event: ev.Event, Rule: ev.Rule,
		Text: clean(ev.Text, maxText), Tool: ev.Tool, Dialog: ev.Dialog, Failed: ev.Failed, Ended: ev.Ended,
		Busy: ev.Status == api.Working || ev.Status == api.NeedsYou,
	}
	if old != nil {
		w.Busy = w.Busy || old.Busy
		w.Left = old.Left
		switch {
		case old.Status == api.NeedsYou && (ev.Status != api.NeedsYou || asksElse(old, w, ev.Channel)):
			w.Left = ev.At
		case old.Status == ev.Status:
			w.Since = old.Since
			if ev.Status == api.NeedsYou && vague(w.Dialog) {
				w.Dialog = old.Dialog // a reminder of what was asked
			}
		}
	}
	if ev.Channel == ChannelActivity {
		if old == nil || ev.At.Sub(old.At) > activityQuiet || ev.At.Sub(s.InputAt) < activityStart {
			s.ActiveFrom = ev.At
		}
	}
	s.Words[ev.Channel] = w
	if ev.Channel == ChannelHook && ev.Status == api.Working && old != nil && old.Status == api.Done {
		s.Queued = 0 // what waited behind the last turn runs now
	}
	if ev.Channel == ChannelHook && ev.Tool != "" && ev.Status != api.Done {
		s.Tool = ev.Tool
	}
	return s.prompted(ev)
}

// beforeBegin reports whether evidence is of the time before the agent began: the
// turns that a resumed conversation's transcript holds, a file or a late hook of the
// agent before.
func (s *memory) beforeBegin(ev Evidence) bool {
	begun := s.Begun.Truncate(time.Millisecond)
	switch ev.Channel {
	case ChannelTranscript:
		return ev.At.Before(begun)
	case ChannelHook, ChannelFile:
		return ev.At.Before(begun.Add(-beginLeeway))
	}
	return false
}

// asksElse reports whether a channel that asked before asks something else now.
func asksElse(old, w *word, ch Channel) bool {
	switch ch {
	case ChannelDialog:
		return !sameDialog(old.Dialog, w.Dialog)
	case ChannelProgram:
		return old.Text != "" && w.Text != "" && old.Text != w.Text
	}
	return false
}

// vague reports whether a dialog says no more than that there is one.
func vague(d *api.Dialog) bool { return d == nil || d.Detail == "" && len(d.Options) == 0 }

// prompted reports whether the evidence tells of a prompt that no other channel has
// told of: the hook and the transcript both do, and the transcript tells of a queued
// one only when its turn comes.
func (s *memory) prompted(ev Evidence) bool {
	if !ev.Prompt {
		return false
	}
	if ev.Channel == ChannelHook {
		again := !s.HookPrompt && ev.At.Sub(s.LinePrompt).Abs() < samePrompt
		s.HookPrompt = true
		return !again
	}
	s.LinePrompt = ev.At
	return !s.HookPrompt
}

// countTogether counts the prompts of a turn as the transcript has them: those that an
// agent runs as one stand there one after the other, with no end between.
func (s *memory) countTogether(ev Evidence) {
	switch {
	case ev.Prompt && s.LineEnded:
		s.Together, s.LineEnded = 1, false
	case ev.Prompt:
		s.Together++
	case ev.Status == api.Done || ev.Status == api.Idle:
		s.LineEnded = true
	}
}

// forget drops what was heard of an agent that is gone.
func (mc *Machine) forget() {
	s := &mc.s
	s.Words = make(map[Channel]*word)
	s.Hooks, s.Records, s.Tool = nil, nil, ""
	s.HookTasks, s.Queued = 0, 0
	s.HookPrompt, s.LinePrompt = false, time.Time{}
	s.Together, s.LineEnded = 0, false
}

// maxRecords bounds the background records of one session.
const maxRecords = 256

// record keeps the state of a background task.
func (s *memory) record(id string, status api.Status) {
	i := slices.Index(s.Records, id)
	goesOn := status == api.Working || status == api.NeedsYou
	switch {
	case goesOn && i < 0 && len(s.Records) < maxRecords:
		s.Records = append(slices.Clone(s.Records), id)
	case !goesOn && i >= 0:
		s.Records = slices.Delete(slices.Clone(s.Records), i, i+1)
	}
}

func (s *memory) background() int { return max(s.HookTasks, len(s.Records)) }

// Tick applies the timed rules; see [Machine.Deadline].
func (mc *Machine) Tick(now time.Time) Change { return mc.decide(mc.s, now) }

// Deadline is when a timed rule may change something without further evidence; ok is
// false when none is armed.
func (mc *Machine) Deadline() (at time.Time, ok bool) {
	return mc.s.Deadline, !mc.s.Deadline.IsZero()
}

// Status is what the session is doing.
func (mc *Machine) Status() api.Status { return mc.s.Status }

// Since is when the status began.
func (mc *Machine) Since() time.Time { return mc.s.Since }

// Turn is the number of turns that have begun.
func (mc *Machine) Turn() uint64 { return mc.s.Turn }

// Prompts is the number of prompts of a person that the agent is known to have taken.
func (mc *Machine) Prompts() uint64 { return mc.s.Prompts }

// Together is how many prompts of a person the last turn took, as the transcript tells:
// more than one where the agent ran queued ones as one. 0 where it doesn't tell.
func (mc *Machine) Together() int { return mc.s.Together }

// TellsPrompts reports whether the agent's hooks will tell of each prompt that it takes:
// one of them has come, and the manifest names one for prompts.
func (mc *Machine) TellsPrompts() bool {
	return len(mc.s.Hooks) > 0 && mc.m != nil && mc.m.Hooks != nil && slices.ContainsFunc(mc.m.Hooks.Events, HookEvent.isPrompt)
}

// Tool is the tool that runs, as the hooks named it, or the command in the
// foreground of a shell; "" when none is known.
func (mc *Machine) Tool() string {
	if mc.s.Status != api.Working {
		return ""
	}
	if w := mc.s.Words[ChannelProcess]; mc.m.IsShell() && w != nil {
		return w.Tool
	}
	return mc.s.Tool
}

// Dialog is the open dialog; nil when none is open or nothing is known of it. It is
// not to be changed.
func (mc *Machine) Dialog() *api.Dialog { return mc.s.Dialog }

// DialogSeq counts dialogs: it grows when another one opens, so that an answer can be
// told from the dialog that comes after it.
func (mc *Machine) DialogSeq() uint64 { return mc.s.DialogSeq }

// DialogAnnounced reports whether the open dialog is one that the agent has told of
// and is yet to draw: not all of its options may be known, such as those that the agent
// adds to a question's own. False where the manifest doesn't say how its dialogs are
// drawn, and for a limit or a login that ended a turn: those are never drawn.
func (mc *Machine) DialogAnnounced() bool {
	if mc.s.Status != api.NeedsYou || mc.s.Won == ChannelDialog || !mc.m.HasDialogs() {
		return false
	}
	w := mc.s.Words[mc.s.Won]
	return !sticky(mc.s.Dialog) || mc.s.Won == ChannelProgram && w != nil && !w.Failed
}

// Background is the number of tasks that go on besides the turn.
func (mc *Machine) Background() int { return mc.s.background() }

// Seen gives the signs of readiness for [Manifest.Ready].
func (mc *Machine) Seen() Seen {
	seen := Seen{Hooks: slices.Clone(mc.s.Hooks)}
	if w := mc.s.Words[ChannelProgram]; w != nil && w.Status != "" {
		seen.Program = w.Status.State()
	}
	if w := mc.s.Words[ChannelFile]; w != nil && w.Status != "" {
		seen.File = w.Status.State()
	}
	return seen
}

// MarshalState gives the machine's memory for the store.
func (mc *Machine) MarshalState() ([]byte, error) {
	b, err := json.Marshal(mc.s)
	if err != nil {
		return nil, fmt.Errorf("status memory: %w", err)
	}
	return b, nil
}

// RestoreState makes the machine that another host left off with. Memory that can't
// be read is an error and a fresh machine.
func RestoreState(m *Manifest, data []byte, now time.Time) (*Machine, error) {
	mc := NewMachine(m, now)
	var s memory
	if err := json.Unmarshal(data, &s); err != nil {
		return mc, fmt.Errorf("status memory: %w", err)
	}
	if _, ok := api.ParseState(s.Status.State()); !ok {
		return mc, fmt.Errorf("status memory: unknown status %q", s.Status)
	}
	if s.Words == nil {
		s.Words = make(map[Channel]*word)
	}
	for ch, w := range s.Words {
		if w == nil {
			delete(s.Words, ch)
		}
	}
	mc.s = s
	mc.notes = make(map[Channel]string)
	mc.weigh(now) // for the notes alone: what was decided stays
	return mc, nil
}
