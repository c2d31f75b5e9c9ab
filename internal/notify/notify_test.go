package notify

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"termio/internal/api"
)

// recorder is a channel that keeps what it is given; while hold is not nil it
// delivers nothing.
type recorder struct {
	name   string
	hold   chan struct{}
	err    error
	sent   []Notification
	closed bool
}

func (r *recorder) Name() string { return r.name }

func (r *recorder) Ready() bool { return r.name != "b" }

func (r *recorder) Send(ctx context.Context, n Notification) error {
	if r.hold != nil {
		select {
		case <-r.hold:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	r.sent = append(r.sent, n)
	return r.err
}

func (r *recorder) Close() error {
	r.closed = true
	return nil
}

func (r *recorder) titles() string {
	var all []string
	for _, n := range r.sent {
		all = append(all, n.Title)
	}
	return strings.Join(all, " ")
}

// unexpected fails for a delivery that failed.
func unexpected(t *testing.T) func(string, error) {
	return func(channel string, err error) { t.Errorf("%s: %v", channel, err) }
}

func TestEveryChannelGetsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := &recorder{name: "a"}, &recorder{name: "b"}
		n := New(unexpected(t), a, b)
		want := Notification{Title: "T", Body: "B", Link: "l", Project: "p", Reason: api.Done}
		n.Notify(want)
		synctest.Wait()
		for _, r := range []*recorder{a, b} {
			if diff := cmp.Diff([]Notification{want}, r.sent); diff != "" {
				t.Errorf("%s: %s", r.name, diff)
			}
		}
		if diff := cmp.Diff([]string{"a"}, n.Ready()); diff != "" {
			t.Error(diff)
		}
		n.Close()
		n.Close()
		n.Notify(want) // too late, and harmless
		if !a.closed || !b.closed {
			t.Error("a channel was not closed")
		}
	})
}

// A channel that hangs holds up neither the caller nor the other channels; it
// gets the latest ones when it goes on.
func TestSlowChannel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow, quick := &recorder{name: "slow", hold: make(chan struct{})}, &recorder{name: "quick"}
		n := New(unexpected(t), slow, quick)
		defer n.Close()
		const all = 3 * queued
		for i := range all {
			n.Notify(Notification{Title: fmt.Sprint(i)})
			synctest.Wait()
		}
		if len(quick.sent) != all {
			t.Errorf("the other channel got %d", len(quick.sent))
		}
		close(slow.hold)
		synctest.Wait()
		if len(slow.sent) != queued+1 || slow.sent[queued].Title != fmt.Sprint(all-1) || slow.sent[1].Title != fmt.Sprint(all-queued) {
			t.Errorf("the slow channel got %s", slow.titles())
		}
	})
}

func TestDeliveryIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reports []string
		hang := &recorder{name: "hang", hold: make(chan struct{})}
		n := New(func(channel string, err error) { reports = append(reports, channel+": "+err.Error()) }, hang)
		for range 3 {
			n.Notify(Notification{Title: "x"})
		}
		// Time goes on by itself while everybody waits.
		select {
		case <-hang.hold:
		case <-n.ctx.Done():
		case <-time.After(4 * patience):
		}
		if diff := cmp.Diff([]string{"hang: context deadline exceeded"}, reports); diff != "" {
			t.Error(diff)
		}
		n.Notify(Notification{Title: "y"})
		synctest.Wait()
		n.Close() // while one is under way
		if len(hang.sent) != 0 || !hang.closed {
			t.Errorf("sent %s, closed %v", hang.titles(), hang.closed)
		}
	})
}

func TestEachKindOfErrorIsReportedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reports []string
		r := &recorder{name: "r"}
		n := New(func(_ string, err error) { reports = append(reports, err.Error()) }, r)
		defer n.Close()
		for _, text := range []string{"a", "a", "b", "", "b"} {
			if r.err = nil; text != "" {
				r.err = errors.New(text)
			}
			n.Notify(Notification{Title: "x"})
			synctest.Wait()
		}
		if diff := cmp.Diff([]string{"a", "b", "b"}, reports); diff != "" {
			t.Error(diff)
		}
	})
}

