package integrate

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"termio/internal/agent"
)

// ownAgents are agents whose hooks are files of ours, by dialect.
func ownAgents() map[string]*agent.Manifest {
	events := []agent.HookEvent{{On: "Start", State: "working"}, {On: "End", State: "done", Field: "status.type", Matcher: "ok|fine"}}
	all := map[string]*agent.Manifest{}
	for dialect, typ := range map[string]string{"opencode": "plugin", "pi": "plugin", "amp": "plugin", "cline": "scripts"} {
		all[dialect] = &agent.Manifest{
			ID: "mine", Name: "Mine", Command: "mine",
			Hooks: &agent.Hooks{Type: typ, Dialect: dialect, Dir: "~/.agent/own", Conversation: "session.id", Events: events},
		}
	}
	return all
}

// files are all files below a folder, with their content.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		all[name] = string(data)
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return all
}

func TestOwnFiles(t *testing.T) {
	for dialect, m := range ownAgents() {
		t.Run(dialect, func(t *testing.T) {
			p := newPerson(t)
			dir := p.path(m, "~/.agent")
			wantState(t, p, m, Off)
			installedFiles := func() map[string]string {
				if _, err := p.InstallHooks(m); err != nil {
					t.Fatal(err)
				}
				return files(t, dir)
			}
			first := installedFiles()
			wantState(t, p, m, On)
			want := 1
			if m.Hooks.Type == "scripts" {
				want = len(m.Hooks.Events)
			}
			if len(first) != want {
				t.Errorf("%d files, want %d", len(first), want)
			}
			if diff := cmp.Diff(first, installedFiles()); diff != "" {
				t.Errorf("the second time: %s", diff)
			}

			// An older form, or an edit by hand, is replaced.
			for name, content := range first {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(content+"\n// old\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			wantState(t, p, m, Stale)
			if diff := cmp.Diff(first, installedFiles()); diff != "" {
				t.Errorf("over an older form: %s", diff)
			}
			if _, err := p.RemoveHooks(m); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the folder is left (%v): %v", err, files(t, dir))
			}
		})
	}
}

// A file of another program, or of another termio that is alive, is not ours to
// replace; where there are several files none is written then.
func TestOwnFilesOfOthers(t *testing.T) {
	other := filepath.Join(t.TempDir(), "termio")
	if err := os.WriteFile(other, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for dialect, m := range ownAgents() {
		for name, content := range map[string]string{
			"another program": "export default 1\n",
			"another termio":  "#!/bin/sh\n# " + ownMark + jsonText(other) + "\n",
		} {
			t.Run(dialect+" "+name, func(t *testing.T) {
				p := newPerson(t)
				dir := p.path(m, "~/.agent")
				if _, err := p.InstallHooks(m); err != nil {
					t.Fatal(err)
				}
				theirs := slices.Sorted(mapKeys(files(t, dir)))[0]
				if _, err := p.RemoveHooks(m); err != nil {
					t.Fatal(err)
				}
				file := filepath.Join(dir, theirs)
				if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(content), 0o644)); err != nil {
					t.Fatal(err)
				}
				_, err := p.InstallHooks(m)
				if err == nil || !strings.Contains(err.Error(), file) || !strings.Contains(err.Error(), "move it away") {
					t.Errorf("error %v", err)
				}
				if diff := cmp.Diff(map[string]string{theirs: content}, files(t, dir)); diff != "" {
					t.Error(diff)
				}
				if _, err := p.RemoveHooks(m); err != nil {
					t.Error(err)
				}
				unchanged(t, file, content)
			})
		}
	}
}

