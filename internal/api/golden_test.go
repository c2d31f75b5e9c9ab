package api

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// -update rewrites the goldens. A golden that changes is a change of the wire:
// within one schema version a line may be added, never renamed or removed.
var update = flag.Bool("update", false, "rewrite testdata")

const (
	testID   = SessionID("ab12cd34-9f2e-4c31-b8d7-3e5a12c90f44")
	testFile = "/home/ada/.claude/projects/-home-ada-app/7f0c.jsonl"
)

var (
	testLink   = testID.Link()
	testDialog = &Dialog{
		Kind: DialogPermission, Question: "Run this command?", Detail: "rm -r build",
		Options:  []Option{{Number: 1, Key: "1", Label: "Yes", Selected: true}, {Number: 2, Label: "No", Chosen: true}},
		Multiple: true,
	}
	testSettings = Settings{
		LiveStatus: new(true), SessionControl: new(false), HookTrust: new(true), CommandLink: new(true), DefaultAgent: "claudeCode",
		BypassPermissions: new(false), StalledAfterMS: 1_200_000, StalledLines: 5, HistoryLines: 10_000, CloseGraceMS: 2000, DetachKey: "ctrl-q",
	}
)

// goldens holds each type that crosses a process twice: with everything it can
// carry, and with only what is always there.
var goldens = []struct {
	name string
	v    any
}{
	{"error-v1", NewError(NotFound, `no session "x7" here; termio sessions list shows them`)},

	{"error-target-v1", &Error{PromptStalled, "nothing moved within 5 s of Return", testLink}},

	{"list-v1", ListReply{OKHead(), "app", []SessionInfo{{
		Link: testLink, ID: testID.Short(), Title: "Fix the flaky test", Agent: "Claude Code", Status: NeedsYou,
		Description: "waiting for you: Run this command? · 2m", Transcript: testFile, Cwd: "/home/ada/app", Prompt: "Run this command?\n1. Yes\n2. No",
		Background: 1, Reason: "closed", Project: "app", ProjectRoot: "/home/ada/app", AgentID: "claudeCode", Wire: "claude", Conversation: "7f0c", Earlier: []string{"2b91"}, Dialog: testDialog,
		Since: 1_767_225_600_000, Seen: true, PID: 4711, Folder: "/home/ada/app", Worktree: "/home/ada/.termio/worktrees/app/fix",
		ExitCode: new(0), SpawnedBy: testLink, LastActivity: 1_767_225_601_000, Created: 1_767_225_000_000,
	}}}},
	{"list-bare-v1", ListReply{OKHead(), "app", []SessionInfo{{
		Link: testLink, ID: testID.Short(), Title: "zsh", Agent: "Terminal", Status: Idle, Description: "idle · 3s",
	}}}},
	{"list-empty-v1", ListReply{OKHead(), "app", []SessionInfo{}}},

	{"spawn-request-v1", SpawnRequest{
		Agent: "codex", Prompt: "-- summarise", Cwd: "/home/ada/app", Worktree: new("fix"), Resume: "7f0c", Cols: 120, Rows: 40, NoPrompt: true,
		Waiting: Waiting{Wait: true, TimeoutMS: 90_000},
	}},
	{"spawn-request-bare-v1", SpawnRequest{Prompt: "hello"}},
	{"spawn-request-worktree-v1", SpawnRequest{Prompt: "hello", Worktree: new("")}},
	{"run-request-v1", RunRequest{Command: "make test", Cwd: "/home/ada/app", Cols: 120, Rows: 40, Shell: true, Waiting: Waiting{Wait: true, TimeoutMS: 1000}}},
	{"run-request-bare-v1", RunRequest{Command: "make test"}},
	{"send-request-v1", SendRequest{
		Text: "yes", Keys: []string{"down", "ctrl-c"}, NoEnter: true, Answer: true, Force: true, Dialog: testDialog, Waiting: Waiting{Wait: true, TimeoutMS: 1000},
	}},
	{"send-request-bare-v1", SendRequest{Text: "yes"}},
	{"fleet-v1", FleetLine{
		SchemaVersion, true,
		[]ProjectInfo{{"/home/ada/app", "app", []WorktreeInfo{{"/home/ada/app", "main"}}}},
		[]SessionInfo{{Link: testLink, ID: testID.Short(), Title: "zsh", Agent: "Terminal", Status: Idle, Description: "idle · 3s", Project: "app", ProjectRoot: "/home/ada/app"}},
		testLink, "/home/ada/app",
	}},
	{"fleet-bare-v1", FleetLine{SchemaVersion: SchemaVersion}},
	{"rename-request-v1", RenameRequest{"login"}},
	{"rename-v1", RenameReply{OKHead(), testLink, "login"}},
	{"start-v1", StartReply{OKHead(), testLink, "hello", true, true, true, true, "7f0c"}},
	{"start-bare-v1", StartReply{Head: OKHead(), Target: testLink, Title: "hello", Created: true, Queued: true}},
	{"send-v1", SendReply{OKHead(), testLink, "hello", testFile, new(int64(12)), Submitted}},
	{"send-bare-v1", SendReply{Head: OKHead(), Target: testLink, Title: "zsh", Delivery: Typed}},
	{"wait-v1", WaitReply{
		OKHead(), testLink, "hello", NeedsYou, true, true, testFile, new(int64(0)), new(int64(42)), "Run this command?", testDialog, 2, new(1), Queued, true, true, "7f0c",
	}},
	{"wait-bare-v1", WaitReply{Head: OKHead(), Target: testLink, Title: "hello", Status: Done, Cursor: new(int64(0)), CursorEnd: new(int64(0))}},
	{"read-v1", ReadReply{OKHead(), testLink, "zsh", "$ make test\nok"}},
	{"close-v1", CloseReply{OKHead(), testLink, "zsh"}},
	{"focus-v1", FocusReply{OKHead(), testLink}},
	{"explain-v1", ExplainReply{
		OKHead(), testLink, "hello", "Claude Code", Working, 1_767_225_600_000, "a hook said so last",
		[]EvidenceInfo{{"hook", Working, 1_767_225_600_000, "UserPromptSubmit", "hello", true, ""}, {Channel: "title", At: 1_767_225_500_000, Note: "no rule matched"}},
		"7f0c", testFile, testDialog, 1,
	}},

	{"event-v1", Event{
		SchemaVersion, testLink, Done, "hello", "/home/ada/app", true, "Run this command?", testFile, new(int64(42)),
		"working 42m, no repo change, transcript +3 lines", 17, 1_767_225_600_000, "Claude Code", "app", 1, true, testDialog, "closed",
	}},
	{"event-bare-v1", Event{SchemaVersion: SchemaVersion, Link: testLink, Status: Idle, Title: "zsh", Seq: 1, At: 1_767_225_600_000}},
	{"lost-v1", Lost{SchemaVersion, true, 3, 40}},

	{"notify-request-v1", NotifyRequest{"Build", "it is green"}},
	{"notify-v1", NotifyReply{OKHead(), true, "Build"}},
	{"open-request-v1", OpenRequest{"/home/ada/app", testLink}},
	{"open-v1", OpenReply{OKHead(), "app", "/home/ada/app", true, testLink}},
	{"version-v1", VersionReply{OKHead(), "0.1.0", 1}},
	{"daemon-v1", DaemonReply{
		OKHead(), "0.1.0", "/home/ada/.termio", "/home/ada/.termio/run/termio.sock", 100, 101, 2, 1_767_225_600_000, 3, 1, 2, "the keeper is gone",
	}},
	{"stop-v1", StopReply{OKHead(), true, 3}},
	{"agents-v1", AgentsReply{OKHead(), []AgentInfo{{
		"claudeCode", "Claude Code", "claude", "claude", true, "/usr/bin/claude", "https://claude.com/claude-code", "builtin", "on",
		[]string{"unknown key x"},
		"/home/ada/.claude/settings.json", "off", "/home/ada/.claude/skills/termio/SKILL.md",
		"off", "/home/ada/.claude/trusted.toml", "from its manual",
	}}, []AgentProblem{{"/home/ada/.termio/config/agents/x.json", "/hooks/type", "unknown type"}}}},
	{"history-v1", HistoryReply{OKHead(), "shop", []Conversation{{
		"5d1c7a40-0000-4000-8000-000000000001", "Claude Code", "claudeCode", "fix the login", "/home/ada/shop",
		"/home/ada/.claude/projects/-home-ada-shop/5d1c7a40-0000-4000-8000-000000000001.jsonl", 1_767_225_600_000, testLink, true,
	}}, true, []string{"OpenCode: the database is busy"}}},
	{"history-bare-v1", HistoryReply{Head: OKHead(), Project: "shop", Conversations: []Conversation{{
		ID: "ses_1", Agent: "OpenCode", AgentID: "opencode", Folder: "/home/ada/shop", Updated: 1_767_225_600_000,
	}}}},
	{"settings-change-v1", SettingsChange{testSettings, []string{"command_link"}}},
	{"settings-v1", SettingsReply{OKHead(), testSettings, "/home/ada/.termio/config/settings.json", []string{"hooks added to Claude Code"}, []string{"read only"}}},
	{"settings-bare-v1", SettingsReply{Head: OKHead(), File: "/home/ada/.termio/config/settings.json"}},

	{"attach-hello-v1", AttachHello{testLink, "hello", "Claude Code", Working, 120, 40, true, "0.1.0"}},
	{"attach-size-v1", AttachSize{120, 40, 1200, 800, true}},
	{"attach-end-v1", AttachEnd{Reason: "closed"}},
	{"attach-end-exited-v1", AttachEnd{"exited", "the shell exited with status 3"}},
}

