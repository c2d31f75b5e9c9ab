// Package notify tells a person that a session wants them, through every
// channel that this machine has: the desktop's notifications now, others later.
//
// The host calls Notify and goes on: each channel has a queue with a bound and
// a worker of its own, so that none holds up the host or another channel. A machine
// without a desktop is silent, not in error. It never decides who is told what,
// and keeps nothing.
//
// Text from sessions is data: what a terminal or a desktop could take for more
// is taken out here, before any channel sees it. A Notifier may be used from any
// goroutine.
package notify

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode"

	"termio/internal/api"
)

// A Notification is one message to a person.
type Notification struct {
	Title   string     // one line
	Body    string     // may have several lines
	Link    string     // the session it is about; "" if about none
	Project string     // its project's name; "" if of none
	Reason  api.Status // why, such as needs-you; "" for a message that somebody sent
}

// A Channel brings notifications to a person in one way.
type Channel interface {
	// Name is a word for messages, such as desktop.
	Name() string
	// Ready reports whether there is anything to deliver to. Any goroutine may ask.
	Ready() bool
	// Send delivers a notification whose text is clean already. It gives up
	// when ctx ends. Only one call runs at a time.
	Send(ctx context.Context, n Notification) error
	// Close lets go of what the channel holds. No call of Send follows.
	Close() error
}

const (
	// queued is how many notifications wait for one channel. When they are that
	// many the oldest is dropped: the latest is the one that is still true.
	queued = 32
	// patience is how long one delivery may take.
	patience = 5 * time.Second
	// Longest texts, in characters; desktops show less than that.
	maxTitle, maxBody = 120, 600
)

// A Notifier brings each notification to all of its channels.
type Notifier struct {
	workers []*worker
	ctx     context.Context
	cancel  context.CancelFunc
	done    sync.WaitGroup

	mu     sync.Mutex
	closed bool // guarded by mu; no send on a queue after it
}

// worker is a channel with its queue.
type worker struct {
	channel Channel
	queue   chan Notification
	failed  string // the last error, so that each is reported once
	report  func(channel string, err error)
}

// New starts a Notifier. report is told of deliveries that failed, each kind once in a
// row; it is called from the channels' own goroutines.
func New(report func(channel string, err error), channels ...Channel) *Notifier {
	n := &Notifier{}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	for _, c := range channels {
		w := &worker{channel: c, queue: make(chan Notification, queued), report: report}
		n.workers = append(n.workers, w)
		n.done.Go(func() { w.run(n.ctx) })
	}
	return n
}

// Ready names the channels that have something to deliver to; none means that
// nobody will see a notification.
func (n *Notifier) Ready() []string {
	var names []string
	for _, w := range n.workers {
		if w.channel.Ready() {
			names = append(names, w.channel.Name())
		}
	}
	return names
}

// Notify queues a notification for every channel and returns at once.
func (n *Notifier) Notify(m Notification) {
	m.Title = clean(m.Title, maxTitle, false)
	m.Body = clean(m.Body, maxBody, true)
	m.Project = clean(m.Project, maxTitle, false)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return
	}
	for _, w := range n.workers {
		w.put(m)
	}
}

// put queues a notification, over the oldest one if the queue is full. It has
// one caller at a time.
func (w *worker) put(m Notification) {
	for {
		select {
		case w.queue <- m:
			return
		default:
		}
		select {
		case <-w.queue:
		default: // the worker has just taken one
		}
	}
}

// run delivers until the queue is closed and empty, or ctx ends.
func (w *worker) run(ctx context.Context) {
	for m := range w.queue {
		if ctx.Err() != nil {
			continue
		}
		sending, cancel := context.WithTimeout(ctx, patience)
		err := w.channel.Send(sending, m)
		cancel()
		text := ""
		if err != nil {
			text = err.Error()
		}
		if text != "" && text != w.failed && ctx.Err() == nil {
			w.report(w.channel.Name(), err)
		}
		w.failed = text
	}
	if err := w.channel.Close(); err != nil && ctx.Err() == nil {
		w.report(w.channel.Name(), err)
	}
}

// Close drops what has not been delivered, ends a delivery that is under way and returns when
// all workers are gone.
func (n *Notifier) Close() {
	n.mu.Lock()
	if !n.closed {
		n.closed = true
		n.cancel()
		for _, w := range n.workers {
			close(w.queue)
		}
	}
	n.mu.Unlock()
	n.done.Wait()
}

// FromEvent puts an event of a session into words: project, session, reason and
// question. ok is false for one that nobody needs to be told of.
func FromEvent(e api.Event, project string) (m Notification, ok bool) {
	m = Notification{Link: e.Link, Project: project, Reason: e.Status, Title: e.Title}
	if project != "" && project != e.Title {
		m.Title = project + ": " + e.Title
	}
	who := e.Agent
	if who == "" {
		who = "The session"
	}
	switch e.Status {
	case api.NeedsYou:
		m.Body = who + " " + wants(e) + question(e)
	case api.Done:
		m.Body = who + " is done"
		if e.Background > 0 {
			m.Body += fmt.Sprintf("; %d in the background go on", e.Background)
		}
	case api.Stalled:
		m.Body = who + " makes no progress: " + e.Evidence
	default:
		return Notification{}, false
	}
	return m, !e.Snapshot
}

// wants says what kind of answer a session waits for.
func wants(e api.Event) string {
	if e.Dialog == nil {
		return "needs you"
	}
	switch e.Dialog.Kind {
	case api.DialogPermission:
		return "asks for permission"
	case api.DialogQuestion:
		return "asks"
	case api.DialogTrust:
		return "asks for trust"
	case api.DialogLogin:
		return "needs a login"
	case api.DialogLimit:
		return "has reached a limit"
	}
	return "needs you"
}

// question is what a session asks, with what it is about; empty if unknown.
func question(e api.Event) string {
	text := e.Prompt
	if d := e.Dialog; d != nil && d.Question != "" {
		text = d.Question
		if d.Detail != "" {
			text += "\n" + d.Detail
		}
	}
	if text == "" {
		return ""
	}
	return ": " + text
}

// clean makes text from a session harmless: no control character and so no
// escape sequence, nothing invisible that turns the reading direction round,
// valid UTF-8, at most limit characters. Of white space one blank is left, or
// one line break if lines is set.
func clean(s string, limit int, lines bool) string {
	var b strings.Builder
	n, gap := 0, rune(0)  // gap is the white space that waits for something behind it
	for _, r := range s { // what is no UTF-8 comes as U+FFFD
		switch {
		case unicode.IsSpace(r):
			if r == '\n' && lines {
				gap = r
			} else if gap == 0 {
				gap = ' '
			}
			continue
		case r == '\u200c' || r == '\u200d': // joins emoji, parts letters
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r):
			continue
		}
		if gap != 0 && n > 0 {
			b.WriteRune(gap)
			n++
		}
		gap = 0
		if n >= limit {
			return strings.TrimRight(b.String(), " \n") + "…"
		}
		b.WriteRune(r)
		n++
	}
	return b.String()
}
