package host_test

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"termio/internal/api"
	"termio/internal/pty"
	"termio/internal/termtest"
)

// tookUp is what a call comes to that an earlier host had begun: a send, stored as given,
// for the program that the session shows.
func tookUp(t *testing.T, d *termtest.Daemon, link, text string, state map[string]any) (delivery api.Delivery, failed *api.Error) {
	t.Helper()
	leader, err := pty.Inspect(sessionOf(t, d, link).PID)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]any{"verb": "send", "named": true, "enter": true, "for": leader.Proc}
	maps.Copy(all, state)
	b, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	const name = "ab12cd34-9f2e-4c31-b8d7-3e5a12c90f44"
	d.Exec("INSERT INTO requests (id, session, created_at, text, state) VALUES (?, ?, ?, ?, ?)",
		name, strings.TrimPrefix(link, "termio://session/"), time.Now().UnixMilli(), text, b)
	d.KillHost()
	req, err := http.NewRequestWithContext(d.Context(), http.MethodGet, "http://termio/v1/requests/"+name, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set(api.HeaderCwd, url.PathEscape(d.Dir))
	res, err := d.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if b, err = io.ReadAll(res.Body); err != nil {
		t.Fatal(err)
	}
	var reply api.SendReply
	failed = &api.Error{}
	if err := errors.Join(json.Unmarshal(b, &reply), json.Unmarshal(b, failed)); err != nil {
		t.Fatalf("%s: %v", b, err)
	}
	if failed.Code == "" {
		failed = nil
	}
	return reply.Delivery, failed
}

// However far an earlier host had come with a text to an agent, the next one finishes it if
// what the session shows says what is left to be done, types nothing twice, and says so
// where nobody can tell.
func TestTextIsTakenUpAsFarAsItHadCome(t *testing.T) {
	t.Parallel()
	const text = "the text"
	atRest := map[string]any{"turn": 1, "prompts": 1, "status": api.Done} // with one turn behind it
	stands := func(t *testing.T, d *termtest.Daemon, link string) {
		t.Helper()
		if _, err := d.Client().Send(d.Context(), link, api.SendRequest{Text: text, NoEnter: true}); err != nil {
			t.Fatal(err)
		}
		d.Screen(link).AwaitText("❯ " + text)
	}
	asks := func(t *testing.T, d *termtest.Daemon, link string) {
		t.Helper()
		if r, err := d.Client().SendWait(d.Context(), link, api.SendRequest{Text: "[[ask Which?|A|B]]"}); err != nil || r.Status != api.NeedsYou {
			t.Fatalf("question: %+v, %v", r, err)
		}
	}
	tests := []struct {
		name   string
		before func(t *testing.T, d *termtest.Daemon, link string)
		text   string
		state  map[string]any
		taken  bool     // the agent gets the text, once
		code   api.Code // "" is none
		says   string
	}{
		{name: "not begun", text: text, state: map[string]any{"phase": "queued"}, taken: true},
		{name: "being typed, and it stands there", before: stands, text: text, state: map[string]any{"phase": "typing"}, taken: true},
		{name: "being typed, and nothing stands there", text: text, state: map[string]any{"phase": "typing"}, code: api.Unavailable, says: "the text was being typed into"},
		{name: "being typed, and a part may stand there", before: stands, text: text + strings.Repeat(" and more", 300), state: map[string]any{"phase": "typing"}, code: api.Unavailable, says: "the text was being typed into"},
		{name: "typed, and it stands there", before: stands, text: text, state: map[string]any{"phase": "typed"}, taken: true},
		{name: "typed, and nothing stands there", text: text, state: map[string]any{"phase": "typed"}, code: api.Unavailable, says: "its Return was about to be pressed in"},
		{name: "Return being pressed, and it stands there", before: stands, text: text, state: map[string]any{"phase": "pressing", "drafted": true, "draft": text, "before": atRest}, taken: true},
		{name: "keys behind it being pressed", before: stands, text: text, state: map[string]any{"phase": "pressing", "keys": []string{"enter"}, "enter": false, "drafted": true, "draft": text}, code: api.Unavailable, says: "its keys were being pressed in"},
		{name: "keys being pressed", before: stands, state: map[string]any{"phase": "pressing", "keys": []string{"enter"}, "enter": false}, code: api.Unavailable, says: "its keys were being pressed in"},
		{name: "over", text: text, state: map[string]any{"phase": "over", "how": "submitted"}},
		{name: "over, and it had failed", text: text, state: map[string]any{"phase": "over", "failed": map[string]any{"error": "busy", "message": "a draft"}}, code: api.Busy, says: "a draft"},
		{name: "for a program that has ended", text: text, state: map[string]any{"phase": "queued", "for": pty.Proc{PID: 1, Start: 1}}, code: api.AgentGone, says: "it was not typed into that"},
		{name: "an answer not given, its dialog open", before: asks, text: "A", state: map[string]any{"phase": "queued", "answers": 1}},
		{name: "an answer not given, another dialog open", before: asks, text: "A", state: map[string]any{"phase": "queued", "answers": 7}, code: api.BadRequest, says: "not open any more"},
		{name: "an answer being given, its dialog open", before: asks, text: "A", state: map[string]any{"phase": "pressing", "answers": 1}, code: api.Unavailable, says: "the dialog was being answered in"},
		{name: "an answer being given, its dialog gone", text: "A", state: map[string]any{"phase": "pressing", "answers": 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := termtest.Start(t, termtest.WithDemoLog(), termtest.WithDemo("deaf=0"))
			first, err := d.Client().SpawnWait(d.Context(), api.SpawnRequest{Agent: "demo", Prompt: "begin"})
			if err != nil {
				t.Fatal(err)
			}
			if tt.before != nil {
				tt.before(t, d, first.Target)
			}
			was := d.Submitted()
			_, failed := tookUp(t, d, first.Target, tt.text, tt.state)
			switch {
			case tt.code == "" && failed != nil:
				t.Errorf("%s: %s", failed.Code, failed.Message)
			case tt.code != "" && (failed == nil || failed.Code != tt.code || !strings.Contains(failed.Message, tt.says)):
				t.Errorf("came to %+v, want %s: %s", failed, tt.code, tt.says)
			}
			want := was
			if tt.taken {
				want = append(slices.Clone(was), tt.text)
			}
			if got := d.Submitted(); !slices.Equal(got, want) {
				t.Errorf("submitted %q, want %q", got, want)
			}
		})
	}
}

