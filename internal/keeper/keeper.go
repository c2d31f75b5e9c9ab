// Package keeper keeps terminals, children and the listening socket while hosts
// come and go.
//
// The daemon is two processes. The keeper (Run) is the parent of every session's
// command, holds the masters, the rings and the listening socket, and starts the
// host, again whenever it ends. It parses nothing and makes no system call while
// output flows: masters and rings are plain descriptors to it, in no poll set.
// The host (Connect) gets all of them, at its start and with each new session, and
// does the work. When it is killed, the next one continues at the same byte;
// programs see a pause and callers wait in the socket's backlog.
//
// Run owns its process: it is called once, by a process that does nothing else.
// In the host, a Conn may be used concurrently; a Terminal has one goroutine that
// reads it and owns its Ring. What the two say to each other stands in protocol.go.
//
// The package never looks at what a session says, decides nothing about a child's
// environment, and stores nothing on disk but the lock and the socket.
// The macOS half compiles and is untested.
package keeper

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"termio/internal/pty"
)

// Config is what a keeper is started with.
type Config struct {
	// Socket is where callers connect, an absolute path short enough for the
	// system (103 bytes at most). Its folder is made when missing, for this user alone.
	Socket string
	// LockFile is locked by the daemon, keeper or host, as long as it lives.
	LockFile string
	// HostPath is the executable of the host, an absolute path. It is followed anew
	// at each start, so that what is installed there by then takes over.
	HostPath string
	// HostArgs are the host's arguments after its name; HostEnv is its environment.
	HostArgs []string
	HostEnv  []string
	// Grace is how long sessions have after each signal when the daemon stops; 0
	// is 2 s.
	Grace time.Duration
	// MaxRestartDelay bounds the pause before a host is started again that keeps
	// ending; 0 is 5 s.
	MaxRestartDelay time.Duration
	// Ready gets one line, "ready" once callers can connect or else what is in the
	// way, and is closed. Nil when nobody waits for that.
	Ready *os.File
	// Log gets what is worth knowing later; nil is nowhere.
	Log *slog.Logger
}

// Run is the keeper's life: it returns nil after a stop that ended every session
// and the host, or an error when it could not begin, of type *RunningError when
// another daemon lives. When ctx ends, and at SIGTERM and SIGINT, it stops as if a
// host had asked for it.
//
// It changes the process for good: descriptors from 3 on that the process was
// started with are closed, the working folder is the root, ignored signals are no
// longer ignored (children would inherit that), orphans of sessions become
// children of this process.
func Run(ctx context.Context, cfg Config) (err error) {
	k := newKeeper(cfg)
	defer func() { k.tellReady(err) }()
	if cfg.HostPath == "" || cfg.HostPath[0] != '/' {
		return fmt.Errorf("start a daemon: host path %q is not absolute", cfg.HostPath)
	}
	if err := closeInherited(cfg.Ready); err != nil {
		return err
	}
	stop := k.catchSignals()
	defer stop()
	// What requests leave behind would double a heap that is nearly empty: at 1000
	// sessions the process took 8.2 MB without this and takes 5.7 MB with it.
	debug.SetGCPercent(10)
	if err := adoptOrphans(); err != nil {
		return err
	}
	if err := k.open(); err != nil {
		return err
	}
	defer k.close()
	if err := os.Chdir("/"); err != nil {
		return fmt.Errorf("start a daemon: %w", err)
	}
	if err := k.startHost(); err != nil {
		return err
	}
	k.tellReady(nil)
	k.log.Info("keeper started", "pid", os.Getpid(), "socket", cfg.Socket)
	return k.loop(ctx)
}

// keeper is the state of Run. Its loop's goroutine alone touches it.
type keeper struct {
	cfg       Config
	log       *slog.Logger
	startedAt time.Time
	lock      *os.File
	listener  int // raw, so that no Close of a listener unlinks the socket

	sessions map[string]*session
	byPID    map[int]*session // those whose command has not ended
	created  uint64           // number of sessions ever, for their order

	host     *host
	hosts    int // started so far
	failures int // hosts in a row that ended soon
	mute     int // hosts in a row that ended without a word
	restart  <-chan time.Time
	requests chan request

	stopping bool
	ended    chan error // gets pty.End's result during a stop
	hostGone <-chan time.Time

	children chan os.Signal // SIGCHLD
	stopSig  chan os.Signal // SIGTERM, SIGINT
}

