package api

import "time"

// An Event is one line of watch: a transition, or a snapshot line of what is.
type Event struct {
	SchemaVersion int     `json:"schema_version"`
	Link          string  `json:"link"`
	Status        Status  `json:"status"`
	Title         string  `json:"title"`
	Cwd           string  `json:"cwd,omitempty"`
	Snapshot      bool    `json:"snapshot,omitempty"`
	Prompt        string  `json:"prompt,omitempty"`     // with needs-you
	Transcript    string  `json:"transcript,omitempty"` // with done
	CursorEnd     *int64  `json:"cursor_end,omitempty"` // with done
	Evidence      string  `json:"evidence,omitempty"`   // with stalled
	Seq           int64   `json:"seq"`                  // one global sequence; a filtered stream shows gaps
	At            int64   `json:"at"`                   // unix milliseconds
	Agent         string  `json:"agent,omitempty"`      // display name
	Project       string  `json:"project,omitempty"`    // only in streams over all projects
	Background    int     `json:"background,omitempty"`
	Merged        bool    `json:"merged,omitempty"` // with done: the turn took several prompts
	Dialog        *Dialog `json:"dialog,omitempty"`
	Reason        string  `json:"reason,omitempty"` // with closed; a failed delivery too
}

// Heartbeat is the line a JSON watch carries after HeartbeatAfter of silence.
const Heartbeat = `{"heartbeat": true}`

// Lost is the line a watch with a since sends first when its log no longer
// reaches back that far: the events between are gone, the snapshot that
// follows is the state now.
type Lost struct {
	SchemaVersion int   `json:"schema_version"`
	Lost          bool  `json:"lost"`
	Since         int64 `json:"since"`  // what was asked for
	Oldest        int64 `json:"oldest"` // the oldest event still kept
}

// HeartbeatAfter is the silence before a heartbeat; every write restarts it.
const HeartbeatAfter = 30 * time.Second
