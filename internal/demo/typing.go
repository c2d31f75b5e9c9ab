package demo

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// escWait is how long a lone ESC may still become the beginning of a sequence.
const escWait = 25 * time.Millisecond

// maxEarly bounds how many inputs are kept for a composer to come.
const maxEarly = 4096

// received takes in a piece of input.
func (a *agent) received(p []byte) {
	if a.log != nil {
		_, _ = a.log.Write(p)
	}
	if a.escTimer != nil {
		a.escTimer()
		a.escTimer = nil
	}
	for _, in := range a.decoder.feed(p) {
		a.input(in)
	}
	if a.decoder.waiting() {
		ctx, cancel := context.WithCancel(a.ctx)
		a.escTimer = cancel
		a.wg.Go(func() { // not scaled: the terminal is not faster for it
			if pause(ctx, escWait) {
				a.post(func() {
					if ctx.Err() == nil {
						for _, in := range a.decoder.flush() {
							a.input(in)
						}
					}
				})
			}
		})
	}
}

// inputEnded is the end of the terminal.
func (a *agent) inputEnded(err error) {
	if a.ctx.Err() != nil {
		return
	}
	a.note("input-ended", map[string]any{"error": fmt.Sprint(err)})
	a.exit(exitHUP, "other")
}

// input is one thing from the keyboard or the terminal.
func (a *agent) input(in input) {
	if a.code != nil || in.kind == inOther {
		return
	}
	if in.kind == inAnswer {
		a.answer(in)
		return
	}
	if a.dialog != nil {
		a.dialogInput(in)
		return
	}
	if !a.ready { // it has been typed early, and is taken in when there is a composer
		if len(a.early) < maxEarly {
			a.early = append(a.early, in)
		}
		return
	}
	a.edit(in)
}

// edit is one thing for the composer.
func (a *agent) edit(in input) {
	a.hint = ""
	now := a.now()
	switch in.kind {
	case inPaste:
		a.composer.paste(in.text, a.set.attach)
		a.pastedAt = now
		a.note("paste", map[string]any{"bytes": len(in.text)})
	case inText:
		a.typed(in.text)
		a.typedAt = now
	case inKey:
		a.key(in.text)
	}
}

// typed is text that was not pasted.
func (a *agent) typed(text string) {
	for text != "" && a.composer.vim == vimNormal {
		r, size := utf8.DecodeRuneInString(text)
		a.composer.normal(r)
		text = text[size:]
	}
	a.composer.insert(text)
}

// key is a key that is no text.
func (a *agent) key(name string) {
	if name != "esc" {
		a.escapes = 0
	}
	if name != "enter" {
		a.note("key", map[string]any{"key": name})
	}
	switch name {
	case "enter":
		a.enter()
	case "esc":
		a.escape()
	case "ctrl+c":
		a.ctrlC()
	case "ctrl+d":
		if a.composer.value == "" {
			a.exit(a.set.exitCode, "prompt_input_exit")
		}
	case "ctrl+l":
		a.painter.forget(a.cols)
	case "tab", "right":
		if a.composer.value == "" && a.set.suggestion != "" {
			a.composer.set(a.set.suggestion)
			return
		}
		a.composer.key(name)
	default:
		a.composer.key(name)
	}
}

// enter is Return in the composer.
func (a *agent) enter() {
	a.returns++
	now := a.now()
	switch {
	case a.returns <= a.set.dropReturns:
		a.note("return-dropped", map[string]any{"why": "one of the first"})
		return
	case now.Sub(a.pastedAt) < a.set.scaled(a.set.pasteSettle):
		a.note("return-dropped", map[string]any{"why": "too soon after a paste"})
		return
	case now.Sub(a.typedAt) < a.set.scaled(a.set.burst):
		a.composer.insert("\n")
		a.note("return-dropped", map[string]any{"why": "taken for a line of typed text"})
		return
	}
	text := a.composer.text()
	if strings.TrimSpace(text) == "" {
		return
	}
	a.composer.clear()
	a.submit(text)
}

