package vt

import (
	"fmt"
	"strings"
	"testing"
)

// draw writes in to a fresh screen of 10x5 cells.
func draw(in string) *Screen {
	s := New(Options{Cols: 10, Rows: 5, History: 20})
	s.Write([]byte(in))
	return s
}

// picture is the viewport without blank rows at the end, rows parted by /.
func picture(s *Screen) string {
	return strings.TrimRight(strings.Join(s.Text(), "/"), "/")
}

// Each case: what is written to 10x5 cells, the picture, the cursor.
var controlCases = []struct {
	name, in, want string
	x, y           int
}{
	// C0 and cursor movement (ECMA-48 8.3, xterm ctlseqs).
	{"print", "hello", "hello", 5, 0},
	{"carriage return", "hello\rJ", "Jello", 1, 0},
	{"line feed keeps the column", "ab\ncd", "ab/  cd", 4, 1},
	{"vertical tab and form feed are line feeds", "a\vb\fc", "a/ b/  c", 3, 2},
	{"backspace", "abc\b\bX", "aXc", 2, 0},
	{"backspace stops at the edge", "a\b\b\bX", "X", 1, 0},
	{"tab", "a\tb", "a       b", 9, 0},
	{"tab stops at the last column", "a\t\t\tb", "a        b", 9, 0},
	{"autowrap", "0123456789ab", "0123456789/ab", 2, 1},
	{"pending wrap", "0123456789", "0123456789", 9, 0},
	{"pending wrap ends with movement", "0123456789\x1b[DX", "01234567X9", 9, 0},
	{"pending wrap survives SGR", "0123456789\x1b[1mX", "0123456789/X", 1, 1},
	{"no autowrap", "\x1b[?7l0123456789ab", "012345678b", 9, 0},
	{"scroll at the bottom", "1\r\n2\r\n3\r\n4\r\n5\r\n6", "2/3/4/5/6", 1, 4},
	{"newline mode", "\x1b[20hab\ncd", "ab/cd", 2, 1},
	{"CUP", "\x1b[3;4Hx", "//   x", 4, 2},
	{"CUP defaults", "abc\x1b[Hx", "xbc", 1, 0},
	{"CUP beyond", "\x1b[99;99Hx", "////         x", 9, 4},
	{"HVP", "\x1b[2;2fx", "/ x", 2, 1},
	{"CUU CUD CUF CUB", "\x1b[3;5H\x1b[Aa\x1b[2Bb\x1b[2Dc\x1b[2Cd", "/    a//    cb d", 8, 3},
	{"CUU stops at the top", "\x1b[9Ax", "x", 1, 0},
	{"CUU stops at the margin", "\x1b[2;4r\x1b[3;1H\x1b[9Ax", "/x", 1, 1},
	{"CUD stops at the margin", "\x1b[2;4r\x1b[3;1H\x1b[9Bx", "///x", 1, 3},
	{"CUD below the margin", "\x1b[1;3r\x1b[4;1H\x1b[9Bx", "////x", 1, 4},
	{"CNL CPL", "abc\x1b[Ex\x1b[Fy", "ybc/x", 1, 0},
	{"CHA HPA", "abc\x1b[2Gx\x1b[5`y", "axc y", 5, 0},
	{"VPA VPR", "ab\x1b[3dx\x1b[ey", "ab//  x/   y", 4, 3},
	{"HPR", "a\x1b[2ax", "a  x", 4, 0},
	{"HPB", "abcd\x1b[2jx", "abxd", 3, 0},
	{"CHT CBT", "\x1b[Ia\x1b[Zb", "        b", 9, 0},
	{"HTS TBC", "\x1b[3g\x1b[4G\x1bH\r\tx", "   x", 4, 0},
	{"TBC one stop", "\x1b[9G\x1b[g\r\tx", "         x", 9, 0},
	{"DECST8C", "\x1b[3g\x1b[?5W\tx", "        x", 9, 0},

	// Scrolling and margins.
	{"IND", "a\x1bDb", "a/ b", 2, 1},
	{"NEL", "a\x1bEb", "a/b", 1, 1},
	{"RI", "\x1b[2;1Ha\x1bMb", " b/a", 2, 0},
	{"RI scrolls at the top", "a\r\x1bMb", "b/a", 1, 0},
	{"IND scrolls in the margins", "1\r\n2\r\n3\r\n4\x1b[2;3r\x1b[3;1H\x1bDx", "1/3/x/4", 1, 2},
	{"DECSTBM homes", "abc\x1b[2;4rx", "xbc", 1, 0},
	{"DECSTBM of one row is ignored", "abc\x1b[2;2rx", "abcx", 4, 0},
	{"SU", "1\r\n2\r\n3\x1b[2S", "3", 1, 2},
	{"SD", "1\r\n2\x1b[2T", "//1/2", 1, 1},
	{"SU in margins", "1\r\n2\r\n3\r\n4\x1b[2;3r\x1b[S", "1/3//4", 0, 0},
	{"SD in margins", "1\r\n2\r\n3\r\n4\x1b[2;3r\x1b[T", "1//2/4", 0, 0},
	{"IL", "1\r\n2\r\n3\x1b[2;3H\x1b[L", "1//2/3", 0, 1},
	{"DL", "1\r\n2\r\n3\x1b[2;3H\x1b[M", "1/3", 0, 1},
	{"IL outside the margins", "1\r\n2\r\n3\x1b[1;2r\x1b[3;1H\x1b[L", "1/2/3", 0, 2},
	{"DL huge below a small region", "\x1b[5;30r\x1b[6;1H\x1b[M", "", 0, 4},
	{"origin mode", "\x1b[2;4r\x1b[?6h\x1b[1;1Hx", "/x", 1, 1},
	{"origin mode stops at the margin", "\x1b[2;4r\x1b[?6h\x1b[9;1Hx", "///x", 1, 3},
	{"origin mode off homes", "\x1b[2;4r\x1b[?6h\x1b[?6lx", "x", 1, 0},
	{"side margins wrap", "\x1b[?69h\x1b[3;6s\x1b[1;3Habcdef", "  abcd/  ef", 4, 1},
	{"side margins carriage return", "\x1b[?69h\x1b[3;6s\x1b[1;4Ha\rb", "  ba", 3, 0},
	{"side margins scroll", "0123456789\r\nabcdefghij\r\nABCDEFGHIJ\x1b[?69h\x1b[3;6s\x1b[S", "01cdef6789/abCDEFghij/AB    GHIJ", 0, 0},
	{"side margins insert line", "0123456789\r\nabcdefghij\x1b[?69h\x1b[3;6s\x1b[1;3H\x1b[L", "01    6789/ab2345ghij/  cdef", 2, 0},
	{"side margins need their mode", "abc\x1b[3;6sx", "abcx", 4, 0},
	{"SL", "0123456789\x1b[2 @", "23456789", 9, 0},
	{"SR", "0123456789\x1b[2 A", "  01234567", 9, 0},
	{"DECIC", "abcdef\r\nghijkl\x1b[1;3H\x1b[2'}", "ab  cdef/gh  ijkl", 2, 0},
	{"DECDC", "abcdef\r\nghijkl\x1b[1;3H\x1b[2'~", "abef/ghkl", 2, 0},
	{"DECBI", "abc\r\x1b6x", "xabc", 1, 0},
	{"DECFI", "abcdefghij\x1b[1;10H\x1b9x", "bcdefghijx", 9, 0},

	// Insert, delete, erase.
	{"ICH", "abcdef\x1b[3G\x1b[2@", "ab  cdef", 2, 0},
	{"ICH pushes out", "abcdefghij\x1b[1G\x1b[3@", "   abcdefg", 0, 0},
	{"DCH", "abcdef\x1b[2G\x1b[2P", "adef", 1, 0},
	{"DCH more than there is", "abcdef\x1b[2G\x1b[99P", "a", 1, 0},
	{"ECH", "abcdef\x1b[2G\x1b[2X", "a  def", 1, 0},
	{"insert mode", "abc\x1b[2G\x1b[4hXY", "aXYbc", 3, 0},
	{"EL right", "abcdef\x1b[3G\x1b[K", "ab", 2, 0},
	{"EL left", "abcdef\x1b[3G\x1b[1K", "   def", 2, 0},
	{"EL all", "abcdef\x1b[3G\x1b[2K", "", 2, 0},
	{"ED below", "111\r\n222\r\n333\x1b[2;2H\x1b[J", "111/2", 1, 1},
	{"ED above", "111\r\n222\r\n333\x1b[2;2H\x1b[1J", "/  2/333", 1, 1},
	{"ED all keeps the cursor", "111\r\n222\x1b[2J", "", 3, 1},
	{"DECSED spares protected", "\x1b[1\"qab\x1b[0\"qcd\x1b[?2J", "ab", 4, 0},
	{"DECSEL spares protected", "a\x1b[1\"qb\x1b[0\"qc\r\x1b[?K", " b", 0, 0},
	{"ED takes protected too", "\x1b[1\"qab\x1b[2J", "", 2, 0},
	{"REP", "a\x1b[3b", "aaaa", 4, 0},
	{"REP after a control is nothing", "a\r\x1b[3b", "a", 0, 0},
	{"DECALN", "x\x1b#8", "EEEEEEEEEE/EEEEEEEEEE/EEEEEEEEEE/EEEEEEEEEE/EEEEEEEEEE", 0, 0},
	{"DECERA", "\x1b#8\x1b[2;2;4;9$z", "EEEEEEEEEE/E        E/E        E/E        E/EEEEEEEEEE", 0, 0},
	{"DECFRA", "\x1b[42;2;2;3;4$x", "/ ***/ ***", 0, 0},
	{"DECCRA", "abc\r\ndef\x1b[1;1;2;3;1;3;5;1$v", "abc/def/    abc/    def", 3, 1},
	{"DECCRA cuts wide characters", "日本語x\x1b[1;2;1;5;1;2;1;1$v", "日本語x/ 本", 7, 0},
	{"DECCRA overlapping", "abcdef\x1b[1;1;1;6;1;1;3;1$v", "ababcdef", 6, 0},

	// Saving, character sets, screens, resets.
	{"DECSC DECRC", "ab\x1b7\x1b[3;3Hx\x1b8y", "aby//  x", 3, 0},
	{"DECRC without DECSC homes", "abc\x1b8x", "xbc", 1, 0},
	{"SCOSC SCORC", "ab\x1b[s\x1b[3;3H\x1b[ux", "abx", 3, 0},
	{"graphics", "\x1b(0lqk\x1b(Bq", "┌─┐q", 4, 0},
	{"shift out and in", "\x1b)0\x0eq\x0fq", "─q", 2, 0},
	{"single shift", "\x1b*0\x1bNqq", "─q", 2, 0},
	{"locking shift", "\x1b*0\x1bnqq\x0fq", "──q", 3, 0},
	{"British", "\x1b(A#", "£", 1, 0},
	{"1049 comes back", "ab\x1b[?1049hxyz\x1b[?1049lc", "abc", 3, 0},
	{"1049 clears", "\x1b[?1049hxyz\x1b[?1049l\x1b[?1049h", "", 0, 0},
	{"47 keeps", "\x1b[?47hxy\x1b[?47l\x1b[?47h", "xy", 2, 0},
	{"1047 clears on the way out", "\x1b[?1047hxy\x1b[?1047l\x1b[?47h", "", 2, 0},
	{"RIS", "abc\x1b[2;3r\x1b[?6h\x1bcx", "x", 1, 0},
	{"DECSTR keeps the text", "abc\x1b[2;3r\x1b[4h\x1b[!p\x1b[1;1Hx", "xbc", 1, 0},
	{"DECCOLM clears when allowed", "abc\x1b[?40h\x1b[?3hx", "x", 1, 0},
	{"DECCOLM otherwise does nothing", "abc\x1b[?3hx", "abcx", 4, 0},
	{"reverse wrap", "\x1b[?45h0123456789a\b\bX", "012345678X/a", 9, 0},

	// Unfinished, ill-formed and unknown input.
	{"CAN ends a sequence", "\x1b[3\x18Ax", "Ax", 2, 0},
	{"ESC ends a sequence", "\x1b[3\x1b[2Cx", "  x", 3, 0},
	{"control inside a sequence", "ab\x1b[\rCx", "ax", 2, 0},
	{"unknown CSI", "\x1b[99;99yx", "x", 1, 0},
	{"surplus parameters", "\x1b[" + strings.Repeat("1;", 60) + "1Hx", "x", 1, 0},
	{"too long a CSI", "\x1b[" + strings.Repeat("1", 300) + "Cx", "x", 1, 0},
	{"huge numbers", "x\x1b[99999999999b\x1b[99999999999T\x1b[1;1Hy", "y", 1, 0},
	{"DCS is eaten", "a\x1bPq#0;1;1;1\x1b\\b", "ab", 2, 0},
	{"APC, PM and SOS are eaten", "a\x1b_Gx\x1b\\b\x1b^y\x1b\\c\x1bXz\x1b\\d", "abcd", 4, 0},
	{"screen's title is eaten", "a\x1bktitle\x1b\\b", "ab", 2, 0},
	{"OSC ended by another sequence", "\x1b]2;t\x1b[2Cx", "  x", 3, 0},
	{"invalid UTF-8", "a\xffb\xe4\xbdc", "a\ufffdb\ufffdc", 5, 0},
	{"overlong UTF-8", "\xc0\xaf", "\ufffd\ufffd", 2, 0},
	{"C1 as UTF-8", "a\u0085b\u009b2Cc", "a/b  c", 4, 1},

	// Width.
	{"wide characters", "日本", "日本", 4, 0},
	{"wide at the edge wraps", "012345678日", "012345678/日", 2, 1},
	{"half a wide character goes", "日本\x1b[2Gx", " x本", 2, 0},
	{"the other half goes", "日本\x1b[1Gx", "x 本", 1, 0},
	{"deleting half a wide character", "日本x\x1b[2G\x1b[P", " 本x", 1, 0},
	{"erasing half a wide character", "日本x\x1b[3G\x1b[X", "日  x", 2, 0},
	{"combining", "e\u0301x", "e\u0301x", 2, 0},
	{"combining with nothing before it", "\u0301x", "x", 1, 0},
	{"combining at a pending wrap", "0123456789\u0301x", "0123456789\u0301/x", 1, 1},
	{"ZWJ sequence", "👩\u200d💻x", "👩\u200d💻x", 3, 0},
	{"flag", "🇩🇪🇯🇵", "🇩🇪🇯🇵", 4, 0},
	{"skin tone", "👍🏽x", "👍🏽x", 3, 0},
	{"VS16 widens", "❤\ufe0fx", "❤\ufe0fx", 3, 0},
	{"keycap", "1\ufe0f\u20e3x", "1\ufe0f\u20e3x", 3, 0},
	{"VS16 at the edge wraps", "012345678❤\ufe0fx", "012345678/❤\ufe0fx", 3, 1},
	{"jamo", "\u1112\u1161\u11abx", "\u1112\u1161\u11abx", 3, 0},
	{"clusters off", "\x1b[?2027l👩\u200d💻🇩🇪", "👩\u200d💻🇩🇪", 6, 0},
	{"wide characters in one column", "\x1b[?69h\x1b[3;3s日x", "日x", 3, 0},
}

