package api

// The routes of interfaces: what people look at, rather than what scripts ask for.
const (
	RouteFleet  = "GET /v1/fleet"               // every project and session, then what changes; application/x-ndjson of FleetLine
	RouteRename = "PATCH /v1/sessions/{target}" // RenameRequest -> RenameReply
)

// A FleetLine is one line of the fleet stream. The first one is whole and holds
// everything; each later one holds what has changed since the one before, as it is
// now. It tells states, not events: what comes and goes between two lines is not seen.
type FleetLine struct {
	SchemaVersion int           `json:"schema_version"`
	Whole         bool          `json:"whole,omitempty"`    // this replaces all that was told before
	Projects      []ProjectInfo `json:"projects,omitempty"` // all of them, if any has changed
	Sessions      []SessionInfo `json:"sessions,omitempty"` // the rows that have changed, with project and root; ended ones are closed
	Focus         string        `json:"focus,omitempty"`    // a session's link that is to be selected
	Open          string        `json:"open,omitempty"`     // a project's root that is to be selected
}

// ProjectInfo is a folder that was opened.
type ProjectInfo struct {
	Root      string         `json:"root"` // absolute, free of links
	Name      string         `json:"name"`
	Worktrees []WorktreeInfo `json:"worktrees,omitempty"` // git's, the first one (the root's own) included
}

// WorktreeInfo is a git work tree of a project.
type WorktreeInfo struct {
	Path   string `json:"path"`             // absolute, free of links
	Branch string `json:"branch,omitempty"` // absent where none is checked out
}

// RenameRequest gives a session a title. An empty one gives it back its automatic title.
type RenameRequest struct {
	Title string `json:"title"`
}

// RenameReply answers rename.
type RenameReply struct {
	Head
	Target string `json:"target"`
	Title  string `json:"title"` // as displayed now
}
