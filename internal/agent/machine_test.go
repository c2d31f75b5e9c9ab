package agent

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"termio/internal/api"
)

var t0 = time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)

// at is a moment of a test, in seconds.
func at(seconds float64) time.Time { return t0.Add(time.Duration(seconds * float64(time.Second))) }

// Manifests with different sets of channels.
const (
	hooksPart = `"hooks":{"file":"~/f","tool":"tool","subagent":"agent","message":"message","error":"error","background":{"list":"tasks"},
		"events":[{"on":"Start","state":"idle"},{"on":"Prompt","state":"working"},{"on":"Tool","state":"working"},
		{"on":"Ask","state":"attention"},{"on":"End","state":"done"},{"on":"Fail","state":"done","error":true}]}`
	dialogsPart = `"dialogs":[{"name":"d","kind":"permission","footer":["^esc to cancel"]}]`
	limitsPart  = `"limits":[{"kind":"limit","match":"usage limit"}]`
	head        = `{"id":"x","name":"X","command":"x",`
)

func hookOf(event, payload string) func(m *Manifest, at time.Time) (Evidence, bool) {
	return func(m *Manifest, at time.Time) (Evidence, bool) {
		states := map[string]string{"Start": "idle", "Prompt": "working", "Tool": "working", "Ask": "attention", "End": "done", "Fail": "done"}
		r, err := ParseReport(m, ReportQuery{State: states[event], Event: event, At: at}, []byte(payload))
		if err != nil {
			panic(err)
		}
		return r.Evidence(m)
	}
}

func programOf(payload string) func(m *Manifest, at time.Time) (Evidence, bool) {
	return func(m *Manifest, at time.Time) (Evidence, bool) { return m.ProgramEvidence(payload, at) }
}

func titleOf(title string) func(m *Manifest, at time.Time) (Evidence, bool) {
	return func(m *Manifest, at time.Time) (Evidence, bool) { return m.TitleEvidence(title, at), true }
}

func fileOf(json string) func(m *Manifest, at time.Time) (Evidence, bool) {
	return func(m *Manifest, at time.Time) (Evidence, bool) {
		ev, _, err := m.FileEvidence([]byte(json), FileProcess{}, at)
		return ev, err == nil
	}
}

func lineOf(json string) func(m *Manifest, at time.Time) (Evidence, bool) {
	return func(m *Manifest, at time.Time) (Evidence, bool) { return m.LineEvidence([]byte(json), at) }
}

func screenOf(rows ...string) func(m *Manifest, at time.Time) (Evidence, bool) {
	return func(m *Manifest, at time.Time) (Evidence, bool) {
		evs := m.ScreenEvidence(ScreenView{Rows: rows}, at)
		return evs[0], true
	}
}

func viewOf(v ScreenView) func(m *Manifest, at time.Time) (Evidence, bool) {
	return func(m *Manifest, at time.Time) (Evidence, bool) { return m.ScreenEvidence(v, at)[0], true }
}

func progressOf(state int) func(*Manifest, time.Time) (Evidence, bool) {
	return func(_ *Manifest, at time.Time) (Evidence, bool) { return ProgressEvidence(state, at) }
}

func processOf(state ProcessState, name string) func(*Manifest, time.Time) (Evidence, bool) {
	return func(_ *Manifest, at time.Time) (Evidence, bool) { return ProcessEvidence(state, name, at), true }
}

func outputOf() func(*Manifest, time.Time) (Evidence, bool) {
	return func(_ *Manifest, at time.Time) (Evidence, bool) { return ActivityEvidence(at), true }
}

// seen is one step of a story: evidence that arrives at a moment, or, with no
// evidence, time that has passed.
type seen struct {
	at   float64
	ev   func(*Manifest, time.Time) (Evidence, bool)
	want api.Status
	// of is the event's own time when it is not that of its arrival.
	of float64
}

// A tale is what is seen of a session and what is to be made of each step.
type tale struct {
	name, manifest string
	steps          []seen
	turns          uint64
}

// allStories are those of this file and of silent_test.go.
func allStories() []tale { return slices.Concat(stories, silentStories) }

