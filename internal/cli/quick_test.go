package cli

import (
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"termio/internal/api"
	"termio/internal/config"
	"termio/internal/quick"
)

// canned is a daemon that gives one answer to everything and keeps what it was asked.
type canned struct {
	status  int
	version string
	body    string
	asked   []asked
}

type asked struct {
	Method, Path, Query, Session, Cwd, Version string
}

func (c *canned) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.asked = append(c.asked, asked{
		r.Method, r.URL.Path, r.URL.Query().Encode(), r.Header.Get(api.HeaderSession),
		strings.NewReplacer("%2F", "/", "%2E", ".").Replace(r.Header.Get(api.HeaderCwd)), r.Header.Get(api.HeaderVersion),
	})
	w.Header().Set(api.HeaderDaemon, c.version)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(c.body)))
	w.WriteHeader(c.status)
	_, _ = w.Write([]byte(c.body))
}

// serveCanned serves it in a home of its own and gives the environment of its callers.
func serveCanned(t *testing.T, c *canned) []string {
	t.Helper()
	dir, err := os.MkdirTemp("", "tq")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	p, err := config.NewPaths(filepath.Join(dir, "h"), "")
	if err == nil {
		err = p.EnsureDirs()
	}
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("unix", p.Socket)
	if err != nil {
		t.Fatal(err)
	}
	srv, done := &http.Server{Handler: c}, make(chan struct{})
	go func() {
		defer close(done)
		_ = srv.Serve(ln)
	}()
	t.Cleanup(func() {
		_ = srv.Close()
		<-done
	})
	return []string{"TERMIO_HOME=" + p.Home, "TERMIO_CLI_TIMEOUT=60"}
}

// outcome is what a caller sees of a call.
type outcome struct {
	Out, Err string
	Code     int
}

