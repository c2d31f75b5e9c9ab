package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"termio/internal/api"
)

func TestAgentSpawnWaitsForTheReply(t *testing.T) {
	eachAgent(t, func(t *testing.T, w *world, k kind) {
		first := w.spawn(k.id, "remember the walnut")
		if first.Status != api.Done || first.TimedOut || !first.Created {
			t.Errorf("got %+v, want done", first)
		}
		if got, want := w.said(first, k.said), "You said: remember the walnut"; got != want {
			t.Errorf("the transcript's lines say %q, want %q", got, want)
		}
		second := w.send(first.Target, "and the almond")
		if got, want := w.said(second, k.said), "You said: and the almond"; second.Status != api.Done || got != want {
			t.Errorf("got %+v, which says %q, want done and %q", second, got, want)
		}
		if *second.Cursor < *first.CursorEnd {
			t.Errorf("the second reply begins at line %d, inside the first, which ends at %d", *second.Cursor, *first.CursorEnd)
		}
		if row := w.row(first.Target); row.AgentID != k.id || row.Status != api.Done || row.Transcript != first.Transcript || row.Conversation == "" {
			t.Errorf("listed as %+v", row)
		}
	})
}

// A prompt is never an answer: sent while a permission is asked for, a long one is
// refused, nothing of it is typed, and nothing is approved.
func TestAgentPermission(t *testing.T) {
	eachAgent(t, func(t *testing.T, w *world, k kind) {
		asked := w.spawn(k.id, "[[bash: touch granted.txt]]")
		if asked.Status != api.NeedsYou || asked.TimedOut {
			t.Fatalf("got %+v, want needs-you", asked)
		}
		for _, want := range []string{k.permission, "1. Yes", "No"} {
			if !strings.Contains(asked.Prompt, want) {
				t.Errorf("the prompt lacks %q:\n%s", want, asked.Prompt)
			}
		}
		if d := asked.Dialog; d == nil || d.Kind != api.DialogPermission || len(d.Options) < 3 || d.Question != k.permission {
			t.Errorf("the dialog as data: %+v", d)
		}
		long := "please also add tests" + strings.Repeat(" for the cart and the checkout\nyes", 200)
		e := w.refused(api.NeedsAnswer, asked.Target, long)
		if !strings.Contains(e.Message, k.permission) {
			t.Errorf("the refusal does not tell what is asked: %s", e.Message)
		}
		if row := w.row(asked.Target); row.Status != api.NeedsYou || w.has("granted.txt") {
			t.Fatalf("a refused text was an answer: %+v", row)
		}
		granted := w.send(asked.Target, "1")
		if granted.Status != api.Done || !w.has("granted.txt") {
			t.Errorf("got %+v, the command's file is there: %v", granted, w.has("granted.txt"))
		}
		if got := w.said(granted, k.said); !strings.Contains(got, "The tool answered. Done.") {
			t.Errorf("the transcript's lines say %q", got)
		}
		// The text that was refused went nowhere, and neither did the answer.
		if next := w.send(asked.Target, "what now?"); w.said(next, k.said) != "You said: what now?" {
			t.Errorf("the next prompt was taken as %q", w.said(next, k.said))
		}
	})
}

func TestAgentPermissionDenied(t *testing.T) {
	eachAgent(t, func(t *testing.T, w *world, k kind) {
		asked := w.spawn(k.id, "[[bash: touch denied.txt]]")
		if asked.Status != api.NeedsYou {
			t.Fatalf("got %+v, want needs-you", asked)
		}
		watch := w.watch()
		var sent api.SendReply
		w.sessions(&sent, 0, "send", asked.Target, "--key", "escape")
		watch.soon(asked.Target, api.Idle)
		if w.has("denied.txt") {
			t.Error("denied, but the command ran")
		}
		if next := w.send(asked.Target, "what now?"); next.Status != api.Done || w.asked("what now?").Prompt == "" {
			t.Errorf("after the denial: %+v", next)
		}
	})
}

// A question takes an option and, in other words than its options, any text.
func TestAgentQuestion(t *testing.T) {
	eachAgent(t, func(t *testing.T, w *world, k kind) {
		asked := w.spawn(k.id, "[[ask: Which colour?]]")
		if asked.Status != api.NeedsYou || !strings.Contains(asked.Prompt, "Which colour?") || !strings.Contains(asked.Prompt, "Blue") {
			t.Fatalf("got %+v, want the question and its options", asked)
		}
		if d := asked.Dialog; d == nil || d.Kind != api.DialogQuestion || d.Question != "Which colour?" || !slices.Contains(labels(d), "Red") {
			t.Errorf("the dialog as data: %+v", d)
		}
		if answered := w.send(asked.Target, "Blue"); answered.Status != api.Done || !strings.Contains(w.model.Last().ToolResult, "Blue") {
			t.Errorf("got %+v, the agent took the answer as %q", answered, w.model.Last().ToolResult)
		}
		if again := w.send(asked.Target, "[[ask: Which colour, freely?]]"); again.Status != api.NeedsYou {
			t.Fatalf("got %+v, want needs-you", again)
		}
		if answered := w.send(asked.Target, "green, as the grass"); answered.Status != api.Done || !strings.Contains(w.model.Last().ToolResult, k.own) {
			t.Errorf("got %+v, the agent took the answer as %q, want %q in it", answered, w.model.Last().ToolResult, k.own)
		}
	})
}

