package fakemodel

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// reply is what the model will answer to one request.
type reply struct {
	text string
	// tool and input are the call that follows the text; no tool ends the turn.
	tool  string
	input any
	// hold is the name that the reply stops at, after its first words.
	hold string
	// silent stops a held reply before its first word.
	silent bool
	// pace is how long the reply takes, spread over its words.
	pace time.Duration
	// status is an HTTP status to fail with instead, when it isn't 0.
	status int
}

// directive is a [[verb: argument]] in a prompt. The last one of a prompt counts: an
// agent may put older text before it. Braces inside an argument, {{verb: argument}},
// become brackets, so that one prompt can carry the next one's directive.
var directive = regexp.MustCompile(`(?s)\[\[(\w+):?\s*(.*?)\]\]`)

// directives are the verbs, each with what its argument is.
//
//	[[text: WORDS]]     answer with these words
//	[[lines: N]]        answer with N lines
//	[[bash: COMMAND]]   run a shell command
//	[[write: PATH]]     write a file
//	[[ask: QUESTION]]   ask the person, with the options Red and Blue
//	[[agent: PROMPT]]   start a subagent with this prompt
//	[[tool: NAME JSON]] call any tool with this input
//	[[slow: SECONDS]]   answer over so many seconds
//	[[hold: NAME]]      begin to answer, go on when the test releases NAME
//	[[stall: NAME]]     say nothing until the test releases NAME
//	[[error: STATUS]]   fail with this HTTP status
var directives = map[string]func(argument string, tools []string) reply{
	"text":  func(a string, _ []string) reply { return reply{text: a} },
	"lines": numberedLines,
	"bash": func(a string, tools []string) reply {
		const why = "Run the command of the prompt"
		return call(tools,
			offer{"Bash", map[string]any{"command": a, "description": why}},
			// Outside of the sandbox, so that the person is asked.
			offer{"exec_command", map[string]any{"cmd": a, "sandbox_permissions": "require_escalated", "justification": why}},
			offer{"bash", map[string]any{"command": a, "description": why}},
			offer{"run_shell_command", map[string]any{"command": a, "description": why, "is_background": false}})
	},
	"write": func(a string, tools []string) reply {
		file := map[string]any{"file_path": a, "content": "written\n"}
		return call(tools, offer{"Write", file}, offer{"write_file", file},
			offer{"write", map[string]any{"path": a, "filePath": a, "content": "written\n"}})
	},
	"ask": ask,
	"agent": func(a string, tools []string) reply {
		task := map[string]any{"description": "Do the inner prompt", "prompt": a, "subagent_type": "general-purpose"}
		return call(tools, offer{"Agent", task}, offer{"Task", task}, offer{"spawn_agent", map[string]any{"message": a}})
	},
	"tool": anyTool,
	"slow": func(a string, _ []string) reply {
		seconds, err := strconv.ParseFloat(a, 64)
		if err != nil {
			return reply{text: fmt.Sprintf("no number of seconds: %q", a)}
		}
		return reply{text: "slow " + strings.Repeat("word ", int(5*seconds)), pace: time.Duration(seconds * float64(time.Second))}
	},
	"hold": func(a string, _ []string) reply { return reply{text: "held, then released", hold: a} },
	"stall": func(a string, _ []string) reply {
		return reply{text: "silent, then released", hold: a, silent: true}
	},
	"error": func(a string, _ []string) reply {
		status, err := strconv.Atoi(a)
		if err != nil || status < 400 || status > 599 {
			return reply{text: fmt.Sprintf("no HTTP error: %q", a)}
		}
		return reply{status: status}
	},
}

// answer decides what the model says to a request.
func answer(r Request) reply {
	if m := directive.FindAllStringSubmatch(r.Prompt, -1); m != nil {
		verb, argument := m[len(m)-1][1], strings.TrimSpace(m[len(m)-1][2])
		argument = strings.NewReplacer("{{", "[[", "}}", "]]").Replace(argument)
		if do := directives[verb]; do != nil {
			return do(argument, r.Tools)
		}
		return reply{text: "no directive " + verb}
	}
	if r.ToolResult != "" {
		return reply{text: "The tool answered. Done."}
	}
	return reply{text: "You said: " + tail(r.Prompt, 60)}
}

// tail is the end of a text, at most n runes of it.
func tail(s string, n int) string {
	rs := []rune(strings.TrimSpace(s))
	return string(rs[max(0, len(rs)-n):])
}

// An offer is a tool that an agent may offer, and what to call it with.
type offer struct {
	tool  string
	input any
}

// call answers with a call of the first tool that the agent offers.
func call(offered []string, offers ...offer) reply {
	var names []string
	for _, o := range offers {
		if slices.Contains(offered, o.tool) {
			return reply{text: "I will use " + o.tool + ".", tool: o.tool, input: o.input}
		}
		names = append(names, o.tool)
	}
	return reply{text: fmt.Sprintf("the agent offers none of %v", names)}
}

// ask puts a question with two options to the person.
func ask(question string, tools []string) reply {
	option := func(label, description string) map[string]any {
		return map[string]any{"label": label, "description": description}
	}
	questions := map[string]any{"questions": []any{map[string]any{
		"id":          "choice",
		"question":    question,
		"header":      "Choice",
		"multiSelect": false,
		"options":     []any{option("Red", "The warm one"), option("Blue", "The cold one")},
	}}}
	return call(tools, offer{"AskUserQuestion", questions}, offer{"request_user_input", questions},
		offer{"ask_user_question", questions}, offer{"question", questions})
}

// anyTool calls a tool by name, with its input as it stands.
func anyTool(argument string, tools []string) reply {
	name, input, _ := strings.Cut(argument, " ")
	if !json.Valid([]byte(input)) {
		return reply{text: fmt.Sprintf("no JSON: %q", input)}
	}
	return call(tools, offer{name, json.RawMessage(input)})
}

// numberedLines answers with many lines, to fill a screen or a transcript.
func numberedLines(argument string, _ []string) reply {
	n, err := strconv.Atoi(argument)
	if err != nil || n < 1 || n > 100_000 {
		return reply{text: fmt.Sprintf("no number of lines: %q", argument)}
	}
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d\n", i+1)
	}
	return reply{text: b.String()}
}
