package e2e_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"termio/internal/api"
)

// claude is the agent's id in the catalogue.
const claude = "claudeCode"

// claudeSettings is the file of the person's settings, in which hooks stand.
const claudeSettings = ".claude/settings.json"

// newClaude makes a world in which Claude Code is installed and has been used
// before: its first-run questions are answered, the project is trusted, and it asks
// before it acts.
func newClaude(t *testing.T) *world {
	t.Helper()
	program := agentBinary(t, "Claude Code", "@anthropic-ai/claude-code-*/claude")
	w := newWorld(t)
	if err := os.Symlink(program, filepath.Join(w.home, "bin", "claude")); err != nil {
		t.Fatal(err)
	}
	const key = "sk-of-nobody-0000-loopback-only-0000"
	w.env = append(
		w.env,
		"ANTHROPIC_BASE_URL="+w.model.URL(),
		"ANTHROPIC_API_KEY="+key,
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		"CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL=1",
		"DISABLE_AUTOUPDATER=1",
		"DISABLE_ERROR_REPORTING=1",
		"DISABLE_TELEMETRY=1",
	)
	w.claudeConfig(key, w.project)
	w.writeJSON(claudeSettings, map[string]any{
		"permissions": map[string]any{"defaultMode": "default"},
	})
	return w
}

// claudeConfig writes what Claude Code remembers of its user; it approves a key by
// its last 20 characters.
func (w *world) claudeConfig(key string, trusted ...string) {
	w.t.Helper()
	projects := map[string]any{}
	for _, dir := range trusted {
		projects[dir] = map[string]any{"hasTrustDialogAccepted": true}
	}
	w.writeJSON(".claude.json", map[string]any{
		"hasCompletedOnboarding":   true,
		"hasSeenAutoDefaultNotice": true,
		"hasSeenAutoDefaultNudge":  true,
		"customApiKeyResponses":    map[string]any{"approved": []string{key[len(key)-20:]}, "rejected": []string{}},
		"projects":                 projects,
	})
}

// setUp has termio write its hooks into the agent's settings, as a new user would,
// and checks that the person's own are still there.
func (w *world) setUp() {
	w.t.Helper()
	if r := w.termio("setup", "--yes"); r.exit != 0 {
		w.t.Fatal(r)
	}
	data := w.read(claudeSettings)
	var settings struct {
		Permissions struct{ DefaultMode string }
		Hooks       map[string]any
	}
	if err := json.Unmarshal(data, &settings); err != nil {
		w.t.Fatal(err)
	}
	if settings.Permissions.DefaultMode != "default" || len(settings.Hooks) == 0 {
		w.t.Fatalf("no hooks, or something else is gone:\n%s", data)
	}
}

// reply is what the agent said in lines cursor+1..cursor_end of the transcript.
func (w *world) reply(r api.WaitReply) string {
	w.t.Helper()
	return w.said(r, claudeSaid)
}

// labels are the options of a dialog as they read.
func labels(d *api.Dialog) []string {
	var ls []string
	if d != nil {
		for _, o := range d.Options {
			ls = append(ls, o.Label)
		}
	}
	return ls
}

// eachChannel runs a test with termio's hooks in the agent's settings, and without
// them, when only the terminal and the status file tell.
func eachChannel(t *testing.T, test func(t *testing.T, w *world)) {
	t.Run("with hooks", func(t *testing.T) {
		w := newClaude(t)
		w.setUp()
		test(t, w)
	})
	t.Run("without hooks", func(t *testing.T) {
		test(t, newClaude(t))
	})
}

// withoutHooks runs a test with nothing of termio's in the agent's settings. With hooks
// the tests of all agents do the same.
func withoutHooks(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	test(t, newClaude(t))
}

