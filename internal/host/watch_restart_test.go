package host_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"

	"termio/internal/api"
	"termio/internal/client"
	"termio/internal/termtest"
)

// told is what a watch told of an event.
type told struct {
	Seq    int64
	Link   string
	Status api.Status
}

// A watch goes on over the death of its host: every event once and in order, whatever
// happened while there was nobody to tell it. After a second one it ends.
func TestWatchGoesOnOverARestart(t *testing.T) {
	d := termtest.Start(t, termtest.WithDemoStream())
	ctx := d.Context()
	gates := []*termtest.Gate{d.Gate("gate0"), d.Gate("gate1"), d.Gate("gate2")}
	var links []string
	beginning := int64(0)
	working := d.WatchAll()
	lines, ended := make(chan told, 1000), make(chan error, 1)
	watching := d.Client()
	watchCtx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		ended <- watching.Watch(watchCtx, client.WatchOptions{
			States: []api.Status{api.Working, api.NeedsYou, api.Done, api.Idle, api.Closed}, NoSnapshot: true, Since: &beginning,
		}, func(l client.Line) error {
			if l.Event == nil {
				return fmt.Errorf("not an event: %+v", l)
			}
			lines <- told{l.Event.Seq, l.Event.Link, l.Event.Status}
			return nil
		})
	}()
	for _, g := range gates {
		link := d.Spawn(fmt.Sprintf("[[until %s]][[say over]]", g.Path))
		working.AwaitStatus(link, api.Working)
		links = append(links, link)
	}
	var got []told
	await := func(link string, st api.Status) {
		t.Helper()
		for {
			select {
			case l := <-lines:
				got = append(got, l)
				if l.Link == link && l.Status == st {
					return
				}
			case err := <-ended:
				t.Fatalf("watch ended: %v", err)
			case <-ctx.Done():
				t.Fatalf("no %s; told: %v", st, got)
			}
		}
	}
	await(links[2], api.Working) // it is on, and has told something

	// One turn ends while the host stands still: nobody takes its hooks.
	d.StopHost(func() {
		gates[0].Open()
		for d.AwaitDemo("hook").Hook != "Stop" {
		}
	})
	gates[1].Open()
	await(links[1], api.Done)
	gates[2].Open()
	await(links[2], api.Done)
	last := d.Run("true")
	d.Close(last)
	await(last, api.Closed)

	var log []told
	for all := d.Watch(url.Values{"state": {"working,needs-you,done,idle,closed"}, "snapshot": {"0"}, "since": {"0"}}); len(log) == 0 || log[len(log)-1] != got[len(got)-1]; {
		e := all.Next()
		log = append(log, told{e.Seq, e.Link, e.Status})
	}
	if diff := cmp.Diff(log, got); diff != "" {
		t.Errorf("the log, and what the watch told:\n%s", diff)
	}
	for i, e := range got {
		if e.Seq != int64(i+1) {
			t.Fatalf("event %d has number %d: %v", i+1, e.Seq, got)
		}
	}
	for _, link := range links {
		n := 0
		for _, e := range got {
			if e.Link == link && e.Status == api.Done {
				n++
			}
		}
		if n != 1 {
			t.Errorf("the one turn of %s ended %d times: %v", link, n, got)
		}
	}

	d.KillHost()
	if err := <-ended; !errors.Is(err, client.ErrStreamEnded) || api.CodeOf(err) != api.Unavailable {
		t.Errorf("after the second restart: %v", err)
	}
}

// A host that ends in order leaves its watches to the next one: they go on as after a
// kill, and what is there is not told anew.
func TestWatchGoesOnWithTheNextHost(t *testing.T) {
	d := termtest.Start(t)
	ctx := d.Context()
	link := d.Run("cat")
	lines, ended := make(chan client.Line, 100), make(chan error, 1)
	watching := d.Client()
	watchCtx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		ended <- watching.Watch(watchCtx, client.WatchOptions{States: []api.Status{api.Closed}}, func(l client.Line) error {
			lines <- l
			return nil
		})
	}()
	if l := <-lines; l.Event == nil || !l.Event.Snapshot || l.Event.Link != link {
		t.Fatalf("first line: %+v", l)
	}
	d.EndHost()
	d.Close(link)
	select {
	case l := <-lines:
		if l.Event == nil || l.Event.Snapshot || l.Event.Status != api.Closed || l.Event.Link != link {
			t.Errorf("after the restart: %+v", l.Event)
		}
	case err := <-ended:
		t.Fatalf("watch ended: %v", err)
	}
}

// A watch says who serves it, and from which event on: what a client needs in order to
// go on with the next host although it has heard nothing yet.
func TestWatchSaysWhereItBegins(t *testing.T) {
	d := termtest.Start(t)
	events := d.WatchAll()
	link := d.Run("cat")
	last := events.AwaitStatus(link, api.Working)
	begin := func() (host, seq string) {
		t.Helper()
		res, err := d.Get(d.Context(), "/v1/watch?snapshot=0")
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		return res.Header.Get(api.HeaderHost), res.Header.Get(api.HeaderSeq)
	}
	first, seq := begin()
	if want := fmt.Sprint(last.Seq); first == "" || seq != want {
		t.Errorf("host %q, event %q; want a host and %s", first, seq, want)
	}
	d.KillHost()
	if next, _ := begin(); next == first || next == "" {
		t.Errorf("the next host calls itself %q, as the one before", next)
	}
}
