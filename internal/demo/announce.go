package demo

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// A status is what the demo agent says of itself on the terminal; the words are
// those of OSC 7501.
type status string

const (
	statusIdle    status = "idle"
	statusWorking status = "working"
	statusBlocked status = "blocked"
	statusDone    status = "done"
	statusError   status = "error"
	statusClear   status = "clear" // at the end: forget what was said
)

// application is the name in OSC 7501 records.
const application = "termio-demo"

// announce tells the terminal of a new status, in every way that is on.
func (a *agent) announce(s status) {
	a.status = s
	a.programRecord()
	a.setTitle()
	a.progressBar()
	a.writeStatusFile()
	a.note("status", map[string]any{"status": s})
}

// programRecord sends the OSC 7501 record of the status.
func (a *agent) programRecord() {
	if a.set.program == "off" || a.set.program == "ask" && !a.programAnswered {
		return
	}
	rec := "state=" + string(a.status) + ":app=" + application
	switch {
	case a.status == statusBlocked && a.dialog != nil:
		rec += ":kind=" + programKind(a.dialog) + ":msg=" + encode(a.dialog.summary())
	case a.status == statusError:
		rec += ":msg=" + encode(a.failure)
	}
	a.write("\x1b]7501;" + rec + "\a")
}

// childRecord sends the record of a subagent: it has an id of its own.
func (a *agent) childRecord(id string, s status, title string) {
	if a.set.program == "off" || a.set.program == "ask" && !a.programAnswered {
		return
	}
	a.write(fmt.Sprintf("\x1b]7501;state=%s:app=%s:id=%s:title=%s\a", s, application, id, encode(title)))
}

func encode(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

// programKind is the dialog's kind as OSC 7501 spells it.
func programKind(d *dialog) string {
	switch d.kind {
	case "question":
		return "question"
	case "login":
		return "auth"
	}
	return "permission"
}

// summary says in one line what a dialog is about.
func (d *dialog) summary() string {
	switch d.kind {
	case "question":
		return d.question
	case "trust", "login":
		return strings.TrimSuffix(d.title, "?")
	}
	return "approve " + d.tool + ": " + d.detail
}

// name is what titles and header call the agent.
const name = "Demo"

// setTitle shows the status in the title: a mark that turns while working.
func (a *agent) setTitle() {
	topic := name
	if a.topic != "" {
		topic = a.topic
	}
	title := ""
	switch {
	case a.set.titles == "off" || a.status == statusClear && a.title == "":
		return
	case a.status == statusClear: // empty, as at every end
	case a.ownTitle != "":
		title = a.ownTitle
	case a.set.titles == "plain":
		title = topic
	case a.set.titles == "wrong":
		title = "◐ " + topic
	default:
		title = a.titleMark() + " " + topic
	}
	if title != a.title || a.status == statusClear {
		a.title = title
		a.write("\x1b]0;" + title + "\a")
	}
}

func (a *agent) titleMark() string {
	marks := [...]string{"✳", "◐", "◑", "[!]"} // rest, work, work, a dialog
	if a.set.titles == "new" {
		marks = [...]string{"◇", "⧗", "⧖", "◈"}
	}
	switch {
	case a.status == statusBlocked:
		return marks[3]
	case a.status == statusWorking && a.ticks/4%2 == 0:
		return marks[1]
	case a.status == statusWorking:
		return marks[2]
	}
	return marks[0]
}

// writeStatusFile keeps the live status file, if there is one, as Claude Code does: it
// says whose it is and what the agent is doing, and goes with the agent.
func (a *agent) writeStatusFile() {
	if a.set.statusFile == "" {
		return
	}
	file := strings.ReplaceAll(a.set.statusFile, "{pid}", strconv.Itoa(os.Getpid()))
	if a.status == statusClear {
		_ = os.Remove(file) // whoever reads it sees that the process is gone
		return
	}
	words := map[status]string{statusWorking: "busy", statusBlocked: "waiting"}
	data, err := json.Marshal(map[string]any{
		"pid": os.Getpid(), "sessionId": a.conv.id, "status": cmp.Or(words[a.status], "idle"), "statusUpdatedAt": time.Now().UnixMilli(),
	})
	if err == nil {
		err = os.WriteFile(file+".new", data, 0o600)
	}
	if err == nil {
		err = os.Rename(file+".new", file)
	}
	if err != nil {
		a.note("status-file", map[string]any{"error": err.Error()})
	}
}

// progressBar is OSC 9;4: of unknown length while working, gone otherwise.
func (a *agent) progressBar() {
	busy := a.status == statusWorking || a.status == statusBlocked
	if !a.set.progress || busy == a.progressing {
		return
	}
	a.progressing = busy
	if busy {
		a.write("\x1b]9;4;3\a")
	} else {
		a.write("\x1b]9;4;0\a")
	}
}

// tickEvery is how often the spinner turns; the title's mark takes four of them.
const tickEvery = 240 * time.Millisecond

// tick turns the spinner while there is something to turn it for.
func (a *agent) tick() {
	if a.turn == nil || a.turn.silent {
		a.ticking = false
		return
	}
	a.ticks++
	if a.dialog == nil {
		a.setTitle()
	}
	a.after(a.ctx, tickEvery, a.tick)
}

// startTicking starts the spinner unless it turns already.
func (a *agent) startTicking() {
	if !a.ticking {
		a.ticking = true
		a.after(a.ctx, tickEvery, a.tick)
	}
}
