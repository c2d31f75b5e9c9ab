package host_test

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"termio/internal/api"
	"termio/internal/termtest"
)

// Snapshot and live events are one piece: of sessions that change all the while,
// no transition is lost or told twice, whenever the watch begins.
func TestSnapshotAndEventsAreOnePiece(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t)
	all := d.WatchAll()
	var links []string
	for range 3 {
		r, err := d.Client().SpawnWait(d.Context(), api.SpawnRequest{Agent: "demo", Prompt: "hello"})
		if err != nil {
			t.Fatal(err)
		}
		links = append(links, r.Target)
	}
	const turns = 5
	var work sync.WaitGroup
	for _, link := range links {
		c, ctx := d.Client(), d.Context()
		work.Go(func() {
			for i := range turns {
				if _, err := c.SendWait(ctx, link, api.SendRequest{Text: fmt.Sprint("turn ", i)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	var late []*termtest.Events
	for range 8 {
		late = append(late, d.Watch(url.Values{"state": {"working,done,idle,needs-you"}}))
	}
	work.Wait()
	last := d.Run("true")
	isLast := func(e api.Event) bool { return e.Link == last }
	var truth []api.Event
	for {
		e := all.Next()
		if isLast(e) {
			break
		}
		truth = append(truth, e)
	}
	for i, w := range late {
		state := map[string]api.Status{}
		seq := int64(-1)
		e := w.Next()
		for ; e.Snapshot; e = w.Next() {
			state[e.Link] = e.Status
			seq = e.Seq
		}
		if len(state) != len(links) {
			t.Errorf("watch %d: %d lines of snapshot", i, len(state))
		}
		for _, want := range truth {
			if want.Seq <= seq {
				continue
			}
			if e.Seq != want.Seq || e.Status != want.Status || e.Link != want.Link {
				t.Fatalf("watch %d: event %d %s, want %d %s", i, e.Seq, e.Status, want.Seq, want.Status)
			}
			if state[e.Link] == e.Status && e.Status == api.Working {
				t.Errorf("watch %d: event %d tells again what the snapshot told", i, e.Seq)
			}
			state[e.Link] = e.Status
			e = w.Next()
		}
		if !isLast(e) {
			t.Errorf("watch %d: %+v at the end", i, e)
		}
	}
}

// The default filter carries what a supervisor acts on, with what it needs for that.
func TestWatchCarriesWhatCanBeActedOn(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t)
	events := d.Watch(url.Values{})
	link := d.Spawn("[[ask Which?|A|B]]")
	ask := events.Next()
	if ask.Status != api.NeedsYou || ask.Link != link || ask.Prompt == "" || ask.Dialog == nil || ask.Snapshot {
		t.Errorf("first event: %+v", ask)
	}
	reply, err := d.Client().SendWait(d.Context(), link, api.SendRequest{Text: "1"})
	if err != nil {
		t.Fatal(err)
	}
	done := events.Next()
	if done.Status != api.Done || done.Transcript != reply.Transcript || done.CursorEnd == nil || *done.CursorEnd != *reply.CursorEnd {
		t.Errorf("done: %+v, reply: %+v", done, reply)
	}
	if done.Seq <= ask.Seq || done.Project != "" {
		t.Errorf("done: %+v after %+v", done, ask)
	}
	d.Close(link)
	if e := d.WatchAll(); e == nil {
		t.Fatal("no watch")
	}
}

// since gives what was missed, in order, and then what is new.
func TestWatchSince(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t)
	all := d.WatchAll()
	link := d.Spawn("hello")
	working := all.AwaitStatus(link, api.Working)
	all.AwaitStatus(link, api.Done)
	d.Close(link)
	closed := all.AwaitStatus(link, api.Closed)
	q := url.Values{"since": {strconv.FormatInt(working.Seq, 10)}, "snapshot": {"0"}, "state": {"done,closed,idle"}}
	missed := d.Watch(q)
	if e := missed.Next(); e.Status != api.Done || e.Seq <= working.Seq {
		t.Errorf("first missed: %+v", e)
	}
	if e := missed.Await("the end", func(e api.Event) bool { return e.Status == api.Closed }); e.Seq != closed.Seq {
		t.Errorf("closed: %+v, want %+v", e, closed)
	}
	next := d.Run("true")
	if e := missed.Next(); e.Link != next {
		t.Errorf("live: %+v", e)
	}
}

// A session that works and gets nowhere is told to those who asked for it, and to them
// only; what the session is changes by nothing.
func TestStalled(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t, termtest.WithSettings(api.Settings{StalledAfterMS: 700}))
	d.Git("commit", "--quiet", "--allow-empty", "-m", "first")
	others := d.Watch(url.Values{"state": {"working,done,idle,needs-you"}, "snapshot": {"0"}})
	events := d.Watch(url.Values{"state": {"stalled"}, "snapshot": {"0"}})
	link := d.Spawn("[[think 1h]]")
	stalled := events.AwaitStatus(link, api.Stalled)
	if !strings.Contains(stalled.Evidence, "no repo change") || !strings.Contains(stalled.Evidence, "transcript +") {
		t.Errorf("evidence %q", stalled.Evidence)
	}
	if s := onlySession(t, d); s.Status != api.Working {
		t.Errorf("status %q", s.Status)
	}
	d.WriteFile(d.Dir+"/new", 0o600, "progress")
	again := events.AwaitStatus(link, api.Stalled)
	if again.Seq <= stalled.Seq {
		t.Errorf("again: %+v after %+v", again, stalled)
	}
	d.Close(link)
	last := d.Run("true")
	others.Await("the last", func(e api.Event) bool {
		if e.Status == api.Stalled {
			t.Error("a watch got stalled without asking")
		}
		return e.Link == last
	})
}

// A list, a watch's snapshot and an attached client at the same time show the same of
// every session, whatever state it is in.
func TestEveryViewShowsTheSame(t *testing.T) {
	d := termtest.Start(t)
	events := d.WatchAll()
	want := map[string]api.Status{}
	reach := func(link string, st api.Status) {
		t.Helper()
		events.AwaitStatus(link, st)
		want[link] = st
	}
	reach(d.Run("cat"), api.Working)
	idle := d.Run("cat")
	events.AwaitStatus(idle, api.Working)
	if _, err := d.Client().Send(d.Context(), idle, api.SendRequest{Keys: []string{"ctrl-d"}}); err != nil {
		t.Fatal(err)
	}
	reach(idle, api.Idle)
	reach(d.Spawn("[[until "+filepath.Join(d.Dir, "never")+"]]"), api.Working)
	reach(d.Spawn("[[ask Which?|A|B]]"), api.NeedsYou)
	reach(d.Spawn("[[subagent 1h looks around]]"), api.Done)

	list, err := d.Client().List(d.Context(), listAll)
	if err != nil {
		t.Fatal(err)
	}
	snapshot := d.Watch(url.Values{})
	if len(list.Sessions) != len(want) {
		t.Errorf("%d sessions in the list, want %d", len(list.Sessions), len(want))
	}
	for _, s := range list.Sessions {
		e := snapshot.Next()
		if s.Status != want[s.Link] {
			t.Errorf("list: %s is %s, want %s", s.Title, s.Status, want[s.Link])
		}
		if !e.Snapshot || e.Link != s.Link || e.Status != s.Status || e.Title != s.Title || e.Agent != s.Agent ||
			e.Prompt != s.Prompt || e.Background != s.Background {
			t.Errorf("the watch shows\n%+v, the list\n%+v", e, s)
		}
		screen := d.Screen(s.Link)
		screen.Await("anything", func(string) bool { return true })
		if h := screen.Hello; h.Target != s.Link || h.Status != s.Status || h.Title != s.Title || h.Agent != s.Agent {
			t.Errorf("the attached client is told\n%+v, the list shows\n%+v", h, s)
		}
	}
}

// What changes in a dialog without an event of its own, such as where the live cursor
// is, stands in the next snapshot.
func TestSnapshotShowsTheDialogAsItIs(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t, termtest.WithDemo("deaf=0s"))
	asking := spawnAsking(t, d, "[[ask Which?|A|B]]")
	if _, err := d.Client().Send(d.Context(), asking.Target, api.SendRequest{Keys: []string{"down"}}); err != nil {
		t.Fatal(err)
	}
	selected := func(dialog *api.Dialog) string {
		for _, o := range dialog.Options {
			if o.Selected {
				return o.Label
			}
		}
		return ""
	}
	for ctx := d.Context(); selected(onlySession(t, d).Dialog) != "B"; {
		if ctx.Err() != nil {
			t.Fatal("the cursor never moved")
		}
	}
	if e := d.Watch(url.Values{}).Next(); selected(e.Dialog) != "B" {
		t.Errorf("the cursor is on %q in the snapshot, on B in the list", selected(e.Dialog))
	}
}

// A stream that is asked for it says that it is alive when nothing else happens.
func TestHeartbeat(t *testing.T) {
	t.Parallel() // it takes the whole silence
	d := termtest.Start(t)
	closed := url.Values{"state": {"closed"}, "snapshot": {"0"}}
	without := d.Watch(closed)
	closed.Set("heartbeat", "1")
	if line, ok := d.Watch(closed).Line(); line != api.Heartbeat+"\n" {
		t.Errorf("line %q, %v", line, ok)
	}
	link := d.Run("true")
	d.Close(link)
	if e := without.Next(); e.Link != link {
		t.Errorf("the other stream told %+v first", e)
	}
}
