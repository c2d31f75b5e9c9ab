package host_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"termio/internal/api"
	"termio/internal/client"
	"termio/internal/termtest"
)

func TestRunReadClose(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t)
	ctx := d.Context()
	events := d.WatchAll()
	link := d.Run("echo first line; cat")
	events.AwaitStatus(link, api.Working)
	screen := d.Screen(link)
	screen.AwaitText("first line")
	if _, err := d.Client().Send(ctx, link, api.SendRequest{Text: "over and over"}); err != nil {
		t.Fatal(err)
	}
	screen.Await("what cat gives back", func(text string) bool { return strings.Count(text, "over and over") == 2 })
	read, err := d.Client().Read(ctx, link, client.ReadOptions{Lines: 1})
	if err != nil {
		t.Fatal(err)
	}
	if read.Screen != "over and over" {
		t.Errorf("last line %q", read.Screen)
	}
	reply, err := d.Client().Close(ctx, link)
	if err != nil {
		t.Fatal(err)
	}
	if reply.Closed != link {
		t.Errorf("closed %q, want %q", reply.Closed, link)
	}
	if why := screen.AwaitEnd(); why != "closed" {
		t.Errorf("attach ended: %q", why)
	}
	if e := events.AwaitStatus(link, api.Closed); e.Reason != "closed" {
		t.Errorf("reason %q", e.Reason)
	}
	_, err = d.Client().Send(ctx, link, api.SendRequest{Text: "too late"})
	if code := api.CodeOf(err); code != api.NotLive {
		t.Errorf("send after close: %v", err)
	}
}

// A command that a busy shell comes to late, and that prints nothing, is seen to run.
func TestSilentCommandIsSeen(t *testing.T) {
	d := termtest.Start(t, termtest.WithEnv("SHELL=/bin/bash"))
	if err := syscall.Mkfifo(filepath.Join(d.Dir, "nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	events := d.WatchAll()
	link := d.Run("read -t 2 x <>nothing; cat") // the shell itself waits, and then starts cat
	events.AwaitStatus(link, api.Working)
	// What is in front is the shell's copy for a moment, and then cat.
	for ctx, info := d.Context(), onlySession(t, d); !strings.Contains(info.Description, "cat"); info = onlySession(t, d) {
		if ctx.Err() != nil {
			t.Fatalf("it never ran cat: %+v", info)
		}
	}
}
