package vt

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Each case: what is written to 10x5 cells and the answers, in order.
func TestAnswers(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"DA1", "\x1b[c", "\x1b[?64;6;21;22;28;52c"},
		{"DA1 zero", "\x1b[0c", "\x1b[?64;6;21;22;28;52c"},
		{"DA1 other", "\x1b[1c", ""},
		{"DECID", "\x1bZ", "\x1b[?64;6;21;22;28;52c"},
		{"DA2", "\x1b[>c", "\x1b[>1;10;0c"},
		{"DA3", "\x1b[=c", "\x1bP!|00000000\x1b\\"},
		{"XTVERSION", "\x1b[>q", "\x1bP>|termio 1.2\x1b\\"},
		{"DSR", "\x1b[5n", "\x1b[0n"},
		{"CPR", "ab\r\nc\x1b[6n", "\x1b[2;2R"},
		{"CPR with a pending wrap", "0123456789\x1b[6n", "\x1b[1;10R"},
		{"CPR in origin mode", "\x1b[2;4r\x1b[?6h\x1b[2;1H\x1b[6n", "\x1b[2;1R"},
		{"DECXCPR", "\x1b[?6n", "\x1b[?1;1;1R"},
		{"colour scheme", "\x1b[?996n", "\x1b[?997;1n"},
		{"colour scheme after OSC 11", "\x1b]11;#fff\x07\x1b[?996n", "\x1b[?997;2n"},
		{"DECRQM unknown", "\x1b[?9999$p", "\x1b[?9999;0$y"},
		{"DECRQM set", "\x1b[?2004h\x1b[?2004$p", "\x1b[?2004;1$y"},
		{"DECRQM reset", "\x1b[?2026$p", "\x1b[?2026;2$y"},
		{"DECRQM clusters", "\x1b[?2027$p", "\x1b[?2027;1$y"},
		{"DECRQM alternate screen", "\x1b[?1049h\x1b[?1049$p\x1b[?47$p", "\x1b[?1049;1$y\x1b[?47;1$y"},
		{"DECRQM ANSI", "\x1b[4h\x1b[4$p\x1b[20$p\x1b[99$p", "\x1b[4;1$y\x1b[20;2$y\x1b[99;0$y"},
		{"mouse modes exclude each other", "\x1b[?1000h\x1b[?1003h\x1b[?1000$p\x1b[?1003$p", "\x1b[?1000;2$y\x1b[?1003;1$y"},
		{"XTSAVE XTRESTORE", "\x1b[?2004h\x1b[?2004s\x1b[?2004l\x1b[?2004r\x1b[?2004$p", "\x1b[?2004;1$y"},
		{"DECRQSS pen", "\x1b[1;4:3;38;2;1;2;3m\x1bP$qm\x1b\\", "\x1bP1$r0;1;4:3;38;2;1;2;3m\x1b\\"},
		{"DECRQSS margins", "\x1b[2;4r\x1bP$qr\x1b\\", "\x1bP1$r2;4r\x1b\\"},
		{"DECRQSS side margins", "\x1b[?69h\x1b[2;4s\x1bP$qs\x1b\\", "\x1bP1$r2;4s\x1b\\"},
		{"DECRQSS cursor", "\x1b[5 q\x1bP$q q\x1b\\", "\x1bP1$r5 q\x1b\\"},
		{"DECRQSS protection", "\x1b[1\"q\x1bP$q\"q\x1b\\", "\x1bP1$r1\"q\x1b\\"},
		{"DECRQSS unknown", "\x1bP$qz\x1b\\", "\x1bP0$r\x1b\\"},
		{"XTGETTCAP", "\x1bP+q544e;1234\x1b\\", "\x1bP1+r544e=787465726d2d323536636f6c6f72\x1b\\\x1bP0+r\x1b\\"},
		{"kitty keyboard", "\x1b[?u", "\x1b[?0u"},
		{"kitty push", "\x1b[>1u\x1b[>5u\x1b[?u", "\x1b[?5u"},
		{"kitty pop", "\x1b[>1u\x1b[>5u\x1b[<u\x1b[?u", "\x1b[?1u"},
		{"kitty pop too many", "\x1b[>1u\x1b[<9u\x1b[?u", "\x1b[?0u"},
		{"kitty set, add, take", "\x1b[=5u\x1b[=8;2u\x1b[=1;3u\x1b[?u", "\x1b[?12u"},
		{"kitty per screen", "\x1b[>1u\x1b[?1049h\x1b[?u\x1b[>2u\x1b[?1049l\x1b[?u", "\x1b[?0u\x1b[?1u"},
		{"modifyOtherKeys", "\x1b[>4;2m\x1b[?4m", "\x1b[>4;2m"},
		{"modifyOtherKeys off", "\x1b[>4;2m\x1b[>4m\x1b[?4m", "\x1b[>4;0m"},
		{"foreground", "\x1b]10;?\x07", "\x1b]10;rgb:e5e5/e5e5/e5e5\x07"},
		{"background", "\x1b]11;?\x1b\\", "\x1b]11;rgb:0000/0000/0000\x1b\\"},
		{"several at once", "\x1b]10;?;?\x1b\\", "\x1b]10;rgb:e5e5/e5e5/e5e5\x1b\\\x1b]11;rgb:0000/0000/0000\x1b\\"},
		{"colour set", "\x1b]12;rgb:12/34/56\x07\x1b]12;?\x07", "\x1b]12;rgb:1212/3434/5656\x07"},
		{"colour reset", "\x1b]12;#123456\x07\x1b]112\x07\x1b]12;?\x07", "\x1b]12;rgb:e5e5/e5e5/e5e5\x07"},
		{"palette", "\x1b]4;1;?;196;?\x07", "\x1b]4;1;rgb:cdcd/0000/0000\x07\x1b]4;196;rgb:ffff/0000/0000\x07"},
		{"palette set and reset", "\x1b]4;1;#fff\x07\x1b]4;1;?\x07\x1b]104;1\x07\x1b]4;1;?\x07", "\x1b]4;1;rgb:ffff/ffff/ffff\x07\x1b]4;1;rgb:cdcd/0000/0000\x07"},
		{"text area in pixels", "\x1b[14t", "\x1b[4;80;80t"},
		{"cell in pixels", "\x1b[16t", "\x1b[6;16;8t"},
		{"text area in cells", "\x1b[18t", "\x1b[8;5;10t"},
		{"titles are not told", "\x1b]2;secret\x07\x1b[21t\x1b[20t", "\x1b]l\x1b\\\x1b]L\x1b\\"},
		{"clipboards are not read", "\x1b]52;c;?\x07", ""},
		{"resize reports", "\x1b[?2048h", "\x1b[48;5;10;80;80t"},
		{"DECREQTPARM", "\x1b[x", "\x1b[2;1;1;128;128;1;0x"},
		{"program status before DA1", "\x1b]7501;?\x1b\\\x1b[c", "\x1b]7501;?\x1b\\\x1b[?64;6;21;22;28;52c"},
		{"program status ended by BEL", "\x1b]7501;?\x07", "\x1b]7501;?\x07"},
		{"program status with a leading zero", "\x1b]07501;?\x07", "\x1b]07501;?\x07"},
		{"kitty graphics", "\x1b_Gi=1,a=q;AAAA\x1b\\\x1b[c", "\x1b[?64;6;21;22;28;52c"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := New(Options{Cols: 10, Rows: 5, ProgramStatus: true, Version: "1.2"})
			s.Write([]byte(c.in))
			if got := string(s.TakeReplies()); got != c.want {
				t.Errorf("%q answered %q, want %q", c.in, got, c.want)
			}
			if got := s.TakeReplies(); len(got) > 0 {
				t.Errorf("%q answered twice", c.in)
			}
		})
	}
}

