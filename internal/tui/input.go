package tui

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"termio/internal/vt"
)

// What comes from the outer terminal, as messages.
type (
	keyMsg   vt.Key
	mouseMsg vt.Mouse
	pasteMsg string // a whole bracketed paste
	focusMsg bool   // whether the outer terminal has the focus
	// colorMsg is the outer terminal's background (OSC 11).
	colorMsg struct{ r, g, b uint8 }
	// schemeMsg says that the outer terminal turned dark or light (mode 2031).
	schemeMsg struct{ dark bool }
	// otherMsg is an answer or a sequence that means nothing to the interface.
	otherMsg string
)

// Bounds: an unfinished sequence longer than that is none, and the rest of a longer
// paste is dropped.
const (
	maxSequence = 4 << 10
	maxPaste    = 16 << 20
)

// A decoder turns bytes of the outer terminal into messages, whatever pieces they come
// in: legacy keys, those of the kitty protocol and of modifyOtherKeys, mouse in the SGR
// form, bracketed pastes, focus, answers. The zero value is ready.
type decoder struct {
	pending []byte // an unfinished sequence
	paste   []byte // of an open paste
	pasting bool
}

const (
	pasteStart = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
)

// feed takes the next piece and gives what is complete.
func (d *decoder) feed(piece []byte) []any {
	data := append(d.pending, piece...)
	d.pending = nil
	var all []any
	for len(data) > 0 {
		if d.pasting {
			rest, done := d.takePaste(data)
			if !done {
				return all
			}
			all = append(all, pasteMsg(d.paste))
			d.paste, data = nil, rest
			continue
		}
		m, n := decode(data)
		if n == 0 {
			if len(data) < maxSequence {
				d.pending = slices.Clone(data)
				return all
			}
			m, n = keyMsg{Name: vt.KeyEscape}, 1
		}
		switch {
		case bytes.HasPrefix(data, []byte(pasteStart)):
			d.pasting = true
		case m != nil:
			all = append(all, m)
		}
		data = data[n:]
	}
	return all
}

// takePaste collects up to the end of the paste; rest is what follows it.
func (d *decoder) takePaste(data []byte) (rest []byte, done bool) {
	if before, after, ok := bytes.Cut(data, []byte(pasteEnd)); ok {
		d.keep(before)
		d.pasting = false
		return after, true
	}
	held := 0 // the end may come in pieces
	for n := min(len(pasteEnd)-1, len(data)); n > 0; n-- {
		if bytes.HasSuffix(data, []byte(pasteEnd[:n])) {
			held = n
			break
		}
	}
	d.keep(data[:len(data)-held])
	d.pending = slices.Clone(data[len(data)-held:])
	return nil, false
}

func (d *decoder) keep(p []byte) {
	d.paste = append(d.paste, p[:min(len(p), maxPaste-len(d.paste))]...)
}

// waiting reports whether something is held that is a key unless more follows soon.
func (d *decoder) waiting() bool { return !d.pasting && len(d.pending) > 0 }

// flush gives up waiting: an ESC was a key, and what follows it was typed.
func (d *decoder) flush() []any {
	if !d.waiting() {
		return nil
	}
	data := d.pending
	d.pending = nil
	if data[0] != 0x1b { // a character that breaks off
		return []any{keyMsg{Rune: utf8.RuneError}}
	}
	if len(data) == 2 && data[1] > 0x20 && data[1] < 0x7f { // alt with [, O, ] and their like
		return []any{keyMsg{Rune: rune(data[1]), Mods: vt.Alt}}
	}
	return append([]any{keyMsg{Name: vt.KeyEscape}}, d.feed(data[1:])...)
}

// decode gives the first message of data and its length; 0 when more is needed.
func decode(data []byte) (any, int) {
	switch c := data[0]; {
	case c == 0x1b:
		return decodeEscape(data)
	case c < 0x20 || c == 0x7f:
		return keyMsg(controlKey(c)), 1
	case c < utf8.RuneSelf:
		return keyMsg{Rune: rune(c)}, 1
	case !utf8.FullRune(data):
		return nil, 0
	}
	r, n := utf8.DecodeRune(data)
	return keyMsg{Rune: r}, n
}

