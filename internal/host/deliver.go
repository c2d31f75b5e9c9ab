package host

import (
	"context"
	"fmt"
	"strings"
	"time"

	"termio/internal/agent"
	"termio/internal/api"
	"termio/internal/vt"
)

// MaxText bounds, in bytes, the text of one send or prompt.
const MaxText = 4 << 20

// Times of delivery.
const (
	readyPatience    = 30 * time.Second       // an agent that never shows its sign is typed to after this, if no dialog is open
	evidencePatience = 2 * time.Second        // for a sign that the agent took the text
	takePatience     = 3 * time.Second        // for a paste to show in the composer before Return is pressed
	shownPatience    = time.Second            // for the screen to show what was typed
	shownStill       = 100 * time.Millisecond // it has shown it when it rests this long
	answerPatience   = 2 * time.Second        // for a dialog to close
	busyPatience     = 10 * time.Second       // a send that waits for its turn longer is answered with queued
	maxHeld          = 16                     // lines that wait for a composer
)

// A delivery is one text, or some keys, on the way into a session.
type delivery struct {
	s       *session
	run     *running // whom it is for: nobody else ever gets it
	text    string
	keys    []vt.Key
	enter   bool
	insist  bool // the person insists that it is an answer
	force   bool // also over a draft
	back    bool // a worker's line back to its spawner: it waits instead of being refused
	first   bool // the prompt of a spawn or the command of a run
	command bool // the command of a run
	waiter  *waiter
	req     *request // nil only in tests of a delivery alone

	// An answer to the dialog that was open when it was sent.
	answer    *agent.Answer // nil: it is none
	dialog    *api.Dialog
	dialogSeq uint64

	done       chan struct{} // closed with what follows, which s.mu guards
	how        api.Delivery
	err        error
	transcript string
	cursor     *int64 // whole lines of the transcript before the text went in

	started phase // how far another host had come with it; "" for nowhere

	// Of the goroutine that delivers.
	typedAt int64           // position in the output when typing began
	turn    <-chan struct{} // closed when it is this text's turn
	drafted bool            // the text was seen in the composer
	before  taken
}

// start runs the delivery in a goroutine of the session. It is not ended by
// the sender's going away: half a delivery is worse than one nobody waits for.
func (d *delivery) start() error {
	d.s.mu.Lock()
	defer d.s.mu.Unlock()
	if d.s.closed {
		return notLive(d.s.id)
	}
	d.startLocked()
	return nil
}

func (d *delivery) startLocked() {
	if d.done == nil {
		d.done = make(chan struct{})
	}
	if d.answer == nil && d.text != "" {
		d.turn = d.s.lane.enter() // here, so that texts keep the order in which they were sent
	}
	d.s.wg.Go(func() {
		defer close(d.done)
		ctx := d.s.ctx
		switch {
		case d.started != "":
			d.end(d.goOn(ctx))
		case d.answer != nil:
			d.end(d.giveAnswer(ctx))
		case d.text == "":
			d.end(d.pressKeys(ctx))
		default:
			d.end(d.deliver(ctx))
		}
		if d.s.h.ctx.Err() != nil { // this host leaves, and the next one goes on with it
			return
		}
		if d.err != nil {
			d.failed()
		}
		d.over()
	})
}

// end keeps how the delivery ended; a wait may be over before, and reads it all the same.
func (d *delivery) end(how api.Delivery, err error) {
	d.s.mu.Lock()
	defer d.s.mu.Unlock()
	d.how, d.err = how, err
}

// countLines notes where the transcript ends before the text goes in.
func (d *delivery) countLines() {
	path, lines := d.s.cursor(d.run)
	d.s.mu.Lock()
	defer d.s.mu.Unlock()
	d.transcript, d.cursor = path, lines
}

// failed tells those who wait for the delivery's outcome, and everybody if the text
// was what the session is for.
func (d *delivery) failed() {
	s := d.s
	s.mu.Lock()
	defer s.mu.Unlock()
	err := asAPI(api.Internal, "deliver the text", d.err)
	if d.waiter != nil {
		d.waiter.fail(err)
	}
	if s.closed || !d.first && !d.back {
		return
	}
	s.log.Warn("text not delivered", "error", d.err)
	if d.first {
		head, _, _ := strings.Cut(err.Message, "\n")
		s.trouble = "its prompt was not delivered: " + head
		s.publishLocked(time.Now(), s.trouble)
	}
}

// pressKeys presses keys, whatever is on the screen: they were asked for one by one.
func (d *delivery) pressKeys(ctx context.Context) (api.Delivery, error) {
	if err := d.s.in.lock(ctx); err != nil {
		return "", d.gone()
	}
	defer d.s.in.unlock()
	d.countLines()
	if err := d.press(); err != nil {
		return "", err
	}
	return api.Typed, nil
}

