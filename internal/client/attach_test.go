package client

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"termio/internal/api"
)

// peer is the daemon's end of an attach.
type peer struct {
	request string
	conn    net.Conn
	in      *api.FrameReader
}

// attachHost upgrades attach calls and hands their other end to the test.
type attachHost struct{ peers chan *peer }

func (h attachHost) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Upgrade") != api.AttachProtocol || r.Header.Get("Connection") != "Upgrade" {
		w.WriteHeader(http.StatusBadRequest)
		writeJSON(w, api.NewError(api.BadRequest, "no upgrade asked for"))
		return
	}
	conn, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	fmt.Fprintf(rw, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: %s\r\nConnection: Upgrade\r\n\r\n", api.AttachProtocol)
	_ = rw.Flush()
	h.peers <- &peer{request: r.RequestURI, conn: conn, in: api.NewFrameReader(rw.Reader)}
}

func (p *peer) send(t *testing.T, kind api.FrameKind, payload string) {
	t.Helper()
	if _, err := p.conn.Write(api.AppendFrame(nil, kind, []byte(payload))); err != nil {
		t.Fatal(err)
	}
}

// expect reads one frame from the client.
func (p *peer) expect(t *testing.T, kind api.FrameKind, payload string) {
	t.Helper()
	f, err := p.in.Read()
	if err != nil || f.Kind != kind || string(f.Payload) != payload {
		t.Fatalf("the daemon got %d %q, %v; want %d %q", f.Kind, f.Payload, err, kind, payload)
	}
}

// next reads one frame of the daemon's.
func next(t *testing.T, a *Attach, kind api.FrameKind, payload string) {
	t.Helper()
	f, err := a.Read()
	if err != nil || f.Kind != kind || string(f.Payload) != payload {
		t.Fatalf("the client got %d %q, %v; want %d %q", f.Kind, f.Payload, err, kind, payload)
	}
}

