package integrate

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"termio/internal/agent"
)

// reportCommand is the shell line that an agent runs at an event. It is
// constant over upgrades, prints nothing and succeeds; with the program gone
// it is silent. The exec saves the shell a fork at every tool call.
func reportCommand(exe string, h *agent.Hooks, e agent.HookEvent, more ...string) string {
	var line strings.Builder
	line.WriteString("[ ! -x " + quote(exe) + " ] || exec " + quote(exe))
	for _, w := range append(reportWords(h, e), more...) {
		line.WriteString(" " + quoteIfNeeded(w))
	}
	return line.String()
}

// reportWords are the arguments of a report.
func reportWords(h *agent.Hooks, e agent.HookEvent) []string {
	words := []string{"agent", "report", e.State, "--event", e.On}
	if h.Conversation != "" {
		words = append(words, "--conversation-from", h.Conversation)
	}
	if h.CapturesTranscript {
		words = append(words, "--transcript")
	}
	return words
}

// plainWord is a word that a shell leaves alone.
var plainWord = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_@%+:,./-]+$`) })

// quote makes a word of any text, for a POSIX shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func quoteIfNeeded(s string) string {
	if plainWord().MatchString(s) {
		return s
	}
	return quote(s)
}

// A word of a shell line: an operator such as || or anything else, unquoted.
type word struct {
	text string
	op   bool
}

// guards are the ways in which a command of ours may begin, the program's
// place left empty. Older versions wrote the later ones.
var guards = [][]word{
	{{text: "["}, {text: "!"}, {text: "-x"}, {}, {text: "]"}, {"||", true}, {text: "exec"}},
	{{text: "["}, {text: "-x"}, {}, {text: "]"}, {"&&", true}, {text: "exec"}},
	{{text: "["}, {text: "-x"}, {}, {text: "]"}, {"&&", true}},
}

// reportedBy recognises a command of ours, in its present form or an older
// one, and returns the program that it runs. A line with anything else in it
// is its writer's own.
func reportedBy(command string) (exe string, ours bool) {
	words, ok := shellWords(command)
	if !ok {
		return "", false
	}
	for _, g := range guards {
		if len(words) > len(g) && slices.EqualFunc(g, words[:len(g)], func(g, w word) bool { return g == w || g == word{} && !w.op }) {
			exe, words = words[slices.Index(g, word{})].text, words[len(g):]
			break
		}
	}
	if n := len(words) - 2; n > 0 && words[n] == (word{"||", true}) && words[n+1] == (word{text: "true"}) {
		words = words[:n]
	}
	if slices.ContainsFunc(words, func(w word) bool { return w.op }) || len(words) < 4 ||
		exe != "" && exe != words[0].text || filepath.Base(words[0].text) != "termio" ||
		words[1].text != "agent" || words[2].text != "report" {
		return "", false
	}
	return words[0].text, true
}

// shellWords splits a line as a shell does, without expanding anything. A line
// with more in it than our commands have is refused.
func shellWords(line string) (words []word, ok bool) {
	const blank = " \t"
	for rest := strings.TrimLeft(line, blank); rest != ""; rest = strings.TrimLeft(rest, blank) {
		if op := rest[:len(rest)-len(strings.TrimLeft(rest, operators))]; op != "" {
			words, rest = append(words, word{op, true}), rest[len(op):]
			continue
		}
		text, n, ok := shellWord(rest)
		if !ok {
			return nil, false
		}
		words, rest = append(words, word{text: text}), rest[n:]
	}
	return words, true
}

// operators are the characters that end a word and are one of their own.
const operators = "|&;<>()"

// shellWord reads the word that a line begins with, n bytes long.
func shellWord(s string) (text string, n int, ok bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == ' ' || c == '\t' || strings.IndexByte(operators, c) >= 0:
			return b.String(), i, true
		case c == '\'' || c == '"':
			j := strings.IndexByte(s[i+1:], c)
			if j < 0 || c == '"' && strings.ContainsAny(s[i+1:i+1+j], "$`\\") {
				return "", 0, false
			}
			b.WriteString(s[i+1 : i+1+j])
			i += j + 1
		case c == '\\' && i+1 < len(s) && s[i+1] != '\n': // that goes on with the line
			i++
			b.WriteByte(s[i])
		case strings.IndexByte("\\$`#*?~{}\n\r", c) >= 0:
			return "", 0, false
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), len(s), true
}
