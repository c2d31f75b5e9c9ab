package tui

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"termio/internal/api"
	"termio/internal/vt"
)

// asks is a session that asks.
func asks(n int, title string, d *api.Dialog) api.SessionInfo {
	s := session(n, title, "Claude Code", api.NeedsYou, time.Duration(60-n)*time.Minute)
	s.Dialog = d
	return s
}

// fleetOf is a fleet of one project.
func fleetOf(sessions ...api.SessionInfo) fleetMsg {
	return fleetMsg{api.FleetLine{Whole: true, Projects: []api.ProjectInfo{{Root: "/home/ada/shop", Name: "shop"}}, Sessions: sessions}}
}

func options(labels ...string) (all []api.Option) {
	for i, l := range labels {
		all = append(all, api.Option{Number: i + 1, Label: l, Selected: i == 0})
	}
	return all
}

const longPlan = "1. Read the tests that fail and find what they have in common.\n2. Give the clock in as a parameter instead of reading it.\n" +
	"3. Replace every sleep by a wait on an event.\n4. Run each test a hundred times.\n5. 把结果写进说明文件，并请人审阅。\n6. Remove what is not needed any more.\n" +
	"7. Say in the notes which of the tests were wrong, which of them were right, and how that was found out.\n8. Done."

// inbox tells a fleet, opens the inbox and lets its question be seen.
func inInbox(sessions ...api.SessionInfo) func(m *model, then ...string) {
	return func(m *model, then ...string) {
		m.update(storyTime, fleetOf(sessions...))
		press(m, "i")
		m.now = storyTime.Add(time.Second)
		press(m, then...)
	}
}

func inboxStories() []story {
	at := func(locale, name string, then []string, sessions ...api.SessionInfo) story {
		return story{name: name, locale: locale, tell: func(m *model) { inInbox(sessions...)(m, then...) }}
	}
	const zh = "zh_CN.UTF-8"
	question := asks(1, "Make the button red", &api.Dialog{Kind: api.DialogQuestion, Question: "Which red shall it be?", Options: options("Crimson", "朱红 (vermilion)", "Something else")})
	run := asks(2, "修复登录测试 🔐 并补上文档", &api.Dialog{
		Kind: api.DialogPermission, Question: "Do you want to proceed?", Detail: "rm -rf node_modules && npm install",
		Options: options("Yes", "Yes, and don't ask again for npm install commands in /home/ada/projects/shop", "No, and tell Claude what to do differently (esc)"),
	})
	plan := asks(3, "Plan the test clean-up", &api.Dialog{Kind: api.DialogPermission, Question: "Would you like to proceed?", Detail: longPlan, Options: options("Yes, and auto-accept edits", "Yes, and manually approve edits", "No, keep planning")})
	ticks := asks(4, "Pick features", &api.Dialog{Kind: api.DialogQuestion, Question: "Which of them first?", Multiple: true, Options: []api.Option{
		{Number: 1, Label: "Search"}, {Number: 2, Label: "导出", Chosen: true}, {Number: 3, Label: "Sync"},
	}})
	open := asks(5, "Name the package", &api.Dialog{Kind: api.DialogQuestion, Question: "What shall the package be called?"})
	login := asks(6, "Start work", &api.Dialog{Kind: api.DialogLogin, Question: "Log in with a browser to go on."})
	mute := asks(7, "An agent of which little is known", nil)
	mute.Prompt = "Overwrite config.toml? (y/N)"
	letters := asks(8, "Merge", &api.Dialog{Kind: api.DialogPermission, Question: "Merge into main?", Options: []api.Option{{Key: "y", Label: "Merge"}, {Key: "n", Label: "Leave it"}}})
	all := []api.SessionInfo{question, run, plan, ticks}
	return []story{
		at("", "inbox-a-question", nil, all...),
		at(zh, "inbox-a-question-in-chinese", nil, all...),
		at("", "inbox-a-permission", []string{"down"}, run),
		at(zh, "inbox-a-permission-in-chinese", []string{"down"}, run),
		at("", "inbox-a-long-plan", []string{"pagedown"}, plan),
		at("", "inbox-several-can-be-ticked", []string{"1", "down"}, ticks),
		at(zh, "inbox-several-can-be-ticked-in-chinese", []string{"1", "down"}, ticks),
		at("", "inbox-a-text-is-asked-for", nil, open),
		at("", "inbox-own-words", []string{"w", "b", "l", "u", "e", "修"}, question, run),
		at("", "inbox-a-login", nil, login),
		at("", "inbox-nothing-says-what-is-asked", nil, mute),
		at("", "inbox-options-with-letters", nil, letters),
		at("", "inbox-an-answer-on-its-way", []string{"1"}, question),
		{name: "inbox-answered-elsewhere-while-typing", tell: func(m *model) {
			inInbox(question, run)(m, "w", "b", "l", "u", "e")
			m.update(m.now, fleetOf(run))
		}},
		{name: "inbox-too-soon", tell: func(m *model) {
			m.update(storyTime, fleetOf(all...))
			press(m, "i", "1")
		}},
		{name: "inbox-plain", look: Look{Plain: true, Still: true}, tell: func(m *model) { inInbox(all...)(m) }},
	}
}

