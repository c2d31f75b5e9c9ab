package api

import "time"

// SessionInfo is one row of a list.
type SessionInfo struct {
	Link        string `json:"link"`
	ID          string `json:"id"` // 8-character short form
	Title       string `json:"title"`
	Agent       string `json:"agent"` // display name
	Status      Status `json:"status"`
	Description string `json:"description"` // what it is doing, the tool, for how long; never empty
	Transcript  string `json:"transcript,omitempty"`
	Cwd         string `json:"cwd,omitempty"` // as the shell reported it (OSC 7); absent until then
	Prompt      string `json:"prompt,omitempty"`
	Background  int    `json:"background,omitempty"`   // subagents and background tasks that outlive the turn
	Reason      string `json:"reason,omitempty"`       // why a closed session ended
	Project     string `json:"project,omitempty"`      // only in lists over all projects
	ProjectRoot string `json:"project_root,omitempty"` // as Project: its folder

	AgentID      string  `json:"agent_id,omitempty"`     // the manifest's id
	Wire         string  `json:"wire,omitempty"`         // the manifest's short token
	Conversation string  `json:"conversation,omitempty"` // the bound conversation's id
	Dialog       *Dialog `json:"dialog,omitempty"`       // the open dialog as data
	// Earlier are the conversations it had before, oldest first: spawn's Resume goes on with one.
	Earlier      []string `json:"earlier_conversations,omitempty"`
	Since        int64    `json:"since,omitempty"`         // when the status began, unix milliseconds
	Seen         bool     `json:"seen,omitempty"`          // a person has looked since the turn ended
	PID          int      `json:"pid,omitempty"`           // leader of the terminal's process session
	Folder       string   `json:"folder,omitempty"`        // where it was started
	Worktree     string   `json:"worktree,omitempty"`      // its own worktree, if it has one
	ExitCode     *int     `json:"exit_code,omitempty"`     // of a closed session's last process
	SpawnedBy    string   `json:"spawned_by,omitempty"`    // link of the session that spawned it
	LastActivity int64    `json:"last_activity,omitempty"` // last output, unix milliseconds
	Created      int64    `json:"created,omitempty"`       // when it was begun, unix milliseconds
}

// DialogKind says what a dialog asks for. Permission, trust and login are
// answered only on purpose; a question takes text.
type DialogKind string

// The kinds.
const (
	DialogPermission DialogKind = "permission"
	DialogQuestion   DialogKind = "question"
	DialogTrust      DialogKind = "trust"
	DialogLogin      DialogKind = "login"
	DialogLimit      DialogKind = "limit" // a usage limit or an expired login: a reason, no approval
)

// A Dialog is what a session asks its person.
type Dialog struct {
	Kind     DialogKind `json:"kind"`
	Question string     `json:"question"`
	Detail   string     `json:"detail,omitempty"` // the command, file or plan in question
	Options  []Option   `json:"options,omitempty"`
	Multiple bool       `json:"multiple,omitempty"` // several options can be ticked
}

// An Option is one way to answer.
type Option struct {
	Number   int    `json:"number,omitempty"` // as shown, counted from 1
	Key      string `json:"key,omitempty"`    // the key that chooses it, as `send --key` spells it
	Label    string `json:"label"`
	Selected bool   `json:"selected,omitempty"` // the live cursor is on it
	Chosen   bool   `json:"chosen,omitempty"`   // ticked, where several can be
}

// ListReply answers `sessions list`.
type ListReply struct {
	Head
	Project  string        `json:"project"`
	Sessions []SessionInfo `json:"sessions"`
}

// Timeouts of waits: what `--timeout` defaults to and is clamped to.
const (
	DefaultTimeout = 300 * time.Second
	MinTimeout     = 1 * time.Second
	MaxTimeout     = 600 * time.Second
)

// ClampTimeout gives the wait that a request's timeout_ms asks for; 0 is the default.
func ClampTimeout(ms int64) time.Duration {
	if ms == 0 {
		return DefaultTimeout
	}
	return time.Duration(max(MinTimeout.Milliseconds(), min(ms, MaxTimeout.Milliseconds()))) * time.Millisecond
}

// Waiting is the part that spawn, run and send share: waiting is always explicit.
type Waiting struct {
	Wait      bool  `json:"wait,omitempty"`
	TimeoutMS int64 `json:"timeout_ms,omitempty"` // only with Wait
}

// SpawnRequest starts an agent session.
type SpawnRequest struct {
	Agent    string  `json:"agent,omitempty"` // id or display name; absent: the default
	Prompt   string  `json:"prompt,omitempty"`
	Cwd      string  `json:"cwd,omitempty"`       // absolute
	Worktree *string `json:"worktree,omitempty"`  // present: an own git worktree; "" lets the daemon name the branch
	Resume   string  `json:"resume,omitempty"`    // a past conversation of that agent
	NoPrompt bool    `json:"no_prompt,omitempty"` // start it without a prompt, for a person who types one
	Cols     int     `json:"cols,omitempty"`      // cells; absent: 80x24 until a client attaches
	Rows     int     `json:"rows,omitempty"`
	Waiting
}

// RunRequest starts a login shell and enters a command.
type RunRequest struct {
	Command string `json:"command"`
	Shell   bool   `json:"shell,omitempty"` // no command: just the shell
	Cwd     string `json:"cwd,omitempty"`   // absolute
	Cols    int    `json:"cols,omitempty"`
	Rows    int    `json:"rows,omitempty"`
	Waiting
}

