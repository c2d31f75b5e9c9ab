package vt

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Mods are the modifiers held with a key, in the bits of the kitty protocol.
type Mods uint8

// The modifiers.
const (
	Shift Mods = 1 << iota
	Alt
	Ctrl
	Super
	Hyper
	Meta
)

// KeyName names a key that is no character.
type KeyName string

// The named keys. Function keys are "f1" to "f20", those of the keypad "kp0"
// to "kp9" and the kp names below.
const (
	KeyEnter     KeyName = "enter"
	KeyEscape    KeyName = "escape"
	KeyTab       KeyName = "tab"
	KeyBackspace KeyName = "backspace"
	KeyDelete    KeyName = "delete"
	KeyInsert    KeyName = "insert"
	KeyUp        KeyName = "up"
	KeyDown      KeyName = "down"
	KeyLeft      KeyName = "left"
	KeyRight     KeyName = "right"
	KeyHome      KeyName = "home"
	KeyEnd       KeyName = "end"
	KeyPageUp    KeyName = "pageup"
	KeyPageDown  KeyName = "pagedown"
)

// Key is one key press: a character or a named key, with modifiers.
type Key struct {
	Rune rune    // the character, 0 for a named key
	Name KeyName // empty for a character
	Mods Mods
}

// keyCode is how a named key is written: final 'u' sends code as CSI code u,
// '~' as CSI code ~, a letter as CSI letter. kitty is the code in the kitty
// protocol where it differs, keypad the SS3 letter of application keypad mode
// and text what a keypad key types.
type keyCode struct {
	code   int
	final  byte
	kitty  int
	keypad byte
	text   byte
}

// keyCodes follow the tables of xterm's ctlseqs ("PC-Style Function Keys",
// "VT220-Style Function Keys") and of the kitty keyboard protocol ("Functional
// key definitions").
var keyCodes = [...]struct {
	name KeyName
	keyCode
}{
	{KeyEnter, keyCode{code: 13, final: 'u'}},
	{KeyEscape, keyCode{code: 27, final: 'u'}},
	{KeyTab, keyCode{code: 9, final: 'u'}},
	{KeyBackspace, keyCode{code: 127, final: 'u'}},
	{KeyInsert, keyCode{code: 2, final: '~'}},
	{KeyDelete, keyCode{code: 3, final: '~'}},
	{KeyPageUp, keyCode{code: 5, final: '~'}},
	{KeyPageDown, keyCode{code: 6, final: '~'}},
	{KeyUp, keyCode{final: 'A'}},
	{KeyDown, keyCode{final: 'B'}},
	{KeyRight, keyCode{final: 'C'}},
	{KeyLeft, keyCode{final: 'D'}},
	{KeyHome, keyCode{final: 'H'}},
	{KeyEnd, keyCode{final: 'F'}},
	{"f1", keyCode{final: 'P'}},
	{"f2", keyCode{final: 'Q'}},
	{"f3", keyCode{final: 'R', kitty: 13}},
	{"f4", keyCode{final: 'S'}},
	{"f5", keyCode{code: 15, final: '~'}},
	{"f6", keyCode{code: 17, final: '~'}},
	{"f7", keyCode{code: 18, final: '~'}},
	{"f8", keyCode{code: 19, final: '~'}},
	{"f9", keyCode{code: 20, final: '~'}},
	{"f10", keyCode{code: 21, final: '~'}},
	{"f11", keyCode{code: 23, final: '~'}},
	{"f12", keyCode{code: 24, final: '~'}},
	{"f13", keyCode{code: 25, final: '~', kitty: 57376}},
	{"f14", keyCode{code: 26, final: '~', kitty: 57377}},
	{"f15", keyCode{code: 28, final: '~', kitty: 57378}},
	{"f16", keyCode{code: 29, final: '~', kitty: 57379}},
	{"f17", keyCode{code: 31, final: '~', kitty: 57380}},
	{"f18", keyCode{code: 32, final: '~', kitty: 57381}},
	{"f19", keyCode{code: 33, final: '~', kitty: 57382}},
	{"f20", keyCode{code: 34, final: '~', kitty: 57383}},
	{"kp0", keyCode{kitty: 57399, keypad: 'p', text: '0'}},
	{"kp1", keyCode{kitty: 57400, keypad: 'q', text: '1'}},
	{"kp2", keyCode{kitty: 57401, keypad: 'r', text: '2'}},
	{"kp3", keyCode{kitty: 57402, keypad: 's', text: '3'}},
	{"kp4", keyCode{kitty: 57403, keypad: 't', text: '4'}},
	{"kp5", keyCode{kitty: 57404, keypad: 'u', text: '5'}},
	{"kp6", keyCode{kitty: 57405, keypad: 'v', text: '6'}},
	{"kp7", keyCode{kitty: 57406, keypad: 'w', text: '7'}},
	{"kp8", keyCode{kitty: 57407, keypad: 'x', text: '8'}},
	{"kp9", keyCode{kitty: 57408, keypad: 'y', text: '9'}},
	{"kpdecimal", keyCode{kitty: 57409, keypad: 'n', text: '.'}},
	{"kpdivide", keyCode{kitty: 57410, keypad: 'o', text: '/'}},
	{"kpmultiply", keyCode{kitty: 57411, keypad: 'j', text: '*'}},
	{"kpsubtract", keyCode{kitty: 57412, keypad: 'm', text: '-'}},
	{"kpadd", keyCode{kitty: 57413, keypad: 'k', text: '+'}},
	{"kpenter", keyCode{kitty: 57414, keypad: 'M', text: '\r'}},
}

