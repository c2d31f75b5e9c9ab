package vt

import (
	"strings"
	"testing"
)

func TestParseKey(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"enter", "enter"},
		{"Return", "enter"},
		{"cr", "enter"},
		{"escape", "escape"},
		{"Esc", "escape"},
		{"tab", "tab"},
		{"btab", "shift-tab"},
		{"backtab", "shift-tab"},
		{"BTab", "shift-tab"},
		{"S-Tab", "shift-tab"},
		{"space", "space"},
		{" ", "space"},
		{"backspace", "backspace"},
		{"bspace", "backspace"},
		{"bs", "backspace"},
		{"delete", "delete"},
		{"del", "delete"},
		{"DC", "delete"},
		{"insert", "insert"},
		{"IC", "insert"},
		{"up", "up"},
		{"Down", "down"},
		{"LEFT", "left"},
		{"right", "right"},
		{"home", "home"},
		{"end", "end"},
		{"pageup", "pageup"},
		{"pgup", "pageup"},
		{"PPage", "pageup"},
		{"page_up", "pageup"},
		{"pagedown", "pagedown"},
		{"pgdn", "pagedown"},
		{"NPage", "pagedown"},
		{"f1", "f1"},
		{"F12", "f12"},
		{"f20", "f20"},
		{"kp5", "kp5"},
		{"KPEnter", "kpenter"},
		{"a", "a"},
		{"A", "A"},
		{"é", "é"},
		{"日", "日"},
		{"-", "-"},
		{"+", "+"},
		{"^", "^"},
		{"C-c", "ctrl-c"},
		{"ctrl+C", "ctrl-c"},
		{"Ctrl-C", "ctrl-c"},
		{"^D", "ctrl-d"},
		{"M-x", "alt-x"},
		{"alt+x", "alt-x"},
		{"opt-X", "alt-X"},
		{"c-m-s-up", "ctrl-alt-shift-up"},
		{"ctrl+shift+alt+f5", "ctrl-alt-shift-f5"},
		{"C--", "ctrl--"},
		{"ctrl++", "ctrl-+"},
		{"C-Space", "ctrl-space"},
		{"cmd-k", "super-k"},
	} {
		k, err := ParseKey(c.in)
		if err != nil {
			t.Errorf("%q: %v", c.in, err)
			continue
		}
		if got := k.String(); got != c.want {
			t.Errorf("%q is %q, want %q", c.in, got, c.want)
		}
	}
	for _, in := range []string{"", "f21", "enterr", "ctrl-", "C-foo", "\x1b", "\x00", "ab", "ctrl-\x1b", "\xff"} {
		if k, err := ParseKey(in); err == nil {
			t.Errorf("%q is taken for %q", in, k)
		} else if !strings.Contains(err.Error(), "enter") {
			t.Errorf("%q: the error %q names no key that there is", in, err)
		}
	}
}

