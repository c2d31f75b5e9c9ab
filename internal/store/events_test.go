package store

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"termio/internal/api"
)

// appendN appends n events and returns their numbers.
func appendN(t *testing.T, s *Store, n int) []int64 {
	t.Helper()
	var seqs []int64
	for range n {
		e := api.Event{Link: id(1).Link(), Status: api.Working}
		if err := s.AppendEvent(&e); err != nil {
			t.Fatal(err)
		}
		seqs = append(seqs, e.Seq)
	}
	return seqs
}

// since reads the numbers after one.
func since(t *testing.T, s *Store, seq int64, limit int) (seqs []int64, oldest int64) {
	t.Helper()
	events, oldest, err := s.EventsSince(seq, limit)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		seqs = append(seqs, e.Seq)
	}
	return seqs, oldest
}

func TestEventRoundTrip(t *testing.T) {
	s := newStore(t)
	cursor := int64(0)
	want := api.Event{
		SchemaVersion: 1, Link: id(1).Link(), Status: api.NeedsYou, Title: "T", Cwd: "/c", Prompt: "ok?\n1. yes", Transcript: "/t",
		CursorEnd: &cursor, At: 5, Agent: "Demo", Background: 2, Reason: "r",
		Dialog: &api.Dialog{Kind: api.DialogPermission, Question: "ok?", Options: []api.Option{{Number: 1, Label: "yes"}}},
	}
	got := want
	if err := s.AppendEvent(&got); err != nil {
		t.Fatal(err)
	}
	want.Seq = 1
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	s = reopen(t, s)
	events, oldest, err := s.EventsSince(0, 10)
	if diff := cmp.Diff([]api.Event{want}, events); err != nil || diff != "" || oldest != 1 {
		t.Errorf("oldest %d, error %v: %s", oldest, err, diff)
	}
}

func TestEventsSince(t *testing.T) {
	s := newStore(t)
	if seqs, oldest := since(t, s, 0, 10); seqs != nil || oldest != 1 {
		t.Errorf("empty log: %v, oldest %d", seqs, oldest)
	}
	appendN(t, s, 5)
	if seqs, _ := since(t, s, 3, 10); !cmp.Equal(seqs, []int64{4, 5}) {
		t.Errorf("since 3: %v", seqs)
	}
	if seqs, _ := since(t, s, 0, 2); !cmp.Equal(seqs, []int64{1, 2}) {
		t.Errorf("the first two: %v", seqs)
	}
	if seqs, _ := since(t, s, 5, 10); seqs != nil {
		t.Errorf("since the last: %v", seqs)
	}
	if last, err := s.LastSeq(); last != 5 || err != nil {
		t.Errorf("last %d, %v", last, err)
	}
}

func TestEventLogIsBounded(t *testing.T) {
	s, err := open(filepath.Join(t.TempDir(), "t.db"), migrations, bootID(), 100)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	appendN(t, s, 3*pruneEvery)
	seqs, oldest := since(t, s, 0, 10*pruneEvery)
	if want := int64(3*pruneEvery - 100 + 1); oldest != want || seqs[0] != want || len(seqs) != 100 {
		t.Errorf("oldest %d, first %d of %d, want %d", oldest, seqs[0], len(seqs), want)
	}
	// An emptied log still knows which numbers were used.
	direct(t, s.file, "DELETE FROM events")
	if seqs, oldest := since(t, s, 0, 10); seqs != nil || oldest != 3*pruneEvery+1 {
		t.Errorf("emptied log: %v, oldest %d", seqs, oldest)
	}
	if got := appendN(t, s, 1); got[0] != 3*pruneEvery+1 {
		t.Errorf("next number %d", got[0])
	}
}

func TestNumbersGoOnAfterARestart(t *testing.T) {
	s := newStore(t)
	appendN(t, s, 3)
	s = reopen(t, s)
	if got := appendN(t, s, 2); !cmp.Equal(got, []int64{4, 5}) || s.Rebooted() {
		t.Errorf("numbers %v, rebooted %v", got, s.Rebooted())
	}
}

// A power loss may take events whose numbers were seen already. It is played
// by taking them out of the file and starting in another run of the machine.
func TestNumbersAreNotUsedAgainAfterAPowerLoss(t *testing.T) {
	file := filepath.Join(t.TempDir(), "t.db")
	var before int64
	for i, boot := range []string{"boot 1", "boot 2", "boot 3", ""} {
		s, err := open(file, migrations, boot, maxEvents)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := s.Rebooted(), i == 1 || i == 2; got != want {
			t.Errorf("%q: rebooted %v", boot, got)
		}
		got := appendN(t, s, reserveEvents+5)
		if got[0] <= before {
			t.Errorf("%q: number %d was used before, up to %d", boot, got[0], before)
		}
		before = got[len(got)-1]
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		direct(t, file, fmt.Sprintf("DELETE FROM events WHERE seq > %d", before-20), fmt.Sprintf("UPDATE sqlite_sequence SET seq = %d", before-20))
	}
}

func TestConcurrentUse(t *testing.T) {
	s := newStore(t)
	p := addProject(t, s, "/a")
	const workers, each = 8, 20
	var mu sync.Mutex
	used := map[int64]bool{}
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			v := Session{ID: id(w), ProjectID: p.ID, CreatedAt: t0}
			if err := s.PutSession(v); err != nil {
				t.Error(err)
			}
			for range each {
				e := api.Event{Link: v.ID.Link()}
				if err := s.Transition(v.ID, Progress{Status: api.Working}, &e); err != nil {
					t.Error(err)
				}
				mu.Lock()
				if used[e.Seq] {
					t.Errorf("number %d was given twice", e.Seq)
				}
				used[e.Seq] = true
				mu.Unlock()
				events, _, err := s.EventsSince(e.Seq-1, 1)
				if err != nil || len(events) != 1 || events[0].Link != e.Link {
					t.Errorf("event %d is not in the log: %v, %v", e.Seq, events, err)
				}
			}
		})
	}
	wg.Wait()
	if len(used) != workers*each {
		t.Errorf("%d numbers", len(used))
	}
}
