package agent

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"termio/internal/api"
)

func TestStartedBy(t *testing.T) {
	demo, claude := builtin(t, "demo"), builtin(t, "claude")
	for _, tt := range []struct {
		name string
		m    *Manifest
		args []string
		want bool
	}{
		{"by its name", claude, []string{"claude"}, true},
		{"by a path, with flags", claude, []string{"/usr/bin/claude", "--resume", "x"}, true},
		{"another program", claude, []string{"claudette"}, false},
		{"all words of the command", demo, []string{"/opt/bin/termio", "demo-agent", "--auto"}, true},
		{"the same program with another verb", demo, []string{"termio", "sessions"}, false},
		{"the program alone", demo, []string{"termio"}, false},
		{"without our flags", builtin(t, "codex"), []string{"codex"}, true},
		{"with others in their place", builtin(t, "codex"), []string{"/usr/bin/codex", "--yolo"}, true},
		{"nothing", claude, nil, false},
		{"a shell is never started so", builtin(t, "terminal"), []string{"bash"}, false},
		{"no manifest", nil, []string{"bash"}, false},
	} {
		if got := tt.m.StartedBy(tt.args); got != tt.want {
			t.Errorf("%s: StartedBy(%q) = %v", tt.name, tt.args, got)
		}
	}
}

func TestProgram(t *testing.T) {
	for id, want := range map[string]string{"claude": "claude", "demo": "termio", "terminal": ""} {
		if got := builtin(t, id).Program(); got != want {
			t.Errorf("Program of %s = %q, want %q", id, got, want)
		}
	}
}

func TestConfigEnv(t *testing.T) {
	claude := builtin(t, "claude")
	for _, tt := range []struct {
		m       *Manifest
		environ []string
		want    map[string]string
	}{
		{claude, []string{"A=1", "CLAUDE_CONFIG_DIR=/old", "CLAUDE_CONFIG_DIR=/new"}, map[string]string{"CLAUDE_CONFIG_DIR": "/new"}},
		{claude, []string{"CLAUDE_CONFIG_DIR="}, nil},
		{claude, nil, nil},
		{builtin(t, "terminal"), []string{"CLAUDE_CONFIG_DIR=/x"}, nil},
		{nil, []string{"A=1"}, nil},
	} {
		if diff := cmp.Diff(tt.want, tt.m.ConfigEnv(tt.environ)); diff != "" {
			t.Errorf("ConfigEnv(%q) (-want +got):\n%s", tt.environ, diff)
		}
	}
}

func TestTimings(t *testing.T) {
	if got := (*Manifest)(nil).Timings(); got.Submit <= 0 || got.DialogDeaf < time.Second || !got.Queues {
		t.Errorf("of an unknown agent: %+v", got)
	}
	m := mustParse(t, head+`"input":{"submit":40,"dialogDeaf":900,"busy":"merge"},"ready":{"settle":70,"program":"idle"}}`)
	want := Timings{Submit: 40 * time.Millisecond, DialogDeaf: 900 * time.Millisecond, Retry: (*Manifest)(nil).Timings().Retry, Settle: 70 * time.Millisecond}
	if got := m.Timings(); got != want {
		t.Errorf("Timings = %+v, want %+v", got, want)
	}
}

// TestManifestRoundTrips: what `agents show` prints of a manifest is the manifest.
func TestManifestRoundTrips(t *testing.T) {
	for _, m := range Load(nil, nil).All() {
		data, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		again, problems, err := Parse(data, m.ID)
		if err != nil {
			t.Fatalf("%s: %v\n%s", m.ID, err, problemText(problems))
		}
		data2, err := json.Marshal(again)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(data), string(data2)); diff != "" {
			t.Errorf("%s (-first +second):\n%s", m.ID, diff)
		}
	}
}

func TestProblemAPI(t *testing.T) {
	p := Problem{File: "a.json", Line: 3, Path: "hooks.events", Reason: "must not be empty"}
	want := api.AgentProblem{File: "a.json", Path: "hooks.events", Reason: "must not be empty (line 3)"}
	if got := p.API(); got != want {
		t.Errorf("API = %+v, want %+v", got, want)
	}
}

// TestTool is what a session is doing, by name: only while it does it.
func TestTool(t *testing.T) {
	m := mustParse(t, head+hooksPart+`}`)
	mc := NewMachine(m, t0)
	for _, st := range []struct {
		ev   func(*Manifest, time.Time) (Evidence, bool)
		want string
	}{
		{hookOf("Prompt", ``), ""},
		{hookOf("Tool", `{"tool":"Bash"}`), "Bash"},
		{hookOf("Ask", `{"tool":"Write"}`), ""},
		{hookOf("Tool", `{"tool":"Write"}`), "Write"},
		{hookOf("End", ``), ""},
		{hookOf("Prompt", ``), ""},
	} {
		e, _ := st.ev(m, t0)
		mc.Apply(e, t0)
		if got := mc.Tool(); got != st.want {
			t.Errorf("after %s: tool %q, want %q", e.Event, got, st.want)
		}
	}
	if mc.Prompts() != 2 || !mc.Since().Equal(t0) {
		t.Errorf("prompts %d, since %s", mc.Prompts(), mc.Since())
	}
	shell := NewMachine(nil, t0)
	shell.Apply(ProcessEvidence(ProcessForeground, "make", t0), t0)
	if got := shell.Tool(); got != "make" {
		t.Errorf("a shell's command = %q", got)
	}
}

// TestDialogWithoutItsTop: the question of a dialog that is taller than the screen is
// known from the hook.
func TestDialogWithoutItsTop(t *testing.T) {
	m := mustParse(t, head+strings.Replace(dialogsPart, `"footer"`, `"top":"^====","footer"`, 1)+`,"programStatus":true,`+strings.Replace(hooksPart, `"events"`, `"dialogs":[{"kind":"permission","question":"Run {tool}?"}],"events"`, 1)+`}`)
	for _, tt := range []struct {
		name string
		evs  []func(*Manifest, time.Time) (Evidence, bool)
		want string
	}{
		{"from the hook", story(hookOf("Ask", `{"tool":"Bash"}`)), "Run Bash?"},
		{"from OSC 7501", story(programOf("state=blocked:kind=permission:msg=UnVuPw==")), "Run?"},
		{"from nobody", nil, ""},
	} {
		mc := NewMachine(m, t0)
		for _, ev := range append(tt.evs, screenOf("❯ 1. Yes", "  2. No", "esc to cancel")) {
			e, _ := ev(m, t0)
			mc.Apply(e, t0)
		}
		if d := mc.Dialog(); mc.Status() != api.NeedsYou || d == nil || d.Question != tt.want || len(d.Options) != 2 {
			t.Errorf("%s: %s %+v, want %q", tt.name, mc.Status(), d, tt.want)
		}
	}
}
