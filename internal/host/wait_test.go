package host_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"termio/internal/api"
	"termio/internal/termtest"
)

// The reply of a turn stands in the lines of the transcript that the wait names.
func TestWaitNamesTheLinesOfTheReply(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t)
	ctx := d.Context()
	first, err := d.Client().SpawnWait(ctx, api.SpawnRequest{Agent: "demo", Prompt: "[[say first reply]]"})
	if err != nil {
		t.Fatal(err)
	}
	checkReply(t, first, "first reply")
	second, err := d.Client().SendWait(ctx, first.Target, api.SendRequest{Text: "[[say second reply]]"})
	if err != nil {
		t.Fatal(err)
	}
	checkReply(t, second, "second reply")
	if lines := replyLines(t, second); strings.Contains(lines, "first reply") {
		t.Errorf("lines of the turn before: %s", lines)
	}
}

func checkReply(t *testing.T, r api.WaitReply, want string) {
	t.Helper()
	if r.Status != api.Done || r.TimedOut || r.Cursor == nil || r.CursorEnd == nil || r.Transcript == "" {
		t.Fatalf("reply: %+v", r)
	}
	if lines := replyLines(t, r); !strings.Contains(lines, want) {
		t.Errorf("lines %d..%d lack %q: %s", *r.Cursor+1, *r.CursorEnd, want, lines)
	}
}

// replyLines are the lines cursor+1..cursor_end of the transcript.
func replyLines(t *testing.T, r api.WaitReply) string {
	t.Helper()
	data, err := os.ReadFile(r.Transcript)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(data, []byte("\n"))
	for _, l := range lines[:*r.CursorEnd] {
		if !json.Valid(l) {
			t.Errorf("a line that is not whole: %q", l)
		}
	}
	return string(bytes.Join(lines[*r.Cursor:*r.CursorEnd], nil))
}

// How a turn of an agent can end, and what a wait says then.
func TestWaitOutcomes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, prompt string
		switches     []string
		do           func(d *termtest.Daemon, link string) // while it works
		status       api.Status
		code         api.Code
		message      string
	}{
		{name: "done", prompt: "hello", status: api.Done},
		{name: "without a spinner, for longer than a stall", prompt: "[[think 6s]]", status: api.Done},
		{name: "failed", prompt: "[[error out of tokens]]", status: api.Done},
		{name: "a question", prompt: "[[ask Which?|A|B]]", status: api.NeedsYou},
		{name: "input swallowed", prompt: "hello", switches: []string{"drop-returns=9"}, code: api.PromptStalled, message: "hello"},
		{name: "closed", prompt: "[[work 1h]]", do: (*termtest.Daemon).Close, code: api.SessionClosed, message: "closed"},
		{name: "exit", prompt: "[[work 200ms]][[exit 3]]", code: api.AgentGone, message: "status 3"},
		{name: "killed", prompt: "[[work 200ms]][[crash 137]]", code: api.AgentGone, message: "signal 9"},
		{name: "interrupted", prompt: "[[work 1h]]", do: interrupt, status: api.Idle},
		{name: "interrupted, and the title says so", prompt: "[[work 1h]]", switches: []string{"program=off", "transcript=off"}, do: interrupt, status: api.Idle},
		{name: "interrupted, and the transcript says so", prompt: "[[think 1h]]", switches: []string{"program=off", "titles=off"}, do: interrupt, status: api.Idle},
		{name: "interrupted, and the screen shows it", prompt: "[[work 1h]]", switches: []string{"program=off", "titles=off", "transcript=off"}, do: interruptShown, status: api.Idle},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := termtest.Start(t, termtest.WithDemo(tt.switches...))
			events := d.WatchAll()
			type result struct {
				reply api.WaitReply
				err   error
			}
			got := make(chan result, 1)
			client, ctx := d.Client(), d.Context()
			go func() {
				r, err := client.SpawnWait(ctx, api.SpawnRequest{Agent: "demo", Prompt: tt.prompt})
				got <- result{r, err}
			}()
			if tt.do != nil {
				working := events.Await("work", func(e api.Event) bool { return e.Status == api.Working })
				tt.do(d, working.Link)
			}
			r := <-got
			if code := codeOf(r.err); code != tt.code {
				t.Fatalf("error %v, want code %q", r.err, tt.code)
			}
			if tt.code != "" {
				if !strings.Contains(r.err.Error(), tt.message) {
					t.Errorf("message %q lacks %q", r.err, tt.message)
				}
				return
			}
			if r.reply.Status != tt.status || r.reply.TimedOut {
				t.Errorf("status %q, timed out %v; want %q", r.reply.Status, r.reply.TimedOut, tt.status)
			}
			if tt.status == api.NeedsYou && !strings.Contains(r.reply.Prompt, "Which?") {
				t.Errorf("prompt %q", r.reply.Prompt)
			}
		})
	}
}

