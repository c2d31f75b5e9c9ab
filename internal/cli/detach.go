package cli

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// defaultDetachKey is the key that ends an attach, unless the person has set
// another one.
const defaultDetachKey = `ctrl-\`

// A detachKey is a control chord in every form in which terminals send it.
type detachKey struct {
	code rune // of the key without ctrl; 0 is no key at all
}

// parseDetachKey reads a chord such as ctrl-\ or ctrl-q, or none.
func parseDetachKey(s string) (detachKey, error) {
	if strings.EqualFold(s, "none") {
		return detachKey{}, nil
	}
	name, ok := strings.CutPrefix(strings.ToLower(s), "ctrl-")
	if !ok {
		name, ok = strings.CutPrefix(strings.ToLower(s), "c-")
	}
	if ok && len(name) == 1 {
		if c := name[0]; c >= 'a' && c <= 'z' || strings.IndexByte(`\]^_@`, c) >= 0 {
			return detachKey{rune(c)}, nil
		}
	}
	return detachKey{}, fmt.Errorf(`%q cannot end an attach: give a chord such as ctrl-\ or ctrl-q (a letter or one of \ ] ^ _ @), or none`, s)
}

func (k detachKey) String() string {
	if k.code == 0 {
		return "none"
	}
	return "ctrl-" + string(k.code)
}

// control is the byte that terminals send without an extended protocol.
func (k detachKey) control() byte {
	c := byte(k.code)
	if c >= 'a' && c <= 'z' {
		c -= 'a' - 'A'
	}
	return c & 0x1f
}

// matches reports whether the parameters and final byte of a CSI sequence are
// the chord being pressed: CSI code;modifiers u of the kitty protocol, or CSI
// 27;modifiers;code ~ of modifyOtherKeys. Locks (caps, num) do not matter, the
// release of the key is not its press.
func (k detachKey) matches(params string, final byte) bool {
	var code, mods string
	switch p := strings.Split(params, ";"); {
	case final == 'u' && len(p) >= 2:
		code, mods = p[0], p[1]
	case final == '~' && len(p) == 3 && p[0] == "27":
		code, mods = p[2], p[1]
	default:
		return false
	}
	// The shifted key may follow, and the key in the place of a Latin layout: where
	// the layout has other letters, that one is meant.
	forms := strings.Split(code, ":")
	mods, event, _ := strings.Cut(mods, ":")
	c, err := strconv.Atoi(forms[0])
	if len(forms) == 3 && c > unicode.MaxASCII {
		c, err = strconv.Atoi(forms[2])
	}
	m, merr := strconv.Atoi(mods)
	const ctrl, locks = 4, 64 | 128
	return err == nil && merr == nil && rune(c) == k.code && (m-1)&^locks == ctrl && event != "3"
}

// A detacher looks for the detach key in what a person types. Everything else
// passes unchanged and at once, the inside of a paste unlooked at.
type detacher struct {
	key     detachKey
	seq     []byte // an unfinished escape sequence
	emitted int    // how much of seq has been passed on
	paste   bool   // inside a bracketed paste
}

// maxSeq is past the longest form of a key; a longer sequence is something else.
const maxSeq = 48

// scan appends what is to be passed on to dst and reports whether the key was
// pressed; what follows it is dropped.
func (d *detacher) scan(dst, in []byte) (out []byte, detach bool) {
	for _, c := range in {
		if n := len(d.seq); n >= 2 && (c < 0x20 || c > 0x7e) {
			dst = d.flush(dst) // in no control sequence: alt-[ was a key of its own
		}
		switch {
		case c == 0x1b:
			dst = d.flush(dst)
			d.seq, d.emitted = append(d.seq[:0], c), 0
		case len(d.seq) == 0:
			if !d.paste && d.key.code != 0 && c == d.key.control() {
				return dst, true
			}
			dst = append(dst, c)
		case len(d.seq) == 1 && c != '[', len(d.seq) >= maxSeq:
			d.seq = append(d.seq, c)
			dst = d.flush(dst)
		default:
			d.seq = append(d.seq, c)
			if len(d.seq) > 2 && c >= 0x40 && c <= 0x7e {
				if d.final() {
					return dst, true
				}
				dst = d.flush(dst)
			}
		}
	}
	// A key that is only Escape, or Alt and a bracket, must not wait for what
	// may never come; the middle of a longer sequence always goes on.
	if n := len(d.seq); n > 0 && n <= 2 {
		dst = append(dst, d.seq[d.emitted:]...)
		d.emitted = n
	}
	return dst, false
}

// pending reports whether bytes wait for the rest of a sequence.
func (d *detacher) pending() bool { return len(d.seq) > d.emitted }

// release passes on what waits: a person's own keys look like the beginning of a
// sequence too. One that does go on is still recognised.
func (d *detacher) release(dst []byte) []byte {
	dst = append(dst, d.seq[d.emitted:]...)
	d.emitted = len(d.seq)
	return dst
}

// final looks at a whole control sequence and reports whether it is the key.
func (d *detacher) final() bool {
	params, last := string(d.seq[2:len(d.seq)-1]), d.seq[len(d.seq)-1]
	if last == '~' && (params == "200" || params == "201") {
		d.paste = params == "200"
		return false
	}
	return !d.paste && d.key.code != 0 && d.key.matches(params, last)
}

// flush passes on what is left of the sequence and forgets it.
func (d *detacher) flush(dst []byte) []byte {
	dst = append(dst, d.seq[d.emitted:]...)
	d.seq, d.emitted = d.seq[:0], 0
	return dst
}