var stories = []tale{
	{
		name: "a turn by hooks alone", manifest: head + hooksPart + `}`, turns: 2,
		steps: []seen{
			{0, hookOf("Start", ``), api.Idle, 0},
			{1, hookOf("Prompt", ``), api.Working, 0},
			{2, hookOf("Tool", `{"tool":"Bash"}`), api.Working, 0},
			{3, hookOf("End", ``), api.Done, 0},
			{900, nil, api.Done, 0},
			{901, hookOf("Prompt", ``), api.Working, 0},
			{902, hookOf("End", ``), api.Done, 0},
		},
	},
	{
		name: "a done that is told twice is one turn", manifest: head + hooksPart + `}`, turns: 1,
		steps: []seen{
			{1, hookOf("Prompt", ``), api.Working, 0},
			{2, hookOf("End", ``), api.Done, 0},
			{2.1, hookOf("End", ``), api.Done, 0},
		},
	},
	{
		name: "only the end of a turn was seen", manifest: head + hooksPart + `}`, turns: 1,
		steps: []seen{
			{1, hookOf("End", ``), api.Done, 0},
		},
	},
	{
		name: "a hook from before the grant comes late", manifest: head + `"programStatus":true,` + hooksPart + `}`, turns: 1,
		steps: []seen{
			{1, programOf("state=working"), api.Working, 0},
			{2, programOf("state=blocked:kind=permission"), api.NeedsYou, 0},
			{3, programOf("state=working"), api.Working, 0},
			{4, hookOf("Ask", ``), api.Working, 2.1},
		},
	},
	{
		name: "a question that another hook answers at once", manifest: head + `"programStatus":true,` + hooksPart + `}`, turns: 1,
		steps: []seen{
			{1, programOf("state=working"), api.Working, 0},
			{4, hookOf("Ask", ``), api.Working, 0},
			{4.1, hookOf("Tool", ``), api.Working, 0},
			{9, programOf("state=done"), api.Done, 0},
		},
	},
	{
		name: "a hook that was started late misleads for two seconds at most", manifest: head + `"titleStatus":{"working":["^\\*"]},` + hooksPart + `}`, turns: 1,
		steps: []seen{
			{1, titleOf("* x"), api.Working, 0},
			{4, hookOf("Ask", ``), api.NeedsYou, 0},
			{5.9, nil, api.NeedsYou, 0},
			{6, nil, api.Working, 0},
		},
	},
	{
		name: "a late hook after the end", manifest: head + `"programStatus":true,` + hooksPart + `}`, turns: 2,
		steps: []seen{
			{1, programOf("state=working"), api.Working, 0},
			{2, programOf("state=done"), api.Done, 0},
			{2.1, hookOf("Tool", ``), api.Working, 0}, // wrong, but not for long
			{4.2, nil, api.Done, 0},
		},
	},
	{
		name: "an older hook does not undo a newer one", manifest: head + hooksPart + `}`, turns: 1,
		steps: []seen{
			{1, hookOf("Prompt", ``), api.Working, 0},
			{3, hookOf("End", ``), api.Done, 0},
			{3.1, hookOf("Tool", ``), api.Done, 2},
		},
	},
	{
		name: "a parallel tool ends while a permission is open", manifest: head + `"programStatus":true,` + hooksPart + `}`, turns: 1,
		steps: []seen{
			{1, hookOf("Prompt", ``), api.Working, 0},
			{1.1, programOf("state=working"), api.Working, 0},
			{2, hookOf("Ask", ``), api.Working, 0}, // OSC 7501 tells it in the same instant
			{2.1, programOf("state=blocked:kind=permission"), api.NeedsYou, 0},
			{3, hookOf("Tool", ``), api.NeedsYou, 0},
			{4, programOf("state=working"), api.Working, 0},
		},
	},
	{
		name: "denied, and no hook says so", manifest: head + `"programStatus":true,` + hooksPart + `}`, turns: 1,
		steps: []seen{
			{1, hookOf("Prompt", ``), api.Working, 0},
			{1.1, programOf("state=working"), api.Working, 0},
			{2, programOf("state=blocked:kind=permission"), api.NeedsYou, 0},
			{2.1, hookOf("Ask", ``), api.NeedsYou, 0},
			{4, programOf("state=idle"), api.Idle, 0},
		},
	},
	{
		name: "interrupted, seen in the title", manifest: head + `"titleStatus":{"working":["^\\*"]},` + hooksPart + `}`, turns: 1,
		steps: []seen{
			{1, hookOf("Prompt", ``), api.Working, 0},
			{1.1, titleOf("* x"), api.Working, 0},
			{5, titleOf("x"), api.Working, 0}, // a done may be on its way
			{6, nil, api.Idle, 0},
		},
	},
	{
		name: "the title flips a moment before the done", manifest: head + `"titleStatus":{"working":["^\\*"]},` + hooksPart + `}`, turns: 1,
		steps: []seen{
			{1, hookOf("Prompt", ``), api.Working, 0},
			{1.1, titleOf("* x"), api.Working, 0},
			{5, titleOf("x"), api.Working, 0},
			{5.4, hookOf("End", ``), api.Done, 0},
		},
	},
	{
		name: "a spinner that lags behind the done", manifest: head + `"titleStatus":{"working":["^\\*"]},` + hooksPart + `}`, turns: 1,
		steps: []seen{
			{1, hookOf("Prompt", ``), api.Working, 0},
			{1.1, titleOf("* x"), api.Working, 0},
			{5, hookOf("End", ``), api.Done, 0},
			{5.4, titleOf("x"), api.Done, 0},
		},
	},
	{
		name: "attention in the title, withdrawn when it goes", manifest: head + `"titleStatus":{"attention":["action required"]},` + hooksPart + `}`, turns: 1,
		steps: []seen{
			{1, hookOf("Prompt", ``), api.Working, 0},
			{2, titleOf("Action Required"), api.NeedsYou, 0},
			{5, titleOf("x"), api.Working, 0},
		},
	},
	{
		name: "the title lags behind the answer", manifest: head + `"programStatus":true,"titleStatus":{"attention":["^!"]}}`, turns: 1,
		steps: []seen{
			{1, programOf("state=working"), api.Working, 0},
			{2, programOf("state=blocked:kind=permission"), api.NeedsYou, 0},
			{2.1, titleOf("! x"), api.NeedsYou, 0},
			{4, programOf("state=working"), api.Working, 0},
			{4.1, titleOf("x"), api.Working, 0},
			{5, titleOf("! x"), api.NeedsYou, 0}, // something that OSC 7501 does not tell of
			{6, titleOf("x"), api.Working, 0},
		},
	},
	{
		name: "the status file lags behind the answer", manifest: "claude", turns: 1,
		steps: []seen{
			{1, fileOf(`{"status":"busy"}`), api.Working, 0},
			{2, fileOf(`{"status":"waiting"}`), api.NeedsYou, 0},
			{2.1, viewOf(permissionScreen()), api.NeedsYou, 0},
			{4, viewOf(composerScreen()), api.Working, 0},
			{4.1, fileOf(`{"status":"busy"}`), api.Working, 0},
			{5, fileOf(`{"status":"waiting"}`), api.NeedsYou, 0},
			{5.1, viewOf(permissionScreen()), api.NeedsYou, 0},
			{6, viewOf(composerScreen()), api.Working, 0}, // as if something else asked
			{7.9, nil, api.Working, 0},
			{8, nil, api.NeedsYou, 0},
		},
	},
	{
		name: "interrupted, seen in the transcript", manifest: head + `"transcript":{"rules":[{"name":"interrupted","state":"idle","where":{"text":"^interrupted"}}]},` + hooksPart + `}`, turns: 1,
		steps: []seen{
			{1, hookOf("Prompt", ``), api.Working, 0},
			{4, lineOf(`{"text":"interrupted by the user"}`), api.Idle, 0},
		},
	},
	{
		name: "denied, seen in the transcript", manifest: head + `"transcript":{"rules":[{"name":"interrupted","state":"idle","where":{"text":"^interrupted"}}]},` + hooksPart + `}`, turns: 1,
		steps: []seen{
			{1, hookOf("Prompt", ``), api.Working, 0},
			{2, hookOf("Ask", ``), api.NeedsYou, 0},
			{4, lineOf(`{"text":"interrupted by the user"}`), api.Idle, 0},
		},
	},
	{
		name: "what a resumed conversation's transcript holds", manifest: "claude", turns: 1,
		steps: []seen{
			{1, lineOf(`{"type":"user","origin":{"kind":"human"},"timestamp":"2026-11-30T08:59:50Z"}`), api.Idle, 0},
			{1, lineOf(`{"type":"assistant","message":{"stop_reason":"end_turn"},"timestamp":"2026-11-30T08:59:58Z"}`), api.Idle, 0},
			{2, programOf("state=idle"), api.Idle, 0},
			{3, lineOf(`{"type":"user","origin":{"kind":"human"},"timestamp":"2026-11-30T09:00:03Z"}`), api.Working, 0},
			{3.1, programOf("state=working"), api.Working, 0},
			{4, programOf("state=done"), api.Done, 0},
		},
	},
	{
		name: "a late hook of the agent before", manifest: head + hooksPart + `}`, turns: 1,
		steps: []seen{
			{1, hookOf("Tool", ``), api.Idle, -20},
			{2, hookOf("Prompt", ``), api.Working, -1}, // noticed by its first hook
		},
	},
	{
		name: "the dialog of a hook leaves the screen", manifest: head + dialogsPart + `,` + hooksPart + `}`, turns: 1,
		steps: []seen{
			{1, hookOf("Prompt", ``), api.Working, 0},
			{2, hookOf("Ask", ``), api.NeedsYou, 0},
			{2.1, screenOf("Proceed?", "❯ 1. Yes", "  2. No", "esc to cancel"), api.NeedsYou, 0},
			{4, screenOf("> "), api.Working, 0},
			{5, hookOf("Ask", ``), api.Working, 2.2}, // told twice, late
			{6, hookOf("Ask", ``), api.NeedsYou, 0},  // another one
		},
	},
	{
		name: "a dialog that no hook tells of", manifest: head + dialogsPart + `,` + hooksPart + `}`, turns: 1,
		steps: []seen{
			{1, hookOf("Prompt", ``), api.Working, 0},
			{2, screenOf("Proceed?", "❯ 1. Yes", "  2. No", "esc to cancel"), api.NeedsYou, 0},
			{3, hookOf("Tool", ``), api.NeedsYou, 0}, // a parallel one
			{4, screenOf("> "), api.Working, 0},
		},
	},
	{
		name: "an answered dialog that the screen still shows", manifest: head + `"programStatus":true,` + dialogsPart + `}`, turns: 1,
		steps: []seen{
			{1, programOf("state=working"), api.Working, 0},
			{2, programOf("state=blocked:kind=permission"), api.NeedsYou, 0},
			{2.1, screenOf("Proceed?", "❯ 1. Yes", "  2. No", "esc to cancel"), api.NeedsYou, 0},
			{4, programOf("state=working"), api.Working, 0},
			{4.1, screenOf("Proceed?", "❯ 1. Yes", "  2. No", "esc to cancel"), api.Working, 0},
			{4.2, screenOf("Overwrite?", "❯ 1. Yes", "  2. No", "esc to cancel"), api.NeedsYou, 0}, // the next one
			{5, programOf("state=blocked:kind=permission"), api.NeedsYou, 0},
			{6, programOf("state=working"), api.Working, 0},
			{6.1, screenOf("> "), api.Working, 0},
		},
	},
	{
		name: "a dialog that stays whatever the agent says", manifest: head + `"programStatus":true,` + dialogsPart + `}`, turns: 1,
		steps: []seen{
			{1, programOf("state=working"), api.Working, 0},
			{2, programOf("state=blocked:kind=permission"), api.NeedsYou, 0},
			{2.1, screenOf("Proceed?", "❯ 1. Yes", "  2. No", "esc to cancel"), api.NeedsYou, 0},
			{4, programOf("state=working"), api.Working, 0},
			{4.1, screenOf("Proceed?", "❯ 1. Yes", "  2. No", "esc to cancel"), api.Working, 0},
			{6, nil, api.NeedsYou, 0},
		},
	},
	{
		name: "a short turn right after an interrupted one", manifest: head + `"programStatus":true,` + hooksPart + `}`, turns: 2,
		steps: []seen{
			{1, programOf("state=working"), api.Working, 0},
			{2, programOf("state=idle"), api.Idle, 0},
			{4, programOf("state=done"), api.Done, 0},
			{4.1, hookOf("End", ``), api.Done, 0},
		},
	},
	{
		name: "a dialog before the first prompt", manifest: head + dialogsPart + `,` + hooksPart + `}`, turns: 0,
		steps: []seen{
			{1, screenOf("Trust?", "❯ 1. Yes", "  2. No", "esc to cancel"), api.NeedsYou, 0},
			{2, screenOf("> "), api.Idle, 0},
		},
	},
	{
		name: "attention of a hook and the title, which goes", manifest: head + `"titleStatus":{"attention":["action required"]},` + hooksPart + `}`, turns: 1,
		steps: []seen{
			{1, hookOf("Prompt", ``), api.Working, 0},
			{2, hookOf("Ask", ``), api.NeedsYou, 0},
			{2.1, titleOf("Action Required"), api.NeedsYou, 0},
			{5, titleOf("x"), api.Working, 0},
		},
	},
	{
		name: "the done of a turn that was taken for interrupted", manifest: head + `"titleStatus":{"working":["^\\*"]},` + hooksPart + `}`, turns: 1,
		steps: []seen{
			{1, hookOf("Prompt", ``), api.Working, 0},
			{1.1, titleOf("* x"), api.Working, 0},
			{5, titleOf("x"), api.Working, 0},
			{6, nil, api.Idle, 0},
			{7, hookOf("End", ``), api.Done, 5.1},
		},
	},
	{
		name: "a hook from the future", manifest: head + hooksPart + `}`, turns: 1,
		steps: []seen{
			{1, hookOf("Prompt", ``), api.Working, 900},
			{2, hookOf("End", ``), api.Done, 0},
		},
	},
	{
		name: "queued prompts, known by the level", manifest: head + `"programStatus":true,` + hooksPart + `}`, turns: 1,
		steps: []seen{
			{1, hookOf("Prompt", ``), api.Working, 0},
			{1.1, programOf("state=working"), api.Working, 0},
			{2, hookOf("Prompt", ``), api.Working, 0},
			{3, hookOf("End", ``), api.Working, 0},
			{60, nil, api.Working, 0},
			{61, hookOf("End", ``), api.Working, 0},
			{61.1, programOf("state=done"), api.Done, 0},
		},
	},
	{
		name: "queued prompts, known by hooks alone", manifest: head + hooksPart + `}`, turns: 1,
		steps: []seen{
			{1, hookOf("Prompt", ``), api.Working, 0},
			{2, hookOf("Prompt", ``), api.Working, 0},
			{3, hookOf("End", ``), api.Working, 0}, // the queued one begins
			{3.5, hookOf("Tool", ``), api.Working, 0},
			{9, hookOf("End", ``), api.Done, 0},
		},
	},
	{
		name: "a prompt that was merged into the turn", manifest: head + hooksPart + `}`, turns: 1,
		steps: []seen{
			{1, hookOf("Prompt", ``), api.Working, 0},
			{2, hookOf("Prompt", ``), api.Working, 0},
			{3, hookOf("End", ``), api.Working, 0},
			{6, nil, api.Done, 0},
		},
	},
	{
		name: "an agent that merges prompts", manifest: head + `"input":{"busy":"merge"},` + hooksPart + `}`, turns: 1,
		steps: []seen{
			{1, hookOf("Prompt", ``), api.Working, 0},
			{2, hookOf("Prompt", ``), api.Working, 0},
			{3, hookOf("End", ``), api.Done, 0},
		},
	},
	{
		name: "an agent that says done at every step", manifest: strings.Replace(head+hooksPart+`}`, `"file"`, `"doneSettle":800,"file"`, 1), turns: 1,
		steps: []seen{
			{1, hookOf("Prompt", ``), api.Working, 0},
			{2, hookOf("End", ``), api.Working, 0},
			{2.3, hookOf("Tool", ``), api.Working, 0},
			{3, hookOf("End", ``), api.Working, 0},
			{3.8, nil, api.Done, 0},
		},
	},
	{
		name: "done rests whatever the levels say of rest", manifest: head + `"programStatus":true,` + hooksPart + `}`, turns: 1,
		steps: []seen{
			{1, programOf("state=working"), api.Working, 0},
			{2, programOf("state=done"), api.Done, 0},
			{3, programOf("state=idle"), api.Done, 0},
			{4, programOf("state=clear"), api.Done, 0},
		},
	},
	{
		name: "a usage limit stays until the next prompt", manifest: head + `"programStatus":true,` + limitsPart + `,` + hooksPart + `}`, turns: 2,
		steps: []seen{
			{1, hookOf("Prompt", ``), api.Working, 0},
			{1.1, programOf("state=working"), api.Working, 0},
			{2, hookOf("Fail", `{"error":"Usage limit reached, resets at 3pm"}`), api.NeedsYou, 0},
			{2.1, programOf("state=error:msg=b29wcw"), api.NeedsYou, 0},
			{1500, nil, api.NeedsYou, 0},
			{1501, hookOf("Prompt", ``), api.Working, 0},
			{1501.1, programOf("state=working"), api.Working, 0},
			{1502, hookOf("End", ``), api.Working, 0},
			{1502.1, programOf("state=done"), api.Done, 0},
		},
	},
	{
		name: "a usage limit that only OSC 7501 tells", manifest: head + `"programStatus":true,` + limitsPart + `}`, turns: 2,
		steps: []seen{
			{1, programOf("state=working"), api.Working, 0},
			{2, programOf("state=error:msg=dXNhZ2UgbGltaXQgcmVhY2hlZA=="), api.NeedsYou, 0},
			{100, programOf("state=working"), api.Working, 0},
			{101, programOf("state=done"), api.Done, 0},
		},
	},
	{
		name: "a failed turn", manifest: head + `"programStatus":true,` + hooksPart + `}`, turns: 1,
		steps: []seen{
			{1, programOf("state=working"), api.Working, 0},
			{2, programOf("state=error:msg=b29wcw"), api.Done, 0},
		},
	},
	{
		name: "a background task's record is not the turn", manifest: head + `"programStatus":true}`, turns: 1,
		steps: []seen{
			{1, programOf("state=working"), api.Working, 0},
			{2, programOf("state=working:id=t1"), api.Working, 0},
			{3, programOf("state=done"), api.Done, 0},
			{4, programOf("state=blocked:id=t1"), api.Done, 0},
			{5, programOf("state=clear:id=t1"), api.Done, 0},
		},
	},
	{
		name: "a subagent changes nothing", manifest: head + hooksPart + `}`, turns: 1,
		steps: []seen{
			{1, hookOf("Prompt", ``), api.Working, 0},
			{2, hookOf("End", ``), api.Done, 0},
			{3, hookOf("Tool", `{"agent":"a1"}`), api.Done, 0},
			{4, hookOf("Ask", `{"agent":"a1"}`), api.Done, 0},
		},
	},
	{
		name: "a status file without hooks", manifest: head + `"statusFile":{"path":"~/{pid}","state":"s","values":{"busy":"working","idle":"idle","waiting":"attention","odd":"none"}}}`, turns: 1,
		steps: []seen{
			{0, fileOf(`{}`), api.Idle, 0},
			{1, fileOf(`{"s":"busy"}`), api.Working, 0},
			{2, fileOf(`{"s":"waiting"}`), api.NeedsYou, 0},
			{3, fileOf(`{"s":`), api.NeedsYou, 0}, // in the instant of being written
			{4, fileOf(`{"s":"busy"}`), api.Working, 0},
			{5, fileOf(`{"s":"idle"}`), api.Done, 0},
		},
	},
	{
		name: "the screen of an agent without hooks", manifest: head + `"status":{"working":["thinking"],"attention":["allow\\?"]}}`, turns: 1,
		steps: []seen{
			{1, screenOf("> "), api.Idle, 0},
			{2, screenOf("Thinking..."), api.Working, 0},
			{3, screenOf("thinking", "Allow?"), api.NeedsYou, 0},
			{4, screenOf("thinking"), api.Working, 0},
			{5, screenOf("> "), api.Done, 0},
		},
	},
	{
		name: "progress of an agent without hooks", manifest: head + `"progressStatus":true}`, turns: 1,
		steps: []seen{
			{1, progressOf(3), api.Working, 0},
			{2, progressOf(2), api.Working, 0}, // an error is no end
			{3, progressOf(0), api.Done, 0},
		},
	},
	{
		name: "progress does not count beside hooks that report", manifest: head + `"progressStatus":true,` + hooksPart + `}`, turns: 1,
		steps: []seen{
			{1, hookOf("Prompt", ``), api.Working, 0},
			{2, progressOf(0), api.Working, 0},
			{3, hookOf("End", ``), api.Done, 0},
			{4, progressOf(3), api.Done, 0},
		},
	},
	{
		name: "nothing but output", manifest: `{"id":"x","name":"X","command":"x"}`, turns: 1,
		steps: []seen{
			{20, outputOf(), api.Idle, 0},
			{21, outputOf(), api.Idle, 0},
			{21.6, outputOf(), api.Working, 0},
			{24, outputOf(), api.Working, 0},
			{27.9, nil, api.Working, 0},
			{28, nil, api.Done, 0},
			{40, outputOf(), api.Done, 0}, // a blink
		},
	},
	{
		name: "output does not count beside better channels", manifest: head + hooksPart + `}`,
		steps: []seen{
			{1, outputOf(), api.Idle, 0},
			{3, outputOf(), api.Idle, 0},
			{5, outputOf(), api.Idle, 0},
		},
	},
	{
		name: "the agent exits in a turn, and a last hook comes late", manifest: head + hooksPart + `}`, turns: 1,
		steps: []seen{
			{1, hookOf("Prompt", ``), api.Working, 0},
			{2, processOf(ProcessExited, "signal: killed"), api.Idle, 0},
			{2.1, hookOf("Tool", ``), api.Idle, 0},
		},
	},
	{
		name: "a dialog before any turn, and titles that tell of turns alone", manifest: head + `"titleStatus":{"working":["^\\*"]},` + dialogsPart + `}`, turns: 1,
		steps: []seen{
			{0, titleOf("x"), api.Idle, 0},
			{1, screenOf("Trust?", "❯ 1. Yes", "  2. No", "esc to cancel"), api.NeedsYou, 0},
			{2, screenOf("> "), api.Idle, 0},
			{3, titleOf("* x"), api.Working, 0},
			{4, titleOf("x"), api.Done, 0},
			{5, screenOf("Trust?", "❯ 1. Yes", "  2. No", "esc to cancel"), api.NeedsYou, 0},
			{6, screenOf("> "), api.Idle, 0},
		},
	},
	{
		name: "a dialog before any turn, and output alone", manifest: head + dialogsPart + `}`, turns: 0,
		steps: []seen{
			{0, outputOf(), api.Idle, 0},
			{1, screenOf("Trust?", "❯ 1. Yes", "  2. No", "esc to cancel"), api.NeedsYou, 0},
			{2, screenOf("> "), api.Idle, 0},
		},
	},
	{
		name: "a plain shell", manifest: "terminal", turns: 1,
		steps: []seen{
			{1, outputOf(), api.Idle, 0},
			{2, processOf(ProcessForeground, "make"), api.Working, 0},
			{3, processOf(ProcessShell, ""), api.Idle, 0},
			{4, titleOf("* make"), api.Idle, 0},
		},
	},
}

