package agent

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"termio/internal/api"
)

// ReportQuery is what a hook's command line says besides the payload.
type ReportQuery struct {
	State            string // working, attention, done, idle
	Event            string // the agent's name for the event
	ConversationFrom string // field of the payload; "" takes the manifest's
	Transcript       bool   // the payload has transcript_path
	At               time.Time
}

// A Report is one hook's word. Everything but Status and At may be missing.
type Report struct {
	Status       api.Status
	Event        string
	At           time.Time
	Conversation string
	Transcript   string // path
	Cwd          string
	Tool         string
	Prompt       string // the text that was taken, cut
	Told         string // the same, whole; "" where the payload does not hold all of it
	Message      string
	Subagent     string // id of the subagent whose event it is
	Background   int    // -1: not told
	Dialog       *api.Dialog
	Prompted     bool // a person's prompt was taken
	Failed       bool // the turn ended in an error, Message
	// Silent says why the report changes no status, "" when it does.
	Silent string
	rule   string
}

// Bounds of a report's fields.
const (
	maxPayload = 4 << 20 // bytes
	maxPath    = 4096    // bytes
	maxPrompt  = 4096    // bytes that are kept of a prompt
)

// ParseReport reads a hook's report. The payload may be cut off, empty, or no JSON at
// all: what can be read counts, and the state alone is a report. Only a state that is
// none is an error.
func ParseReport(m *Manifest, q ReportQuery, payload []byte) (Report, error) {
	status, ok := api.ParseState(q.State)
	if !ok {
		return Report{}, fmt.Errorf("state must be working, attention, done or idle, not %q", clean(q.State, 40))
	}
	root, _, torn := readTree(payload[:min(len(payload), maxPayload)])
	r := Report{
		Status: status, Event: clean(q.Event, maxText), At: q.At, Background: -1,
		Cwd: pathText(root.get("cwd")),
	}
	r.rule = r.Event
	hooks := &Hooks{}
	if m != nil && m.Hooks != nil {
		hooks = m.Hooks
	}
	from := q.ConversationFrom
	if from == "" {
		from = hooks.Conversation
	}
	if c := root.path(from).text(); ValidConversation(c) {
		r.Conversation = c
	}
	if q.Transcript || hooks.CapturesTranscript {
		r.Transcript = pathText(root.get("transcript_path"))
	}
	r.Tool = clean(root.path(hooks.Tool).text(), maxLabel)
	r.Message = clean(root.path(hooks.Message).text(), maxQuestion)
	r.Subagent = clean(root.path(hooks.Subagent).text(), maxConversation)
	r.Background = hooks.Background.count(root)
	m.readEvent(&r, hooks, root)
	if torn != nil || !r.Prompted {
		r.Told = ""
	}
	return r, nil
}

// readEvent applies what the manifest says of the event.
func (m *Manifest) readEvent(r *Report, hooks *Hooks, root *node) {
	prompt := root.path(hooks.PromptTitle).text()
	i := slices.IndexFunc(hooks.Events, func(e HookEvent) bool { return e.On == r.Event && e.fits(root) })
	switch {
	case r.Subagent != "":
		r.Silent = "an event of the subagent " + r.Subagent
	case i < 0 && slices.ContainsFunc(hooks.Events, func(e HookEvent) bool { return e.On == r.Event }):
		r.Silent = "the manifest's matcher for " + r.Event + " does not fit"
	}
	if i >= 0 {
		e := hooks.Events[i]
		if e.isPrompt() {
			r.Prompt, r.Told = cut(prompt, maxPrompt), prompt
			_, machine := firstMatch(hooks.MachinePrompt, prompt)
			r.Prompted = !machine
		}
		if e.Error {
			r.Failed = true
			r.Message = clean(root.path(hooks.Error).text(), maxQuestion)
		}
	}
	if r.Status == api.NeedsYou && r.Silent == "" {
		r.Dialog = hooks.dialog(r.Tool, root)
	}
}

// fits reports whether an event's payload is one that the matcher lets through. The
// agent has checked that already, if its version knows matchers.
func (e HookEvent) fits(root *node) bool {
	if e.Field == "" || e.Matcher == "" {
		return true
	}
	v := root.path(e.Field)
	if v == nil {
		return true
	}
	p, err := NewPattern("^(?:" + e.Matcher + ")$")
	return err != nil || p.Match(v.text())
}

