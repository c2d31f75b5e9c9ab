package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"termio/internal/api"
	"termio/internal/host"
)

// report takes an agent's report. It answers as fast as it can: an agent waits
// for it at every tool call.
func (s *Server) report(w http.ResponseWriter, r *http.Request) {
	c, err := caller(r)
	if err != nil {
		s.reply(w, r, nil, err)
		return
	}
	q := r.URL.Query()
	at, err := number(r, "at", 0)
	if err != nil {
		s.reply(w, r, nil, err)
		return
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxReport))
	if err == nil {
		err = s.host.Report(c, host.Report{
			State:            q.Get("state"),
			Event:            q.Get("event"),
			ConversationFrom: q.Get("conversation_from"),
			Transcript:       q.Get("transcript") == "1",
			At:               at,
			Payload:          body,
		})
	}
	if err != nil {
		s.reply(w, r, nil, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// watch streams events, one JSON object a line.
func (s *Server) watch(w http.ResponseWriter, r *http.Request) {
	watch, err := s.subscribe(r)
	if err != nil {
		s.reply(w, r, nil, err)
		return
	}
	defer watch.Close()
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.Header().Set(api.HeaderSeq, strconv.FormatInt(watch.Seq(), 10))
	w.WriteHeader(http.StatusOK)
	out := lineWriter{w: w, flush: http.NewResponseController(w).Flush}
	if lost := watch.Lost(); lost != nil {
		out.value(lost)
	}
	silent := api.HeartbeatAfter
	if !flag(r, "heartbeat") {
		silent = 0
	}
	out.sync() // the head goes out though there may be nothing to say yet
	for out.err == nil {
		n, err := watch.Next(r.Context(), silent)
		switch {
		case err == nil:
			out.line(n.Line)
		case errors.Is(err, host.ErrSilent):
			out.line([]byte(api.Heartbeat + "\n"))
		default:
			s.log.Debug("watch ended", "reason", err)
			s.endWatch(&out, err)
			return
		}
		if !watch.Pending() { // what has piled up goes out in one write
			out.sync()
		}
	}
}

// fleet streams what interfaces show, one JSON object a line.
func (s *Server) fleet(w http.ResponseWriter, r *http.Request) {
	c, err := caller(r)
	if err != nil {
		s.reply(w, r, nil, err)
		return
	}
	view, err := s.host.Fleet(c)
	if err != nil {
		s.reply(w, r, nil, err)
		return
	}
	defer view.Close()
	line, err := view.Next(r.Context())
	if err != nil {
		s.reply(w, r, nil, err)
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	out := lineWriter{w: w, flush: http.NewResponseController(w).Flush}
	for err == nil && out.err == nil {
		out.value(line)
		out.sync()
		line, err = view.Next(r.Context())
	}
	s.log.Debug("fleet stream ended", "reason", err)
	s.endWatch(&out, err)
}

// endWatch says in the last line why the daemon ends a watch. One whose host goes
// while the daemon stays just breaks off, as it does when a host is killed: its reader
// goes on with the next host.
func (s *Server) endWatch(out *lineWriter, err error) {
	switch {
	case errors.Is(err, host.ErrLagged):
		out.value(api.NewError(api.Unavailable, "cut off: the events came faster than they were read; begin again with what is now, or with since and the last number read"))
	case s.stopped():
		out.value(api.NewError(api.Unavailable, "the daemon was stopped"))
	case s.closing():
		panic(http.ErrAbortHandler)
	}
	out.sync()
}

// subscribe reads the watch route's query.
func (s *Server) subscribe(r *http.Request) (*host.Watch, error) {
	c, err := caller(r)
	if err != nil {
		return nil, err
	}
	if err := s.host.CheckControl(c); err != nil {
		return nil, err
	}
	since, err := number(r, "since", -1)
	if err != nil {
		return nil, err
	}
	opts := host.WatchOptions{Since: since, Snapshot: r.URL.Query().Get("snapshot") != "0"}
	for _, word := range strings.FieldsFunc(r.URL.Query().Get("state"), func(c rune) bool { return c == ',' || c == ' ' }) {
		st, ok := api.ParseStatus(word)
		if !ok {
			return nil, api.NewError(api.BadRequest, fmt.Sprintf("state %q: use working, idle, done, needs-you, stalled or closed", word))
		}
		opts.States = append(opts.States, st)
	}
	return s.host.Watch(c, opts)
}

// lineWriter writes lines until the first error.
type lineWriter struct {
	w     io.Writer
	flush func() error
	err   error
}

func (lw *lineWriter) value(v any) {
	b, err := json.Marshal(v)
	if err != nil {
		lw.err = err
		return
	}
	lw.line(append(b, '\n'))
}

// line writes a line that ends as it should. It may be another's too, and stays as it is.
func (lw *lineWriter) line(b []byte) {
	if lw.err == nil {
		_, lw.err = lw.w.Write(b)
	}
}

func (lw *lineWriter) sync() {
	if lw.err == nil {
		lw.err = lw.flush()
	}
}

// attach turns the connection into a stream of frames and hands it to the host.
func (s *Server) attach(w http.ResponseWriter, r *http.Request) {
	a, err := s.attachment(r)
	if err != nil {
		s.reply(w, r, nil, err)
		return
	}
	conn, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		s.reply(w, r, nil, fmt.Errorf("take over the connection: %w", err))
		return
	}
	head := "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: " + api.AttachProtocol + "\r\n" +
		api.HeaderHost + ": " + s.name + "\r\n\r\n"
	if _, err := conn.Write([]byte(head)); err != nil {
		s.log.Debug("attach ended", "reason", err)
		_ = conn.Close()
		return
	}
	a.Serve(conn, rw.Reader)
}

// attachment reads an attach request.
func (s *Server) attachment(r *http.Request) (*host.Attachment, error) {
	c, err := caller(r)
	if err != nil {
		return nil, err
	}
	if !strings.EqualFold(r.Header.Get("Upgrade"), api.AttachProtocol) {
		return nil, api.NewError(api.BadRequest, "attach needs the header Upgrade: "+api.AttachProtocol)
	}
	o := host.AttachOptions{Raw: flag(r, "raw"), Back: flag(r, "back")}
	for name, side := range map[string]*int{"cols": &o.Size.Cols, "rows": &o.Size.Rows, "width": &o.Size.Width, "height": &o.Size.Height} {
		n, err := number(r, name, 0)
		if err != nil {
			return nil, err
		}
		*side = int(n)
	}
	return s.host.Attach(c, r.PathValue("target"), o)
}
