package host_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"termio/internal/api"
	"termio/internal/client"
	"termio/internal/termtest"
)

// sendWait sends a text and waits beside the test.
func sendWait(d *termtest.Daemon, link, text string) <-chan waited {
	return waiting(func(c *client.Client) (api.WaitReply, error) {
		return c.SendWait(d.Context(), link, api.SendRequest{Text: text})
	}, d)
}

// An agent that runs what was queued as one ends all waits with that one turn, and each
// is told that its reply is not to its text alone.
func TestWaitsOfAMergedTurn(t *testing.T) {
	t.Parallel()
	for _, busy := range []string{"merge", "steer"} {
		t.Run(busy, func(t *testing.T) {
			t.Parallel()
			d := termtest.Start(t, termtest.WithDemo("busy="+busy), termtest.WithDemoStream())
			gate := d.Gate("go")
			events := d.WatchAll()
			link := d.Spawn("[[until " + gate.Path + "]]")
			events.AwaitStatus(link, api.Working)
			d.AwaitDemo("submit")
			first := sendWait(d, link, "the first behind it")
			d.AwaitDemo("submit")
			second := sendWait(d, link, "the second behind it")
			d.AwaitDemo("submit")
			gate.Open()
			for _, got := range []<-chan waited{first, second} {
				w := <-got
				if w.err != nil {
					t.Fatal(w.err)
				}
				if w.reply.Status != api.Done || w.reply.TimedOut || !w.reply.Merged {
					t.Errorf("reply: %+v", w.reply)
				}
				if lines := replyLines(t, w.reply); !strings.Contains(lines, `"stop_reason":"end_turn"`) {
					t.Errorf("no reply in lines %d..%d: %s", *w.reply.Cursor+1, *w.reply.CursorEnd, lines)
				}
			}
			alone := <-sendWait(d, link, "alone")
			if alone.err != nil || alone.reply.Merged {
				t.Errorf("of a text alone: %+v, %v", alone.reply, alone.err)
			}
		})
	}
}

// Who looks at a session changes nothing for those who wait or watch: the turn ends as
// done, and rests as done, for the one who looked as well.
func TestLookingChangesNothingForWaiters(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t)
	ctx := d.Context()
	gate := d.Gate("go")
	events := d.WatchAll()
	got := waiting(func(c *client.Client) (api.WaitReply, error) {
		return c.SpawnWait(ctx, api.SpawnRequest{Agent: "demo", Prompt: "[[until " + gate.Path + "]]"})
	}, d)
	link := events.Await("work", func(e api.Event) bool { return e.Status == api.Working }).Link
	screen := d.Screen(link) // attached, all the time
	screen.AwaitText("esc to interrupt")
	gate.Open()
	if w := <-got; w.err != nil || w.reply.Status != api.Done {
		t.Errorf("wait: %+v, %v", w.reply, w.err)
	}
	events.AwaitStatus(link, api.Done)
	if _, err := d.Client().Read(ctx, link, client.ReadOptions{}); err != nil {
		t.Fatal(err)
	}
	if now := onlySession(t, d); now.Status != api.Done || !now.Seen {
		t.Errorf("after it was seen: %+v", now)
	}
	second := <-sendWait(d, link, "[[say more]]") // seen, attached, and at rest since
	if second.err != nil || second.reply.Status != api.Done {
		t.Errorf("second wait: %+v, %v", second.reply, second.err)
	}
	events.AwaitStatus(link, api.Done)
	screen.Detach()
	if now := onlySession(t, d); now.Status != api.Done {
		t.Errorf("with nobody looking: %+v", now)
	}
}

// An agent that has another agent in its place, started by hand right after it, has
// ended all the same: its waits do not go on with the next one's turn.
func TestReplacedAgentEndsItsWaits(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t)
	exe, err := filepath.Rel(d.Dir, d.Paths.StableExe)
	if err != nil {
		t.Fatal(err)
	}
	gate := d.Gate("go")
	events := d.WatchAll()
	link := d.Run("cd .")
	if _, err := d.Client().Send(d.Context(), link, api.SendRequest{Text: exe + " demo-agent; " + exe + " demo-agent '[[work 200ms]]'"}); err != nil {
		t.Fatal(err)
	}
	events.Await("the promotion", func(e api.Event) bool { return e.Link == link && e.Agent == "Demo" })
	screen := d.Screen(link)
	screen.AwaitText("/help for help")
	got := sendWait(d, link, "[[until "+gate.Path+"]][[exit 5]]")
	screen.AwaitText("esc to interrupt")
	gate.Open()
	w := <-got
	if api.CodeOf(w.err) != api.AgentGone {
		t.Fatalf("wait: %+v, %v", w.reply, w.err)
	}
	if want := "Demo was started in its place"; !strings.Contains(w.err.Error(), want) && !strings.Contains(w.err.Error(), "a shell has its place") {
		t.Errorf("wait: %v, want %q", w.err, want) // the shell may have been seen in between
	}
	events.Await("the next one's turn", func(e api.Event) bool { return e.Link == link && e.Status == api.Done })
	if now := onlySession(t, d); now.Agent != "Demo" {
		t.Errorf("session: %+v", now)
	}
}

