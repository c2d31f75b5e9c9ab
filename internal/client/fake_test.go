package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"termio/internal/api"
	"termio/internal/config"
)

// testTimeout bounds what a test waits for; nothing that passes takes as long.
const testTimeout = time.Minute

// TestMain plays the daemon when a client under test has started this binary.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "daemon" && os.Args[2] == "run" {
		os.Exit(fakeDaemon())
	}
	os.Exit(m.Run())
}

// fakeDaemon serves one reply and ends. What it does before that is what the
// variable FAKE_DAEMON says.
func fakeDaemon() int {
	ready := os.NewFile(3, "ready")
	fail := func(err any) int {
		fmt.Fprintln(ready, err)
		return 1
	}
	env, err := config.FromEnv(os.Environ())
	if err != nil {
		return fail(err)
	}
	switch os.Getenv("FAKE_DAEMON") {
	case "fails":
		return fail("the lock is held by process 1")
	case "dies":
		return 1
	}
	// One line a start, so that a test can count them.
	f, err := os.OpenFile(filepath.Join(env.Home, "starts"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fail(err)
	}
	cwd, _ := os.Getwd()
	fmt.Fprintf(f, "%s %q %s\n", cwd, env.Get("TERMIO_SESSION"), env.Get("KEPT"))
	_ = f.Close()
	ln, err := net.Listen("unix", env.Socket)
	if err != nil {
		return fail(err)
	}
	stop := make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc(api.RouteVersion, func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, api.VersionReply{Head: api.OKHead(), Version: config.Version, API: 1})
	})
	mux.HandleFunc(api.RouteStop, func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, api.StopReply{Head: api.OKHead(), Stopped: true})
		close(stop)
	})
	srv := &http.Server{Handler: mux}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(ln) }()
	fmt.Fprintln(ready, readyWord)
	_ = ready.Close()
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	defer cancel()
	select {
	case <-stop:
	case <-ctx.Done():
	}
	_ = srv.Shutdown(ctx)
	<-done
	return 0
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

// home makes a short termio home.
func home(t testing.TB) config.Paths {
	t.Helper()
	dir, err := os.MkdirTemp("", "tc")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	p, err := config.NewPaths(filepath.Join(dir, "h"), "")
	if err != nil {
		t.Fatal(err)
	}
	if err := p.EnsureDirs(); err != nil {
		t.Fatal(err)
	}
	return p
}

// listen binds a home's socket.
func listen(t testing.TB, p config.Paths) net.Listener {
	t.Helper()
	ln, err := net.Listen("unix", p.Socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	return ln
}

// host is a server on a listener that stays open when it is replaced, as the
// keeper's does.
type host struct {
	t    testing.TB
	ln   *keptListener
	name int
	srv  *http.Server
	done chan struct{}
}

// serve starts the first host of a home.
func serve(t testing.TB, p config.Paths, h http.Handler) *host {
	t.Helper()
	s := &host{t: t, ln: &keptListener{Listener: listen(t, p), conns: make(chan net.Conn), over: make(chan struct{})}}
	go s.ln.accept()
	s.start(h)
	t.Cleanup(s.kill)
	return s
}

func (s *host) start(h http.Handler) {
	s.name++
	name := strconv.Itoa(s.name)
	s.done = make(chan struct{})
	s.srv = &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(api.HeaderHost, name)
		h.ServeHTTP(w, r)
	})}
	go func(srv *http.Server, done chan struct{}) {
		defer close(done)
		_ = srv.Serve(&hostListener{keptListener: s.ln, closed: make(chan struct{})})
	}(s.srv, s.done)
}

// kill ends the host as kill -9 would: its connections break off.
func (s *host) kill() {
	_ = s.srv.Close()
	<-s.done
}

// replace kills the host and starts the next one.
func (s *host) replace(h http.Handler) {
	s.kill()
	s.start(h)
}

// keptListener accepts once and for all; connections wait for a host.
type keptListener struct {
	net.Listener
	conns chan net.Conn
	over  chan struct{}
}

func (l *keptListener) accept() {
	defer close(l.over)
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return
		}
		l.conns <- c
	}
}

// hostListener is one host's view of it.
type hostListener struct {
	*keptListener
	closed chan struct{}
}

func (l *hostListener) Accept() (net.Conn, error) {
	select {
	case <-l.closed:
		return nil, net.ErrClosed
	default:
	}
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-l.over:
		return nil, net.ErrClosed
	}
}

func (l *hostListener) Close() error {
	select {
	case <-l.closed:
	default:
		close(l.closed)
	}
	return nil
}

// dial makes a client that starts nothing.
func dial(t testing.TB, p config.Paths) *Client {
	t.Helper()
	c, err := Dial(testContext(t), p, Options{Cwd: "/tmp/a b", Session: "ab12cd34-9f2e-4c31-b8d7-3e5a12c90f44", Timeout: testTimeout})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// testContext ends with the test, or when it has taken too long.
func testContext(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	t.Cleanup(cancel)
	return ctx
}
