package host_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"termio/internal/api"
	"termio/internal/termtest"
)

// A question told by a hook before it is drawn reaches waiters and watchers with
// its options: without them nobody can answer it.
func TestQuestionComesWithItsOptions(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t)
	events := d.WatchAll()
	link := d.Spawn("[[ask Which colour?|Red|Blue]]")
	e := events.AwaitStatus(link, api.NeedsYou)
	want := &api.Dialog{Kind: api.DialogQuestion, Question: "Which colour?", Options: []api.Option{
		{Number: 1, Key: "1", Label: "Red", Selected: true},
		{Number: 2, Key: "2", Label: "Blue"},
		{Number: 3, Key: "3", Label: "Type something."},
	}}
	if diff := cmp.Diff(want, e.Dialog); diff != "" {
		t.Errorf("dialog (-want +got):\n%s", diff)
	}
	if want := "Which colour?\n1. Red\n2. Blue\n3. Type something."; e.Prompt != want {
		t.Errorf("prompt %q, want %q", e.Prompt, want)
	}
}

// What a hook says of a question is not all of it: watchers and waiters are told when it
// has been drawn, with the options that the agent adds.
func TestQuestionIsToldAsItIsDrawn(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t)
	d.WriteFile(filepath.Join(d.Paths.AgentsDir, "asker.json"), 0o600, `{
	"id": "asker", "name": "Asker", "command": "`+filepath.Join(d.Dir, "asker")+`",
	"dialogs": [{"name": "question", "kind": "question", "title": ["^Which\\?$"], "footer": ["^Esc to cancel$"]}],
	"hooks": {"type": "builtin", "tool": "tool_name", "events": [{"on": "PermissionRequest", "state": "attention"}],
		"dialogs": [{"tool": ".", "kind": "question", "question": "{tool_input.question}", "options": "tool_input.options", "label": "label"}]}
}`)
	d.WriteFile(filepath.Join(d.Dir, "asker"), 0o700, `#!/bin/sh
echo '{"tool_name":"Ask","tool_input":{"question":"Which?","options":[{"label":"A"},{"label":"B"}]}}' |
	"$TERMIO_HOME/bin/termio" agent report attention --event PermissionRequest
printf 'Which?\n❯ 1. A\n  2. B\n  3. Type something.\nEsc to cancel\n'
read x
`)
	events := d.WatchAll()
	link := d.SpawnAgent("asker", "x")
	e := events.AwaitStatus(link, api.NeedsYou)
	if want := "Which?\n1. A\n2. B\n3. Type something."; e.Prompt != want {
		t.Errorf("prompt %q, want %q", e.Prompt, want)
	}
}

// spawnAsking starts an agent that asks for permission to make a file.
func spawnAsking(t *testing.T, d *termtest.Daemon, prompt string) api.WaitReply {
	t.Helper()
	r, err := d.Client().SpawnWait(d.Context(), api.SpawnRequest{Agent: "demo", Prompt: prompt})
	if err != nil {
		t.Fatal(err)
	}
	if r.Status != api.NeedsYou || r.TimedOut {
		t.Fatalf("spawn: %+v", r)
	}
	return r
}

// A dialog is answered on purpose only: a text that is no answer is refused, whatever
// it holds, and presses no key.
func TestPermissionIsAnsweredOnPurpose(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		insist     bool
		refused    bool
		made       bool
	}{
		{name: "a prompt", text: "please also add tests", refused: true},
		{name: "a long prompt with yes in it", text: "yes, and then " + strings.Repeat("more ", 200), refused: true},
		{name: "a number beyond the options", text: "9", refused: true},
		{name: "the number of yes", text: "1", made: true},
		{name: "yes", text: "yes", made: true},
		{name: "the number of no", text: "3"},
		{name: "no", text: "no"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := termtest.Start(t, termtest.WithDemoLog())
			ctx := d.Context()
			asking := spawnAsking(t, d, "[[touch made]]")
			if asking.Prompt == "" || asking.Dialog == nil || len(asking.Dialog.Options) == 0 {
				t.Fatalf("no question: %+v", asking)
			}
			events := d.WatchAll()
			reply, err := d.Client().SendWait(ctx, asking.Target, api.SendRequest{Text: tt.text, Answer: tt.insist})
			if tt.refused {
				if api.CodeOf(err) != api.NeedsAnswer || !strings.Contains(err.Error(), asking.Dialog.Options[0].Label) {
					t.Errorf("send: %v", err)
				}
				if n := len(d.DemoEvents("answer")); n != 0 {
					t.Errorf("the dialog got %d answers", n)
				}
				list, err := d.Client().List(ctx, listAll)
				if err != nil {
					t.Fatal(err)
				}
				if s := list.Sessions[0]; s.Status != api.NeedsYou || s.Prompt != asking.Prompt {
					t.Errorf("list: %+v", s)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if reply.Status != api.Done && reply.Status != api.Idle {
				t.Errorf("send: %+v", reply)
			}
			events.Await("the end of the turn", func(e api.Event) bool {
				return e.Link == asking.Target && (e.Status == api.Done || e.Status == api.Idle)
			})
			_, err = os.Stat(filepath.Join(d.Dir, "made"))
			if made := err == nil; made != tt.made {
				t.Errorf("file made: %v, want %v", made, tt.made)
			}
		})
	}
}

