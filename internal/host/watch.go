package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"termio/internal/api"
	"termio/internal/store"
)

// watchQueue is how many events a watcher may be behind. One that is slower
// is cut off and starts again with a snapshot: it never delays another one,
// nor a session.
const watchQueue = 1024

// Errors that end a watch.
var (
	// ErrLagged ends a watch whose reader was too slow.
	ErrLagged = errors.New("watcher too slow")
	// ErrSilent is Next's answer when nothing happened for the time given; the watch goes on.
	ErrSilent = errors.New("nothing happened")
	errClosed = errors.New("host closes")
)

// eventLog is where the bus reads events back from.
type eventLog interface {
	EventsSince(seq int64, limit int) (events []api.Event, oldest int64, err error)
}

// A bus carries transitions from sessions to watchers. Each event is stored
// before anyone sees it, and the last one of each open session is kept, so
// that a snapshot and what follows it are one piece.
//
// mu is held over the append to the log: the order of numbers is the order in
// which everybody sees them. Only publishers and new watchers wait for it,
// never the goroutine that reads a terminal.
type bus struct {
	log eventLog

	mu     sync.Mutex
	seq    int64 // of the newest event
	rows   map[api.SessionID]row
	subs   map[*Watch]struct{}
	closed bool
	// onStalled is told, under mu, when the first watcher of stalled comes
	// and when the last one goes.
	onStalled func(watched bool)
	stalled   int // watchers of stalled
}

// origin is whose event it is.
type origin struct {
	id      api.SessionID
	project int64
	created time.Time
}

// row is the last word of an open session.
type row struct {
	origin
	event api.Event
}

func newBus(log eventLog, seq int64) *bus {
	return &bus{log: log, seq: seq, rows: map[api.SessionID]row{}, subs: map[*Watch]struct{}{}}
}

// publish has store put e into the log, which gives it its number, and shows it. The
// error is store's; the event is shown all the same, without a number of its own,
// because a full disk must not make anybody wait for ever.
func (b *bus) publish(o origin, e *api.Event, store func(*api.Event) error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	err := store(e)
	if err != nil {
		e.Seq = b.seq
		err = fmt.Errorf("store event: %w", err)
	}
	b.seq = e.Seq
	switch e.Status {
	case api.Closed:
		delete(b.rows, o.id)
	case api.Stalled: // an alarm, not a state
	default:
		b.rows[o.id] = row{o, *e}
	}
	b.tellLocked(o.project, e)
	return err
}

// tellLocked queues an event for those who want it. It is encoded once for all of them.
func (b *bus) tellLocked(project int64, e *api.Event) {
	var own, all Notice
	for w := range b.subs {
		n := &own
		if w.filter.all {
			n = &all
		}
		if !w.wants(project, e) {
			continue
		}
		if n.Line == nil {
			*n = w.notice(*e)
		}
		w.push(*n)
	}
}

// record stores an event that everybody was told of when it could not be stored.
func (b *bus) record(e *api.Event, store func(*api.Event) error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	err := store(e)
	b.seq = max(b.seq, e.Seq)
	return err
}

// restore puts the last word of a session that an earlier host ran.
func (b *bus) restore(o origin, e api.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rows[o.id] = row{o, e}
}

// close ends every watch.
func (b *bus) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	for w := range b.subs {
		w.end(errClosed)
	}
}

// watchers is how many watches are open.
func (b *bus) watchers() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.subs)
}

// WatchOptions say what a watch carries.
type WatchOptions struct {
	States   []api.Status // the live events; none is the default, done and needs-you
	Snapshot bool         // a line for each session first
	Since    int64        // what was missed since the event of this number; negative: nothing
}

// Watch starts a watch over the sessions in the caller's scope.
func (h *Host) Watch(c Caller, o WatchOptions) (*Watch, error) {
	sc, err := h.scopeOf(c)
	if err != nil {
		return nil, err
	}
	f := watchFilter{all: sc.all, project: sc.project.ID, states: map[api.Status]bool{}}
	if len(o.States) == 0 {
		o.States = []api.Status{api.Done, api.NeedsYou}
	}
	for _, st := range o.States {
		f.states[st] = true
	}
	projects, err := h.projectsOfLinks(o.Since)
	if err != nil {
		return nil, err
	}
	w, err := h.bus.subscribe(f, o.Since, o.Snapshot, func(link string) int64 { return projects[link] })
	if err != nil {
		return nil, err
	}
	h.freshen(w)
	return w, nil
}

