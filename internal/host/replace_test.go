package host_test

import (
	"net/url"
	"path/filepath"
	"testing"

	"termio/internal/api"
	"termio/internal/termtest"
)

// withBrief installs an agent that ends as soon as its gate is opened.
func withBrief(d *termtest.Daemon) {
	d.WriteFile(filepath.Join(d.Paths.AgentsDir, "brief.json"), 0o600,
		`{"id": "brief", "name": "Brief", "command": "`+filepath.Join(d.Dir, "brief")+`"}`)
	d.WriteFile(filepath.Join(d.Dir, "brief"), 0o700, "#!/bin/sh\nread x <gate\n")
}

// briefs starts agents that end as soon as the gate is opened, each once.
func briefs(d *termtest.Daemon, n int) (links []string) {
	for range n {
		links = append(links, d.SpawnAgent("brief", "x"))
	}
	return links
}

// A shell that ends as soon as it has taken an agent's place ends the session.
func TestShellThatEndsAtOnce(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t, withBrief, termtest.WithEnv("SHELL=/bin/false"))
	gate := d.Gate("gate")
	events := d.WatchAll()
	links := briefs(d, 5)
	for range links {
		gate.Open()
	}
	for range links { // whichever is the next
		events.Await("the end", func(e api.Event) bool { return e.Status == api.Closed })
	}
}

// Agents end while their host makes place for the next one: their sessions live on,
// with shells.
func TestHostLeavesWhileAgentsEnd(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t, withBrief)
	gate := d.Gate("gate")
	links := briefs(d, 12)
	for range links {
		gate.Open()
	}
	d.EndHost()
	events, left := d.Watch(url.Values{"state": {allStates}}), len(links)
	seen := map[string]bool{}
	events.Await("a shell in every agent's place", func(e api.Event) bool {
		if e.Agent == "Terminal" && !seen[e.Link] {
			seen[e.Link] = true
			left--
		}
		return left == 0
	})
}

// A session that is started again as soon as its end is told gets a terminal of its own.
func TestResumeAtTheEnd(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t)
	events := d.WatchAll()
	link := d.Run("echo first")
	for range 5 {
		c := d.Client()
		closed := make(chan error, 1)
		go func() {
			_, err := c.Close(d.Context(), link)
			closed <- err
		}()
		events.AwaitStatus(link, api.Closed)
		if _, err := d.Client().Resume(d.Context(), link); err != nil {
			t.Fatal(err)
		}
		if err := <-closed; err != nil {
			t.Error(err)
		}
		if _, err := d.Client().Send(d.Context(), link, api.SendRequest{Text: "echo again"}); err != nil {
			t.Fatal(err)
		}
		d.Screen(link).AwaitText("\nagain")
	}
}
