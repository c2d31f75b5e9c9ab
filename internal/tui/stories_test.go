package tui

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"termio/internal/api"
	"termio/internal/vt"
)

var update = flag.Bool("update", false, "write the frames that the stories show")

// A story is a state of the interface with a name. Each is drawn at every size, and
// what it looks like stands in testdata/frames.
type story struct {
	name   string
	locale string
	look   Look
	tell   func(m *model)
}

// storyTime is when all stories happen.
var storyTime = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// sizes are those of a telephone over ssh, of every terminal, of a window and of a big one.
var sizes = [][2]int{{40, 20}, {80, 24}, {120, 40}, {200, 60}}

func allStories() []story {
	return slices.Concat(coreStories(), inboxStories(), startStories(), paletteStories())
}

func TestStories(t *testing.T) {
	used := map[string]bool{}
	for _, s := range allStories() {
		t.Run(s.name, func(t *testing.T) {
			var b strings.Builder
			for _, z := range sizes {
				fmt.Fprintf(&b, "== %dx%d\n%s", z[0], z[1], drawn(s, z[0], z[1]))
			}
			file := filepath.Join("testdata", "frames", s.name+".txt")
			used[file] = true
			if *update {
				if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got := b.String(); got != string(want) {
				t.Errorf("the frames are\n%s\nwant\n%s", got, want)
			}
		})
	}
	files, err := filepath.Glob("testdata/frames/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !used[f] {
			t.Errorf("%s: no story shows it", f)
		}
	}
}

// drawn is a story's frame as text: its rows, and where the cursor is.
func drawn(s story, cols, rows int) string {
	m := told(s, cols, rows)
	var c canvas
	m.draw(&c)
	var b strings.Builder
	for y := range rows {
		var line strings.Builder
		for x := range cols {
			line.WriteString(c.at(x, y).Text)
		}
		b.WriteString("|" + strings.TrimRight(line.String(), " ") + "\n")
	}
	if c.cursor.Visible {
		fmt.Fprintf(&b, "cursor %d,%d\n", c.cursor.X, c.cursor.Y)
	}
	return b.String()
}

// told makes the model of a story.
func told(s story, cols, rows int) *model {
	m := newModel(s.look, wordsOf(s.locale), nil, &fakeTerminals{})
	m.view.root = "/home/ada/.termio"
	m.update(storyTime, sizeMsg{cols, rows})
	if s.tell != nil {
		s.tell(m)
	}
	return m
}

// press gives the model keys, by their names.
func press(m *model, names ...string) {
	for _, n := range names {
		k, err := vt.ParseKey(n)
		if err != nil {
			panic(err)
		}
		m.update(m.now, keyMsg(k))
	}
}

// fakeTerminals are terminals without a host: what is typed into them is kept.
type fakeTerminals struct{ open_ []*fakeLive }

func (f *fakeTerminals) open(link string, cols, rows int) live {
	l := &fakeLive{link: link, screen: vt.New(vt.Options{Cols: max(cols, 1), Rows: max(rows, 1), History: 100}), leads: true, cols: cols, rows: rows}
	fmt.Fprint(l.screen, screenOf(link))
	f.open_ = append(f.open_, l)
	return l
}

// screenOf is what a story's session shows.
func screenOf(link string) string {
	switch {
	case strings.HasSuffix(link, "1"):
		return "\x1b[1m❯\x1b[0m make the button red\r\n\r\n\x1b[32m●\x1b[0m Which red shall it be?\r\n\r\n \x1b[7m1. Crimson\x1b[0m\r\n 2. 朱红 (vermilion)\r\n 3. Something else\r\n"
	case strings.HasSuffix(link, "4"):
		return "$ make test\r\nok  \tshop/cart\t0.2s\r\n$ "
	}
	return "\x1b[1m❯\x1b[0m \x1b[2mtry \"fix the flaky test\"\x1b[0m\r\n"
}

type fakeLive struct {
	link       string
	screen     *vt.Screen
	cols, rows int
	leads      bool
	lost       bool
	ended      string
	typed      []byte
	closed     bool
	focused    bool
}

func (l *fakeLive) view(v *vtView) {
	v.copyFrom(l.screen, 1)
	v.leads, v.lost, v.ended = l.leads, l.lost, l.ended
}

