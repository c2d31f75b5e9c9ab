package host

import (
	"encoding/json"
	"os"
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
		h.takeOver(rec, byID[rec.ProjectID], o)
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

// takeOver goes on with a session of the host before.
func (h *Host) takeOver(rec store.Session, p store.Project, o keeper.Handover) {
	man := h.shell()
	if rec.Kind == store.KindAgent {
		if m, ok := h.catalogue().Find(rec.AgentID); ok {
			man = m
		}
	}
	s := h.newSession(rec, man, p)
	now := time.Now()
	if len(rec.Machine) > 0 {
		mc, err := agent.RestoreState(man, rec.Machine, now)
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
	c, carried := s.readCarry(rec.Carry)
	s.mu.Lock()
	if carried {
		s.takeCarriedLocked(c)
	} else {
		c.Position = int64(o.Terminal.Ring().Head())
	}
	s.replayLocked(o, c.Position, now)
	if c.Ready || !carried {
		s.readyLocked()
	}
	s.lookLocked(now) // what the screen shows may be newer than what was stored
	last := s.stateLocked()
	if s.last != nil {
		last = *s.last
	}
	h.bus.restore(s.origin(), last)
	s.lookSoonLocked(now)
	closing := s.closing != ""
	s.mu.Unlock()
	s.log.Info("session taken over", "pid", o.Proc.PID, "recovered", o.Recovered)
	s.wg.Go(s.read)
	h.leads(s, 0, s.leader.PID)
	s.exitedEarly()
	s.deliverAgain()
	if o.Exit != nil {
		s.exited(*o.Exit)
	}
	if closing { // the host before was killed at it
		h.wg.Go(func() { s.endProcesses(h.ctx) })
	}
}

// deliverAgain delivers the text that a session was started with, if the host before
// was killed before it had typed it. What it may have typed is not typed twice.
func (s *session) deliverAgain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := &delivery{s: s, run: s.run, enter: true, first: true}
	switch {
	case s.closed || s.rec.Prompted:
		return
	case s.rec.Kind == store.KindRun && s.rec.Command != "":
		d.text, d.command = s.rec.Command, true
	case s.rec.Kind == store.KindAgent && s.rec.FirstPrompt != "" && s.machine.Turn() == 0 && s.machine.Prompts() == 0 && !s.run.man.PassesPrompt(s.rec.FirstPrompt):
		d.text = s.rec.FirstPrompt
		if s.rec.SpawnedBy != "" {
			d.text = agent.Note(s.rec.SpawnedBy.Link(), d.text)
		}
	default:
		return
	}
	s.log.Info("delivering what the host before had not")
	d.startLocked()
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
	for len(output) > 0 {
		n := min(len(output), replayChunk)
		for _, edge := range []int64{from, unread} {
			if at < edge {
				n = min(n, int(edge-at))
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
		output, at = output[n:], at+int64(n)
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
