package host

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"termio/internal/agent"
	"termio/internal/api"
	"termio/internal/store"
)

// CloseSession ends a session: everything that runs on its terminal, with grace. A
// work tree that was made for it stays: what is in it is somebody's work.
func (h *Host) CloseSession(ctx context.Context, c Caller, target string) (any, error) {
	if r := h.requests.get(c.Request); r != nil {
		return r.answer(ctx)
	}
	s, err := h.find(c, target)
	if err != nil {
		return nil, err
	}
	r := h.newRequest(c.Request, s.id, "", requestState{Verb: verbClose, Title: s.displayTitle()})
	if err := r.begin(s); err != nil { // a full disk is no reason to keep it
		h.log.Error("close not stored", "session", s.id.Short(), "error", err)
	}
	s.close(reasonClosed)
	h.wg.Go(r.awaitEnd)
	return r.answer(ctx)
}

// awaitEnd waits for the end of the session, after which nothing is left of a close.
func (r *request) awaitEnd() {
	select {
	case <-r.s.ended:
		r.done(true, false)
	case <-r.h.ctx.Done():
	}
}

// close begins the end of a session; ended tells when it is done.
func (s *session) close(reason string) {
	s.mu.Lock()
	begun := s.closing != "" || s.closed
	if !begun {
		s.closing = reason
		for _, w := range s.waiters {
			w.fail(s.closedLocked(reason))
		}
	}
	s.mu.Unlock()
	if !begun {
		s.h.wg.Go(func() {
			s.checkpoint() // whatever host is there then, it ends the session
			s.endProcesses(s.h.ctx)
		})
	}
}

// endProcesses ends what runs on the terminal. The keeper then tells the exit of its
// leader, which ends the session; if that has ended before, or nothing can end it, the
// session ends here.
func (s *session) endProcesses(ctx context.Context) {
	if err := s.term.End(ctx, s.h.settings().CloseGrace); err != nil {
		s.log.Error("processes left", "error", err)
		s.finish(fmt.Sprintf("%s; %v", reasonClosed, err))
		return
	}
	s.finish(reasonClosed)
}

// Stop ends every session and then the daemon: Stopped is closed when that is done.
func (h *Host) Stop(ctx context.Context) (api.StopReply, error) {
	open := h.open()
	if err := h.keeper.StopKeeper(); err != nil {
		h.log.Warn("the keeper cannot be asked to stop", "error", err)
	}
	h.daemonStops()
	select {
	case <-h.stopped:
	case <-ctx.Done():
		// What ends with the last session is the server, and this request with it.
		select {
		case <-h.stopped:
		default:
			return api.StopReply{}, ctx.Err()
		}
	}
	return api.StopReply{Head: api.OKHead(), Stopped: true, Closed: len(open)}, nil
}

// daemonStops marks every session as ending and closes stopped when all have ended.
// The keeper ends their processes; where it is gone, the host does.
func (h *Host) daemonStops() {
	h.stop.Do(func() {
		h.mu.Lock()
		h.closing = true
		h.mu.Unlock()
		h.wg.Go(func() {
			all := h.open()
			for _, s := range all {
				s.close(reasonStopped)
			}
			for _, s := range all {
				select {
				case <-s.ended:
				case <-h.ctx.Done(): // this host leaves before, and the keeper ends them
					return
				}
			}
			close(h.stopped)
		})
	})
}

// stopping reports whether the daemon is ending its sessions.
func (h *Host) stopping() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.closing && h.ctx.Err() == nil
}

// keeperLost is called when the keeper has gone: if it was stopping, so does the host;
// if it died, sessions go on, and new ones cannot be started.
func (h *Host) keeperLost() {
	select {
	case <-h.keeper.Stopping():
		h.daemonStops()
	default:
		h.log.Error("the keeper has gone; sessions go on, but none can be started", "sessions", len(h.open()))
	}
}

