package host

import (
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"termio/internal/agent"
	"termio/internal/api"
	"termio/internal/pty"
	"termio/internal/store"
)

// A Report is what an agent's hook says, as it came.
type Report struct {
	State            string // working, attention, done or idle
	Event            string // the agent's own name for what happened
	ConversationFrom string // the payload's field that names the conversation; "" is the manifest's
	Transcript       bool   // the payload names the transcript
	At               int64  // when it happened, unix milliseconds; 0 is now
	Payload          []byte // the hook's own JSON; it may be cut off
}

// Report takes an agent's report. One that fits no session, or must not count, is no
// error: a hook never fails its agent.
func (h *Host) Report(c Caller, rep Report) error {
	now := time.Now()
	chain := pty.AncestorsTo(c.PID, h.isLeader)
	s := h.reporter(c, chain)
	var man *agent.Manifest
	if s != nil {
		man = s.agentNow()
	}
	q := agent.ReportQuery{
		State: rep.State, Event: rep.Event, ConversationFrom: rep.ConversationFrom, Transcript: rep.Transcript, At: now,
	}
	if at := time.UnixMilli(rep.At); rep.At > 0 && at.Before(now) {
		q.At = at
	}
	r, err := agent.ParseReport(man, q, rep.Payload)
	if err != nil {
		return api.NewError(api.BadRequest, err.Error())
	}
	if b := h.boundTo(r.Conversation); b != nil && b != s {
		s = b
		if r, err = agent.ParseReport(s.agentNow(), q, rep.Payload); err != nil {
			return api.NewError(api.BadRequest, err.Error())
		}
	}
	if s == nil {
		h.log.Debug("report of no session", "event", rep.Event, "pid", c.PID)
		return nil
	}
	return s.report(r, chain)
}

// earlyPatience is how long a report waits for its session to be in the table: a quick
// agent's first hook comes before its process has been noted.
const earlyPatience = 2 * time.Second

// reporter is the session that a report comes from: that of the process, else that of
// the variable.
func (h *Host) reporter(c Caller, chain []pty.Info) *session {
	s, starting := h.reporterNow(c, chain)
	if starting == nil {
		return s
	}
	patience := time.NewTimer(earlyPatience)
	defer patience.Stop()
	select {
	case <-starting.begun:
		return starting
	case <-patience.C:
	case <-h.ctx.Done():
	}
	return nil
}

// reporterNow is reporter, or a session whose program is being started.
func (h *Host) reporterNow(c Caller, chain []pty.Info) (s, starting *session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, p := range chain {
		if s := h.leaders[p.PID]; s != nil {
			return s, nil
		}
	}
	if id, ok := api.ParseSessionID(c.Session); ok {
		return h.sessions[id], h.starting[id]
	}
	return nil, nil
}

// boundTo is the open session whose agent has a conversation, or nil. One whose agent
// has ended has it no more: another may have taken it up.
func (h *Host) boundTo(conversation string) *session {
	if conversation == "" {
		return nil
	}
	for _, s := range h.open() {
		if s.record().Conversation == conversation && !s.agentNow().IsShell() {
			return s
		}
	}
	return nil
}

// report takes a report that is meant for this session.
func (s *session) report(r agent.Report, chain []pty.Info) error {
	run, own := s.reportedBy(chain)
	s.mu.Lock()
	bound, since := s.rec.Conversation, s.boundAt
	s.mu.Unlock()
	accept, rebind, why := agent.Judge(agent.Origin{Bound: bound, BoundAt: since, Agent: own, Known: len(chain) > 0}, r)
	if !accept {
		s.log.Debug("report not counted", "event", r.Event, "why", why)
		return nil
	}
	if run.shell() {
		return nil // a hook that came after its agent's end
	}
	if err := s.bind(r, rebind); err != nil {
		return err
	}
	ev, ok := r.Evidence(run.man)
	if !ok {
		s.log.Debug("report changes no status", "event", r.Event, "why", r.Silent)
		return nil
	}
	now := time.Now()
	var change *transition
	s.mu.Lock()
	counts := s.run == run && !s.closed
	if counts {
		queued := s.queued
		s.applyLocked(ev, now)
		if len(s.outbox) > 0 && s.outbox[0].n > queued {
			change = s.outbox[0]
		}
		if r.Prompted {
			s.told = told{prompts: s.machine.Prompts(), text: r.Told}
		}
		s.lookSoonLocked(now) // what the hook tells shows on the screen a moment later
	}
	s.mu.Unlock()
	if counts {
		s.awaitKept(change)
	}
	return nil
}

// awaitKept returns when what a report changed outlives this host: its hook must not be
// told before that it was heard. A change that watchers are told of is stored with what
// they are told, and told at once.
func (s *session) awaitKept(change *transition) {
	if change != nil {
		select {
		case <-change.kept:
			return
		case <-s.ctx.Done():
		}
	}
	s.checkpoint()
}

