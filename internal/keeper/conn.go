package keeper

import (
	"context"
	"fmt"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"termio/internal/pty"
)

// ControlFD is the descriptor by which a host that the keeper started reaches it.
const ControlFD = 3

// Conn is a host's connection to its keeper.
type Conn struct {
	wire     *wire
	keeper   Keeper
	sessions []Handover
	listener int
	lock     *os.File

	exits    chan Exit
	stopping chan struct{}
	lost     chan struct{}
	closing  chan struct{}
	work     sync.WaitGroup // read, deliver, and the end of abandoned starts

	writeMu sync.Mutex // one message at a time

	mu        sync.Mutex // guards what follows; taken inside writeMu by nobody
	req       uint64
	pending   map[uint64]chan<- answer // who waits; a nil one has given up
	terminals map[string]*Terminal     // not released
	told      []Exit                   // not delivered yet: at most one a session
	more      chan struct{}            // told has grown
	isClosed  bool
}

// Keeper is what a host knows of its keeper.
type Keeper struct {
	PID       int
	Version   int // of the protocol
	StartedAt time.Time
	Hosts     int // hosts that it has started, this one included
}

// Handover is a session that was there before this host.
type Handover struct {
	ID        string
	Proc      pty.Proc
	StartedAt time.Time // of the command that runs or ran last
	Terminal  *Terminal
	// Exit is set when the command has ended; Exits will not tell it.
	Exit *Exit
	// Recovered is how many bytes the host before had read when it was killed, and
	// not published: they are in the ring now.
	Recovered int
}

// Exit says how a session's command ended.
type Exit struct {
	ID     string
	Proc   pty.Proc
	Code   int            // exit status; -1 when a signal ended it
	Signal syscall.Signal // 0 when it exited
	At     time.Time
}

// StartRequest asks for a command on a terminal.
type StartRequest struct {
	// ID names the session. When it names one whose command has ended, the new
	// command gets the same terminal and the offsets go on.
	ID   string
	Argv []string // looked up in the PATH of Env
	Env  []string // the whole environment
	Dir  string   // absolute
	Size pty.Size
	Ring int // the ring's size in bytes; 0 is DefaultRing; no meaning for a used terminal
}

// answer is what a request led to.
type answer struct {
	msg message
	fds []int
}

// Connect connects the process to the keeper that started it, over the descriptor
// that it was started with (ControlFD), and returns with everything the keeper has.
func Connect(control int) (*Conn, error) {
	unix.CloseOnExec(control)
	w, err := newWire(control)
	if err != nil {
		return nil, err
	}
	c := &Conn{
		wire:      w,
		listener:  -1,
		exits:     make(chan Exit),
		stopping:  make(chan struct{}),
		lost:      make(chan struct{}),
		closing:   make(chan struct{}),
		pending:   map[uint64]chan<- answer{},
		terminals: map[string]*Terminal{},
		more:      make(chan struct{}, 1),
	}
	if err := c.takeOver(); err != nil {
		c.abandon()
		return nil, fmt.Errorf("take over from the keeper: %w", err)
	}
	c.work.Go(c.read)
	c.work.Go(c.deliver)
	return c, nil
}

// takeOver says hello and receives everything, up to ready.
func (c *Conn) takeOver() error {
	if err := c.wire.write(message{Type: typeHello, Hello: &hello{Version: version, PID: os.Getpid()}}); err != nil {
		return err
	}
	for {
		m, fds, err := c.wire.read()
		if err != nil {
			return err
		}
		switch m.Type {
		case typeHello:
			if m.Hello == nil || len(fds) != 2 {
				closeAll(fds)
				return fmt.Errorf("no socket and no lock came: %w", syscall.EMFILE)
			}
			c.listener = fds[0]
			c.lock = os.NewFile(uintptr(fds[1]), "daemon.lock")
			c.keeper = Keeper{
				PID: m.Hello.PID, Version: min(m.Hello.Version, version),
				StartedAt: m.Hello.StartedAt, Hosts: m.Hello.Hosts,
			}
		case typeSessions:
			if err := c.takeSessions(m.Sessions, fds); err != nil {
				return err
			}
		case typeExit, typeStop:
			c.handle(m)
		case typeReady:
			return nil
		default:
			closeAll(fds)
		}
	}
}

