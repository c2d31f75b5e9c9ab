package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"termio/internal/api"
)

// streams answers watch calls with what a test writes.
type streams struct {
	opened chan stream
}

type stream struct {
	query string
	lines chan string // closed: ended in order
}

func newStreams() *streams { return &streams{opened: make(chan stream, 4)} }

func (s *streams) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/v1/version" {
		writeJSON(w, api.VersionReply{Head: api.OKHead()})
		return
	}
	st := stream{r.URL.RawQuery, make(chan string)}
	w.Header().Set(api.HeaderSeq, "7")
	w.WriteHeader(http.StatusOK)
	w.(http.Flusher).Flush()
	s.opened <- st
	for {
		select {
		case line, ok := <-st.lines:
			if !ok {
				return
			}
			_, _ = io.WriteString(w, line+"\n")
			w.(http.Flusher).Flush()
		case <-r.Context().Done():
			return
		}
	}
}

// event is a line of watch.
func event(seq int) string {
	return fmt.Sprintf(`{"schema_version":1,"link":"%s","status":"done","title":"t","seq":%d,"at":1,"field_of_tomorrow":[]}`, testLink, seq)
}

// watching runs a watch and gives what it tells and how it ends.
func watching(ctx context.Context, c *Client, o WatchOptions) (lines chan string, end chan error) {
	lines, end = make(chan string), make(chan error, 1)
	go func() {
		end <- c.Watch(ctx, o, func(l Line) error {
			switch {
			case l.Event != nil:
				lines <- fmt.Sprintf("%s %d", l.Event.Status, l.Event.Seq)
			case l.Lost != nil:
				lines <- fmt.Sprintf("lost %d-%d", l.Lost.Since, l.Lost.Oldest)
			case l.Heartbeat:
				lines <- "heartbeat"
			}
			return nil
		})
	}()
	return lines, end
}

func TestWatchLines(t *testing.T) {
	p, s := home(t), newStreams()
	serve(t, p, s)
	since := int64(3)
	ctx, cancel := context.WithCancel(testContext(t))
	lines, end := watching(ctx, dial(t, p), WatchOptions{
		States: []api.Status{api.Done, api.NeedsYou}, NoSnapshot: true, All: true, Since: &since, Heartbeat: true,
	})
	st := <-s.opened
	if want := "all=1&heartbeat=1&since=3&snapshot=0&state=done%2Cneeds-you"; st.query != want {
		t.Errorf("asked %s, want %s", st.query, want)
	}
	var got []string
	for _, line := range []string{
		`{"schema_version":1,"lost":true,"since":3,"oldest":40}`, event(41), `{"word_of_tomorrow": 1}`, api.Heartbeat,
		strings.Replace(event(42), `"t"`, `"`+strings.Repeat("x", 200<<10)+`"`, 1),
	} {
		st.lines <- line
		if !strings.Contains(line, "tomorrow\":") || strings.Contains(line, "link") {
			got = append(got, <-lines)
		}
	}
	if diff := cmp.Diff([]string{"lost 3-40", "done 41", "heartbeat", "done 42"}, got); diff != "" {
		t.Error(diff)
	}
	cancel()
	if err := <-end; err != nil {
		t.Errorf("a watch that its caller ended: %v", err)
	}
}

// The stream goes on over one restart of the host, after the last event, and no
// further.
func TestWatchResumesOnce(t *testing.T) {
	for _, seen := range []bool{true, false} {
		t.Run(fmt.Sprintf("events seen %v", seen), func(t *testing.T) {
			p, s := home(t), newStreams()
			h := serve(t, p, s)
			lines, end := watching(testContext(t), dial(t, p), WatchOptions{})
			st := <-s.opened
			want := "since=7&snapshot=0" // the number before the stream began
			if seen {
				st.lines <- event(9)
				<-lines
				want = "since=9&snapshot=0"
			}
			h.replace(s)
			st = <-s.opened
			if st.query != want {
				t.Errorf("asked %q, want %q", st.query, want)
			}
			st.lines <- event(10)
			if got := <-lines; got != "done 10" {
				t.Error(got)
			}
			h.replace(s)
			err := <-end
			if !errors.Is(err, ErrStreamEnded) || api.CodeOf(err) != api.Unavailable {
				t.Errorf("after the second restart: %v", err)
			}
			if e, ok := errors.AsType[*api.Error](err); !ok || !strings.Contains(e.Message, "--since 10 ") {
				t.Errorf("the way to go on is missing: %v", err)
			}
		})
	}
}

