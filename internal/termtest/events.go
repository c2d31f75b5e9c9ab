package termtest

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"termio/internal/api"
)

// Events is a watch that a test reads. It speaks HTTP itself, without our client: what
// a program of somebody else's sees.
type Events struct {
	d     *Daemon
	lines chan string
	seen  []string
	// awaited is what a test is waiting for, for its failure.
	awaited string
	err     error // why it ended; set before lines is closed
}

// allStates is the state parameter for every transition.
const allStates = "working,needs-you,done,idle,closed,stalled"

// WatchAll is a watch of every transition in the project, without a snapshot.
func (d *Daemon) WatchAll() *Events {
	d.t.Helper()
	return d.Watch(url.Values{"state": {allStates}, "snapshot": {"0"}})
}

// Watch starts a watch with the route's parameters. When it returns the watch is on:
// whatever happens from then on is among its events. It ends with the test.
func (d *Daemon) Watch(q url.Values) *Events {
	d.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	d.t.Cleanup(cancel)
	res, err := d.Get(ctx, "/v1/watch?"+q.Encode())
	if err != nil {
		d.t.Fatalf("watch: %v", err)
	}
	if res.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(res.Body)
		d.t.Fatalf("watch: %s %s", res.Status, body)
	}
	e := &Events{d: d, lines: make(chan string, 4096)}
	go func() {
		defer close(e.lines)
		defer res.Body.Close()
		for br := bufio.NewReader(res.Body); ; {
			line, err := br.ReadString('\n')
			if err != nil {
				e.err = err
				return
			}
			e.lines <- line
		}
	}()
	return e
}

// Get asks the daemon's socket for a path, as a caller in the project's folder.
func (d *Daemon) Get(ctx context.Context, path string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://termio"+path, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set(api.HeaderCwd, url.PathEscape(d.Dir))
	return d.Do(req)
}

// Do sends a request over the daemon's socket, on a connection of its own.
func (d *Daemon) Do(req *http.Request) (*http.Response, error) {
	var dialer net.Dialer
	c := http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, "unix", d.Paths.Socket)
		},
	}}
	return c.Do(req)
}

// Line is the next line, as it came; false when the watch has ended.
func (e *Events) Line() (string, bool) {
	e.d.t.Helper()
	select {
	case l, ok := <-e.lines:
		return l, ok
	case <-e.d.Context().Done():
		e.d.t.Fatalf("waiting for %s: nothing came; seen:%s", cmp.Or(e.awaited, "a line"), strings.Join(e.seen, ""))
		return "", false
	}
}

// Next is the next event.
func (e *Events) Next() api.Event {
	e.d.t.Helper()
	line, ok := e.Line()
	if !ok {
		e.d.t.Fatalf("watch ended: %v; seen:%s", e.err, strings.Join(e.seen, ""))
	}
	var ev api.Event
	if err := json.Unmarshal([]byte(line), &ev); err != nil {
		e.d.t.Fatalf("%v in %q", err, line)
	}
	e.seen = append(e.seen, fmt.Sprintf("\n  %d %s %q %s", ev.Seq, ev.Status, ev.Title, ev.Reason))
	return ev
}

// Await passes over events until one fits.
func (e *Events) Await(what string, fits func(api.Event) bool) api.Event {
	e.d.t.Helper()
	e.awaited = what
	defer func() { e.awaited = "" }()
	for {
		if ev := e.Next(); fits(ev) {
			return ev
		}
	}
}

// AwaitStatus passes over events until a session has a status.
func (e *Events) AwaitStatus(link string, st api.Status) api.Event {
	e.d.t.Helper()
	return e.Await(string(st), func(ev api.Event) bool { return ev.Link == link && ev.Status == st })
}

// Ended passes over lines until the daemon ends the watch.
func (e *Events) Ended() error {
	e.d.t.Helper()
	for {
		if _, ok := e.Line(); !ok {
			if errors.Is(e.err, io.EOF) {
				return nil
			}
			return e.err
		}
	}
}

// Post sends a request as JSON, as a caller in the project's folder, and gives the
// daemon's error.
func (d *Daemon) Post(path string, body any) error {
	d.t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		d.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(d.Context(), http.MethodPost, "http://termio"+path, bytes.NewReader(data))
	if err != nil {
		d.t.Fatal(err)
	}
	req.Header.Set(api.HeaderCwd, url.PathEscape(d.Dir))
	res, err := d.Do(req)
	if err != nil {
		d.t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode == http.StatusOK {
		return nil
	}
	var e api.Error
	if err := json.NewDecoder(res.Body).Decode(&e); err != nil {
		d.t.Fatalf("%s: %v", res.Status, err)
	}
	return &e
}
