package host

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"termio/internal/api"
)

// eventList is a log of events in memory.
type eventList []api.Event

func (l *eventList) EventsSince(seq int64, limit int) ([]api.Event, int64, error) {
	return (*l)[min(int(seq), len(*l)):min(int(seq)+limit, len(*l))], 1, nil
}

// testBus is a bus with a session of project 1.
type testBus struct {
	*bus
	t   *testing.T
	log *eventList
}

func newTestBus(t *testing.T) testBus {
	log := &eventList{}
	return testBus{newBus(log, 0), t, log}
}

func (b testBus) tell(st api.Status) api.Event {
	b.t.Helper()
	id := api.SessionID("ab12cd34-9f2e-4c31-b8d7-3e5a12c90f44")
	e := api.Event{Link: id.Link(), Status: st}
	err := b.publish(origin{id: id, project: 1}, &e, func(e *api.Event) error {
		e.Seq = int64(len(*b.log)) + 1
		*b.log = append(*b.log, *e)
		return nil
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return e
}

func (b testBus) watch(states ...api.Status) *Watch {
	b.t.Helper()
	f := watchFilter{project: 1, states: map[api.Status]bool{}}
	for _, st := range states {
		f.states[st] = true
	}
	w, err := b.subscribe(f, -1, false, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(w.Close)
	return w
}

// A reader that is too slow is cut off when its queue is full, having been told
// everything up to there, and delays nobody: neither who publishes nor who reads.
func TestSlowWatcherIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newTestBus(t)
		slow, quick := b.watch(api.Working), b.watch(api.Working)
		began := time.Now()
		const events = watchQueue + 10
		for range events {
			told := b.tell(api.Working)
			got, err := quick.Next(t.Context(), 0)
			if err != nil || got.Seq != told.Seq {
				t.Fatalf("the quick reader got %d, %v; want %d", got.Seq, err, told.Seq)
			}
		}
		if d := time.Since(began); d != 0 {
			t.Errorf("the slow reader held everybody up for %s", d)
		}
		for want := int64(1); want <= watchQueue; want++ {
			got, err := slow.Next(t.Context(), 0)
			if err != nil || got.Seq != want {
				t.Fatalf("the slow reader got %d, %v; want %d", got.Seq, err, want)
			}
		}
		if got, err := slow.Next(t.Context(), 0); !errors.Is(err, ErrLagged) {
			t.Errorf("the slow reader got %d, %v behind its queue", got.Seq, err)
		}
		if n := b.watchers(); n != 1 {
			t.Errorf("%d watchers are left, want the quick one", n)
		}
	})
}

// A watch that nothing happens on says so, each time after the whole silence.
func TestSilenceIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const silence = 30 * time.Second
		b := newTestBus(t)
		w := b.watch(api.Done)
		ctx := context.Background()
		began := time.Now()
		go func() {
			time.Sleep(20 * time.Second)
			b.tell(api.Working) // not for this watch: no word of it
			time.Sleep(5 * time.Second)
			b.tell(api.Done)
		}()
		steps := []struct {
			at    time.Duration
			event bool
		}{
			{25 * time.Second, true},
			{55 * time.Second, false},
			{85 * time.Second, false},
		}
		for _, want := range steps {
			_, err := w.Next(ctx, silence)
			if event := err == nil; event != want.event || !event && !errors.Is(err, ErrSilent) {
				t.Errorf("after %s: %v", time.Since(began), err)
			}
			if at := time.Since(began); at != want.at {
				t.Errorf("told after %s, want %s", at, want.at)
			}
		}
	})
}

// prunedLog is an eventList that has lost what is before oldest.
type prunedLog struct {
	eventList
	oldest int64
}

func (l *prunedLog) EventsSince(seq int64, limit int) ([]api.Event, int64, error) {
	events, _, err := l.eventList.EventsSince(max(seq, l.oldest-1), limit)
	return events, l.oldest, err
}

// A watch with since is given every event that is kept, over several readings of the
// log, and is told when some are not kept any more.
func TestSinceReachesBackToTheOldest(t *testing.T) {
	log := &prunedLog{oldest: 1}
	const events = 3*replayBatch + 1
	for i := range int64(events) {
		log.eventList = append(log.eventList, api.Event{Status: api.Working, Seq: i + 1})
	}
	b := newBus(log, events)
	since := func(seq int64) *Watch {
		t.Helper()
		f := watchFilter{all: true, states: map[api.Status]bool{api.Working: true}}
		w, err := b.subscribe(f, seq, false, func(string) int64 { return 1 })
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(w.Close)
		return w
	}
	w := since(500)
	if w.Lost() != nil {
		t.Errorf("lost: %+v", w.Lost())
	}
	for want := int64(501); want <= events; want++ {
		if e, err := w.Next(t.Context(), 0); err != nil || e.Seq != want {
			t.Fatalf("event %d, %v; want %d", e.Seq, err, want)
		}
	}
	log.oldest = 1000
	w = since(500)
	if lost := w.Lost(); lost == nil || lost.Since != 500 || lost.Oldest != 1000 {
		t.Errorf("lost: %+v", lost)
	}
	if e, err := w.Next(t.Context(), 0); err != nil || e.Seq != 1000 {
		t.Errorf("first event: %d, %v", e.Seq, err)
	}
	// A number of a log that is no more.
	if lost := since(events + 5).Lost(); lost == nil || lost.Since != events+5 || lost.Oldest != events+1 {
		t.Errorf("lost: %+v", lost)
	}
}
