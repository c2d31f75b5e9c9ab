package vt

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// everyMode sets what a program can leave behind.
const everyMode = "\x1b[1;4;31m\x1b]8;;http://x\x07\x1b[1\"q\x1b(0\x0e\x1b[?1h\x1b=\x1b[?5h\x1b[?7l\x1b[?25l\x1b[?45h\x1b[?67h" +
	"\x1b[?1003h\x1b[?1004h\x1b[?1006h\x1b[?1007h\x1b[?2004h\x1b[?2026h\x1b[?2031h\x1b[?2048h\x1b[4h\x1b[20h" +
	"\x1b[>4;2m\x1b[>31u\x1b[5 q\x1b[2;4r\x1b[?69h\x1b[2;8s\x1b[?6h\x1b[?1049h\x1b[>1u\x1b[>3u"

func TestReset(t *testing.T) {
	s := draw("text" + everyMode)
	for _, cut := range []string{"", "\x1b[1;2", "\x1b]2;half a title", "\x1bPq", "\xe4\xbd"} {
		s.Write([]byte(cut))
		s.Write(AppendReset(nil))
		fresh := New(Options{Cols: 10, Rows: 5, History: 20})
		if diff := cmp.Diff(fresh.Modes(), s.Modes()); diff != "" {
			t.Errorf("after %q (-want +got)\n%s", cut, diff)
		}
		if s.cur.pen != (cell{}) || s.cur.charset != asciiSets || s.cur.gl != 0 || !s.fullWidth() || s.top != 0 || s.bottom != 4 {
			t.Errorf("after %q: pen %+v, sets %q, margins %d-%d %d-%d", cut, s.cur.pen, s.cur.charset, s.top, s.bottom, s.left, s.right)
		}
		if s.main.kitty != (kittyStack{}) || s.alt.kitty != (kittyStack{}) || s.cursorStyle != 0 {
			t.Errorf("after %q: the keyboard or cursor is not plain", cut)
		}
		s.Write([]byte(everyMode))
	}
}

// A replay brings a terminal to the same state from any other.
func TestReplayOverAnotherState(t *testing.T) {
	s := draw("hello\r\n\x1b[31mworld\x1b[?2004h")
	other := draw("old text everywhere\r\n\x1b[3g" + everyMode + "\x1b]2;un")
	other.Write(s.AppendReplay(nil, 0))
	other.titles, other.alt = titles{}, grid{}
	if d := s.difference(other); d != "" {
		t.Error(d)
	}
}

func TestResetLeavesTheCursor(t *testing.T) {
	s := draw("$ cmd\r\n\x1b[2;4r\x1b[3;4H" + string(AppendReset(nil)))
	if cur := s.Cursor(); cur.X != 3 || cur.Y != 2 {
		t.Errorf("cursor %d,%d", cur.X, cur.Y)
	}
	s = draw("$ cmd\x1b[?1049h\x1b[2;4r" + string(AppendReset(nil)))
	if cur := s.Cursor(); cur.X != 5 || cur.Y != 0 {
		t.Errorf("cursor %d,%d after the alternate screen", cur.X, cur.Y)
	}
}

func TestAppendModes(t *testing.T) {
	s := draw("\x1b[?1h\x1b[?2004h\x1b[?1002h\x1b[?1006h\x1b[?25l\x1b[?7l\x1b[4h")
	other := draw(string(s.AppendModes(nil)))
	if diff := cmp.Diff(s.Modes(), other.Modes()); diff != "" {
		t.Error(diff)
	}
	if got := draw("").AppendModes(nil); len(got) > 0 {
		t.Errorf("modes of a fresh screen: %q", got)
	}
}

// A terminal that only shows a session is not made to report on its own.
func TestOuterReplay(t *testing.T) {
	s := draw("\x1b[?2048h\x1b[?2004hx")
	got := string(s.AppendOuterReplay(nil, 0))
	if strings.Contains(got, "2048h") || !strings.Contains(got, "2004h") {
		t.Errorf("%q", got)
	}
	if !s.Modes().ResizeReports {
		t.Error("the mode itself went")
	}
}

