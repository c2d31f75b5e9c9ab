package host

import (
	"bytes"
	"time"
)

// Bounds of what a client types.
const (
	// clientInput is how many bytes of a client wait for the program to read its
	// input. Beyond that nothing more is read of the client's connection.
	clientInput = 4 << 20
	// pasteWithin is how long the rest of a paste that has begun is waited for
	// before somebody else may type.
	pasteWithin = 30 * time.Second
)

// Marks of a bracketed paste, of which clients that are terminals send both.
const (
	pasteStart = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
)

// typing is what a client has typed and the program has not been given yet. A
// goroutine that exists while there is something writes it, so that a program
// which does not read holds up neither the client's other frames nor its leaving.
// All but the channels is under the session's mutex.
type typing struct {
	queue []byte
	runs  bool // the goroutine is there
	gone  bool // the client has left: what is queued still goes in
	paste pasteScan
	more  chan struct{} // holds a value when queue or gone has changed
	room  chan struct{} // holds a value when queue was taken
}

func newTyping() typing {
	return typing{more: make(chan struct{}, 1), room: make(chan struct{}, 1)}
}

// leave notes that the client has left.
func (t *typing) leave() {
	t.gone = true
	poke(t.more)
}

// poke leaves a value in a channel of size 1.
func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// personTypedLocked notes that somebody types.
func (s *session) personTypedLocked(now time.Time) {
	s.seen, s.ownDraft = true, false
	s.typedLocked(now)
}

// typed takes a client's keys and makes it the leader. What its terminal sends by
// itself, as when the mouse passes over it, is no typing of anybody.
func (a *Attachment) typed(keys []byte) error {
	if len(keys) == 0 {
		return nil
	}
	s := a.s
	if isInterruptBytes(keys) { // what it typed before may be stuck itself
		s.in.breakOff()
	}
	s.mu.Lock()
	if !onlyReports(keys) {
		s.leadLocked(a)
		s.personTypedLocked(time.Now())
	}
	return a.enqueueUnlock(keys)
}

// pasted takes text to be pasted as the program has asked for pastes.
func (a *Attachment) pasted(text string) error {
	s := a.s
	s.mu.Lock()
	s.leadLocked(a)
	s.personTypedLocked(time.Now())
	return a.enqueueUnlock(s.screen.AppendPaste(nil, text))
}

// enqueueUnlock queues bytes for the program and gives up the session's mutex. It
// waits while too much is queued.
func (a *Attachment) enqueueUnlock(p []byte) error {
	s, t := a.s, &a.typing
	for len(t.queue) > 0 && len(t.queue)+len(p) > clientInput {
		s.mu.Unlock()
		select {
		case <-t.room:
		case <-s.ctx.Done():
			return s.ctx.Err()
		}
		s.mu.Lock()
	}
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	t.queue = append(t.queue, p...)
	poke(t.more)
	if !t.runs {
		t.runs = true
		s.wg.Go(a.typeOut)
	}
	return nil
}

// typeOut writes what is queued. From the beginning of a paste to its end it keeps
// the turn to type: nothing of anybody else gets into it.
func (a *Attachment) typeOut() {
	in, turn := a.s.in, false
	for {
		p, inside := a.nextKeys(turn)
		if p == nil {
			break
		}
		if !turn && in.lockFor(a.s.ctx, isInterruptBytes(p)) != nil {
			break // the session ends
		}
		turn = true
		_ = in.write(p) // a terminal that is gone ends the session elsewhere
		if !inside {
			in.unlock()
			turn = false
		}
	}
	if turn {
		in.unlock()
	}
}

// nextKeys gives what is queued, and whether it ends inside a paste; nil ends the
// goroutine. Inside a paste the rest is waited for. Of a client that left in the
// middle there is none: its paste is ended for it, or the program would take all
// that is ever typed for a part of it.
func (a *Attachment) nextKeys(inside bool) (p []byte, stillInside bool) {
	s, t := a.s, &a.typing
	var within <-chan time.Time
	for {
		s.mu.Lock()
		switch {
		case len(t.queue) > 0:
			p, t.queue = t.queue, nil
			stillInside = t.paste.scan(p) && s.screen.Modes().BracketedPaste
			poke(t.room)
			s.mu.Unlock()
			return p, stillInside
		case inside && t.gone:
			t.paste = pasteScan{}
			s.mu.Unlock()
			return []byte(pasteEnd), false
		case !inside:
			t.runs = false
			s.mu.Unlock()
			return nil, false
		}
		s.mu.Unlock()
		if within == nil {
			timer := time.NewTimer(pasteWithin)
			defer timer.Stop()
			within = timer.C
		}
		select {
		case <-t.more:
		case <-within:
			inside = false // still open, but the others have waited long enough
		case <-s.ctx.Done():
			inside = false
		}
	}
}

// pasteScan follows the marks of pastes in what a client types.
type pasteScan struct {
	inside bool
	tail   []byte // the last bytes, which may be the beginning of a mark
}

// scan takes in bytes and reports whether they end inside a paste.
func (ps *pasteScan) scan(p []byte) bool {
	look := append(ps.tail, p...)
	start, end := bytes.LastIndex(look, []byte(pasteStart)), bytes.LastIndex(look, []byte(pasteEnd))
	if start != end { // else both are absent
		ps.inside = start > end
	}
	ps.tail = append([]byte(nil), look[max(0, len(look)-len(pasteStart)+1):]...)
	return ps.inside
}

// onlyReports reports whether all of p is what a terminal sends by itself: reports
// of the mouse and of the focus.
func onlyReports(p []byte) bool {
	for len(p) > 0 {
		rest, ok := bytes.CutPrefix(p, []byte("\x1b["))
		if !ok || len(rest) == 0 {
			return false
		}
		switch rest[0] {
		case 'I', 'O':
			p = rest[1:]
		case 'M':
			if len(rest) < 4 {
				return false
			}
			p = rest[4:]
		case '<':
			n := bytes.IndexAny(rest, "Mm")
			if n < 0 || len(bytes.Trim(rest[1:n], "0123456789;-")) > 0 {
				return false
			}
			p = rest[n+1:]
		default:
			return false
		}
	}
	return true
}
