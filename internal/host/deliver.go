package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
	settlePatience   = 5 * time.Second        // and it has printed nothing for so long
	startPatience    = 5 * time.Minute        // or after this all the same
	evidencePatience = 2 * time.Second        // for a sign that the agent took the text
	takePatience     = 3 * time.Second        // for a paste to show in the composer before Return is pressed
	shownPatience    = time.Second            // for the screen to show what was typed
	shownStill       = 100 * time.Millisecond // it has shown it when it rests this long
	backPatience     = 500 * time.Millisecond // for an interrupted prompt to come back into the composer
	answerPatience   = 2 * time.Second        // for a dialog to close
	busyPatience     = 10 * time.Second       // a send that waits for its turn longer is answered with queued
	lagPatience      = 30 * time.Second       // for an agent that is behind to show what was typed
	beginPatience    = 3 * time.Second        // for a turn to begin after its text went in
	maxHeld          = 16                     // lines that wait for a composer
	maxWaiting       = 64                     // texts that wait behind another; more are refused
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
	meant     *api.Dialog   // the dialog that the caller saw; none other is answered
	dialog    *api.Dialog
	dialogSeq uint64

	done       chan struct{} // closed with what follows, which s.mu guards
	how        api.Delivery
	err        error
	transcript string
	cursor     *int64 // whole lines of the transcript before the text went in

	started phase // how far another host had come with it; "" for nowhere

	promised bool // the sender was told that it is on its way; s.mu guards it

	// Of the goroutine that delivers.
	typedAt int64           // position in the output when typing began
	turn    <-chan struct{} // closed when it is this text's turn
	drafted bool            // the text was seen in the composer
	draft   string          // what the composer showed of it when Return was due
	alone   bool            // nothing else was in the composer when it was typed
	stands  bool            // it stands in the composer: a dialog kept its Return back
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
	if s.closed || !d.patientLocked() {
		return
	}
	s.log.Warn("text not delivered", "error", d.err)
	head, _, _ := strings.Cut(err.Message, "\n")
	what := "its prompt"
	if !d.first {
		what = fmt.Sprintf("the text %q, which was queued,", headline(d.text))
	}
	s.trouble = what + " was not delivered: " + head
	s.publishLocked(time.Now(), s.trouble)
}

// patientLocked reports whether nobody is told any more that the text has to wait: what
// was promised waits for its agent, for a dialog's answer and for a free composer.
func (d *delivery) patientLocked() bool { return d.first && !d.command || d.back || d.promised }

// promise notes that the sender is told that the text is on its way.
func (d *delivery) promise() {
	d.s.mu.Lock()
	defer d.s.mu.Unlock()
	d.promised = true
}

// later has the sender told that the text is on its way, and will be for a while.
func (d *delivery) later() {
	d.promise()
	if d.req != nil {
		d.req.later()
	}
}

