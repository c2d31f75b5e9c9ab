package tui

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"termio/internal/api"
	"termio/internal/client"
	"termio/internal/vt"
)

// historyLines is how much of a session's history a pane holds.
const historyLines = 10_000

// syncFor is how long a picture that its program calls unfinished (mode 2026) is held
// back: a program that dies in the middle must not freeze its pane.
const syncFor = 100 * time.Millisecond

// attachments are the sessions that panes show, over the daemon's attach streams.
type attachments struct {
	ctx    context.Context
	client *client.Client
	post   func(message) // to the model; may wait
	wg     sync.WaitGroup
}

// open begins to show a session.
func (t *attachments) open(link string, cols, rows int) live {
	a := &attached{owner: t, link: link, outbox: client.NewOutbox(), size: api.AttachSize{Cols: cols, Rows: rows}}
	a.ctx, a.cancel = context.WithCancel(t.ctx)
	t.wg.Go(a.run)
	return a
}

// attached is one session's terminal. A goroutine reads what the session writes into
// the screen; the model looks at the screen under the lock, and never waits for the host.
type attached struct {
	owner  *attachments
	link   string
	ctx    context.Context
	cancel context.CancelFunc
	outbox *client.Outbox
	told   atomic.Bool // a paneMsg is on its way

	mu     sync.Mutex
	screen *vt.Screen // nil before the first picture
	epoch  uint64
	size   api.AttachSize // the session's, and before the hello the pane's own
	own    api.AttachSize // the pane's
	leads  bool
	lost   bool
	ended  string
	early  []func(*vt.Screen) bool // typed before there was a screen
	held   *time.Timer             // draws a picture that stays unfinished
}

// run is the attach from its beginning to its end.
func (a *attached) run() {
	err := a.attach()
	if errors.Is(err, client.ErrDetached) || a.ctx.Err() != nil {
		return
	}
	a.mu.Lock()
	if a.ended == "" && err != nil && !errors.Is(err, io.EOF) {
		a.ended = err.Error()
	}
	a.mu.Unlock()
	a.changed()
}

func (a *attached) attach() error {
	a.mu.Lock()
	a.own = a.size
	a.mu.Unlock()
	at, err := a.owner.client.Attach(a.ctx, a.link, client.AttachOptions{Size: a.own, Lost: a.linkDown})
	if err != nil {
		return err
	}
	defer at.Close()
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		_ = a.outbox.Send(a.ctx, at) // the reader has the same error
	}()
	defer func() {
		a.cancel()
		_ = at.Close()
		<-sent
	}()
	context.AfterFunc(a.ctx, func() { _ = at.Close() })
	for {
		f, err := at.Read()
		if err != nil {
			return err
		}
		if a.frame(f) {
			a.changed()
		}
	}
}

// linkDown notes that the host is away; keys are kept meanwhile.
func (a *attached) linkDown(time.Time) {
	a.mu.Lock()
	a.lost = true
	a.mu.Unlock()
	a.changed()
}

// changed has the model look again.
func (a *attached) changed() {
	if a.told.CompareAndSwap(false, true) {
		a.owner.post(paneMsg{a.link})
	}
}

// frame takes one frame and reports whether there is something to be drawn.
func (a *attached) frame(f api.Frame) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	const seq = 8
	switch f.Kind {
	case api.FrameHello:
		var h api.AttachHello
		if json.Unmarshal(f.Payload, &h) == nil {
			a.size = api.AttachSize{Cols: h.Cols, Rows: h.Rows}
			if a.leads && !h.Leader { // the next host does not know who led
				a.outbox.Lead()
			}
			a.leads, a.lost = a.leads || h.Leader, false
		}
	case api.FrameSize:
		var z api.AttachSize
		if json.Unmarshal(f.Payload, &z) == nil {
			a.size, a.leads = z, z.Leader
			if a.screen != nil {
				a.screen.Resize(z.Cols, z.Rows)
			}
		}
		return a.screen != nil
	case api.FrameSnapshot:
		if len(f.Payload) < seq {
			return false
		}
		a.screen = vt.New(vt.Options{Cols: a.size.Cols, Rows: a.size.Rows, History: historyLines})
		a.epoch++
		whole := a.write(f.Payload[seq:])
		for _, do := range a.early {
			do(a.screen)
		}
		a.early = nil
		return whole
	case api.FrameOutput:
		if len(f.Payload) < seq || a.screen == nil {
			return false
		}
		return a.write(f.Payload[seq:])
	case api.FrameEnd:
		var e api.AttachEnd
		_ = json.Unmarshal(f.Payload, &e)
		a.ended = e.Reason
		if e.Detail != "" {
			a.ended = e.Detail
		}
		return true
	}
	return false
}

// write takes in output and reports whether the picture is whole. a.mu is held.
func (a *attached) write(p []byte) bool {
	_, _ = a.screen.Write(p)   // never fails
	_ = a.screen.TakeReplies() // the host gives the answers
	_ = a.screen.TakeEvents(nil)
	if !a.screen.Modes().Sync {
		if a.held != nil {
			a.held.Stop()
			a.held = nil
		}
		return true
	}
	if a.held == nil {
		a.held = time.AfterFunc(syncFor, a.changed)
	}
	return false
}

func (a *attached) view(v *vtView) {
	a.told.Store(false)
	a.mu.Lock()
	defer a.mu.Unlock()
	v.lost, v.ended, v.leads = a.lost, a.ended, a.leads
	if a.screen != nil {
		v.copyFrom(a.screen, a.epoch)
	}
}

func (a *attached) resize(cols, rows int) {
	a.mu.Lock()
	a.own = api.AttachSize{Cols: cols, Rows: rows}
	if a.screen == nil {
		a.size = a.own
	}
	a.mu.Unlock()
	a.outbox.Resize(api.AttachSize{Cols: cols, Rows: rows})
}

// maxEarly bounds what is kept of what is typed before there is a picture.
const maxEarly = 4096

// when does something with the screen: at once, or when the first picture has come, for
// only then is it known how the program wants its keys. It reports false for what is lost.
func (a *attached) when(do func(s *vt.Screen) bool) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.screen != nil:
		return do(a.screen)
	case len(a.early) == maxEarly:
		return false
	}
	a.early = append(a.early, do)
	return true
}

// encode sends what the screen's modes make of something.
func (a *attached) encode(with func(s *vt.Screen) []byte) bool {
	return a.when(func(s *vt.Screen) bool {
		p := with(s)
		return len(p) == 0 || a.outbox.TryType(p)
	})
}

func (a *attached) key(k vt.Key) bool {
	return a.encode(func(s *vt.Screen) []byte { return s.AppendKey(nil, k) })
}

func (a *attached) mouse(m vt.Mouse) bool {
	return a.encode(func(s *vt.Screen) []byte { return s.AppendMouse(nil, m) })
}

func (a *attached) focus(in bool) {
	a.encode(func(s *vt.Screen) []byte { return s.AppendFocus(nil, in) })
}

func (a *attached) paste(text string) bool {
	return a.when(func(*vt.Screen) bool { return a.outbox.TryPaste(text) })
}

func (a *attached) modes() vt.Modes {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.screen == nil {
		return vt.Modes{}
	}
	return a.screen.Modes()
}

func (a *attached) close() { a.cancel() }