// A wait that runs out says so with the status of then, and the session goes on.
// An agent that has taken a text and then shows nothing for longer than one that swallowed
// it would is not stalled: its composer is empty.
func TestSilentAgentIsNotStalled(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t, termtest.WithDemo("hooks=off", "program=off", "transcript=off"))
	// Nothing but the title tells of a turn, and not while it thinks.
	withManifest(t, d, `"working": ["^[·✢✳✶✻✽] [^…]*… \\(.*esc to interrupt", "^  (?:.* · )?esc to interrupt(?: ·|$)"]`, `"working": ["^no mark at all$"]`)
	first, err := d.Client().SpawnWait(d.Context(), api.SpawnRequest{Agent: "demo2", Prompt: "[[work 1s]]"})
	if err != nil {
		t.Fatal(err)
	}
	r, err := d.Client().SendWait(d.Context(), first.Target, api.SendRequest{Text: "[[think 7s]][[work 1s]]"})
	if err != nil || r.TimedOut {
		t.Errorf("%+v, %v", r, err)
	}
	d.Screen(first.Target).AwaitText("Done.")
}

func TestWaitTimesOut(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t)
	gate := d.Gate("go")
	events := d.WatchAll()
	link := d.Spawn("[[until " + gate.Path + "]]")
	events.AwaitStatus(link, api.Working)
	r, err := d.Client().SendWait(d.Context(), link, api.SendRequest{Text: "[[say next]]", Waiting: api.Waiting{TimeoutMS: 1000}})
	if err != nil {
		t.Fatal(err)
	}
	if r.Status != api.Working || !r.TimedOut {
		t.Errorf("status %q, timed out %v", r.Status, r.TimedOut)
	}
	gate.Open()
	events.AwaitStatus(link, api.Done)
}

// interrupt presses Escape in a session.
func interrupt(d *termtest.Daemon, link string) {
	d.Screen(link).Type("\x1b")
}

// interruptShown is interrupt once the screen shows that a turn runs: nothing else tells
// that it does not any more.
func interruptShown(d *termtest.Daemon, link string) {
	s := d.Screen(link)
	s.AwaitText("esc to interrupt")
	s.Type("\x1b")
}

func codeOf(err error) api.Code {
	if err == nil {
		return ""
	}
	return api.CodeOf(err)
}

// The name of an ended agent's transcript stands in the error of its waits, and a login
// shell takes its place under the same link.
func TestAgentGoneLeavesAShell(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t)
	ctx := d.Context()
	first, err := d.Client().SpawnWait(ctx, api.SpawnRequest{Agent: "demo", Prompt: "hello"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = d.Client().SendWait(ctx, first.Target, api.SendRequest{Text: "[[exit 4]]"})
	if api.CodeOf(err) != api.AgentGone || !strings.Contains(err.Error(), first.Transcript) {
		t.Errorf("wait: %v", err)
	}
	list, err := d.Client().List(ctx, listAll)
	if err != nil {
		t.Fatal(err)
	}
	if s := list.Sessions[0]; s.Link != first.Target || s.Agent != "Terminal" || s.Status != api.Idle {
		t.Errorf("list: %+v", s)
	}
	ran, err := d.Client().SendWait(ctx, first.Target, api.SendRequest{Text: "echo $((6*7)) >answer; cat answer"})
	if err != nil {
		t.Fatal(err)
	}
	if ran.Status != api.Idle {
		t.Errorf("send to the shell: %+v", ran)
	}
	screen := d.Screen(first.Target)
	screen.AwaitText("42")
}

// Text that is sent while a turn runs has a turn of its own, and that one is waited for.
func TestWaitForAQueuedTurn(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t)
	gate := d.Gate("go")
	events := d.WatchAll()
	link := d.Spawn("[[until " + gate.Path + "]]")
	events.AwaitStatus(link, api.Working)
	got := make(chan api.WaitReply, 1)
	client, ctx := d.Client(), d.Context()
	go func() {
		r, err := client.SendWait(ctx, link, api.SendRequest{Text: "[[work 500ms]][[say the second turn]]"})
		if err != nil {
			t.Error(err)
		}
		got <- r
	}()
	screen := d.Screen(link)
	screen.AwaitText("queued: [[work 500ms]]")
	gate.Open()
	r := <-got
	if r.Status != api.Done || r.CursorEnd == nil {
		t.Fatalf("reply: %+v", r)
	}
	if lines := replyLines(t, r); !strings.Contains(lines, `"the second turn"`) {
		t.Errorf("lines %s", lines)
	}
}