// sentCalls keeps what is sent.
type sentCalls struct {
	calls
	sent []api.SendRequest
	to   []string
	err  error
}

func (c *sentCalls) Send(_ context.Context, target string, r api.SendRequest) (api.SendReply, error) {
	c.sent, c.to = append(c.sent, r), append(c.to, target)
	return api.SendReply{}, c.err
}

// outcome runs commands and gives the model what they come to.
func outcome(m *model, cmds []command) {
	for _, c := range cmds {
		if msg := c(context.Background()); msg != nil {
			outcome(m, m.update(m.now, msg))
		}
	}
}

// pressed gives the model keys and has done what they ask for.
func pressed(t *testing.T, m *model, names ...string) {
	t.Helper()
	for _, n := range names {
		k, err := vt.ParseKey(n)
		if err != nil {
			t.Fatal(err)
		}
		outcome(m, m.update(m.now, keyMsg(k)))
	}
}

func newInboxModel(locale string) (*model, *sentCalls) {
	c := &sentCalls{}
	m := newModel(Look{}, wordsOf(locale), c, &fakeTerminals{})
	m.update(storyTime, sizeMsg{40, 20})
	return m, c
}

// What a key in the inbox sends is the answer to the question that was drawn.
func TestInboxAnswers(t *testing.T) {
	red := &api.Dialog{Kind: api.DialogQuestion, Question: "Which red?", Options: options("Crimson", "朱红")}
	may := &api.Dialog{Kind: api.DialogPermission, Question: "Merge?", Options: []api.Option{{Key: "y", Label: "Merge"}, {Key: "n", Label: "Leave it"}}}
	bare := &api.Dialog{Kind: api.DialogPermission, Question: "Merge?", Options: []api.Option{{Label: "Merge"}, {Label: "Leave it"}}}
	several := &api.Dialog{Kind: api.DialogQuestion, Question: "Which?", Multiple: true, Options: options("A", "B", "C")}
	free := &api.Dialog{Kind: api.DialogQuestion, Question: "Its name?"}
	tests := []struct {
		name   string
		dialog *api.Dialog
		keys   []string
		want   string // "" for nothing
	}{
		{"a digit", red, []string{"2"}, "2"},
		{"the marked option", red, []string{"down", "enter"}, "2"},
		{"a digit that is no option", red, []string{"3"}, ""},
		{"its letter", may, []string{"n"}, "n"},
		{"a number where the agent shows none", bare, []string{"2"}, "Leave it"},
		{"own words", red, []string{"w", "ä", "space", "修", "backspace", "亮", "enter"}, "ä 亮"},
		{"own words on two lines", red, []string{"w", "a", "ctrl-j", "b", "enter"}, "a\nb"},
		{"no own words to a permission", may, []string{"w", "enter"}, "y"},
		{"words that are empty", red, []string{"w", "space", "enter"}, ""},
		{"a text is asked for", free, []string{"q", "1", "enter"}, "q1"},
		{"ticked", several, []string{"3", "1", "2", "2", "enter"}, "1,3"},
		{"nothing ticked", several, []string{"enter"}, ""},
		{"closed", red, []string{"escape", "2"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, c := newInboxModel("")
			m.update(storyTime, fleetOf(asks(2, "Another", nil), asks(1, "One", tt.dialog)))
			m.choose(link(2))
			pressed(t, m, "i")
			m.now = storyTime.Add(time.Second)
			pressed(t, m, tt.keys...)
			var got string
			for _, r := range c.sent {
				got += r.Text
				if diff := cmp.Diff(tt.dialog, r.Dialog); diff != "" {
					t.Errorf("the answer is to another dialog (-shown +sent)\n%s", diff)
				}
			}
			if got != tt.want {
				t.Errorf("sent %q, want %q", got, tt.want)
			}
		})
	}
}

