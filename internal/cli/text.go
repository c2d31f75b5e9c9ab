package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"termio/internal/api"
	"termio/internal/quick"
	"termio/internal/vt"
)

// clean makes text of a session or a file safe for a terminal, in one line.
func clean(s string) string { return quick.Clean(s) }

// cleanBlock is clean for text of several lines.
func cleanBlock(s string) string { return quick.CleanBlock(s) }

// rootCause is the error under the operation and path that a file's error
// repeats.
func rootCause(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

// colours reports whether a stream is a terminal that wants them.
func (a *App) colours(f *os.File) bool {
	env := func(name string) string {
		for i := len(a.environ) - 1; i >= 0; i-- {
			if k, v, ok := strings.Cut(a.environ[i], "="); ok && k == name {
				return v
			}
		}
		return ""
	}
	return env("NO_COLOR") == "" && env("TERM") != "dumb" && env("TERM") != "" && isTerminal(f)
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// width is how many cells a line of the stream has; 0 where it is no terminal.
func width(f *os.File) int {
	cols, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return cols
}

// statusColour is the SGR of a status word.
var statusColour = map[api.Status]string{
	api.Working: "34", api.NeedsYou: "1;33", api.Done: "32", api.Idle: "2", api.Closed: "2", api.Stalled: "35",
}

// paint colours a status word that is padded already.
func paint(on bool, s api.Status, text string) string {
	if sgr := statusColour[s]; on && sgr != "" {
		return "\x1b[" + sgr + "m" + text + "\x1b[m"
	}
	return text
}

// roomy is how many cells the last column of a table wants beside the others.
const roomy = 40

// columns is how a table is laid out.
type columns struct {
	widths []int // of all but the last column
	room   int   // cells for the last column; 0: no bound
	below  bool  // the last column stands on a line of its own
}

// layOut fits a table into lines of so many cells; 0 is no bound.
func layOut(limit int, head []string, rows [][]string) columns {
	var c columns
	for _, r := range append([][]string{head}, rows...) {
		c.widths = append(c.widths, make([]int, max(0, len(r)-len(c.widths)))...)
		for i, cell := range r {
			c.widths[i] = max(c.widths[i], cells(cell))
		}
	}
	last := max(0, len(c.widths)-1)
	if limit == 0 || last == 0 {
		c.widths, c.room = c.widths[:last], limit
		return c
	}
	used := 0
	for _, n := range c.widths[:last] {
		used += n + 2
	}
	c.room = limit - used
	if c.room < min(roomy, c.widths[last]) {
		c.below, c.room = true, limit-2
	}
	c.widths, c.room = c.widths[:last], max(c.room, 1)
	return c
}

// table writes rows in columns as wide as their widest cell, below a head unless
// that is empty. The last column is not padded; on a terminal, of limit cells, it is
// cut at the line's end, and where that leaves too little of it, it stands on an
// indented line of its own. Without a terminal the limit is 0 and a row is a line.
func table(w io.Writer, limit int, head []string, rows [][]string, paintCell func(row, col int, padded string) string) {
	if limit == 0 && len(head) > 0 {
		_, _ = w.Write(quick.AppendTable(nil, head, rows, cells, paintCell))
		return
	}
	c := layOut(limit, head, rows)
	line := func(n int, r []string) {
		var b strings.Builder
		last := len(c.widths)
		for i, cell := range r[:last] {
			if i < last-1 || !c.below {
				cell += strings.Repeat(" ", c.widths[i]-cells(cell)+2)
			}
			b.WriteString(paintCell(n, i, cell))
		}
		if c.below {
			b.WriteString("\n  ")
		}
		cell := r[last]
		if c.room > 0 {
			cell = cutCells(cell, c.room)
		}
		b.WriteString(paintCell(n, last, cell))
		fmt.Fprintln(w, strings.TrimRight(b.String(), " "))
	}
	if len(head) > 0 {
		line(-1, head)
	}
	for n, r := range rows {
		line(n, r)
	}
}

// cells is how many cells a terminal gives a text.
func cells(s string) int { return vt.Width(s) }

// cutCells shortens a text to a number of cells, with a mark where it was cut.
func cutCells(s string, limit int) string {
	if cells(s) <= limit {
		return s
	}
	head, _ := vt.Cut(s, limit-1)
	return head + "…"
}

// age says how long ago a moment in unix milliseconds was.
func age(ms int64, now time.Time) string {
	d := now.Sub(time.UnixMilli(ms))
	switch {
	case d < time.Second:
		return "now"
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

// lasting says since when something is so.
func lasting(ms int64, now time.Time) string {
	if d := age(ms, now); d != "now" {
		return "for " + d
	}
	return "since just now"
}

// indent puts a margin before each line of a block.
func indent(block string) string {
	return "  " + strings.ReplaceAll(block, "\n", "\n  ")
}
