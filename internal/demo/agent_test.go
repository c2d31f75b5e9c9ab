package demo

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	id      = "3f2504e0-4f89-41d3-9a0c-0305e82c3301"
	otherID = "6ba7b810-9dad-41d1-80b4-00c04fd430c8"
)

// story is a transcript in short: the role and text of each line.
func story(lines []line) []string {
	var all []string
	for _, l := range lines {
		switch {
		case l.Message == nil:
			all = append(all, l.Type+" "+l.Subtype)
			continue
		case l.Message.StopReason == "end_turn":
			l.Type += "*"
		}
		if s, ok := l.Message.Content.(string); ok {
			all = append(all, l.Type+": "+s)
			continue
		}
		for _, b := range l.Message.Content.([]any) {
			m := b.(map[string]any)
			switch m["type"] {
			case "text":
				all = append(all, l.Type+": "+m["text"].(string))
			case "tool_use":
				all = append(all, l.Type+" uses "+m["name"].(string))
			case "tool_result":
				all = append(all, l.Type+" gets "+m["content"].(string))
			}
		}
	}
	return all
}

func (b *bench) wantStory(want ...string) {
	b.t.Helper()
	if diff := cmp.Diff(want, story(b.transcript())); diff != "" {
		b.t.Errorf("transcript (-want +got):\n%s", diff)
	}
}

func TestReply(t *testing.T) {
	b := start(t, "--session-id", id)
	b.event("ready")
	b.prompt("add two numbers")
	b.event("status", "status", "done")
	calls := b.wantHooks("SessionStart UserPromptSubmit Stop")
	for i, state := range []string{"idle", "working", "done"} {
		want := []string{"agent", "report", state, "--event", flagOf(calls[i].Args, "--event"), "--conversation-from", "session_id", "--transcript"}
		if diff := cmp.Diff(want, calls[i].Args); diff != "" {
			t.Errorf("report (-want +got):\n%s", diff)
		}
		if got := calls[i].Payload["session_id"]; got != id {
			t.Errorf("session_id %v", got)
		}
		if got, want := calls[i].Payload["transcript_path"], filepath.Join(b.home, "demo", id+".jsonl"); got != want {
			t.Errorf("transcript_path %v, want %s", got, want)
		}
	}
	if got := calls[1].Payload["prompt"]; got != "add two numbers" {
		t.Errorf("prompt %q", got)
	}
	reply := "You wrote 15 bytes, 3 words: “add two numbers”\n\nI am a demo agent: no model is behind me, so the same words always get this same reply."
	b.wantStory("user: add two numbers", "assistant*: "+reply, "system turn_duration")
	b.wait("\x1b]0;✳ Demo\a")
	b.wait("\x1b]0;◐ add two numbers\a")
	b.wait("“add two numbers”")
	b.wait("\x1b]0;✳ add two numbers\a")
}

func TestPermission(t *testing.T) {
	tests := []struct {
		name, keys string
		denied     bool
		always     bool
	}{
		{"number", "1", false, false},
		{"return takes the first", "\r", false, false},
		{"arrows", "\x1b[B\x1b[A\r", false, false},
		{"always", "2", false, true},
		{"no", "3", true, false},
		{"arrows to no", "\x1b[B\x1b[B\r", true, false},
		{"arrow up goes round", "\x1b[A\r", true, false},
		{"escape", "\x1b", true, false},
		{"ctrl-c", "\x03", true, false},
		{"paste chooses nothing, the return after it does", "\x1b[200~no, do not\x1b[201~\r", false, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := start(t, "--session-id", id, "--deaf=0")
			b.event("ready")
			b.prompt("[[touch made.txt]]")
			b.event("dialog", "kind", "permission", "question", "Do you want to let Write change made.txt?")
			b.wait("\x1b]0;[!] touch: made.txt\a")
			if _, err := os.Stat(b.path("made.txt")); err == nil {
				t.Fatal("the file is there before the answer")
			}
			b.send(tt.keys)
			if tt.denied {
				b.event("status", "status", "idle")
				b.wantHooks("SessionStart UserPromptSubmit PreToolUse PermissionRequest")
				b.wantStory("user: [[touch made.txt]]", "assistant uses Write", "user: [Request interrupted by user for tool use]")
				if _, err := os.Stat(b.path("made.txt")); err == nil {
					t.Error("the file was made")
				}
				return
			}
			b.event("status", "status", "done")
			calls := b.wantHooks("SessionStart UserPromptSubmit PreToolUse PermissionRequest PostToolUse Stop")
			if got := calls[3].Payload["tool_name"]; got != "Write" {
				t.Errorf("tool_name %v", got)
			}
			b.wantStory("user: [[touch made.txt]]", "assistant uses Write", "user gets Created made.txt", "assistant*: Done.", "system turn_duration")
			if _, err := os.Stat(b.path("made.txt")); err != nil {
				t.Error(err)
			}
			b.prompt("[[touch again.txt]]")
			if tt.always {
				b.event("status", "status", "done")
			} else {
				b.event("dialog")
			}
		})
	}
}

