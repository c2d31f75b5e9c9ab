package host_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"termio/internal/api"
	"termio/internal/termtest"
)

// A session follows its agent through conversations as the agent changes them: a new one
// (/new, /clear), an older one taken up again inside of it, a fork. It is resumed with the
// one that it had last, and never with one that another session has.
func TestFollowsTheConversation(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t)
	ctx := d.Context()
	script := filepath.Join(d.Dir, "talker")
	d.WriteFile(script, 0o700, `#!/bin/sh
say() { printf '{"id":"%s"}' "$3" | `+d.Paths.StableExe+` agent report $1 --event $2 --conversation-from id; }
echo "started: $*" >>started
say idle Start
while read -r id; do
	say working Prompt $id
	say done Stop $id
done
`)
	d.WriteFile(filepath.Join(d.Paths.AgentsDir, "talker.json"), 0o600, fmt.Sprintf(`{
	"id": "talker", "name": "Talker", "command": "%s", "ready": {"hook": "Start"},
	"hooks": {"type": "builtin", "conversation": "id", "events": [
		{"on": "Start", "state": "idle"}, {"on": "Prompt", "state": "working", "prompt": true}, {"on": "Stop", "state": "done"}]},
	"resume": {"resume": "resume {id}"}
}`, script))
	say := func(link, id string) {
		t.Helper()
		if _, err := d.Client().SendWait(ctx, link, api.SendRequest{Text: id}); err != nil {
			t.Fatalf("%s: %v", id, err)
		}
	}
	first, err := d.Client().SpawnWait(ctx, api.SpawnRequest{Agent: "talker", Prompt: "first"})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"cleared", "first", "fork.1"} {
		say(first.Target, id)
		if got := sessionOf(t, d, first.Target).Conversation; got != id {
			t.Errorf("bound to %q, want %q", got, id)
		}
	}
	second, err := d.Client().SpawnWait(ctx, api.SpawnRequest{Agent: "talker", Prompt: "second"})
	if err != nil {
		t.Fatal(err)
	}
	// What its agent says of another session's conversation changes neither of them.
	if _, err := d.Client().Send(ctx, second.Target, api.SendRequest{Text: "fork.1"}); err != nil && api.CodeOf(err) != api.PromptStalled {
		t.Fatal(err)
	}
	say(second.Target, "second")
	for link, want := range map[string]string{first.Target: "fork.1", second.Target: "second"} {
		if got := sessionOf(t, d, link).Conversation; got != want {
			t.Errorf("%s is bound to %q, want %q", link, got, want)
		}
	}
	d.KillHost()
	d.Close(first.Target)
	if r, err := d.Client().Resume(ctx, first.Target); err != nil || !r.Resumed {
		t.Fatalf("resume: %+v, %v", r, err)
	}
	say(first.Target, "fork.1")
	// One that it had before and has left is free for another session.
	third, err := d.Client().Spawn(ctx, api.SpawnRequest{Resume: "cleared", Prompt: "cleared"})
	if err != nil {
		t.Fatal(err)
	}
	if got := sessionOf(t, d, third.Target); got.Conversation != "cleared" || got.AgentID != "talker" {
		t.Errorf("taken up: %q by %s", got.Conversation, got.AgentID)
	}
	data, err := os.ReadFile(filepath.Join(d.Dir, "started"))
	if err != nil {
		t.Fatal(err)
	}
	if want := "started: \nstarted: \nstarted: resume fork.1\nstarted: resume cleared\n"; string(data) != want && !strings.HasPrefix(want, string(data)) {
		t.Errorf("started:\n%swant:\n%s", data, want)
	}
}
