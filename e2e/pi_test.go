package e2e_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"termio/internal/api"
)

// pi is the agent's id in the catalogue.
const pi = "pi"

// newPi makes a world in which Pi is installed, knows its model, and has been set up.
// It runs on a Node of its own: the system's may be too old for it.
func newPi(t *testing.T) *world {
	t.Helper()
	program := agentBinary(t, "Pi", "@earendil-works/pi-coding-agent/dist/bundle/cli.js")
	w := newWorld(t)
	w.starter("pi", program, true)
	w.env = append(w.env, "PI_OFFLINE=1", "PI_SKIP_VERSION_CHECK=1", "PI_TELEMETRY=0")
	w.writeJSON(".pi/agent/models.json", map[string]any{"providers": map[string]any{"fake": map[string]any{
		"baseUrl": w.model.URL() + "/v1", "api": "openai-completions", "apiKey": "x",
		"compat": map[string]any{"supportsDeveloperRole": false, "supportsReasoningEffort": false},
		"models": []any{map[string]any{"id": "fake-model", "contextWindow": 100_000, "maxTokens": 8000}},
	}}})
	w.writeJSON(".pi/agent/settings.json", map[string]any{
		"defaultProvider": "fake", "defaultModel": "fake-model", "enableInstallTelemetry": false,
	})
	if r := w.termio("setup", "--yes"); r.exit != 0 || !strings.Contains(string(w.read(".pi/agent/extensions/termio.ts")), "agent_settled") {
		t.Fatal(r)
	}
	return w
}

// asks gives Pi an extension that asks before each command: it asks for nothing itself.
func (w *world) asks() {
	w.t.Helper()
	w.write(".pi/agent/extensions/ask.ts", `export default function (pi) {
  pi.on("tool_call", async (event, ctx) => {
    if (event.toolName !== "bash") return
    const ok = await ctx.ui.confirm("Run the command?", event.input.command)
    if (!ok) return { block: true, reason: "The person said no." }
  })
}
`)
}

// shows reads a session's screen until a text is on it: a command of the agent's own
// that begins no turn has no event.
func (w *world) shows(target, text string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	for ctx.Err() == nil {
		if strings.Contains(w.termio("sessions", "read", target).stdout, text) {
			return
		}
	}
	w.t.Fatalf("%q is not on the screen:\n%v", text, w.termio("sessions", "read", target))
}

// piSaid are the words in a line of Pi's transcript.
func piSaid(line []byte) (said []string) {
	var l struct {
		Message struct {
			Role    string
			Content json.RawMessage
		}
	}
	var blocks []struct{ Text string }
	if json.Unmarshal(line, &l) != nil || l.Message.Role != "assistant" || json.Unmarshal(l.Message.Content, &blocks) != nil {
		return nil
	}
	for _, b := range blocks {
		if b.Text != "" {
			said = append(said, b.Text)
		}
	}
	return said
}

