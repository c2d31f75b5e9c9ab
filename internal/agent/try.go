package agent

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"termio/internal/api"
)

// A Step is one thing that is seen of an agent in a trial of its manifest: exactly
// one of the fields below At is set.
type Step struct {
	At       time.Duration // since the agent's start
	Hook     *HookStep
	Program  string // payload of OSC 7501
	Title    *string
	File     []byte // the status file
	Screen   *ScreenView
	Line     []byte // of the transcript
	Progress *int   // state of OSC 9;4
	Process  string // exited, shell, or the name of a command in the foreground
	Input    bool   // somebody typed
	Output   bool   // new text on the screen
}

// HookStep is a hook that came.
type HookStep struct {
	Event   string
	State   string // what the hook says; "" takes the manifest's state for the event
	Payload []byte
}

// An Outcome is what a manifest makes of one step.
type Outcome struct {
	Step     int // index into the steps; that of the step before for a timed rule
	At       time.Duration
	Change   Change
	Status   api.Status
	Won      string // the channel
	Why      string
	Dialog   *api.Dialog
	Composer Composer // of a step with a screen
	Ready    bool
	Sign     string // what said that the agent is ready, or is not
	// Findings say what about the manifest does not fit this step: a field that the
	// payload does not have, an event that is not declared. Of these, warnings are no
	// faults.
	Findings []Problem
}

// Try runs steps through a manifest, as the host would, timed rules included, and
// gives an outcome for each step and for each timed rule that changed something.
func (m *Manifest) Try(steps []Step) []Outcome {
	start := time.Unix(0, 0).UTC()
	mc := NewMachine(m, start)
	var outs []Outcome
	for i, st := range steps {
		now := start.Add(st.At)
		outs = append(outs, mc.due(now, i-1, start)...)
		o := m.tryStep(mc, st, now)
		o.Step, o.At = i, st.At
		outs = append(outs, o)
	}
	return append(outs, mc.due(start.Add(1000*time.Hour), len(steps)-1, start)...)
}

// due runs the timed rules that come before now.
func (mc *Machine) due(now time.Time, step int, start time.Time) []Outcome {
	var outs []Outcome
	for range 10 { // a rule that arms itself again and again would be a defect
		at, ok := mc.Deadline()
		if !ok || !at.Before(now) {
			break
		}
		if c := mc.Tick(at); c.Changed {
			o := mc.outcome(c)
			o.Step, o.At = step, at.Sub(start)
			outs = append(outs, o)
		}
	}
	return outs
}

func (mc *Machine) outcome(c Change) Outcome {
	_, why := mc.Explain()
	return Outcome{Change: c, Status: mc.Status(), Won: string(mc.s.Won), Why: why, Dialog: mc.Dialog()}
}

func (m *Manifest) tryStep(mc *Machine, st Step, now time.Time) Outcome {
	evs, findings := m.stepEvidence(mc, st, now)
	c := Change{From: mc.Status(), To: mc.Status()}
	for _, ev := range evs {
		c = c.then(mc.Apply(ev, now))
	}
	o := mc.outcome(c)
	o.Findings = findings
	if st.Screen != nil {
		o.Composer = m.Composer(*st.Screen)
		o.Ready, o.Sign = m.Ready(*st.Screen, mc.Seen())
	}
	return o
}

// then joins the changes of several pieces of evidence that came at once.
func (c Change) then(d Change) Change {
	return Change{
		Changed: c.From != d.To, From: c.From, To: d.To,
		TurnStarted: c.TurnStarted || d.TurnStarted, TurnEnded: c.TurnEnded || d.TurnEnded,
		Prompted: c.Prompted || d.Prompted, Dialog: c.Dialog || d.Dialog, Background: c.Background || d.Background,
	}
}

// stepEvidence makes a step's evidence, with what does not fit.
func (m *Manifest) stepEvidence(mc *Machine, st Step, now time.Time) (evs []Evidence, findings []Problem) {
	one := func(ev Evidence, ok bool, otherwise string) {
		if ok {
			evs = append(evs, ev)
		} else if otherwise != "" {
			findings = append(findings, note(otherwise))
		}
	}
	switch {
	case st.Hook != nil:
		return m.tryHook(*st.Hook, now)
	case st.Program != "":
		ev, ok := m.ProgramEvidence(st.Program, now)
		one(ev, ok, "no report of OSC 7501: "+st.Program)
		if !m.ProgramStatus {
			findings = append(findings, note("the manifest has no programStatus, so OSC 7501 does not count"))
		}
	case st.Title != nil:
		one(m.TitleEvidence(*st.Title, now), true, "")
		if m.TitleStatus == nil {
			findings = append(findings, note("the manifest has no titleStatus, so titles do not count"))
		}
	case st.File != nil:
		ev, _, err := m.FileEvidence(st.File, FileProcess{}, now)
		ev.At = now // the recorded time is of another clock
		one(ev, err == nil, fmt.Sprint(err))
	case st.Screen != nil:
		evs = m.ScreenEvidence(*st.Screen, now)
	case st.Line != nil:
		ev, ok := m.LineEvidence(st.Line, now)
		ev.At = now
		one(ev, ok, "")
	case st.Progress != nil:
		ev, ok := ProgressEvidence(*st.Progress, now)
		one(ev, ok, "")
	case st.Process == "exited":
		one(ProcessEvidence(ProcessExited, "", now), true, "")
	case st.Process == "shell":
		one(ProcessEvidence(ProcessShell, "", now), true, "")
	case st.Process != "":
		one(ProcessEvidence(ProcessForeground, st.Process, now), true, "")
	case st.Input:
		one(InputEvidence(now), true, "")
	case st.Output:
		one(ActivityEvidence(now), true, "")
	}
	return evs, findings
}

