package vt

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The differential tests write generated streams to our screen and to another
// terminal, and compare what both then show: text, widths, styles, the
// cursor, answers. They find what no case was written for. A stream is a list
// of whole operations, so that the first one after which the two differ can be
// named.
//
// What a peer does not implement, or does otherwise than the standard says, is
// left out of its streams, with the reason, in the table of its test; a case in
// testdata/ref holds what we do there.

// differentialStreams is how many streams each peer gets.
const differentialStreams = 500

// An operation is one entry of the generator's table: how often it comes, and its
// bytes.
type operation struct {
	class  string
	weight int
	make   func(g *opGen) string
}

// opGen makes operations for a screen of a size.
type opGen struct {
	*rand.Rand
	cols, rows int
}

func (g *opGen) pick(list ...string) string { return list[g.IntN(len(list))] }

// count is a parameter as programs write it: often left out, now and then 0 or
// past every edge.
func (g *opGen) count() string {
	switch g.IntN(6) {
	case 0, 1:
		return ""
	case 2:
		return g.pick("0", "1", "99")
	}
	return fmt.Sprint(1 + g.IntN(6))
}

func (g *opGen) line() string   { return fmt.Sprint(1 + g.IntN(g.rows)) }
func (g *opGen) column() string { return fmt.Sprint(1 + g.IntN(g.cols)) }

// inside is a column before the last: xterm.js ends with a TypeError when ED 1 comes
// in the last column of the last row.
func (g *opGen) inside() string { return fmt.Sprint(1 + g.IntN(g.cols-1)) }

