package tui

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"termio/internal/api"
	"termio/internal/vt"
)

// fakeCalls keeps what was asked of the daemon.
type fakeCalls struct {
	calls
	log []string
}

func (f *fakeCalls) Send(_ context.Context, target string, r api.SendRequest) (api.SendReply, error) {
	f.log = append(f.log, fmt.Sprintf("send %s %q for %q", target[len(target)-1:], r.Text, r.Dialog.Question))
	return api.SendReply{}, nil
}

func (f *fakeCalls) Close(_ context.Context, target string) (api.CloseReply, error) {
	f.log = append(f.log, "close "+target[len(target)-1:])
	return api.CloseReply{}, nil
}

func (f *fakeCalls) Rename(_ context.Context, target, title string) (api.RenameReply, error) {
	f.log = append(f.log, fmt.Sprintf("rename %s %q", target[len(target)-1:], title))
	return api.RenameReply{}, nil
}

// bench is a model with what it asks for and shows.
type bench struct {
	*model
	t     *testing.T
	calls *fakeCalls
	terms *fakeTerminals
}

// onBench is a model with the fleet of the stories and its n-th session selected.
func onBench(t *testing.T, n int) *bench {
	b := &bench{t: t, calls: &fakeCalls{}, terms: &fakeTerminals{}}
	b.model = newModel(Look{}, english(), b.calls, b.terms)
	b.view.root = "/home/ada/.termio"
	b.send(sizeMsg{120, 40})
	b.now = storyTime
	b.send(fleetMsg{theFleet()})
	b.choose(link(n))
	b.now = storyTime.Add(time.Minute)
	b.send(paneMsg{b.pane.link})
	return b
}

// send gives the model a message and does what it wants done.
func (b *bench) send(msg message) {
	for _, c := range b.update(b.now, msg) {
		if m := c(context.Background()); m != nil {
			b.send(m)
		}
	}
}

// keys presses keys.
func (b *bench) keys(names ...string) {
	b.t.Helper()
	for _, n := range names {
		k, err := vt.ParseKey(n)
		if err != nil {
			b.t.Fatal(err)
		}
		b.send(keyMsg(k))
	}
}

// live is the terminal that is shown.
func (b *bench) live() *fakeLive { return b.pane.live.(*fakeLive) }

