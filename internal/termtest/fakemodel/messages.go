package fakemodel

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"time"
)

// maxBody bounds a request. An agent's first one holds its whole system prompt and
// every tool, about 150 KB; pictures come on top.
const maxBody = 64 << 20

// messagesBody is what the server reads of a request to the Messages API.
type messagesBody struct {
	Model    string `json:"model"`
	Stream   bool   `json:"stream"`
	Messages []struct {
		Role    string  `json:"role"`
		Content content `json:"content"`
	} `json:"messages"`
	Tools []struct {
		Name string `json:"name"`
	} `json:"tools"`
	OutputConfig struct {
		Format *format `json:"format"`
	} `json:"output_config"`
	OutputFormat *format `json:"output_format"` // the parameter's older place
}

// format asks for a reply of a certain shape.
type format struct {
	Type   string          `json:"type"`
	Schema json.RawMessage `json:"schema"`
}

// content is a message's content: a list of blocks, or a string that stands for one.
type content []block

// block is one part of a message.
type block struct {
	Type    string  `json:"type"`
	Text    string  `json:"text"`
	Content content `json:"content"` // of a tool's result
}

// UnmarshalJSON takes both forms.
func (c *content) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		var text string
		if err := json.Unmarshal(data, &text); err != nil {
			return err
		}
		*c = content{{Type: "text", Text: text}}
		return nil
	}
	return json.Unmarshal(data, (*[]block)(c))
}

// added matches what agents put around a person's words.
var added = regexp.MustCompile(`(?s)<system-reminder>.*?</system-reminder>|<current_datetime>.*?</current_datetime>`)

// said are the texts of the person in a message, and those of the tools that
// answered. A message holds several texts when a turn before it came to nothing, or
// when the person typed while the agent worked.
func (c content) said() (person, tools []string) {
	for _, b := range c {
		switch b.Type {
		case "text":
			if text := strings.TrimSpace(added.ReplaceAllString(b.Text, "")); text != "" {
				person = append(person, text)
			}
		case "tool_result":
			inner, _ := b.Content.said()
			tools = append(tools, "result: "+strings.Join(inner, "\n"))
		}
	}
	return person, tools
}

// read decodes and records a request. A request that can't be read is answered and
// reported as false.
func (s *Server) read(w http.ResponseWriter, r *http.Request) (Request, messagesBody, bool) {
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var body messagesBody
	if err == nil {
		err = json.Unmarshal(raw, &body)
	}
	if err != nil {
		writeError(w, http.StatusBadRequest, fmt.Sprintf("unreadable request: %v", err))
		return Request{}, body, false
	}
	req := Request{
		Path:         r.URL.Path,
		Conversation: r.Header.Get("X-Claude-Code-Session-Id"),
		Model:        body.Model,
		Stream:       body.Stream,
		Shaped:       body.shape() != nil,
		Body:         raw,
	}
	for _, t := range body.Tools {
		req.Tools = append(req.Tools, t.Name)
	}
	for _, m := range body.Messages {
		// Agents put messages of the system between those of the person, also
		// after the last one.
		if m.Role != "user" {
			continue
		}
		person, tools := m.Content.said()
		req.Prompt, req.ToolResult = "", strings.Join(tools, "\n")
		if len(person) > 0 {
			req.Prompt = person[len(person)-1]
		}
		req.Said = append(req.Said, person...)
	}
	s.record(req)
	return req, body, true
}

// shape is the schema that the reply must follow, nil for a plain reply.
func (b messagesBody) shape() json.RawMessage {
	for _, f := range []*format{b.OutputConfig.Format, b.OutputFormat} {
		if schema := f.wanted(); schema != nil {
			return schema
		}
	}
	return nil
}

