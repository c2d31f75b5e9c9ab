package demo

import (
	"context"
	"fmt"
	"strings"
	"time"

	"termio/internal/api"
)

// A dialog stands in the composer's place until it is answered. The loop owns it.
type dialog struct {
	kind     api.DialogKind
	tool     string // of a permission
	title    string
	detail   string
	question string
	options  []string
	selected int
	free     bool      // the last option takes text
	text     string    // which is this
	deafFrom time.Time // it ignores keys for a while from here on
	answered func(answer)
	cancel   context.CancelFunc // of its reminder
}

// An answer is how a dialog went.
type answer struct {
	option  int // index; -1: none, Esc
	text    string
	escaped bool
}

// open shows a dialog and tells everybody. What is typed before its time is ignored.
func (a *agent) open(d *dialog) {
	d.deafFrom = a.now()
	a.dialog = d
	ctx, cancel := context.WithCancel(a.ctx)
	d.cancel = cancel
	a.note("dialog", map[string]any{"kind": d.kind, "question": d.question, "options": d.options})
	a.announce(statusBlocked)
	a.after(ctx, remindAfter, func() { a.remind(d) })
}

// remindAfter is when a dialog that nobody answers makes itself heard, as Claude
// Code does.
const remindAfter = 6 * time.Second

func (a *agent) remind(d *dialog) {
	if d.kind == api.DialogPermission || d.kind == api.DialogQuestion {
		a.report("Notification", map[string]any{"notification_type": "permission_prompt", "message": "Demo needs your permission"})
	}
	switch a.set.notify {
	case "bell":
		a.write("\a")
	case "osc9":
		a.write("\x1b]9;Demo needs your permission\a")
	case "osc777":
		a.write("\x1b]777;notify;Demo;Demo needs your permission\a")
	}
}

// close ends the dialog with an answer.
func (a *agent) closeDialog(ans answer) {
	d := a.dialog
	if d == nil {
		return
	}
	a.dialog = nil
	d.cancel()
	if ans.option >= 0 && ans.text == "" {
		ans.text = d.options[ans.option]
	}
	a.note("answer", map[string]any{"kind": d.kind, "option": ans.option + 1, "text": ans.text})
	d.answered(ans)
}

// dialogInput is the keyboard while a dialog is open. As in the real ones a paste
// does not choose, but a Return after it does.
func (a *agent) dialogInput(in input) {
	d := a.dialog
	if now := a.now(); now.Sub(d.deafFrom) < a.set.scaled(a.set.deaf) {
		a.note("deaf", map[string]any{"input": in.text})
		if a.set.deafKeys == "keep" {
			d.deafFrom = now
			a.edit(in)
		}
		return
	}
	onFree := d.free && d.selected == len(d.options)-1
	switch in.kind {
	case inPaste:
		if d.free {
			d.selected = len(d.options) - 1
			d.text += strings.TrimSpace(strings.Join(strings.Fields(in.text), " "))
		}
	case inText:
		a.dialogText(in.text, onFree)
	case inKey:
		switch in.text {
		case "up", "ctrl+p", "shift+tab":
			d.selected = (d.selected + len(d.options) - 1) % len(d.options)
		case "down", "ctrl+n", "tab":
			d.selected = (d.selected + 1) % len(d.options)
		case "backspace":
			if onFree {
				d.text = d.text[:len(d.text)-last(d.text)]
			}
		case "space":
			if onFree {
				d.text += " "
			}
		case "enter":
			if !onFree {
				a.closeDialog(answer{option: d.selected})
			} else if d.text != "" {
				a.closeDialog(answer{option: d.selected, text: d.text})
			}
		case "esc", "ctrl+c":
			a.closeDialog(answer{option: -1, escaped: true})
		}
	}
}

