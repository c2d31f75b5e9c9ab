package host_test

import (
	"context"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"termio/internal/api"
	"termio/internal/client"
	"termio/internal/termtest"
)

// A host that is killed takes nothing along: sessions, screens, titles and statuses are
// there with the next one, and what runs goes on.
func TestHostKilled(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t)
	ctx := d.Context()
	agent, err := d.Client().SpawnWait(ctx, api.SpawnRequest{Agent: "demo", Prompt: "[[say kept reply]]"})
	if err != nil {
		t.Fatal(err)
	}
	asking, err := d.Client().SpawnWait(ctx, api.SpawnRequest{Agent: "demo", Prompt: "[[touch made]]"})
	if err != nil {
		t.Fatal(err)
	}
	events := d.WatchAll()
	cat := d.Run("echo before; cat")
	events.AwaitStatus(cat, api.Working)
	d.Screen(cat).AwaitText("before")
	was, err := d.Client().List(ctx, listAll)
	if err != nil {
		t.Fatal(err)
	}
	wasScreen, err := d.Client().Read(ctx, cat, client.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}

	wasTold := snapshot(d, len(was.Sessions))

	d.KillHost()

	now, err := d.Client().List(ctx, listAll)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wasTold, snapshot(d, len(was.Sessions))); diff != "" {
		t.Errorf("snapshot (-before +after):\n%s", diff)
	}
	if len(now.Sessions) != len(was.Sessions) {
		t.Fatalf("%d sessions, want %d", len(now.Sessions), len(was.Sessions))
	}
	for i, s := range now.Sessions {
		w := was.Sessions[i]
		if s.Link != w.Link || s.Title != w.Title || s.Status != w.Status || s.Agent != w.Agent || s.PID != w.PID ||
			s.Conversation != w.Conversation || s.Transcript != w.Transcript || s.Prompt != w.Prompt {
			t.Errorf("session\n%+v\nwas\n%+v", s, w)
		}
	}
	if s, err := d.Client().Read(ctx, cat, client.ReadOptions{}); err != nil || s.Screen != wasScreen.Screen {
		t.Errorf("screen %q, %v; want %q", s.Screen, err, wasScreen.Screen)
	}
	if _, err := d.Client().Send(ctx, cat, api.SendRequest{Text: "after"}); err != nil {
		t.Fatal(err)
	}
	d.Screen(cat).Await("what cat gives back", func(text string) bool { return strings.Count(text, "after") == 2 })
	more, err := d.Client().SendWait(ctx, agent.Target, api.SendRequest{Text: "[[say next reply]]"})
	if err != nil {
		t.Fatal(err)
	}
	checkReply(t, more, "next reply")
	answered, err := d.Client().SendWait(ctx, asking.Target, api.SendRequest{Text: "yes"})
	if err != nil {
		t.Fatal(err)
	}
	if answered.Status != api.Done {
		t.Errorf("answer: %+v", answered)
	}
	if _, err := os.Stat(filepath.Join(d.Dir, "made")); err != nil {
		t.Error(err)
	}
}

// snapshot is a watch's snapshot, without what is new each time.
func snapshot(d *termtest.Daemon, n int) []api.Event {
	w := d.Watch(url.Values{})
	lines := make([]api.Event, n)
	for i := range lines {
		lines[i] = w.Next()
		lines[i].At, lines[i].Seq = 0, 0
	}
	return lines
}

