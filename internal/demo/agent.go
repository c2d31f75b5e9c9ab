package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"termio/internal/config"
)

// An agent is one run of the demo agent. The goroutine of run, the loop, owns every
// field that is not set once by newAgent; the others reach it through post and do.
type agent struct {
	set     *settings
	env     config.Env
	cwd     string
	noColor bool
	tty     *tty
	now     func() time.Time

	ctx   context.Context // ends when the loop does
	stop  context.CancelFunc
	calls chan func() // what the loop is to do; who posts waits when it is full
	wg    sync.WaitGroup

	conv    *conversation
	reports *reporter // nil outside a session
	log     *os.File  // nil without --log
	events  *os.File  // nil without --events

	cols, rows int
	painter    painter
	mounted    bool // the terminal is ours
	ready      bool // the composer is there
	entries    []*entry
	scrolled   int // inline: entries that are in the terminal's history
	composer   composer
	dialog     *dialog
	starts     []string // start dialogs to come
	hint       string   // in the footer, until a key

	turn       *turn
	queue      []prompt
	background []*task
	tasks      int             // started so far, for their ids
	allowed    map[string]bool // tools that need not ask again
	greeted    bool            // SessionStart went out

	status          status
	failure         string // of statusError
	topic, ownTitle string
	title           string
	ticks           int
	ticking         bool
	progressing     bool
	programAnswered bool
	queries         map[string]bool // asked and not answered
	answers         map[string]string

	pace     atomic.Pointer[reading] // how the reader reads; any goroutine
	decoder  decoder
	early    []input // that came before the composer
	escTimer context.CancelFunc
	returns  int // that came so far
	escapes  int // in a row, of this turn
	pastedAt time.Time
	typedAt  time.Time
	quitAt   time.Time // of the first Ctrl-C
	code     *int      // set: the loop ends
	crashed  bool
}

// A prompt waits for its turn.
type prompt struct {
	text    string
	machine bool     // no person wrote it
	told    bool     // UserPromptSubmit went out already
	parts   []string // of a text that was sent in several: each is recorded as it was sent
}

func newAgent(set *settings, env config.Env, conv *conversation, t *tty) *agent {
	a := &agent{
		set: set, env: env, conv: conv, tty: t, now: time.Now,
		noColor: env.Get("NO_COLOR") != "",
		calls:   make(chan func(), 64),
		allowed: map[string]bool{},
		queries: map[string]bool{},
		answers: map[string]string{},
		starts:  set.startDialogs,
		status:  statusIdle,
	}
	a.ctx, a.stop = context.WithCancel(context.Background())
	a.painter.inline = set.screen == "inline"
	if set.vim != "off" {
		a.composer.vim = set.vim
	}
	a.applySettings()
	return a
}

// applySettings brings over what is kept outside the settings.
func (a *agent) applySettings() {
	a.decoder.lossy = a.set.lossy
	a.pace.Store(&reading{bytes: a.set.readBytes, every: a.set.scaled(a.set.readEvery), lag: a.set.scaled(a.set.lag)})
}

// run is the loop.
func (a *agent) run(ctx context.Context) (int, error) {
	var err error
	if a.cwd, err = os.Getwd(); err != nil {
		return exitError, fmt.Errorf("find the working folder: %w", err)
	}
	for _, f := range []struct {
		path string
		to   **os.File
	}{{a.set.logFile, &a.log}, {a.set.eventsFile, &a.events}} {
		if f.path == "" {
			continue
		}
		if *f.to, err = os.OpenFile(f.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600); err != nil {
			return exitError, fmt.Errorf("open the log: %w", err)
		}
		file := *f.to
		defer func() { _ = file.Close() }()
	}
	a.startReports()
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGWINCH, syscall.SIGHUP, syscall.SIGTERM, syscall.SIGINT)
	defer signal.Stop(signals)

	a.after(a.ctx, a.set.mount, a.mount)
	ended := ctx.Done()
	for a.code == nil {
		select {
		case fn := <-a.calls:
			fn()
			for n := len(a.calls); n > 0 && a.code == nil; n-- { // one frame for all that is there
				(<-a.calls)()
			}
		case s := <-signals:
			a.signal(s)
		case <-ended:
			a.exit(exitTERM, "other")
		}
		a.draw()
	}
	return a.end()
}