func TestControls(t *testing.T) {
	for _, c := range controlCases {
		t.Run(c.name, func(t *testing.T) {
			s := draw(c.in)
			if got := picture(s); got != c.want {
				t.Errorf("%q\ngot  %q\nwant %q", c.in, got, c.want)
			}
			if cur := s.Cursor(); cur.X != c.x || cur.Y != c.y {
				t.Errorf("%q: cursor %d,%d, want %d,%d", c.in, cur.X, cur.Y, c.x, c.y)
			}
			if err := integrity(s); err != nil {
				t.Error(err)
			}
		})
	}
}

// Each case: SGR parameters and the style of the character after it.
func TestStyles(t *testing.T) {
	for _, c := range []struct {
		in   string
		want Style
	}{
		{"", Style{}},
		{"1;2;3", Style{Attr: Bold | Dim | Italic}},
		{"5;7;8;9;53", Style{Attr: Blink | Inverse | Hidden | Strike | Overline}},
		{"1;2;22;3;23", Style{}},
		{"5;25;7;27;8;28;9;29;53;55", Style{}},
		{"4", Style{Underline: SingleUnderline}},
		{"4:0", Style{}},
		{"4:3", Style{Underline: CurlyUnderline}},
		{"4:5", Style{Underline: DashedUnderline}},
		{"4:9", Style{Underline: SingleUnderline}},
		{"21", Style{Underline: DoubleUnderline}},
		{"4;24", Style{}},
		{"31;42", Style{FG: PaletteColor(1), BG: PaletteColor(2)}},
		{"91;102", Style{FG: PaletteColor(9), BG: PaletteColor(10)}},
		{"31;39;42;49", Style{}},
		{"38;5;200;48;5;0", Style{FG: PaletteColor(200), BG: PaletteColor(0)}},
		{"38;2;1;2;3", Style{FG: RGBColor(1, 2, 3)}},
		{"38:2:1:2:3", Style{FG: RGBColor(1, 2, 3)}},
		{"38:2::1:2:3", Style{FG: RGBColor(1, 2, 3)}},
		{"48:5:7;1", Style{BG: PaletteColor(7), Attr: Bold}},
		{"38;2;1;2", Style{}},
		{"38;9;1", Style{}},
		{"58;5;9", Style{UL: PaletteColor(9)}},
		{"58:2::1:2:3;4:3", Style{UL: RGBColor(1, 2, 3), Underline: CurlyUnderline}},
		{"58;5;9;59", Style{}},
		{"1;31;58;5;9;0", Style{}},
		{"1;;3", Style{Attr: Italic}},
		{"1:2:3;4", Style{Attr: Bold, Underline: SingleUnderline}},
	} {
		s := draw("\x1b[" + c.in + "mx")
		if got := s.Cell(0, 0).Style; got != c.want {
			t.Errorf("SGR %q: %+v, want %+v", c.in, got, c.want)
		}
	}
}

