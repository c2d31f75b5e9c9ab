package api

// Headers by which a caller introduces itself. The daemon believes the
// kernel about the uid and the process; these only give what it cannot see.
const (
	HeaderSession = "Termio-Session" // TERMIO_SESSION of the caller's environment
	HeaderCwd     = "Termio-Cwd"     // the caller's working folder, percent-encoded (url.PathEscape)
	HeaderVersion = "Termio-Version" // the client's version

	// HeaderInterface is "1" from what a person looks at and types into. It names
	// sessions of every project, and session control that is off does not hold it
	// up: that switch is for what agents and scripts do.
	HeaderInterface = "Termio-Interface"

	// HeaderRequest is the caller's own id of a spawn, run, send, close or resume,
	// a UUID. By it a caller whose connection was lost asks for the reply, and a
	// call that is made twice is done once. A reply to RouteRequest carries it
	// back, or RequestUnknown.
	HeaderRequest = "Termio-Request"
)

// RequestUnknown is the HeaderRequest of a reply about a request that this daemon
// has never begun, or whose reply has been given.
const RequestUnknown = "unknown"

// Headers by which a daemon introduces itself in every reply. A reader that
// misses one does without.
const (
	HeaderDaemon = "Termio-Daemon" // the daemon's version
	HeaderHost   = "Termio-Host"   // which host process answers; another value after each restart of the host
	HeaderSeq    = "Termio-Seq"    // watch only: the number of the last event before the stream began
)

// Routes. {target} is any address of sections 2.2 of the command line's
// contract: a link, an id, a prefix or a title, percent-encoded as one segment.
const (
	RouteVersion  = "GET /v1/version"
	RouteList     = "GET /v1/sessions"                  // ?all=1 ?closed=1
	RouteSpawn    = "POST /v1/sessions/spawn"           // SpawnRequest -> StartReply | WaitReply
	RouteRun      = "POST /v1/sessions/run"             // RunRequest -> StartReply | WaitReply
	RouteSend     = "POST /v1/sessions/{target}/send"   // SendRequest -> SendReply | WaitReply
	RouteRead     = "GET /v1/sessions/{target}/screen"  // ?lines=N ?scrollback=1
	RouteClose    = "DELETE /v1/sessions/{target}"      //
	RouteFocus    = "POST /v1/sessions/{target}/focus"  //
	RouteResume   = "POST /v1/sessions/{target}/resume" // -> StartReply
	RouteExplain  = "GET /v1/sessions/{target}/explain" //
	RouteRequest  = "GET /v1/requests/{target}"         // the reply to a call with this HeaderRequest, once there is one
	RouteAttach   = "GET /v1/sessions/{target}/attach"  // Upgrade: termio-attach; ?cols= ?rows= ?raw=1
	RouteWatch    = "GET /v1/watch"                     // ?state=a,b ?snapshot=0 ?all=1 ?since=N ?heartbeat=1; application/x-ndjson
	RouteReport   = "POST /v1/reports"                  // query: state, event, conversation_from, transcript, at; body: the hook's own JSON
	RouteNotify   = "POST /v1/notify"                   //
	RouteOpen     = "POST /v1/projects"                 // OpenRequest -> OpenReply
	RouteAgents   = "GET /v1/agents"                    //
	RouteHistory  = "GET /v1/agents/history"            // ?project= ?agent= ?limit=N
	RouteSettings = "GET /v1/settings"                  //
	RouteSet      = "PATCH /v1/settings"                // SettingsChange
	RouteDaemon   = "GET /v1/daemon"                    // DaemonReply
	RouteStop     = "POST /v1/daemon/stop"              //
)

// AttachProtocol is the token of the attach route's Upgrade header.
const AttachProtocol = "termio-attach/1"

// VersionReply answers the version route: what runs, and what it speaks.
type VersionReply struct {
	Head
	Version string `json:"version"`
	API     int    `json:"api"` // 1
}

// DaemonReply says how the daemon is doing.
type DaemonReply struct {
	Head
	Version    string `json:"version"`
	Home       string `json:"home"`
	Socket     string `json:"socket"`
	KeeperPID  int    `json:"keeper_pid"`
	HostPID    int    `json:"host_pid"`
	HostStarts int    `json:"host_starts"` // 1 + how often the host was restarted
	StartedAt  int64  `json:"started_at"`  // of the host, unix milliseconds
	Sessions   int    `json:"sessions"`    // with a live process
	Clients    int    `json:"clients"`     // attached
	Watchers   int    `json:"watchers"`
	Warning    string `json:"warning,omitempty"` // such as a keeper that is gone
}

