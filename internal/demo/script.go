package demo

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A script is a prompt as the demo agent reads it: words for the reply, and steps.
type script struct {
	words string // what stands outside the brackets
	steps []step
}

// A step is one directive.
type step struct {
	verb string
	text string        // what is said, run, asked, touched …
	tool string        // of tool
	time time.Duration // of what takes time; scaled when it is done
	n    int           // of what counts
	list []string      // options, names
}

// A verb is a word of the script language.
type verb struct {
	name  string
	takes string
	what  string
	parse func(*step, string) error
}

// verbs is the whole language.
var verbs = []verb{
	{"say", "TEXT", "a streamed reply", needText},
	{"work", "TIME", "busy, with a spinner", needTime},
	{"think", "TIME", "busy, and nothing moves", needTime},
	{"lines", "N", "a reply of N numbered lines", needNumber},
	{"tool", "[TIME] NAME: INPUT", "a tool call; all but read, grep, glob and ls ask first", parseTool},
	{"touch", "FILE", "makes an empty file here, if permitted", needText},
	{"ask", "QUESTION|A|B|…", "a question with options", parseAsk},
	{"subagent", "[TIME] TEXT", "a subagent that goes on after the turn", timedText},
	{"background", "[TIME] TEXT", "a background command that goes on after the turn", timedText},
	{"compact", "", "the conversation is compacted", noText},
	{"error", "TEXT", "the turn fails", needText},
	{"limit", "TEXT", "the turn fails on a usage limit", needText},
	{"exit", "N", "ends with that exit code", needNumber},
	{"crash", "N", "ends at once, without a word; from 129 on by the signal N-128", needNumber},
	{"until", "FILE", "busy until a line is written into the named pipe FILE, which it makes", needText},
	{"title", "TEXT", "a title of its own", needText},
	{"notify", "TEXT", "OSC 9", needText},
	{"bell", "", "BEL", noText},
	{"progress", "N", "OSC 9;4 with N percent", needNumber},
	{"query", "A,B", "asks the terminal and shows the answers", parseQuery},
	{"hook", "EVENT", "reports the event once more, out of place", needEvent},
	{"child", "EVENT", "reports the event as another conversation would", needEvent},
	{"clear", "", "a new conversation, as /clear", noText},
	{"set", "NAME=VALUE", "sets a switch from here on", parseSet},
}

func needText(s *step, arg string) error {
	if arg == "" {
		return errors.New("needs a text")
	}
	s.text = arg
	return nil
}

func needEvent(s *step, arg string) error {
	if _, ok := reported[arg]; !ok {
		return fmt.Errorf("%q is none of the events %s", arg, strings.Join(slices.Sorted(maps.Keys(reported)), ", "))
	}
	s.text = arg
	return nil
}

func noText(_ *step, arg string) error {
	if arg != "" {
		return errors.New("takes nothing")
	}
	return nil
}

func needTime(s *step, arg string) (err error) {
	s.time, err = parseTime(arg, time.Second)
	return err
}

// maxCount bounds the numbers of a script.
const maxCount = 1_000_000

func needNumber(s *step, arg string) (err error) {
	s.n, err = strconv.Atoi(arg)
	if err != nil || s.n < 0 || s.n > maxCount {
		return fmt.Errorf("%q is no number from 0 to %d", arg, maxCount)
	}
	return nil
}

// timedText reads an optional time, then a text.
func timedText(s *step, arg string) error {
	first, rest, _ := strings.Cut(arg, " ")
	if d, err := parseTime(first, time.Second); err == nil {
		s.time, arg = d, strings.TrimSpace(rest)
	}
	return needText(s, arg)
}

func parseTool(s *step, arg string) error {
	if err := timedText(s, arg); err != nil {
		return err
	}
	name, input, ok := strings.Cut(s.text, ":")
	s.tool, s.text = strings.TrimSpace(name), strings.TrimSpace(input)
	if !ok || s.tool == "" || s.text == "" {
		return errors.New("is written tool NAME: INPUT")
	}
	return nil
}

// maxChoices is how many options a question may have: each has a digit, and one
// more is for free text.
const maxChoices = 8

func parseAsk(s *step, arg string) error {
	parts := strings.Split(arg, "|")
	for i := range parts {
		if parts[i] = strings.TrimSpace(parts[i]); parts[i] == "" {
			return errors.New("has an empty part")
		}
	}
	if len(parts) > maxChoices+1 {
		return fmt.Errorf("has more than %d options", maxChoices)
	}
	s.text, s.list = parts[0], parts[1:]
	return nil
}

func parseQuery(s *step, arg string) error {
	s.list = strings.Split(arg, ",")
	for _, name := range s.list {
		if !slices.Contains(queryNames(), name) {
			return fmt.Errorf("%q is none of %s", name, strings.Join(queryNames(), ", "))
		}
	}
	return nil
}

func parseSet(s *step, arg string) error {
	name, value, ok := strings.Cut(arg, "=")
	if !ok {
		return errors.New("is written set NAME=VALUE")
	}
	s.list = []string{strings.TrimSpace(name), strings.TrimSpace(value)}
	return new(settings).apply(s.list[0], s.list[1])
}

// parseScript reads a prompt. What it does not understand becomes an error step in
// its place, so that a person sees it and the rest is done.
func parseScript(prompt string) script {
	var (
		sc    script
		words []string
	)
	add := func(s string) {
		if s = strings.TrimSpace(s); s != "" {
			words = append(words, s)
		}
	}
	for rest := prompt; ; {
		before, after, ok := strings.Cut(rest, "[[")
		inner, next, closed := strings.Cut(after, "]]")
		if !ok || !closed {
			add(rest)
			break
		}
		add(before)
		sc.steps = append(sc.steps, parseStep(strings.TrimSpace(inner)))
		rest = next
	}
	sc.words = strings.TrimSpace(strings.Join(words, " "))
	return sc
}

// badVerb is the verb of a step that could not be read; its text says why.
const badVerb = "?"

func parseStep(inner string) step {
	name, arg, _ := strings.Cut(inner, " ")
	if before, after, ok := strings.Cut(name, ":"); ok { // "[[say: text]]" is fine too
		name, arg = before, strings.TrimSpace(after+" "+arg)
	}
	i := slices.IndexFunc(verbs, func(v verb) bool { return v.name == name })
	if i < 0 {
		return step{verb: badVerb, text: fmt.Sprintf("no directive %q; /help lists them", name)}
	}
	s := step{verb: name}
	if err := verbs[i].parse(&s, strings.TrimSpace(arg)); err != nil {
		return step{verb: badVerb, text: fmt.Sprintf("[[%s]]: %s %v", inner, name, err)}
	}
	return s
}

// needsPermission reports whether a tool asks before it runs.
func needsPermission(tool string) bool {
	switch strings.ToLower(tool) {
	case "read", "grep", "glob", "ls":
		return false
	}
	return true
}
