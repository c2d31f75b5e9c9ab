package vt

import (
	"os"
	"testing"
)

// The binary form outlives the program that wrote it: a new host reads what the
// old one left. A difference here needs a new binaryVersion.
func TestBinaryForm(t *testing.T) {
	const file = "testdata/binary-v1.bin"
	s := draw("one\r\n\x1b[1;31mtwo 日本 e\u0301\x1b]8;id=a;http://x\x07link" + everyMode + "alt\x1b7\x1b]2;title\x07\x1b[22t" +
		"\x1b]7;file:///d\x07\x1b]4;1;#fff\x07\x1b[3g\x1b[1;3H\x1bH\r\n\r\n\r\n\r\n\r\nx\x1b[38;5")
	data, err := s.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(file, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	old := readFile(t, file)
	if string(old) != string(data) {
		t.Errorf("%d bytes differ from the %d of %s", len(data), len(old), file)
	}
	var back Screen
	if err := back.UnmarshalBinary(old); err != nil {
		t.Fatal(err)
	}
	if d := s.difference(&back); d != "" {
		t.Error(d)
	}
}

func TestBinaryErrors(t *testing.T) {
	s := draw("some text\r\nof 日本\x1b[?1049hmore")
	data, _ := s.MarshalBinary()
	keep := draw("kept")
	for n := range data {
		if err := keep.UnmarshalBinary(data[:n]); err == nil {
			t.Fatalf("the first %d of %d bytes are a screen", n, len(data))
		}
	}
	if err := keep.UnmarshalBinary(append(data, 0)); err == nil {
		t.Error("a byte too many is taken")
	}
	if got := picture(keep); got != "kept" {
		t.Errorf("after errors the screen shows %q", got)
	}
}
