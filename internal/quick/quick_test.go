package quick

import (
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"termio/internal/api"
)

// testTimeout bounds what a test waits for; nothing that passes takes as long.
const testTimeout = time.Minute

// home makes a short termio home and gives its path.
func home(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "tq")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Mkdir(filepath.Join(dir, "run"), 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// listen binds a home's socket.
func listen(t testing.TB, home string) net.Listener {
	t.Helper()
	ln, err := net.Listen("unix", filepath.Join(home, "run", "termio.sock"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	return ln
}

// serve answers on a home's socket until the test's end.
func serve(t testing.TB, home string, h http.Handler) {
	t.Helper()
	srv, done := &http.Server{Handler: h}, make(chan struct{})
	ln := listen(t, home)
	go func() {
		defer close(done)
		_ = srv.Serve(ln)
	}()
	t.Cleanup(func() {
		_ = srv.Close()
		<-done
	})
}

// What cannot be imported is spelled as where it is defined.
func TestWordsAreTheirPackagesOwn(t *testing.T) {
	for got, want := range map[string]string{
		headerSession: api.HeaderSession, headerCwd: api.HeaderCwd, headerVersion: api.HeaderVersion, headerDaemon: api.HeaderDaemon,
		routeReport: api.RouteReport, routeList: api.RouteList, routeRead: api.RouteRead,
	} {
		if got != want {
			t.Errorf("%q is %q", got, want)
		}
	}
	for _, s := range []api.Status{api.Working, api.NeedsYou, api.Done, api.Idle, api.Closed, api.Stalled, "", "attention "} {
		if _, want := api.ParseState(s.State()); want != (Report{State: s.State()}).known() {
			t.Errorf("state %q is known: %v", s.State(), want)
		}
	}
}

// An id is what api takes for one.
func TestSessionID(t *testing.T) {
	for _, s := range []string{
		testSession, strings.ToUpper(testSession), testSession[1:], testSession + "0", "", strings.Repeat("a", 36), strings.Repeat("-", 36),
		"gb12cd34-9f2e-4c31-b8d7-3e5a12c90f44", "ab12cd34x9f2e-4c31-b8d7-3e5a12c90f44", "ab12cd34-9f2e-4c31-b8d7-3e5a12c90f4\n",
		"\u212ab12cd34-9f2e-4c31-b8d7-3e5a12c90f", // a sign whose small letter is k
	} {
		want, wantOK := api.ParseSessionID(s)
		if got, ok := sessionID(s); got != string(want) || ok != wantOK {
			t.Errorf("%q: %q, %v; api has %q, %v", s, got, ok, want, wantOK)
		}
	}
}

// What is escaped comes out again, and does nothing to a path, a query or a header.
func TestEscape(t *testing.T) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	for _, s := range []string{"", "plain", "..", "a/b?c&d=e#f%41+g h", "termio://session/" + testSession, "日本", string(all)} {
		got := string(appendEscaped(nil, s))
		if back, err := url.PathUnescape(got); err != nil || back != s {
			t.Errorf("%q came back as %q, %v", s, back, err)
		}
		if back, err := url.QueryUnescape(got); err != nil || back != s {
			t.Errorf("%q came back from a query as %q, %v", s, back, err)
		}
		if strings.ContainsAny(got, "/?#&= \r\n.") {
			t.Errorf("%q", got)
		}
	}
}

// Only the whole answer of a daemon of this version counts.
func TestParseHead(t *testing.T) {
	const fine = "HTTP/1.1 200 OK\r\nTermio-Daemon: 0.1.0\r\nContent-Length: 12\r\n\r\n"
	for name, tt := range map[string]struct {
		head string
		ok   bool
	}{
		"fine":            {fine, true},
		"another status":  {strings.Replace(fine, "200 OK", "204 No Content", 1), false},
		"another version": {strings.Replace(fine, "0.1.0", "0.1.1", 1), false},
		"no version":      {strings.Replace(fine, "Termio-Daemon", "Server", 1), false},
		"no length":       {strings.Replace(fine, "Content-Length", "X", 1), false},
		"a bad length":    {strings.Replace(fine, "12", "-1", 1), false},
		"a huge length":   {strings.Replace(fine, "12", "999999999999", 1), false},
		"no HTTP":         {"SSH-2.0\r\n\r\n", false},
	} {
		head := strings.ReplaceAll(tt.head, "0.1.0", Version)
		if n := endOfHead([]byte(head + "more\r\n\r\n")); n != len(head) {
			t.Errorf("%s: ends at %d of %d", name, n, len(head))
		}
		if n, ok := parseHead([]byte(head)); ok != tt.ok || ok && n != 12 {
			t.Errorf("%s: %d, %v", name, n, ok)
		}
	}
	if n := endOfHead([]byte(fine[:len(fine)-1])); n != 0 {
		t.Errorf("half a head ends at %d", n)
	}
}
