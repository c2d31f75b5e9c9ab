package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"termio/internal/api"
	"termio/internal/pty"
	"termio/internal/store"
)

var errNotFolder = errors.New("not a folder")

// A Caller is who makes a request.
type Caller struct {
	PID     int    // its process, by the kernel's word; 0 if unknown
	Session string // what it says of its session (TERMIO_SESSION)
	Cwd     string // its working folder
	All     bool   // it asks for every project
	Request string // its own name for the call; "" if it has none

	// Interface: a person's own, which is in no session and asks for every project.
	Interface bool
}

// scope is what a caller may see.
type scope struct {
	all     bool          // every project
	project store.Project // else this one; a zero ID is none yet
	from    *session      // the session that the caller is in, or nil
	fromRec store.Session // its record; also of one that has ended
}

// holds reports whether a session of that project is in scope.
func (sc scope) holds(project int64) bool { return sc.all || sc.project.ID == project }

// name is the scope's name for lists.
func (sc scope) name() string {
	if sc.all {
		return "all"
	}
	return sc.project.Name
}

// scopeOf resolves a caller to a project: the one of the session it runs in, else
// the one around its folder.
func (h *Host) scopeOf(c Caller) (scope, error) {
	sc, err := h.callerSession(c)
	if err != nil {
		return sc, err
	}
	if c.All {
		if sc.fromRec.ID != "" {
			return sc, api.NewError(api.NoScope, "a session sees its own project only; --all is for a shell outside every session")
		}
		sc.all = true
		return sc, nil
	}
	if sc.fromRec.ID != "" {
		return sc, h.ownProject(&sc)
	}
	p, ok, err := h.projectAround(c.Cwd)
	if err != nil {
		return sc, err
	}
	if !ok {
		return sc, api.NewError(api.NoScope, noProject(c.Cwd))
	}
	sc.project = p
	return sc, nil
}

func noProject(cwd string) string {
	if cwd == "" {
		return "the caller is in no session and names no folder; run termio in the project's folder first"
	}
	return fmt.Sprintf("%s is in no project; open it with: termio open %s", cwd, cwd)
}

// ownProject puts the project of the caller's session into the scope.
func (h *Host) ownProject(sc *scope) error {
	all, err := h.store.Projects()
	if err != nil {
		return err
	}
	for _, p := range all {
		if p.ID == sc.fromRec.ProjectID {
			sc.project = p
			return nil
		}
	}
	return fmt.Errorf("project %d of session %s is not stored", sc.fromRec.ProjectID, sc.fromRec.ID)
}

// callerSession finds the session that the caller runs in. A process that
// descends from a session's own is in that one, whatever its variable says;
// otherwise the variable is believed: children of tmux, setsid and nohup have
// lost their ancestry and still belong to it.
func (h *Host) callerSession(c Caller) (scope, error) {
	var sc scope
	if s := h.ancestor(c.PID); s != nil {
		if c.Session != "" && c.Session != string(s.id) {
			h.log.Warn("a caller's variable names another session than its ancestry", "session", s.id, "variable", printable(c.Session), "pid", c.PID)
		}
		sc.from, sc.fromRec = s, s.record()
		return sc, nil
	}
	id, ok := api.ParseSessionID(c.Session)
	if !ok {
		return sc, nil
	}
	if s := h.session(id); s != nil {
		sc.from, sc.fromRec = s, s.record()
		return sc, nil
	}
	rec, found, err := h.store.Session(id)
	if err != nil {
		return sc, err
	}
	if found {
		sc.fromRec = rec
	}
	return sc, nil
}

// ancestor is the session whose terminal's leader is the nearest ancestor of a
// process, or nil.
func (h *Host) ancestor(pid int) *session {
	if pid <= 0 {
		return nil
	}
	chain := pty.AncestorsTo(pid, h.isLeader)
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, p := range chain {
		if s := h.leaders[p.PID]; s != nil {
			return s
		}
	}
	return nil
}

// projectAround finds the project that a folder belongs to, the most specific
// first. A work tree belongs to its repository's project, wherever it lies.
func (h *Host) projectAround(dir string) (store.Project, bool, error) {
	if dir == "" || !filepath.IsAbs(dir) {
		return store.Project{}, false, nil
	}
	// A folder that is gone still has a name to look for.
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	dir = filepath.Clean(dir)
	p, found, err := h.store.ProjectFor(dir)
	if err != nil {
		return p, false, err
	}
	tree, ok := findWorkTree(dir)
	if !ok || tree.main == tree.root || found && holds(tree.root, p.Root) {
		return p, found, nil
	}
	rel, err := filepath.Rel(tree.root, dir)
	if err != nil {
		return p, found, nil
	}
	if mp, ok, err := h.store.ProjectFor(filepath.Join(tree.main, rel)); err != nil || ok {
		return mp, ok, err
	}
	return p, found, nil
}

