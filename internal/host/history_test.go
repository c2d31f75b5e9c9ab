package host_test

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"termio/internal/api"
	"termio/internal/client"
	"termio/internal/pty"
	"termio/internal/termtest"
)

// An agent that keeps its conversations in a database is bound by the row that it makes,
// listed with what it had before, and resumed and taken up by the ids in there.
func TestAgentWithADatabase(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t)
	ctx := d.Context()
	file := filepath.Join(filepath.Dir(d.Dir), "lite.db")
	db, err := sql.Open("sqlite3", "file:"+file+"?_pragma=journal_mode(WAL)") // the store's own driver
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	exec := func(query string, args ...any) {
		t.Helper()
		if _, err := db.ExecContext(ctx, query, args...); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
	}
	exec("CREATE TABLE talk (id TEXT, dir TEXT, up TEXT, name TEXT, born INTEGER, said INTEGER)")
	add := func(id, up string, at time.Time) {
		exec("INSERT INTO talk VALUES (?, ?, NULLIF(?, ''), ?, ?, ?)", id, d.Dir, up, "about "+id, at.UnixMilli(), at.UnixMilli())
	}
	add("old-1", "", time.Now().Add(-time.Hour))
	gate := d.Gate("gate")
	script := filepath.Join(d.Dir, "lite")
	d.WriteFile(script, 0o700, `#!/bin/sh
state() { printf '\033]7501;state=%s:app=lite\033\\' "$1"; }
echo "started: $*" >>started
state idle
while read -r line; do
	state working
	read -r go <gate
	state done
done
`)
	d.WriteFile(filepath.Join(d.Paths.AgentsDir, "lite.json"), 0o600, fmt.Sprintf(`{
	"id": "lite", "name": "Lite", "command": "%s", "programStatus": true, "ready": {"program": "idle"},
	"resume": {"resume": "resume {id}", "discover": {
		"root": "%s", "format": "sqlite", "table": "talk", "id": "id", "cwd": "dir", "parent": "up", "title": "name", "created": "born", "updated": "said"}}
}`, script, file))

	events := d.WatchAll()
	link := d.SpawnAgent("lite", "hello")
	events.AwaitStatus(link, api.Working)
	now := time.Now().Add(time.Second)
	add("new-1", "", now)
	add("sub-1", "new-1", now)
	gate.Open()
	events.AwaitStatus(link, api.Done)
	if got := sessionOf(t, d, link); got.Conversation != "new-1" {
		t.Errorf("bound to %q, want new-1", got.Conversation)
	}
	list, err := d.Client().History(ctx, client.HistoryOptions{Agent: "lite"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range list.Conversations {
		got = append(got, fmt.Sprintf("%s %q %v %s", c.ID, c.Title, c.Open, c.Session))
	}
	want := []string{fmt.Sprintf("new-1 %q true %s", "about new-1", link), `old-1 "about old-1" false `}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}

	d.Close(link)
	if r, err := d.Client().Resume(ctx, link); err != nil || !r.Resumed {
		t.Errorf("resume: %+v, %v", r, err)
	}
	adopted, err := d.Client().Spawn(ctx, api.SpawnRequest{Resume: "old-1"})
	if err != nil {
		t.Fatal(err)
	}
	if s := sessionOf(t, d, adopted.Target); s.Conversation != "old-1" || s.Title != "about old-1" {
		t.Errorf("adopted: conversation %q, title %q", s.Conversation, s.Title)
	}
	d.Close(adopted.Target)
	exec("DELETE FROM talk WHERE id = 'old-1'")
	if r, err := d.Client().Resume(ctx, adopted.Target); err != nil || !r.Fresh {
		t.Errorf("resume of what has been deleted: %+v, %v", r, err)
	}
	data, err := os.ReadFile(filepath.Join(d.Dir, "started"))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"started: resume new-1\n", "started: resume old-1\n"} {
		if strings.Count(string(data), line) != 1 {
			t.Errorf("%q is not once in:\n%s", line, data)
		}
	}
}

