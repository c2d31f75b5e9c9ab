package host

import (
	"path/filepath"
	"slices"
	"time"

	"termio/internal/agent"
	"termio/internal/api"
	"termio/internal/pty"
)

// When the screen is looked at. Nothing looks at a screen that doesn't change: a
// look is due after output only, and one more when it has been still, because
// files that agents write beside the screen may come after the last drawing.
const (
	lookAfter  = 50 * time.Millisecond // output is not looked at more often than this
	lookStill  = time.Second
	shellStill = 200 * time.Millisecond // a shell without marks that is silent so long waits for input
	busyShell  = time.Hour              // a shell that shows no prompt, or a silent turn, is looked at for so long
)

// looks are the session's timed affairs: looks at the screen, and the machine's
// own deadline. One timer serves them all, and is stopped when none is due.
type looks struct {
	timer *time.Timer
	armed time.Time // when it fires; zero: it doesn't
	soon  time.Time // the look after output; zero: none due
	still time.Time // the look when it has been still; zero: none due

	generation uint64 // of the screen at the last look
	count      uint64 // looks so far
	view       agent.ScreenView
	viewOf     uint64 // the generation that view shows
	composer   agent.Composer
	signSince  time.Time // since when the agent shows that it takes input
	group      int       // foreground process group that has been inspected
	known      bool      // and that was a program of its own
	copies     int       // how often it was a copy of the shell since that came to the front
}

// lookSoonLocked arms the looks after output.
func (s *session) lookSoonLocked(now time.Time) {
	still := lookStill
	if s.run.shell() && !s.run.isReady {
		still = shellStill
	}
	s.wakeAtLocked(s.look.after(now, still))
}

// after notes output, and is when it has to be looked at: however much more comes, that is
// neither put off nor done more often. still is when it counts as having rested.
func (l *looks) after(now time.Time, still time.Duration) time.Time {
	if l.soon.IsZero() {
		l.soon = now.Add(lookAfter)
	}
	l.still = now.Add(still)
	return l.soon
}

// wakeAtLocked has the session woken at t at the latest.
func (s *session) wakeAtLocked(t time.Time) {
	l := &s.look
	if s.closed || !l.armed.IsZero() && !t.Before(l.armed) {
		return
	}
	l.armed = t
	wait := max(time.Until(t), 0)
	if l.timer == nil {
		l.timer = time.AfterFunc(wait, s.wake)
		return
	}
	l.timer.Reset(wait)
}

// wake does what is due. It is the timer's function.
func (s *session) wake() {
	now := time.Now()
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	s.wg.Add(1) // under mu and not closed: Close has not begun to wait
	defer s.wg.Done()
	l := &s.look
	l.armed = time.Time{}
	if at, ok := s.machine.Deadline(); ok && !now.Before(at) {
		s.changedLocked(s.machine.Tick(now), now)
	}
	due := !l.soon.IsZero() && !now.Before(l.soon)
	if !l.still.IsZero() && !now.Before(l.still) {
		l.still, due = time.Time{}, true
	}
	if due {
		l.soon = time.Time{}
		s.lookLocked(now)
	}
	s.rearmLocked()
	s.mu.Unlock()
	if due {
		s.lookBeside()
	}
}

// rearmLocked sets the timer for what is due next.
func (s *session) rearmLocked() {
	for _, t := range []time.Time{s.look.soon, s.look.still} {
		if !t.IsZero() {
			s.wakeAtLocked(t)
		}
	}
	if at, ok := s.machine.Deadline(); ok {
		s.wakeAtLocked(at)
	}
}

// lookNowLocked looks at an agent's screen that has changed since it was last looked at.
func (s *session) lookNowLocked(now time.Time) {
	if !s.run.shell() && !s.look.soon.IsZero() {
		s.lookLocked(now)
	}
}