// dialogText is typed text: digits choose at once, other text belongs to an option
// that takes some.
func (a *agent) dialogText(text string, onFree bool) {
	d := a.dialog
	for i, r := range text {
		n := int(r - '1')
		switch {
		case onFree && (d.text != "" || n < 0 || n >= len(d.options)):
			d.text += string(r)
		case n >= 0 && n < len(d.options):
			if d.free && n == len(d.options)-1 {
				d.selected, onFree = n, true
				continue
			}
			a.closeDialog(answer{option: n})
			if rest := text[i+1:]; rest != "" {
				a.input(input{kind: inText, text: rest})
			}
			return
		case d.free:
			d.selected, onFree = len(d.options)-1, true
			d.text += string(r)
		}
	}
}

// rows draws the dialog; x and y are where the cursor belongs.
func (d *dialog) rows(cols int) (rows []row, x, y int) {
	add := func(parts ...any) {
		var r row
		for i := 0; i+1 < len(parts); i += 2 {
			r.add(parts[i].(style), parts[i+1].(string))
		}
		rows = append(rows, r)
	}
	rows = append(rows, rule(cool, "─", cols))
	for _, l := range wrap(clean(d.title), cols-2) {
		add(bold, " "+l)
	}
	if d.detail == "" {
		add()
	} else {
		rows = append(rows, rule(grey, "╌", cols))
		lines := wrap(clean(d.detail), cols-2)
		if more := len(lines) - maxDetailRows; more > 0 {
			lines = append(lines[:maxDetailRows], fmt.Sprintf("… +%d lines", more))
		}
		for _, l := range lines {
			add(plain, " "+l)
		}
		rows = append(rows, rule(grey, "╌", cols))
	}
	for _, l := range wrap(clean(d.question), cols-2) {
		add(plain, " "+l)
	}
	for i, o := range d.options {
		mark, st := "  ", plain
		if i == d.selected {
			mark, st = "❯ ", cool
		}
		label := clean(o)
		if d.free && i == len(d.options)-1 && d.text != "" {
			label = clean(d.text)
		}
		head := fmt.Sprintf(" %s%d. ", mark, i+1)
		for j, l := range wrap(label, cols-width(head)) {
			if j > 0 {
				head = strings.Repeat(" ", width(head))
			}
			add(st, head+l)
			if i == d.selected && (j == 0 || d.text != "") {
				x, y = 1, len(rows)-1
				if d.free && i == len(d.options)-1 && d.text != "" {
					x = min(rows[y].cells, cols-1)
				}
			}
		}
	}
	add()
	foot := "Esc to cancel"
	if d.free {
		foot = "Enter to select · ↑/↓ to move · Esc to cancel"
	}
	add(grey, shorten(" "+foot, cols))
	return rows, x, y
}

// maxDetailRows bounds what a dialog shows of a long command.
const maxDetailRows = 8

// startDialog is one of the dialogs that real agents open before their first turn.
func (a *agent) startDialog(name string) *dialog {
	switch name {
	case "trust":
		return &dialog{
			kind: api.DialogTrust, title: "Do you trust the files in this folder?", detail: a.cwd,
			question: "Demo may read, edit and run what is here.",
			options:  []string{"No, exit", "Yes, I trust this folder"},
			answered: func(ans answer) {
				if ans.option != 1 {
					a.exit(exitError, "other")
					return
				}
				a.started()
			},
		}
	case "login":
		return &dialog{
			kind: api.DialogLogin, title: "Demo is not signed in", question: "Select how to sign in:",
			options: []string{"Demo account", "Another demo account"},
			answered: func(ans answer) {
				if ans.escaped {
					a.exit(exitError, "other")
					return
				}
				a.started()
			},
		}
	}
	return &dialog{
		kind: api.DialogTrust, title: "Hooks need review", question: "2 hooks are new or have changed. What should be done with them?",
		options:  []string{"Review hooks", "Trust all and continue", "Continue without trusting"},
		answered: func(answer) { a.started() },
	}
}
