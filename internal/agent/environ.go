package agent

import (
	"runtime"
	"strings"
)

// foreign names what tells a program about another terminal, about the enclosing
// session of an agent, or about the daemon's own start: inside a session all of it
// would be wrong. A * at the end takes all that begin so. A person's own settings
// (CLAUDE_CODE_USE_…, CODEX_HOME and the like) are not among them.
var foreign = []string{
	// Multiplexers.
	"TMUX", "TMUX_PANE", "TMUX_PLUGIN_MANAGER_PATH", "STY", "WINDOW", "ZELLIJ*", "BYOBU_*",
	// Terminals and editors with one.
	"TERM_PROGRAM", "TERM_PROGRAM_VERSION", "TERM_SESSION_ID", "TERM_FEATURES", "TERMINFO", "TERMINFO_DIRS",
	"ITERM_*", "LC_TERMINAL", "LC_TERMINAL_VERSION", "KITTY_*", "WEZTERM_*", "GHOSTTY_*", "ALACRITTY_*",
	"KONSOLE_*", "GNOME_TERMINAL_*", "VTE_VERSION", "WT_SESSION", "WT_PROFILE_ID", "TILIX_ID", "TERMINATOR_UUID",
	"WINDOWID", "COLORFGBG", "XTERM_VERSION", "XTERM_LOCALE", "XTERM_SHELL", "CONTOUR_*", "RIO_*", "WARP_*",
	"VSCODE_*", "TERMINAL_EMULATOR", "INSIDE_EMACS", "EMACS", "NVIM", "NVIM_LISTEN_ADDRESS", "VIM_TERMINAL",
	// The size and the tty of another terminal.
	"COLUMNS", "LINES", "GPG_TTY",
	// Sessions of agents that enclose the daemon: with some of these an agent takes
	// itself for a child and keeps no transcript.
	"AI_AGENT", "CLAUDECODE", "CLAUDE_PID", "CLAUDE_EFFORT", "CLAUDE_PROJECT_DIR", "CLAUDE_ENV_FILE",
	"CLAUDE_CODE_CHILD_SESSION", "CLAUDE_CODE_CHILD_NOTES_DIR", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_SESSION_ATTENDED",
	"CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT", "CLAUDE_CODE_EXECPATH", "CLAUDE_CODE_PARENT_SESSION_ID",
	"CLAUDE_CODE_MESSAGING_SOCKET", "CLAUDE_CODE_MESSAGING_TOKEN", "CLAUDE_CODE_AGENT_NAME", "CLAUDE_CODE_TEAM_NAME",
	"CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED", "CODEX_THREAD_ID", "CODEX_CI",
	"COPILOT_AGENT_SESSION_ID", "COPILOT_CLI", "COPILOT_RUN_APP", "CURSOR_AGENT", "CURSOR_TRACE_ID",
	"GEMINI_CLI", "QWEN_CODE", "OPENCODE", "OPENCODE_PID", "OPENCODE_RUN_ID", "PI_CODING_AGENT", "CLINE_ACTIVE",
	// The start of the daemon.
	"TERMIO_SESSION", "TERMIO_READY_FD", "NOTIFY_SOCKET", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES", "INVOCATION_ID",
	"JOURNAL_STREAM", "_", "SHLVL", "OLDPWD", "PWD",
}

// Environment is what a session's program inherits of an environment, before
// anything is added: without the marks of other terminals, of enclosing sessions
// and of the daemon, and with a UTF-8 locale if it names none. The folder a program
// starts in decides PWD, so that is left out as well.
func Environment(base []string) map[string]string {
	env := make(map[string]string, len(base))
	for _, kv := range base {
		if name, v, ok := strings.Cut(kv, "="); ok && name != "" && !inNames(foreign, name) {
			env[name] = v
		}
	}
	setLocale(env)
	return env
}

// inNames reports whether a list with trailing wildcards has the name.
func inNames(list []string, name string) bool {
	for _, n := range list {
		if prefix, ok := strings.CutSuffix(n, "*"); ok && strings.HasPrefix(name, prefix) || n == name {
			return true
		}
	}
	return false
}

// setLocale gives programs UTF-8 where the environment names no locale or only the
// portable one. Another charset that a person chose is theirs.
func setLocale(env map[string]string) {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		switch env[name] {
		case "":
		case "C", "POSIX":
			delete(env, name)
		default:
			return
		}
	}
	env["LANG"] = "C.UTF-8"
	if runtime.GOOS == "darwin" { // has had C.UTF-8 only lately
		env["LANG"] = "en_US.UTF-8"
	}
}

// lookupIn gives the variables of an environment by name; the last one counts.
func lookupIn(environ []string) func(string) string {
	return func(name string) string {
		for i := len(environ) - 1; i >= 0; i-- {
			if v, ok := strings.CutPrefix(environ[i], name+"="); ok {
				return v
			}
		}
		return ""
	}
}
