package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
)

// published is every code of the contract with the HTTP status it travels with.
// Scripts branch on the words; a changed line here breaks them.
var published = map[Code]int{
	"disabled": 403, "no_scope": 403,
	"bad_op": 404, "not_found": 404,
	"bad_request": 400, "no_text": 400, "no_target": 400, "bad_key": 400, "bad_agent": 400, "wrong_agent": 400,
	"ambiguous": 409, "no_agent": 409, "not_live": 409, "needs_you": 409, "busy": 409,
	"prompt_stalled": 409, "session_closed": 409, "agent_gone": 409,
	"start_failed": 502, "unavailable": 503, "internal": 500,
}

func TestCodesAndHTTPStatus(t *testing.T) {
	codes := Codes()
	if len(codes) != len(published) {
		t.Errorf("%d codes, want %d", len(codes), len(published))
	}
	for code, want := range published {
		if got := code.HTTPStatus(); got != want {
			t.Errorf("%s: HTTP %d, want %d", code, got, want)
		}
		if !slices.Contains(codes, code) {
			t.Errorf("Codes lacks %s", code)
		}
	}
	if got := Code("code_of_tomorrow").HTTPStatus(); got != 500 {
		t.Errorf("unknown code: HTTP %d, want 500", got)
	}
}

// Every code survives the wire, as a value and through errors.Is.
func TestErrorRoundTrip(t *testing.T) {
	for _, code := range append(Codes(), "code_of_tomorrow") {
		sent := NewError(code, "what happened; what to do next")
		data, err := json.Marshal(sent)
		if err != nil {
			t.Fatal(err)
		}
		var got Error
		if err := json.Unmarshal(data, &got); err != nil {
			t.Fatal(err)
		}
		wrapped := fmt.Errorf("list: %w", &got)
		if got != *sent || !errors.Is(wrapped, NewError(code, "other words")) || CodeOf(wrapped) != code {
			t.Errorf("%s came back as %+v", code, got)
		}
		if errors.Is(wrapped, NewError("another", sent.Message)) {
			t.Errorf("%s equals another code", code)
		}
	}
	if got := CodeOf(errors.New("disk full")); got != Internal {
		t.Errorf("a plain error has code %s, want %s", got, Internal)
	}
}

func TestParseSessionID(t *testing.T) {
	tests := []struct {
		in   string
		want SessionID
		ok   bool
	}{
		{"ab12cd34-9f2e-4c31-b8d7-3e5a12c90f44", testID, true},
		{"AB12CD34-9F2E-4C31-B8D7-3E5A12C90F44", testID, true},
		{"ab12cd34", "", false},
		{"", "", false},
		{"ab12cd34-9f2e-4c31-b8d7-3e5a12c90f4", "", false},
		{"ab12cd34-9f2e-4c31-b8d7-3e5a12c90f4g", "", false},
		{"ab12cd3409f2e-4c31-b8d7-3e5a12c90f44", "", false},
		{"termio://session/ab12cd34-9f2e-4c31-b8d7-3e5a12c90f44", "", false},
	}
	for _, tt := range tests {
		got, ok := ParseSessionID(tt.in)
		if got != tt.want || ok != tt.ok {
			t.Errorf("ParseSessionID(%q) = %q, %v", tt.in, got, ok)
		}
	}
	if got := testID.Link(); got != "termio://session/ab12cd34-9f2e-4c31-b8d7-3e5a12c90f44" {
		t.Errorf("link %s", got)
	}
	if got := testID.Short(); got != "ab12cd34" {
		t.Errorf("short form %s", got)
	}
	if got := SessionID("ab").Short(); got != "ab" {
		t.Errorf("short form of a short id %s", got)
	}
}

// One state, two spellings: manifests and reports say attention, sessions says needs-you.
func TestStatusWords(t *testing.T) {
	for _, s := range []Status{Working, NeedsYou, Done, Idle} {
		if got, ok := ParseState(s.State()); got != s || !ok {
			t.Errorf("%s as a state is %q, which reads as %s", s, s.State(), got)
		}
	}
	for _, s := range []Status{Working, NeedsYou, Done, Idle, Closed, Stalled} {
		if got, ok := ParseStatus(string(s)); got != s || !ok {
			t.Errorf("%s does not read as a status", s)
		}
	}
	for _, word := range []string{"attention", "", "Working"} {
		if _, ok := ParseStatus(word); ok {
			t.Errorf("%q reads as a status", word)
		}
	}
	for _, word := range []string{"needs-you ", "closed", "stalled", ""} {
		if _, ok := ParseState(word); ok {
			t.Errorf("%q reads as a state", word)
		}
	}
}

func TestClampTimeout(t *testing.T) {
	for ms, want := range map[int64]int64{0: 300_000, 1: 1000, 999: 1000, 1000: 1000, 90_000: 90_000, 600_000: 600_000, 600_001: 600_000, -5: 1000, 1 << 62: 600_000} {
		if got := ClampTimeout(ms).Milliseconds(); got != want {
			t.Errorf("ClampTimeout(%d) = %d ms, want %d", ms, got, want)
		}
	}
}