// projectsOfLinks says to which project each session belongs, also those that ended:
// the log of events doesn't.
func (h *Host) projectsOfLinks(since int64) (map[string]int64, error) {
	if since < 0 {
		return nil, nil
	}
	all, err := h.store.Sessions(store.Filter{Closed: true})
	if err != nil {
		return nil, err
	}
	projects := make(map[string]int64, len(all))
	for _, r := range all {
		projects[r.ID.Link()] = r.ProjectID
	}
	return projects, nil
}

// freshen gives snapshot lines what a session has now and a change of which alone is no
// event: title and folder, the dialog as it is drawn, how much goes on beside the turn.
func (h *Host) freshen(w *Watch) {
	for i := range w.first {
		e := &w.first[i]
		if !e.Snapshot {
			continue
		}
		if s := h.session(api.SessionID(strings.TrimPrefix(e.Link, api.LinkPrefix))); s != nil {
			s.mu.Lock()
			now := s.stateLocked()
			e.Title, e.Cwd = now.Title, now.Cwd
			if now.Status == e.Status {
				e.Background, e.Prompt, e.Dialog = now.Background, now.Prompt, now.Dialog
			}
			s.mu.Unlock()
		}
	}
}

// A watchFilter says which events a watch carries.
type watchFilter struct {
	all     bool  // every project
	project int64 // else this one
	states  map[api.Status]bool
}

// A Notice is an event as a watch carries it.
type Notice struct {
	api.Event
	Line []byte // the event as a line of JSON; other watches have the same bytes
}

// A Watch is one subscription. Its methods may be called from one goroutine
// at a time.
type Watch struct {
	bus    *bus
	filter watchFilter
	lost   *api.Lost
	seq    int64       // of the last event before what is live
	first  []api.Event // what was missed, then the snapshot: given before anything live
	live   chan Notice
	timer  *time.Timer // Next's; kept, so that an event costs no timer

	// Under bus.mu.
	ended error
}

