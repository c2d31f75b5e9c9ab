package tui

import (
	"cmp"
	"maps"
	"path/filepath"
	"slices"

	"termio/internal/api"
)

// A fleet is what the daemon has told: every project and session as it is now.
type fleet struct {
	known    bool // the first whole line has come
	projects []api.ProjectInfo
	sessions map[string]api.SessionInfo // by link
}

// take puts a line of the stream into the fleet.
func (f *fleet) take(l api.FleetLine) {
	if l.Whole || f.sessions == nil {
		f.sessions = map[string]api.SessionInfo{}
		f.projects = nil
	}
	f.known = f.known || l.Whole
	if l.Whole || l.Projects != nil {
		f.projects = l.Projects
	}
	for _, s := range l.Sessions {
		f.sessions[s.Link] = s
	}
}

// A rollup counts the sessions of a place by what they do.
type rollup struct{ needsYou, working, done int }

// add counts a session.
func (r *rollup) add(s api.SessionInfo) {
	switch {
	case s.Status == api.NeedsYou:
		r.needsYou++
	case s.Status == api.Working:
		r.working++
	case unread(s):
		r.done++
	}
}

// status is the one word for the place: needs-you over working over done over idle.
func (r rollup) status() api.Status {
	switch {
	case r.needsYou > 0:
		return api.NeedsYou
	case r.working > 0:
		return api.Working
	case r.done > 0:
		return api.Done
	}
	return api.Idle
}

// unread reports whether a session has ended a turn that nobody has looked at.
func unread(s api.SessionInfo) bool { return s.Status == api.Done && !s.Seen }

// A place is where a row of the sidebar stands.
type rowKind uint8

const (
	rowSection  rowKind = iota + 1 // Terminals, Chats, Projects
	rowProject                     // a folder that was opened
	rowWorktree                    // one of its work trees, but the first
	rowSession
	rowNone // "nothing yet"
)

// A row is one line of the sidebar.
type row struct {
	kind    rowKind
	key     string // names the row over time: a link, a folder, a section
	title   string
	detail  string // a branch, a folder
	depth   int
	session api.SessionInfo // of rowSession
	counts  rollup          // of what is in it, folded or not
	folds   bool            // there is something in it to be folded away
	folded  bool
}

// view says how a person wants the fleet laid out; it is the interface's own.
type view struct {
	folded map[string]bool
	pinned map[string]bool // links
	ended  bool            // closed sessions are shown
	keep   string          // but this one is in any case: it is looked at
	root   string          // the folder of loose terminals and chats lies here: termio's own
}

// maxEnded is how many closed sessions a place shows, the newest.
const maxEnded = 5

