package agent

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"time"

	"termio/internal/api"
)

// A Manifest tells everything about one agent. Its JSON form is described, checked
// and published by one description (see [Schema]); [Parse] is the only way to make
// one. A Manifest is never changed after that.
type Manifest struct {
	ID                   string           `json:"id"`                             // stable, persisted in sessions
	Name                 string           `json:"name"`                           // display name
	Aliases              []string         `json:"aliases,omitempty"`              // other words that find it
	Order                *int             `json:"order,omitempty"`                // place in pickers; absent: last
	Explicit             bool             `json:"explicit,omitempty"`             // only when named, never a default
	Wire                 string           `json:"wire,omitempty"`                 // short token; see [Manifest.Token]
	Command              string           `json:"command,omitempty"`              // command line; none is a login shell
	PermissionBypassFlag string           `json:"permissionBypassFlag,omitempty"` // appended when the switch is on
	Icon                 *Icon            `json:"icon,omitempty"`
	Install              string           `json:"install,omitempty"`    // where to get it
	Unverified           string           `json:"unverified,omitempty"` // why it was not tried on the real program
	Env                  *Env             `json:"env,omitempty"`
	Config               *ConfigFolder    `json:"config,omitempty"`
	PromptArg            *PromptArg       `json:"prompt,omitempty"`
	ReadySigns           *ReadySigns      `json:"ready,omitempty"`
	Input                *Input           `json:"input,omitempty"`
	ComposerRule         *ComposerRule    `json:"composer,omitempty"`
	TitleStatus          *Rules           `json:"titleStatus,omitempty"`
	Status               *Rules           `json:"status,omitempty"` // on the screen; ignored beside hooks
	Dialogs              []DialogRule     `json:"dialogs,omitempty"`
	ProgressStatus       bool             `json:"progressStatus,omitempty"` // OSC 9;4 counts
	ProgramStatus        bool             `json:"programStatus,omitempty"`  // OSC 7501 counts, its query is echoed
	StatusFile           *StatusFile      `json:"statusFile,omitempty"`
	Limits               []LimitRule      `json:"limits,omitempty"`
	Hooks                *Hooks           `json:"hooks,omitempty"`
	TranscriptRules      *TranscriptRules `json:"transcript,omitempty"`
	Resume               *Resume          `json:"resume,omitempty"`
	Skills               *Skills          `json:"skills,omitempty"`

	// Source is where the manifest comes from: [Builtin] or the name of its file.
	Source string `json:"-"`
	// Warnings are what Parse found odd and let pass.
	Warnings []Problem `json:"-"`

	data []byte // the file as it was read, for the lines of problems; nil of a manifest made otherwise
}

// Builtin is the Source of the manifests that come with the program.
const Builtin = "builtin"

// Icon is the agent's mark: one of Vector, Path and Symbol.
type Icon struct {
	Vector string `json:"vector,omitempty"` // a mark that interfaces know
	Path   string `json:"path,omitempty"`   // PNG or SVG; relative to the manifest, absolute or ~
	Symbol string `json:"symbol,omitempty"` // one glyph
	Tint   string `json:"tint,omitempty"`   // #rrggbb
}

// Env is what the agent's environment needs besides the usual.
type Env struct {
	Set    map[string]string `json:"set,omitempty"`
	Remove []string          `json:"remove,omitempty"` // names; a trailing * takes all that begin so
}

// ConfigFolder says where the agent keeps its files and which variable moves them.
// Every path of the manifest that lies in Dir moves along.
type ConfigFolder struct {
	Dir string `json:"dir"` // as without the variable, such as ~/.claude
	Env string `json:"env"` // such as CLAUDE_CONFIG_DIR
}

// PromptArg says how a first prompt can be passed at launch.
type PromptArg struct {
	Arg      string `json:"arg"`                // template with {prompt}
	MaxBytes int    `json:"maxBytes,omitempty"` // longer prompts are typed; 0 is defaultPromptBytes
}

// ReadySigns say what shows that the composer takes input. Any one of the given signs
// is enough, as long as no dialog is on the screen and, where the manifest describes
// the composer, that is.
type ReadySigns struct {
	Program  string    `json:"program,omitempty"`  // state that OSC 7501 says
	File     string    `json:"file,omitempty"`     // state that the status file says
	Hook     string    `json:"hook,omitempty"`     // name of a hook event
	Title    []Pattern `json:"title,omitempty"`    // on the live title
	Screen   []Pattern `json:"screen,omitempty"`   // on a row of the screen
	Composer bool      `json:"composer,omitempty"` // the composer is on the screen and empty
	SettleMS int       `json:"settle,omitempty"`   // how long the sign must have held, milliseconds
}

