package demo

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// An input is one thing that came from the terminal.
type input struct {
	kind inputKind
	text string // the typed text, the pasted text, the key's name, the answer as it came
	name string // of an answer: the query it answers
}

type inputKind byte

const (
	inText   inputKind = iota + 1 // printable, one or more characters
	inKey                         // a key by name: "enter", "ctrl+c", "shift+enter"
	inPaste                       // a whole bracketed paste
	inAnswer                      // the terminal's answer to a query
	inOther                       // focus, mouse and what we do not know; ignored
)

// A decoder turns bytes into inputs, whatever pieces they come in. The zero value
// is ready.
type decoder struct {
	pending []byte // an unfinished sequence
	paste   []byte // of an open paste
	pasting bool
	lossy   bool // of a paste only the last piece is kept
}

// Bounds: an unfinished sequence longer than that is no sequence, and the rest of a
// longer paste is dropped.
const (
	maxSequence = 64 << 10
	maxPaste    = 16 << 20
)

var (
	pasteStart = []byte("\x1b[200~")
	pasteEnd   = []byte("\x1b[201~")
)

// feed takes the next piece and gives what is complete.
func (d *decoder) feed(piece []byte) []input {
	if d.pasting && d.lossy {
		d.paste = d.paste[:0]
	}
	data := append(d.pending, piece...)
	d.pending = nil
	var all []input
	for len(data) > 0 {
		if d.pasting {
			rest, done := d.takePaste(data)
			if !done {
				return all
			}
			all = append(all, input{kind: inPaste, text: string(d.paste)})
			d.paste, data = nil, rest
			continue
		}
		in, n := decode(data)
		if n == 0 {
			if len(data) < maxSequence {
				d.pending = slices.Clone(data)
				return all
			}
			in, n = input{kind: inKey, text: "esc"}, 1
		}
		if bytes.HasPrefix(data, pasteStart) {
			d.pasting = true
		} else {
			all = append(all, in)
		}
		data = data[n:]
	}
	return all
}