// controlKey is the key that a control character is.
func controlKey(c byte) vt.Key {
	switch c {
	case '\r':
		return vt.Key{Name: vt.KeyEnter}
	case '\t':
		return vt.Key{Name: vt.KeyTab}
	case 0x7f:
		return vt.Key{Name: vt.KeyBackspace}
	case 0x08:
		return vt.Key{Name: vt.KeyBackspace, Mods: vt.Ctrl}
	case 0x1b:
		return vt.Key{Name: vt.KeyEscape}
	case 0:
		return vt.Key{Rune: ' ', Mods: vt.Ctrl}
	}
	r := rune(c | 0x60)
	if c >= 0x1b { // \ ] ^ _
		r = rune(c | 0x40)
	}
	return vt.Key{Rune: r, Mods: vt.Ctrl}
}

// decodeEscape reads what begins with ESC.
func decodeEscape(data []byte) (any, int) {
	if len(data) == 1 {
		return nil, 0
	}
	switch c := data[1]; {
	case c == '[':
		return decodeCSI(data)
	case c == 'O':
		if len(data) < 3 {
			return nil, 0
		}
		if name := finalKey(data[2]); name != "" {
			return keyMsg{Name: name}, 3
		}
		if k, ok := keypadKey(data[2]); ok {
			return keyMsg(k), 3
		}
		return keyMsg{Rune: 'O', Mods: vt.Alt}, 2
	case c == ']' || c == 'P' || c == '_' || c == '^' || c == 'X':
		return decodeString(data)
	case c == 0x1b:
		return keyMsg{Name: vt.KeyEscape}, 1
	case c < 0x20 || c == 0x7f:
		k := controlKey(c)
		k.Mods |= vt.Alt
		return keyMsg(k), 2
	case !utf8.FullRune(data[1:]):
		return nil, 0
	}
	r, n := utf8.DecodeRune(data[1:])
	return keyMsg{Rune: r, Mods: vt.Alt}, 1 + n
}

// finalKey is the key that a final byte alone names.
func finalKey(c byte) vt.KeyName {
	switch c {
	case 'A':
		return vt.KeyUp
	case 'B':
		return vt.KeyDown
	case 'C':
		return vt.KeyRight
	case 'D':
		return vt.KeyLeft
	case 'H':
		return vt.KeyHome
	case 'F':
		return vt.KeyEnd
	case 'P', 'Q', 'R', 'S':
		return vt.KeyName("f" + string('1'+rune(c-'P')))
	}
	return ""
}

// keypadKey is a key of the keypad in its application mode.
func keypadKey(c byte) (vt.Key, bool) {
	const keys = "jkl mnopqrstuvwxy" // the space is no key
	names := [...]vt.KeyName{
		"kpmultiply", "kpadd", "", "", "kpsubtract", "kpdecimal", "kpdivide",
		"kp0", "kp1", "kp2", "kp3", "kp4", "kp5", "kp6", "kp7", "kp8", "kp9",
	}
	if c == 'M' {
		return vt.Key{Name: "kpenter"}, true
	}
	if i := strings.IndexByte(keys, c); i >= 0 && c != ' ' && names[i] != "" {
		return vt.Key{Name: names[i]}, true
	}
	return vt.Key{}, false
}

// tildeKey is the key that a number before a tilde names.
func tildeKey(n int) vt.KeyName {
	switch n {
	case 1, 7:
		return vt.KeyHome
	case 2:
		return vt.KeyInsert
	case 3:
		return vt.KeyDelete
	case 4, 8:
		return vt.KeyEnd
	case 5:
		return vt.KeyPageUp
	case 6:
		return vt.KeyPageDown
	}
	for f, code := range [...]int{11, 12, 13, 14, 15, 17, 18, 19, 20, 21, 23, 24, 25, 26, 28, 29, 31, 32, 33, 34} {
		if code == n {
			return vt.KeyName("f" + strconv.Itoa(f+1))
		}
	}
	return ""
}

