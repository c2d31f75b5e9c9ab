package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"termio/internal/api"
)

// A more is an agent that is driven only where TERMIO_E2E_MORE names it: these are
// large and slow to start.
type more struct {
	id string // in the catalogue
	// program is its place among the installed packages; node says that one runs it.
	program string
	node    bool
	// home makes what the agent is to know: its model, and that it has been used before.
	home func(w *world)
	env  func(w *world) []string
	// grant, deny and interrupt are the keys that say yes and no to a permission, and
	// that end a turn.
	grant, deny, interrupt []string
	// rests is what a denied turn ends as, ends what an interrupted one does: Gemini tells
	// of an interruption as of any end.
	rests, ends api.Status
}

// mores are all of them.
var mores = []more{
	{
		id: "opencode", program: "opencode-*-*64/bin/opencode", rests: api.Done, ends: api.Idle,
		grant: []string{"enter"}, deny: []string{"escape"}, interrupt: []string{"escape", "escape"},
		home: func(w *world) {
			w.writeJSON(".config/opencode/opencode.json", map[string]any{
				"autoupdate": false, "share": "disabled", "model": "fake/fake-model", "small_model": "fake/fake-model",
				"enabled_providers": []string{"fake"}, "permission": map[string]any{"bash": "ask", "edit": "ask"},
				"provider": map[string]any{"fake": map[string]any{
					"npm": "@ai-sdk/openai-compatible", "options": map[string]any{"baseURL": w.model.URL() + "/v1", "apiKey": "x"},
					"models": map[string]any{"fake-model": map[string]any{
						"name": "Fake Model", "tool_call": true, "limit": map[string]any{"context": 100_000, "output": 8000},
					}},
				}},
			})
		},
		env: func(*world) []string {
			return []string{"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1"}
		},
	},
	{
		id: "copilot", program: "@github/copilot/npm-loader.js", node: true, rests: api.Idle, ends: api.Idle,
		grant: []string{"enter"}, deny: []string{"escape"}, interrupt: []string{"ctrl+c"},
		home: func(w *world) {
			w.writeJSON(".copilot/settings.json", map[string]any{"banner": "never"})
			w.writeJSON(".copilot/config.json", map[string]any{"trustedFolders": []string{w.project}, "firstLaunchAt": "2026-01-01T00:00:00.000Z", "appTipShown": true})
		},
		env: func(w *world) []string {
			return []string{
				"COPILOT_OFFLINE=true", "COPILOT_PROVIDER_BASE_URL=" + w.model.URL() + "/v1", "COPILOT_PROVIDER_TYPE=openai",
				"COPILOT_PROVIDER_API_KEY=x", "COPILOT_MODEL=fake-model", "COPILOT_AUTO_UPDATE=false",
			}
		},
	},
	{
		id: "gemini", program: "@google/gemini-cli/bundle/gemini.js", node: true, rests: api.Idle, ends: api.Done,
		grant: []string{"enter"}, deny: []string{"escape"}, interrupt: []string{"escape"},
		home: func(w *world) {
			w.writeJSON(".gemini/settings.json", map[string]any{
				"security": map[string]any{"auth": map[string]any{"selectedType": "gemini-api-key"}, "folderTrust": map[string]any{"enabled": true}},
				"general":  map[string]any{"enableAutoUpdate": false, "enableAutoUpdateNotification": false},
				"privacy":  map[string]any{"usageStatisticsEnabled": false}, "telemetry": map[string]any{"enabled": false},
				"model": map[string]any{"name": "gemini-2.5-flash"},
			})
			w.writeJSON(".gemini/trustedFolders.json", map[string]any{w.project: "TRUST_FOLDER"})
		},
		env: func(w *world) []string {
			return []string{"GEMINI_API_KEY=x", "GOOGLE_GEMINI_BASE_URL=" + w.model.URL()}
		},
	},
	{
		id: "qwen", program: "@qwen-code/qwen-code/cli-entry.js", node: true, rests: api.Idle, ends: api.Idle,
		grant: []string{"enter"}, deny: []string{"escape"}, interrupt: []string{"escape"},
		home: func(w *world) {
			w.writeJSON(".qwen/settings.json", map[string]any{
				"security": map[string]any{"auth": map[string]any{"selectedType": "openai"}},
				"general":  map[string]any{"enableAutoUpdate": false}, "privacy": map[string]any{"usageStatisticsEnabled": false},
				"telemetry": map[string]any{"enabled": false}, "model": map[string]any{"name": "fake-model"},
				"tools": map[string]any{"approvalMode": "default"},
			})
		},
		env: func(w *world) []string {
			return []string{"OPENAI_API_KEY=x", "OPENAI_BASE_URL=" + w.model.URL() + "/v1", "OPENAI_MODEL=fake-model"}
		},
	},
}

