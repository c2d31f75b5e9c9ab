package store

import (
	"encoding/json"
	"fmt"

	"termio/internal/api"
)

const (
	// reserveEvents is how many event numbers are set aside with one sync. A
	// power loss may take the latest events although somebody has seen their
	// numbers; the log goes on behind the reserve then.
	reserveEvents = 1000
	// pruneEvery is how many events lie between two prunings of the log.
	pruneEvery = 256
)

// startSequence finds the last number given out and whether the machine was
// started anew since.
func (s *Store) startSequence(q *queries, boot string) error {
	var before string
	known, err := q.row("SELECT value FROM meta WHERE key = 'boot'", nil, &before)
	if err != nil {
		return err
	}
	if _, err := q.row("SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'reserved'", nil, &s.reserved); err != nil {
		return err
	}
	if _, err := q.row("SELECT seq FROM sqlite_sequence WHERE name = 'events'", nil, &s.last); err != nil {
		return err
	}
	if known && before == boot && boot != "" {
		return nil
	}
	s.rebooted = known && boot != "" && before != boot
	return q.transaction(func(q *queries) error {
		if known && s.last < s.reserved {
			s.last = s.reserved
			n, err := q.change("UPDATE sqlite_sequence SET seq = ? WHERE name = 'events'", s.last)
			if err == nil && n == 0 {
				err = q.exec("INSERT INTO sqlite_sequence (name, seq) VALUES ('events', ?)", s.last)
			}
			if err != nil {
				return err
			}
		}
		return setMeta(q, "boot", boot)
	})
}

// setMeta stores one of the file's own marks.
func setMeta(q *queries, key string, value any) error {
	return q.exec("INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value", key, value)
}

// AppendEvent gives an event its number and puts it into the log. Numbers grow
// by one, apart from a gap after a power loss, and none is used twice. When this
// returns the event is stored and may be shown.
func (s *Store) AppendEvent(e *api.Event) error {
	return s.record("log an event of "+e.Link, e, func(*queries) error { return nil })
}

// record appends an event in one transaction with a change. After an error
// neither has happened and the event is as it was.
func (s *Store) record(doing string, e *api.Event, change func(q *queries) error) error {
	stored := *e
	stored.Seq = 0 // the row's key holds it
	text, err := json.Marshal(stored)
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return s.explain(doing, s.w.use(func(q *queries) error {
		if err := s.reserve(q); err != nil {
			return err
		}
		var seq int64
		err := q.transaction(func(q *queries) error {
			if err := change(q); err != nil {
				return err
			}
			if _, err := q.row("INSERT INTO events (event) VALUES (?) RETURNING seq", []any{string(text)}, &seq); err != nil {
				return err
			}
			if seq%pruneEvery == 0 {
				return q.exec("DELETE FROM events WHERE seq <= ?", seq-s.keep)
			}
			return nil
		})
		if err != nil {
			return err
		}
		s.last, e.Seq = seq, seq
		return nil
	}))
}

// reserve makes sure that the next number is inside a reserve that survives a
// power loss.
func (s *Store) reserve(q *queries) error {
	if s.last < s.reserved {
		return nil
	}
	upTo := s.last + reserveEvents
	if err := q.durably(func(q *queries) error { return setMeta(q, "reserved", upTo) }); err != nil {
		return err
	}
	s.reserved = upTo
	return nil
}

// LastSeq is the number of the latest event, 0 before the first.
func (s *Store) LastSeq() (int64, error) {
	var last int64
	err := s.w.use(func(*queries) error {
		last = s.last
		return nil
	})
	return last, s.explain("read the last event's number", err)
}

// EventsSince returns up to limit events whose numbers are above since, oldest
// first, and the number of the oldest event still kept (the next one's if the log is
// empty): where that is above since+1, events in between are gone.
func (s *Store) EventsSince(since int64, limit int) (events []api.Event, oldest int64, err error) {
	err = s.read("read the event log", func(q *queries) error {
		return q.snapshot(func(q *queries) error {
			found, err := q.row("SELECT seq FROM events ORDER BY seq LIMIT 1", nil, &oldest)
			if err != nil {
				return err
			}
			if !found {
				_, err := q.row("SELECT seq FROM sqlite_sequence WHERE name = 'events'", nil, &oldest)
				oldest++
				return err
			}
			return q.rows("SELECT seq, event FROM events WHERE seq > ? ORDER BY seq LIMIT ?", []any{since, limit}, func(scan scanner) error {
				var seq int64
				var text string
				if err := scan(&seq, &text); err != nil {
					return err
				}
				var e api.Event
				if err := json.Unmarshal([]byte(text), &e); err != nil {
					return fmt.Errorf("event %d: %w", seq, err)
				}
				e.Seq = seq
				events = append(events, e)
				return nil
			})
		})
	})
	if err != nil {
		return nil, 0, err
	}
	return events, oldest, nil
}