func TestQuestion(t *testing.T) {
	tests := []struct{ name, keys, want string }{
		{"number", "2", "Red or 青?"},
		{"arrows", "\x1b[B\r", "Red or 青?"},
		{"typed text", "purple 7\r", "purple 7"},
		{"pasted text", "\x1b[200~a shade\nof green\x1b[201~\r", "a shade of green"},
		{"free option, then text", "3teal\r", "teal"},
		{"free option by arrow, then text with a digit in it", "\x1b[Ax2 of them\r", "x2 of them"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := start(t, "--session-id", id, "--deaf=0")
			b.event("ready")
			b.prompt("[[ask Which colour?|Red|Red or 青?]]")
			b.event("dialog", "kind", "question", "options", "[Red Red or 青? Type something.]")
			b.send(tt.keys)
			b.event("answer", "text", tt.want)
			b.event("status", "status", "done")
			calls := b.wantHooks("SessionStart UserPromptSubmit PreToolUse PermissionRequest PostToolUse Stop")
			q := calls[3].Payload["tool_input"].(map[string]any)["questions"].([]any)[0].(map[string]any)
			if q["question"] != "Which colour?" || len(q["options"].([]any)) != 2 {
				t.Errorf("question %v", q)
			}
			b.wantStory("user: [[ask Which colour?|Red|Red or 青?]]", "assistant*: You answered: "+tt.want, "system turn_duration")
		})
	}
}

func TestInterrupt(t *testing.T) {
	for name, key := range map[string]string{"escape": "\x1b", "escape in the kitty protocol": "\x1b[27u", "ctrl-c": "\x03"} {
		t.Run(name, func(t *testing.T) {
			b := start(t, "--session-id", id)
			b.event("ready")
			b.prompt("[[until gate]]")
			b.event("waiting")
			b.send(key)
			b.event("status", "status", "idle")
			b.wait("Interrupted")
			b.wantHooks("SessionStart UserPromptSubmit") // and nothing more
			b.wantStory("user: [[until gate]]", "user: [Request interrupted by user]")
		})
	}
}

// A turn waits for its gate and goes on when somebody writes into it.
func TestUntil(t *testing.T) {
	b := start(t)
	b.event("ready")
	b.prompt("[[until gate]][[say through]]")
	b.event("waiting")
	gate, err := os.OpenFile(b.path("gate"), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = gate.Close() }()
	if _, err := gate.WriteString("go\n"); err != nil {
		t.Fatal(err)
	}
	b.event("status", "status", "done")
	b.wait("through")
}

func TestConversations(t *testing.T) {
	dir := t.TempDir()
	first := startIn(t, dir, "--session-id", id, "[[say the first]]")
	first.event("status", "status", "done")
	first.send("/exit\r")
	if s := first.exit(); s.ExitStatus() != 0 {
		t.Fatalf("exit %d", s.ExitStatus())
	}
	first.wait("termio demo-agent --resume " + id)
	first.wantHooks("SessionStart UserPromptSubmit Stop SessionEnd")
	first.removePipes()

	again := startIn(t, dir, "--session-id", id)
	if s := again.exit(); s.ExitStatus() != 1 {
		t.Errorf("an id in use: exit %d", s.ExitStatus())
	}
	again.wait("error: conversation " + id + " is already in use")
	again.removePipes()

	unknown := startIn(t, dir, "--resume", otherID)
	if s := unknown.exit(); s.ExitStatus() != 1 {
		t.Errorf("an unknown id: exit %d", s.ExitStatus())
	}
	unknown.wait("error: no conversation found with id " + otherID)
	unknown.removePipes()

	resumed := startIn(t, dir, "--resume", id)
	resumed.wait("the first")
	resumed.event("ready")
	resumed.prompt("[[say the second]]")
	resumed.event("status", "status", "done")
	resumed.wantStory("user: [[say the first]]", "assistant*: the first", "system turn_duration",
		"user: [[say the second]]", "assistant*: the second", "system turn_duration")
	calls := resumed.wantHooks("SessionStart UserPromptSubmit Stop")
	if got := calls[0].Payload["source"]; got != "resume" {
		t.Errorf("source %v", got)
	}
}

