package integrate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"termio/internal/agent"
	"termio/internal/config"
)

// claude is an agent with hooks in the claude dialect, small enough to be read
// in expected files.
func claude() *agent.Manifest {
	return &agent.Manifest{
		ID: "claudeCode", Name: "Claude Code", Command: "claude",
		Config: &agent.ConfigFolder{Dir: "~/.claude", Env: "CLAUDE_CONFIG_DIR"},
		Hooks: &agent.Hooks{
			Type: "json", File: "~/.claude/settings.json", Dialect: "claude", TimeoutSeconds: 5,
			Events: []agent.HookEvent{
				{On: "Stop", State: "done"},
				{On: "Notification", State: "attention", Matcher: "permission_prompt"},
			},
		},
		Skills: &agent.Skills{Dir: "~/.claude/skills"},
	}
}

// person is a home folder with an installer of its own.
type person struct {
	*Installer
	t        *testing.T
	home     string
	settings string
}

func newPerson(t *testing.T, environ ...string) *person {
	t.Helper()
	home := filepath.Join(t.TempDir(), "ada")
	if err := os.MkdirAll(filepath.Join(home, ".claude"), 0o755); err != nil {
		t.Fatal(err)
	}
	env, err := config.FromEnv(append([]string{"HOME=" + home}, environ...))
	if err != nil {
		t.Fatal(err)
	}
	return &person{New(env), t, home, filepath.Join(home, ".claude", "settings.json")}
}

func (p *person) write(content string) {
	p.t.Helper()
	if err := os.WriteFile(p.settings, []byte(content), 0o640); err != nil {
		p.t.Fatal(err)
	}
}

func (p *person) read() string {
	p.t.Helper()
	b, err := os.ReadFile(p.settings)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(b)
}

func (p *person) install() {
	p.t.Helper()
	if _, err := p.InstallHooks(claude()); err != nil {
		p.t.Fatal(err)
	}
}

func (p *person) remove() {
	p.t.Helper()
	if _, err := p.RemoveHooks(claude()); err != nil {
		p.t.Fatal(err)
	}
}

func (p *person) state() State {
	p.t.Helper()
	s, _, err := p.Hooks(claude())
	if err != nil {
		p.t.Fatal(err)
	}
	return s
}

// command is what the installer puts in for an event, as JSON.
func (p *person) command(state, event string) string {
	b, _ := json.Marshal(fmt.Sprintf("[ ! -x '%[1]s' ] || exec '%[1]s' agent report %s --event %s", p.exe, state, event))
	return strings.NewReplacer(`\u003e`, ">", `\u0026`, "&").Replace(string(b))
}

