package agent

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
)

// Kinds of Resume.StoreMatch and formats of Discover.Format.
const (
	storeDir     = "dir"
	storeFile    = "file"
	formatJSONL  = "jsonl"
	formatJSON   = "json"
	formatSQLite = "sqlite"
)

// A Place is where an agent's files are looked for. FS is the whole file system from
// its root: paths are absolute ones without the first slash.
type Place struct {
	FS     fs.FS
	Home   string
	Lookup func(string) string // variables of the agent's environment; nil is none
	// Table reads a SQLite database, without getting into its program's way. It is
	// [fs.ErrNotExist] when there is no such file, and [ErrUnknowable] when the database
	// has no such table or column. Nil: databases can't be read.
	Table func(file string, q TableQuery) ([][]string, error)
	// Folder is the session's folder, for a store that lies in it.
	Folder string
}

// inFS is an absolute path as an fs.FS wants it.
func inFS(abs string) string {
	p := strings.Trim(path.Clean(abs), "/")
	if p == "" {
		return "."
	}
	return p
}

// ErrUnknowable is the error of a store that this manifest gives no way to look into.
var ErrUnknowable = errors.New("the manifest gives no way to look into the agent's store")

// FindRecord looks a conversation up in the agent's store and gives the absolute path
// of its record. It is [fs.ErrNotExist] only when the store shows that there is none;
// any other error leaves it open.
func (m *Manifest) FindRecord(at Place, conversation string) (string, error) {
	if m == nil || m.Resume == nil || m.Resume.StoreRoot == "" {
		return "", ErrUnknowable
	}
	if !ValidConversation(conversation) {
		return "", ErrConversation
	}
	root := m.Expand(m.Resume.StoreRoot, at.Home, at.Lookup)
	kind, pattern, _ := strings.Cut(m.Resume.StoreMatch, ":")
	pattern = strings.ReplaceAll(pattern, "{id}", conversation)
	// A store keeps its records in itself or in a folder for each project.
	for _, p := range []string{pattern, "*/" + pattern} {
		found, err := findBelow(at.FS, inFS(root), strings.Split(p, "/"), kind == storeDir)
		if err != nil {
			return "", fmt.Errorf("look for conversation %s: %w", conversation, err)
		}
		if found != "" {
			return "/" + found, nil
		}
	}
	return "", fmt.Errorf("conversation %s: %w", conversation, fs.ErrNotExist)
}

// findBelow follows a pattern down from dir. A folder that is not there is no error,
// one that can't be read is.
func findBelow(fsys fs.FS, dir string, parts []string, wantDir bool) (string, error) {
	name, rest := parts[0], parts[1:]
	if !strings.Contains(name, "*") {
		p := path.Join(dir, name)
		info, err := fs.Stat(fsys, p)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return "", nil
		case err != nil:
			return "", err
		case len(rest) > 0 && info.IsDir():
			return findBelow(fsys, p, rest, wantDir)
		case len(rest) == 0 && info.IsDir() == wantDir:
			return p, nil
		}
		return "", nil
	}
	entries, err := fs.ReadDir(fsys, dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	for _, e := range entries {
		if ok, err := path.Match(name, e.Name()); err != nil || !ok {
			continue
		}
		literal := append([]string{e.Name()}, rest...)
		if found, err := findBelow(fsys, dir, literal, wantDir); err != nil || found != "" {
			return found, err
		}
	}
	return "", nil
}

// Locate gives the absolute path of a conversation's transcript; ok is false when
// there is none, yet or at all.
func (m *Manifest) Locate(at Place, conversation string) (file string, ok bool) {
	if m == nil || m.Resume == nil {
		return "", false
	}
	if d := m.Resume.Discover; d != nil && d.Format == formatJSONL && m.Resume.StoreRoot == "" {
		records, err := m.records(at, nil)
		if err != nil {
			return "", false
		}
		i := slices.IndexFunc(records, func(r Record) bool { return r.ID == conversation })
		if i < 0 {
			return "", false
		}
		return records[i].Path, true
	}
	record, err := m.FindRecord(at, conversation)
	if err != nil {
		return "", false
	}
	if strings.HasPrefix(m.Resume.StoreMatch, storeFile+":") {
		return record, true
	}
	return m.transcriptIn(at.FS, record)
}

// transcriptIn is the transcript in a record's folder: the one the manifest names,
// else the only JSON lines file there.
func (m *Manifest) transcriptIn(fsys fs.FS, dir string) (string, bool) {
	if name := m.Resume.Transcript; name != "" {
		p := path.Join(dir, name)
		info, err := fs.Stat(fsys, inFS(p))
		return p, err == nil && info.Mode().IsRegular()
	}
	files, err := fs.Glob(fsys, escapeGlob(inFS(dir))+"/*.jsonl")
	if err != nil || len(files) != 1 {
		return "", false
	}
	return "/" + files[0], true
}

func escapeGlob(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(s)
}

// A Record is a conversation that an agent keeps in its store.
type Record struct {
	ID       string
	Folder   string // where it was begun
	Path     string // absolute, of the file or the database
	Title    string // the agent's own; "" where the record has none
	Modified time.Time
	Created  time.Time // when the conversation was begun; zero where the record does not say
}

const (
	maxRecordHead  = 256 << 10 // bytes read of a record; the first line may hold a prompt
	maxStoreFiles  = 100_000   // files looked at in one store
	createdLeeway  = 2 * time.Second
	maxStoreLevels = 8
)