// A refusal ends the turn, which no hook tells: each of the other channels does alone.
func TestRefusalIsNoticed(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		switches []string
	}{
		{"by OSC 7501", []string{"titles=off", "transcript=off"}},
		{"by the title", []string{"program=off", "transcript=off"}},
		{"by the transcript", []string{"program=off", "titles=off"}},
		{"by the screen", []string{"program=off", "titles=off", "transcript=off"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := termtest.Start(t, termtest.WithDemo(tt.switches...))
			gate := d.Gate("go")
			link := d.Spawn("[[until " + gate.Path + "]][[touch made]]")
			events := d.WatchAll()
			screen := d.Screen(link)
			screen.AwaitText("esc to interrupt")
			if _, err := d.Client().Explain(d.Context(), link); err != nil { // it looks at the screen
				t.Fatal(err)
			}
			gate.Open()
			events.AwaitStatus(link, api.NeedsYou)
			reply, err := d.Client().SendWait(d.Context(), link, api.SendRequest{Text: "no"})
			if err != nil {
				t.Fatal(err)
			}
			if reply.Status != api.Idle || reply.TimedOut {
				t.Errorf("send: %+v", reply)
			}
		})
	}
}

// The question of an agent takes an option or a text of one's own.
func TestQuestionTakesText(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text, want string }{
		{"an option's number", "2", "Green"},
		{"an option's label", "green", "Green"},
		{"a text", "rather something in blue", "rather something in blue"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := termtest.Start(t, termtest.WithDemoLog())
			asking := spawnAsking(t, d, "[[ask Which colour?|Red|Green]]")
			if asking.Dialog.Kind != api.DialogQuestion || !strings.Contains(asking.Prompt, "Which colour?") ||
				!strings.Contains(asking.Prompt, "Red") || !strings.Contains(asking.Prompt, "Green") {
				t.Errorf("question: %q", asking.Prompt)
			}
			reply, err := d.Client().SendWait(d.Context(), asking.Target, api.SendRequest{Text: tt.text})
			if err != nil {
				t.Fatal(err)
			}
			if reply.Status != api.Done {
				t.Errorf("send: %+v", reply)
			}
			screen := d.Screen(asking.Target)
			screen.AwaitText(tt.want)
		})
	}
}

// A prompt is not typed into the dialogs of an agent's first start, and arrives when
// they have been answered.
func TestFirstStartDialogs(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t, termtest.WithDemoLog(), termtest.WithDemo("start=trust"))
	ctx := d.Context()
	asking := spawnAsking(t, d, "the work")
	if asking.Dialog == nil || asking.Dialog.Kind != api.DialogTrust {
		t.Fatalf("dialog: %+v", asking.Dialog)
	}
	events := d.WatchAll()
	if _, err := d.Client().Send(ctx, asking.Target, api.SendRequest{Text: "more work"}); api.CodeOf(err) != api.NeedsAnswer {
		t.Errorf("send into the trust dialog: %v", err)
	}
	if _, err := d.Client().Send(ctx, asking.Target, api.SendRequest{Text: "yes"}); err != nil {
		t.Fatal(err)
	}
	events.AwaitStatus(asking.Target, api.Done)
	if got := d.Submitted(); len(got) != 1 || got[0] != "the work" {
		t.Errorf("submitted %q", got)
	}
}