// signal takes in what the system sends.
func (a *agent) signal(s os.Signal) {
	switch s {
	case syscall.SIGWINCH:
		a.resize()
	case syscall.SIGHUP:
		if !a.set.stubborn {
			a.exit(exitHUP, "other")
		}
	default:
		if !a.set.stubborn {
			a.exit(exitTERM, "other")
		}
	}
}

func (a *agent) resize() {
	a.cols, a.rows = a.tty.size()
	a.painter.forget(a.cols)
	a.note("resize", map[string]any{"cols": a.cols, "rows": a.rows})
}

// mount takes the terminal over and begins.
func (a *agent) mount() {
	if err := a.tty.raw(a.set.early == "drop"); err != nil {
		a.fail(err)
		return
	}
	a.mounted = true
	a.resize()
	a.wg.Go(func() {
		err := a.tty.read(a.ctx, a.pace.Load, func(p []byte) { a.post(func() { a.received(p) }) })
		a.post(func() { a.inputEnded(err) })
	})
	if a.set.screen == "alt" {
		a.write("\x1b[?1049h")
	}
	if a.set.paste {
		a.write("\x1b[?2004h")
	}
	a.write("\x1b[?1004h")
	a.banner()
	a.replay()
	for _, q := range a.firstQueries() {
		a.ask(q)
	}
	a.after(a.ctx, a.set.queryWait, a.compose)
}

// firstQueries are what is asked at the start. OSC 7501 goes before DA1: every
// terminal answers that, so its answer ends the wait for the other.
func (a *agent) firstQueries() []string {
	all := slices.Clone(a.set.queries)
	if a.set.kitty && !slices.Contains(all, "kitty") {
		all = append(all, "kitty")
	}
	if a.set.program == "ask" && !slices.Contains(all, "osc7501") {
		at := slices.Index(all, "da1")
		if at < 0 {
			at = len(all)
		}
		all = slices.Insert(all, at, "osc7501")
	}
	return all
}

// compose shows the composer, unless a start dialog is to come first.
func (a *agent) compose() {
	if a.ready {
		return
	}
	if len(a.starts) > 0 && a.set.startDelay == 0 {
		a.open(a.startDialog(a.starts[0]))
		return
	}
	a.ready = true
	a.announce(statusIdle)
	a.note("ready", nil)
	if a.set.hooks != "lazy" {
		a.greet()
	}
	early := a.early
	a.early = nil
	for _, in := range early {
		a.input(in)
	}
	if len(a.starts) > 0 {
		a.after(a.ctx, a.set.startDelay, func() { a.open(a.startDialog(a.starts[0])) })
	} else if a.set.prompt != "" {
		p := a.set.prompt
		a.set.prompt = ""
		a.submit(p)
	}
}

// started goes on after a start dialog.
func (a *agent) started() {
	a.starts = a.starts[1:]
	if len(a.starts) > 0 {
		a.open(a.startDialog(a.starts[0]))
		return
	}
	a.ready = false
	a.compose()
}

// greet reports the beginning of the conversation, once.
func (a *agent) greet() {
	if a.greeted {
		return
	}
	a.greeted = true
	source := "startup"
	if a.conv.resumed {
		source = "resume"
	}
	a.report("SessionStart", map[string]any{"source": source, "model": "demo"})
}

// post gives the loop something to do and does not wait for it.
func (a *agent) post(fn func()) {
	select {
	case a.calls <- fn:
	case <-a.ctx.Done():
	}
}

