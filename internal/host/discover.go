package host

import (
	"errors"
	"path/filepath"
	"slices"
	"time"

	"termio/internal/agent"
	"termio/internal/pty"
	"termio/internal/store"
)

// discover binds the conversation that an agent began by itself, where no report has
// told of it: its hooks are not installed, or not trusted. It binds only what can be
// nobody else's; with a doubt the session stays without until a report decides. It
// looks from the agent's first turn on, which is when agents begin to keep a record.
func (s *session) discover(r *running) {
	s.mu.Lock()
	rec := s.rec
	begun := s.machine.Turn() > 0 || s.machine.Prompts() > 0
	current := s.run == r && !s.closed
	s.mu.Unlock()
	if !current || !begun || rec.Conversation != "" || !r.man.Discovers() {
		return
	}
	var held []string
	if r.man.HoldsRecord() {
		var err error
		if held, err = r.openFiles(s.h.catalogue()); err != nil && !errors.Is(err, errors.ErrUnsupported) {
			s.log.Debug("the agent's files are not to be known", "error", err)
			return
		}
	}
	if held == nil && (s.searchedLately() || s.hasRival(rec)) {
		return
	}
	found, candidates, err := r.man.Discover(s.h.placeOf(rec), agent.Binding{
		Folder: realPath(rec.Folder), Launched: r.started, Held: held, Claimed: s.claimed, Real: realPath,
	})
	switch {
	case err != nil:
		s.log.Debug("the agent's records are not to be read", "error", err)
	case candidates > 1:
		s.log.Debug("no conversation bound: several could be this session's", "candidates", candidates)
	case candidates == 1:
		s.bindRecord(r, found)
	}
}

// searchEvery bounds how often a store is searched where an agent's open files do not
// tell: stores grow large.
const searchEvery = 500 * time.Millisecond

// searchedLately reports whether the store has just been searched for the session's
// record; else it counts as searched now.
func (s *session) searchedLately() bool {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.searched) < searchEvery {
		return true
	}
	s.searched = now
	return false
}

// bindRecord notes the conversation that was found, unless a report was faster.
func (s *session) bindRecord(r *running, found agent.Record) {
	s.mu.Lock()
	current := s.run == r && !s.closed
	s.mu.Unlock()
	if !current {
		return
	}
	bound := false
	err := s.save(func(rec *store.Session) {
		if bound = rec.Conversation == ""; bound {
			rec.Conversation, rec.Prompted, rec.Transcript = found.ID, true, found.Path
		}
	})
	switch {
	case err != nil:
		s.log.Error("conversation not bound", "error", err)
	case bound:
		s.log.Info("conversation bound by its record", "conversation", found.ID)
		s.lines.follow(found.Path)
	}
}

// claimed reports whether another session has a conversation, or had it.
func (s *session) claimed(conversation string) bool {
	if b := s.h.boundTo(conversation); b != nil && b != s {
		return true
	}
	recs, err := s.h.store.Sessions(store.Filter{Closed: true})
	if err != nil {
		s.log.Error("sessions not read", "error", err)
		return true
	}
	return slices.ContainsFunc(recs, func(r store.Session) bool {
		return r.ID != s.id && (r.Conversation == conversation || slices.Contains(r.ConversationPast, conversation))
	})
}

// hasRival reports whether a new record in the session's folder may be that of another
// session: one with the same agent there that has no conversation yet either.
func (s *session) hasRival(rec store.Session) bool {
	folder := realPath(rec.Folder)
	return slices.ContainsFunc(s.h.open(), func(o *session) bool {
		if o == s || o.agentNow().IsShell() {
			return false
		}
		r := o.record()
		return r.AgentID == rec.AgentID && r.Conversation == "" && realPath(r.Folder) == folder
	})
}

// openFiles are the files that the agent has open. What an interpreter runs, such as
// the launcher that a package manager installs, may have the agent proper as its
// child. It is errors.ErrUnsupported where the system does not tell.
func (r *running) openFiles(cat *agent.Catalogue) ([]string, error) {
	files, err := pty.OpenFiles(r.proc.PID)
	if err != nil {
		return nil, err
	}
	args, err := pty.Args(r.proc.PID)
	if err != nil || len(args) == 0 || !slices.Contains(interpreters, filepath.Base(args[0])) {
		return append([]string{}, files...), nil
	}
	info, err := pty.Inspect(r.proc.PID)
	if err != nil {
		return nil, err
	}
	members, err := pty.Members(info.Session)
	if err != nil {
		return nil, err
	}
	for _, p := range members {
		if p.Parent != r.proc.PID {
			continue
		}
		if args, err := pty.Args(p.PID); err == nil {
			if m, ok := recognise(cat, args); ok && m.ID == r.man.ID {
				more, _ := pty.OpenFiles(p.PID) // it may have ended meanwhile
				files = append(files, more...)
			}
		}
	}
	return append([]string{}, files...), nil
}

// realPath is a path after symlinks; one that cannot be followed stays as it is.
func realPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}
