package store

import (
	"path/filepath"
	"testing"

	"termio/internal/api"
)

// BenchmarkOpen opens a file with 300 sessions and reads them, as a start of the daemon does.
func BenchmarkOpen(b *testing.B) {
	file := filepath.Join(b.TempDir(), "t.db")
	s, err := Open(file)
	if err != nil {
		b.Fatal(err)
	}
	p, _, err := s.AddProject("/a", t0)
	if err != nil {
		b.Fatal(err)
	}
	for n := range 300 {
		if err := s.PutSession(Session{ID: id(n), ProjectID: p.ID, CreatedAt: t0}); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		s, err := Open(file)
		if err != nil {
			b.Fatal(err)
		}
		if all, err := s.Sessions(Filter{}); err != nil || len(all) != 300 {
			b.Fatal(len(all), err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPutSession is what a new session waits for: one sync of the disk.
func BenchmarkPutSession(b *testing.B) {
	s, p := benchStore(b)
	for n := 0; b.Loop(); n++ {
		if err := s.PutSession(Session{ID: id(n), ProjectID: p.ID, CreatedAt: t0}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkTransition is what every change of a status costs before it is shown.
func BenchmarkTransition(b *testing.B) {
	s, p := benchStore(b)
	if err := s.PutSession(Session{ID: id(1), ProjectID: p.ID, CreatedAt: t0}); err != nil {
		b.Fatal(err)
	}
	machine := make([]byte, 500)
	for b.Loop() {
		e := api.Event{Link: id(1).Link(), Status: api.Working, Title: "a title"}
		if err := s.Transition(id(1), Progress{Status: api.Working, StatusSince: t0, Machine: machine}, &e); err != nil {
			b.Fatal(err)
		}
	}
}

func benchStore(b *testing.B) (*Store, Project) {
	b.Helper()
	s, err := Open(filepath.Join(b.TempDir(), "t.db"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	p, _, err := s.AddProject("/a", t0)
	if err != nil {
		b.Fatal(err)
	}
	return s, p
}
