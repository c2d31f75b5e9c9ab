package vt

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"unicode/utf8"
)

// integrity checks everything that other code takes for granted.
func integrity(s *Screen) error {
	if n := len(s.main.rows); n != s.rows {
		return fmt.Errorf("%d main rows, want %d", n, s.rows)
	}
	if n := len(s.alt.rows); n != s.rows && n != 0 {
		return fmt.Errorf("%d alternate rows, want %d", n, s.rows)
	}
	for _, g := range []*grid{&s.main, &s.alt} {
		if g.top < 0 || g.top >= max(1, len(g.rows)) {
			return fmt.Errorf("ring starts at %d", g.top)
		}
		for y := range g.rows {
			if err := s.rowIntegrity(&g.rows[y]); err != nil {
				return fmt.Errorf("ring row %d: %w", y, err)
			}
		}
	}
	c := s.cur
	switch {
	case c.x < 0 || c.x >= s.cols || c.y < 0 || c.y >= s.rows:
		return fmt.Errorf("cursor %d,%d outside %dx%d", c.x, c.y, s.cols, s.rows)
	case s.top < 0 || s.top > s.bottom || s.bottom >= s.rows || s.left < 0 || s.left > s.right || s.right >= s.cols:
		return fmt.Errorf("margins %d..%d, %d..%d", s.top, s.bottom, s.left, s.right)
	case c.origin && (c.x < s.left || c.x > s.right || c.y < s.top || c.y > s.bottom):
		return fmt.Errorf("origin mode, cursor %d,%d outside the margins", c.x, c.y)
	case c.pending && (c.x != s.rightEdge() || !s.modes.has(modeWrap)):
		return fmt.Errorf("wrap pending at %d,%d", c.x, c.y)
	case c.pending && s.row(c.y).at(c.x).lo&roleMask == roleHead:
		return fmt.Errorf("wrap pending inside a wide character")
	case !s.modes.has(modeSideMargins) && !s.fullWidth():
		return fmt.Errorf("side margins without their mode")
	case s.last.x < 0 || s.last.x >= s.cols:
		return fmt.Errorf("last character at column %d", s.last.x)
	case s.tabs != nil && len(s.tabs) != s.cols:
		return fmt.Errorf("%d tab stops", len(s.tabs))
	case s.history.len() > s.history.limit:
		return fmt.Errorf("history of %d lines", s.history.len())
	}
	return s.historyIntegrity()
}

func (s *Screen) rowIntegrity(r *row) error {
	n := r.len()
	switch {
	case n > s.cols:
		return fmt.Errorf("%d columns", n)
	case r.wrapped && n != s.cols:
		return fmt.Errorf("wrapped at %d columns", n)
	case r.cells && (len(r.text) > 0 || len(r.runs) > 0):
		return fmt.Errorf("both forms")
	}
	if !r.cells {
		at := -1
		for i, run := range r.runs {
			from := int(run.lo & runeMask)
			if from <= at || from >= n || i == 0 && from != 0 {
				return fmt.Errorf("run %d starts at %d of %d", i, from, n)
			}
			at = from
		}
		if n > 0 && len(r.runs) == 0 {
			return fmt.Errorf("text without a run")
		}
		return nil
	}
	for x, c := range r.c {
		if c.lo&extMask != 0 && int(c.lo>>extShift) >= len(s.exts.items) {
			return fmt.Errorf("column %d: ext out of range", x)
		}
		switch c.lo & roleMask {
		case roleHead:
			if x+1 >= n || r.c[x+1].lo&roleMask != roleTail || r.c[x+1].style() != c.style() {
				return fmt.Errorf("column %d: head without tail", x)
			}
		case roleTail:
			if x == 0 || r.c[x-1].lo&roleMask != roleHead {
				return fmt.Errorf("column %d: tail without head", x)
			}
			continue
		}
		if v := c.lo & runeMask; c.lo&flagCluster != 0 {
			if int(v) >= len(s.clusters.items) || utf8.RuneCountInString(s.clusters.items[v]) < 2 {
				return fmt.Errorf("column %d: cluster %d of %d", x, v, len(s.clusters.items))
			}
		} else if v < ' ' || v >= 0x7f && v < 0xa0 {
			return fmt.Errorf("column %d: control %#x", x, v)
		}
	}
	return nil
}

