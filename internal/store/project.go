package store

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

// A Project is a folder that was opened.
type Project struct {
	ID        int64
	Root      string // absolute, symlink-free
	Name      string // its last element
	CreatedAt time.Time
}

// AddProject stores a folder as a project and reports whether it is new. The
// caller gives an absolute path without links. It survives a power loss.
func (s *Store) AddProject(root string, now time.Time) (p Project, created bool, err error) {
	if !filepath.IsAbs(root) {
		return Project{}, false, fmt.Errorf("add project %q: the path is not absolute", root)
	}
	root = filepath.Clean(root)
	err = s.writeThrough("add project "+root, func(q *queries) error {
		n, err := q.change("INSERT INTO projects (root, name, created_at) VALUES (?, ?, ?) ON CONFLICT (root) DO NOTHING",
			root, filepath.Base(root), millis(now))
		if err != nil {
			return err
		}
		created = n > 0
		return q.rows("SELECT "+projectColumns+" FROM projects WHERE root = ?", []any{root}, func(scan scanner) (err error) {
			p, err = scanProject(scan)
			return err
		})
	})
	if err != nil {
		return Project{}, false, err
	}
	return p, created, nil
}

const projectColumns = "id, root, name, created_at"

// Projects returns all projects, oldest first.
func (s *Store) Projects() ([]Project, error) {
	var all []Project
	err := s.read("list the projects", func(q *queries) error {
		return q.rows("SELECT "+projectColumns+" FROM projects ORDER BY id", nil, func(scan scanner) error {
			p, err := scanProject(scan)
			all = append(all, p)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// ProjectFor returns the project that a folder belongs to: the one with the
// longest root, or work tree of one of its sessions, that contains it. The path is absolute and
// without links.
func (s *Store) ProjectFor(path string) (p Project, found bool, err error) {
	path = filepath.Clean(path)
	best := ""
	err = s.read("find the project of "+path, func(q *queries) error {
		return q.rows(`SELECT root AS place, `+projectColumns+` FROM projects UNION ALL
			SELECT DISTINCT s.worktree, p.id, p.root, p.name, p.created_at FROM sessions s JOIN projects p ON p.id = s.project_id WHERE s.worktree != ''`,
			nil, func(scan scanner) error {
				var place string
				candidate, err := scanProject(func(dest ...any) error { return scan(append([]any{&place}, dest...)...) })
				if err == nil && contains(place, path) && len(place) > len(best) {
					p, found, best = candidate, true, place
				}
				return err
			})
	})
	return p, found, err
}

// contains reports whether path is dir or below it.
func contains(dir, path string) bool {
	rest, ok := strings.CutPrefix(path, dir)
	return ok && (rest == "" || rest[0] == filepath.Separator || strings.HasSuffix(dir, string(filepath.Separator)))
}

func scanProject(scan scanner) (Project, error) {
	var p Project
	var created int64
	err := scan(&p.ID, &p.Root, &p.Name, &created)
	p.CreatedAt = fromMillis(created)
	return p, err
}