// openAround finds the project around a folder or opens one: the top of its
// repository, else, if the caller named the folder, the folder itself.
func (h *Host) openAround(dir string, named bool) (store.Project, error) {
	p, ok, err := h.projectAround(dir)
	if err != nil || ok {
		return p, err
	}
	root := dir
	if tree, ok := findWorkTree(dir); ok {
		root = tree.main
	} else if !named {
		return p, api.NewError(api.NoScope, noProject(dir))
	}
	p, created, err := h.addProject(root)
	if created {
		h.fleet.tell(func(*FleetView) {})
	}
	return p, err
}

// addProject opens a folder as a project.
func (h *Host) addProject(dir string) (store.Project, bool, error) {
	root, err := realFolder(dir)
	if err != nil {
		return store.Project{}, false, folderError(dir, err)
	}
	return h.store.AddProject(root, time.Now())
}

// folderError says what is wrong with a folder that somebody named.
func folderError(dir string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return api.NewError(api.BadRequest, fmt.Sprintf("there is no folder %s", dir))
	case errors.Is(err, errNotFolder):
		return api.NewError(api.BadRequest, fmt.Sprintf("%s is not a folder", dir))
	}
	return api.NewError(api.BadRequest, fmt.Sprintf("folder %s: %v", dir, err))
}

// OpenProject adds a folder as a project, or brings a session to the front.
func (h *Host) OpenProject(c Caller, req api.OpenRequest) (api.OpenReply, error) {
	if req.Link != "" {
		v, err := h.Focus(c, req.Link)
		if err != nil {
			return api.OpenReply{}, err
		}
		return api.OpenReply{Head: api.OKHead(), Focused: v.Focused}, nil
	}
	if !filepath.IsAbs(req.Path) {
		return api.OpenReply{}, api.NewError(api.BadRequest, fmt.Sprintf("path %q is not absolute", req.Path))
	}
	p, created, err := h.addProject(req.Path)
	if err != nil {
		return api.OpenReply{}, err
	}
	h.fleet.tell(func(v *FleetView) { v.open, v.focus = p.Root, "" })
	return api.OpenReply{Head: api.OKHead(), Project: p.Name, Root: p.Root, Created: created}, nil
}

// find resolves an address to an open session in the caller's scope.
func (h *Host) find(c Caller, target string) (*session, error) {
	_, s, err := h.findFor(c, target)
	return s, err
}

// findFor is find, with the scope.
func (h *Host) findFor(c Caller, target string) (scope, *session, error) {
	sc, err := h.scopeOf(c)
	var s *session
	if err == nil {
		s, err = h.findIn(sc, target)
	}
	if code := api.CodeOf(err); err != nil && sc.fromRec.ID == "" && (code == api.NoScope || code == api.NotFound) {
		s, err = h.findElsewhere(target, err)
	}
	return sc, s, err
}

// findElsewhere is for a person outside every session who names a session by its whole
// address and is not in its project. If the project's folder is gone nobody can be in
// it, so the session is found; else the error says where to go.
func (h *Host) findElsewhere(target string, notHere error) (*session, error) {
	id, ok := api.ParseSessionID(strings.TrimPrefix(strings.TrimSpace(target), api.LinkPrefix))
	if !ok {
		return nil, notHere
	}
	s := h.session(id)
	if s == nil {
		return nil, notHere
	}
	if _, err := os.Stat(s.project.Root); errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	return nil, api.NewError(api.CodeOf(notHere), fmt.Sprintf("session %s is in the project %s: call from there", id.Short(), s.project.Root))
}

// findIn resolves an address within a scope. One that fits only sessions that have
// ended is not_live, so that a caller can tell an end from a mistake.
func (h *Host) findIn(sc scope, target string) (*session, error) {
	var open []addressee
	for _, s := range h.open() {
		if sc.holds(s.project.ID) {
			open = append(open, addressee{s.id, s.displayTitle()})
		}
	}
	id, err := resolve(target, open)
	if err == nil {
		if s := h.session(id); s != nil {
			return s, nil
		}
		return nil, notLive(id)
	}
	if api.CodeOf(err) != api.NotFound {
		return nil, err
	}
	if rec, ended := h.findEnded(sc, target); ended == nil {
		return nil, notLive(rec.ID)
	}
	return nil, err
}

func notLive(id api.SessionID) error {
	return api.NewError(api.NotLive, fmt.Sprintf("session %s has ended; termio sessions resume %s starts it again", id.Link(), id.Short()))
}

// findEnded resolves an address among the sessions that have ended.
func (h *Host) findEnded(sc scope, target string) (store.Session, error) {
	all, err := h.records(store.Filter{ProjectID: sc.project.ID, Closed: true})
	if err != nil {
		return store.Session{}, err
	}
	byID := map[api.SessionID]store.Session{}
	var ended []addressee
	for _, r := range all {
		if r.Closed() {
			byID[r.ID] = r
			ended = append(ended, addressee{r.ID, h.recordTitle(r)})
		}
	}
	id, err := resolve(target, ended)
	return byID[id], err
}