// Erasing and scrolling paint in the pen's background, and in nothing else of
// the pen.
func TestErasePaintsBackground(t *testing.T) {
	for _, in := range []string{"\x1b[K", "\x1b[2J", "\x1b[3X", "\x1b[3@", "\x1b[L", "\x1b[T", "\x1b[1;1;2;2$z"} {
		s := draw("\x1b[1;4;31;42m" + in)
		if got, want := s.Cell(0, 0).Style, (Style{BG: PaletteColor(2)}); got != want {
			t.Errorf("%q: %+v, want %+v", in, got, want)
		}
	}
}

func TestHyperlinks(t *testing.T) {
	s := draw("\x1b]8;id=a;http://x/;y\x1b\\L\x1b]8;;\x1b\\p")
	if got, want := s.Cell(0, 0).Style, (Style{Link: "http://x/;y", LinkID: "a"}); got != want {
		t.Errorf("link: %+v, want %+v", got, want)
	}
	if got := s.Cell(1, 0).Style; got != (Style{}) {
		t.Errorf("after the link: %+v", got)
	}
	// SGR 0 ends styles, not links.
	s = draw("\x1b]8;;http://x\x07\x1b[1;58;5;3ma\x1b[mb")
	if got, want := s.Cell(1, 0).Style, (Style{Link: "http://x"}); got != want {
		t.Errorf("after SGR 0: %+v, want %+v", got, want)
	}
}