// Of several texts that wait behind a running turn, each is waited for on its own.
func TestWaitForTheLastOfSeveralQueued(t *testing.T) {
	d := termtest.Start(t)
	gate := d.Gate("go")
	events := d.WatchAll()
	link := d.Spawn("[[until " + gate.Path + "]]")
	events.AwaitStatus(link, api.Working)
	client, ctx := d.Client(), d.Context()
	first, err := client.Send(ctx, link, api.SendRequest{Text: "[[work 300ms]][[say the first behind it]]"})
	if err != nil {
		t.Fatal(err)
	}
	if first.Delivery != api.Queued {
		t.Errorf("delivery %q, want queued", first.Delivery)
	}
	got := make(chan api.WaitReply, 1)
	go func() {
		r, err := client.SendWait(ctx, link, api.SendRequest{Text: "[[work 300ms]][[say the last of them]]"})
		if err != nil {
			t.Error(err)
		}
		got <- r
	}()
	screen := d.Screen(link)
	screen.AwaitText("queued: [[work 300ms]][[say the last")
	gate.Open()
	r := <-got
	if r.Status != api.Done || r.CursorEnd == nil {
		t.Fatalf("reply: %+v", r)
	}
	if lines := replyLines(t, r); !strings.Contains(lines, `"the last of them"`) {
		t.Errorf("lines %s", lines)
	}
}

// Work that goes on after a turn is counted in what a wait says of it.
func TestWaitCountsBackgroundWork(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t)
	r, err := d.Client().SpawnWait(d.Context(), api.SpawnRequest{Agent: "demo", Prompt: "[[subagent 1h looks around]]"})
	if err != nil {
		t.Fatal(err)
	}
	if r.Status != api.Done || r.Background != 1 {
		t.Errorf("reply: %+v", r)
	}
}

// A plain terminal has no status of its own to wait for.
func TestWaitForATerminal(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t, termtest.WithEnv("SHELL=/bin/bash"))
	ctx := d.Context()
	r, err := d.Client().RunWait(ctx, api.RunRequest{Command: "echo out; sleep 0.3"})
	if err != nil {
		t.Fatal(err)
	}
	if r.Status != api.Idle || r.TimedOut || !r.Created {
		t.Errorf("run: %+v", r)
	}
	link := d.Run("cat")
	r, err = d.Client().SendWait(ctx, link, api.SendRequest{Text: "given back"})
	if err != nil {
		t.Fatal(err)
	}
	if r.Status != api.Idle {
		t.Errorf("send to cat: %+v", r)
	}
	events := d.WatchAll()
	swallowing := d.Run("stty -echo; cat >/dev/null")
	events.AwaitStatus(swallowing, api.Working)
	_, err = d.Client().SendWait(ctx, swallowing, api.SendRequest{Text: "into the void"})
	if api.CodeOf(err) != api.PromptStalled {
		t.Errorf("send to what ignores it: %v", err)
	}
	_, err = d.Client().SendWait(ctx, d.Run("cat >/dev/null"), api.SendRequest{Text: "only echoed"})
	if api.CodeOf(err) != api.PromptStalled {
		t.Errorf("send to what only echoes: %v", err)
	}
}

// A shell that reports its commands (OSC 133) says how they ended.
func TestWaitWithCommandMarks(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t, termtest.WithEnv("SHELL=/bin/bash"))
	rc := `PS0='\e]133;C\a'
PROMPT_COMMAND='printf "\e]133;D;$?\a\e]133;A\a"'
PS1='$ \[\e]133;B\a\]'
`
	if err := os.WriteFile(filepath.Join(filepath.Dir(d.Paths.Home), ".profile"), []byte(rc), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := d.Client().RunWait(d.Context(), api.RunRequest{Command: "(exit 7)"})
	if err != nil {
		t.Fatal(err)
	}
	if r.Status != api.Idle || r.ExitCode == nil || *r.ExitCode != 7 {
		t.Errorf("run: %+v", r)
	}
}