// lookLocked takes in what the screen shows: dialogs, the composer, whether the
// program takes input.
func (s *session) lookLocked(now time.Time) {
	l, r := &s.look, s.run
	l.count++
	s.frontLocked(now)
	if gen := s.screen.Generation(); gen != l.generation && !r.shell() {
		s.applyLocked(agent.ActivityEvidence(s.lastOut), now)
		l.generation = gen
	}
	if r.shell() {
		if r.front == s.leader.PID && !s.untidy {
			s.shellModes = s.screen.Modes()
		}
		s.shellReadyLocked(now)
		s.shellBusyLocked(now)
		s.stirLocked()
		return
	}
	view := s.viewLocked()
	for _, ev := range r.man.ScreenEvidence(view, now) {
		s.applyLocked(ev, now)
	}
	was := l.composer
	l.composer = r.man.Composer(view)
	if was.Found && !was.Empty && l.composer.Found && l.composer.Empty {
		for _, w := range s.waiters {
			w.movement()
		}
	}
	s.agentReadyLocked(view, now)
	s.agentSilentLocked(now)
	s.releaseHeldLocked()
	s.stirLocked()
}

// frontLocked looks which process group has the keyboard.
func (s *session) frontLocked(now time.Time) {
	g, err := s.term.ForegroundGroup()
	if err != nil || g == s.run.front {
		return
	}
	s.run.front = g
	s.untidy = g == s.leader.PID && s.run.shell()
	for _, w := range s.waiters {
		w.inFront(now, g, s.leader.PID)
	}
}

// shellReadyLocked notes that a shell which reports no prompts seems to show one:
// it is in front and has been silent for a moment.
func (s *session) shellReadyLocked(now time.Time) {
	r := s.run
	if !r.isReady && !r.marks && s.seq > 0 && r.front == r.proc.PID && now.Sub(s.lastOut) >= shellStill {
		s.readyLocked()
	}
}

// shellBusyLocked has a shell looked at again that is at something of its own, such as
// a loop, and prints nothing: the command that it comes to may be as silent, and no
// output would tell that it runs. The looks are a half of the silence apart, and end:
// a shell whose prompt is nothing to see costs twenty of them.
func (s *session) shellBusyLocked(now time.Time) {
	r := s.run
	silence := now.Sub(s.lastOut)
	if r.front != r.proc.PID || silence >= busyShell || s.promptLocked() {
		return
	}
	if l := &s.look; l.still.IsZero() {
		l.still = now.Add(max(lookStill, silence/2))
	}
}

// agentSilentLocked has an agent looked at again that is in a turn and prints nothing:
// that the turn was interrupted may stand in its transcript or its status file alone, and
// later than what it drew. The looks are a half of the silence apart, and end; an agent
// at rest has none.
func (s *session) agentSilentLocked(now time.Time) {
	silence := now.Sub(s.lastOut)
	if s.machine.Status() != api.Working || silence < lookStill || silence >= busyShell {
		return
	}
	if l := &s.look; l.still.IsZero() {
		l.still = now.Add(max(lookStill, silence/2))
	}
}

// promptLocked reports whether the shell in front seems to be at its prompt: it says
// so itself, or its line editor has the terminal, or something stands before the cursor.
func (s *session) promptLocked() bool {
	r := s.run
	if r.marks {
		return r.prompt
	}
	if modes, err := s.term.Modes(); err == nil && !modes.Canonical {
		r.edits = true
		return true
	}
	return !r.edits && s.screen.Cursor().X > 0
}

// agentReadyLocked notes that an agent takes input: a sign of its manifest has
// held for as long as the manifest asks; without signs, the screen has settled.
func (s *session) agentReadyLocked(view agent.ScreenView, now time.Time) {
	l, r := &s.look, s.run
	if r.isReady {
		return
	}
	ok, sign := r.man.Ready(view, s.machine.Seen())
	if sign == "" {
		ok = s.seq > 0 && now.Sub(s.lastOut) >= lookStill && s.machine.Status() != api.NeedsYou
		if ok {
			s.readyLocked()
		}
		return
	}
	if !ok {
		l.signSince = time.Time{}
		return
	}
	if l.signSince.IsZero() {
		l.signSince = now
	}
	if at := l.signSince.Add(r.man.Timings().Settle); now.Before(at) {
		if l.still.IsZero() || at.Before(l.still) {
			l.still = at
		}
		return
	}
	s.log.Debug("agent takes input", "sign", sign)
	s.readyLocked()
}

