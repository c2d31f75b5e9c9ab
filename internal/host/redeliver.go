package host

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"termio/internal/api"
	"termio/internal/pty"
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

// mark stores how far the delivery is, before it goes that far. What has not begun must
// not begin after an error: the next host would do it once more.
func (d *delivery) mark(p phase) error {
	if d.req == nil {
		return nil
	}
	err := d.req.set(func(st *requestState) {
		st.Phase, st.TypedAt = p, d.typedAt
		st.Drafted, st.Draft, st.Before = d.drafted, d.draft, d.before.stored()
		st.Transcript, st.Cursor = d.transcript, d.cursor
	})
	if p == phasePressing && d.waiter != nil {
		d.s.checkpoint() // with the waiter as it will be when the text is in
	}
	if err != nil {
		return asAPI(api.Unavailable, "nothing was typed, because it cannot be stored", err)
	}
	return nil
}

// over notes how the delivery ended.
func (d *delivery) over() {
	if d.req == nil {
		return
	}
	if !d.req.get().Named {
		d.req.done(true, false) // nobody asks how
		return
	}
	_ = d.req.set(func(st *requestState) {
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
	case !d.there(&st):
		d.failLocked(api.NewError(api.AgentGone, "what the text was for has ended, and another program has its place in the session; it was not typed into that"))
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

// there reports whether the session shows the program that the text is for. A text that a
// session is started for was stored before its program was: that is an agent, or the shell
// whose command may have put another program in front since.
func (d *delivery) there(st *requestState) bool {
	switch {
	case st.For != (pty.Proc{}):
		return st.For == d.run.proc
	case st.Verb == verbSpawn:
		return !d.run.shell() && !d.run.byHand
	}
	return d.run.shell() || st.Phase == phasePressing || st.Phase == phasePressed
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
	if d.done == nil {
		d.done = make(chan struct{})
	}
	d.s.wg.Go(func() {
		defer close(d.done)
		d.end("", err)
		d.failed()
		d.over()
	})
}

// goOn finishes a delivery that an earlier host was killed at: nothing is typed twice,
// Return is pressed only where it can be seen that it has not been, and what cannot be
// known is an error.
func (d *delivery) goOn(ctx context.Context) (api.Delivery, error) {
	s := d.s
	switch {
	case d.dialogSeq != 0:
		return d.awaitAnswered(ctx)
	case d.text == "":
		return "", d.unknown("its keys were being pressed in", "they were")
	}
	select {
	case <-d.turn:
	case <-ctx.Done():
		return "", d.gone()
	}
	defer d.leaveLane()
	s.log.Info("going on with a text of the host before", "phase", d.started)
	if err := d.finish(ctx); err != nil {
		return "", err
	}
	if !d.enter {
		return api.Typed, nil
	}
	how, err := d.confirm(ctx)
	if err == nil && how == api.Typed && d.started == phasePressing && d.waiter == nil && !d.run.shell() {
		return "", d.unknown("its Return was being pressed in", "it was") // a wait comes to know
	}
	return how, err
}

// finish does what is left of the typing.
func (d *delivery) finish(ctx context.Context) error {
	if d.started == phasePressed {
		return nil
	}
	s := d.s
	if err := s.in.lock(ctx); err != nil {
		return d.gone()
	}
	defer s.in.unlock()
	switch {
	case d.started == phaseTyping:
		return d.finishTyping(ctx)
	case d.started == phaseTyped:
		d.draft = "" // what shows now counts
		d.awaitTaken(ctx, len(d.text))
		switch {
		case ctx.Err() != nil:
			return d.gone()
		case d.run.man.HasComposer() && !d.drafted:
			return d.unknown("its Return was about to be pressed in", "it was")
		}
		return d.press()
	case len(d.keys) > 0:
		return d.unknown("its keys were being pressed in", "they were")
	case d.run.shell():
		return d.finishLine(ctx)
	}
	return nil // the agent shows whether it took it
}

// wholeMost is how many bytes of a text a terminal takes whole or not at all: Linux copies
// what is written to one in pieces of 2 KiB, of which brackets take some, and a kill may
// fall between two.
const wholeMost = 2000

// finishTyping presses Return for a text that has been typed whole. One of which that
// can't be said is given up: half of it may stand somewhere.
func (d *delivery) finishTyping(ctx context.Context) error {
	s := d.s
	long := len(d.typed()) > wholeMost
	arrived := !long && s.await(ctx, takePatience, func() bool {
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
	case arrived:
		return d.press()
	}
	if p := s.endOfPaste(); long && p != nil {
		s.in.reply(p) // what is typed next is no part of it; nobody waits until it is read
	}
	return d.unknown("the text was being typed into", "all of it was")
}

// endOfPaste is what ends a paste that was begun; nil where the program takes none.
func (s *session) endOfPaste() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.screen.AppendPaste(nil, ""); len(p) > 0 {
		return p[len(p)/2:]
	}
	return nil
}

// finishLine presses Return for a line that still stands where it was typed. It has been
// pressed where the line stands above the cursor, or the command's program is in front.
func (d *delivery) finishLine(ctx context.Context) error {
	s := d.s
	took := s.await(ctx, lookStill, func() bool {
		s.frontLocked(time.Now())
		return s.closed || s.run != d.run || d.command && d.run.front != s.leader.PID || d.enteredLocked() && !d.standsLocked()
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
	}
	return d.unknown("its Return was being pressed in", "it was")
}

// awaitAnswered waits for the dialog to close whose answer was being given.
func (d *delivery) awaitAnswered(ctx context.Context) (api.Delivery, error) {
	s := d.s
	s.await(ctx, answerPatience, func() bool { return s.closed || s.run != d.run || d.answeredLocked() })
	if ctx.Err() != nil {
		return "", d.gone()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed || s.run != d.run:
		return "", d.goneLocked()
	case d.answeredLocked():
		return api.Submitted, nil
	}
	return "", d.unknown("the dialog was being answered in", "all of the answer was")
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
	return d.endsLine(line)
}

// enteredLocked reports whether the text ends a line above the cursor.
func (d *delivery) enteredLocked() bool {
	v := d.s.viewLocked()
	return slices.ContainsFunc(v.Rows[:min(max(v.CursorY, 0), len(v.Rows))], d.endsLine)
}

// endsLine reports whether a row of the screen ends as the text does.
func (d *delivery) endsLine(line string) bool {
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

// unknown is the error of what nobody can tell the outcome of: what was being done in the
// session, and what may or may not have been.
func (d *delivery) unknown(doing, done string) *api.Error {
	return api.NewError(api.Unavailable, fmt.Sprintf(
		"the daemon's host was replaced while %s %s; whether %s cannot be told, and nothing is done twice: termio sessions read %s shows what is there",
		doing, d.s.id.Link(), done, d.s.id.Short()))
}
