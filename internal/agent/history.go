package agent

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Past is a conversation that an agent keeps, as its record tells.
type Past struct {
	Agent   *Manifest
	ID      string
	Folder  string    // where it was begun; absolute
	Title   string    // the agent's own, else the first prompt; one line, "" if neither is known
	Path    string    // of the record, or of the database that holds it; absolute
	Updated time.Time // when something was last said
	Source  int       // index of the source it was found in; -1: only known, not found
}

// A Source is a store that is looked through: an agent's, in one place.
type Source struct {
	Agent *Manifest
	At    Place
}

// A PastQuery says which conversations are asked for.
type PastQuery struct {
	Folders []string                 // the ones that matter hold all that Wanted lets through; absolute
	Wanted  func(folder string) bool // whether conversations begun there are asked for
	Limit   int                      // how many at most
	// Known are conversations that are known without their records. They tell of a
	// record what it doesn't tell itself, and stand for those of agents whose stores
	// cannot be looked through.
	Known []Past
}

// A PastResult are the conversations that were found, newest first.
type PastResult struct {
	Past []Past
	// More says that there are older ones, or, where very many had to be opened, that there
	// may be.
	More bool
	// Errors are stores that could not be read, by source.
	Errors map[int]error
}

// Bounds of a search through the stores: names and times of all files are looked at,
// and the heads of the newest.
const (
	maxHeads    = 4000 // records opened
	maxPastRows = 2000 // rows of a database
	maxTitle    = 200  // characters
	firstHead   = 4 << 10
)

// Conversations looks through stores for past conversations, newest first. It opens only as many
// records as it takes to fill the limit, and one more.
func Conversations(sources []Source, q PastQuery) PastResult {
	s := search{q: q, known: map[string]Past{}, seen: map[string]bool{}, result: PastResult{Errors: map[int]error{}}}
	var all []candidate
	listed := map[string]bool{}
	for i, src := range sources {
		found, err := s.candidates(i, src)
		if errors.Is(err, ErrUnknowable) {
			continue
		}
		if err != nil {
			s.result.Errors[i] = err
		}
		listed[src.Agent.ID] = true
		all = append(all, found...)
	}
	for _, k := range q.Known {
		key := k.Agent.ID + "\x00" + k.ID
		if old, ok := s.known[key]; !ok || old.Updated.Before(k.Updated) {
			s.known[key] = k
		}
	}
	for _, k := range s.known {
		if !listed[k.Agent.ID] {
			k.Source = -1
			all = append(all, candidate{Past: k, whole: true})
		}
	}
	slices.SortStableFunc(all, func(a, b candidate) int {
		return cmp.Or(b.Updated.Compare(a.Updated), strings.Compare(a.Path, b.Path), strings.Compare(a.ID, b.ID))
	})
	s.choose(sources, all)
	return s.result
}

// A candidate is a conversation of which the record may not have been opened yet.
type candidate struct {
	Past
	whole bool // everything is known
}

type search struct {
	q      PastQuery
	known  map[string]Past // by agent and id
	seen   map[string]bool
	result PastResult
}

// choose fills the result from candidates in their order.
func (s *search) choose(sources []Source, all []candidate) {
	heads := 0
	for _, c := range all {
		if heads == maxHeads {
			s.result.More = true
			return
		}
		p, ok := c.Past, true
		if !c.whole {
			heads++
			p, ok = s.open(sources[c.Source], c)
		}
		if !ok || p.Folder == "" || !ValidConversation(p.ID) || !s.q.Wanted(p.Folder) {
			continue
		}
		key := p.Agent.ID + "\x00" + p.ID
		if s.seen[key] {
			continue
		}
		if len(s.result.Past) == s.q.Limit {
			s.result.More = true
			return
		}
		s.seen[key] = true
		p.Title = cmp.Or(p.Title, s.known[key].Title)
		s.result.Past = append(s.result.Past, p)
	}
}

// candidates lists what a store holds by names and times.
func (s *search) candidates(n int, src Source) (all []candidate, err error) {
	m := src.Agent
	if m.IsShell() || !m.CanResume() {
		return nil, ErrUnknowable
	}
	add := func(p Past) {
		p.Agent, p.Source = m, n
		all = append(all, candidate{Past: p, whole: p.Folder != ""})
	}
	d, h := m.Resume.Discover, m.Resume.History
	switch {
	case d != nil && d.Format == formatSQLite:
		rows, err := d.rows(src.At, m, TableQuery{Newest: cmp.Or(d.Updated, d.Created), Limit: maxPastRows}, s.q.Folders)
		for _, r := range rows {
			add(Past{ID: r.ID, Folder: r.Folder, Title: clean(r.Title, maxTitle), Path: r.Path, Updated: r.Modified})
		}
		return all, err
	case d != nil:
		err = m.walkRecords(src.At, func(p string, info fs.FileInfo) {
			add(Past{Path: p, Updated: info.ModTime()})
		})
	case h != nil && h.Root != "":
		err = m.eachRecord(src.At, h.Root, h.Match, s.q.Folders, add)
	case m.Resume.StoreRoot != "":
		err = m.eachRecord(src.At, m.Resume.StoreRoot, m.Resume.StoreMatch, s.q.Folders, add)
	default:
		return nil, ErrUnknowable
	}
	return all, err
}

