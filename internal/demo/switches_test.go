package demo

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"termio/internal/pty"
)

// wantOutput checks what the agent has written so far.
func (b *bench) wantOutput(is bool, text string) {
	b.t.Helper()
	if strings.Contains(b.all(), text) != is {
		b.t.Errorf("%q in the output: %v, want %v", text, !is, is)
	}
}

// submitted waits for the next prompt that was submitted.
func (b *bench) submitted(want string) {
	b.t.Helper()
	if got := b.event("submit")["text"]; got != want {
		b.t.Errorf("submitted %q, want %q", got, want)
	}
}

// open opens the gate of an [[until gate]].
func (b *bench) open() {
	b.t.Helper()
	if err := os.WriteFile(b.path("gate"), []byte("go\n"), 0o600); err != nil {
		b.t.Fatal(err)
	}
}

func TestSwitchPaste(t *testing.T) {
	for _, on := range []bool{true, false} {
		t.Run(fmt.Sprint(on), func(t *testing.T) {
			b := start(t, map[bool]string{true: "--paste=on", false: "--paste=off"}[on])
			b.event("ready")
			b.send("plain\r")
			b.submitted("plain")
			b.waitScreen("❯ plain")
			b.wantOutput(on, "\x1b[?2004h")
		})
	}
}

func TestSwitchKitty(t *testing.T) {
	b := startOn(t, t.TempDir(), size80, true, "--kitty=on")
	b.wait("\x1b[>5u")
	b.event("ready")
	b.send("one\x1b[13;2utwo\x1b[97;5u\x1b[108;1u\x1b[13u") // shift-enter, ctrl-a, l, enter
	b.submitted("one\nltwo")
	b.send("/exit\x1b[13u")
	b.exit()
	b.wantOutput(true, "\x1b[<u")
}

func TestSwitchVim(t *testing.T) {
	tests := []struct{ mode, keys, want string }{
		{"insert", "abc\r", "abc"},
		{"insert", "abc\x1b[27u0xi!\r", "!bc"},
		{"normal", "iabc\r", "abc"},
		{"normal", "\x1b[200~0x$ is text\x1b[201~\r", "0x$ is text"}, // a paste is text in every mode
		{"normal", "hello\r", ""},                                    // none of it is text, but o would be a command we have not
		{"off", "0x$\r", "0x$"},
	}
	for _, tt := range tests {
		t.Run(tt.mode+" "+tt.keys, func(t *testing.T) {
			b := start(t, "--vim="+tt.mode)
			b.event("ready")
			if tt.mode != "off" {
				b.waitScreen("-- " + strings.ToUpper(tt.mode) + " --")
			}
			b.send(tt.keys)
			if tt.want == "" {
				b.send("isent\r")
				tt.want = "sent"
			}
			b.submitted(tt.want)
		})
	}
}

// What is typed before the program has set its terminal is cooked: the Return has
// become a new line, and nothing is sent.
func TestSwitchMount(t *testing.T) {
	for _, early := range []string{"keep", "drop"} {
		t.Run(early, func(t *testing.T) {
			b := start(t, "--mount=60s", "--early="+early)
			if m, err := pty.GetModes(b.fd); err != nil || !m.Canonical {
				t.Fatalf("modes %+v, %v: the terminal must be cooked still", m, err)
			}
			b.send("early\r")
			b.event("ready")
			b.send("late")
			b.waitScreen("late")
			want := map[string]string{"keep": "early\nlate", "drop": "late"}[early]
			if got := manifest(t).Composer(b.view()).Draft; got != want {
				t.Errorf("draft %q, want %q", got, want)
			}
		})
	}
}

// What comes after that and before the composer is kept for it.
func TestTypedBeforeTheComposer(t *testing.T) {
	b := start(t, "--query-wait=50s")
	b.event("resize") // the terminal is raw now
	b.send("early\r")
	b.event("ready")
	b.submitted("early")
}