// deliver waits for its turn, for an agent that takes input and a composer that
// is free, types, and looks for evidence that the agent took it.
func (d *delivery) deliver(ctx context.Context) (api.Delivery, error) {
	s := d.s
	select {
	case <-d.turn:
	case <-ctx.Done():
		return "", d.gone()
	}
	defer d.leaveLane()
	if err := d.awaitReady(ctx); err != nil {
		return "", err
	}
	d.countLines()
	s.lines.mark() // an end that came late belongs to the turn before
	if err := d.put(ctx); err != nil {
		return "", err
	}
	if !d.enter {
		return api.Typed, nil
	}
	return d.confirm(ctx)
}

// awaitReady waits until the program takes input. While a dialog is open nothing
// is typed, however long that takes: its person answers it, or the session ends.
func (d *delivery) awaitReady(ctx context.Context) error {
	s := d.s
	patience := time.NewTimer(readyPatience)
	defer patience.Stop()
	select {
	case <-d.run.ready:
		return nil
	case <-d.run.gone:
		return d.gone()
	case <-ctx.Done():
		return d.gone()
	case <-patience.C:
	}
	open := func() bool { return s.run != d.run || s.machine.Status() != api.NeedsYou }
	for !s.await(ctx, time.Hour, open) {
		if ctx.Err() != nil {
			return d.gone()
		}
	}
	s.log.Warn("agent shows no sign that it takes input; typing all the same", "agent", d.run.man.ID)
	return nil
}

// put types the text, its keys and Return, as one piece for everybody else.
func (d *delivery) put(ctx context.Context) error {
	s := d.s
	if err := s.in.lock(ctx); err != nil {
		return d.gone()
	}
	defer s.in.unlock()
	d.awaitShown(ctx)
	d.awaitLeft(ctx)
	p, err := d.encode()
	if err != nil {
		return err
	}
	if len(p) > 0 {
		d.mark(phaseTyping)
		if err := s.in.write(p); err != nil {
			return d.gone()
		}
		d.awaitTaken(ctx, len(p))
		if ctx.Err() != nil { // Return would come too soon
			return d.gone()
		}
	}
	return d.press()
}

// awaitShown waits until the screen shows what was typed last, and what an agent did
// when its turn was given up: Claude Code puts an interrupted prompt back into its
// composer, a moment after it said that it is idle.
func (d *delivery) awaitShown(ctx context.Context) {
	s := d.s
	if d.run.shell() || !d.run.man.HasComposer() {
		return
	}
	for {
		s.mu.Lock()
		since, status := s.typedAt, s.machine.Status()
		if at := s.machine.Since(); status == api.Idle && at.After(since) {
			since = at
		}
		drawn := s.lastOut.After(since)
		due := since.Add(shownPatience)
		switch {
		case !drawn:
		case status == api.Working: // it draws all the time
			due = since.Add(shownStill)
		default:
			if still := s.lastOut.Add(shownStill); still.Before(due) {
				due = still
			}
		}
		over := s.closed || s.run != d.run
		s.mu.Unlock()
		rest := time.Until(due)
		if over || rest <= 0 {
			return
		}
		s.await(ctx, rest, func() bool {
			return s.closed || s.run != d.run || !drawn && s.lastOut.After(since)
		})
		if ctx.Err() != nil {
			return
		}
	}
}

// awaitLeft waits until a dialog has left the screen of an agent that says that it has
// gone on since: it draws when it comes to it. One that stays is still asking.
func (d *delivery) awaitLeft(ctx context.Context) {
	s := d.s
	if d.run.shell() || d.text == "" {
		return
	}
	s.await(ctx, answerPatience, func() bool {
		if s.closed || s.run != d.run || s.machine.Status() == api.NeedsYou {
			return true
		}
		_, drawn := d.run.man.FindDialog(s.viewLocked())
		return !drawn
	})
}

// encode checks that the composer is free and gives the text as the program
// wants it.
func (d *delivery) encode() ([]byte, error) {
	s := d.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := d.checkLocked(); err != nil {
		return nil, err
	}
	text := d.text
	if d.command {
		var err error
		if text, err = s.commandLine(text); err != nil {
			return nil, err
		}
	}
	d.typedAt = s.seq
	if d.waiter != nil {
		d.waiter.typing(text)
	}
	if modes, err := s.term.Modes(); err == nil && modes.Canonical {
		// Whoever asked for bracketed paste, such as the shell's line editor, is
		// not who reads now: brackets would be part of the text.
		return vt.AppendTyped(nil, text), checkLines(text)
	}
	return s.screen.AppendPaste(nil, text), nil
}

// checkLocked looks at the screen as it is now: no dialog may get this text, no
// draft may be merged with it.
func (d *delivery) checkLocked() error {
	s := d.s
	if s.closed || s.run != d.run {
		return d.goneLocked()
	}
	if d.run.shell() {
		return nil
	}
	s.lookLocked(time.Now())
	if d.text != "" {
		if dialog, open := s.dialogLocked(); open {
			return s.needsYouLocked(dialog)
		}
	}
	if c := s.look.composer; d.text != "" && c.Found && !c.Empty && !d.force && !s.ownDraft {
		return api.NewError(api.Busy, fmt.Sprintf("somebody's draft is in the composer: %q; wait until it is sent, or use --force", printable(c.Draft)))
	}
	return nil
}