func TestBadArguments(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"--session-id", "x"}, `error: "x" is no conversation's id; give a UUID`},
		{[]string{"--session-id", id, "--resume", id}, "give one of them"},
		{[]string{"--paste=maybe"}, "flag --paste: switch paste: give on or off"},
		{[]string{"--nothing=1"}, `no switch "nothing"`},
		{[]string{"--speed=0"}, "give a number from 0.01 to 10000"},
		{[]string{"--mount"}, "flag --mount needs a value"},
	} {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			b := start(t, tt.args...)
			if s := b.exit(); s.ExitStatus() != 1 {
				t.Errorf("exit %d", s.ExitStatus())
			}
			b.wait(tt.want)
		})
	}
}

func TestClear(t *testing.T) {
	b := start(t, "--session-id", id, "hello")
	b.event("status", "status", "done")
	b.send("/clear\r")
	next := b.event("clear")["conversation"]
	b.prompt("and again")
	b.event("status", "status", "done")
	calls := b.wantHooks("SessionStart UserPromptSubmit Stop SessionEnd SessionStart UserPromptSubmit Stop")
	for i, want := range []any{id, id, id, id, next, next, next} {
		if got := calls[i].Payload["session_id"]; got != want {
			t.Errorf("report %d is of %v, want %v", i, got, want)
		}
	}
	if calls[3].Payload["reason"] != "clear" || calls[4].Payload["source"] != "clear" {
		t.Errorf("reports %v, %v", calls[3].Payload, calls[4].Payload)
	}
	if next == id {
		t.Error("the conversation kept its id")
	}
}

func TestEnds(t *testing.T) {
	tests := []struct {
		name   string
		args   []string
		do     func(*bench)
		code   int
		signal syscall.Signal
		hooks  string // after SessionStart
	}{
		{"ctrl-d", nil, func(b *bench) { b.send("\x04") }, 0, 0, "SessionEnd"},
		{"ctrl-c twice", nil, func(b *bench) { b.send("\x03\x03") }, 0, 0, "SessionEnd"},
		{"exit code", []string{"--exit-code=7"}, func(b *bench) { b.send("/quit\r") }, 7, 0, "SessionEnd"},
		{"script", nil, func(b *bench) { b.prompt("[[exit 3]]") }, 3, 0, "UserPromptSubmit SessionEnd"},
		{"SIGHUP", nil, func(b *bench) { b.kill(syscall.SIGHUP) }, 129, 0, "SessionEnd"},
		{"SIGTERM", nil, func(b *bench) { b.kill(syscall.SIGTERM) }, 143, 0, "SessionEnd"},
		{"crash by signal", nil, func(b *bench) { b.prompt("[[crash 137]]") }, -1, syscall.SIGKILL, "UserPromptSubmit"},
		{"crash by code", nil, func(b *bench) { b.prompt("[[crash 9]]") }, 9, 0, "UserPromptSubmit"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := start(t, tt.args...)
			b.event("ready")
			tt.do(b)
			s := b.exit()
			if s.Signaled() != (tt.signal != 0) || s.ExitStatus() != tt.code || tt.signal != 0 && s.Signal() != tt.signal {
				t.Errorf("exit %d, signal %v", s.ExitStatus(), s.Signal())
			}
			b.wantHooks("SessionStart " + tt.hooks)
			restored := strings.Contains(b.all(), "\x1b[?2004l") && strings.Contains(b.all(), "\x1b[?1049l")
			if crashed := strings.HasPrefix(tt.name, "crash"); restored == crashed {
				t.Errorf("the terminal's modes were put back: %v", restored)
			}
		})
	}
}

// kill sends a signal to the agent.
func (b *bench) kill(s syscall.Signal) {
	b.t.Helper()
	if err := syscall.Kill(b.proc.PID, s); err != nil {
		b.t.Fatal(err)
	}
}

// removePipes makes room for the next agent in the same folder.
func (b *bench) removePipes() {
	b.t.Helper()
	for _, name := range []string{"events", "hooks"} {
		if err := os.Remove(b.path(name)); err != nil {
			b.t.Fatal(err)
		}
	}
}
