package agent

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

// A recordedScreen is a screen of a case under testdata with its cursor.
type recordedScreen struct {
	name string
	view ScreenView
}

// recordedScreens are all screens that were recorded of an agent with the cursor's place.
func recordedScreens(t *testing.T, agent string) []recordedScreen {
	t.Helper()
	files, err := filepath.Glob("testdata/" + agent + "/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var screens []recordedScreen
	for _, file := range files {
		arc, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		steps, err := ReadSteps(strings.NewReader(string(member(arc, "events.jsonl").Data)), func(name string) ([]byte, error) {
			return member(arc, name).Data, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for i, st := range steps {
			if st.Screen != nil && st.Screen.CursorY >= 0 {
				screens = append(screens, recordedScreen{fmt.Sprintf("%s step %d", filepath.Base(file), i), *st.Screen})
			}
		}
	}
	return screens
}

// A writer makes text that an agent may print: words, lines that look like options and
// questions, and whole dialogs that it quotes.
type writer struct {
	*rand.Rand
	width   int        // cells
	quotes  [][]string // rows of dialogs
	screens []string   // rows of anything that was recorded
}

var phrases = []string{
	"the quick brown fox", "Do you want to proceed?", "Would you like me to go on?", "1. Yes", "❯ 1. Yes", "  2. No", "› 1. Yes", "▶ 2) Later",
	"Esc to cancel", " Esc to cancel · Tab to amend", "Enter to confirm · Esc to cancel", "Enter to select · ↑/↓ to navigate · Esc to cancel",
	"[ ] one", "❯ 1. [x] two", "☐ Choice", "Select login method:", "Resume session", "Type to search · Enter to resume · Esc to close",
	"Review your answers", "Ready to code?", "Here is Claude's plan:", "Hooks need review", "Accessing workspace:", "press enter to continue",
	"要继续吗?", "❯ 1. 是的,继续", "  2. 不,告诉我该怎么做", "変更を保存しますか?", "저장할까요?", "👩‍👩‍👧 done", "esc to interrupt", "* Thinking… (1s)", "$ ls -la", "```",
}

// line is one line of text before it is wrapped.
func (w *writer) line() string {
	switch w.IntN(10) {
	case 0:
		return ""
	case 1:
		return strings.Repeat([]string{"─", "╌", "═", "-", "▔"}[w.IntN(5)], 4+w.IntN(w.width))
	case 2, 3:
		return w.screens[w.IntN(len(w.screens))]
	case 4:
		return strings.Repeat(" ", w.IntN(4)) + "│ " + phrases[w.IntN(len(phrases))] + " │"
	case 5:
		return fmt.Sprintf("  %d %s  %s", w.IntN(200), []string{"+", "-", " "}[w.IntN(3)], phrases[w.IntN(len(phrases))])
	}
	words := make([]string, 1+w.IntN(8))
	for i := range words {
		words[i] = phrases[w.IntN(len(phrases))]
	}
	return strings.Repeat(" ", w.IntN(3)) + strings.Join(words, []string{" ", ", "}[w.IntN(2)])
}

// rows are n lines or more, wrapped as a terminal does.
func (w *writer) rows(n int) []string {
	var rows []string
	for len(rows) < n {
		if w.IntN(6) == 0 {
			before := []string{"", "  ", "> ", "  12 + ", "  ⎿  "}[w.IntN(5)]
			for _, row := range w.quotes[w.IntN(len(w.quotes))] {
				rows = append(rows, wrapCells(before+row, w.width)...)
			}
			continue
		}
		rows = append(rows, wrapCells(w.line(), w.width)...)
	}
	return rows
}

// wrapCells cuts a line into rows of so many cells; CJK takes two each.
func wrapCells(line string, width int) []string {
	var rows []string
	var row strings.Builder
	cells := 0
	for _, r := range line {
		n := 1
		if r >= 0x1100 && r != '❯' && (r < 0x2000 || r >= 0x2e80) {
			n = 2
		}
		if cells+n > width {
			rows = append(rows, row.String())
			row.Reset()
			cells = 0
		}
		row.WriteRune(r)
		cells += n
	}
	return append(rows, strings.TrimRight(row.String(), " "))
}

// resized is a row of the interface at another width: rules are as long as the screen.
func resized(row string, width int) string {
	runes := []rune(row)
	if isRuling(row) {
		return strings.Repeat(string(runes[0]), width)
	}
	return string(runes[:min(len(runes), width)])
}

// cutTop is a screen without its first rows.
func cutTop(v ScreenView, n int) ScreenView {
	v.Rows = v.Rows[n:]
	v.CursorY -= n
	if dim := v.Dim; dim != nil {
		v.Dim = func(x, y int) bool { return dim(x, y+n) }
	}
	return v
}

// parts sorts what was recorded of an agent: the idle composers with what is below them,
// the dialogs, and all rows.
func parts(t *testing.T, m *Manifest, id string) (composers, dialogs []recordedScreen, rows []string) {
	t.Helper()
	for _, s := range recordedScreens(t, id) {
		c, _ := m.ComposerRule.locate(s.view)
		d, open := m.FindDialog(s.view)
		whole, _ := m.FindDialog(below(make([]string, 2*maxDialogRows), s.view, 0))
		switch {
		case open && sameDialog(d, whole): // not one that is taller than its screen
			dialogs = append(dialogs, s)
		case c.Found && c.Empty:
			s.view = cutTop(s.view, max(c.Row-1, 0))
			composers = append(composers, s)
		}
		rows = append(rows, s.view.Rows...)
	}
	if len(composers) == 0 || len(dialogs) == 0 {
		t.Fatalf("of %s %d composers and %d dialogs were recorded", id, len(composers), len(dialogs))
	}
	return composers, dialogs, rows
}

// TestProseIsNoDialog puts random text, full of what dialogs are made of and of whole
// dialogs, above the idle composers that were recorded, at every width: none of it is
// ever taken for a dialog, nor for a draft. The same above a view that covers the
// composer, the cursor in its last row. And a real dialog is found whatever is above it.
func TestProseIsNoDialog(t *testing.T) {
	for _, id := range []string{"claudeCode", "codex", "gemini", "opencode", "pi", "qwen", "a composer of one row"} {
		t.Run(id, func(t *testing.T) {
			var m *Manifest
			var composers, dialogs []recordedScreen
			all := phrases
			if strings.Contains(id, " ") {
				m = mustParse(t, head+`"composer":{"prompt":"^> ?(?P<draft>.*)$","above":"^~{10,}"},"dialogs":[{"name":"d","kind":"permission","top":"^## ","question":["^Do it"],"footer":["^esc to cancel"]}]}`)
				composers = []recordedScreen{{id, ScreenView{Rows: []string{strings.Repeat("~", 40), "> "}, CursorX: 2, CursorY: 1, CursorVisible: true}}}
				dialogs = []recordedScreen{{id, ScreenView{Rows: []string{"## Ask", "Do it?", "❯ 1. Yes", "  2. No", "esc to cancel"}, CursorY: 2}}}
			} else {
				m = builtin(t, id)
				composers, dialogs, all = parts(t, m, id)
			}
			var quotes [][]string
			pointed := true // every rule goes by the cursor
			for _, d := range dialogs {
				quotes = append(quotes, d.view.Rows)
			}
			for _, r := range m.Dialogs {
				pointed = pointed && r.Cursor
			}
			for seed := range uint64(240) {
				w := &writer{Rand: rand.New(rand.NewPCG(seed, 7)), width: 40 + int(seed)*160/239, quotes: quotes, screens: all}
				prose := w.rows(5 + w.IntN(50))

				c := composers[w.IntN(len(composers))]
				v := below(prose, c.view, w.width)
				if d, open := m.FindDialog(v); open {
					t.Fatalf("seed %d, above the composer of %s: %s\n%s", seed, c.name, tellDialog(d), strings.Join(v.Rows, "\n"))
				}
				if got := m.Composer(v); !got.Found || !got.Empty {
					t.Fatalf("seed %d, the composer of %s: %+v\n%s", seed, c.name, got, strings.Join(v.Rows, "\n"))
				}

				if pointed {
					rows := append(prose, strings.Repeat("─", w.width), "  Showing detailed transcript · ctrl+o to toggle")
					if w.IntN(2) == 0 {
						rows = prose // in the middle of being drawn
					}
					v = ScreenView{Rows: rows, CursorY: len(rows) - 1, CursorVisible: true}
					last := v.row(v.CursorY)
					if o, ok := m.Dialogs[0].option(last, 0); ok && o.marked {
						continue // the cursor happens to be on a mark
					}
					if d, open := m.FindDialog(v); open {
						t.Fatalf("seed %d, without a composer: %s\n%s", seed, tellDialog(d), strings.Join(rows, "\n"))
					}
				}

				real := dialogs[w.IntN(len(dialogs))]
				want, _ := m.FindDialog(real.view)
				got, open := m.FindDialog(below(prose, real.view, 0))
				if !open {
					t.Fatalf("seed %d: %s is not found below prose", seed, real.name)
				}
				want.Detail, got.Detail = "", "" // a rule without a top takes in what is above
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("seed %d: %s below prose (-want +got):\n%s", seed, real.name, diff)
				}
			}
		})
	}
}

// below is a screen under other text, at another width if that is not 0.
func below(prose []string, v ScreenView, width int) ScreenView {
	rows := append([]string(nil), prose...)
	for _, row := range v.Rows {
		if width > 0 {
			row = resized(row, width)
		}
		rows = append(rows, row)
	}
	v.Rows = rows
	v.CursorY += len(prose)
	if dim := v.Dim; dim != nil {
		v.Dim = func(x, y int) bool { return dim(x, y-len(prose)) }
	}
	return v
}