// A question that comes in the place of another one takes no key for a moment: the key
// was meant for what stood there.
func TestInboxIsDeafAtFirst(t *testing.T) {
	one := asks(1, "One", &api.Dialog{Kind: api.DialogQuestion, Question: "First?", Options: options("A", "B")})
	two := asks(2, "Two", &api.Dialog{Kind: api.DialogQuestion, Question: "Second?", Options: options("C", "D")})
	again := asks(1, "One", &api.Dialog{Kind: api.DialogQuestion, Question: "Really?", Options: options("A", "B")})
	more := asks(1, "One", &api.Dialog{Kind: api.DialogQuestion, Question: "First?", Options: options("B", "A")})
	tests := []struct {
		name string
		to   func(m *model) // what happens before the key
	}{
		{"answered elsewhere", func(m *model) { m.update(m.now, fleetOf(two)) }},
		{"the session asks something else", func(m *model) { m.update(m.now, fleetOf(again, two)) }},
		{"its options are others", func(m *model) { m.update(m.now, fleetOf(more, two)) }},
		{"the next one", func(m *model) { press(m, "tab") }},
		{"opened just now", func(m *model) { press(m, "escape", "i") }},
		{"all are answered elsewhere", func(m *model) {
			m.update(m.now, fleetOf(session(1, "One", "Codex", api.Working, 0)))
			m.update(m.now, fleetOf(one))
		}},
	}
	for _, tt := range tests {
		for _, key := range []string{"2", "enter"} {
			t.Run(tt.name+" "+key, func(t *testing.T) {
				m, c := newInboxModel("")
				m.update(storyTime, fleetOf(one, two))
				pressed(t, m, "i")
				m.now = storyTime.Add(time.Second)
				tt.to(m)
				m.now = m.now.Add(deafFor - time.Millisecond)
				pressed(t, m, key)
				if len(c.sent) > 0 || m.focus == onPane {
					t.Errorf("the key was taken: %+v, the pane has the keys: %v", c.sent, m.focus == onPane)
				}
			})
		}
	}
}

