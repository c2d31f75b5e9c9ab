// Package vt is a terminal without a terminal: it turns the bytes a program
// writes into a screen, and a screen back into bytes.
//
// It hides the VT500 and xterm state machine, the layout of rows and history,
// grapheme clusters, reflow and the encoding of keys. The host feeds it what a
// program writes and takes from it the answers the program asked for, the
// events it announced, the text for readers and the bytes that bring another
// terminal to the same state.
//
// It starts no goroutine, reads no clock, does no I/O and never logs. No input
// panics, hangs or grows it without bound.
//
// A Screen belongs to one goroutine.
package vt

// Bounds of a screen's size in cells.
const (
	maxCols = 2048
	maxRows = 2048
)

// Options are fixed for the life of a Screen.
type Options struct {
	// Cols and Rows are the size in cells; values outside 1–2048 are clamped.
	Cols, Rows int
	// History is how many lines are kept after they left the top of the
	// main screen; 0 keeps none. At most 1,048,576, and at most 32 MiB.
	History int
	// ProgramStatus answers the query of the Program Status Protocol
	// (OSC 7501;?) by echoing it, which asks programs to report.
	ProgramStatus bool
	// Version stands after the name in the answer to XTVERSION.
	Version string
}

// Screen is a terminal's whole state.
type Screen struct {
	opt        Options
	cols, rows int

	main, alt grid
	g         *grid // the one shown: &main or &alt
	history   history

	cur                      cursor
	top, bottom, left, right int // margins, inclusive
	modes, savedModes        modeSet
	tabs                     []bool
	last                     lastPrinted
	singleShift              uint8 // 0, or the set for the next character

	clusters table[string]
	joins    *joinCache
	exts     table[ext]

	titles      titles
	colors      colors
	dir         string
	cursorStyle uint8 // DECSCUSR, 0–6
	otherKeys   uint8 // modifyOtherKeys, 0–3
	cellW       int   // pixels, for window reports
	cellH       int

	parser parser
	out    outbox

	// gen is the generation that readers see; next is what rows changed by
	// the current Write are stamped with; changed says that it counts.
	gen, next uint64
	changed   bool
	scrolled  uint64 // rows the whole screen ever scrolled up
	scrollGen uint64 // generation of the last such scroll

	scratch []byte
	// busy bars sweeping while rows live outside the grids (reflow).
	busy bool
}

// lastPrinted is what a combining character or REP refers to. Any control
// function but SGR forgets it.
type lastPrinted struct {
	r     rune // 0: nothing
	x     int
	state clusterState
}

// New returns a blank screen.
func New(o Options) *Screen {
	o.Cols, o.Rows = clamp(o.Cols, 1, maxCols), clamp(o.Rows, 1, maxRows)
	o.History = clamp(o.History, 0, maxHistoryLines)
	s := &Screen{opt: o, cols: o.Cols, rows: o.Rows, cellW: 8, cellH: 16}
	s.history.limit = o.History
	s.reset()
	s.next = 1
	return s
}

// reset is the state after RIS, history apart.
func (s *Screen) reset() {
	s.main = grid{rows: make([]row, s.rows)}
	s.alt = grid{}
	s.g = &s.main
	s.cur = cursor{charset: asciiSets}
	s.resetMargins()
	s.modes, s.savedModes = defaultModes, defaultModes
	s.tabs = nil
	s.last, s.singleShift = lastPrinted{}, 0
	s.clusters, s.exts, s.joins = table[string]{}, table[ext]{}, nil
	s.titles = titles{}
	s.colors.overrides = nil
	s.dir = ""
	s.cursorStyle, s.otherKeys = 0, 0
	s.stampAll()
}

func (s *Screen) resetMargins() {
	s.top, s.bottom, s.left, s.right = 0, s.rows-1, 0, s.cols-1
}

func (s *Screen) stampAll() {
	for i := range s.g.rows {
		s.g.rows[i].gen = s.next
	}
	s.changed = true
}

func clamp(v, lo, hi int) int { return max(lo, min(v, hi)) }

// Size returns the size in cells.
func (s *Screen) Size() (cols, rows int) { return s.cols, s.rows }

// SetCellSize sets the size of a cell in pixels, for the window reports
// (CSI 14 t, CSI 16 t, mode 2048). It is 8 by 16 until set.
func (s *Screen) SetCellSize(width, height int) {
	s.cellW, s.cellH = clamp(width, 1, 1000), clamp(height, 1, 1000)
}

// Cursor is where the next character goes, in viewport cells from 0,0.
type Cursor struct {
	X, Y    int
	Visible bool
	// Style is the DECSCUSR number: 0 default, 1–2 block, 3–4 underline,
	// 5–6 bar, odd ones blink.
	Style int
	// Pending: the last column is written and the next character wraps.
	Pending bool
}

// Cursor returns the cursor of the screen shown.
func (s *Screen) Cursor() Cursor {
	return Cursor{
		X: s.cur.x, Y: s.cur.y, Visible: s.modes.has(modeCursor),
		Style: int(s.cursorStyle), Pending: s.cur.pending,
	}
}

// AltScreen reports whether the alternate screen is shown.
func (s *Screen) AltScreen() bool { return s.g == &s.alt }

// Generation grows with every change that can be seen: cells, cursor, modes
// that change the picture, size.
func (s *Screen) Generation() uint64 { return s.gen }

// RowGeneration is the generation at which viewport row y last showed
// something else. A scroll of the whole screen changes every row.
func (s *Screen) RowGeneration(y Row) uint64 {
	if y < 0 || int(y) >= s.rows {
		return 0
	}
	return max(s.row(int(y)).gen, s.scrollGen)
}

// HistoryLen is the number of history lines that can be read.
func (s *Screen) HistoryLen() int { return s.history.len() }

// HistoryDropped is the number of lines that left the history for good. A
// line's number in the session is HistoryDropped plus its HistoryLine; reflow
// renumbers the lines that remain.
func (s *Screen) HistoryDropped() uint64 { return s.history.dropped() }
