package tui

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"termio/internal/api"
)

// theAgents are what a machine has, and what it has not.
func theAgents() []api.AgentInfo {
	return []api.AgentInfo{
		{ID: "terminal", Name: "Terminal", Installed: true},
		{ID: "claudeCode", Name: "Claude Code", Command: "claude", Installed: true, Path: "/usr/local/bin/claude"},
		{ID: "codex", Name: "Codex", Command: "codex", Install: "https://developers.openai.com/codex/cli"},
		{ID: "gemini", Name: "Gemini", Command: "gemini", Installed: true, Path: "/home/ada/.local/bin/gemini"},
		{ID: "amp", Name: "Amp", Command: "amp", Install: "https://ampcode.com/manual"},
		{ID: "demo", Name: "Demo", Command: "termio demo-agent", Installed: true, Path: "/home/ada/.termio/bin/termio"},
	}
}

func on(yes bool) *bool { return &yes }

func startStories() []story {
	found := func(m *model) {
		m.update(m.now, agentsMsg{agents: theAgents(), settings: api.Settings{DefaultAgent: "gemini"}})
	}
	const zh = "zh_CN.UTF-8"
	prompt := []string{"f", "i", "x", "space", "修", "复", "登", "录"}
	dialog := func(then ...func(m *model)) func(m *model) {
		return withFleet(2, append([]func(m *model){keys("n")}, then...)...)
	}
	prompts := func(n int, then ...func(m *model)) func(m *model) {
		return withFleet(n, append([]func(m *model){keys("s")}, then...)...)
	}
	return []story{
		{name: "new-looking-for-agents", tell: dialog()},
		{name: "new", tell: dialog(found)},
		{name: "new-in-chinese", locale: zh, tell: dialog(found, keys(prompt...))},
		{name: "new-plain", look: Look{Plain: true}, tell: dialog(found, keys("tab"))},
		{name: "new-an-agent-that-is-not-here", tell: dialog(found, keys(prompt...), keys("tab", "down", "down", "enter"))},
		{name: "new-on-a-branch", tell: dialog(found, keys("tab", "tab", "right", "tab", "space", "tab", "f", "i", "x", "/", "1"))},
		{name: "new-without-questions", tell: dialog(found, keys("shift-tab", "space"))},
		{name: "new-a-long-prompt", tell: dialog(found, func(m *model) { m.update(m.now, pasteMsg(longPlan)) })},
		{name: "new-starting", tell: dialog(found, keys("g", "o", "enter"))},
		{name: "new-failed", tell: dialog(found, keys("g", "o", "enter"), func(m *model) {
			n := m.layers[0].layer.(*newSession)
			m.update(m.now, spawnedMsg{from: n, err: api.NewError(api.StartFailed, "git worktree add: branch fix/1 is checked out in /home/ada/shop-1 already; give another name")})
		})},
		{name: "new-nothing-was-opened-yet", tell: func(m *model) {
			m.update(storyTime, fleetMsg{api.FleetLine{Whole: true}})
			press(m, "n")
			found(m)
		}},
		{name: "send", tell: prompts(3, keys(prompt...))},
		{name: "send-in-chinese", locale: zh, tell: prompts(3, keys(prompt...))},
		{name: "send-to-one-that-works", tell: prompts(2)},
		{name: "send-to-one-that-asks", tell: prompts(1, keys("g", "o", "enter"))},
		{name: "send-failed", tell: prompts(3, keys("g", "o", "enter"), func(m *model) {
			m.update(m.now, composedMsg{from: m.layers[0].layer.(*compose), err: api.NewError(api.Busy, "somebody's draft is in its composer; --force sends over it")})
		})},
		{name: "sent", tell: prompts(3, keys("g", "o", "enter"), func(m *model) {
			m.update(m.now, composedMsg{from: m.layers[0].layer.(*compose), delivery: api.Submitted})
		})},
	}
}

