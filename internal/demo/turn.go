package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"termio/internal/api"
)

// A turn runs one prompt. Its goroutine goes through the steps and asks the loop
// for everything it needs; the loop owns the fields.
type turn struct {
	a      *agent
	ctx    context.Context
	cancel context.CancelFunc
	prompt prompt

	began    time.Time
	verb     string
	silent   bool // no spinner, no title
	shown    bool // something came out
	ending   bool // the step that runs is the last; the turn's goroutine owns it
	closed   bool // a closing text was said; likewise
	reply    strings.Builder
	tools    int
	failed   bool
	denied   bool
	answered func(query string) // wakes a step that waits for the terminal
}

// The words of the spinner, by turn.
var spinnerVerbs = [...]string{"Working", "Rehearsing", "Improvising", "Reading the script", "Prompting"}

// begin starts a turn.
func (a *agent) begin(p prompt) {
	t := &turn{a: a, prompt: p, began: a.now(), verb: spinnerVerbs[a.conv.turns%len(spinnerVerbs)]}
	t.ctx, t.cancel = context.WithCancel(a.ctx)
	sc := parseScript(p.text)
	t.silent = len(sc.steps) > 0 && sc.steps[0].verb == "think"
	a.turn, a.escapes, a.failure, a.ownTitle = t, 0, "", ""
	if a.topic == "" && !p.machine {
		a.topic = shorten(clean(firstLine(strings.TrimSpace(topicOf(sc)))), 40)
	}
	if !p.machine {
		a.sayUser(p.text)
	}
	if err := a.conv.beginTurn(a.set.transcript); err != nil {
		a.sayError(err.Error())
	}
	if t.silent {
		a.status = statusWorking
		a.programRecord()
	} else {
		a.announce(statusWorking)
		a.startTicking()
	}
	a.wg.Go(func() {
		t.run(sc)
		a.post(func() { a.ended(t) })
	})
}

// topicOf is what a title says of a prompt.
func topicOf(sc script) string {
	if sc.words != "" {
		return sc.words
	}
	for _, s := range sc.steps {
		if s.text != "" {
			return s.verb + ": " + s.text
		}
	}
	return ""
}

// interrupt stops the turn, as Esc does. No hook tells of it, as with the real one.
func (a *agent) interrupt() {
	if a.turn == nil || a.turn.ctx.Err() != nil {
		return
	}
	a.note("interrupt", nil)
	a.turn.cancel()
}

// ended cleans up after a turn whose goroutine is through.
func (a *agent) ended(t *turn) {
	if a.turn != t || a.code != nil {
		return
	}
	interrupted := t.ctx.Err() != nil || t.denied
	a.turn = nil
	for _, e := range a.entries {
		e.open = false
	}
	if d := a.dialog; d != nil {
		a.dialog = nil
		d.cancel()
	}
	t.cancel()
	switch {
	case interrupted:
		a.interrupted(t)
		a.announce(statusIdle)
	case t.failed:
		a.announce(statusError)
	default:
		a.announce(statusDone)
	}
	a.nextTurn()
}

// interrupted shows and records an interruption.
func (a *agent) interrupted(t *turn) {
	if a.set.restore && !t.shown && !t.denied && a.composer.value == "" {
		a.composer.set(t.prompt.text)
	}
	a.sayUnder("Interrupted · What should I do instead?")
	text := "[Request interrupted by user]"
	if t.denied {
		text = "[Request interrupted by user for tool use]"
	}
	a.record(line{Type: "user", Message: &message{Role: "user", Content: []block{{Type: "text", Text: text}}}})
	if err := a.conv.flush(); err != nil {
		a.sayError(err.Error())
	}
}

// nextTurn begins what waited.
func (a *agent) nextTurn() {
	if len(a.queue) == 0 {
		return
	}
	p := a.queue[0]
	a.queue = a.queue[1:]
	if p.told { // merged: all that were told of run as one
		for len(a.queue) > 0 && a.queue[0].told {
			p.text += "\n" + a.queue[0].text
			a.queue = a.queue[1:]
		}
	}
	a.begin(p)
}

