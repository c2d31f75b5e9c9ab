package keeper

import (
	"context"
	"errors"
	"os"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"termio/internal/pty"
)

// otherEnd is a keeper that says what the test wants.
type otherEnd struct {
	t    *testing.T
	wire *wire
	conn *Conn
}

// connectTo connects to a keeper that says these messages before it is ready.
func connectTo(t *testing.T, their int, more ...message) *otherEnd {
	t.Helper()
	pair, err := controlPair()
	if err != nil {
		t.Fatal(err)
	}
	w, err := newWire(pair[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.close)
	files := tempFDs(t, 2)
	said := make(chan error, 1)
	go func() {
		m, _, err := w.read()
		if err == nil && (m.Type != typeHello || m.Hello == nil || m.Hello.Version != version) {
			err = errors.New("the host began with " + m.Type)
		}
		err = errors.Join(err, w.write(message{Type: typeHello, Hello: &hello{Version: their, PID: 1, Hosts: 7}}, files...))
		for _, m := range more {
			err = errors.Join(err, w.write(m))
		}
		said <- errors.Join(err, w.write(message{Type: typeReady}))
	}()
	c, err := Connect(pair[1])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := <-said; err != nil {
		t.Fatal(err)
	}
	return &otherEnd{t, w, c}
}

func (o *otherEnd) read() message {
	o.t.Helper()
	if err := o.wire.conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		o.t.Fatal(err)
	}
	m, _, err := o.wire.read()
	if err != nil {
		o.t.Fatal(err)
	}
	return m
}

func (o *otherEnd) write(m message, fds ...int) {
	o.t.Helper()
	if err := o.wire.write(m, fds...); err != nil {
		o.t.Fatal(err)
	}
}

func TestVersionsMeet(t *testing.T) {
	for _, tt := range []struct{ keeper, want int }{{version, version}, {version + 5, version}} {
		o := connectTo(t, tt.keeper, message{Type: "a word of a newer keeper", FDs: 0})
		if k := o.conn.Keeper(); k.Version != tt.want || k.PID != 1 || k.Hosts != 7 {
			t.Errorf("keeper of version %d: %+v, want version %d", tt.keeper, k, tt.want)
		}
		// What a newer keeper says beside is passed over.
		o.write(message{Type: "another word", Req: 1}, tempFDs(t, 1)...)
		exit := sessionRecord{ID: "a", PID: 5, Start: 6, Exit: &exitRecord{Code: -1, Signal: int(syscall.SIGSEGV)}}
		o.write(message{Type: typeExit, Session: &exit})
		select {
		case e := <-o.conn.Exits():
			if want := (Exit{ID: "a", Proc: pty.Proc{PID: 5, Start: 6}, Code: -1, Signal: syscall.SIGSEGV}); e != want {
				t.Errorf("exit %+v, want %+v", e, want)
			}
		case <-time.After(patience):
			t.Error("no exit")
		}
	}
}

// Somebody who gives up waiting for a start must not find the command running later.
func TestAbandonedStartIsUndone(t *testing.T) {
	o := connectTo(t, version)
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() {
		_, err := o.conn.Start(ctx, StartRequest{ID: "a", Argv: []string{"sh"}})
		failed <- err
	}()
	m := o.read()
	if m.Type != typeStart || m.Start.ID != "a" {
		t.Fatalf("got %+v", m)
	}
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("start: %v", err)
	}
	p, master, ring := startReal(t)
	r := sessionRecord{ID: "a", PID: p.PID, Start: p.Start}
	before := openDescriptors(t)
	o.write(message{Type: typeStarted, Req: m.Req, Session: &r}, master, ring)
	if m := o.read(); m.Type != typeRelease || m.ID != "a" {
		t.Errorf("got %+v, want its release", m)
	}
	if p.Alive() {
		t.Error("the command runs")
	}
	if after := openDescriptors(t); after != before {
		t.Errorf("%d descriptors, before %d", after, before)
	}
}

