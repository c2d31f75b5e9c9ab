package vt

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// Each case: what is written to 10x5 cells, the new size, the picture and the
// history after it, and the cursor.
func TestResize(t *testing.T) {
	for _, c := range []struct {
		name, in      string
		cols, rows    int
		want, history string
		x, y          int
	}{
		{"wider joins", "0123456789ab", 20, 5, "0123456789ab", "", 12, 0},
		{"narrower wraps", "0123456789", 4, 5, "0123/4567/89", "", 2, 2},
		{"narrower pushes to the history", "1\r\n2\r\n3\r\n4\r\nabcdefgh", 4, 5, "2/3/4/abcd/efgh", "1", 3, 4},
		{"cursor keeps its character", "0123456789\x1b[1;7H", 4, 5, "0123/4567/89", "", 2, 1},
		{"cursor behind the text", "ab\x1b[1;9H", 4, 5, "ab", "", 3, 0},
		{"cursor on a blank row", "ab\x1b[3;4H", 20, 5, "ab", "", 3, 2},
		{"newlines stay", "ab\r\ncd", 20, 5, "ab/cd", "", 2, 1},
		{"wide characters wrap whole", "日本語", 3, 5, "日/本/語", "", 2, 2},
		{"wide characters join", "012345678日x", 20, 5, "012345678日x", "", 12, 0},
		{"shorter drops blank rows", "ab\r\ncd", 10, 2, "ab/cd", "", 2, 1},
		{"shorter rolls up", "1\r\n2\r\n3\r\n4\r\n5", 10, 2, "4/5", "1/2/3", 1, 1},
		{"shorter keeps the cursor", "1\r\n2\r\n3\r\n4\r\n5\x1b[2;1H", 10, 2, "2/3", "1", 0, 0},
		{"taller brings lines back", "1\r\n2\r\n3\r\n4\r\n5\r\n6\r\n7", 10, 7, "1/2/3/4/5/6/7", "", 1, 6},
		{"taller leaves a cleared screen", "1\r\n2\r\n3\r\n4\r\n5\r\n6\r\n7\x1b[2J\x1b[Hx", 10, 7, "x", "1/2", 1, 0},
		{"margins go", "\x1b[2;3rab", 10, 4, "ab", "", 2, 0},
		{"alternate screen is cut", "\x1b[?1049h0123456789\r\nab", 4, 5, "0123/ab", "", 2, 1},
		{"alternate screen keeps the cursor's row", "\x1b[?1049h1\r\n2\r\n3\r\n4\r\n5", 10, 3, "3/4/5", "", 1, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := draw(c.in)
			s.Resize(c.cols, c.rows)
			if got := picture(s); got != c.want {
				t.Errorf("picture %q, want %q", got, c.want)
			}
			if got := strings.Join(s.HistoryText(0, 99), "/"); got != c.history {
				t.Errorf("history %q, want %q", got, c.history)
			}
			if cur := s.Cursor(); cur.X != c.x || cur.Y != c.y {
				t.Errorf("cursor %d,%d, want %d,%d", cur.X, cur.Y, c.x, c.y)
			}
			if err := integrity(s); err != nil {
				t.Error(err)
			}
		})
	}
}

// The main screen is wrapped anew while a program is on the alternate one, and
// leaving that one puts the cursor back where it was in the text.
func TestResizeBehindTheAlternateScreen(t *testing.T) {
	s := draw("$ some long command\x1b[?1049hediting")
	s.Resize(30, 5)
	s.Write([]byte("\x1b[?1049lX"))
	if got, want := picture(s), "$ some long commandX"; got != want {
		t.Errorf("picture %q, want %q", got, want)
	}
}

// logical is all text, history and screen, as whole lines.
func logical(s *Screen) string {
	var b strings.Builder
	for i, line := range s.HistoryText(0, HistoryLine(s.HistoryLen())) {
		b.WriteString(line)
		if !s.HistoryWrapped(HistoryLine(i)) {
			b.WriteByte('\n')
		}
	}
	for y := range Row(s.rows) {
		b.WriteString(s.RowText(y))
		if !s.Wrapped(y) {
			b.WriteByte('\n')
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

// Whatever the sizes on the way, no text is lost or doubled.
func TestReflowKeepsText(t *testing.T) {
	words := strings.Fields("alpha beta gamma 日本語 naïve 👩\u200d💻 e\u0301 delta 🇩🇪 0123456789012345678901234567890123456789")
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 5))
		s := New(Options{Cols: 30, Rows: 8, History: 1000})
		for i := range r.IntN(60) {
			fmt.Fprintf(s, "\x1b[%dm", 31+i%7)
			// No blanks: at a fold they can't be told from padding.
			for range r.IntN(12) {
				s.Write([]byte(words[r.IntN(len(words))] + "."))
			}
			s.Write([]byte("\r\n"))
		}
		want := logical(s)
		for range 6 {
			s.Resize(3+r.IntN(60), 8+r.IntN(20))
			if got := logical(s); got != want {
				t.Fatalf("seed %d at %dx%d:\ngot  %q\nwant %q", seed, s.cols, s.rows, got, want)
			}
			if err := integrity(s); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
	}
}

// Styles survive reflow: there and back the screen is the same.
func TestReflowThereAndBack(t *testing.T) {
	s := New(Options{Cols: 40, Rows: 6, History: 100})
	for i := range 30 {
		fmt.Fprintf(s, "\x1b[%d;4%dmline %d %s\x1b]8;;http://x\x07日本 link\x1b]8;;\x07\x1b[0m tail\r\n", i%10, i%8, i, strings.Repeat("x", i))
	}
	s.Write([]byte("last"))
	b, _ := s.MarshalBinary()
	var before Screen
	if err := before.UnmarshalBinary(b); err != nil {
		t.Fatal(err)
	}
	s.Resize(17, 6)
	s.Resize(40, 6)
	if d := before.difference(s); d != "" {
		t.Error(d)
	}
}

func TestResizeReports(t *testing.T) {
	s := draw("\x1b[?2048h")
	s.TakeReplies()
	s.SetCellSize(9, 18)
	s.Resize(20, 6)
	if got, want := string(s.TakeReplies()), "\x1b[48;6;20;108;180t"; got != want {
		t.Errorf("reported %q, want %q", got, want)
	}
}

func TestResizeIsClamped(t *testing.T) {
	s := draw("abc")
	s.Resize(-5, 1<<30)
	if cols, rows := s.Size(); cols != 1 || rows != maxRows {
		t.Errorf("size %dx%d", cols, rows)
	}
	if err := integrity(s); err != nil {
		t.Error(err)
	}
}

// Wrapping the history as records gives what wrapping it as rows gives.
func TestRewrapIsByRows(t *testing.T) {
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 5))
		o := sizes[seed%uint64(len(sizes))]
		s := New(o)
		s.Write(randomStream(r, 300))
		cols := 1 + r.IntN(40)
		data, _ := s.MarshalBinary()
		var other Screen
		if err := other.UnmarshalBinary(data); err != nil {
			t.Fatal(err)
		}
		records := reflower{s: s, cols: cols}
		records.history()

		rows := reflower{s: &other, cols: cols, toHistory: true}
		old := other.history
		other.history = history{limit: old.limit, total: old.dropped()}
		old.each(0, old.len(), rows.byRow)

		if a, b := s.HistoryLen(), other.HistoryLen(); a != b {
			t.Fatalf("seed %d, %d columns: %d lines, by rows %d", seed, cols, a, b)
		}
		if d := s.historyDifference(&other); d != "" {
			t.Fatalf("seed %d, %d columns: %s", seed, cols, d)
		}
	}
}
