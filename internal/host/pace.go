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
	// paceRedraws is how many bytes of redraws go out at once.
	paceRedraws = 16 << 10
)

// pace holds frames together. It is under the session's mutex.
type pace struct {
	since time.Time // when the burst began
	burst int       // pieces sent since
	bytes int       // and their bytes
	held  bool      // what is queued waits for the timer, and no goroutine writes it
	mixed bool      // there is more in what is held than redraws of the other screen
	timer *time.Timer
}

// full reports whether the next piece of output has to wait.
func (p *pace) full(n int, redraw bool, now time.Time) bool {
	if now.Sub(p.since) >= paceEvery {
		p.since, p.burst, p.bytes = now, 0, 0
	}
	p.burst++
	p.bytes += n
	return p.held || p.burst > paceBurst || redraw && p.burst > 1 && p.bytes > paceRedraws
}

// outputLocked sends a piece of output: at once, as a key's echo is, unless there
// has been a burst of them, or the client has not taken the last ones yet.
func (a *Attachment) outputLocked(frame []byte, now time.Time) {
	p := &a.pace
	redraw := a.raw && a.s.screen.AltScreen()
	if full := p.full(len(frame), redraw, now); a.ended || a.lagging || !full && !a.busy {
		a.sendLocked(frame)
		return
	}
	if !a.busy && !p.held {
		p.held = true
		if wait := paceEvery - now.Sub(p.since); p.timer == nil {
			p.timer = time.AfterFunc(wait, a.paced)
		} else {
			p.timer.Reset(wait)
		}
	}
	if len(a.queue) == 0 {
		p.mixed = false
	}
	p.mixed = p.mixed || !redraw
	switch n := len(a.queue) + len(frame); {
	case !p.mixed && n > a.pictureLocked(), n > clientQueue && len(a.queue) > 0:
		// Redraws of the other screen leave nothing behind in any history: one
		// picture is as good, and shorter. What else there is is kept.
		if !p.mixed {
			a.queue = nil
		}
		a.lagging = true
		return
	}
	a.queue = append(a.queue, frame...)
	if p.mixed && len(a.queue) >= paceBytes {
		a.letGoLocked()
	}
}

// pictureLocked is about how many bytes the whole screen takes.
func (a *Attachment) pictureLocked() int {
	const perCell = 4 // with its colours
	cols, rows := a.s.screen.Size()
	return perCell * cols * rows
}

// paced is the timer's function: what was held goes out.
func (a *Attachment) paced() {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
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