// startReal starts a command as a keeper does, with its ring.
func startReal(t *testing.T) (p pty.Proc, master, ring int) {
	t.Helper()
	master, err := pty.Open(pty.Size{Cols: 80, Rows: 24})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(master) })
	ring = ringFD(t)
	p, err = pty.Start(master, pty.Command{Argv: []string{"sh", "-c", "read x"}, Env: []string{"PATH=" + os.Getenv("PATH")}})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = syscall.Wait4(p.PID, nil, 0, nil)
	}()
	t.Cleanup(func() {
		if err := pty.End(context.Background(), 0, p); err != nil {
			t.Error(err)
		}
		<-done
	})
	return p, master, ring
}

// A host that may hold no more descriptors gets an error, not half a session.
func TestStartWithoutItsDescriptors(t *testing.T) {
	o := connectTo(t, version)
	failed := make(chan error, 1)
	go func() {
		_, err := o.conn.Start(t.Context(), StartRequest{ID: "a", Argv: []string{"sh"}})
		failed <- err
	}()
	m := o.read()
	p, _, _ := startReal(t)
	r := sessionRecord{ID: "a", PID: p.PID, Start: p.Start}
	o.write(message{Type: typeStarted, Req: m.Req, Session: &r})
	err := <-failed
	if se, ok := errors.AsType[*pty.StartError](err); !ok || se.Stage != pty.StageTerminal || !errors.Is(err, syscall.EMFILE) {
		t.Errorf("start: %v", err)
	}
	if m := o.read(); m.Type != typeRelease || m.ID != "a" {
		t.Errorf("got %+v, want its release", m)
	}
	if p.Alive() {
		t.Error("the command runs")
	}
}

func TestKeeperGoesWhileAStartWaits(t *testing.T) {
	o := connectTo(t, version)
	failed := make(chan error, 1)
	go func() {
		_, err := o.conn.Start(t.Context(), StartRequest{ID: "a", Argv: []string{"sh"}})
		failed <- err
	}()
	o.read()
	o.wire.close()
	if err := <-failed; !errors.Is(err, ErrLost) {
		t.Errorf("start: %v", err)
	}
	select {
	case <-o.conn.Lost():
	case <-time.After(patience):
		t.Error("nobody says that the keeper has gone")
	}
	if err := o.conn.StopKeeper(); !errors.Is(err, ErrLost) {
		t.Errorf("stop: %v", err)
	}
}

// Many exits and nobody who takes them must not hold up an answer.
func TestExitsDoNotHoldUpAnswers(t *testing.T) {
	o := connectTo(t, version)
	const many = 1000
	for i := range many {
		o.write(message{Type: typeExit, Session: &sessionRecord{ID: "a", PID: i, Exit: &exitRecord{}}})
	}
	failed := make(chan error, 1)
	go func() {
		_, err := o.conn.Start(t.Context(), StartRequest{ID: "b", Argv: []string{"sh"}})
		failed <- err
	}()
	o.write(message{Type: typeError, Req: o.read().Req, Error: toRecord(ErrUnsupported)})
	select {
	case err := <-failed:
		if !errors.Is(err, ErrUnsupported) {
			t.Errorf("start: %v", err)
		}
	case <-time.After(patience):
		t.Fatal("no answer")
	}
	for i := range many {
		if e := <-o.conn.Exits(); e.Proc.PID != i {
			t.Fatalf("exit %d is of %d", i, e.Proc.PID)
		}
	}
}

// An old keeper answers what it doesn't know.
func TestKeeperAnswersUnknownRequests(t *testing.T) {
	k := newKeeper(Config{})
	k.host = &host{greeted: true}
	k.host.out.wake = make(chan struct{}, 1)
	k.serve(message{Type: "checkpoint", Req: 12})
	out := k.host.out.take()
	if len(out) != 1 || out[0].msg.Type != typeError || out[0].msg.Req != 12 || !errors.Is(out[0].msg.Error.err(), ErrUnsupported) {
		t.Errorf("got %+v", out)
	}
}

func TestConnectWithoutAKeeper(t *testing.T) {
	pair, err := controlPair()
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Close(pair[0]); err != nil {
		t.Fatal(err)
	}
	if c, err := Connect(pair[1]); err == nil {
		c.Close()
		t.Error("connected to nobody")
	}
}
