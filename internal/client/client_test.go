package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"termio/internal/api"
	"termio/internal/config"
)

const testLink = "termio://session/ab12cd34-9f2e-4c31-b8d7-3e5a12c90f44"

// A missing socket, a refused connection and a silent daemon are told apart,
// and each says what to do.
func TestUnreachable(t *testing.T) {
	unanswered := func(t *testing.T, p config.Paths) { listen(t, p) }
	gone := func(t *testing.T, p config.Paths) {
		ln := listen(t, p).(*net.UnixListener)
		ln.SetUnlinkOnClose(false)
		_ = ln.Close()
	}
	answers := func(reply string) func(*testing.T, config.Paths) {
		return func(t *testing.T, p config.Paths) {
			serveRaw(t, p, reply)
		}
	}
	tests := []struct {
		name  string
		setup func(*testing.T, config.Paths)
		want  string
	}{
		{"missing socket", func(*testing.T, config.Paths) {}, "no termio daemon is running"},
		{"refused", gone, "nobody listens on the socket it left"},
		{"silent", unanswered, "took the call but sent nothing for 50ms"},
		{"hangs up", answers(""), "hung up without a reply"},
		{"no HTTP", answers("hello\r\n\r\n"), "hung up without a reply"},
		{"empty reply", answers("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), "an empty reply"},
		{"no JSON", answers("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\noops"), "no JSON"},
		{"neither ok nor error", answers("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"), `neither "ok" nor`},
		{"cut in the middle", answers("HTTP/1.1 200 OK\r\nContent-Length: 40\r\n\r\n{"), "hung up"},
		{"another program", answers("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 4\r\n\r\noops"), "no reply of a termio daemon"},
		{"other shape", answers("HTTP/1.1 200 OK\r\nContent-Length: 26\r\n\r\n{\"ok\":true,\"sessions\":\"x\"}"), "another shape"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := home(t)
			tt.setup(t, p)
			c, err := Dial(testContext(t), p, Options{Timeout: testTimeout})
			if err == nil {
				if tt.name == "silent" {
					c.opts.Timeout = 50 * time.Millisecond
				}
				_, err = c.List(testContext(t), ListOptions{})
			}
			if api.CodeOf(err) != api.Unavailable || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: %v, want %q", api.CodeOf(err), err, tt.want)
			}
			if strings.Contains(fmt.Sprint(err), "\n") {
				t.Errorf("an error of several lines: %q", err)
			}
		})
	}
}

// serveRaw answers each connection with fixed bytes once it has read a request.
func serveRaw(t *testing.T, p config.Paths, reply string) {
	ln := listen(t, p)
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			b := make([]byte, 64<<10)
			for n := 0; !strings.Contains(string(b[:n]), "\r\n\r\n"); {
				m, err := c.Read(b[n:])
				if err != nil {
					break
				}
				n += m
			}
			_, _ = io.WriteString(c, reply)
			_ = c.Close()
		}
	})
	t.Cleanup(func() { _ = ln.Close(); wg.Wait() })
}

// An error of the daemon arrives as it is, whichever HTTP status carries it.
func TestDaemonError(t *testing.T) {
	for _, status := range []int{http.StatusNotFound, http.StatusOK} {
		p := home(t)
		serve(t, p, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			writeJSON(w, api.NewError(api.NotFound, `no session "x7" here`))
		}))
		_, err := dial(t, p).Focus(testContext(t), "x7")
		var e *api.Error
		if !errors.As(err, &e) || *e != *api.NewError(api.NotFound, `no session "x7" here`) {
			t.Errorf("HTTP %d: %v", status, err)
		}
	}
}