func TestInstallHooks(t *testing.T) {
	tests := []struct {
		name, in, want string
		// rough is set where the bytes come back only with the record.
		rough bool
	}{
		{name: "no file", in: "absent", want: `{
  "hooks": {
    "Stop": [
      {
        "hooks": [
          {
            "type": "command",
            "command": STOP,
            "timeout": 5
          }
        ]
      }
    ],
    "Notification": [
      {
        "matcher": "permission_prompt",
        "hooks": [
          {
            "type": "command",
            "command": NOTE,
            "timeout": 5
          }
        ]
      }
    ]
  }
}
`},
		{
			name: "tabs, no final newline, foreign hooks", in: "{\n\t\"model\": \"x\",\n\t\"hooks\": {\n\t\t\"Stop\": [\n\t\t\t{ \"hooks\": [ { \"type\": \"command\", \"command\": \"theirs\" } ] }\n\t\t],\n\t\t\"Zoo\": 1\n\t},\n\t\"z\": 1.0e5\n}",
			want: "{\n\t\"model\": \"x\",\n\t\"hooks\": {\n\t\t\"Stop\": [\n\t\t\t{ \"hooks\": [ { \"type\": \"command\", \"command\": \"theirs\" } ] },\n\t\t\t{\n\t\t\t\t\"hooks\": [\n\t\t\t\t\t{\n\t\t\t\t\t\t\"type\": \"command\",\n\t\t\t\t\t\t\"command\": STOP,\n\t\t\t\t\t\t\"timeout\": 5\n\t\t\t\t\t}\n\t\t\t\t]\n\t\t\t}\n\t\t],\n\t\t\"Zoo\": 1,\n\t\t\"Notification\": [\n\t\t\t{\n\t\t\t\t\"matcher\": \"permission_prompt\",\n\t\t\t\t\"hooks\": [\n\t\t\t\t\t{\n\t\t\t\t\t\t\"type\": \"command\",\n\t\t\t\t\t\t\"command\": NOTE,\n\t\t\t\t\t\t\"timeout\": 5\n\t\t\t\t\t}\n\t\t\t\t]\n\t\t\t}\n\t\t]\n\t},\n\t\"z\": 1.0e5\n}",
		},
		{
			name: "one line", in: `{"a":1,"hooks":{"Stop":[{"hooks":[]}]}}`,
			want: `{"a":1,"hooks":{"Stop":[{"hooks":[]},{"hooks":[{"type":"command","command":STOP,"timeout":5}]}],"Notification":[{"matcher":"permission_prompt","hooks":[{"type":"command","command":NOTE,"timeout":5}]}]}}`,
		},
		{
			name: "one line with blanks", in: `{ "a": 1 }` + "\n",
			want: `{ "a": 1, "hooks": {"Stop":[{"hooks":[{"type":"command","command":STOP,"timeout":5}]}],"Notification": [{"matcher":"permission_prompt","hooks":[{"type":"command","command":NOTE,"timeout":5}]}]} }` + "\n",
		},
		{
			name: "lists on one line", in: "{\n  \"hooks\": {\"Stop\": [{\"hooks\": []}],\n\"Notification\": [1]}\n}\n",
			want: "{\n  \"hooks\": {\"Stop\": [{\"hooks\": []},\n    {\n      \"hooks\": [\n        {\n          \"type\": \"command\",\n          \"command\": STOP,\n          \"timeout\": 5\n        }\n      ]\n    }],\n\"Notification\": [1,\n  {\n    \"matcher\": \"permission_prompt\",\n    \"hooks\": [\n      {\n        \"type\": \"command\",\n        \"command\": NOTE,\n        \"timeout\": 5\n      }\n    ]\n  }]}\n}\n",
		},
		{
			name: "empty containers", rough: true, in: "{\r\n    \"hooks\": { },\r\n    \"b\": []\r\n}\r\n",
			want: "{\r\n    \"hooks\": {\r\n        \"Stop\": [\r\n            {\r\n                \"hooks\": [\r\n                    {\r\n                        \"type\": \"command\",\r\n                        \"command\": STOP,\r\n                        \"timeout\": 5\r\n                    }\r\n                ]\r\n            }\r\n        ],\r\n        \"Notification\": [\r\n            {\r\n                \"matcher\": \"permission_prompt\",\r\n                \"hooks\": [\r\n                    {\r\n                        \"type\": \"command\",\r\n                        \"command\": NOTE,\r\n                        \"timeout\": 5\r\n                    }\r\n                ]\r\n            }\r\n        ]\r\n    },\r\n    \"b\": []\r\n}\r\n",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := newPerson(t)
			if tt.in != "absent" {
				p.write(tt.in)
			}
			if got := p.state(); got != Off {
				t.Errorf("state %q before", got)
			}
			p.install()
			want := strings.NewReplacer("STOP", p.command("done", "Stop"), "NOTE", p.command("attention", "Notification")).Replace(tt.want)
			if diff := cmp.Diff(want, p.read()); diff != "" {
				t.Error(diff)
			}
			if got := p.state(); got != On {
				t.Errorf("state %q after", got)
			}
			installed := p.read()
			if c, err := p.InstallHooks(claude()); err != nil || c.Changed || p.read() != installed {
				t.Errorf("the second time: %+v, %v", c, err)
			}
			p.remove()
			p.sameAs(tt.in)
			p.remove()
			p.sameAs(tt.in)

			// Without the record the entries go all the same.
			p.install()
			if err := os.RemoveAll(p.backups); err != nil {
				t.Fatal(err)
			}
			p.remove()
			if !tt.rough {
				p.sameAs(tt.in)
			} else if got := p.state(); got != Off || strings.Contains(p.read(), "termio") {
				t.Errorf("state %q, file %q", got, p.read())
			}
		})
	}
}

// sameAs fails unless the settings hold that, or are not there for "absent".
func (p *person) sameAs(content string) {
	p.t.Helper()
	if content == "absent" {
		if _, err := os.Stat(p.settings); !errors.Is(err, os.ErrNotExist) {
			p.t.Errorf("the file is still there (%v): %q", err, p.read())
		}
		return
	}
	if got := p.read(); got != content {
		p.t.Errorf("the file is %q, want %q", got, content)
	}
}