// decodeCSI reads ESC [ parameters final. A sequence that is broken off by a byte that
// cannot stand in it was typed: alt and a bracket.
func decodeCSI(data []byte) (any, int) {
	n := 2
	for n < len(data) && data[n] >= 0x20 && data[n] < 0x40 {
		n++
	}
	if n == len(data) {
		return nil, 0
	}
	if data[n] < 0x40 || data[n] > 0x7e {
		return keyMsg{Rune: '[', Mods: vt.Alt}, 2
	}
	final, params := data[n], string(data[2:n])
	n++
	raw := string(data[:n])
	switch {
	case final == 'M' && params == "": // the old form of the mouse, which nobody asked for
		if len(data) < n+3 {
			return nil, 0
		}
		return otherMsg(data[:n+3]), n + 3
	case strings.HasPrefix(params, "<"):
		if m, ok := decodeMouse(params[1:], final); ok {
			return mouseMsg(m), n
		}
		return otherMsg(raw), n
	case final == 'n' && (params == "?997;1" || params == "?997;2"):
		return schemeMsg{dark: params == "?997;1"}, n
	case params == "" && (final == 'I' || final == 'O'):
		return focusMsg(final == 'I'), n
	case params != "" && (params[0] == '?' || params[0] == '>' || params[0] == '=') || strings.ContainsAny(params, " $\"'!"):
		return otherMsg(raw), n
	}
	k, ok := decodeKey(strings.Split(params, ";"), final)
	switch {
	case !ok:
		return otherMsg(raw), n
	case k == (vt.Key{}):
		return nil, n // the release of a key
	}
	return keyMsg(k), n
}

// decodeKey reads the parameters of a key; a zero key is one that was let go.
func decodeKey(params []string, final byte) (vt.Key, bool) {
	forms := strings.Split(params[0], ":")
	first, _ := strconv.Atoi(forms[0])
	var mods vt.Mods
	if len(params) > 1 {
		m, event, _ := strings.Cut(params[1], ":")
		if event == "3" {
			return vt.Key{}, true
		}
		if n, err := strconv.Atoi(m); err == nil && n > 0 {
			mods = vt.Mods(n-1) & (vt.Shift | vt.Alt | vt.Ctrl | vt.Super | vt.Hyper | vt.Meta) // locks are none
		}
	}
	switch {
	case final == '~' && first == 27 && len(params) == 3: // modifyOtherKeys
		code, _ := strconv.Atoi(params[2])
		return codeKey(code, []string{params[2]}, mods)
	case final == '~':
		name := tildeKey(first)
		return vt.Key{Name: name, Mods: mods}, name != ""
	case final == 'u':
		return codeKey(first, forms, mods)
	case final == 'Z':
		return vt.Key{Name: vt.KeyTab, Mods: mods | vt.Shift}, true
	case final == 'E':
		return vt.Key{Name: "kp5", Mods: mods}, true
	}
	name := finalKey(final)
	return vt.Key{Name: name, Mods: mods}, name != "" && first <= 1
}

// codeKey is a key by its code in the kitty protocol. forms are the code, that of the
// shifted key, and that of the key in the same place of a Latin layout.
func codeKey(code int, forms []string, mods vt.Mods) (vt.Key, bool) {
	switch code {
	case 13:
		return vt.Key{Name: vt.KeyEnter, Mods: mods}, true
	case 27:
		return vt.Key{Name: vt.KeyEscape, Mods: mods}, true
	case 9:
		return vt.Key{Name: vt.KeyTab, Mods: mods}, true
	case 127, 8:
		return vt.Key{Name: vt.KeyBackspace, Mods: mods}, true
	}
	if name, ok := privateKey(code); ok {
		return vt.Key{Name: name, Mods: mods}, name != ""
	}
	if code < 0x20 || code > utf8.MaxRune || !utf8.ValidRune(rune(code)) {
		return vt.Key{}, false
	}
	form := func(i int) rune {
		if i >= len(forms) {
			return 0
		}
		n, _ := strconv.Atoi(forms[i])
		return rune(n)
	}
	k := vt.Key{Rune: rune(code), Mods: mods}
	switch latin := form(2); {
	case mods&(vt.Ctrl|vt.Alt|vt.Super) != 0 && code >= utf8.RuneSelf && latin > 0x20 && latin < utf8.RuneSelf:
		k.Rune = latin // a chord is meant by its place, whatever the layout
	case mods&^vt.Shift == 0 && mods&vt.Shift != 0 && form(1) > 0:
		k = vt.Key{Rune: form(1)}
	}
	return k, true
}