// Resume starts a session that has ended again: a new process under the same link. An
// agent goes on with the same conversation, exactly or not at all.
func (h *Host) Resume(ctx context.Context, c Caller, target string) (any, error) {
	if r := h.requests.get(c.Request); r != nil {
		return r.answer(ctx)
	}
	sc, err := h.scopeOf(c)
	if err != nil {
		return nil, err
	}
	rec, err := h.findEnded(sc, target)
	if err != nil {
		if s, open := h.findIn(sc, target); open == nil {
			return nil, api.NewError(api.BadRequest, fmt.Sprintf("session %s has not ended", s.id.Link()))
		}
		return nil, err
	}
	man, ok := h.catalogue().Find(rec.AgentID)
	if !ok {
		return nil, api.NewError(api.BadAgent, fmt.Sprintf("there is no agent %q any more", rec.AgentID))
	}
	if fi, err := os.Stat(rec.Folder); err != nil || !fi.IsDir() {
		return nil, api.NewError(api.StartFailed, fmt.Sprintf("the session's folder %s is gone", rec.Folder))
	}
	project, err := h.projectOf(rec)
	if err != nil {
		return nil, err
	}
	if err := h.awaitEnded(ctx, rec.ID); err != nil {
		return nil, err
	}
	was := rec
	resumed, fresh, release, err := h.decideResume(&rec, man)
	if err != nil {
		return nil, err
	}
	defer release()
	st := requestState{Verb: verbResume, Phase: phaseOver, Resumed: resumed, Fresh: fresh}
	if fresh && rec.Conversation != was.Conversation {
		st.Missing = was.Conversation
	}
	r := h.newRequest(c.Request, rec.ID, "", st)
	if err := h.restart(ctx, launch{
		rec: rec, man: man, project: project, resume: resumed, size: sizeOf(rec.Cols, rec.Rows), req: r,
	}, was); err != nil {
		return nil, err
	}
	return r.answer(ctx)
}

// decideResume settles how an agent goes on. fresh says that there was nothing to go
// on with. release gives the conversation free when the session has it, or has not started.
func (h *Host) decideResume(rec *store.Session, man *agent.Manifest) (resumed, fresh bool, release func(), err error) {
	nothing := func() {}
	if man.IsShell() {
		return false, false, nothing, nil
	}
	d := agent.Decide(man, h.placeOf(*rec), rec.Conversation, rec.Prompted)
	switch d.Verdict {
	case agent.VerdictResume:
		release, err := h.claim(man, *rec, d.Record)
		return err == nil, false, release, err
	case agent.VerdictUnknown:
		return false, false, nothing, api.NewError(api.StartFailed, "its conversation cannot be looked up now: "+d.Why)
	case agent.VerdictMissing:
		if rec.Conversation != "" {
			rec.ConversationPast = append(slices.Clone(rec.ConversationPast), rec.Conversation)
		}
		rec.Conversation, rec.Prompted, rec.Transcript = "", false, ""
	}
	if man.ChoosesID() && rec.Conversation == "" {
		rec.Conversation = string(newID())
	}
	return false, true, nothing, nil
}

// restart brings a record that was closed to life again. After an error it is as it was
// before: closed, and with the same conversation.
func (h *Host) restart(ctx context.Context, l launch, was store.Session) error {
	plan, err := h.plan(ctx, &l.rec, l.man, l.resume, "")
	if err != nil {
		return err
	}
	l.rec.Closing = store.Closing{}
	l.rec.Status, l.rec.StatusSince, l.rec.Machine = api.Idle, time.Now(), []byte{}
	l.rec.Carry, l.rec.PID, l.rec.PIDStart = newCarry(), 0, 0
	if !l.man.IsShell() {
		l.rec.Kind = store.KindAgent
	}
	if err := h.store.PutSession(l.rec, l.req.row()); err != nil {
		return err
	}
	h.late.remove(l.rec.ID)
	s := h.newSession(l.rec, l.man, l.project)
	if l.resume {
		s.resuming = l.rec.Conversation
	}
	if err := h.startIn(ctx, s, plan, l.size); err != nil {
		s.cancel()
		if perr := h.store.PutSession(was); perr != nil {
			h.log.Error("session not closed again", "session", l.rec.ID, "error", perr)
		}
		l.req.done(true, true)
		return err
	}
	l.req.s = s
	h.requests.add(l.req)
	l.req.done(true, false)
	return nil
}

// projectOf is the project that a record belongs to.
func (h *Host) projectOf(rec store.Session) (store.Project, error) {
	sc := scope{fromRec: rec}
	err := h.ownProject(&sc)
	return sc.project, err
}
