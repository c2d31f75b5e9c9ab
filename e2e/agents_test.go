package e2e_test

import (
	"bufio"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"termio/internal/api"
)

// A kind is one agent, as far as the tests that all of them pass have to know it.
type kind struct {
	name string // as subtests are called
	id   string // in the catalogue
	// install makes a world in which the agent has been used before: its first-run
	// questions are answered, the project is trusted, and it asks before it acts.
	install func(t *testing.T) *world
	// setUp has termio write its hooks into the agent's files, as a new user would.
	setUp func(w *world)
	// said are the agent's words in a line of its transcript.
	said func(line []byte) []string
	// permission is what it asks before it runs a command, deny the key that refuses.
	permission string
	// config is the agent's folder in the home, with moved the variable that moves it, and
	// beside what else moves with it.
	config, moved string
	beside        []string
	// own is how a text of the person's own comes back as the answer to a question.
	own string
}

// kinds are the agents that all tests of this file drive.
var kinds = []kind{
	{
		name: "Claude Code", id: claude, install: newClaude, setUp: (*world).setUp, said: claudeSaid,
		config: ".claude", moved: "CLAUDE_CONFIG_DIR", beside: []string{".claude.json"},
		permission: "Do you want to proceed?", own: `"="green, as the grass"`,
	},
	{
		name: "Codex", id: codex, install: newCodex, setUp: (*world).setUpCodex, said: codexSaid,
		config: ".codex", moved: "CODEX_HOME",
		permission: "Would you like to run the following command?", own: "user_note: green, as the grass",
	},
}

// eachAgent runs a test with every agent, with termio's hooks.
func eachAgent(t *testing.T, test func(t *testing.T, w *world, k kind)) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			w := k.install(t)
			k.setUp(w)
			test(t, w, k)
		})
	}
}

// said is what the agent said in lines cursor+1..cursor_end of the transcript.
func (w *world) said(r api.WaitReply, words func(line []byte) []string) string {
	w.t.Helper()
	if r.Transcript == "" || r.Cursor == nil || r.CursorEnd == nil {
		w.t.Fatalf("the reply names no lines of a transcript: %+v", r)
	}
	f, err := os.Open(r.Transcript)
	if err != nil {
		w.t.Fatal(err)
	}
	defer f.Close()
	var said []string
	lines := bufio.NewReader(f)
	for n := int64(1); n <= *r.CursorEnd; n++ {
		data, err := lines.ReadBytes('\n')
		if err != nil {
			w.t.Fatalf("line %d of %d: %v", n, *r.CursorEnd, err)
		}
		if n > *r.Cursor {
			said = append(said, words(data)...)
		}
	}
	return strings.Join(said, "\n")
}

// resumes kills the agent of a session in which the walnut was mentioned and resumes it:
// the same conversation goes on under the same link, and the model is told what was said
// before.
func (w *world) resumes(target, transcript string, words func(line []byte) []string) {
	w.t.Helper()
	before := w.row(target)
	w.kills(target)
	if row := w.row(target); row.Status != api.Closed {
		w.t.Fatalf("listed as %+v, want closed", row)
	}
	var resumed api.StartReply
	w.sessions(&resumed, 0, "resume", target)
	if resumed.Target != target || !resumed.Resumed || resumed.Fresh {
		w.t.Errorf("got %+v, want the same link and conversation", resumed)
	}
	again := w.send(target, "what did I say?")
	if got := w.said(again, words); again.Status != api.Done || again.Transcript != transcript || got != "You said: what did I say?" {
		w.t.Errorf("got %+v, which says %q, want done in %s", again, got, transcript)
	}
	after := w.asked("what did I say?")
	if !slices.Contains(after.Said, "remember the walnut") || after.Conversation == "" || after.Conversation != before.Conversation {
		w.t.Errorf("the model was told %q in conversation %s, was %s", after.Said, after.Conversation, before.Conversation)
	}
}

// claudeSaid are the words in a line of Claude Code's transcript.
func claudeSaid(line []byte) (said []string) {
	var l struct {
		Type    string
		Message struct{ Content json.RawMessage }
	}
	var blocks []struct{ Text string }
	if json.Unmarshal(line, &l) != nil || l.Type != "assistant" || json.Unmarshal(l.Message.Content, &blocks) != nil {
		return nil
	}
	for _, b := range blocks {
		said = append(said, b.Text)
	}
	return said
}

// codexSaid are the words in a line of Codex's rollout.
func codexSaid(line []byte) (said []string) {
	var l struct {
		Type    string
		Payload struct {
			Type, Role string
			Content    []struct{ Text string }
		}
	}
	if json.Unmarshal(line, &l) != nil || l.Type != "response_item" || l.Payload.Type != "message" || l.Payload.Role != "assistant" {
		return nil
	}
	for _, c := range l.Payload.Content {
		said = append(said, c.Text)
	}
	return said
}