// Waits, watches and attaches go on by themselves when their host is killed.
func TestHostKilledUnderWaiters(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t)
	gate := d.Gate("go")
	lines := make(chan client.Line, 100)
	watching := d.Client()
	ctx, cancel := context.WithCancel(d.Context())
	defer cancel()
	ended := make(chan error, 1)
	before := d.WatchAll()
	go func() {
		ended <- watching.Watch(ctx, client.WatchOptions{States: []api.Status{api.Working, api.Done}}, func(l client.Line) error {
			lines <- l
			return nil
		})
	}()
	waited := waiting(func(c *client.Client) (api.WaitReply, error) {
		return c.SpawnWait(ctx, api.SpawnRequest{Agent: "demo", Prompt: "[[until " + gate.Path + "]][[say over]]"})
	}, d)
	link := before.Await("work", func(e api.Event) bool { return e.Status == api.Working }).Link
	awaitLine(t, lines, link, api.Working) // or it had come before the watch was on
	screen := d.Screen(link)
	screen.AwaitText("until")

	d.KillHost()

	gate.Open()
	done := awaitLine(t, lines, link, api.Done)
	if done.Transcript == "" || done.CursorEnd == nil {
		t.Errorf("done: %+v", done)
	}
	w := <-waited
	if w.err != nil || w.reply.Target != link || !w.reply.Created {
		t.Fatalf("wait: %+v, %v", w.reply, w.err)
	}
	checkReply(t, w.reply, "over")
	if *w.reply.CursorEnd != *done.CursorEnd {
		t.Errorf("wait's lines end at %d, the watch's at %d", *w.reply.CursorEnd, *done.CursorEnd)
	}
	screen.AwaitText("● over")
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("watch: %v", err)
	}
}

// awaitLine passes over lines until a session has a status, in a snapshot or an event.
func awaitLine(t *testing.T, lines <-chan client.Line, link string, st api.Status) api.Event {
	t.Helper()
	deadline := time.After(termtest.Patience)
	for {
		select {
		case l := <-lines:
			if l.Event != nil && l.Event.Link == link && l.Event.Status == st {
				return *l.Event
			}
		case <-deadline:
			t.Fatalf("no %s", st)
		}
	}
}

