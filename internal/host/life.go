package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"time"

	"termio/internal/agent"
	"termio/internal/api"
	"termio/internal/config"
	"termio/internal/keeper"
	"termio/internal/pty"
	"termio/internal/store"
	"termio/internal/vt"
)

// Why sessions end, in words for people.
const (
	reasonClosed  = "closed"
	reasonStopped = "the daemon was stopped"
	reasonLost    = "its processes were gone when the daemon came back"
)

// newSession makes a session that has no terminal yet.
func (h *Host) newSession(rec store.Session, man *agent.Manifest, p store.Project) *session {
	s := &session{
		h: h, id: rec.ID, project: p, created: rec.CreatedAt, rec: rec,
		log:   h.log.With("session", rec.ID.Short()),
		begun: make(chan struct{}), ended: make(chan struct{}), readEnded: make(chan struct{}),
	}
	s.ctx, s.cancel = context.WithCancel(h.ctx)
	s.machine = agent.NewMachine(man, time.Now())
	s.run = newRunning(man, pty.Proc{}, time.Now())
	s.lines.locate = s.locateTranscript
	return s
}

// begin stores the record, starts the program and puts the session into the table.
// After an error nothing of the session is left.
func (h *Host) begin(ctx context.Context, l launch) error {
	plan, err := h.plan(ctx, &l.rec, l.man, l.resume, l.prompt)
	if err != nil {
		return err
	}
	l.rec.Cols, l.rec.Rows = int(l.size.Cols), int(l.size.Rows)
	l.rec.Carry = newCarry()
	typed := plan.Typed || l.req.state.Verb == verbRun
	if !typed {
		l.req.state.Phase = phaseOver // the program is started with it
	}
	if err := h.store.PutSession(l.rec, l.req.row()); err != nil {
		return err
	}
	s := h.newSession(l.rec, l.man, l.project)
	if l.resume {
		s.resuming = l.rec.Conversation
	}
	run := s.run // what follows it, should it end at once, must not get the text
	if err := h.startIn(ctx, s, plan, l.size); err != nil {
		s.cancel()
		return errors.Join(err, h.store.ForgetSession(l.rec.ID))
	}
	l.req.deliverFirst(s, run, typed)
	return nil
}

// startIn starts a new session's program and brings the session to life. Its exit
// may be told before the start is: the session is in the table already.
func (h *Host) startIn(ctx context.Context, s *session, plan agent.Launch, size pty.Size) error {
	if !h.add(s) {
		return api.NewError(api.Unavailable, "the daemon is closing")
	}
	term, err := h.keeper.Start(ctx, keeper.StartRequest{ID: string(s.id), Argv: plan.Argv, Env: plan.Env, Dir: s.rec.Folder, Size: size})
	if err != nil {
		h.remove(s)
		return h.startFailed(s.run.man, err)
	}
	s.live(term, int(size.Cols), int(size.Rows))
	s.mu.Lock()
	began := s.publishLocked(time.Now(), "")
	close(s.begun)
	s.mu.Unlock()
	s.awaitKept(began) // with the process, so that the next host knows it
	s.wg.Go(s.read)
	h.leads(s, 0, term.Proc().PID)
	s.mu.Lock()
	s.led = true
	s.exitedEarlyLocked()
	s.mu.Unlock()
	if h.stopping() {
		s.close(reasonStopped)
	}
	return nil
}

// live gives a session its terminal and a blank screen.
func (s *session) live(term *keeper.Terminal, cols, rows int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.term = term
	s.in = newInput(s.ctx, term, &s.wg, s.discardUnread)
	s.screen = vt.New(vt.Options{
		Cols: cols, Rows: rows, History: s.h.settings().HistoryLines,
		ProgramStatus: true, Version: config.Version,
	})
	s.leader = term.Proc()
	s.run.proc, s.run.front = s.leader, s.leader.PID
	s.rec.PID, s.rec.PIDStart = s.leader.PID, int64(s.leader.Start)
	s.lastOut = time.Now()
}