func TestAgentInterrupted(t *testing.T) {
	eachAgent(t, func(t *testing.T, w *world, k kind) {
		first := w.spawn(k.id, "begin")
		var sent api.SendReply
		w.sessions(&sent, 0, "send", first.Target, "--", "[[slow: 60]]")
		w.asked("[[slow: 60]]")
		watch := w.watch()
		watch.until(first.Target, api.Working)
		w.sessions(&sent, 0, "send", first.Target, "--key", "escape")
		watch.soon(first.Target, api.Idle)
	})
}

// Return submits, newlines do not; not a byte of 64 KiB is lost or changed.
func TestAgentLongPrompt(t *testing.T) {
	eachAgent(t, func(t *testing.T, w *world, k kind) {
		first := w.spawn(k.id, "begin")
		var b strings.Builder
		for i := 0; b.Len() < 64<<10; i++ {
			b.WriteString("a line of a långer prompt, \"quoted\" and {braced} \\ ")
			b.WriteString(strings.Repeat(string(rune('a'+i%26)), i%50))
			b.WriteString("\n")
		}
		prompt := b.String()[:64<<10-4] + "end."
		if sent := w.send(first.Target, prompt); sent.Status != api.Done {
			t.Errorf("got %+v", sent)
		}
		if got := w.model.Last().Prompt; !strings.Contains(got, prompt) {
			t.Errorf("the model was told %d bytes, which do not hold the %d that were sent; they are the same to byte %d",
				len(got), len(prompt), same(got, prompt))
		}
	})
}