// Each method sends what its route promises.
func TestRequests(t *testing.T) {
	type sent struct{ Line, Body string }
	var got sent
	p := home(t)
	serve(t, p, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = sent{r.Method + " " + r.RequestURI, string(body)}
		for name, want := range map[string]string{
			api.HeaderCwd: "%2Ftmp%2Fa%20b", api.HeaderVersion: config.Version, api.HeaderSession: "ab12cd34-9f2e-4c31-b8d7-3e5a12c90f44",
		} {
			if v := r.Header.Get(name); v != want {
				t.Errorf("%s %s: %s is %q, want %q", r.Method, r.URL, name, v, want)
			}
		}
		writeJSON(w, api.OKHead())
	}))
	c, ctx := dial(t, p), testContext(t)
	branch := ""
	yes := true
	tests := []struct {
		name string
		call func() error
		want sent
	}{
		{"version", func() error { _, err := c.Version(ctx); return err }, sent{"GET /v1/version", ""}},
		{"list", func() error { _, err := c.List(ctx, ListOptions{}); return err }, sent{"GET /v1/sessions", ""}},
		{"list wide", func() error { _, err := c.List(ctx, ListOptions{All: true, Closed: true}); return err }, sent{"GET /v1/sessions?all=1&closed=1", ""}},
		{"spawn", func() error {
			_, err := c.Spawn(ctx, api.SpawnRequest{Prompt: "hi", Worktree: &branch, Waiting: api.Waiting{Wait: true, TimeoutMS: 1}})
			return err
		}, sent{"POST /v1/sessions/spawn", `{"prompt":"hi","worktree":""}`}},
		{"spawn and wait", func() error {
			_, err := c.SpawnWait(ctx, api.SpawnRequest{Prompt: "hi", Waiting: api.Waiting{TimeoutMS: 1000}})
			return err
		}, sent{"POST /v1/sessions/spawn", `{"prompt":"hi","wait":true,"timeout_ms":1000}`}},
		{"run", func() error { _, err := c.Run(ctx, api.RunRequest{Command: "make"}); return err }, sent{"POST /v1/sessions/run", `{"command":"make"}`}},
		{"run and wait", func() error { _, err := c.RunWait(ctx, api.RunRequest{Command: "make"}); return err }, sent{"POST /v1/sessions/run", `{"command":"make","wait":true}`}},
		{"send", func() error {
			_, err := c.Send(ctx, "ab", api.SendRequest{Text: "x", Keys: []string{"up"}})
			return err
		}, sent{"POST /v1/sessions/ab/send", `{"text":"x","keys":["up"]}`}},
		{"send and wait", func() error { _, err := c.SendWait(ctx, "ab", api.SendRequest{Text: "x"}); return err }, sent{"POST /v1/sessions/ab/send", `{"text":"x","wait":true}`}},
		{"read", func() error { _, err := c.Read(ctx, "ab", ReadOptions{Lines: 5, Scrollback: true}); return err }, sent{"GET /v1/sessions/ab/screen?lines=5&scrollback=1", ""}},
		{"close", func() error { _, err := c.Close(ctx, "ab"); return err }, sent{"DELETE /v1/sessions/ab", ""}},
		{"focus", func() error { _, err := c.Focus(ctx, testLink); return err }, sent{"POST /v1/sessions/termio:%2F%2Fsession%2Fab12cd34-9f2e-4c31-b8d7-3e5a12c90f44/focus", ""}},
		{"resume", func() error { _, err := c.Resume(ctx, "ab"); return err }, sent{"POST /v1/sessions/ab/resume", ""}},
		{"explain", func() error { _, err := c.Explain(ctx, "ab"); return err }, sent{"GET /v1/sessions/ab/explain", ""}},
		{"notify", func() error { _, err := c.Notify(ctx, api.NotifyRequest{Message: "m"}); return err }, sent{"POST /v1/notify", `{"message":"m"}`}},
		{"open", func() error { _, err := c.Open(ctx, api.OpenRequest{Path: "/tmp"}); return err }, sent{"POST /v1/projects", `{"path":"/tmp"}`}},
		{"history", func() error {
			_, err := c.History(ctx, HistoryOptions{Project: "/p q", Agent: "demo", Limit: 3})
			return err
		}, sent{"GET /v1/agents/history?agent=demo&limit=3&project=%2Fp+q", ""}},
		{"agents", func() error { _, err := c.Agents(ctx); return err }, sent{"GET /v1/agents", ""}},
		{"settings", func() error { _, err := c.Settings(ctx); return err }, sent{"GET /v1/settings", ""}},
		{"set", func() error {
			_, err := c.Set(ctx, api.SettingsChange{Settings: api.Settings{LiveStatus: &yes}})
			return err
		}, sent{"PATCH /v1/settings", `{"live_status":true}`}},
		{"daemon", func() error { _, err := c.Daemon(ctx); return err }, sent{"GET /v1/daemon", ""}},
		{"stop", func() error { _, err := c.Stop(ctx); return err }, sent{"POST /v1/daemon/stop", ""}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if err := tt.call(); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Any address is one path segment for the server, also one that looks like a
// path, and an empty one is an error before anything is sent.
func TestTargets(t *testing.T) {
	var got string
	mux := http.NewServeMux()
	mux.HandleFunc(api.RouteFocus, func(w http.ResponseWriter, r *http.Request) {
		got = r.PathValue("target")
		writeJSON(w, api.FocusReply{Head: api.OKHead(), Focused: testLink})
	})
	p := home(t)
	serve(t, p, mux)
	c := dial(t, p)
	for _, target := range []string{testLink, "ab12", "Fix the flaky test", "a/b", "..", ".", "100%", "?x=1#y", "日本語", "%2F", "a+b"} {
		got = ""
		if _, err := c.Focus(testContext(t), target); err != nil || got != target {
			t.Errorf("%q arrived as %q, %v", target, got, err)
		}
	}
	if _, err := c.Focus(testContext(t), ""); api.CodeOf(err) != api.NoTarget {
		t.Errorf("no target: %v", err)
	}
}

// A reply of a newer daemon, with fields that this version does not know, is
// read as far as it is known.
func TestNewerReply(t *testing.T) {
	p := home(t)
	serve(t, p, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(api.HeaderDaemon, "9.9")
		_, _ = io.WriteString(w, `{"ok":true,"schema_version":1,"focused":"`+testLink+`","moved":{"x":1}}`)
	}))
	c := dial(t, p)
	if v := c.DaemonVersion(); v != "" {
		t.Errorf("version %s before any reply", v)
	}
	if v, err := c.Focus(testContext(t), "x"); err != nil || v.Focused != testLink {
		t.Errorf("%+v, %v", v, err)
	}
	if v := c.DaemonVersion(); v != "9.9" {
		t.Errorf("version %q", v)
	}
}

