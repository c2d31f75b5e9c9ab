package host_test

import (
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"termio/internal/api"
	"termio/internal/termtest"
)

// scripted makes an agent of a shell script whose hooks tell only that a turn begins and
// ends. rest is more of its manifest, with a comma before it.
func scripted(d *termtest.Daemon, rest, script string) {
	d.WriteFile(filepath.Join(d.Paths.AgentsDir, "scripted.json"), 0o600, `{
	"id": "scripted", "name": "Scripted", "command": "`+filepath.Join(d.Dir, "scripted")+`",
	"hooks": {"type": "builtin", "conversation": "session_id", "capturesTranscript": true, "events": [
		{"on": "UserPromptSubmit", "state": "working", "prompt": true}, {"on": "Stop", "state": "done"}]}`+rest+`
}`)
	d.WriteFile(filepath.Join(d.Dir, "scripted"), 0o700, `#!/bin/sh
report() { echo '{"session_id":"scripted-'$$'","transcript_path":"'"$PWD"'/lines"}' | "$TERMIO_HOME/bin/termio" agent report "$1" --event "$2"; }
`+script)
}

// What says that a turn was interrupted may be a line of the transcript that comes long
// after the last drawing: it is found, though nothing announces it.
func TestLateLineOfTheTranscript(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t)
	scripted(d, `,
	"prompt": {"arg": "{prompt}"},
	"transcript": {"rules": [{"name": "interrupted", "state": "idle", "where": {"text": "^interrupted"}}]}`, `
>lines
report working UserPromptSubmit
echo at work
sleep 2
echo '{"text":"interrupted by the person"}' >>lines
exec sleep 1000
`)
	events := d.Watch(url.Values{"state": {"working,idle"}}) // who watches for stalls has it read as well
	link := d.SpawnAgent("scripted", "go")
	events.AwaitStatus(link, api.Working)
	events.AwaitStatus(link, api.Idle)
}

// However often an agent redraws its screen, what it says is heard, and everybody is
// answered meanwhile. On the other screen nothing becomes history.
func TestStatusUnderAFlood(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t)
	gate := d.Gate("gate")
	scripted(d, `,
	"dialogs": [{"name": "permission", "kind": "permission", "question": ["^Do it"], "footer": ["^Esc to cancel"]}]`, `
report working UserPromptSubmit
(read x <gate; >stop) &
printf '\033[?1049h'
while ! [ -e stop ]; do printf '\033[Hframe of many\r\n❯ 1. Yes\r\n  2. No'; done
while :; do printf '\033[HDo it?\033[K\r\n❯ 1. Yes\r\n  2. No\r\nEsc to cancel'; done
`)
	ctx := d.Context()
	events := d.WatchAll()
	link := d.SpawnAgent("scripted", "go")
	events.AwaitStatus(link, api.Working)
	screen := d.Screen(link)
	screen.AwaitText("frame of many")
	for range 20 {
		if now := onlySession(t, d); now.Status != api.Working {
			t.Fatalf("under the flood: %+v", now)
		}
		if _, err := d.Client().Explain(ctx, link); err != nil {
			t.Fatal(err)
		}
	}
	gate.Open()
	e := events.AwaitStatus(link, api.NeedsYou)
	if e.Dialog == nil || e.Dialog.Question != "Do it?" || len(e.Dialog.Options) != 2 {
		t.Errorf("dialog: %+v", e.Dialog)
	}
}

// A process that a session's agent left behind, with the session's variable, is not the
// agent: what it reports changes nothing.
func TestReportOfAnOrphan(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t)
	gate, done := d.Gate("gate"), filepath.Join(d.Dir, "done")
	if err := syscall.Mkfifo(done, 0o600); err != nil {
		t.Fatal(err)
	}
	scripted(d, "", `
report working UserPromptSubmit
setsid sh -c 'setsid sh -c "read x <gate; exec </dev/null; '"$TERMIO_HOME"'/bin/termio agent report done --event Stop; echo over >done" &' &
wait
cat
`)
	events := d.WatchAll()
	link := d.SpawnAgent("scripted", "go")
	events.AwaitStatus(link, api.Working)
	gate.Open()
	if _, err := os.ReadFile(done); err != nil { // until it has reported
		t.Fatal(err)
	}
	if now := onlySession(t, d); now.Status != api.Working {
		t.Errorf("after an orphan's report: %+v", now)
	}
}

// A quick agent's first hook comes before its start has been stored: it counts.
func TestFirstReportOfAQuickAgent(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t)
	scripted(d, `,
	"prompt": {"arg": "{prompt}"}`, `
report working UserPromptSubmit
exec sleep 1000
`)
	events := d.WatchAll()
	links := make([]string, 20)
	inParallel(len(links), 5, func(i int) { links[i] = d.SpawnAgent("scripted", "go") })
	working := map[string]bool{}
	for len(working) < len(links) {
		e := events.Await("every one at work", func(e api.Event) bool { return e.Status == api.Working })
		working[e.Link] = true
	}
}

// Agents that rest cost the daemon nothing, in whatever way they came to rest: no timer
// is armed for one that is done, interrupted, refused, or that asks.
func TestIdleAgentsCostNothing(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux counts the switches of another process")
	}
	d := termtest.Start(t)
	events := d.WatchAll()
	for _, prompt := range []string{"[[say done]]", "[[touch made]]", "[[ask Which?|A|B]]", "[[limit resets 5pm]]", "[[background 1h a server]]"} {
		r, err := d.Client().SpawnWait(d.Context(), api.SpawnRequest{Agent: "demo", Prompt: prompt})
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(prompt, "touch") {
			d.Screen(r.Target).Type("\x1b")
			events.AwaitStatus(r.Target, api.Idle)
		}
	}
	wantQuiet(t, d)
}
