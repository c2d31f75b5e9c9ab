package demo

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A task goes on after the turn that started it. The loop owns it.
type task struct {
	id, kind, text string // kind is subagent or shell, as in Claude Code's payloads
}

// taskTime is how long a task takes that says nothing else.
const taskTime = 3 * time.Second

// subagentType is what the demo's subagents are.
const subagentType = "general-purpose"

// startTask starts background work.
func (a *agent) startTask(kind, text string, d time.Duration) *task {
	a.tasks++
	t := &task{id: strings.ReplaceAll(derivedID(a.conv.id, kind, a.tasks), "-", "")[:17], kind: kind, text: text}
	a.background = append(a.background, t)
	a.note("background", map[string]any{"kind": kind, "text": text})
	if kind == "shell" {
		a.sayText("Bash(" + firstLine(text) + ")")
		a.sayUnder("Running in the background")
	}
	a.after(a.ctx, cmp.Or(d, taskTime), func() { a.endTask(t) })
	return t
}

// endTask ends it. Of a command nothing tells; a subagent's end is a hook, and a
// prompt that no person wrote.
func (a *agent) endTask(t *task) {
	a.background = slices.DeleteFunc(a.background, func(o *task) bool { return o == t })
	a.note("background-end", map[string]any{"kind": t.kind, "text": t.text})
	if t.kind == "shell" {
		return
	}
	a.childRecord(t.id, statusClear, t.text)
	a.report("SubagentStop", map[string]any{
		"agent_id": t.id, "agent_type": subagentType, "background_tasks": a.taskList(),
	})
	p := prompt{text: fmt.Sprintf("<task-notification>\n%s has finished\n</task-notification>", t.text), machine: true}
	p.text = strings.ReplaceAll(p.text, "[[", "[ [")
	if a.turn == nil {
		a.begin(p)
	} else {
		a.queue = append(a.queue, p)
	}
}

// taskList is what goes on, as Stop's payload has it.
func (a *agent) taskList() []map[string]any {
	list := make([]map[string]any, 0, len(a.background)) // never null
	for _, t := range a.background {
		m := map[string]any{"id": t.id, "type": t.kind, "status": "running", "description": t.text}
		if t.kind == "subagent" {
			m["agent_type"] = subagentType
		}
		list = append(list, m)
	}
	return list
}

// stopFields are what Stop carries. The loop calls it.
func (t *turn) stopFields() map[string]any {
	return map[string]any{
		"background_tasks": t.a.taskList(), "session_crons": []any{}, "stop_hook_active": false,
		"last_assistant_message": t.reply.String(),
	}
}

// subagent starts a subagent in the background.
func (t *turn) subagent(s step) bool {
	a := t.a
	fields := map[string]any{"tool_name": "Agent", "tool_input": map[string]any{"description": s.text, "prompt": s.text}}
	if !t.hook("PreToolUse", fields, true) {
		return false
	}
	var id string
	return a.do(t.ctx, func() {
		t.shown = true
		task := a.startTask("subagent", s.text, s.time)
		id = task.id
		a.sayText("Agent(" + firstLine(s.text) + ")")
		a.sayUnder("Running in the background")
		a.childRecord(id, statusWorking, s.text)
	}) &&
		t.hook("SubagentStart", map[string]any{"agent_id": id, "agent_type": subagentType}, true) &&
		t.hook("PostToolUse", fields, true)
}
