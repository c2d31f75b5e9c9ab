package host_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"termio/internal/api"
	"termio/internal/termtest"
)

// withOwn installs an agent that chooses the id of its conversation itself and has no
// hooks. It makes the conversation's record at its first prompt and, if it holds it,
// has it open from then on.
func withOwn(t *testing.T, d *termtest.Daemon, held bool) {
	t.Helper()
	script := filepath.Join(d.Dir, "own")
	letGo := "exec 9>&-"
	if held {
		letGo = ":"
	}
	d.WriteFile(script, 0o700, `#!/bin/sh
state() { printf '\033]7501;state=%s:app=own\033\\' "$1"; }
mkdir -p "$HOME/own"
id=$$-own
[ "$1" != resume ] || id=$2
record=$HOME/own/$id.jsonl
state idle
while read -r line; do
	state working
	[ ! -p gate ] || read -r go <gate
	exec 9>>"$record"
	[ -s "$record" ] || echo '{"p":{"id":"'$id'","cwd":"'$PWD'","created":"'$(date -u +%FT%TZ)'"}}' >&9
	echo '{"said":"'$line'"}' >&9
	`+letGo+`
	state done
done
`)
	d.WriteFile(filepath.Join(d.Paths.AgentsDir, "own.json"), 0o600, fmt.Sprintf(`{
	"id": "own", "name": "Own", "command": "%s", "programStatus": true, "ready": {"program": "idle"},
	"resume": {"resume": "resume {id}", "discover": {
		"root": "~/own", "format": "jsonl", "id": "p.id", "cwd": "p.cwd", "created": "p.created", "held": %v}}
}`, script, held))
}

// recorded is what a session's record says, the first line apart.
func recorded(t *testing.T, s api.SessionInfo) string {
	t.Helper()
	if s.Conversation == "" || filepath.Base(s.Transcript) != s.Conversation+".jsonl" {
		t.Fatalf("bound to %q with the transcript %q", s.Conversation, s.Transcript)
	}
	data, err := os.ReadFile(s.Transcript)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(data), "\n")
	return rest
}

func sessionOf(t *testing.T, d *termtest.Daemon, link string) api.SessionInfo {
	t.Helper()
	list, err := d.Client().List(d.Context(), listAll)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list.Sessions {
		if s.Link == link {
			return s
		}
	}
	t.Fatalf("%s is not in the list", link)
	return api.SessionInfo{}
}

// spawnTogether starts two sessions, of which neither makes a record before both are at
// work, and has them do so one after the other, telling whose turn has ended.
func spawnTogether(t *testing.T, d *termtest.Daemon, ended func(link string)) (links []string) {
	t.Helper()
	gate := filepath.Join(d.Dir, "gate")
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	pipe, err := os.OpenFile(gate, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	events := d.WatchAll()
	for i := range 2 {
		r, err := d.Client().Spawn(d.Context(), api.SpawnRequest{Agent: "own", Prompt: fmt.Sprint("prompt ", i)})
		if err != nil {
			t.Fatal(err)
		}
		links = append(links, r.Target)
	}
	working := 0
	events.Await("both at work", func(e api.Event) bool {
		if e.Status == api.Working {
			working++
		}
		return working == len(links)
	})
	for range links {
		if _, err := pipe.WriteString("go\n"); err != nil {
			t.Fatal(err)
		}
		ended(events.Await("the end of a turn", func(e api.Event) bool { return e.Status == api.Done }).Link)
	}
	if err := os.Remove(gate); err != nil {
		t.Fatal(err)
	}
	return links
}

// Two sessions of an agent that chooses its ids, in one folder and at once: the record
// that each has open tells which one is its own, and it is resumed by that.
func TestDiscoverByTheOpenRecord(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t)
	withOwn(t, d, true)
	ctx := d.Context()
	links := spawnTogether(t, d, func(string) {})
	for i, link := range links {
		if got, want := recorded(t, sessionOf(t, d, link)), fmt.Sprintf("{\"said\":\"prompt %d\"}\n", i); got != want {
			t.Errorf("session %d has the record of %q, want %q", i, got, want)
		}
	}
	was := sessionOf(t, d, links[1])
	d.Close(links[1])
	resumed, err := d.Client().Resume(ctx, links[1])
	if err != nil {
		t.Fatal(err)
	}
	if !resumed.Resumed || resumed.Fresh {
		t.Errorf("resumed as %+v", resumed)
	}
	if _, err := d.Client().SendWait(ctx, links[1], api.SendRequest{Text: "again"}); err != nil {
		t.Fatal(err)
	}
	now := sessionOf(t, d, links[1])
	if got := recorded(t, now); now.Conversation != was.Conversation || !strings.HasSuffix(got, "{\"said\":\"again\"}\n") {
		t.Errorf("the record of %q, was that of %q: %q", now.Conversation, was.Conversation, got)
	}
}

// Where nothing but folder and time can tell, a session is bound while it is the only
// one that a record can belong to, and not otherwise.
func TestDiscoverOnlyWhatCanBeNobodyElses(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t)
	withOwn(t, d, false)
	ctx := d.Context()
	alone, err := d.Client().SpawnWait(ctx, api.SpawnRequest{Agent: "own", Prompt: "alone"})
	if err != nil {
		t.Fatal(err)
	}
	if got := recorded(t, sessionOf(t, d, alone.Target)); got != "{\"said\":\"alone\"}\n" {
		t.Errorf("the record of %q", got)
	}
	unbound := func(link string) {
		if s := sessionOf(t, d, link); s.Conversation != "" {
			t.Errorf("bound to %s, which may be the other's", s.Conversation)
		}
	}
	for _, link := range spawnTogether(t, d, unbound) {
		unbound(link)
	}
}
