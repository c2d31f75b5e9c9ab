package demo

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"termio/internal/pty"
)

// String spells a step, for tests.
func (s step) String() string {
	parts := []string{s.verb}
	if s.time > 0 {
		parts = append(parts, s.time.String())
	}
	for _, p := range []string{s.tool, s.text} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	if s.n > 0 {
		parts = append(parts, fmt.Sprint(s.n))
	}
	if s.list != nil {
		parts = append(parts, fmt.Sprint(s.list))
	}
	return strings.Join(parts, " ")
}

// taskCounts are the lengths of background_tasks in the reports of an event.
func taskCounts(calls []hookCall, event string) []int {
	var all []int
	for _, c := range calls {
		if flagOf(c.Args, "--event") == event {
			all = append(all, len(c.Payload["background_tasks"].([]any)))
		}
	}
	return all
}

// A subagent goes on after the turn, is counted in Stop, and its end begins a turn
// that no person asked for.
func TestSubagent(t *testing.T) {
	b := start(t, "--program=on")
	b.event("ready")
	b.prompt("[[subagent 100s look around]]") // long enough to be seen
	b.event("status", "status", "done")
	b.waitScreen("1 in the background")
	b.event("background-end")
	b.event("status", "status", "done")
	calls := b.wantHooks("SessionStart UserPromptSubmit PreToolUse SubagentStart PostToolUse Stop SubagentStop UserPromptSubmit Stop")
	if diff := cmp.Diff([]int{1, 0}, taskCounts(calls, "Stop")); diff != "" {
		t.Errorf("background tasks at Stop (-want +got):\n%s", diff)
	}
	for _, i := range []int{3, 6} {
		if calls[i].Payload["agent_id"] == nil {
			t.Errorf("report %d has no agent_id: %v", i, calls[i].Payload)
		}
	}
	if got := calls[7].Payload["prompt"].(string); !strings.HasPrefix(got, "<task-notification>") {
		t.Errorf("prompt %q", got)
	}
	b.wait(":id=")
	b.wantStory("user: [[subagent 100s look around]]", "assistant*: Done.", "system turn_duration",
		"user: <task-notification>\nlook around has finished\n</task-notification>", "assistant*: Noted: the subagent has finished.", "system turn_duration")
}

// A command in the background is counted as well, and nothing tells of its end.
func TestBackground(t *testing.T) {
	b := start(t)
	b.event("ready")
	b.prompt("[[background 10s npm run dev]]")
	b.event("status", "status", "done")
	b.event("background-end")
	b.prompt("hello")
	b.event("status", "status", "done")
	calls := b.wantHooks("SessionStart UserPromptSubmit Stop UserPromptSubmit Stop")
	if diff := cmp.Diff([]int{1, 0}, taskCounts(calls, "Stop")); diff != "" {
		t.Errorf("background tasks at Stop (-want +got):\n%s", diff)
	}
}

func TestFailures(t *testing.T) {
	for prompt, want := range map[string]string{
		"[[error overloaded]]":    "API Error: overloaded",
		"[[limit resets at 3pm]]": "Usage limit reached: resets at 3pm",
	} {
		t.Run(prompt, func(t *testing.T) {
			b := start(t)
			b.event("ready")
			b.prompt(prompt + "[[say never]]")
			b.event("status", "status", "error")
			b.waitScreen(want)
			calls := b.wantHooks("SessionStart UserPromptSubmit StopFailure")
			if got := calls[2].Payload["last_assistant_message"]; got != want {
				t.Errorf("last_assistant_message %q", got)
			}
			b.wantStory("user: "+prompt+"[[say never]]", "system api_error")
		})
	}
}

func TestCompact(t *testing.T) {
	b := start(t)
	b.event("ready")
	b.send("/compact\r")
	b.event("status", "status", "done")
	b.wantHooks("SessionStart UserPromptSubmit PreCompact SubagentStop Stop")
}

// Silent work moves neither screen nor title.
func TestThink(t *testing.T) {
	b := start(t)
	b.event("ready")
	b.prompt("[[think 10s]][[say at last]]")
	b.event("hook", "hook", "UserPromptSubmit")
	b.waitScreen("❯ [[think 10s]]")
	before := b.all()
	b.event("status", "status", "working") // when the thinking is over
	if during := strings.TrimPrefix(b.all(), before); strings.Contains(during[:min(len(during), 40)], "✳") {
		t.Errorf("it moved: %q", during)
	}
	b.event("status", "status", "done")
	b.wait("at last")
}

func TestSmallDirectives(t *testing.T) {
	b := start(t)
	b.event("ready")
	b.prompt("[[bell]][[notify look here]][[progress 40]][[title mine]][[nonsense]][[hook Stop]][[child Stop]][[lines 3]]")
	b.event("status", "status", "done")
	b.waitScreen("line 3 of 3")
	for _, want := range []string{"\a", "\x1b]9;look here\a", "\x1b]9;4;1;40\a", "\x1b]0;mine\a", `no directive "nonsense"`} {
		b.wait(want)
	}
	calls := b.wantHooks("SessionStart UserPromptSubmit Stop Stop Stop")
	if calls[2].Payload["session_id"] == calls[3].Payload["session_id"] {
		t.Error("the child's report has the agent's own conversation")
	}
}