// messages answers POST /v1/messages.
func (s *Server) messages(w http.ResponseWriter, r *http.Request) {
	req, body, ok := s.read(w, r)
	if !ok {
		return
	}
	rep := answer(req)
	if schema := body.shape(); schema != nil {
		rep = reply{text: shaped(schema)}
	}
	if rep.status != 0 {
		writeError(w, rep.status, "asked for by the prompt")
		return
	}
	m := message{
		ID: s.id("msg"), Type: "message", Role: "assistant", Model: req.Model,
		Content: []any{}, Usage: usage{InputTokens: 100, OutputTokens: 1},
	}
	if rep.tool != "" {
		rep.input = toolUse{Type: "tool_use", ID: s.id("toolu"), Name: rep.tool, Input: rep.input}
	}
	if req.Stream {
		s.stream(w, r, m, rep)
		return
	}
	if rep.hold != "" && !s.wait(r.Context(), rep.hold) {
		return
	}
	if !pause(r.Context(), rep.pace) {
		return
	}
	m.Content = append(m.Content, textBlock{Type: "text", Text: rep.text})
	if rep.tool != "" {
		m.Content = append(m.Content, rep.input)
	}
	stop := rep.stopReason()
	m.StopReason = &stop
	writeJSON(w, http.StatusOK, m)
}

// message is a reply of the API.
type message struct {
	ID           string  `json:"id"`
	Type         string  `json:"type"`
	Role         string  `json:"role"`
	Model        string  `json:"model"`
	Content      []any   `json:"content"`
	StopReason   *string `json:"stop_reason"`
	StopSequence *string `json:"stop_sequence"`
	Usage        usage   `json:"usage"`
}

// usage are the tokens a reply is said to have cost.
type usage struct {
	InputTokens              int `json:"input_tokens"`
	CacheCreationInputTokens int `json:"cache_creation_input_tokens"`
	CacheReadInputTokens     int `json:"cache_read_input_tokens"`
	OutputTokens             int `json:"output_tokens"`
}

// textBlock and toolUse are the parts of a reply.
type textBlock struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type toolUse struct {
	Type  string `json:"type"`
	ID    string `json:"id"`
	Name  string `json:"name"`
	Input any    `json:"input"`
}

// stopReason says why a reply ends.
func (r reply) stopReason() string {
	if r.tool != "" {
		return "tool_use"
	}
	return "end_turn"
}

// stream writes a reply as server-sent events: the message, each block in pieces,
// the end. It stops where the client hangs up.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, m message, rep reply) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Request-Id", s.id("req"))
	events := eventStream{w: w}
	events.send("message_start", map[string]any{"message": m})
	if rep.silent && !s.wait(r.Context(), rep.hold) {
		return
	}
	events.send("content_block_start", map[string]any{"index": 0, "content_block": textBlock{Type: "text"}})
	pieces := rep.pieces()
	for i, piece := range pieces {
		events.send("content_block_delta", map[string]any{"index": 0, "delta": map[string]any{"type": "text_delta", "text": piece}})
		if i == 0 && rep.hold != "" && !rep.silent && !s.wait(r.Context(), rep.hold) {
			return
		}
		if !pause(r.Context(), rep.pace/time.Duration(len(pieces))) {
			return
		}
	}
	events.send("content_block_stop", map[string]any{"index": 0})
	if use, ok := rep.input.(toolUse); ok {
		input, err := json.Marshal(use.Input)
		if err != nil {
			panic("fakemodel: a tool's input that is no JSON: " + err.Error())
		}
		use.Input = map[string]any{}
		events.send("content_block_start", map[string]any{"index": 1, "content_block": use})
		events.send("content_block_delta", map[string]any{"index": 1, "delta": map[string]any{"type": "input_json_delta", "partial_json": string(input)}})
		events.send("content_block_stop", map[string]any{"index": 1})
	}
	events.send("message_delta", map[string]any{
		"delta": map[string]any{"stop_reason": rep.stopReason(), "stop_sequence": nil},
		"usage": map[string]any{"output_tokens": 20},
	})
	events.send("message_stop", map[string]any{})
}

