// Package server puts a host on the wire: HTTP and JSON over the daemon's unix
// socket, so that curl --unix-socket works as well as our own client.
//
// It decodes requests, finds out who calls, calls the host and encodes what
// comes back. It decides nothing about sessions. The routes stand in one table.
// A connection of another user is closed at once, and a request that a browser
// sent for some page (it carries an Origin) is refused: no page has any business
// with this socket.
//
// Each request runs in a goroutine of its own; Close ends them all.
package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"time"

	"termio/internal/api"
	"termio/internal/host"
)

// Bounds of a request in bytes. Text is JSON, which may need six bytes for one.
const (
	maxHeader = 64 << 10
	maxBody   = 64 << 10
	maxText   = 6*host.MaxText + maxBody
	// A hook's payload may hold a whole file that a tool read. Its head is
	// enough to know what happened, so the rest is not even read.
	maxReport = 256 << 10
)

// A Server answers on one socket.
type Server struct {
	host   *host.Host
	name   string // of this host process, unlike any before it
	log    *slog.Logger
	http   *http.Server
	ctx    context.Context // of every request
	cancel func()
}

// New makes a server for h. Nothing listens yet.
func New(h *host.Host, log *slog.Logger) *Server {
	s := newServer(log)
	s.host = h
	s.http.Handler = s.handler()
	return s
}

// newServer makes a server that has no handler yet.
func newServer(log *slog.Logger) *Server {
	ctx, cancel := context.WithCancelCause(context.Background())
	s := &Server{log: log, ctx: ctx, cancel: func() { cancel(host.ErrLeaving) }, name: fmt.Sprintf("%d-%d", os.Getpid(), time.Now().UnixNano())}
	s.http = &http.Server{
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ConnContext:       withPeer,
		ReadHeaderTimeout: 10 * time.Second,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	return s
}

// Serve answers on a unix socket's listener until Close; it then returns nil.
// Peers of another user are cut off at once.
func (s *Server) Serve(ln net.Listener) error {
	err := s.http.Serve(&ownListener{Listener: ln, log: s.log})
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serve: %w", err)
}

// Close stops listening, ends waits and watches, lets every other request
// finish and returns when all are done or ctx is.
func (s *Server) Close(ctx context.Context) error {
	s.cancel()
	if err := s.http.Shutdown(ctx); err != nil {
		return errors.Join(fmt.Errorf("close server: %w", err), s.http.Close())
	}
	return nil
}

// closing reports whether this host's server is being closed, whoever serves next.
func (s *Server) closing() bool { return s.ctx.Err() != nil }

// stopped reports whether the whole daemon has been stopped: nobody serves next.
func (s *Server) stopped() bool {
	select {
	case <-s.host.Stopped():
		return true
	default:
		return false
	}
}

// A route is one line of the table.
type route struct {
	pattern string
	control bool // part of session control: answers only while that is on
	body    int64
	handle  func(r *http.Request, c host.Caller) (any, error)
}

func (s *Server) routes() []route {
	return []route{
		{api.RouteVersion, false, 0, s.version},
		{api.RouteList, true, 0, s.list},
		{api.RouteSpawn, true, maxText, s.spawn},
		{api.RouteRun, true, maxText, s.run},
		{api.RouteSend, true, maxText, s.send},
		{api.RouteRead, true, 0, s.read},
		{api.RouteClose, true, 0, s.close},
		{api.RouteFocus, true, maxBody, s.focus},
		{api.RouteResume, true, maxBody, s.resume},
		{api.RouteRename, false, maxBody, s.rename},
		{api.RouteExplain, true, 0, s.explain},
		{api.RouteNotify, false, maxBody, s.notify},
		{api.RouteOpen, false, maxBody, s.open},
		{api.RouteAgents, false, 0, s.agents},
		{api.RouteHistory, true, 0, s.history},
		{api.RouteSettings, false, 0, s.settings},
		{api.RouteSet, false, maxBody, s.set},
		{api.RouteDaemon, false, 0, s.daemon},
		{api.RouteStop, false, maxBody, s.stop},
	}
}

// handler is the whole table behind what holds for every request.
func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	for _, rt := range s.routes() {
		mux.HandleFunc(rt.pattern, func(w http.ResponseWriter, r *http.Request) {
			v, err := s.call(w, r, rt)
			s.reply(w, r, v, err)
			s.answered(w, r)
		})
	}
	mux.HandleFunc(api.RouteRequest, s.request)
	mux.HandleFunc(api.RouteReport, s.report)
	mux.HandleFunc(api.RouteWatch, s.watch)
	mux.HandleFunc(api.RouteFleet, s.fleet)
	mux.HandleFunc(api.RouteAttach, s.attach)
	return s.admit(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, pattern := mux.Handler(r); pattern == "" {
			s.reply(w, r, nil, api.NewError(api.BadOp, fmt.Sprintf("no such call: %s %s", r.Method, r.URL.Path)))
			return
		}
		mux.ServeHTTP(w, r)
	}))
}