// The same for a shell, whose lines the screen shows, and for a program that shows nothing.
func TestLineIsTakenUpAsFarAsItHadCome(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t, termtest.WithEnv("SHELL=/bin/bash"))
	ran := func() string {
		b, _ := os.ReadFile(filepath.Join(d.Dir, "ran"))
		return string(b)
	}
	link := d.Run("true")
	const line = "echo x >>ran"
	pressing := map[string]any{"phase": "pressing"}
	if _, failed := tookUp(t, d, link, line, pressing); failed == nil || failed.Code != api.Unavailable || !strings.Contains(failed.Message, "its Return was being pressed in") {
		t.Errorf("a line that is nowhere: %+v", failed)
	}
	if _, err := d.Client().Send(d.Context(), link, api.SendRequest{Text: line, NoEnter: true}); err != nil {
		t.Fatal(err)
	}
	d.Screen(link).AwaitText(line)
	if _, failed := tookUp(t, d, link, line, pressing); failed != nil {
		t.Errorf("a line that stands there: %+v", failed)
	}
	if _, err := d.Client().SendWait(d.Context(), link, api.SendRequest{Text: "true"}); err != nil { // behind it
		t.Fatal(err)
	}
	if _, failed := tookUp(t, d, link, line, pressing); failed != nil {
		t.Errorf("a line that was entered: %+v", failed)
	}
	if _, err := d.Client().SendWait(d.Context(), link, api.SendRequest{Text: "true"}); err != nil {
		t.Fatal(err)
	}
	if got := ran(); got != "x\n" {
		t.Errorf("ran %q", got)
	}

	d.WriteFile(filepath.Join(d.Paths.AgentsDir, "blank.json"), 0o600, `{"id": "blank", "name": "Blank", "command": "`+filepath.Join(d.Dir, "blank")+`"}`)
	d.WriteFile(filepath.Join(d.Dir, "blank"), 0o700, "#!/bin/sh\nstty raw -echo\necho here\nexec cat >all\n")
	blank := d.SpawnAgent("blank", "begin")
	d.Screen(blank).AwaitText("here")
	if _, failed := tookUp(t, d, blank, "more", pressing); failed == nil || failed.Code != api.Unavailable || !strings.Contains(failed.Message, "its Return was being pressed in") {
		t.Errorf("to a program that shows nothing: %+v", failed)
	}
}