// same is how far two texts are the same.
func same(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// Ten texts sent to a busy session all arrive, each as a message of its own, in the
// order in which they were sent.
func TestAgentTenSendsWhileBusy(t *testing.T) {
	eachAgent(t, func(t *testing.T, w *world, k kind) {
		first := w.spawn(k.id, "begin")
		var sent api.SendReply
		w.sessions(&sent, 0, "send", first.Target, "--", "[[hold: gate]]")
		w.held("gate")
		var want []string
		for i := range 10 {
			text := fmt.Sprintf("text number %d of ten", i+1)
			want = append(want, text)
			w.sessions(&sent, 0, "send", first.Target, "--", text)
			if sent.Delivery != api.Queued && sent.Delivery != api.Submitted {
				t.Errorf("%s: delivery %q", text, sent.Delivery)
			}
		}
		w.model.Release("gate")
		last := w.asked(want[9])
		got := slices.DeleteFunc(slices.Clone(last.Said), func(s string) bool { return !strings.HasPrefix(s, "text number") })
		if !slices.Equal(got, want) {
			t.Errorf("the model was told\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

// Two sessions in one folder, at work at once: each has its own conversation, and each
// is resumed by it.
func TestAgentTwoSessionsInOneFolder(t *testing.T) {
	eachAgent(t, func(t *testing.T, w *world, k kind) {
		var one, two api.StartReply
		w.sessions(&one, 0, "spawn", "--agent", k.id, "--", "remember the walnut")
		w.sessions(&two, 0, "spawn", "--agent", k.id, "--", "remember the almond")
		watch := w.watch()
		watch.untilAll(api.Done, one.Target, two.Target)
		for _, s := range []struct{ target, word string }{{one.Target, "walnut"}, {two.Target, "almond"}} {
			row, asked := w.row(s.target), w.asked("remember the "+s.word)
			if row.Conversation == "" || row.Conversation != asked.Conversation {
				t.Errorf("the session of the %s is bound to %q, the agent says %q", s.word, row.Conversation, asked.Conversation)
			}
			if next := w.send(s.target, "and then "+s.word); next.Status != api.Done || w.said(next, k.said) != "You said: and then "+s.word || next.Transcript != row.Transcript {
				t.Errorf("got %+v", next)
			}
			if after := w.asked("and then " + s.word); !slices.Contains(after.Said, "remember the "+s.word) || slices.Contains(after.Said, "remember the almond") != (s.word == "almond") {
				t.Errorf("the model was told %q", after.Said)
			}
		}
		if a, b := w.row(one.Target), w.row(two.Target); a.Conversation == b.Conversation || a.Transcript == b.Transcript {
			t.Errorf("mixed up: %+v and %+v", a, b)
		}
		w.resumes(one.Target, w.row(one.Target).Transcript, k.said)
	})
}

// A new conversation is the session's, at the latest from its first prompt on.
func TestAgentNewConversation(t *testing.T) {
	eachAgent(t, func(t *testing.T, w *world, k kind) {
		first := w.spawn(k.id, "remember the walnut")
		before := w.row(first.Target)
		var sent api.SendReply
		w.sessions(&sent, 0, "send", first.Target, "--", "/clear")
		next := w.send(first.Target, "and the almond")
		after := w.row(first.Target)
		if asked := w.asked("and the almond"); slices.Contains(asked.Said, "remember the walnut") || after.Conversation != asked.Conversation || after.Conversation == before.Conversation {
			t.Errorf("bound to %q, was %q; the model was told %q in %q", after.Conversation, before.Conversation, asked.Said, asked.Conversation)
		}
		if !slices.Contains(after.Earlier, before.Conversation) {
			t.Errorf("earlier ones are %q, want %s among them", after.Earlier, before.Conversation)
		}
		if next.Status != api.Done || next.Transcript == first.Transcript || w.said(next, k.said) != "You said: and the almond" {
			t.Errorf("got %+v", next)
		}
	})
}

// A conversation that is nowhere is said to be, nothing else is taken for it, and its id
// is kept.
func TestAgentUnknownConversation(t *testing.T) {
	eachAgent(t, func(t *testing.T, w *world, k kind) {
		w.unknown(more{id: k.id, unknown: nobody})
	})
}

// An agent whose person has moved its files gets the hooks there, and a session goes on
// there, also when the variable is not set any more.
func TestAgentMovedFiles(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			w := k.install(t)
			moved := filepath.Join(w.home, "else where")
			w.rename(k.config, "else where")
			for _, file := range k.beside {
				w.rename(file, filepath.Join("else where", file))
			}
			plain := w.env
			w.env = append(slices.Clone(plain), k.moved+"="+moved)
			if r := w.termio("setup", "--yes"); r.exit != 0 {
				t.Fatal(r)
			}
			first := w.spawn(k.id, "remember the walnut")
			if got := w.said(first, k.said); first.Status != api.Done || got != "You said: remember the walnut" || !strings.HasPrefix(first.Transcript, moved) {
				t.Errorf("got %+v, which says %q", first, got)
			}
			if explained := w.termio("sessions", "explain", first.Target); !strings.Contains(explained.stdout, "Stop") {
				t.Errorf("no hook was heard:\n%v", explained)
			}
			if r := w.termio("daemon", "stop"); r.exit != 0 {
				t.Fatal(r)
			}
			w.env = plain
			var resumed api.StartReply
			w.sessions(&resumed, 0, "resume", first.Target)
			if again := w.send(first.Target, "what did I say?"); !resumed.Resumed || again.Status != api.Done || again.Transcript != first.Transcript {
				t.Errorf("got %+v, then %+v", resumed, again)
			}
			if told := w.asked("what did I say?"); !slices.Contains(told.Said, "remember the walnut") {
				t.Errorf("the model was told %q", told.Said)
			}
		})
	}
}

// rename moves a file of the home.
func (w *world) rename(from, to string) {
	w.t.Helper()
	if err := os.Rename(filepath.Join(w.home, from), filepath.Join(w.home, to)); err != nil {
		w.t.Fatal(err)
	}
}

// Of fifty spawns in a row none loses its prompt.
func TestAgentFiftySpawns(t *testing.T) {
	const spawns, atOnce = 50, 5
	eachAgent(t, func(t *testing.T, w *world, k kind) {
		for first := 0; first < spawns; first += atOnce {
			var targets []string
			for i := range atOnce {
				var started api.StartReply
				w.sessions(&started, 0, "spawn", "--agent", k.id, "--", fmt.Sprintf("prompt number %d.", first+i))
				targets = append(targets, started.Target)
			}
			for i := range atOnce {
				w.asked(fmt.Sprintf("prompt number %d.", first+i))
			}
			if r := w.termio(append([]string{"sessions", "close"}, targets...)...); r.exit != 0 {
				t.Fatal(r)
			}
		}
	})
}

// The host is killed in the middle of a turn. The agent notices nothing, and whoever
// watches is told of the turn's end by the next host.
func TestAgentOutlivesTheHost(t *testing.T) {
	eachAgent(t, func(t *testing.T, w *world, k kind) {
		var started api.StartReply
		w.sessions(&started, 0, "spawn", "--agent", k.id, "--", "[[hold: gate]]")
		w.held("gate")
		watch := w.watch()
		watch.until(started.Target, api.Working)
		before := w.row(started.Target)
		if err := syscall.Kill(w.daemon().HostPID, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		after := w.row(started.Target)
		if after.Status != api.Working || after.PID != before.PID || after.Conversation != before.Conversation {
			t.Errorf("listed as %+v, was %+v", after, before)
		}
		w.model.Release("gate")
		watch.until(started.Target, api.Done)
		if next := w.send(started.Target, "go on"); next.Status != api.Done || w.said(next, k.said) != "You said: go on" {
			t.Errorf("got %+v, %q", next, w.said(next, k.said))
		}
	})
}