// record writes a line of the transcript.
func (a *agent) record(l line) {
	if err := a.conv.write(a.set.transcript, a.cwd, a.now(), l); err != nil {
		a.sayError(err.Error())
	}
}

// steer adds a text to the running turn.
func (t *turn) steer(text string) {
	t.a.report("UserPromptSubmit", map[string]any{"prompt": text})
	t.a.record(userLine(text, false))
}

func userLine(text string, machine bool) line {
	l := line{Type: "user", Message: &message{Role: "user", Content: text}, IsMeta: machine}
	if !machine {
		l.Origin = &origin{Kind: "human"}
	}
	return l
}

// run goes through the script, in the turn's goroutine. It returns early when the
// turn was interrupted; ended sees that for itself.
func (t *turn) run(sc script) {
	if !t.hook("UserPromptSubmit", map[string]any{"prompt": t.prompt.text}, !t.prompt.told) {
		return
	}
	if !t.write(userLine(t.prompt.text, t.prompt.machine)) {
		return
	}
	for i, s := range sc.steps {
		t.ending = i == len(sc.steps)-1
		if !t.step(s) || t.failed || t.denied {
			break
		}
		if t.setting(func(s *settings) bool { return s.hooks == "chatty" }) {
			t.hook("Stop", nil, true)
		}
	}
	if t.ctx.Err() != nil || t.denied {
		return
	}
	if t.failed {
		t.hook("StopFailure", nil, true)
		return
	}
	if !t.closed { // as the real ones: the last word is a text
		t.ending = true
		if !t.stream(t.answerTo(sc)) {
			return
		}
	}
	t.finish()
}

// step does one directive and reports whether the turn goes on.
func (t *turn) step(s step) bool {
	a := t.a
	switch s.verb {
	case "say":
		return t.stream(s.text)
	case "work":
		return t.wait(s.time)
	case "think":
		return t.think(s.time)
	case "lines":
		return t.lines(s.n)
	case "tool":
		return t.tool(s)
	case "touch":
		return t.touch(s)
	case "ask":
		return t.ask(s)
	case "subagent":
		return t.subagent(s)
	case "background":
		return a.do(t.ctx, func() { a.startTask("shell", s.text, s.time) })
	case "compact":
		return t.compact()
	case "error", "limit":
		return t.fail(s)
	case "exit":
		return a.do(t.ctx, func() { a.exit(s.n, "other") })
	case "crash":
		return a.do(t.ctx, func() { a.crash(s.n) })
	case "until":
		return t.until(s.text)
	case "title":
		return a.do(t.ctx, func() { a.ownTitle = clean(s.text); a.setTitle() })
	case "notify":
		return a.do(t.ctx, func() { a.write("\x1b]9;" + clean(s.text) + "\a") })
	case "bell":
		return a.do(t.ctx, func() { a.write("\a") })
	case "progress":
		return a.do(t.ctx, func() { a.write(fmt.Sprintf("\x1b]9;4;1;%d\a", min(s.n, 100))) })
	case "query":
		return t.query(s.list)
	case "hook":
		return t.hook(s.text, nil, true)
	case "child":
		return a.do(t.ctx, func() { a.reportChild(s.text, map[string]any{"cwd": a.cwd}) })
	case "clear":
		return a.do(t.ctx, a.clear)
	case "set":
		return a.do(t.ctx, func() {
			if err := a.set.apply(s.list[0], s.list[1]); err != nil {
				a.sayError(err.Error())
			}
			a.applySettings()
		})
	}
	return a.do(t.ctx, func() { a.sayError(s.text) })
}

// setting asks the loop for something of the settings.
func (t *turn) setting(get func(*settings) bool) (is bool) {
	t.a.do(t.ctx, func() { is = get(t.a.set) })
	return is
}

