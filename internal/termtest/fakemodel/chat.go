package fakemodel

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// chatBody is what the server reads of a request to the Chat Completions API.
type chatBody struct {
	Model    string `json:"model"`
	Stream   bool   `json:"stream"`
	Messages []struct {
		Role    string       `json:"role"`
		Content responseText `json:"content"`
	} `json:"messages"`
	Tools []struct {
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	} `json:"tools"`
	ResponseFormat struct {
		Type       string `json:"type"`
		JSONSchema struct {
			Schema json.RawMessage `json:"schema"`
		} `json:"json_schema"`
	} `json:"response_format"`
}

// request is what tests ask about it.
func (b chatBody) request(path string, raw []byte) Request {
	req := Request{Path: path, Model: b.Model, Stream: b.Stream, Shaped: b.schema() != nil, Body: raw}
	for _, t := range b.Tools {
		req.Tools = append(req.Tools, t.Function.Name)
	}
	for _, m := range b.Messages {
		switch m.Role {
		case "tool":
			req.Prompt, req.ToolResult = "", "result: "+strings.Join(m.Content, "\n")
		case "user":
			for _, text := range m.Content {
				if text = strings.TrimSpace(added.ReplaceAllString(text, "")); text != "" {
					req.Prompt, req.ToolResult = text, ""
					req.Said = append(req.Said, text)
				}
			}
		}
	}
	return req
}

// schema is what the reply must follow, nil for a plain one.
func (b chatBody) schema() json.RawMessage {
	if b.ResponseFormat.Type == "json_schema" {
		return b.ResponseFormat.JSONSchema.Schema
	}
	return nil
}

// chat answers POST /v1/chat/completions.
func (s *Server) chat(w http.ResponseWriter, r *http.Request) {
	var body chatBody
	raw, ok := readBody(w, r, &body)
	if !ok {
		return
	}
	req := body.request(r.URL.Path, raw)
	s.record(req)
	rep := answer(req)
	if schema := body.schema(); schema != nil {
		rep = reply{text: shaped(schema)}
	}
	if rep.status != 0 {
		writeError(w, rep.status, "asked for by the prompt")
		return
	}
	head := map[string]any{"id": s.id("chatcmpl"), "created": 0, "model": req.Model}
	usage := map[string]any{"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
	if !req.Stream {
		if rep.hold != "" && !s.wait(r.Context(), rep.hold) {
			return
		}
		head["object"], head["usage"] = "chat.completion", usage
		said := map[string]any{"role": "assistant", "content": rep.text}
		if rep.tool != "" {
			said["tool_calls"] = []any{s.chatCall(rep)}
		}
		head["choices"] = []any{map[string]any{"index": 0, "finish_reason": rep.finish(), "message": said}}
		writeJSON(w, http.StatusOK, head)
		return
	}
	s.streamChat(w, r, head, usage, rep)
}

// readBody decodes a request. One that can't be read is answered and reported as false.
func readBody(w http.ResponseWriter, r *http.Request, into any) (raw []byte, ok bool) {
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err == nil {
		err = json.Unmarshal(raw, into)
	}
	if err != nil {
		writeError(w, http.StatusBadRequest, fmt.Sprintf("unreadable request: %v", err))
	}
	return raw, err == nil
}

// finish says why a reply ends.
func (r reply) finish() string {
	if r.tool != "" {
		return "tool_calls"
	}
	return "stop"
}

// chatCall is the call of a tool in a reply.
func (s *Server) chatCall(rep reply) map[string]any {
	return map[string]any{
		"index": 0, "id": s.id("call"), "type": "function",
		"function": map[string]any{"name": rep.tool, "arguments": jsonText(rep.input)},
	}
}

// jsonText spells a tool's input.
func jsonText(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic("fakemodel: a tool's input that is no JSON: " + err.Error())
	}
	return string(data)
}

// streamChat writes a reply as server-sent events: the role, the words in pieces, the
// call, the end with what it cost. It stops where the client hangs up.
func (s *Server) streamChat(w http.ResponseWriter, r *http.Request, head, usage map[string]any, rep reply) {
	w.Header().Set("Content-Type", "text/event-stream")
	head["object"] = "chat.completion.chunk"
	send := func(choices ...any) {
		head["choices"] = append([]any{}, choices...)
		sendData(w, jsonText(head))
	}
	delta := func(finish any, delta map[string]any) {
		send(map[string]any{"index": 0, "delta": delta, "finish_reason": finish})
	}
	delta(nil, map[string]any{"role": "assistant", "content": ""})
	if rep.silent && !s.wait(r.Context(), rep.hold) {
		return
	}
	pieces := rep.pieces()
	for i, piece := range pieces {
		delta(nil, map[string]any{"content": piece})
		if i == 0 && rep.hold != "" && !rep.silent && !s.wait(r.Context(), rep.hold) {
			return
		}
		if !pause(r.Context(), rep.pace/time.Duration(len(pieces))) {
			return
		}
	}
	if rep.tool != "" {
		delta(nil, map[string]any{"tool_calls": []any{s.chatCall(rep)}})
	}
	delta(rep.finish(), map[string]any{})
	head["usage"] = usage
	send()
	sendData(w, "[DONE]")
}

// sendData writes one event without a name, at once.
func sendData(w http.ResponseWriter, data string) {
	_, _ = fmt.Fprintf(w, "data: %s\n\n", data)
	_ = http.NewResponseController(w).Flush()
}