// DECCARA and DECRARA change attributes in a rectangle, or in the stream
// between its corners.
func TestChangeAttributes(t *testing.T) {
	bold := func(s *Screen) string {
		var b strings.Builder
		for y := range 3 {
			for x := range 4 {
				if s.Cell(x, Row(y)).Style.Attr&Bold != 0 {
					b.WriteByte('B')
				} else {
					b.WriteByte('.')
				}
			}
			b.WriteByte('/')
		}
		return b.String()
	}
	for _, c := range []struct{ in, want string }{
		{"\x1b[2*x\x1b[1;2;2;3;1$r", ".BB./.BB./..../"},
		{"\x1b[1;2;2;3;1$r", ".BBB/BBB./..../"},
		{"\x1b[2*x\x1b[1;2;2;3;1$r\x1b[1;1;1;4;1$t", "B..B/.BB./..../"},
		{"\x1b[2*x\x1b[1;1;3;4;1$r\x1b[2;2;2;2;0$r", "BBBB/B.BB/BBBB/"},
	} {
		if got := bold(draw("\x1b#8" + c.in)); got != c.want {
			t.Errorf("%q: %s, want %s", c.in, got, c.want)
		}
	}
}

func TestWrappedLines(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     string // a w for each row that goes on
	}{
		{"autowrap", "0123456789ab", "w...."},
		{"full row with newline", "0123456789\r\nab", "....."},
		{"erasing the tail ends it", "0123456789ab\x1b[1;5H\x1b[K", "....."},
		{"erasing the second row ends it", "0123456789ab\x1b[2K", "....."},
		{"writing over the last column ends it", "0123456789ab\x1b[1;10Hx", "....."},
		{"inserting a line between ends it", "0123456789ab\x1b[2;1H\x1b[L", "....."},
		{"wide character", "012345678日", "w...."},
	} {
		s := draw(c.in)
		var got strings.Builder
		for y := range s.rows {
			if s.Wrapped(Row(y)) {
				got.WriteString("w")
			} else {
				got.WriteString(".")
			}
		}
		if got.String() != c.want {
			t.Errorf("%s: %s, want %s", c.name, got.String(), c.want)
		}
	}
}