// A conversation: replies are waited for, /new is followed, and a resumed session goes
// on where it was.
func TestPiConversation(t *testing.T) {
	w := newPi(t)
	first := w.spawn(pi, "remember the walnut")
	if got := w.said(first, piSaid); first.Status != api.Done || !first.Created || got != "You said: remember the walnut" {
		t.Fatalf("got %+v, which says %q", first, got)
	}
	second := w.send(first.Target, "and the almond")
	if got := w.said(second, piSaid); second.Status != api.Done || got != "You said: and the almond" || *second.Cursor < *first.CursorEnd {
		t.Errorf("got %+v, which says %q", second, got)
	}
	long := strings.Repeat("0123456789abcde\n", 640) + "the end"
	if r := w.send(first.Target, long); r.Status != api.Done {
		t.Errorf("got %+v", r)
	}
	w.asked(long)

	before := w.row(first.Target)
	w.kills(first.Target)
	var resumed api.StartReply
	w.sessions(&resumed, 0, "resume", first.Target)
	if resumed.Target != first.Target || !resumed.Resumed || resumed.Fresh {
		t.Errorf("got %+v, want the same link and conversation", resumed)
	}
	again := w.send(first.Target, "what did I say?")
	if got := w.said(again, piSaid); again.Status != api.Done || again.Transcript != first.Transcript || got != "You said: what did I say?" {
		t.Errorf("got %+v, which says %q", again, got)
	}
	if told := w.asked("what did I say?").Said; len(told) < 2 || told[0] != "remember the walnut" {
		t.Errorf("the model was told %.200q", told)
	}
	if row := w.row(first.Target); row.Conversation != before.Conversation || row.Conversation == "" {
		t.Errorf("resumed as %+v, was %+v", row, before)
	}

	var sent api.SendReply
	w.sessions(&sent, 0, "send", first.Target, "--", "/new")
	w.shows(first.Target, "New session started")
	fresh := w.send(first.Target, "in the new one")
	if got := w.said(fresh, piSaid); fresh.Status != api.Done || got != "You said: in the new one" || fresh.Transcript == first.Transcript {
		t.Errorf("got %+v, which says %q", fresh, got)
	}
	if row := w.row(first.Target); row.Conversation == before.Conversation || !strings.Contains(fresh.Transcript, row.Conversation) {
		t.Errorf("bound to %+v, the transcript is %s", row, fresh.Transcript)
	}
}

// A question of an extension's is needs-you, with its text and its options; a text that
// is no answer goes nowhere, yes lets the command run, no does not, and neither leaves
// the session at work.
func TestPiPermission(t *testing.T) {
	w := newPi(t)
	w.asks()
	asked := w.spawn(pi, "[[bash: touch granted.txt]]")
	if asked.Status != api.NeedsYou || asked.Dialog == nil || asked.Dialog.Question != "Run the command?" || len(labels(asked.Dialog)) != 2 {
		t.Fatalf("got %+v, dialog %+v, want needs-you", asked, asked.Dialog)
	}
	if e := w.refused(api.NeedsAnswer, asked.Target, "please also add tests"); !strings.Contains(e.Message, "Run the command?") || w.has("granted.txt") {
		t.Errorf("refused with %s", e.Message)
	}
	if granted := w.send(asked.Target, "1"); granted.Status != api.Done || !w.has("granted.txt") || !strings.Contains(w.said(granted, piSaid), "The tool answered. Done.") {
		t.Errorf("granted: %+v", granted)
	}
	if again := w.send(asked.Target, "[[bash: touch denied.txt]]"); again.Status != api.NeedsYou {
		t.Fatalf("got %+v, want needs-you", again)
	}
	if denied := w.send(asked.Target, "2"); denied.Status != api.Done || w.has("denied.txt") {
		t.Errorf("denied: %+v", denied)
	}
}

// Esc ends a turn at once, and what happens in one session is nothing to another one in
// the same folder.
func TestPiInterruptAndTwoAtOnce(t *testing.T) {
	w := newPi(t)
	one, two := w.spawn(pi, "remember the walnut"), w.spawn(pi, "remember the almond")
	watch := w.watch()
	var sent api.SendReply
	w.sessions(&sent, 0, "send", one.Target, "--", "[[hold: a]]")
	w.held("a")
	watch.until(one.Target, api.Working)
	if r := w.send(two.Target, "meanwhile"); r.Status != api.Done || w.said(r, piSaid) != "You said: meanwhile" {
		t.Errorf("got %+v", r)
	}
	w.sessions(&sent, 0, "send", one.Target, "--key", "escape")
	watch.soon(one.Target, api.Idle)
	w.hungUp("a")
	a, b := w.row(one.Target), w.row(two.Target)
	if a.Conversation == "" || a.Conversation == b.Conversation || filepath.Base(a.Transcript) == filepath.Base(b.Transcript) {
		t.Errorf("two sessions in one folder: %+v and %+v", a, b)
	}
}

// A conversation that is nowhere is said to be, and its id is kept.
func TestPiUnknownConversation(t *testing.T) {
	newPi(t).unknown(more{id: pi, unknown: nobody})
}
