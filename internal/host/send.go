package host

import (
	"context"
	"fmt"
	"time"

	"termio/internal/agent"
	"termio/internal/api"
	"termio/internal/vt"
)

// Send types into a session.
func (h *Host) Send(ctx context.Context, c Caller, target string, req api.SendRequest) (any, error) {
	if r := h.requests.get(c.Request); r != nil {
		return r.answer(ctx)
	}
	if err := checkWaiting(req.Waiting); err != nil {
		return nil, err
	}
	keys, err := parseKeys(req.Keys)
	if err != nil {
		return nil, err
	}
	if err := checkText(req.Text, len(keys) == 0); err != nil {
		return nil, err
	}
	sc, s, err := h.findFor(c, target)
	if err != nil {
		return nil, err
	}
	if sc.from == s {
		return nil, api.NewError(api.BadRequest, "this is the caller's own session: what it sends would come back to itself")
	}
	d := &delivery{
		s: s, text: req.Text, keys: keys, enter: !req.NoEnter && len(keys) == 0,
		insist: req.Answer, force: req.Force, meant: req.Dialog,
		back: sc.from != nil && sc.fromRec.SpawnedBy == s.id && len(keys) == 0,
	}
	r, err := s.send(d, c.Request, req)
	if err != nil {
		return nil, err
	}
	return r.answer(ctx)
}

func parseKeys(names []string) ([]vt.Key, error) {
	keys := make([]vt.Key, 0, len(names))
	for _, name := range names {
		k, err := vt.ParseKey(name)
		if err != nil {
			return nil, api.NewError(api.BadKey, err.Error())
		}
		keys = append(keys, k)
	}
	return keys, nil
}

// send has a delivery made, and gives the request by which its outcome is waited for.
func (s *session) send(d *delivery, name string, req api.SendRequest) (*request, error) {
	limit := time.Now().Add(api.ClampTimeout(req.TimeoutMS))
	held, err := s.prepare(d, req.Wait, limit)
	if err != nil {
		return nil, err
	}
	r := s.h.newRequest(name, s.id, d.text, requestState{
		Verb: verbSend, Wait: req.Wait && !held, Limit: limit, Phase: phaseQueued, Queued: held || d.promised,
		Keys: req.Keys, Enter: d.enter, Insist: d.insist, Force: d.force, Back: d.back, Answers: d.dialogSeq,
	})
	r.d, d.req = d, r
	s.mu.Lock()
	r.state.For = d.run.proc
	if d.waiter != nil {
		d.waiter.request = r.id
	}
	s.mu.Unlock()
	if err = r.begin(s); err == nil {
		if held {
			err = s.hold(d)
		} else {
			err = d.start()
		}
		if err != nil {
			r.done(true, true)
		}
	}
	if err != nil && d.waiter != nil {
		s.dropWaiter(d.waiter)
	}
	return r, err
}

// prepare decides what a send is: an answer to the dialog that is open, a line that
// has to wait for the composer, keys, or a text.
func (s *session) prepare(d *delivery, wait bool, limit time.Time) (held bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false, notLive(s.id)
	}
	d.run = s.run
	if d.insist && d.run.shell() {
		return false, api.NewError(api.WrongAgent, "a plain terminal asks nothing that --answer could answer")
	}
	if d.text != "" && !d.run.shell() {
		s.lookLocked(time.Now())
		dialog, open := s.dialogLocked()
		asks := open && s.machine.Status() == api.NeedsYou
		if d.meant != nil && (!asks || !sameQuestion(dialog, d.meant)) {
			return false, s.otherDialogLocked(dialog, asks)
		}
		if asks && !d.back {
			if d.answer, err = s.answerLocked(dialog, d); err != nil {
				return false, err
			}
			d.dialog, d.dialogSeq = dialog, s.machine.DialogSeq()
		} else if d.back && (open || s.draftedLocked()) {
			return true, nil
		}
	}
	if n := len(s.lane.waiting); d.answer == nil && d.text != "" && n >= maxWaiting {
		return false, api.NewError(api.Busy, fmt.Sprintf("%d texts wait for this session already; send again when some have gone in", n))
	}
	if busy := s.lane.busy; d.answer == nil && d.holds() && (busy || s.machine.Status() == api.Working) {
		if !busy && !d.force && s.draftedLocked() {
			return false, s.busyLocked()
		}
		d.promised = true
	}
	if wait {
		d.waiter = s.newWaiterLocked(limit)
	}
	return false, nil
}

// draftedLocked reports whether a draft is in the composer.
func (s *session) draftedLocked() bool {
	c := s.look.composer
	return c.Found && !c.Empty && !s.ownDraft
}

// answerLocked reads a text as an answer to the open dialog.
func (s *session) answerLocked(dialog *api.Dialog, d *delivery) (*agent.Answer, error) {
	if dialog == nil { // something asks, and nothing says what
		if d.insist {
			return &agent.Answer{Text: d.text}, nil
		}
		return nil, s.needsYouLocked(dialog)
	}
	a, ok := s.run.man.MatchAnswer(dialog, d.text, d.insist)
	if !ok {
		return nil, s.needsYouLocked(dialog)
	}
	return &a, nil
}

// needsYouLocked refuses a text because a dialog is open that it does not answer.
func (s *session) needsYouLocked(dialog *api.Dialog) *api.Error {
	return api.NewError(api.NeedsAnswer, fmt.Sprintf("the session asks its person, and this text is no answer; answer with an option's number or label, or insist with --answer:\n%s",
		s.run.man.Prompt(s.viewLocked(), dialog)))
}

// otherDialogLocked refuses an answer to a dialog that is not the one that is open.
func (s *session) otherDialogLocked(dialog *api.Dialog, open bool) *api.Error {
	if !open {
		return api.NewError(api.NeedsAnswer, "the question has been answered already, or is gone; nothing was typed")
	}
	return api.NewError(api.NeedsAnswer, "the session asks something else now; nothing was typed:\n"+s.run.man.Prompt(s.viewLocked(), dialog))
}

// sendReply is the answer to a send that is not waited for.
func (s *session) sendReply(d *delivery, how api.Delivery) api.SendReply {
	s.mu.Lock()
	defer s.mu.Unlock()
	return api.SendReply{
		Head: api.OKHead(), Target: s.id.Link(), Title: s.titleLocked(),
		Transcript: d.transcript, Cursor: d.cursor, Delivery: how,
	}
}

// hold keeps a worker's line back to its spawner until the composer is free.
func (s *session) hold(d *delivery) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return notLive(s.id)
	case len(s.held) >= maxHeld:
		return api.NewError(api.Busy, fmt.Sprintf("%d lines wait for this session's composer already", len(s.held)))
	}
	s.held = append(s.held, d)
	s.lookSoonLocked(time.Now()) // the composer may have become free meanwhile
	return nil
}

// failHeldLocked ends the lines that were held for an agent that has gone.
func (s *session) failHeldLocked(err *api.Error) {
	for _, d := range s.held {
		d.failLocked(err)
	}
	s.held = nil
}

// releaseHeldLocked delivers the lines that were held, when the composer is free.
func (s *session) releaseHeldLocked() {
	if len(s.held) == 0 || s.draftedLocked() {
		return
	}
	if _, open := s.dialogLocked(); open {
		return
	}
	held := s.held
	s.held = nil
	for _, d := range held {
		d.startLocked()
	}
}
