// Package store keeps what must outlive the daemon: projects, sessions, closed
// ones with their reason, and the numbered log of events. It hides SQLite, the
// schema and its migrations, and how durable each write is.
//
// The host is its only caller. A write has happened when its method returns:
// who and what a session is (PutSession, AddProject) survives a power loss as
// well, everything else the death of the process. It keeps no copy of rows, and
// starts no goroutine.
//
// A Store may be used from any goroutine; writes are ordered, reads are not
// held up by them. A file written by a newer version is read and updated
// without touching its unknown columns and values.
package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ncruces/go-sqlite3"
)

// maxEvents is how many events the log keeps, and some more between two prunings.
const maxEvents = 10000

// maxClosed is how many sessions that have ended are remembered: `list --closed` shows
// them, and they can be resumed. Of more, those go that ended first.
const maxClosed = 5000

// Errors that a caller may want to tell apart. The messages name the file and
// the next step.
var (
	ErrDamaged = errors.New("the database is damaged")
	ErrBusy    = errors.New("the database is in use by another program")
	ErrFull    = errors.New("the disk is full")
)

// A Store is an open database file.
type Store struct {
	file     string
	keep     int64 // events kept
	rebooted bool

	w conn // owns every write
	r conn // reads beside it

	// Guarded by w's lock.
	last     int64 // the last event's number
	reserved int64 // no number up to here is given out after a power loss
}

// Open opens a database file, making it if need be, and brings its schema up to
// date. Errors name the file and what to do; a file that is no database or is
// damaged gives ErrDamaged and is left alone.
func Open(file string) (*Store, error) { return open(file, migrations, bootID(), maxEvents) }

// open is Open with what tests vary.
func open(file string, steps []string, boot string, keep int64) (*Store, error) {
	file, err := filepath.Abs(file)
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	s := &Store{file: file, keep: keep}
	// Made here, because SQLite would leave them readable to others. The log follows
	// the file's mode by itself; see address.
	for _, name := range []string{file, file + "-shm"} {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
		if err == nil {
			err = f.Close()
		}
		if err != nil {
			return nil, s.explain("open", err)
		}
	}
	s.w.open(file, "synchronous(NORMAL)")
	s.r.open(file, "query_only(1)")
	err = s.w.use(func(q *queries) error {
		if err := migrate(q, steps); err != nil {
			return err
		}
		return s.startSequence(q, boot)
	})
	if err != nil {
		_ = s.Close()
		return nil, s.explain("open", err)
	}
	return s, nil
}

// Close ends the use of the file; a call of another method fails from then on.
func (s *Store) Close() error {
	return errors.Join(s.r.close(), s.w.close())
}

// Rebooted reports whether the machine was started anew between the last use
// of this file and this one, so that no process recorded in it can be alive.
func (s *Store) Rebooted() bool { return s.rebooted }

// write commits what f does, or nothing. It survives the process, not a power loss.
func (s *Store) write(doing string, f func(q *queries) error) error {
	return s.explain(doing, s.w.use(func(q *queries) error { return q.transaction(f) }))
}

// writeThrough is write for what survives a power loss.
func (s *Store) writeThrough(doing string, f func(q *queries) error) error {
	return s.explain(doing, s.w.use(func(q *queries) error { return q.durably(f) }))
}

// read runs f on the reading connection.
func (s *Store) read(doing string, f func(q *queries) error) error {
	return s.explain(doing, s.r.use(f))
}

// explain says which file an error is about and what to do.
func (s *Store) explain(doing string, err error) error {
	if err == nil {
		return nil
	}
	hint := ""
	var code sqlite3.ErrorCode
	if errors.As(err, &code) {
		switch code {
		case sqlite3.CORRUPT, sqlite3.NOTADB:
			err = fmt.Errorf("%w (%w)", ErrDamaged, err)
			hint = "stop the daemon, move the file away and start again; termio then begins with an empty list"
		case sqlite3.BUSY, sqlite3.LOCKED:
			err = fmt.Errorf("%w (%w)", ErrBusy, err)
			hint = "end that program and try again"
		case sqlite3.FULL:
			err = fmt.Errorf("%w (%w)", ErrFull, err)
			hint = "make room on the disk and try again"
		case sqlite3.READONLY, sqlite3.CANTOPEN, sqlite3.PERM:
			hint = "check the owner and the mode of the file and its folder"
		case sqlite3.IOERR:
			hint = "check the disk"
		}
	}
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
		hint = "check the owner and the mode of the file and its folder"
	}
	if hint == "" {
		return fmt.Errorf("%s: %s: %w", s.file, doing, err)
	}
	return fmt.Errorf("%s: %s: %w: %s", s.file, doing, err, hint)
}