func TestClaudeSpawnWaitsForTheReply(t *testing.T) {
	withoutHooks(t, func(t *testing.T, w *world) {
		first := w.spawn(claude, "remember the walnut")
		if first.Status != api.Done || first.TimedOut || !first.Created {
			t.Errorf("got %+v, want done", first)
		}
		if got, want := w.reply(first), "You said: remember the walnut"; got != want {
			t.Errorf("the transcript's lines say %q, want %q", got, want)
		}
		second := w.send(first.Target, "and the almond")
		if second.Status != api.Done || second.Created {
			t.Errorf("got %+v, want done", second)
		}
		if got, want := w.reply(second), "You said: and the almond"; got != want {
			t.Errorf("the transcript's lines say %q, want %q", got, want)
		}
		if *second.Cursor < *first.CursorEnd {
			t.Errorf("the second reply begins at line %d, inside the first, which ends at %d", *second.Cursor, *first.CursorEnd)
		}
		if row := w.row(first.Target); row.AgentID != claude || row.Status != api.Done || row.Transcript != first.Transcript {
			t.Errorf("listed as %+v", row)
		}
	})
}

func TestClaudePermission(t *testing.T) {
	withoutHooks(t, func(t *testing.T, w *world) {
		asked := w.spawn(claude, "[[bash: touch granted.txt]]")
		if asked.Status != api.NeedsYou || asked.TimedOut {
			t.Fatalf("got %+v, want needs-you", asked)
		}
		for _, want := range []string{"Do you want to proceed?", "1. Yes", "No"} {
			if !strings.Contains(asked.Prompt, want) {
				t.Errorf("the prompt lacks %q:\n%s", want, asked.Prompt)
			}
		}
		if asked.Dialog == nil || asked.Dialog.Kind != api.DialogPermission || len(asked.Dialog.Options) < 3 || asked.Dialog.Options[0].Label != "Yes" {
			t.Errorf("the dialog as data: %+v", asked.Dialog)
		}
		if row := w.row(asked.Target); row.Status != api.NeedsYou || row.Prompt != asked.Prompt {
			t.Errorf("listed as %+v", row)
		}

		// Text that is no answer must not approve anything.
		e := w.refused(api.NeedsAnswer, asked.Target, "please also add tests")
		if !strings.Contains(e.Message, "Do you want to proceed?") {
			t.Errorf("the refusal does not tell what is asked: %s", e.Message)
		}
		if row := w.row(asked.Target); row.Status != api.NeedsYou || w.has("granted.txt") {
			t.Fatalf("a refused text was an answer: %+v", row)
		}

		granted := w.send(asked.Target, "1")
		if granted.Status != api.Done {
			t.Errorf("got %+v, want done", granted)
		}
		if !w.has("granted.txt") {
			t.Error("approved, but the command did not run")
		}
		if got := w.reply(granted); !strings.Contains(got, "The tool answered. Done.") {
			t.Errorf("the transcript's lines say %q", got)
		}

		// The text that was refused went nowhere, and neither did the answer.
		if next := w.send(asked.Target, "what now?"); w.reply(next) != "You said: what now?" {
			t.Errorf("the next prompt was taken as %q", w.reply(next))
		}
	})
}

func TestClaudePermissionDenied(t *testing.T) {
	withoutHooks(t, func(t *testing.T, w *world) {
		asked := w.spawn(claude, "[[bash: touch denied.txt]]")
		if asked.Status != api.NeedsYou {
			t.Fatalf("got %+v, want needs-you", asked)
		}
		watch := w.watch()
		var sent api.SendReply
		w.sessions(&sent, 0, "send", asked.Target, "--key", "escape")
		watch.until(asked.Target, api.Idle) // no hook tells of it
		if w.has("denied.txt") {
			t.Error("denied, but the command ran")
		}
	})
}

func TestClaudeInterrupted(t *testing.T) {
	withoutHooks(t, func(t *testing.T, w *world) {
		var started api.StartReply
		w.sessions(&started, 0, "spawn", "--agent", claude, "--", "[[hold: gate]]")
		w.held("gate")
		watch := w.watch()
		watch.until(started.Target, api.Working)

		var sent api.SendReply
		w.sessions(&sent, 0, "send", started.Target, "--key", "escape")
		watch.until(started.Target, api.Idle) // no hook tells of it
		w.hungUp("gate")
		r := w.termio("sessions", "send", "--json", "--wait", "--timeout", waitLimit, started.Target, "--", "go on")
		if r.exit == 1 && strings.Contains(r.stdout, `"busy"`) && strings.Contains(r.stdout, "[[hold: gate]]") {
			return // Esc came before the first words were drawn: as in the next test
		}
		var next api.WaitReply
		if err := json.Unmarshal([]byte(r.stdout), &next); err != nil || r.exit != 0 || next.Status != api.Done {
			t.Errorf("after the interruption: %v, want done", r)
		}
	})
}