// operations are all classes the generator knows.
var operations = []operation{
	{"text", 30, func(g *opGen) string {
		return g.pick("hello", "a", " ", "0123456789", "the quick brown fox", "people run many agents side by side now")
	}},
	{"latin", 4, func(g *opGen) string { return g.pick("é", "naïve", "Привет", "─│┌", "…") }},
	{"wide", 4, func(g *opGen) string {
		return "\x1b[" + fmt.Sprint(1+g.IntN(g.cols-6)) + "G" + g.pick("日本語", "한글", "中", "、")
	}},
	{"wide at the edge", 2, func(g *opGen) string { return g.pick("日本語", "한글", "中", "、") }},
	{"combining", 2, func(g *opGen) string { return g.pick("e\u0301", "a\u0308\u0323", "o\u0302") }},
	{"newline", 10, func(g *opGen) string { return "\r\n" }},
	{"C0", 5, func(g *opGen) string { return "\x1b[" + g.column() + "G" + g.pick("\r", "\n", "\v", "\f", "\t") }},
	{"LF at a pending wrap", 3, func(g *opGen) string { return g.pick("\n", "\v", "\f", "\x1bD", "\x1bM") }},
	{"BS", 2, func(g *opGen) string { return "\b" }},
	{"CUP", 8, func(g *opGen) string {
		return "\x1b[" + g.pick(g.line(), "", "0", "99") + ";" + g.pick(g.column(), "", "99") + g.pick("H", "f")
	}},
	{"move", 8, func(g *opGen) string {
		return "\x1b[" + g.column() + "G\x1b[" + g.count() + g.pick("A", "B", "C", "D", "E", "F")
	}},
	{"move at a pending wrap", 4, func(g *opGen) string { return "\x1b[" + g.count() + g.pick("A", "B", "C", "D", "E", "F") }},
	{"HPR and VPR", 2, func(g *opGen) string { return "\x1b[" + g.count() + g.pick("a", "e") }},
	{"absolute", 5, func(g *opGen) string { return "\x1b[" + g.pick(g.column(), g.line(), "") + g.pick("G", "`", "d") }},
	{"tabs", 3, func(g *opGen) string {
		return g.pick("\x1bH", "\x1b[g", "\x1b[0g", "\x1b[3g", "\x1b["+g.count()+"I", "\x1b["+g.count()+"Z")
	}},
	{"erase", 8, func(g *opGen) string {
		return "\x1b[" + g.inside() + "G\x1b[" + g.pick("", "0", "1", "2") + g.pick("J", "K")
	}},
	{"erase at a pending wrap", 2, func(g *opGen) string { return "\x1b[" + g.pick("", "0", "1", "2") + g.pick("J", "K") }},
	{"erase history", 1, func(g *opGen) string { return "\x1b[3J" }},
	{"selective", 3, func(g *opGen) string {
		return "\x1b[1\"qkeep" + g.pick("\x1b[0\"q", "\x1b[2\"q", "\x1b[\"q") + "drop\x1b[" + g.inside() + "G\x1b[?" + g.pick("", "0", "1", "2") + g.pick("J", "K")
	}},
	{"selective apart", 1, func(g *opGen) string { return g.pick("\x1b[1\"q", "\x1b[0\"q", "\x1b[?J", "\x1b[?2K") }},
	{"chars", 4, func(g *opGen) string {
		return "\x1b[" + g.column() + "G\x1b[" + g.count() + g.pick("P", "X")
	}},
	{"ICH", 2, func(g *opGen) string { return "\x1b[" + g.column() + "G\x1b[" + g.count() + "@" }},
	{"chars at a pending wrap", 2, func(g *opGen) string { return "\x1b[" + g.count() + g.pick("@", "P", "X") }},
	{"lines", 3, func(g *opGen) string { return "\r\x1b[" + g.count() + g.pick("L", "M") }},
	{"lines from a column", 2, func(g *opGen) string { return "\x1b[" + g.column() + "G\x1b[" + g.count() + g.pick("L", "M") }},
	{"SU", 3, func(g *opGen) string { return "\x1b[" + g.count() + "S" }},
	{"SD", 3, func(g *opGen) string { return "\x1b[" + g.count() + "T" }},
	{"index", 5, func(g *opGen) string { return "\x1b[" + g.column() + "G" + g.pick("\x1bD", "\x1bE", "\x1bM") }},
	{"columns", 3, func(g *opGen) string {
		return "\x1b[" + g.column() + "G\x1b[" + g.count() + g.pick(" @", " A", "'}", "'~")
	}},
	{"DECSTBM", 4, func(g *opGen) string {
		return "\x1b[" + g.pick(g.line(), "") + ";" + g.pick(g.line(), "") + "r" + g.pick("", "\x1b["+g.line()+";1H")
	}},
	{"repeat", 2, func(g *opGen) string { return "x\x1b[" + g.count() + "b" }},
	{"SGR", 12, func(g *opGen) string {
		return "\x1b[" + g.pick("", "0", "1", "2", "3", "4", "5", "7", "8", "9", "21", "22", "23", "24", "25", "27", "28", "29",
			"31", "42", "97", "105", "39", "49", "1;31;44", "38;5;200", "48;5;17", "38;2;1;2;3", "48;2;9;8;7",
			"38:5:9", "48:2::4:5:6", "4:3", "4:0", "58;5;3", "58:2::1:2:3", "59", "0;7;33") + "m"
	}},
	{"overline", 1, func(g *opGen) string { return g.pick("\x1b[53m", "\x1b[55m") }},
	{"save", 4, func(g *opGen) string {
		away := "\x1b[" + g.line() + ";" + g.column() + "Hx\x1b[1;3" + g.pick("1", "2") + "m"
		return g.pick("\x1b7"+away+"\x1b8", "\x1b[s"+away+"\x1b[u")
	}},
	{"1048", 1, func(g *opGen) string { return "\x1b[?1048h\x1b[" + g.line() + ";" + g.column() + "Hx\x1b[?1048l" }},
	{"save and scroll", 4, func(g *opGen) string {
		return g.pick("\x1b7", "\x1b8", "\x1b[s", "\x1b[u", "\x1b[?1048h", "\x1b[?1048l")
	}},
	{"modes", 5, func(g *opGen) string {
		return g.pick("\x1b[?25h", "\x1b[?1h")
	}},
	{"IRM", 2, func(g *opGen) string { return g.pick("\x1b[4h", "\x1b[4l") }},
	{"DECAWM", 2, func(g *opGen) string {
		return "\x1b[G\x1b[?7l" + g.pick("the quick brown fox jumps over the lazy dog", "x", "\x1b[99Gxyz") + "\x1b[?7h\x1b[" + g.column() + "G"
	}},
	{"DECAWM off", 1, func(g *opGen) string { return g.pick("\x1b[?7l", "\x1b[?7h") }},
	{"origin", 3, func(g *opGen) string { return g.pick("\x1b[?6h", "\x1b[?6l", "\x1b[?6l") }},
	{"reverse wrap", 2, func(g *opGen) string { return g.pick("\x1b[?45h", "\x1b[?45l", "\b\b\b") }},
	{"screens", 3, func(g *opGen) string {
		return "\x1b[?1049h" + g.pick("", "other", "\x1b[31;44mother\x1b[2J") + "\x1b[?1049l"
	}},
	{"screens apart", 1, func(g *opGen) string { return "\x1b[?1049" + g.pick("h", "l") }},
	{"old screens", 2, func(g *opGen) string { return "\x1b[?" + g.pick("47", "1047") + g.pick("h", "l") }},
	{"LNM", 1, func(g *opGen) string { return g.pick("\x1b[20h", "\x1b[20l") }},
	{"charsets", 3, func(g *opGen) string {
		return "\x0f" + g.pick("\x1b(0lqqk", "\x1b)0a\x0ea\x0fa", "\x1b(0`a~") + "\x1b(B\x1b)B\x1b*B\x1b+B\x0f"
	}},
	{"more charsets", 1, func(g *opGen) string {
		return "\x0f" + g.pick("\x1b(A#", "\x1b*0a\x1bna", "\x1b+0\x1boa") + "\x1b(B\x1b)B\x1b*B\x1b+B\x0f"
	}},
	{"charsets kept", 1, func(g *opGen) string { return g.pick("\x1b(0", "\x1b(B", "\x1b)0", "\x0e", "\x0f", "\x1bn", "\x1bo") }},
	{"national", 1, func(g *opGen) string {
		return "\x0f\x1b(" + g.pick("C", "5", "R", "Q", "K", "Y", "E", "6", "Z", "H", "7", "=") + "#@[\\]^_`{|}~\x1b(B"
	}},
	{"single shift", 1, func(g *opGen) string { return g.pick("\x1b*0\x1bNq", "\x1b+0\x1bOx") }},
	{"DECALN", 1, func(g *opGen) string { return "\x1b#8" }},
	{"DECSTR", 1, func(g *opGen) string { return "\x1b[G\x1b[!p" }},
	{"RIS", 1, func(g *opGen) string { return "\x1bc" }},
	{"side margins", 2, func(g *opGen) string {
		return g.pick("\x1b[?69h", "\x1b[?69l", "\x1b[?69h\x1b["+g.column()+";"+g.column()+"s")
	}},
	{"rectangles", 2, func(g *opGen) string {
		r := g.line() + ";" + g.column() + ";" + g.line() + ";" + g.column()
		return "\x1b[" + g.pick(r+"$z", "42;"+r+"$x", r+";1;"+g.line()+";"+g.column()+";1$v", r+"${", r+";1;4$r", r+";7$t")
	}},
	{"strings", 3, func(g *opGen) string {
		return g.pick("\x1b]0;title\x07", "\x1b]2;t\x1b\\", "\x1b]9999;x\x07", "\x1bXsos\x1b\\", "\x1b^pm\x1b\\", "\x1b_apc\x1b\\", "\x1bP1;2zdcs\x1b\\")
	}},
	{"links", 1, func(g *opGen) string { return g.pick("\x1b]8;;http://a/b\x07", "\x1b]8;;\x07") }},
	{"broken", 2, func(g *opGen) string {
		return g.pick("\x1b[3\x18", "\x1b[3\x1a", "\x1b[1;\x1b[2C", "\x1b[\rC", "\x1b[99y", "\x1b~", "\x1b[1;2;3;4;5H", "\x1b[>5H")
	}},
	{"queries", 3, func(g *opGen) string {
		return g.pick("\x1b[5n", "\x1b["+g.column()+"G\x1b[6n", "\x1b[4$p", "\x1b[20$p", "\x1b[?7$p", "\x1b[?25$p", "\x1b[?2004$p",
			"\x1bP$qr\x1b\\", "\x1bP$q\"q\x1b\\")
	}},
	{"DECXCPR", 1, func(g *opGen) string { return "\x1b[?6n" }},
	{"DECRQSS cursor", 1, func(g *opGen) string { return g.pick("", "\x1b["+fmt.Sprint(g.IntN(7))+" q") + "\x1bP$q q\x1b\\" }},
}