func mapKeys(m map[string]string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func wantState(t *testing.T, p *person, m *agent.Manifest, want State) {
	t.Helper()
	if s, _, err := p.Hooks(m); err != nil || s != want {
		t.Errorf("state %q, %v, want %q", s, err, want)
	}
}

// program stands in for termio: it writes its arguments and its input into a log.
func (p *person) program(log string) {
	p.t.Helper()
	script := "#!/bin/sh\n{ printf '%s ' \"$@\" | sed 's/ --at [0-9]* / /'; cat; echo; } >>'" + log + "'\ncase \"$*\" in *--reply*) echo '{}';; esac\n"
	if err := errors.Join(os.MkdirAll(filepath.Dir(p.exe), 0o755), os.WriteFile(p.exe, []byte(script), 0o755)); err != nil {
		p.t.Fatal(err)
	}
}

// Each script reports its event and answers with an empty object, also when the
// program is gone.
func TestScriptsReport(t *testing.T) {
	p := newPerson(t)
	m := ownAgents()["cline"]
	log := filepath.Join(t.TempDir(), "log")
	p.program(log)
	if _, err := p.InstallHooks(m); err != nil {
		t.Fatal(err)
	}
	run := func() {
		cmd := exec.Command(filepath.Join(p.path(m, m.Hooks.Dir), "Start"))
		cmd.Stdin = strings.NewReader(`{"session":{"id":"c1"}}`)
		if out, err := cmd.CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != "{}" {
			t.Errorf("answer %q, %v", out, err)
		}
	}
	run()
	unchanged(t, log, `agent report working --event Start --conversation-from session.id --reply {"session":{"id":"c1"}}`+"\n")
	if err := os.Remove(p.exe); err != nil {
		t.Fatal(err)
	}
	run()
}

// pluginDriver loads a plugin as its agent does and fires events at it.
const pluginDriver = `
const plugin = await import(process.argv[2])
const events = JSON.parse(process.argv[4])
const drivers = {
  async opencode(events) {
    const hooks = await plugin.Termio({})
    for (const event of events) await hooks.event({ event })
    await hooks["chat.message"]({ sessionID: "c1" }, { parts: [{ type: "text", text: "hello" }, { type: "file" }] })
  },
  async pi(events) {
    const handlers = {}
    plugin.default({ on: (name, h) => { handlers[name] = h } })
    const ctx = { cwd: "/w", sessionManager: { getSessionId: () => "c1", getSessionFile: () => "/s/c1.jsonl" } }
    for (const event of events) await handlers[event.type]?.(event, ctx)
  },
  async amp(events) {
    const handlers = {}
    plugin.default({ on: (name, h) => { handlers[name] = h } })
    for (const event of events) await handlers[event.type]?.(event)
  },
}
await drivers[process.argv[3]](events)
`

// The plugins, run by the real runtime: each event becomes one report, in order, with
// the agent's own data; what does not fit is left out, and a subagent is marked.
func TestPluginsReport(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("NOT TESTED: the plugins need node to run, and there is none on the PATH")
	}
	event := func(on, state string) agent.HookEvent { return agent.HookEvent{On: on, State: state} }
	tests := []struct {
		dialect, conversation string
		events                []agent.HookEvent
		fired, want           string
	}{
		{
			"opencode", "properties.sessionID",
			[]agent.HookEvent{
				{On: "session.status", State: "working", Field: "properties.status.type", Matcher: "busy"},
				event("session.idle", "done"),
				event("chat.message", "working"),
			},
			`[{"type":"session.status","properties":{"sessionID":"c1","status":{"type":"busy"}}},
			  {"type":"session.status","properties":{"sessionID":"c1","status":{"type":"idle"}}},
			  {"type":"session.created","properties":{"info":{"id":"c2","parentID":"c1"}}},
			  {"type":"session.idle","properties":{"sessionID":"c2"}},
			  {"type":"session.idle","properties":{"sessionID":"c1"}}]`,
			`working --event session.status {"type":"session.status","properties":{"sessionID":"c1","status":{"type":"busy"}}}
done --event session.idle {"type":"session.idle","properties":{"sessionID":"c2"},"after":"","subagent":"c2"}
done --event session.idle {"type":"session.idle","properties":{"sessionID":"c1"},"after":""}
working --event chat.message {"type":"chat.message","properties":{"sessionID":"c1"},"prompt":"hello"}
`,
		},
		{
			"pi", "session_id",
			[]agent.HookEvent{event("input", "working"), event("agent_end", "done"), event("session_shutdown", "idle")},
			`[{"type":"input","text":"hi"},{"type":"agent_end","messages":[{"role":"user"},{"stopReason":"error","errorMessage":"no"}]},
			  {"type":"turn_end"},{"type":"session_shutdown","reason":"quit"}]`,
			`working --event input {"type":"input","text":"hi","session_id":"c1","transcript_path":"/s/c1.jsonl","cwd":"/w"}
done --event agent_end {"type":"agent_end","stopReason":"error","errorMessage":"no","session_id":"c1","transcript_path":"/s/c1.jsonl","cwd":"/w"}
idle --event session_shutdown {"type":"session_shutdown","reason":"quit","session_id":"c1","transcript_path":"/s/c1.jsonl","cwd":"/w"}
`,
		},
		{
			"amp", "thread.id",
			[]agent.HookEvent{event("agent.start", "working"), event("agent.end", "done")},
			`[{"type":"agent.start","thread":{"id":"T-1"}},{"type":"tool.call"},{"type":"agent.end","thread":{"id":"T-1"},"status":"done"}]`,
			`working --event agent.start {"type":"agent.start","thread":{"id":"T-1"}}
done --event agent.end {"type":"agent.end","thread":{"id":"T-1"},"status":"done"}
`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.dialect, func(t *testing.T) {
			p := newPerson(t)
			m := &agent.Manifest{ID: "mine", Name: "Mine", Command: "mine", Hooks: &agent.Hooks{
				Type: "plugin", Dialect: tt.dialect, Dir: "~/own", Conversation: tt.conversation, Events: tt.events,
			}}
			log := filepath.Join(p.home, "log")
			p.program(log)
			if _, err := p.InstallHooks(m); err != nil {
				t.Fatal(err)
			}
			// A module by its name, whatever the agent's own loader takes.
			plugin := filepath.Join(p.home, "plugin.mjs")
			driver := filepath.Join(p.home, "driver.mjs")
			content := files(t, p.path(m, "~/own"))[pluginNames[tt.dialect]]
			if err := errors.Join(os.WriteFile(plugin, []byte(content), 0o600), os.WriteFile(driver, []byte(pluginDriver), 0o600)); err != nil {
				t.Fatal(err)
			}
			var fired json.RawMessage = []byte(tt.fired)
			fire := func(environ ...string) {
				cmd := exec.Command(node, driver, plugin, tt.dialect, string(fired))
				cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.home}, environ...)
				if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
					t.Fatalf("%v: %s", err, out)
				}
			}
			fire("TERMIO_SESSION=s1")
			want := strings.ReplaceAll(tt.want, " {", " --conversation-from "+tt.conversation+" {")
			want = "agent report " + strings.ReplaceAll(strings.TrimSuffix(want, "\n"), "\n", "\nagent report ") + "\n"
			got, err := os.ReadFile(log)
			if diff := cmp.Diff(want, string(got)); err != nil || diff != "" {
				t.Errorf("%v %s", err, diff)
			}

			// Outside of a session, and with the program gone, it is silent.
			fire()
			unchanged(t, log, string(got))
			if err := os.Remove(p.exe); err != nil {
				t.Fatal(err)
			}
			fire("TERMIO_SESSION=s1")
		})
	}
}
