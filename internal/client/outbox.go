package client

import (
	"context"
	"sync"
	"time"

	"termio/internal/api"
)

// Bounds of what waits to be sent to the host.
const (
	// maxPosted is how many bytes of keys and pastes wait. Beyond that nothing more is
	// taken, and whoever reads a terminal stops reading it.
	maxPosted = 4 << 20
	// maxPost is how many bytes of keys are sent at once.
	maxPost = 64 << 10
	// flushWithin is how long a person who leaves waits for keys that are under way.
	flushWithin = time.Second
)

// An Outbox is what waits to be sent on an attach. One goroutine sends it, so that
// neither a link that is down nor a program that reads nothing keeps those who type
// from being heard. Its methods may be called by any goroutine.
type Outbox struct {
	mu      sync.Mutex
	posts   []queued
	bytes   int             // in posts
	size    *api.AttachSize // the newest
	lead    bool
	sending bool
	wake    chan struct{} // holds a value when there is something to send
	room    chan struct{} // holds a value when posts were taken
	rest    chan struct{} // holds a value when all is sent
}

// queued is input in the order in which it came.
type queued struct {
	paste bool
	data  []byte
}

// NewOutbox makes an empty one.
func NewOutbox() *Outbox {
	return &Outbox{wake: make(chan struct{}, 1), room: make(chan struct{}, 1), rest: make(chan struct{}, 1)}
}

// poke leaves a value in a channel of size 1.
func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Type posts keys. It waits while too many are posted, until ctx ends.
func (o *Outbox) Type(ctx context.Context, keys []byte) {
	for !o.TryType(keys) {
		select {
		case <-o.room:
		case <-ctx.Done():
			return
		}
	}
}

// TryType posts keys; false if too many are posted already, and these are not.
func (o *Outbox) TryType(keys []byte) bool { return o.post(false, keys) }

// TryPaste posts a paste, as TryType does keys. A paste that is larger than what may
// wait is taken when nothing else does.
func (o *Outbox) TryPaste(text string) bool { return o.post(true, []byte(text)) }

func (o *Outbox) post(paste bool, data []byte) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.bytes > 0 && o.bytes+len(data) > maxPosted {
		return false
	}
	if n := len(o.posts) - 1; n >= 0 && !paste && !o.posts[n].paste {
		o.posts[n].data = append(o.posts[n].data, data...)
	} else if len(data) > 0 {
		o.posts = append(o.posts, queued{paste, append([]byte(nil), data...)})
	}
	o.bytes += len(data)
	poke(o.wake)
	return true
}

// Resize posts the client's size.
func (o *Outbox) Resize(z api.AttachSize) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.size = &z
	poke(o.wake)
}

// Lead posts that this client is the one whose size counts.
func (o *Outbox) Lead() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.lead = true
	poke(o.wake)
}

// take gives what is to be sent next; ok is false if nothing is.
func (o *Outbox) take() (next queued, size *api.AttachSize, lead, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	size, lead = o.size, o.lead
	o.size, o.lead = nil, false
	if len(o.posts) > 0 {
		next = o.posts[0]
		if n := maxPost; !next.paste && len(next.data) > n {
			o.posts[0].data, next.data = next.data[n:], next.data[:n:n]
		} else {
			o.posts = o.posts[1:]
		}
		o.bytes -= len(next.data)
		poke(o.room)
	}
	o.sending = len(next.data) > 0 || size != nil || lead
	if !o.sending {
		poke(o.rest)
	}
	return next, size, lead, o.sending
}

// Send sends what is posted until ctx ends, which is no error, or the attach does.
func (o *Outbox) Send(ctx context.Context, at *Attach) error {
	for {
		next, size, lead, ok := o.take()
		var err error
		if size != nil {
			err = at.Resize(*size)
		}
		if err == nil && lead {
			err = at.Lead()
		}
		switch {
		case err != nil || len(next.data) == 0:
		case next.paste:
			err = at.Paste(string(next.data))
		default:
			err = at.Input(next.data)
		}
		if err != nil {
			return err
		}
		if ok {
			continue
		}
		select {
		case <-o.wake:
		case <-ctx.Done():
			return nil
		}
	}
}

// Flush waits until all is sent, but not for long.
func (o *Outbox) Flush() {
	timer := time.NewTimer(flushWithin)
	defer timer.Stop()
	for {
		o.mu.Lock()
		over := len(o.posts) == 0 && !o.sending
		o.mu.Unlock()
		if over {
			return
		}
		select {
		case <-o.rest:
		case <-timer.C:
			return
		}
	}
}