// Each case: what a program wrote, a key, and what the key sends.
func TestKeys(t *testing.T) {
	const (
		app    = "\x1b[?1h"
		other1 = "\x1b[>4;1m"
		other2 = "\x1b[>4;2m"
		dis    = "\x1b[>1u"
		alt    = "\x1b[>5u"
		all    = "\x1b[>9u"
		text   = "\x1b[>25u"
	)
	for _, c := range []struct{ in, key, want string }{
		// As terminals always did (xterm, PC style).
		{"", "a", "a"},
		{"", "A", "A"},
		{"", "é", "é"},
		{"", "shift-a", "A"},
		{"", "C-a", "\x01"},
		{"", "C-z", "\x1a"},
		{"", "C-[", "\x1b"},
		{"", "C-\\", "\x1c"},
		{"", "C-]", "\x1d"},
		{"", "C-^", "\x1e"},
		{"", "C-_", "\x1f"},
		{"", "C-/", "\x1f"},
		{"", "C-?", "\x7f"},
		{"", "C-@", "\x00"},
		{"", "C-space", "\x00"},
		{"", "C-2", "\x00"},
		{"", "C-3", "\x1b"},
		{"", "C-8", "\x7f"},
		{"", "C-1", "1"},
		{"", "C-é", "é"},
		{"", "M-x", "\x1bx"},
		{"", "M-X", "\x1bX"},
		{"", "C-M-a", "\x1b\x01"},
		{"", "M-space", "\x1b "},
		{"", "enter", "\r"},
		{"", "M-enter", "\x1b\r"},
		{"", "S-enter", "\r"},
		{"\x1b[20h", "enter", "\r\n"},
		{"", "tab", "\t"},
		{"", "btab", "\x1b[Z"},
		{"", "M-tab", "\x1b\t"},
		{"", "escape", "\x1b"},
		{"", "M-escape", "\x1b\x1b"},
		{"", "backspace", "\x7f"},
		{"", "C-backspace", "\x08"},
		{"", "M-backspace", "\x1b\x7f"},
		{"\x1b[?67h", "backspace", "\x08"},
		{"", "up", "\x1b[A"},
		{app, "up", "\x1bOA"},
		{"", "C-up", "\x1b[1;5A"},
		{app, "C-up", "\x1b[1;5A"},
		{"", "S-M-left", "\x1b[1;4D"},
		{"", "home", "\x1b[H"},
		{app, "end", "\x1bOF"},
		{"", "insert", "\x1b[2~"},
		{"", "delete", "\x1b[3~"},
		{"", "pageup", "\x1b[5~"},
		{"", "C-pagedown", "\x1b[6;5~"},
		{"", "f1", "\x1bOP"},
		{"", "f4", "\x1bOS"},
		{"", "S-f1", "\x1b[1;2P"},
		{"", "f5", "\x1b[15~"},
		{"", "f12", "\x1b[24~"},
		{"", "C-f12", "\x1b[24;5~"},
		{"", "f20", "\x1b[34~"},
		{"", "kp5", "5"},
		{"\x1b=", "kp5", "\x1bOu"},
		{"", "kpenter", "\r"},
		{"\x1b=", "kpenter", "\x1bOM"},
		{"\x1b=\x1b>", "kpadd", "+"},

		// modifyOtherKeys (xterm).
		{other1, "C-a", "\x01"},
		{other1, "C-1", "\x1b[27;5;49~"},
		{other1, "C-enter", "\x1b[27;5;13~"},
		{other1, "C-tab", "\x1b[27;5;9~"},
		{other1, "S-enter", "\x1b[27;2;13~"},
		{other1, "M-x", "\x1bx"},
		{other1, "C-S-a", "\x1b[27;6;65~"},
		{other1, "S-a", "A"},
		{other2, "C-a", "\x1b[27;5;97~"},
		{other2, "M-x", "\x1b[27;3;120~"},
		{other2, "S-a", "A"},
		{other2, "a", "a"},
		{other2, "C-up", "\x1b[1;5A"},
		{other2, "btab", "\x1b[Z"},
		{other2, "enter", "\r"},
		{other2, "S-space", "\x1b[27;2;32~"},

		// kitty, disambiguate.
		{dis, "a", "a"},
		{dis, "A", "A"},
		{dis, "enter", "\r"},
		{dis, "tab", "\t"},
		{dis, "backspace", "\x7f"},
		{dis, "escape", "\x1b[27u"},
		{dis, "C-a", "\x1b[97;5u"},
		{dis, "C-S-a", "\x1b[97;6u"},
		{dis, "M-x", "\x1b[120;3u"},
		{dis, "M-X", "\x1b[120;4u"},
		{dis, "S-enter", "\x1b[13;2u"},
		{dis, "C-backspace", "\x1b[127;5u"},
		{dis, "btab", "\x1b[9;2u"},
		{dis, "C-space", "\x1b[32;5u"},
		{dis, "up", "\x1b[A"},
		{dis + app, "up", "\x1b[A"},
		{dis, "C-up", "\x1b[1;5A"},
		{dis, "delete", "\x1b[3~"},
		{dis, "S-delete", "\x1b[3;2~"},
		{dis, "f1", "\x1b[P"},
		{dis, "f3", "\x1b[13~"},
		{dis, "C-f3", "\x1b[13;5~"},
		{dis, "f13", "\x1b[57376u"},
		{dis, "super-a", "\x1b[97;9u"},
		{dis, "kp5", "5"},
		{dis, "C-kp5", "\x1b[57404;5u"},
		// kitty, more flags.
		{alt, "C-S-a", "\x1b[97:65;6u"},
		{alt, "C-a", "\x1b[97;5u"},
		{all, "a", "\x1b[97u"},
		{all, "A", "\x1b[97;2u"},
		{all, "enter", "\x1b[13u"},
		{all, "backspace", "\x1b[127u"},
		{all, "escape", "\x1b[27u"},
		{all, "kp5", "\x1b[57404u"},
		{text, "a", "\x1b[97;;97u"},
		{text, "A", "\x1b[97;2;65u"},
		{text, "C-a", "\x1b[97;5u"},
		// The kitty flags win over modifyOtherKeys, and are per screen.
		{other2 + dis, "C-a", "\x1b[97;5u"},
		{dis + "\x1b[?1049h", "C-a", "\x01"},
		{"\x1b[>2u", "C-a", "\x01"},
	} {
		k, err := ParseKey(c.key)
		if err != nil {
			t.Errorf("%s: %v", c.key, err)
			continue
		}
		if got := string(draw(c.in).AppendKey(nil, k)); got != c.want {
			t.Errorf("after %q, %s sends %q, want %q", c.in, c.key, got, c.want)
		}
	}
	if got := draw("").AppendKey(nil, Key{Name: "nosuch"}); len(got) > 0 {
		t.Errorf("an unknown key sends %q", got)
	}
}