// into runs something with files for its output and gives what is in them.
func into(t *testing.T, run func(out, err *os.File) int) outcome {
	t.Helper()
	open := func() *os.File {
		f, err := os.CreateTemp(t.TempDir(), "")
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	out, talk := open(), open()
	o := outcome{Code: run(out, talk)}
	for f, text := range map[*os.File]*string{out: &o.Out, talk: &o.Err} {
		_ = f.Close()
		data, err := os.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		*text = string(data)
	}
	return o
}

const (
	quickList = `{"ok":true,"schema_version":1,"project":"shop","sessions":[` +
		`{"link":"termio://session/ab12cd34-9f2e-4c31-b8d7-3e5a12c90f44","id":"ab12cd34","title":"Fix <b> & \"c\"","agent":"Claude Code","status":"needs-you","description":"waiting for you · 2m","project":"shop","wire":"claude",` +
		`"dialog":{"kind":"permission","question":"Run?","options":[{"number":1,"key":"1","label":"Yes","selected":true}]},"since":1767225600000,"seen":true},` +
		`{"link":"termio://session/1b12cd34-9f2e-4c31-b8d7-3e5a12c90f44","id":"1b12cd34","title":"日本語\u001b[31m\n","agent":"Terminal","status":"closed","description":"closed 3s ago","reason":"exit code 1","exit_code":1}]}` + "\n"
	quickRead = `{"ok":true,"schema_version":1,"target":"termio://session/ab12cd34-9f2e-4c31-b8d7-3e5a12c90f44","title":"zsh","screen":"$ make\n\u001b[31mred\u001b[m\tab\n日本"}` + "\n"
)

// The quick way and the whole program ask the same and say the same. What the quick way
// leaves is not told here: the whole program does it.
func TestQuickSaysTheSame(t *testing.T) {
	empty := `{"ok":true,"schema_version":1,"project":"shop","sessions":[]}` + "\n"
	blank := `{"ok":true,"schema_version":1,"target":"termio://session/ab12cd34-9f2e-4c31-b8d7-3e5a12c90f44","title":"zsh","screen":""}` + "\n"
	refused := `{"ok":false,"error":"not_found","message":"no session","schema_version":1}` + "\n"
	tests := []struct {
		name   string
		args   string
		status int
		body   string
		quick  bool
	}{
		{"a list", "sessions list", 200, quickList, true},
		{"the verb left out", "sessions", 200, quickList, true},
		{"of all", "sessions list --all --closed", 200, quickList, true},
		{"as JSON", "sessions list --json --closed", 200, quickList, true},
		{"nothing", "sessions list", 200, empty, true},
		{"nothing anywhere, as JSON", "sessions list --all --json", 200, empty, true},
		{"a screen", "sessions read ab12", 200, quickRead, true},
		{"its history's end", "sessions read --scrollback a/b?c --lines 12", 200, quickRead, true},
		{"a screen as JSON", "sessions read .. --json", 200, quickRead, true},
		{"a blank screen", "sessions read ab12", 200, blank, true},
		{"the version", "version", 200, "", true},
		{"the version by a flag", "--version", 200, "", true},

		{"refused", "sessions read x", 404, refused, false},
		{"refused with a good status", "sessions read x", 200, refused, false},
		{"no JSON", "sessions list", 200, "oops\n", false},
		{"a column wider than its bytes", "sessions list", 200, strings.Replace(quickList, `"wire":"claude"`, `"wire":"日本"`, 1), false},
		{"a name twice", "sessions read x", 200, strings.Replace(quickRead, `{"ok"`, `{"screen":"x","ok"`, 1), false},
		{"an unknown flag", "sessions list --colour", 200, quickList, false},
		{"a flag's value", "sessions list --all=false", 200, quickList, false},
		{"a word too many", "sessions list all", 200, quickList, false},
		{"no session", "sessions read", 200, quickRead, false},
		{"two sessions", "sessions read a b", 200, quickRead, false},
		{"no line", "sessions read a --lines 0", 200, quickRead, false},
		{"octal lines", "sessions read a --lines 010", 200, quickRead, false},
		{"help", "sessions list --help", 200, quickList, false},
		{"another verb", "sessions explain a", 200, quickRead, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			daemon := &canned{status: tt.status, body: tt.body, version: config.Version}
			environ := serveCanned(t, daemon)
			args := strings.Fields(tt.args)
			done := false
			got := into(t, func(out, err *os.File) (code int) {
				code, done = quick.Run(quick.Process{Args: args, Environ: environ, Out: out, Err: err})
				return code
			})
			if done != tt.quick {
				t.Fatalf("done is %v, printed %+v", done, got)
			}
			if !done {
				if got != (outcome{}) {
					t.Errorf("left it, and printed %+v", got)
				}
				return
			}
			asked := daemon.asked
			daemon.asked = nil
			want := into(t, func(out, err *os.File) int {
				app := New(environ, Roles{})
				app.Out, app.Err = out, err
				failed := app.Run(context.Background(), args)
				app.PrintError(failed)
				if failed != nil {
					return 1
				}
				return 0
			})
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(daemon.asked, asked); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A daemon of another version has fields that this one does not know, and a hint to
// tell: the whole program does it.
func TestQuickLeavesOtherVersions(t *testing.T) {
	daemon := &canned{status: 200, body: quickList, version: config.Version + ".1"}
	environ := serveCanned(t, daemon)
	got := into(t, func(out, err *os.File) int {
		if _, done := quick.Run(quick.Process{Args: []string{"sessions", "list", "--json"}, Environ: environ, Out: out, Err: err}); done {
			t.Error("done")
		}
		return 0
	})
	if got != (outcome{}) {
		t.Errorf("printed %+v", got)
	}
}

// An answer that cannot be written fails in the same words.
func TestQuickFullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("NOT TESTED: an answer to a full disk needs /dev/full")
	}
	defer full.Close()
	daemon := &canned{status: 200, body: quickList, version: config.Version}
	environ := serveCanned(t, daemon)
	args := []string{"sessions", "list", "--json"}
	got := into(t, func(_, err *os.File) int {
		code, done := quick.Run(quick.Process{Args: args, Environ: environ, Out: full, Err: err})
		if !done {
			t.Error("left it")
		}
		return code
	})
	want := into(t, func(_, err *os.File) int {
		app := New(environ, Roles{})
		app.Out, app.Err = full, err
		app.PrintError(app.Run(context.Background(), args))
		return 1
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
