package e2e_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"termio/internal/api"
)

// hooksAlone takes every channel but the hooks, the transcript and the screen from Claude
// Code's manifest: what a version has that neither speaks OSC 7501 nor keeps a status file.
// without is what else goes.
func (w *world) hooksAlone(without string) {
	w.t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "internal", "agent", "manifests", claude+".json"))
	if err != nil {
		w.t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(data, &m); err != nil {
		w.t.Fatal(err)
	}
	for _, channel := range []string{"programStatus", "statusFile", "titleStatus"} {
		delete(m, channel)
	}
	delete(m, without)
	m["ready"] = map[string]any{"composer": true, "settle": 300}
	if data, err = json.Marshal(m); err != nil {
		w.t.Fatal(err)
	}
	dir := filepath.Join(filepath.Dir(w.home), "t", "config", "agents")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, claude+".json"), data, 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// With hooks alone, which tell of neither, an interruption and a refusal are seen on the
// screen. The transcript knows of refusals, and of interruptions after the first output: the
// prompt of one that came before goes back into the composer, and no line tells.
func TestClaudeHooksAlone(t *testing.T) {
	for name, without := range map[string]string{"with the transcript": "", "with the screen": "transcript"} {
		t.Run(name, func(t *testing.T) {
			w := newClaude(t)
			w.hooksAlone(without)
			w.setUp()
			silentTurns(t, w)
		})
	}
}

// silentTurns interrupts a turn and refuses what another asks for.
func silentTurns(t *testing.T, w *world) {
	t.Helper()
	first := w.spawn(claude, "hello")
	if first.Status != api.Done {
		t.Fatalf("spawn: %+v", first)
	}
	events := w.watch()
	var sent api.SendReply
	w.sessions(&sent, 0, "send", first.Target, "--", "[[hold: a]]")
	w.held("a")
	w.sessions(&sent, 0, "send", first.Target, "--key", "escape")
	events.until(first.Target, api.Idle)
	w.sessions(&sent, 0, "send", first.Target, "--key", "ctrl+u") // the prompt is back in the composer
	asking := w.send(first.Target, "[[bash: touch made]]")
	if asking.Status != api.NeedsYou || asking.Dialog == nil || len(asking.Dialog.Options) == 0 {
		t.Fatalf("permission: %+v", asking)
	}
	if r := w.send(first.Target, "no"); r.Status != api.Idle || r.TimedOut {
		t.Errorf("refused: %+v", r)
	}
	if w.has("made") {
		t.Error("what was refused was done")
	}
}