// code looks a named key up; the zero keyCode is none.
func (n KeyName) code() keyCode {
	for i := range keyCodes {
		if keyCodes[i].name == n {
			return keyCodes[i].keyCode
		}
	}
	return keyCode{}
}

// keyAliases maps other spellings, those of kitty and tmux among them.
var keyAliases = [...]struct {
	name string
	key  Key
}{
	{"return", Key{Name: KeyEnter}},
	{"cr", Key{Name: KeyEnter}},
	{"esc", Key{Name: KeyEscape}},
	{"btab", Key{Name: KeyTab, Mods: Shift}},
	{"backtab", Key{Name: KeyTab, Mods: Shift}},
	{"space", Key{Rune: ' '}},
	{"spc", Key{Rune: ' '}},
	{"bspace", Key{Name: KeyBackspace}},
	{"bs", Key{Name: KeyBackspace}},
	{"del", Key{Name: KeyDelete}},
	{"dc", Key{Name: KeyDelete}},
	{"ins", Key{Name: KeyInsert}},
	{"ic", Key{Name: KeyInsert}},
	{"page_up", Key{Name: KeyPageUp}},
	{"pgup", Key{Name: KeyPageUp}},
	{"ppage", Key{Name: KeyPageUp}},
	{"prior", Key{Name: KeyPageUp}},
	{"page_down", Key{Name: KeyPageDown}},
	{"pgdn", Key{Name: KeyPageDown}},
	{"pgdown", Key{Name: KeyPageDown}},
	{"npage", Key{Name: KeyPageDown}},
	{"next", Key{Name: KeyPageDown}},
	{"arrowup", Key{Name: KeyUp}},
	{"arrowdown", Key{Name: KeyDown}},
	{"arrowleft", Key{Name: KeyLeft}},
	{"arrowright", Key{Name: KeyRight}},
	{"plus", Key{Rune: '+'}},
	{"minus", Key{Rune: '-'}},
}

// modNames are the prefixes of a chord, with - or + behind them.
var modNames = [...]struct {
	name string
	mod  Mods
}{
	{"ctrl", Ctrl},
	{"control", Ctrl},
	{"c", Ctrl},
	{"alt", Alt},
	{"opt", Alt},
	{"option", Alt},
	{"m", Alt},
	{"meta", Alt},
	{"shift", Shift},
	{"s", Shift},
	{"super", Super},
	{"cmd", Super},
	{"command", Super},
	{"hyper", Hyper},
}

// ParseKey reads the name of a key: a character, a name in the spelling of
// kitty or tmux, and prefixes for modifiers with - or +, in any case:
// "enter", "C-c", "ctrl+shift+up", "M-x", "BTab", "^D". Control with a letter
// means the small one.
func ParseKey(name string) (Key, error) {
	rest, mods := name, Mods(0)
	for {
		if r, n := utf8.DecodeRuneInString(rest); n > 0 && n == len(rest) {
			if r == utf8.RuneError || !unicode.IsPrint(r) {
				break
			}
			k := Key{Rune: r, Mods: mods}
			if mods&Ctrl != 0 {
				k.Rune = unicode.ToLower(r)
			}
			return k, nil
		}
		low := strings.ToLower(rest)
		if k, ok := namedKey(low); ok {
			k.Mods |= mods
			return k, nil
		}
		mod, tail := cutMod(rest, low)
		if mod == 0 {
			break
		}
		mods |= mod
		rest = tail
	}
	return Key{}, fmt.Errorf("unknown key %q; keys are characters or names like enter, escape, tab, space, backspace, up, pageup, f1, with ctrl-, alt- or shift- before them", name)
}

func namedKey(low string) (Key, bool) {
	if KeyName(low).code() != (keyCode{}) {
		return Key{Name: KeyName(low)}, true
	}
	for i := range keyAliases {
		if keyAliases[i].name == low {
			return keyAliases[i].key, true
		}
	}
	return Key{}, false
}

// cutMod takes one modifier off rest, whose lower case is low.
func cutMod(rest, low string) (Mods, string) {
	if strings.HasPrefix(rest, "^") {
		return Ctrl, rest[1:]
	}
	for _, m := range modNames {
		if k := len(m.name); len(low) > k+1 && low[:k] == m.name && (low[k] == '-' || low[k] == '+') {
			return m.mod, rest[k+1:]
		}
	}
	return 0, ""
}

// String is the key's name as ParseKey reads it.
func (k Key) String() string {
	var b strings.Builder
	for _, m := range []struct {
		mod  Mods
		name string
	}{{Ctrl, "ctrl-"}, {Alt, "alt-"}, {Shift, "shift-"}, {Super, "super-"}, {Hyper, "hyper-"}} {
		if k.Mods&m.mod != 0 {
			b.WriteString(m.name)
		}
	}
	switch {
	case k.Name != "":
		b.WriteString(string(k.Name))
	case k.Rune == ' ':
		b.WriteString("space")
	default:
		b.WriteRune(k.Rune)
	}
	return b.String()
}