func TestProgramStatusIsOptional(t *testing.T) {
	s := draw("\x1b]7501;?\x1b\\\x1b[5n")
	if got, want := string(s.TakeReplies()), "\x1b[0n"; got != want {
		t.Errorf("answers %q, want %q", got, want)
	}
}

func TestAnswersAreBounded(t *testing.T) {
	s := New(Options{Cols: 10, Rows: 5})
	in := []byte("\x1b[6n" + strings.Repeat("\x1b[c", 100))
	for range 1000 {
		s.Write(in)
	}
	got := s.TakeReplies()
	if len(got) > maxReplies+64 {
		t.Errorf("%d bytes wait", len(got))
	}
	if !strings.HasPrefix(string(got), "\x1b[1;1R") {
		t.Errorf("the oldest answer went: %.20q", got)
	}
	if !s.RepliesDropped() || s.RepliesDropped() {
		t.Error("dropped answers are not told once")
	}
}

func TestEvents(t *testing.T) {
	for _, c := range []struct {
		in   string
		want []Event
	}{
		{"\x1b]0;both\x07", []Event{{Kind: EventTitle, Text: "both"}, {Kind: EventIconTitle, Text: "both"}}},
		{"\x1b]2;a\x07\x1b]2;a\x07", []Event{{Kind: EventTitle, Text: "a"}}},
		{"\x1b]2;a\x01\xff\u009bb\x07", []Event{{Kind: EventTitle, Text: "a\ufffdb"}}},
		{"\x1b]2;a\x07\x1b[22t\x1b]2;b\x07\x1b[23t", []Event{
			{Kind: EventTitle, Text: "a"}, {Kind: EventTitle, Text: "b"}, {Kind: EventTitle, Text: "a"},
		}},
		{"\x1b]7;file://host/a%20b\x1b\\", []Event{{Kind: EventDir, Text: "file://host/a%20b"}}},
		{"\x1b]9;done\x07", []Event{{Kind: EventNotify, Text: "done"}}},
		{"\x1b]9;4;1;40\x07", []Event{{Kind: EventProgress, Value: 1, Percent: 40}}},
		{"\x1b]9;4;3\x07\x1b]9;4;0;\x07", []Event{{Kind: EventProgress, Value: 3}, {Kind: EventProgress}}},
		{"\x1b]9;4;9;40\x07\x1b]9;1;500\x07", nil},
		{"\x1b]777;notify;T;B;x\x07", []Event{{Kind: EventNotify, Name: "T", Text: "B;x"}}},
		{"\x1b]99;i=1:d=1;hello\x1b\\", []Event{{Kind: EventNotify, Name: "hello"}}},
		{"\x1b]99;i=1:p=body;hello\x1b\\", []Event{{Kind: EventNotify, Text: "hello"}}},
		{"\x1b]133;A\x07\x1b]133;D;1\x07\x1b]133;D\x07", []Event{
			{Kind: EventPrompt, Name: "A"}, {Kind: EventPrompt, Name: "D", Text: "1", Value: 1, HasExit: true}, {Kind: EventPrompt, Name: "D"},
		}},
		{"\x1b]7501;state=working:app=demo\x1b\\", []Event{{Kind: EventStatus, Text: "state=working:app=demo"}}},
		{"\x1b]52;c;aGVsbG8=\x07\x1b]52;c;?\x07", []Event{{Kind: EventClipboard, Name: "c", Text: "aGVsbG8="}}},
		{"\a\a\a", []Event{{Kind: EventBell, Value: 3}}},
		{"\x1bc", []Event{{Kind: EventReset}}},
		{"\x1b]9999;x\x07\x1b]x\x07\x1b];\x07\x1b]\x07", nil},
	} {
		s := draw(c.in)
		if diff := cmp.Diff(c.want, s.TakeEvents(nil)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", c.in, diff)
		}
		if again := s.TakeEvents(nil); again != nil {
			t.Errorf("%q: events came twice", c.in)
		}
	}
}