// TestStatus tells stories: what was heard, and which status that must make.
func TestStatus(t *testing.T) {
	for _, tt := range allStories() {
		t.Run(tt.name, func(t *testing.T) {
			m := manifestOf(t, tt.manifest)
			mc := NewMachine(m, t0)
			var turns uint64
			for _, st := range tt.steps {
				turns += started(advance(mc, at(st.at)))
				if st.ev != nil {
					of := at(st.at)
					if st.of != 0 {
						of = at(st.of)
					}
					if ev, ok := st.ev(m, of); ok {
						turns += started(mc.Apply(ev, at(st.at)))
					}
				}
				if got := mc.Status(); got != st.want {
					_, why := mc.Explain()
					t.Fatalf("at %.1f: %s (%s), want %s", st.at, got, why, st.want)
				}
			}
			if mc.Turn() != tt.turns || turns != tt.turns {
				t.Errorf("turns = %d, told as started %d, want %d", mc.Turn(), turns, tt.turns)
			}
		})
	}
}

// manifestOf parses a manifest's text, or finds a built-in one by its id.
func manifestOf(t *testing.T, text string) *Manifest {
	t.Helper()
	if strings.HasPrefix(text, "{") {
		return mustParse(t, text)
	}
	return builtin(t, text)
}

func started(c Change) uint64 {
	if c.TurnStarted {
		return 1
	}
	return 0
}

