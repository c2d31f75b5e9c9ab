package agent

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"termio/internal/api"
)

// LaunchInput is what a launch depends on.
type LaunchInput struct {
	Manifest     *Manifest // nil is a login shell
	Session      api.SessionID
	Conversation string            // its id; of an agent that chooses the id itself, "" until it has one
	Resume       bool              // go on with Conversation instead of beginning it
	Prompt       string            // first prompt, with its note if it has one; "" is none
	Bypass       bool              // the person's switch for asking no permission
	BaseEnv      []string          // the daemon's environment, or the login shell's
	ConfigEnv    map[string]string // what [Manifest.ConfigEnv] gave when the session was made
	Shell        string            // absolute path of the login shell
	Version      string            // of termio, for TERM_PROGRAM_VERSION
}

// A Launch is how a session's program is started: never through a shell, and
// nothing of it is split or interpolated again.
type Launch struct {
	Argv  []string // Argv[0] is looked up on the login shell's PATH unless it is a path
	Env   []string // the whole environment, sorted
	Typed bool     // the prompt is not in Argv and has to be typed once the agent is ready
}

// defaultPromptBytes bounds a prompt that is passed as an argument: Linux takes
// 128 KiB in one, and other systems less for all together.
const defaultPromptBytes = 100_000

// maxConversation bounds the id of a conversation in bytes.
const maxConversation = 128

// ErrConversation is the error of an id that is missing or is none.
var ErrConversation = errors.New("not the id of a conversation")

// ValidConversation reports whether id can be one: a short token that is no flag and
// no path, whatever it is put into.
func ValidConversation(id string) bool {
	return len(id) <= maxConversation && idPattern().MatchString(id) && !strings.Contains(id, "..")
}

// Plan makes the launch of a session. The words come in this order: command, bypass
// flag, create or resume words, prompt.
func Plan(in LaunchInput) (Launch, error) {
	m := in.Manifest
	l := Launch{Env: environment(in), Typed: in.Prompt != ""}
	if m.IsShell() {
		l.Argv = []string{in.Shell, "-l"}
		return l, nil
	}
	argv, err := splitWords(m.Command)
	if err != nil {
		return Launch{}, fmt.Errorf("command of %s %w", m.ID, err)
	}
	if in.Bypass && m.PermissionBypassFlag != "" {
		flag, err := splitWords(m.PermissionBypassFlag)
		if err != nil {
			return Launch{}, fmt.Errorf("permissionBypassFlag of %s %w", m.ID, err)
		}
		if !containsRun(argv, flag) {
			argv = append(argv, flag...)
		}
	}
	words, err := m.conversationWords(in.Conversation, in.Resume)
	if err != nil {
		return Launch{}, err
	}
	argv = append(argv, words...)
	if in.Prompt != "" && m.PassesPrompt(in.Prompt) {
		words, err := fill(m.PromptArg.Arg, map[string]string{"prompt": in.Prompt})
		if err != nil {
			return Launch{}, fmt.Errorf("prompt.arg of %s %w", m.ID, err)
		}
		argv = append(argv, words...)
		l.Typed = false
	}
	l.Argv = argv
	return l, nil
}

// PassesPrompt reports whether a launch gives the prompt to the agent as an argument,
// so that it need not be typed.
func (m *Manifest) PassesPrompt(prompt string) bool {
	return m.PromptArg != nil &&
		len(prompt) <= cmp.Or(m.PromptArg.MaxBytes, defaultPromptBytes) &&
		!strings.Contains(prompt, "\x00")
}

// conversationWords are the words that begin a conversation or go on with it.
func (m *Manifest) conversationWords(id string, resume bool) ([]string, error) {
	var template string
	switch {
	case resume && !m.CanResume():
		return nil, fmt.Errorf("%s can't resume a conversation", m.Name)
	case resume:
		template = m.Resume.Resume
	case m.ChoosesID():
		template = m.Resume.Create
	default:
		return nil, nil
	}
	if !ValidConversation(id) {
		return nil, fmt.Errorf("%w: %q", ErrConversation, id)
	}
	words, err := fill(template, map[string]string{"id": id})
	if err != nil {
		return nil, fmt.Errorf("resume of %s %w", m.ID, err)
	}
	return words, nil
}

// containsRun reports whether the words of flag stand in argv one after the other.
func containsRun(argv, flag []string) bool {
	for i := range argv {
		if len(argv)-i >= len(flag) && slices.Equal(argv[i:i+len(flag)], flag) {
			return true
		}
	}
	return false
}

// environment is the agent's whole environment.
func environment(in LaunchInput) []string {
	env := Environment(in.BaseEnv)
	if m := in.Manifest; m != nil && m.Env != nil {
		maps.DeleteFunc(env, func(name, _ string) bool { return inNames(m.Env.Remove, name) })
		maps.Copy(env, m.Env.Set)
	}
	maps.Copy(env, in.ConfigEnv)
	env["TERMIO_SESSION"] = string(in.Session)
	env["TERM"] = "xterm-256color"
	env["COLORTERM"] = "truecolor"
	env["TERM_PROGRAM"] = "termio"
	env["TERM_PROGRAM_VERSION"] = in.Version
	list := make([]string, 0, len(env))
	for name, v := range env {
		list = append(list, name+"="+v)
	}
	slices.Sort(list)
	return list
}
