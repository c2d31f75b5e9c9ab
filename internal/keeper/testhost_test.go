package keeper

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"termio/internal/pty"
)

// request and reply of the host under test: one JSON line each, over the daemon's
// socket.
type hostCall struct {
	Op   string
	ID   string
	Argv []string
	Env  []string
	Dir  string
	Ring int
	Text string
	Head int
}

type hostReply struct {
	Error   string
	Stage   pty.Stage // of a *pty.StartError
	Missing bool      // errors.Is(err, fs.ErrNotExist)

	PID, Keeper, Hosts int
	Exe                string
	Lost               bool
	Sessions           []hostSession

	Proc pty.Proc
	Exit *Exit
	Head int // bytes of output so far
}

// hostSession is what a host was given at its start.
type hostSession struct {
	ID        string
	Proc      pty.Proc
	Exit      *Exit
	Recovered int
	Size      pty.Size
}

// testHost is a host that reads every terminal and does what it is told.
type testHost struct {
	conn *Conn

	mu      sync.Mutex
	changed *sync.Cond
	views   map[string]*view
	exits   map[string]*Exit // may come before a start has returned
}

// view is what became of a session.
type view struct {
	term     *Terminal
	text     []byte // the last output
	head     uint64
	eofs     int
	closed   chan struct{} // when its reader has ended and closed the terminal
	mismatch string        // at EOF: what the ring holds that numbered records don't explain
}

func playHost() error {
	conn, err := Connect(ControlFD)
	if err != nil {
		return err
	}
	h := &testHost{conn: conn, views: map[string]*view{}, exits: map[string]*Exit{}}
	h.changed = sync.NewCond(&h.mu)
	for _, s := range conn.Sessions() {
		h.exits[s.ID] = s.Exit
		h.watch(s.Terminal)
	}
	go h.takeExits()
	l, err := conn.Listener()
	if err != nil {
		return err
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go h.converse(c)
		}
	}()
	<-conn.Stopping()
	<-conn.Lost()
	return nil
}

// watch reads a terminal.
func (h *testHost) watch(t *Terminal) {
	v := &view{term: t, head: t.Ring().Head(), closed: make(chan struct{})}
	v.text, _ = t.Ring().Tail(4 << 10)
	h.mu.Lock()
	h.views[t.ID()] = v
	h.mu.Unlock()
	go func() {
		for {
			p, seq, err := t.Read()
			h.mu.Lock()
			v.text = append(v.text, p...)
			if n := len(v.text) - 8<<10; n > 0 {
				v.text = append(v.text[:0], v.text[n:]...)
			}
			v.head = seq + uint64(len(p))
			if errors.Is(err, io.EOF) {
				v.eofs++
				v.mismatch = mismatch(t.Ring())
			}
			h.changed.Broadcast()
			h.mu.Unlock()
			if err != nil && !errors.Is(err, io.EOF) {
				_ = t.Close()
				close(v.closed)
				return
			}
		}
	}()
}

// mismatch compares a ring with numbered records.
func mismatch(r *Ring) string {
	p, at := r.From(0)
	skip := (recordLen - at%recordLen) % recordLen
	if uint64(len(p)) < skip {
		return ""
	}
	p, at = p[skip:], at+skip
	for n := newNumbers(int(at / recordLen)); len(p) >= recordLen; n.next() {
		if !bytes.Equal(p[:recordLen], n.record) {
			return fmt.Sprintf("at %d: %q, want %q", at, p[:recordLen], n.record)
		}
		p, at = p[recordLen:], at+recordLen
	}
	return ""
}

func (h *testHost) takeExits() {
	for e := range h.conn.Exits() {
		h.mu.Lock()
		h.exits[e.ID] = &e
		h.changed.Broadcast()
		h.mu.Unlock()
	}
}

func (h *testHost) converse(c net.Conn) {
	defer c.Close()
	in, out := json.NewDecoder(c), json.NewEncoder(c)
	for {
		var call hostCall
		if in.Decode(&call) != nil {
			return
		}
		reply, err := h.do(call)
		if err != nil {
			reply.Error = err.Error()
			reply.Missing = errors.Is(err, os.ErrNotExist)
			if se, ok := errors.AsType[*pty.StartError](err); ok {
				reply.Stage = se.Stage
			}
		}
		if out.Encode(reply) != nil {
			return
		}
	}
}