// tryHook runs a hook's payload through the manifest as its installed command would.
func (m *Manifest) tryHook(h HookStep, now time.Time) (evs []Evidence, findings []Problem) {
	if m.Hooks == nil {
		return nil, []Problem{m.problem("hooks", "is missing, so no event counts: declare the agent's events there")}
	}
	root, _, _ := readTree(h.Payload)
	is := func(e HookEvent) bool { return e.On == h.Event }
	declared := slices.IndexFunc(m.Hooks.Events, is)
	fits := slices.IndexFunc(m.Hooks.Events, func(e HookEvent) bool { return is(e) && e.fits(root) })
	state := h.State
	switch {
	case state != "":
	case declared < 0:
		return nil, []Problem{m.undeclared(h.Event)}
	case fits < 0:
		return nil, []Problem{note("the matcher of " + h.Event + " does not fit, so the agent would not call the hook")}
	default:
		state = m.Hooks.Events[fits].State
	}
	r, err := ParseReport(m, ReportQuery{State: state, Event: h.Event, At: now}, h.Payload)
	if err != nil {
		return nil, []Problem{note(err.Error())}
	}
	if fits >= 0 {
		findings = m.misfits(fits, root)
	}
	if ev, ok := r.Evidence(m); ok {
		evs = append(evs, ev)
	} else {
		findings = append(findings, note("changes no status: "+r.Silent))
	}
	return evs, findings
}

func (h *Hooks) names() []string {
	var names []string
	for _, e := range h.Events {
		if !slices.Contains(names, e.On) {
			names = append(names, e.On)
		}
	}
	return names
}

// stepLine is a step as a line of JSON.
type stepLine struct {
	At       float64         `json:"at"` // seconds
	Hook     string          `json:"hook"`
	State    string          `json:"state"`
	Payload  json.RawMessage `json:"payload"`
	Program  string          `json:"program"`
	Title    *string         `json:"title"`
	File     json.RawMessage `json:"file"`
	Screen   string          `json:"screen"`
	Cursor   *[2]int         `json:"cursor"`
	Hidden   bool            `json:"hidden"` // the cursor
	Dim      string          `json:"dim"`
	Line     json.RawMessage `json:"line"`
	Progress *int            `json:"progress"`
	Process  string          `json:"process"`
	Input    bool            `json:"input"`
	Output   bool            `json:"output"`
}

// ReadSteps reads steps, one JSON object a line: at is in seconds; hook (with payload,
// and state if it is not the manifest's), program, title, file, screen (with cursor,
// hidden if it does not show, and dim), line, progress, process, input or output says
// what was seen. screen and dim name texts that open gives: the screen's rows, and the
// same rows with a # for every faint cell.
func ReadSteps(r io.Reader, open func(name string) ([]byte, error)) ([]Step, error) {
	var steps []Step
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxPayload)
	for n := 1; lines.Scan(); n++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		st, err := readStep(lines.Bytes(), open)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		steps = append(steps, st)
	}
	return steps, lines.Err()
}

func readStep(line []byte, open func(string) ([]byte, error)) (Step, error) {
	var l stepLine
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&l); err != nil {
		return Step{}, err
	}
	st := Step{
		At: time.Duration(l.At * float64(time.Second)), Program: l.Program, Title: l.Title, File: l.File,
		Line: l.Line, Progress: l.Progress, Process: l.Process, Input: l.Input, Output: l.Output,
	}
	if l.Hook != "" {
		st.Hook = &HookStep{Event: l.Hook, State: l.State, Payload: l.Payload}
	}
	if l.Screen != "" {
		text, err := open(l.Screen)
		if err != nil {
			return Step{}, err
		}
		v := ParseScreen(string(text))
		if l.Cursor != nil {
			v.CursorX, v.CursorY, v.CursorVisible = l.Cursor[0], l.Cursor[1], !l.Hidden
		}
		if l.Dim != "" {
			dim, err := open(l.Dim)
			if err != nil {
				return Step{}, err
			}
			v.Dim = dimFrom(string(dim))
		}
		st.Screen = &v
	}
	return st, nil
}

// ParseScreen makes a view of a screen's text, as `sessions read` prints it. Where its
// cursor was is not known.
func ParseScreen(text string) ScreenView {
	rows := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i := range rows {
		rows[i] = strings.TrimRight(rows[i], " \r")
	}
	return ScreenView{Rows: rows, CursorX: -1, CursorY: -1}
}

func dimFrom(text string) func(x, y int) bool {
	rows := strings.Split(text, "\n")
	return func(x, y int) bool {
		return y >= 0 && y < len(rows) && x >= 0 && x < len(rows[y]) && rows[y][x] == '#'
	}
}
