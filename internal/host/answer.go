package host

import (
	"context"
	"fmt"
	"time"

	"termio/internal/api"
	"termio/internal/vt"
)

// giveAnswer presses the keys that answer the dialog it is meant for, and nothing if
// that one is not open any more.
func (d *delivery) giveAnswer(ctx context.Context) (api.Delivery, error) {
	s := d.s
	if err := s.in.lock(ctx); err != nil {
		return "", d.gone()
	}
	defer s.in.unlock()
	d.countLines()
	d.awaitAttentive(ctx)
	p, err := d.answerKeys()
	if err != nil {
		return "", err
	}
	d.mark(phasePressing)
	if err := s.in.write(p); err != nil {
		return "", d.gone()
	}
	switch {
	case d.answer.Text != "":
		err = d.typeAnswer(ctx)
	case d.answer.Confirm:
		err = d.confirmOption(ctx)
	}
	if err != nil {
		return "", err
	}
	s.await(ctx, answerPatience, func() bool { return s.closed || s.run != d.run || d.answeredLocked() })
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.run != d.run {
		return "", d.goneLocked()
	}
	if d.answeredLocked() {
		return api.Submitted, nil
	}
	return api.Typed, nil
}

// awaitAttentive waits out the instants in which a new dialog ignores keys.
func (d *delivery) awaitAttentive(ctx context.Context) {
	s := d.s
	s.mu.Lock()
	deaf := time.Until(s.dialogAt.Add(d.run.man.Timings().DialogDeaf))
	s.mu.Unlock()
	if deaf > 0 {
		s.await(ctx, deaf, func() bool { return s.closed || s.run != d.run || d.answeredLocked() })
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

// typeAnswer types the text of an answer, then Return.
func (d *delivery) typeAnswer(ctx context.Context) error {
	s := d.s
	s.await(ctx, d.run.man.Timings().Submit, func() bool { return s.closed || s.run != d.run })
	s.mu.Lock()
	p := s.screen.AppendPaste(nil, d.answer.Text)
	enter := s.screen.AppendKey(nil, vt.Key{Name: vt.KeyEnter})
	s.mu.Unlock()
	if err := s.in.write(p); err != nil {
		return d.gone()
	}
	s.await(ctx, d.run.man.Timings().Submit, func() bool { return s.closed || s.run != d.run })
	if err := s.in.write(enter); err != nil {
		return d.gone()
	}
	return nil
}

// confirmPatience is how long the mark may take to move to the chosen option.
const confirmPatience = time.Second

// confirmOption presses Return if the same dialog is still open with the chosen
// option marked: where a digit chooses at once, it would answer the next dialog.
func (d *delivery) confirmOption(ctx context.Context) error {
	s := d.s
	marked := false
	s.await(ctx, confirmPatience, func() bool {
		if s.closed || s.run != d.run || d.answeredLocked() {
			return true
		}
		dialog, ok := d.run.man.FindDialog(s.viewLocked())
		marked = ok && sameQuestion(dialog, d.dialog) && optionMarked(dialog, d.answer.Option)
		return marked
	})
	if !marked {
		return nil
	}
	s.mu.Lock()
	enter := s.screen.AppendKey(nil, vt.Key{Name: vt.KeyEnter})
	s.mu.Unlock()
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
