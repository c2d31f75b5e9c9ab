package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

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
