// Package host is the only owner of live state: every session with its screen,
// status and clients, deliveries, waits, watches and reports. The server calls it
// for each request; it alone calls keeper, store, vt and agent.
//
// It hides who may see what, how a name finds its session, when an agent takes
// input and whether it took it, what a turn's outcome is, and what survives a
// restart. It knows no agent by name and no window of any client, never ends a
// session by itself and never answers for one.
//
// Every exported method may be called from any goroutine. Close returns when all
// goroutines of the host have ended; the sessions live on in the keeper.
package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"termio/internal/agent"
	"termio/internal/api"
	"termio/internal/config"
	"termio/internal/integrate"
	"termio/internal/keeper"
	"termio/internal/notify"
	"termio/internal/store"
)

// Locks, in the order in which they may be taken together:
//
//	session.mu → input.mu, Attachment's connection
//	session.saving → session.mu, bus.mu
//	session.reading → transcript.mu, session.mu
//	bus.mu → session.mu, Host.mu: of a session that ends
//	bus.mu, request.mu → the store
//	session.mu, bus.mu → fleet.mu
//
// Host.mu guards the table of sessions and nothing else; transcript.mu the reading
// of one transcript; claims.mu what sessions are being started with. Under them, and under session.mu, no other lock of this list
// is taken, nothing waits and nothing calls back.

// Config is what a host needs, all of it.
type Config struct {
	Env    config.Env
	Keeper *keeper.Conn
	Log    *slog.Logger
}

// A Host runs the sessions of one termio home.
type Host struct {
	env    config.Env
	keeper *keeper.Conn
	store  *store.Store
	log    *slog.Logger
	bus    *bus
	fleet  fleet
	login  *loginPath
	agents agentFiles
	set    settingsFile
	files  *integrate.Installer // edits other programs' files
	// rechecked is closed when what was answered before the start has been put right:
	// what is set from then on finds it so, and is told of all that it changes.
	rechecked chan struct{}
	notes     *notify.Notifier
	stalls    stallWatch
	requests  requests
	late      lateClosings
	claims    claims
	started   time.Time

	ctx     context.Context // ends with the host
	cancel  context.CancelFunc
	wg      sync.WaitGroup
	stopped chan struct{} // closed when Stop has ended everything
	stop    sync.Once
	clients atomic.Int64

	mu       sync.Mutex
	closing  bool
	sessions map[api.SessionID]*session // alive
	starting map[api.SessionID]*session // their programs are being started
	ending   map[api.SessionID]*session // told to have ended; their terminals are still there
	leaders  map[int]*session           // by the process that leads a session's terminal
}

// Open makes a host of what the keeper hands over and the store remembers.
func Open(cfg Config) (*Host, error) {
	h := &Host{
		env:      cfg.Env,
		keeper:   cfg.Keeper,
		log:      cfg.Log,
		login:    &loginPath{shell: cfg.Env.Shell, env: cfg.Env.Environ},
		started:  time.Now(),
		stopped:  make(chan struct{}),
		sessions: map[api.SessionID]*session{},
		starting: map[api.SessionID]*session{},
		ending:   map[api.SessionID]*session{},
		leaders:  map[int]*session{},
	}
	// What the first session waits for is begun before the database is opened: a shell's
	// start files may take longer than everything else here.
	h.wg.Go(func() { h.login.get(false) })
	h.wg.Go(func() { h.catalogue() })
	var seq int64
	st, err := store.Open(cfg.Env.DB)
	if err == nil {
		if seq, err = st.LastSeq(); err != nil {
			err = errors.Join(err, st.Close())
		}
	}
	if err != nil {
		h.wg.Wait()
		return nil, err
	}
	h.store, h.bus = st, newBus(st, seq)
	h.ctx, h.cancel = context.WithCancel(context.Background())
	h.bus.onStalled = h.watchStalls
	h.files, h.notes, h.rechecked = integrate.New(cfg.Env), h.notifications(), make(chan struct{})
	if err := h.recover(); err != nil {
		h.Close()
		return nil, fmt.Errorf("open host: %w", err)
	}
	h.wg.Go(h.followKeeper)
	answered := switchesOf(h.set.get(h.env.SettingsFile, h.log)) // nobody is served yet
	h.wg.Go(func() {
		defer close(h.rechecked)
		h.recheckFiles(answered)
	})
	return h, nil
}

// Stopped is closed when the daemon was asked to stop and every session has
// ended: the process has nothing left to do.
func (h *Host) Stopped() <-chan struct{} { return h.stopped }

