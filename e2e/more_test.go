package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
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
	// said are the agent's words in a line of its transcript; nil where it has none.
	said func(line []byte) []string
	// grant, deny and interrupt are the keys that say yes and no to a permission, and
	// that end a turn.
	grant, deny, interrupt []string
	// rests is what a denied turn ends as, ends what an interrupted one does: Gemini tells
	// of an interruption as of any end.
	rests, ends api.Status
	// anew is the command that begins a new conversation.
	anew string
	// unknown is an id of the agent's form that no conversation has, and nowhere what the
	// agent itself says of one: "" where termio knows from the agent's store.
	unknown, nowhere string
}

// nobody is the id of no conversation.
const nobody = "00000000-0000-4000-8000-000000000000"

// mores are all of them.
var mores = []more{
	{
		id: "opencode", program: "opencode-*-*64/bin/opencode", rests: api.Done, ends: api.Idle,
		grant: []string{"enter"}, deny: []string{"escape"}, interrupt: []string{"escape", "escape"},
		anew: "/new", unknown: "ses_00000000000000000000000000", nowhere: "Session not found",
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
		said: copilotSaid, anew: "/clear", unknown: nobody,
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
		anew: "/clear", unknown: nobody, nowhere: "resum",
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
		said: qwenSaid, anew: "/clear", unknown: nobody,
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
	for _, args := range [][]string{{"setup", "--yes"}, {"open", "."}} {
		if r := w.termio(args...); r.exit != 0 {
			t.Fatal(r)
		}
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

// step runs a part of a test in the same world. What its sessions looked like is told
// when it fails; the parts after it have sessions of their own.
func (w *world) step(name string, part func()) {
	whole := w.t
	whole.Run(name, func(t *testing.T) {
		w.t = t
		defer func() {
			if t.Failed() {
				w.diagnose()
			}
			w.t = whole
		}()
		part()
	})
}

// says checks what the agent said in a turn: in its transcript, or else on the screen.
func (w *world) says(m more, r api.WaitReply, words string) {
	w.t.Helper()
	if m.said == nil {
		w.shows(r.Target, words)
		return
	}
	if got := w.said(r, m.said); !strings.Contains(got, words) {
		w.t.Errorf("the transcript's lines say %q, want %q", got, words)
	}
}

// Each agent works and tells of it, asks, is granted and refused, is interrupted, is given
// long texts, begins anew, is killed and resumed, and is never mixed up with another one.
func TestMore(t *testing.T) {
	for _, m := range mores {
		t.Run(m.id, func(t *testing.T) {
			w := newMore(t, m)
			w.step("prompt", func() { w.prompted(m) })
			w.step("granted", func() { w.granted(m) })
			w.step("denied", func() { w.denied(m) })
			w.step("interrupted", func() { w.interrupted(m) })
			w.step("10 KB", func() { w.long(m.id) })
			w.step("anew", func() { w.anew(m) })
			w.step("killed and resumed", func() { w.killedAndResumed(m) })
			w.step("unknown conversation", func() { w.unknown(m) })
			w.step("two at once", func() { w.twoAtOnce(m) })
		})
	}
}

// prompted: a prompt begins a turn that is seen to begin and to end, with its reply.
func (w *world) prompted(m more) {
	watch := w.watch()
	r := w.spawn(m.id, "remember the walnut")
	watch.until(r.Target, api.Working)
	watch.until(r.Target, api.Done)
	if r.Status != api.Done || !r.Created {
		w.t.Errorf("got %+v, want done", r)
	}
	w.says(m, r, "You said: remember the walnut")
	w.closes(r.Target)
}

// granted: what the agent asks is told with its question, no other text is an answer, and
// what is granted is done.
func (w *world) granted(m more) {
	asked := w.spawn(m.id, "[[bash: touch granted.txt]]")
	if asked.Status != api.NeedsYou || asked.Dialog == nil || asked.Dialog.Kind != api.DialogPermission || asked.Dialog.Question == "" || asked.Prompt == "" {
		w.t.Fatalf("got %+v, want needs-you", asked)
	}
	w.refused(api.NeedsAnswer, asked.Target, "please also add tests")
	if w.has("granted.txt") {
		w.t.Fatal("a refused text was an answer")
	}
	watch := w.watch()
	w.keys(asked.Target, m.grant)
	watch.until(asked.Target, api.Done)
	if !w.has("granted.txt") {
		w.t.Error("granted, but the command did not run")
	}
	w.closes(asked.Target)
}

// denied: what is refused is not done, and the session takes the next prompt.
func (w *world) denied(m more) {
	asked := w.spawn(m.id, "[[bash: touch denied.txt]]")
	if asked.Status != api.NeedsYou {
		w.t.Fatalf("got %+v, want needs-you", asked)
	}
	watch := w.watch()
	w.keys(asked.Target, m.deny)
	watch.soon(asked.Target, m.rests)
	if w.has("denied.txt") {
		w.t.Error("refused, and the command ran all the same")
	}
	if next := w.send(asked.Target, "what now?"); next.Status != api.Done {
		w.t.Errorf("after the refusal: %+v", next)
	}
	w.closes(asked.Target)
}

// interrupted: a turn that is interrupted is over at once.
func (w *world) interrupted(m more) {
	var started api.StartReply
	w.sessions(&started, 0, "spawn", "--agent", m.id, "--", "[[hold: "+m.id+"]]")
	w.held(m.id)
	watch := w.watch()
	watch.until(started.Target, api.Working)
	w.keys(started.Target, m.interrupt)
	watch.soon(started.Target, m.ends)
	w.hungUp(m.id)
	w.closes(started.Target)
}

// long: not a byte of 10 KB is lost, and no newline in it submits.
func (w *world) long(agent string) {
	first := w.spawn(agent, "begin")
	long := strings.Repeat("0123456789abcde\n", 640) + "the end"
	if r := w.send(first.Target, long); r.Status != api.Done {
		w.t.Errorf("got %+v", r)
	}
	w.asked(long)
	w.closes(first.Target)
}

// anew: the session goes over to the conversation that the agent has begun.
func (w *world) anew(m more) {
	first := w.spawn(m.id, "remember the walnut")
	before := w.row(first.Target)
	var sent api.SendReply
	w.sessions(&sent, 0, "send", first.Target, "--", m.anew)
	if next := w.send(first.Target, "and the almond"); next.Status != api.Done {
		w.t.Errorf("got %+v", next)
	}
	after := w.row(first.Target)
	if after.Conversation == "" || after.Conversation == before.Conversation || !slices.Contains(after.Earlier, before.Conversation) {
		w.t.Errorf("bound to %q, was %q, earlier ones %q", after.Conversation, before.Conversation, after.Earlier)
	}
	if told := w.asked("and the almond").Said; slices.Contains(told, "remember the walnut") {
		w.t.Errorf("the model was told %.300q", told)
	}
	w.closes(first.Target)
}

// killedAndResumed: an agent that was killed goes on where it was, and its model is told
// what was said before.
func (w *world) killedAndResumed(m more) {
	first := w.spawn(m.id, "remember the hazelnut")
	before := w.row(first.Target)
	w.kills(first.Target)
	var resumed api.StartReply
	w.sessions(&resumed, 0, "resume", first.Target)
	if resumed.Target != first.Target || !resumed.Resumed || resumed.Fresh {
		w.t.Errorf("got %+v, want the same conversation", resumed)
	}
	if r := w.send(first.Target, "what did I say?"); r.Status != api.Done {
		w.t.Errorf("got %+v, want done", r)
	}
	if told := w.asked("what did I say?").Said; !slices.Contains(told, "remember the hazelnut") {
		w.t.Errorf("the model was told %.300q", told)
	}
	if after := w.row(first.Target); after.Conversation == "" || after.Conversation != before.Conversation {
		w.t.Errorf("resumed as %q, was %q", after.Conversation, before.Conversation)
	}
	w.closes(first.Target)
}

// kills ends a session's agent with SIGKILL, and the session: a shell has taken its place.
func (w *world) kills(target string) {
	w.t.Helper()
	watch := w.watch()
	if err := syscall.Kill(w.row(target).PID, syscall.SIGKILL); err != nil {
		w.t.Fatal(err)
	}
	watch.until(target, api.Idle)
	w.closes(target)
}

// closes closes a session.
func (w *world) closes(target string) {
	w.t.Helper()
	var closed api.CloseReply
	w.sessions(&closed, 0, "close", target)
}

// unknown: a conversation that is nowhere is said to be, by termio where it can look and
// else by the agent, nothing else is taken for it, and its id is kept.
func (w *world) unknown(m more) {
	var started api.StartReply
	w.sessions(&started, 0, "spawn", "--agent", m.id, "--resume", m.unknown)
	if started.Fresh {
		row := w.row(started.Target)
		if started.Missing != m.unknown || !slices.Contains(row.Earlier, m.unknown) || row.Conversation == m.unknown {
			w.t.Errorf("got %+v, listed as %+v, want a fresh start that says so", started, row)
		}
		w.closes(started.Target)
		return
	}
	if m.nowhere == "" {
		w.t.Fatalf("got %+v, want a fresh start", started)
	}
	w.shows(started.Target, m.nowhere)
	watch := w.watch()
	for row := w.row(started.Target); row.AgentID == m.id; row = w.row(started.Target) {
		watch.until(started.Target, api.Idle) // a shell takes the agent's place
	}
	w.closes(started.Target)
	if row := w.row(started.Target); row.Conversation != m.unknown {
		w.t.Errorf("listed as %+v, want conversation %s kept", row, m.unknown)
	}
	var again api.StartReply
	w.sessions(&again, 0, "resume", started.Target)
	w.shows(started.Target, m.nowhere)
	w.closes(started.Target)
}

// twoAtOnce: two sessions in one folder, at work at once, are never mixed up.
func (w *world) twoAtOnce(m more) {
	watch := w.watch()
	var one, two api.StartReply
	w.sessions(&one, 0, "spawn", "--agent", m.id, "--", "remember the pecan")
	w.sessions(&two, 0, "spawn", "--agent", m.id, "--", "remember the cashew")
	watch.untilAll(api.Done, one.Target, two.Target)
	for _, s := range []struct{ target, word, other string }{{one.Target, "pecan", "cashew"}, {two.Target, "cashew", "pecan"}} {
		if r := w.send(s.target, "and then "+s.word); r.Status != api.Done {
			w.t.Errorf("got %+v", r)
		}
		if told := w.asked("and then " + s.word).Said; !slices.Contains(told, "remember the "+s.word) || slices.Contains(told, "remember the "+s.other) {
			w.t.Errorf("the model was told %.300q", told)
		}
	}
	if a, b := w.row(one.Target), w.row(two.Target); a.Conversation == "" || b.Conversation == "" || a.Conversation == b.Conversation {
		w.t.Errorf("bound to %q and %q", a.Conversation, b.Conversation)
	}
	w.closes(one.Target)
	w.closes(two.Target)
}

// copilotSaid are the words in a line of Copilot's events.
func copilotSaid(line []byte) []string {
	var l struct {
		Type string
		Data struct{ Content string }
	}
	if json.Unmarshal(line, &l) != nil || l.Type != "assistant.message" {
		return nil
	}
	return []string{l.Data.Content}
}

// qwenSaid are the words in a line of Qwen Code's chat.
func qwenSaid(line []byte) (said []string) {
	var l struct {
		Type    string
		Message struct{ Parts []struct{ Text string } }
	}
	if json.Unmarshal(line, &l) != nil || l.Type != "assistant" {
		return nil
	}
	for _, p := range l.Message.Parts {
		said = append(said, p.Text)
	}
	return said
}
