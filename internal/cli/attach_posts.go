package cli

import (
	"context"
	"sync"
	"time"

	"termio/internal/api"
	"termio/internal/client"
)

// Bounds of what waits to be sent to the host.
const (
	// maxPosted is how many bytes of keys wait. Beyond that the terminal is not
	// read, and holds back what is typed.
	maxPosted = 4 << 20
	// maxPost is how many of them are sent at once.
	maxPost = 64 << 10
	// flushWithin is how long a person who leaves waits for keys that are under way.
	flushWithin = time.Second
)

// posts are what waits to be sent to the host. One goroutine sends it, so that neither
// a link that is down nor a program that reads nothing keeps the key that leaves from
// being seen, or a signal from being heard.
type posts struct {
	mu      sync.Mutex
	keys    []byte
	size    *api.AttachSize // the newest
	lead    bool
	sending bool
	wake    chan struct{} // holds a value when there is something to send
	room    chan struct{} // holds a value when keys were taken
	rest    chan struct{} // holds a value when all is sent
}

func newPosts() *posts {
	return &posts{wake: make(chan struct{}, 1), room: make(chan struct{}, 1), rest: make(chan struct{}, 1)}
}

// poke leaves a value in a channel of size 1.
func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// typed posts keys. It waits while too many are posted, until ctx ends.
func (p *posts) typed(ctx context.Context, keys []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.keys)+len(keys) > maxPosted {
		p.mu.Unlock()
		select {
		case <-p.room:
		case <-ctx.Done():
		}
		p.mu.Lock()
		if ctx.Err() != nil {
			return
		}
	}
	p.keys = append(p.keys, keys...)
	poke(p.wake)
}

// resized posts the terminal's size.
func (p *posts) resized(z api.AttachSize) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.size = &z
	poke(p.wake)
}

// leads posts that this terminal is the one whose size counts.
func (p *posts) leads() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lead = true
	poke(p.wake)
}

// take gives what is to be sent next; ok is false if nothing is.
func (p *posts) take() (keys []byte, size *api.AttachSize, lead, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	size, lead = p.size, p.lead
	p.size, p.lead = nil, false
	n := min(len(p.keys), maxPost)
	keys, p.keys = p.keys[:n:n], p.keys[n:]
	if n > 0 {
		poke(p.room)
	}
	p.sending = n > 0 || size != nil || lead
	if !p.sending {
		poke(p.rest)
	}
	return keys, size, lead, p.sending
}

// send sends what is posted until ctx ends or the attach does.
func (p *posts) send(ctx context.Context, at *client.Attach) error {
	for {
		keys, size, lead, ok := p.take()
		var err error
		if size != nil {
			err = at.Resize(*size)
		}
		if err == nil && lead {
			err = at.Lead()
		}
		if err == nil && len(keys) > 0 {
			err = at.Input(keys)
		}
		if err != nil {
			return err
		}
		if ok {
			continue
		}
		select {
		case <-p.wake:
		case <-ctx.Done():
			return nil
		}
	}
}

// flush waits until all is sent, but not for long.
func (p *posts) flush() {
	timer := time.NewTimer(flushWithin)
	defer timer.Stop()
	for {
		p.mu.Lock()
		over := len(p.keys) == 0 && !p.sending
		p.mu.Unlock()
		if over {
			return
		}
		select {
		case <-p.rest:
		case <-timer.C:
			return
		}
	}
}
