package host

import (
	"fmt"
	"time"

	"termio/internal/api"
)

// Times of waits, from the command line's contract.
const (
	stalledAfter  = 5 * time.Second         // nothing moved since Return: the input was swallowed
	sameDialog    = 5 * time.Second         // an answered dialog that is still open then was not answered
	stillFor      = 1500 * time.Millisecond // a plain terminal's screen that rests this long has settled
	mergedAfter   = 3 * time.Second         // at rest this long: queued text was merged into the turn that ended
	idleFor       = time.Second             // a turn that ends in idle, not done, may be the agent's own end
	promptFor     = 3 * time.Second         // an answer at an agent's start, before its first turn
	leavingFor    = 10 * time.Second        // which an agent that says so takes longer to come to: hooks run at its end
	stalledPrompt = "nothing moved within 5 s of Return: the input was swallowed or is still in the composer"
)

// An outcome is how a wait ended.
type outcome struct {
	status   api.Status
	dialog   *api.Dialog // with needs-you
	exitCode *int        // where the shell reports it
	timedOut bool
	err      *api.Error  // no outcome is possible
	change   *transition // what ended the wait, if a change of status did
}

// A waiter waits for the outcome of one turn. It is told what happens to its
// session, in order, and decides; it has no goroutine, clock or lock of its own.
// Its session's mutex guards it.
//
// It waits in one of two ways. Where the session has a status of its own, it
// wants to see working begin after the text went in, and end. A plain terminal
// without one settles when its screen changed and then rested.
type waiter struct {
	byScreen bool          // plain terminal: no status signal
	queues   bool          // text sent in a turn gets a turn of its own
	limit    time.Time     // when the wait times out
	request  string        // name of the request whose outcome it is; "" is nobody's
	from     int64         // position of the first output that it has not been told of; a new host's
	wake     chan struct{} // of size 1: the next deadline may have come nearer
	done     chan struct{} // closed with out
	out      *outcome

	// Since the text went in; sentAt is zero until then.
	sentAt      time.Time
	turnAtSend  uint64
	inTurn      bool   // the session was working when the text was sent
	ahead       bool   // others went in behind that turn before it: no turn's end tells that its own is over, only rest
	asked       bool   // the session was asking when the text was sent
	answered    uint64 // number of the dialog that the text answers, while it is open; 0: none
	seenWorking bool
	moved       bool      // something beside the echo of the text
	baseline    string    // what the screen showed when Return was pressed; "" where that tells nothing
	rested      time.Time // queues: since when the former turn is over
	idled       time.Time // since when a turn is over that nobody said is done
	idledBy     *transition
	leaving     bool // the agent took its status back, as it does when it ends

	// Plain terminals.
	frontAtSend int       // the foreground process group when the text went in
	away        bool      // another one is in front
	backAt      time.Time // when it was frontAtSend's turn again
	lastOutput  time.Time
	echo        *echo
	command     bool // the shell said that a command began (OSC 133)
}

func newWaiter(byScreen, queues bool, limit time.Time) *waiter {
	return &waiter{byScreen: byScreen, queues: queues, limit: limit, wake: make(chan struct{}, 1), done: make(chan struct{})}
}

// turnState is what a waiter needs to know of its session's turn.
type turnState struct {
	status    api.Status
	turn      uint64 // how many have begun
	dialog    *api.Dialog
	dialogSeq uint64 // how many have opened
	front     int    // foreground process group
	leaving   bool   // the agent took its status back
}

// A submission is how a text went in.
type submission struct {
	at      time.Time
	turn    turnState
	answers uint64 // number of the dialog that the text is meant for; 0: none
	ahead   bool   // other texts went in behind the running turn before it
	arg     bool   // it was an argument of the program's start, and not typed
	screen  string // what the screen showed when Return was pressed; "" where that tells nothing
}

// typing says that text is about to be typed: its echo is no movement.
func (w *waiter) typing(text string) { w.echo = newEcho(text) }

// submitted says that the text went in: Return was pressed, or the program was
// started with it.
func (w *waiter) submitted(s submission) {
	w.sentAt, w.lastOutput = s.at, s.at
	w.turnAtSend, w.frontAtSend = s.turn.turn, s.turn.front
	w.inTurn, w.ahead = s.turn.status == api.Working, s.ahead
	w.asked = s.turn.status == api.NeedsYou
	w.answered = s.answers
	w.baseline = s.screen
	// Of an argument there is no echo and no Return to be swallowed; and a
	// running turn moves the screen whatever became of the text.
	w.moved = s.arg || w.inTurn && !w.byScreen
	w.nudge()
}

// status tells of a change of status, or that a dialog opened within needs-you.
func (w *waiter) status(now time.Time, t turnState, change *transition) {
	if w.out != nil {
		return
	}
	if t.status == api.NeedsYou {
		w.needsYou(t, change)
		return
	}
	if w.sentAt.IsZero() || w.byScreen { // what is in front of a shell tells more, and sooner
		return
	}
	w.answered = 0
	w.moved = true
	w.idled = time.Time{}
	switch {
	case t.status == api.Working:
		w.seenWorking, w.rested = true, time.Time{}
	case w.inTurn && w.queues && (w.ahead || t.turn <= w.turnAtSend):
		w.rested = now
	case !w.inTurn && !w.asked && !w.seenWorking && t.turn <= w.turnAtSend:
	case t.status == api.Idle:
		w.idled, w.idledBy = now, change
	default:
		w.settle(outcome{status: t.status, change: change})
	}
	w.nudge()
}