// advance lets the timed rules run that are due by now.
func advance(mc *Machine, now time.Time) (c Change) {
	for range 10 {
		due, ok := mc.Deadline()
		if !ok || due.After(now) {
			break
		}
		c = c.then(mc.Tick(due))
	}
	return c
}

// TestStatusSurvivesTheHost runs every story with a machine that is stored and
// restored between all steps.
func TestStatusSurvivesTheHost(t *testing.T) {
	for _, tt := range allStories() {
		t.Run(tt.name, func(t *testing.T) {
			m := manifestOf(t, tt.manifest)
			mc := NewMachine(m, t0)
			for _, st := range tt.steps {
				state, err := mc.MarshalState()
				if err != nil {
					t.Fatal(err)
				}
				if mc, err = RestoreState(m, state, at(st.at)); err != nil {
					t.Fatal(err)
				}
				advance(mc, at(st.at))
				if st.ev != nil {
					of := at(st.at)
					if st.of != 0 {
						of = at(st.of)
					}
					if ev, ok := st.ev(m, of); ok {
						mc.Apply(ev, at(st.at))
					}
				}
				if got := mc.Status(); got != st.want {
					t.Fatalf("at %.1f: %s, want %s", st.at, got, st.want)
				}
			}
			if mc.Turn() != tt.turns {
				t.Errorf("turns = %d, want %d", mc.Turn(), tt.turns)
			}
		})
	}
}

