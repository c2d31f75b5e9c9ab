package tui

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"unicode"

	"termio/internal/vt"
)

// keysOf are keys that every terminal can send in its old form without ambiguity.
func legacyKeys() []vt.Key {
	keys := []vt.Key{
		{Name: vt.KeyEnter},
		{Name: vt.KeyTab},
		{Name: vt.KeyBackspace},
		{Name: vt.KeyTab, Mods: vt.Shift},
		{Name: vt.KeyEnter, Mods: vt.Alt},
		{Name: vt.KeyBackspace, Mods: vt.Alt},
		{Rune: ' ', Mods: vt.Ctrl},
	}
	for r := rune(' '); r < 0x7f; r++ {
		keys = append(keys, vt.Key{Rune: r})
		if r != '[' && r != 'O' && r != ']' && r != 'P' && r != '_' && r != '^' && r != 'X' {
			keys = append(keys, vt.Key{Rune: r, Mods: vt.Alt})
		}
	}
	for _, r := range "é修👍ß" {
		keys = append(keys, vt.Key{Rune: r})
	}
	for r := 'a'; r <= 'z'; r++ {
		if r != 'i' && r != 'm' && r != 'h' { // they are Tab, Return and Backspace
			keys = append(keys, vt.Key{Rune: r, Mods: vt.Ctrl})
		}
	}
	for _, r := range `\]^_` {
		keys = append(keys, vt.Key{Rune: r, Mods: vt.Ctrl})
	}
	return append(keys, namedKeys()...)
}

// namedKeys are the keys with modifiers that have a sequence of their own.
func namedKeys() []vt.Key {
	names := []vt.KeyName{
		vt.KeyUp, vt.KeyDown, vt.KeyLeft, vt.KeyRight, vt.KeyHome, vt.KeyEnd, vt.KeyPageUp, vt.KeyPageDown, vt.KeyInsert, vt.KeyDelete,
	}
	for i := 1; i <= 20; i++ {
		names = append(names, vt.KeyName(fmt.Sprintf("f%d", i)))
	}
	var keys []vt.Key
	for _, n := range names {
		for mods := range vt.Mods(8) {
			keys = append(keys, vt.Key{Name: n, Mods: mods})
		}
	}
	return keys
}

// What a terminal sends for a key is read as that key, in its old form, with
// application cursor keys, and in the kitty protocol; also when it comes in pieces.
func TestKeysAreReadAsTheyWerePressed(t *testing.T) {
	kitty := legacyKeys()
	for _, r := range "aimh[]OP1./" {
		for mods := vt.Mods(1); mods < 8; mods++ {
			if mods&^vt.Shift != 0 {
				kitty = append(kitty, vt.Key{Rune: r, Mods: mods})
			}
		}
	}
	for mods := range vt.Mods(8) {
		kitty = append(kitty, vt.Key{Name: vt.KeyEnter, Mods: mods}, vt.Key{Name: vt.KeyEscape, Mods: mods}, vt.Key{Name: vt.KeyTab, Mods: mods}, vt.Key{Name: vt.KeyBackspace, Mods: mods})
	}
	for _, tt := range []struct {
		name, modes string
		keys        []vt.Key
		kitty       bool
	}{
		{"old", "", legacyKeys(), false},
		{"application cursor keys", "\x1b[?1h", legacyKeys(), false},
		{"kitty", "\x1b[=1;1u", kitty, true},
		{"kitty with alternates", "\x1b[=5;1u", kitty, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := vt.New(vt.Options{Cols: 80, Rows: 24})
			_, _ = s.Write([]byte(tt.modes))
			for _, k := range tt.keys {
				sent := s.AppendKey(nil, k)
				for cut := range sent {
					var d decoder
					got := append(d.feed(sent[:cut]), d.feed(sent[cut:])...)
					got = append(got, d.flush()...)
					want := k
					if tt.kitty && unicode.IsUpper(k.Rune) && k.Mods != 0 { // the protocol names the key, not the letter
						want = vt.Key{Rune: unicode.ToLower(k.Rune), Mods: k.Mods | vt.Shift}
					}
					if len(got) != 1 || got[0] != keyMsg(want) {
						t.Fatalf("%v is sent as %q and read (cut at %d) as %+v", k, sent, cut, got)
					}
				}
			}
		})
	}
}