// A reader that the same host has cut off is told so, and does not come back.
func TestWatchCutOff(t *testing.T) {
	p, s := home(t), newStreams()
	serve(t, p, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/watch" {
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
		s.ServeHTTP(w, r)
	}))
	if err := dial(t, p).Watch(testContext(t), WatchOptions{}, func(Line) error { return nil }); !errors.Is(err, ErrStreamEnded) {
		t.Error(err)
	}
}

// The last line of a stream that the daemon ends says why.
func TestWatchEndedWithAReason(t *testing.T) {
	p, s := home(t), newStreams()
	serve(t, p, s)
	_, end := watching(testContext(t), dial(t, p), WatchOptions{})
	st := <-s.opened
	st.lines <- `{"ok":false,"error":"unavailable","message":"the daemon was stopped","schema_version":1}`
	err := <-end
	if e, ok := errors.AsType[*api.Error](err); !errors.Is(err, ErrStreamEnded) || !ok || e.Code != api.Unavailable || e.Message != "the daemon was stopped" {
		t.Errorf("%v", err)
	}
}

// A stream that the daemon ends in order, as when it stops, is over at once.
func TestWatchEndedInOrder(t *testing.T) {
	p, s := home(t), newStreams()
	serve(t, p, s)
	_, end := watching(testContext(t), dial(t, p), WatchOptions{})
	close((<-s.opened).lines)
	if err := <-end; !errors.Is(err, ErrStreamEnded) {
		t.Error(err)
	}
}

func TestWatchNoNextHost(t *testing.T) {
	p, s := home(t), newStreams()
	h := serve(t, p, s)
	c := dial(t, p)
	c.resumeWithin = 50 * time.Millisecond
	_, end := watching(testContext(t), c, WatchOptions{})
	<-s.opened
	h.kill()
	if err := <-end; !errors.Is(err, ErrStreamEnded) {
		t.Error(err)
	}
}

func TestWatchRefused(t *testing.T) {
	p := home(t)
	serve(t, p, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(api.NoScope.HTTPStatus())
		writeJSON(w, api.NewError(api.NoScope, "open it first"))
	}))
	err := dial(t, p).Watch(testContext(t), WatchOptions{}, func(Line) error { return nil })
	if api.CodeOf(err) != api.NoScope || err.Error() != "open it first" {
		t.Error(err)
	}
}

// What a caller does with a line may fail; the watch ends with that.
func TestWatchCallerFails(t *testing.T) {
	p, s := home(t), newStreams()
	serve(t, p, s)
	full := errors.New("disk full")
	end := make(chan error)
	go func() {
		end <- dial(t, p).Watch(testContext(t), WatchOptions{}, func(Line) error { return full })
	}()
	(<-s.opened).lines <- event(1)
	if err := <-end; !errors.Is(err, full) {
		t.Error(err)
	}
}

func TestWatchNonsense(t *testing.T) {
	for _, line := range []string{"oops", `{"link":"x","seq":"one"}`} {
		p, s := home(t), newStreams()
		serve(t, p, s)
		_, end := watching(testContext(t), dial(t, p), WatchOptions{})
		(<-s.opened).lines <- line
		if err := <-end; api.CodeOf(err) != api.Unavailable {
			t.Errorf("%s: %v", line, err)
		}
	}
}