// The agent's reader ignores such files whole, so an edit could only do harm.
func TestRefusedFiles(t *testing.T) {
	tests := []struct {
		name, in     string
		line, column int
		want         string
	}{
		{"trailing comma", "{\n  \"a\": 1,\n}", 2, 9, "a comma behind the last element"},
		{"trailing comma inside", "{\"a\": [1,\n2 , ]}", 2, 3, "a comma behind the last element"},
		{"comment", "{\n  \"a\": 1 // mine\n}", 2, 10, "a comment"},
		{"comment before all", "/* x */ {}", 1, 1, "a comment"},
		{"comment behind all", "{}\n// end\n", 2, 1, "a comment"},
		{"truncated", "{\n  \"a\": [1, 2", 2, 13, "unexpected EOF"},
		{"two objects", "{} {}", 1, 4, "after top-level value"},
		{"no object", "[1]", 1, 1, "not an object"},
		{"text", "hello", 1, 1, ""},
		{"UTF-16", "\xff\xfe{\x00}\x00", 1, 1, ""},
		{"hooks are a list", "{\n \"hooks\": []\n}", 2, 11, `"hooks" is not an object`},
		{"hooks are null", `{"hooks": null}`, 1, 11, `"hooks" is not an object`},
		{"an event is no list", `{"hooks": {"Stop": {}}}`, 1, 20, `"Stop" in "hooks" is not a list`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := newPerson(t)
			p.write(tt.in)
			_, err := p.InstallHooks(claude())
			e, ok := errors.AsType[*FileError](err)
			if !ok {
				t.Fatalf("error %v", err)
			}
			if e.File != p.settings || e.Line != tt.line || e.Column != tt.column || !strings.Contains(e.Reason, tt.want) {
				t.Errorf("%s:%d:%d %q, want %d:%d %q", e.File, e.Line, e.Column, e.Reason, tt.line, tt.column, tt.want)
			}
			if msg := err.Error(); !strings.Contains(msg, "left as it is") && !strings.Contains(msg, "left as it was") || strings.Contains(msg, "hujson") {
				t.Errorf("message %q", msg)
			}
			p.sameAs(tt.in)
			if strings.HasPrefix(tt.name, "hooks") || strings.HasPrefix(tt.name, "an event") {
				return // nothing of ours to remove is no error
			}
			if _, err := p.RemoveHooks(claude()); err == nil {
				t.Error("removed from it")
			}
			if _, _, err := p.Hooks(claude()); err == nil {
				t.Error("looked into it")
			}
			p.sameAs(tt.in)
		})
	}
}

func TestAcceptedOddFiles(t *testing.T) {
	for name, in := range map[string]string{
		"BOM":             "\xef\xbb\xbf{\n  \"a\": 1\n}\n",
		"empty":           "",
		"blank":           "\n\n",
		"empty object":    "{}",
		"split braces":    "{\n\n}\n",
		"name twice":      `{"hooks":{"Stop":[]},"hooks":{"Stop":[1]}}`,
		"escaped name":    `{"\u0068ooks":{"St\u006fp":[{"hooks":[]}]}}`,
		"odd groups":      `{"hooks":{"Stop":[null,1,{"hooks":7},{"hooks":[null,{"command":3}]}]}}`,
		"big numbers":     `{"n":123456789012345678901234567890,"f":1e400}`,
		"deep":            strings.Repeat(`{"a":[`, 500) + strings.Repeat(`]}`, 500),
		"odd indentation": "{\n      \"a\": {\n \"b\": 1\n            },\n   \"hooks\": {\n\"Stop\": [\n       {\"hooks\": []}]}}",
	} {
		t.Run(name, func(t *testing.T) {
			p := newPerson(t)
			p.write(in)
			p.install()
			if got := p.state(); got != On {
				t.Errorf("state %q", got)
			}
			if strings.HasPrefix(in, "\xef\xbb\xbf") != strings.HasPrefix(p.read(), "\xef\xbb\xbf") {
				t.Error("the BOM came or went")
			}
			if !json.Valid(bytes.TrimPrefix([]byte(p.read()), bom)) {
				t.Errorf("not JSON: %s", p.read())
			}
			p.remove()
			p.sameAs(in)
		})
	}
}