func TestDecode(t *testing.T) {
	key := func(r rune) keyMsg { return keyMsg{Rune: r} }
	tests := []struct {
		name, in string
		want     []any
	}{
		{"text", "a修", []any{key('a'), key('修')}},
		{"an input method commits", "你好", []any{key('你'), key('好')}},
		{"escape alone", "\x1b", []any{keyMsg{Name: vt.KeyEscape}}},
		{"escape twice", "\x1b\x1b", []any{keyMsg{Name: vt.KeyEscape}, keyMsg{Name: vt.KeyEscape}}},
		{"alt and a bracket", "\x1b[", []any{keyMsg{Rune: '[', Mods: vt.Alt}}},
		{"alt and a bracket, then a letter that ends no sequence", "\x1b[\x01", []any{keyMsg{Rune: '[', Mods: vt.Alt}, keyMsg{Rune: 'a', Mods: vt.Ctrl}}},
		{"paste", "\x1b[200~a\x1b[31m\r\n修\x1b[201~b", []any{pasteMsg("a\x1b[31m\r\n修"), key('b')}},
		{"empty paste", "\x1b[200~\x1b[201~", []any{pasteMsg("")}},
		{"mouse", "\x1b[<0;3;4M\x1b[<0;3;4m\x1b[<35;80;24M\x1b[<64;1;1M\x1b[<16;1;2M", []any{
			mouseMsg{X: 2, Y: 3},
			mouseMsg{Action: vt.MouseRelease, X: 2, Y: 3},
			mouseMsg{Action: vt.MouseMove, Button: vt.ButtonNone, X: 79, Y: 23},
			mouseMsg{Button: vt.ButtonWheelUp},
			mouseMsg{Mods: vt.Ctrl, Y: 1},
		}},
		{"focus", "\x1b[I\x1b[O", []any{focusMsg(true), focusMsg(false)}},
		{"the background", "\x1b]11;rgb:ffff/8080/0000\x1b\\\x1b]11;rgb:ff/80/00\x07", []any{colorMsg{255, 128, 0}, colorMsg{255, 128, 0}}},
		{"dark and light", "\x1b[?997;1n\x1b[?997;2n", []any{schemeMsg{true}, schemeMsg{false}}},
		{"answers", "\x1b[?62c\x1b[?1u", []any{otherMsg("\x1b[?62c"), otherMsg("\x1b[?1u")}},
		{"a key let go", "\x1b[97;1:3ua", []any{key('a')}},
		{"a repeat", "\x1b[97;5:2u", []any{keyMsg{Rune: 'a', Mods: vt.Ctrl}}},
		{"a chord on another layout", "\x1b[1089::99;5u", []any{keyMsg{Rune: 'c', Mods: vt.Ctrl}}},
		{"shift gives another letter", "\x1b[97:65;2u", []any{key('A')}},
		{"locks are no modifiers", "\x1b[97;69u", []any{keyMsg{Rune: 'a', Mods: vt.Ctrl}}},
		{"a modifier alone", "\x1b[57441;2u", []any{otherMsg("\x1b[57441;2u")}},
		{"modifyOtherKeys", "\x1b[27;5;105~", []any{keyMsg{Rune: 'i', Mods: vt.Ctrl}}},
		{"keypad", "\x1bOp\x1b[57400u\x1bOM", []any{keyMsg{Name: "kp0"}, keyMsg{Name: "kp1"}, keyMsg{Name: "kpenter"}}},
		{"a broken character", "\xffa", []any{key('\ufffd'), key('a')}},
		{"an unknown sequence", "\x1b[1;2;3$wa", []any{otherMsg("\x1b[1;2;3$w"), key('a')}},
	}
	for _, tt := range tests {
		for cut := range len(tt.in) + 1 {
			var d decoder
			got := append(d.feed([]byte(tt.in[:cut])), d.feed([]byte(tt.in[cut:]))...)
			if got = append(got, d.flush()...); !slices.Equal(got, tt.want) {
				t.Errorf("%s: %q (cut at %d) is read as %+v, want %+v", tt.name, tt.in, cut, got, tt.want)
			}
		}
	}
}

// No input makes the decoder panic, grow or keep what it was given for ever; the pieces
// in which it comes do not matter.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{"\x1b[200~abc\x1b[201~", "\x1b[<0;1;1M", "\x1b]11;rgb:1/2/3\x07", "\x1b[97:65:99;5:1;97u", "\x1b\x1b[A", "\xe4\xbf", "\x1b[M!!"} {
		f.Add([]byte(s), 3)
	}
	f.Fuzz(func(t *testing.T, in []byte, cut int) {
		whole := decodeAll(in)
		cut = min(max(cut, 0), len(in))
		if got := decodeAll(in[:cut], in[cut:]); !slices.Equal(got, whole) {
			t.Errorf("%q is read as %+v, cut at %d as %+v", in, whole, cut, got)
		}
		var d decoder
		d.feed(bytes.Repeat(in, 3))
		if len(d.pending) > maxSequence {
			t.Errorf("%d bytes are kept", len(d.pending))
		}
		for range maxSequence {
			if !d.waiting() {
				return
			}
			d.flush()
		}
		t.Error("something is waited for that never comes")
	})
}

func decodeAll(pieces ...[]byte) []any {
	var d decoder
	var all []any
	for _, p := range pieces {
		all = append(all, d.feed(p)...)
	}
	for d.waiting() {
		all = append(all, d.flush()...)
	}
	return all
}
