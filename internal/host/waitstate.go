package host

import (
	"time"

	"termio/internal/api"
)

// carriedWait is a waiter on its way to the next host.
type carriedWait struct {
	Request string `json:"request"` // whose outcome it waits for

	ByScreen    bool          `json:"by_screen,omitempty"`
	Queues      bool          `json:"queues,omitempty"`
	Limit       time.Time     `json:"limit"`
	SentAt      time.Time     `json:"sent_at,omitzero"`
	TurnAtSend  uint64        `json:"turn_at_send,omitempty"`
	InTurn      bool          `json:"in_turn,omitempty"`
	Ahead       bool          `json:"ahead,omitempty"`
	Asked       bool          `json:"asked,omitempty"`
	Answered    uint64        `json:"answered,omitempty"`
	SeenWorking bool          `json:"seen_working,omitempty"`
	Moved       bool          `json:"moved,omitempty"`
	Baseline    string        `json:"baseline,omitempty"`
	Rested      time.Time     `json:"rested,omitzero"`
	Idled       time.Time     `json:"idled,omitzero"`
	IdledBy     carriedChange `json:"idled_by,omitzero"`
	Leaving     bool          `json:"leaving,omitempty"`
	FrontAtSend int           `json:"front_at_send,omitempty"`
	Away        bool          `json:"away,omitempty"`
	BackAt      time.Time     `json:"back_at,omitzero"`
	LastOutput  time.Time     `json:"last_output,omitzero"`
	Command     bool          `json:"command,omitempty"`

	Out *carriedOutcome `json:"out,omitempty"`
}

// carriedOutcome is how a wait ended that has not been answered.
type carriedOutcome struct {
	Status   api.Status    `json:"status,omitempty"`
	Dialog   *api.Dialog   `json:"dialog,omitempty"`
	ExitCode *int          `json:"exit_code,omitempty"`
	TimedOut bool          `json:"timed_out,omitempty"`
	Err      *api.Error    `json:"err,omitempty"`
	Change   carriedChange `json:"change,omitzero"`
}

// carriedChange names a transition: one of the outbox, or one that has been told.
type carriedChange struct {
	Outbox int        `json:"outbox,omitempty"` // its place there, from 1
	Event  *api.Event `json:"event,omitempty"`  // what was told
}

// carryWait makes the image of a waiter. outbox are the transitions that nobody has been
// told of yet.
func carryWait(w *waiter, outbox []*transition) carriedWait {
	c := carriedWait{
		Request: w.request, ByScreen: w.byScreen, Queues: w.queues, Limit: w.limit,
		SentAt: w.sentAt, TurnAtSend: w.turnAtSend, InTurn: w.inTurn, Ahead: w.ahead, Asked: w.asked, Answered: w.answered,
		SeenWorking: w.seenWorking, Moved: w.moved, Baseline: w.baseline, Rested: w.rested,
		Idled: w.idled, IdledBy: carryChange(w.idledBy, outbox), Leaving: w.leaving,
		FrontAtSend: w.frontAtSend, Away: w.away, BackAt: w.backAt, LastOutput: w.lastOutput, Command: w.command,
	}
	if o := w.out; o != nil {
		c.Out = &carriedOutcome{
			Status: o.status, Dialog: o.dialog, ExitCode: o.exitCode, TimedOut: o.timedOut, Err: o.err,
			Change: carryChange(o.change, outbox),
		}
	}
	return c
}

func carryChange(t *transition, outbox []*transition) carriedChange {
	if t == nil {
		return carriedChange{}
	}
	for i, o := range outbox {
		if o == t {
			return carriedChange{Outbox: i + 1}
		}
	}
	e := t.event
	return carriedChange{Event: &e}
}

// restore makes the waiter again. What it waited for may have come about meanwhile: it
// is told of that like of everything else.
func (c carriedWait) restore(outbox []*transition) *waiter {
	w := newWaiter(c.ByScreen, c.Queues, c.Limit)
	w.request = c.Request
	w.sentAt, w.turnAtSend, w.inTurn, w.ahead, w.asked, w.answered = c.SentAt, c.TurnAtSend, c.InTurn, c.Ahead, c.Asked, c.Answered
	w.seenWorking, w.moved, w.baseline, w.rested = c.SeenWorking, c.Moved, c.Baseline, c.Rested
	w.idled, w.idledBy, w.leaving = c.Idled, c.IdledBy.restore(outbox), c.Leaving
	w.frontAtSend, w.away, w.backAt, w.lastOutput, w.command = c.FrontAtSend, c.Away, c.BackAt, c.LastOutput, c.Command
	if o := c.Out; o != nil {
		w.settle(outcome{
			status: o.Status, dialog: o.Dialog, exitCode: o.ExitCode, timedOut: o.TimedOut, err: o.Err,
			change: o.Change.restore(outbox),
		})
	}
	return w
}

func (c carriedChange) restore(outbox []*transition) *transition {
	switch {
	case c.Outbox > 0 && c.Outbox <= len(outbox):
		return outbox[c.Outbox-1]
	case c.Event != nil:
		t := &transition{event: *c.Event, done: make(chan struct{})}
		close(t.done)
		return t
	}
	return nil
}