// What ended while there was no host is told by the next one.
func TestEndedWithoutAHost(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t)
	for _, name := range []string{"go", "ended"} {
		if err := syscall.Mkfifo(filepath.Join(d.Dir, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// The shell holds one pipe open until it ends.
	link := d.Run("exec 9>ended; read x <go; exit 5")
	ended, err := os.Open(filepath.Join(d.Dir, "ended"))
	if err != nil {
		t.Fatal(err)
	}
	defer ended.Close()
	d.StopHost(func() {
		if err := os.WriteFile(filepath.Join(d.Dir, "go"), []byte("\n"), 0); err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, ended); err != nil {
			t.Fatal(err)
		}
	})
	closed := d.Watch(url.Values{"since": {"0"}, "snapshot": {"0"}, "state": {"closed"}}).Next()
	if closed.Link != link || !strings.Contains(closed.Reason, "status 5") {
		t.Errorf("closed: %+v", closed)
	}
	list, err := d.Client().List(d.Context(), client.ListOptions{Closed: true})
	if err != nil {
		t.Fatal(err)
	}
	if s := list.Sessions[0]; s.Link != link || s.Status != api.Closed || s.ExitCode == nil || *s.ExitCode != 5 {
		t.Errorf("list: %+v", s)
	}
}

// A daemon that was killed whole took its terminals along. The next one says of each
// session that it has ended, leaves nothing of it behind, and can resume it.
func TestDaemonKilledWhole(t *testing.T) {
	d := termtest.Start(t)
	ctx := d.Context()
	agent, err := d.Client().SpawnWait(ctx, api.SpawnRequest{Agent: "demo", Prompt: "[[say before]]"})
	if err != nil {
		t.Fatal(err)
	}
	running := d.WatchAll()
	cat := d.Run("cat # " + strings.Repeat("a long command, ", 100))
	running.AwaitStatus(cat, api.Working)

	d.Crash()

	list, err := d.Client().List(ctx, client.ListOptions{Closed: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Sessions) != 2 {
		t.Fatalf("%d sessions, want 2: %+v", len(list.Sessions), list.Sessions)
	}
	events := d.Watch(url.Values{"since": {"0"}, "snapshot": {"0"}, "state": {"closed"}})
	for _, s := range list.Sessions {
		if e := events.Next(); e.Link != s.Link || e.Reason != s.Reason {
			t.Errorf("event %+v, list %+v", e, s)
		}
		if s.Status != api.Closed || !strings.Contains(s.Reason, "gone when the daemon came back") {
			t.Errorf("list: %+v", s)
		}
		if _, err := d.Client().Send(ctx, s.Link, api.SendRequest{Text: "too late"}); api.CodeOf(err) != api.NotLive {
			t.Errorf("send: %v", err)
		}
	}
	if left, err := filepath.Glob(filepath.Join(d.Paths.StateDir, "run-*")); err != nil || len(left) != 0 {
		t.Errorf("files left: %v, %v", left, err)
	}
	if r, err := d.Client().Resume(ctx, agent.Target); err != nil || !r.Resumed {
		t.Errorf("resume: %+v, %v", r, err)
	}
}

// An end that the database does not take has come all the same: it stands in the list
// of ended sessions at once, and in the database as soon as that works again. What
// cannot be begun meanwhile is the machine's trouble, not a defect of ours.
func TestEndThatCannotBeStored(t *testing.T) {
	t.Parallel() // each write of the daemon waits for seconds
	d := termtest.Start(t)
	ctx := d.Context()
	events := d.WatchAll()
	link := d.Run("cat")
	events.AwaitStatus(link, api.Working)
	unlock := d.LockDatabase()
	d.Close(link)
	if e := events.AwaitStatus(link, api.Closed); e.Reason != "closed" {
		t.Errorf("event %+v", e)
	}
	ended := func() {
		t.Helper()
		list, err := d.Client().List(ctx, client.ListOptions{Closed: true})
		if err != nil {
			t.Fatal(err)
		}
		if len(list.Sessions) != 1 || list.Sessions[0].Status != api.Closed || list.Sessions[0].Reason != "closed" {
			t.Errorf("list: %+v", list.Sessions)
		}
	}
	ended()
	if _, err := d.Client().Run(ctx, api.RunRequest{Command: "cat"}); api.CodeOf(err) != api.Unavailable {
		t.Errorf("run: %v", err)
	}
	unlock()
	ended()
	d.KillHost()
	ended()
	closed := d.Watch(url.Values{"since": {"0"}, "snapshot": {"0"}, "state": {"closed"}})
	if e := closed.Next(); e.Link != link || e.Reason != "closed" {
		t.Errorf("event %+v", e)
	}
}

// What a session was started with is delivered once, also if the host is killed before
// the agent or the shell takes input.
func TestHostKilledBeforeDelivery(t *testing.T) {
	t.Parallel()
	t.Run("prompt", func(t *testing.T) {
		d := termtest.Start(t, termtest.WithDemoLog(), termtest.WithDemo("mount=1500ms", "early=drop"))
		link := d.Spawn("the work")
		d.KillHost()
		d.Watch(url.Values{}).AwaitStatus(link, api.Done)
		if got := d.Submitted(); len(got) != 1 || got[0] != "the work" {
			t.Errorf("submitted %q", got)
		}
		d.KillHost()
		if _, err := d.Client().SendWait(d.Context(), link, api.SendRequest{Text: "more"}); err != nil {
			t.Fatal(err)
		}
		if got := d.Submitted(); len(got) != 2 {
			t.Errorf("submitted %q", got)
		}
	})
	t.Run("command", func(t *testing.T) {
		d := termtest.Start(t)
		d.WriteFile(filepath.Join(filepath.Dir(d.Paths.Home), ".profile"), 0o600, "sleep 1\n")
		link := d.Run("echo once | tee -a ran; cat")
		d.KillHost()
		d.Screen(link).AwaitText("\nonce\n")
		d.KillHost()
		d.Screen(link).AwaitText("\nonce\n")
		if got, err := os.ReadFile(filepath.Join(d.Dir, "ran")); err != nil || string(got) != "once\n" {
			t.Errorf("ran: %q, %v", got, err)
		}
	})
}
