package host

import (
	"runtime"
	"time"

	"termio/internal/agent"
	"termio/internal/api"
)

// A transition is one change that watchers see. Sessions put them into their
// outbox in order; the outbox's goroutine stores and shows them.
type transition struct {
	n     int64 // of this session, from 1
	event api.Event
	run   *running // what the session showed
	// ends says that a turn ended: the transcript is read up to its last whole
	// line, which takes a moment, before anyone is told.
	ends bool
	// announced says that a dialog was told of before it was drawn.
	announced bool
	kept      chan struct{} // closed when the session has been stored as it was then, or later
	isKept    bool          // of the outbox's goroutine
	done      chan struct{} // closed when it has been shown; event is complete then
}

// newTransition is a transition to a state of a session in which run shows.
func newTransition(e api.Event, run *running) *transition {
	return &transition{event: e, run: run, kept: make(chan struct{}), done: make(chan struct{})}
}

// keep tells those who wait for it that the transition outlives this host.
func (t *transition) keep() {
	if !t.isKept {
		t.isKept = true
		close(t.kept)
	}
}

// changedLocked acts on what a piece of evidence changed.
func (s *session) changedLocked(c agent.Change, now time.Time) {
	s.h.fleet.touched(s.id)
	if at, ok := s.machine.Deadline(); ok {
		s.wakeAtLocked(at)
	}
	if c.TurnStarted || c.Prompted {
		s.trouble, s.resuming, s.unresumed, s.ownDraft = "", "", "", false
		for _, w := range s.waiters {
			w.movement()
		}
	}
	if c.Dialog || c.Background || c.Prompted {
		s.stirLocked()
	}
	asks := s.machine.DialogSeq() != s.dialogSeq
	if !c.Changed && !c.TurnEnded && !asks {
		return
	}
	if asks {
		s.dialogSeq, s.dialogAt = s.machine.DialogSeq(), now
	}
	if c.TurnEnded {
		s.seen = len(s.clients) > 0
	}
	t := s.publishLocked(now, "")
	t.ends = c.TurnEnded
	state := s.turnStateLocked()
	for _, w := range s.waiters {
		w.status(now, state, t)
	}
	s.stirLocked()
}

// turnStateLocked is the session's turn as waiters want to know it.
func (s *session) turnStateLocked() turnState {
	return turnState{
		status: s.machine.Status(), turn: s.machine.Turn(), front: s.run.front, leaving: s.run.leaving,
		dialog: s.machine.Dialog(), dialogSeq: s.machine.DialogSeq(),
	}
}

// publishLocked puts the session's state now into the outbox. reason stands with
// closed and with a failed delivery.
func (s *session) publishLocked(now time.Time, reason string) *transition {
	s.h.fleet.touched(s.id)
	t := newTransition(s.stateLocked(), s.run)
	t.announced = s.machine.DialogAnnounced()
	t.event.At = now.UnixMilli()
	t.event.Reason = reason
	if s.overLocked() {
		t.event.Status = api.Closed
		t.event.Prompt, t.event.Dialog = "", nil
	}
	s.queueLocked(t)
	return t
}

// queueLocked puts a transition into the outbox and has it emptied.
func (s *session) queueLocked(t *transition) {
	s.queued++
	t.n = s.queued
	s.outbox = append(s.outbox, t)
	switch {
	case s.left: // the next host tells it
	case !s.outRuns:
		s.outRuns = true
		s.wg.Go(s.publish)
	case s.completing: // the one before takes its time
		s.wg.Go(s.checkpoint)
	}
}

// stateLocked is the session as an event: its status and what goes with it.
func (s *session) stateLocked() api.Event {
	e := api.Event{
		SchemaVersion: api.SchemaVersion,
		Link:          s.id.Link(),
		Status:        s.machine.Status(),
		Title:         s.titleLocked(),
		Cwd:           s.cwd,
		Agent:         s.run.man.Name,
		Project:       s.project.Name,
		Background:    s.machine.Background(),
	}
	switch e.Status {
	case api.NeedsYou:
		e.Dialog = s.machine.Dialog()
		e.Prompt = s.run.man.Prompt(s.viewLocked(), e.Dialog)
	case api.Done:
		e.Transcript = s.rec.Transcript
	}
	return e
}