// wait is busy for a while.
func (t *turn) wait(d time.Duration) bool { return pause(t.ctx, t.a.set.scaled(d)) }

// hook reports an event and waits until it went out, as the real agents do.
func (t *turn) hook(event string, fields map[string]any, on bool) bool {
	if !on {
		return t.ctx.Err() == nil
	}
	var sent <-chan struct{}
	if !t.a.do(t.ctx, func() {
		switch event {
		case "UserPromptSubmit":
			t.a.greet()
		case "Stop":
			fields = t.stopFields()
		case "StopFailure":
			fields = map[string]any{"error": "unknown", "last_assistant_message": t.a.failure}
		}
		sent = t.a.report(event, fields)
	}) {
		return false
	}
	select {
	case <-sent:
		return t.ctx.Err() == nil
	case <-t.ctx.Done():
		return false
	}
}

// splitPause is how long a torn line stays torn, with transcript=split.
const splitPause = 200 * time.Millisecond

// write adds a line to the transcript.
func (t *turn) write(l line) bool {
	torn := false
	if !t.a.do(t.ctx, func() { t.a.record(l); torn = t.a.set.transcript == "split" }) {
		return false
	}
	if !torn {
		return true
	}
	return t.wait(splitPause) && t.a.do(t.ctx, t.flush)
}

// flush writes what the transcript holds back; the loop calls it.
func (t *turn) flush() {
	if err := t.a.conv.flush(); err != nil {
		t.a.sayError(err.Error())
	}
}

// wordPause is between two words of a streamed reply.
const wordPause = 15 * time.Millisecond

// stream shows a text word by word and records it.
func (t *turn) stream(text string) bool {
	a := t.a
	var e *entry
	for i, word := range strings.SplitAfter(text, " ") {
		if i > 0 && !t.wait(wordPause) {
			return false
		}
		if !a.do(t.ctx, func() {
			if e == nil {
				e = a.sayText("")
				e.open, t.shown = true, true
			}
			e.grow(word)
		}) {
			return false
		}
	}
	if !a.do(t.ctx, func() {
		e.open = false
		if t.reply.Len() > 0 {
			t.reply.WriteString("\n\n")
		}
		t.reply.WriteString(text)
	}) {
		return false
	}
	stop := ""
	if t.ending {
		stop, t.closed = "end_turn", true
	}
	return t.write(t.assistant(stop, block{Type: "text", Text: text}))
}

func (t *turn) assistant(stop string, b ...block) line {
	return line{Type: "assistant", Message: &message{Role: "assistant", Content: b, StopReason: stop}}
}

// answerTo is the reply to words: the same to the same.
func (t *turn) answerTo(sc script) string {
	switch {
	case t.prompt.machine:
		return "Noted: the subagent has finished."
	case sc.words == "":
		return "Done."
	}
	words := len(strings.Fields(sc.words))
	return fmt.Sprintf("You wrote %d bytes, %d %s: “%s”\n\nI am a demo agent: no model is behind me, so the same words always get this same reply.",
		len(t.prompt.text), words, plural(words, "word"), shorten(clean(firstLine(sc.words)), 60))
}

func plural(n int, noun string) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}

// think waits and shows nothing.
func (t *turn) think(d time.Duration) bool {
	a := t.a
	ok := a.do(t.ctx, func() { t.silent = true }) && t.wait(d)
	return ok && a.do(t.ctx, func() {
		t.silent = false
		a.announce(statusWorking)
		a.startTicking()
	})
}

// lines replies with numbered lines.
func (t *turn) lines(n int) bool {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d of %d\n", i+1, n)
	}
	return t.stream(strings.TrimSuffix(b.String(), "\n"))
}

// toolTime is how long a tool runs that says nothing else.
const toolTime = 300 * time.Millisecond

