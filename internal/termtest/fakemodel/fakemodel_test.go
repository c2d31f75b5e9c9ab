package fakemodel_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"termio/internal/termtest/fakemodel"
)

// deadline bounds every wait: long enough for a loaded machine, never reached.
const deadline = time.Minute

// post sends a body to the Messages API and returns the response.
func post(ctx context.Context, t *testing.T, s *fakemodel.Server, path string, body any) *http.Response {
	t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL()+path, bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Claude-Code-Session-Id", "conversation-1")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { res.Body.Close() })
	return res
}

// message is a message of a request.
type message struct {
	Role    string `json:"role"`
	Content any    `json:"content"`
}

// request makes a request's body; the tools are those of a real agent.
func request(stream bool, messages ...message) map[string]any {
	tool := func(name string) map[string]any { return map[string]any{"name": name} }
	return map[string]any{
		"model": "fake-model", "stream": stream, "messages": messages,
		"tools": []any{tool("Bash"), tool("Write"), tool("AskUserQuestion"), tool("Agent")},
	}
}

// block is a content block of a reply.
type block struct {
	Type  string          `json:"type"`
	Text  string          `json:"text"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

// reply is what an agent would take from a reply, however it came.
type reply struct {
	text, tool, stop string
	input            json.RawMessage
}

// readWhole reads a reply that was not streamed.
func readWhole(t *testing.T, res *http.Response) reply {
	t.Helper()
	var m struct {
		Content    []block `json:"content"`
		StopReason string  `json:"stop_reason"`
	}
	if err := json.NewDecoder(res.Body).Decode(&m); err != nil {
		t.Fatal(err)
	}
	r := reply{stop: m.StopReason}
	for _, b := range m.Content {
		r.text += b.Text
		if b.Type == "tool_use" {
			r.tool, r.input = b.Name, b.Input
		}
	}
	return r
}

// readStream puts a streamed reply together, holding it to the order of events that
// a real client insists on.
func readStream(t *testing.T, body io.Reader) reply {
	t.Helper()
	var r reply
	var kinds []string
	lines := bufio.NewScanner(body)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var e struct {
			Type         string `json:"type"`
			ContentBlock block  `json:"content_block"`
			Delta        struct {
				Text        string `json:"text"`
				PartialJSON string `json:"partial_json"`
				StopReason  string `json:"stop_reason"`
			} `json:"delta"`
		}
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			t.Fatalf("%q: %v", data, err)
		}
		if len(kinds) == 0 || kinds[len(kinds)-1] != e.Type {
			kinds = append(kinds, e.Type)
		}
		if e.ContentBlock.Type == "tool_use" {
			r.tool = e.ContentBlock.Name
		}
		r.text += e.Delta.Text
		r.input = append(r.input, e.Delta.PartialJSON...)
		if e.Delta.StopReason != "" {
			r.stop = e.Delta.StopReason
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	want := []string{"message_start", "content_block_start", "content_block_delta", "content_block_stop"}
	if r.tool != "" {
		want = append(want, want[1:]...)
	}
	want = append(want, "message_delta", "message_stop")
	if !slices.Equal(kinds, want) {
		t.Errorf("events %v, want %v", kinds, want)
	}
	return r
}

func TestReplies(t *testing.T) {
	result := []any{map[string]any{"type": "tool_result", "tool_use_id": "toolu_1", "content": "ok"}}
	tests := []struct {
		name     string
		messages []message
		want     reply
	}{
		{
			"a prompt is echoed",
			[]message{{"user", "hello there"}},
			reply{text: "You said: hello there", stop: "end_turn"},
		},
		{
			"what the agent adds to a prompt is not the prompt",
			[]message{{"user", []any{
				map[string]any{"type": "text", "text": "<system-reminder>\n[[text: wrong]]\n</system-reminder>"},
				map[string]any{"type": "text", "text": "hello"},
			}}, {"system", "[[text: wrong as well]]"}},
			reply{text: "You said: hello", stop: "end_turn"},
		},
		{
			"after a failed turn the new prompt counts",
			[]message{{"user", []any{
				map[string]any{"type": "text", "text": "[[error: 400]]"},
				map[string]any{"type": "text", "text": "and now?"},
			}}},
			reply{text: "You said: and now?", stop: "end_turn"},
		},
		{
			"words on demand",
			[]message{{"user", "[[text: yes, of course]]"}},
			reply{text: "yes, of course", stop: "end_turn"},
		},
		{
			"lines on demand",
			[]message{{"user", "[[lines: 3]]"}},
			reply{text: "line 1\nline 2\nline 3\n", stop: "end_turn"},
		},
		{
			"a command",
			[]message{{"user", "[[bash: touch x]]"}},
			reply{text: "I will use Bash.", tool: "Bash", stop: "tool_use", input: json.RawMessage(`{"command":"touch x","description":"Run the command of the prompt"}`)},
		},
		{
			"a subagent's prompt carries its own directive",
			[]message{{"user", "[[agent: {{bash: ls}}]]"}},
			reply{text: "I will use Agent.", tool: "Agent", stop: "tool_use", input: json.RawMessage(`{"description":"Do the inner prompt","prompt":"[[bash: ls]]","subagent_type":"general-purpose"}`)},
		},
		{
			"any tool",
			[]message{{"user", `[[tool: Write {"file_path":"a","content":"b"}]]`}},
			reply{text: "I will use Write.", tool: "Write", stop: "tool_use", input: json.RawMessage(`{"file_path":"a","content":"b"}`)},
		},
		{
			"a tool that the agent does not offer",
			[]message{{"user", "[[tool: Fly {}]]"}},
			reply{text: "the agent offers none of [Fly]", stop: "end_turn"},
		},
		{
			"a tool's result ends the turn",
			[]message{{"user", "[[bash: touch x]]"}, {"assistant", "I will use Bash."}, {"user", result}},
			reply{text: "The tool answered. Done.", stop: "end_turn"},
		},
	}
	s := fakemodel.New(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, stream := range []bool{false, true} {
				res := post(t.Context(), t, s, "/v1/messages?beta=true", request(stream, tt.messages...))
				var got reply
				if stream {
					got = readStream(t, res.Body)
				} else {
					got = readWhole(t, res)
				}
				if got.text != tt.want.text || got.tool != tt.want.tool || got.stop != tt.want.stop || string(got.input) != string(tt.want.input) {
					t.Errorf("stream %v:\ngot  %q %s %s %s\nwant %q %s %s %s", stream,
						got.text, got.tool, got.stop, got.input, tt.want.text, tt.want.tool, tt.want.stop, tt.want.input)
				}
			}
		})
	}
}

func TestAskHasOptions(t *testing.T) {
	s := fakemodel.New(t)
	got := readWhole(t, post(t.Context(), t, s, "/v1/messages", request(false, message{"user", "[[ask: Which colour?]]"})))
	var input struct {
		Questions []struct {
			Question string
			Options  []struct{ Label string }
		}
	}
	if err := json.Unmarshal(got.input, &input); err != nil {
		t.Fatal(err)
	}
	if got.tool != "AskUserQuestion" || len(input.Questions) != 1 || input.Questions[0].Question != "Which colour?" || len(input.Questions[0].Options) != 2 {
		t.Errorf("got %s %s", got.tool, got.input)
	}
}

// An agent asks for a title beside the turn; a reply of another shape makes it fail.
func TestShapedReply(t *testing.T) {
	s := fakemodel.New(t)
	body := request(false, message{"user", "[[bash: touch x]]"})
	body["output_config"] = map[string]any{"format": map[string]any{"type": "json_schema", "schema": map[string]any{
		"type": "object", "properties": map[string]any{
			"title": map[string]any{"type": "string"},
			"kind":  map[string]any{"enum": []string{"bug", "feature"}},
			"new":   map[string]any{"type": []string{"boolean", "null"}},
		},
	}}}
	got := readWhole(t, post(t.Context(), t, s, "/v1/messages", body))
	if want := `{"kind":"bug","new":false,"title":"A title"}`; got.text != want || got.stop != "end_turn" {
		t.Errorf("got %q %s, want %q", got.text, got.stop, want)
	}
	if r := s.Requests(); len(r) != 1 || !r[0].Shaped {
		t.Errorf("not recorded as shaped: %+v", r)
	}
}

func TestErrors(t *testing.T) {
	s := fakemodel.New(t)
	for prompt, want := range map[string]int{"[[error: 529]]": 529, "[[error: 400]]": 400} {
		res := post(t.Context(), t, s, "/v1/messages", request(true, message{"user", prompt}))
		var body struct {
			Type  string
			Error struct{ Type string }
		}
		if err := json.NewDecoder(res.Body).Decode(&body); err != nil {
			t.Fatal(err)
		}
		if res.StatusCode != want || body.Type != "error" || body.Error.Type == "" {
			t.Errorf("%s: %d %+v, want %d", prompt, res.StatusCode, body, want)
		}
	}
	if res := post(t.Context(), t, s, "/v1/elsewhere", nil); res.StatusCode != http.StatusNotFound {
		t.Errorf("unknown route: %d", res.StatusCode)
	}
	res := post(t.Context(), t, s, "/v1/messages", "no object")
	if res.StatusCode != http.StatusBadRequest {
		t.Errorf("unreadable request: %d", res.StatusCode)
	}
}

func TestRequestsAreRecorded(t *testing.T) {
	s := fakemodel.New(t)
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	found := make(chan fakemodel.Request, 1)
	go func() {
		defer close(found)
		r, err := s.Await(ctx, func(r fakemodel.Request) bool { return r.Prompt == "second" })
		if err != nil {
			t.Error(err)
			return
		}
		found <- r
	}()
	post(ctx, t, s, "/v1/messages", request(false, message{"user", "first"}))
	post(ctx, t, s, "/v1/messages/count_tokens", request(false, message{"user", "counted"}))
	post(ctx, t, s, "/v1/messages", request(true, message{"user", "first"}, message{"assistant", "You said: first"}, message{"user", "second"}))
	r := <-found
	if r.Conversation != "conversation-1" || r.Path != "/v1/messages" || !r.Stream || !slices.Equal(r.Said, []string{"first", "second"}) || !slices.Contains(r.Tools, "Bash") {
		t.Errorf("got %+v", r)
	}
	if n := len(s.Requests()); n != 3 {
		t.Errorf("%d requests, want 3", n)
	}
}

func TestAwaitTellsWhatWasAsked(t *testing.T) {
	s := fakemodel.New(t)
	post(t.Context(), t, s, "/v1/messages", request(false, message{"user", "something else"}))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Await(ctx, func(fakemodel.Request) bool { return false })
	if err == nil || !strings.Contains(err.Error(), "something else") {
		t.Errorf("error %v does not name what was asked", err)
	}
}

// A held reply has begun, and ends when it is released.
func TestHold(t *testing.T) {
	s := fakemodel.New(t)
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	res := post(ctx, t, s, "/v1/messages", request(true, message{"user", "[[hold: gate]]"}))
	if err := s.Held(ctx, "gate", 1); err != nil {
		t.Fatal(err)
	}
	begun := make([]byte, len("event: message_start"))
	if _, err := io.ReadFull(res.Body, begun); err != nil || string(begun) != "event: message_start" {
		t.Fatalf("a held reply has not begun: %q, %v", begun, err)
	}
	s.Release("gate")
	if got := readStream(t, io.MultiReader(bytes.NewReader(begun), res.Body)); got.text != "held, then released" {
		t.Errorf("got %q", got.text)
	}
}

func TestStall(t *testing.T) {
	s := fakemodel.New(t)
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	res := post(ctx, t, s, "/v1/messages", request(true, message{"user", "[[stall: gate]]"}))
	if err := s.Held(ctx, "gate", 1); err != nil {
		t.Fatal(err)
	}
	s.Release("gate")
	if got := readStream(t, res.Body); got.text != "silent, then released" {
		t.Errorf("got %q", got.text)
	}
}

// An agent that is interrupted hangs up, and a test can tell.
func TestHungUp(t *testing.T) {
	s := fakemodel.New(t)
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	interrupted, interrupt := context.WithCancel(ctx)
	res := post(interrupted, t, s, "/v1/messages", request(true, message{"user", "[[hold: gate]]"}))
	if err := s.Held(ctx, "gate", 1); err != nil {
		t.Fatal(err)
	}
	interrupt()
	if err := s.HungUp(ctx, "gate", 1); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(res.Body); err == nil {
		t.Error("the interrupted reply came to an end")
	}
}

func TestSlowReplyComesInPieces(t *testing.T) {
	s := fakemodel.New(t)
	res := post(t.Context(), t, s, "/v1/messages", request(true, message{"user", "[[slow: 0.2]]"}))
	if got := readStream(t, res.Body); !strings.HasPrefix(got.text, "slow word") || got.stop != "end_turn" {
		t.Errorf("got %+v", got)
	}
}