// discardUnread throws away what was typed and not read, where Ctrl-C is a signal.
func (s *session) discardUnread() {
	if modes, err := s.term.Modes(); err != nil || !modes.Signals {
		return
	}
	if err := s.term.Discard(); err != nil {
		s.log.Warn("what was typed is not discarded", "error", err)
	}
}

// plan makes the launch of a session's program. Its command is found where the
// person's login shell finds it.
func (h *Host) plan(ctx context.Context, rec *store.Session, m *agent.Manifest, resume bool, prompt string) (agent.Launch, error) {
	base := h.env.Environ
	if !m.IsShell() {
		// A login shell makes its own PATH; an agent is started without one.
		base = withEnv(base, "PATH", h.login.get(false))
	}
	plan, err := agent.Plan(agent.LaunchInput{
		Manifest: m, Session: rec.ID, Conversation: rec.Conversation, Resume: resume, Prompt: prompt,
		Bypass: h.settings().BypassPermissions, BaseEnv: base, ConfigEnv: rec.ConfigEnv,
		Shell: h.env.Shell, Version: config.Version,
	})
	if err != nil {
		return plan, asAPI(api.StartFailed, "start "+m.Name, err)
	}
	if !m.IsShell() {
		if plan.Argv[0], err = h.lookPath(plan.Argv[0], true); err != nil {
			return plan, h.startFailed(m, err)
		}
	}
	return plan, nil
}

// startFailed says why a program did not start, and where to get it.
func (h *Host) startFailed(m *agent.Manifest, err error) error {
	se, ok := errors.AsType[*pty.StartError](err)
	switch {
	case ok && se.Stage == pty.StageFind && errors.Is(err, fs.ErrNotExist) && m.Install != "":
		return api.NewError(api.StartFailed, fmt.Sprintf("%s is not installed (%v); get it: %s", m.Name, err, m.Install))
	case ok:
		return api.NewError(api.StartFailed, fmt.Sprintf("start %s: %v", m.Name, err))
	case errors.Is(err, keeper.ErrLost), errors.Is(err, keeper.ErrStopping):
		return api.NewError(api.Unavailable, fmt.Sprintf("start %s: %v", m.Name, err))
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	return api.NewError(api.StartFailed, fmt.Sprintf("start %s: %v", m.Name, err))
}

// errEnded is what save refuses with.
var errEnded = errors.New("the session has ended")

// save changes the record of who and what the session is, and stores it before
// the change shows. The record of a session that has ended says how, and stays so.
func (s *session) save(change func(*store.Session)) error {
	s.saving.Lock()
	defer s.saving.Unlock()
	s.mu.Lock()
	over := s.overLocked()
	rec := s.rec
	rec.Progress = s.progressLocked()
	s.mu.Unlock()
	if over {
		return errEnded
	}
	if change != nil {
		change(&rec)
	}
	if err := s.h.store.PutSession(rec); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rec = rec
	return nil
}

// overLocked reports whether the session has ended, for every host.
func (s *session) overLocked() bool { return s.closed && !s.left }

// progressLocked is what the record says of how far the session is.
func (s *session) progressLocked() store.Progress {
	p := s.rec.Progress
	p.Status, p.StatusSince = s.machine.Status(), s.machine.Since()
	p.Seen, p.LiveTitle, p.Cwd = s.seen, s.title, s.cwd
	if s.screen != nil {
		p.Cols, p.Rows = s.screen.Size()
	}
	if b, err := s.machine.MarshalState(); err == nil {
		p.Machine = b
	}
	p.Carry = s.carryLocked()
	return p
}

// record is a copy of the session's record.
func (s *session) record() store.Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rec
}

// agentNow is what runs in the session.
func (s *session) agentNow() *agent.Manifest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.run.man
}

// atEnd handles what the reader got instead of output; false ends the reader.
func (s *session) atEnd(err error) bool {
	switch {
	case errors.Is(err, io.EOF):
		return true // the next program on this terminal is waited for
	case errors.Is(err, keeper.ErrDrained):
	default:
		s.log.Error("terminal unreadable", "error", err)
	}
	return false
}

// exited takes the end of a program that led the terminal. It is called by the host's
// one follower of the keeper and must not wait. The end of one that is only just being
// started, of which the session or the host's table doesn't know yet, is kept until they do.
func (s *session) exited(e keeper.Exit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.led || e.Proc != s.leader {
		s.early = &e
		return
	}
	s.exitedLocked(e)
}