// startCalls keeps what is asked for.
type startCalls struct {
	calls
	agents   []api.AgentInfo
	settings api.Settings
	set      []api.SettingsChange
	spawned  []api.SpawnRequest
	sent     []api.SendRequest
	err      error
}

func (c *startCalls) Agents(context.Context) (api.AgentsReply, error) {
	return api.AgentsReply{Agents: c.agents}, nil
}

func (c *startCalls) Settings(context.Context) (api.SettingsReply, error) {
	return api.SettingsReply{Settings: c.settings}, nil
}

func (c *startCalls) Set(_ context.Context, s api.SettingsChange) (api.SettingsReply, error) {
	c.set = append(c.set, s)
	return api.SettingsReply{}, nil
}

func (c *startCalls) Spawn(_ context.Context, r api.SpawnRequest) (api.StartReply, error) {
	c.spawned = append(c.spawned, r)
	return api.StartReply{Target: link(2)}, c.err
}

func (c *startCalls) Send(_ context.Context, _ string, r api.SendRequest) (api.SendReply, error) {
	c.sent = append(c.sent, r)
	return api.SendReply{Delivery: api.Submitted}, c.err
}

func newStartModel() (*model, *startCalls) {
	c := &startCalls{agents: theAgents()}
	m := newModel(Look{}, wordsOf(""), c, &fakeTerminals{})
	m.view.root = "/home/ada/.termio"
	m.update(storyTime, sizeMsg{80, 24})
	m.update(storyTime, fleetMsg{theFleet()})
	m.choose(link(3))
	m.now = storyTime.Add(time.Second)
	return m, c
}

// What is chosen in the dialog is what is asked of the daemon.
func TestNewSession(t *testing.T) {
	tests := []struct {
		name     string
		settings api.Settings
		keys     []string
		want     []api.SpawnRequest
		set      []api.SettingsChange
	}{
		{"a prompt", api.Settings{}, []string{"g", "o", "enter"}, []api.SpawnRequest{{Agent: "claudeCode", Prompt: "go", Cwd: "/home/ada/shop"}}, nil},
		{"none", api.Settings{}, []string{"enter"}, []api.SpawnRequest{{Agent: "claudeCode", NoPrompt: true, Cwd: "/home/ada/shop"}}, nil},
		{"two lines", api.Settings{}, []string{"a", "alt-enter", "b", "enter"}, []api.SpawnRequest{{Agent: "claudeCode", Prompt: "a\nb", Cwd: "/home/ada/shop"}}, nil},
		{"the default agent", api.Settings{DefaultAgent: "demo"}, []string{"x", "enter"}, []api.SpawnRequest{{Agent: "demo", Prompt: "x", Cwd: "/home/ada/shop"}}, nil},
		{"one that has gone", api.Settings{DefaultAgent: "codex"}, []string{"x", "enter"}, []api.SpawnRequest{{Agent: "claudeCode", Prompt: "x", Cwd: "/home/ada/shop"}}, nil},
		{"another agent", api.Settings{}, []string{"x", "tab", "down", "enter"}, []api.SpawnRequest{{Agent: "gemini", Prompt: "x", Cwd: "/home/ada/shop"}}, nil},
		{"one that is not here", api.Settings{}, []string{"x", "tab", "down", "down", "down", "enter"}, nil, nil},
		{"another folder", api.Settings{}, []string{"tab", "tab", "left", "enter"}, []api.SpawnRequest{{Agent: "claudeCode", NoPrompt: true, Cwd: "/home/ada/notes"}}, nil},
		{"a work tree", api.Settings{}, []string{"tab", "tab", "tab", "space", "enter"}, []api.SpawnRequest{{Agent: "claudeCode", NoPrompt: true, Cwd: "/home/ada/shop", Worktree: new(string)}}, nil},
		{"a branch", api.Settings{}, []string{"tab", "tab", "tab", "space", "tab", "b", "enter"}, []api.SpawnRequest{{Agent: "claudeCode", NoPrompt: true, Cwd: "/home/ada/shop", Worktree: ptr("b")}}, nil},
		{"no work tree without git", api.Settings{}, []string{"tab", "tab", "left", "tab", "space", "enter"}, []api.SpawnRequest{{Agent: "claudeCode", NoPrompt: true, Cwd: "/home/ada/notes"}}, []api.SettingsChange{{Settings: api.Settings{BypassPermissions: on(true)}}}},
		{"bypass off", api.Settings{BypassPermissions: on(true)}, []string{"shift-tab", "space", "enter"}, []api.SpawnRequest{{Agent: "claudeCode", NoPrompt: true, Cwd: "/home/ada/shop"}}, []api.SettingsChange{{Settings: api.Settings{BypassPermissions: on(false)}}}},
		{"twice is once", api.Settings{}, []string{"shift-tab", "space", "space", "enter", "enter"}, []api.SpawnRequest{{Agent: "claudeCode", NoPrompt: true, Cwd: "/home/ada/shop"}}, nil},
		{"escape", api.Settings{}, []string{"x", "escape"}, nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, c := newStartModel()
			c.settings = tt.settings
			pressed(t, m, "n")
			pressed(t, m, tt.keys...)
			for i := range c.spawned {
				c.spawned[i].Cols, c.spawned[i].Rows = 0, 0
			}
			if diff := cmp.Diff(tt.want, c.spawned); diff != "" {
				t.Errorf("started (-want +got)\n%s", diff)
			}
			if diff := cmp.Diff(tt.set, c.set); diff != "" {
				t.Errorf("set (-want +got)\n%s", diff)
			}
			if len(tt.want) > 0 && (len(m.layers) > 0 || m.focus != onPane || m.cursor != link(2)) {
				t.Errorf("the session that was started does not have the keys: %d layers, %s", len(m.layers), m.cursor)
			}
		})
	}
}

