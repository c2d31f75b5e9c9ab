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
	group      int       // foreground process group that is, or has been, inspected
	inspect    time.Time // when it is due to be inspected; zero: it is not
	inspected  int       // how often it has been without an agent in it
	took       bool      // its program has taken the terminal, as interfaces do
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

// rested takes the look that is due when it has been still, and reports whether it was.
// Other reasons bring it forward; the one for which it was still is made all the same.
func (l *looks) rested(now, lastOut time.Time) bool {
	if l.still.IsZero() || now.Before(l.still) {
		return false
	}
	l.still = time.Time{}
	if at := lastOut.Add(lookStill); now.Before(at) {
		l.still = at
	}
	return true
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
	if l.rested(now, s.lastOut) {
		due = true
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
	l.view.Dim, l.view.Colours = s.dimLocked, s.coloursLocked
	return l.view
}

// lookBeside looks at what a look needs files for, without mu: the process in the
// foreground, the agent's status file, its transcript.
func (s *session) lookBeside() {
	s.mu.Lock()
	r := s.run
	group, due := s.inspectionLocked(time.Now())
	s.mu.Unlock()
	if due || r.byHand && !r.proc.Alive() {
		if again, copied := s.inspectFront(r, group); again {
			s.lookAgain(group, copied)
		}
	}
	s.tidyAtRest()
	if !r.shell() {
		s.readStatusFile(r)
		s.readTranscript(r)
	}
}

// inspectionLocked tells which process group has the keyboard, and whether it is to be
// inspected now: it has come to the front, it takes the terminal as interfaces do, or it
// is time to look again.
func (s *session) inspectionLocked(now time.Time) (group int, due bool) {
	r, l := s.run, &s.look
	group = r.front
	if group != l.group {
		l.group, l.inspect, l.inspected, l.took = group, now, 0, false
	}
	if !r.shell() && !r.byHand {
		return group, false
	}
	if m := s.screen.Modes(); r.shell() && group != s.leader.PID {
		takes := m.AltScreen || m.Kitty != 0 || m.BracketedPaste
		if takes && !l.took {
			l.inspect = now
		}
		l.took = takes
	}
	if due = !l.inspect.IsZero() && !now.Before(l.inspect); due {
		l.inspect = time.Time{}
	}
	return group, due
}

// maxInspected is how many looks are made for the sake of that alone: the last is a few
// seconds after the first.
const maxInspected = 7

// lookAgain has a foreground group inspected again in which no agent was found: a program
// about to be executed, as a rule within milliseconds; a launcher, within seconds; a script
// or commands in brackets, at any time. Some looks are made for it, later and later; after
// them a program that takes the terminal is inspected, and a copy of the shell, of which
// nothing is known yet, at times when something is printed.
func (s *session) lookAgain(group int, copied bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := &s.look
	if l.group != group || l.inspected == maxInspected && !copied {
		return
	}
	at := time.Now().Add(lookAfter << l.inspected)
	l.inspect = at
	if l.inspected == maxInspected { // with the looks that come anyway
		return
	}
	l.inspected++
	if l.still.IsZero() || at.Before(l.still) {
		l.still = at
		s.wakeAtLocked(at)
	}
}

// inspectFront finds out which program is in front of the session's shell, and reports
// whether that may be another one soon without a change of the foreground: any program
// may come to start an agent, or become one.
func (s *session) inspectFront(r *running, group int) (again, copied bool) {
	s.mu.Lock()
	shell := s.leader.PID
	s.mu.Unlock()
	if group == 0 || group == shell {
		s.shellBack(r)
		return false, false
	}
	info, err := s.term.Foreground()
	var args []string
	if err == nil {
		args, err = pty.Args(info.PID)
		if err != nil || len(args) == 0 { // it ends, or is being executed: its name is still the one before
			args = []string{info.Name}
		}
		if m, ok := recognise(s.h.catalogue(), args); ok {
			s.promote(r, m, info.Proc)
			return false, false
		}
	}
	program := programName(args, info.Name)
	s.inFront(group, program) // told first: the search takes a moment
	if m, proc, ok := agentIn(s.h.catalogue(), shell, group); ok {
		s.promote(r, m, proc)
		return false, false
	}
	if r.byHand && !r.proc.Alive() { // what had started it goes on
		s.demote(r, false)
		s.inFront(group, program)
	}
	its, err := pty.Args(shell)
	return true, err == nil && slices.Equal(args, its)
}

// inFront notes which program runs in front of the session's shell, if that is known.
func (s *session) inFront(group int, program string) {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run.shell() && s.run.front == group && program != "" {
		s.applyLocked(agent.ProcessEvidence(agent.ProcessForeground, program, now), now)
	}
}

// shellBack notes that the session's shell has the foreground again.
func (s *session) shellBack(r *running) {
	if r.byHand {
		s.demote(r, true)
		return
	}
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run == r && r.shell() {
		s.program = ""
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