// subscribe starts a watch: what was missed since the event numbered since,
// if that is not negative, then with snapshot the last word of each session,
// then every event after that. Nothing is lost or doubled in between.
func (b *bus) subscribe(f watchFilter, since int64, snapshot bool, projectOf func(link string) int64) (*Watch, error) {
	w := &Watch{bus: b, filter: f, live: make(chan Notice, watchQueue)}
	wants := func(e *api.Event) bool { return w.wants(projectOf(e.Link), e) }
	asked := since
	if since >= 0 {
		// Outside the lock as far as it goes: a long log must not hold up
		// the events of others.
		var err error
		if since, err = w.replay(since, wants); err != nil {
			return nil, err
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, api.NewError(api.Unavailable, "the daemon is closing")
	}
	if since >= 0 {
		var err error
		if since, err = w.replay(since, wants); err != nil {
			return nil, err
		}
		if since == asked && since > b.seq { // a number of another log: this one was begun anew
			w.lost = &api.Lost{SchemaVersion: api.SchemaVersion, Lost: true, Since: since, Oldest: b.seq + 1}
		}
	}
	if snapshot {
		w.first = append(w.first, b.snapshotLocked(f)...)
	}
	w.seq = b.seq
	b.subs[w] = struct{}{}
	if f.states[api.Stalled] {
		b.stalled++
		if b.stalled == 1 && b.onStalled != nil {
			b.onStalled(true)
		}
	}
	return w, nil
}

// replayBatch is how many events are read from the log at once.
const replayBatch = 1000

// replay collects the events after since from the log and gives the number of
// the last one. The log's own bound is the bound of what is collected.
func (w *Watch) replay(since int64, wants func(*api.Event) bool) (int64, error) {
	for {
		events, oldest, err := w.bus.log.EventsSince(since, replayBatch)
		if err != nil {
			return since, fmt.Errorf("read events after %d: %w", since, err)
		}
		if oldest > since+1 && w.lost == nil && len(w.first) == 0 {
			w.lost = &api.Lost{SchemaVersion: api.SchemaVersion, Lost: true, Since: since, Oldest: oldest}
		}
		for i := range events {
			if wants(&events[i]) {
				w.first = append(w.first, events[i])
			}
			since = events[i].Seq
		}
		if len(events) < replayBatch {
			return since, nil
		}
	}
}

// snapshotLocked is a line for each session in scope. All carry the number of
// the newest event: whoever resumes after a snapshot misses nothing and gets
// nothing twice.
func (b *bus) snapshotLocked(f watchFilter) []api.Event {
	var rows []row
	for _, r := range b.rows {
		if f.all || r.project == f.project {
			rows = append(rows, r)
		}
	}
	slices.SortFunc(rows, func(x, y row) int { return x.created.Compare(y.created) })
	lines := make([]api.Event, len(rows))
	for i, r := range rows {
		lines[i] = r.event
		lines[i].Snapshot, lines[i].Seq = true, b.seq
	}
	return lines
}

func (w *Watch) wants(project int64, e *api.Event) bool {
	return (w.filter.all || w.filter.project == project) && w.filter.states[e.Status]
}

// push queues an event; bus.mu is held.
func (w *Watch) push(n Notice) {
	select {
	case w.live <- n:
	default:
		w.end(ErrLagged)
	}
}

// end stops the flow of events; bus.mu is held. What is queued can still be read.
func (w *Watch) end(why error) {
	if w.ended != nil {
		return
	}
	w.ended = why
	delete(w.bus.subs, w)
	if w.filter.states[api.Stalled] {
		w.bus.stalled--
		if w.bus.stalled == 0 && w.bus.onStalled != nil {
			w.bus.onStalled(false)
		}
	}
	close(w.live)
}

// Close ends the watch.
func (w *Watch) Close() {
	w.bus.mu.Lock()
	defer w.bus.mu.Unlock()
	w.end(errClosed)
}

// Lost says that the log no longer reached back to what was asked for; nil if
// nothing was lost.
func (w *Watch) Lost() *api.Lost { return w.lost }

// Seq is the number of the last event that was before the watch: what is live comes
// after it.
func (w *Watch) Seq() int64 { return w.seq }

// Pending reports whether Next has something to give at once.
func (w *Watch) Pending() bool { return len(w.first) > 0 || len(w.live) > 0 }

// Next gives the next event. After silent without one it is ErrSilent and the
// watch goes on; zero never gives that. Any other error ends the watch:
// ErrLagged for a reader that was too slow.
func (w *Watch) Next(ctx context.Context, silent time.Duration) (Notice, error) {
	if len(w.first) > 0 {
		e := w.first[0]
		w.first = w.first[1:]
		return w.notice(e), nil
	}
	select { // the common case under load, without a timer
	case n, ok := <-w.live:
		return w.got(n, ok)
	default:
	}
	var quiet <-chan time.Time
	if silent > 0 {
		if w.timer == nil {
			w.timer = time.NewTimer(silent)
		} else {
			w.timer.Reset(silent)
		}
		defer w.timer.Stop()
		quiet = w.timer.C
	}
	select {
	case n, ok := <-w.live:
		return w.got(n, ok)
	case <-quiet:
		return Notice{}, ErrSilent
	case <-ctx.Done():
		return Notice{}, ctx.Err()
	}
}

func (w *Watch) got(n Notice, ok bool) (Notice, error) {
	if ok {
		return n, nil
	}
	w.bus.mu.Lock()
	defer w.bus.mu.Unlock()
	return Notice{}, w.ended
}

// notice is an event as this watch carries it: the project's name stands only in
// streams over all projects.
func (w *Watch) notice(e api.Event) Notice {
	if !w.filter.all {
		e.Project = ""
	}
	line, err := json.Marshal(e)
	if err != nil {
		panic("an event cannot be encoded: " + err.Error()) // broken invariant: plain data
	}
	return Notice{e, append(line, '\n')}
}
