package host

import (
	"encoding/json"
	"os"
	"slices"
	"time"

	"termio/internal/agent"
	"termio/internal/api"
	"termio/internal/keeper"
	"termio/internal/pty"
	"termio/internal/store"
)

// recover makes sessions of what the keeper hands over: their records come from the
// store, their screens from the output that the keeper kept. What the store knows and
// the keeper does not has ended; what only the keeper knows was never announced to
// anybody, and is ended.
func (h *Host) recover() error {
	recs, err := h.store.Sessions(store.Filter{})
	if err != nil {
		return err
	}
	projects, err := h.store.Projects()
	if err != nil {
		return err
	}
	byID := map[int64]store.Project{}
	for _, p := range projects {
		byID[p.ID] = p
	}
	requests, err := h.storedRequests()
	if err != nil {
		return err
	}
	over := map[string]keeper.Handover{}
	for _, o := range h.keeper.Sessions() {
		over[o.ID] = o
	}
	for _, rec := range recs {
		o, alive := over[string(rec.ID)]
		delete(over, string(rec.ID))
		if !alive {
			h.lostSession(rec, byID[rec.ProjectID])
			continue
		}
		h.takeOver(rec, byID[rec.ProjectID], o, requests[rec.ID])
	}
	for id, rs := range requests {
		if h.session(id) == nil {
			for _, r := range rs {
				r.lost()
			}
		}
	}
	for _, rs := range requests {
		for _, r := range rs {
			r.mu.Lock()
			r.awaitCallerLocked()
			r.mu.Unlock()
		}
	}
	for _, o := range over {
		h.log.Warn("a session without a record is ended", "session", o.ID)
		h.wg.Go(func() {
			_ = o.Terminal.End(h.ctx, h.settings().CloseGrace)
			_ = o.Terminal.Close()
			_ = h.keeper.Release(o.ID)
		})
	}
	return nil
}

// lostSession closes the record of a session whose processes are gone.
func (h *Host) lostSession(rec store.Session, p store.Project) {
	reason := reasonLost
	var was carry
	switch {
	case h.store.Rebooted():
		reason = "the machine was started anew"
	case json.Unmarshal(rec.Carry, &was) == nil && was.Closing != "":
		reason = was.Closing // it was being closed when the host was killed
	}
	now := time.Now()
	e := api.Event{
		SchemaVersion: api.SchemaVersion, Link: rec.ID.Link(), Status: api.Closed, Title: h.recordTitle(rec),
		Cwd: rec.Cwd, At: now.UnixMilli(), Project: p.Name, Reason: reason, Transcript: rec.Transcript,
	}
	if m, ok := h.catalogue().Find(rec.AgentID); ok {
		e.Agent = m.Name
	}
	c := store.Closing{ClosedAt: now, Reason: reason}
	if err := h.bus.record(&e, func(e *api.Event) error { return h.store.CloseSession(rec.ID, c, e) }); err != nil {
		h.late.add(rec.ID, c, e)
		h.log.Error("session not closed", "session", rec.ID.Short(), "error", err)
	}
	h.removeCommand(rec.ID)
}

// takeOver goes on with a session of the host before, and with what had been begun in it.
func (h *Host) takeOver(rec store.Session, p store.Project, o keeper.Handover, requests []*request) {
	now := time.Now()
	shown := h.programOf(rec, o)
	s := h.newSession(rec, shown.man, p)
	if len(rec.Machine) > 0 {
		mc, err := agent.RestoreState(shown.man, rec.Machine, now)
		if err != nil {
			s.log.Error("status not restored", "error", err)
		}
		s.machine, s.dialogSeq = mc, mc.DialogSeq()
	}
	s.run.started = rec.CreatedAt // what was written while there was no host counts
	s.title, s.cwd, s.seen = rec.LiveTitle, rec.Cwd, rec.Seen
	if !h.add(s) {
		return
	}
	size, err := o.Terminal.Size()
	if err != nil || size.Cols == 0 {
		size = pty.Size{Cols: uint16(max(rec.Cols, 1)), Rows: uint16(max(rec.Rows, 1))}
	}
	s.live(o.Terminal, int(size.Cols), int(size.Rows))
	s.mu.Lock()
	s.run.byHand, s.run.proc = shown.byHand, shown.proc
	s.catchUpLocked(o, requests, now)
	s.mu.Unlock()
	s.log.Info("session taken over", "pid", o.Proc.PID, "recovered", o.Recovered)
	s.wg.Go(s.read)
	h.leads(s, 0, o.Terminal.Proc().PID)
	s.mu.Lock()
	s.led = true
	s.mu.Unlock()
	if shown.replaced {
		s.shellTook(h.shell(), o.Proc, exitReason(shown.man, keeper.Exit{}))
	}
	if o.Exit != nil {
		s.exited(*o.Exit)
	}
	s.goOn(requests)
}

// program is what a session shows.
type program struct {
	man      *agent.Manifest
	proc     pty.Proc
	byHand   bool // an agent that a person started in the session's shell
	replaced bool // an agent that has ended, and the session's terminal is a shell's already
}