func (c *Conn) takeSessions(records []sessionRecord, fds []int) error {
	if len(fds) != 2*len(records) {
		closeAll(fds)
		return fmt.Errorf("%d sessions came with %d descriptors: %w", len(records), len(fds), syscall.EMFILE)
	}
	scratch := make([]byte, ringWindow)
	for i, r := range records {
		t, recovered, err := newTerminal(r, fds[2*i], fds[2*i+1], scratch)
		if err != nil {
			closeAll(fds[2*i+2:])
			return fmt.Errorf("session %s: %w", r.ID, err)
		}
		c.terminals[r.ID] = t
		h := Handover{ID: r.ID, Proc: r.proc(), StartedAt: r.StartedAt, Terminal: t, Recovered: recovered}
		if r.Exit != nil {
			e := r.exit()
			h.Exit = &e
		}
		c.sessions = append(c.sessions, h)
	}
	return nil
}

func (r *sessionRecord) proc() pty.Proc { return pty.Proc{PID: r.PID, Start: r.Start} }

func (r *sessionRecord) exit() Exit {
	return Exit{ID: r.ID, Proc: r.proc(), Code: r.Exit.Code, Signal: syscall.Signal(r.Exit.Signal), At: r.Exit.At}
}

// Keeper tells what is known of the keeper.
func (c *Conn) Keeper() Keeper { return c.keeper }

// Sessions are those that were there before this host, oldest first.
func (c *Conn) Sessions() []Handover { return c.sessions }