// differentialStream makes the operations of one stream. left names the classes
// that the peer is not compared on.
func differentialStream(seed uint64, cols, rows int, left map[string]string) []string {
	g := &opGen{rand.New(rand.NewPCG(seed, 77)), cols, rows}
	var all []operation
	for _, op := range operations {
		if left[op.class] == "" {
			for range op.weight {
				all = append(all, op)
			}
		}
	}
	ops := make([]string, 20+g.IntN(60))
	for i := range ops {
		ops[i] = all[g.IntN(len(all))].make(g)
	}
	return ops
}

// shownCell is one column: empty text is the second half of a wide character.
type shownCell struct{ text, style string }

// shown is a screen as both sides describe it.
type shown struct {
	rows    [][]shownCell
	x, y    int
	pending bool
	history int
	replies string
}

// difference names the first thing in which the two differ.
func (a shown) difference(b shown) string {
	for y := range a.rows {
		if !slices.Equal(a.rows[y], b.rows[y]) {
			return fmt.Sprintf("row %d\n ours   %s\n theirs %s", y, spellCells(a.rows[y]), spellCells(b.rows[y]))
		}
	}
	switch {
	case a.x != b.x || a.y != b.y || a.pending != b.pending:
		return fmt.Sprintf("cursor: ours %d,%d pending %v, theirs %d,%d pending %v", a.x, a.y, a.pending, b.x, b.y, b.pending)
	case a.history != b.history:
		return fmt.Sprintf("history: ours %d lines, theirs %d", a.history, b.history)
	case a.replies != b.replies:
		return fmt.Sprintf("answers: ours %q, theirs %q", a.replies, b.replies)
	}
	return ""
}