// StopReply answers stop.
type StopReply struct {
	Head
	Stopped bool `json:"stopped"`
	Closed  int  `json:"closed"` // sessions that were ended
}

// AgentInfo is one entry of the agent catalogue.
type AgentInfo struct {
	ID        string   `json:"id"`
	Name      string   `json:"name"`
	Wire      string   `json:"wire"`
	Command   string   `json:"command,omitempty"`
	Installed bool     `json:"installed"`
	Path      string   `json:"path,omitempty"`
	Install   string   `json:"install,omitempty"`
	Source    string   `json:"source"`          // builtin, or the file
	Hooks     string   `json:"hooks,omitempty"` // none, off, on, stale or an error's text
	Warnings  []string `json:"warnings,omitempty"`
	HooksFile string   `json:"hooks_file,omitempty"` // the agent's own file that holds its hooks
	Skill     string   `json:"skill,omitempty"`      // as Hooks
	SkillFile string   `json:"skill_file,omitempty"`
	Trust     string   `json:"trust,omitempty"`      // as Hooks: whether the person is on record as trusting them; absent where the agent asks for no such thing
	TrustFile string   `json:"trust_file,omitempty"` // the agent's own file that records it
	// Unverified says why the agent's manifest was not tried on the real program; "" if it was.
	Unverified string `json:"unverified,omitempty"`
}

// AgentProblem is a manifest that does not load.
type AgentProblem struct {
	File   string `json:"file"`
	Path   string `json:"path,omitempty"` // JSON path
	Reason string `json:"reason"`
}

// AgentsReply answers the agents route.
type AgentsReply struct {
	Head
	Agents   []AgentInfo    `json:"agents"`
	Problems []AgentProblem `json:"problems,omitempty"`
}

// A Conversation is a past conversation of an agent, as its own record tells.
type Conversation struct {
	ID      string `json:"id"`       // the agent's; sessions spawn --resume takes it
	Agent   string `json:"agent"`    // display name
	AgentID string `json:"agent_id"` // the manifest's id
	Title   string `json:"title,omitempty"`
	Folder  string `json:"folder"`            // where it was begun
	Path    string `json:"path,omitempty"`    // of its record
	Updated int64  `json:"updated"`           // when something was last said, unix milliseconds
	Session string `json:"session,omitempty"` // link of the session that has it, or had it last
	Open    bool   `json:"open,omitempty"`    // that session goes on
}

// HistoryReply answers the history route, newest first.
type HistoryReply struct {
	Head
	Project       string         `json:"project"`
	Conversations []Conversation `json:"conversations"`
	More          bool           `json:"more,omitempty"` // there are older ones
	Warnings      []string       `json:"warnings,omitempty"`
}

// Settings are what a person can switch. A nil switch was never answered.
type Settings struct {
	LiveStatus        *bool  `json:"live_status,omitempty"`     // hooks in the agents' own files
	SessionControl    *bool  `json:"session_control,omitempty"` // `termio sessions` answers; the skill is installed once answered
	HookTrust         *bool  `json:"hook_trust,omitempty"`      // the person trusts these hooks, for agents that ask for it
	CommandLink       *bool  `json:"command_link,omitempty"`    // the command is linked on the PATH
	DefaultAgent      string `json:"default_agent,omitempty"`
	BypassPermissions *bool  `json:"bypass_permissions,omitempty"` // append each agent's permission bypass flag
	StalledAfterMS    int64  `json:"stalled_after_ms,omitempty"`   // default 20 minutes
	StalledLines      int    `json:"stalled_lines,omitempty"`      // default 5 new transcript lines
	HistoryLines      int    `json:"history_lines,omitempty"`      // scrollback kept per session, default 10000
	CloseGraceMS      int64  `json:"close_grace_ms,omitempty"`     // default 2000
	DetachKey         string `json:"detach_key,omitempty"`         // leaves an attach, default ctrl-\
}

// SettingsChange is what a change of settings sets, and what it takes back.
type SettingsChange struct {
	Settings          // the fields to set
	Unset    []string `json:"unset,omitempty"` // fields to forget, by their JSON names: as if never answered
}

// SettingsReply answers the settings routes.
type SettingsReply struct {
	Head
	Settings Settings `json:"settings"`
	File     string   `json:"file"`
	Done     []string `json:"done,omitempty"` // what a change did, for people
	Warnings []string `json:"warnings,omitempty"`
}
