package host_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"termio/internal/api"
	"termio/internal/client"
	"termio/internal/termtest"
)

// own is what the manifest of a person's own agent has beside its channels: the demo
// agent under another name, with its files elsewhere.
const own = `
	"id": "mine", "name": "Mine", "command": "%s",
	"config": {"dir": "~/.mine", "env": "MINE_HOME"},
	"ready": {"composer": true},
	"input": {"submit": 30, "dialogDeaf": 1, "busy": "queue"},
	"composer": {"prompt": "^❯(?: (?P<draft>.*))?$", "more": "^(?:  (?P<draft>.*))?$", "above": "^─{4,}$", "below": "^─{4,}$"}`

// The channels of the demo agent, each as a part of a manifest.
var (
	hooksPart = `"hooks": {"type": "builtin", "conversation": "session_id", "tool": "tool_name", "promptTitle": "prompt", "events": [
		{"on": "UserPromptSubmit", "state": "working"}, {"on": "PreToolUse", "state": "working"},
		{"on": "PermissionRequest", "state": "attention"}, {"on": "PostToolUse", "state": "working"}, {"on": "Stop", "state": "done"}]}`
	programPart  = `"programStatus": true`
	filePart     = `"statusFile": {"path": "~/.mine/{pid}.json", "state": "status", "values": {"busy": "working", "waiting": "attention", "idle": "idle"}, "pid": "pid", "conversation": "sessionId", "updated": "statusUpdatedAt"}`
	titlePart    = `"titleStatus": {"working": ["^[◐◑] "], "attention": ["^\\[!\\] "]}`
	progressPart = `"progressStatus": true`
	screenPart   = `"status": {"working": ["esc to interrupt"], "attention": [" Do you want to (run|let) "]}`
	dialogsPart  = `"dialogs": [{"name": "permission", "kind": "permission", "top": "^─{4,}$", "question": ["^ Do you want to (run|let) "],
		"body": "^╌{4,}$", "footer": ["^ Esc to cancel"], "wrap": true, "cursor": true}]`
	promptHookPart = `"hooks": {"type": "builtin", "conversation": "session_id", "capturesTranscript": true, "events": [{"on": "UserPromptSubmit", "state": "working"}]}`
	transcriptPart = `"transcript": {"time": "timestamp", "rules": [
		{"name": "end of turn", "state": "done", "where": {"type": "^assistant$", "message.stop_reason": "^end_turn$"}}]}`
	resumePart = `"resume": {"create": "--session-id {id}", "resume": "--resume {id}", "storeRoot": "~/.mine", "storeMatch": "file:{id}.jsonl",
		"history": {"folder": "cwd", "prompt": [{"where": {"origin.kind": "^human$"}, "text": "message.content"}]}}`
)

// ownAgent puts a manifest of the parts into a daemon's folder, and the program beside it.
func ownAgent(t *testing.T, d *termtest.Daemon, parts ...string) {
	t.Helper()
	program := filepath.Join(filepath.Dir(d.Dir), "mine")
	d.WriteFile(program, 0o700, "#!/bin/sh\nmkdir -p \"$HOME/.mine\"\nexec "+d.Paths.StableExe+
		" demo-agent --home=\"$HOME/.mine\" --status-file=\"$HOME/.mine/{pid}.json\" \"$@\"\n")
	m := map[string]json.RawMessage{}
	for _, part := range append([]string{fmt.Sprintf(own, program)}, parts...) {
		fields := map[string]json.RawMessage{}
		if err := json.Unmarshal([]byte("{"+part+"}"), &fields); err != nil {
			t.Fatalf("%s: %v", part, err)
		}
		maps.Copy(m, fields)
	}
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	d.WriteFile(filepath.Join(d.Paths.AgentsDir, "mine.json"), 0o600, string(text))
}

// A new agent needs no Go: whatever it tells of itself, a manifest is enough, and each
// channel is enough by itself.
func TestOwnAgentByEachChannel(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		parts    []string
		switches []string // of the demo agent, which tells nothing but what is tried
		asks     bool     // the channel tells that a dialog is open
	}{
		{"hooks", []string{hooksPart}, []string{"hooks=on"}, true},
		{"program status", []string{programPart}, []string{"program=on"}, true},
		{"status file", []string{filePart}, nil, true},
		{"titles", []string{titlePart}, []string{"titles=on"}, true},
		{"progress", []string{progressPart}, []string{"progress=on"}, false},
		{"screen", []string{screenPart}, nil, true},
		{"dialogs and transcript", []string{promptHookPart, transcriptPart, dialogsPart}, []string{"hooks=on"}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			switches := append([]string{"hooks=off", "program=off", "titles=off", "deaf=0ms"}, tt.switches...)
			d := termtest.Start(t, termtest.WithDemo(switches...))
			ownAgent(t, d, tt.parts...)
			events := d.WatchAll()
			link := d.SpawnAgent("mine", "[[work 300ms]][[tool Bash: make test]][[work 300ms]][[say finished]]")
			events.AwaitStatus(link, api.Working)
			if tt.asks {
				events.AwaitStatus(link, api.NeedsYou)
			}
			d.Screen(link).AwaitText("Do you want to run")
			if _, err := d.Client().Send(d.Context(), link, api.SendRequest{Keys: []string{"1"}}); err != nil {
				t.Fatal(err)
			}
			events.AwaitStatus(link, api.Done)
			d.Screen(link).AwaitText("finished")
			if got := sessionOf(t, d, link); got.Agent != "Mine" || got.Status != api.Done {
				t.Errorf("session: %+v", got)
			}
		})
	}
}

