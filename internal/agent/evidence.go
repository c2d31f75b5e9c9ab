package agent

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"termio/internal/api"
)

// A Channel is one way in which an agent's state becomes known.
type Channel string

// The channels. Hooks tell of events and speak once; program, file, dialog, title,
// composer, progress and screen are levels that hold until they change.
const (
	ChannelHook       Channel = "hook"
	ChannelProgram    Channel = "program" // OSC 7501
	ChannelFile       Channel = "file"
	ChannelDialog     Channel = "dialog"
	ChannelTitle      Channel = "title"
	ChannelTranscript Channel = "transcript"
	ChannelComposer   Channel = "composer" // what stands around it while a turn runs
	ChannelProgress   Channel = "progress" // OSC 9;4
	ChannelScreen     Channel = "screen"
	ChannelActivity   Channel = "activity"
	ChannelProcess    Channel = "process"
	ChannelInput      Channel = "input" // text, keys or an answer went in
)

// Evidence is one observation of an agent, with its own time. The constructors below
// and [Report.Evidence] make it; the zero Status says nothing, or, from a level, that
// it does not say anymore what it had said.
type Evidence struct {
	Channel Channel
	Status  api.Status
	At      time.Time // of the event, not of its arrival
	Event   string    // name of a hook event
	Rule    string    // what matched
	Text    string    // what it matched on, or a message for people
	Tool    string
	Dialog  *api.Dialog

	// Background is the number of tasks that go on after the turn, -1 when the
	// evidence does not say.
	Background int
	// Record names a background task whose state this is, not the session's.
	Record string
	// Prompt says that the agent took a person's prompt.
	Prompt bool
	// Failed says that the turn ended in an error, Text.
	Failed bool
	// Ended says that the agent's process is gone, or that its shell is back.
	Ended bool
}

// maxText bounds the text that evidence keeps, in runes.
const maxText = 300

// evidence is an Evidence that does not tell of background work.
func evidence(ch Channel, status api.Status, at time.Time) Evidence {
	return Evidence{Channel: ch, Status: status, At: at, Background: -1}
}

// TitleEvidence is what the live title says.
func (m *Manifest) TitleEvidence(title string, at time.Time) Evidence {
	ev := evidence(ChannelTitle, "", at)
	ev.Text = clean(title, maxText)
	if m != nil && m.TitleStatus != nil {
		ev.Status, ev.Rule = m.TitleStatus.match(title)
	}
	return ev
}

// PlainTitle is a title without the mark of a status before it: what a titleStatus
// pattern matches there, else a sign that stands alone, such as a spinner's.
func (m *Manifest) PlainTitle(title string) string {
	if m != nil && m.TitleStatus != nil {
		for _, p := range slices.Concat(m.TitleStatus.Attention, m.TitleStatus.Working) {
			if rest, ok := p.cutPrefix(title); ok {
				return strings.TrimSpace(rest)
			}
		}
	}
	if first, rest, ok := strings.Cut(title, " "); ok && !strings.ContainsFunc(first, func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("/~.@$_", r)
	}) {
		return strings.TrimSpace(rest)
	}
	return title
}

// ProgressEvidence is what OSC 9;4 says: state 0 ends progress, 1 and 3 show it. An
// error (2) and a pause (4) are no word on the turn, nor is any other state.
func ProgressEvidence(state int, at time.Time) (Evidence, bool) {
	ev := evidence(ChannelProgress, "", at)
	ev.Rule = fmt.Sprintf("9;4;%d", state)
	switch state {
	case 0:
		return ev, true
	case 1, 3:
		ev.Status = api.Working
		return ev, true
	}
	return ev, false
}

// A ProgramRecord is one report of the Program Status Protocol.
type ProgramRecord struct {
	State   string // working, idle, blocked, done, error, clear
	App     string
	Kind    string // of blocked: permission, question, auth
	Message string
	ID      string // a background task's record; "" is the program itself
	Title   string
}

// maxProgram bounds a report of OSC 7501 in bytes.
const maxProgram = 16 << 10

// ParseProgram reads the payload of OSC 7501, what stands after "7501;". Keys that
// are not known are skipped. ok is false for a query and for anything without a state.
func ParseProgram(payload string) (r ProgramRecord, ok bool) {
	if len(payload) > maxProgram {
		return r, false
	}
	for part := range strings.SplitSeq(payload, ":") {
		key, v, found := strings.Cut(part, "=")
		if !found {
			continue
		}
		switch key {
		case "state":
			r.State = v
		case "app":
			r.App = clean(v, maxText)
		case "kind":
			r.Kind = v
		case "id":
			r.ID = clean(v, maxConversation)
		case "msg":
			r.Message = clean(decodeBase64(v), maxQuestion)
		case "title":
			r.Title = clean(decodeBase64(v), maxText)
		}
	}
	switch r.State {
	case "working", "idle", "blocked", "done", "error", "clear":
		return r, true
	}
	return r, false
}

// decodeBase64 takes padded and unpadded text; what is no base64 is nothing.
func decodeBase64(s string) string {
	b, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(s, "="))
	if err != nil {
		return ""
	}
	return strings.ToValidUTF8(string(b), "\ufffd")
}

