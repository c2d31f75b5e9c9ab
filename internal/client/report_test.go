package client

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"termio/internal/api"
	"termio/internal/config"
	"termio/internal/quick"
)

const testSession = "ab12cd34-9f2e-4c31-b8d7-3e5a12c90f44"

// An agent outlives the daemon that it was started under, and its environment stays as
// it was: a report goes where the daemon of now listens.
func TestReportFindsTheNextDaemon(t *testing.T) {
	root, err := os.MkdirTemp("", "tc")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	home := filepath.Join(root, strings.Repeat("long", 30)) // past what a socket's path may take
	environ := []string{"TERMIO_HOME=" + home, "TERMIO_SESSION=" + testSession}
	before := ""
	for _, tmp := range []string{filepath.Join(root, "a"), filepath.Join(root, "b")} {
		if err := os.Mkdir(tmp, 0o700); err != nil {
			t.Fatal(err)
		}
		p, err := config.NewPaths(home, tmp)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.EnsureDirs(); err != nil {
			t.Fatal(err)
		}
		if p.Socket == before {
			t.Fatalf("the daemon is where it was: %s", p.Socket)
		}
		before = p.Socket
		got := make(chan string, 1)
		serve(t, p, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			got <- r.Header.Get(api.HeaderSession)
			w.WriteHeader(http.StatusNoContent)
		}))
		quick.Report{State: "working"}.Post(ReportPlace(environ), -1, -1)
		select {
		case session := <-got:
			if session != testSession {
				t.Errorf("the report came from %q", session)
			}
		case <-testContext(t).Done():
			t.Errorf("no report came to %s", p.Socket)
		}
		if err := os.RemoveAll(tmp); err != nil { // as a reboot does
			t.Fatal(err)
		}
		if err := os.WriteFile(tmp, nil, 0o600); err != nil { // and it is not to be had again
			t.Fatal(err)
		}
	}
}