func TestTouchStaysInTheFolder(t *testing.T) {
	b := start(t, "--allow-all")
	b.event("ready")
	b.prompt("[[touch ../outside.txt]]")
	b.event("status", "status", "done")
	b.waitScreen("the file must lie in this folder")
	if _, err := os.Stat(filepath.Join(b.dir, "..", "outside.txt")); err == nil {
		t.Error("the file was made")
	}
}

// 64 KiB of text in one paste arrive whole: in the composer, the hook, the
// transcript and the log.
func TestLongPrompt(t *testing.T) {
	b := start(t, "--session-id", id, "--log=input")
	b.event("ready")
	text := strings.TrimSpace(strings.Repeat("line with 漢字 and 👩‍👩‍👧\n", 2000))
	b.prompt(text)
	b.submitted(text)
	b.event("status", "status", "done")
	if got := b.transcript()[0].Message.Content; got != text {
		t.Errorf("the transcript has %d bytes, want %d", len(got.(string)), len(text))
	}
	if got := read(t, b.path("input")); got != "\x1b[200~"+text+"\x1b[201~\r" {
		t.Errorf("the log has %d bytes", len(got))
	}
	if got := b.hooks(2)[1].Payload["prompt"]; got != text {
		t.Errorf("the hook has %d bytes", len(fmt.Sprint(got)))
	}
}

// A resize at any moment leaves a whole screen of the new size.
func TestResize(t *testing.T) {
	b := start(t)
	b.event("ready")
	b.prompt("漢字漢字 and a longer sentence that has to be wrapped somewhere")
	b.event("status", "status", "done")
	for _, size := range []pty.Size{{Cols: 40, Rows: 12}, {Cols: 7, Rows: 3}, {Cols: 1, Rows: 1}, {Cols: 200, Rows: 60}, size80} {
		b.mu.Lock()
		b.vt.Resize(int(size.Cols), int(size.Rows))
		b.mu.Unlock()
		if err := pty.SetSize(b.fd, size); err != nil {
			t.Fatal(err)
		}
		b.event("resize", "cols", fmt.Sprint(size.Cols), "rows", fmt.Sprint(size.Rows))
	}
	b.send("still here")
	b.waitScreen("❯ still here")
	want := []string{"❯ 漢字漢字 and a longer", "● You wrote", strings.Repeat("─", 80), "❯ still here", strings.Repeat("─", 80), "  /help for help"}
	rest := b.screen()
	for _, w := range want {
		_, after, ok := strings.Cut(rest, w)
		if !ok {
			t.Fatalf("no %q, in this order, on\n%s", w, b.screen())
		}
		rest = after
	}
}

// The same script makes the same screen, the same reports and the same transcript.
func TestSameAgain(t *testing.T) {
	type outcome struct {
		Screen, Hooks string
		Story         []string
	}
	play := func(dir string) outcome {
		b := startIn(t, dir, "--session-id", id, "--deaf=0")
		b.event("ready")
		b.prompt("first [[tool bash: make]][[lines 4]]")
		b.event("dialog")
		b.send("2")
		b.event("status", "status", "done")
		b.prompt("then")
		b.event("status", "status", "done")
		b.hooks(8)
		b.waitScreen("/help for help") // the last thing to be drawn
		return outcome{strings.ReplaceAll(b.screen(), dir, "DIR"), b.hookNames(), story(b.transcript())}
	}
	root := t.TempDir()
	var outcomes []outcome
	for _, name := range []string{"a", "b"} {
		dir := filepath.Join(root, name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		outcomes = append(outcomes, play(dir))
	}
	if diff := cmp.Diff(outcomes[0], outcomes[1]); diff != "" {
		t.Errorf("(-first +second):\n%s", diff)
	}
}

// The probe shows what a cooked terminal lets through: of a long line the beginning
// only, which is why nothing may be typed into one that it would cut.
func TestProbe(t *testing.T) {
	fd, err := pty.Open(size80)
	if err != nil {
		t.Fatal(err)
	}
	master := os.NewFile(uintptr(fd), "master")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	proc, err := pty.Start(fd, pty.Command{
		Argv: []string{exe, "--probe", "got", "--read-bytes=3000", "--read-every=1ms"}, Env: []string{"DEMO_TEST_ROLE=agent", "HOME=" + dir, "GOCOVERDIR=" + os.TempDir()}, Dir: dir,
	})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	buf := make([]byte, 4096)
	await := func(text string) {
		t.Helper()
		for !strings.Contains(out.String(), text) {
			n, err := master.Read(buf)
			if err != nil {
				t.Fatalf("no %q in %q: %v", text, out.String(), err)
			}
			out.Write(buf[:n])
		}
		out.Reset()
	}
	t.Cleanup(func() {
		_ = syscall.Kill(proc.PID, syscall.SIGKILL)
		_, _ = unix.Wait4(proc.PID, nil, 0, nil)
		_ = master.Close()
	})
	await("probe ready")
	long := strings.Repeat("x", 6000)
	if _, err := master.WriteString(long + "\r\x04"); err != nil {
		t.Fatal(err)
	}
	await("probe got 1096 bytes") // of two reads
	if got, want := read(t, filepath.Join(dir, "got")), long[:4095]+"\n"; got != want {
		t.Errorf("%d bytes came through, want %d", len(got), len(want))
	}
}