// do has the loop call fn and reports whether it did: not after ctx has ended.
func (a *agent) do(ctx context.Context, fn func()) (ok bool) {
	done := make(chan struct{})
	select {
	case a.calls <- func() {
		defer close(done)
		if ctx.Err() == nil {
			fn()
			ok = true
		}
	}:
	case <-ctx.Done():
		return false
	case <-a.ctx.Done():
		return false
	}
	select {
	case <-done:
		return ok
	case <-a.ctx.Done():
		return false
	}
}

// after has the loop call fn in a while, unless ctx ends before.
func (a *agent) after(ctx context.Context, d time.Duration, fn func()) {
	d = a.set.scaled(d)
	a.wg.Go(func() {
		if pause(ctx, d) {
			a.post(func() {
				if ctx.Err() == nil {
					fn()
				}
			})
		}
	})
}

// write sends to the terminal. A terminal that is gone is noticed by the reader.
func (a *agent) write(s string) { _, _ = a.tty.out.WriteString(s) }

func (a *agent) writeBytes(p []byte) {
	if len(p) > 0 {
		_, _ = a.tty.out.Write(p)
	}
}

// note writes a line of --events.
func (a *agent) note(event string, fields map[string]any) {
	if a.events == nil {
		return
	}
	if fields == nil {
		fields = map[string]any{}
	}
	fields["event"] = event
	data, err := json.Marshal(fields)
	if err != nil {
		panic("invariant: an event is plain data: " + err.Error())
	}
	_, _ = a.events.Write(append(data, '\n'))
}

// fail ends the agent on an error of its own.
func (a *agent) fail(err error) {
	a.failure = err.Error()
	a.exit(exitError, "other")
}

// exit has the loop end. reason is SessionEnd's.
func (a *agent) exit(code int, reason string) {
	if a.code != nil {
		return
	}
	a.code = &code
	a.note("exit", map[string]any{"code": code})
	if a.greeted {
		a.report("SessionEnd", map[string]any{"reason": reason})
	}
}

// end gives the terminal back and waits for everybody.
func (a *agent) end() (int, error) {
	a.stop()
	if a.turn != nil {
		a.turn.cancel()
	}
	if a.crashed {
		return a.crashNow()
	}
	if a.mounted {
		a.announce(statusClear)
		a.leave()
	}
	err := a.tty.restore()
	a.wg.Wait()
	if a.reports != nil {
		a.reports.close()
	}
	if err != nil {
		return exitError, fmt.Errorf("restore the terminal: %w", err)
	}
	if *a.code == exitError && a.failure != "" {
		return exitError, fmt.Errorf("%s", a.failure)
	}
	if a.mounted && a.conv.lines > 0 {
		fmt.Fprintf(a.tty.out, "Go on with this conversation by:\n  termio %s --resume %s\n", Name, a.conv.id)
	}
	return *a.code, nil
}

// crashNow ends as a defect would: the terminal stays as it is, and from 129 on a
// signal does it.
func (a *agent) crashNow() (int, error) {
	code := *a.code
	if code > 128 {
		s := syscall.Signal(code - 128)
		signal.Reset(s)
		_ = syscall.Kill(os.Getpid(), s)
		pause(context.Background(), time.Second) // until it arrives
	}
	a.wg.Wait()
	if a.reports != nil {
		a.reports.close()
	}
	return code, nil
}

// leave undoes what mount asked of the terminal.
func (a *agent) leave() {
	var b strings.Builder
	if a.painter.inline {
		if down := len(a.painter.last.rows) - a.painter.last.y; down > 0 {
			b.WriteString(strings.Repeat("\r\n", down))
		}
	}
	if a.set.kitty && a.answers["kitty"] != "" {
		b.WriteString("\x1b[<u")
	}
	if a.set.paste {
		b.WriteString("\x1b[?2004l")
	}
	b.WriteString("\x1b[?1004l\x1b[?25h")
	if !a.painter.inline {
		b.WriteString("\x1b[?1049l")
	}
	a.write(b.String())
}
