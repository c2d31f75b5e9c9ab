package keeper

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// settled is how long a host has to live for its end not to count as another
	// failure in a row.
	settled = 10 * time.Second
	// freeRestarts is how many failures in a row are answered at once; after them
	// the pause doubles from firstDelay on.
	freeRestarts = 3
	firstDelay   = 50 * time.Millisecond
	// hopeless is how many hosts in a row may end without a word before a daemon
	// that has no session to keep ends too: so callers hear of it instead of waiting.
	hopeless = 8
	// hostPatience is how long a host may take to end in a stop, after it was told
	// of every session's end.
	hostPatience = 10 * time.Second
	// lastPatience is how long the connection of a host that has ended may stay open,
	// in the hands of something that it started.
	lastPatience = time.Second
)

// host is one run of the host process.
type host struct {
	pid       int
	startedAt time.Time
	wire      *wire
	greeted   bool // it has been given everything; what happens is to be told
	out       outbox
	done      chan struct{}  // closed when it has ended: nobody takes its requests
	heard     chan struct{}  // closed when its reader has ended: it has said all
	work      sync.WaitGroup // its reader and its writer
}

// startHost starts the host from what is installed by now.
func (k *keeper) startHost() error {
	pair, err := controlPair()
	if err != nil {
		return err
	}
	argv := append([]string{k.cfg.HostPath}, k.cfg.HostArgs...)
	pid, err := syscall.ForkExec(k.cfg.HostPath, argv, &syscall.ProcAttr{
		Env:   k.cfg.HostEnv,
		Files: []uintptr{0, 1, 2, uintptr(pair[1])}, // the last one becomes ControlFD
		// Keys typed at a daemon in the foreground are for the keeper alone.
		Sys: &syscall.SysProcAttr{Setpgid: true},
	})
	_ = unix.Close(pair[1])
	if err != nil {
		_ = unix.Close(pair[0])
		return fmt.Errorf("start the host %s: %w", k.cfg.HostPath, err)
	}
	k.hosts++
	h := &host{pid: pid, startedAt: time.Now(), done: make(chan struct{}), heard: make(chan struct{})}
	h.out.wake = make(chan struct{}, 1)
	k.host = h
	if h.wire, err = newWire(pair[0]); err != nil {
		// Without a connection it is of no use; its end brings the next one.
		k.killHost()
		return nil
	}
	h.work.Go(func() { k.listenTo(h) })
	h.work.Go(func() { k.sendTo(h) })
	return nil
}

// controlPair makes the connection between keeper and host.
func controlPair() ([2]int, error) {
	syscall.ForkLock.RLock() // macOS sets close-on-exec in a second step
	defer syscall.ForkLock.RUnlock()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return pair, fmt.Errorf("start the host: %w", err)
	}
	unix.CloseOnExec(pair[0])
	unix.CloseOnExec(pair[1])
	return pair, nil
}

// listenTo passes a host's requests to the loop until its connection ends.
func (k *keeper) listenTo(h *host) {
	defer close(h.heard)
	for {
		m, fds, err := h.wire.read()
		if err != nil {
			k.lose(h, err)
			return
		}
		closeAll(fds) // no request has any
		if !k.pass(request{from: h, msg: m}) {
			return
		}
	}
}

// pass gives a request to the loop, unless its host has ended.
func (k *keeper) pass(r request) bool {
	select {
	case k.requests <- r:
		return true
	case <-r.from.done:
		return false
	}
}

// lose ends a connection. One that the host has closed is heard of by its end; any
// other fault would leave a host that works for nobody.
func (k *keeper) lose(h *host, err error) {
	if !closed(err) {
		k.pass(request{from: h, broken: err})
	}
}

// outbox holds what a host is to be told. It has no bound of its own: a host gets
// each session, each exit and each answer to a request of its own once.
type outbox struct {
	mu    sync.Mutex
	queue []parcel
	wake  chan struct{}
}

type parcel struct {
	msg message
	fds []int // stay the keeper's
	end bool  // nothing follows: close the connection
}

