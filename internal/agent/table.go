package agent

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
)

// TableQuery asks for columns of a table of a database, as texts.
type TableQuery struct {
	Table   string
	Columns []string          // names; "" gives "" in every row
	Equal   map[string]string // column → the value that it must have
	Newest  string            // column to order by, greatest first; "" leaves the order open
	Limit   int               // rows at most
}

// rows reads conversations from a database; of one that lies in each project's
// folder, from those of the folders given.
func (d *Discover) rows(at Place, m *Manifest, q TableQuery, folders []string) (all []Record, err error) {
	if at.Table == nil {
		return nil, ErrUnknowable
	}
	q.Table, q.Columns = d.Table, []string{d.ID, d.Cwd, d.Parent, d.Title, d.Created, d.Updated}
	files := map[string]string{m.Expand(d.Root, at.Home, at.Lookup): ""} // file → the folder whose own it is
	if relative(d.Root) {
		files = map[string]string{}
		for _, f := range folders {
			files[path.Join(f, d.Root)] = f
		}
	}
	var errs []error
	for file, folder := range files {
		rows, err := at.Table(file, q)
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, err)
			}
			continue
		}
		for _, c := range rows {
			r := Record{ID: c[0], Folder: cmp.Or(folder, pathText(&node{kind: isText, value: c[1]})), Path: file, Title: c[3]}
			r.Created = stamp(c[4])
			r.Modified = cmp.Or(stamp(c[5]), r.Created)
			if ValidConversation(r.ID) && r.Folder != "" && c[2] == "" {
				all = append(all, r)
			}
		}
	}
	if err := errors.Join(errs...); err != nil {
		return all, fmt.Errorf("list conversations of %s: %w", m.ID, err)
	}
	return all, nil
}
