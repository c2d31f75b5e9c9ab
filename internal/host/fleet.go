package host

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"termio/internal/api"
	"termio/internal/store"
)

// Bounds of what an interface is told.
const (
	// fleetEvery is the least time between two lines of one stream: a title that turns
	// ten times a second makes no more than that many lines.
	fleetEvery = 100 * time.Millisecond
	// fleetEnded is how many sessions that ended are told of, the newest.
	fleetEnded = 200
)

// fleet is what open interfaces are told of. Whoever changes something says which
// session it is; what it looks like then is looked up by the goroutine that tells it,
// so that nothing queues and a slow reader sees fewer states, never old ones.
type fleet struct {
	mu    sync.Mutex // taken under session.mu and bus.mu; nothing is taken under it
	views map[*FleetView]struct{}
}

// A FleetView is one open interface. Its methods belong to one goroutine.
type FleetView struct {
	h    *Host
	wake chan struct{} // of size 1

	// Under fleet.mu.
	dirty       map[api.SessionID]bool
	focus, open string

	// The reader's own.
	whole bool // the first line has been given
	last  time.Time
	shown map[string]api.SessionInfo
	told  []api.ProjectInfo // projects
}

// Fleet opens a view of every project and session. A caller in a session has none.
func (h *Host) Fleet(c Caller) (*FleetView, error) {
	c.All = true
	if _, err := h.scopeOf(c); err != nil {
		return nil, err
	}
	v := &FleetView{
		h: h, wake: make(chan struct{}, 1), dirty: map[api.SessionID]bool{}, shown: map[string]api.SessionInfo{},
	}
	h.fleet.mu.Lock()
	defer h.fleet.mu.Unlock()
	if h.fleet.views == nil {
		h.fleet.views = map[*FleetView]struct{}{}
	}
	h.fleet.views[v] = struct{}{}
	return v, nil
}

// Close ends the view.
func (v *FleetView) Close() {
	v.h.fleet.mu.Lock()
	defer v.h.fleet.mu.Unlock()
	delete(v.h.fleet.views, v)
}

// tell changes what every view has to tell, and reports whether there is one.
func (f *fleet) tell(change func(*FleetView)) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for v := range f.views {
		change(v)
		poke(v.wake)
	}
	return len(f.views) > 0
}

// touched notes that a session looks different from before.
func (f *fleet) touched(id api.SessionID) { f.tell(func(v *FleetView) { v.dirty[id] = true }) }

// Next waits for something to tell. The first line is whole, and comes at once.
func (v *FleetView) Next(ctx context.Context) (api.FleetLine, error) {
	if !v.whole {
		v.whole = true
		line, err := v.everything()
		v.last = time.Now()
		return line, err
	}
	for {
		select {
		case <-v.wake:
		case <-ctx.Done():
			return api.FleetLine{}, ctx.Err()
		case <-v.h.ctx.Done():
			return api.FleetLine{}, errClosed
		}
		if rest := fleetEvery - time.Since(v.last); rest > 0 {
			t := time.NewTimer(rest)
			select {
			case <-t.C:
			case <-ctx.Done():
				t.Stop()
				return api.FleetLine{}, ctx.Err()
			}
		}
		line, any, err := v.changes()
		if any || err != nil {
			v.last = time.Now()
			return line, err
		}
	}
}

// everything is the first line.
func (v *FleetView) everything() (api.FleetLine, error) {
	line := api.FleetLine{SchemaVersion: api.SchemaVersion, Whole: true}
	projects, err := v.h.store.Projects()
	if err != nil {
		return line, err
	}
	now := time.Now()
	open := map[api.SessionID]bool{}
	for _, s := range v.h.open() {
		open[s.id] = true
		line.Sessions = append(line.Sessions, s.info(now, true))
	}
	records, err := v.h.records(store.Filter{Closed: true})
	if err != nil {
		return line, err
	}
	var ended []store.Session
	for _, r := range records {
		if r.Closed() && !open[r.ID] {
			ended = append(ended, r)
		}
	}
	slices.SortFunc(ended, func(a, b store.Session) int { return b.ClosedAt.Compare(a.ClosedAt) })
	for _, r := range ended[:min(len(ended), fleetEnded)] {
		line.Sessions = append(line.Sessions, v.h.endedRow(r, projects, now))
	}
	for _, i := range line.Sessions {
		v.remember(i)
	}
	line.Projects = v.h.projectInfos(projects)
	v.told = line.Projects
	return line, nil
}

// remember notes a row as told and reports whether it is another one than before.
func (v *FleetView) remember(i api.SessionInfo) bool {
	i.LastActivity = 0 // of each output: no reason for a line
	if old, ok := v.shown[i.Link]; ok && reflect.DeepEqual(old, i) {
		return false
	}
	v.shown[i.Link] = i
	return true
}