// session is one terminal and the command that runs on it, or ran.
type session struct {
	id        string
	order     uint64
	proc      pty.Proc
	startedAt time.Time
	master    int // raw and non-blocking
	ring      int
	exit      *exitRecord // nil while it runs
	released  bool        // the host wants no more of it; only its exit is awaited
}

// request is a message from a host, or why there can be none any more.
type request struct {
	from   *host
	msg    message
	broken error
}

func newKeeper(cfg Config) *keeper {
	if cfg.Grace == 0 {
		cfg.Grace = 2 * time.Second
	}
	if cfg.MaxRestartDelay == 0 {
		cfg.MaxRestartDelay = 5 * time.Second
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &keeper{
		cfg:       cfg,
		log:       cfg.Log,
		startedAt: time.Now(),
		listener:  -1,
		sessions:  map[string]*session{},
		byPID:     map[int]*session{},
		requests:  make(chan request), // a host waits while an earlier request is carried out
		children:  make(chan os.Signal, 1),
		stopSig:   make(chan os.Signal, 1),
	}
}

// catchSignals asks for the signals that mean something, and for those that the
// process may have been started ignoring: an ignored signal stays ignored in
// children, and a shell that can't be interrupted is no shell. One that has a
// handler here is at its default there.
func (k *keeper) catchSignals() (stop func()) {
	signal.Notify(k.children, syscall.SIGCHLD)
	signal.Notify(k.stopSig, syscall.SIGTERM, syscall.SIGINT)
	nobody := make(chan os.Signal, 1)
	signal.Notify(nobody, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE,
		syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU)
	return func() {
		signal.Stop(k.children)
		signal.Stop(k.stopSig)
		signal.Stop(nobody)
	}
}

// open takes the lock and the socket.
func (k *keeper) open() error {
	lock, err := takeLock(k.cfg.LockFile)
	if err != nil {
		return err
	}
	fd, err := listen(k.cfg.Socket)
	if err != nil {
		_ = lock.Close()
		return err
	}
	k.lock, k.listener = lock, fd
	return nil
}

// close lets everything go, the lock last.
func (k *keeper) close() {
	if err := os.Remove(k.cfg.Socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		k.log.Warn("remove the socket", "error", err)
	}
	_ = unix.Close(k.listener)
	for _, s := range k.sessions {
		s.close()
	}
	_ = k.lock.Close()
}

// tellReady says once whether callers can connect.
func (k *keeper) tellReady(err error) {
	if k.cfg.Ready == nil {
		return
	}
	line := "ready\n"
	if err != nil {
		line = err.Error() + "\n"
	}
	// Whoever waited may have given up.
	_, _ = k.cfg.Ready.WriteString(line)
	_ = k.cfg.Ready.Close()
	k.cfg.Ready = nil
}

// loop is everything the keeper does after its start: it sleeps until a child
// ends, the host asks, or a host has to be started.
func (k *keeper) loop(ctx context.Context) error {
	done := ctx.Done()
	for {
		select {
		case <-k.children:
			k.reap()
		case r := <-k.requests:
			switch {
			case r.from != k.host: // it has been replaced
			case r.broken != nil:
				k.log.Error("the host can't be talked to, the next one may", "error", r.broken)
				k.killHost()
			default:
				k.serve(r.msg)
			}
		case <-k.restart:
			k.restart = nil
			if err := k.startHost(); err != nil {
				k.log.Error("start the host", "error", err)
				k.restartLater()
			}
		case <-done:
			done = nil
			k.stop("the context ended")
		case s := <-k.stopSig:
			k.stop(s.String())
		case err := <-k.ended:
			if err != nil {
				k.log.Error("end sessions", "error", err)
			}
			k.reap() // so that every exit is told before the connection closes
			k.dismissHost()
		case <-k.hostGone:
			k.log.Warn("the host has not ended by itself")
			k.killHost()
		}
		if k.stopping && k.ended == nil && k.host == nil {
			k.log.Info("keeper stopped")
			return nil
		}
		if k.givesUp() {
			return fmt.Errorf("start a daemon: the host %s ended %d times before it could serve; its reason is in the log", k.cfg.HostPath, k.mute)
		}
	}
}

// reap takes the status of every child that has ended: sessions' commands, the
// host, and orphans that nobody else waits for.
func (k *keeper) reap() {
	for {
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ws, syscall.WNOHANG, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil || pid <= 0 {
			return
		}
		if k.host != nil && pid == k.host.pid {
			k.hostEnded(ws)
		} else if s, ok := k.byPID[pid]; ok {
			k.sessionEnded(s, ws)
		}
	}
}

func (k *keeper) sessionEnded(s *session, ws syscall.WaitStatus) {
	delete(k.byPID, s.proc.PID)
	if s.released {
		return
	}
	s.exit = &exitRecord{Code: -1, At: time.Now()}
	if ws.Signaled() {
		s.exit.Signal = int(ws.Signal())
	} else {
		s.exit.Code = ws.ExitStatus()
	}
	record := s.record()
	k.tell(message{Type: typeExit, Session: &record})
}

// serve carries out one request of the present host.
func (k *keeper) serve(m message) {
	switch m.Type {
	case typeHello:
		k.welcome(m.Hello)
	case typeStart:
		k.start(m)
	case typeRelease:
		k.release(m.ID)
	case typeStop:
		k.stop("the host asked")
	default:
		k.refuse(m.Req, ErrUnsupported)
	}
}

func (k *keeper) refuse(req uint64, err error) {
	k.tell(message{Type: typeError, Req: req, Error: toRecord(err)})
}

// start starts a session's command.
func (k *keeper) start(m message) {
	r := m.Start
	if r == nil || r.ID == "" || len(r.Argv) == 0 {
		k.refuse(m.Req, errors.New("start: no id or no command"))
		return
	}
	if k.stopping {
		k.refuse(m.Req, ErrStopping)
		return
	}
	s, fresh := k.sessions[r.ID], false
	if s == nil {
		made, err := newSession(r)
		if err != nil {
			k.refuse(m.Req, err)
			return
		}
		s, fresh = made, true
	} else if s.exit == nil {
		k.refuse(m.Req, ErrExists)
		return
	}
	proc, err := pty.Start(s.master, pty.Command{
		Argv: toStrings(r.Argv), Env: toStrings(r.Env), Dir: string(r.Dir), Size: r.Size,
	})
	if err != nil {
		if fresh {
			s.close()
		}
		k.refuse(m.Req, err)
		return
	}
	s.proc, s.startedAt, s.exit = proc, time.Now(), nil
	k.byPID[proc.PID] = s
	var fds []int
	if fresh {
		k.created++
		s.order = k.created
		k.sessions[s.id] = s
		fds = []int{s.master, s.ring}
	}
	record := s.record()
	k.tell(message{Type: typeStarted, Req: m.Req, Session: &record}, fds...)
}

func newSession(r *startMessage) (*session, error) {
	ring, err := newRing(r.Ring)
	if err != nil {
		return nil, &pty.StartError{Stage: pty.StageTerminal, Path: "its ring", Err: err}
	}
	master, err := pty.Open(r.Size)
	if err != nil {
		_ = unix.Close(ring)
		return nil, err
	}
	return &session{id: r.ID, master: master, ring: ring}, nil
}

// release forgets a session. A command that still runs is waited for when it ends.
func (k *keeper) release(id string) {
	s := k.sessions[id]
	if s == nil {
		return
	}
	delete(k.sessions, id)
	s.released = true
	s.close()
}

func (s *session) close() {
	_ = unix.Close(s.master)
	_ = unix.Close(s.ring)
}

func (s *session) record() sessionRecord {
	return sessionRecord{ID: s.id, PID: s.proc.PID, Start: s.proc.Start, StartedAt: s.startedAt, Exit: s.exit}
}

// stop ends everything; loop returns when that is done.
func (k *keeper) stop(why string) {
	if k.stopping {
		return
	}
	k.stopping = true
	k.log.Info("stopping", "why", why, "sessions", len(k.byPID))
	k.restart = nil
	k.tell(message{Type: typeStop})
	var leaders []pty.Proc
	for _, s := range k.sessions {
		leaders = append(leaders, s.proc)
	}
	ended := make(chan error, 1)
	k.ended = ended
	go func() { ended <- pty.End(context.Background(), k.cfg.Grace, leaders...) }()
}

// inOrder are the sessions, oldest first.
func (k *keeper) inOrder() []*session {
	all := make([]*session, 0, len(k.sessions))
	for _, s := range k.sessions {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b *session) int { return int(a.order) - int(b.order) })
	return all
}