func (w *waiter) needsYou(t turnState, change *transition) {
	if w.answered != 0 && t.dialogSeq == w.answered {
		return
	}
	w.settle(outcome{status: api.NeedsYou, dialog: t.dialog, change: change})
}

// movement tells that the agent showed it took the text: the composer emptied,
// the transcript grew, the title changed.
func (w *waiter) movement() {
	if !w.byScreen { // what is known of a plain terminal may be about what ran before
		w.move()
	}
}

func (w *waiter) move() {
	if !w.sentAt.IsZero() && !w.moved {
		w.moved = true
		w.nudge()
	}
}

// output tells what the terminal printed.
func (w *waiter) output(now time.Time, data []byte) {
	if !w.byScreen || w.out != nil {
		return
	}
	echoed := w.echo != nil && w.echo.is(data)
	if w.sentAt.IsZero() {
		return
	}
	w.lastOutput = now
	if !echoed {
		w.move()
	}
}

// inFront tells which process group is in the foreground, and which is the shell's.
func (w *waiter) inFront(now time.Time, group, shell int) {
	if w.sentAt.IsZero() || !w.byScreen || w.out != nil {
		return
	}
	if group == shell && w.frontAtSend != shell { // what was in front has ended, by the text or before it
		w.frontAtSend, w.away, w.seenWorking, w.backAt = shell, false, true, now
		w.move()
		w.nudge()
		return
	}
	switch away := group != w.frontAtSend; {
	case away == w.away:
	case away:
		w.away, w.seenWorking = true, true
		w.move()
	default:
		w.away, w.backAt = false, now
		w.nudge()
	}
}

// commandBegan and commandEnded tell what a shell reports of itself.
func (w *waiter) commandBegan() {
	if !w.sentAt.IsZero() && w.byScreen {
		w.command = true
		w.move()
	}
}

func (w *waiter) commandEnded(exit *int) {
	if w.command {
		w.settle(outcome{status: api.Idle, exitCode: exit})
	}
}

// ending tells that the agent has ended: that it was idle before was its end, and what
// comes of the session is told next.
func (w *waiter) ending() { w.idled, w.idledBy = time.Time{}, nil }

// fail ends the wait with an error: closed, gone, not delivered.
func (w *waiter) fail(err *api.Error) { w.settle(outcome{err: err}) }

// tick decides what only the passing of time decides. t is the state now.
func (w *waiter) tick(now time.Time, t turnState) {
	w.leaving = t.leaving
	switch {
	case w.out != nil:
	case !now.Before(w.limit):
		w.settle(outcome{status: t.status, dialog: t.dialog, timedOut: true})
	case w.sentAt.IsZero():
	case w.answered != 0 && t.status == api.NeedsYou && now.Sub(w.sentAt) >= sameDialog:
		w.settle(outcome{status: api.NeedsYou, dialog: t.dialog})
	case !w.moved && now.Sub(w.sentAt) >= stalledAfter:
		w.fail(api.NewError(api.PromptStalled, stalledPrompt))
	case !w.rested.IsZero() && now.Sub(w.rested) >= mergedAfter:
		w.settle(outcome{status: t.status})
	case !w.idled.IsZero() && now.Sub(w.idled) >= w.idlePatience():
		w.settle(outcome{status: t.status, change: w.idledBy})
	case w.stillSince() != (time.Time{}) && now.Sub(w.stillSince()) >= stillFor:
		w.settle(outcome{status: api.Idle})
	}
}

// deadline is when tick may decide something next.
func (w *waiter) deadline() time.Time {
	d := w.limit
	sooner := func(t time.Time) {
		if t.Before(d) {
			d = t
		}
	}
	if w.sentAt.IsZero() {
		return d
	}
	if w.answered != 0 {
		sooner(w.sentAt.Add(sameDialog))
	}
	if !w.moved {
		sooner(w.sentAt.Add(stalledAfter))
	}
	if !w.rested.IsZero() {
		sooner(w.rested.Add(mergedAfter))
	}
	if !w.idled.IsZero() {
		sooner(w.idled.Add(w.idlePatience()))
	}
	if since := w.stillSince(); !since.IsZero() {
		sooner(since.Add(stillFor))
	}
	return d
}

// idlePatience is how long an idle agent may still turn out to be ending, or, after a
// dialog of its start, to get the prompt that it was started with.
func (w *waiter) idlePatience() time.Duration {
	switch {
	case w.leaving:
		return leavingFor
	case w.asked && w.turnAtSend == 0 && !w.seenWorking:
		return promptFor
	}
	return idleFor
}

// stillSince is since when a plain terminal rests; zero while it does not, or
// while nothing shows that it took the text. A command that came and went has
// ended even if something in the background goes on printing.
func (w *waiter) stillSince() time.Time {
	switch {
	case !w.byScreen || !w.moved || w.away || w.command:
		return time.Time{}
	case w.seenWorking:
		return w.backAt
	}
	return w.lastOutput
}

// merged reports whether the text went into the turn that ran when it was sent.
func (w *waiter) merged() bool {
	return w.inTurn && !w.queues && w.out != nil && w.out.status == api.Done && !w.out.timedOut
}

func (w *waiter) settle(o outcome) {
	if w.out == nil {
		w.out = &o
		close(w.done)
	}
}

// nudge has the waiting goroutine look at the deadline again.
func (w *waiter) nudge() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// stalledError is prompt_stalled with what is on the screen.
func stalledError(screen string) *api.Error {
	msg := stalledPrompt
	if screen != "" {
		msg = fmt.Sprintf("%s; on the screen:\n%s", msg, screen)
	}
	return api.NewError(api.PromptStalled, msg)
}
