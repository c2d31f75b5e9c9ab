package integrate

import (
	"slices"

	"termio/internal/agent"
)

// jsonDialect is how one family of agents writes hooks in a JSON file. Nested ones
// have under "hooks" a list of groups for each event, each with an optional matcher
// and a list of commands; flat ones have the commands in the event's list itself.
type jsonDialect struct {
	takes extensions
	flat  bool
	bare  bool // the events are the file's own members, not those of "hooks"
	// version is the member that such a file must have; 0 is none.
	version int
	// command is the member that holds the shell line; "" is "command".
	command string
	// typed is whether a hook says that it is a command.
	typed bool
	// timeout is the member of a hook's time limit, and unit what a second is in it.
	timeout string
	unit    int
	// named is whether a hook has a name that the agent shows while it runs.
	named bool
	// neverAsync names events that must not run beside the agent although the
	// manifest asks for it: it may be gone before they are done.
	neverAsync []string
	off        offSwitch
	// instead is the name of a file beside the manifest's, with its events bare, which
	// the agent reads instead where there is one.
	instead string
	// trustIn is the name of a TOML file beside the hooks' own in which the agent keeps
	// which of them its user trusts.
	trustIn string
	// alone is whether a member that the agent does not know makes it ignore the file.
	alone bool
}

// offSwitch is a member, as a dotted path, that stops all hooks when it has that value.
type offSwitch struct {
	path  string
	value bool
}

// jsonDialects are the dialects by name.
var jsonDialects = map[string]jsonDialect{
	// Measured with Claude Code 2.1.332: a comment or a trailing comma makes it
	// ignore the whole file, a BOM does not; of a name that stands twice the last counts;
	// it runs `/bin/sh -c`, and gives SessionEnd 1.5 seconds.
	"claude": {
		typed: true, timeout: "timeout", unit: 1,
		neverAsync: []string{"SessionEnd"},
		off:        offSwitch{"disableAllHooks", true},
	},
	// Measured with Codex CLI 0.171.0: a BOM, a comment, a name that stands twice or a
	// member besides "hooks" makes it ignore the whole file, an unknown event does not;
	// a hook runs only after the person has trusted it, under its place in the file.
	"codex": {
		takes: extensions{noBOM: true}, typed: true, timeout: "timeout", unit: 1,
		trustIn: "config.toml", alone: true,
	},
	// Its manual (docs.factory.ai/harness/hooks): hooks.json has the events bare, and
	// where it is absent the hooks of settings.json count. Not run here.
	"droid": {
		takes: extensions{comments: true, commas: true}, typed: true, timeout: "timeout", unit: 1,
		instead: "hooks.json",
	},
	// Measured with Gemini CLI 0.61.0: it strips comments and takes no trailing comma;
	// a timeout counts milliseconds; the name is shown while the hook runs.
	"gemini": {
		takes: extensions{comments: true}, typed: true, timeout: "timeout", unit: 1000, named: true,
		off: offSwitch{"hooksConfig.enabled", false},
	},
	// Measured with Qwen Code 0.24.4: as Gemini's, but for seconds.
	"qwen": {
		takes: extensions{comments: true}, typed: true, timeout: "timeout", unit: 1, named: true,
		off: offSwitch{"disableAllHooks", true},
	},
	// Documented: a BOM or a timeout that is no whole number makes Grok drop the file. Not run here.
	"grok": {takes: extensions{noBOM: true}, typed: true, timeout: "timeout", unit: 1},
	// Documented: the file must say its version. Not run here.
	"cursor": {takes: extensions{comments: true, commas: true}, flat: true, version: 1, timeout: "timeout", unit: 1},
	// Measured with Copilot CLI 1.0.102.
	"copilot": {flat: true, version: 1, command: "bash", typed: true, timeout: "timeoutSec", unit: 1},
}

// commandMember is the member that holds a hook's shell line.
func (d jsonDialect) commandMember() string {
	if d.command != "" {
		return d.command
	}
	return "command"
}

// hookGroup is an entry of a nested dialect, its members in the order in which they are written.
type hookGroup struct {
	Matcher string     `json:"matcher,omitempty"`
	Hooks   []jsonHook `json:"hooks"`
}

// jsonHook is one command, in any dialect.
type jsonHook struct {
	Name       string `json:"name,omitempty"`
	Type       string `json:"type,omitempty"`
	Command    string `json:"command,omitempty"`
	Bash       string `json:"bash,omitempty"`
	Matcher    string `json:"matcher,omitempty"` // in flat dialects
	Timeout    int    `json:"timeout,omitempty"`
	TimeoutSec int    `json:"timeoutSec,omitempty"`
	Async      bool   `json:"async,omitempty"`
}

// entry is what stands in an event's list for a command of ours.
func (d jsonDialect) entry(h *agent.Hooks, e agent.HookEvent, command string) any {
	hook := jsonHook{Async: h.Async && !slices.Contains(d.neverAsync, e.On)}
	if d.named {
		hook.Name = commandName
	}
	if d.typed {
		hook.Type = "command"
	}
	if d.commandMember() == "bash" {
		hook.Bash = command
	} else {
		hook.Command = command
	}
	limit := h.TimeoutSeconds * d.unit
	if d.timeout == "timeoutSec" {
		hook.TimeoutSec = limit
	} else {
		hook.Timeout = limit
	}
	if d.flat {
		hook.Matcher = e.Matcher
		return hook
	}
	return hookGroup{Matcher: e.Matcher, Hooks: []jsonHook{hook}}
}