func (b *bench) wants(what string, got, want any) {
	b.t.Helper()
	if got != want {
		b.t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// In the terminal every key is the session's but one, which goes to the list and back.
func TestKeysGoToWhoHasThem(t *testing.T) {
	b := onBench(t, 4)
	b.keys("enter", "q", "?", "x", "ctrl-c", "escape", "tab", "1")
	b.wants("typed", string(b.live().typed), "q?x\x03\x1b\t1")
	b.keys("ctrl-\\")
	b.wants("the part with the keys", b.focus, onList)
	b.keys("ctrl-\\", "y")
	b.wants("typed", string(b.live().typed), "q?x\x03\x1b\t1y")
	b.keys("ctrl-\\", "\\")
	b.wants("typed", string(b.live().typed), "q?x\x03\x1b\t1y\x1c")
	b.wants("asked of the daemon", len(b.calls.log), 0)
}

// A number answers the question that is on the screen, but not one that has only just
// come; letters do not.
func TestNumbersAnswer(t *testing.T) {
	b := onBench(t, 1)
	b.keys("2", "9", "z")
	b.wants("asked of the daemon", strings.Join(b.calls.log, "; "), `send 1 "2" for "Which red shall it be?"`)

	next := theFleet()
	next.Whole = false
	next.Sessions = []api.SessionInfo{session(1, "Make the button red", "Claude Code", api.Working, 0)}
	b.send(fleetMsg{next})
	next.Sessions[0] = theFleet().Sessions[0]
	next.Sessions[0].Dialog = &api.Dialog{Kind: api.DialogPermission, Question: "Delete it?", Options: []api.Option{{Label: "Yes"}, {Label: "No"}}}
	b.send(fleetMsg{next})
	b.keys("1")
	b.wants("asked of the daemon", len(b.calls.log), 1)
	b.now = b.now.Add(deafFor)
	b.keys("1")
	b.wants("asked of the daemon", b.calls.log[len(b.calls.log)-1], `send 1 "Yes" for "Delete it?"`)
}

// A question that follows another one in the same session is as new as the first was.
func TestNumbersDoNotAnswerTheNextQuestion(t *testing.T) {
	b := onBench(t, 1)
	next := theFleet()
	next.Whole = false
	next.Sessions = next.Sessions[:1]
	next.Sessions[0].Dialog = &api.Dialog{Kind: api.DialogPermission, Question: "Delete it?", Options: []api.Option{{Label: "Yes"}, {Label: "No"}}}
	b.send(fleetMsg{next})
	b.keys("1")
	b.wants("asked of the daemon", len(b.calls.log), 0)
}

// What opens by itself does not take the keys that were meant for what was there.
func TestWhatOpensByItselfIsDeafAtFirst(t *testing.T) {
	b := onBench(t, 2)
	b.send(explainedMsg{api.ExplainReply{Title: "x"}})
	b.keys("q")
	b.wants("layers", len(b.layers), 1)
	b.now = b.now.Add(deafFor)
	b.keys("q")
	b.wants("layers", len(b.layers), 0)
	b.wants("quitting", b.quitting, false)
}

// What is typed for a session that is just being started goes to that one, whole.
func TestTypedForTheNextSession(t *testing.T) {
	b := onBench(t, 4)
	before := b.live()
	b.send(startedMsg{link(70)})
	b.keys("h", "i", "enter")
	next := api.FleetLine{Sessions: []api.SessionInfo{session(70, "new", "Codex", api.Idle, 0)}}
	b.send(fleetMsg{next})
	b.wants("typed into the one before", string(before.typed), "")
	b.wants("typed into the new one", string(b.live().typed), "hi\r")
	b.wants("the one before is closed", before.closed, true)
}

// Nothing ends without a yes.
func TestCloseAsks(t *testing.T) {
	b := onBench(t, 2)
	b.keys("x", "n", "x", "escape")
	b.wants("asked of the daemon", len(b.calls.log), 0)
	b.keys("x", "y")
	b.wants("asked of the daemon", strings.Join(b.calls.log, "; "), "close 2")
}

func TestRename(t *testing.T) {
	b := onBench(t, 6)
	b.keys("r", "ctrl-u", "l", "o", "g", "i", "n", "修", "left", "backspace", "enter")
	b.wants("asked of the daemon", strings.Join(b.calls.log, "; "), `rename 6 "logi修"`)
}

// The next one is the one that has waited longest, then the one after it.
func TestNextThatNeedsYou(t *testing.T) {
	b := onBench(t, 4)
	b.keys("tab")
	b.wants("selected", b.cursor, link(1))
	b.keys("tab")
	b.wants("selected", b.cursor, link(8))
	b.keys("tab")
	b.wants("selected", b.cursor, link(1))
}

// The mouse selects, folds and answers; over the terminal it is the program's.
func TestMouse(t *testing.T) {
	b := onBench(t, 4)
	click := func(x, y int) {
		b.send(mouseMsg{Button: vt.ButtonLeft, X: x, Y: y})
		b.send(mouseMsg{Button: vt.ButtonLeft, Action: vt.MouseRelease, X: x, Y: y})
	}
	rowOf := func(key string) int {
		for i, r := range b.list {
			if r.key == key {
				return b.layout().rows.y + i - b.top
			}
		}
		t.Fatalf("no row %s", key)
		return 0
	}
	click(5, rowOf(link(1)))
	b.wants("selected", b.cursor, link(1))
	l := b.layout()
	click(2, l.ask.y+l.ask.h-1)
	b.wants("asked of the daemon", strings.Join(b.calls.log, "; "), `send 1 "3" for "Which red shall it be?"`)
	click(0, rowOf("/home/ada/shop"))
	b.wants("folded", b.view.folded["/home/ada/shop"], true)
	click(0, rowOf("/home/ada/shop"))
	click(5, rowOf(link(4)))

	fmt.Fprint(b.live().screen, "\x1b[?1000h\x1b[?1006h")
	b.send(paneMsg{b.pane.link})
	click(l.pane.x+3, l.pane.y+2)
	b.wants("typed", string(b.live().typed), "\x1b[<0;4;3M\x1b[<0;4;3m")
	b.wants("the part with the keys", b.focus, onPane)
}

// The wheel scrolls back where no program wants it, and any key returns.
func TestScrollBack(t *testing.T) {
	b := onBench(t, 4)
	for i := range 100 {
		fmt.Fprintf(b.live().screen, "line %d\r\n", i)
	}
	b.send(paneMsg{b.pane.link})
	b.keys("enter")
	l := b.layout()
	for range 4 {
		b.send(mouseMsg{Button: vt.ButtonWheelUp, X: l.pane.x, Y: l.pane.y})
	}
	b.wants("lines back", b.pane.back, 4*wheelLines)
	first := b.pane.cells[0][5].Text + b.pane.cells[0][6].Text
	fmt.Fprint(b.live().screen, "more\r\nmore\r\n")
	b.send(paneMsg{b.pane.link})
	b.wants("what is read", b.pane.cells[0][5].Text+b.pane.cells[0][6].Text, first)
	b.wants("lines back", b.pane.back, 4*wheelLines+2)
	b.keys("escape")
	b.wants("lines back", b.pane.back, 0)
	b.wants("typed", string(b.live().typed), "")
	b.send(mouseMsg{Button: vt.ButtonWheelUp, X: l.pane.x, Y: l.pane.y})
	b.keys("a")
	b.wants("lines back", b.pane.back, 0)
	b.wants("typed", string(b.live().typed), "a")
}

// On a small screen the list is shown or the terminal; a session whose terminal is not
// shown is not attached to, so that nobody seems to have looked at it.
func TestSmallScreen(t *testing.T) {
	b := onBench(t, 4)
	b.send(sizeMsg{40, 20})
	b.wants("a pane", b.pane == nil, true)
	b.keys("down", "up")
	b.wants("attached", len(b.terms.open_), 2) // at the beginning
	b.keys("enter")
	b.wants("size", [2]int{b.live().cols, b.live().rows}, [2]int{40, 18})
	b.keys("ctrl-\\")
	b.wants("a pane", b.pane == nil, true)
}

// The selection stays on its row while others come and go, and moves to the nearest
// when its own has gone.
func TestSelectionStays(t *testing.T) {
	b := onBench(t, 3)
	l := theFleet()
	b.send(fleetMsg{api.FleetLine{Sessions: []api.SessionInfo{session(0, "the oldest", "Codex", api.Idle, 0)}}})
	b.wants("selected", b.cursor, link(3))
	l.Sessions = l.Sessions[:2]
	b.send(fleetMsg{l})
	b.wants("selected a row that there is", b.at() >= 0, true)
}

// The selected session's last picture stays when it ends, and a resumed one comes back.
func TestSessionEndsAndComesBack(t *testing.T) {
	b := onBench(t, 4)
	b.keys("enter")
	old := b.live()
	old.ended = "the shell exited"
	b.send(paneMsg{b.pane.link})
	row := session(4, "make test", "Terminal", api.Closed, 0)
	b.send(fleetMsg{api.FleetLine{Sessions: []api.SessionInfo{row}}})
	b.wants("the terminal that is shown", b.pane.live == live(old), true)
	row.Status = api.Idle
	b.send(fleetMsg{api.FleetLine{Sessions: []api.SessionInfo{row}}})
	b.wants("the terminal that is shown", b.pane.live == live(old), false)
}

// A timer runs only while something moves, a notice is shown or an age can change.
func TestTimers(t *testing.T) {
	b := onBench(t, 2)
	d, ok := b.wakeAt()
	b.wants("with a session at work", ok && d == frameEvery, true)
	b.look.Still = true
	d, ok = b.wakeAt()
	b.wants("where nothing moves", ok && d == ageEvery, true)
	b.send(fleetMsg{api.FleetLine{Whole: true}})
	_, ok = b.wakeAt()
	b.wants("with nothing there", ok, false)
}

// Every action has a key, a title and an id of its own, and no key does two things.
func TestActions(t *testing.T) {
	for _, w := range []*words{english(), chinese()} {
		ids, keys := map[string]bool{}, map[string]string{}
		for _, a := range actions(w) {
			if a.id == "" || a.title == "" || a.run == nil || ids[a.id] {
				t.Errorf("action %+v lacks something, or is there twice", a.id)
			}
			ids[a.id] = true
			for _, k := range a.keys {
				if _, err := vt.ParseKey(k); err != nil {
					t.Errorf("action %s: %v", a.id, err)
				}
				if other, taken := keys[k]; taken {
					t.Errorf("%s is the key of %s and of %s", k, other, a.id)
				}
				keys[k] = a.id
			}
		}
	}
}