// Input holds the agent's measured habits at its terminal, in milliseconds.
type Input struct {
	SubmitMS     int    `json:"submit,omitempty"`     // after a paste, before Return
	DialogDeafMS int    `json:"dialogDeaf,omitempty"` // a new dialog ignores keys for so long
	RetryMS      int    `json:"retry,omitempty"`      // a Return without effect is repeated after
	Busy         string `json:"busy,omitempty"`       // what becomes of text sent in a turn: queue, merge or hold
}

// The words of Input.Busy.
const (
	BusyQueue = "queue" // it becomes a turn of its own
	BusyMerge = "merge" // it goes into the running turn
	BusyHold  = "hold"  // the agent would run several as one: it gets each when it is at rest
)

// Rules map text to a status; attention is tried before working.
type Rules struct {
	Working   []Pattern `json:"working,omitempty"`
	Attention []Pattern `json:"attention,omitempty"`
}

// match gives the status that the text shows, and the pattern that says so.
func (r *Rules) match(text string) (api.Status, string) {
	if p, ok := firstMatch(r.Attention, text); ok {
		return api.NeedsYou, p.String()
	}
	if p, ok := firstMatch(r.Working, text); ok {
		return api.Working, p.String()
	}
	return "", ""
}

// StatusFile is a live status file that the agent keeps for its process.
type StatusFile struct {
	Path         string            `json:"path"`                   // with {pid}
	State        string            `json:"state"`                  // key path of the state's word
	Values       map[string]string `json:"values"`                 // word → working, attention, done, idle, or none
	Reason       string            `json:"reason,omitempty"`       // key path: what is waited for
	Conversation string            `json:"conversation,omitempty"` // key path of the conversation's id
	PID          string            `json:"pid,omitempty"`          // key path of the process
	Started      string            `json:"started,omitempty"`      // key path of the process's start, as the system counts it
	Updated      string            `json:"updated,omitempty"`      // key path of the state's time, unix milliseconds
}

// LimitRule recognises a usage limit or an expired login in an error that a
// structured channel reported. Prose is never searched.
type LimitRule struct {
	Kind  api.DialogKind `json:"kind"` // limit or login
	Match Pattern        `json:"match"`
}

// Hooks declares the agent's own hooks: what to install and what they say.
type Hooks struct {
	Type               string       `json:"type,omitempty"` // json (the default), toml, plugin, scripts, builtin
	File               string       `json:"file,omitempty"` // of json and toml
	Dir                string       `json:"dir,omitempty"`  // of plugin and scripts
	Dialect            string       `json:"dialect,omitempty"`
	TimeoutSeconds     int          `json:"timeout,omitempty"`    // given to the agent for each hook
	Async              bool         `json:"async,omitempty"`      // ask the agent not to wait for hooks
	DoneSettleMS       int          `json:"doneSettle,omitempty"` // how long a done must stand, milliseconds
	Conversation       string       `json:"conversation,omitempty"`
	CapturesTranscript bool         `json:"capturesTranscript,omitempty"`
	Tool               string       `json:"tool,omitempty"`
	PromptTitle        string       `json:"promptTitle,omitempty"`
	Subagent           string       `json:"subagent,omitempty"` // field that only a subagent's events carry
	Message            string       `json:"message,omitempty"`
	Error              string       `json:"error,omitempty"`
	Background         *Background  `json:"background,omitempty"`
	MachinePrompt      []Pattern    `json:"machinePrompt,omitempty"` // prompts that no person wrote
	Dialogs            []HookDialog `json:"dialogs,omitempty"`
	Events             []HookEvent  `json:"events"`
}

// HooksBuiltin is the type of hooks that are part of the agent: it runs `termio agent
// report` by itself in every session, and nothing of its files is edited.
const HooksBuiltin = "builtin"

// HookEvent maps one event of the agent to a state.
type HookEvent struct {
	On      string `json:"on"`
	State   string `json:"state"`
	Matcher string `json:"matcher,omitempty"` // installed with the hook, in the agent's own syntax
	Field   string `json:"field,omitempty"`   // payload field that Matcher is checked against again
	Prompt  *bool  `json:"prompt,omitempty"`  // whether the event says that a prompt was taken; absent: its name tells
	Error   bool   `json:"error,omitempty"`   // the event says that the turn failed
}

// Background counts the work that goes on after a turn: the elements of a list in
// the payload whose fields match.
type Background struct {
	List  string             `json:"list"`            // key path of the list
	Where map[string]Pattern `json:"where,omitempty"` // field of an element → pattern
}

