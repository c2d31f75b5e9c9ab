package e2e_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
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

// What setup writes, Codex takes: it knows the skill, asks nothing about the hooks, and
// runs them. When it is taken out again the files are what they were.
func TestCodexSetup(t *testing.T) {
	w := newCodex(t)
	before := w.read(codexConfig)
	w.setUpCodex()
	if after := w.read(codexConfig); !bytes.HasPrefix(after, before) || !bytes.Contains(after, []byte("trusted_hash")) {
		t.Errorf("the settings became\n%s", after)
	}
	if r := w.termio("setup", "--no"); r.exit != 0 {
		t.Fatal(r)
	}
	if after := w.read(codexConfig); !bytes.Equal(after, before) {
		t.Errorf("the settings became\n%s, were\n%s", after, before)
	}
	if _, err := os.Stat(filepath.Join(w.home, ".codex", "hooks.json")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the hooks are still there: %v", err)
	}

	w.setUpCodex()
	first := w.spawn(codex, "remember the walnut")
	if first.Status != api.Done {
		t.Fatalf("got %+v, want done", first)
	}
	explained := w.termio("sessions", "explain", first.Target)
	if !strings.Contains(explained.stdout, "Stop") {
		t.Errorf("no hook was heard:\n%v", explained)
	}
	skill := w.read(".codex/skills/termio/SKILL.md")
	_, description, _ := strings.Cut(string(skill), "\ndescription: ")
	description, _, _ = strings.Cut(description, "\n")
	if request := w.asked("remember the walnut"); description == "" || !strings.Contains(string(request.Body), description[:min(len(description), 60)]) {
		t.Errorf("the model was not told of the skill %q", description)
	}
	// Codex has written into its settings meanwhile: only ours goes.
	if r := w.termio("setup", "--no"); r.exit != 0 {
		t.Fatal(r)
	}
	after := w.read(codexConfig)
	for line := range bytes.Lines(before) {
		if !bytes.Contains(after, line) {
			t.Errorf("the settings lack %q:\n%s", line, after)
		}
	}
	if bytes.Contains(after, []byte("trusted_hash")) {
		t.Errorf("the trust is still there:\n%s", after)
	}
}

// A folder that Codex was never trusted with, and hooks that its user has not trusted:
// the prompt waits behind both questions, and nothing is typed into them.
func TestCodexAsksAtTheStart(t *testing.T) {
	w := newCodex(t)
	w.codexConfig()
	if r := w.termio("settings", "set", "live-status", "on"); r.exit != 0 || !strings.Contains(r.stderr, "trust") {
		t.Fatalf("not told of the trust that lacks: %v", r)
	}
	asked := w.spawn(codex, "remember the walnut")
	if d := asked.Dialog; asked.Status != api.NeedsYou || d == nil || d.Kind != api.DialogTrust || d.Question != "Do you trust this folder?" {
		t.Fatalf("got %+v, want needs-you with the trust dialog", asked)
	}
	w.refused(api.NeedsAnswer, asked.Target, "please also add tests")
	review := w.send(asked.Target, "Trust and continue")
	if d := review.Dialog; review.Status != api.NeedsYou || d == nil || d.Question != "Hooks need review" || len(d.Options) != 3 {
		t.Fatalf("got %+v, want needs-you with the review of hooks", review)
	}
	w.refused(api.NeedsAnswer, asked.Target, "please also add tests")
	if done := w.send(asked.Target, "Trust all and continue"); done.Status != api.Done || w.said(done, codexSaid) != "You said: remember the walnut" {
		t.Errorf("got %+v, want done", done)
	}
	if r := w.termio("doctor"); strings.Contains(r.stdout, "not trusted") {
		t.Errorf("Codex has recorded the trust, and doctor says\n%v", r)
	}
}
