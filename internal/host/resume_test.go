package host_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"termio/internal/api"
	"termio/internal/client"
	"termio/internal/termtest"
)

// withFrail installs a demo agent that fails to go on with a conversation while there is a
// file slow, as one does whose store is on a disk that takes too long. With a file anew it
// has begun another conversation by then.
func withFrail(t *testing.T, d *termtest.Daemon) {
	t.Helper()
	frail := filepath.Join(d.Dir, "frail")
	withManifest(t, d, `"command": "termio demo-agent"`, `"command": "`+frail+`"`, `"name": "Demo"`, `"name": "Frail"`)
	d.WriteFile(frail, 0o700, `#!/bin/sh
if [ "$1" = --resume ] && [ -e slow ]; then
	[ ! -e anew ] || echo '{"session_id":"11111111-2222-4333-8444-555555555555"}' |
		"$TERMIO_HOME/bin/termio" agent report idle --event SessionStart
	exit 1
fi
exec "$TERMIO_HOME/bin/termio" demo-agent "$@"
`)
}

// ended is the record of the one session that has ended.
func ended(t *testing.T, d *termtest.Daemon) api.SessionInfo {
	t.Helper()
	list, err := d.Client().List(d.Context(), client.ListOptions{Closed: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Sessions) != 1 || list.Sessions[0].Status != api.Closed {
		t.Fatalf("sessions: %+v", list.Sessions)
	}
	return list.Sessions[0]
}

// An agent that fails before it has gone on with its conversation costs nothing but another
// try: the session keeps the conversation, says so, and goes on with it when it can.
func TestFailedResumeKeepsTheConversation(t *testing.T) {
	for _, anew := range []bool{false, true} {
		t.Run(map[bool]string{false: "it ends at once", true: "it begins another one first"}[anew], func(t *testing.T) {
			t.Parallel()
			d := termtest.Start(t)
			withFrail(t, d)
			ctx := d.Context()
			first, err := d.Client().SpawnWait(ctx, api.SpawnRequest{Agent: "demo2", Prompt: "[[say first]]"})
			if err != nil {
				t.Fatal(err)
			}
			link := first.Target
			was := onlySession(t, d)
			d.Close(link)
			d.WriteFile(filepath.Join(d.Dir, "slow"), 0o600, "")
			if anew {
				d.WriteFile(filepath.Join(d.Dir, "anew"), 0o600, "")
			}
			for range 2 { // as often as it is tried
				events := d.WatchAll()
				if r, err := d.Client().Resume(ctx, link); err != nil || !r.Resumed {
					t.Fatalf("resume: %+v, %v", r, err)
				}
				told := events.Await("that it failed", func(e api.Event) bool { return e.Reason != "" })
				if !strings.Contains(told.Reason, "Frail exited with status 1") || !strings.Contains(told.Reason, "resume "+was.ID) {
					t.Errorf("event: %+v", told)
				}
				d.KillHost()
				if s := onlySession(t, d); !strings.Contains(s.Description, told.Reason) {
					t.Errorf("list: %+v", s)
				}
				d.Close(link)
				if now := ended(t, d); now.Conversation != was.Conversation {
					t.Errorf("conversation %q, was %q", now.Conversation, was.Conversation)
				}
			}
			if err := os.Remove(filepath.Join(d.Dir, "slow")); err != nil {
				t.Fatal(err)
			}
			if r, err := d.Client().Resume(ctx, link); err != nil || !r.Resumed {
				t.Fatalf("resume: %+v, %v", r, err)
			}
			again, err := d.Client().SendWait(ctx, link, api.SendRequest{Text: "[[say second]]"})
			if err != nil {
				t.Fatal(err)
			}
			checkReply(t, again, "second")
			if again.Transcript != first.Transcript {
				t.Errorf("transcript %s, was %s", again.Transcript, first.Transcript)
			}
			if s := onlySession(t, d); strings.Contains(s.Description, "kept") {
				t.Errorf("list: %+v", s)
			}
		})
	}
}

// A start that fails leaves a record that was closed as it was, also where its conversation
// seemed to be gone and another was to begin.
func TestFailedStartLeavesTheRecord(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t)
	withFrail(t, d)
	ctx := d.Context()
	first, err := d.Client().SpawnWait(ctx, api.SpawnRequest{Agent: "demo2", Prompt: "[[say first]]"})
	if err != nil {
		t.Fatal(err)
	}
	d.Close(first.Target)
	was := ended(t, d)
	away := first.Transcript + ".away"
	if err := os.Rename(first.Transcript, away); err != nil {
		t.Fatal(err)
	}
	d.WriteFile(filepath.Join(d.Dir, "frail"), 0o700, "#!/no/such/shell\n")
	if r, err := d.Client().Resume(ctx, first.Target); api.CodeOf(err) != api.StartFailed {
		t.Fatalf("resume: %+v, %v", r, err)
	}
	if now := ended(t, d); now.Conversation != was.Conversation || len(now.Earlier) != 0 || now.Since != was.Since {
		t.Errorf("record\n%+v\nwas\n%+v", now, was)
	}
	if err := os.Rename(away, first.Transcript); err != nil {
		t.Fatal(err)
	}
	withFrail(t, d)
	if r, err := d.Client().Resume(ctx, first.Target); err != nil || !r.Resumed {
		t.Errorf("resume: %+v, %v", r, err)
	}
}

