package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"termio/internal/api"
)

// Text of a session does nothing to the terminal that it is printed on.
func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"plain":                       "plain",
		"two\nlines\tand a tab":       "two lines and a tab",
		"\x1b]2;owned\x07title\x1b[m": "]2;ownedtitle[m",
		"c1\u009b31m del\x7f":         "c131m del",
		"turned\u202e around\u2066":   "turned around",
		"日本語 👩‍👩‍👧":                   "日本語 👩‍👩‍👧",
		"bad \xff byte":               "bad \ufffd byte",
	} {
		if got := clean(in); got != want {
			t.Errorf("clean(%q) = %q, want %q", in, got, want)
		}
	}
	if got := cleanBlock("a\r\n\x1b[2Jb\n"); got != "a\n[2Jb\n" {
		t.Errorf("cleanBlock gave %q", got)
	}
}

// Columns stand under each other by cells, not by characters; the last one is cut
// to the line, the first never.
func TestTable(t *testing.T) {
	rows := [][]string{{"termio://session/1", "日本", "a long title that goes on"}, {"termio://session/22", "é", "日本語日本語日本語"}}
	plain := func(_, _ int, cell string) string { return cell }
	tests := []struct {
		name  string
		limit int
		want  string
	}{
		{"no terminal", 0, `
LINK                 AGENT  TITLE
termio://session/1   日本   a long title that goes on
termio://session/22  é      日本語日本語日本語
`},
		{"wide enough", 54, `
LINK                 AGENT  TITLE
termio://session/1   日本   a long title that goes on
termio://session/22  é      日本語日本語日本語
`},
		{"narrow", 40, `
LINK                 AGENT
  TITLE
termio://session/1   日本
  a long title that goes on
termio://session/22  é
  日本語日本語日本語
`},
		{"narrower than a link", 16, `
LINK                 AGENT
  TITLE
termio://session/1   日本
  a long title …
termio://session/22  é
  日本語日本語…
`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var b bytes.Buffer
			table(&b, tt.limit, []string{"LINK", "AGENT", "TITLE"}, rows, plain)
			if diff := cmp.Diff(strings.TrimPrefix(tt.want, "\n"), b.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAge(t *testing.T) {
	now := time.UnixMilli(10_000_000_000)
	for ago, want := range map[time.Duration]string{
		-time.Second: "now", 0: "now", 999 * time.Millisecond: "now", time.Second: "1s", 90 * time.Second: "1m",
		3 * time.Hour: "3h", 47 * time.Hour: "47h", 49 * time.Hour: "2d",
	} {
		if got := age(now.Add(-ago).UnixMilli(), now); got != want {
			t.Errorf("%s ago is %q, want %q", ago, got, want)
		}
	}
	if got := lasting(now.Add(-time.Minute).UnixMilli(), now); got != "for 1m" {
		t.Errorf("a minute: %q", got)
	}
	if got := lasting(now.UnixMilli(), now); got != "since just now" {
		t.Errorf("no time: %q", got)
	}
}

func TestParseTimeout(t *testing.T) {
	for in, want := range map[string]int64{
		"300000": 300_000, "1": 1000, "0": 1000, "999": 1000, "600001": 600_000, "99999999999999999999": 600_000,
		"90s": 90_000, "1m30s": 90_000, "10h": 600_000, "1ns": 1000,
	} {
		if got, err := parseTimeout(in); err != nil || got != want {
			t.Errorf("%q is %d ms, %v; want %d", in, got, err, want)
		}
	}
	for _, in := range []string{"", "soon", "-1", "-1s", "-99999999999999999999", "1.5", "5 s"} {
		if got, err := parseTimeout(in); err == nil {
			t.Errorf("%q is %d ms", in, got)
		}
	}
}

func TestRootCause(t *testing.T) {
	err := fmt.Errorf("open: %w", &fs.PathError{Op: "open", Path: "/p", Err: os.ErrNotExist})
	if got := rootCause(err); !errors.Is(got, os.ErrNotExist) || strings.Contains(got.Error(), "/p") {
		t.Error(got)
	}
}

const link = "termio://session/ab12cd34-9f2e-4c31-b8d7-3e5a12c90f44"

func TestOutcomeText(t *testing.T) {
	tests := []struct {
		name string
		in   api.WaitReply
		want string
	}{
		{"done", api.WaitReply{Status: api.Done, Transcript: "/t.jsonl", Cursor: new(int64(3)), CursorEnd: new(int64(9)), Background: 2}, `
LINK finished (done)
  in the background: 2 tasks
  transcript: /t.jsonl
  reply: lines 4–9
`},
		{"nothing new", api.WaitReply{Status: api.Idle, Transcript: "/t.jsonl", Cursor: new(int64(3)), CursorEnd: new(int64(3))}, `
LINK finished (idle)
  transcript: /t.jsonl
`},
		{"a question", api.WaitReply{Status: api.NeedsYou, Prompt: "Run it?\n1. Yes\x1b[2J\n2. No"}, `
LINK is waiting for you
  it asks:
    Run it?
    1. Yes[2J
    2. No
`},
		{"ran out", api.WaitReply{Status: api.Working, TimedOut: true}, `
LINK is still working: the wait timed out, the session goes on
`},
		{"a command", api.WaitReply{Status: api.Idle, ExitCode: new(2)}, `
LINK finished (idle, exit code 2)
`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.in.Target = link
			var b bytes.Buffer
			printOutcome(&b, tt.in)
			want := strings.ReplaceAll(strings.TrimPrefix(tt.want, "\n"), "LINK", link)
			if diff := cmp.Diff(want, b.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestEventText(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 3, 11, 0, time.Local).UnixMilli()
	tests := []struct {
		name string
		in   api.Event
		want string
	}{
		{"snapshot", api.Event{Status: api.Idle, Title: "zsh", Snapshot: true}, "LINK  [idle]  zsh"},
		{"done", api.Event{Status: api.Done, Title: "fix", Transcript: "/t.jsonl", CursorEnd: new(int64(42))}, "12:03:11 LINK  [done]  fix — /t.jsonl:42"},
		{"needs you", api.Event{Status: api.NeedsYou, Title: "fix", Prompt: "Run it?\n1. Yes"}, "12:03:11 LINK  [needs-you]  fix — Run it? 1. Yes"},
		{"stalled", api.Event{Status: api.Stalled, Title: "fix", Evidence: "working 42m, no repo change", Project: "app"}, "12:03:11 LINK  [stalled]  fix (app) — working 42m, no repo change"},
		{"closed", api.Event{Status: api.Closed, Title: "a\x1bb", Reason: "closed"}, "12:03:11 LINK  [closed]  ab — closed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.in.Link, tt.in.At = link, at
			if got, want := eventText(tt.in, false), strings.ReplaceAll(tt.want, "LINK", link); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
	if got := eventText(api.Event{Link: link, Status: api.Done, At: at}, true); !strings.Contains(got, "\x1b[32m[done]\x1b[m") {
		t.Errorf("no colour in %q", got)
	}
}

// Colours go to terminals that want them, and to nothing else.
func TestColours(t *testing.T) {
	a := New([]string{"TERM=xterm"}, Roles{})
	f, err := os.CreateTemp(t.TempDir(), "x")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if a.colours(f) {
		t.Error("a file gets colours")
	}
}

// What a setting is called and what it takes agree with the type that carries it.
func TestSettingsTable(t *testing.T) {
	values := map[string]string{"default-agent": "codex", "detach-key": "ctrl-q", "stalled-after": "30m", "close-grace": "3s", "stalled-lines": "7", "history-lines": "8"}
	for _, s := range settings {
		value := values[s.name]
		if value == "" {
			value = "on"
		}
		patch, err := settingPatch(s.name, value)
		if err != nil {
			t.Errorf("%s: %v", s.name, err)
		}
		data := strings.ReplaceAll(strings.TrimSuffix(fieldName(s), "_ms"), "_", "-")
		if data != s.name {
			t.Errorf("%s is the field %s", s.name, data)
		}
		if patch == (api.Settings{}) {
			t.Errorf("%s=%s changes nothing", s.name, value)
		}
		if _, err := settingPatch(s.name, ""); err == nil {
			t.Errorf("%s takes nothing", s.name)
		}
	}
	if _, err := settingPatch("colour", "red"); err == nil {
		t.Error("colour is a setting")
	}
}

// fieldName is a setting's key in the file.
func fieldName(s setting) string {
	name, _, _ := strings.Cut(reflect.TypeFor[api.Settings]().Field(s.field).Tag.Get("json"), ",")
	return name
}

// No field of the settings is without a name on the command line.
func TestSettingsTableIsWhole(t *testing.T) {
	if got, want := len(settings), reflect.TypeFor[api.Settings]().NumField(); got != want {
		t.Errorf("%d settings, and the type has %d", got, want)
	}
}

// A long prompt is a title too, and must not hide what the session is doing.
func TestDoing(t *testing.T) {
	for _, tt := range []struct {
		title, description, reason string
		room                       int
		want                       string
	}{
		{"fix the flaky login test", "runs go test for 12s", "", 0, "fix the flaky login test — runs go test for 12s"},
		{"fix the flaky login test", "runs go test for 12s", "", 60, "fix the flaky login test — runs go test for 12s"},
		{"fix the flaky login test", "runs go test for 12s", "", 40, "fix the flaky lo… — runs go test for 12s"},
		{"fix the flaky login test", "runs go test for 12s", "", 24, "fix the… — runs go test for 12s"},
		{"build", "closed 3s ago", "closed", 0, "build — closed 3s ago"},
		{"build", "closed 3s ago", "exit code 1", 0, "build — closed 3s ago (exit code 1)"},
	} {
		if got := doing(api.SessionInfo{Title: tt.title, Description: tt.description, Reason: tt.reason}, tt.room); got != tt.want {
			t.Errorf("%d cells: %q, want %q", tt.room, got, tt.want)
		}
	}
}
