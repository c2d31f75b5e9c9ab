package integrate

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"termio/internal/agent"
)

// trusting is an agent that runs only hooks that its user trusts.
func trusting() *agent.Manifest {
	return &agent.Manifest{
		ID: "trusting", Name: "Trusting", Command: "trusting",
		Config: &agent.ConfigFolder{Dir: "~/.claude", Env: "TRUSTING_HOME"},
		Hooks: &agent.Hooks{
			Type: "json", File: "~/.claude/hooks.json", Dialect: "codex", TimeoutSeconds: 5,
			Events: []agent.HookEvent{{On: "PreToolUse", State: "working", Matcher: "Bash"}, {On: "Stop", State: "done"}},
		},
	}
}

// The digests that Codex CLI 0.171.0 made when it was told to trust these hooks.
func TestTrustHash(t *testing.T) {
	for _, tt := range []struct {
		hook trustedHook
		want string
	}{
		{
			trustedHook{Event: "pre_tool_use", Matcher: "Bash", Hooks: []trustedAction{{Command: "/opt/hook PreToolUse", Timeout: 600, Type: "command"}}},
			"sha256:f1d8423593301b4e7c3263c6431cdef0d624dbeb4bc7e29e84f6ccf9486a9e19",
		},
		{
			trustedHook{Event: "stop", Hooks: []trustedAction{{
				Command: `[ ! -x '/home/ådå & <co>/.termio/bin/termio' ] || exec true "x"`, Timeout: 5, Type: "command",
			}}},
			"sha256:4df1290f4a22d2c7c058ec0470b6fb55e8a9711f5cbaef8b2c41ab1be25139c7",
		},
		{
			trustedHook{Event: "session_end", Hooks: []trustedAction{{Command: "/opt/hook SessionEnd", Timeout: 1, Type: "command"}}},
			"sha256:14043a4dac4812e648f2cdde1a77a49a2ab2c9b8945510232c7065484c5fedda",
		},
	} {
		if got := trustHash(tt.hook); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.hook.Event, got, tt.want)
		}
	}
}