// Interrupted before it said a word, Claude Code puts the prompt back into its
// composer. What is sent next must not be glued to it.
func TestClaudeInterruptedBeforeAnyOutput(t *testing.T) {
	eachChannel(t, func(t *testing.T, w *world) {
		var started api.StartReply
		w.sessions(&started, 0, "spawn", "--agent", claude, "--", "[[stall: gate]]")
		w.held("gate")
		watch := w.watch()
		watch.until(started.Target, api.Working)

		var sent api.SendReply
		w.sessions(&sent, 0, "send", started.Target, "--key", "escape")
		watch.until(started.Target, api.Idle)
		const draft = "❯\u00a0[[stall: gate]]" // as the composer has it
		w.drawn(started.Target, true, draft)
		if e := w.refused(api.Busy, started.Target, "go on"); !strings.Contains(e.Message, "[[stall: gate]]") {
			t.Errorf("the refusal does not tell of the draft: %s", e.Message)
		}

		w.sessions(&sent, 0, "send", started.Target, "--key", "ctrl+u")
		w.drawn(started.Target, false, draft)
		if next := w.send(started.Target, "go on"); next.Status != api.Done || w.reply(next) != "You said: go on" {
			t.Errorf("got %+v, %q", next, w.reply(next))
		}
	})
}

func TestClaudeQuestion(t *testing.T) {
	tests := []struct{ name, answer, want string }{
		{"by number", "2", "Blue"},
		{"by label", "Blue", "Blue"},
		{"in other words", "green, as the grass", "green, as the grass"},
	}
	withoutHooks(t, func(t *testing.T, w *world) {
		target := ""
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				question := "Which colour, " + tt.name + "?"
				var asked api.WaitReply
				if target == "" {
					asked = w.spawn(claude, "[[ask: "+question+"]]")
					target = asked.Target
				} else {
					asked = w.send(target, "[[ask: "+question+"]]")
				}
				if asked.Status != api.NeedsYou || !strings.Contains(asked.Prompt, question) || !strings.Contains(asked.Prompt, "Blue") {
					t.Fatalf("got %+v, want the question and its options", asked)
				}
				if d := asked.Dialog; d == nil || d.Kind != api.DialogQuestion || d.Question != question || !slices.Contains(labels(d), "Red") {
					t.Errorf("the dialog as data: %+v", d)
				}
				if answered := w.send(target, tt.answer); answered.Status != api.Done {
					t.Errorf("got %+v, want done", answered)
				}
				requests := w.model.Requests()
				if got := requests[len(requests)-1].ToolResult; !strings.Contains(got, `"`+question+`"="`+tt.want+`"`) {
					t.Errorf("the agent took the answer as %q, want %q", got, tt.want)
				}
			})
		}
	})
}

// What setup writes, the agent takes: it shows no dialog about it, it knows the skill,
// and when it is taken out again the settings are what they were.
func TestClaudeSetup(t *testing.T) {
	w := newClaude(t)
	before := w.read(claudeSettings)
	w.setUp()
	if first := w.spawn(claude, "remember the walnut"); first.Status != api.Done {
		t.Errorf("got %+v, want done", first)
	}
	skill := w.read(".claude/skills/termio/SKILL.md")
	_, description, _ := strings.Cut(string(skill), "\ndescription: ")
	description, _, _ = strings.Cut(description, "\n")
	if request := w.asked("remember the walnut"); description == "" || !strings.Contains(string(request.Body), description[:min(len(description), 60)]) {
		t.Errorf("the model was not told of the skill %q", description)
	}
	if r := w.termio("setup", "--no"); r.exit != 0 {
		t.Fatal(r)
	}
	if after := w.read(claudeSettings); !bytes.Equal(after, before) {
		t.Errorf("the settings became\n%s, were\n%s", after, before)
	}
	if _, err := os.Stat(filepath.Join(w.home, ".claude", "skills", "termio")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the skill is still there: %v", err)
	}
}

