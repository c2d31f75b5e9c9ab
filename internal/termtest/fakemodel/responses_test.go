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

// said makes an item of a request: words in the person's name.
func said(text string) map[string]any {
	return map[string]any{"type": "message", "role": "user", "content": []any{map[string]any{"type": "input_text", "text": text}}}
}

// responsesRequest makes a request's body; the tools are those of a real agent.
func responsesRequest(items ...any) map[string]any {
	function := func(name string) map[string]any { return map[string]any{"type": "function", "name": name} }
	return map[string]any{
		"model": "fake-model", "stream": true, "prompt_cache_key": "conversation-1", "input": items,
		"tools": []any{
			function("exec_command"), function("request_user_input"),
			map[string]any{"type": "namespace", "name": "agents", "tools": []any{function("spawn_agent")}},
		},
	}
}

// readResponse puts a streamed reply together, holding it to the order of events that
// a real client insists on.
func readResponse(t *testing.T, body io.Reader) reply {
	t.Helper()
	var r reply
	var kinds []string
	lines := bufio.NewScanner(body)
	for number := 0; lines.Scan(); {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var e struct {
			Type   string `json:"type"`
			Number int    `json:"sequence_number"`
			Delta  string `json:"delta"`
			Item   struct {
				Type, Name, Namespace, Arguments string
			}
			Response struct{ Status string }
		}
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			t.Fatalf("%q: %v", data, err)
		}
		if e.Number != number {
			t.Errorf("event %d has the number %d", number, e.Number)
		}
		number++
		if len(kinds) == 0 || kinds[len(kinds)-1] != e.Type {
			kinds = append(kinds, strings.TrimPrefix(e.Type, "response."))
		}
		switch e.Type {
		case "response.output_text.delta":
			r.text += e.Delta
		case "response.output_item.done":
			if e.Item.Type == "function_call" {
				r.tool, r.input = strings.TrimPrefix(e.Item.Namespace+"."+e.Item.Name, "."), json.RawMessage(e.Item.Arguments)
			}
		case "response.completed":
			r.stop = e.Response.Status
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	want := []string{"created", "output_item.added", "output_text.delta", "output_item.done"}
	if r.tool != "" {
		want = append(want, "output_item.added", "function_call_arguments.delta", "output_item.done")
	}
	if want = append(want, "completed"); !slices.Equal(slices.Compact(kinds), want) {
		t.Errorf("events %v, want %v", kinds, want)
	}
	return r
}

func TestResponses(t *testing.T) {
	s := fakemodel.New(t)
	result := map[string]any{"type": "function_call_output", "call_id": "c", "output": "exit 0"}
	inserted := said("<environment_context>\n  <cwd>/p</cwd>\n</environment_context>")
	for _, tt := range []struct {
		name  string
		items []any
		want  reply
	}{
		{"a plain prompt", []any{inserted, said("hello there")}, reply{text: "You said: hello there", stop: "completed"}},
		{"what the agent inserts is no prompt", []any{said("first"), inserted}, reply{text: "You said: first", stop: "completed"}},
		{"a command", []any{said("[[bash: touch x]]")}, reply{
			text: "I will use exec_command.", stop: "completed", tool: "exec_command",
			input: json.RawMessage(`{"cmd":"touch x","justification":"Run the command of the prompt","sandbox_permissions":"require_escalated"}`),
		}},
		{"a tool of a group", []any{said("[[agent: help]]")}, reply{
			text: "I will use spawn_agent.", stop: "completed", tool: "agents.spawn_agent", input: json.RawMessage(`{"message":"help"}`),
		}},
		{"after a tool", []any{said("[[bash: touch x]]"), result}, reply{text: "The tool answered. Done.", stop: "completed"}},
		{"a prompt after a tool", []any{said("[[bash: touch x]]"), result, said("next")}, reply{text: "You said: next", stop: "completed"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := readResponse(t, post(t.Context(), t, s, "/v1/responses", responsesRequest(tt.items...)).Body)
			if got.text != tt.want.text || got.tool != tt.want.tool || got.stop != tt.want.stop || string(got.input) != string(tt.want.input) {
				t.Errorf("got %+v %s, want %+v %s", got, got.input, tt.want, tt.want.input)
			}
		})
	}
	requests := s.Requests()
	last := requests[len(requests)-1]
	if last.Conversation != "conversation-1" || last.Prompt != "next" || !slices.Equal(last.Said, []string{"[[bash: touch x]]", "next"}) || !slices.Contains(last.Tools, "spawn_agent") {
		t.Errorf("recorded as %+v", last)
	}
	if after := requests[len(requests)-2]; after.Prompt != "" || after.ToolResult != "exit 0" {
		t.Errorf("recorded as %+v", after)
	}
}

func TestResponsesShaped(t *testing.T) {
	s := fakemodel.New(t)
	body := responsesRequest(said("Make a title."))
	body["text"] = map[string]any{"format": map[string]any{
		"type": "json_schema", "schema": map[string]any{"type": "object", "properties": map[string]any{"title": map[string]any{"type": "string"}}},
	}}
	got := readResponse(t, post(t.Context(), t, s, "/v1/responses", body).Body)
	if got.text != `{"title":"A title"}` || !s.Requests()[0].Shaped {
		t.Errorf("got %+v", got)
	}
}

func TestResponsesError(t *testing.T) {
	s := fakemodel.New(t)
	if res := post(t.Context(), t, s, "/v1/responses", responsesRequest(said("[[error: 429]]"))); res.StatusCode != http.StatusTooManyRequests {
		t.Errorf("status %d", res.StatusCode)
	}
}