// spell writes cells down as runs of one style.
func spellCells(row []shownCell) string {
	var b strings.Builder
	style := ""
	for _, c := range row {
		if c.style != style {
			style = c.style
			b.WriteString("{" + style + "}")
		}
		b.WriteString(c.text)
	}
	return b.String()
}

// wideText is the wide characters of the generator.
const wideText = "日本語한글中、"

// plainBlanks takes the style off blanks.
func (a shown) plainBlanks() {
	for _, row := range a.rows {
		for x := range row {
			if row[x].text == " " {
				row[x].style = ""
			}
		}
	}
}

// peerStyle is a style in the words that peers are described with: no form of the
// underline, no colour of it, no links.
func peerStyle(st Style) string {
	line := st.Underline != NoUnderline
	st.Underline, st.UL, st.Link, st.LinkID = NoUnderline, 0, "", ""
	fg, bg := st.FG, st.BG
	st.FG, st.BG = 0, 0
	f := strings.Fields(describeStyle(st))
	if line {
		f = append(f, "underline")
	}
	f = append(f, strings.Fields(describeStyle(Style{FG: fg, BG: bg}))...)
	return strings.Join(f, " ")
}

// ours describes our screen.
func ours(s *Screen) shown {
	out := shown{x: s.cur.x, y: s.cur.y, pending: s.cur.pending, history: s.HistoryLen(), replies: string(s.TakeReplies())}
	for y := range Row(s.rows) {
		var row []shownCell
		for _, c := range s.AppendRow(nil, y) {
			row = append(row, shownCell{c.Text, peerStyle(c.Style)})
		}
		out.rows = append(out.rows, row)
	}
	return out
}

// A peer shows a stream on another terminal.
type peer interface {
	show(t *testing.T, cols, rows int, in string) shown
}

// compareStreams writes the streams to both and names, for each that differs, the
// first operation after which the two are not the same.
func compareStreams(t *testing.T, p peer, left map[string]string, normal func(in string, s shown) shown) {
	t.Helper()
	sizes := []struct{ cols, rows int }{{20, 6}, {80, 24}, {9, 4}, {33, 11}}
	differ := 0
	for seed := range uint64(differentialStreams) {
		size := sizes[seed%uint64(len(sizes))]
		ops := differentialStream(seed, size.cols, size.rows, left)
		diff := func(n int) string {
			in := strings.Join(ops[:n], "")
			s := New(Options{Cols: size.cols, Rows: size.rows, History: 1000})
			s.Write([]byte(in))
			return normal(in, ours(s)).difference(normal(in, p.show(t, size.cols, size.rows, in)))
		}
		if diff(len(ops)) == "" {
			continue
		}
		differ++
		for n := range len(ops) + 1 {
			if d := diff(n); d != "" {
				t.Errorf("stream %d, %dx%d, after operation %d %q: %s\nall of it %q", seed, size.cols, size.rows, n, ops[max(0, n-1)], d, strings.Join(ops[:n], ""))
				break
			}
		}
		if differ == 20 {
			t.Fatalf("%d streams of %d differ; no more are looked at", differ, seed+1)
		}
	}
	t.Logf("%d streams, %d differ", differentialStreams, differ)
}

