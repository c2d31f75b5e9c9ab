package api

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"
)

// attachFrames is one of each kind, in the order of a short attach.
var attachFrames = []Frame{
	{FrameHello, []byte(`{"target":"termio://session/ab12cd34-9f2e-4c31-b8d7-3e5a12c90f44"}`)},
	{FrameSnapshot, []byte("\x00\x00\x00\x00\x00\x00\x01\x00\x1b[H$ ")},
	{FrameLead, nil},
	{FrameInput, []byte("ls\r")},
	{FramePaste, []byte("two\nlines")},
	{FrameResize, []byte(`{"cols":120,"rows":40}`)},
	{FrameOutput, []byte("\x00\x00\x00\x00\x00\x00\x01\x02ls\r\n")},
	{FrameSize, []byte(`{"cols":120,"rows":40,"leader":true}`)},
	{FrameStatus, []byte(`{"schema_version":1}`)},
	{FrameKind(200), []byte("a kind of tomorrow")},
	{FrameDetach, nil},
	{FrameEnd, []byte(`{"reason":"detached"}`)},
}

func TestGoldenFrames(t *testing.T) {
	const file = "testdata/frames-v1.hex"
	var stream []byte
	for _, f := range attachFrames {
		stream = AppendFrame(stream, f.Kind, f.Payload)
	}
	if *update {
		if err := os.WriteFile(file, []byte(hex.Dump(stream)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got := hex.Dump(stream); got != string(want) {
		t.Errorf("the frames changed:\n%s\nwant\n%s", got, want)
	}
	// However the bytes arrive, the same frames come out.
	for name, r := range map[string]io.Reader{
		"whole": bytes.NewReader(stream), "by byte": iotest.OneByteReader(bytes.NewReader(stream)),
		"end with the data": iotest.DataErrReader(bytes.NewReader(stream)),
	} {
		fr := NewFrameReader(r)
		for _, want := range attachFrames {
			got, err := fr.Read()
			if err != nil || got.Kind != want.Kind || !bytes.Equal(got.Payload, want.Payload) {
				t.Fatalf("%s: frame %d %q, %v; want %d %q", name, got.Kind, got.Payload, err, want.Kind, want.Payload)
			}
		}
		if _, err := fr.Read(); !errors.Is(err, io.EOF) {
			t.Errorf("%s: after the last frame %v, want a clean end", name, err)
		}
	}
}

func TestAppendFrameJoinsParts(t *testing.T) {
	got := AppendFrame([]byte("x"), FrameOutput, []byte("ab"), nil, []byte("c"))
	if want := "x\x03\x00\x00\x00\x03abc"; string(got) != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestFrameReaderRefuses(t *testing.T) {
	tests := []struct {
		name, in string
		want     error
	}{
		{"nothing", "", io.EOF},
		{"half a head", "\x03\x00\x00", io.ErrUnexpectedEOF},
		{"a head alone", "\x03\x00\x00\x00\x01", io.ErrUnexpectedEOF},
		{"half a payload", "\x03\x00\x00\x00\x03ab", io.ErrUnexpectedEOF},
		{"past the bound", "\x03\x01\x00\x00\x01", ErrFrameSize},
		{"a line of HTTP", "HTTP/1.1 400 Bad Request\r\n", ErrFrameSize},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if f, err := NewFrameReader(strings.NewReader(tt.in)).Read(); !errors.Is(err, tt.want) {
				t.Errorf("read %d %q, %v; want %v", f.Kind, f.Payload, err, tt.want)
			}
		})
	}
}

// A frame at the bound passes.
func TestFrameReaderAtTheBound(t *testing.T) {
	f, err := NewFrameReader(bytes.NewReader(AppendFrame(nil, FrameOutput, make([]byte, MaxFrame)))).Read()
	if err != nil || len(f.Payload) != MaxFrame {
		t.Errorf("read %d bytes, %v", len(f.Payload), err)
	}
}

// FuzzFrameReader reads whatever a peer may send: no panic, no payload past the
// bound, and what was read encodes to the bytes that were there.
func FuzzFrameReader(f *testing.F) {
	var stream []byte
	for _, fr := range attachFrames {
		stream = AppendFrame(stream, fr.Kind, fr.Payload)
		f.Add(AppendFrame(nil, fr.Kind, fr.Payload))
	}
	f.Add(stream)
	f.Add(stream[:len(stream)-3])
	f.Add([]byte("\x03\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		fr := NewFrameReader(bytes.NewReader(data))
		var again []byte
		for {
			frame, err := fr.Read()
			if err != nil {
				if errors.Is(err, io.EOF) && len(again) != len(data) {
					t.Errorf("a clean end after %d of %d bytes", len(again), len(data))
				}
				break
			}
			again = AppendFrame(again, frame.Kind, frame.Payload)
		}
		if !bytes.HasPrefix(data, again) {
			t.Errorf("%q came back as %q", data, again)
		}
	})
}
