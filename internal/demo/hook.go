package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"time"
)

// reported are the events that the demo agent reports, with the state that its
// manifest gives each. The names and their order in a turn are Claude Code's.
var reported = map[string]string{
	"SessionStart":      "idle",
	"UserPromptSubmit":  "working",
	"PreToolUse":        "working",
	"PostToolUse":       "working",
	"PermissionRequest": "attention",
	"Notification":      "attention",
	"SubagentStart":     "working",
	"SubagentStop":      "working",
	"PreCompact":        "working",
	"Stop":              "done",
	"StopFailure":       "done",
	"SessionEnd":        "idle",
}

// reporter sends hooks: it runs `termio agent report` as a real agent's hook would,
// with the event's JSON on standard input. Reports go out one after another in the
// order of their calls; who wants to wait for one waits on the channel it got.
type reporter struct {
	exe     string
	environ []string
	dir     string
	queue   chan report
	done    chan struct{} // closed when the queue is empty and closed
	late    sync.WaitGroup
}

type report struct {
	event   string
	payload []byte
	mode    string
	delay   time.Duration
	sent    chan struct{}
}

const (
	// maxReports bounds the queue; the loop waits when it is full, which takes a
	// hook that hangs.
	maxReports = 256
	// hookTimeout is when a hook that hangs is ended.
	hookTimeout = 10 * time.Second
)

// startReporter starts the goroutine that runs hooks. close ends it.
func startReporter(exe, dir string, environ []string) *reporter {
	r := &reporter{exe: exe, dir: dir, environ: environ, queue: make(chan report, maxReports), done: make(chan struct{})}
	go r.run()
	return r
}

// send queues a report and gives the channel that is closed when it went out.
func (r *reporter) send(event string, payload map[string]any, mode string, delay time.Duration) <-chan struct{} {
	data, err := json.Marshal(payload)
	if err != nil {
		panic("invariant: a payload is plain data: " + err.Error())
	}
	rep := report{event: event, payload: data, mode: mode, delay: delay, sent: make(chan struct{})}
	r.queue <- rep
	return rep.sent
}

// close waits until everything went out.
func (r *reporter) close() {
	close(r.queue)
	<-r.done
	r.late.Wait()
}

func (r *reporter) run() {
	defer close(r.done)
	var held *report // of hooks=swapped
	for rep := range r.queue {
		switch rep.mode {
		case "swapped":
			if held == nil && rep.event != "Stop" && rep.event != "SessionEnd" {
				h := rep
				held = &h
				close(rep.sent)
				continue
			}
			r.exec(rep.event, rep.payload, 0)
			if held != nil {
				r.exec(held.event, held.payload, 0)
				held = nil
			}
		case "late":
			r.late.Go(func() { r.exec(rep.event, rep.payload, rep.delay) })
		case "doubled":
			r.exec(rep.event, rep.payload, 0)
			r.exec(rep.event, rep.payload, 0)
		default:
			r.exec(rep.event, rep.payload, 0)
		}
		close(rep.sent)
	}
	if held != nil {
		r.exec(held.event, held.payload, 0)
	}
}

// exec runs one hook. A late one has been started in time, so that the event's time
// is right, and gets its input late: such is a hook on a loaded machine. A hook's
// failure is nobody's business here.
func (r *reporter) exec(event string, payload []byte, delay time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), hookTimeout+delay)
	defer cancel()
	cmd := exec.CommandContext(ctx, r.exe, reportArgs(event)...)
	cmd.Dir, cmd.Env = r.dir, r.environ
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // as Claude Code does: no terminal to write on
	cmd.Stdin = io.Reader(bytes.NewReader(payload))
	if delay > 0 {
		cmd.Stdin = &lateReader{ctx: ctx, delay: delay, r: cmd.Stdin}
	}
	_ = cmd.Run()
}

// reportArgs is the command line of a report.
func reportArgs(event string) []string {
	return []string{"agent", "report", reported[event], "--event", event, "--conversation-from", "session_id", "--transcript"}
}

// A lateReader gives its content after a time.
type lateReader struct {
	ctx   context.Context
	delay time.Duration
	r     io.Reader
}

func (l *lateReader) Read(p []byte) (int, error) {
	if l.delay > 0 {
		pause(l.ctx, l.delay)
		l.delay = 0
	}
	return l.r.Read(p)
}

// report sends an event of this conversation with what the event itself carries,
// unless the switches keep it back. The channel is closed when it went out; it is
// never nil. The loop calls it.
func (a *agent) report(event string, fields map[string]any) <-chan struct{} {
	a.note("hook", map[string]any{"hook": event, "conversation": a.conv.id})
	if a.reports == nil || a.set.hooks == "off" || slices.Contains(a.set.hookSkip, event) {
		return closed
	}
	payload := map[string]any{
		"session_id":      a.conv.id,
		"transcript_path": a.conv.path(),
		"cwd":             a.cwd,
		"hook_event_name": event,
		"permission_mode": "default",
	}
	maps.Copy(payload, fields)
	if a.set.hooks == "child" {
		a.reportChild(event, payload)
	}
	return a.reports.send(event, payload, a.set.hooks, a.set.scaled(a.set.hookDelay))
}

// reportChild sends an event as an agent that this one had started would: with its
// own conversation, out of the same environment.
func (a *agent) reportChild(event string, payload map[string]any) {
	if a.reports == nil {
		return
	}
	child := maps.Clone(payload)
	child["session_id"] = derivedID("child", a.conv.id)
	child["hook_event_name"] = event
	a.reports.send(event, child, "on", 0)
}

// closed is a channel that is.
var closed = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// startReports gets ready to report if this process is in a session and the program
// that reports is there.
func (a *agent) startReports() {
	exe := a.set.hookExe
	if exe == "" {
		exe = a.env.StableExe
	}
	if a.env.Session == "" {
		return
	}
	if _, err := os.Stat(exe); err != nil {
		a.note("no-reporter", map[string]any{"exe": exe})
		return
	}
	a.reports = startReporter(exe, a.cwd, a.env.Environ)
}
