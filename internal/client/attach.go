package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"termio/internal/api"
)

// attachWithin is how long an attach looks for the next host once its own is
// gone. It is longer than a watch's: a person sits before it.
const attachWithin = 15 * time.Second

// AttachOptions say how a session is shown.
type AttachOptions struct {
	Size api.AttachSize // the client's own; zero is a client that sets none
	Raw  bool           // for an outer terminal: output without the queries that the host has answered already
	// Lost is called, by the goroutine that reads, when the connection is gone;
	// the hello that Read gives next says that it is back.
	Lost func(since time.Time)
}

// An Attach is a live connection to one session's terminal. Read belongs to one
// goroutine, the other methods to any. When the host behind it is replaced the
// attach connects again by itself: the next frames are a hello and a snapshot,
// as at its beginning.
type Attach struct {
	c      *Client
	raw    bool
	lost   func(time.Time)
	ctx    context.Context
	cancel context.CancelFunc

	// The reader's own.
	target string
	in     *link

	// Lock order: wmu → mu. Nothing is read or written under mu.
	wmu   sync.Mutex // held while a frame is written
	frame []byte     // write buffer, guarded by wmu

	mu      sync.Mutex
	changed *sync.Cond // out or err has changed
	out     *link      // nil while there is no connection to write to
	err     error      // why there will be none any more
	size    api.AttachSize
}

// link is one connection of an attach.
type link struct {
	*reply
	frames *api.FrameReader
}

// ErrDetached is an attach that its own client has closed.
var ErrDetached = errors.New("detached")

// Attach connects to a session's terminal. The context bounds the whole attach.
func (c *Client) Attach(ctx context.Context, target string, o AttachOptions) (*Attach, error) {
	a := &Attach{c: c, target: target, raw: o.Raw, lost: o.Lost, size: o.Size}
	a.changed = sync.NewCond(&a.mu)
	a.ctx, a.cancel = context.WithCancel(ctx)
	l, err := a.connect(0)
	if err != nil {
		a.cancel()
		return nil, err
	}
	a.in, a.out = l, l
	return a, nil
}

// connect upgrades a connection to attach frames.
func (a *Attach) connect(within time.Duration) (*link, error) {
	a.mu.Lock()
	size := a.size
	a.mu.Unlock()
	q := url.Values{}
	number(q, "cols", size.Cols)
	number(q, "rows", size.Rows)
	number(q, "width", size.Width)
	number(q, "height", size.Height)
	flag(q, "raw", a.raw)
	flag(q, "back", a.raw && a.in != nil)
	r, err := a.c.open(a.ctx, call{
		route: api.RouteAttach, target: a.target, query: q, timeout: within, stream: true,
		header: http.Header{"Connection": {"Upgrade"}, "Upgrade": {api.AttachProtocol}},
	})
	if err != nil {
		return nil, err
	}
	if r.StatusCode != http.StatusSwitchingProtocols {
		r.close()
		return nil, unavailable("what listens at %s answered %s to an attach; compare termio version with termio daemon status", a.c.paths.Socket, r.Status)
	}
	return &link{r, api.NewFrameReader(r.br)}, nil
}

// Read gives the next frame; its payload is valid until the next Read. After a
// FrameEnd the next Read is io.EOF. ErrDetached follows a Close.
func (a *Attach) Read() (api.Frame, error) {
	for {
		if err := a.ended(); err != nil {
			return api.Frame{}, err
		}
		f, err := a.in.frames.Read()
		if err == nil {
			a.noteFrame(f)
			return f, nil
		}
		if err := a.reconnect(); err != nil {
			return api.Frame{}, err
		}
	}
}

// ended is why the attach is over, or nil.
func (a *Attach) ended() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.err
}

// noteFrame keeps what a later connection needs to know.
func (a *Attach) noteFrame(f api.Frame) {
	switch f.Kind {
	case api.FrameHello:
		// From here on the session goes by its link: a title may change while
		// the host is away, and then name another session.
		var h api.AttachHello
		if json.Unmarshal(f.Payload, &h) == nil && h.Target != "" {
			a.target = h.Target
		}
	case api.FrameEnd:
		_ = a.fail(io.EOF)
	}
}

// reconnect replaces a lost link by one to the next host.
func (a *Attach) reconnect() error {
	a.mu.Lock()
	a.out = nil
	a.changed.Broadcast()
	a.mu.Unlock()
	a.in.close()
	if err := a.ended(); err != nil {
		return err
	}
	since := time.Now()
	if a.lost != nil {
		a.lost(since)
	}
	l, err := again(a.ctx, since.Add(a.c.attachWithin), a.connect)
	if err != nil {
		if api.CodeOf(err) == api.Unavailable {
			err = unavailable("the link is down since %s: the daemon went away and did not come back within %s: %v", since.Format(time.TimeOnly), a.c.attachWithin, err)
		}
		return a.fail(err)
	}
	a.in = l
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err != nil { // closed meanwhile
		l.close()
		return a.err
	}
	a.out = l
	a.changed.Broadcast()
	return nil
}

// fail ends the attach with an error, of which the first counts and is returned.
func (a *Attach) fail(err error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err == nil {
		a.err = err
	}
	a.changed.Broadcast()
	return a.err
}

// Input sends bytes for the terminal, as typed.
func (a *Attach) Input(p []byte) error { return a.write(api.FrameInput, p) }

// Paste sends text to be pasted as the screen's modes ask.
func (a *Attach) Paste(text string) error { return a.write(api.FramePaste, []byte(text)) }

// Lead makes this client the one whose size counts.
func (a *Attach) Lead() error { return a.write(api.FrameLead, nil) }

// Resize tells the client's own size; 0×0 is a hidden client.
func (a *Attach) Resize(s api.AttachSize) error {
	a.mu.Lock()
	a.size = s
	a.mu.Unlock()
	data, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("encode size: %w", err)
	}
	return a.write(api.FrameResize, data)
}

// write sends a frame on the link there is, waiting for one while the host is
// being replaced. A frame whose write failed has not been read whole by
// anybody, so sending it again on the next link does not double it.
func (a *Attach) write(kind api.FrameKind, payload []byte) error {
	a.wmu.Lock()
	defer a.wmu.Unlock()
	a.frame = api.AppendFrame(a.frame[:0], kind, payload)
	var failed *link
	for {
		l, err := a.nextLink(failed)
		if err != nil {
			return err
		}
		if _, err := l.conn.Write(a.frame); err == nil {
			return nil
		}
		failed = l
		_ = l.conn.Close() // so that the reader notices, and brings the next one
	}
}

// nextLink waits for a link other than the one that failed.
func (a *Attach) nextLink(failed *link) (*link, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for (a.out == nil || a.out == failed) && a.err == nil {
		a.changed.Wait()
	}
	return a.out, a.err
}

// Close detaches: the session goes on. It is safe to call twice, and while a
// Read or a write is blocked.
func (a *Attach) Close() error {
	a.mu.Lock()
	l, ended := a.out, a.err != nil
	a.mu.Unlock()
	_ = a.fail(ErrDetached)
	if l != nil {
		_ = l.conn.SetWriteDeadline(time.Now().Add(time.Second))
		if !ended && a.wmu.TryLock() { // else a frame is stuck half-way and no other may follow it
			_, _ = l.conn.Write(api.AppendFrame(nil, api.FrameDetach))
			a.wmu.Unlock()
		}
		l.close()
	}
	a.cancel()
	return nil
}
