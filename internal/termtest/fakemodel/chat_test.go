package fakemodel_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"termio/internal/termtest/fakemodel"
)

// dataEvents are the payloads of a stream without event names.
func dataEvents(t *testing.T, body io.Reader) []string {
	t.Helper()
	var all []string
	lines := bufio.NewScanner(body)
	for lines.Scan() {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			all = append(all, data)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// readChat puts a streamed reply of the Chat Completions API together.
func readChat(t *testing.T, body io.Reader) (r reply) {
	t.Helper()
	events := dataEvents(t, body)
	if len(events) == 0 || events[len(events)-1] != "[DONE]" {
		t.Fatalf("no end in %q", events)
	}
	usage := false
	for _, data := range events[:len(events)-1] {
		var e struct {
			Object  string
			Choices []struct {
				Delta struct {
					Content string
					Calls   []struct {
						Function struct{ Name, Arguments string }
					} `json:"tool_calls"`
				}
				Finish string `json:"finish_reason"`
			}
			Usage map[string]int
		}
		if err := json.Unmarshal([]byte(data), &e); err != nil || e.Object != "chat.completion.chunk" {
			t.Fatalf("%q: %v", data, err)
		}
		usage = usage || e.Usage["total_tokens"] > 0
		for _, c := range e.Choices {
			r.text += c.Delta.Content
			for _, call := range c.Delta.Calls {
				r.tool, r.input = call.Function.Name, json.RawMessage(call.Function.Arguments)
			}
			r.stop += c.Finish
		}
	}
	if !usage {
		t.Error("the stream does not say what it cost")
	}
	return r
}

// readGemini puts a streamed reply of Gemini's API together.
func readGemini(t *testing.T, body io.Reader) (r reply) {
	t.Helper()
	for _, data := range dataEvents(t, body) {
		var e struct {
			Candidates []struct {
				Content struct {
					Parts []struct {
						Text string
						Call *struct {
							Name string
							Args json.RawMessage
						} `json:"functionCall"`
					}
				}
				Finish string `json:"finishReason"`
			}
		}
		if err := json.Unmarshal([]byte(data), &e); err != nil || len(e.Candidates) != 1 {
			t.Fatalf("%q: %v", data, err)
		}
		for _, p := range e.Candidates[0].Content.Parts {
			r.text += p.Text
			if p.Call != nil {
				r.tool, r.input = p.Call.Name, p.Call.Args
			}
		}
		r.stop += e.Candidates[0].Finish
	}
	return r
}

// A spoken thing: who, and what.
type spoken struct{ role, text string }

// chatRequest is a request to the Chat Completions API, with a real agent's tools.
func chatRequest(said []spoken) map[string]any {
	messages := []any{map[string]any{"role": "system", "content": "You are an agent."}}
	for _, s := range said {
		message := map[string]any{"role": s.role, "content": s.text}
		if s.role == "user" {
			message["content"] = []any{map[string]any{"type": "text", "text": s.text}}
		}
		messages = append(messages, message)
	}
	tool := map[string]any{"type": "function", "function": map[string]any{"name": "bash"}}
	return map[string]any{"model": "fake-model", "stream": true, "messages": messages, "tools": []any{tool}}
}

// geminiRequest is the same to Gemini's API.
func geminiRequest(said []spoken) map[string]any {
	contents := []any{map[string]any{"role": "user", "parts": []any{map[string]any{"text": "<session_context>\nToday."}}}}
	for _, s := range said {
		part := map[string]any{"text": s.text}
		if s.role == "tool" {
			part = map[string]any{"functionResponse": map[string]any{"name": "run_shell_command", "response": map[string]any{"output": s.text}}}
		}
		contents = append(contents, map[string]any{"role": "user", "parts": []any{part}})
	}
	tools := map[string]any{"functionDeclarations": []any{map[string]any{"name": "run_shell_command"}}}
	return map[string]any{"contents": contents, "tools": []any{tools}}
}

// The same prompts have the same answers over both APIs.
func TestChatAndGemini(t *testing.T) {
	apis := []struct {
		name, path, tool, input, stop, called string
		request                               func([]spoken) map[string]any
		read                                  func(*testing.T, io.Reader) reply
	}{
		{
			"chat", "/v1/chat/completions", "bash", `{"command":"touch x","description":"Run the command of the prompt"}`,
			"stop", "tool_calls", chatRequest, readChat,
		},
		{
			"gemini", "/v1beta/models/fake-model:streamGenerateContent?alt=sse", "run_shell_command",
			`{"command":"touch x","description":"Run the command of the prompt","is_background":false}`,
			"STOP", "STOP", geminiRequest, readGemini,
		},
	}
	for _, a := range apis {
		t.Run(a.name, func(t *testing.T) {
			s := fakemodel.New(t)
			ask := func(said ...spoken) reply {
				return a.read(t, post(t.Context(), t, s, a.path, a.request(said)).Body)
			}
			if r := ask(spoken{"user", "hello there"}); r.text != "You said: hello there" || r.stop != a.stop || r.tool != "" {
				t.Errorf("a plain prompt: %+v", r)
			}
			r := ask(spoken{"user", "[[bash: touch x]]"})
			if r.tool != a.tool || string(r.input) != a.input || r.stop != a.called {
				t.Errorf("a command: %+v %s", r, r.input)
			}
			if r := ask(spoken{"user", "[[bash: touch x]]"}, spoken{"tool", "ok"}); r.text != "The tool answered. Done." {
				t.Errorf("after a tool: %+v", r)
			}
			last := s.Requests()[2]
			if last.Prompt != "" || !strings.Contains(last.ToolResult, "ok") || !slices.Equal(last.Said, []string{"[[bash: touch x]]"}) || last.Model != "fake-model" || !last.Stream {
				t.Errorf("recorded as %+v", last)
			}
			if res := post(t.Context(), t, s, a.path, a.request([]spoken{{"user", "[[error: 429]]"}})); res.StatusCode != http.StatusTooManyRequests {
				t.Errorf("status %d", res.StatusCode)
			}
			held := make(chan reply)
			go func() { held <- ask(spoken{"user", "[[hold: a]]"}) }()
			if err := s.Held(t.Context(), "a", 1); err != nil {
				t.Fatal(err)
			}
			s.Release("a")
			if r := <-held; r.text != "held, then released" || r.stop != a.stop {
				t.Errorf("released: %+v", r)
			}
		})
	}
}
