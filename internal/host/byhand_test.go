package host_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"termio/internal/api"
	"termio/internal/client"
	"termio/internal/termtest"
)

// shells are the login shells that are here.
func shells() (found []string) {
	for _, name := range []string{"sh", "bash", "zsh"} {
		if path, err := exec.LookPath(name); err == nil {
			found = append(found, path)
		}
	}
	return found
}

// An agent that is started by hand makes the session its own in whatever way it is
// started, and gives it back at its end. No hook tells of it.
func TestStartedByHandInAnyWay(t *testing.T) {
	t.Parallel()
	for _, shell := range shells() {
		t.Run(filepath.Base(shell), func(t *testing.T) {
			t.Parallel()
			d := termtest.Start(t, termtest.WithDemo("hooks=off"), termtest.WithEnv("SHELL="+shell, "ZDOTDIR=/nonexistent"))
			agent := d.Paths.StableExe + " demo-agent"
			d.WriteFile(filepath.Join(d.Dir, "script"), 0o700, "#!/bin/sh\n"+agent+"\necho after it\n")
			d.WriteFile(filepath.Join(d.Dir, "launcher"), 0o700, "#!/bin/sh\n# as a package manager's\nsh -c '"+agent+"; exit $?'\n")
			begin, end := d.Gate("begin"), d.Gate("end")
			d.WriteFile(filepath.Join(d.Dir, "slow"), 0o700, "#!/bin/sh\nread x <begin\n"+agent+"\nread x <end\n")
			events := d.WatchAll()
			link := d.Run("cd .")
			screen := d.Screen(link)
			for i, way := range []string{
				agent,
				"env A=1 " + agent,
				"./script",
				"./launcher",
				"sh ./script",
				"(cd /; " + agent + ")",
				"./slow",
			} {
				if _, err := d.Client().Send(d.Context(), link, api.SendRequest{Text: way}); err != nil {
					t.Fatalf("%s: %v", way, err)
				}
				if way == "./slow" { // it comes when nothing in front has changed for long
					begin.Open()
				}
				events.Await("the promotion of "+way, func(e api.Event) bool { return e.Link == link && e.Agent == "Demo" })
				word := fmt.Sprintf("way %d", i)
				r, err := d.Client().SendWait(d.Context(), link, api.SendRequest{Text: "[[say " + word + "]]"})
				if err != nil || r.Status != api.Done {
					t.Fatalf("%s: %+v, %v", way, r, err)
				}
				screen.AwaitText(word)
				if _, err := d.Client().SendWait(d.Context(), link, api.SendRequest{Text: "[[exit 0]]"}); api.CodeOf(err) != api.AgentGone {
					t.Fatalf("%s: the wait for an agent that exits: %v", way, err)
				}
				events.Await("the demotion after "+way, func(e api.Event) bool { return e.Link == link && e.Agent == "Terminal" })
				if way == "./slow" { // what started it goes on
					end.Open()
				}
			}
		})
	}
}

// An agent that is suspended gives the keyboard to the shell; brought back, it goes on with
// the conversation that it had. One that is part of a pipe is found there.
func TestSuspendedByHand(t *testing.T) {
	t.Parallel()
	for _, shell := range shells() {
		t.Run(filepath.Base(shell), func(t *testing.T) {
			t.Parallel()
			d := termtest.Start(t, termtest.WithEnv("SHELL="+shell, "ZDOTDIR=/nonexistent"))
			ctx := d.Context()
			withOwn(t, d, true)
			events := d.WatchAll()
			link := d.Run("cd .")
			become := func(name string) {
				t.Helper()
				events.Await("the session is "+name, func(e api.Event) bool { return e.Link == link && e.Agent == name })
			}
			send := func(r api.SendRequest) {
				t.Helper()
				if _, err := d.Client().Send(ctx, link, r); err != nil {
					t.Fatal(err)
				}
			}
			send(api.SendRequest{Text: "./own"})
			become("Own")
			if _, err := d.Client().SendWait(ctx, link, api.SendRequest{Text: "hello"}); err != nil {
				t.Fatal(err)
			}
			was := sessionOf(t, d, link)
			send(api.SendRequest{Keys: []string{"ctrl-z"}})
			become("Terminal")
			if _, err := d.Client().SendWait(ctx, link, api.SendRequest{Text: "echo in the shell"}); err != nil {
				t.Fatal(err)
			}
			d.Screen(link).AwaitText("in the shell")
			send(api.SendRequest{Text: "fg"})
			become("Own")
			if now := sessionOf(t, d, link); now.Conversation != was.Conversation || now.Transcript != was.Transcript {
				t.Errorf("brought back with %q, had %q", now.Conversation, was.Conversation)
			}
			if _, err := d.Client().SendWait(ctx, link, api.SendRequest{Text: "again"}); err != nil {
				t.Fatal(err)
			}
			if got := recorded(t, sessionOf(t, d, link)); !strings.HasSuffix(got, "{\"said\":\"hello\"}\n{\"said\":\"again\"}\n") {
				t.Errorf("the record holds %q", got)
			}
			send(api.SendRequest{Keys: []string{"ctrl-c"}})
			become("Terminal")

			d.WriteFile(filepath.Join(d.Dir, "tty"), 0o700, "#!/bin/sh\nexec ./own </dev/tty\n")
			d.Gate("never") // what leads the pipe waits for it
			send(api.SendRequest{Text: "cat never | ./tty | cat"})
			become("Own")
			send(api.SendRequest{Keys: []string{"ctrl-c"}})
			become("Terminal")
		})
	}
}