// exitedEarlyLocked takes the end of the terminal's leader if that was told before its
// start.
func (s *session) exitedEarlyLocked() {
	if e := s.early; e != nil && e.Proc == s.leader {
		s.early = nil
		s.exitedLocked(*e)
	}
}

func (s *session) exitedLocked(e keeper.Exit) {
	if s.closed {
		return
	}
	s.exit = &e
	switch reason := exitReason(s.run.man, e); {
	case s.closing != "": // its end comes when everything else on the terminal has ended too
	case !s.run.shell() && !s.run.byHand:
		for _, w := range s.waiters {
			w.ending()
		}
		replaced := make(chan struct{})
		s.replaced = replaced
		s.wg.Go(func() {
			defer close(replaced)
			s.shellInstead(e)
		})
	default:
		s.wg.Go(func() { s.finish(reason) })
	}
}

// exitReason says how a program ended.
func exitReason(m *agent.Manifest, e keeper.Exit) string {
	what := "the shell"
	if !m.IsShell() {
		what = m.Name
	}
	switch {
	case e.Signal != 0:
		return fmt.Sprintf("%s was ended by signal %d (%v)", what, e.Signal, e.Signal)
	case e.Code != 0:
		return fmt.Sprintf("%s exited with status %d", what, e.Code)
	}
	return what + " exited"
}

// shellInstead starts a login shell where an agent was: people go on in its folder,
// with what the agent left on the screen above. A host that leaves meanwhile goes on
// with it: a start that is given up would take the whole session along.
func (s *session) shellInstead(e keeper.Exit) {
	reason := s.keepUnresumed(e)
	s.mu.Lock()
	cols, rows := s.screen.Size()
	s.mu.Unlock()
	ctx := context.WithoutCancel(s.ctx)
	shell := s.h.shell()
	rec := s.record()
	plan, err := s.h.plan(ctx, &rec, shell, false, "")
	if err == nil {
		_, err = s.h.keeper.Start(ctx, keeper.StartRequest{
			ID: string(s.id), Argv: plan.Argv, Env: plan.Env, Dir: existingFolder(rec.Folder, s.project.Root, s.h.env.UserHome),
			Size: pty.Size{Cols: uint16(cols), Rows: uint16(rows)},
		})
	}
	if err != nil {
		s.log.Error("no shell in the place of the agent", "error", err)
		s.finish(reason)
		return
	}
	if !s.shellTook(shell, s.term.Proc(), reason) { // a close was asked for meanwhile
		s.endProcesses(s.h.ctx)
	}
}