func TestHistory(t *testing.T) {
	s := New(Options{Cols: 10, Rows: 3, History: 5})
	for i := range 20 {
		fmt.Fprintf(s, "line %d\r\n", i)
	}
	if got, want := s.HistoryLen(), 5; got != want {
		t.Errorf("%d lines kept, want %d", got, want)
	}
	if got, want := s.HistoryDropped(), uint64(13); got != want {
		t.Errorf("%d lines dropped, want %d", got, want)
	}
	if got, want := strings.Join(s.HistoryText(0, 99), "/"), "line 13/line 14/line 15/line 16/line 17"; got != want {
		t.Errorf("history %s, want %s", got, want)
	}
	if got, want := strings.Join(s.HistoryText(1, 3), "/"), "line 14/line 15"; got != want {
		t.Errorf("part of the history %s, want %s", got, want)
	}
	s.Write([]byte("\x1b[3J"))
	if got := s.HistoryLen(); got != 0 {
		t.Errorf("%d lines after ED 3", got)
	}
	if got, want := s.HistoryDropped(), uint64(18); got != want {
		t.Errorf("%d lines dropped after ED 3, want %d", got, want)
	}
}

// Only lines that leave the top of the main screen's full width are history.
func TestWhatBecomesHistory(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     int
	}{
		{"line feed", "\x1b[5;1H\n\n", 2},
		{"SU", "\x1b[2S", 2},
		{"region at the top", "\x1b[1;3r\x1b[3;1H\n", 1},
		{"region below the top", "\x1b[2;3r\x1b[3;1H\n", 0},
		{"DL at the top", "\x1b[M", 0},
		{"alternate screen", "\x1b[?1049h\x1b[5;1H\n", 0},
		{"side margins", "\x1b[?69h\x1b[2;5s\x1b[5;2H\n", 0},
	} {
		if got := draw(c.in).HistoryLen(); got != c.want {
			t.Errorf("%s: %d lines, want %d", c.name, got, c.want)
		}
	}
}