// isPrompt reports whether the event says that a prompt was taken.
func (e HookEvent) isPrompt() bool {
	if e.Prompt != nil {
		return *e.Prompt
	}
	return e.State == string(api.Working) && strings.Contains(strings.ToLower(e.On), "prompt")
}

// count is the number of background tasks in a payload, -1 when it has no list.
func (b *Background) count(root *node) int {
	if b == nil {
		return -1
	}
	tasks := root.path(b.List)
	if tasks == nil || tasks.kind != isList {
		return -1
	}
	n := 0
	for _, t := range tasks.list {
		fits := true
		for key, p := range b.Where {
			fits = fits && p.Match(t.path(key).text())
		}
		if fits {
			n++
		}
	}
	return n
}

// dialog reads question and options from a payload.
func (h *Hooks) dialog(tool string, root *node) *api.Dialog {
	for _, hd := range h.Dialogs {
		if hd.Tool.set() && !hd.Tool.Match(tool) {
			continue
		}
		d := &api.Dialog{Kind: hd.Kind, Question: clean(fillPaths(hd.Question, root), maxQuestion)}
		for _, p := range hd.Detail {
			if text := root.path(p).text(); text != "" {
				d.Detail = cut(cleanLines(text), maxDetail)
				break
			}
		}
		for i, o := range root.path(hd.Options).elements() {
			label := o.text()
			if hd.Label != "" {
				label = o.path(hd.Label).text()
			}
			if i < maxOptions && label != "" {
				d.Options = append(d.Options, api.Option{Number: i + 1, Label: clean(label, maxLabel)})
			}
		}
		if d.Question != "" {
			return d
		}
	}
	return nil
}

// fillPaths puts the values of key paths into a template; without one of them there
// is no text.
func fillPaths(template string, root *node) string {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(template, "{")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		path, after, ok := strings.Cut(rest, "}")
		v := root.path(path).text()
		if !ok || v == "" {
			return ""
		}
		b.WriteString(v)
		template = after
	}
}

// cleanLines cleans each line of a text.
func cleanLines(s string) string {
	var lines []string
	for line := range strings.SplitSeq(cut(s, 4*maxDetail), "\n") {
		lines = append(lines, clean(line, maxLabel))
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// pathText is a path that an agent reported: absolute and of a sane length, or "".
func pathText(n *node) string {
	p := n.text()
	if len(p) > maxPath || !strings.HasPrefix(p, "/") || strings.ContainsAny(p, "\x00\n") {
		return ""
	}
	return p
}

// Evidence is the report as the machine takes it; ok is false when it changes no
// status.
func (r Report) Evidence(m *Manifest) (ev Evidence, ok bool) {
	ev = evidence(ChannelHook, r.Status, r.At)
	ev.Event, ev.Rule, ev.Text, ev.Tool = r.Event, r.rule, r.Message, r.Tool
	ev.Dialog, ev.Background, ev.Prompt, ev.Failed = r.Dialog, r.Background, r.Prompted, r.Failed
	if r.Failed {
		m.limit(&ev, r.Message)
	}
	return ev, r.Silent == ""
}

// Origin is what the host knows of the process that sent a report.
type Origin struct {
	Bound string // the session's conversation, "" before it has one
	// BoundAt is when Bound became the session's conversation.
	BoundAt time.Time
	// Agent says that the report came from the session's own agent: the nearest agent
	// among its ancestors is the bound one. Known is false when no ancestry could be
	// read, as of a process that has ended.
	Agent, Known bool
}

// Judge decides whether a report is about the session's own conversation. accept is
// false for one that must change nothing, and why says so. rebind asks for the
// session to be bound to the report's conversation.
func Judge(o Origin, r Report) (accept, rebind bool, why string) {
	switch {
	case r.Subagent != "":
		return false, false, r.Silent
	case o.Known && !o.Agent:
		return false, false, "sent by another process than the session's agent"
	case r.Conversation == "" || r.Conversation == o.Bound:
		return true, false, ""
	case o.Bound == "":
		return true, true, ""
	case !o.Known:
		return false, false, "another conversation, from a process that is gone"
	case r.At.Before(o.BoundAt):
		return false, false, "of the conversation before"
	}
	return true, true, ""
}
