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
