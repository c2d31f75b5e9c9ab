package fakemodel

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"time"
)

// responsesBody is what the server reads of a request to the Responses API.
type responsesBody struct {
	Model  string         `json:"model"`
	Stream bool           `json:"stream"`
	Input  []responseItem `json:"input"`
	Tools  []responseTool `json:"tools"`
	Cache  string         `json:"prompt_cache_key"` // Codex: the conversation's id
	Text   struct {
		Format *format `json:"format"`
	} `json:"text"`
}

// responseItem is one thing that was said or done.
type responseItem struct {
	Type    string         `json:"type"` // absent for a message
	Role    string         `json:"role"`
	Content responseText   `json:"content"`
	Output  responseText   `json:"output"` // of a tool's result
	Tools   []responseTool `json:"tools"`  // of an item that offers more tools
}

// responseTool is a tool that the agent offers, or a named group of them.
type responseTool struct {
	Type  string         `json:"type"`
	Name  string         `json:"name"`
	Tools []responseTool `json:"tools"`
}

// responseText are the texts of a message or a result: a list of parts, or a string
// that stands for one.
type responseText []string

// UnmarshalJSON takes both forms.
func (t *responseText) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		var text string
		if err := json.Unmarshal(data, &text); err != nil {
			return err
		}
		*t = responseText{text}
		return nil
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if err := json.Unmarshal(data, &parts); err != nil {
		return err
	}
	for _, p := range parts {
		*t = append(*t, p.Text)
	}
	return nil
}

// inserted matches what Codex tells the model in the person's name.
var inserted = regexp.MustCompile(`(?s)^\s*(?:<(environment_context|user_instructions|turn_aborted|skill|INSTRUCTIONS)\b.*|# AGENTS\.md instructions.*)$`)

// tools are the names of the tools that a request offers, and the groups they are in.
func (b responsesBody) tools() (names []string, groups map[string]string) {
	groups = map[string]string{}
	var add func(list []responseTool, group string)
	add = func(list []responseTool, group string) {
		for _, t := range list {
			if t.Type == "namespace" {
				add(t.Tools, t.Name)
				continue
			}
			names = append(names, t.Name)
			if group != "" {
				groups[t.Name] = group
			}
		}
	}
	add(b.Tools, "")
	for _, i := range b.Input {
		add(i.Tools, "")
	}
	return names, groups
}

// readResponses decodes and records a request. A request that can't be read is
// answered and reported as false.
func (s *Server) readResponses(w http.ResponseWriter, r *http.Request) (req Request, body responsesBody, ok bool) {
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err == nil {
		err = json.Unmarshal(raw, &body)
	}
	if err != nil {
		writeError(w, http.StatusBadRequest, fmt.Sprintf("unreadable request: %v", err))
		return req, body, false
	}
	req = Request{
		Path:         r.URL.Path,
		Conversation: body.Cache,
		Model:        body.Model,
		Stream:       body.Stream,
		Shaped:       body.Text.Format.wanted() != nil,
		Body:         raw,
	}
	req.Tools, _ = body.tools()
	for _, i := range body.Input {
		switch {
		case strings.HasSuffix(i.Type, "_output"):
			req.Prompt, req.ToolResult = "", strings.Join(i.Output, "\n")
		case i.Role == "user":
			for _, text := range i.Content {
				if inserted.MatchString(text) {
					continue
				}
				req.Prompt, req.ToolResult = text, ""
				req.Said = append(req.Said, text)
			}
		}
	}
	s.record(req)
	return req, body, true
}

// wanted is the schema that a reply must follow, nil for a plain one.
func (f *format) wanted() json.RawMessage {
	if f != nil && f.Type == "json_schema" {
		return f.Schema
	}
	return nil
}

// responses answers POST /v1/responses.
func (s *Server) responses(w http.ResponseWriter, r *http.Request) {
	req, body, ok := s.readResponses(w, r)
	if !ok {
		return
	}
	rep := answer(req)
	if schema := body.Text.Format.wanted(); schema != nil {
		rep = reply{text: shaped(schema)}
	}
	if rep.status != 0 {
		writeError(w, rep.status, "asked for by the prompt")
		return
	}
	if !req.Stream {
		writeError(w, http.StatusBadRequest, "only streams are given here")
		return
	}
	_, groups := body.tools()
	s.streamResponse(w, r, req, rep, groups)
}

// outputItem is a part of a reply: words, or the call of a tool.
type outputItem struct {
	Type      string       `json:"type"`
	ID        string       `json:"id"`
	Status    string       `json:"status"`
	Role      string       `json:"role,omitempty"`
	Content   []outputText `json:"content,omitempty"`
	CallID    string       `json:"call_id,omitempty"`
	Name      string       `json:"name,omitempty"`
	Namespace string       `json:"namespace,omitempty"`
	Arguments string       `json:"arguments,omitempty"`
}

// outputText is a text in a reply.
type outputText struct {
	Type        string `json:"type"`
	Text        string `json:"text"`
	Annotations []any  `json:"annotations"`
}

// streamResponse writes a reply as server-sent events: the beginning, each item with
// its pieces, the end with what it cost. It stops where the client hangs up.
func (s *Server) streamResponse(w http.ResponseWriter, r *http.Request, req Request, rep reply, groups map[string]string) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Request-Id", s.id("req"))
	events := eventStream{w: w, numbered: true}
	response := map[string]any{"id": s.id("resp"), "object": "response", "model": req.Model, "status": "in_progress", "output": []any{}}
	events.send("response.created", map[string]any{"response": response})
	if rep.silent && !s.wait(r.Context(), rep.hold) {
		return
	}
	words := outputItem{Type: "message", ID: s.id("msg"), Role: "assistant", Status: "in_progress"}
	events.send("response.output_item.added", map[string]any{"output_index": 0, "item": words})
	part := map[string]any{"item_id": words.ID, "output_index": 0, "content_index": 0}
	pieces := rep.pieces()
	for i, piece := range pieces {
		part["delta"] = piece
		events.send("response.output_text.delta", part)
		if i == 0 && rep.hold != "" && !rep.silent && !s.wait(r.Context(), rep.hold) {
			return
		}
		if !pause(r.Context(), rep.pace/time.Duration(len(pieces))) {
			return
		}
	}
	words.Status, words.Content = "completed", []outputText{{Type: "output_text", Text: rep.text, Annotations: []any{}}}
	events.send("response.output_item.done", map[string]any{"output_index": 0, "item": words})
	output := []any{words}
	if rep.tool != "" {
		input, err := json.Marshal(rep.input)
		if err != nil {
			panic("fakemodel: a tool's input that is no JSON: " + err.Error())
		}
		call := outputItem{
			Type: "function_call", ID: s.id("fc"), CallID: s.id("call"), Status: "in_progress",
			Name: rep.tool, Namespace: groups[rep.tool],
		}
		events.send("response.output_item.added", map[string]any{"output_index": 1, "item": call})
		call.Status, call.Arguments = "completed", string(input)
		events.send("response.function_call_arguments.delta", map[string]any{"item_id": call.ID, "output_index": 1, "delta": call.Arguments})
		events.send("response.output_item.done", map[string]any{"output_index": 1, "item": call})
		output = append(output, call)
	}
	response["status"], response["output"] = "completed", output
	response["usage"] = map[string]any{
		"input_tokens": 100, "input_tokens_details": map[string]any{"cached_tokens": 0},
		"output_tokens": 20, "output_tokens_details": map[string]any{"reasoning_tokens": 0},
		"total_tokens": 120,
	}
	events.send("response.completed", map[string]any{"response": response})
}