func TestTextFromSessionsIsData(t *testing.T) {
	tests := []struct {
		name, in, title, body string
	}{
		{"plain", "Fix the test", "Fix the test", "Fix the test"},
		{"lines", " a\r\n\r\n  b\tc \n", "a b c", "a b c"},
		{"escape sequences", "\x1b]0;evil\x07\x1b[31mred\x1b[0m", "]0;evil[31mred[0m", "]0;evil[31mred[0m"},
		{"C1 and DEL", "a\u009b31mb\x7fc\x00", "a31mbc", "a31mbc"},
		{"direction", "abc\u202etxt.exe\u2066\ufeff\u200e", "abctxt.exe", "abctxt.exe"},
		{"joined emoji stay", "👩\u200d💻 نمی\u200cخواهم", "👩\u200d💻 نمی\u200cخواهم", "👩\u200d💻 نمی\u200cخواهم"},
		{"no UTF-8", "a\xff\xc3b", "a\ufffd\ufffdb", "a\ufffd\ufffdb"},
		{"long", strings.Repeat("é", 1000), strings.Repeat("é", maxTitle) + "…", strings.Repeat("é", maxBody) + "…"},
		{"only blanks", " \n\t ", "", ""},
	}
	tests[1].body = "a\nb c"
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := clean(tt.in, maxTitle, false); got != tt.title {
				t.Errorf("title %q, want %q", got, tt.title)
			}
			if got := clean(tt.in, maxBody, true); got != tt.body {
				t.Errorf("body %q, want %q", got, tt.body)
			}
		})
	}
}

func FuzzClean(f *testing.F) {
	f.Add("\x1b[1m\n\n x", 5, true)
	f.Fuzz(func(t *testing.T, s string, limit int, lines bool) {
		limit = max(1, min(limit, 1000))
		got := clean(s, limit, lines)
		if !utf8.ValidString(got) || utf8.RuneCountInString(got) > limit+1 {
			t.Errorf("%q from %q", got, s)
		}
		for _, r := range got {
			if r < ' ' && (r != '\n' || !lines) || r >= 0x7f && r < 0xa0 || r >= '\u202a' && r <= '\u202e' {
				t.Errorf("%U is left in %q", r, got)
			}
		}
	})
}

func TestFromEvent(t *testing.T) {
	ask := &api.Dialog{Kind: api.DialogPermission, Question: "Allow Bash?", Detail: "rm -rf build"}
	tests := []struct {
		name    string
		e       api.Event
		project string
		want    Notification
		ok      bool
	}{
		{
			"permission",
			api.Event{Status: api.NeedsYou, Title: "fix tests", Agent: "Claude Code", Link: "l", Prompt: "the screen", Dialog: ask},
			"shop",
			Notification{Title: "shop: fix tests", Body: "Claude Code asks for permission: Allow Bash?\nrm -rf build", Link: "l", Project: "shop", Reason: api.NeedsYou},
			true,
		},
		{
			"question from the screen",
			api.Event{Status: api.NeedsYou, Title: "t", Prompt: "Which one?\n1. a\n2. b"},
			"",
			Notification{Title: "t", Body: "The session needs you: Which one?\n1. a\n2. b", Reason: api.NeedsYou},
			true,
		},
		{
			"limit without words",
			api.Event{Status: api.NeedsYou, Title: "t", Agent: "Codex", Dialog: &api.Dialog{Kind: api.DialogLimit}},
			"t",
			Notification{Title: "t", Body: "Codex has reached a limit", Project: "t", Reason: api.NeedsYou},
			true,
		},
		{
			"done with work behind it",
			api.Event{Status: api.Done, Title: "t", Agent: "Demo", Background: 2},
			"p",
			Notification{Title: "p: t", Body: "Demo is done; 2 in the background go on", Project: "p", Reason: api.Done},
			true,
		},
		{
			"stalled",
			api.Event{Status: api.Stalled, Title: "t", Agent: "Demo", Evidence: "working 42m"},
			"p",
			Notification{Title: "p: t", Body: "Demo makes no progress: working 42m", Project: "p", Reason: api.Stalled},
			true,
		},
		{"working", api.Event{Status: api.Working, Title: "t"}, "p", Notification{}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := FromEvent(tt.e, tt.project)
			if diff := cmp.Diff(tt.want, got); diff != "" || ok != tt.ok {
				t.Errorf("ok %v: %s", ok, diff)
			}
			tt.e.Snapshot = true
			if _, ok := FromEvent(tt.e, tt.project); ok {
				t.Error("told of what was so before")
			}
		})
	}
}
