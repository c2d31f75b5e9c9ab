package agent

import (
	"testing"
	"time"

	"termio/internal/api"
)

var t0 = time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)

func TestMachineFirstTurn(t *testing.T) {
	m := builtin(t, "claude")
	mc := NewMachine(m, t0)
	hook := func(event, state, payload string, at time.Time) Change {
		t.Helper()
		r, err := ParseReport(m, ReportQuery{State: state, Event: event, At: at}, []byte(payload))
		if err != nil {
			t.Fatal(err)
		}
		ev, ok := r.Evidence(m)
		if !ok {
			t.Fatalf("%s is silent: %s", event, r.Silent)
		}
		return mc.Apply(ev, at)
	}
	hook("SessionStart", "idle", `{"source":"startup"}`, t0)
	if c := hook("UserPromptSubmit", "working", `{"prompt":"hi"}`, t0.Add(time.Second)); !c.TurnStarted || !c.Prompted || c.To != api.Working {
		t.Errorf("prompt: %+v", c)
	}
	if c := hook("PermissionRequest", "attention", `{"tool_name":"Bash","tool_input":{"command":"ls"}}`, t0.Add(2*time.Second)); c.To != api.NeedsYou || mc.Dialog().Question != "Allow Bash?" {
		t.Errorf("permission: %+v %+v", c, mc.Dialog())
	}
	if c := hook("PostToolUse", "working", `{"tool_name":"Bash"}`, t0.Add(3*time.Second)); c.To != api.Working || c.TurnStarted {
		t.Errorf("granted: %+v", c)
	}
	if c := hook("Stop", "done", `{"background_tasks":[{"status":"running"}]}`, t0.Add(4*time.Second)); c.To != api.Done || !c.TurnEnded || mc.Background() != 1 {
		t.Errorf("end: %+v", c)
	}
	if mc.Turn() != 1 {
		t.Errorf("turns = %d, want 1", mc.Turn())
	}
}
