package host_test

import (
	"encoding/json"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"termio/internal/api"
	"termio/internal/client"
	"termio/internal/termtest"
)

// withSlowDemo adds the demo agent once more, as one that needs a while between a paste
// and Return.
func withSlowDemo(d *termtest.Daemon) {
	data, err := os.ReadFile(filepath.Join("..", "agent", "manifests", "demo.json"))
	if err != nil {
		panic(err)
	}
	slow := strings.NewReplacer(`"id": "demo"`, `"id": "slow"`, `"name": "Demo"`, `"name": "Slow"`, `"submit": 30`, `"submit": 2000`).Replace(string(data))
	if !json.Valid([]byte(slow)) {
		panic(slow)
	}
	d.WriteFile(filepath.Join(d.Paths.AgentsDir, "slow.json"), 0o600, slow)
}

// A text that a host was killed at is delivered by the next one, once, however far it
// had come; and whoever waits for its outcome gets that.
func TestDeliveryGoesOnOverARestart(t *testing.T) {
	tests := []struct {
		name     string
		agent    string
		switches []string
		kill     string // the host is killed when the agent does that
		then     func(d *termtest.Daemon, link string)
	}{
		{name: "before the agent takes input", agent: "demo", switches: []string{"mount=1500ms", "early=drop"}, kill: ""},
		{name: "behind a dialog", agent: "demo", switches: []string{"start=trust"}, kill: "dialog", then: func(d *termtest.Daemon, link string) {
			d.Watch(nil).AwaitStatus(link, api.NeedsYou)
			if _, err := d.Client().Send(d.Context(), link, api.SendRequest{Text: "yes", Answer: true}); err != nil {
				panic(err)
			}
		}},
		{name: "typed, Return not pressed", agent: "slow", kill: "paste"},
		{name: "Return swallowed", agent: "demo", switches: []string{"drop-returns=1"}, kill: "return-dropped"},
		{name: "taken", agent: "demo", kill: "submit"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := termtest.Start(t, termtest.WithDemoStream(), termtest.WithDemo(tt.switches...), withSlowDemo)
			events := d.WatchAll()
			came := waiting(func(c *client.Client) (api.WaitReply, error) {
				return c.SpawnWait(d.Context(), api.SpawnRequest{Agent: tt.agent, Prompt: "do [[say it]]"})
			}, d)
			link := events.Await("the session", func(api.Event) bool { return true }).Link
			if tt.kill != "" {
				d.AwaitDemo(tt.kill)
			}
			d.KillHost()
			if tt.then != nil {
				tt.then(d, link)
			}
			w := <-came
			if w.err != nil && tt.then != nil && w.reply.Status == api.NeedsYou {
				t.Fatal(w.err)
			}
			if tt.then == nil {
				if w.err != nil {
					t.Fatal(w.err)
				}
				checkReply(t, w.reply, "it")
			} else if w.reply.Status != api.NeedsYou {
				t.Errorf("%+v, %v", w.reply, w.err)
			}
			for len(d.Taken()) == 0 {
				d.AwaitDemo("submit")
			}
			if w, err := d.Client().SendWait(d.Context(), link, api.SendRequest{Text: "[[say more]]"}); err != nil {
				t.Fatal(err)
			} else {
				checkReply(t, w, "more")
			}
			d.AwaitDemo("submit")
			if got := d.Taken(); !slices.Equal(got, []string{"do [[say it]]", "[[say more]]"}) {
				t.Errorf("taken %q", got)
			}
		})
	}
}

// A text of which nobody can say whether it arrived is not typed again: that is said to
// who waits, as an event and in the session's description.
func TestDeliveryThatNobodyKnowsOf(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t, withMute)
	gate := d.Gate("gate")
	text := strings.Repeat("do it; ", 50_000)
	came := waiting(func(c *client.Client) (api.WaitReply, error) {
		return c.SpawnWait(d.Context(), api.SpawnRequest{Agent: "mute", Prompt: text})
	}, d)
	typed, err := os.Open(filepath.Join(d.Dir, "typed"))
	if err != nil {
		t.Fatal(err)
	}
	defer typed.Close()
	awaitLineOf(t, typed, "something\n")
	link := onlySession(t, d).Link
	d.KillHost() // while it types: the terminal does not take so much at once
	gate.Open()
	w := <-came
	e, ok := errors.AsType[*api.Error](w.err)
	if !ok || e.Code != api.Unavailable || e.Target != link || !strings.Contains(e.Message, link) {
		t.Errorf("wait: %+v, %#v", w.reply, w.err)
	}
	log := d.Watch(url.Values{"since": {"0"}, "state": {allStates}, "snapshot": {"0"}})
	told := log.Await("that it failed", func(e api.Event) bool { return e.Reason != "" })
	if !strings.Contains(told.Reason, "not delivered") {
		t.Errorf("event: %+v", told)
	}
	d.KillHost()
	if s := onlySession(t, d); !strings.Contains(s.Description, "not delivered") {
		t.Errorf("list: %+v", s)
	}
	d.Close(link)
	if got, err := os.ReadFile(filepath.Join(d.Dir, "all")); err != nil || len(got) == len(text) || !strings.HasPrefix(text, string(got)) {
		t.Errorf("typed %d bytes that end with %q, %v", len(got), got[max(len(got)-40, 0):], err)
	}
}