// open reads what a candidate's record tells.
func (s *search) open(src Source, c candidate) (Past, bool) {
	m, p := src.Agent, c.Past
	file := m.recordFile(c.Path, c.ID)
	if file == "" {
		k, ok := s.known[m.ID+"\x00"+c.ID]
		p.Folder, p.Title = k.Folder, k.Title
		return p, ok
	}
	tells, ok := m.readHead(src.At.FS, file, s.q.Wanted, pastKnown)
	if !ok {
		return p, false
	}
	k := s.known[m.ID+"\x00"+cmp.Or(tells.id, c.ID)]
	p.ID, p.Folder, p.Title = cmp.Or(tells.id, c.ID), cmp.Or(tells.folder, k.Folder), cmp.Or(tells.title, tells.prompt, k.Title)
	if !tells.updated.IsZero() {
		p.Updated = tells.updated
	}
	p.Path = file
	return p, true
}

// eachRecord gives the records below a root whose names fit a match, with the ids in
// their names, by name and time. Where the manifest says how the store names folders, only
// those are gone through that may be one of ours.
func (m *Manifest) eachRecord(at Place, root, match string, folders []string, each func(Past)) error {
	kind, pattern, _ := strings.Cut(match, ":")
	l := listing{fs: at.FS, m: m, dirs: kind == storeDir, names: m.folderNames(folders), each: each}
	top := inFS(m.Expand(root, at.Home, at.Lookup))
	// As FindRecord looks: in the root itself or in a folder for each project.
	for _, p := range []string{pattern, "*/" + pattern} {
		if err := l.below(top, strings.Split(p, "/"), "", true); err != nil {
			return fmt.Errorf("list conversations of %s: %w", m.ID, err)
		}
	}
	return nil
}

// folderNames are what the names of a project's folders in the store hold; nil is not
// known, and any.
func (m *Manifest) folderNames(folders []string) (names []string) {
	h := m.Resume.History
	if h == nil || h.Names.re == nil {
		return nil
	}
	for _, f := range folders {
		names = append(names, h.Names.re.ReplaceAllString(f, "-"))
	}
	return names
}

// longName is a name in a store that its agent may have shortened.
const longName = 150

// mayBe reports whether a folder of the store may be that of one of the names.
func mayBe(folder string, names []string) bool {
	if names == nil || len(folder) > longName {
		return true
	}
	return slices.ContainsFunc(names, func(n string) bool { return strings.Contains(folder, n) })
}

// listing follows a pattern with wildcards down a store.
type listing struct {
	fs    fs.FS
	m     *Manifest
	dirs  bool // records are folders
	names []string
	files int
	each  func(Past)
}

// below lists what fits the parts in dir. first says that dir is the root, whose
// folders are named after projects.
func (l *listing) below(dir string, parts []string, id string, first bool) error {
	entries, err := fs.ReadDir(l.fs, dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
		var notDir *fs.PathError
		if !errors.As(err, &notDir) {
			return err
		}
	}
	last := len(parts) == 1
	name := namePattern(parts[0])
	for _, e := range entries {
		got := name.FindStringSubmatch(e.Name())
		if got == nil {
			continue
		}
		id := id
		if len(got) > 1 {
			id = got[1]
		}
		p := path.Join(dir, e.Name())
		switch {
		case !last && e.IsDir() && (!first || mayBe(e.Name(), l.names)):
			if err := l.below(p, parts[1:], id, false); err != nil {
				return err
			}
		case last && e.IsDir() == l.dirs:
			if l.files++; l.files > maxStoreFiles {
				return fmt.Errorf("more than %d files", maxStoreFiles)
			}
			l.add(p, id, e)
		}
	}
	return nil
}

// add gives a record, with the time of the file that grows with it.
func (l *listing) add(p, id string, e fs.DirEntry) {
	var info fs.FileInfo
	var err error
	if file := l.m.recordFile("/"+p, id); l.dirs && file != "" {
		info, err = fs.Stat(l.fs, inFS(file))
	} else {
		info, err = e.Info()
	}
	if err == nil && (info.IsDir() || info.Mode().IsRegular()) {
		l.each(Past{ID: id, Path: "/" + p, Updated: info.ModTime()})
	}
}

// namePattern is a part of a store's pattern as a regular expression; its group, if
// it has one, is the id.
func namePattern(part string) *regexp.Regexp {
	text := regexp.QuoteMeta(part)
	text = strings.ReplaceAll(text, `\*`, `.*?`)
	text = strings.Replace(text, `\{id\}`, `([A-Za-z0-9][A-Za-z0-9._-]*)`, 1)
	return regexp.MustCompile("^" + text + "$") // quoted, so it compiles
}

// recordFile is the file of a record that is read; "" when nothing of it is known.
func (m *Manifest) recordFile(record, id string) string {
	r := m.Resume
	if r.Discover != nil || r.History != nil && r.History.Root != "" || strings.HasPrefix(r.StoreMatch, storeFile+":") {
		return record
	}
	inside := r.Transcript
	if r.History != nil {
		inside = cmp.Or(r.History.File, inside)
	}
	if inside == "" {
		return ""
	}
	return path.Join(record, strings.ReplaceAll(inside, "{id}", id))
}