func TestRestoreStateRefusesGarbage(t *testing.T) {
	for _, in := range []string{"", "null", "[]", `{"status":"asleep"}`, `{"words":{"hook":null},"status":"idle"`} {
		mc, err := RestoreState(nil, []byte(in), t0)
		if err == nil {
			t.Errorf("RestoreState(%q): no error", in)
		}
		if mc.Status() != api.Idle {
			t.Errorf("RestoreState(%q): %s", in, mc.Status())
		}
	}
}

// TestNothingMisleadsForLong throws random evidence at machines and ends with the word
// of a level: whatever came before, late, lost or doubled, that word holds after the
// timed rules have run, and none stays armed.
func TestNothingMisleadsForLong(t *testing.T) {
	m := mustParse(t, head+`"programStatus":true,"titleStatus":{"working":["^\\*"],"attention":["^!"]},`+hooksPart+`}`)
	kinds := []func(*Manifest, time.Time) (Evidence, bool){
		hookOf("Start", ``), hookOf("Prompt", ``), hookOf("Tool", ``), hookOf("Ask", ``), hookOf("End", ``), hookOf("Fail", ``),
		programOf("state=working"), programOf("state=idle"), programOf("state=done"), programOf("state=blocked:kind=question"),
		programOf("state=error"), programOf("state=working:id=a"), programOf("state=clear:id=a"), programOf("state=clear"),
		titleOf("* x"), titleOf("x"), outputOf(), progressOf(3), progressOf(0),
	}
	last := map[string]func(api.Status) bool{
		"state=working": func(s api.Status) bool { return s == api.Working },
		"state=blocked": func(s api.Status) bool { return s == api.NeedsYou },
		"state=done":    func(s api.Status) bool { return s == api.Done || s == api.Idle },
		"state=idle":    func(s api.Status) bool { return s == api.Done || s == api.Idle },
	}
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		mc := NewMachine(m, t0)
		now := t0
		for range 40 {
			now = now.Add(time.Duration(r.IntN(3000)) * time.Millisecond)
			advance(mc, now)
			of := now.Add(-time.Duration(r.IntN(1500)) * time.Millisecond)
			if ev, ok := kinds[r.IntN(len(kinds))](m, of); ok {
				mc.Apply(ev, now)
			}
		}
		for payload, fits := range last {
			state, err := mc.MarshalState()
			if err != nil {
				t.Fatal(err)
			}
			end, err := RestoreState(m, state, now)
			if err != nil {
				t.Fatal(err)
			}
			// The level has proved that it tells of work.
			for _, p := range []string{"state=working", payload} {
				now = now.Add(time.Second)
				ev, _ := m.ProgramEvidence(p, now)
				end.Apply(ev, now)
			}
			title := m.TitleEvidence("x", now)
			end.Apply(title, now)
			advance(end, now.Add(time.Minute))
			if !fits(end.Status()) {
				list, why := end.Explain()
				t.Fatalf("seed %d: %s after %s (%s)\n%s", seed, end.Status(), payload, why, cmp.Diff(nil, list))
			}
			if due, ok := end.Deadline(); ok {
				t.Fatalf("seed %d: still armed for %s", seed, due.Sub(now))
			}
		}
	}
}

