package vt

import (
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// addSeeds gives a fuzz target generated streams, the reference cases and a few
// known troublemakers.
func addSeeds(f *testing.F, add func(in []byte)) {
	for seed := range uint64(8) {
		add(randomStream(rand.New(rand.NewPCG(seed, 9)), 40))
	}
	files, _ := filepath.Glob("testdata/ref/*/in.vt")
	for _, file := range files {
		in, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		add(in)
	}
	for _, in := range []string{
		"x\x1b[2000000000b",
		"\x1b[5;30r\x1b[6;1H\x1b[M",
		"\x1b[9999999999T",
		"\x1b]\x070",
		"\x1b[?69h\x1b[2;4s\x1b[1;4H日\x1b[2J\x1b8",
		"\x1b[?2027l☺\ufe0f\x1b[?2027h☺\ufe0f",
		"ab\u0301\u0301\u0301👩\u200d👩\u200d👧\u200d👦\x1b[3b",
		"\x1b]8;;http://x\x07link\x1b]8;;\x07\x1b[58;5;9mu",
		"\x1bP$q\"q\x1b\\\x1b]4;0;?;1;?;2;?\x1b\\\x1b]7501;?\x07\x1b[c",
	} {
		add([]byte(in))
	}
}

// fuzzSize takes a screen's options from a seed.
func fuzzSize(seed uint16) Options {
	return Options{
		Cols: 1 + int(seed&31), Rows: 1 + int(seed>>5&15), History: int(seed>>9&3) * 7,
		ProgramStatus: seed>>11&1 == 1,
	}
}

func mustHold(t *testing.T, s *Screen) {
	t.Helper()
	if err := integrity(s); err != nil {
		t.Fatal(err)
	}
}

// FuzzStream: no input panics, the screen holds together, any split is one
// write, and what the filter lets through draws the same picture.
func FuzzStream(f *testing.F) {
	addSeeds(f, func(in []byte) { f.Add(in, uint16(0x0a53), uint16(7)) })
	f.Fuzz(func(t *testing.T, in []byte, size, cut uint16) {
		o := fuzzSize(size)
		whole, split, other := New(o), New(o), New(o)
		whole.Write(in)
		mustHold(t, whole)
		var filter Filter
		r := rand.New(rand.NewPCG(uint64(cut), 1))
		for rest := in; len(rest) > 0; {
			n := min(1+r.IntN(1+int(cut%61)), len(rest))
			split.Write(rest[:n])
			other.Write(filter.Append(nil, rest[:n], split))
			rest = rest[n:]
		}
		mustHold(t, split)
		if d := whole.difference(split); d != "" {
			t.Fatalf("split: %s", d)
		}
		if a, b := whole.out.replies, split.out.replies; string(a) != string(b) {
			t.Fatalf("split answers %q, want %q", b, a)
		}
		if len(other.out.spans) > 0 || len(other.out.replies) > 0 && !whole.modes.has(modeResizeReports) {
			// A resize report is no answer to a query that could be dropped
			// when its mode is set among others.
			if !resizeReportsOnly(other.out.replies) {
				t.Fatalf("the filter let a query through: answer %q", other.out.replies)
			}
		}
	})
}

// resizeReportsOnly reports whether b is nothing but in-band resize reports.
func resizeReportsOnly(b []byte) bool {
	s := string(b)
	for len(s) > 0 {
		if len(s) < 5 || s[:5] != "\x1b[48;" {
			return false
		}
		i := 5
		for i < len(s) && s[i] != 't' {
			i++
		}
		s = s[min(i+1, len(s)):]
	}
	return true
}

// FuzzResize: resizing between writes keeps the screen whole, and text that fits
// survives.
func FuzzResize(f *testing.F) {
	addSeeds(f, func(in []byte) { f.Add(in, uint16(0x0a53), []byte{10, 4, 30, 9, 1, 1, 80, 24}) })
	f.Fuzz(func(t *testing.T, in []byte, size uint16, plan []byte) {
		s := New(fuzzSize(size))
		for i := 0; ; i += 2 {
			n := len(in)
			if len(plan) >= 2 {
				n = min(len(in), 1+len(in)/4)
			}
			s.Write(in[:n])
			in = in[n:]
			if len(plan) < 2 {
				break
			}
			s.Resize(int(plan[0]%100), int(plan[1]%40))
			mustHold(t, s)
			plan = plan[2:]
		}
		mustHold(t, s)
	})
}

// FuzzReplay: a replay makes an equal screen, whatever state the input left.
func FuzzReplay(f *testing.F) {
	addSeeds(f, func(in []byte) { f.Add(in, uint16(0x0a53), uint16(0)) })
	f.Fuzz(func(t *testing.T, in []byte, size, resize uint16) {
		o := fuzzSize(size)
		s := New(o)
		s.Write(in)
		if resize != 0 {
			s.Resize(1+int(resize&31), 1+int(resize>>5&15))
			s.Write(in)
		}
		fresh := replayed(s, o)
		mustHold(t, fresh)
		if d := s.difference(fresh); d != "" {
			t.Fatalf("%s\nreplay %q", d, s.AppendReplay(nil, s.HistoryLen()))
		}
	})
}

// FuzzBinary: hostile data gives an error or a screen that holds together; what
// was encoded comes back exact.
func FuzzBinary(f *testing.F) {
	addSeeds(f, func(in []byte) {
		s := New(fuzzSize(0x0a53))
		s.Write(in)
		b, _ := s.MarshalBinary()
		f.Add(b)
	})
	f.Add([]byte(binaryMagic))
	f.Add(binary.AppendUvarint([]byte(binaryMagic), 1<<60))
	f.Fuzz(func(t *testing.T, data []byte) {
		var s Screen
		if err := s.UnmarshalBinary(data); err != nil {
			return
		}
		mustHold(t, &s)
		b, _ := s.MarshalBinary()
		var back Screen
		if err := back.UnmarshalBinary(b); err != nil {
			t.Fatalf("encoded again: %v", err)
		}
		if d := s.difference(&back); d != "" {
			t.Fatal(d)
		}
		s.Write([]byte("x\u0301\x1b[5b\r\n日本\x1b[?1049h\x1b[2J\x1b[1;1Hy\x1b[?1049l"))
		mustHold(t, &s)
		s.Resize(9, 5)
		mustHold(t, &s)
	})
}

// FuzzKey: every key that parses has a name that parses to it, and is encoded
// in each keyboard mode without a panic.
func FuzzKey(f *testing.F) {
	for _, name := range []string{"enter", "C-c", "ctrl+shift+up", "M-x", "BTab", "^D", "F12", "kp5", "é", "C--", "+", "super-a", "S-Space"} {
		f.Add(name, uint8(0))
	}
	f.Fuzz(func(t *testing.T, name string, flags uint8) {
		k, err := ParseKey(name)
		if err != nil {
			return
		}
		again, err := ParseKey(k.String())
		if err != nil || again != k {
			t.Fatalf("%q is %+v, its name %q is %+v (%v)", name, k, k.String(), again, err)
		}
		s := New(Options{})
		s.g.kitty.set(int(flags), 1)
		s.otherKeys = flags >> 5 & 3
		if out := s.AppendKey(nil, k); len(out) == 0 {
			t.Fatalf("%+v sends nothing with flags %d", k, flags)
		}
	})
}