// SendRequest types into a session. Text goes first, then the keys in order,
// then one Return unless NoEnter or any key was given.
type SendRequest struct {
	Text    string   `json:"text,omitempty"`
	Keys    []string `json:"keys,omitempty"` // kitty or tmux spellings
	NoEnter bool     `json:"no_enter,omitempty"`
	Answer  bool     `json:"answer,omitempty"` // insist that the text answers the open dialog
	Force   bool     `json:"force,omitempty"`  // also over a person's draft
	Dialog  *Dialog  `json:"dialog,omitempty"` // the dialog that the text answers, as the caller saw it: none other gets it
	Waiting
}

// StartReply answers spawn, run and resume without a wait.
type StartReply struct {
	Head
	Target  string `json:"target"`
	Title   string `json:"title"`
	Created bool   `json:"created,omitempty"`
	Queued  bool   `json:"queued,omitempty"`
	Resumed bool   `json:"resumed,omitempty"` // resume: the same conversation goes on
	Fresh   bool   `json:"fresh,omitempty"`   // resume: there was nothing to resume, a fresh start
	// Missing is, with Fresh, the conversation of which the agent has no record any more. The
	// session keeps it among its earlier ones.
	Missing string `json:"missing_conversation,omitempty"`
}

// Delivery says how far a sent text got.
type Delivery string

// The deliveries.
const (
	Submitted Delivery = "submitted"
	Queued    Delivery = "queued" // behind a running turn
	Typed     Delivery = "typed"  // nothing can tell
)

// SendReply answers send without a wait.
type SendReply struct {
	Head
	Target     string   `json:"target"`
	Title      string   `json:"title"`
	Transcript string   `json:"transcript,omitempty"`
	Cursor     *int64   `json:"cursor,omitempty"` // whole lines in the transcript when the text went in
	Delivery   Delivery `json:"delivery,omitempty"`
}

// WaitReply answers spawn, run and send with a wait. The agent's reply stands
// in lines Cursor+1..CursorEnd of the transcript.
type WaitReply struct {
	Head
	Target     string   `json:"target"`
	Title      string   `json:"title"`
	Status     Status   `json:"status"`
	TimedOut   bool     `json:"timed_out"`
	Created    bool     `json:"created,omitempty"`
	Transcript string   `json:"transcript,omitempty"`
	Cursor     *int64   `json:"cursor,omitempty"`
	CursorEnd  *int64   `json:"cursor_end,omitempty"`
	Prompt     string   `json:"prompt,omitempty"`
	Dialog     *Dialog  `json:"dialog,omitempty"`
	Background int      `json:"background,omitempty"`
	ExitCode   *int     `json:"exit_code,omitempty"`
	Delivery   Delivery `json:"delivery,omitempty"`
	// Merged says that the turn which ended took other prompts as well, as agents do that
	// run queued ones as one: its reply is to all of them.
	Merged bool `json:"merged,omitempty"`
	// Fresh and Missing are a StartReply's, of a spawn that was to go on with a conversation.
	Fresh   bool   `json:"fresh,omitempty"`
	Missing string `json:"missing_conversation,omitempty"`
}

// ReadReply answers read.
type ReadReply struct {
	Head
	Target string `json:"target"`
	Title  string `json:"title"`
	Screen string `json:"screen"` // right-trimmed, trailing blank lines dropped
}

// CloseReply answers close.
type CloseReply struct {
	Head
	Closed string `json:"closed"` // link
	Title  string `json:"title"`
}

// FocusReply answers focus.
type FocusReply struct {
	Head
	Focused string `json:"focused"` // link
}

// NotifyRequest asks for a notification through every channel that is on.
type NotifyRequest struct {
	Title   string `json:"title,omitempty"`
	Message string `json:"message"`
}

// NotifyReply answers notify.
type NotifyReply struct {
	Head
	Notified bool   `json:"notified"`
	Title    string `json:"title,omitempty"`
}

// OpenRequest adds a folder as a project, or focuses a session's link.
type OpenRequest struct {
	Path string `json:"path,omitempty"` // absolute
	Link string `json:"link,omitempty"`
}

// OpenReply answers open.
type OpenReply struct {
	Head
	Project string `json:"project,omitempty"` // name
	Root    string `json:"root,omitempty"`    // absolute, symlink-free
	Created bool   `json:"created,omitempty"`
	Focused string `json:"focused,omitempty"` // link
}

// EvidenceInfo is the last word of one status channel.
type EvidenceInfo struct {
	Channel string `json:"channel"` // hook, title, progress, program, file, screen, dialog, composer, process, transcript, activity
	Status  Status `json:"status,omitempty"`
	At      int64  `json:"at"`             // event time, unix milliseconds
	Rule    string `json:"rule,omitempty"` // what matched: an event's name, a pattern, a record
	Text    string `json:"text,omitempty"` // what it matched on, cut
	Won     bool   `json:"won,omitempty"`
	Note    string `json:"note,omitempty"` // why it did not count
}

// ExplainReply answers explain: every channel's last word, which one won and why.
type ExplainReply struct {
	Head
	Target       string         `json:"target"`
	Title        string         `json:"title"`
	Agent        string         `json:"agent"`
	Status       Status         `json:"status"`
	Since        int64          `json:"since"` // unix milliseconds
	Why          string         `json:"why"`
	Evidence     []EvidenceInfo `json:"evidence"`
	Conversation string         `json:"conversation,omitempty"`
	Transcript   string         `json:"transcript,omitempty"`
	Dialog       *Dialog        `json:"dialog,omitempty"`
	Background   int            `json:"background,omitempty"`
}