// Another program, or its person, changes the file while our hooks are in it.
func TestRemoveAfterOthersChangedTheFile(t *testing.T) {
	p := newPerson(t)
	p.write("{\n  \"a\": 1\n}\n")
	p.install()
	p.write(strings.Replace(p.read(), `"a": 1`, `"a": 2`, 1))
	p.remove()
	p.sameAs("{\n  \"a\": 2\n}\n")

	// A program that rewrites its file in its own layout.
	p.write(`{"a":1}`)
	p.install()
	var v any
	if err := json.Unmarshal([]byte(p.read()), &v); err != nil {
		t.Fatal(err)
	}
	b, err := json.MarshalIndent(v, "", "    ")
	if err != nil {
		t.Fatal(err)
	}
	p.write(string(b))
	if got := p.state(); got != On {
		t.Errorf("state %q after a rewrite", got)
	}
	p.remove()
	p.sameAs("{\n    \"a\": 1\n}")

	// Their hook moved into our group stays.
	p.write("{}\n")
	p.install()
	theirs := `{"type": "command", "command": "theirs"},`
	p.write(strings.Replace(p.read(), `"hooks": [`, `"hooks": [`+theirs, 1))
	if got := p.state(); got != Stale {
		t.Errorf("state %q with a foreign hook in our group", got)
	}
	p.remove()
	if got := p.read(); !strings.Contains(got, `"theirs"`) || strings.Contains(got, "report") || p.state() != Off {
		t.Errorf("file %q", got)
	}
	// A file that was there before stays, empty or not.
	p.write("{\n}\n")
	p.install()
	p.write(p.read() + "\n")
	p.remove()
	p.sameAs("{}\n")
}

// Older forms of ours are replaced, also those of a program that has moved away.
func TestOlderFormsAreReplaced(t *testing.T) {
	p := newPerson(t)
	alive := filepath.Join(t.TempDir(), "termio")
	if err := os.WriteFile(alive, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	old := []string{
		"termio agent report done",
		"/gone/bin/termio agent report done --event Stop",
		"[ -x '/gone/ä b/termio' ] && '/gone/ä b/termio' agent report done --event Stop || true",
		"[ -x " + quote(p.exe) + " ] && exec " + quote(p.exe) + " agent report done",
	}
	foreign := []string{
		alive + " agent report done", // of another home
		"termio agent report done && say done",
		"termio agent report done; true",
		"echo termio agent report done",
		"nottermio agent report done",
		"termio agent reporter done",
		"termio sessions list",
	}
	var hooks []string
	for _, c := range append(append([]string{}, old...), foreign...) {
		b, _ := json.Marshal(c)
		hooks = append(hooks, fmt.Sprintf(`{"hooks": [{"type": "command", "command": %s}]}`, b))
	}
	p.write(`{"hooks": {"Stop": [` + strings.Join(hooks, ", ") + `]}}`)
	if got := p.state(); got != Stale {
		t.Errorf("state %q", got)
	}
	p.install()
	if got := p.state(); got != On {
		t.Errorf("state %q", got)
	}
	p.remove()
	got := p.read()
	for i, h := range hooks {
		if has := strings.Contains(got, h); has != (i >= len(old)) {
			t.Errorf("after the removal, %v: %s", has, h)
		}
	}
}

func TestLinksModesAndReadOnly(t *testing.T) {
	p := newPerson(t)
	dotfiles := filepath.Join(p.home, "dotfiles")
	if err := os.Mkdir(dotfiles, 0o755); err != nil {
		t.Fatal(err)
	}
	real := filepath.Join(dotfiles, "claude.json")
	if err := os.WriteFile(real, []byte("{}"), 0o604); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(real, 0o604); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../dotfiles/claude.json", p.settings); err != nil {
		t.Fatal(err)
	}
	p.install()
	fi, err := os.Stat(real)
	if err != nil || fi.Mode().Perm() != 0o604 {
		t.Errorf("mode %v, %v", fi.Mode(), err)
	}
	if link, err := os.Lstat(p.settings); err != nil || link.Mode()&os.ModeSymlink == 0 {
		t.Error("the link is gone")
	}
	if err := os.Chmod(real, 0o400); err != nil {
		t.Fatal(err)
	}
	_, err = p.RemoveHooks(claude())
	if !errors.Is(err, config.ErrReadOnly) || !strings.Contains(err.Error(), "claude.json") {
		t.Errorf("error %v", err)
	}
	if got := p.state(); got != On {
		t.Errorf("state %q", got)
	}
	if err := os.Chmod(real, 0o600); err != nil {
		t.Fatal(err)
	}
	p.remove()
	p.sameAs("{}")
	if entries, err := os.ReadDir(dotfiles); err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
}