// programOf finds out what a session of the host before shows.
func (h *Host) programOf(rec store.Session, o keeper.Handover) program {
	shell := program{man: h.shell(), proc: o.Proc}
	m, known := h.catalogue().Find(rec.AgentID)
	switch {
	case !known || m.IsShell():
	case rec.Kind == store.KindAgent:
		// Of another process than was stored: a shell was started in the agent's
		// place, and the host before was killed before it could note that.
		was := pty.Proc{PID: rec.PID, Start: uint64(rec.PIDStart)}
		if rec.PID == 0 {
			was = o.Proc
		}
		return program{man: m, proc: was, replaced: was != o.Proc}
	default:
		front, err := o.Terminal.Foreground()
		if err != nil {
			return shell
		}
		if args, err := pty.Args(front.PID); err == nil {
			if now, ok := recognise(h.catalogue(), args); ok && now.ID == m.ID {
				return program{man: m, proc: front.Proc, byHand: true}
			}
		}
	}
	return shell
}

// catchUpLocked brings the session to where the program is now: from what the host
// before handed on, by the output that it had not acted on, to what the screen shows.
func (s *session) catchUpLocked(o keeper.Handover, requests []*request, now time.Time) {
	c, carried := s.readCarry(s.rec.Carry)
	if !carried {
		c.Position, c.Ready = int64(o.Terminal.Ring().Head()), true
	}
	s.takeCarriedLocked(c)
	waits := map[string]*waiter{}
	for _, cw := range c.Waits {
		w := cw.restore(s.outbox)
		w.from = c.Position
		waits[cw.Request] = w
	}
	for _, r := range requests {
		r.restoreLocked(s, waits)
		if p := r.state.Phase; r.d != nil && p != phaseQueued && p != phaseOver {
			c.Ready = true // else nothing would have been typed
		}
	}
	s.replayLocked(o, c.Position, now)
	if c.Ready {
		s.readyLocked()
	}
	if g, err := s.term.ForegroundGroup(); err == nil { // what a waiter knows may be older
		s.run.front = g
		for _, w := range s.waiters {
			w.inFront(now, g, s.leader.PID)
		}
	}
	s.lookLocked(now) // what the screen shows may be newer than what was stored
	if s.dialogAt.IsZero() {
		s.dialogAt = now // the dialog that is open, if one is, may be new and deaf
	}
	last := s.stateLocked()
	if s.last != nil {
		last = *s.last
	}
	s.h.bus.restore(s.origin(), last)
	s.lookSoonLocked(now)
}

// goOn goes on with what had been begun in the session.
func (s *session) goOn(requests []*request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	closing := s.closing != ""
	for _, r := range requests {
		switch {
		case r.state.Verb == verbClose:
			s.h.wg.Go(r.awaitEnd)
		case r.d == nil:
			r.over = true
		default:
			r.d.resumeLocked()
		}
	}
	if closing { // the host before was killed at it
		for _, w := range s.waiters {
			w.fail(s.closedLocked(s.closing))
		}
		s.h.wg.Go(func() { s.endProcesses(s.h.ctx) })
	}
}

// replayChunk is how many bytes are replayed at once: the screen keeps a bounded number
// of events between two looks at them.
const replayChunk = 4 << 10

// replayLocked rebuilds the screen from the output that the keeper kept. It is exact
// while all output still fits there; of a longer one the beginning is missing. What
// came after from is new to the session: the host before did not live to act on it.
func (s *session) replayLocked(o keeper.Handover, from int64, now time.Time) {
	ring := o.Terminal.Ring()
	output, first := ring.From(0)
	at, head := int64(first), int64(ring.Head())
	unread := head - int64(o.Recovered) // no host has seen what follows
	edges := []int64{from, unread}
	for _, w := range s.waiters {
		edges = append(edges, w.from)
	}
	for len(output) > 0 {
		n := min(len(output), replayChunk)
		for _, edge := range edges {
			if at < edge {
				n = min(n, int(min(edge-at, replayChunk)))
			}
		}
		_, _ = s.screen.Write(output[:n]) // never fails
		if replies := s.screen.TakeReplies(); len(replies) > 0 && at >= unread {
			s.in.reply(replies) // to the others, replies were given at the time
		}
		s.events = s.screen.TakeEvents(s.events[:0])
		for i := range s.events {
			if at >= from {
				s.eventLocked(&s.events[i], now)
			} else {
				s.restoredEventLocked(&s.events[i])
			}
		}
		for _, w := range s.waiters {
			if at >= w.from {
				w.output(now, output[:n])
			}
		}
		if at >= from {
			s.lastOut = now
		} else {
			s.look.generation = s.screen.Generation() // it is no activity that has not been seen
		}
		output, at = output[n:], at+int64(n)
		if slices.Contains(s.tidied, at) {
			_, _ = s.screen.Write(leftovers(s.screen, s.shellModes))
		}
	}
	s.seq = head
}

// existingFolder is the first of the folders that exists, "/" if none does.
func existingFolder(dirs ...string) string {
	for _, d := range dirs {
		if fi, err := os.Stat(d); err == nil && fi.IsDir() {
			return d
		}
	}
	return "/"
}
