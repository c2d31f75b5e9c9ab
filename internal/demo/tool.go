package demo

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"termio/internal/api"
)

// toolTime is how long a tool runs that says nothing else.
const toolTime = 300 * time.Millisecond

// title gives a tool's name as it is shown.
func title(tool string) string {
	first, size := utf8.DecodeRuneInString(tool)
	return string(unicode.ToUpper(first)) + tool[size:]
}

// toolInput is the input as the real tool of that name has it.
func toolInput(tool, text string) map[string]any {
	switch strings.ToLower(tool) {
	case "bash":
		return map[string]any{"command": text, "description": "Run " + text}
	case "read", "edit", "write":
		return map[string]any{"file_path": text}
	}
	return map[string]any{"input": text}
}

// tool pretends to run a tool, after asking if it must.
func (t *turn) tool(s step) bool {
	return t.useTool(s.tool, s.text, cmp.Or(s.time, toolTime), func() (string, error) {
		return "(the demo agent runs nothing)", nil
	})
}

// touch makes a file inside the working folder, if permitted.
func (t *turn) touch(s step) bool {
	if !filepath.IsLocal(s.text) {
		return t.a.do(t.ctx, func() {
			t.a.sayError(fmt.Sprintf("touch %s: the file must lie in this folder", s.text))
		})
	}
	return t.useTool("write", s.text, toolTime, func() (string, error) {
		f, err := os.OpenFile(filepath.Join(t.a.cwd, s.text), os.O_WRONLY|os.O_CREATE, 0o644)
		if err != nil {
			return "", err
		}
		return "Created " + s.text, f.Close()
	})
}

// useTool goes the whole way of a tool call.
func (t *turn) useTool(tool, text string, takes time.Duration, work func() (string, error)) bool {
	a, shown := t.a, title(tool)
	var (
		e  *entry
		id string
	)
	if !a.do(t.ctx, func() {
		t.tools++
		id = "toolu_" + strings.ReplaceAll(derivedID(a.conv.id, "tool", a.conv.lines, t.tools), "-", "")[:16]
		e = a.sayText(shown + "(" + firstLine(text) + ")")
		e.open, t.shown = true, true
	}) {
		return false
	}
	fields := map[string]any{"tool_name": shown, "tool_input": toolInput(tool, text), "tool_use_id": id}
	if !t.write(t.assistant("tool_use", block{Type: "tool_use", ID: id, Name: shown, Input: toolInput(tool, text)})) ||
		!t.hook("PreToolUse", fields, true) || !t.permit(shown, text, fields) || !t.wait(takes) {
		return false
	}
	output, err := work()
	if err != nil {
		output = err.Error()
	}
	if !t.hook("PostToolUse", fields, true) {
		return false
	}
	if !a.do(t.ctx, func() {
		e.open = false
		a.sayUnder(output)
	}) {
		return false
	}
	return t.write(line{Type: "user", Message: &message{Role: "user", Content: []block{
		{Type: "tool_result", ToolUseID: id, Content: output, IsError: err != nil},
	}}})
}

// permit asks for a tool unless it needs no asking.
func (t *turn) permit(tool, text string, fields map[string]any) bool {
	a := t.a
	if !needsPermission(tool) || t.setting(func(s *settings) bool { return s.allowAll || a.allowed[tool] }) {
		return t.ctx.Err() == nil
	}
	what, question := tool+" command", "Do you want to run "
	if strings.EqualFold(tool, "write") || strings.EqualFold(tool, "edit") {
		what, question = tool+" file", "Do you want to let "+tool+" change "
	}
	ans, ok := t.dialog(&dialog{
		kind: api.DialogPermission, tool: tool, title: what, detail: text, question: question + shorten(firstLine(text), 60) + "?",
		options: []string{"Yes", "Yes, and always allow " + tool + " in this session", "No, and say what to do instead"},
	}, fields)
	if !ok {
		return false
	}
	if ans.escaped || ans.option == 2 {
		a.do(t.ctx, func() { t.denied = true })
		return false
	}
	if ans.option == 1 {
		return a.do(t.ctx, func() { a.allowed[tool] = true })
	}
	return true
}

// dialog opens a dialog with its hook and waits for the answer.
func (t *turn) dialog(d *dialog, fields map[string]any) (answer, bool) {
	a := t.a
	got := make(chan answer, 1) // the loop never waits for the turn
	d.answered = func(ans answer) {
		got <- ans
		if !ans.escaped {
			a.announce(statusWorking)
		}
	}
	if !a.do(t.ctx, func() {
		a.report("PermissionRequest", fields) // the dialog does not wait for it
		a.open(d)
	}) {
		return answer{}, false
	}
	select {
	case ans := <-got:
		return ans, true
	case <-t.ctx.Done():
		return answer{}, false
	}
}

// ask asks a question with options, the last of which takes any text.
func (t *turn) ask(s step) bool {
	a := t.a
	options := make([]map[string]any, len(s.list))
	for i, o := range s.list {
		options[i] = map[string]any{"label": o}
	}
	fields := map[string]any{"tool_name": "AskUserQuestion", "tool_input": map[string]any{
		"questions": []map[string]any{{"question": s.text, "header": "Question", "options": options, "multiSelect": false}},
	}}
	if !t.hook("PreToolUse", fields, true) {
		return false
	}
	ans, ok := t.dialog(&dialog{
		kind: api.DialogQuestion, title: "☐ Question", question: s.text,
		options: append(slices.Clone(s.list), "Type something."), free: true,
	}, fields)
	if !ok {
		return false
	}
	if ans.escaped {
		a.do(t.ctx, func() { t.denied = true })
		return false
	}
	return t.hook("PostToolUse", fields, true) &&
		a.do(t.ctx, func() { a.sayUnder(s.text + " → " + ans.text) }) &&
		t.stream("You answered: "+ans.text)
}
