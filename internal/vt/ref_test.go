package vt

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write testdata/ref/*/want.txt anew; read the diff")

// A refCase is a folder of testdata/ref: in.vt is what a program wrote, size.json
// the screen it wrote to and where it is said what has to be there at the end,
// which want.txt holds.
type refCase struct {
	name                string
	in                  []byte
	Cols, Rows, History int
	// Cites is the text that was opened, or the terminal that was watched.
	Cites string
	// Apart says what xterm.js does otherwise or not at all; where it is empty
	// TestRefXtermJS holds that it shows the same.
	Apart string
}

func refCases(t *testing.T) []refCase {
	t.Helper()
	dirs, err := filepath.Glob("testdata/ref/*")
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no cases (%v)", err)
	}
	var list []refCase
	for _, dir := range dirs {
		c := refCase{name: filepath.Base(dir), in: readFile(t, filepath.Join(dir, "in.vt"))}
		if err := json.Unmarshal(readFile(t, filepath.Join(dir, "size.json")), &c); err != nil {
			t.Fatalf("%s: %v", dir, err)
		}
		if c.Cites == "" {
			t.Errorf("%s: size.json cites nothing", dir)
		}
		list = append(list, c)
	}
	return list
}

// TestRef runs the cases in testdata/ref.
func TestRef(t *testing.T) {
	for _, c := range refCases(t) {
		t.Run(c.name, func(t *testing.T) {
			o := Options{Cols: c.Cols, Rows: c.Rows, History: c.History}
			s := New(o)
			s.Write(c.in)
			if err := integrity(s); err != nil {
				t.Fatal(err)
			}
			got := describe(s)
			file := filepath.Join("testdata/ref", c.name, "want.txt")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if want := string(readFile(t, file)); got != want {
				t.Errorf("(-want +got)\n%s", diffLines(strings.Split(want, "\n"), strings.Split(got, "\n")))
			}
			if d := s.difference(replayed(s, o)); d != "" {
				t.Errorf("replay: %s", d)
			}
		})
	}
}

func readFile(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// describe writes a screen down for reading: history lines behind ^, rows
// between bars, a backslash where the line goes on, then the cursor, what else
// is not as on a fresh screen, and the styles by row and columns.
func describe(s *Screen) string {
	var b strings.Builder
	for i, line := range s.HistoryText(0, HistoryLine(s.HistoryLen())) {
		end := ""
		if s.HistoryWrapped(HistoryLine(i)) {
			end = "\\"
		}
		fmt.Fprintf(&b, "^%s%s\n", line, end)
	}
	for y := range Row(s.rows) {
		text := s.RowText(y)
		end := "|"
		if s.Wrapped(y) {
			end = "\\"
		}
		fmt.Fprintf(&b, "|%s%s%s\n", text, strings.Repeat(" ", max(0, s.cols-Width(text))), end)
	}
	fmt.Fprintf(&b, "cursor %+v\n", s.Cursor())
	m, fresh := reflect.ValueOf(s.Modes()), reflect.ValueOf(New(Options{}).Modes())
	for i := range m.NumField() {
		if v := m.Field(i).Interface(); v != fresh.Field(i).Interface() {
			fmt.Fprintf(&b, "mode %s %v\n", m.Type().Field(i).Name, v)
		}
	}
	if s.top != 0 || s.bottom != s.rows-1 || !s.fullWidth() {
		fmt.Fprintf(&b, "margins rows %d-%d columns %d-%d\n", s.top, s.bottom, s.left, s.right)
	}
	if s.Title() != "" || s.IconTitle() != "" {
		fmt.Fprintf(&b, "title %q icon %q\n", s.Title(), s.IconTitle())
	}
	for y := range s.rows {
		for x := 0; x < s.cols; {
			st, end := s.Cell(x, Row(y)).Style, x+1
			for end < s.cols && s.Cell(end, Row(y)).Style == st {
				end++
			}
			if st != (Style{}) {
				fmt.Fprintf(&b, "style %d %d-%d %s\n", y, x, end-1, describeStyle(st))
			}
			x = end
		}
	}
	for _, e := range s.TakeEvents(nil) {
		fmt.Fprintf(&b, "event %+v\n", e)
	}
	if r := s.TakeReplies(); len(r) > 0 {
		fmt.Fprintf(&b, "answers %q\n", r)
	}
	return b.String()
}

func describeStyle(st Style) string {
	var f []string
	for i, name := range []string{"bold", "dim", "italic", "blink", "inverse", "hidden", "strike", "overline"} {
		if st.Attr&(1<<i) != 0 {
			f = append(f, name)
		}
	}
	if st.Underline != NoUnderline {
		f = append(f, fmt.Sprintf("underline=%d", st.Underline))
	}
	for _, c := range []struct {
		name  string
		color Color
	}{{"fg", st.FG}, {"bg", st.BG}, {"ul", st.UL}} {
		if i, ok := c.color.Palette(); ok {
			f = append(f, fmt.Sprintf("%s=%d", c.name, i))
		} else if r, g, b, ok := c.color.RGB(); ok {
			f = append(f, fmt.Sprintf("%s=#%02x%02x%02x", c.name, r, g, b))
		}
	}
	if st.Link != "" {
		f = append(f, fmt.Sprintf("link=%q id=%q", st.Link, st.LinkID))
	}
	return strings.Join(f, " ")
}