// said writes a demo conversation as it would be kept.
func said(d *termtest.Daemon, id, text string) (file string) {
	file = filepath.Join(d.Paths.Home, "demo", id+".jsonl")
	d.WriteFile(file, 0o600, fmt.Sprintf(`{"type":"user","sessionId":%q,"cwd":%q,"origin":{"kind":"human"},"message":{"role":"user","content":%q}}`+"\n", id, d.Dir, text))
	return file
}

// However many ask for a conversation at once, one of them gets it, and the others are
// told who.
func TestOneSessionGetsAConversation(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t)
	const id = "11111111-1111-4111-8111-111111111111"
	if err := os.MkdirAll(filepath.Join(d.Paths.Home, "demo"), 0o700); err != nil {
		t.Fatal(err)
	}
	said(d, id, "before")
	errs := make([]error, 6)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			_, errs[i] = d.Client().Spawn(d.Context(), api.SpawnRequest{Agent: "demo", Resume: id})
		})
	}
	wg.Wait()
	open := onlySession(t, d)
	got := 0
	for _, err := range errs {
		switch {
		case err == nil:
			got++
		case api.CodeOf(err) != api.BadRequest || !strings.Contains(err.Error(), open.Link):
			t.Errorf("refused with %v; want %s named", err, open.Link)
		}
	}
	if got != 1 || open.Conversation != id {
		t.Errorf("%d got it, and the session has %q", got, open.Conversation)
	}
}

// A conversation that another program has open is named and not taken from it: its
// agent's status file tells, or that it has the record open.
func TestConversationOpenElsewhere(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t)
	ctx := d.Context()
	withOwn(t, d, true)
	home := filepath.Join(filepath.Dir(d.Dir), "h")
	record := filepath.Join(home, "own", "past.jsonl")
	if err := os.MkdirAll(filepath.Dir(record), 0o700); err != nil {
		t.Fatal(err)
	}
	d.WriteFile(record, 0o600, fmt.Sprintf(`{"p":{"id":"past","cwd":%q,"created":"2020-01-01T00:00:00Z"}}`+"\n", d.Dir))
	f, err := os.Open(record)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	refused := func(agent, id string) {
		t.Helper()
		_, err := d.Client().Spawn(ctx, api.SpawnRequest{Agent: agent, Resume: id})
		if api.CodeOf(err) != api.BadRequest || !strings.Contains(err.Error(), fmt.Sprintf("process (%d)", os.Getpid())) {
			t.Errorf("%s: %v; want process %d named", agent, err, os.Getpid())
		}
	}
	taken := func(agent, id string) {
		t.Helper()
		r, err := d.Client().Spawn(ctx, api.SpawnRequest{Agent: agent, Resume: id})
		if err != nil {
			t.Errorf("%s: %v", agent, err)
			return
		}
		d.Close(r.Target)
	}
	if _, err := pty.OpenFiles(os.Getpid()); err == nil { // where the system tells
		refused("own", "past")
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	taken("own", "past")

	status := filepath.Join(home, "told")
	if err := os.MkdirAll(status, 0o700); err != nil {
		t.Fatal(err)
	}
	d.WriteFile(filepath.Join(d.Paths.AgentsDir, "told.json"), 0o600, `{
	"id": "told", "name": "Told", "command": "cat", "resume": {"resume": "- {id}"},
	"statusFile": {"path": "~/told/{pid}.json", "state": "state", "values": {"idle": "idle"}, "conversation": "id", "started": "start"}
}`)
	self, err := pty.Inspect(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(status, fmt.Sprint(os.Getpid(), ".json"))
	write := func(id string, start uint64) {
		d.WriteFile(file, 0o600, fmt.Sprintf(`{"state":"idle","id":%q,"start":"%d"}`, id, start))
	}
	write("talk", self.Start)
	refused("told", "talk")
	taken("told", "other")
	write("talk", self.Start-1) // left behind by a process that had the number before
	taken("told", "talk")
}
