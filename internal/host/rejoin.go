package host

import (
	"context"
	"encoding/json"
	"fmt"

	"termio/internal/api"
	"termio/internal/store"
	"termio/internal/vt"
)

// Request gives the answer to a call that was begun under a name, by this host or one
// before it, when there is one. A call that is not known was never begun.
func (h *Host) Request(ctx context.Context, name string) (reply any, known bool, err error) {
	r := h.requests.get(name)
	switch {
	case r != nil:
		reply, err = r.answer(ctx)
		return reply, true, err
	case h.requests.forgotten(name):
		return nil, true, api.NewError(api.Unavailable, "the call's answer has been given, or nobody asked for it in time; termio sessions list tells what became of it")
	}
	return nil, false, api.NewError(api.NotFound, "no call of that name is known: nothing was done for it")
}

// storedRequests are the requests that earlier hosts had begun, by session, oldest first.
func (h *Host) storedRequests() (map[api.SessionID][]*request, error) {
	rows, err := h.store.Requests()
	if err != nil {
		return nil, err
	}
	all := map[api.SessionID][]*request{}
	for _, row := range rows {
		r := &request{h: h, id: row.ID, session: row.Session, created: row.CreatedAt, text: row.Text, onWay: make(chan struct{})}
		if err := json.Unmarshal(row.State, &r.state); err != nil {
			h.log.Error("request of the host before is unreadable, and forgotten", "session", row.Session.Short(), "error", err)
			if err := h.store.RemoveRequest(row.ID); err != nil {
				return nil, err
			}
			continue
		}
		r.answered = !r.state.Named
		if r.answered && r.state.Phase == phaseOver { // all but forgotten
			if err := h.store.RemoveRequest(r.id); err != nil {
				return nil, err
			}
			continue
		}
		all[row.Session] = append(all[row.Session], r)
		h.requests.add(r)
	}
	return all, nil
}

// lost answers a request whose session has ended, or was never started.
func (r *request) lost() {
	st := r.get()
	if st.Reply == nil && st.Error == nil {
		rec, found, err := r.h.store.Session(r.session)
		switch {
		case err != nil:
			r.h.log.Error("session of a request not found", "session", r.session.Short(), "error", err)
		case st.Verb == verbClose && found:
			b, _ := json.Marshal(api.CloseReply{Head: api.OKHead(), Closed: r.session.Link(), Title: st.Title})
			_ = r.set(func(st *requestState) { st.Reply = b })
		}
		if r.get().Reply == nil {
			e := lostError(rec, r.session)
			if st.starts() {
				e.Target = r.session.Link()
			}
			_ = r.set(func(st *requestState) { st.Error = e })
		}
	}
	r.done(true, false)
}

// lostError says why a call can't be answered: its session is gone.
func lostError(rec store.Session, id api.SessionID) *api.Error {
	if rec.Closed() {
		return api.NewError(api.SessionClosed, fmt.Sprintf("the session %s ended: %s", id.Link(), rec.Reason))
	}
	return api.NewError(api.Unavailable, fmt.Sprintf("the daemon's host was replaced while %s was being started; start it again", id.Link()))
}

// restoreLocked makes a request of an earlier host again, with its delivery and its
// waiter. Nothing of it goes on yet.
func (r *request) restoreLocked(s *session, waits map[string]*waiter) {
	st := r.state
	r.s = s
	switch {
	case st.Verb == verbClose && s.closing == "":
		s.closing = reasonClosed
		return
	case st.Verb == verbClose, st.Verb == verbResume:
		return
	}
	d := &delivery{
		s: s, run: s.run, req: r, text: r.text, enter: st.Enter, insist: st.Insist, force: st.Force, back: st.Back,
		first: st.starts(), command: st.Verb == verbRun, dialogSeq: st.Answers,
		done: make(chan struct{}), how: st.How, transcript: st.Transcript, cursor: st.Cursor,
		promised: st.Queued, typedAt: st.TypedAt, drafted: st.Drafted, draft: st.Draft, before: st.Before.taken(),
	}
	if st.Failed != nil {
		d.err = st.Failed
	}
	for _, name := range st.Keys {
		if k, err := vt.ParseKey(name); err == nil { // it was parsed when it came
			d.keys = append(d.keys, k)
		}
	}
	r.d = d
	if !st.Wait || st.Reply != nil || st.Error != nil {
		return
	}
	if d.waiter = waits[r.id]; d.waiter == nil {
		man := s.run.man
		d.waiter = newWaiter(man.IsShell(), man.Timings().Queues, st.Limit)
		d.waiter.request = r.id
	}
	if w := d.waiter; w.out == nil && w.byScreen && !w.moved && (st.Phase == phaseTyping || !w.sentAt.IsZero()) {
		w.typing(d.typed()) // what is echo is not stored: it is read again
		w.from = st.TypedAt
	}
	s.waiters = append(s.waiters, d.waiter)
}