// A server that agents share has the variable of the session that started it and none of
// its terminal: what its hooks report is no agent of that session.
func TestSharedServerIsNoAgentOfTheSession(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("no setsid here")
	}
	d := termtest.Start(t)
	server := filepath.Join(d.Dir, "hub")
	done := d.Gate("done")
	d.WriteFile(server, 0o700, `#!/bin/sh
echo '{"id":"other"}' | `+d.Paths.StableExe+` agent report working --event Prompt --conversation-from id
echo "it has" reported
read x <done
`)
	d.WriteFile(filepath.Join(d.Paths.AgentsDir, "hub.json"), 0o600, fmt.Sprintf(`{
	"id": "hub", "name": "Hub", "command": "%s --local",
	"hooks": {"type": "builtin", "conversation": "id", "events": [{"on": "Prompt", "state": "working"}]}, "resume": {"resume": "-r {id}"}
}`, server))
	link := d.Run("setsid ./hub &")
	d.Screen(link).AwaitText("it has reported")
	defer done.Open()
	if got := sessionOf(t, d, link); got.Agent != "Terminal" || got.Conversation != "" {
		t.Errorf("the session became %s with the conversation %q", got.Agent, got.Conversation)
	}
}

// What a person tells an agent that is started by hand about where to keep its files is
// remembered: over a restart of the host, for the search and for the launch.
func TestMovedFilesAreRemembered(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t)
	ctx := d.Context()
	script := filepath.Join(d.Dir, "moved")
	d.WriteFile(script, 0o700, `#!/bin/sh
state() { printf '\033]7501;state=%s:app=moved\033\\' "$1"; }
store=${MOVED_HOME:-$HOME/moved}
mkdir -p "$store"
id=$$-moved
[ "$1" != resume ] || id=$2
echo "$1 in $store" >>started
state idle
while read -r line; do
	state working
	[ -s "$store/$id.jsonl" ] || echo '{"id":"'$id'","cwd":"'$PWD'"}' >"$store/$id.jsonl"
	state done
done
`)
	d.WriteFile(filepath.Join(d.Paths.AgentsDir, "moved.json"), 0o600, fmt.Sprintf(`{
	"id": "moved", "name": "Moved", "command": "%s", "programStatus": true, "ready": {"program": "idle"},
	"config": {"dir": "~/moved", "env": "MOVED_HOME"},
	"resume": {"resume": "resume {id}", "discover": {"root": "~/moved", "format": "jsonl", "id": "id", "cwd": "cwd"}}
}`, script))
	events := d.WatchAll()
	link := d.Run("cd .")
	store := filepath.Join(filepath.Dir(d.Dir), "else where")
	if _, err := d.Client().Send(ctx, link, api.SendRequest{Text: "MOVED_HOME='" + store + "' ./moved"}); err != nil {
		t.Fatal(err)
	}
	events.Await("the promotion", func(e api.Event) bool { return e.Link == link && e.Agent == "Moved" })
	if _, err := d.Client().SendWait(ctx, link, api.SendRequest{Text: "hello"}); err != nil {
		t.Fatal(err)
	}
	was := sessionOf(t, d, link)
	if was.Conversation == "" || filepath.Dir(was.Transcript) != store {
		t.Fatalf("bound to %q with the transcript %q, want one in %s", was.Conversation, was.Transcript, store)
	}
	d.KillHost()
	d.Close(link)
	r, err := d.Client().Resume(ctx, link)
	if err != nil || !r.Resumed {
		t.Fatalf("resume: %+v, %v", r, err)
	}
	if _, err := d.Client().SendWait(ctx, link, api.SendRequest{Text: "again"}); err != nil {
		t.Fatal(err)
	}
	if now := sessionOf(t, d, link); now.Conversation != was.Conversation || now.Transcript != was.Transcript {
		t.Errorf("resumed with %q in %s", now.Conversation, now.Transcript)
	}
	data, err := os.ReadFile(filepath.Join(d.Dir, "started"))
	if err != nil {
		t.Fatal(err)
	}
	if want := "resume in " + store + "\n"; !strings.HasSuffix(string(data), want) {
		t.Errorf("started:\n%swant at the end: %s", data, want)
	}
	d.Close(link)

	// History finds it there as well, and takes it up there.
	list, err := d.Client().History(ctx, client.HistoryOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(list.Conversations, func(c api.Conversation) bool { return c.ID == was.Conversation && c.Path == was.Transcript }) {
		t.Errorf("history: %+v", list.Conversations)
	}
	adopted, err := d.Client().SpawnWait(context.WithoutCancel(ctx), api.SpawnRequest{Resume: was.Conversation, Prompt: "once more"})
	if err != nil || adopted.Transcript != was.Transcript {
		t.Errorf("taken up: %+v, %v", adopted, err)
	}
}
