package termtest

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"termio/internal/api"
	"termio/internal/client"
	"termio/internal/vt"
)

// A Screen is a client that is attached to a session and keeps the same screen.
type Screen struct {
	d      *Daemon
	attach *client.Attach
	screen *vt.Screen
	Hello  api.AttachHello
	End    *api.AttachEnd // once the attach has ended
	frames chan frame
}

type frame struct {
	kind    api.FrameKind
	payload []byte
	err     error
}

// Screen attaches to a session as a client that is not shown: it sets no size.
func (d *Daemon) Screen(link string) *Screen {
	d.t.Helper()
	return d.ScreenOf(link, client.AttachOptions{})
}

// ScreenOf attaches to a session. It is detached with the test.
func (d *Daemon) ScreenOf(link string, o client.AttachOptions) *Screen {
	d.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	a, err := d.Client().Attach(ctx, link, o)
	if err != nil {
		cancel()
		d.t.Fatalf("attach %s: %v", link, err)
	}
	s := &Screen{d: d, attach: a, frames: make(chan frame, 1024)}
	d.t.Cleanup(func() {
		cancel()
		_ = a.Close()
	})
	go s.read(ctx)
	return s
}

func (s *Screen) read(ctx context.Context) {
	defer close(s.frames)
	for {
		f, err := s.attach.Read()
		select {
		case s.frames <- frame{f.Kind, append([]byte(nil), f.Payload...), err}:
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

// Text is the viewport's text as far as frames have been taken in.
func (s *Screen) Text() string { return strings.Join(s.screen.Text(), "\n") }

// Modes are the screen's modes as far as frames have been taken in.
func (s *Screen) Modes() vt.Modes { return s.screen.Modes() }

// Size is the screen's size in cells.
func (s *Screen) Size() (cols, rows int) { return s.screen.Size() }

// Await takes in frames until the screen fits.
func (s *Screen) Await(what string, fits func(text string) bool) {
	s.d.t.Helper()
	for s.screen == nil || !fits(s.Text()) {
		if !s.take() {
			text := ""
			if s.screen != nil {
				text = s.Text()
			}
			s.d.t.Fatalf("the screen never showed %s:\n%s", what, text)
		}
	}
}

// AwaitText takes in frames until the screen holds a text.
func (s *Screen) AwaitText(text string) {
	s.d.t.Helper()
	s.Await(text, func(screen string) bool { return strings.Contains(screen, text) })
}

// AwaitSize takes in frames until the screen has a size.
func (s *Screen) AwaitSize(cols, rows int) {
	s.d.t.Helper()
	s.Await("the size", func(string) bool {
		c, r := s.Size()
		return c == cols && r == rows
	})
}

// AwaitEnd takes in frames until the attach ends, and gives the reason.
func (s *Screen) AwaitEnd() string {
	s.d.t.Helper()
	for s.End == nil {
		if !s.take() {
			s.d.t.Fatal("the attach went on, or ended without a reason")
		}
	}
	return s.End.Reason
}

// take takes in one frame; false when there will be no more.
func (s *Screen) take() bool {
	s.d.t.Helper()
	select {
	case f, ok := <-s.frames:
		if !ok || f.err != nil {
			return false
		}
		s.apply(f)
		return true
	case <-s.d.Context().Done():
		return false
	}
}

func (s *Screen) apply(f frame) {
	s.d.t.Helper()
	switch f.kind {
	case api.FrameHello:
		decode(s.d.t, f.payload, &s.Hello)
		s.screen = vt.New(vt.Options{Cols: s.Hello.Cols, Rows: s.Hello.Rows, History: 10000})
	case api.FrameSnapshot:
		cols, rows := s.screen.Size()
		s.screen = vt.New(vt.Options{Cols: cols, Rows: rows, History: 10000})
		_, _ = s.screen.Write(f.payload[8:])
	case api.FrameOutput:
		_, _ = s.screen.Write(f.payload[8:])
	case api.FrameSize:
		var z api.AttachSize
		decode(s.d.t, f.payload, &z)
		s.screen.Resize(z.Cols, z.Rows)
	case api.FrameEnd:
		s.End = new(api.AttachEnd)
		decode(s.d.t, f.payload, s.End)
	}
}

// Type types keys.
func (s *Screen) Type(keys string) {
	s.d.t.Helper()
	if err := s.attach.Input([]byte(keys)); err != nil {
		s.d.t.Fatal(err)
	}
}

// Resize gives the client another size.
func (s *Screen) Resize(cols, rows int) {
	s.d.t.Helper()
	if err := s.attach.Resize(api.AttachSize{Cols: cols, Rows: rows}); err != nil {
		s.d.t.Fatal(err)
	}
}

// Detach ends the attach from the client's side.
func (s *Screen) Detach() {
	s.d.t.Helper()
	if err := s.attach.Close(); err != nil {
		s.d.t.Fatal(err)
	}
}

// A SlowClient is attached and does not read until it is told to.
type SlowClient struct {
	d      *Daemon
	conn   net.Conn
	frames *api.FrameReader
	screen *Screen
}

// SlowClient attaches to a session and reads no more than the greeting, which says that
// whatever is printed from then on is for it as well.
func (d *Daemon) SlowClient(link string) *SlowClient {
	d.t.Helper()
	var dialer net.Dialer
	conn, err := dialer.DialContext(d.Context(), "unix", d.Paths.Socket)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { _ = conn.Close() })
	_, err = fmt.Fprintf(conn, "GET /v1/sessions/%s/attach HTTP/1.1\r\nHost: t\r\nConnection: Upgrade\r\nUpgrade: %s\r\n%s: %s\r\n\r\n",
		url.PathEscape(link), api.AttachProtocol, api.HeaderCwd, url.PathEscape(d.Dir))
	if err != nil {
		d.t.Fatal(err)
	}
	deadline, _ := d.Context().Deadline()
	if err := conn.SetReadDeadline(deadline); err != nil {
		d.t.Fatal(err)
	}
	br := bufio.NewReader(conn)
	res, err := http.ReadResponse(br, nil)
	if err != nil {
		d.t.Fatal(err)
	}
	if res.StatusCode != http.StatusSwitchingProtocols {
		d.t.Fatalf("attach: %s", res.Status)
	}
	c := &SlowClient{d: d, conn: conn, frames: api.NewFrameReader(br), screen: &Screen{d: d}}
	if kind := c.take(); kind != api.FrameHello {
		d.t.Fatalf("the first frame is of kind %d", kind)
	}
	return c
}

// take reads one frame.
func (c *SlowClient) take() api.FrameKind {
	c.d.t.Helper()
	f, err := c.frames.Read()
	if err != nil {
		c.d.t.Fatal(err)
	}
	c.screen.apply(frame{kind: f.Kind, payload: f.Payload})
	return f.Kind
}

// ReadUntil reads until the screen holds a text. It gives the number of snapshots that
// came and the screen's text.
func (c *SlowClient) ReadUntil(text string) (snapshots int, screen string) {
	c.d.t.Helper()
	deadline, _ := c.d.Context().Deadline()
	if err := c.conn.SetReadDeadline(deadline); err != nil {
		c.d.t.Fatal(err)
	}
	for !strings.Contains(c.screen.Text(), text) {
		if c.take() == api.FrameSnapshot {
			snapshots++
		}
	}
	return snapshots, c.screen.Text()
}
