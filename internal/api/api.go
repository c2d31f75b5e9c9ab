// Package api is the contract between a termio daemon and everything that
// talks to it: identities, statuses, requests, replies, events, attach frames
// and error codes, with the routes they travel on.
//
// It imports nothing but the standard library and holds no behaviour beyond
// parsing and formatting its own values. What it once published keeps its
// meaning: words are never reused, fields are only added, and readers ignore
// what they do not know, so that either side of a socket may be the older one.
//
// All values are plain data; share them between goroutines as you would any
// struct.
package api

import (
	"encoding/json"
	"errors"
	"strings"
)

// SchemaVersion is the "schema_version" of every reply, event and error.
// Fields are only ever added within one version.
const SchemaVersion = 1

// Head opens every successful reply.
type Head struct {
	OK            bool `json:"ok"`
	SchemaVersion int  `json:"schema_version"`
}

// OKHead is the Head of a success.
func OKHead() Head { return Head{OK: true, SchemaVersion: SchemaVersion} }

// A SessionID names a pane for its whole life: a lower-case UUID.
type SessionID string

// LinkPrefix begins every session link.
const LinkPrefix = "termio://session/"

// ParseSessionID accepts a UUID in any case and gives its canonical form.
func ParseSessionID(s string) (SessionID, bool) {
	s = strings.ToLower(s)
	if len(s) != 36 {
		return "", false
	}
	for i := range len(s) {
		c := s[i]
		switch i {
		case 8, 13, 18, 23:
			if c != '-' {
				return "", false
			}
		default:
			if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
				return "", false
			}
		}
	}
	return SessionID(s), true
}

// Link is the canonical address of the session, termio://session/<uuid>.
func (id SessionID) Link() string { return LinkPrefix + string(id) }

// Short is the 8-character form that lists show.
func (id SessionID) Short() string { return string(id[:min(8, len(id))]) }

// Status is what a session is doing, as a person would say it.
type Status string

// The statuses. Closed is only in lists that ask for ended sessions and in
// events; Stalled is only an event, never the status of a session.
const (
	Working  Status = "working"
	NeedsYou Status = "needs-you" // blocked on the person
	Done     Status = "done"      // the turn ended; rests until new input
	Idle     Status = "idle"
	Closed   Status = "closed"
	Stalled  Status = "stalled"
)

// attention is NeedsYou in manifests and in `termio agent report`.
const attention = "attention"

// ParseStatus reads a status as `sessions` spells it.
func ParseStatus(s string) (Status, bool) {
	switch st := Status(s); st {
	case Working, NeedsYou, Done, Idle, Closed, Stalled:
		return st, true
	}
	return "", false
}

// ParseState reads a status as manifests and reports spell it: the four
// states of a session, with "attention" for NeedsYou.
func ParseState(s string) (Status, bool) {
	if s == attention {
		return NeedsYou, true
	}
	switch st := Status(s); st {
	case Working, Done, Idle:
		return st, true
	}
	return "", false
}

// State spells the status as manifests and reports do.
func (s Status) State() string {
	if s == NeedsYou {
		return attention
	}
	return string(s)
}

// A Code says what kind of failure crossed the boundary. Callers branch on
// codes, never on text. Codes are words so that old readers can print new ones.
type Code string

// The codes. Adding one is allowed; changing what one means is not.
const (
	Disabled      Code = "disabled"       // session control is off
	NoScope       Code = "no_scope"       // the caller resolves to no project, or asks past its own
	BadOp         Code = "bad_op"         // unknown verb or route
	BadRequest    Code = "bad_request"    // bad flag, value, size or body
	NoText        Code = "no_text"        // empty text
	NoTarget      Code = "no_target"      // no session given
	NotFound      Code = "not_found"      // the address fits none
	Ambiguous     Code = "ambiguous"      // the address fits several
	WrongAgent    Code = "wrong_agent"    // what only an agent session has, aimed elsewhere
	BadAgent      Code = "bad_agent"      // unknown agent id
	NoAgent       Code = "no_agent"       // no default agent to be found
	StartFailed   Code = "start_failed"   // command not found, or the start failed
	NotLive       Code = "not_live"       // the session has ended or has no process
	PromptStalled Code = "prompt_stalled" // waits: the input was swallowed, or typed and not submitted
	SessionClosed Code = "session_closed" // waits: closed meanwhile
	AgentGone     Code = "agent_gone"     // waits: the agent ended meanwhile
	BadKey        Code = "bad_key"        // unknown key name
	NeedsAnswer   Code = "needs_you"      // a dialog is open and the text is no answer to it
	Busy          Code = "busy"           // a person's draft is in the composer, or too many texts wait
	Unavailable   Code = "unavailable"    // no daemon, or nothing there to do it
	Internal      Code = "internal"       // a defect of ours; the daemon's log has more
)

// httpStatus is the one table from codes to HTTP, used by both ends.
var httpStatus = map[Code]int{
	Disabled: 403, NoScope: 403,
	BadOp: 404, NotFound: 404,
	BadRequest: 400, NoText: 400, NoTarget: 400, BadKey: 400, BadAgent: 400, WrongAgent: 400,
	Ambiguous: 409, NoAgent: 409, NotLive: 409, NeedsAnswer: 409, Busy: 409,
	PromptStalled: 409, SessionClosed: 409, AgentGone: 409,
	StartFailed: 502, Unavailable: 503, Internal: 500,
}

// HTTPStatus is the status line a server sends with the code; 500 for a code
// that this version does not know.
func (c Code) HTTPStatus() int {
	if n, ok := httpStatus[c]; ok {
		return n
	}
	return 500
}

// Codes lists every code, for tables and tests.
func Codes() []Code {
	all := make([]Code, 0, len(httpStatus))
	for c := range httpStatus {
		all = append(all, c)
	}
	return all
}

// An Error is the only error that leaves a process.
type Error struct {
	Code    Code   `json:"error"`
	Message string `json:"message"`          // what happened and the next step
	Target  string `json:"target,omitempty"` // link of the session that the call started all the same, or was about
}

// NewError makes an Error. The message is for people: what happened, and the next step.
func NewError(code Code, message string) *Error { return &Error{Code: code, Message: message} }

func (e *Error) Error() string { return e.Message }

// Is reports whether target is an Error with the same code.
func (e *Error) Is(target error) bool {
	t, ok := errors.AsType[*Error](target)
	return ok && t.Code == e.Code
}

// MarshalJSON gives the contract's error object, with "ok": false.
func (e *Error) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		OK            bool   `json:"ok"`
		Code          Code   `json:"error"`
		Message       string `json:"message"`
		Target        string `json:"target,omitempty"`
		SchemaVersion int    `json:"schema_version"`
	}{false, e.Code, e.Message, e.Target, SchemaVersion})
}

// CodeOf is the code of err if it is or wraps an Error, else Internal.
func CodeOf(err error) Code {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return Internal
}