// newMore makes a world in which the agent is installed, knows its model and has been
// set up.
func newMore(t *testing.T, m more) *world {
	t.Helper()
	if !slices.Contains(strings.Fields(os.Getenv("TERMIO_E2E_MORE")), m.id) {
		t.Skipf("TERMIO_E2E_MORE does not name %s", m.id)
	}
	program := agentBinary(t, m.id, m.program)
	w := newWorld(t)
	w.starter(m.id, program, m.node)
	w.env = append(w.env, m.env(w)...)
	m.home(w)
	if r := w.termio("setup", "--yes"); r.exit != 0 {
		t.Fatal(r)
	}
	return w
}

// starter puts a command on the PATH that runs a program, with a Node of its own if it
// needs one: the system's may be too old for it.
func (w *world) starter(name, program string, node bool) {
	w.t.Helper()
	line := fmt.Sprintf("'%s'", program)
	if node {
		line = fmt.Sprintf("'%s' %s", agentBinary(w.t, "Node", "node-*/bin/node"), line)
	}
	if err := os.WriteFile(filepath.Join(w.home, "bin", name), []byte("#!/bin/sh\nexec "+line+" \"$@\"\n"), 0o700); err != nil {
		w.t.Fatal(err)
	}
}

// keys presses keys in a session.
func (w *world) keys(target string, keys []string) {
	w.t.Helper()
	for _, key := range keys {
		var sent api.SendReply
		w.sessions(&sent, 0, "send", target, "--key", key)
	}
}

// Each agent works, asks, is granted and refused, interrupted, and resumed.
func TestMore(t *testing.T) {
	for _, m := range mores {
		t.Run(m.id, func(t *testing.T) {
			w := newMore(t, m)
			first := w.spawn(m.id, "remember the walnut")
			if first.Status != api.Done {
				t.Fatalf("got %+v, want done", first)
			}
			asked := w.send(first.Target, "[[bash: touch granted.txt]]")
			if asked.Status != api.NeedsYou || asked.Dialog == nil || asked.Dialog.Question == "" {
				t.Fatalf("got %+v, want needs-you", asked)
			}
			watch := w.watch()
			w.keys(first.Target, m.grant)
			watch.until(first.Target, api.Done)
			if !w.has("granted.txt") {
				t.Error("granted, but the command did not run")
			}
			if again := w.send(first.Target, "[[bash: touch denied.txt]]"); again.Status != api.NeedsYou {
				t.Fatalf("got %+v, want needs-you", again)
			}
			watch = w.watch()
			w.keys(first.Target, m.deny)
			watch.until(first.Target, m.rests)
			if w.has("denied.txt") {
				t.Error("refused, and the command ran all the same")
			}
			var sent api.SendReply
			w.sessions(&sent, 0, "send", first.Target, "--", "[[hold: a]]")
			w.held("a")
			w.keys(first.Target, m.interrupt)
			watch.until(first.Target, m.ends)
			w.hungUp("a")

			before := w.row(first.Target)
			var closed api.CloseReply
			w.sessions(&closed, 0, "close", first.Target)
			var resumed api.StartReply
			w.sessions(&resumed, 0, "resume", first.Target)
			if !resumed.Resumed || resumed.Fresh {
				t.Errorf("got %+v, want the same conversation", resumed)
			}
			if r := w.send(first.Target, "what did I say?"); r.Status != api.Done {
				t.Errorf("got %+v, want done", r)
			}
			if told := w.asked("what did I say?").Said; !slices.Contains(told, "remember the walnut") {
				t.Errorf("the model was told %.300q", told)
			}
			if after := w.row(first.Target); after.Conversation == "" || after.Conversation != before.Conversation {
				t.Errorf("resumed as %q, was %q", after.Conversation, before.Conversation)
			}
		})
	}
}