// HookDialog reads a question and its options from the payload of an event that
// says attention. The first whose Tool matches is used.
type HookDialog struct {
	Tool     Pattern        `json:"tool,omitzero"` // absent: any
	Kind     api.DialogKind `json:"kind"`
	Question string         `json:"question"`          // template: key paths in braces
	Detail   []string       `json:"detail,omitempty"`  // key paths; the first that is there
	Options  string         `json:"options,omitempty"` // key path of the list of options
	Label    string         `json:"label,omitempty"`   // key of the label in an option; absent: the option is text
}

// Resume says how a conversation is begun and gone on with.
type Resume struct {
	Create     string    `json:"create,omitempty"`     // template with {id}: we choose the id
	Resume     string    `json:"resume,omitempty"`     // template with {id}
	StoreRoot  string    `json:"storeRoot,omitempty"`  // folder of the agent's records
	StoreMatch string    `json:"storeMatch,omitempty"` // dir:PATTERN or file:PATTERN
	Transcript string    `json:"transcript,omitempty"` // of a dir: store, the transcript inside the folder
	Discover   *Discover `json:"discover,omitempty"`   // the agent chooses the id
	History    *History  `json:"history,omitempty"`    // what a record tells of its conversation
}

// Discover says how to find the conversation that an agent began by itself.
type Discover struct {
	Root   string `json:"root"`
	Format string `json:"format"`           // jsonl, json, sqlite
	ID     string `json:"id"`               // key path, or a column
	Cwd    string `json:"cwd"`              // key path, or a column
	Table  string `json:"table,omitempty"`  // of sqlite
	Parent string `json:"parent,omitempty"` // key path that only a subagent's record has
	// Created is the key path, or the column, of the time at which the conversation was begun.
	Created string `json:"created,omitempty"`
	// Updated is the same of the last time that something was said; without it the
	// file's own time has to do.
	Updated string `json:"updated,omitempty"`
	Title   string `json:"title,omitempty"` // key path, or a column
	// Held says that the agent's process has the record open while it runs.
	Held bool `json:"held,omitempty"`
}

// History says how the records tell what their conversations are: for lists of past
// ones, and to take one up in its own folder.
type History struct {
	Root       string             `json:"root,omitempty"`       // folder of records whose names do not hold the whole id
	Match      string             `json:"match,omitempty"`      // and file:PATTERN of them, below it
	ID         string             `json:"id,omitempty"`         // key path of the id, where the name does not tell it
	File       string             `json:"file,omitempty"`       // of a dir: store, the file inside the folder; {id} is the id
	Folder     string             `json:"folder,omitempty"`     // key path: where the conversation was begun
	FolderFile string             `json:"folderFile,omitempty"` // or a file that holds it, relative to the record
	Names      Pattern            `json:"names,omitzero"`       // characters of a folder that are - in the names of the store's own folders
	Skip       map[string]Pattern `json:"skip,omitempty"`       // key path → pattern: lines that do not count
	Title      []LineText         `json:"title,omitempty"`      // the last line that fits has the title
	Prompt     []LineText         `json:"prompt,omitempty"`     // the first line that fits has the first prompt
}

// LineText is a text in the lines that match.
type LineText struct {
	Where map[string]Pattern `json:"where,omitempty"` // key path → pattern; all must match
	Text  string             `json:"text"`            // key path
}

// Skills says where the agent looks for skills.
type Skills struct {
	Dir string `json:"dir"`
}

// defaultOrder is the place of a manifest that has none: last.
const defaultOrder = 1_000_000

// Place is the manifest's place in pickers.
func (m *Manifest) Place() int {
	if m.Order == nil {
		return defaultOrder
	}
	return *m.Order
}

// Token is the short name for lists and small screens.
func (m *Manifest) Token() string { return cmp.Or(m.Wire, m.ID) }

// IsShell reports whether the manifest is a plain login shell.
func (m *Manifest) IsShell() bool { return m == nil || m.Command == "" }

// Program is the word that the agent is started by, as the PATH is searched for it.
func (m *Manifest) Program() string {
	if words, err := splitWords(m.Command); err == nil && len(words) > 0 {
		return words[0]
	}
	return ""
}

// StartedBy reports whether a process with these arguments, the program first, was
// started by the agent's command, with or without the flags that the command has.
func (m *Manifest) StartedBy(args []string) bool {
	if m.IsShell() || len(args) == 0 {
		return false
	}
	words, err := splitWords(m.Command)
	if err != nil || len(words) == 0 || path.Base(words[0]) != path.Base(args[0]) {
		return false
	}
	if len(words) <= len(args) && slices.Equal(words[1:], args[1:len(words)]) {
		return true
	}
	// A person starts it without the flags that are for us.
	words = slices.DeleteFunc(words[1:], func(w string) bool { return strings.HasPrefix(w, "-") })
	return len(words) < len(args) && slices.Equal(words, args[1:len(words)+1])
}