// rows lays the fleet out: Terminals, Chats, then each project with its work trees. It
// is a function of what is known and how it is wanted, and nothing else.
func (f *fleet) rows(v view, w *words) []row {
	places := f.byPlace()
	var out []row
	chats, terminals := filepath.Join(v.root, "chats"), filepath.Join(v.root, "terminals")
	for _, s := range []struct{ root, title string }{{terminals, w.terminals}, {chats, w.chats}} {
		if len(places[s.root]) > 0 {
			out = append(out, f.place(v, rowSection, s.root, s.title, "", 0, places[s.root])...)
		}
	}
	projects := slices.Clone(f.projects)
	projects = slices.DeleteFunc(projects, func(p api.ProjectInfo) bool { return p.Root == chats || p.Root == terminals })
	slices.SortStableFunc(projects, func(a, b api.ProjectInfo) int { // those in which nothing is come last
		if busy := len(places[a.Root]) > 0; busy != (len(places[b.Root]) > 0) {
			if busy {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.Name, b.Name)
	})
	for _, p := range projects {
		out = append(out, f.project(v, p, places)...)
	}
	if len(out) == 0 && f.known {
		out = append(out, row{kind: rowNone, key: "none", title: w.nothingYet})
	}
	return out
}

// byPlace sorts the sessions into projects.
func (f *fleet) byPlace() map[string][]api.SessionInfo {
	places := map[string][]api.SessionInfo{}
	for _, s := range f.sessions {
		places[s.ProjectRoot] = append(places[s.ProjectRoot], s)
	}
	return places
}

// project is a project's row and what is under it: the sessions of its own folder, then
// each other work tree with its own.
func (f *fleet) project(v view, p api.ProjectInfo, places map[string][]api.SessionInfo) []row {
	inTree := map[string][]api.SessionInfo{}
	for _, s := range places[p.Root] {
		tree := s.Worktree
		for _, t := range p.Worktrees {
			if t.Path != p.Root && (tree == "" || len(t.Path) > len(tree)) && inside(t.Path, s.Folder) {
				tree = t.Path
			}
		}
		inTree[tree] = append(inTree[tree], s)
	}
	branch := ""
	if len(p.Worktrees) > 0 {
		branch = p.Worktrees[0].Branch
	}
	out := f.place(v, rowProject, p.Root, p.Name, branch, 0, inTree[""])
	head := &out[0]
	var below []row
	known := map[string]bool{"": true}
	for _, t := range p.Worktrees {
		if t.Path != p.Root {
			known[t.Path] = true
			below = append(below, f.place(v, rowWorktree, t.Path, cmp.Or(t.Branch, filepath.Base(t.Path)), "", 1, inTree[t.Path])...)
		}
	}
	for _, tree := range slices.Sorted(maps.Keys(inTree)) {
		if !known[tree] { // git does not know it any more
			below = append(below, f.place(v, rowWorktree, tree, filepath.Base(tree), "", 1, inTree[tree])...)
		}
	}
	head.counts = rollup{}
	for _, s := range places[p.Root] {
		head.counts.add(s)
	}
	head.folds = head.folds || len(below) > 0
	if head.folded {
		return out[:1]
	}
	return append(out, below...)
}

// inside reports whether a folder is root or lies in it.
func inside(root, folder string) bool {
	rel, err := filepath.Rel(root, folder)
	return err == nil && rel != ".." && !filepath.IsAbs(rel) && (len(rel) < 3 || rel[:3] != "../")
}

// place is the row of a place and, unless it is folded, its sessions: those that are
// pinned, then the open ones in the order in which they were begun, then the newest
// that have ended.
func (f *fleet) place(v view, kind rowKind, key, title, detail string, depth int, sessions []api.SessionInfo) []row {
	head := row{kind: kind, key: key, title: title, detail: detail, depth: depth, folded: v.folded[key]}
	var open, ended []api.SessionInfo
	for _, s := range sessions {
		head.counts.add(s)
		if s.Status == api.Closed {
			ended = append(ended, s)
		} else {
			open = append(open, s)
		}
	}
	slices.SortFunc(open, func(a, b api.SessionInfo) int {
		if v.pinned[a.Link] != v.pinned[b.Link] {
			if v.pinned[a.Link] {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(a.Created, b.Created), cmp.Compare(a.Link, b.Link))
	})
	slices.SortFunc(ended, func(a, b api.SessionInfo) int {
		return cmp.Or(cmp.Compare(b.Since, a.Since), cmp.Compare(a.Link, b.Link))
	})
	shown := 0
	ended = slices.DeleteFunc(ended, func(s api.SessionInfo) bool {
		if v.ended {
			shown++
		}
		return (!v.ended || shown > maxEnded) && s.Link != v.keep
	})
	all := append(open, ended...)
	head.folds = len(all) > 0
	out := []row{head}
	if head.folded {
		return out
	}
	for _, s := range all {
		out = append(out, row{kind: rowSession, key: s.Link, title: s.Title, depth: depth + 1, session: s})
	}
	return out
}

// total counts all sessions.
func (f *fleet) total() (r rollup) {
	for _, s := range f.sessions {
		r.add(s)
	}
	return r
}

// asking are the sessions that need their person, those that wait longest first.
func (f *fleet) asking() []api.SessionInfo {
	var out []api.SessionInfo
	for _, s := range f.sessions {
		if s.Status == api.NeedsYou {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b api.SessionInfo) int {
		return cmp.Or(cmp.Compare(a.Since, b.Since), cmp.Compare(a.Link, b.Link))
	})
	return out
}