func TestSwitchesThatSwallowReturns(t *testing.T) {
	tests := []struct {
		name, arg, keys string
		dropped         int
		draft           string // what stays in the composer
		then, submitted string
	}{
		{"the first two", "--drop-returns=2", "text\r\r", 2, "text", "\r", "text"},
		{"right after a paste", "--paste-settle=24h", "\x1b[200~text\x1b[201~\r", 1, "text", "", ""},
		{"not after typed text", "--paste-settle=24h", "text\r", 0, "", "", "text"},
		{"a burst of typed text", "--burst=24h", "text\r", 1, "text", "", ""},
		{"but not a paste", "--burst=24h", "\x1b[200~text\x1b[201~\r", 0, "", "", "text"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := start(t, tt.arg)
			b.event("ready")
			b.send(tt.keys)
			for range tt.dropped {
				b.event("return-dropped")
			}
			if tt.draft != "" {
				b.waitScreen("❯ text")
				if got := manifest(t).Composer(b.view()).Draft; got != tt.draft {
					t.Errorf("draft %q, want %q", got, tt.draft)
				}
			}
			b.send(tt.then)
			if tt.submitted != "" {
				b.submitted(tt.submitted)
			}
		})
	}
}

func TestSwitchAttach(t *testing.T) {
	b := start(t, "--attach=20")
	b.event("ready")
	b.send("look: \x1b[200~short\x1b[201~ \x1b[200~one\ntwo\nthree\nfour and more\x1b[201~")
	b.waitScreen("look: short [Pasted text #1 +4 lines]")
	b.send("\r")
	b.submitted("look: short one\ntwo\nthree\nfour and more")
}

func TestSwitchLossy(t *testing.T) {
	b := start(t, "--lossy=on", "--read-bytes=8")
	b.event("ready")
	b.send("\x1b[200~first second\x1b[201~\r") // reads of 8: "…fi", "rst seco", "nd…"
	b.submitted("nd")
}

// A reader that takes a little at a time gets everything all the same.
func TestSwitchSlowReader(t *testing.T) {
	b := start(t, "--read-bytes=512", "--read-every=10ms", "--log=input")
	b.event("ready")
	text := strings.Repeat("0123456789 漢字 ", 3000)
	b.prompt(text)
	b.submitted(text)
	if got := read(t, b.path("input")); got != "\x1b[200~"+text+"\x1b[201~\r" {
		t.Errorf("the log has %d bytes, want %d", len(got), len(text)+13)
	}
}

// What comes while the agent lags is read at once when it gets to it: the Return that
// was pressed in good time is right behind the paste.
func TestSwitchLag(t *testing.T) {
	b := start(t, "--lag=100s", "--paste-settle=50s")
	b.event("ready")
	b.send("\x1b[200~late\x1b[201~")
	b.send("\r")
	b.event("return-dropped", "why", "too soon after a paste")
	b.waitScreen("❯ late")
}

func TestSwitchSuggestion(t *testing.T) {
	b := start(t, "--suggestion=write the tests")
	b.event("ready")
	b.wait("\x1b[2mwrite the tests\x1b[m")
	b.send("\r\t\r") // Return alone sends nothing
	b.submitted("write the tests")
}