// An agent that says that it has gone on may still show its dialog for a moment: Claude
// Code does after a refusal. A text that comes then is no answer and is not refused; it
// is typed when the dialog has left the screen.
func TestTextBehindADialogThatIsAboutToGo(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t)
	d.WriteFile(filepath.Join(d.Paths.AgentsDir, "slow.json"), 0o600, `{
	"id": "slow", "name": "Slow", "command": "`+filepath.Join(d.Dir, "slow")+`",
	"programStatus": true, "ready": {"program": "idle"}, "composer": {"prompt": "^> ?(?P<draft>.*)$"},
	"dialogs": [{"name": "permission", "kind": "permission", "title": ["^Run it\\?$"], "footer": ["^Esc to cancel$"]}]
}`)
	d.WriteFile(filepath.Join(d.Dir, "slow"), 0o700, `#!/bin/sh
state() { printf '\033]7501;state=%s:app=slow\033\\' "$1"; }
clear() { printf '\033[2J\033[H> '; }
clear; state idle
read -r first
state working
printf '\033[2J\033[HRun it?\n❯ 1. Yes\n  2. No\nEsc to cancel\n'
state blocked:kind=permission
read -r key
state idle
sleep 0.3
clear
read -r second
state working
echo "$second" >second
clear; state done
read -r end
`)
	events := d.WatchAll()
	link := d.SpawnAgent("slow", "x")
	events.AwaitStatus(link, api.NeedsYou)
	if _, err := d.Client().Send(d.Context(), link, api.SendRequest{Keys: []string{"enter"}}); err != nil {
		t.Fatal(err)
	}
	events.AwaitStatus(link, api.Idle)
	if _, err := d.Client().SendWait(d.Context(), link, api.SendRequest{Text: "what now?"}); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(d.Dir, "second"))
	if err != nil || string(got) != "what now?\n" {
		t.Errorf("the agent took %q, %v", got, err)
	}
}

// A dialog that did not hear the keys of an answer gets them again; one that never does is
// an error with the question.
func TestAnswerIsTriedAgain(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, deaf string
		taken      bool
	}{
		{"deaf at first", "deaf=1500ms", true},
		{"deaf for good", "deaf=1h", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := termtest.Start(t, termtest.WithDemoLog(), termtest.WithDemo(tt.deaf))
			asking := spawnAsking(t, d, "[[touch made]]")
			r, err := d.Client().Send(d.Context(), asking.Target, api.SendRequest{Text: "yes"})
			if tt.taken {
				if err != nil || r.Delivery != api.Submitted {
					t.Errorf("answer: %+v, %v", r, err)
				}
			} else if api.CodeOf(err) != api.PromptStalled || !strings.Contains(err.Error(), asking.Dialog.Question) {
				t.Errorf("answer: %+v, %v", r, err)
			}
			if n := len(d.DemoEvents("deaf")); n == 0 {
				t.Error("the dialog heard the first key: nothing was tried")
			}
			if n := len(d.DemoEvents("answer")); n > 1 || (n == 1) != tt.taken {
				t.Errorf("the dialog got %d answers", n)
			}
		})
	}
}

// The dialog that opens when a text is in the composer already does not get its Return.
func TestDialogBetweenTextAndReturn(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t, termtest.WithDemoLog())
	withManifest(t, d, `"submit": 30`, `"submit": 3000`)
	ctx := d.Context()
	gate := d.Gate("gate")
	events := d.WatchAll()
	link := startAgent(t, d, events, "demo2", "[[until "+gate.Path+"]] [[touch made]]")
	screen := d.Screen(link)
	sent := make(chan error, 1)
	go func() {
		_, err := d.Client().Send(ctx, link, api.SendRequest{Text: "please also add tests"})
		sent <- err
	}()
	screen.AwaitText("❯ please also add tests")
	gate.Open()
	if err := <-sent; api.CodeOf(err) != api.NeedsAnswer || !strings.Contains(err.Error(), "typed but not submitted") {
		t.Errorf("send: %v", err)
	}
	if n := len(d.DemoEvents("answer")); n != 0 {
		t.Errorf("the dialog got %d answers", n)
	}
	if _, err := d.Client().Send(ctx, link, api.SendRequest{Text: "no"}); err != nil {
		t.Error(err)
	}
	screen.AwaitText("❯ please also add tests") // nothing is lost
}

// The dialog of a first start that opens over the composer keeps the prompt back, and does
// not get it; the prompt goes in once when it has been answered.
func TestFirstStartDialogOverTheComposer(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t, termtest.WithDemoLog(), termtest.WithDemo("start=trust", "start-delay=1500ms"))
	withManifest(t, d, `"submit": 30`, `"submit": 4000`)
	events := d.WatchAll()
	r, err := d.Client().Spawn(d.Context(), api.SpawnRequest{Agent: "demo2", Prompt: "the work"})
	if err != nil {
		t.Fatal(err)
	}
	d.Screen(r.Target).AwaitText("Do you trust the files") // with the prompt behind it
	events.AwaitStatus(r.Target, api.NeedsYou)
	if _, err := d.Client().SendWait(d.Context(), r.Target, api.SendRequest{Text: "yes"}); err != nil && api.CodeOf(err) != api.PromptStalled {
		t.Error(err)
	}
	events.AwaitStatus(r.Target, api.Done)
	if got := d.Submitted(); len(got) != 1 || got[0] != "the work" {
		t.Errorf("submitted %q", got)
	}
}