// privateKey names the keys of the kitty protocol's private range; those without a name
// here (modifiers, media keys) are no keys for a session.
func privateKey(code int) (name vt.KeyName, private bool) {
	switch {
	case code >= 57376 && code <= 57383: // f13 to f20
		return vt.KeyName("f" + strconv.Itoa(code-57376+13)), true
	case code >= 57399 && code <= 57414:
		return [...]vt.KeyName{
			"kp0", "kp1", "kp2", "kp3", "kp4", "kp5", "kp6", "kp7", "kp8", "kp9",
			"kpdecimal", "kpdivide", "kpmultiply", "kpsubtract", "kpadd", "kpenter",
		}[code-57399], true
	case code >= 57417 && code <= 57426: // the keypad without Num Lock
		return [...]vt.KeyName{
			vt.KeyLeft, vt.KeyRight, vt.KeyUp, vt.KeyDown, vt.KeyPageUp, vt.KeyPageDown, vt.KeyHome, vt.KeyEnd, vt.KeyInsert, vt.KeyDelete,
		}[code-57417], true
	case code >= 0xE000 && code <= 0xF8FF:
		return "", true
	}
	return "", false
}

// decodeMouse reads the SGR form: button;x;y, M for a press, m for a release.
func decodeMouse(params string, final byte) (vt.Mouse, bool) {
	const motion = 32
	var n [3]int
	for i, p := range strings.Split(params, ";") {
		v, err := strconv.Atoi(p)
		if err != nil || i >= len(n) || v < 0 {
			return vt.Mouse{}, false
		}
		n[i] = v
	}
	if n[1] < 1 || n[2] < 1 || n[0] > 255 || final != 'M' && final != 'm' {
		return vt.Mouse{}, false
	}
	m := vt.Mouse{X: n[1] - 1, Y: n[2] - 1}
	for i, mod := range [...]vt.Mods{vt.Shift, vt.Alt, vt.Ctrl} {
		if n[0]&(4<<i) != 0 {
			m.Mods |= mod
		}
	}
	m.Button = vt.MouseButtonID(n[0] &^ (4 | 8 | 16 | motion))
	switch {
	case n[0]&motion != 0:
		m.Action = vt.MouseMove
	case final == 'm':
		m.Action = vt.MouseRelease
	}
	return m, true
}

// decodeString reads ESC ] … and its like, up to BEL or ST.
func decodeString(data []byte) (any, int) {
	for i := 2; i < len(data); i++ {
		end := 0
		switch {
		case data[i] == 0x07:
			end = i + 1
		case data[i] == 0x1b && i+1 == len(data):
			return nil, 0
		case data[i] == 0x1b && data[i+1] == '\\':
			end = i + 2
		case data[i] == 0x1b || data[i] == 0x18 || data[i] == 0x1a || i > maxSequence/2:
			return keyMsg{Rune: rune(data[1]), Mods: vt.Alt}, 2 // typed: no terminal answers so
		}
		if end > 0 {
			if body, ok := strings.CutPrefix(string(data[1:i]), "]11;"); ok {
				if c, ok := parseColor(body); ok {
					return c, end
				}
			}
			return otherMsg(data[:end]), end
		}
	}
	return nil, 0
}

// parseColor reads rgb:RRRR/GGGG/BBBB with one to four digits each, or #RRGGBB.
func parseColor(s string) (colorMsg, bool) {
	if hex, ok := strings.CutPrefix(s, "#"); ok && len(hex) == 6 {
		s = "rgb:" + hex[:2] + "/" + hex[2:4] + "/" + hex[4:]
	}
	body, ok := strings.CutPrefix(s, "rgb:")
	if !ok {
		if body, ok = strings.CutPrefix(s, "rgba:"); !ok {
			return colorMsg{}, false
		}
	}
	parts := strings.Split(body, "/")
	if len(parts) < 3 {
		return colorMsg{}, false
	}
	var v [3]uint8
	for i := range v {
		n, err := strconv.ParseUint(parts[i], 16, 16)
		if err != nil || len(parts[i]) > 4 {
			return colorMsg{}, false
		}
		v[i] = uint8(n * 255 / (1<<(4*len(parts[i])) - 1))
	}
	return colorMsg{v[0], v[1], v[2]}, true
}