// viewLocked is the screen as the agent package reads it. It is good while mu is held.
func (s *session) viewLocked() agent.ScreenView {
	l := &s.look
	if gen := s.screen.Generation(); l.view.Rows == nil || l.viewOf != gen {
		l.view.Rows = s.rowsLocked()
		l.viewOf = gen
	}
	c := s.screen.Cursor()
	l.view.CursorX, l.view.CursorY, l.view.CursorVisible = c.X, c.Y, c.Visible
	l.view.Title = s.title
	l.view.Dim = s.dimLocked
	return l.view
}

// lookBeside looks at what a look needs files for, without mu: the process in the
// foreground, the agent's status file, its transcript.
func (s *session) lookBeside() {
	s.mu.Lock()
	r, l := s.run, &s.look
	group := r.front
	if group != l.group {
		l.group, l.known, l.copies = group, false, 0
	}
	inspect := !l.known && (r.shell() || r.byHand)
	l.known = true
	s.mu.Unlock()
	if inspect && s.inspectFront(r, group) {
		s.lookAgain(group)
	}
	s.tidyAtRest()
	if !r.shell() {
		s.readStatusFile(r)
		s.readTranscript(r)
	}
}

// maxCopies is how many looks are made for the sake of a copy of the shell alone: the
// last is a few seconds after the first.
const maxCopies = 7

// lookAgain has a foreground group inspected again that has gone, or that was a copy of the
// shell: a program about to be executed, as a rule within milliseconds, or commands in brackets,
// which may come to execute one at any time. Looks that come anyway, after output, see
// to that; without output there are some, later and later.
func (s *session) lookAgain(group int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := &s.look
	if l.group != group {
		return
	}
	l.known = false
	if l.copies == maxCopies {
		return
	}
	at := time.Now().Add(lookAfter << l.copies)
	l.copies++
	if l.still.IsZero() || at.Before(l.still) {
		l.still = at
		s.wakeAtLocked(at)
	}
}

// inspectFront finds out which program is in front of the session's shell, and reports
// whether that does not tell: it is a copy of the shell itself, is just being executed,
// or has gone.
func (s *session) inspectFront(r *running, group int) (again bool) {
	s.mu.Lock()
	shell := s.leader.PID
	s.mu.Unlock()
	if group == 0 || group == shell {
		s.shellBack(r)
		return false
	}
	info, err := s.term.Foreground()
	if err != nil { // it came and went, and what comes next may print nothing
		return true
	}
	args, err := pty.Args(info.PID)
	unsure := err != nil || len(args) == 0 // it ends, or is being executed: its name is still the one before
	if unsure {
		args = []string{info.Name}
	}
	if m, ok := recognise(s.h.catalogue(), args); ok {
		s.promote(r, m, info.Proc)
		return false
	}
	its, err := pty.Args(shell)
	again = unsure || err == nil && slices.Equal(args, its)
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run == r && r.shell() && r.front == group {
		s.applyLocked(agent.ProcessEvidence(agent.ProcessForeground, programName(args, info.Name), now), now)
	}
	return again
}

// shellBack notes that the session's shell has the foreground again.
func (s *session) shellBack(r *running) {
	if r.byHand {
		s.demote(r)
		return
	}
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run == r && r.shell() {
		s.applyLocked(agent.ProcessEvidence(agent.ProcessShell, "", now), now)
	}
}

// programName is what a person calls a running program.
func programName(args []string, short string) string {
	if len(args) > 0 && args[0] != "" {
		return filepath.Base(args[0])
	}
	return short
}