func (l *fakeLive) resize(cols, rows int) {
	l.cols, l.rows = cols, rows
	if l.leads && cols > 0 && rows > 0 {
		l.screen.Resize(cols, rows)
	}
}
func (l *fakeLive) key(k vt.Key) bool     { l.typed = l.screen.AppendKey(l.typed, k); return true }
func (l *fakeLive) mouse(m vt.Mouse) bool { l.typed = l.screen.AppendMouse(l.typed, m); return true }

func (l *fakeLive) paste(s string) bool { l.typed = l.screen.AppendPaste(l.typed, s); return true }
func (l *fakeLive) focus(in bool)       { l.focused = in }
func (l *fakeLive) modes() vt.Modes     { return l.screen.Modes() }
func (l *fakeLive) close()              { l.closed = true }

// link is the link of the n-th session of a story.
func link(n int) string {
	return fmt.Sprintf("%s00000000-0000-4000-8000-%012d", api.LinkPrefix, n)
}

// ago is a time before the stories', in unix milliseconds.
func ago(d time.Duration) int64 { return storyTime.Add(-d).UnixMilli() }

// session is a row of a story.
func session(n int, title, agent string, st api.Status, since time.Duration) api.SessionInfo {
	return api.SessionInfo{
		Link: link(n), ID: fmt.Sprintf("%08d", n), Title: title, Agent: agent, Status: st, Description: string(st),
		Project: "shop", ProjectRoot: "/home/ada/shop", Folder: "/home/ada/shop", Since: ago(since), Created: int64(n),
	}
}

// theFleet has a session in every state, two projects, work trees and a chat.
func theFleet() api.FleetLine {
	asks := session(1, "Make the button red", "Claude Code", api.NeedsYou, 4*time.Minute)
	asks.Dialog = &api.Dialog{Kind: api.DialogQuestion, Question: "Which red shall it be?", Options: []api.Option{
		{Number: 1, Label: "Crimson", Selected: true}, {Number: 2, Label: "朱红 (vermilion)"}, {Number: 3, Label: "Something else"},
	}}
	works := session(2, "Fix the flaky login test", "Claude Code", api.Working, 12*time.Minute)
	works.Description = "working 12m: Bash, 1 in the background"
	ready := session(3, "Add tests for the cart", "Codex", api.Done, 90*time.Minute)
	shell := session(4, "make test", "Terminal", api.Idle, 20*time.Second)
	seen := session(5, "Say what this repository is for", "Claude Code", api.Done, 26*time.Hour)
	seen.Seen = true
	tree := session(6, "支付：接入新的结算接口 💳 并补上测试", "Codex", api.Working, 3*time.Minute)
	tree.Worktree, tree.Folder = "/home/ada/.termio/worktrees/shop-6", "/home/ada/.termio/worktrees/shop-6"
	chat := session(7, "What is a monad?", "Claude Code", api.Idle, 50*time.Hour)
	chat.Project, chat.ProjectRoot, chat.Folder = "chats", "/home/ada/.termio/chats", "/home/ada/.termio/chats"
	other := session(8, "Ünïcödé 👩‍👩‍👧‍👦 family and 한글 titles", "Gemini", api.NeedsYou, 40*time.Second)
	other.Project, other.ProjectRoot, other.Folder = "website", "/home/ada/website", "/home/ada/website"
	other.Dialog = &api.Dialog{Kind: api.DialogPermission, Question: "Run this command?", Detail: "rm -rf node_modules && npm install", Options: []api.Option{{Number: 1, Label: "Yes"}, {Number: 2, Label: "No"}}}
	gone := session(9, "Old refactoring", "Claude Code", api.Closed, 3*time.Hour)
	gone.Reason = "its processes were gone when the daemon came back"
	return api.FleetLine{
		Whole: true,
		Projects: []api.ProjectInfo{
			{Root: "/home/ada/shop", Name: "shop", Worktrees: []api.WorktreeInfo{{Path: "/home/ada/shop", Branch: "main"}, {Path: tree.Worktree, Branch: "termio/checkout"}}},
			{Root: "/home/ada/website", Name: "website"},
			{Root: "/home/ada/.termio/chats", Name: "chats"},
			{Root: "/home/ada/notes", Name: "notes"},
		},
		Sessions: []api.SessionInfo{asks, works, ready, shell, seen, tree, chat, other, gone},
	}
}

// withFleet tells the fleet, selects the n-th session and goes on.
func withFleet(n int, then ...func(m *model)) func(m *model) {
	return func(m *model) {
		m.update(storyTime, fleetMsg{theFleet()})
		m.choose(link(n))
		if m.pane != nil {
			m.update(storyTime, paneMsg{m.pane.link})
		}
		m.now = storyTime.Add(time.Second)
		for _, f := range then {
			f(m)
		}
		if m.pane != nil {
			m.update(m.now, paneMsg{m.pane.link})
		}
	}
}