// eventStream writes server-sent events.
type eventStream struct {
	w        http.ResponseWriter
	numbered bool // each event has a number
	sent     int
}

// send writes one event at once. A client that has gone is noticed by its context.
func (e *eventStream) send(kind string, fields map[string]any) {
	fields["type"] = kind
	if e.numbered {
		fields["sequence_number"] = e.sent
	}
	e.sent++
	data, err := json.Marshal(fields)
	if err != nil {
		panic("fakemodel: a reply that is no JSON: " + err.Error()) // only values of this package
	}
	_, _ = fmt.Fprintf(e.w, "event: %s\ndata: %s\n\n", kind, data)
	_ = http.NewResponseController(e.w).Flush()
}

// pieces cuts the text where a stream would: in its words when they matter, once
// after the first word otherwise.
func (r reply) pieces() []string {
	if r.pace > 0 {
		return strings.SplitAfter(r.text, " ")
	}
	first, rest, cut := strings.Cut(r.text, " ")
	if !cut {
		return []string{r.text}
	}
	return []string{first + " ", rest}
}

// pause lets a part of a slow reply take its time; false when the client has gone.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// shaped makes a JSON text that follows a schema, from its first choices.
func shaped(schema json.RawMessage) string {
	data, err := json.Marshal(fromSchema(schema))
	if err != nil {
		panic("fakemodel: a value that is no JSON: " + err.Error())
	}
	return string(data)
}

// fromSchema makes a value of a schema; what it doesn't understand becomes a string.
func fromSchema(schema json.RawMessage) any {
	var s struct {
		Type       any                        `json:"type"` // a name, or a list of them
		Const      any                        `json:"const"`
		Enum       []any                      `json:"enum"`
		AnyOf      []json.RawMessage          `json:"anyOf"`
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return "A title"
	}
	if list, ok := s.Type.([]any); ok && len(list) > 0 {
		s.Type = list[0]
	}
	switch {
	case s.Const != nil:
		return s.Const
	case len(s.Enum) > 0:
		return s.Enum[0]
	case len(s.AnyOf) > 0:
		return fromSchema(s.AnyOf[0])
	}
	switch s.Type {
	case "object":
		object := map[string]any{}
		for name, property := range s.Properties {
			object[name] = fromSchema(property)
		}
		return object
	case "array":
		return []any{}
	case "boolean":
		return false
	case "number", "integer":
		return 0
	case "null":
		return nil
	}
	return "A title"
}

// countTokens answers POST /v1/messages/count_tokens.
func (s *Server) countTokens(w http.ResponseWriter, r *http.Request) {
	if _, _, ok := s.read(w, r); ok {
		writeJSON(w, http.StatusOK, map[string]any{"input_tokens": 100})
	}
}

// models answers GET /v1/models.
func (s *Server) models(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]any{"data": []any{map[string]any{"id": "fake-model", "type": "model"}}, "has_more": false})
}

// unknown records and refuses what is no part of the API. A HEAD of anything only
// asks whether somebody is there.
func (s *Server) unknown(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodHead {
		return
	}
	s.record(Request{Path: r.Method + " " + r.URL.Path})
	writeError(w, http.StatusNotFound, "no such route: "+r.Method+" "+r.URL.Path)
}

// writeError answers with an error of the API's form.
func writeError(w http.ResponseWriter, status int, text string) {
	kind := "api_error"
	switch status {
	case http.StatusBadRequest:
		kind = "invalid_request_error"
	case http.StatusUnauthorized:
		kind = "authentication_error"
	case http.StatusNotFound:
		kind = "not_found_error"
	case http.StatusTooManyRequests:
		kind = "rate_limit_error"
	case 529:
		kind = "overloaded_error"
	}
	writeJSON(w, status, map[string]any{"type": "error", "error": map[string]any{"type": kind, "message": text}})
}

// writeJSON answers with a value. A client that has gone is nobody's error.
func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}
