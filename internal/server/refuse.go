package server

import (
	"fmt"
	"log/slog"
	"net/http"

	"termio/internal/api"
	"termio/internal/host"
)

// NewRefusing makes a server for a host that could not be opened: it tells every
// caller why at once, instead of leaving them to wait for a host that will not
// come. Asked to stop, it calls stop; agents' reports are taken without a word.
func NewRefusing(why error, stop func() error, log *slog.Logger) *Server {
	s := newServer(log)
	mux := http.NewServeMux()
	mux.HandleFunc(api.RouteVersion, func(w http.ResponseWriter, r *http.Request) {
		s.reply(w, r, host.Version(), nil)
	})
	mux.HandleFunc(api.RouteReport, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc(api.RouteStop, func(w http.ResponseWriter, r *http.Request) {
		err := stop()
		s.reply(w, r, api.StopReply{Head: api.OKHead(), Stopped: err == nil}, err)
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.reply(w, r, nil, api.NewError(api.Unavailable, fmt.Sprintf("the termio daemon cannot start: %v", why)))
	})
	s.http.Handler = s.admit(mux)
	return s
}
