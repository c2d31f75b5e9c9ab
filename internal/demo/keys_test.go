package demo

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// told spells inputs: a key as <name>, a paste as {text}, an answer as [query].
func told(all []input) string {
	var b strings.Builder
	for _, in := range all {
		switch in.kind {
		case inText:
			b.WriteString(in.text)
		case inKey:
			b.WriteString("<" + in.text + ">")
		case inPaste:
			b.WriteString("{" + in.text + "}")
		case inAnswer:
			b.WriteString("[" + in.name + "]")
		}
	}
	return b.String()
}

var typed = []struct{ name, bytes, want string }{
	{"text", "abc äöü 漢字 👩‍👩‍👧", "abc äöü 漢字 👩‍👩‍👧"},
	{"control keys", "\r\n\t\x7f\x08\x01\x03\x04", "<enter><ctrl+j><tab><backspace><backspace><ctrl+a><ctrl+c><ctrl+d>"},
	{"cursor keys", "\x1b[A\x1b[B\x1bOC\x1bOD\x1b[H\x1b[F\x1b[Z", "<up><down><right><left><home><end><shift+tab>"},
	{"numbered keys", "\x1b[3~\x1b[5~\x1b[6~\x1b[1~", "<delete><pageup><pagedown><home>"},
	{"modified keys", "\x1b[1;5D\x1b[1;2A\x1b[3;3~", "<ctrl+left><shift+up><alt+delete>"},
	{"alt", "\x1bx\x1b\r\x1b\x7f", "<alt+x><alt+enter><alt+backspace>"},
	{"kitty", "\x1b[13;2u\x1b[27u\x1b[97u\x1b[97;2u\x1b[97;5u\x1b[9;2u\x1b[97;1:3u", "<shift+enter><esc>aA<ctrl+a><shift+tab>"},
	{"modifyOtherKeys", "\x1b[27;2;13~\x1b[27;5;97~", "<shift+enter><ctrl+a>"},
	{"two escapes", "\x1b\x1b[A", "<esc><up>"},
	{"paste", "\x1b[200~one\r\ntwo\x1b[A\x1b[201~x", "{one\r\ntwo\x1b[A}x"},
	{"an empty paste", "\x1b[200~\x1b[201~", "{}"},
	{"an end of paste alone", "\x1b[201~x", "x"},
	{"answers", "\x1b[?62;4c\x1b[>1;10;0c\x1b[3;7R\x1b[?0u\x1b[?2026;2$y\x1b[0n\x1b[8;24;80t", "[da1][da2][cpr][kitty][decrqm][dsr][size]"},
	{"string answers", "\x1b]11;rgb:0/0/0\x07\x1b]10;rgb:f/f/f\x1b\\\x1bP>|tmux 3.3a\x1b\\\x1b]7501;?\x07", "[osc11][osc10][xtversion][osc7501]"},
	{"focus and mouse", "\x1b[I\x1b[O\x1b[<0;3;4M\x1b[<0;3;4m", ""},
	{"no UTF-8", "a\xff\xc3(b", "a\uFFFD\uFFFD(b"},
}

// However the bytes are cut into pieces, the same comes out.
func TestDecoder(t *testing.T) {
	for _, tt := range typed {
		t.Run(tt.name, func(t *testing.T) {
			for size := 1; size <= len(tt.bytes); size++ {
				var (
					d   decoder
					all []input
				)
				for rest := tt.bytes; rest != ""; {
					n := min(size, len(rest))
					all = append(all, d.feed([]byte(rest[:n]))...)
					rest = rest[n:]
				}
				all = append(all, d.flush()...)
				if diff := cmp.Diff(tt.want, told(all)); diff != "" {
					t.Fatalf("in pieces of %d (-want +got):\n%s", size, diff)
				}
			}
		})
	}
}

func FuzzDecoder(f *testing.F) {
	for _, tt := range typed {
		f.Add([]byte(tt.bytes), uint8(3))
	}
	f.Fuzz(func(t *testing.T, data []byte, size uint8) {
		var whole, parts decoder
		want := told(whole.feed(data))
		var got strings.Builder
		for rest := data; len(rest) > 0; {
			n := min(int(size%16)+1, len(rest))
			got.WriteString(told(parts.feed(rest[:n])))
			rest = rest[n:]
		}
		if got.String() != want {
			t.Errorf("in pieces %q, whole %q", got.String(), want)
		}
		if len(whole.pending) >= maxSequence {
			t.Errorf("%d bytes are held", len(whole.pending))
		}
	})
}

func TestLoneEscape(t *testing.T) {
	var d decoder
	if got := told(d.feed([]byte("\x1b"))); got != "" || !d.waiting() {
		t.Errorf("got %q, waiting %v: it may be the beginning of a sequence", got, d.waiting())
	}
	if got := told(d.flush()); got != "<esc>" || d.waiting() {
		t.Errorf("got %q, waiting %v", got, d.waiting())
	}
	d.feed([]byte("\x1b["))
	if got := told(d.flush()); got != "<esc>[" {
		t.Errorf("got %q", got)
	}
}
