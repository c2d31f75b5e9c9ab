package host

import (
	"context"
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
		return d.result(how)
	}
	if d.drafted {
		if err := d.again(ctx); err != nil {
			return "", err
		}
	}
	if s.await(ctx, max(evidencePatience-retry, evidencePatience/2), d.tookLocked) {
		return d.result(how)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.look.composer; d.drafted && c.Found && !c.Empty {
		return "", stalledError(s.run.man.Prompt(s.viewLocked(), nil))
	}
	return api.Typed, nil
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
func (d *delivery) result(how api.Delivery) (api.Delivery, error) {
	d.s.mu.Lock()
	defer d.s.mu.Unlock()
	if d.s.closed || d.s.run != d.run {
		return "", d.goneLocked()
	}
	return how, nil
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
		if c.Found {
			return c.Empty
		}
	}
	return s.machine.Turn() > b.turn || s.lineCount > b.lines || s.machine.Status() != b.status
}

// again presses Return once more if the text still stands in the composer.
func (d *delivery) again(ctx context.Context) error {
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
	if open || !c.Found || c.Empty {
		return nil
	}
	s.log.Info("Return was eaten; pressing it once more", "agent", d.run.man.ID)
	return s.in.write(p)
}