// followKeeper takes what the keeper tells: the end of programs, and its own.
func (h *Host) followKeeper() {
	stopping, lost := h.keeper.Stopping(), h.keeper.Lost()
	for {
		select {
		case e := <-h.keeper.Exits():
			if s := h.anySession(api.SessionID(e.ID)); s != nil {
				s.exited(e)
			}
		case <-stopping:
			stopping = nil
			h.daemonStops()
		case <-lost:
			lost = nil
			h.keeperLost()
		case <-h.ctx.Done():
			return
		}
	}
}

// session is the open session with an id, or nil.
func (h *Host) session(id api.SessionID) *session {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sessions[id]
}

// anySession is session, or one that is being started.
func (h *Host) anySession(id api.SessionID) *session {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s := h.sessions[id]; s != nil {
		return s
	}
	return h.starting[id]
}

// open are the open sessions, oldest first.
func (h *Host) open() []*session {
	h.mu.Lock()
	all := slices.Collect(maps.Values(h.sessions))
	h.mu.Unlock()
	slices.SortFunc(all, func(a, b *session) int {
		if c := a.created.Compare(b.created); c != 0 {
			return c
		}
		return slices.Compare([]byte(a.id), []byte(b.id))
	})
	return all
}

// add makes place for a session that is being started; false when the host is closing.
func (h *Host) add(s *session) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closing {
		return false
	}
	h.starting[s.id] = s
	return true
}

// leads notes that a process leads a session's terminal now: the session is alive,
// unless it has been taken off the table meanwhile.
func (h *Host) leads(s *session, was, pid int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.starting[s.id] != s && h.sessions[s.id] != s {
		return
	}
	if h.leaders[was] == s {
		delete(h.leaders, was)
	}
	h.leaders[pid] = s
	delete(h.starting, s.id)
	h.sessions[s.id] = s
}

// isLeader reports whether a process leads a session's terminal: above it are our own
// processes and the system's.
func (h *Host) isLeader(pid int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.leaders[pid] != nil
}

// remove takes a session off the table that did not start.
func (h *Host) remove(s *session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.starting, s.id)
}

// ends takes a session off the table that has ended, before anybody is told so: what is
// told and what is listed are the same. Its terminal is there until ended.
func (h *Host) ends(s *session, leader int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.sessions, s.id)
	delete(h.starting, s.id)
	if h.leaders[leader] == s {
		delete(h.leaders, leader)
	}
	h.ending[s.id] = s
}

// ended forgets a session: nothing of it is left but its record.
func (h *Host) ended(s *session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ending[s.id] == s {
		delete(h.ending, s.id)
	}
}

// whileOpen does something for a timer, unless the host is closing.
func (h *Host) whileOpen(do func()) {
	h.mu.Lock()
	if h.closing {
		h.mu.Unlock()
		return
	}
	h.wg.Add(1)
	h.mu.Unlock()
	defer h.wg.Done()
	do()
}

// awaitEnded waits until nothing is left of a session that has ended: started again, it
// would get the old terminal.
func (h *Host) awaitEnded(ctx context.Context, id api.SessionID) error {
	h.mu.Lock()
	s := h.ending[id]
	if s == nil {
		s = h.sessions[id] // about to be taken off
	}
	h.mu.Unlock()
	if s == nil {
		return nil
	}
	select {
	case <-s.ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close lets go of every session and returns when all goroutines have ended. The
// sessions live on in the keeper, for the next host.
func (h *Host) Close() {
	h.mu.Lock()
	h.closing = true
	h.mu.Unlock()
	h.cancel()
	h.bus.close()
	for _, s := range h.open() {
		s.letGo()
	}
	h.wg.Wait()
	h.notes.Close()
	if err := h.store.Close(); err != nil {
		h.log.Error("database not closed", "error", err)
	}
}

// catalogue is the agents as they are now.
func (h *Host) catalogue() *agent.Catalogue { return h.agents.get(h.env.AgentsDir, h.log) }

// settings are the switches as they are now.
func (h *Host) settings() config.Values { return config.ValuesOf(h.set.get(h.env.SettingsFile, h.log)) }

// CheckControl is the error of session control that is switched off; nil while it
// is on, and for an interface, which goes on without it.
func (h *Host) CheckControl(c Caller) error {
	if c.Interface || h.settings().SessionControl {
		return nil
	}
	return api.NewError(api.Disabled, "session control is off; termio settings set session-control on switches it on")
}

// asAPI gives an error of the inside a code, unless it has one. What the machine
// cannot do now is no defect of ours.
func asAPI(code api.Code, doing string, err error) *api.Error {
	if e, ok := errors.AsType[*api.Error](err); ok {
		return e
	}
	if (code == api.Internal || code == api.BadRequest) && Unable(err) {
		code = api.Unavailable
	}
	return api.NewError(code, fmt.Sprintf("%s: %v", doing, err))
}
