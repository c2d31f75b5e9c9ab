package host_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"termio/internal/api"
	"termio/internal/termtest"
)

// Reports that are late, doubled, out of order, or of another conversation do not
// mislead: the turn ends once, as done, and the conversation stays.
func TestReportsDoNotMislead(t *testing.T) {
	t.Parallel()
	for _, hooks := range []string{"on", "doubled", "swapped", "child", "chatty", "late", "off"} {
		t.Run(hooks, func(t *testing.T) {
			t.Parallel()
			d := termtest.Start(t, termtest.WithDemo("hooks="+hooks))
			ctx := d.Context()
			events := d.WatchAll()
			r, err := d.Client().SpawnWait(ctx, api.SpawnRequest{Agent: "demo", Prompt: "[[tool 200ms read: a.go]][[say the reply]]"})
			if err != nil {
				t.Fatal(err)
			}
			checkReply(t, r, "the reply")
			conversation := onlySession(t, d).Conversation
			second, err := d.Client().SendWait(ctx, r.Target, api.SendRequest{Text: "[[say another]]"})
			if err != nil {
				t.Fatal(err)
			}
			checkReply(t, second, "another")
			if now := onlySession(t, d).Conversation; now != conversation || now == "" {
				t.Errorf("conversation %q, was %q", now, conversation)
			}
			d.Close(r.Target)
			done := 0
			events.Await("the end", func(e api.Event) bool {
				if e.Status == api.Done {
					done++
				}
				return e.Status == api.Closed
			})
			if done != 2 {
				t.Errorf("%d turns were told as done, want 2", done)
			}
		})
	}
}

func onlySession(t *testing.T, d *termtest.Daemon) api.SessionInfo {
	t.Helper()
	list, err := d.Client().List(d.Context(), listAll)
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Sessions) != 1 {
		t.Fatalf("%d sessions", len(list.Sessions))
	}
	return list.Sessions[0]
}

// An agent that runs inside another agent's session changes nothing of that one: its
// reports carry the session's variable and come from another agent's process.
func TestAgentInsideAnAgent(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t)
	script := filepath.Join(d.Dir, "outer")
	inner, on, ended := filepath.Join(d.Dir, "inner"), filepath.Join(d.Dir, "on"), filepath.Join(d.Dir, "ended")
	for _, fifo := range []string{inner, on, ended} {
		if err := syscall.Mkfifo(fifo, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d.WriteFile(script, 0o700, `#!/bin/sh
report() { echo '{"session_id":"outer-1","prompt":"outer prompt"}' | "$TERMIO_HOME/bin/termio" agent report "$1" --event "$2"; }
report idle SessionStart
report working UserPromptSubmit
"$TERMIO_HOME/bin/termio" demo-agent -- '[[say inner]][[exit 0]]'
echo over >inner
read x <on
report done Stop
echo over >ended
cat
`)
	d.WriteFile(filepath.Join(d.Paths.AgentsDir, "outer.json"), 0o600, `{
	"id": "outer", "name": "Outer", "command": "`+script+`",
	"hooks": {"type": "builtin", "conversation": "session_id", "promptTitle": "prompt", "events": [
		{"on": "SessionStart", "state": "idle"},
		{"on": "UserPromptSubmit", "state": "working", "prompt": true},
		{"on": "Stop", "state": "done"}]}
}`)
	events := d.WatchAll()
	if _, err := d.Client().Spawn(d.Context(), api.SpawnRequest{Agent: "outer", Prompt: "go"}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.ReadFile(inner); err != nil { // until the inner one has come, worked and gone
		t.Fatal(err)
	}
	if now := onlySession(t, d); now.Conversation != "outer-1" || now.Agent != "Outer" || now.Status != api.Working || now.Transcript != "" {
		t.Errorf("with the inner agent gone: %+v", now)
	}
	if err := os.WriteFile(on, []byte("\n"), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := os.ReadFile(ended); err != nil { // until the outer one's turn has ended
		t.Fatal(err)
	}
	done := events.Await("the end of the turn", func(e api.Event) bool { return e.Status == api.Done })
	now := onlySession(t, d)
	if now.Conversation != "outer-1" || now.Agent != "Outer" || done.Agent != "Outer" {
		t.Errorf("session: %+v", now)
	}
	explained, err := d.Client().Explain(d.Context(), now.Link)
	if err != nil {
		t.Fatal(err)
	}
	if explained.Conversation != "outer-1" {
		t.Errorf("explain: %+v", explained)
	}
}

// A new conversation of the session's own agent is the session's from its next event on.
func TestClearBindsTheNewConversation(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t)
	ctx := d.Context()
	first, err := d.Client().SpawnWait(ctx, api.SpawnRequest{Agent: "demo", Prompt: "hello"})
	if err != nil {
		t.Fatal(err)
	}
	was := onlySession(t, d)
	if _, err := d.Client().SendWait(ctx, first.Target, api.SendRequest{Text: "[[clear]]"}); err != nil {
		t.Fatal(err)
	}
	next, err := d.Client().SendWait(ctx, first.Target, api.SendRequest{Text: "[[say in the new one]]"})
	if err != nil {
		t.Fatal(err)
	}
	checkReply(t, next, "in the new one")
	now := onlySession(t, d)
	if now.Conversation == was.Conversation || now.Conversation == "" || now.Transcript == was.Transcript {
		t.Errorf("session\n%+v\nwas\n%+v", now, was)
	}
}

// An agent that is started by hand in a session's shell makes the session its own
// under the same link, and gives it back at its end.
func TestStartedByHand(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t)
	ctx := d.Context()
	events := d.WatchAll()
	link := d.Run("cd .")
	exe, err := filepath.Rel(d.Dir, d.Paths.StableExe)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(d.Dir, exe)); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Client().Send(ctx, link, api.SendRequest{Text: exe + " demo-agent"}); err != nil {
		t.Fatal(err)
	}
	events.Await("the promotion", func(e api.Event) bool { return e.Link == link && e.Agent == "Demo" })
	screen := d.Screen(link)
	screen.AwaitText("/help for help")
	r, err := d.Client().SendWait(ctx, link, api.SendRequest{Text: "[[say promoted]]"})
	if err != nil {
		t.Fatal(err)
	}
	checkReply(t, r, "promoted")
	if _, err := d.Client().SendWait(ctx, link, api.SendRequest{Text: "[[exit 0]]"}); api.CodeOf(err) != api.AgentGone {
		t.Errorf("wait for an agent that exits: %v", err)
	}
	events.Await("the demotion", func(e api.Event) bool { return e.Link == link && e.Agent == "Terminal" })
	if _, err := d.Client().SendWait(ctx, link, api.SendRequest{Text: "echo shell again"}); err != nil {
		t.Fatal(err)
	}
	screen.AwaitText("shell again")
}

// A copy of the shell that is in front may come to execute an agent at any time. No hook
// tells of this one.
func TestStartedFromBrackets(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t, termtest.WithDemo("hooks=off"))
	gate := d.Gate("gate")
	events := d.WatchAll()
	exe, err := filepath.Rel(d.Dir, d.Paths.StableExe)
	if err != nil {
		t.Fatal(err)
	}
	link := d.Run("(read x <gate; exec " + exe + " demo-agent)")
	events.AwaitStatus(link, api.Working)
	gate.Open()
	events.Await("the promotion", func(e api.Event) bool { return e.Link == link && e.Agent == "Demo" })
}
