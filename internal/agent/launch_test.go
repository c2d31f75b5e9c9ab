package agent

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"termio/internal/api"
)

// mustParse is a manifest of a test.
func mustParse(t *testing.T, text string) *Manifest {
	t.Helper()
	m, problems, err := Parse([]byte(text), "test.json")
	if err != nil {
		t.Fatalf("%v\n%s", err, problemText(problems))
	}
	return m
}

// builtin is a manifest of the program.
func builtin(t *testing.T, id string) *Manifest {
	t.Helper()
	m, ok := Load(nil, nil).Find(id)
	if !ok {
		t.Fatalf("no built-in agent %q", id)
	}
	return m
}

func TestPlanArgv(t *testing.T) {
	const id = "4f3f9c0e-6f0e-4c39-9a6e-0d5a2c5e7f10"
	fixed := `{"id":"x","name":"X","command":"'my agent' --color=\"a b\"","permissionBypassFlag":"--yes really",
		"prompt":{"arg":"-- {prompt}","maxBytes":20},"resume":{"create":"--session-id {id}","resume":"--resume={id}"}}`
	for _, tt := range []struct {
		name, manifest string
		in             LaunchInput
		want           []string
		typed          bool
	}{
		{name: "shell", want: []string{"/bin/zsh", "-l"}},
		{
			name: "create", manifest: fixed, in: LaunchInput{Conversation: id},
			want: []string{"my agent", "--color=a b", "--session-id", id},
		},
		{
			name: "order", manifest: fixed, in: LaunchInput{Conversation: id, Resume: true, Bypass: true, Prompt: "do it"},
			want: []string{"my agent", "--color=a b", "--yes", "really", "--resume=" + id, "--", "do it"},
		},
		{
			name: "a prompt is one word, whatever is in it", manifest: fixed,
			in:   LaunchInput{Conversation: id, Prompt: "a 'b\" {id}\n$(x) "},
			want: []string{"my agent", "--color=a b", "--session-id", id, "--", "a 'b\" {id}\n$(x) "},
		},
		{
			name: "long prompts are typed", manifest: fixed, in: LaunchInput{Conversation: id, Prompt: strings.Repeat("x", 21)},
			want: []string{"my agent", "--color=a b", "--session-id", id}, typed: true,
		},
		{
			name: "bypass that is there already", manifest: `{"id":"x","name":"X","command":"x --yolo","permissionBypassFlag":"--yolo"}`,
			in: LaunchInput{Bypass: true}, want: []string{"x", "--yolo"},
		},
		{
			name: "no bypass flag", manifest: `{"id":"x","name":"X","command":"x"}`,
			in: LaunchInput{Bypass: true, Prompt: "p"}, want: []string{"x"}, typed: true,
		},
		{
			name: "the agent chooses the id", manifest: `{"id":"x","name":"X","command":"x","resume":{"resume":"resume {id}",
				"discover":{"root":"~/x","format":"jsonl","id":"id","cwd":"cwd"}}}`, want: []string{"x"},
		},
		{
			name: "claude", manifest: "claudeCode", in: LaunchInput{Conversation: id, Prompt: "-x", Bypass: true},
			want: []string{"claude", "--dangerously-skip-permissions", "--session-id", id, "--", "-x"},
		},
		{
			name: "codex", manifest: "codex", in: LaunchInput{Prompt: "-x", Bypass: true},
			want: []string{"codex", "--no-daemon", "--dangerously-bypass-approvals-and-sandbox", "--", "-x"},
		},
		{
			name: "codex, resumed", manifest: "codex", in: LaunchInput{Conversation: id, Resume: true},
			want: []string{"codex", "--no-daemon", "resume", id},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := tt.in
			in.Shell, in.Session = "/bin/zsh", "5b1f7c1e-0000-4000-8000-000000000001"
			switch {
			case strings.HasPrefix(tt.manifest, "{"):
				in.Manifest = mustParse(t, tt.manifest)
			case tt.manifest != "":
				in.Manifest = builtin(t, tt.manifest)
			}
			got, err := Plan(in)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got.Argv); diff != "" {
				t.Errorf("argv (-want +got):\n%s", diff)
			}
			if got.Typed != tt.typed {
				t.Errorf("Typed = %v, want %v", got.Typed, tt.typed)
			}
		})
	}
}

func TestPlanRefusesConversations(t *testing.T) {
	m := mustParse(t, `{"id":"x","name":"X","command":"x","resume":{"create":"-n {id}","resume":"-r {id}"}}`)
	for _, id := range []string{"", "-rf", "../x", "a/b", "a b", "a\x00", strings.Repeat("a", 129)} {
		if _, err := Plan(LaunchInput{Manifest: m, Conversation: id, Resume: true}); !errors.Is(err, ErrConversation) {
			t.Errorf("Plan(%q): %v, want %v", id, err, ErrConversation)
		}
	}
}