func (s *Screen) historyIntegrity() error {
	lines, bytes := 0, 0
	for _, p := range s.history.pages {
		lines += len(p.off)
		bytes += cap(p.b)
	}
	if lines != s.history.n || bytes != s.history.bytes {
		return fmt.Errorf("history holds %d lines in %d bytes, says %d in %d", lines, bytes, s.history.n, s.history.bytes)
	}
	if s.history.dropped() > s.history.total {
		return fmt.Errorf("history dropped more than it had")
	}
	return nil
}

// randomStream makes hostile but lively input: text of every width, controls,
// sequences with odd parameters, strings, halves of everything.
func randomStream(r *rand.Rand, n int) []byte {
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	num := func() string {
		return pick("", "", "0", "1", "1", "2", "2", "3", "4", "5", "8", "9", "12", "20", "99999999999")
	}
	var b []byte
	for range n {
		switch r.IntN(14) {
		case 0, 1:
			b = append(b, pick("hello", "a", " ", "   ", "0123456789", "the quick brown fox", "x\ty")...)
		case 2:
			b = append(b, pick("日本語", "é", "e\u0301", "👩\u200d💻", "🇩🇪", "🇯", "❤\ufe0f", "1\ufe0f\u20e3",
				"한", "\u1112\u1161\u11ab", "क्ष", "─", "\u0301", "\u200d", "👍🏽", "🏽", "　")...)
		case 3:
			b = append(b, pick("\r", "\n", "\r\n", "\b", "\t", "\x0e", "\x0f", "\x07", "\x05")...)
		case 4, 5:
			b = append(b, "\x1b["+num()+pick("A", "B", "C", "D", "E", "F", "G", "I", "J", "K", "L", "M", "P", "S", "T", "X", "Z", "@", "`", "a", "b", "d", "e", "g", "s", "u", "c", "n", "t")...)
		case 6:
			b = append(b, "\x1b["+num()+";"+num()+pick("H", "f", "r", "s", "t", "m")...)
		case 7:
			b = append(b, "\x1b["+pick("0", "1", "2", "3", "4", "4:3", "5", "7", "8", "9", "21", "24", "31", "42", "97", "38;5;200", "48;2;1;2;3", "58:2::9:8:7", "38:5:9", "53", "59", "")+"m"...)
		case 8:
			b = append(b, "\x1b[?"+pick("1", "3", "5", "6", "7", "12", "25", "40", "45", "47", "66", "69", "1000", "1002", "1003", "1004", "1006", "1016", "1047", "1048", "1049", "2004", "2026", "2027", "2031", "2048")+pick("h", "l", "h", "l", "s", "r")...)
		case 9:
			b = append(b, "\x1b"+pick("7", "8", "D", "E", "H", "M", "N", "O", "=", ">", "(0", "(B", ")0", "*A", "n", "o", "6", "9", "#8", "~")...)
		case 10:
			b = append(b, "\x1b]"+pick("0;title", "2;t2", "1;icon", "8;;http://a/b", "8;id=x;http://c", "8;;", "7;file://h/d", "9;note", "9;4;1;50", "4;1;rgb:1/2/3", "4;1;?", "11;?", "10;#123", "104", "133;A", "52;c;aGk=", "777;notify;a;b", "7501;?")+pick("\x07", "\x1b\\")...)
		case 11:
			b = append(b, "\x1b["+pick(">1u", "<u", "=5u", "=5;u", "=;2u", ";2m", "4:;m", "?u", ">4;2m", "!p", "4h", "4l", "20h", "20l", "1\"q", "0\"q", "3 q", "2*x", "3 @", "2 A", "2'}", "2'~", "1;2;5;9$z", "42;1;1;4;4$x", "1;1;3;5;1;2;3$v", "1;1;3;9;1;4$r", "2;2;5;5;7$t", "1;1;4;9${", "?2J", "?1K", "?6n", "?2026$p")...)
		case 12:
			b = append(b, pick("\x1bP$qm\x1b\\", "\x1bP$qr\x1b\\", "\x1bP+q544e\x1b\\", "\x1b_Gi=1,a=q;AAAA\x1b\\", "\x1bX sos \x1b\\", "\x1b^pm\x1b\\", "\u009b3m", "\xff", "\xe4\xbd", "\xf0\x9f", "\x18", "\x1b[1;2", "\x1b]2;half", "\x1b", "\x9d")...)
		default:
			b = append(b, byte(r.IntN(256)))
		}
	}
	return b
}