func TestEventsAreBounded(t *testing.T) {
	s := New(Options{Cols: 10, Rows: 5})
	for i := range 1000 {
		fmt.Fprintf(s, "\x1b]2;t%d\x07", i)
	}
	got := s.TakeEvents(nil)
	if len(got) != maxEvents || got[len(got)-1].Text != "t999" {
		t.Errorf("%d events, the last %+v", len(got), got[len(got)-1])
	}
}

func TestTitlesAndDirectory(t *testing.T) {
	s := draw("\x1b]2;win\x07\x1b]1;icon\x07\x1b]7;file:///x\x07")
	if s.Title() != "win" || s.IconTitle() != "icon" || s.Dir() != "file:///x" {
		t.Errorf("title %q, icon %q, directory %q", s.Title(), s.IconTitle(), s.Dir())
	}
	s.Write([]byte("\x1b]2;" + strings.Repeat("é", 5000) + "\x07"))
	if n := len(s.Title()); n > maxTitle || n < maxTitle-1 {
		t.Errorf("title of %d bytes", n)
	}
	for range 100 {
		s.Write([]byte("\x1b[22t"))
	}
	if n := len(s.titles.stack); n != maxTitles {
		t.Errorf("%d titles on the stack", n)
	}
}

// A string past its bound is read to its end and does nothing, and what
// follows is drawn.
func TestLongStrings(t *testing.T) {
	for _, start := range []string{"\x1b]2;", "\x1b]52;c;", "\x1bP$q", "\x1b_G", "\x1bX"} {
		s := draw(start)
		chunk := []byte(strings.Repeat("A", 100_000))
		for range 15 {
			s.Write(chunk)
		}
		if n := cap(s.parser.str); n > 2*maxString {
			t.Errorf("%q: %d bytes held", start, n)
		}
		s.Write([]byte("\x1b\\ok"))
		if got := picture(s); got != "ok" {
			t.Errorf("%q: picture %q", start, got)
		}
		if got := s.TakeEvents(nil); got != nil {
			t.Errorf("%q: events %+v", start, got)
		}
		if n := cap(s.parser.str); n > pageBytes {
			t.Errorf("%q: %d bytes kept", start, n)
		}
	}
}

