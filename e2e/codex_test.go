package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"termio/internal/api"
)

// codex is the agent's id in the catalogue.
const codex = "codex"

// codexConfig is the file of the person's settings.
const codexConfig = ".codex/config.toml"

// newCodex makes a world in which Codex is installed and has been used before: it
// knows its model, the project is trusted, and it asks before it acts.
func newCodex(t *testing.T) *world {
	t.Helper()
	program := agentBinary(t, "Codex", "@openai/codex-*/vendor/*/bin/codex")
	w := newWorld(t)
	if err := os.Symlink(program, filepath.Join(w.home, "bin", "codex")); err != nil {
		t.Fatal(err)
	}
	w.codexConfig(w.project)
	return w
}

// codexConfig writes what Codex is to be told by its user.
func (w *world) codexConfig(trusted ...string) {
	w.t.Helper()
	config := fmt.Sprintf(`# of the person
model = "fake-model"
model_provider = "fake"
approval_policy = "on-request"
sandbox_mode = "read-only"
check_for_update_on_startup = false

[model_providers.fake]
name = "Fake"
base_url = "%s/v1"
wire_api = "responses"

[analytics]
enabled = false

[tui]
screen_reader_detection_done = true

[features]
default_mode_request_user_input = true
`, w.model.URL())
	for _, dir := range trusted {
		config += fmt.Sprintf("\n[projects.%q]\ntrust_level = \"trusted\"\n", dir)
	}
	w.write(codexConfig, config)
}

// setUpCodex has termio write its hooks into Codex's files and record that the person
// trusts them.
func (w *world) setUpCodex() {
	w.t.Helper()
	if r := w.termio("setup", "--yes"); r.exit != 0 {
		w.t.Fatal(r)
	}
}

// Without hooks of ours the terminal tells the state, and the record that the agent has
// open tells which conversation is whose.
func TestCodexWithoutHooks(t *testing.T) {
	w := newCodex(t)
	first := w.spawn(codex, "remember the walnut")
	if got := w.said(first, codexSaid); first.Status != api.Done || got != "You said: remember the walnut" {
		t.Errorf("got %+v, which says %q", first, got)
	}
	other := w.spawn(codex, "remember the almond")
	if got := w.said(other, codexSaid); other.Status != api.Done || got != "You said: remember the almond" {
		t.Errorf("got %+v, which says %q", other, got)
	}
	one, two := w.row(first.Target), w.row(other.Target)
	if one.Conversation == "" || two.Conversation == "" || one.Conversation == two.Conversation || one.Transcript == two.Transcript {
		t.Errorf("two sessions in one folder: %+v and %+v", one, two)
	}
	before := w.asked("remember the walnut")
	if before.Conversation != one.Conversation {
		t.Errorf("bound to %q, the agent says %q", one.Conversation, before.Conversation)
	}
	w.resumes(first.Target, first.Transcript, codexSaid)
}