// changes is the next line; any is false if all is as it was told.
func (v *FleetView) changes() (line api.FleetLine, any bool, err error) {
	f := &v.h.fleet
	f.mu.Lock()
	dirty := slices.Sorted(maps.Keys(v.dirty))
	clear(v.dirty)
	line = api.FleetLine{SchemaVersion: api.SchemaVersion, Focus: v.focus, Open: v.open}
	v.focus, v.open = "", ""
	f.mu.Unlock()
	any = line.Focus != "" || line.Open != ""

	projects, err := v.h.store.Projects()
	if err != nil {
		return line, false, err
	}
	now := time.Now()
	for _, id := range dirty {
		i, ok, err := v.h.row(id, projects, now)
		if err != nil {
			return line, false, err
		}
		if ok && v.remember(i) {
			line.Sessions = append(line.Sessions, i)
			any = true
		}
	}
	if p := v.h.projectInfos(projects); !reflect.DeepEqual(p, v.told) {
		line.Projects, v.told, any = p, p, true
	}
	return line, any, nil
}

// row is a session as interfaces show it now; ok is false while there is nothing to
// show of it: it is just beginning, or its end is not stored yet.
func (h *Host) row(id api.SessionID, projects []store.Project, now time.Time) (i api.SessionInfo, ok bool, err error) {
	if s := h.session(id); s != nil {
		s.mu.Lock()
		over := s.overLocked()
		s.mu.Unlock()
		if !over {
			return s.info(now, true), true, nil
		}
	}
	r, found, err := h.store.Session(id)
	if err != nil || !found || !r.Closed() {
		return i, false, err
	}
	return h.endedRow(r, projects, now), true, nil
}

// endedRow is endedInfo with the session's project.
func (h *Host) endedRow(r store.Session, projects []store.Project, now time.Time) api.SessionInfo {
	i := h.endedInfo(r, now)
	for _, p := range projects {
		if p.ID == r.ProjectID {
			i.Project, i.ProjectRoot = p.Name, p.Root
		}
	}
	return i
}

// projectInfos are the projects with their work trees, as git's own files tell them.
func (h *Host) projectInfos(projects []store.Project) []api.ProjectInfo {
	infos := make([]api.ProjectInfo, 0, len(projects))
	for _, p := range projects {
		infos = append(infos, api.ProjectInfo{Root: p.Root, Name: p.Name, Worktrees: workTreesOf(p.Root)})
	}
	return infos
}

// maxWorkTrees bounds how many work trees of a project are looked at.
const maxWorkTrees = 200

// workTreesOf lists the work trees of the repository whose first one is root; none
// where root is no such folder. It starts no git: it runs with every change shown.
func workTreesOf(root string) []api.WorktreeInfo {
	common := filepath.Join(root, ".git")
	if fi, err := os.Stat(common); err != nil || !fi.IsDir() {
		return nil
	}
	trees := []api.WorktreeInfo{{Path: root, Branch: branchOf(common)}}
	entries, _ := os.ReadDir(filepath.Join(common, "worktrees")) // absent where there is one tree only
	for _, e := range entries[:min(len(entries), maxWorkTrees)] {
		dir := filepath.Join(common, "worktrees", e.Name())
		dotGit, ok := readLink(filepath.Join(dir, "gitdir"), "", dir)
		if !ok {
			continue
		}
		path := filepath.Dir(dotGit)
		if real, err := filepath.EvalSymlinks(path); err == nil { // else it was removed by hand
			trees = append(trees, api.WorktreeInfo{Path: real, Branch: branchOf(dir)})
		}
	}
	return trees
}

// branchOf is the branch that a git folder's HEAD names; "" where it names none.
func branchOf(gitDir string) string {
	b, err := os.ReadFile(filepath.Join(gitDir, "HEAD"))
	if err != nil || len(b) > 4096 {
		return ""
	}
	branch, _ := strings.CutPrefix(strings.TrimSpace(string(b)), "ref: refs/heads/")
	if strings.HasPrefix(string(b), "ref: refs/heads/") {
		return printable(branch)
	}
	return ""
}

// maxTitle bounds a title that a person gives, in bytes.
const maxTitle = 300

// Rename gives a session a title of the person's own, or takes it back.
func (h *Host) Rename(c Caller, target string, req api.RenameRequest) (api.RenameReply, error) {
	s, err := h.find(c, target)
	if err != nil {
		return api.RenameReply{}, err
	}
	title := strings.TrimSpace(headline(req.Title))
	if len(title) > maxTitle {
		return api.RenameReply{}, api.NewError(api.BadRequest, fmt.Sprintf("a title of %d bytes; at most %d show", len(title), maxTitle))
	}
	if err := s.save(func(r *store.Session) { r.Title = title }); err != nil {
		return api.RenameReply{}, err
	}
	h.fleet.touched(s.id)
	return api.RenameReply{Head: api.OKHead(), Target: s.id.Link(), Title: s.displayTitle()}, nil
}
