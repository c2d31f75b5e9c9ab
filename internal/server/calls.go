package server

import (
	"fmt"
	"net/http"
	"strconv"

	"termio/internal/api"
	"termio/internal/host"
)

func (s *Server) version(*http.Request, host.Caller) (any, error) { return host.Version(), nil }

func (s *Server) list(r *http.Request, c host.Caller) (any, error) {
	return s.host.List(c, flag(r, "closed"))
}

func (s *Server) spawn(r *http.Request, c host.Caller) (any, error) {
	var req api.SpawnRequest
	if err := decode(r, &req); err != nil {
		return nil, err
	}
	return s.host.Spawn(r.Context(), c, req)
}

func (s *Server) run(r *http.Request, c host.Caller) (any, error) {
	var req api.RunRequest
	if err := decode(r, &req); err != nil {
		return nil, err
	}
	return s.host.Run(r.Context(), c, req)
}

func (s *Server) send(r *http.Request, c host.Caller) (any, error) {
	var req api.SendRequest
	if err := decode(r, &req); err != nil {
		return nil, err
	}
	return s.host.Send(r.Context(), c, r.PathValue("target"), req)
}

func (s *Server) read(r *http.Request, c host.Caller) (any, error) {
	lines, err := number(r, "lines", 0)
	if err != nil {
		return nil, err
	}
	return s.host.Read(c, r.PathValue("target"), int(lines), flag(r, "scrollback"))
}

func (s *Server) close(r *http.Request, c host.Caller) (any, error) {
	return s.host.CloseSession(r.Context(), c, r.PathValue("target"))
}

func (s *Server) focus(r *http.Request, c host.Caller) (any, error) {
	return s.host.Focus(c, r.PathValue("target"))
}

func (s *Server) resume(r *http.Request, c host.Caller) (any, error) {
	return s.host.Resume(r.Context(), c, r.PathValue("target"))
}

func (s *Server) rename(r *http.Request, c host.Caller) (any, error) {
	var req api.RenameRequest
	if err := decode(r, &req); err != nil {
		return nil, err
	}
	return s.host.Rename(c, r.PathValue("target"), req)
}

func (s *Server) explain(r *http.Request, c host.Caller) (any, error) {
	return s.host.Explain(c, r.PathValue("target"))
}

func (s *Server) notify(r *http.Request, c host.Caller) (any, error) {
	var req api.NotifyRequest
	if err := decode(r, &req); err != nil {
		return nil, err
	}
	return s.host.Notify(r.Context(), c, req)
}

func (s *Server) open(r *http.Request, c host.Caller) (any, error) {
	var req api.OpenRequest
	if err := decode(r, &req); err != nil {
		return nil, err
	}
	return s.host.OpenProject(c, req)
}

func (s *Server) agents(*http.Request, host.Caller) (any, error) { return s.host.Agents() }

func (s *Server) history(r *http.Request, c host.Caller) (any, error) {
	limit, err := number(r, "limit", 0)
	if err != nil {
		return nil, err
	}
	q := r.URL.Query()
	return s.host.History(c, host.HistoryRequest{Project: q.Get("project"), Agent: q.Get("agent"), Limit: int(min(limit, 1<<20))})
}

func (s *Server) settings(*http.Request, host.Caller) (any, error) { return s.host.Settings() }

func (s *Server) set(r *http.Request, _ host.Caller) (any, error) {
	var req api.SettingsChange
	if err := decode(r, &req); err != nil {
		return nil, err
	}
	return s.host.Set(req)
}

func (s *Server) daemon(*http.Request, host.Caller) (any, error) { return s.host.Daemon() }

func (s *Server) stop(r *http.Request, _ host.Caller) (any, error) { return s.host.Stop(r.Context()) }

// request answers a call that was made before, by its name.
func (s *Server) request(w http.ResponseWriter, r *http.Request) {
	var reply any
	c, err := caller(r)
	if err == nil {
		err = s.host.CheckControl(c)
	}
	if err == nil {
		name, known := named(r), false
		if reply, known, err = s.host.Request(r.Context(), name); !known {
			name = api.RequestUnknown
		}
		w.Header().Set(api.HeaderRequest, name)
	}
	s.reply(w, r, reply, err)
	s.answered(w, r)
}

// flag is a query parameter that is 1 when set.
func flag(r *http.Request, name string) bool { return r.URL.Query().Get(name) == "1" }

// number is a query parameter that holds a number of zero or more.
func number(r *http.Request, name string, absent int64) (int64, error) {
	v := r.URL.Query().Get(name)
	if v == "" {
		return absent, nil
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < 0 {
		return 0, api.NewError(api.BadRequest, fmt.Sprintf("%s=%q: give a number of 0 or more", name, v))
	}
	return n, nil
}
