package fakemodel

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

// geminiBody is what the server reads of a request to Gemini's API.
type geminiBody struct {
	Contents []struct {
		Role  string       `json:"role"`
		Parts []geminiPart `json:"parts"`
	} `json:"contents"`
	Tools []struct {
		Declarations []struct {
			Name string `json:"name"`
		} `json:"functionDeclarations"`
	} `json:"tools"`
	Config struct {
		MIME   string          `json:"responseMimeType"`
		Schema json.RawMessage `json:"responseJsonSchema"`
	} `json:"generationConfig"`
}

// geminiPart is a part of what was said: words, or what a tool gave back.
type geminiPart struct {
	Text     string `json:"text"`
	Response *struct {
		Response json.RawMessage `json:"response"`
	} `json:"functionResponse"`
}

// request is what tests ask about it.
func (b geminiBody) request(path string, raw []byte) Request {
	req := Request{Path: path, Stream: strings.Contains(path, ":stream"), Shaped: b.Config.MIME == "application/json", Body: raw}
	for _, t := range b.Tools {
		for _, d := range t.Declarations {
			req.Tools = append(req.Tools, d.Name)
		}
	}
	for _, c := range b.Contents {
		if c.Role != "user" && c.Role != "function" {
			continue
		}
		for _, p := range c.Parts {
			switch {
			case p.Response != nil:
				req.Prompt, req.ToolResult = "", "result: "+string(p.Response.Response)
			case strings.HasPrefix(p.Text, "<session_context>"): // the agent's own words
			case strings.TrimSpace(p.Text) != "":
				req.Prompt, req.ToolResult = strings.TrimSpace(p.Text), ""
				req.Said = append(req.Said, req.Prompt)
			}
		}
	}
	return req
}

// gemini answers POST /v1beta/models/MODEL:METHOD.
func (s *Server) gemini(w http.ResponseWriter, r *http.Request) {
	var body geminiBody
	raw, ok := readBody(w, r, &body)
	if !ok {
		return
	}
	req := body.request(r.URL.Path, raw)
	req.Model, _, _ = strings.Cut(r.PathValue("call"), ":")
	s.record(req)
	if strings.HasSuffix(r.URL.Path, ":countTokens") {
		writeJSON(w, http.StatusOK, map[string]any{"totalTokens": 100})
		return
	}
	rep := answer(req)
	if req.Shaped {
		rep = reply{text: shaped(body.Config.Schema)}
	}
	if rep.status != 0 {
		writeJSON(w, rep.status, map[string]any{"error": map[string]any{"code": rep.status, "message": "asked for by the prompt", "status": "INVALID_ARGUMENT"}})
		return
	}
	if !req.Stream {
		if rep.hold != "" && !s.wait(r.Context(), rep.hold) {
			return
		}
		writeJSON(w, http.StatusOK, s.geminiChunk(rep.text, rep, true))
		return
	}
	s.streamGemini(w, r, rep)
}

// streamGemini writes a reply as server-sent events, its words in pieces. It stops
// where the client hangs up.
func (s *Server) streamGemini(w http.ResponseWriter, r *http.Request, rep reply) {
	w.Header().Set("Content-Type", "text/event-stream")
	if rep.silent && !s.wait(r.Context(), rep.hold) {
		return
	}
	pieces := rep.pieces()
	for i, piece := range pieces {
		last := i == len(pieces)-1
		held := i == 0 && rep.hold != "" && !rep.silent
		sendData(w, jsonText(s.geminiChunk(piece, rep, last && !held)))
		if held {
			if !s.wait(r.Context(), rep.hold) {
				return
			}
			if last {
				sendData(w, jsonText(s.geminiChunk("", rep, true)))
			}
		}
		if !pause(r.Context(), rep.pace/time.Duration(len(pieces))) {
			return
		}
	}
}

// geminiChunk is a piece of a reply; the last one has the call of a tool and the end.
func (s *Server) geminiChunk(text string, rep reply, last bool) map[string]any {
	parts := []any{}
	if text != "" {
		parts = append(parts, map[string]any{"text": text})
	}
	candidate := map[string]any{"index": 0}
	if last {
		candidate["finishReason"] = "STOP"
		if rep.tool != "" {
			parts = append(parts, map[string]any{"functionCall": map[string]any{"id": s.id("call"), "name": rep.tool, "args": rep.input}})
		}
	}
	candidate["content"] = map[string]any{"role": "model", "parts": parts}
	return map[string]any{
		"candidates":    []any{candidate},
		"usageMetadata": map[string]any{"promptTokenCount": 100, "candidatesTokenCount": 20, "totalTokenCount": 120},
		"modelVersion":  "fake-model",
	}
}