// Records lists the conversations of an agent that chooses their ids itself. Records
// that can't be read are left out.
func (m *Manifest) Records(at Place) ([]Record, error) { return m.records(at, nil) }

// records lists those that want lets through, by path and file.
func (m *Manifest) records(at Place, want func(p string, info fs.FileInfo) bool) ([]Record, error) {
	if m == nil || m.Resume == nil || m.Resume.Discover == nil {
		return nil, ErrUnknowable
	}
	d := m.Resume.Discover
	if d.Format == formatSQLite {
		return d.rows(at, m, TableQuery{Newest: cmp.Or(d.Updated, d.Created), Limit: maxPastRows}, []string{at.Folder})
	}
	var records []Record
	err := m.walkRecords(at, func(p string, info fs.FileInfo) {
		if want != nil && !want(p, info) {
			return
		}
		if r, ok := d.read(at.FS, inFS(p)); ok {
			r.Modified = info.ModTime()
			records = append(records, r)
		}
	})
	return records, err
}

// walkRecords goes through the files of an agent that chooses its ids itself, by name
// and time.
func (m *Manifest) walkRecords(at Place, each func(p string, info fs.FileInfo)) error {
	d := m.Resume.Discover
	root := inFS(m.Expand(d.Root, at.Home, at.Lookup))
	files := 0
	err := fs.WalkDir(at.FS, root, func(p string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case e.IsDir():
			if strings.Count(strings.TrimPrefix(p, root), "/") >= maxStoreLevels {
				return fs.SkipDir
			}
			return nil
		case path.Ext(p) != "."+d.Format || !e.Type().IsRegular():
			return nil
		}
		if files++; files > maxStoreFiles {
			return fmt.Errorf("more than %d files in %s", maxStoreFiles, root)
		}
		if info, err := e.Info(); err == nil {
			each("/"+p, info)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("list conversations of %s: %w", m.ID, err)
	}
	return nil
}

// read reads one record: the first line, or the whole of a metadata file.
func (d *Discover) read(fsys fs.FS, p string) (Record, bool) {
	f, err := fsys.Open(p)
	if err != nil {
		return Record{}, false
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, maxRecordHead))
	if err != nil {
		return Record{}, false
	}
	if d.Format == formatJSONL {
		if i := slices.Index(head, '\n'); i >= 0 {
			head = head[:i]
		}
	}
	root, _, _ := readTree(head)
	r := Record{ID: root.path(d.ID).text(), Folder: pathText(root.path(d.Cwd)), Path: "/" + p}
	r.Created, r.Title = stamp(root.path(d.Created).text()), clean(root.path(d.Title).text(), maxTitle)
	return r, ValidConversation(r.ID) && r.Folder != "" && root.path(d.Parent).text() == ""
}

// A Binding is what a conversation may be bound by.
type Binding struct {
	Folder   string // the session's, after symlinks
	Launched time.Time
	// Held are the files that the agent's own process has open; nil when the system does
	// not tell.
	Held []string
	// Claimed reports whether another session has the conversation.
	Claimed func(id string) bool
	// Real resolves symlinks in a record's folder; nil compares as it is.
	Real func(string) string
}

// Discover looks for the conversation that the agent began in this launch. It is
// bound only if it can be nobody else's. Where the agent has its record open and the
// system tells whose files are open, that decides; else it must have been made after
// the launch, in the session's folder. Either way it must be the only one of that
// kind: candidates is how many there were.
func (m *Manifest) Discover(at Place, b Binding) (r Record, candidates int, err error) {
	var fits []Record
	if m.HoldsRecord() && b.Held != nil {
		fits, err = m.heldRecords(at, b)
	} else {
		fits, err = m.newRecords(at, b)
	}
	fits = slices.DeleteFunc(fits, func(r Record) bool { return b.Claimed != nil && b.Claimed(r.ID) })
	if err != nil || len(fits) != 1 {
		return Record{}, len(fits), err
	}
	return fits[0], 1, nil
}

// heldRecords are the records that the agent's process has open.
func (m *Manifest) heldRecords(at Place, b Binding) (fits []Record, err error) {
	d := m.Resume.Discover
	root := path.Clean(m.Expand(d.Root, at.Home, at.Lookup))
	if b.Real != nil {
		root = b.Real(root) // as the system names open files
	}
	for _, p := range slices.Compact(slices.Sorted(slices.Values(b.Held))) {
		if !strings.HasPrefix(p, root+"/") || path.Ext(p) != "."+d.Format {
			continue
		}
		if r, ok := d.read(at.FS, inFS(p)); ok {
			fits = append(fits, r)
		}
	}
	return fits, nil
}

// newRecords are the records of the session's folder that were made after the launch.
func (m *Manifest) newRecords(at Place, b Binding) (fits []Record, err error) {
	after := b.Launched.Add(-createdLeeway)
	records, err := m.records(at, func(_ string, info fs.FileInfo) bool { return info.ModTime().After(after) })
	for _, r := range records {
		folder := r.Folder
		if b.Real != nil {
			folder = b.Real(folder)
		}
		if path.Clean(folder) == path.Clean(b.Folder) && r.Modified.After(after) && (r.Created.IsZero() || r.Created.After(after)) {
			fits = append(fits, r)
		}
	}
	return fits, err
}
