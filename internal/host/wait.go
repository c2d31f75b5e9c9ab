package host

import (
	"context"
	"slices"
	"time"

	"termio/internal/agent"
	"termio/internal/api"
)

// newWaiterLocked adds a waiter for the outcome of a turn that is about to be asked for.
func (s *session) newWaiterLocked(limit time.Time) *waiter {
	man := s.run.man
	w := newWaiter(man.IsShell(), man.Timings().Queues, limit)
	s.waiters = append(s.waiters, w)
	return w
}

// dropWaiter forgets a waiter.
func (s *session) dropWaiter(w *waiter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiters = slices.DeleteFunc(s.waiters, func(x *waiter) bool { return x == w })
}

// awaitOutcome waits until d's waiter has decided and makes the reply.
func (s *session) awaitOutcome(ctx context.Context, d *delivery, created bool) (any, error) {
	w := d.waiter
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-w.done:
			reply, err := s.waitReply(ctx, d, created)
			if ctx.Err() == nil {
				s.dropWaiter(w)
			}
			return reply, err
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-w.wake:
			s.checkpoint() // what has moved need not move again for the next host
		case <-timer.C:
			s.showMovement(d)
		}
		s.mu.Lock()
		now := time.Now()
		w.tick(now, s.turnStateLocked())
		timer.Reset(max(time.Until(w.deadline()), 0))
		s.mu.Unlock()
	}
}

// showMovement looks whether the agent took the text before the waiter decides that it
// did not: what no output announces, such as a transcript that grew, counts as well.
func (s *session) showMovement(d *delivery) {
	s.mu.Lock()
	r := s.run
	due := !s.closed && !r.shell() && !d.waiter.sentAt.IsZero() && !d.waiter.moved
	if due {
		s.lookLocked(time.Now())
	}
	s.mu.Unlock()
	if !due {
		return
	}
	s.lookBeside()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run == r && d.waiter.baseline != "" && s.screenTextLocked() != d.waiter.baseline {
		d.waiter.movement()
	}
}

// waitReply makes the reply of a wait that has its outcome.
func (s *session) waitReply(ctx context.Context, d *delivery, created bool) (any, error) {
	o := d.waiter.out
	if o.err != nil {
		if o.err.Code == api.PromptStalled && o.err.Message == stalledPrompt {
			return nil, stalledError(s.promptNow())
		}
		return nil, o.err
	}
	reply := api.WaitReply{
		Head: api.OKHead(), Target: s.id.Link(), Status: o.status, TimedOut: o.timedOut,
		Created: created, Dialog: o.dialog, ExitCode: o.exitCode,
	}
	s.mu.Lock()
	r, began := s.run, d.transcript
	reply.Cursor = d.cursor
	reply.Title = s.titleLocked()
	reply.Background = s.machine.Background()
	reply.Delivery = d.how
	if o.status == api.NeedsYou {
		reply.Prompt = r.man.Prompt(s.viewLocked(), o.dialog)
	}
	if o.status == api.Done && !o.timedOut {
		reply.Merged = d.waiter.merged() || s.machine.Together() > 1
	}
	s.mu.Unlock()
	if r.shell() {
		return reply, nil
	}
	if o.change != nil { // watchers and this caller read the same lines
		select {
		case <-o.change.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		reply.Merged = d.waiter.merged() || o.change.event.Merged
		if o.change.event.CursorEnd != nil {
			reply.Transcript, reply.CursorEnd = o.change.event.Transcript, o.change.event.CursorEnd
		}
		if o.change.event.Prompt != "" {
			reply.Prompt, reply.Dialog = o.change.event.Prompt, o.change.event.Dialog
		}
	}
	if reply.CursorEnd == nil {
		reply.Transcript, reply.CursorEnd = s.cursor(r)
	}
	if reply.CursorEnd != nil && (reply.Cursor == nil || reply.Transcript != began) {
		reply.Cursor = new(int64) // the transcript began with this turn
	}
	return reply, nil
}

// promptNow is the question on the screen, or its last lines.
func (s *session) promptNow() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.run.man.Prompt(s.viewLocked(), s.machine.Dialog())
}

// screenTextLocked is the screen's text, for comparing.
func (s *session) screenTextLocked() string { return joinRows(s.viewLocked()) }

func joinRows(v agent.ScreenView) string {
	n := 0
	for _, r := range v.Rows {
		n += len(r) + 1
	}
	b := make([]byte, 0, n)
	for _, r := range v.Rows {
		b = append(append(b, r...), '\n')
	}
	return string(b)
}