// A question that the end of a host has cut off is put to the next one.
func TestAskedAgain(t *testing.T) {
	p := home(t)
	var asked atomic.Int32
	serve(t, p, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) == 1 {
			panic(http.ErrAbortHandler)
		}
		writeJSON(w, api.OKHead())
	}))
	if _, err := dial(t, p).List(testContext(t), ListOptions{}); err != nil {
		t.Errorf("list: %v", err)
	}
}

// A caller that gives up gets its own reason back, not the daemon's silence.
func TestCancelled(t *testing.T) {
	p := home(t)
	got := make(chan struct{})
	serve(t, p, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(got)
		<-r.Context().Done()
	}))
	ctx, cancel := context.WithCancel(testContext(t))
	go func() { <-got; cancel() }()
	if _, err := dial(t, p).List(ctx, ListOptions{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// Ten callers that find no daemon start one.
func TestStartOnce(t *testing.T) {
	p := home(t)
	t.Setenv("TERMIO_SESSION", "ab12cd34-9f2e-4c31-b8d7-3e5a12c90f44")
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			c, err := Dial(testContext(t), p, Options{Start: true, Environ: append(os.Environ(), "KEPT=yes"), Timeout: testTimeout})
			if err != nil {
				t.Error(err)
				return
			}
			if v, err := c.Version(testContext(t)); err != nil || v.Version != config.Version {
				t.Errorf("%+v, %v", v, err)
			}
		})
	}
	wg.Wait()
	if c, err := Dial(testContext(t), p, Options{Timeout: testTimeout}); err != nil {
		t.Error(err)
	} else if _, err := c.Stop(testContext(t)); err != nil {
		t.Error(err)
	}
	// The daemon is in no session and stands in its own folder.
	starts, err := os.ReadFile(p.Home + "/starts")
	if want := p.Home + " \"\" yes\n"; err != nil || string(starts) != want {
		t.Errorf("starts %q, %v; want %q", starts, err, want)
	}
	if fi, err := os.Stat(p.StableExe); err != nil || fi.Mode()&0o111 == 0 {
		t.Errorf("the program's stable path: %v, %v", fi, err)
	}
}

func TestStartFails(t *testing.T) {
	for how, want := range map[string]string{
		"fails": "did not start: the lock is held by process 1; its log is at",
		"dies":  "did not start: it ended before it was ready; its log is at",
	} {
		p := home(t)
		_, err := Dial(testContext(t), p, Options{Start: true, Environ: append(os.Environ(), "FAKE_DAEMON="+how)})
		if api.CodeOf(err) != api.Unavailable || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", how, err)
		}
	}
	p := home(t)
	_, err := Dial(testContext(t), p, Options{Start: true, Exe: p.Home + "/nothing"})
	if api.CodeOf(err) != api.Unavailable || !strings.Contains(err.Error(), "cannot start a termio daemon") {
		t.Error(err)
	}
}

// bin/termio becomes the program that is running, whatever stood there.
func TestInstallProgram(t *testing.T) {
	p := home(t)
	exe := p.Home + "/exe"
	for _, content := range []string{"one", "two", "two", "a longer one"} {
		if err := os.WriteFile(exe+".new", []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(exe+".new", exe); err != nil {
			t.Fatal(err)
		}
		if err := InstallProgram(p, exe); err != nil {
			t.Fatal(err)
		}
		if data, err := os.ReadFile(p.StableExe); err != nil || string(data) != content {
			t.Errorf("%s holds %q, %v; want %q", p.StableExe, data, err, content)
		}
	}
	names, err := os.ReadDir(p.BinDir)
	if err != nil || len(names) != 1 {
		t.Errorf("%v, %v", names, err)
	}
}

// A large request arrives whole.
func TestLargeSend(t *testing.T) {
	text := strings.Repeat("0123456789abcdef", 1<<16) // 1 MiB
	p := home(t)
	serve(t, p, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var req api.SendRequest
		err := json.NewDecoder(r.Body).Decode(&req)
		writeJSON(w, api.SendReply{Head: api.OKHead(), Title: fmt.Sprint(req.Text == text, err)})
	}))
	if v, err := dial(t, p).Send(testContext(t), "x", api.SendRequest{Text: text}); err != nil || v.Title != "true <nil>" {
		t.Errorf("%+v, %v", v, err)
	}
}