// ProgramEvidence is what a payload of OSC 7501 says.
func (m *Manifest) ProgramEvidence(payload string, at time.Time) (Evidence, bool) {
	r, ok := ParseProgram(payload)
	if !ok {
		return Evidence{}, false
	}
	ev := evidence(ChannelProgram, "", at)
	ev.Rule = "state=" + r.State
	ev.Text = r.Message
	ev.Record = r.ID
	switch r.State {
	case "working":
		ev.Status = api.Working
	case "idle":
		ev.Status = api.Idle
	case "done":
		ev.Status = api.Done
	case "error":
		ev.Status, ev.Failed = api.Done, true
		m.limit(&ev, r.Message)
	case "blocked":
		ev.Status = api.NeedsYou
		ev.Rule += ":kind=" + r.Kind
		ev.Dialog = &api.Dialog{Kind: programKind(r.Kind), Question: r.Message}
	}
	return ev, true
}

func programKind(kind string) api.DialogKind {
	switch kind {
	case "question":
		return api.DialogQuestion
	case "auth":
		return api.DialogLogin
	}
	return api.DialogPermission
}

// limit turns a failed turn into attention when its error is one of the limits that
// the manifest knows: the person has to do something before anything goes on.
func (m *Manifest) limit(ev *Evidence, message string) {
	if m == nil {
		return
	}
	for _, l := range m.Limits {
		if l.Match.Match(message) {
			ev.Status = api.NeedsYou
			ev.Rule += " limits " + l.Match.String()
			ev.Dialog = &api.Dialog{Kind: l.Kind, Question: clean(message, maxQuestion)}
			return
		}
	}
}

// ScreenEvidence is what the screen says: whether a dialog is open, for agents whose
// manifest knows their dialogs, whether a turn runs, for those whose composer shows it,
// and the state by the screen's text for those without hooks.
func (m *Manifest) ScreenEvidence(v ScreenView, at time.Time) []Evidence {
	if m == nil {
		return nil
	}
	var evs []Evidence
	if len(m.Dialogs) > 0 {
		ev := evidence(ChannelDialog, "", at)
		if d, rule := m.findDialog(v); rule != nil {
			ev.Status, ev.Rule, ev.Dialog, ev.Text = api.NeedsYou, rule.Name, d, d.Question
		}
		evs = append(evs, ev)
	}
	if m.ComposerRule != nil {
		if mark, ok := m.ComposerRule.turn(v); ok {
			ev := evidence(ChannelComposer, "", at)
			if mark != nil {
				ev.Status, ev.Rule = api.Working, mark.String()
			}
			evs = append(evs, ev)
		}
	}
	if m.Status != nil && m.Hooks == nil {
		ev := evidence(ChannelScreen, "", at)
		ev.Status, ev.Rule = m.Status.match(strings.Join(v.Rows, "\n"))
		if ev.Status == "" {
			ev.Status = api.Idle
		}
		evs = append(evs, ev)
	}
	return evs
}

// ProcessState is what the system shows of the session's processes.
type ProcessState int

// The process states.
const (
	ProcessExited     ProcessState = iota // the agent ended
	ProcessShell                          // its shell is back in the foreground
	ProcessForeground                     // a command runs in the foreground of a shell
)

// ProcessEvidence is what the processes of the session say. name is the command in
// the foreground or how the process ended, for people.
func ProcessEvidence(state ProcessState, name string, at time.Time) Evidence {
	ev := evidence(ChannelProcess, api.Idle, at)
	ev.Text = clean(name, maxText)
	switch state {
	case ProcessExited:
		ev.Rule, ev.Ended = "exited", true
	case ProcessShell:
		ev.Rule, ev.Ended = "shell", true
	case ProcessForeground:
		ev.Status, ev.Rule, ev.Tool = api.Working, "foreground", ev.Text
	}
	return ev
}

// ActivityEvidence says that new text appeared on the screen, which is all that is
// known of an agent with no other channel.
func ActivityEvidence(at time.Time) Evidence {
	ev := evidence(ChannelActivity, api.Working, at)
	ev.Rule = "output"
	return ev
}

// InputEvidence says that somebody typed, or that an answer went in.
func InputEvidence(at time.Time) Evidence { return evidence(ChannelInput, "", at) }

// A Declared is a channel that a manifest opts in to, and the key by which it does.
type Declared struct{ Channel, Key string }

// Channels are the channels that the manifest declares, by authority.
func (m *Manifest) Channels() (list []Declared) {
	if m == nil {
		return nil
	}
	keys := map[Channel]string{}
	for _, d := range []struct {
		channel  Channel
		key      string
		declared bool
	}{
		{ChannelHook, "hooks", m.Hooks != nil},
		{ChannelProgram, "programStatus", m.ProgramStatus},
		{ChannelFile, "statusFile", m.StatusFile != nil},
		{ChannelDialog, "dialogs", len(m.Dialogs) > 0},
		{ChannelTitle, "titleStatus", m.TitleStatus != nil},
		{ChannelTranscript, "transcript", m.TranscriptRules != nil},
		{ChannelComposer, "composer.working", m.marksTurns()},
		{ChannelProgress, "progressStatus", m.ProgressStatus},
		{ChannelScreen, "status", m.Status != nil},
	} {
		if d.declared {
			keys[d.channel] = d.key
		}
	}
	for _, ch := range order {
		if key := keys[ch]; key != "" {
			list = append(list, Declared{string(ch), key})
		}
	}
	return list
}