func TestHistoryCells(t *testing.T) {
	s := New(Options{Cols: 10, Rows: 1, History: 5})
	s.Write([]byte("a\x1b[31m日e\u0301\x1b]8;;http://x\x07L\x1b]8;;\x07\x1b[0m  \r\n"))
	red := Style{FG: PaletteColor(1)}
	link := Style{FG: PaletteColor(1), Link: "http://x"}
	want := []Cell{{"a", 1, Style{}}, {"日", 2, red}, {"", 0, red}, {"e\u0301", 1, red}, {"L", 1, link}}
	got := s.AppendHistory(nil, 0)
	if len(got) != len(want) {
		t.Fatalf("%d cells, want %d: %+v", len(got), len(want), got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("cell %d: %+v, want %+v", i, got[i], want[i])
		}
	}
}

func TestGenerations(t *testing.T) {
	s := draw("a\r\nb")
	g := s.Generation()
	for _, in := range []string{"", "\x1b[c", "\x1b]2;title\x07", "\x1b[1m", "\x1b[?2004h"} {
		s.Write([]byte(in))
		if s.Generation() != g {
			t.Errorf("%q changed the picture", in)
			g = s.Generation()
		}
	}
	for _, in := range []string{"x", "\x1b[2;1H", "\x1b[2K", "\x1b[?25l", "\x1b[4 q", "\x1b[?1049h", "\x1b[?5h"} {
		s.Write([]byte(in))
		if s.Generation() == g {
			t.Errorf("%q did not change the picture", in)
		}
		g = s.Generation()
	}
	s = draw("a\r\nb\r\nc\r\nd\r\ne")
	g = s.Generation()
	s.Write([]byte("\x1b[2;2Hx"))
	for y := range Row(5) {
		if got, want := s.RowGeneration(y) > g, y == 1; got != want {
			t.Errorf("row %d changed: %v, want %v", y, got, want)
		}
	}
	g = s.Generation()
	s.Write([]byte("\x1b[5;1H\n"))
	for y := range Row(5) {
		if s.RowGeneration(y) <= g {
			t.Errorf("row %d did not change by scrolling", y)
		}
	}
}