func TestPaste(t *testing.T) {
	const on = "\x1b[?2004h"
	for _, c := range []struct{ in, text, want string }{
		{"", "hello", "hello"},
		{"", "a\nb\r\nc\rd", "a\rb\rc\rd"},
		{on, "a", "\x1b[200~a\x1b[201~"},
		{on, "a\nb\r\nc\td", "\x1b[200~a\nb\nc\td\x1b[201~"},
		{on, "x\x1b[201~rm -rf\r", "\x1b[200~x[201~rm -rf\n\x1b[201~"},
		{on, "\u009b201~x", "\x1b[200~201~x\x1b[201~"},
		{"", "a\x00\x03\x7f\x1bb", "ab"},
		{"", "a\xffb", "a\ufffdb"},
		{on, "", "\x1b[200~\x1b[201~"},
	} {
		if got := string(draw(c.in).AppendPaste(nil, c.text)); got != c.want {
			t.Errorf("after %q, %q is pasted as %q, want %q", c.in, c.text, got, c.want)
		}
	}
}

func TestMouse(t *testing.T) {
	press := Mouse{Action: MousePress, Button: ButtonLeft, X: 1, Y: 2, PX: 9, PY: 33}
	release := Mouse{Action: MouseRelease, Button: ButtonLeft, X: 1, Y: 2}
	drag := Mouse{Action: MouseMove, Button: ButtonLeft, X: 1, Y: 2}
	move := Mouse{Action: MouseMove, Button: ButtonNone, X: 1, Y: 2}
	wheel := Mouse{Action: MousePress, Button: ButtonWheelUp, X: 1, Y: 2}
	chord := Mouse{Action: MousePress, Button: ButtonRight, X: 1, Y: 2, Mods: Ctrl | Shift}
	for _, c := range []struct {
		in   string
		e    Mouse
		want string
	}{
		{"", press, ""},
		{"\x1b[?9h", press, "\x1b[M \"#"},
		{"\x1b[?9h", release, ""},
		{"\x1b[?9h", wheel, ""},
		{"\x1b[?9h", chord, "\x1b[M\"\"#"},
		{"\x1b[?1000h", press, "\x1b[M \"#"},
		{"\x1b[?1000h", release, "\x1b[M#\"#"},
		{"\x1b[?1000h", drag, ""},
		{"\x1b[?1000h", chord, "\x1b[M6\"#"},
		{"\x1b[?1000h", Mouse{Action: MouseRelease, Button: ButtonBack, X: 1, Y: 2}, "\x1b[M#\"#"},
		{"\x1b[?1000h", wheel, "\x1b[M`\"#"},
		{"\x1b[?1002h", drag, "\x1b[M@\"#"},
		{"\x1b[?1002h", move, ""},
		{"\x1b[?1003h", move, "\x1b[MC\"#"},
		{"\x1b[?1000h\x1b[?1006h", press, "\x1b[<0;2;3M"},
		{"\x1b[?1000h\x1b[?1006h", release, "\x1b[<0;2;3m"},
		{"\x1b[?1000h\x1b[?1006h", wheel, "\x1b[<64;2;3M"},
		{"\x1b[?1003h\x1b[?1006h", move, "\x1b[<35;2;3M"},
		{"\x1b[?1002h\x1b[?1006h", drag, "\x1b[<32;2;3M"},
		{"\x1b[?1000h\x1b[?1016h", press, "\x1b[<0;10;34M"},
		{"\x1b[?1000h\x1b[?1015h", press, "\x1b[32;2;3M"},
		{"\x1b[?1000h\x1b[?1005h", press, "\x1b[M \"#"},
		{"\x1b[?1000h\x1b[?1000l", press, ""},
		{"\x1b[?1000h", Mouse{X: 10, Y: 0}, ""},
		{"\x1b[?1000h", Mouse{X: -1}, ""},
		{"\x1b[?1007h\x1b[?1049h", wheel, "\x1b[A\x1b[A\x1b[A"},
		{"\x1b[?1007h", wheel, ""},
		{"\x1b[?1007h\x1b[?1049h\x1b[?1h", wheel, "\x1bOA\x1bOA\x1bOA"},
	} {
		if got := string(draw(c.in).AppendMouse(nil, c.e)); got != c.want {
			t.Errorf("after %q, %+v sends %q, want %q", c.in, c.e, got, c.want)
		}
	}
	wide := New(Options{Cols: 500, Rows: 5})
	far := Mouse{X: 400, Y: 0}
	wide.Write([]byte("\x1b[?1000h"))
	if got := wide.AppendMouse(nil, far); len(got) > 0 {
		t.Errorf("column 400 in one byte: %q", got)
	}
	wide.Write([]byte("\x1b[?1005h"))
	if got, want := string(wide.AppendMouse(nil, far)), "\x1b[M \u01b1!"; got != want {
		t.Errorf("column 400 in UTF-8: %q, want %q", got, want)
	}
}

func TestFocus(t *testing.T) {
	s := draw("")
	if got := s.AppendFocus(nil, true); len(got) > 0 {
		t.Errorf("sends %q unasked", got)
	}
	s.Write([]byte("\x1b[?1004h"))
	if got := string(s.AppendFocus(s.AppendFocus(nil, true), false)); got != "\x1b[I\x1b[O" {
		t.Errorf("sends %q", got)
	}
}
