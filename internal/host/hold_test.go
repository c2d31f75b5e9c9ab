package host_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"termio/internal/api"
	"termio/internal/termtest"
)

// withManifest gives the demo agent's manifest with changes, each an old and a new text.
func withManifest(t *testing.T, d *termtest.Daemon, changes ...string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "agent", "manifests", "demo.json"))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(data), `"id": "demo"`, `"id": "demo2"`, 1)
	for i := 0; i < len(changes); i += 2 {
		if strings.Count(text, changes[i]) != 1 {
			t.Fatalf("%q is not once in the manifest", changes[i])
		}
		text = strings.Replace(text, changes[i], changes[i+1], 1)
	}
	d.WriteFile(filepath.Join(d.Paths.AgentsDir, "demo2.json"), 0o600, text)
}

// holding is the manifest of an agent that would run several texts as one turn.
var holding = []string{`"busy": "queue"`, `"busy": "hold"`}

// startAgent starts an agent by its manifest's id and waits until it works.
func startAgent(t *testing.T, d *termtest.Daemon, events *termtest.Events, id, prompt string) string {
	t.Helper()
	r, err := d.Client().Spawn(d.Context(), api.SpawnRequest{Agent: id, Prompt: prompt})
	if err != nil {
		t.Fatal(err)
	}
	events.AwaitStatus(r.Target, api.Working)
	return r.Target
}

// turns are the prompts of people in a transcript, one a turn.
func turns(t *testing.T, path string) []string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var prompts []string
	for line := range strings.Lines(string(data)) {
		var l struct {
			Origin  *struct{ Kind string }
			Message struct{ Content any }
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		if text, ok := l.Message.Content.(string); ok && l.Origin != nil {
			prompts = append(prompts, text)
		}
	}
	return prompts
}

// An agent that runs what it was sent in a turn as one more turn gets each text when it is
// at rest: ten of them are ten turns, in order. Each sender is told at once.
func TestTextsAreHeldForAnAgentThatMerges(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t, termtest.WithDemo("busy=merge"))
	withManifest(t, d, holding...)
	gate := d.Gate("gate")
	events := d.WatchAll()
	first := "[[until " + gate.Path + "]]"
	link := startAgent(t, d, events, "demo2", first)
	want := []string{first}
	for i := range 10 {
		text := fmt.Sprintf("text %d", i)
		r, err := d.Client().Send(d.Context(), link, api.SendRequest{Text: text})
		if err != nil {
			t.Fatal(err)
		}
		if r.Delivery != api.Queued {
			t.Errorf("delivery %q, want queued", r.Delivery)
		}
		want = append(want, text)
	}
	gate.Open()
	last, err := d.Client().SendWait(d.Context(), link, api.SendRequest{Text: "the last"})
	if err != nil {
		t.Fatal(err)
	}
	checkReply(t, last, "You wrote 8 bytes")
	if lines := replyLines(t, last); strings.Contains(lines, "text 9") {
		t.Errorf("the reply's lines begin in the turn before: %s", lines)
	}
	if got := turns(t, last.Transcript); !slices.Equal(got, append(want, "the last")) {
		t.Errorf("turns %q, want %q", got, want)
	}
}

// A script that sends without end to an agent that is at work is refused, in words, before
// the daemon holds more than it should.
func TestWaitingTextsAreBounded(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t, termtest.WithDemo("busy=merge"))
	withManifest(t, d, holding...)
	events := d.WatchAll()
	link := startAgent(t, d, events, "demo2", "[[until "+d.Gate("gate").Path+"]]")
	for n := 0; ; n++ {
		_, err := d.Client().Send(d.Context(), link, api.SendRequest{Text: "more"})
		if err == nil && n < 100 {
			continue
		}
		// One is next; the others wait behind it.
		if want := "64 texts wait"; n != 65 || api.CodeOf(err) != api.Busy || !strings.Contains(err.Error(), want) {
			t.Errorf("text %d: %v, want %q for text 65", n, err, want)
		}
		break
	}
	if _, err := d.Client().Send(d.Context(), link, api.SendRequest{Keys: []string{"ctrl+c"}}); err != nil {
		t.Errorf("a key must go in all the same: %v", err)
	}
}

// What was said to be queued waits for a dialog's answer and for a free composer, though a
// text that comes then is refused.
func TestHeldTextWaitsForDialogAndDraft(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t, termtest.WithDemoLog(), termtest.WithDemo("busy=merge"))
	withManifest(t, d, holding...)
	ctx := d.Context()
	gate := d.Gate("gate")
	first := "[[until " + gate.Path + "]] [[touch made]]"
	ready, err := d.Client().SpawnWait(ctx, api.SpawnRequest{Agent: "demo2", Prompt: "ready"})
	if err != nil {
		t.Fatal(err)
	}
	link := ready.Target
	if r, err := d.Client().Send(ctx, link, api.SendRequest{Text: first}); err != nil || r.Delivery != api.Submitted {
		t.Fatalf("send: %+v, %v", r, err)
	}
	screen := d.Screen(link)
	screen.Type("half a line")
	screen.AwaitText("❯ half a line")
	if _, err := d.Client().Send(ctx, link, api.SendRequest{Text: "too late"}); api.CodeOf(err) != api.Busy {
		t.Errorf("send over a draft: %v", err)
	}
	screen.Type("\x15") // Ctrl-U
	screen.Await("an empty composer", func(s string) bool { return !strings.Contains(s, "half a line") })
	if r, err := d.Client().Send(ctx, link, api.SendRequest{Text: "held"}); err != nil || r.Delivery != api.Queued {
		t.Fatalf("send: %+v, %v", r, err)
	}
	events := d.WatchAll()
	gate.Open()
	events.AwaitStatus(link, api.NeedsYou)
	if _, err := d.Client().Send(ctx, link, api.SendRequest{Text: "not an answer"}); api.CodeOf(err) != api.NeedsAnswer {
		t.Errorf("send to the dialog: %v", err)
	}
	if _, err := d.Client().Send(ctx, link, api.SendRequest{Text: "no"}); err != nil {
		t.Errorf("answer: %v", err)
	}
	events.AwaitStatus(link, api.Done)
	if got, want := d.Submitted(), []string{"ready", first, "held"}; !slices.Equal(got, want) {
		t.Errorf("submitted %q, want %q", got, want)
	}
}

// A held text is the next host's to deliver when this one is killed.
func TestHeldTextOutlivesTheHost(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t, termtest.WithDemoLog(), termtest.WithDemo("busy=merge"))
	withManifest(t, d, holding...)
	gate := d.Gate("gate")
	events := d.WatchAll()
	first := "[[until " + gate.Path + "]]"
	link := startAgent(t, d, events, "demo2", first)
	for _, text := range []string{"one", "two"} {
		if r, err := d.Client().Send(d.Context(), link, api.SendRequest{Text: text}); err != nil || r.Delivery != api.Queued {
			t.Fatalf("send: %+v, %v", r, err)
		}
	}
	d.KillHost()
	gate.Open()
	last, err := d.Client().SendWait(d.Context(), link, api.SendRequest{Text: "the last"})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := turns(t, last.Transcript), []string{first, "one", "two", "the last"}; !slices.Equal(got, want) {
		t.Errorf("turns %q, want %q", got, want)
	}
}