// reportedBy is what the session shows, and whether a report's process belongs to
// it: the nearest agent among its ancestors is the session's own. An agent that was
// started by hand a moment ago makes the session its own.
func (s *session) reportedBy(chain []pty.Info) (*running, bool) {
	s.mu.Lock()
	run, leader := s.run, s.leader
	s.mu.Unlock()
	kind := func(p pty.Info) *agent.Manifest {
		switch {
		case p.Proc == run.proc && !run.shell():
			return run.man
		case p.Proc == leader:
			return nil
		}
		args, err := pty.Args(p.PID)
		if err != nil {
			return nil
		}
		m, _ := recognise(s.h.catalogue(), args)
		return m
	}
	m, proc := nearestAgent(chain, kind)
	switch {
	case m == nil:
		return run, false
	case run.shell():
		// What runs elsewhere and has only the session's variable, such as a server that
		// an agent left behind and that others share, does not have this terminal.
		if !slices.ContainsFunc(chain, func(p pty.Info) bool { return p.Proc == proc && p.Session == leader.PID }) {
			return run, false
		}
		s.promote(run, m, proc)
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.run, s.run.proc == proc
	}
	return run, proc == run.proc
}

// nearestAgent finds the nearest agent among the ancestors of a chain's first
// process: its kind, and its outermost process, for some agents are a wrapper and the
// program that it starts.
func nearestAgent(chain []pty.Info, kind func(pty.Info) *agent.Manifest) (*agent.Manifest, pty.Proc) {
	for i := 1; i < len(chain); i++ {
		m := kind(chain[i])
		if m == nil {
			continue
		}
		proc := chain[i].Proc
		for _, p := range chain[i+1:] {
			if same := kind(p); same == nil || same.ID != m.ID {
				break
			}
			proc = p.Proc
		}
		return m, proc
	}
	return nil, pty.Proc{}
}

// bind notes the conversation and what else of the session's identity a report tells.
func (s *session) bind(r agent.Report, rebind bool) error {
	s.mu.Lock()
	rec := s.rec
	s.mu.Unlock()
	first := r.Prompted && rec.FirstPrompt == "" && r.Prompt != ""
	if !rebind && !(r.Prompted && !rec.Prompted) && !first && (r.Transcript == "" || r.Transcript == rec.Transcript) {
		return nil
	}
	err := s.save(func(rec *store.Session) {
		if rebind {
			if old := rec.Conversation; old != "" && !slices.Contains(rec.ConversationPast, old) {
				rec.ConversationPast = append(slices.Clone(rec.ConversationPast), old)
			}
			rec.Conversation, rec.Prompted, rec.Transcript = r.Conversation, false, ""
		}
		if r.Transcript != "" {
			rec.Transcript = r.Transcript
		}
		if r.Prompted {
			rec.Prompted = true
		}
		if first {
			rec.FirstPrompt = r.Prompt
		}
	})
	if err != nil {
		return fmt.Errorf("bind session %s: %w", s.id, err)
	}
	s.mu.Lock()
	path := s.rec.Transcript
	if rebind {
		s.boundAt = r.At
		s.log.Info("conversation bound", "conversation", r.Conversation)
	}
	s.mu.Unlock()
	if rebind || r.Transcript != "" {
		s.lines.follow(path)
	}
	return nil
}

// interpreters run a program that is their first argument.
var interpreters = []string{"node", "bun", "deno", "python", "python3", "ruby", "sh", "bash", "zsh", "dash", "ksh"}

// recognise finds the agent whose command a process was started with.
func recognise(cat *agent.Catalogue, args []string) (*agent.Manifest, bool) {
	if len(args) == 0 {
		return nil, false
	}
	forms := [][]string{args}
	if slices.Contains(interpreters, filepath.Base(args[0])) && len(args) > 1 {
		forms = append(forms, args[1:])
	}
	for _, form := range forms {
		for _, m := range cat.All() {
			if m.StartedBy(form) {
				return m, true
			}
		}
	}
	return nil, false
}

// agentIn finds the agent among the processes that have the keyboard: what a person
// started may be a script, a package manager's launcher or a pipe with the agent in it. It
// reads the process table once. Of an agent that is a wrapper and the program it starts
// it is the wrapper.
func agentIn(cat *agent.Catalogue, session, group int) (*agent.Manifest, pty.Proc, bool) {
	members, err := pty.Members(session)
	if err != nil {
		return nil, pty.Proc{}, false
	}
	for _, p := range members { // oldest first, so parents before children
		if p.Group != group {
			continue
		}
		if args, err := pty.Args(p.PID); err == nil {
			if m, ok := recognise(cat, args); ok {
				return m, p.Proc, true
			}
		}
	}
	return nil, pty.Proc{}, false
}