// screens of awkward sizes, with and without history.
var sizes = []Options{
	{Cols: 20, Rows: 6, History: 50},
	{Cols: 80, Rows: 24},
	{Cols: 1, Rows: 1, History: 5},
	{Cols: 2, Rows: 3, History: 10},
	{Cols: 7, Rows: 4, History: 1000},
}

func TestRandomStreams(t *testing.T) {
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 1))
		o := sizes[seed%uint64(len(sizes))]
		s := New(o)
		in := randomStream(r, 300)
		for i := 0; i < len(in); {
			n := min(1+r.IntN(40), len(in)-i)
			s.Write(in[i : i+n])
			i += n
			if err := integrity(s); err != nil {
				t.Fatalf("seed %d, after %q: %v", seed, in[max(0, i-n-20):i], err)
			}
			if r.IntN(20) == 0 {
				cols, rows := 1+r.IntN(30), 1+r.IntN(12)
				s.Resize(cols, rows)
				if err := integrity(s); err != nil {
					t.Fatalf("seed %d, resized to %dx%d: %v", seed, cols, rows, err)
				}
			}
		}
	}
}

// The same bytes give the same screen however they are cut.
func TestAnySplitIsOneWrite(t *testing.T) {
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 2))
		o := sizes[seed%uint64(len(sizes))]
		in := randomStream(r, 200)
		whole, split, bytes := New(o), New(o), New(o)
		whole.Write(in)
		for i := 0; i < len(in); {
			n := min(1+r.IntN(9), len(in)-i)
			split.Write(in[i : i+n])
			i += n
		}
		for i := range in {
			bytes.Write(in[i : i+1])
		}
		for name, s := range map[string]*Screen{"split": split, "byte by byte": bytes} {
			if d := whole.difference(s); d != "" {
				t.Fatalf("seed %d, %s: %s\n%q", seed, name, d, in)
			}
			if a, b := string(whole.out.replies), string(s.out.replies); a != b {
				t.Fatalf("seed %d, %s: answers %q, want %q", seed, name, b, a)
			}
			if whole.last != s.last {
				t.Fatalf("seed %d, %s: last %+v, want %+v", seed, name, s.last, whole.last)
			}
		}
	}
}

func replayed(s *Screen, o Options) *Screen {
	cols, rows := s.Size()
	o.Cols, o.Rows = cols, rows
	fresh := New(o)
	fresh.Write(s.AppendReplay(nil, s.HistoryLen()))
	fresh.Write(s.AppendUnfinished(nil))
	return fresh
}

// A replay makes an equal screen, wherever the stream is cut.
func TestReplayMakesEqualScreen(t *testing.T) {
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 3))
		o := sizes[seed%uint64(len(sizes))]
		s := New(o)
		in := randomStream(r, 200)
		for i := 0; i < len(in); {
			n := min(1+r.IntN(60), len(in)-i)
			s.Write(in[i : i+n])
			i += n
			fresh := replayed(s, o)
			if d := s.difference(fresh); d != "" {
				t.Fatalf("seed %d at %d: %s\ninput  %q\nreplay %q", seed, i, d, in[:i], s.AppendReplay(nil, s.HistoryLen()))
			}
			if err := integrity(fresh); err != nil {
				t.Fatalf("seed %d at %d: %v", seed, i, err)
			}
		}
	}
}

// The binary form is exact, also in the middle of a sequence.
func TestBinaryIsExact(t *testing.T) {
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 4))
		o := sizes[seed%uint64(len(sizes))]
		s := New(o)
		in := randomStream(r, 200)
		for i := 0; i < len(in); {
			n := min(1+r.IntN(60), len(in)-i)
			s.Write(in[i : i+n])
			i += n
			b, err := s.MarshalBinary()
			if err != nil {
				t.Fatal(err)
			}
			var back Screen
			if err := back.UnmarshalBinary(b); err != nil {
				t.Fatalf("seed %d at %d: %v", seed, i, err)
			}
			if d := s.difference(&back); d != "" {
				t.Fatalf("seed %d at %d: %s", seed, i, d)
			}
			again, _ := back.MarshalBinary()
			if string(again) != string(b) {
				t.Fatalf("seed %d at %d: encoded again it differs", seed, i)
			}
			if err := integrity(&back); err != nil {
				t.Fatalf("seed %d at %d: %v", seed, i, err)
			}
			if r.IntN(4) == 0 { // what follows finds the same state
				s = &back
			}
		}
		whole := New(o)
		whole.Write(in)
		if d := whole.difference(s); d != "" {
			t.Fatalf("seed %d: after decoding on the way: %s", seed, d)
		}
	}
}