func TestSwitchBusy(t *testing.T) {
	tests := []struct {
		mode, hooks string
		prompts     []string // in the transcript
	}{
		{"queue", "SessionStart UserPromptSubmit Stop UserPromptSubmit Stop UserPromptSubmit Stop", []string{"[[until gate]]", "two", "three"}},
		{"merge", "SessionStart UserPromptSubmit UserPromptSubmit UserPromptSubmit Stop Stop", []string{"[[until gate]]", "two", "three"}},
		{"steer", "SessionStart UserPromptSubmit UserPromptSubmit UserPromptSubmit Stop", []string{"[[until gate]]", "two", "three"}},
		{"drop", "SessionStart UserPromptSubmit Stop", []string{"[[until gate]]"}},
	}
	for _, tt := range tests {
		t.Run(tt.mode, func(t *testing.T) {
			b := start(t, "--busy="+tt.mode)
			b.event("ready")
			b.prompt("[[until gate]]")
			b.event("waiting")
			b.prompt("two")
			b.event("submit", "text", "two")
			b.prompt("three")
			b.event("submit", "text", "three")
			b.open()
			b.wantHooks(tt.hooks)
			b.event("status", "status", "done")
			var prompts []string
			for _, l := range b.transcript() {
				if l.Origin != nil {
					prompts = append(prompts, l.Message.Content.(string))
				}
			}
			if diff := cmp.Diff(tt.prompts, prompts); diff != "" {
				t.Errorf("prompts (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSwitchInterrupts(t *testing.T) {
	b := start(t, "--interrupts=2")
	b.event("ready")
	b.prompt("[[until gate]]")
	b.event("waiting")
	b.send("\x1b[27u")
	b.waitScreen("esc again to interrupt")
	b.send("\x1b[27u")
	b.event("interrupt")
	b.event("status", "status", "idle")
}

func TestSwitchRestore(t *testing.T) {
	b := start(t, "--restore=on")
	b.event("ready")
	b.prompt("[[until gate]]")
	b.event("waiting")
	b.send("\x1b[27u")
	b.event("status", "status", "idle")
	b.waitScreen("❯ [[until gate]]")
	b.send(" and more\r")
	b.submitted("[[until gate]] and more")
}

func TestStartDialogs(t *testing.T) {
	t.Run("trust refuses by default, and takes a prompt with it", func(t *testing.T) {
		b := start(t, "--start=trust", "--deaf=0")
		b.event("dialog", "kind", "trust")
		b.prompt("do not lose me")
		if s := b.exit(); s.ExitStatus() != 1 {
			t.Errorf("exit %d", s.ExitStatus())
		}
		b.wantHooks("") // nothing has begun
	})
	t.Run("all of them, then the prompt that was given", func(t *testing.T) {
		b := start(t, "--start=trust,login,hooks", "--deaf=0", "hello")
		b.event("dialog", "kind", "trust")
		b.send("2")
		b.event("dialog", "kind", "login")
		b.send("\r")
		b.event("dialog", "kind", "trust")
		b.send("3")
		b.event("ready")
		b.submitted("hello")
		b.wantHooks("SessionStart UserPromptSubmit Stop")
	})
	t.Run("late, over the composer", func(t *testing.T) {
		b := start(t, "--start=trust", "--start-delay=5s", "--deaf=0")
		b.event("ready")
		b.event("dialog", "kind", "trust")
		b.send("2")
		b.event("ready")
		b.waitScreen("/help for help")
	})
}

func TestSwitchDeaf(t *testing.T) {
	b := start(t, "--deaf=24h")
	b.event("ready")
	b.prompt("[[touch made.txt]]")
	b.event("dialog")
	b.send("1\r")
	b.event("deaf", "input", "1")
	b.event("deaf", "input", "enter")
	if _, err := os.Stat(b.path("made.txt")); err == nil {
		t.Error("a deaf dialog was answered")
	}
}

// A key that comes too early is the composer's, and keeps the dialog deaf.
func TestSwitchDeafKeys(t *testing.T) {
	b := start(t, "--deaf=24h", "--deaf-keys=keep")
	b.event("ready")
	b.prompt("[[touch made.txt]]")
	b.event("dialog")
	b.send("1")
	b.event("deaf", "input", "1")
	b.send("\x1b[200~and more\x1b[201~\r")
	b.submitted("1and more") // queued behind the turn that asks
	if _, err := os.Stat(b.path("made.txt")); err == nil {
		t.Error("a deaf dialog was answered")
	}
}

func TestSwitchTitles(t *testing.T) {
	tests := map[string][]string{
		"on":    {"✳ Demo", "◐ hello", "✳ hello"},
		"plain": {"Demo", "hello"},
		"wrong": {"◐ Demo", "◐ hello"},
		"new":   {"◇ Demo", "⧗ hello", "◇ hello"},
		"off":   nil,
	}
	for mode, want := range tests {
		t.Run(mode, func(t *testing.T) {
			b := start(t, "--titles="+mode)
			b.event("ready")
			b.prompt("hello")
			b.event("status", "status", "done")
			for _, title := range want {
				b.wait("\x1b]0;" + title + "\a")
			}
			var got []string
			for _, part := range strings.Split(b.all(), "\x1b]0;")[1:] {
				title, _, _ := strings.Cut(part, "\a")
				title = strings.NewReplacer("◑", "◐", "⧖", "⧗").Replace(title) // the mark turns
				if len(got) == 0 || got[len(got)-1] != title {
					got = append(got, title)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("titles (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSwitchProgram(t *testing.T) {
	b64 := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	trace := []string{
		"state=idle:app=termio-demo",
		"state=working:app=termio-demo",
		"state=blocked:app=termio-demo:kind=permission:msg=" + b64("approve Bash: make"),
		"state=working:app=termio-demo",
		"state=done:app=termio-demo",
		"state=working:app=termio-demo",
		"state=error:app=termio-demo:msg=" + b64("API Error: overloaded"),
		"state=clear:app=termio-demo",
	}
	tests := []struct {
		mode    string
		answers bool
		want    []string
	}{
		{"on", false, trace},
		{"ask", true, trace},
		{"ask", false, nil},
		{"off", true, nil},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%s, answered %v", tt.mode, tt.answers), func(t *testing.T) {
			b := startOn(t, t.TempDir(), size80, tt.answers, "--program="+tt.mode, "--query-wait=10s", "--deaf=0")
			b.event("ready")
			b.wantOutput(tt.mode == "ask", "\x1b]7501;?\a")
			b.prompt("[[tool bash: make]]")
			b.event("dialog")
			b.send("1")
			b.event("status", "status", "done")
			b.prompt("[[error overloaded]]")
			b.event("status", "status", "error")
			b.send("/exit\r")
			b.exit()
			var got []string
			for _, part := range strings.Split(b.all(), "\x1b]7501;")[1:] {
				if rec, _, _ := strings.Cut(part, "\a"); rec != "?" {
					got = append(got, rec)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("records (-want +got):\n%s", diff)
			}
		})
	}
}

// The query for OSC 7501 goes out before DA1's, whose answer ends the wait for it.
func TestProgramIsAskedBeforeDA1(t *testing.T) {
	b := start(t)
	b.event("ready")
	b.wait("\x1b]7501;?\a")
	b.wait("\x1b[c")
}

func TestSwitchProgress(t *testing.T) {
	b := start(t, "--progress=on")
	b.event("ready")
	b.prompt("hello")
	b.wait("\x1b]9;4;3\a")
	b.wait("\x1b]9;4;0\a")
}

func TestSwitchNotify(t *testing.T) {
	for mode, want := range map[string]string{
		"bell": "\a\x1b", "osc9": "\x1b]9;Demo needs your permission\a", "osc777": "\x1b]777;notify;Demo;Demo needs your permission\a",
	} {
		t.Run(mode, func(t *testing.T) {
			b := start(t, "--notify="+mode, "--program=off", "--titles=off")
			b.event("ready")
			b.prompt("[[ask Well?|Yes]]")
			calls := b.wantHooks("SessionStart UserPromptSubmit PreToolUse PermissionRequest Notification")
			if got := calls[4].Payload["notification_type"]; got != "permission_prompt" {
				t.Errorf("notification_type %v", got)
			}
			b.send("1")
			b.event("status", "status", "done")
			b.wait(want)
		})
	}
}

func TestSwitchHooks(t *testing.T) {
	tests := []struct{ arg, prompt, want string }{
		{"--hooks=on", "[[say a]][[say b]]", "SessionStart UserPromptSubmit Stop"},
		{"--hooks=doubled", "hello", "SessionStart SessionStart UserPromptSubmit UserPromptSubmit Stop Stop"},
		{"--hooks=swapped", "[[tool read: x]]", "UserPromptSubmit SessionStart PostToolUse PreToolUse Stop"},
		{"--hooks=child", "hello", "SessionStart SessionStart UserPromptSubmit UserPromptSubmit Stop Stop"},
		{"--hooks=chatty", "[[say a]][[say b]]", "SessionStart UserPromptSubmit Stop Stop Stop"},
		{"--hook-skip=Stop", "[[say a]]", "SessionStart UserPromptSubmit"},
		{"--hooks=off", "hello", ""},
	}
	for _, tt := range tests {
		t.Run(tt.arg, func(t *testing.T) {
			b := start(t, tt.arg, "--session-id", id)
			b.event("ready")
			b.prompt(tt.prompt)
			b.event("status", "status", "done")
			calls := b.wantHooks(tt.want)
			foreign := 0
			for _, c := range calls {
				if c.Payload["session_id"] != id {
					foreign++
				}
			}
			if want := map[bool]int{true: len(calls) / 2}[tt.arg == "--hooks=child"]; foreign != want {
				t.Errorf("%d reports of another conversation, want %d", foreign, want)
			}
		})
	}
}

// A lazy agent tells of its start with the first prompt only.
func TestSwitchHooksLazy(t *testing.T) {
	b := start(t, "--hooks=lazy")
	b.event("ready")
	b.prompt("hello")
	b.event("hook", "hook", "SessionStart")
	b.wantHooks("SessionStart UserPromptSubmit Stop")
}

// A late report has begun when it was due and says its piece later.
func TestSwitchHooksLate(t *testing.T) {
	b := start(t, "--hooks=late", "--hook-delay=500s") // far longer than the turn, also on a busy machine
	b.event("ready")
	b.prompt("hello")
	b.event("status", "status", "done")
	finished := 0
	if !b.until(func() bool { finished = len(b.calls); return len(b.begun) >= 2 }) || finished > 0 {
		t.Errorf("of the reports before the end of the turn %d had begun, and %d were through", len(b.begun), finished)
	}
	b.hooks(3)
}

func TestNoHooksOutsideASession(t *testing.T) {
	b := start(t, "--hook-exe=/nonexistent/termio")
	b.event("no-reporter")
	b.event("ready")
	b.prompt("hello")
	b.event("status", "status", "done")
	b.wantHooks("")
}

func TestSwitchQueries(t *testing.T) {
	b := startOn(t, t.TempDir(), size80, true, "--queries=da1,cpr,osc11,xtversion", "--query-wait=24h")
	b.event("reply", "query", "da1", "asked", "true")
	b.event("reply", "query", "cpr")
	b.event("ready") // long before the wait is over
	b.prompt("[[query cpr,size]]")
	b.event("status", "status", "done")
	b.waitScreen(`size: "\x1b[8;24;80t"`)
	// An answer to nobody's question is no text.
	b.send("\x1b[?62c\x1b[3;4Rx\r")
	b.event("reply", "query", "da1", "asked", "false")
	b.submitted("x")
}

func TestQueryWaitWithoutAnswers(t *testing.T) {
	b := start(t, "--query-wait=5s")
	b.event("ready")
	b.prompt("[[query da1]]")
	b.event("status", "status", "done")
	b.waitScreen(`da1: ""`)
}

func TestSwitchTranscript(t *testing.T) {
	tests := []struct {
		mode  string
		files map[string]int // lines by file, after two turns
	}{
		{"on", map[string]int{id + ".jsonl": 6}},
		{"off", nil},
		{"frozen", map[string]int{id + ".jsonl": 3}},
		{"rotating", map[string]int{id + ".jsonl": 3, id + ".1.jsonl": 3}},
		{"split", map[string]int{id + ".jsonl": 6}},
		{"late", map[string]int{id + ".jsonl": 6}},
	}
	for _, tt := range tests {
		t.Run(tt.mode, func(t *testing.T) {
			b := start(t, "--session-id", id, "--transcript="+tt.mode)
			b.event("ready")
			for range 2 {
				b.prompt("hello")
				b.event("status", "status", "done")
			}
			files, err := filepath.Glob(filepath.Join(b.home, "demo", "*"))
			if err != nil {
				t.Fatal(err)
			}
			var got map[string]int
			for _, f := range files {
				if got == nil {
					got = map[string]int{}
				}
				got[filepath.Base(f)] = len(lines[line](t, f))
			}
			if diff := cmp.Diff(tt.files, got); diff != "" {
				t.Errorf("lines by file (-want +got):\n%s", diff)
			}
		})
	}
}

// A late transcript is not there yet when Stop is reported.
func TestTranscriptComesLate(t *testing.T) {
	b := start(t, "--session-id", id, "--transcript=late", "--speed=1")
	b.event("ready")
	b.prompt("[[say now]]")
	b.wantHooks("SessionStart UserPromptSubmit Stop")
	if got := read(t, filepath.Join(b.home, "demo", id+".jsonl")); got != "" {
		t.Errorf("transcript %q", got)
	}
	b.event("status", "status", "done")
	b.wantStory("user: [[say now]]", "assistant*: now", "system turn_duration")
}

func TestSwitchScreenInline(t *testing.T) {
	b := start(t, "--screen=inline")
	b.event("ready")
	b.prompt("[[lines 100]]")
	b.event("status", "status", "done")
	b.waitScreen("Done in")
	b.wantOutput(false, "\x1b[?1049h")
	b.mu.Lock()
	history := b.vt.HistoryText(0, 1000)
	b.mu.Unlock()
	seen := 0
	for _, l := range slices.Concat(history, strings.Split(b.screen(), "\n")) {
		if want := fmt.Sprintf("line %d of 100", seen+1); strings.Contains(l, want) {
			seen++
		}
	}
	if seen != 100 {
		t.Errorf("%d of the 100 lines stand in history and screen, in order", seen)
	}
	if c := manifest(t).Composer(b.view()); !c.Empty {
		t.Errorf("composer %+v", c)
	}
}

func TestSwitchStubborn(t *testing.T) {
	b := start(t, "--stubborn=on")
	b.event("ready")
	b.kill(syscall.SIGHUP)
	b.kill(syscall.SIGTERM)
	b.prompt("still here")
	b.submitted("still here")
	b.event("status", "status", "done")
	b.send("/exit\r")
	if s := b.exit(); s.ExitStatus() != 0 {
		t.Errorf("exit %d", s.ExitStatus())
	}
}

func TestSetChangesASwitch(t *testing.T) {
	b := start(t, "--session-id", id)
	b.event("ready")
	b.prompt("[[set hooks=off]][[set titles=off]][[say quiet]]")
	b.event("status", "status", "done")
	b.prompt("and now")
	b.event("status", "status", "done")
	b.prompt("[[set hooks=on]]")
	b.wantHooks("SessionStart UserPromptSubmit Stop")
}

// Every switch stands in the manual, with what it is good for, and so does every
// word of the script language.
func TestManualIsWhole(t *testing.T) {
	manual := read(t, "../../docs/demo-agent.md")
	for _, s := range switches() {
		if !strings.Contains(manual, "`"+s.name+"`") {
			t.Errorf("docs/demo-agent.md does not tell of the switch %s", s.name)
		}
	}
	for _, v := range verbs {
		if !strings.Contains(manual, "[["+v.name) {
			t.Errorf("docs/demo-agent.md does not tell of [[%s]]", v.name)
		}
	}
}