// publish empties the outbox: each transition is completed, stored, shown to
// watchers and then to the session's own clients.
func (s *session) publish() {
	for {
		s.mu.Lock()
		if len(s.outbox) == 0 || s.left {
			s.outRuns = false
			s.mu.Unlock()
			return
		}
		t := s.outbox[0]
		s.mu.Unlock()
		s.complete(t)
		s.show(t)
	}
}

// complete waits for what a transition shall tell and is not known at once. Meanwhile
// the host may be killed: the next one goes on with it.
func (s *session) complete(t *transition) {
	var complete func(*transition)
	switch {
	case t.event.Status == api.Done:
		complete = s.completeDone
	case t.event.Status == api.NeedsYou && t.announced:
		complete = s.completeDialog
	default:
		return
	}
	s.mu.Lock()
	s.completing = true
	s.mu.Unlock()
	s.checkpoint()
	t.keep()
	complete(t)
	s.mu.Lock()
	s.completing = false
	s.mu.Unlock()
}

// show takes a transition off the outbox, stores and tells it. What a dead disk refuses
// is told all the same, and logged.
func (s *session) show(t *transition) {
	s.saving.Lock()
	s.mu.Lock()
	if s.left { // it may be incomplete, and is the next host's
		s.mu.Unlock()
		s.saving.Unlock()
		return
	}
	s.outbox = s.outbox[1:]
	if t.event.Status != api.Stalled {
		last := t.event
		s.last = &last
	}
	progress := s.progressLocked()
	s.mu.Unlock()
	err := s.h.bus.publish(s.origin(), &t.event, func(e *api.Event) error {
		switch e.Status {
		case api.Closed:
			return s.storeEnd(t, e)
		case api.Stalled:
			return s.h.store.AppendEvent(e)
		}
		return s.h.store.Transition(s.id, progress, e)
	})
	s.saving.Unlock()
	if err != nil {
		s.log.Error("event not stored", "error", err)
	}
	t.keep()
	runtime.Gosched() // to the watchers, which else wait for a processor to be woken
	s.mu.Lock()
	for _, a := range s.clients {
		a.sendLocked(jsonFrame(api.FrameStatus, t.event))
	}
	close(t.done)
	watched := len(s.clients) > 0
	s.mu.Unlock()
	if !watched {
		s.tell(t.event)
	}
}

// completeDone says where the reply stands: the transcript and its last line.
func (s *session) completeDone(t *transition) {
	var path string
	var lines *int64
	if t.ends {
		path, lines = s.cursorEnd(s.ctx, t.run)
	} else {
		path, lines = s.cursor(t.run)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if path != "" {
		t.event.Transcript, t.event.CursorEnd = path, lines
	}
	t.event.Merged = t.ends && s.run == t.run && s.machine.Together() > 1
}

// dialogPatience is how long an agent may take to draw a dialog that it has
// announced. Claude Code 2.1.332 took 50 ms on an idle machine; one that is busy with
// other agents is given much more.
const dialogPatience = 3 * time.Second

// completeDialog waits until a dialog has been drawn that a hook or a program status
// told of: who is told of it shall be able to answer it, and see what everybody sees.
func (s *session) completeDialog(t *transition) {
	open := func() bool {
		return !s.closed && s.run == t.run && s.machine.Status() == api.NeedsYou
	}
	s.await(s.ctx, dialogPatience, func() bool { return !open() || !s.machine.DialogAnnounced() })
	s.mu.Lock()
	defer s.mu.Unlock()
	if open() {
		t.event.Dialog = s.machine.Dialog()
		t.event.Prompt = t.run.man.Prompt(s.viewLocked(), t.event.Dialog)
	}
}

// storeEnd stores how the session ended, or has that stored later, and takes the session
// off the table.
func (s *session) storeEnd(t *transition, e *api.Event) error {
	c, leader := s.closingOf(t)
	err := s.h.store.CloseSession(s.id, c, e)
	if err != nil {
		s.h.late.add(s.id, c, *e)
	}
	s.h.ends(s, leader)
	return err
}

func (s *session) origin() origin { return origin{s.id, s.project.ID, s.created} }