// And with all of them together its conversations are resumed, listed and taken up.
func TestOwnAgentWithEverything(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t, termtest.WithDemo("deaf=0ms"))
	ctx := d.Context()
	ownAgent(t, d, hooksPart, programPart, filePart, titlePart, progressPart, dialogsPart, transcriptPart, resumePart)
	agents, err := d.Client().Agents(ctx)
	if err != nil || len(agents.Problems) > 0 {
		t.Fatalf("agents: %+v, %v", agents.Problems, err)
	}
	r, err := d.Client().SpawnWait(ctx, api.SpawnRequest{Agent: "Mine", Prompt: "[[tool Bash: make test]][[say remember 42]]"})
	if err != nil || r.Status != api.NeedsYou {
		t.Fatalf("spawn: %+v, %v", r, err)
	}
	link := r.Target
	if r, err = d.Client().SendWait(ctx, link, api.SendRequest{Text: "Yes"}); err != nil {
		t.Fatal(err)
	}
	checkReply(t, r, "remember 42")
	explain, err := d.Client().Explain(ctx, link)
	if err != nil {
		t.Fatal(err)
	}
	var heard []string
	for _, e := range explain.Evidence {
		heard = append(heard, e.Channel)
	}
	for _, channel := range []string{"hook", "program", "file", "title", "transcript"} {
		if !slices.Contains(heard, channel) {
			t.Errorf("the channel %s was not heard; were: %q", channel, heard)
		}
	}
	was := sessionOf(t, d, link)
	d.Close(link)
	if resumed, err := d.Client().Resume(ctx, link); err != nil || !resumed.Resumed {
		t.Fatalf("resume: %+v, %v", resumed, err)
	}
	if r, err = d.Client().SendWait(ctx, link, api.SendRequest{Text: "[[say again]]"}); err != nil || r.Transcript != was.Transcript {
		t.Fatalf("after the resume: %+v, %v; the transcript was %s", r, err, was.Transcript)
	}
	d.Close(link)
	list, err := d.Client().History(ctx, client.HistoryOptions{Agent: "mine"})
	if err != nil || len(list.Conversations) != 1 || list.Conversations[0].ID != was.Conversation || list.Conversations[0].Session != link {
		t.Fatalf("history: %+v, %v", list, err)
	}
	adopted, err := d.Client().SpawnWait(ctx, api.SpawnRequest{Resume: was.Conversation, Prompt: "[[say taken up]]"})
	if err != nil {
		t.Fatal(err)
	}
	checkReply(t, adopted, "taken up")
	data, err := os.ReadFile(was.Transcript)
	if err != nil {
		t.Fatal(err)
	}
	for _, said := range []string{"remember 42", "again", "taken up"} {
		if !strings.Contains(string(data), said) {
			t.Errorf("%q is not in the one transcript", said)
		}
	}
}

// An update that changes an agent's marks takes one channel away and no more: the others
// tell, and what is not understood is shown.
func TestMarksThatNobodyKnows(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t, termtest.WithDemo("titles=new", "hooks=off"))
	r, err := d.Client().SpawnWait(d.Context(), api.SpawnRequest{Agent: "demo", Prompt: "[[say all the same]]"})
	if err != nil || r.Status != api.Done {
		t.Fatalf("spawn: %+v, %v", r, err)
	}
	explain, err := d.Client().Explain(d.Context(), r.Target)
	if err != nil {
		t.Fatal(err)
	}
	titles := 0
	for _, e := range explain.Evidence {
		if e.Channel == "title" {
			titles++
			if e.Status != "" || e.Won || !strings.Contains(e.Text, "◇") {
				t.Errorf("title: %+v", e)
			}
		}
	}
	if titles != 1 {
		t.Errorf("evidence: %+v", explain.Evidence)
	}
}

// What lies in a project is nobody's manifest, wherever in it: a repository brings no
// program to start.
func TestProjectBringsNoAgents(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t)
	const manifest = `{"id": "foreign", "name": "Foreign", "command": "foreign"}`
	for _, dir := range []string{"", ".termio", ".termio/agents", ".termio/config/agents", "config/agents", "agents"} {
		path := filepath.Join(d.Dir, dir)
		if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
		d.WriteFile(filepath.Join(path, "foreign.json"), 0o600, manifest)
	}
	if _, err := d.Client().Spawn(d.Context(), api.SpawnRequest{Agent: "foreign", Prompt: "hello"}); api.CodeOf(err) != api.BadAgent {
		t.Errorf("spawn: %v", err)
	}
}

// A conversation whose folder is gone is named with the folder, and started nowhere else.
func TestResumeInAFolderThatIsGone(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t)
	dir := filepath.Join(d.Dir, "gone")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	r, err := d.Client().SpawnWait(d.Context(), api.SpawnRequest{Agent: "demo", Prompt: "[[say hi]]", Cwd: dir})
	if err != nil {
		t.Fatal(err)
	}
	was := sessionOf(t, d, r.Target)
	d.Close(r.Target)
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	for name, start := range map[string]func() error{
		"resume": func() error { _, err := d.Client().Resume(d.Context(), r.Target); return err },
		"spawn": func() error {
			_, err := d.Client().Spawn(d.Context(), api.SpawnRequest{Resume: was.Conversation})
			return err
		},
	} {
		if err := start(); api.CodeOf(err) != api.StartFailed || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v; want %s named", name, err, dir)
		}
	}
	list, err := d.Client().List(d.Context(), listAll)
	if err != nil || len(list.Sessions) != 0 {
		t.Errorf("sessions: %+v, %v", list.Sessions, err)
	}
}
