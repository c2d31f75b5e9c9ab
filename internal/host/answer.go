package host

import (
	"context"
	"fmt"
	"strings"
	"time"

	"termio/internal/api"
	"termio/internal/vt"
)

// answerTries is how often the keys of an answer are pressed: a dialog that was just drawn,
// or before which somebody typed, may not hear them.
const answerTries = 2

// giveAnswer presses the keys that answer the dialog it is meant for, and nothing if
// that one is not open any more.
func (d *delivery) giveAnswer(ctx context.Context) (api.Delivery, error) {
	s := d.s
	if err := s.in.lock(ctx); err != nil {
		return "", d.gone()
	}
	defer s.in.unlock()
	d.countLines()
	answered := false
	for try := 1; try <= answerTries && !answered; try++ {
		d.awaitAttentive(ctx, try)
		if err := d.tryAnswer(ctx); err != nil {
			return "", err
		}
		answered = s.await(ctx, answerPatience, func() bool { return s.closed || s.run != d.run || d.answeredLocked() })
		if d.answer.Text != "" || ctx.Err() != nil { // typed again, it would be doubled
			break
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed || s.run != d.run:
		return "", d.goneLocked()
	case answered:
		return api.Submitted, nil
	case d.waiter != nil: // it answers with the dialog
		return api.Typed, nil
	}
	err := stalledError(s.run.man.Prompt(s.viewLocked(), d.dialog))
	err.Message = "the dialog did not take the answer and is still open:" + strings.TrimPrefix(err.Message, stalledPrompt+"; on the screen:")
	return "", err
}

// tryAnswer gives the answer once.
func (d *delivery) tryAnswer(ctx context.Context) error {
	p, err := d.answerKeys()
	if err != nil {
		return err
	}
	if err := d.mark(phasePressing); err != nil {
		return err
	}
	if err := d.s.in.write(p); err != nil {
		return d.gone()
	}
	switch {
	case d.answer.Text != "":
		return d.typeAnswer(ctx)
	case d.answer.Confirm:
		return d.confirmOption(ctx)
	}
	return nil
}

// awaitAttentive waits out the instants in which a new dialog ignores keys, and those in
// which somebody's keys make it ignore more of them. The later tries wait longer.
func (d *delivery) awaitAttentive(ctx context.Context, try int) {
	s := d.s
	deaf := d.run.man.Timings().DialogDeaf * time.Duration(try)
	for ctx.Err() == nil {
		s.mu.Lock()
		from := s.dialogAt
		if s.typedAt.After(from) {
			from = s.typedAt
		}
		over := s.closed || s.run != d.run || d.answeredLocked()
		s.mu.Unlock()
		rest := time.Until(from.Add(deaf))
		if over || rest <= 0 {
			return
		}
		s.await(ctx, rest, func() bool { return s.closed || s.run != d.run || d.answeredLocked() })
	}
}

// answeredLocked reports whether the dialog is not open any more.
func (d *delivery) answeredLocked() bool {
	s := d.s
	return s.machine.Status() != api.NeedsYou || s.machine.DialogSeq() != d.dialogSeq
}

// answerKeys looks at the dialog once more and encodes the keys.
func (d *delivery) answerKeys() ([]byte, error) {
	s := d.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.run != d.run {
		return nil, d.goneLocked()
	}
	now := time.Now()
	s.lookLocked(now)
	dialog, open := s.dialogLocked()
	switch {
	case !open:
		return nil, api.NewError(api.BadRequest, "the dialog that this answers is not open any more; nothing was typed")
	case s.machine.DialogSeq() != d.dialogSeq || d.dialog != nil && dialog != nil && !sameQuestion(dialog, d.dialog):
		return nil, s.needsYouLocked(dialog)
	case dialog != nil: // the mark may have been moved since
		a, err := s.answerLocked(dialog, d)
		if err != nil {
			return nil, err
		}
		d.answer, d.dialog = a, dialog
	}
	var p []byte
	for _, name := range d.answer.Keys {
		k, err := vt.ParseKey(name)
		if err != nil {
			return nil, fmt.Errorf("key %q of %s's dialog: %w", name, d.run.man.ID, err)
		}
		p = s.screen.AppendKey(p, k)
	}
	if len(d.answer.Keys) == 0 && d.answer.Confirm && d.answer.Text == "" { // the mark stands on it already
		p = s.screen.AppendKey(p, vt.Key{Name: vt.KeyEnter})
		d.answer.Confirm = false
	}
	s.typedLocked(now)
	if d.waiter != nil {
		d.waiter.submitted(submission{at: now, turn: s.turnStateLocked(), answers: d.dialogSeq, screen: s.screenTextLocked()})
	}
	return p, nil
}

// typeAnswer types the text of an answer, then Return. Both go to the dialog that it
// answers and to nothing else: a person may answer meanwhile, and another one open.
func (d *delivery) typeAnswer(ctx context.Context) error {
	for _, encode := range []func() []byte{
		func() []byte { return d.s.pasteLocked(d.answer.Text) },
		func() []byte { return d.s.screen.AppendKey(nil, vt.Key{Name: vt.KeyEnter}) },
	} {
		d.s.await(ctx, d.run.man.Timings().Submit, func() bool { return d.s.closed || d.s.run != d.run })
		p, err := d.stillOpen(encode)
		if err != nil {
			return err
		}
		if err := d.s.in.write(p); err != nil {
			return d.unwritten(err)
		}
	}
	return nil
}

// stillOpen gives what is to be typed if the dialog that it is for is open.
func (d *delivery) stillOpen(encode func() []byte) ([]byte, error) {
	s := d.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.run != d.run {
		return nil, d.goneLocked()
	}
	s.lookLocked(time.Now())
	dialog, open := s.dialogLocked()
	switch {
	case !open:
		return nil, api.NewError(api.BadRequest, "the dialog that this answers closed while the answer was being typed; Return was not pressed")
	case s.machine.DialogSeq() != d.dialogSeq:
		return nil, s.needsYouLocked(dialog)
	}
	return encode(), nil
}

// confirmPatience is how long the mark may take to move to the chosen option.
const confirmPatience = time.Second

// confirmOption presses Return if the same dialog is still open with the chosen
// option marked: where a digit chooses at once, it would answer the next dialog.
func (d *delivery) confirmOption(ctx context.Context) error {
	s := d.s
	var enter []byte
	s.await(ctx, confirmPatience, func() bool {
		if s.closed || s.run != d.run || d.answeredLocked() {
			return true
		}
		dialog, ok := d.run.man.FindDialog(s.viewLocked())
		if ok && sameQuestion(dialog, d.dialog) && optionMarked(dialog, d.answer.Option) {
			enter = s.screen.AppendKey(nil, vt.Key{Name: vt.KeyEnter})
		}
		return enter != nil
	})
	if enter == nil {
		return nil
	}
	if err := s.in.write(enter); err != nil {
		return d.gone()
	}
	return nil
}

// sameQuestion reports whether two dialogs ask the same.
func sameQuestion(a, b *api.Dialog) bool {
	return a != nil && b != nil && a.Kind == b.Kind && a.Question == b.Question && a.Detail == b.Detail
}

func optionMarked(d *api.Dialog, o api.Option) bool {
	for _, x := range d.Options {
		if x.Selected && x.Number == o.Number && x.Label == o.Label {
			return true
		}
	}
	return false
}