// A hook's record is under the place that it has in its file: behind those of others.
func TestTrustRecords(t *testing.T) {
	p := newPerson(t)
	hook := func(command string) string { return fmt.Sprintf(`{"type": "command", "command": %q}`, command) }
	mine := reportCommand(p.exe, trusting().Hooks, trusting().Hooks.Events[1])
	records, err := p.trustRecords("/h.json", fmt.Appendf(nil, `{"hooks": {"Stop": [{"hooks": [%s]}, {"hooks": [%s, %s]}], "SessionEnd": [{"hooks": [%s]}]}}`,
		hook("theirs"), hook("theirs"), hook(mine), hook(mine)))
	if err != nil {
		t.Fatal(err)
	}
	want := []trustRecord{
		{"/h.json:session_end:0:0", trustHash(trustedHook{Event: "session_end", Hooks: []trustedAction{{Command: mine, Timeout: 1, Type: "command"}}})},
		{"/h.json:stop:1:1", trustHash(trustedHook{Event: "stop", Hooks: []trustedAction{{Command: mine, Timeout: 600, Type: "command"}}})},
	}
	if diff := cmp.Diff(want, records, cmp.AllowUnexported(trustRecord{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func (p *person) trustFile() string { return filepath.Join(p.home, ".claude", "config.toml") }

func (p *person) wantTrust(want State) {
	p.t.Helper()
	if s, file, err := p.Trust(trusting()); s != want || err != nil || file != p.trustFile() {
		p.t.Errorf("Trust = %q in %s, %v; want %q", s, file, err, want)
	}
}

func (p *person) readTrust() string {
	p.t.Helper()
	b, err := os.ReadFile(p.trustFile())
	if errors.Is(err, os.ErrNotExist) {
		return "none"
	}
	if err != nil {
		p.t.Fatal(err)
	}
	return string(b)
}

func TestTrustHooks(t *testing.T) {
	p := newPerson(t)
	if _, err := p.InstallHooks(trusting()); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(p.home, ".claude", "hooks.json")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	records, err := p.trustRecords(file, data)
	if err != nil || len(records) != 2 {
		t.Fatalf("%v, %v", records, err)
	}
	tables := func(newline string) string {
		var b strings.Builder
		for _, r := range records {
			fmt.Fprintf(&b, "[hooks.state.\"%s\"]\ntrusted_hash = \"%s\"\n\n", r.key, r.hash)
		}
		return strings.ReplaceAll(strings.TrimSuffix(b.String(), "\n"), "\n", newline)
	}
	first := fmt.Sprintf("[hooks.state.\"%s\"]", records[0].key)
	for _, tt := range []struct{ name, before, want string }{
		{"no file", "none", tables("\n")},
		{"an empty one", "", tables("\n")},
		{"others before", "# mine\nmodel = \"x\"\n\n[projects.\"/p\"]\ntrust_level = \"trusted\"\n", "# mine\nmodel = \"x\"\n\n[projects.\"/p\"]\ntrust_level = \"trusted\"\n\n" + tables("\n")},
		{"no line break at the end", "a = 1 # one", "a = 1 # one\n\n" + strings.TrimSuffix(tables("\n"), "\n")},
		{"other line breaks", "a = 1\r\n", "a = 1\r\n\r\n" + tables("\r\n")},
		{"the agent's own header", "[hooks.state]\n", "[hooks.state]\n\n" + tables("\n")},
		{
			"one that is trusted in an older form", first + " # why\ntrusted_hash = \"sha256:old\" # since\nenabled = true\n\n[z]\n",
			first + " # why\ntrusted_hash = \"" + records[0].hash + "\" # since\nenabled = true\n\n[z]\n\n" + tables("\n")[strings.Index(tables("\n"), "\n\n")+2:],
		},
		{"one without a digest", first + "\nenabled = true\n", first + "\ntrusted_hash = \"" + records[0].hash + "\"\nenabled = true\n\n" + tables("\n")[strings.Index(tables("\n"), "\n\n")+2:]},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := &person{p.Installer, t, p.home, p.settings}
			if tt.before != "none" {
				if err := os.WriteFile(p.trustFile(), []byte(tt.before), 0o640); err != nil {
					t.Fatal(err)
				}
			}
			defer os.Remove(p.trustFile())
			for range 2 { // twice is as once
				if _, err := p.TrustHooks(trusting()); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tt.want, p.readTrust()); diff != "" {
					t.Fatalf("(-want +got):\n%s", diff)
				}
			}
			p.wantTrust(On)
			if _, notes, err := p.Hooks(trusting()); len(notes) > 0 || err != nil {
				t.Errorf("notes %v, %v", notes, err)
			}
			if _, err := p.DistrustHooks(trusting()); err != nil {
				t.Fatal(err)
			}
			if got := p.readTrust(); got != tt.before {
				t.Errorf("after the removal:\n%s\nwas\n%s", got, tt.before)
			}
		})
	}
}

// What the agent has recorded by itself is its own.
func TestTrustOfTheAgentsOwnStays(t *testing.T) {
	p := newPerson(t)
	if _, err := p.InstallHooks(trusting()); err != nil {
		t.Fatal(err)
	}
	p.wantTrust(Off)
	if _, notes, _ := p.Hooks(trusting()); len(notes) != 1 || !strings.Contains(notes[0], "hook-trust") {
		t.Errorf("notes %q", notes)
	}
	if _, err := p.TrustHooks(trusting()); err != nil {
		t.Fatal(err)
	}
	recorded := p.readTrust()
	if _, err := p.DistrustHooks(trusting()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p.trustFile(), []byte(recorded), 0o600); err != nil { // as the agent does it
		t.Fatal(err)
	}
	if _, err := p.DistrustHooks(trusting()); err != nil {
		t.Fatal(err)
	}
	if got := p.readTrust(); got != recorded {
		t.Errorf("became\n%s", got)
	}
}

// Where a record can't be added the file is left as it is.
func TestTrustRefused(t *testing.T) {
	for _, text := range []string{
		"hooks = { state = {} }\n",
		"[hooks]\nstate = {}\n",
		"hooks = 1\n",
		"a = \n",
	} {
		p := newPerson(t)
		if _, err := p.InstallHooks(trusting()); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p.trustFile(), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := p.TrustHooks(trusting()); err == nil || !strings.Contains(err.Error(), "config.toml") {
			t.Errorf("%q: %v", text, err)
		}
		if got := p.readTrust(); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// A variable that moves the agent's folder has it known by its real name.
func TestTrustNameFollowsTheVariable(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	real, link := filepath.Join(dir, "real"), filepath.Join(dir, "link")
	if err := os.Mkdir(real, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	p := newPerson(t, "TRUSTING_HOME="+link)
	if _, err := p.InstallHooks(trusting()); err != nil {
		t.Fatal(err)
	}
	if _, err := p.TrustHooks(trusting()); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(real, "config.toml"))
	if want := `[hooks.state."` + real + `/hooks.json:stop:0:0"]`; err != nil || !strings.Contains(string(got), want) {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
}

// Over generated files: twice is as once, all else stays as its reader sees it, and a
// removal gives back the very bytes, by memory or, where others have written since, by
// taking out what is ours.
func TestTrustProperties(t *testing.T) {
	p := newPerson(t)
	if _, err := p.InstallHooks(trusting()); err != nil {
		t.Fatal(err)
	}
	target, _, err := p.trustTarget(trusting())
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	for seed := range uint64(600) {
		before := []byte(newGenerator(seed).toml())
		d, err := parseTOML("x", before)
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, before)
		}
		v, _ := d.values()
		if _, taken := v[hooksMember]; taken {
			continue // another agent's hooks: refused, as other tests show
		}
		tried++
		out, err := target.ed.install("x", before)
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, before)
		}
		if s, _, err := target.ed.state("x", out); s != On || err != nil {
			t.Fatalf("seed %d: %q, %v\n%s", seed, s, err, out)
		}
		if again, err := target.ed.install("x", out); err != nil || !bytes.Equal(again, out) {
			t.Fatalf("seed %d: twice is not as once: %v\n%s", seed, err, again)
		}
		back, err := target.ed.uninstall("x", out)
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, out)
		}
		if !bytes.Equal(back, before) && len(bytes.TrimSpace(before)) > 0 {
			t.Fatalf("seed %d: the removal gives\n%q\nwas\n%q", seed, back, before)
		}
	}
	if tried < 50 {
		t.Errorf("only %d files were tried", tried)
	}
}
