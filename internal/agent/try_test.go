package agent

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"termio/internal/api"
)

// TestTry tells people who write a manifest what does not fit.
func TestTry(t *testing.T) {
	m := mustParse(t, head+`"hooks":{"file":"~/f","conversation":"id","events":[
		{"on":"Start","state":"idle"},{"on":"Note","state":"attention","matcher":"ask","field":"type"}]},"titleStatus":{"working":["^\\*"]}}`)
	bare := mustParse(t, head+`"order":1}`)
	title := "* x"
	for _, tt := range []struct {
		name string
		m    *Manifest
		step Step
		want string
		end  api.Status
	}{
		{"fits", m, Step{Hook: &HookStep{Event: "Start", Payload: []byte(`{"id":"c1"}`)}}, "", api.Idle},
		{"title", m, Step{Title: &title}, "", api.Working},
		{"event of another name", m, Step{Hook: &HookStep{Event: "start", Payload: []byte(`{"id":"c1"}`)}}, `hooks.events[0].on no event "start" is declared; is "Start" what should be "start"? Declared are Start, Note: name them as the agent does, which calls no other`, api.Idle},
		{"field of another name", m, Step{Hook: &HookStep{Event: "Start", Payload: []byte(`{"session":"c1","cwd":"/"}`)}}, `hooks.conversation is "id", and the payload of Start has no such field; it has cwd, session`, api.Idle},
		{"kept out by the matcher", m, Step{Hook: &HookStep{Event: "Note", Payload: []byte(`{"id":"c1","type":"tell"}`)}}, "the matcher of Note does not fit, so the agent would not call the hook", api.Idle},
		{"through the matcher", m, Step{Hook: &HookStep{Event: "Note", Payload: []byte(`{"id":"c1","type":"ask"}`)}}, "", api.NeedsYou},
		{"a state that is none", m, Step{Hook: &HookStep{Event: "Start", State: "ready", Payload: []byte(`{"id":"c1"}`)}}, `state must be working, attention, done or idle, not "ready"`, api.Idle},
		{"no hooks", bare, Step{Hook: &HookStep{Event: "Start"}}, "hooks is missing, so no event counts: declare the agent's events there", api.Idle},
		{"no titles", bare, Step{Title: &title}, "the manifest has no titleStatus, so titles do not count", api.Idle},
		{"no OSC 7501", bare, Step{Program: "state=working"}, "the manifest has no programStatus, so OSC 7501 does not count", api.Idle},
		{"no status file", bare, Step{File: []byte("{}")}, "the agent keeps no status file", api.Idle},
	} {
		t.Run(tt.name, func(t *testing.T) {
			outs := tt.m.Try([]Step{tt.step})
			var told []string
			for _, f := range outs[0].Findings {
				told = append(told, strings.TrimSpace(f.Path+" "+f.Reason))
			}
			if got := strings.Join(told, "; "); got != tt.want {
				t.Errorf("findings:\n%s\nwant:\n%s", got, tt.want)
			}
			if outs[0].Status != tt.end {
				t.Errorf("status %s, want %s", outs[0].Status, tt.end)
			}
		})
	}
}

// TestTryRunsTimedRules: what only time tells is told as well.
func TestTryRunsTimedRules(t *testing.T) {
	m := mustParse(t, head+`"titleStatus":{"working":["^\\*"]},`+hooksPart+`}`)
	busy, idle := "* x", "x"
	outs := m.Try([]Step{
		{At: time.Second, Hook: &HookStep{Event: "Prompt"}},
		{At: 2 * time.Second, Title: &busy},
		{At: 3 * time.Second, Title: &idle},
	})
	last := outs[len(outs)-1]
	if last.Status != api.Idle || last.At != 4*time.Second || last.Step != 2 {
		t.Errorf("last outcome: %s at %s, step %d", last.Status, last.At, last.Step)
	}
}

func TestReadSteps(t *testing.T) {
	open := func(name string) ([]byte, error) {
		if name == "s.txt" {
			return []byte("one\r\ntwo  \n"), nil
		}
		return nil, errors.New("no such file")
	}
	steps, err := ReadSteps(strings.NewReader(`{"at":1.5,"screen":"s.txt","cursor":[2,1]}

{"hook":"Stop","payload":{"a":1}}
{"title":""}
{"screen":"s.txt"}
`), open)
	if err != nil || len(steps) != 4 {
		t.Fatalf("ReadSteps: %d steps, %v", len(steps), err)
	}
	if v := steps[0].Screen; steps[0].At != 1500*time.Millisecond || fmt.Sprint(v.Rows) != "[one two]" || v.CursorX != 2 || v.CursorY != 1 {
		t.Errorf("first step: %+v %+v", steps[0], v)
	}
	if steps[1].Hook.Event != "Stop" || !bytes.Equal(steps[1].Hook.Payload, []byte(`{"a":1}`)) || steps[2].Title == nil || steps[3].Screen.CursorY != -1 {
		t.Errorf("steps: %+v", steps[1:])
	}
	for in, want := range map[string]string{
		`{"hok":"Stop"}`:               `line 1: json: unknown field "hok"`,
		"{}\n{":                        "line 2: unexpected EOF",
		`{"screen":"missing"}`:         "line 1: no such file",
		`{"screen":"s.txt","dim":"d"}`: "line 1: no such file",
	} {
		if _, err := ReadSteps(strings.NewReader(in), open); err == nil || err.Error() != want {
			t.Errorf("ReadSteps(%q): %v, want %s", in, err, want)
		}
	}
}
