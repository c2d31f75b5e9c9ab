package host_test

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"termio/internal/api"
	"termio/internal/termtest"
)

// withTalker installs an agent that does nothing but tell its status: what the test
// writes into its file, each time the gate is opened, as fast as it can or by and by.
func withTalker(d *termtest.Daemon) {
	d.WriteFile(filepath.Join(d.Paths.AgentsDir, "talker.json"), 0o600, fmt.Sprintf(
		`{"id": "talker", "name": "Talker", "command": %q, "programStatus": true}`, filepath.Join(d.Dir, "talker")))
	d.WriteFile(filepath.Join(d.Dir, "talker"), 0o700, `#!/bin/bash
while read -r how round <gate; do
	if [ "$how" = slowly ]; then
		while read -r line; do printf '%s' "$line"; done <words
	else
		tr -d '\n' <words
	fi
	echo "told round $round."
done
`)
}

// tells is a program's word on its status. A question is unlike all others.
func tells(state, question string) string {
	if question != "" {
		state += ":kind=question:msg=" + base64.StdEncoding.EncodeToString([]byte(question))
	}
	return "\x1b]7501;state=" + state + "\a\n"
}

// Hosts that are killed while an agent changes its status on and on lose none of the
// changes and tell none twice: neither what one had read and not acted on, nor what it
// had still to store and tell.
func TestNoTransitionIsLostWithAHost(t *testing.T) {
	d := termtest.Start(t, withTalker)
	gate := d.Gate("gate")
	link := d.SpawnAgent("talker", "x")
	screen := d.Screen(link)
	const rounds, flips = 12, 40
	var want []string
	for round := range rounds {
		var words strings.Builder
		for i := range flips {
			q := fmt.Sprintf("question %d of round %d", i, round)
			words.WriteString(tells("working", "") + tells("blocked", q))
			want = append(want, string(api.Working), q)
		}
		d.WriteFile(filepath.Join(d.Dir, "words"), 0o600, words.String())
		gate.Say(fmt.Sprint([]string{"fast ", "slowly "}[round%2], round))
		d.KillHost()
		screen.AwaitText(fmt.Sprintf("told round %d.", round))
	}
	d.WriteFile(filepath.Join(d.Dir, "words"), 0o600, tells("done", ""))
	gate.Say("fast last")
	var got []string
	log := d.Watch(url.Values{"state": {"working,needs-you,done"}, "snapshot": {"0"}, "since": {"0"}})
	log.Await("the last word", func(e api.Event) bool {
		switch e.Status {
		case api.Working:
			got = append(got, string(api.Working))
		case api.NeedsYou:
			got = append(got, e.Prompt)
		}
		return e.Status == api.Done
	})
	for i, w := range want {
		if i >= len(got) || got[i] != w {
			t.Fatalf("transition %d is not %q; told around it: %q", i, w, got[max(0, i-3):min(len(got), i+4)])
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d transitions told, want %d", len(got), len(want))
	}
}