func TestGoldenJSON(t *testing.T) {
	used := map[string]bool{}
	for _, g := range goldens {
		t.Run(g.name, func(t *testing.T) {
			file := filepath.Join("testdata", g.name+".json")
			used[file] = true
			got, err := json.MarshalIndent(g.v, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, '\n')
			if *update {
				if err := os.WriteFile(file, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("the wire changed:\n%s\nwant\n%s", got, want)
			}
			decodeGolden(t, g.v, want)
		})
	}
	files, err := filepath.Glob("testdata/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !used[f] {
			t.Errorf("%s: nothing encodes it; what was published stays readable", f)
		}
	}
}

// decodeGolden reads a golden back, with a field that this version does not
// know: a newer peer must not be an error.
func decodeGolden(t *testing.T, want any, data []byte) {
	t.Helper()
	newer := bytes.Replace(data, []byte("{"), []byte(`{"field_of_tomorrow": {"x": [1]},`), 1)
	typ := reflect.TypeOf(want)
	p := reflect.New(typ)
	if typ.Kind() == reflect.Pointer {
		p = reflect.New(typ.Elem())
	}
	if err := json.Unmarshal(newer, p.Interface()); err != nil {
		t.Fatal(err)
	}
	got := p.Interface()
	if typ.Kind() != reflect.Pointer {
		got = p.Elem().Interface()
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("decoded %+v, want %+v", got, want)
	}
}

