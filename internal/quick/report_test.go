package quick

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"termio/internal/api"
)

func TestParseReport(t *testing.T) {
	tests := []struct {
		name string
		args string
		want Report
		help bool
	}{
		{"state alone", "working", Report{State: "working"}, false},
		{"all", "done --event Stop --conversation-from session_id --transcript --reply", Report{"done", "Stop", "session_id", true, true, 0}, false},
		{"of a moment ago", "idle --at 1790000000000", Report{State: "idle", At: 1790000000000}, false},
		{"flags first, equals", "--event=Stop --conversation-from=a.b done", Report{State: "done", Event: "Stop", ConversationFrom: "a.b"}, false},
		{"what it does not know", "done --colour red extra -x --event", Report{State: "done"}, false},
		{"nothing", "", Report{}, false},
		{"help", "working --help", Report{State: "working"}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := ParseReport(strings.Fields(tt.args))
			if diff := cmp.Diff(tt.want, got); diff != "" || ok == tt.help {
				t.Errorf("ok %v %s", ok, diff)
			}
		})
	}
}

// posted is a report as the daemon sees it.
type posted struct {
	query, session, cwd, body string
}

// reportHost keeps what is posted.
func reportHost(t *testing.T, home string) chan posted {
	got := make(chan posted, 4)
	serve(t, home, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		q := r.URL.Query()
		if at, err := strconv.ParseInt(q.Get("at"), 10, 64); err != nil || time.Since(time.UnixMilli(at)) > testTimeout {
			t.Errorf("event time %q", q.Get("at"))
		}
		q.Del("at")
		got <- posted{r.Method + " " + r.URL.Path + "?" + q.Encode(), r.Header.Get(api.HeaderSession), r.Header.Get(api.HeaderCwd), string(body)}
		w.WriteHeader(http.StatusNoContent)
	}))
	return got
}

const testSession = "ab12cd34-9f2e-4c31-b8d7-3e5a12c90f44"

// post runs a report with something on its standard input and gives what it
// printed. It has all the time that a test has.
func post(t *testing.T, r Report, environ []string, stdin *os.File) string {
	t.Helper()
	out, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	to, _ := Find(environ)
	r.post(to, rawFd(t, stdin), rawFd(t, w), testTimeout)
	_ = w.Close()
	data, err := io.ReadAll(out)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// rawFd is a file's descriptor, in blocking mode as a child inherits it.
func rawFd(t *testing.T, f *os.File) int {
	t.Helper()
	if f == nil {
		return -1
	}
	return int(f.Fd())
}

// piped is the reading end of a pipe that feed writes to; it says how the
// writing ended.
func piped(t *testing.T, feed func(w *os.File) error) (*os.File, chan error) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- feed(w) }()
	t.Cleanup(func() { _ = r.Close(); _ = w.Close() })
	return r, done
}

func TestReport(t *testing.T) {
	p := home(t)
	got := reportHost(t, p)
	environ := []string{"TERMIO_HOME=" + p, "TERMIO_SESSION=" + strings.ToUpper(testSession)}
	cwd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	event := `{"session_id": "7f0c", "text": "a \"quoted\" } brace", "deep": [{}, {"x": 1}]}`
	tests := []struct {
		name   string
		report Report
		feed   func(w *os.File) error
		want   posted
		out    string
	}{
		{
			"whole",
			Report{State: "attention", Event: "Notification & more", ConversationFrom: "session_id", Transcript: true, Reply: true},
			func(w *os.File) error { _, err := io.WriteString(w, event+"\n"); _ = w.Close(); return err },
			posted{"POST /v1/reports?conversation_from=session_id&event=Notification+%26+more&state=attention&transcript=1", testSession, "", event},
			"{}\n",
		},
		{
			"writer that stays",
			Report{State: "working", Event: "PreToolUse"},
			func(w *os.File) error { _, err := io.WriteString(w, event); return err },
			posted{"POST /v1/reports?event=PreToolUse&state=working", testSession, "", event},
			"",
		},
		{
			"no event asked for",
			Report{State: "idle"},
			func(*os.File) error { return nil },
			posted{"POST /v1/reports?state=idle", testSession, "", ""},
			"",
		},
		{
			"event is no JSON",
			Report{State: "idle", Event: "x"},
			func(w *os.File) error { _, err := io.WriteString(w, "oops"); _ = w.Close(); return err },
			posted{"POST /v1/reports?event=x&state=idle", testSession, "", "oops"},
			"",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			stdin, fed := piped(t, tt.feed)
			out := post(t, tt.report, environ, stdin)
			p := <-got
			if !strings.HasSuffix(strings.ReplaceAll(p.cwd, "%2F", "/"), cwd) {
				t.Errorf("cwd %q, want %q", p.cwd, cwd)
			}
			p.cwd, p.body = "", strings.TrimSuffix(p.body, "\n")
			if p != tt.want {
				t.Errorf("posted %+v, want %+v", p, tt.want)
			}
			if out != tt.out {
				t.Errorf("printed %q, want %q", out, tt.out)
			}
			if err := <-fed; err != nil {
				t.Errorf("the hook's caller: %v", err)
			}
		})
	}
}