// admit says in every reply who gives it, and keeps the requests of web pages from next.
func (s *Server) admit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(api.HeaderDaemon, host.Version().Version)
		w.Header().Set(api.HeaderHost, s.name)
		if r.Header.Get("Origin") != "" {
			s.log.Warn("refused a web page", "origin", r.Header.Get("Origin"), "path", r.URL.Path)
			writeJSON(w, http.StatusForbidden, api.NewError(api.BadRequest, "requests of web pages are refused"))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// call runs one route.
func (s *Server) call(w http.ResponseWriter, r *http.Request, rt route) (any, error) {
	c, err := caller(r)
	if err != nil {
		return nil, err
	}
	if rt.control {
		if err := s.host.CheckControl(c); err != nil {
			return nil, err
		}
	}
	r.Body = http.MaxBytesReader(w, r.Body, rt.body)
	return rt.handle(r, c)
}

// answered tells the host that the answer to a named call is on its way, whatever
// becomes of this process.
func (s *Server) answered(w http.ResponseWriter, r *http.Request) {
	if name := named(r); name != "" && http.NewResponseController(w).Flush() == nil {
		s.host.Answered(name)
	}
}

// named is the name of the call that a request is, or asks for; "" if it has none.
func named(r *http.Request) string {
	if r.Pattern == api.RouteRequest {
		return r.PathValue("target")
	}
	return r.Header.Get(api.HeaderRequest)
}

// caller is who sent the request: the kernel's word for the process, the
// caller's own for what the kernel cannot tell.
func caller(r *http.Request) (host.Caller, error) {
	c := host.Caller{Request: r.Header.Get(api.HeaderRequest), Interface: r.Header.Get(api.HeaderInterface) == "1"}
	c.All = c.Interface || r.URL.Query().Get("all") == "1"
	if _, ok := api.ParseSessionID(c.Request); !ok && c.Request != "" {
		return c, api.NewError(api.BadRequest, fmt.Sprintf("header %s: a call's name is a UUID", api.HeaderRequest))
	}
	if p, ok := r.Context().Value(peerKey{}).(peer); ok {
		c.PID = p.pid
	}
	var err error
	if c.Session, err = url.PathUnescape(r.Header.Get(api.HeaderSession)); err != nil {
		return c, badHeader(api.HeaderSession, err)
	}
	if c.Cwd, err = url.PathUnescape(r.Header.Get(api.HeaderCwd)); err != nil {
		return c, badHeader(api.HeaderCwd, err)
	}
	return c, nil
}

func badHeader(name string, err error) error {
	return api.NewError(api.BadRequest, fmt.Sprintf("header %s: %v", name, err))
}

// decode reads a request's JSON. Fields that this version does not know are
// passed over: the caller may be newer.
func decode(r *http.Request, v any) error {
	err := json.NewDecoder(r.Body).Decode(v)
	if tooLong, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return api.NewError(api.BadRequest, fmt.Sprintf("the request is longer than %d bytes", tooLong.Limit))
	}
	if err != nil {
		return api.NewError(api.BadRequest, fmt.Sprintf("the request is not the JSON it should be: %v", err))
	}
	return nil
}

// reply encodes what a call gave. What is no *api.Error is a defect of ours:
// it is logged here, once, and told without details.
func (s *Server) reply(w http.ResponseWriter, r *http.Request, v any, err error) {
	switch e, ok := errors.AsType[*api.Error](err); {
	case err == nil:
		writeJSON(w, http.StatusOK, v)
	case ok:
		writeJSON(w, e.Code.HTTPStatus(), e)
	case errors.Is(err, context.Canceled) && s.closing() && !s.stopped() && named(r) != "":
		panic(http.ErrAbortHandler) // its caller asks the next host
	case errors.Is(err, context.Canceled):
		writeJSON(w, api.Unavailable.HTTPStatus(), api.NewError(api.Unavailable, "the daemon is closing; the session goes on"))
	case host.Unable(err):
		writeJSON(w, api.Unavailable.HTTPStatus(), api.NewError(api.Unavailable, err.Error()))
	default:
		s.log.Error("call failed", "method", r.Method, "path", r.URL.Path, "error", err)
		writeJSON(w, api.Internal.HTTPStatus(), api.NewError(api.Internal, fmt.Sprintf("%v; the daemon's log may say more", err)))
	}
}

// writeJSON sends a value as one line. A reader that has gone away is no error
// of anybody's.
func writeJSON(w http.ResponseWriter, status int, v any) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(fmt.Sprintf("reply %T cannot be encoded: %v", v, err)) // broken invariant: api types encode
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(b.Len())) // a quick call reads no other
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes())
}
