package vt

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestXtermJS runs the escape sequence fixtures of xterm.js, which are not
// part of this project: TERMIO_VT_XTERMJS names the folder that holds its
// *.in and *.text files. They are made for 80x25 and expect a tty's ONLCR.
func TestXtermJS(t *testing.T) {
	dir := os.Getenv("TERMIO_VT_XTERMJS")
	if dir == "" {
		t.Skip("NOT RUN: set TERMIO_VT_XTERMJS to the folder of xterm.js's escape sequence files")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.in"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no *.in files in %s (%v)", dir, err)
	}
	// xterm.js leaves out five: t0055-EL, t0101-NLM and t0504-vim pass here as they
	// are; these two do not.
	left := map[string]string{
		"t0084-CBT":          "expects what is printed after CBT at a pending wrap on the next line; here CBT ends the wrap",
		"t0103-reverse_wrap": "expects to go back over the start of any line; here only of one that goes on from the row above",
	}
	passed, all := 0, 0
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".in")
		in, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(strings.TrimSuffix(file, ".in") + ".text")
		if err != nil {
			t.Fatal(err)
		}
		if left[name] != "" {
			continue
		}
		all++
		s := New(Options{Cols: 80, Rows: 25, History: 1000})
		s.Write(bytes.ReplaceAll(in, []byte("\n"), []byte("\r\n")))
		got := strings.Join(s.Text(), "\n")
		text := strings.TrimRight(trimLines(string(want)), "\n")
		if strings.TrimRight(got, "\n") == text {
			passed++
			continue
		}
		t.Logf("%s differs:\n%s", name, diffLines(strings.Split(text, "\n"), s.Text()))
	}
	t.Logf("%d/%d", passed, all)
	if passed < all {
		t.Fail()
	}
}

func trimLines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " \r")
	}
	return strings.Join(lines, "\n")
}

func diffLines(want, got []string) string {
	var b strings.Builder
	for i := range max(len(want), len(got)) {
		w, g := "", ""
		if i < len(want) {
			w = want[i]
		}
		if i < len(got) {
			g = got[i]
		}
		if w != g {
			b.WriteString("-" + w + "\n+" + g + "\n")
		}
	}
	return b.String()
}
