package demo

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	atp "termio/internal/agent"
	"termio/internal/api"
	"termio/internal/pty"
)

// manifest is the demo agent's own.
func manifest(t *testing.T) *atp.Manifest {
	t.Helper()
	const file = "../agent/manifests/demo.json"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	m, problems, err := atp.Parse(data, file)
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	return m
}

// What the agent reports and what its manifest declares is the same.
func TestManifestDeclaresTheReports(t *testing.T) {
	for _, e := range manifest(t).Hooks.Events {
		if got, ok := reported[e.On]; !ok || got != e.State {
			t.Errorf("event %s is reported as %q, declared as %q", e.On, got, e.State)
		}
	}
}

// The manifest's rules find on real screens what is there.
func TestManifestFindsDialogs(t *testing.T) {
	tests := []struct {
		name, prompt string
		args         []string
		want         api.Dialog
	}{
		{"permission", "[[tool bash: make test]]", nil, api.Dialog{
			Kind: api.DialogPermission, Question: "Do you want to run make test?", Detail: "make test",
			Options: []api.Option{
				{Number: 1, Key: "1", Label: "Yes", Selected: true},
				{Number: 2, Key: "2", Label: "Yes, and always allow Bash in this session"},
				{Number: 3, Key: "3", Label: "No, and say what to do instead"},
			},
		}},
		{"file", "[[touch a.txt]]", nil, api.Dialog{
			Kind: api.DialogPermission, Question: "Do you want to let Write change a.txt?", Detail: "a.txt",
			Options: []api.Option{
				{Number: 1, Key: "1", Label: "Yes", Selected: true},
				{Number: 2, Key: "2", Label: "Yes, and always allow Write in this session"},
				{Number: 3, Key: "3", Label: "No, and say what to do instead"},
			},
		}},
		{"question", "[[ask Which colour?|Red|青]]", nil, api.Dialog{
			Kind: api.DialogQuestion, Question: "Which colour?",
			Options: []api.Option{
				{Number: 1, Key: "1", Label: "Red", Selected: true},
				{Number: 2, Key: "2", Label: "青"},
				{Number: 3, Key: "3", Label: "Type something."},
			},
		}},
		{"login", "", []string{"--start=login"}, api.Dialog{
			Kind: api.DialogLogin, Question: "Select how to sign in:", Detail: "Demo is not signed in",
			Options: []api.Option{
				{Number: 1, Key: "1", Label: "Demo account", Selected: true},
				{Number: 2, Key: "2", Label: "Another demo account"},
			},
		}},
		{"hooks", "", []string{"--start=hooks"}, api.Dialog{
			Kind: api.DialogTrust, Question: "2 hooks are new or have changed. What should be done with them?", Detail: "Hooks need review",
			Options: []api.Option{
				{Number: 1, Key: "1", Label: "Review hooks", Selected: true},
				{Number: 2, Key: "2", Label: "Trust all and continue"},
				{Number: 3, Key: "3", Label: "Continue without trusting"},
			},
		}},
	}
	m := manifest(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := start(t, tt.args...)
			if tt.prompt != "" {
				b.event("ready")
				b.prompt(tt.prompt)
			}
			b.event("dialog")
			b.waitScreen("Esc to cancel")
			got, ok := m.FindDialog(b.view())
			if !ok {
				t.Fatal("no dialog was found")
			}
			if diff := cmp.Diff(tt.want, *got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if ok, sign := m.Ready(b.view(), atp.Seen{}); ok {
				t.Errorf("ready: %s", sign)
			}
		})
	}
}

func TestManifestFindsTrust(t *testing.T) {
	b := start(t, "--start=trust")
	b.waitScreen("Esc to cancel")
	d, ok := manifest(t).FindDialog(b.view())
	if !ok || d.Kind != api.DialogTrust || d.Question != "Do you trust the files in this folder?" || !d.Options[0].Selected {
		t.Errorf("dialog %+v", d)
	}
}

// Words that look like a dialog are none while the composer stands below them.
func TestManifestIsNotFooledByProse(t *testing.T) {
	b := start(t, "[[say ────────────────────\n Do you want to run rm?\n ❯ 1. Yes\n   2. No\n\n Esc to cancel]]")
	b.event("status", "status", "done")
	b.waitScreen("Done in")
	if d, ok := manifest(t).FindDialog(b.view()); ok {
		t.Errorf("dialog %+v", d)
	}
}

func TestManifestFindsTheComposer(t *testing.T) {
	tests := []struct {
		name, keys, show, want string
		args                   []string
		size                   pty.Size
	}{
		{"empty", "", "/help for help", "", nil, size80},
		{"a draft", "half a line", "half a line", "half a line", nil, size80},
		{"lines", "one\ntwo", "two", "one\ntwo", nil, size80},
		{"wide characters", "漢字 👩‍👩‍👧", "漢字", "漢字 👩‍👩‍👧", nil, size80},
		{"a dim suggestion is no draft", "", "try the tests", "", []string{"--suggestion=try the tests"}, size80},
		{"a small screen", "hi", "❯ hi", "hi", nil, pty.Size{Cols: 30, Rows: 8}},
	}
	m := manifest(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := startOn(t, t.TempDir(), tt.size, false, tt.args...)
			b.event("ready")
			b.send(tt.keys)
			b.waitScreen(tt.show)
			got := m.Composer(b.view())
			if !got.Found || got.Draft != tt.want || got.Empty != (tt.want == "") {
				t.Errorf("composer %+v, want the draft %q", got, tt.want)
			}
		})
	}
}