// What is unknown is left out of a reply, never "" or null; what is always
// there, such as a false timed_out or a cursor of 0, is sent.
func TestGoldenOmitsWhatIsUnknown(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		text := string(data)
		if strings.Contains(f, "spawn-request-worktree") { // there an empty branch is a value: the daemon names it
			text = strings.Replace(text, `"worktree": ""`, "", 1)
		}
		for _, bad := range []string{`: ""`, ": null"} {
			if strings.Contains(text, bad) {
				t.Errorf("%s holds %s", f, bad)
			}
		}
	}
	wait, err := os.ReadFile("testdata/wait-bare-v1.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range []string{`"timed_out": false`, `"cursor": 0`, `"cursor_end": 0`} {
		if !bytes.Contains(wait, []byte(field)) {
			t.Errorf("a wait reply lacks %s", field)
		}
	}
}

// Every struct field of the package stands in a golden: a field that nobody
// looked at could still be renamed by accident.
func TestGoldensFillEveryField(t *testing.T) {
	filled := map[reflect.Type]map[string]bool{}
	for _, g := range goldens {
		fillFields(reflect.ValueOf(g.v), filled)
	}
	for typ, fields := range filled {
		for f := range typ.Fields() {
			if !fields[f.Name] {
				t.Errorf("no golden sets %s.%s", typ.Name(), f.Name)
			}
		}
	}
}

// fillFields notes the fields of structs of this package that v sets.
func fillFields(v reflect.Value, filled map[reflect.Type]map[string]bool) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			fillFields(v.Elem(), filled)
		}
	case reflect.Slice:
		for i := range v.Len() {
			fillFields(v.Index(i), filled)
		}
	case reflect.Struct:
		typ := v.Type()
		if filled[typ] == nil {
			filled[typ] = map[string]bool{}
		}
		for i := range typ.NumField() {
			if !v.Field(i).IsZero() {
				filled[typ][typ.Field(i).Name] = true
				fillFields(v.Field(i), filled)
			}
		}
	}
}