// keys is a step of a story in which keys are pressed.
func keys(names ...string) func(m *model) { return func(m *model) { press(m, names...) } }

func coreStories() []story {
	lives := func(m *model) *fakeLive { return m.pane.live.(*fakeLive) }
	return []story{
		{name: "before-the-daemon-answers"},
		{name: "nothing-yet", tell: func(m *model) {
			m.update(storyTime, fleetMsg{api.FleetLine{Whole: true}})
		}},
		{name: "a-project-without-sessions", tell: func(m *model) {
			m.update(storyTime, fleetMsg{api.FleetLine{Whole: true, Projects: []api.ProjectInfo{{Root: "/home/ada/shop", Name: "shop"}}}})
		}},
		{name: "a-question-in-the-list", tell: withFleet(1)},
		{name: "a-question-in-chinese", locale: "zh_CN.UTF-8", tell: withFleet(1)},
		{name: "a-permission-with-detail", tell: withFleet(8)},
		{name: "a-question-that-has-only-just-come", tell: func(m *model) {
			m.update(storyTime, fleetMsg{theFleet()})
			m.choose(link(1))
			press(m, "2")
		}},
		{name: "in-the-terminal", tell: withFleet(4, keys("enter"))},
		{name: "in-the-terminal-in-chinese", locale: "zh_CN.UTF-8", tell: withFleet(4, keys("enter"))},
		{name: "in-the-terminal-of-one-that-asks", tell: withFleet(1, keys("enter"))},
		{name: "without-the-list", tell: withFleet(4, keys("b"))},
		{name: "folded", tell: withFleet(2, keys("space"))},
		{name: "ended-sessions", tell: withFleet(9)},
		{name: "still-and-plain", look: Look{Still: true, Plain: true}, tell: withFleet(2)},
		{name: "help", tell: withFleet(2, keys("?"))},
		{name: "help-in-chinese", locale: "zh_CN", tell: withFleet(2, keys("?"))},
		{name: "rename", tell: withFleet(6, keys("r", "end", "!"))},
		{name: "close", tell: withFleet(2, keys("x"))},
		{name: "command", tell: withFleet(2, keys(":", "r", "e", "n"))},
		{name: "explain", tell: withFleet(2, func(m *model) {
			m.update(m.now, explainedMsg{api.ExplainReply{Title: "Fix the flaky login test", Status: api.Working, Why: "the hook's word is the newest", Evidence: []api.EvidenceInfo{
				{Channel: "hook", Status: api.Working, Rule: "PreToolUse", Text: "Bash", Won: true}, {Channel: "title", Rule: "✳", Note: "older"},
			}}})
		})},
		{name: "scrolled-back", tell: withFleet(4, keys("enter"), func(m *model) {
			for i := range 90 {
				fmt.Fprintf(lives(m).screen, "line %d\r\n", i)
			}
			m.update(m.now, paneMsg{m.pane.link})
			press(m, "shift-pageup")
		})},
		{name: "the-size-of-another-terminal", tell: withFleet(4, keys("enter"), func(m *model) {
			lives(m).leads = false
			lives(m).screen.Resize(47, 49)
			fmt.Fprint(lives(m).screen, "a session of the size of a telephone that is held upright\r\n$ ")
		})},
		{name: "the-link-is-down", tell: withFleet(4, keys("enter"), func(m *model) { lives(m).lost = true })},
		{name: "the-daemon-is-gone", tell: withFleet(2, func(m *model) { m.update(m.now, daemonMsg{fmt.Errorf("refused")}) })},
		{name: "a-call-that-failed", tell: withFleet(2, func(m *model) {
			m.update(m.now, failedMsg{api.NewError(api.NoAgent, "no agent is installed; termio agents list says where to get one")})
		})},
		{name: "fifty-sessions", tell: func(m *model) {
			l := api.FleetLine{Whole: true, Projects: []api.ProjectInfo{{Root: "/home/ada/shop", Name: "shop"}}}
			for i := range 50 {
				l.Sessions = append(l.Sessions, session(10*i+2, fmt.Sprintf("Task number %d", i), "Codex", []api.Status{api.Idle, api.Working, api.Done}[i%3], time.Duration(i)*time.Minute))
			}
			m.update(storyTime, fleetMsg{l})
			m.choose(link(10*30 + 2))
		}},
	}
}
