package host

import "time"

// Pace of the output that a client is sent. A program that draws itself anew
// thousands of times a second would cost a write here, a read and a write in the
// client, and a picture that nobody sees in the terminal, for each of them.
const (
	// paceEvery is how long output is held together once paceBurst pieces of it
	// have gone out at once.
	paceEvery = 8 * time.Millisecond
	paceBurst = 4
	// paceBytes of output are not held: it is not their number that costs.
	paceBytes = 64 << 10
)

// pace holds frames together. It is under the session's mutex.
type pace struct {
	since time.Time // when the burst began
	burst int       // pieces sent since
	held  bool      // what is queued waits for the timer, and no goroutine writes it
	mixed bool      // there is more in what is held than redraws of the other screen
	timer *time.Timer
}

// full reports whether the next piece of output has to wait.
func (p *pace) full(now time.Time) bool {
	if now.Sub(p.since) >= paceEvery {
		p.since, p.burst = now, 0
	}
	p.burst++
	return p.held || p.burst > paceBurst
}

// outputLocked sends a piece of output: at once, as a key's echo is, unless there
// has been a burst of them.
func (a *Attachment) outputLocked(frame []byte, now time.Time) {
	p := &a.pace
	if full := p.full(now); !full || a.busy || a.ended || a.lagging {
		a.sendLocked(frame)
		return
	}
	if !p.held {
		p.held, p.mixed = true, false
		if wait := paceEvery - now.Sub(p.since); p.timer == nil {
			p.timer = time.AfterFunc(wait, a.paced)
		} else {
			p.timer.Reset(wait)
		}
	}
	a.queue = append(a.queue, frame...)
	switch p.mixed = p.mixed || !a.raw || !a.s.screen.AltScreen(); {
	case p.mixed && len(a.queue) >= paceBytes:
		a.letGoLocked()
	case len(a.queue) > clientQueue:
		a.queue, a.lagging = nil, true
	}
}

// paced is the timer's function: what was held goes out. Redraws of the other
// screen, which leave nothing behind in any history, go out as one picture when
// that is shorter.
func (a *Attachment) paced() {
	s := a.s
	s.mu.Lock()
	defer s.mu.Unlock()
	cols, rows := s.screen.Size()
	const perCell = 4 // bytes, with its colours
	if a.pace.held && !a.pace.mixed && len(a.queue) > perCell*cols*rows {
		a.queue, a.lagging = nil, true
	}
	a.letGoLocked()
}

// letGoLocked has what is held written.
func (a *Attachment) letGoLocked() {
	p := &a.pace
	if !p.held {
		return
	}
	p.held = false
	p.timer.Stop()
	a.busy = true
	a.s.wg.Go(a.drain)
}