// What goes on after a turn is no turn: the session is done, everybody is told how much
// goes on, and the next turn is waited for as ever.
func TestBackgroundWorkIsNoTurn(t *testing.T) {
	t.Parallel()
	for _, directive := range []string{"[[subagent 1h looks around]]", "[[background 1h a server]]"} {
		t.Run(directive, func(t *testing.T) {
			t.Parallel()
			d := termtest.Start(t)
			events := d.WatchAll()
			r, err := d.Client().SpawnWait(d.Context(), api.SpawnRequest{Agent: "demo", Prompt: directive})
			if err != nil {
				t.Fatal(err)
			}
			if r.Status != api.Done || r.Background != 1 {
				t.Errorf("reply: %+v", r)
			}
			if e := events.AwaitStatus(r.Target, api.Done); e.Background != 1 {
				t.Errorf("event: %+v", e)
			}
			if now := onlySession(t, d); now.Status != api.Done || now.Background != 1 || !strings.Contains(now.Description, "1 in the background") {
				t.Errorf("list: %+v", now)
			}
			again := <-sendWait(d, r.Target, "[[say more]]")
			if again.err != nil || again.reply.Status != api.Done || again.reply.Background != 1 {
				t.Errorf("the next turn: %+v, %v", again.reply, again.err)
			}
		})
	}
}

// A dialog of an agent's start is needs-you, and the prompt waits for its answer and goes
// in once; also one that opens a moment after the composer was there.
func TestStartDialogsAreNeedsYou(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		switches []string
		answers  []string
		kinds    []api.DialogKind
	}{
		{"trust", []string{"start=trust"}, []string{"yes"}, []api.DialogKind{api.DialogTrust}},
		{"trust, and nothing but the screen tells", []string{"start=trust", "program=off", "titles=off", "hooks=off"}, []string{"yes"}, []api.DialogKind{api.DialogTrust}},
		{"login", []string{"start=login"}, []string{"1"}, []api.DialogKind{api.DialogLogin}},
		{"hooks review", []string{"start=hooks"}, []string{"2"}, []api.DialogKind{api.DialogTrust}},
		{"one after the other", []string{"start=trust,login"}, []string{"yes", "1"}, []api.DialogKind{api.DialogTrust, api.DialogLogin}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := termtest.Start(t, termtest.WithDemoLog(), termtest.WithDemo(tt.switches...))
			ctx := d.Context()
			events := d.WatchAll()
			link := d.Spawn("the work")
			for i, answer := range tt.answers {
				e := events.Await("its dialog", func(e api.Event) bool {
					return e.Link == link && e.Status == api.NeedsYou && e.Dialog != nil && e.Dialog.Kind == tt.kinds[i]
				})
				if len(e.Dialog.Options) == 0 || e.Dialog.Question == "" {
					t.Errorf("dialog: %+v", e.Dialog)
				}
				if got := d.Submitted(); len(got) != 0 {
					t.Errorf("submitted %q with the dialog open", got)
				}
				if _, err := d.Client().Send(ctx, link, api.SendRequest{Text: answer}); err != nil {
					t.Fatal(err)
				}
			}
			screen := d.Screen(link)
			screen.AwaitText("❯ the work")
			events.AwaitStatus(link, api.Done)
			if got := d.Submitted(); len(got) != 1 || got[0] != "the work" {
				t.Errorf("submitted %q", got)
			}
		})
	}
}

// A usage limit and an expired login are needs-you with the reason, nothing to approve,
// and the next prompt takes them away.
func TestLimitIsNeedsYou(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, prompt string
		switches     []string
		kind         api.DialogKind
		reason       string
	}{
		{"a limit", "[[limit resets 5pm]]", nil, api.DialogLimit, "resets 5pm"},
		{"a limit, hooks alone", "[[limit resets 5pm]]", []string{"program=off", "titles=off", "transcript=off"}, api.DialogLimit, "resets 5pm"},
		{"logged out", "[[error login expired]]", nil, api.DialogLogin, "login expired"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := termtest.Start(t, termtest.WithDemo(tt.switches...))
			r, err := d.Client().SpawnWait(d.Context(), api.SpawnRequest{Agent: "demo", Prompt: tt.prompt})
			if err != nil {
				t.Fatal(err)
			}
			if r.Status != api.NeedsYou || r.Dialog == nil || r.Dialog.Kind != tt.kind || len(r.Dialog.Options) != 0 || !strings.Contains(r.Prompt, tt.reason) {
				t.Errorf("reply: %+v, dialog %+v", r, r.Dialog)
			}
			if now := onlySession(t, d); !strings.Contains(now.Description, tt.reason) {
				t.Errorf("list: %+v", now)
			}
			if tt.kind == api.DialogLogin {
				return
			}
			again := <-sendWait(d, r.Target, "[[say back again]]")
			if again.err != nil || again.reply.Status != api.Done {
				t.Errorf("the next prompt: %+v, %v", again.reply, again.err)
			}
		})
	}
}

// A permission dialog that no hook and no other channel tells of is noticed on the screen.
func TestDialogIsSeenOnTheScreen(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t, termtest.WithDemo("hook-skip=PermissionRequest,Notification", "program=off", "titles=off", "transcript=off"))
	asking := spawnAsking(t, d, "[[touch made]]")
	if asking.Dialog == nil || asking.Dialog.Kind != api.DialogPermission || len(asking.Dialog.Options) == 0 {
		t.Errorf("dialog: %+v", asking.Dialog)
	}
	r := <-sendWait(d, asking.Target, "1")
	if r.err != nil || r.reply.Status != api.Done {
		t.Errorf("answered: %+v, %v", r.reply, r.err)
	}
	if _, err := os.Stat(filepath.Join(d.Dir, "made")); err != nil {
		t.Error(err)
	}
}