// pressKeys presses keys, whatever is on the screen: they were asked for one by one.
func (d *delivery) pressKeys(ctx context.Context) (api.Delivery, error) {
	if err := d.s.in.lockFor(ctx, slices.ContainsFunc(d.keys, isInterrupt)); err != nil {
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
	select {
	case <-d.turn:
	case <-ctx.Done():
		return "", d.gone()
	}
	defer d.leaveLane()
	if err := d.awaitReady(ctx); err != nil {
		return "", err
	}
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
	for began, wait := time.Now(), readyPatience; ; {
		patience := time.NewTimer(wait)
		select {
		case <-d.run.ready:
			patience.Stop()
			return nil
		case <-d.run.gone:
			patience.Stop()
			return d.gone()
		case <-ctx.Done():
			patience.Stop()
			return d.gone()
		case now := <-patience.C:
			s.mu.Lock()
			wait = d.unreadyLocked(now, now.Sub(began))
			s.mu.Unlock()
		}
		switch {
		case wait == 0:
			s.log.Warn("agent shows no sign that it takes input; typing all the same", "agent", d.run.man.ID)
			return nil
		case wait < 0:
			return api.NewError(api.PromptStalled, fmt.Sprintf("%s has not taken over its terminal in %v: it is not ready for the text, which was not typed", d.run.man.Name, startPatience))
		}
	}
}

// unreadyLocked is how much longer an agent that has shown no sign for so long is waited
// for; 0 is no longer, and below it is given up.
func (d *delivery) unreadyLocked(now time.Time, waited time.Duration) time.Duration {
	s := d.s
	switch modes, err := s.term.Modes(); {
	case s.machine.Status() == api.NeedsYou:
		return readyPatience
	case d.run.shell():
		return 0
	default:
		blank := d.run.man.ComposerRule != nil && !slices.ContainsFunc(s.viewLocked().Rows, func(row string) bool { return row != "" })
		return unready(waited, now.Sub(s.lastOut), err == nil && modes.Canonical, blank)
	}
}

// unready is that by how long nothing was printed (silent) and whether the agent has not
// taken over its terminal yet (cooked): typed into that, a text loses its Return. One that
// goes on printing is at its start still, such as painting a long conversation, and so is
// one that should draw a composer and has drawn nothing (blank): OpenCode 1.18.33 on a busy
// machine takes more than half a minute to its first row.
func unready(waited, silent time.Duration, cooked, blank bool) time.Duration {
	switch {
	case cooked && waited >= startPatience:
		return -1
	case cooked:
		return time.Second
	case silent < settlePatience && waited < startPatience:
		return settlePatience - silent
	case blank && waited < startPatience:
		return settlePatience
	}
	return 0
}

// put types the text, its keys and Return, as one piece for everybody else. A text that
// was promised waits for what is in its way.
func (d *delivery) put(ctx context.Context) error {
	for {
		if err := d.awaitFree(ctx); err != nil {
			return err
		}
		err := d.attempt(ctx)
		if err == nil || !d.again(err) {
			return err
		}
	}
}

// errNotAtRest keeps a text from an agent that has begun to work since it was looked at.
var errNotAtRest = errors.New("the agent is at work")

// again reports whether a text that something was in the way of is tried again.
func (d *delivery) again(err error) bool {
	s := d.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if errors.Is(err, errNotAtRest) {
		return true
	}
	code := api.CodeOf(err)
	return d.patientLocked() && (code == api.NeedsAnswer || code == api.Busy)
}

// attempt is put for once.
func (d *delivery) attempt(ctx context.Context) error {
	s := d.s
	if err := s.in.lock(ctx); err != nil {
		return d.gone()
	}
	defer s.in.unlock()
	d.awaitShown(ctx)
	d.awaitLeft(ctx)
	if d.stands {
		if stands, err := d.standing(ctx); err != nil {
			return err
		} else if stands {
			return d.press()
		}
	}
	d.countLines()
	s.lines.mark() // an end that came late belongs to the turn before
	p, err := d.encode()
	if err != nil {
		return err
	}
	if len(p) > 0 {
		if err := d.mark(phaseTyping); err != nil {
			return err
		}
		if err := s.in.write(p); err != nil {
			return d.unwritten(err)
		}
		if !d.run.shell() { // a shell gets its Return at once
			_ = d.mark(phaseTyped)
		}
		d.awaitTaken(ctx, len(p))
		if ctx.Err() != nil { // Return would come too soon
			return d.gone()
		}
	}
	return d.press()
}

// unwritten is the error of a text that did not go in whole.
func (d *delivery) unwritten(err error) error {
	s := d.s
	if !errors.Is(err, errBrokenOff) {
		return d.gone()
	}
	s.mu.Lock()
	brackets := s.screen.Modes().BracketedPaste
	s.mu.Unlock()
	if brackets { // so that what follows is no part of it
		_ = s.in.write([]byte(pasteEnd))
	}
	return api.NewError(api.PromptStalled, "Ctrl-C broke the text off while it was being typed: the program had not read all of it")
}

// standing reports whether the text stands in the composer as it did when a dialog kept
// its Return back. It is false where it has gone with the dialog, and an error where
// somebody has changed it.
func (d *delivery) standing(ctx context.Context) (bool, error) {
	s := d.s
	s.await(ctx, takePatience, func() bool { return s.closed || s.run != d.run || s.look.composer.Found })
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lookLocked(time.Now())
	switch c := s.look.composer; {
	case !c.Found, c.Draft == d.draft, d.draft == "" && partOf(d.text, c.Draft):
		return true, nil // press looks once more
	case c.Empty:
		d.stands = false
		return false, nil
	}
	return false, api.NewError(api.PromptStalled, "the text was typed and a dialog opened before its Return; now something else is in the composer with it")
}

// behind reports whether a draft is a text behind something else: the agent has put that
// into its composer while the text was on its way. What an agent shows in the place of a
// long text, or a part of it, is not.
func behind(text, draft string) bool {
	text, draft = squeeze(text), squeeze(draft)
	head := text[:min(len(text), behindMost)]
	return head != "" && !strings.Contains(text, draft) && strings.Index(draft, head) > 0
}

// cameBackLocked reports whether a draft is not the text but the one before it, which an
// agent that was interrupted has put back.
func (d *delivery) cameBackLocked(draft string) bool {
	return d.alone && partOf(d.s.sent, draft) && !partOf(d.text, draft)
}

// behindMost is how many bytes of a text's beginning are looked for in a composer.
const behindMost = 20

// mixedError is the error of a text that got into a draft of somebody's.
func mixedError(draft string) *api.Error {
	return api.NewError(api.PromptStalled, fmt.Sprintf(
		"the text was typed but not submitted, because something else came into the composer before it meanwhile; now it shows %q", printable(draft)))
}

// squeeze is a text without its blanks.
func squeeze(s string) string { return strings.Join(strings.Fields(s), "") }

// partOf reports whether all of a draft is from a text, but for blanks.
func partOf(text, draft string) bool {
	return draft != "" && strings.Contains(squeeze(text), squeeze(draft))
}

// awaitFree waits, for a text that was promised, until no dialog is open and nobody's
// draft is in the composer; and, where the agent would make one turn of several texts,
// until it is at rest.
func (d *delivery) awaitFree(ctx context.Context) error {
	s := d.s
	var until time.Time
	free := func() bool { return s.closed || s.run != d.run || d.freeLocked(&until) }
	for {
		wait := time.Hour
		if !until.IsZero() {
			wait = max(time.Until(until), 0)
		}
		if s.await(ctx, wait, free) {
			return nil
		}
		if ctx.Err() != nil {
			return d.gone()
		}
	}
}

// freeLocked reports whether the text can go in now. until is when it can be so without
// anything happening; zero: never.
func (d *delivery) freeLocked(until *time.Time) bool {
	s := d.s
	*until = time.Time{}
	if d.run.shell() {
		return true
	}
	if d.patientLocked() {
		if _, open := s.dialogLocked(); open {
			return false
		}
		if c := s.look.composer; c.Found && !c.Empty && !d.force && !s.ownDraft && !d.stands {
			return false
		}
	}
	if !d.holds() {
		return true
	}
	if s.machine.Status() == api.Working {
		return false
	}
	if at := beginsUntil(s.pressed, s.takenLocked(), s.pressedAt); time.Now().Before(at) {
		*until = at
		return false
	}
	return true
}

// beginsUntil is until when the turn of the text before may be about to begin though the
// agent seems to be at rest: its Return was pressed at, and what was known then (before) is
// all that is known now. It may have been a command, which begins no turn.
func beginsUntil(before, now taken, at time.Time) time.Time {
	if before.turn != now.turn || before.prompts != now.prompts {
		return time.Time{}
	}
	return at.Add(beginPatience)
}

// holds reports whether the text has to be kept from an agent that is at work.
func (d *delivery) holds() bool { return d.enter && d.text != "" && d.run.man.Timings().Holds }

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
		back := false // an interrupted prompt may be about to come back
		if at := s.machine.Since(); status == api.Idle && at.After(since) {
			since, back = at, s.machine.Turn() > 0
		}
		drawn := s.lastOut.After(since)
		due := since.Add(shownPatience)
		switch {
		case back && s.look.composer.Found && !s.look.composer.Empty:
			due = since // here it is
		case back:
			due = since.Add(backPatience) // whatever else is drawn meanwhile
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
			return s.closed || s.run != d.run || !drawn && s.lastOut.After(since) || back && !s.look.composer.Empty
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
	d.typedAt, d.alone = s.seq, s.look.composer.Found && s.look.composer.Empty
	if d.waiter != nil {
		d.waiter.typing(text)
	}
	if modes, err := s.term.Modes(); err == nil && modes.Canonical {
		// Whoever asked for bracketed paste, such as the shell's line editor, is
		// not who reads now: brackets would be part of the text.
		return vt.AppendTyped(nil, text, '\r'), checkLines(text)
	}
	return s.pasteLocked(text), nil
}

// pasteLocked is a text as the program takes a whole one. A composer that knows no
// brackets would send each line by itself: there a line ends with what is a new line to
// every composer that we know, Ctrl-J.
func (s *session) pasteLocked(text string) []byte {
	if !s.run.shell() && s.run.man.HasComposer() && !s.screen.Modes().BracketedPaste {
		return vt.AppendTyped(nil, text, '\n')
	}
	return s.screen.AppendPaste(nil, text)
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
	if d.holds() && s.machine.Status() == api.Working { // since awaitFree
		return errNotAtRest
	}
	if d.text != "" && !d.force && s.draftedLocked() {
		return s.busyLocked()
	}
	return nil
}

// busyLocked refuses a text because somebody's draft is in the composer.
func (s *session) busyLocked() *api.Error {
	return api.NewError(api.Busy, fmt.Sprintf("somebody's draft is in the composer: %q; wait until it is sent, or use --force", printable(s.look.composer.Draft)))
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
		if c.Found && !c.Empty && !d.cameBackLocked(c.Draft) {
			d.draft = c.Draft
		}
		return d.draft != "" || !d.run.man.HasComposer()
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
		if c := s.look.composer; d.drafted && c.Found && !c.Empty {
			d.draft = c.Draft
		}
		if c := s.look.composer; d.alone && c.Found && (behind(d.text, c.Draft) || d.cameBackLocked(c.Draft)) {
			s.mu.Unlock()
			return mixedError(c.Draft)
		}
		if dialog, open := s.dialogLocked(); open && d.text != "" {
			d.stands = true
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
	if d.text != "" && d.enter {
		s.pressed, s.pressedAt, s.sent = d.before, now, d.text
	}
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
	if err := d.mark(phasePressing); err != nil && d.text == "" { // what is typed gets its Return all the same
		return err
	}
	if err := s.in.write(p); err != nil {
		return d.gone()
	}
	if d.enter && (d.command || !d.run.shell()) { // else nothing is left to be seen
		_ = d.mark(phasePressed)
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
