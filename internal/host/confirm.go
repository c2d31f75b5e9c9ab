package host

import (
	"context"
	"fmt"
	"strings"
	"time"

	"termio/internal/api"
	"termio/internal/vt"
)

// taken is what can show that an agent took a text: each of them moves.
type taken struct {
	turn, prompts uint64
	looks         uint64
	lines         int64
	status        api.Status
}

// takenLocked notes what will have moved when the agent has taken the text.
func (s *session) takenLocked() taken {
	return taken{
		turn:    s.machine.Turn(),
		prompts: s.machine.Prompts(),
		looks:   s.look.count,
		lines:   s.lineCount,
		status:  s.machine.Status(),
	}
}

// confirm looks for evidence that the agent took the text. A Return that was eaten
// is pressed once more; text that still stands in the composer then is an error.
func (d *delivery) confirm(ctx context.Context) (api.Delivery, error) {
	s := d.s
	switch {
	case d.command:
		d.awaitCommand(ctx)
		return api.Typed, nil
	case d.run.shell() || !d.run.man.ShowsPrompts():
		return api.Typed, nil
	}
	how := api.Submitted
	if d.before.status == api.Working {
		how = api.Queued
	}
	retry := min(d.run.man.Timings().Retry, evidencePatience)
	if s.await(ctx, retry, d.tookLocked) {
		return d.result(ctx, how)
	}
	if d.drafted {
		if err := d.pressAgain(ctx); err != nil {
			return "", err
		}
	}
	if s.await(ctx, max(evidencePatience-retry, evidencePatience/2), d.tookLocked) {
		return d.result(ctx, how)
	}
	s.mu.Lock()
	c := s.look.composer
	s.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return "", d.gone()
	case d.drafted && c.Found && c.Draft == d.draft:
		return "", d.stalled()
	case !d.drafted && c.Found && c.Empty:
		return d.awaitLate(ctx, how)
	}
	return api.Typed, nil
}

// stalled is the error of a text that was typed and not submitted.
func (d *delivery) stalled() *api.Error {
	s := d.s
	s.mu.Lock()
	defer s.mu.Unlock()
	return stalledError(s.run.man.Prompt(s.viewLocked(), nil))
}

// awaitLate waits for an agent whose composer is there and has shown nothing of the text:
// it is behind. The lane stays taken meanwhile, because a text that is typed now would be
// read together with this one. What shows late and is not taken gets its Return again.
func (d *delivery) awaitLate(ctx context.Context, how api.Delivery) (api.Delivery, error) {
	s := d.s
	d.later()
	shows := func() bool {
		c := s.look.composer
		if c.Found && !c.Empty && partOf(d.text, c.Draft) {
			d.drafted, d.draft = true, c.Draft
		}
		return d.drafted || d.tookLocked()
	}
	if !s.await(ctx, lagPatience, shows) {
		if ctx.Err() != nil {
			return "", d.gone()
		}
		return "", d.stalled()
	}
	if s.await(ctx, d.run.man.Timings().Retry, d.tookLocked) {
		return d.result(ctx, how)
	}
	if err := d.pressAgain(ctx); err != nil {
		return "", err
	}
	if s.await(ctx, lagPatience, d.tookLocked) {
		return d.result(ctx, how)
	}
	return "", d.stalled()
}

// awaitCommand waits until the shell has taken the command: another program is in
// front, or the shell is at its prompt again. What is sent next is for that program.
func (d *delivery) awaitCommand(ctx context.Context) {
	s, r := d.s, d.run
	s.mu.Lock()
	began := s.seq
	s.mu.Unlock()
	s.await(ctx, evidencePatience, func() bool {
		s.frontLocked(time.Now())
		return s.closed || s.run != r || r.front != s.leader.PID ||
			s.seq > began && time.Since(s.lastOut) >= shellStill
	})
}

// result is the outcome of a delivery that moved something.
func (d *delivery) result(ctx context.Context, how api.Delivery) (api.Delivery, error) {
	s := d.s
	if how == api.Submitted && len(d.text) >= partFrom {
		s.await(ctx, evidencePatience, func() bool {
			return s.closed || s.run != d.run || !s.machine.TellsPrompts() || s.told.prompts > d.before.prompts
		})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed || s.run != d.run:
		return "", d.goneLocked()
	case s.told.prompts > d.before.prompts && isPart(s.told.text, d.text):
		return "", api.NewError(api.PromptStalled, fmt.Sprintf(
			"%s took only a part of the text: it tells of a prompt of %d bytes, and %d were typed; put the text into a file and send its path",
			d.run.man.Name, len(s.told.text), len(d.text)))
	}
	return how, nil
}

// partFrom is the length, in bytes, from which a text may be taken in part: what a program
// gets of its terminal at once may be no more. Of a shorter one the agent's own word on
// what it took is not waited for.
const partFrom = 1000

// told is what the agent said last that it took for a prompt.
type told struct {
	prompts uint64 // how many it had told of then
	text    string // "" is not known
}

// isPart reports whether an agent told of a part of a text as if it were the whole.
func isPart(told, text string) bool {
	told = strings.TrimSpace(told)
	whole := strings.TrimSpace(string(vt.AppendTyped(nil, text, '\n')))
	return told != "" && len(told) < len(whole) && strings.Contains(whole, told)
}

// tookLocked reports whether anything shows that the agent took the text, or that
// there is no agent any more.
func (d *delivery) tookLocked() bool {
	s := d.s
	if s.closed || s.run != d.run {
		return true
	}
	b, c := &d.before, s.look.composer
	if s.machine.Prompts() > b.prompts {
		return true
	}
	if d.drafted {
		// Where the text was seen in the composer, it has to be gone from there:
		// whatever else moves may be the doing of the turn before.
		if s.look.count == b.looks {
			return false
		}
		if c.Found { // a person who types at once has begun a draft of their own
			return c.Empty || d.draft != "" && !strings.HasPrefix(c.Draft, d.draft)
		}
	}
	return s.machine.Turn() > b.turn || s.lineCount > b.lines || s.machine.Status() != b.status
}

// pressAgain presses Return once more if the text still stands in the composer as it did,
// with nothing of a person's in it, and no dialog has opened.
func (d *delivery) pressAgain(ctx context.Context) error {
	s := d.s
	if err := s.in.lock(ctx); err != nil {
		return d.gone()
	}
	defer s.in.unlock()
	s.mu.Lock()
	now := time.Now()
	if s.closed || s.run != d.run {
		s.mu.Unlock()
		return d.gone()
	}
	s.lookLocked(now)
	_, open := s.dialogLocked()
	c := s.look.composer
	p := s.screen.AppendKey(nil, vt.Key{Name: vt.KeyEnter})
	s.mu.Unlock()
	if open || !c.Found || c.Empty || c.Draft != d.draft {
		return nil
	}
	s.log.Info("Return was eaten; pressing it once more", "agent", d.run.man.ID)
	return s.in.write(p)
}
