package cli

import (
	"strings"
	"testing"
)

func TestDetach(t *testing.T) {
	tests := []struct {
		name, key, in string
		want          string // what passes
		detach        bool
	}{
		{"letters", `ctrl-\`, "ls -l\r", "ls -l\r", false},
		{"legacy byte", `ctrl-\`, "ab\x1ccd", "ab", true},
		{"kitty", `ctrl-\`, "ab\x1b[92;5ucd", "ab", true},
		{"kitty with event type", `ctrl-\`, "\x1b[92;5:1u", "", true},
		{"kitty, release", `ctrl-\`, "\x1b[92;5:3u", "\x1b[92;5:3u", false},
		{"kitty with caps and num lock", `ctrl-\`, "\x1b[92;197u", "", true},
		{"kitty with alternates", `ctrl-\`, "\x1b[92:124:92;5u", "", true},
		{"kitty on a layout without Latin letters", "ctrl-q", "\x1b[1081::113;5u", "", true},
		{"kitty, another place of the layout", "ctrl-q", "\x1b[97::113;5u", "\x1b[97::113;5u", false},
		{"kitty with text", `ctrl-\`, "\x1b[92;5:1;28u", "", true},
		{"kitty, modifyOtherKeys with locks", `ctrl-\`, "\x1b[27;69;92~", "", true},
		{"kitty, another modifier", `ctrl-\`, "\x1b[92;7u", "\x1b[92;7u", false},
		{"kitty, another key", `ctrl-\`, "\x1b[93;5u", "\x1b[93;5u", false},
		{"modifyOtherKeys", `ctrl-\`, "\x1b[27;5;92~", "", true},
		{"modifyOtherKeys, another key", `ctrl-\`, "\x1b[27;5;13~", "\x1b[27;5;13~", false},
		{"rebound", "ctrl-q", "\x1c\x11x", "\x1c", true},
		{"rebound, kitty", "C-q", "\x1b[92;5u\x1b[113;5u", "\x1b[92;5u", true},
		{"none", "none", "\x1c\x1b[92;5u\x00", "\x1c\x1b[92;5u\x00", false},
		{"in a paste", `ctrl-\`, "\x1b[200~a\x1cb\x1b[92;5u\x1b[201~c", "\x1b[200~a\x1cb\x1b[92;5u\x1b[201~c", false},
		{"after a paste", `ctrl-\`, "\x1b[200~\x1c\x1b[201~\x1c", "\x1b[200~\x1c\x1b[201~", true},
		{"arrows and functions", `ctrl-\`, "\x1b[A\x1bOP\x1b[15;5~", "\x1b[A\x1bOP\x1b[15;5~", false},
		{"mouse and focus", `ctrl-\`, "\x1b[<0;92;5M\x1b[I\x1b[O\x1b[M !!", "\x1b[<0;92;5M\x1b[I\x1b[O\x1b[M !!", false},
		{"shift-enter and alt-enter", `ctrl-\`, "\x1b[13;2u\x1b\r\n", "\x1b[13;2u\x1b\r\n", false},
		{"escape twice", `ctrl-\`, "\x1b\x1b[A\x1b\x1b", "\x1b\x1b[A\x1b\x1b", false},
		{"escape before the key", `ctrl-\`, "\x1b\x1c", "\x1b\x1c", false}, // alt-ctrl-\ is another chord
		{"alt-bracket, then utf-8", `ctrl-\`, "\x1b[日本x", "\x1b[日本x", false},
		{"alt-bracket, then the key", `ctrl-\`, "\x1b[\x1cx", "\x1b[", true},
		{"utf-8 and latin-1", `ctrl-\`, "日本\xff", "日本\xff", false},
		{"endless sequence", `ctrl-\`, "\x1b[" + strings.Repeat("1;", 40) + "u\x1c", "\x1b[" + strings.Repeat("1;", 40) + "u", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			key, err := parseDetachKey(tt.key)
			if err != nil {
				t.Fatal(err)
			}
			d := detacher{key: key}
			if got, detach := d.scan(nil, []byte(tt.in)); string(got) != tt.want || detach != tt.detach {
				t.Errorf("whole: passed %q, detach %v; want %q, %v", got, detach, tt.want, tt.detach)
			}
			// Byte by byte the same is recognised; only the first two bytes of
			// the key's own sequence, which could have been keys, pass.
			d = detacher{key: key}
			var got []byte
			detach := false
			for i := range len(tt.in) {
				if got, detach = d.scan(got, []byte(tt.in[i:i+1])); detach {
					break
				}
			}
			want := tt.want
			if tt.detach && strings.HasPrefix(tt.in[len(tt.want):], "\x1b[") {
				want += "\x1b["
			}
			if string(got) != want || detach != tt.detach {
				t.Errorf("by byte: passed %q, detach %v; want %q, %v", got, detach, want, tt.detach)
			}
		})
	}
}

// A lone Escape, and Alt with a bracket, are keys: they pass at once.
func TestDetacherHoldsNoKey(t *testing.T) {
	for _, key := range []string{"\x1b", "\x1b[", "a", "\x1bx"} {
		d := detacher{key: detachKey{'\\'}}
		if got, _ := d.scan(nil, []byte(key)); string(got) != key {
			t.Errorf("%q passed as %q", key, got)
		}
	}
}

// What looks like the beginning of a sequence waits for the rest, but not for ever.
func TestDetacherReleases(t *testing.T) {
	d := detacher{key: detachKey{'\\'}}
	got, _ := d.scan(nil, []byte("\x1b[92"))
	if string(got) != "" || !d.pending() {
		t.Errorf("%q passed, pending %v", got, d.pending())
	}
	if got = d.release(nil); string(got) != "\x1b[92" || d.pending() {
		t.Errorf("%q released, pending %v", got, d.pending())
	}
	if got, detach := d.scan(nil, []byte(";5u")); string(got) != "" || !detach {
		t.Errorf("%q passed, detach %v", got, detach)
	}
}

func TestParseDetachKey(t *testing.T) {
	for in, want := range map[string]string{`ctrl-\`: `ctrl-\`, "Ctrl-Q": "ctrl-q", "c-]": "ctrl-]", "none": "none", "ctrl-^": "ctrl-^"} {
		if k, err := parseDetachKey(in); err != nil || k.String() != want {
			t.Errorf("%q is %s, %v; want %s", in, k, err, want)
		}
	}
	for _, in := range []string{"", "q", "ctrl-", "ctrl-qq", "ctrl-é", "alt-q", "ctrl-[", "ctrl-1"} {
		if k, err := parseDetachKey(in); err == nil {
			t.Errorf("%q is %s", in, k)
		}
	}
	if c := (detachKey{'\\'}).control(); c != 0x1c {
		t.Errorf("ctrl-\\ is byte %#x", c)
	}
}