func TestBackup(t *testing.T) {
	p := newPerson(t)
	p.write(`{"secret": 1}`)
	c, err := p.InstallHooks(claude())
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(c.Backup)
	if err != nil || string(got) != `{"secret": 1}` {
		t.Errorf("backup %q, %v", got, err)
	}
	if fi, err := os.Stat(c.Backup); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", fi.Mode(), err)
	}
	// An update is no first edit.
	m := claude()
	m.Hooks.TimeoutSeconds = 9
	if c, err = p.InstallHooks(m); err != nil || !c.Changed {
		t.Fatalf("%+v, %v", c, err)
	}
	if got, err := os.ReadFile(c.Backup); err != nil || string(got) != `{"secret": 1}` {
		t.Errorf("backup %q, %v", got, err)
	}
	p.remove()
	p.sameAs(`{"secret": 1}`)
}

// An agent that never ran has no folder yet; what we made for it goes again.
func TestFoldersWeMade(t *testing.T) {
	p := newPerson(t, "CLAUDE_CONFIG_DIR=~/.config/claude/x")
	p.settings = filepath.Join(p.home, ".config/claude/x/settings.json")
	p.install()
	p.remove()
	if _, err := os.Stat(filepath.Join(p.home, ".config")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folders are still there: %v", err)
	}
	p.install()
	other := filepath.Join(p.home, ".config/claude/theirs")
	if err := os.WriteFile(other, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p.remove()
	if _, err := os.Stat(other); err != nil {
		t.Errorf("another program's file: %v", err)
	}
}

func TestKeepHooks(t *testing.T) {
	p := newPerson(t)
	p.write("{}")
	p.install()
	for i := range 3 {
		p.write("{}") // another program throws them out
		c, err := p.KeepHooks(claude())
		if i == 0 {
			if err != nil || !c.Changed || p.state() != On {
				t.Errorf("first time: %+v, %v", c, err)
			}
			continue
		}
		if !errors.Is(err, ErrRemovedAgain) || !strings.Contains(err.Error(), p.settings) || p.state() != Off {
			t.Errorf("time %d: %+v, %v", i, c, err)
		}
	}
	if c, err := p.KeepHooks(&agent.Manifest{Name: "x"}); err != nil || c.Changed {
		t.Errorf("an agent without hooks: %+v, %v", c, err)
	}
}

func TestHooksSwitchedOffByTheirReader(t *testing.T) {
	p := newPerson(t)
	p.write(`{"disableAllHooks": true}`)
	p.install()
	s, notes, err := p.Hooks(claude())
	if err != nil || s != On || len(notes) != 1 || !strings.Contains(notes[0], "disableAllHooks") {
		t.Errorf("%q %q %v", s, notes, err)
	}
}

func TestManifestsWithoutKnownHooks(t *testing.T) {
	p := newPerson(t)
	m := claude()
	m.Hooks.Dialect = "martian"
	if _, err := p.InstallHooks(m); err == nil || !strings.Contains(err.Error(), `"martian"`) || !strings.Contains(err.Error(), "claude") {
		t.Errorf("error %v", err)
	}
	m.Hooks.Type = "telepathy"
	if _, err := p.InstallHooks(m); err == nil || !strings.Contains(err.Error(), "telepathy") {
		t.Errorf("error %v", err)
	}
	m.Hooks = nil
	if s, _, err := p.Hooks(m); s != None || err != nil {
		t.Errorf("%q, %v", s, err)
	}
	if err := syscall.Mkfifo(p.settings, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := p.Hooks(claude()); err == nil {
		t.Error("read a fifo")
	}
}

// Sixty foreign hooks and unknown keys: ours come and go, and no other byte moves.
func TestBusyFile(t *testing.T) {
	var b strings.Builder
	b.WriteString("{\n   \"zeta\": {\"a\" : [ 1,2 ,3 ]},\n   \"hooks\": {\n")
	for i := range 60 {
		fmt.Fprintf(&b, "      \"%s\": [ {\"matcher\": \"m%d\", \"hooks\": [\n {\"type\":\"command\",  \"command\": \"run %d\"} ]} ],\n", []string{"Stop", "Notification", "PreToolUse"}[i%3]+strings.Repeat("X", i/3), i, i)
	}
	b.WriteString("      \"Last\": []\n   },\n   \"alpha\": \"\\u00e9é\"\n}\n\n")
	p := newPerson(t)
	p.write(b.String())
	p.install()
	for line := range strings.Lines(b.String()) {
		if !strings.Contains(p.read(), strings.TrimRight(strings.TrimSuffix(line, "\n"), "], ")) {
			t.Errorf("a line is gone: %q", line)
		}
	}
	if err := os.RemoveAll(p.backups); err != nil {
		t.Fatal(err)
	}
	p.remove()
	p.sameAs(b.String())
}