func ptr(s string) *string { return &s }

// A prompt is there again after its dialog was closed, and after a start or a send that
// failed; it is gone once it has been sent.
func TestDraftsAreKept(t *testing.T) {
	for _, key := range []string{"n", "s"} {
		t.Run(key, func(t *testing.T) {
			m, c := newStartModel()
			seen := func(when string, want bool) {
				t.Helper()
				if got := strings.Contains(frameText(m), "blue"); got != want {
					t.Errorf("%s the text is to be seen: %v, want %v\n%s", when, got, want, frameText(m))
				}
			}
			pressed(t, m, key, "b", "l", "u", "e", "escape")
			pressed(t, m, key)
			seen("opened again", true)
			c.err = errors.New("no such luck")
			pressed(t, m, "enter")
			seen("failed", true)
			if !strings.Contains(frameText(m), "no such luck") {
				t.Errorf("no reason:\n%s", frameText(m))
			}
			c.err = nil
			pressed(t, m, "enter")
			m.setFocus(onList)
			m.choose(link(3))
			pressed(t, m, key)
			seen("after it was sent", false)
		})
	}
}

// A prompt is never an answer, and never for another session than the one named.
func TestComposeAnswersNothing(t *testing.T) {
	m, c := newStartModel()
	pressed(t, m, "s", "g", "o")
	asking := session(3, "Add tests for the cart", "Codex", api.NeedsYou, 0)
	m.update(m.now, fleetMsg{api.FleetLine{Sessions: []api.SessionInfo{asking}}})
	pressed(t, m, "enter")
	if len(c.sent) > 0 {
		t.Errorf("sent %+v", c.sent)
	}
	m.update(m.now, fleetMsg{api.FleetLine{Sessions: []api.SessionInfo{session(3, "Add tests for the cart", "Codex", api.Idle, 0)}}})
	pressed(t, m, "enter", "enter")
	if want := []api.SendRequest{{Text: "go"}}; !slices.EqualFunc(c.sent, want, func(a, b api.SendRequest) bool { return cmp.Equal(a, b) }) {
		t.Errorf("sent %+v", c.sent)
	}
}