// keepUnresumed says how an agent ended. One that was started to go on with a conversation,
// and failed before it took a prompt, has not gone on with it, as on a disk that was too slow:
// the session keeps the conversation, whatever the agent began in its place, and tells how to
// try again.
func (s *session) keepUnresumed(e keeper.Exit) (reason string) {
	s.mu.Lock()
	man, kept := s.run.man, s.resuming
	s.resuming = ""
	s.mu.Unlock()
	reason = exitReason(man, e)
	if kept == "" || e.Code == 0 && e.Signal == 0 {
		return reason
	}
	reason += fmt.Sprintf(" before it went on with its conversation, which is kept: termio sessions close %s, then resume %[1]s, tries again", s.id.Short())
	err := s.save(func(rec *store.Session) {
		if rec.Conversation != kept && !rec.Prompted {
			rec.ConversationPast = append(slices.Clone(rec.ConversationPast), rec.Conversation)
			rec.Conversation, rec.Prompted, rec.Transcript = kept, true, ""
		}
	})
	if err != nil {
		s.log.Error("conversation not kept", "error", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unresumed = reason
	return reason
}

// shellTook notes that a shell has taken an agent's place, and reports whether it stays:
// in a session that is being closed it has to end as well.
func (s *session) shellTook(shell *agent.Manifest, proc pty.Proc, reason string) (stays bool) {
	if err := s.save(func(r *store.Session) {
		r.Kind, r.PID, r.PIDStart = store.KindShell, proc.PID, int64(proc.Start)
	}); err != nil {
		s.log.Error("demotion not stored", "error", err)
	}
	s.mu.Lock()
	was := s.leader.PID
	s.leader = proc
	s.becomeLocked(shell, proc, false, reason)
	s.exitedEarlyLocked()
	stays = s.closing == ""
	s.mu.Unlock()
	s.h.leads(s, was, proc.PID)
	return stays
}

// becomeLocked puts another program in the place of what the session shows. What
// waited for the one before has nothing to wait for any more.
func (s *session) becomeLocked(m *agent.Manifest, p pty.Proc, byHand bool, reason string) {
	now := time.Now()
	old := s.run
	s.run = newRunning(m, p, now)
	s.run.byHand = byHand
	s.run.front = old.front
	if !byHand {
		s.run.front = p.PID
		if m.IsShell() {
			s.tidyLocked(now)
		}
	}
	close(old.gone)
	s.look.composer, s.look.signSince = agent.Composer{}, time.Time{}
	if !old.shell() {
		err := s.goneLocked(old, reason)
		for _, w := range s.waiters {
			w.fail(err)
		}
		s.failHeldLocked(err)
	}
	c := s.machine.Begin(m, now)
	s.changedLocked(c, now)
	if !c.Changed { // who the session is has changed, which watchers see
		s.publishLocked(now, reason)
	}
	s.lookSoonLocked(now)
}

// goneLocked is the error of those who wait for an agent that has ended.
func (s *session) goneLocked(r *running, reason string) *api.Error {
	msg := reason
	if msg == "" {
		msg = r.man.Name + " ended"
	}
	if s.run != r && !s.run.shell() { // started by hand, right after it
		msg += "; " + s.run.man.Name + " was started in its place"
	} else {
		msg += "; a shell has its place in the session"
	}
	if s.rec.Transcript != "" {
		msg += "; its transcript is " + s.rec.Transcript
	}
	return api.NewError(api.AgentGone, msg)
}

// promote makes the session that of an agent which was started in its shell. A look and
// a report of the agent's may both come upon it: the second finds it done, for else it
// would take from the session the conversation that the agent has told of meanwhile.
func (s *session) promote(r *running, m *agent.Manifest, p pty.Proc) {
	s.promoting.Lock()
	defer s.promoting.Unlock()
	s.mu.Lock()
	current := s.run == r && !s.closed && !(r.byHand && r.proc == p)
	back := s.suspended.proc == p && s.rec.AgentID == m.ID // it goes on with what it had
	s.mu.Unlock()
	if !current {
		return
	}
	// The person may have told it where to keep its files.
	environ, err := pty.Environ(p.PID)
	if err != nil {
		s.log.Debug("the agent's environment is not to be known", "error", err)
	}
	if err := s.save(func(rec *store.Session) {
		if back {
			return
		}
		if old := rec.Conversation; old != "" && !slices.Contains(rec.ConversationPast, old) {
			rec.ConversationPast = append(slices.Clone(rec.ConversationPast), old)
		}
		rec.AgentID, rec.Conversation, rec.Transcript, rec.Prompted = m.ID, "", "", false
		rec.ConfigEnv = m.ConfigEnv(environ)
		if rec.ConfigEnv == nil {
			rec.ConfigEnv = map[string]string{} // not what the agent before was told
		}
	}); err != nil {
		s.log.Error("promotion not stored", "error", err)
		return
	}
	if !back {
		s.lines.follow("")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !back {
		s.tailed = carriedTranscript{}
	}
	if s.run == r && !s.closed {
		s.log.Info("agent started by hand", "agent", m.ID, "pid", p.PID)
		was := s.suspended
		s.suspended = suspended{}
		s.becomeLocked(m, p, true, "")
		if back {
			s.program = cmp.Or(s.program, was.program)
			if was.ready { // what showed it may not come again
				s.readyLocked()
			}
		}
		s.heardLocked(time.Now())
	}
}

// heardLocked takes in what an agent has said of itself before it was recognised: some
// say it once.
func (s *session) heardLocked(now time.Time) {
	if ev, ok := s.run.man.ProgramEvidence(s.program, now); ok && s.program != "" {
		s.applyLocked(ev, now)
	}
}

// demote gives the session back to its shell when the agent that was started there
// has ended, or has been suspended; front says that the shell has the keyboard.
func (s *session) demote(r *running, front bool) {
	shell := s.h.shell()
	stopped := r.proc.Alive()
	reason := r.man.Name + " ended"
	if stopped {
		reason = r.man.Name + " was suspended"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run != r || s.closed {
		return
	}
	s.suspended = suspended{}
	if stopped {
		s.suspended = suspended{r.proc, s.program, r.isReady}
	}
	s.program = ""
	was := s.run.front
	s.becomeLocked(shell, s.leader, false, reason)
	if front {
		s.readyLocked() // its prompt is what showed the end
	} else {
		s.run.front = was
	}
}

// finish ends a session whose program has ended: what it printed last is taken in,
// the end is stored and shown, and everything of it is freed.
func (s *session) finish(reason string) {
	s.term.Drain()
	s.mu.Lock()
	if s.finishing {
		s.mu.Unlock()
		return
	}
	s.finishing = true
	s.mu.Unlock()
	s.h.wg.Go(func() { s.end(reason) })
}

// end is the last goroutine of a session.
func (s *session) end(reason string) {
	s.mu.Lock()
	replaced := s.replaced
	s.mu.Unlock()
	if replaced != nil {
		// A close may come while an ended agent is getting a shell in its place. What
		// is being started then belongs to the session, and is ended with it.
		<-replaced
	}
	<-s.readEnded
	now := time.Now()
	s.mu.Lock()
	if s.left || s.h.ctx.Err() != nil { // the next host ends it
		s.mu.Unlock()
		return
	}
	if s.closing != "" {
		reason = s.closing
	}
	s.closed = true
	if s.look.timer != nil {
		s.look.timer.Stop()
	}
	t := s.publishLocked(now, reason)
	for _, w := range s.waiters {
		w.fail(s.closedLocked(reason))
	}
	s.failHeldLocked(s.closedLocked(reason))
	why := "exited"
	if s.closing != "" {
		why = "closed"
	}
	for _, a := range s.clients {
		a.endLocked(why, reason)
	}
	close(s.run.gone)
	s.stirLocked()
	s.mu.Unlock()

	<-t.done
	s.h.fleet.touched(s.id) // it shows as ended from now on
	s.cancel()
	s.wg.Wait()
	if err := s.h.keeper.Release(string(s.id)); err != nil && !errors.Is(err, keeper.ErrLost) {
		s.log.Error("terminal not released", "error", err)
	}
	if err := s.term.Close(); err != nil {
		s.log.Error("terminal not closed", "error", err)
	}
	s.h.removeCommand(s.id)
	s.log.Info("session ended", "reason", reason)
	s.h.ended(s)
	close(s.ended)
}

// closedLocked is the error of those who wait for a session that ends.
func (s *session) closedLocked(reason string) *api.Error {
	msg := "the session ended: " + reason
	if s.rec.Transcript != "" && !s.run.shell() {
		msg += "; its transcript is " + s.rec.Transcript
	}
	return api.NewError(api.SessionClosed, msg)
}

// letGo ends what this host does with a session; the session lives on.
func (s *session) letGo() {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	s.closed, s.left = true, true
	if s.look.timer != nil {
		s.look.timer.Stop()
	}
	for _, a := range s.clients {
		a.endLocked("", "")
	}
	s.stirLocked()
	s.mu.Unlock()
	s.cancel()
	s.term.Drain()
	s.wg.Wait()
	s.checkpoint()
	_ = s.term.Close()
}

// closingOf is what stands in the record of a session that ends, and the process that led
// its terminal last.
func (s *session) closingOf(t *transition) (c store.Closing, leader int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c = store.Closing{ClosedAt: time.UnixMilli(t.event.At), Reason: t.event.Reason}
	if e := s.exit; e != nil && e.Signal == 0 {
		c.ExitCode = &e.Code
	} else if e != nil {
		c.ExitSignal = e.Signal.String()
	}
	return c, s.leader.PID
}