// Listener returns a listener on the daemon's socket. Closing it leaves the socket
// to the keeper: callers wait in its backlog for the next host.
func (c *Conn) Listener() (net.Listener, error) {
	fd, err := unix.FcntlInt(uintptr(c.listener), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	f := os.NewFile(uintptr(fd), "listener")
	defer f.Close() // FileListener has a copy
	l, err := net.FileListener(f)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	if ul, ok := l.(*net.UnixListener); ok {
		ul.SetUnlinkOnClose(false)
	}
	return l, nil
}

// Exits tells the end of sessions' commands, each once. One may come before the
// Start that it belongs to has returned: its Proc tells which. Those not received
// yet wait; there is at most one for each start.
func (c *Conn) Exits() <-chan Exit { return c.exits }

// Stopping is closed when everything is being ended: exits of all sessions follow,
// then Lost is closed, and the host has some seconds to end by itself.
func (c *Conn) Stopping() <-chan struct{} { return c.stopping }

// Lost is closed when the keeper has gone. Unless it was stopping, sessions live
// on as long as this host does, their exits are not told, and nothing can be started.
func (c *Conn) Lost() <-chan struct{} { return c.lost }

// Start starts a command and returns its terminal. Errors are *pty.StartError when
// the command, its folder or the system is the reason, else ErrExists, ErrStopping
// or ErrLost. When ctx ends first, the command is ended should it still start.
func (c *Conn) Start(ctx context.Context, r StartRequest) (*Terminal, error) {
	m := message{Type: typeStart, Start: &startMessage{
		ID: r.ID, Argv: toBytes(r.Argv), Env: toBytes(r.Env), Dir: []byte(r.Dir), Size: r.Size, Ring: r.Ring,
	}}
	a, err := c.call(ctx, m)
	if err != nil {
		return nil, err
	}
	return c.started(a)
}

// started makes a terminal of the answer to a start.
func (c *Conn) started(a answer) (*Terminal, error) {
	if a.msg.Type != typeStarted || a.msg.Session == nil {
		closeAll(a.fds)
		return nil, a.msg.Error.err()
	}
	r := *a.msg.Session
	c.mu.Lock()
	t := c.terminals[r.ID]
	c.mu.Unlock()
	if t != nil && len(a.fds) == 0 {
		t.restart(r.proc())
		return t, nil
	}
	var err error = &pty.StartError{Stage: pty.StageTerminal, Path: "receive it", Err: syscall.EMFILE}
	if len(a.fds) == 2 {
		t, _, err = newTerminal(r, a.fds[0], a.fds[1], nil)
	} else {
		closeAll(a.fds)
	}
	if err != nil {
		c.undo(r)
		return nil, err
	}
	c.mu.Lock()
	c.terminals[r.ID] = t
	c.mu.Unlock()
	return t, nil
}

// undo ends what was started for nobody.
func (c *Conn) undo(r sessionRecord) {
	_ = pty.End(context.Background(), 0, r.proc())
	_ = c.Release(r.ID)
}

// call sends a request and waits for its answer.
func (c *Conn) call(ctx context.Context, m message) (answer, error) {
	got := make(chan answer, 1)
	c.mu.Lock()
	c.req++
	m.Req = c.req
	c.pending[m.Req] = got
	c.mu.Unlock()
	if err := c.write(m); err != nil {
		c.mu.Lock()
		delete(c.pending, m.Req)
		c.mu.Unlock()
		return answer{}, err
	}
	select {
	case a := <-got:
		return a, nil
	case <-c.lost:
	case <-ctx.Done():
	}
	c.mu.Lock()
	_, waiting := c.pending[m.Req]
	if waiting {
		c.pending[m.Req] = nil // the reader undoes what comes
	}
	c.mu.Unlock()
	if !waiting { // it came in between
		return <-got, nil
	}
	if err := ctx.Err(); err != nil {
		return answer{}, err
	}
	return answer{}, ErrLost
}

func (c *Conn) write(m message) error {
	c.writeMu.Lock()
	defer c.writeMu.Unlock()
	err := c.wire.write(m)
	if err != nil && closed(err) {
		return ErrLost
	}
	return err
}

// Release forgets a session: the keeper drops its terminal and ring and will report
// it no more. The host does it when it has noted the session's end, and closes the
// Terminal itself.
func (c *Conn) Release(id string) error {
	c.mu.Lock()
	delete(c.terminals, id)
	c.mu.Unlock()
	return c.write(message{Type: typeRelease, ID: id})
}

// StopKeeper asks for the end of everything; what happens then is said at Stopping.
func (c *Conn) StopKeeper() error { return c.write(message{Type: typeStop}) }

// read receives until the keeper closes or goes.
func (c *Conn) read() {
	defer c.gone()
	for {
		m, fds, err := c.wire.read()
		if err != nil {
			return
		}
		switch m.Type {
		case typeStarted, typeError:
			c.answer(answer{m, fds})
		default:
			closeAll(fds)
			c.handle(m)
		}
	}
}

// handle takes what the keeper says unasked. Words of a newer keeper are passed over.
func (c *Conn) handle(m message) {
	switch {
	case m.Type == typeExit && m.Session != nil && m.Session.Exit != nil:
		c.mu.Lock()
		c.told = append(c.told, m.Session.exit())
		c.mu.Unlock()
		select {
		case c.more <- struct{}{}:
		default:
		}
	case m.Type == typeStop:
		select {
		case <-c.stopping:
		default:
			close(c.stopping)
		}
	}
}

// answer hands an answer to whoever waits for it.
func (c *Conn) answer(a answer) {
	c.mu.Lock()
	got, known := c.pending[a.msg.Req]
	delete(c.pending, a.msg.Req)
	c.mu.Unlock()
	switch {
	case got != nil:
		got <- a
	case known && a.msg.Type == typeStarted && a.msg.Session != nil:
		closeAll(a.fds)
		c.work.Go(func() { c.undo(*a.msg.Session) })
	default:
		closeAll(a.fds)
	}
}

// deliver passes exits on, so that a slow receiver doesn't hold up answers.
func (c *Conn) deliver() {
	for {
		c.mu.Lock()
		told := c.told
		c.told = nil
		c.mu.Unlock()
		for _, e := range told {
			select {
			case c.exits <- e:
			case <-c.closing:
				return
			}
		}
		select {
		case <-c.more:
		case <-c.closing:
			return
		}
	}
}

// gone notes that the connection has ended. The lock is the host's alone now, and
// its file says so, for who asks which process the daemon is.
func (c *Conn) gone() {
	select {
	case <-c.stopping:
	case <-c.closing:
	default:
		_ = writePID(c.lock)
	}
	close(c.lost)
}

// Close ends the connection; terminals stay open. The keeper takes no notice until
// the process ends.
func (c *Conn) Close() error {
	c.mu.Lock()
	again := c.isClosed
	c.isClosed = true
	c.mu.Unlock()
	if again {
		return nil
	}
	close(c.closing)
	err := c.wire.conn.Close()
	c.work.Wait()
	c.wire.close()
	_ = unix.Close(c.listener)
	_ = c.lock.Close()
	return err
}

// abandon frees what a takeover that failed had received.
func (c *Conn) abandon() {
	c.wire.close()
	if c.listener >= 0 {
		_ = unix.Close(c.listener)
	}
	if c.lock != nil {
		_ = c.lock.Close()
	}
	for _, t := range c.terminals {
		_ = t.Close()
	}
}