func TestBackground(t *testing.T) {
	m := mustParse(t, head+`"programStatus":true,`+hooksPart+`}`)
	mc := NewMachine(m, t0)
	apply := func(seconds float64, ev func(*Manifest, time.Time) (Evidence, bool)) Change {
		e, _ := ev(m, at(seconds))
		return mc.Apply(e, at(seconds))
	}
	apply(1, hookOf("Prompt", ``))
	if c := apply(2, hookOf("End", `{"tasks":[{},{}]}`)); !c.Background || mc.Background() != 2 {
		t.Errorf("after the end: %d, %+v", mc.Background(), c)
	}
	if got := mc.Description(at(62)); got != "done 1m ago, 2 in the background" {
		t.Errorf("description = %q", got)
	}
	apply(3, hookOf("End", `{"tasks":[]}`))
	apply(4, programOf("state=working:id=a"))
	apply(4, programOf("state=working:id=b"))
	apply(4, programOf("state=done:id=a"))
	if mc.Background() != 1 {
		t.Errorf("records: %d, want 1", mc.Background())
	}
	apply(5, processOf(ProcessExited, ""))
	if mc.Background() != 0 {
		t.Errorf("after the exit: %d", mc.Background())
	}
}

func TestDescription(t *testing.T) {
	m := mustParse(t, head+`"programStatus":true,`+limitsPart+`,`+hooksPart+`}`)
	for _, tt := range []struct {
		name string
		evs  []func(*Manifest, time.Time) (Evidence, bool)
		age  float64
		want string
	}{
		{"at the start", nil, 3, "idle for 3s"},
		{"working", story(hookOf("Prompt", ``)), 90, "working 1m"},
		{"with a tool", story(hookOf("Prompt", ``), hookOf("Tool", `{"tool":"Bash"}`)), 120, "working 2m: Bash"},
		{"what the program says it does", story(programOf("state=working:msg=V3JpdGluZw==")), 7300, "working 2h: Writing"},
		{"asked", story(hookOf("Prompt", ``), hookOf("Ask", ``)), 60, "needs you for 1m"},
		{"asked something", story(programOf("state=blocked:kind=question:msg=V2hpY2g/")), 60, "needs you: Which?"},
		{"done", story(hookOf("Prompt", ``), hookOf("End", ``)), 180, "done 3m ago"},
		{"failed", story(programOf("state=working"), programOf("state=error:msg=b29wcw")), 180, "failed 3m ago: oops"},
		{"limit", story(hookOf("Prompt", ``), hookOf("Fail", `{"error":"usage limit reached"}`)), 9, "needs you: usage limit reached"},
		{"days", story(processOf(ProcessExited, "")), 400000, "idle for 4d"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			mc := NewMachine(m, t0)
			for _, ev := range tt.evs {
				e, ok := ev(m, t0)
				if !ok {
					t.Fatal("no evidence")
				}
				mc.Apply(e, t0)
			}
			if got := mc.Description(at(tt.age)); got != tt.want {
				t.Errorf("Description = %q, want %q", got, tt.want)
			}
		})
	}
}

