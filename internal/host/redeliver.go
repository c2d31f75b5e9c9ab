package host

import (
	"context"
	"fmt"
	"strings"
	"time"

	"termio/internal/api"
	"termio/internal/vt"
)

// storedTaken is taken as it is stored. How often the screen was looked at means nothing
// to another host.
type storedTaken struct {
	Turn    uint64     `json:"turn,omitempty"`
	Prompts uint64     `json:"prompts,omitempty"`
	Lines   int64      `json:"lines,omitempty"`
	Status  api.Status `json:"status,omitempty"`
}

func (t taken) stored() storedTaken {
	return storedTaken{Turn: t.turn, Prompts: t.prompts, Lines: t.lines, Status: t.status}
}

func (t storedTaken) taken() taken {
	return taken{turn: t.Turn, prompts: t.Prompts, lines: t.Lines, status: t.Status}
}

// mark stores how far the delivery is, before it goes that far.
func (d *delivery) mark(p phase) {
	if d.req == nil {
		return
	}
	d.req.set(func(st *requestState) {
		st.Phase, st.TypedAt = p, d.typedAt
		st.Drafted, st.Draft, st.Before = d.drafted, d.draft, d.before.stored()
		st.Transcript, st.Cursor = d.transcript, d.cursor
	})
	if p == phasePressing && d.waiter != nil {
		d.s.checkpoint() // with the waiter as it will be when the text is in
	}
}

// over notes how the delivery ended.
func (d *delivery) over() {
	if d.req == nil {
		return
	}
	d.req.set(func(st *requestState) {
		st.Phase, st.How = phaseOver, d.how
		st.Transcript, st.Cursor = d.transcript, d.cursor
		if d.err != nil {
			st.Failed = asAPI(api.Internal, "deliver the text", d.err)
		}
	})
	d.req.done(true, false)
}

// resumeLocked goes on with a delivery of an earlier host.
func (d *delivery) resumeLocked() {
	s, st := d.s, d.req.state
	if w := d.waiter; w != nil && w.out == nil && !w.sentAt.IsZero() && !w.moved {
		w.sentAt = time.Now() // nobody looked meanwhile: it has its time to move from here on
		if c := s.look.composer; d.drafted && c.Found && c.Empty {
			w.movement()
		}
	}
	switch {
	case st.Phase == phaseOver:
		close(d.done)
		d.req.over = true
	case s.exit != nil && !d.run.shell(): // a shell is about to take its place, and would get it
		d.failLocked(s.goneLocked(d.run, exitReason(d.run.man, *s.exit)))
	case st.Phase != phaseQueued:
		d.started = st.Phase
		d.startLocked()
	case d.dialogSeq != 0:
		d.answerAgainLocked()
	case d.back && st.Queued:
		s.held = append(s.held, d)
	default:
		d.startLocked()
	}
}

// answerAgainLocked gives an answer of which nothing had been pressed, if the dialog
// that it is for is still the one that is open.
func (d *delivery) answerAgainLocked() {
	s := d.s
	dialog, open := s.dialogLocked()
	if open && s.machine.DialogSeq() == d.dialogSeq {
		if a, err := s.answerLocked(dialog, d); err == nil {
			d.answer, d.dialog = a, dialog
			d.startLocked()
			return
		}
	}
	d.failLocked(api.NewError(api.BadRequest, "the dialog that this answers is not open any more; nothing was typed"))
}

// failLocked ends a delivery that cannot even be begun.
func (d *delivery) failLocked(err error) {
	d.s.wg.Go(func() {
		defer close(d.done)
		d.end("", err)
		d.failed()
		d.over()
	})
}

// goOn finishes a delivery that an earlier host was killed at: nothing is typed twice,
// and Return is pressed only where it can be seen that it has not been.
func (d *delivery) goOn(ctx context.Context) (api.Delivery, error) {
	s := d.s
	if d.text == "" || d.dialogSeq != 0 { // keys: they went in, or will never
		return api.Typed, nil
	}
	select {
	case <-d.turn:
	case <-ctx.Done():
		return "", d.gone()
	}
	defer d.leaveLane()
	if d.started == phaseTyping {
		if err := d.finishTyping(ctx); err != nil {
			return "", err
		}
	} else if d.run.shell() {
		if err := d.finishLine(ctx); err != nil {
			return "", err
		}
	}
	if !d.enter {
		return api.Typed, nil
	}
	s.log.Info("going on with a text of the host before", "phase", d.started)
	return d.confirm(ctx)
}

// finishTyping presses Return for a text that has been typed whole. One of which that
// can't be said is given up: half of it may stand somewhere.
func (d *delivery) finishTyping(ctx context.Context) error {
	s := d.s
	if err := s.in.lock(ctx); err != nil {
		return d.gone()
	}
	defer s.in.unlock()
	patience := takePatience + time.Duration(len(d.text))*10*time.Microsecond
	arrived := s.await(ctx, patience, func() bool {
		switch {
		case s.closed || s.run != d.run:
			return true
		case !d.run.shell() && d.run.man.HasComposer():
			c := s.look.composer
			d.drafted, d.draft = c.Found && !c.Empty, c.Draft
			return d.drafted
		}
		return d.standsLocked()
	})
	switch {
	case ctx.Err() != nil:
		return d.gone()
	case !arrived:
		return d.unknown()
	}
	return d.press()
}

// finishLine presses Return for a line that still stands where it was typed. Where it
// does not, it has been taken.
func (d *delivery) finishLine(ctx context.Context) error {
	s := d.s
	if err := s.in.lock(ctx); err != nil {
		return d.gone()
	}
	defer s.in.unlock()
	took := s.await(ctx, lookStill, func() bool {
		s.frontLocked(time.Now())
		return s.closed || s.run != d.run || d.command && d.run.front != s.leader.PID || s.seq > d.typedAt && !d.standsLocked()
	})
	s.mu.Lock()
	stands := d.standsLocked()
	s.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return d.gone()
	case took:
		return nil
	case stands:
		return d.press()
	case d.command:
		return d.unknown()
	}
	return nil // a program that shows nothing of what it reads
}

// standsMost is how many bytes of a text's end are compared with the screen.
const standsMost = 20

// standsLocked reports whether the cursor stands right behind the text: it was typed,
// and nobody has pressed Return.
func (d *delivery) standsLocked() bool {
	v := d.s.viewLocked()
	if v.CursorY < 0 || v.CursorY >= len(v.Rows) {
		return false
	}
	line, _ := vt.Cut(v.Rows[v.CursorY], v.CursorX)
	line = strings.TrimRight(line, " ")
	text := strings.TrimRight(d.typed(), " \t\r\n")
	n := min(len(line), len(text), standsMost)
	return n > 0 && line[len(line)-n:] == text[len(text)-n:]
}

// typed is the text as it is typed.
func (d *delivery) typed() string {
	if d.command {
		return d.s.typedCommand(d.text)
	}
	return d.text
}

// unknown is the error of a text of which nobody can say whether it arrived.
func (d *delivery) unknown() *api.Error {
	return api.NewError(api.Unavailable, fmt.Sprintf(
		"the daemon's host was replaced while the text was being typed into %s; whether it arrived whole cannot be told, and it is not typed again: termio sessions read %s shows what is there",
		d.s.id.Link(), d.s.id.Short()))
}