func (h *testHost) do(call hostCall) (hostReply, error) {
	switch call.Op {
	case "info":
		return h.info(), nil
	case "start":
		return h.start(call)
	case "stop":
		return hostReply{}, h.conn.StopKeeper()
	case "stop and go":
		if err := h.conn.StopKeeper(); err != nil {
			return hostReply{}, err
		}
		return hostReply{}, syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "babble":
		_, err := h.conn.wire.conn.Write([]byte("\x00\x00\x00\x03xyz"))
		return hostReply{}, err
	case "lost":
		<-h.conn.Lost()
		return hostReply{}, nil
	case "crash":
		return hostReply{}, syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	h.mu.Lock()
	v := h.views[call.ID]
	h.mu.Unlock()
	if v == nil {
		return hostReply{}, fmt.Errorf("%s: no session %q", call.Op, call.ID)
	}
	switch call.Op {
	case "write":
		_, err := v.term.Write(context.Background(), []byte(call.Text))
		return hostReply{}, err
	case "expect": // waits for text in the output, and forgets what is before its end
		h.await(func() bool { return bytes.Contains(v.text, []byte(call.Text)) })
		h.mu.Lock()
		defer h.mu.Unlock()
		_, v.text, _ = bytes.Cut(v.text, []byte(call.Text))
		return hostReply{}, nil
	case "reach": // waits for so much output
		h.await(func() bool { return v.head >= uint64(call.Head) })
		return hostReply{}, nil
	case "exit": // waits for the command's end
		h.await(func() bool { return h.exits[call.ID] != nil })
		h.mu.Lock()
		defer h.mu.Unlock()
		return hostReply{Exit: h.exits[call.ID], Proc: v.term.Proc()}, nil
	case "eof":
		h.await(func() bool { return v.eofs > 0 })
		return hostReply{}, nil
	case "check": // numbered output, at its end: what the ring holds is nothing else
		h.mu.Lock()
		defer h.mu.Unlock()
		if v.mismatch != "" {
			return hostReply{}, errors.New(v.mismatch)
		}
		return hostReply{Head: int(v.head)}, nil
	case "close": // ends the session and forgets it
		if err := v.term.End(context.Background(), 2*time.Millisecond); err != nil {
			return hostReply{}, err
		}
		h.await(func() bool { return h.exits[call.ID] != nil })
		h.mu.Lock()
		delete(h.views, call.ID)
		h.mu.Unlock()
		v.term.Drain()
		<-v.closed
		return hostReply{}, h.conn.Release(call.ID)
	}
	return hostReply{}, fmt.Errorf("no operation %q", call.Op)
}

func (h *testHost) await(done func() bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for !done() {
		h.changed.Wait()
	}
}

func (h *testHost) info() hostReply {
	exe, err := filepath.EvalSymlinks("/proc/self/exe")
	if err != nil {
		exe = err.Error()
	}
	k := h.conn.Keeper()
	reply := hostReply{PID: os.Getpid(), Keeper: k.PID, Hosts: k.Hosts, Exe: exe}
	select {
	case <-h.conn.Lost():
		reply.Lost = true
	default:
	}
	for _, s := range h.conn.Sessions() {
		size, _ := s.Terminal.Size() // zero when it is closed by now
		reply.Sessions = append(reply.Sessions, hostSession{s.ID, s.Proc, s.Exit, s.Recovered, size})
	}
	return reply
}

func (h *testHost) start(call hostCall) (hostReply, error) {
	h.mu.Lock()
	old := h.views[call.ID]
	delete(h.exits, call.ID)
	h.mu.Unlock()
	t, err := h.conn.Start(context.Background(), StartRequest{
		ID: call.ID, Argv: call.Argv, Env: call.Env, Dir: call.Dir, Ring: call.Ring,
		Size: pty.Size{Cols: 80, Rows: 24},
	})
	if err != nil {
		return hostReply{}, err
	}
	if old == nil {
		h.watch(t)
	}
	return hostReply{Proc: t.Proc()}, nil
}