// story is a list of evidence.
func story(evs ...func(*Manifest, time.Time) (Evidence, bool)) []func(*Manifest, time.Time) (Evidence, bool) {
	return evs
}

func TestExplain(t *testing.T) {
	m := mustParse(t, head+`"programStatus":true,"progressStatus":true,`+hooksPart+`}`)
	mc := NewMachine(m, t0)
	for i, ev := range story(hookOf("Prompt", ``), programOf("state=working"), progressOf(0), hookOf("End", ``), outputOf()) {
		e, _ := ev(m, at(float64(i)))
		mc.Apply(e, at(float64(i)))
	}
	list, why := mc.Explain()
	var got strings.Builder
	for _, e := range list {
		fmt.Fprintf(&got, "%s %q %s won=%v %s\n", e.Channel, e.Status, e.Rule, e.Won, e.Note)
	}
	want := `hook "done" End won=false program still says working
program "working" state=working won=true 
progress "" 9;4;0 won=false not counted: the agent's hooks report
activity "working" output won=false not counted: the agent has better channels
`
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if want := "hook End said done, but program still says working"; why != want {
		t.Errorf("why = %q, want %q", why, want)
	}
	state, err := mc.MarshalState()
	if err != nil {
		t.Fatal(err)
	}
	if mc, err = RestoreState(m, state, at(60)); err != nil {
		t.Fatal(err)
	}
	again, whyAgain := mc.Explain()
	if diff := cmp.Diff(list, again); diff != "" || whyAgain != why {
		t.Errorf("by the next host, %q (-before +after):\n%s", whyAgain, diff)
	}
}