// Queries are dropped from what other terminals see, also when cut, and
// everything else comes through whole.
func TestFilter(t *testing.T) {
	const in = "a\x1b[cb\x1b[1mc\x1b]11;?\x07\x1b[6n\x1b[?2004hd\x1bP$qm\x1b\\日\x1b]7501;?\x1b\\\x1b]2;t\x07e\x05f\x1b[?2048hg\x1b_Ga=q;\x1b\\h\x1b[18t"
	const want = "ab\x1b[1mc\x1b[?2004hd日\x1b]2;t\x07efgh"
	for size := 1; size <= len(in); size++ {
		s := draw("")
		var f Filter
		var got []byte
		for rest := in; len(rest) > 0; {
			n := min(size, len(rest))
			s.Write([]byte(rest[:n]))
			got = f.Append(got, []byte(rest[:n]), s)
			rest = rest[n:]
		}
		if string(got) != want {
			t.Errorf("in pieces of %d: %q, want %q", size, got, want)
		}
	}
}

// What a terminal would answer does not reach one, whether the host answers it or not.
func TestFilterHidesWhatIsAnswered(t *testing.T) {
	for _, query := range []string{
		"\x05", "\x1bZ", "\x1b[c", "\x1b[0c", "\x1b[>c", "\x1b[>0c", "\x1b[=c", "\x1b[>q", "\x1b[>0q",
		"\x1b[5n", "\x1b[6n", "\x1b[8n", "\x1b[?6n", "\x1b[?15n", "\x1b[?26n", "\x1b[?53n", "\x1b[?996n", "\x1b[?2n",
		"\x1b[?2026$p", "\x1b[4$p", "\x1b[?9999$p", "\x1b[?u", "\x1b[?4m", "\x1b[?1;1;0S", "\x1b[x", "\x1b[1x",
		"\x1b[11t", "\x1b[13t", "\x1b[14t", "\x1b[14;2t", "\x1b[15t", "\x1b[16t", "\x1b[18t", "\x1b[19t", "\x1b[20t", "\x1b[21t",
		"\x1b[1;1;1;1;5;5*y", "\x1b[#R", "\x1b[1;1;1;1#|", "\x1b['|", "\x1b[\"v", "\x1b[1$w", "\x1b[2$u", "\x1b[&u", "\x1b[?2048h",
		"\x1b]4;1;?\x07", "\x1b]5;0;?\x07", "\x1b]10;?\x1b\\", "\x1b]11;?\x07", "\x1b]12;?\x07", "\x1b]17;?\x07", "\x1b]21;foreground=?\x07",
		"\x1b]22;?__current__\x07", "\x1b]50;?\x07", "\x1b]52;c;?\x07", "\x1b]60;?\x07", "\x1b]66;?\x07", "\x1b]99;i=1:p=?;\x1b\\",
		"\x1b]1337;ReportCellSize\x07", "\x1b]1337;RequestCapabilities\x07", "\x1b]7501;?\x1b\\",
		"\x1bP$qm\x1b\\", "\x1bP+q544e\x1b\\", "\x1bP+Qx\x1b\\", "\x1b_Ga=q,i=1;AAAA\x1b\\", "\x1b_Ga=T,f=100;AAAA\x1b\\",
	} {
		s := draw("")
		var f Filter
		in := []byte("a" + query + "b")
		s.Write(in)
		if got := string(f.Append(nil, in, s)); got != "ab" {
			t.Errorf("%q: a terminal gets %q", query, got)
		}
	}
}

