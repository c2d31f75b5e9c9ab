// Package fakemodel is a model for tests: a server on loopback that speaks
// Anthropic's Messages API, OpenAI's Responses and Chat Completions APIs and Gemini's
// API to a real agent command line, without a model behind it.
//
// What it answers stands in the prompt, as a directive such as [[bash: touch x]]
// (see the table at directives); a prompt without one is echoed. So a test says in
// one line what the agent will do, and the agent does it with its real interface,
// its real hooks and its real transcript. Every request is recorded, so that a test
// can also say what the agent told the model.
//
// Nothing waits for time to pass unless a directive asks for it: a reply is held
// open by name ([[hold: name]]) until the test releases it or the agent hangs up.
// All methods may be called concurrently. It never leaves loopback.
package fakemodel

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Request is one request of an agent, as far as tests ask about it.
type Request struct {
	// Path is the URL's path, such as /v1/messages.
	Path string
	// Conversation is the agent's own id of the conversation, "" if it names none.
	Conversation string
	Model        string
	Stream       bool
	// Prompt is the last text of the person in the last message, without what the
	// agent adds to it; "" when the message only returns a tool's result.
	Prompt string
	// ToolResult is the text that a tool gave back with the last message.
	ToolResult string
	// Said are all texts of the person in the conversation, the oldest first: a
	// resumed one holds what was said before.
	Said []string
	// Tools are the names of the tools the agent offers.
	Tools []string
	// Shaped is set when the reply must follow a JSON schema: a title, not a turn.
	Shaped bool
	// Body is the whole request.
	Body json.RawMessage
}

// Server is a running fake model. Make one with New.
type Server struct {
	http *httptest.Server
	done chan struct{} // closed when the server ends: held replies end too

	mu       sync.Mutex
	requests []Request
	changed  chan struct{} // closed and replaced when a request or a hold is added
	holds    map[string]*hold
	ids      int
}

// hold is one name that [[hold: name]] waits for.
type hold struct {
	release func()
	open    <-chan struct{} // closed by release
	reached int             // replies that have come this far
	gone    int             // of these, those whose client hung up
}

// New starts a server that ends with the test.
func New(tb testing.TB) *Server {
	tb.Helper()
	s := &Server{done: make(chan struct{}), changed: make(chan struct{}), holds: map[string]*hold{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/messages", s.messages)
	mux.HandleFunc("POST /v1/messages/count_tokens", s.countTokens)
	mux.HandleFunc("POST /v1/responses", s.responses)
	mux.HandleFunc("POST /v1/chat/completions", s.chat)
	mux.HandleFunc("POST /v1beta/models/{call}", s.gemini)
	mux.HandleFunc("GET /v1/models", s.models)
	mux.HandleFunc("/", s.unknown)
	s.http = httptest.NewServer(mux)
	tb.Cleanup(func() {
		close(s.done)
		s.http.CloseClientConnections()
		s.http.Close()
	})
	return s
}

// URL is the server's address, what agents take as their base URL.
func (s *Server) URL() string { return s.http.URL }

// Requests returns what was asked so far, the oldest first.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Last returns what was asked last of a turn: a title that an agent has made up beside
// it is left out.
func (s *Server) Last() Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range slices.Backward(s.requests) {
		if !r.Shaped {
			return r
		}
	}
	return Request{}
}

// Await returns the first request that match accepts, past or to come, or an error
// that tells what was asked instead when ctx ends.
func (s *Server) Await(ctx context.Context, match func(Request) bool) (Request, error) {
	for {
		s.mu.Lock()
		i, changed := slices.IndexFunc(s.requests, match), s.changed
		asked := s.requests
		s.mu.Unlock()
		if i >= 0 {
			return asked[i], nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return Request{}, fmt.Errorf("no such request among %s: %w", prompts(asked), ctx.Err())
		}
	}
}

// prompts lists requests for an error message.
func prompts(requests []Request) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d", len(requests))
	for _, r := range requests {
		fmt.Fprintf(&b, " %s %q", r.Path, r.Prompt)
	}
	return b.String()
}

// Release lets replies held by [[hold: name]] finish, those that are still to come
// as well.
func (s *Server) Release(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holdLocked(name).release()
}

// Held waits until n replies have come to [[hold: name]], since the start.
func (s *Server) Held(ctx context.Context, name string, n int) error {
	return s.awaitHold(ctx, name, func(h *hold) bool { return h.reached >= n })
}

// HungUp waits until the agent has hung up on n replies held by [[hold: name]]: it
// was interrupted, or it ended.
func (s *Server) HungUp(ctx context.Context, name string, n int) error {
	return s.awaitHold(ctx, name, func(h *hold) bool { return h.gone >= n })
}

func (s *Server) awaitHold(ctx context.Context, name string, enough func(*hold) bool) error {
	for {
		s.mu.Lock()
		h, changed := s.holdLocked(name), s.changed
		reached, gone, ok := h.reached, h.gone, enough(h)
		s.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("hold %q: %d replies came to it, %d were hung up on: %w", name, reached, gone, ctx.Err())
		}
	}
}

// holdLocked finds or makes the hold of a name.
func (s *Server) holdLocked(name string) *hold {
	h := s.holds[name]
	if h == nil {
		open := make(chan struct{})
		h = &hold{open: open, release: sync.OnceFunc(func() { close(open) })}
		s.holds[name] = h
	}
	return h
}

// wait stands in a held reply until it is released; false when the client or the
// server has gone meanwhile.
func (s *Server) wait(ctx context.Context, name string) bool {
	s.mu.Lock()
	h := s.holdLocked(name)
	h.reached++
	s.announceLocked()
	s.mu.Unlock()
	select {
	case <-h.open:
		return true
	case <-s.done:
		return false
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	h.gone++
	s.announceLocked()
	return false
}

// announceLocked wakes everybody who waits for a request or a hold.
func (s *Server) announceLocked() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// record keeps a request and wakes those who wait for it.
func (s *Server) record(r Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r)
	s.announceLocked()
}

// id makes an id of the API's form. They are numbered, so that recordings of two
// runs differ in nothing else.
func (s *Server) id(prefix string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ids++
	return fmt.Sprintf("%s_fake%06d", prefix, s.ids)
}