// xtermJS is a node process that runs testdata/peer.js.
type xtermJS struct {
	in  *json.Encoder
	out *bufio.Reader
}

func startXtermJS(t *testing.T) *xtermJS {
	t.Helper()
	dir := os.Getenv("TERMIO_VT_PEERS")
	if dir == "" {
		t.Skip("NOT RUN: set TERMIO_VT_PEERS to the folder of internal/vt/testdata/install.sh")
	}
	cmd := exec.Command("node", "testdata/peer.js")
	cmd.Env = append(os.Environ(), "NODE_PATH="+filepath.Join(dir, "node_modules"))
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("node: %v", err)
		}
	})
	return &xtermJS{json.NewEncoder(stdin), bufio.NewReaderSize(stdout, 1<<20)}
}

func (p *xtermJS) show(t *testing.T, cols, rows int, in string) shown {
	t.Helper()
	request := struct {
		Cols    int    `json:"cols"`
		Rows    int    `json:"rows"`
		History int    `json:"history"`
		Data    []byte `json:"data"`
	}{cols, rows, 1000, []byte(in)}
	if err := p.in.Encode(request); err != nil {
		t.Fatal(err)
	}
	line, err := p.out.ReadBytes('\n')
	if err != nil {
		t.Fatalf("no answer from node: %v", err)
	}
	var r struct {
		Rows          [][][2]string
		X, Y, History int
		Pending       bool
		Replies       string
	}
	if err := json.Unmarshal(line, &r); err != nil {
		t.Fatal(err)
	}
	out := shown{x: r.X, y: r.Y, pending: r.Pending, history: r.History, replies: r.Replies}
	for _, row := range r.Rows {
		var cells []shownCell
		for _, c := range row {
			cells = append(cells, shownCell{c[0], c[1]})
		}
		out.rows = append(out.rows, cells)
	}
	return out
}

func TestDifferentialXtermJS(t *testing.T) {
	p := startXtermJS(t)
	compareStreams(t, p, map[string]string{
		// What xterm.js 6.0.0 lacks.
		"side margins": "no DECLRMM", "rectangles": "none of the rectangle controls", "single shift": "no SS2 and SS3",
		"old screens": "47 clears the other screen, which keeps its text in xterm",
		// What it does otherwise.
		"SD":                      "new rows come in default colours; xterm paints them in the background, as all that erases",
		"DECALN":                  "keeps margins and paints in the pen's style; a test pattern is neither",
		"LNM":                     "stays over RIS, which is the state after power-up",
		"DECXCPR":                 "no page in the answer; xterm has 1 there from level 4 on",
		"DECRQSS cursor":          "a cursor that was never set is told as a steady block, here as the default",
		"links":                   "underlined: its own choice of display",
		"save and scroll":         "the saved position moves with the text; DECSC saves a place on the screen",
		"screens apart":           "1049 again does not clear; it does in xterm",
		"origin":                  "CUF, CUD, HPR and VPR add the top margin a second time",
		"charsets kept":           "DECRC brings sets back but not which one is invoked",
		"selective apart":         "SGR 0 ends protection there; ctlseqs knows DECSCA alone to do that",
		"erase at a pending wrap": "the cursor is past the last column; in xterm it is on it, and erasing ends the wrap",
		"DECAWM off":              "the same for a screen without autowrap",
		"wide at the edge":        "the free column gets the pen's style; here it is a blank that belongs to nothing",
	}, func(in string, s shown) shown {
		s.history = 0 // SU feeds it here, as in xterm, and not there
		if strings.ContainsAny(in, wideText) {
			s.plainBlanks()
		}
		return s
	})
}

// What a case shows is what xterm.js shows, unless it says how the two differ.
func TestRefXtermJS(t *testing.T) {
	p := startXtermJS(t)
	same := 0
	for _, c := range refCases(t) {
		s := New(Options{Cols: c.Cols, Rows: c.Rows, History: c.History})
		s.Write(c.in)
		a, b := ours(s), p.show(t, c.Cols, c.Rows, string(c.in))
		a.history, b.history = 0, 0
		switch d := a.difference(b); {
		case d == "" && c.Apart != "":
			t.Errorf("%s: set apart (%s), but xterm.js shows the same", c.name, c.Apart)
		case d != "" && c.Apart == "":
			t.Errorf("%s: %s\n%q", c.name, d, c.in)
		case d == "":
			same++
		}
	}
	t.Logf("%d cases are the same on xterm.js", same)
}