// HasComposer reports whether the manifest says how to recognise the composer.
func (m *Manifest) HasComposer() bool { return m != nil && m.ComposerRule != nil }

// HasDialogs reports whether the manifest says how to recognise dialogs on the screen.
func (m *Manifest) HasDialogs() bool { return m != nil && len(m.Dialogs) > 0 }

// ShowsPrompts reports whether anything shows that the agent took a prompt: a channel,
// its composer or its transcript.
func (m *Manifest) ShowsPrompts() bool {
	return m != nil && (m.hasChannel() || m.HasComposer() || m.TranscriptRules != nil)
}

// TranscriptTellsEnd reports whether a line of the transcript says that a turn ended.
func (m *Manifest) TranscriptTellsEnd() bool {
	if m == nil || m.TranscriptRules == nil {
		return false
	}
	return slices.ContainsFunc(m.TranscriptRules.Rules, func(r TranscriptRule) bool { return r.State == string(api.Done) })
}

// ChoosesID reports whether we choose the conversation's id at launch.
func (m *Manifest) ChoosesID() bool { return m.Resume != nil && m.Resume.Create != "" }

// Discovers reports whether the agent chooses the conversation's id itself and its
// record can be looked for.
func (m *Manifest) Discovers() bool {
	return m != nil && m.Resume != nil && m.Resume.Discover != nil
}

// HoldsRecord reports whether the agent has its conversation's record open while it
// runs, so that its open files tell which one it is.
func (m *Manifest) HoldsRecord() bool {
	return m.Discovers() && m.Resume.Discover.Held && m.Resume.Discover.Format != formatSQLite
}

// CanResume reports whether a conversation of the agent can be gone on with.
func (m *Manifest) CanResume() bool { return m.Resume != nil && m.Resume.Resume != "" }

// Expand turns a path of the manifest into an absolute one: ~ is home, and what
// lies in the config folder follows the variable that moves that folder. lookup
// gives the agent's environment; nil is an empty one.
func (m *Manifest) Expand(path, home string, lookup func(string) string) string {
	if c := m.Config; c != nil && lookup != nil {
		if moved := lookup(c.Env); moved != "" {
			if rest, ok := strings.CutPrefix(path, c.Dir); ok && (rest == "" || rest[0] == '/') {
				return expandHome(moved, home) + rest
			}
		}
	}
	return expandHome(path, home)
}

// ConfigEnv picks from an environment what moves the agent's files: the session
// remembers it, so that a later probe and a later launch look in the same place.
func (m *Manifest) ConfigEnv(environ []string) map[string]string {
	if m == nil || m.Config == nil {
		return nil
	}
	if v := lookupIn(environ)(m.Config.Env); v != "" {
		return map[string]string{m.Config.Env: v}
	}
	return nil
}

func expandHome(path, home string) string {
	if path == "~" {
		return home
	}
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return strings.TrimSuffix(home, "/") + "/" + rest
	}
	return path
}

// Timings are an agent's habits at its terminal, defaults filled in.
type Timings struct {
	Submit     time.Duration // after a paste, before Return
	DialogDeaf time.Duration // a new dialog ignores keys for so long
	Retry      time.Duration // a Return without effect is repeated after
	Settle     time.Duration // how long a sign of readiness must have held
	Queues     bool          // text sent in a turn becomes a turn of its own
	Holds      bool          // because it is kept from the agent until the turn is over
}

// Timings gives the manifest's timings. The defaults are generous to agents that
// nobody has measured.
func (m *Manifest) Timings() Timings {
	t := Timings{
		Submit:     150 * time.Millisecond,
		DialogDeaf: time.Second,
		Retry:      time.Second,
		Settle:     200 * time.Millisecond,
		Queues:     true,
	}
	if m == nil {
		return t
	}
	set := func(d *time.Duration, ms int) {
		if ms > 0 {
			*d = time.Duration(ms) * time.Millisecond
		}
	}
	if in := m.Input; in != nil {
		set(&t.Submit, in.SubmitMS)
		set(&t.DialogDeaf, in.DialogDeafMS)
		set(&t.Retry, in.RetryMS)
		t.Queues, t.Holds = in.Busy != BusyMerge, in.Busy == BusyHold
	}
	if m.ReadySigns != nil {
		set(&t.Settle, m.ReadySigns.SettleMS)
	}
	return t
}