func hello(t *testing.T) string {
	t.Helper()
	data, err := json.Marshal(api.AttachHello{Target: testLink, Title: "renamed"})
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestAttach(t *testing.T) {
	p, h := home(t), attachHost{make(chan *peer, 1)}
	serve(t, p, h)
	a, err := dial(t, p).Attach(testContext(t), "my title", AttachOptions{Size: api.AttachSize{Cols: 120, Rows: 40}, Raw: true})
	if err != nil {
		t.Fatal(err)
	}
	d := <-h.peers
	defer d.conn.Close()
	if want := "/v1/sessions/my%20title/attach?cols=120&raw=1&rows=40"; d.request != want {
		t.Errorf("asked for %s, want %s", d.request, want)
	}
	d.send(t, api.FrameHello, hello(t))
	d.send(t, api.FrameOutput, "12345678$ ")
	next(t, a, api.FrameHello, hello(t))
	next(t, a, api.FrameOutput, "12345678$ ")
	for _, err := range []error{a.Input([]byte("ls\r")), a.Paste("a\nb"), a.Lead(), a.Resize(api.AttachSize{Cols: 80, Rows: 24})} {
		if err != nil {
			t.Error(err)
		}
	}
	d.expect(t, api.FrameInput, "ls\r")
	d.expect(t, api.FramePaste, "a\nb")
	d.expect(t, api.FrameLead, "")
	d.expect(t, api.FrameResize, `{"cols":80,"rows":24}`)
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	d.expect(t, api.FrameDetach, "")
	if _, err := a.Read(); !errors.Is(err, ErrDetached) {
		t.Errorf("read after close: %v", err)
	}
	if err := a.Input([]byte("x")); !errors.Is(err, ErrDetached) {
		t.Errorf("input after close: %v", err)
	}
	if err := a.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
}

// The daemon's last word ends an attach in order.
func TestAttachEnd(t *testing.T) {
	p, h := home(t), attachHost{make(chan *peer, 1)}
	serve(t, p, h)
	a, err := dial(t, p).Attach(testContext(t), "x", AttachOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	d := <-h.peers
	d.send(t, api.FrameEnd, `{"reason":"closed"}`)
	_ = d.conn.Close()
	next(t, a, api.FrameEnd, `{"reason":"closed"}`)
	for range 2 {
		if _, err := a.Read(); !errors.Is(err, io.EOF) {
			t.Errorf("after the end: %v", err)
		}
	}
}

// After a restart of the host the attach is there again, under the session's
// link and with the size it has now, and what was typed meanwhile arrives once.
func TestAttachReconnects(t *testing.T) {
	p, h := home(t), attachHost{make(chan *peer, 1)}
	srv := serve(t, p, h)
	a, err := dial(t, p).Attach(testContext(t), "my title", AttachOptions{Size: api.AttachSize{Cols: 120, Rows: 40}})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	d := <-h.peers
	d.send(t, api.FrameHello, hello(t))
	next(t, a, api.FrameHello, hello(t))
	if err := a.Resize(api.AttachSize{Cols: 90, Rows: 30}); err != nil {
		t.Fatal(err)
	}
	d.expect(t, api.FrameResize, `{"cols":90,"rows":30}`)

	_ = d.conn.Close()
	srv.replace(h)
	typed := make(chan error, 1)
	go func() {
		if _, err := a.Read(); err != nil { // brings the next connection
			typed <- err
			return
		}
		typed <- a.Input([]byte("once"))
	}()
	d = <-h.peers
	defer d.conn.Close()
	if want := "/v1/sessions/termio:%2F%2Fsession%2Fab12cd34-9f2e-4c31-b8d7-3e5a12c90f44/attach?cols=90&rows=30"; d.request != want {
		t.Errorf("asked for %s, want %s", d.request, want)
	}
	d.send(t, api.FrameHello, hello(t))
	if err := <-typed; err != nil {
		t.Fatal(err)
	}
	d.expect(t, api.FrameInput, "once")
	d.send(t, api.FrameSnapshot, "12345678")
	next(t, a, api.FrameSnapshot, "12345678")
}

// A keystroke while no host is there waits for the next one.
func TestAttachInputWaits(t *testing.T) {
	p, h := home(t), attachHost{make(chan *peer, 1)}
	srv := serve(t, p, h)
	a, err := dial(t, p).Attach(testContext(t), "x", AttachOptions{})
	if err != nil {
		t.Fatal(err)
	}
	d := <-h.peers
	_ = d.conn.Close()
	srv.kill()
	read := make(chan error, 1)
	go func() {
		for {
			if _, err := a.Read(); err != nil {
				read <- err
				return
			}
		}
	}()
	a.mu.Lock()
	for a.out != nil { // until the reader has noticed
		a.changed.Wait()
	}
	a.mu.Unlock()
	typed := make(chan error, 1)
	go func() { typed <- a.Input([]byte("late")) }()
	srv.start(h)
	d = <-h.peers
	defer d.conn.Close()
	d.expect(t, api.FrameInput, "late")
	if err := <-typed; err != nil {
		t.Error(err)
	}
	_ = a.Close()
	if err := <-read; !errors.Is(err, ErrDetached) {
		t.Error(err)
	}
}

// A daemon that stays away ends the attach with a reason, also for a writer.
func TestAttachNoNextHost(t *testing.T) {
	p, h := home(t), attachHost{make(chan *peer, 1)}
	srv := serve(t, p, h)
	c := dial(t, p)
	c.attachWithin = 50 * time.Millisecond
	a, err := c.Attach(testContext(t), "x", AttachOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	_ = (<-h.peers).conn.Close()
	srv.kill()
	if _, err = a.Read(); api.CodeOf(err) != api.Unavailable || !strings.Contains(err.Error(), "did not come back") {
		t.Error(err)
	}
	if again := a.Input([]byte("x")); !errors.Is(again, err) {
		t.Errorf("input: %v, want %v", again, err)
	}
}

func TestAttachRefused(t *testing.T) {
	p := home(t)
	serve(t, p, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(404)
		writeJSON(w, api.NewError(api.NotFound, "no such session"))
	}))
	if _, err := dial(t, p).Attach(testContext(t), "x", AttachOptions{}); api.CodeOf(err) != api.NotFound {
		t.Error(err)
	}
	p = home(t)
	serve(t, p, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, api.OKHead()) }))
	if _, err := dial(t, p).Attach(testContext(t), "x", AttachOptions{}); api.CodeOf(err) != api.Unavailable {
		t.Error(err)
	}
}

// Close gets through although the daemon reads nothing and a write is stuck.
func TestAttachCloseWhileStuck(t *testing.T) {
	p, h := home(t), attachHost{make(chan *peer, 1)}
	serve(t, p, h)
	a, err := dial(t, p).Attach(testContext(t), "x", AttachOptions{})
	if err != nil {
		t.Fatal(err)
	}
	d := <-h.peers
	defer d.conn.Close()
	stuck := make(chan error)
	go func() { stuck <- a.Input(make([]byte, 8<<20)) }()
	// Once part of it has arrived the write is under way.
	if _, err := bufio.NewReaderSize(d.conn, 16).Peek(1); err != nil {
		t.Fatal(err)
	}
	_ = a.Close()
	if err := <-stuck; !errors.Is(err, ErrDetached) {
		t.Error(err)
	}
}