// The inbox shows what waits longest, then the next; it closes when nobody waits.
func TestInboxGoesOn(t *testing.T) {
	one := asks(1, "One", &api.Dialog{Kind: api.DialogQuestion, Question: "First?", Options: options("A", "B")})
	two := asks(2, "Two", &api.Dialog{Kind: api.DialogQuestion, Question: "Second?", Options: options("C", "D")})
	m, c := newInboxModel("")
	m.update(storyTime, fleetOf(two, one, session(3, "Three", "Codex", api.Idle, 0)))
	m.choose(link(3))
	pressed(t, m, "i")
	if got := m.inbox().s.Title; got != "One" {
		t.Errorf("shows %q first", got)
	}
	m.now = storyTime.Add(time.Second)
	pressed(t, m, "1")
	if got := m.inbox().s.Title; got != "Two" {
		t.Errorf("shows %q next", got)
	}
	m.now = m.now.Add(time.Second)
	pressed(t, m, "2")
	if want := []string{link(1), link(2)}; !slices.Equal(c.to, want) {
		t.Errorf("answered %q, want %q", c.to, want)
	}
	if m.inbox() == nil {
		t.Fatal("closed before the agents have gone on")
	}
	m.update(m.now, fleetOf(session(1, "One", "Codex", api.Working, 0), session(2, "Two", "Codex", api.Working, 0)))
	if m.inbox() != nil {
		t.Error("open, and nobody asks")
	}
	pressed(t, m, "i")
	if m.inbox() != nil {
		t.Error("opened, and nobody asks")
	}
}

// An answer that was refused is asked again, and typed words are not lost, whatever
// becomes of the question.
func TestInboxLosesNoWords(t *testing.T) {
	one := asks(1, "One", &api.Dialog{Kind: api.DialogQuestion, Question: "First?", Options: options("A", "B")})
	two := asks(2, "Two", &api.Dialog{Kind: api.DialogQuestion, Question: "Second?", Options: options("C", "D")})
	begin := func() (*model, *sentCalls) {
		m, c := newInboxModel("")
		m.update(storyTime, fleetOf(one, two))
		pressed(t, m, "i")
		m.now = storyTime.Add(time.Second)
		pressed(t, m, "w", "b", "l", "u", "e")
		return m, c
	}
	shown := func(t *testing.T, m *model, text string) {
		t.Helper()
		if got := frameText(m); !strings.Contains(got, text) {
			t.Errorf("%q is not to be seen:\n%s", text, got)
		}
	}
	t.Run("refused", func(t *testing.T) {
		m, c := begin()
		c.err = api.NewError(api.Busy, "no room")
		pressed(t, m, "enter")
		shown(t, m, "no room")
		pressed(t, m, "tab")
		shown(t, m, "blue")
		shown(t, m, "First?")
	})
	t.Run("answered elsewhere", func(t *testing.T) {
		m, c := begin()
		m.update(m.now, fleetOf(two))
		shown(t, m, "blue")
		shown(t, m, "nothing typed")
		m.now = m.now.Add(time.Second)
		pressed(t, m, "x", "enter")
		shown(t, m, "Second?")
		if len(c.sent) > 0 {
			t.Errorf("sent %+v", c.sent)
		}
	})
	t.Run("another one was looked at", func(t *testing.T) {
		m, _ := begin()
		pressed(t, m, "tab")
		shown(t, m, "Second?")
		pressed(t, m, "tab")
		shown(t, m, "blue")
	})
}

// frameText is what the interface shows.
func frameText(m *model) string {
	var c canvas
	m.draw(&c)
	var b strings.Builder
	for y := range c.h {
		for x := range c.w {
			b.WriteString(c.at(x, y).Text)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// Options and questions can be pressed with the mouse, over all rows of a long label.
func TestInboxMouse(t *testing.T) {
	d := &api.Dialog{Kind: api.DialogPermission, Question: "May it?", Options: options("Yes", "Yes, and don't ask again for any command that begins like this one", "No")}
	m, c := newInboxModel("")
	m.update(storyTime, fleetOf(asks(1, "One", d)))
	pressed(t, m, "i")
	m.now = storyTime.Add(time.Second)
	lines := strings.Split(frameText(m), "\n")
	y := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, "begins like") })
	if y < 0 {
		t.Fatalf("no second row of the label:\n%s", strings.Join(lines, "\n"))
	}
	outcome(m, m.update(m.now, mouseMsg{X: 8, Y: y}))
	if len(c.sent) != 1 || c.sent[0].Text != "2" {
		t.Errorf("sent %+v", c.sent)
	}
}