// takePaste collects up to the end of the paste; rest is what follows it.
func (d *decoder) takePaste(data []byte) (rest []byte, done bool) {
	if before, after, ok := bytes.Cut(data, pasteEnd); ok {
		d.keep(before)
		d.pasting = false
		return after, true
	}
	held := 0 // the end may come in pieces
	for n := min(len(pasteEnd)-1, len(data)); n > 0; n-- {
		if bytes.HasSuffix(data, pasteEnd[:n]) {
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

// waiting reports whether a lone ESC is held, which is a key unless more follows
// soon.
func (d *decoder) waiting() bool { return !d.pasting && len(d.pending) > 0 && d.pending[0] == 0x1b }

// flush gives up waiting: the ESC was a key, and what follows it was typed.
func (d *decoder) flush() []input {
	if !d.waiting() {
		return nil
	}
	rest := d.pending[1:]
	d.pending = nil
	return append([]input{{kind: inKey, text: "esc"}}, d.feed(rest)...)
}

// controls names the control characters that have a name.
var controls = map[byte]string{'\r': "enter", '\n': "ctrl+j", '\t': "tab", 0x7f: "backspace", 0x08: "backspace", 0x1b: "esc", 0: "ctrl+space"}

// decode gives the first input of data and its length; 0 when more is needed.
func decode(data []byte) (input, int) {
	c := data[0]
	switch {
	case c == 0x1b:
		return decodeEscape(data)
	case c < 0x20 || c == 0x7f:
		if name, ok := controls[c]; ok {
			return input{kind: inKey, text: name}, 1
		}
		return input{kind: inKey, text: "ctrl+" + string(rune(c|0x60))}, 1
	}
	n := 0
	for n < len(data) && data[n] >= 0x20 && data[n] != 0x7f {
		r, size := utf8.DecodeRune(data[n:])
		if r == utf8.RuneError && size == 1 && !utf8.FullRune(data[n:]) {
			break
		}
		n += size
	}
	return input{kind: inText, text: string([]rune(string(data[:n])))}, n // each bad byte becomes U+FFFD
}

func decodeEscape(data []byte) (input, int) {
	if len(data) == 1 {
		return input{}, 0
	}
	switch data[1] {
	case '[':
		return decodeCSI(data)
	case 'O':
		if len(data) < 3 {
			return input{}, 0
		}
		if name, ok := finals[data[2]]; ok {
			return input{kind: inKey, text: name}, 3
		}
		return input{kind: inOther, text: string(data[:3])}, 3
	case ']', 'P', '_', '^', 'X':
		return decodeString(data)
	case 0x1b:
		return input{kind: inKey, text: "esc"}, 1
	}
	if data[1] >= 0x20 && data[1] != 0x7f {
		r, n := utf8.DecodeRune(data[1:])
		if r == utf8.RuneError && !utf8.FullRune(data[1:]) {
			return input{}, 0
		}
		return input{kind: inKey, text: "alt+" + string(r)}, 1 + n
	}
	in, n := decode(data[1:])
	in.text = "alt+" + in.text
	return in, 1 + n
}

// finals are the keys that a final byte alone names.
var finals = map[byte]string{
	'A': "up", 'B': "down", 'C': "right", 'D': "left", 'H': "home", 'F': "end", 'Z': "shift+tab", 'M': "enter",
	'P': "f1", 'Q': "f2", 'R': "f3", 'S': "f4",
}

// tildes are the keys that a number before a tilde names.
var tildes = map[int]string{1: "home", 2: "insert", 3: "delete", 4: "end", 5: "pageup", 6: "pagedown", 7: "home", 8: "end"}

// codes are the keys that the kitty protocol numbers by their control character.
var codes = map[int]string{13: "enter", 27: "esc", 9: "tab", 127: "backspace", 32: "space"}

// decodeCSI reads ESC [ parameters final.
func decodeCSI(data []byte) (input, int) {
	n := 2
	for n < len(data) && data[n] >= 0x20 && data[n] < 0x40 {
		n++
	}
	if n == len(data) {
		return input{}, 0
	}
	final, params := data[n], string(data[2:n])
	n++
	other := input{kind: inOther, text: string(data[:n])}
	if name := answerOfCSI(params, final); name != "" {
		return input{kind: inAnswer, name: name, text: string(data[:n])}, n
	}
	if params != "" && (params[0] == '<' || params[0] == '?' || params[0] == '>') {
		return other, n // mouse, or an answer that we have not asked for
	}
	numbers := strings.Split(params, ";")
	first, _ := strconv.Atoi(strings.SplitN(numbers[0], ":", 2)[0])
	mods := ""
	if len(numbers) > 1 {
		parts := strings.SplitN(numbers[1], ":", 2)
		if len(parts) == 2 && parts[1] == "3" {
			return other, n // a key that was let go
		}
		mods = modifiers(parts[0])
	}
	switch final {
	case '~':
		if name, ok := tildes[first]; ok {
			return input{kind: inKey, text: mods + name}, n
		}
		if first == 27 && len(numbers) == 3 { // xterm's modifyOtherKeys
			code, _ := strconv.Atoi(numbers[2])
			return keyOfCode(code, mods, other), n
		}
	case 'u':
		return keyOfCode(first, mods, other), n
	case 'I', 'O':
		return other, n // focus
	default:
		if name, ok := finals[final]; ok {
			return input{kind: inKey, text: mods + name}, n
		}
	}
	return other, n
}

// keyOfCode is a key by its character.
func keyOfCode(code int, mods string, other input) input {
	switch name, named := codes[code]; {
	case named:
		return input{kind: inKey, text: mods + name}
	case code < 0x20 || code > utf8.MaxRune || code >= 0xE000 && code <= 0xF8FF:
		return other // a key of the protocol's private range
	case mods == "":
		return input{kind: inText, text: string(rune(code))}
	case mods == "shift+":
		return input{kind: inText, text: strings.ToUpper(string(rune(code)))}
	}
	return input{kind: inKey, text: mods + string(rune(code))}
}

// modifiers names the bits of a modifier parameter, which is one more than they are.
func modifiers(param string) string {
	n, err := strconv.Atoi(param)
	if err != nil || n < 1 {
		return ""
	}
	var b strings.Builder
	for i, name := range []string{"shift+", "alt+", "ctrl+", "super+"} {
		if (n-1)&(1<<i) != 0 {
			b.WriteString(name)
		}
	}
	return b.String()
}

// decodeString reads ESC ] … and its like, up to BEL or ST.
func decodeString(data []byte) (input, int) {
	for i := 2; i < len(data); i++ {
		end := 0
		switch {
		case data[i] == 0x07 && data[1] == ']':
			end = 1
		case data[i] == 0x1b && i+1 < len(data) && data[i+1] == '\\':
			end = 2
		case data[i] == 0x1b && i+1 == len(data):
			return input{}, 0
		}
		if end > 0 {
			raw := string(data[:i+end])
			name := answerOfString(data[1], string(data[2:i]))
			if name == "" {
				return input{kind: inOther, text: raw}, i + end
			}
			return input{kind: inAnswer, name: name, text: raw}, i + end
		}
	}
	return input{}, 0
}

// A query asks the terminal something.
type query struct {
	name, ask string
}

// terminalQueries are those that the demo agent can ask; the recordings of real
// agents hold all of them.
var terminalQueries = []query{
	{"xtversion", "\x1b[>0q"},
	{"kitty", "\x1b[?u"},
	{"da1", "\x1b[c"},
	{"da2", "\x1b[>c"},
	{"cpr", "\x1b[6n"},
	{"dsr", "\x1b[5n"},
	{"decrqm", "\x1b[?2026$p"},
	{"size", "\x1b[18t"},
	{"osc10", "\x1b]10;?\x07"},
	{"osc11", "\x1b]11;?\x07"},
	{"osc7501", "\x1b]7501;?\x07"},
}

func queryNames() []string {
	names := make([]string, len(terminalQueries))
	for i, q := range terminalQueries {
		names[i] = q.name
	}
	return names
}

// ask is the sequence of a query.
func ask(name string) string {
	for _, q := range terminalQueries {
		if q.name == name {
			return q.ask
		}
	}
	panic(fmt.Sprintf("invariant: query %q passed the parser", name))
}

// answerOfCSI is the query that a control sequence answers, or "".
func answerOfCSI(params string, final byte) string {
	switch {
	case final == 'c' && strings.HasPrefix(params, "?"):
		return "da1"
	case final == 'c' && strings.HasPrefix(params, ">"):
		return "da2"
	case final == 'u' && strings.HasPrefix(params, "?"):
		return "kitty"
	case final == 'y' && strings.HasPrefix(params, "?") && strings.HasSuffix(params, "$"):
		return "decrqm"
	case final == 'n' && params == "0":
		return "dsr"
	case final == 't' && strings.HasPrefix(params, "8;"):
		return "size"
	case final == 'R' && strings.Count(params, ";") == 1: // F3 with a modifier looks the same and is of no use here
		return "cpr"
	}
	return ""
}

// answerOfString is the query that a string sequence answers, or "".
func answerOfString(kind byte, body string) string {
	switch {
	case kind == 'P' && strings.HasPrefix(body, ">|"):
		return "xtversion"
	case kind == ']' && strings.HasPrefix(body, "10;"):
		return "osc10"
	case kind == ']' && strings.HasPrefix(body, "11;"):
		return "osc11"
	case kind == ']' && strings.HasPrefix(body, "7501;"):
		return "osc7501"
	}
	return ""
}