// title gives a tool's name as it is shown.
func title(tool string) string {
	if tool == "" {
		return ""
	}
	return strings.ToUpper(tool[:1]) + tool[1:]
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

// compact tells of a compaction as Claude Code does: with the end of a subagent that
// never began, and no Stop of its own.
func (t *turn) compact() bool {
	return t.hook("PreCompact", map[string]any{"trigger": "manual"}, true) &&
		t.wait(toolTime) &&
		t.hook("SubagentStop", map[string]any{"agent_type": "", "agent_id": "compact"}, true) &&
		t.write(line{Type: "system", Subtype: "compact_boundary", Content: "Conversation compacted"}) &&
		t.a.do(t.ctx, func() { t.a.sayUnder("Conversation compacted") })
}

// fail ends the turn with an error.
func (t *turn) fail(s step) bool {
	a, text := t.a, "API Error: "+s.text
	if s.verb == "limit" {
		text = "Usage limit reached: " + s.text
	}
	return a.do(t.ctx, func() {
		t.failed, a.failure = true, text
		a.sayError(text)
		a.record(line{Type: "system", Subtype: "api_error", Content: text})
	})
}

// crash ends the process as a defect would.
func (a *agent) crash(n int) {
	a.note("crash", map[string]any{"code": n})
	a.code, a.crashed = &n, true
}

// until waits for a line in a named pipe.
func (t *turn) until(path string) bool {
	if err := unix.Mkfifo(path, 0o600); err != nil && !errors.Is(err, unix.EEXIST) {
		return t.a.do(t.ctx, func() { t.a.sayError(fmt.Sprintf("make the pipe %s: %v", path, err)) })
	}
	// Open for both, so that it neither waits for a writer nor ends with one.
	f, err := os.OpenFile(path, os.O_RDWR|unix.O_NONBLOCK, 0)
	if err != nil {
		return t.a.do(t.ctx, func() { t.a.sayError(fmt.Sprintf("open the pipe: %v", err)) })
	}
	stop := context.AfterFunc(t.ctx, func() { _ = f.Close() })
	defer stop()
	t.a.do(t.ctx, func() { t.a.note("waiting", map[string]any{"until": path}) })
	_, err = f.Read(make([]byte, 256))
	if stop() {
		_ = f.Close()
	}
	return err == nil && t.ctx.Err() == nil
}

// queryTime bounds the wait for the terminal's answers.
const queryTime = time.Second

// query asks the terminal and shows what it said.
func (t *turn) query(names []string) bool {
	a := t.a
	all := make(chan struct{})
	if !a.do(t.ctx, func() {
		open := len(names)
		t.answered = func(string) {
			if open--; open == 0 {
				close(all)
				t.answered = nil
			}
		}
		for _, n := range names {
			delete(a.answers, n)
			a.ask(n)
		}
	}) {
		return false
	}
	timer := time.NewTimer(queryTime)
	defer timer.Stop()
	select {
	case <-all:
	case <-timer.C:
	case <-t.ctx.Done():
		return false
	}
	var b strings.Builder
	a.do(t.ctx, func() {
		t.answered = nil
		for _, n := range names {
			fmt.Fprintf(&b, "%s: %q\n", n, a.answers[n])
		}
	})
	return t.stream(strings.TrimSuffix(b.String(), "\n"))
}

// finish ends a turn that went well.
func (t *turn) finish() {
	a := t.a
	if !a.do(t.ctx, func() {
		spent := a.now().Sub(t.began)
		a.record(line{Type: "system", Subtype: "turn_duration", DurationMS: spent.Milliseconds()})
		a.say(&entry{mark: "✻ ", style: grey, text: "Done in " + spent.Truncate(time.Second).String()})
	}) {
		return
	}
	t.hook("Stop", nil, true)
	if t.setting(func(s *settings) bool { return s.transcript == "late" || s.transcript == "split" }) {
		t.wait(splitPause)
		a.do(t.ctx, t.flush)
	}
}
