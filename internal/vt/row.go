package vt

// A row has two forms. While it is only appended to or cut at its end and
// holds ASCII it is text: bytes and style runs. The first other write makes
// it cells. Columns past its length are blank in default style in both, so
// that the cost of a row follows its text.
type row struct {
	text []byte // text form, one byte per column
	// runs are the styles of text in ascending order; the rune field of
	// each holds the first column it covers, the first run covers column 0.
	runs []cell
	c    []cell // cell form; kept for reuse in text form
	// cells says which form is valid.
	cells bool
	// wrapped: the line continues on the next row.
	wrapped bool
	gen     uint64 // the screen's generation when the row last changed
}

func (r *row) len() int {
	if r.cells {
		return len(r.c)
	}
	return len(r.text)
}

// clear empties the row and returns it to text form.
func (r *row) clear() {
	r.text, r.runs, r.cells, r.wrapped = r.text[:0], r.runs[:0], false, false
}

// fill makes every column b.
func (r *row) fill(b cell, cols int) {
	if b == blank {
		r.clear()
		return
	}
	r.clear()
	r.room(cols)
	r.cells, r.c = true, r.c[:cols]
	for i := range r.c {
		r.c[i] = b
	}
}

// room gives the cell form space for n columns.
func (r *row) room(n int) {
	if cap(r.c) < n {
		r.c = append(make([]cell, 0, n), r.c...)
	}
}

// toCells changes the form, keeping the length; there will be space for n
// columns.
func (r *row) toCells(n int) {
	if r.cells {
		return
	}
	r.c = r.c[:0]
	r.room(n)
	r.cells, r.c = true, r.c[:len(r.text)]
	for k, run := range r.runs {
		from, to := int(run.lo&runeMask), len(r.text)
		if k+1 < len(r.runs) {
			to = int(r.runs[k+1].lo & runeMask)
		}
		st := run.style()
		dst := r.c[from:to]
		for i, ch := range r.text[from:to] {
			dst[i] = cell{st.lo | uint64(ch), st.fg, st.bg}
		}
	}
	r.text, r.runs = r.text[:0], r.runs[:0]
}

// upto gives the row in cell form with at least n columns, and space for as
// many as the row may get.
func (r *row) upto(n, space int) []cell {
	r.toCells(space)
	if old := len(r.c); old < n {
		if cap(r.c) < n {
			r.room(space)
		}
		r.c = r.c[:n]
		for i := old; i < n; i++ {
			r.c[i] = blank
		}
	}
	return r.c
}

// put writes ASCII at column x if the row can stay text, else it reports
// false and has changed nothing.
func (r *row) put(x int, s []byte, pen *cell) bool {
	n := len(r.text)
	if r.cells || x < n {
		return false
	}
	k := len(r.runs)
	if x > n {
		if k == 0 || r.runs[k-1].style() != (cell{}) {
			r.runs = append(r.runs, cell{lo: uint64(n)})
			k++
		}
		for ; n < x; n++ {
			r.text = append(r.text, ' ')
		}
	}
	if k == 0 || r.runs[k-1].lo&^runeMask != pen.lo || r.runs[k-1].fg != pen.fg || r.runs[k-1].bg != pen.bg {
		r.runs = append(r.runs, cell{pen.lo | uint64(x), pen.fg, pen.bg})
	}
	r.text = append(r.text, s...)
	return true
}

// cut drops the columns from x on; a row that is not full can't go on.
func (r *row) cut(x int) {
	r.wrapped = false
	if r.cells {
		if x < len(r.c) {
			severAt(r.c, x)
			r.c = r.c[:x]
		}
		return
	}
	if x >= len(r.text) {
		return
	}
	r.text = r.text[:x]
	k := len(r.runs)
	for k > 0 && int(r.runs[k-1].lo&runeMask) >= x {
		k--
	}
	r.runs = r.runs[:k]
}

// setWidth cuts the row to a new number of columns and makes its storage fit.
func (r *row) setWidth(cols int) {
	if cols < r.len() {
		r.cut(cols)
	}
	if r.cells {
		r.c = append(make([]cell, 0, cols), r.c...)
	} else {
		r.c = nil
	}
}

// at is the cell at column x in either form.
func (r *row) at(x int) cell {
	if x >= r.len() {
		return blank
	}
	if r.cells {
		return r.c[x]
	}
	k := len(r.runs) - 1
	for int(r.runs[k].lo&runeMask) > x {
		k--
	}
	st := r.runs[k].style()
	st.lo |= uint64(r.text[x])
	return st
}

// trimmed is the length without blank columns in default style at the end.
func (r *row) trimmed() int {
	n := r.len()
	if r.cells {
		for n > 0 && r.c[n-1].isBlank() {
			n--
		}
		return n
	}
	for n > 0 && r.text[n-1] == ' ' && r.at(n-1) == blank {
		n--
	}
	return n
}

// join appends the first n columns of o, which has as many.
func (r *row) join(o *row, n int) {
	if r.cells || o.cells {
		r.toCells(r.len() + n)
		if o.cells {
			r.c = append(r.c, o.c[:n]...)
			return
		}
		for x := range n {
			r.c = append(r.c, o.at(x))
		}
		return
	}
	base := len(r.text)
	r.text = append(r.text, o.text[:n]...)
	for _, run := range o.runs {
		at := int(run.lo & runeMask)
		if at >= n {
			break
		}
		if k := len(r.runs); k == 0 || r.runs[k-1].style() != run.style() {
			run.lo += uint64(base)
			r.runs = append(r.runs, run)
		}
	}
}

// drop removes the first n columns.
func (r *row) drop(n int) {
	if n == 0 {
		return
	}
	if r.cells {
		r.c = append(r.c[:0], r.c[n:]...)
		return
	}
	cut := r.slice(n, len(r.text), nil)
	r.text = append(r.text[:0], cut.text...)
	r.runs = append(r.runs[:0], cut.runs...)
}

// slice is columns from..to-1 as a row that shares r's storage, but for its
// runs, which go into buf. Halves of wide characters at its ends are blanked.
func (r *row) slice(from, to int, buf []cell) row {
	if r.cells {
		c := r.c[from:to:to]
		if len(c) > 0 && c[0].lo&roleMask == roleTail {
			c[0] = cell{lo: ' ', bg: c[0].bg}
		}
		if k := len(c) - 1; k >= 0 && c[k].lo&roleMask == roleHead {
			c[k] = cell{lo: ' ', bg: c[k].bg}
		}
		return row{cells: true, c: c, runs: buf[:0]}
	}
	out := row{text: r.text[from:to:to], runs: buf[:0]}
	for k, run := range r.runs {
		at := int(run.lo & runeMask)
		if at >= to {
			break
		}
		if k+1 < len(r.runs) && int(r.runs[k+1].lo&runeMask) <= from {
			continue
		}
		run.lo = run.lo&^runeMask | uint64(max(at-from, 0))
		out.runs = append(out.runs, run)
	}
	if from == to {
		out.runs = out.runs[:0]
	}
	return out
}

// clone is a copy with storage of its own, with space for cols columns.
func (r *row) clone(cols int) row {
	out := row{cells: r.cells, wrapped: r.wrapped}
	if r.cells {
		out.c = append(make([]cell, 0, cols), r.c...)
		return out
	}
	out.text = append([]byte(nil), r.text...)
	out.runs = append([]cell(nil), r.runs...)
	return out
}