// Combining characters and REP find what was printed before the replay.
func TestReplayGoesOn(t *testing.T) {
	for _, c := range []struct{ before, after string }{
		{"e", "\u0301x"}, {"abc", "\x1b[2b"}, {"👩\u200d", "💻x"}, {"🇩", "🇪x"}, {"0123456789", "\u0301x"}, {"日", "\ufe0fx"}, {"\x1b[31mx\x1b[0m", "\u0301"},
	} {
		whole := draw(c.before + c.after)
		s := draw(c.before)
		fresh := replayed(s, Options{History: 20})
		fresh.Write([]byte(c.after))
		if d := whole.difference(fresh); d != "" {
			t.Errorf("%q then %q: %s", c.before, c.after, d)
		}
	}
}

// Whatever room a cluster found that becomes wide by its second character, a
// replay draws it again: on screens and between margins of one column there is
// none, with autowrap off it moves left.
func TestReplayOfClustersWithoutRoom(t *testing.T) {
	before := []string{"", "a", "abcd", "\x1b[?7labcde", "\x1b[?69h\x1b[2;3s\x1b[1;3H", "\x1b[?69h\x1b[1;2s\x1b[1;5H", "\x1b[?2027l"}
	clusters := []string{"\U0001f1cd🏽", "☝🏽", "❤\ufe0f", "☝\u200d👩", "🇩🇪", "👩\u200d👩"}
	after := []string{"", "x", "\u0301", "\x1b[1;1H\x1b[@", "\x1b[1;1H\x1b[P", "\x1b[2b"}
	for _, o := range []Options{{Cols: 1, Rows: 1}, {Cols: 1, Rows: 3}, {Cols: 2, Rows: 1}, {Cols: 3, Rows: 2}, {Cols: 5, Rows: 5}} {
		o.History = 20
		for _, b := range before {
			for _, c := range clusters {
				for _, a := range after {
					s := New(o)
					s.Write([]byte(b + c + a))
					mustHold(t, s)
					if d := s.difference(replayed(s, o)); d != "" {
						t.Errorf("%dx%d, %q: %s", o.Cols, o.Rows, b+c+a, d)
					}
				}
			}
		}
	}
}

// A scroll can move a row that goes on under a pending wrap.
func TestReplayOfAPendingWrapOverAWrappedRow(t *testing.T) {
	for _, scroll := range []string{"\x1b[T", "\x1b[S", "\x1b[^", "\x1b[2;4r\x1b[4;10Hx\x1b[S", "\x1b[?47h\x1b[?47l"} {
		s := draw("0123456789abcdefghij0123456789ab\x1b[2;10Hx" + scroll)
		fresh := replayed(s, Options{History: 20})
		if d := s.difference(fresh); d != "" {
			t.Errorf("%q: %s", scroll, d)
		}
	}
}

// With autowrap off a cluster in the last column becomes wide as a wide
// character goes there: one column to the left.
func TestClusterWidensWithoutAutowrap(t *testing.T) {
	joined, wide := draw("\x1b[?7l0123456789☝🏽"), draw("\x1b[?7l0123456789👩")
	got := strings.ReplaceAll(picture(joined), "☝🏽", "👩")
	if want := picture(wide); got != want {
		t.Errorf("picture %q, want %q", got, want)
	}
}

// The history in a replay can be cut to its newest lines.
func TestReplayOfSomeHistory(t *testing.T) {
	s := draw(strings.Repeat("line\r\n", 15) + "last")
	fresh := New(Options{Cols: 10, Rows: 5, History: 20})
	fresh.Write(s.AppendReplay(nil, 3))
	if got := fresh.HistoryLen(); got != 3 {
		t.Errorf("%d lines of history", got)
	}
	if got, want := picture(fresh), picture(s); got != want {
		t.Errorf("picture %q, want %q", got, want)
	}
}

func TestColorSchemeReports(t *testing.T) {
	s := draw("\x1b[?2031h")
	s.SetColors(0, 0xffffff, 0)
	s.SetColors(0x111111, 0xfafafa, 0)
	s.SetColors(0xffffff, 0, 0)
	if got, want := string(s.TakeReplies()), "\x1b[?997;2n\x1b[?997;1n"; got != want {
		t.Errorf("reported %q, want %q", got, want)
	}
}