// What a program puts on a stack, or saves, stays in its own screen: another terminal gets
// what that comes to, and its own stacks and saved modes are as they were.
func TestFilterLeavesOthersTheirStacks(t *testing.T) {
	const titled = "\x1b]0;mine\x07"
	for in, want := range map[string]string{
		"\x1b[>5ua\x1b[>1ub\x1b[<uc\x1b[<9ud":         "\x1b[=5;1ua\x1b[=1;1ub\x1b[=5;1uc\x1b[=0;1ud",
		"\x1b[<u":                                     "\x1b[=0;1u",
		titled + "\x1b[22;0ta\x1b]2;x\x07\x1b[23;0tb": titled + "a\x1b]2;x\x07\x1b]2;mine\x1b\\\x1b]1;mine\x1b\\b",
		titled + "\x1b[22t\x1b[23;2t":                 titled + "\x1b]2;mine\x1b\\",
		"a\x1b[23tb":                                  "ab",
		"\x1b[?1000h\x1b[?1000;2048sa\x1b[?1000l\x1b[?1000;2048r": "\x1b[?1000ha\x1b[?1000l\x1b[?1000h",
		"\x1b[?2004;2048h":       "\x1b[?2004h",
		"\x1b[?2048;1004;2004ha": "\x1b[?1004;2004ha",
		"a\x1b[?2048;2048hb":     "ab",
		"\x1b[?2004;2048l":       "\x1b[?2004;2048l",
	} {
		for size := 1; size <= len(in); size++ {
			s := draw("")
			var f Filter
			var got []byte
			for rest := in; len(rest) > 0; {
				n := min(size, len(rest))
				s.Write([]byte(rest[:n]))
				got = f.Append(got, []byte(rest[:n]), s)
				rest = rest[n:]
			}
			if string(got) != want {
				t.Errorf("%q in pieces of %d gave %q, want %q", in, size, got, want)
			}
		}
	}
}

// What was held back of an unfinished sequence is given once it can't be a
// query any more.
func TestFilterLetsGo(t *testing.T) {
	s := draw("")
	var f Filter
	var got []byte
	long := "\x1b]52;c;" + strings.Repeat("A", 3*maxHeld) + "\x07x"
	for rest := long; len(rest) > 0; {
		n := min(1000, len(rest))
		s.Write([]byte(rest[:n]))
		got = f.Append(got, []byte(rest[:n]), s)
		rest = rest[n:]
		if n := len(f.held); n > maxHeld {
			t.Fatalf("%d bytes held back", n)
		}
	}
	if string(got) != long {
		t.Error("bytes were lost")
	}
}

// A query that broke off something unfinished leaves a terminator behind, lest
// the pieces around it come together as a query of their own.
func TestFilterKeepsFragmentsApart(t *testing.T) {
	for in, want := range map[string]string{
		"\x1b[\x1b]4;0;?\x07c":   "\x1b[\x1b\\c",
		"\x1bPx\x1b[cabc":        "\x1bPx\x1b\\abc",
		"\xc2\x1b[c\x9bc":        "\xc2\x1b\\\x9bc",
		"\x1b[1;\x1b[6n\x1b[5nn": "\x1b[1;\x1b\\n",
	} {
		s := draw("")
		var f Filter
		s.Write([]byte(in))
		if got := string(f.Append(nil, []byte(in), s)); got != want {
			t.Errorf("%q gave %q, want %q", in, got, want)
		}
	}
}

func TestModes(t *testing.T) {
	s := draw("\x1b[?1h\x1b=\x1b[?2004h\x1b[?1004h\x1b[?1002h\x1b[?1006h\x1b[?2026h\x1b[?2031h\x1b[?25l\x1b[>4;1m\x1b[>3u")
	want := Modes{
		CursorKeys: true, Keypad: true, BracketedPaste: true, Focus: true, Mouse: MouseButton, MouseEncoding: MouseSGR,
		Sync: true, Graphemes: true, ColorScheme: true, Wrap: true, OtherKeys: 1, Kitty: 3,
	}
	if diff := cmp.Diff(want, s.Modes()); diff != "" {
		t.Error(diff)
	}
}