func TestSplitWords(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want []string
	}{
		{"", nil},
		{"  a\tb\n c ", []string{"a", "b", "c"}},
		{`a 'b c' "d e" f\ g`, []string{"a", "b c", "d e", "f g"}},
		{`--x='y z'"w"`, []string{"--x=y zw"}},
		{`'' ""`, []string{"", ""}},
		{`'a\b' "a\"b"`, []string{`a\b`, `a"b`}},
		{`$HOME *`, []string{"$HOME", "*"}},
	} {
		got, err := splitWords(tt.in)
		if err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("splitWords(%q) = %q, %v; want %q", tt.in, got, err, tt.want)
		}
	}
	for _, in := range []string{`'a`, `"a`, `a\`} {
		if _, err := splitWords(in); err == nil {
			t.Errorf("splitWords(%q): no error", in)
		}
	}
}

// TestPlanEnvironment starts from the environment of a daemon that was started inside
// an agent, inside tmux, inside an editor's terminal.
func TestPlanEnvironment(t *testing.T) {
	m := mustParse(t, `{"id":"x","name":"X","command":"x","env":{"set":{"X_MODE":"pane"},"remove":["X_OLD*","Y"]}}`)
	base := []string{
		"HOME=/home/u", "PATH=/bin", "SSH_AUTH_SOCK=/s", "TERMIO_HOME=/h", "EMPTY=", "EQ=a=b",
		"TMUX=1", "TMUX_PANE=%1", "STY=2", "VSCODE_PID=3", "ITERM_SESSION_ID=4", "KITTY_WINDOW_ID=5", "WEZTERM_PANE=6",
		"GHOSTTY_BIN_DIR=7", "ALACRITTY_SOCKET=8", "TERM=screen", "TERM_PROGRAM=tmux", "TERM_PROGRAM_VERSION=3", "COLORTERM=24bit",
		"CLAUDECODE=1", "CLAUDE_CODE_CHILD_SESSION=1", "CLAUDE_CODE_SESSION_ID=a", "CLAUDE_CODE_ENTRYPOINT=cli", "CLAUDE_PID=9",
		"CLAUDE_CODE_USE_BEDROCK=1", "CLAUDE_CODE_DISABLE_TERMINAL_TITLE=1", "CODEX_HOME=/c", "CLAUDE_CONFIG_DIR=/cc",
		"TERMIO_SESSION=old", "X_OLD_1=1", "Y=1", "YY=1", "PWD=/elsewhere", "COLUMNS=300", "malformed",
	}
	l, err := Plan(LaunchInput{Manifest: m, Session: "new", BaseEnv: base, Version: "1.2.3", ConfigEnv: map[string]string{"CODEX_HOME": "/then"}})
	if err != nil {
		t.Fatal(err)
	}
	got := slices.DeleteFunc(l.Env, func(kv string) bool { return strings.HasPrefix(kv, "LANG=") })
	want := []string{
		"CLAUDE_CODE_DISABLE_TERMINAL_TITLE=1", "CLAUDE_CODE_USE_BEDROCK=1", "CLAUDE_CONFIG_DIR=/cc", "CODEX_HOME=/then",
		"COLORTERM=truecolor", "EMPTY=", "EQ=a=b", "HOME=/home/u", "PATH=/bin", "SSH_AUTH_SOCK=/s",
		"TERM=xterm-256color", "TERMIO_HOME=/h", "TERMIO_SESSION=new", "TERM_PROGRAM=termio", "TERM_PROGRAM_VERSION=1.2.3",
		"X_MODE=pane", "YY=1",
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
}

func TestLocale(t *testing.T) {
	for _, tt := range []struct {
		name string
		base []string
		keep string // variable that must stay as it is; "" when LANG is set by us
	}{
		{"none", nil, ""},
		{"portable", []string{"LC_ALL=C", "LANG=POSIX"}, ""},
		{"own", []string{"LANG=de_DE.UTF-8"}, "LANG=de_DE.UTF-8"},
		{"another charset is the person's", []string{"LC_ALL=ja_JP.eucJP"}, "LC_ALL=ja_JP.eucJP"},
	} {
		env := Environment(tt.base)
		if tt.keep == "" {
			if !strings.HasSuffix(env["LANG"], "UTF-8") || env["LC_ALL"] != "" {
				t.Errorf("%s: %v", tt.name, env)
			}
			continue
		}
		if name, v, _ := strings.Cut(tt.keep, "="); env[name] != v || len(env) != 1 {
			t.Errorf("%s: %v, want %s alone", tt.name, env, tt.keep)
		}
	}
}

func TestNote(t *testing.T) {
	link := api.SessionID("5b1f7c1e-0000-4000-8000-000000000001").Link()
	got := Note(link, "fix the tests\nnow")
	if !strings.HasSuffix(got, "\n\nfix the tests\nnow") {
		t.Errorf("the prompt does not end the note:\n%s", got)
	}
	if !strings.Contains(got, "termio sessions send "+link+" ") || strings.Count(got, link) != 2 {
		t.Errorf("the note names no way back:\n%s", got)
	}
}

func TestExpand(t *testing.T) {
	m := builtin(t, "claude")
	moved := func(name string) string { return map[string]string{"CLAUDE_CONFIG_DIR": "~/moved"}[name] }
	for _, tt := range []struct {
		path   string
		lookup func(string) string
		want   string
	}{
		{"~/.claude/projects", nil, "/home/u/.claude/projects"},
		{"~/.claude/projects", os.Getenv, "/home/u/.claude/projects"},
		{"~/.claude/projects", moved, "/home/u/moved/projects"},
		{"~/.claude", moved, "/home/u/moved"},
		{"~/.claude.json", moved, "/home/u/.claude.json"},
		{"/etc/x", moved, "/etc/x"},
	} {
		if tt.lookup != nil && os.Getenv("CLAUDE_CONFIG_DIR") != "" {
			t.Setenv("CLAUDE_CONFIG_DIR", "")
		}
		if got := m.Expand(tt.path, "/home/u", tt.lookup); got != tt.want {
			t.Errorf("Expand(%q) = %q, want %q", tt.path, got, tt.want)
		}
	}
}
