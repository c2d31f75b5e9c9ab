package vt

// A View is a rectangle of the viewport, in cells: what a smaller terminal shows of
// a larger screen. It may reach past the screen's edges.
type View struct{ X, Y, Cols, Rows int }

// AppendView appends what draws the rows of v that have changed since a generation
// at the top left of another terminal of v's size, and puts the cursor there. With
// generation 0 everything is drawn, on a terminal that may hold anything. Wide
// characters that an edge cuts through are drawn as blanks. Beside cells and cursor
// nothing is touched; AppendKeyModes gives the modes.
func (s *Screen) AppendView(dst []byte, v View, since uint64) []byte {
	w := replayer{s: s, b: dst}
	w.str("\x1b[?2026h\x1b[0m\x1b[?25l")
	if since == 0 {
		w.str("\x1b[2J")
	}
	for y := range v.Rows {
		if row := v.Y + y; row >= 0 && row < s.rows && s.RowGeneration(Row(row)) > since {
			w.viewRow(s.row(row), v, y)
		}
	}
	w.setPen(cell{})
	w.graphemes(true)
	if x, y := s.cur.x-v.X, s.cur.y-v.Y; x >= 0 && x < v.Cols && y >= 0 && y < v.Rows {
		w.to(x, y)
		w.csi("", " q", int(s.cursorStyle))
		if s.modes.has(modeCursor) {
			w.str("\x1b[?25h")
		}
	}
	w.str("\x1b[?2026l")
	return w.b
}

// viewRow draws the part of a row that v shows at line y of the other terminal.
func (w *replayer) viewRow(r *row, v View, y int) {
	w.to(0, y)
	end := min(r.len(), v.X+v.Cols, w.s.cols)
	for end > v.X && r.at(end-1).isBlank() {
		end--
	}
	for x := v.X; x < end; {
		c := r.at(x)
		st, width := c.style(), c.width()
		switch {
		case width == 0 || x+width > v.X+v.Cols: // cut through
			w.text(st, []byte{' '}, 1)
			x++
			continue
		case c.lo&flagCluster != 0: // terminals differ in how wide they think one is
			w.text(st, w.s.appendCellText(nil, c.lo), width)
			if x += width; x < end {
				w.to(x-v.X, y)
			}
			continue
		}
		w.text(st, w.s.appendCellText(nil, c.lo), width)
		x += width
	}
	if end-v.X < v.Cols {
		w.setPen(cell{})
		w.str("\x1b[K")
		w.state = stateNone
	}
}

// AppendKeyModes appends the sequences that make another terminal send keys and
// pastes as the program wants them, and nothing else: no mouse, no focus reports.
func (s *Screen) AppendKeyModes(dst []byte) []byte {
	w := replayer{s: s, b: dst}
	for _, n := range []int{1, 66, 2004} {
		bit, _ := privateMode(n)
		w.mode(n, s.modes.has(bit))
	}
	w.csi("=", ";1u", s.g.kitty.flags())
	w.csi(">", "m", 4, int(s.otherKeys))
	return w.b
}
