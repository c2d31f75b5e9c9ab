package client

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"termio/internal/api"
)

// named are hosts that take calls with a name, and answer them as a test says.
type named struct {
	mu      sync.Mutex
	calls   []string // the methods and paths of the calls that change something
	names   []string // by which they were made, and asked for
	took    chan struct{}
	answers []answer // to those who ask, in order; the last one stays
}

func (n *named) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/v1/version" {
		writeJSON(w, api.VersionReply{Head: api.OKHead()})
		return
	}
	if name, ok := strings.CutPrefix(r.URL.Path, "/v1/requests/"); ok {
		n.mu.Lock()
		n.names = append(n.names, name)
		gives := n.answers[0]
		if len(n.answers) > 1 {
			n.answers = n.answers[1:]
		}
		n.mu.Unlock()
		gives(w, name)
		return
	}
	_, _ = io.Copy(io.Discard, r.Body)
	n.mu.Lock()
	n.calls = append(n.calls, r.Method+" "+r.URL.Path)
	n.names = append(n.names, r.Header.Get(api.HeaderRequest))
	n.mu.Unlock()
	n.took <- struct{}{}
	<-r.Context().Done()
}

// An answer is what a host says to the one who asks for a reply.
type answer func(w http.ResponseWriter, name string)

func gives(v any) answer {
	return func(w http.ResponseWriter, name string) {
		w.Header().Set(api.HeaderRequest, name)
		writeJSON(w, v)
	}
}

func refuses(code api.Code) answer {
	return func(w http.ResponseWriter, name string) {
		w.Header().Set(api.HeaderRequest, name)
		w.WriteHeader(code.HTTPStatus())
		writeJSON(w, api.NewError(code, "the daemon's words"))
	}
}

func knowsNothing(w http.ResponseWriter, _ string) { refuses(api.NotFound)(w, api.RequestUnknown) }

func keepsNone(w http.ResponseWriter, _ string) {
	w.WriteHeader(api.BadOp.HTTPStatus())
	writeJSON(w, api.NewError(api.BadOp, "no such call"))
}

func dies(http.ResponseWriter, string) { panic(http.ErrAbortHandler) }

// The answer to a call whose host was replaced comes from the next one, or the one
// after; the call itself is never made again.
func TestAnswerFromTheNextHost(t *testing.T) {
	waits := gives(api.WaitReply{Head: api.OKHead(), Target: testLink, Status: api.Done})
	sends := func(ctx context.Context, c *Client) (string, error) {
		r, err := c.SendWait(ctx, "x", api.SendRequest{Text: "hi"})
		return r.Target, err
	}
	tests := []struct {
		name    string
		call    func(context.Context, *Client) (string, error)
		answers []answer
		code    api.Code
		want    string // of the answer, or of the error
	}{
		{"a wait", sends, []answer{waits}, "", testLink},
		{"over three hosts", sends, []answer{dies, dies, waits}, "", testLink},
		{"its outcome is an error", sends, []answer{refuses(api.AgentGone)}, api.AgentGone, "the daemon's words"},
		{"its outcome is that there is none", sends, []answer{refuses(api.NotFound)}, api.NotFound, "the daemon's words"},
		{"nobody knows of it", sends, []answer{knowsNothing}, api.Unavailable, `nothing was typed into "x"`},
		{"an older daemon", sends, []answer{keepsNone}, api.Unavailable, "sessions go on"},
		{"spawn", func(ctx context.Context, c *Client) (string, error) {
			r, err := c.Spawn(ctx, api.SpawnRequest{Prompt: "hi"})
			return r.Target, err
		}, []answer{gives(api.StartReply{Head: api.OKHead(), Target: testLink})}, "", testLink},
		{"spawn that nobody knows of", func(ctx context.Context, c *Client) (string, error) {
			r, err := c.SpawnWait(ctx, api.SpawnRequest{Prompt: "hi"})
			return r.Target, err
		}, []answer{knowsNothing}, api.Unavailable, "nothing was started"},
		{"run", func(ctx context.Context, c *Client) (string, error) {
			r, err := c.Run(ctx, api.RunRequest{Command: "hi"})
			return r.Target, err
		}, []answer{gives(api.StartReply{Head: api.OKHead(), Target: testLink})}, "", testLink},
		{"close", func(ctx context.Context, c *Client) (string, error) {
			r, err := c.Close(ctx, "x")
			return r.Closed, err
		}, []answer{gives(api.CloseReply{Head: api.OKHead(), Closed: testLink})}, "", testLink},
		{"close that nobody knows of", func(ctx context.Context, c *Client) (string, error) {
			r, err := c.Close(ctx, "x")
			return r.Closed, err
		}, []answer{knowsNothing}, api.Unavailable, `"x" was not closed`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := home(t)
			n := &named{took: make(chan struct{}), answers: tt.answers}
			h := serve(t, p, n)
			c := dial(t, p)
			type result struct {
				got string
				err error
			}
			came := make(chan result, 1)
			go func() {
				got, err := tt.call(testContext(t), c)
				came <- result{got, err}
			}()
			<-n.took
			h.replace(n)
			r := <-came
			switch {
			case tt.code == "" && (r.err != nil || r.got != tt.want):
				t.Errorf("%q, %v; want %q", r.got, r.err, tt.want)
			case tt.code != "" && (api.CodeOf(r.err) != tt.code || !strings.Contains(r.err.Error(), tt.want)):
				t.Errorf("%v (%s), want %q (%s)", r.err, api.CodeOf(r.err), tt.want, tt.code)
			}
			h.kill()
			if len(n.calls) != 1 {
				t.Errorf("called %q", n.calls)
			}
			for _, name := range n.names {
				if _, ok := api.ParseSessionID(name); !ok || name != n.names[0] {
					t.Errorf("names %q", n.names)
				}
			}
		})
	}
}

// Where no host comes back, that is said soon.
func TestAnswerFromNoHost(t *testing.T) {
	p := home(t)
	n := &named{took: make(chan struct{})}
	h := serve(t, p, n)
	c := dial(t, p)
	c.resumeWithin = 50 * time.Millisecond
	came := make(chan error, 1)
	go func() {
		_, err := c.SendWait(testContext(t), "x", api.SendRequest{Text: "hi"})
		came <- err
	}()
	<-n.took
	h.kill()
	if err := <-came; api.CodeOf(err) != api.Unavailable || !strings.Contains(err.Error(), "did not come back") {
		t.Error(err)
	}
}