// dialogLocked is the dialog that is open now, by what the channels say and by
// what the screen shows. A usage limit takes the next prompt.
func (s *session) dialogLocked() (*api.Dialog, bool) {
	if d, ok := s.run.man.FindDialog(s.viewLocked()); ok {
		if m := s.machine.Dialog(); m != nil && d.Question == "" {
			c := *d
			c.Question, c.Detail = m.Question, m.Detail
			d = &c
		}
		return d, true
	}
	if s.machine.Status() != api.NeedsYou {
		return nil, false
	}
	d := s.machine.Dialog()
	if d != nil && d.Kind == api.DialogLimit {
		return nil, false
	}
	return d, true
}

// maxLine is how many bytes of a line a terminal in canonical mode keeps.
const maxLine = 4095

// checkLines refuses a line that the terminal itself would cut: the program reads
// whole lines, and the kernel drops what is past its buffer.
func checkLines(text string) error {
	for line := range strings.Lines(text) {
		if n := len(strings.TrimRight(line, "\r\n")); n > maxLine {
			return api.NewError(api.BadRequest, fmt.Sprintf("a line of %d bytes: the program reads whole lines, of which the terminal keeps %d bytes; put the text into a file", n, maxLine))
		}
	}
	return nil
}

// awaitTaken waits until the agent has taken the paste in: it shows in the
// composer, and the time that the agent needs between a paste and Return has
// passed. Return pressed too soon is swallowed, or becomes part of the text.
func (d *delivery) awaitTaken(ctx context.Context, n int) {
	s := d.s
	if d.run.shell() || !d.enter {
		return
	}
	submit := d.run.man.Timings().Submit
	began := time.Now()
	// A long paste takes an agent longer: a second for each 100 KB or so.
	patience := takePatience + time.Duration(n)*10*time.Microsecond
	d.drafted = s.await(ctx, patience, func() bool {
		if s.run != d.run || s.closed {
			return true
		}
		c := s.look.composer
		return c.Found && !c.Empty || !d.run.man.HasComposer()
	}) && d.run.man.HasComposer()
	if rest := submit - time.Since(began); rest > 0 {
		s.await(ctx, rest, func() bool { return s.run != d.run || s.closed })
	}
}

// press presses the keys, or Return, having looked once more: a dialog may have
// opened since, and a Return would answer it.
func (d *delivery) press() error {
	s := d.s
	s.mu.Lock()
	if s.closed || s.run != d.run {
		s.mu.Unlock()
		return d.gone()
	}
	now := time.Now()
	if !d.run.shell() {
		s.lookLocked(now)
		if dialog, open := s.dialogLocked(); open && d.text != "" {
			err := s.needsYouLocked(dialog)
			s.mu.Unlock()
			err.Message = "the text was typed but not submitted, because a dialog opened meanwhile; " + err.Message
			return err
		}
	}
	s.frontLocked(now)
	var p []byte
	for _, k := range d.keys {
		p = s.screen.AppendKey(p, k)
	}
	if d.enter {
		p = s.screen.AppendKey(p, vt.Key{Name: vt.KeyEnter})
	}
	s.ownDraft = !d.enter && d.text != ""
	d.before = s.takenLocked()
	ahead := s.behind > 0
	switch {
	case d.before.status != api.Working:
		s.behind = 0
	case d.enter && d.text != "":
		s.behind++
	}
	s.typedLocked(now)
	if d.waiter != nil && (d.enter || len(d.keys) > 0) {
		d.waiter.submitted(submission{at: now, turn: s.turnStateLocked(), ahead: ahead, screen: d.baselineLocked()})
	}
	s.mu.Unlock()
	if len(p) == 0 {
		return nil
	}
	d.mark(phasePressing)
	if err := s.in.write(p); err != nil {
		return d.gone()
	}
	return nil
}

// baselineLocked is the screen to compare with, for an agent whose composer is not
// known: anything that changes then shows that it took the text.
func (d *delivery) baselineLocked() string {
	if d.run.shell() || d.run.man.HasComposer() {
		return ""
	}
	return d.s.screenTextLocked()
}

// gone is the error of a delivery whose addressee isn't there any more.
func (d *delivery) gone() error {
	s := d.s
	s.mu.Lock()
	defer s.mu.Unlock()
	return d.goneLocked()
}

func (d *delivery) goneLocked() *api.Error {
	s := d.s
	switch {
	case s.closed || s.closing != "":
		return api.NewError(api.SessionClosed, "the session ended before the text was delivered")
	case s.run == d.run:
		return api.NewError(api.Unavailable, "the daemon is closing; the text was not delivered")
	case d.run.shell():
		return api.NewError(api.NotLive, "another program took the terminal before the text was delivered")
	}
	return s.goneLocked(d.run, "")
}