func (o *outbox) put(p parcel) {
	o.mu.Lock()
	o.queue = append(o.queue, p)
	o.mu.Unlock()
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

func (o *outbox) take() []parcel {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := o.queue
	o.queue = nil
	return all
}

// sendTo writes to a host, so that one that doesn't read can't stop the loop.
func (k *keeper) sendTo(h *host) {
	for {
		select {
		case <-h.out.wake:
		case <-h.done:
			return
		}
		for _, p := range h.out.take() {
			if p.end {
				_ = h.wire.conn.CloseWrite()
				return
			}
			if err := h.wire.write(p.msg, p.fds...); err != nil {
				k.lose(h, err)
				return
			}
		}
	}
}

// tell sends to a host that has been given everything. Another one will be given
// the outcome with the rest.
func (k *keeper) tell(m message, fds ...int) {
	if k.host != nil && k.host.greeted {
		k.host.out.put(parcel{msg: m, fds: fds})
	}
}

// welcome gives a host everything there is. Its version doesn't matter yet: there
// is one.
func (k *keeper) welcome(their *hello) {
	if their == nil || k.host.greeted {
		return
	}
	k.host.greeted, k.mute = true, 0
	k.tell(message{Type: typeHello, Hello: &hello{
		Version: version, PID: os.Getpid(), StartedAt: k.startedAt, Hosts: k.hosts,
	}}, k.listener, int(k.lock.Fd()))
	for some := range slices.Chunk(k.inOrder(), batch) {
		m := message{Type: typeSessions}
		var fds []int
		for _, s := range some {
			m.Sessions = append(m.Sessions, s.record())
			fds = append(fds, s.master, s.ring)
		}
		k.tell(m, fds...)
	}
	k.tell(message{Type: typeReady})
	if k.stopping {
		k.tell(message{Type: typeStop})
	}
	k.log.Info("host connected", "pid", k.host.pid, "version", their.Version, "sessions", len(k.sessions))
}

// lastWords carries out what a host that has ended still wanted. Its end may be heard of
// before what it said last, and that may be to stop: another host would be started in
// place of the daemon's end. What it wanted for itself, a start, is for nobody now.
func (k *keeper) lastWords(h *host) {
	patience := time.NewTimer(lastPatience)
	defer patience.Stop()
	for {
		select {
		case r := <-k.requests:
			if r.from == h && (r.msg.Type == typeStop || r.msg.Type == typeRelease) {
				k.serve(r.msg)
			}
		case <-h.heard:
			return
		case <-patience.C:
			return
		}
	}
}

// hostEnded clears up after a host and sees to the next one.
func (k *keeper) hostEnded(ws syscall.WaitStatus) {
	h := k.host
	if h.wire != nil {
		k.lastWords(h)
	}
	k.host = nil
	close(h.done)
	if h.wire != nil {
		_ = h.wire.conn.Close() // ends its reader and its writer
		h.work.Wait()
		h.wire.close()
	}
	lived := time.Since(h.startedAt)
	if k.stopping {
		k.hostGone = nil
		return
	}
	k.log.Warn("host ended", "pid", h.pid, "status", describe(ws), "lived", lived)
	if lived >= settled {
		k.failures = 0
	}
	if !h.greeted {
		k.mute++
	}
	k.restartLater()
}

// restartLater arranges for the next host: at once the first times, then with a
// growing pause.
func (k *keeper) restartLater() {
	k.failures++
	delay := time.Duration(0)
	if n := k.failures - freeRestarts; n > 0 {
		delay = min(firstDelay<<min(n-1, 10), k.cfg.MaxRestartDelay)
	}
	k.restart = time.After(delay)
}

// givesUp tells whether to end rather than to start yet another host.
func (k *keeper) givesUp() bool {
	return k.mute >= hopeless && k.host == nil && len(k.byPID) == 0 && !k.stopping
}

// dismissHost lets the host end, after every session has.
func (k *keeper) dismissHost() {
	k.ended = nil
	if k.host == nil {
		return
	}
	k.host.out.put(parcel{end: true})
	k.hostGone = time.After(hostPatience)
}

func (k *keeper) killHost() {
	if k.host != nil {
		_ = syscall.Kill(k.host.pid, syscall.SIGKILL) // not waited for yet, so the number is its own
	}
}

func describe(ws syscall.WaitStatus) string {
	if ws.Signaled() {
		return ws.Signal().String()
	}
	return fmt.Sprintf("exit status %d", ws.ExitStatus())
}

// closeInherited closes the descriptors that this process was started with, the
// standard ones and keep apart: a lock or a pipe of whoever called first would
// be held for as long as the daemon lives. They are told from Go's own by having
// survived an exec.
func closeInherited(keep *os.File) error {
	kept := -1
	if keep != nil {
		kept = int(keep.Fd())
		unix.CloseOnExec(kept)
	}
	dir, err := os.Open(descriptorFolder)
	if errors.Is(err, os.ErrNotExist) {
		return nil // no /proc here: nothing can be told
	}
	if err != nil {
		return fmt.Errorf("look for inherited descriptors: %w", err)
	}
	names, err := dir.Readdirnames(-1)
	_ = dir.Close()
	if err != nil {
		return fmt.Errorf("look for inherited descriptors: %w", err)
	}
	for _, name := range names {
		var fd int
		if _, err := fmt.Sscanf(name, "%d", &fd); err != nil || fd <= 2 || fd == kept {
			continue
		}
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			_ = unix.Close(fd)
		}
	}
	return nil
}