// A paste that a host was killed at is ended by the next one: what is typed then is no part
// of it.
func TestPasteThatBrokeOffIsEnded(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "log")
	begun := readsOf(t, log, "\x1b[200~0123")
	d := termtest.Start(t, termtest.WithDemoLog(), termtest.WithDemo("read-bytes=1000", "read-every=2ms", "log="+log))
	first, err := d.Client().SpawnWait(d.Context(), api.SpawnRequest{Agent: "demo", Prompt: "hello"})
	if err != nil {
		t.Fatal(err)
	}
	came := waiting(func(c *client.Client) (api.WaitReply, error) {
		return c.SendWait(d.Context(), first.Target, api.SendRequest{Text: strings.Repeat("0123456789abcdef", 4<<14)})
	}, d)
	<-begun
	d.KillHost()
	if w := <-came; api.CodeOf(w.err) != api.Unavailable {
		t.Errorf("wait: %+v, %v", w.reply, w.err)
	}
	if _, err := d.Client().Send(d.Context(), first.Target, api.SendRequest{Keys: []string{"ctrl-c"}}); err != nil { // what of it arrived
		t.Fatal(err)
	}
	if _, err := d.Client().SendWait(d.Context(), first.Target, api.SendRequest{Text: "next"}); err != nil {
		t.Error(err)
	}
	if got := d.Submitted(); !slices.Equal(got, []string{"hello", "next"}) {
		t.Errorf("submitted %q", cutAll(got))
	}
}

// withMute installs an agent that shows nothing of what is typed. It writes into a pipe
// that something was, and, once its gate is open, into a file what.
func withMute(d *termtest.Daemon) {
	d.WriteFile(filepath.Join(d.Paths.AgentsDir, "mute.json"), 0o600,
		`{"id": "mute", "name": "Mute", "command": "`+filepath.Join(d.Dir, "mute")+`", "composer": {"prompt": "^> (?P<draft>.*)$"}}`)
	d.WriteFile(filepath.Join(d.Dir, "mute"), 0o700, `#!/bin/bash
exec 9>typed
stty raw -echo
printf '> '
IFS= read -r -N 1 c
echo something >&9
read x <gate
{ printf %s "$c"; cat; } >all
`)
	if err := syscall.Mkfifo(filepath.Join(d.Dir, "typed"), 0o600); err != nil {
		panic(err)
	}
}

// The command of a run is entered once, and waits for plain terminals go on.
func TestRunGoesOnOverARestart(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t, termtest.WithEnv("SHELL=/bin/bash"))
	ctx := d.Context()
	gate := d.Gate("gate")
	profile := filepath.Join(filepath.Dir(d.Paths.Home), ".profile")

	// The shell on the terminal isn't ready before the gate is open.
	d.WriteFile(profile, 0o600, "[ ! -t 0 ] || read x <"+gate.Path+"\n")
	events := d.WatchAll()
	ran := waiting(func(c *client.Client) (api.WaitReply, error) {
		return c.RunWait(ctx, api.RunRequest{Command: "echo out | tee -a ran; read x <" + gate.Path + "; echo over"})
	}, d)
	link := events.Await("the session", func(api.Event) bool { return true }).Link
	d.KillHost()
	gate.Open()
	d.Screen(link).AwaitText("\nout")
	d.KillHost()
	gate.Open()
	w := <-ran
	if w.err != nil || w.reply.Target != link || w.reply.Status != api.Idle || w.reply.TimedOut || !w.reply.Created {
		t.Errorf("run: %+v, %v", w.reply, w.err)
	}
	d.Screen(link).AwaitText("\nover")
	if got, err := os.ReadFile(filepath.Join(d.Dir, "ran")); err != nil || string(got) != "out\n" {
		t.Errorf("ran %q, %v", got, err)
	}

	// What only echoes has not moved, in the next host either.
	silent := filepath.Join(d.Dir, "silent")
	if err := syscall.Mkfifo(silent, 0o600); err != nil {
		t.Fatal(err)
	}
	events = d.WatchAll()
	cat := d.Run("cat >" + silent)
	gate.Open()
	pipe, err := os.Open(silent)
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	events.AwaitStatus(cat, api.Working)
	sent := waiting(func(c *client.Client) (api.WaitReply, error) {
		return c.SendWait(ctx, cat, api.SendRequest{Text: "only echoed"})
	}, d)
	awaitLineOf(t, pipe, "only echoed\n")
	d.KillHost()
	if w := <-sent; api.CodeOf(w.err) != api.PromptStalled {
		t.Errorf("send to what only echoes: %+v, %v", w.reply, w.err)
	}
}