// A large event is sent on as far as the bound, and its writer gets rid of all
// of it.
func TestReportLargeEvent(t *testing.T) {
	p := home(t)
	got := reportHost(t, p)
	event := append([]byte(`{"session_id":"7f0c","tool_response":"`), bytes.Repeat([]byte("x"), 3<<20)...)
	event = append(event, `"}`...)
	stdin, fed := piped(t, func(w *os.File) error { _, err := w.Write(event); _ = w.Close(); return err })
	post(t, Report{State: "working", Event: "PostToolUse"}, []string{"TERMIO_HOME=" + p, "TERMIO_SESSION=" + testSession}, stdin)
	if p := <-got; len(p.body) != maxReport || p.body != string(event[:maxReport]) {
		t.Errorf("posted %d bytes", len(p.body))
	}
	if err := <-fed; err != nil {
		t.Errorf("the hook's caller: %v", err)
	}
}

// Nothing to report, nobody to report to: no word, no wait, and the caller's
// writing is taken all the same.
func TestReportSilent(t *testing.T) {
	live := home(t)
	got := reportHost(t, live)
	dead := home(t)
	gone := home(t)
	ln := listen(t, gone)
	_ = ln.Close()
	session := "TERMIO_SESSION=" + testSession
	tests := []struct {
		name    string
		state   string
		environ []string
	}{
		{"no session", "working", []string{"TERMIO_HOME=" + live}},
		{"a session that is none", "working", []string{"TERMIO_HOME=" + live, "TERMIO_SESSION=x\r\nEvil: 1"}},
		{"unknown state", "sleeping", []string{"TERMIO_HOME=" + live, session}},
		{"no state", "", []string{"TERMIO_HOME=" + live, session}},
		{"no daemon", "working", []string{"TERMIO_HOME=" + dead, session}},
		{"daemon gone", "working", []string{"TERMIO_HOME=" + gone, session}},
		{"no home", "working", []string{session}},
		{"home is no folder", "working", []string{"TERMIO_HOME=/dev/null", session}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			// More than a pipe holds: an agent that nobody reads from would hang.
			event := []byte(`{"tool_response":"` + strings.Repeat("x", 256<<10) + `"}`)
			stdin, fed := piped(t, func(w *os.File) error { _, err := w.Write(event); _ = w.Close(); return err })
			start := time.Now()
			if out := post(t, Report{State: tt.state, Event: "x"}, tt.environ, stdin); out != "" {
				t.Errorf("printed %q", out)
			}
			if d := time.Since(start); d >= testTimeout/2 {
				t.Errorf("took %s: it has waited for something", d)
			}
			select {
			case err := <-fed:
				if err != nil {
					t.Errorf("the hook's caller: %v", err)
				}
			case <-time.After(testTimeout):
				t.Error("the hook's caller hangs")
			}
		})
	}
	select {
	case p := <-got:
		t.Errorf("posted %+v", p)
	default:
	}
}

// A daemon that takes the connection and says nothing costs the budget, no more.
func TestReportSilentDaemon(t *testing.T) {
	p := home(t)
	listen(t, p)
	start := time.Now()
	Report{State: "working"}.Post(Place{Socket: p + "/run/termio.sock", Session: testSession}, -1, -1)
	if d := time.Since(start); d >= testTimeout {
		t.Errorf("took %s", d)
	}
}

// The end of an event is found wherever the reads cut it.
func TestJSONEnd(t *testing.T) {
	event := []byte(`{"a":"}]\"{","b":[1,{"c":"\\"}],"d":"日本"}`)
	for cut := range event {
		var j jsonEnd
		if j.scan(event[:cut]) {
			t.Fatalf("ended after %q", event[:cut])
		}
		if !j.scan(event[cut:]) {
			t.Fatalf("did not end, cut at %d", cut)
		}
	}
	if j := new(jsonEnd); slices.ContainsFunc([]string{"", " ", `"x"`, "12", "}", "["}, func(s string) bool { *j = jsonEnd{}; return j.scan([]byte(s)) }) {
		t.Error("what is no object ended one")
	}
}