// A folder that the agent was never trusted with: the prompt waits until a person
// has said yes, and is not typed into the dialog.
func TestClaudeTrustDialog(t *testing.T) {
	w := newClaude(t)
	w.claudeConfig("sk-of-nobody-0000-loopback-only-0000")
	asked := w.spawn(claude, "remember the walnut")
	if asked.Status != api.NeedsYou || !strings.Contains(asked.Prompt, "Yes, I trust this folder") {
		t.Fatalf("got %+v, want needs-you with the trust dialog", asked)
	}
	if d := asked.Dialog; d == nil || d.Kind != api.DialogTrust || len(d.Options) != 2 {
		t.Errorf("the dialog as data: %+v", d)
	}
	w.refused(api.NeedsAnswer, asked.Target, "please also add tests")
	if trusted := w.send(asked.Target, "Yes, I trust this folder"); trusted.Status != api.Done {
		t.Errorf("got %+v, want done", trusted)
	}
	w.asked("remember the walnut")
}

// What is sent while the agent works is a turn of its own each, in order: Claude Code by
// itself would run all of it as one. A wait is for the text's own turn.
func TestClaudeQueuesWhileWorking(t *testing.T) {
	eachChannel(t, func(t *testing.T, w *world) {
		var started api.StartReply
		w.sessions(&started, 0, "spawn", "--agent", claude, "--", "[[hold: gate]]")
		w.held("gate")
		watch := w.watch()
		watch.until(started.Target, api.Working)
		want := []string{"[[hold: gate]]"}
		for i := range 10 {
			text := fmt.Sprintf("text %d, while busy", i)
			var queued api.SendReply
			w.sessions(&queued, 0, "send", started.Target, "--", text)
			if queued.Delivery != api.Queued {
				t.Errorf("delivery %q, want queued", queued.Delivery)
			}
			want = append(want, text)
		}
		w.model.Release("gate")
		last := w.send(started.Target, "the last")
		if got := w.reply(last); last.Status != api.Done || got != "You said: the last" {
			t.Errorf("the last: %+v, %q", last, got)
		}
		var got []string
		for _, r := range w.model.Requests() {
			if r.Prompt != "" && !slices.Contains(got, r.Prompt) {
				got = append(got, r.Prompt)
			}
		}
		if want = append(want, "the last"); !slices.Equal(got, want) {
			t.Errorf("prompts %q, want %q", got, want)
		}
	})
}

// The host is killed in the middle of a turn. The agent notices nothing, and whoever
// watches is told of the turn's end by the next host.
func TestClaudeOutlivesTheHost(t *testing.T) {
	withoutHooks(t, func(t *testing.T, w *world) {
		var started api.StartReply
		w.sessions(&started, 0, "spawn", "--agent", claude, "--", "[[hold: gate]]")
		w.held("gate")
		watch := w.watch()
		watch.until(started.Target, api.Working)
		before := w.row(started.Target)

		first := w.daemon()
		if err := syscall.Kill(first.HostPID, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		after := w.row(started.Target)
		if after.Status != api.Working || after.PID != before.PID || after.Conversation != before.Conversation {
			t.Errorf("listed as %+v, was %+v", after, before)
		}
		if second := w.daemon(); second.HostPID == first.HostPID || second.KeeperPID != first.KeeperPID || second.HostStarts != first.HostStarts+1 {
			t.Errorf("the daemon is %+v, was %+v", second, first)
		}
		w.model.Release("gate")
		watch.until(started.Target, api.Done)
		if next := w.send(started.Target, "go on"); next.Status != api.Done || w.reply(next) != "You said: go on" {
			t.Errorf("got %+v, %q", next, w.reply(next))
		}
	})
}

// daemon is what the daemon says of itself.
func (w *world) daemon() api.DaemonReply {
	w.t.Helper()
	r := w.termio("daemon", "status", "--json")
	var reply api.DaemonReply
	if err := json.Unmarshal([]byte(r.stdout), &reply); r.exit != 0 || err != nil {
		w.t.Fatalf("%v\n%v", r, err)
	}
	return reply
}