func TestDialogSeq(t *testing.T) {
	m := builtin(t, "claude")
	mc := NewMachine(m, t0)
	screen := func(seconds float64, question string, mark int) {
		rows := []string{strings.Repeat("─", 40), " Bash command", " " + question}
		for i, label := range []string{"Yes", "No"} {
			sign := "  "
			if i == mark {
				sign = "❯ "
			}
			rows = append(rows, fmt.Sprintf(" %s%d. %s", sign, i+1, label))
		}
		rows = append(rows, "", " Esc to cancel")
		for _, ev := range m.ScreenEvidence(ScreenView{Rows: rows, CursorY: 3 + mark}, at(seconds)) {
			mc.Apply(ev, at(seconds))
		}
	}
	screen(1, "Do you want to proceed?", 0)
	if mc.DialogSeq() != 1 {
		t.Fatalf("first dialog: %d", mc.DialogSeq())
	}
	screen(2, "Do you want to proceed?", 1)
	if mc.DialogSeq() != 1 || !mc.Dialog().Options[1].Selected {
		t.Errorf("the mark moved: %d, %+v", mc.DialogSeq(), mc.Dialog())
	}
	screen(3, "Do you want to go on?", 0)
	if mc.DialogSeq() != 2 {
		t.Errorf("another dialog: %d", mc.DialogSeq())
	}
}

// TestDialogSeqAcrossChannels: one dialog that four channels tell of is one, and the
// next one is another, also when nothing was said in between.
func TestDialogSeqAcrossChannels(t *testing.T) {
	m := builtin(t, "claude")
	mc := NewMachine(m, t0)
	hook := func(event, payload string) func(*Manifest, time.Time) (Evidence, bool) {
		return func(m *Manifest, at time.Time) (Evidence, bool) {
			r, err := ParseReport(m, ReportQuery{State: "attention", Event: event, At: at}, []byte(payload))
			if err != nil {
				t.Fatal(err)
			}
			return r.Evidence(m)
		}
	}
	blocked := func(what string) func(*Manifest, time.Time) (Evidence, bool) {
		return programOf("state=blocked:kind=permission:msg=" + base64.StdEncoding.EncodeToString([]byte(what)))
	}
	for i, st := range []struct {
		ev       func(*Manifest, time.Time) (Evidence, bool)
		seq      uint64
		question string
	}{
		{programOf("state=working"), 0, ""},
		{hook("PermissionRequest", `{"tool_name":"Bash","tool_input":{"command":"make"}}`), 0, ""},
		{blocked("approve Bash: make"), 1, "Allow Bash?"},
		{fileOf(`{"status":"waiting"}`), 1, "Allow Bash?"},
		{func(m *Manifest, at time.Time) (Evidence, bool) {
			return m.ScreenEvidence(permissionScreen(), at)[0], true
		}, 1, "Do you want to proceed?"},
		{hook("Notification", `{"notification_type":"permission_prompt","message":"Claude needs your permission"}`), 1, "Do you want to proceed?"},
		{blocked("approve Write: a.txt"), 2, "approve Write: a.txt"},
		{blocked("approve Write: a.txt"), 2, "approve Write: a.txt"},
		{hook("PermissionRequest", `{"tool_name":"Write","tool_input":{"file_path":"a.txt"}}`), 2, "Allow Write?"},
		{hook("Notification", `{"notification_type":"permission_prompt","message":"Claude needs your permission"}`), 2, "Allow Write?"},
		{programOf("state=working"), 2, ""},
		{blocked("approve Write: a.txt"), 3, "approve Write: a.txt"},
	} {
		ev, ok := st.ev(m, at(float64(i)))
		if !ok {
			t.Fatalf("step %d: no evidence", i)
		}
		mc.Apply(ev, at(float64(i)))
		question := ""
		if d := mc.Dialog(); d != nil {
			question = d.Question
		}
		if mc.DialogSeq() != st.seq || question != st.question {
			t.Errorf("step %d: dialog %d %q, want %d %q", i, mc.DialogSeq(), question, st.seq, st.question)
		}
	}
}

// TestDialogSeqOfAWeakerChannel: OSC 7501 telling what the title told before opens no
// other dialog.
func TestDialogSeqOfAWeakerChannel(t *testing.T) {
	m := mustParse(t, head+`"programStatus":true,"titleStatus":{"attention":["^!"]}}`)
	mc := NewMachine(m, t0)
	for i, ev := range story(titleOf("! x"), programOf("state=blocked:kind=question:msg=V2hpY2g/")) {
		e, _ := ev(m, at(float64(i)))
		mc.Apply(e, at(float64(i)))
	}
	if mc.DialogSeq() != 1 || mc.Dialog() == nil || mc.Dialog().Question != "Which?" {
		t.Errorf("dialog %d, %+v", mc.DialogSeq(), mc.Dialog())
	}
}

// TestBegin is what happens when a shell takes the place of an agent, and an agent
// the place of a shell.
func TestBegin(t *testing.T) {
	m := mustParse(t, head+hooksPart+`}`)
	mc := NewMachine(m, t0)
	for _, ev := range story(hookOf("Prompt", ``), hookOf("Ask", ``)) {
		e, _ := ev(m, t0)
		mc.Apply(e, t0)
	}
	if c := mc.Begin(nil, at(1)); !c.Changed || c.To != api.Idle || !c.TurnEnded || mc.Dialog() != nil {
		t.Errorf("the shell is back: %+v", c)
	}
	e, _ := hookOf("Tool", ``)(m, at(2))
	if mc.Apply(e, at(2)); mc.Status() != api.Idle {
		t.Errorf("a hook in a shell: %s", mc.Status())
	}
	mc.Begin(m, at(3))
	if len(mc.Seen().Hooks) != 0 {
		t.Errorf("hooks of the last agent are remembered: %v", mc.Seen().Hooks)
	}
	e, _ = hookOf("Prompt", ``)(m, at(4))
	if c := mc.Apply(e, at(4)); !c.TurnStarted || mc.Turn() != 2 {
		t.Errorf("the next agent's turn: %+v, %d turns", c, mc.Turn())
	}
}