// escape interrupts, or leaves vim's insert mode.
func (a *agent) escape() {
	if a.composer.vim == vimInsert {
		a.composer.vim = vimNormal
		a.composer.key("left")
		return
	}
	if a.turn == nil {
		return
	}
	if a.escapes++; a.escapes >= max(a.set.interrupts, 1) {
		a.escapes = 0
		a.interrupt()
	} else {
		a.hint = "esc again to interrupt"
	}
}

// quitWithin is how soon a second Ctrl-C must come to end the program.
const quitWithin = 1500 * time.Millisecond

func (a *agent) ctrlC() {
	now := a.now()
	switch {
	case a.turn != nil:
		a.interrupt()
	case a.composer.value != "":
		a.composer.clear()
	case !a.quitAt.IsZero() && now.Sub(a.quitAt) < quitWithin:
		a.exit(a.set.exitCode, "prompt_input_exit")
	default:
		a.quitAt = now
		a.hint = "ctrl-c again to exit"
	}
}

// ask sends a query to the terminal.
func (a *agent) ask(name string) {
	a.queries[name] = true
	a.note("query", map[string]any{"query": name})
	a.write(ask(name))
}

// answer takes in what the terminal answered. An answer that nobody asked for is
// noted as such: it would have been typed into a lesser program.
func (a *agent) answer(in input) {
	a.note("reply", map[string]any{"query": in.name, "text": in.text, "asked": a.queries[in.name]})
	delete(a.queries, in.name)
	a.answers[in.name] = in.text
	switch {
	case in.name == "kitty" && a.set.kitty:
		a.write("\x1b[>5u")
	case in.name == "osc7501" && a.set.program == "ask" && !a.programAnswered:
		a.programAnswered = true
		if a.ready || a.dialog != nil {
			a.programRecord()
		}
	}
	if len(a.queries) == 0 && a.set.queryWait > 0 && a.dialog == nil {
		a.compose()
	}
	if a.turn != nil && a.turn.answered != nil {
		a.turn.answered(in.name)
	}
}

// submit is a prompt that was sent, or a command.
func (a *agent) submit(text string) {
	a.note("submit", map[string]any{"text": text, "bytes": len(text)})
	if command := strings.TrimSpace(text); strings.HasPrefix(command, "/") && a.command(command) {
		return
	}
	if a.turn == nil {
		a.begin(prompt{text: text})
		return
	}
	switch a.set.busy {
	case "drop":
		a.note("dropped", map[string]any{"text": text})
	case "steer":
		a.sayUser(text)
		a.turn.steer(text)
	case "merge": // as Claude Code: told when queued, run as one
		a.report("UserPromptSubmit", map[string]any{"prompt": text})
		a.queue = append(a.queue, prompt{text: text, told: true})
	default:
		a.queue = append(a.queue, prompt{text: text})
	}
}

// command does a slash command and reports whether it was one.
func (a *agent) command(text string) bool {
	switch text {
	case "/exit", "/quit":
		a.exit(a.set.exitCode, "prompt_input_exit")
	case "/clear", "/new":
		if a.turn != nil {
			a.interrupt()
		}
		a.clear()
	case "/compact":
		a.submit("[[compact]]")
	case "/help":
		a.help()
	case "/status":
		a.sayText("conversation " + a.conv.id + "\ntranscript " + a.conv.path())
	default:
		return false
	}
	return true
}

// help lists the script language.
func (a *agent) help() {
	var b strings.Builder
	b.WriteString("A prompt without brackets gets a reply. In brackets it is a script:\n")
	for _, v := range verbs {
		fmt.Fprintf(&b, "\n%-34s %s", "[["+strings.TrimSpace(v.name+" "+v.takes)+"]]", v.what)
	}
	b.WriteString("\n\n/clear, /compact, /status, /exit; Esc interrupts; Ctrl-J is a new line.")
	a.sayText(b.String())
}

// clear begins a new conversation in the same process.
func (a *agent) clear() {
	a.report("SessionEnd", map[string]any{"reason": "clear"})
	a.conv = a.conv.next()
	a.entries, a.scrolled, a.topic = nil, 0, ""
	a.painter.forget(a.cols)
	a.banner()
	a.note("clear", map[string]any{"conversation": a.conv.id})
	a.announce(statusIdle)
	a.greeted = a.set.hooks != "lazy"
	if a.greeted {
		a.report("SessionStart", map[string]any{"source": "clear", "model": "demo"})
	}
}
