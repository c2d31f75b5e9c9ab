package store

import (
	"fmt"
	"time"

	"termio/internal/api"
)

// A Request is a call that has been begun and whose end must not hang on one host: a
// text on its way into a session, the end of a session, and the answer to whoever waits
// for either.
type Request struct {
	ID        string        // the caller's own name for it
	Session   api.SessionID // what it is about
	CreatedAt time.Time     // kept in milliseconds
	Text      string        // what is to be typed
	State     []byte        // how far it is, in the host's own words
}

// PutRequest stores a request before anything is done for it.
func (s *Store) PutRequest(r Request) error {
	return s.write("store request "+r.ID, func(q *queries) error { return putRequest(q, r) })
}

func putRequest(q *queries, r Request) error {
	return q.exec("INSERT INTO requests (id, session, created_at, text, state) VALUES (?, ?, ?, ?, ?)",
		r.ID, string(r.Session), millis(r.CreatedAt), r.Text, blobOrNil(r.State))
}

// UpdateRequest stores how far a request is. One that is not stored is an error.
func (s *Store) UpdateRequest(id string, state []byte) error {
	return s.write("store how far request "+id+" is", func(q *queries) error {
		n, err := q.change("UPDATE requests SET state = ? WHERE id = ?", state, id)
		if err == nil && n == 0 {
			err = fmt.Errorf("no such request is stored")
		}
		return err
	})
}

// RemoveRequest forgets a request that has been answered. It is no error if there is
// none.
func (s *Store) RemoveRequest(id string) error {
	return s.write("forget request "+id, func(q *queries) error {
		return q.exec("DELETE FROM requests WHERE id = ?", id)
	})
}

// Requests gives every request that is stored, oldest first.
func (s *Store) Requests() (all []Request, err error) {
	err = s.read("read requests", func(q *queries) error {
		return q.rows("SELECT id, session, created_at, text, state FROM requests ORDER BY created_at, rowid", nil, func(scan scanner) error {
			var r Request
			var created int64
			if err := scan(&r.ID, &r.Session, &created, &r.Text, &r.State); err != nil {
				return err
			}
			r.CreatedAt = fromMillis(created)
			all = append(all, r)
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}