// A conversation that gives way to another stays known: to one that is begun because the
// record is gone, and to that of an agent which a person starts by hand.
func TestEarlierConversationsStayKnown(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t)
	ctx := d.Context()
	first, err := d.Client().SpawnWait(ctx, api.SpawnRequest{Agent: "demo", Prompt: "[[say first]][[exit 0]]"})
	if api.CodeOf(err) != api.AgentGone {
		t.Fatalf("spawn: %+v, %v", first, err)
	}
	link := onlySession(t, d).Link
	d.Close(link)
	was := ended(t, d)
	if err := os.Remove(was.Transcript); err != nil {
		t.Fatal(err)
	}
	if r, err := d.Client().Resume(ctx, link); err != nil || !r.Fresh {
		t.Fatalf("resume: %+v, %v", r, err)
	}
	if _, err := d.Client().SendWait(ctx, link, api.SendRequest{Text: "[[exit 0]]"}); api.CodeOf(err) != api.AgentGone {
		t.Fatal(err)
	}
	events := d.WatchAll()
	if _, err := d.Client().Send(ctx, link, api.SendRequest{Text: d.Paths.StableExe + " demo-agent"}); err != nil {
		t.Fatal(err)
	}
	events.Await("an agent by hand", func(e api.Event) bool { return e.Agent == "Demo" })
	if _, err := d.Client().SendWait(ctx, link, api.SendRequest{Text: "[[say third]]"}); err != nil {
		t.Fatal(err)
	}
	now := onlySession(t, d)
	if len(now.Earlier) != 2 || now.Earlier[0] != was.Conversation || slices.Contains(now.Earlier, now.Conversation) {
		t.Errorf("conversation %s after %q; the first was %s", now.Conversation, now.Earlier, was.Conversation)
	}
}

// Sessions of one agent in one folder come back from the end of the whole daemon each as
// itself: in its own conversation, named by its id, however it came by that, and wherever
// the end met it.
func TestSessionsOfOneFolderComeBackAsThemselves(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t)
	withOwn(t, d, true)
	ctx := d.Context()
	gate := d.Gate("go")
	type one struct{ link, agent, said, conversation string }
	var all []one
	for i := range 3 {
		for _, agent := range []string{"demo", "own"} {
			said := fmt.Sprintf("said by %s %d", agent, i)
			r, err := d.Client().SpawnWait(ctx, api.SpawnRequest{Agent: agent, Prompt: said})
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, one{link: r.Target, agent: agent, said: said})
		}
	}
	events := d.WatchAll()
	d.Send(all[0].link, "[[until "+gate.Path+"]]") // this one in the middle of a turn
	events.AwaitStatus(all[0].link, api.Working)
	for i, s := range all {
		all[i].conversation = sessionOf(t, d, s.link).Conversation
	}

	d.Crash()

	inParallel(len(all), len(all), func(i int) {
		if r, err := d.Client().Resume(ctx, all[i].link); err != nil || !r.Resumed || r.Fresh {
			t.Errorf("resume of %s: %+v, %v", all[i].said, r, err)
		}
	})
	for i, was := range all {
		if _, err := d.Client().SendWait(ctx, was.link, api.SendRequest{Text: fmt.Sprint("once more ", i)}); err != nil {
			t.Errorf("%s: %v", was.said, err)
		}
		now := sessionOf(t, d, was.link)
		if now.Conversation != was.conversation || was.conversation == "" {
			t.Errorf("%s came back in %q, was in %q", was.said, now.Conversation, was.conversation)
		}
		text, err := os.ReadFile(now.Transcript)
		if err != nil {
			t.Error(err)
		}
		for j, other := range all {
			mine := i == j
			if has := strings.Contains(string(text), other.said) || strings.Contains(string(text), fmt.Sprint("once more ", j)); has != mine {
				t.Errorf("the transcript of %s: words of %s are in it: %v", was.said, other.said, has)
			}
		}
		args, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", now.PID))
		if err != nil {
			continue // only Linux tells
		}
		if words := strings.Split(string(args), "\x00"); !slices.Contains(words, was.conversation) {
			t.Errorf("%s was started as %q, which does not name %s", was.said, words, was.conversation)
		}
	}
}
