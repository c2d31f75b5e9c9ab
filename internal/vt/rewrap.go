package vt

import (
	"encoding/binary"
	"unicode/utf8"
)

// maxRewrap is how many records of one logical line are wrapped anew as records; a
// longer line goes by way of rows, which need no list of its parts.
const maxRewrap = 256

// history wraps the lines of the history into a new one, but for a logical
// line that goes on in the screen: its end stays in f.line.
func (f *reflower) history() {
	s := f.s
	old := s.history
	s.history = history{limit: old.limit, total: old.dropped()}
	f.toHistory = true
	// The pages of old are not recycled: its records stay as they are.
	var line [][]byte
	old.each(0, old.len(), func(rec []byte) {
		wrapped := rec[0]&recWrapped != 0
		switch {
		case f.open:
			f.byRow(rec)
		case !wrapped && len(line) == 0 && recordColumns(rec) <= f.cols:
			s.history.add(rec)
		default:
			if line = append(line, rec); !wrapped {
				f.rewrap(line)
				line = line[:0]
			} else if len(line) == maxRewrap {
				f.byRows(line)
				line = line[:0]
			}
		}
	})
	f.byRows(line)
	f.toHistory = false
}

// byRow wraps one record by way of a row.
func (f *reflower) byRow(rec []byte) {
	f.s.decodeRow(rec, &f.tmp)
	f.gather(&f.tmp)
	f.wrap(rec[0]&recWrapped == 0)
}

func (f *reflower) byRows(line [][]byte) {
	for _, rec := range line {
		f.byRow(rec)
	}
}

// rewrap wraps a whole logical line without decoding it: runs are cut and copied.
func (f *reflower) rewrap(line [][]byte) {
	// The last record has no blanks at its end, unless it holds nothing: then
	// those of the record before it have to go. A wide character in one column
	// is no text any more.
	if len(line[len(line)-1]) == 1 || f.cols == 1 {
		f.byRows(line)
		return
	}
	w := recordWriter{h: &f.s.history, b: append(f.rec[:0], 0), cols: f.cols}
	for _, rec := range line {
		var st cell
		for rec = rec[1:]; len(rec) > 0; {
			u, rest, err := nextRun(rec, st)
			if err != nil {
				break
			}
			w.run(u)
			st, rec = u.style, rest
		}
	}
	w.h.add(w.b)
	f.rec = w.b
}

// recordWriter makes records of at most cols columns of runs.
type recordWriter struct {
	h         *history
	b         []byte // the record under way
	prev      cell   // its last style
	col, cols int
}

// run appends a run, on as many records as it takes.
func (w *recordWriter) run(u run) {
	for u.n > 0 {
		head := u.fit(w.cols - w.col)
		if head.n == 0 {
			w.end()
			continue
		}
		if head.style == w.prev {
			w.b = binary.AppendUvarint(w.b, uint64(head.n)<<3|uint64(head.kind)<<1)
		} else {
			w.b = binary.AppendUvarint(w.b, uint64(head.n)<<3|uint64(head.kind)<<1|1)
			w.b = appendStyle(w.b, head.style)
			w.prev = head.style
		}
		w.b = append(w.b, head.data...)
		w.col += head.columns()
		u.n -= head.n
		u.data = u.data[len(head.data):]
	}
}

// end finishes a record whose line goes on.
func (w *recordWriter) end() {
	w.b[0] = recWrapped
	if w.col < w.cols {
		w.b[0] |= recSpacer // left for a wide character
	}
	w.h.add(w.b)
	w.b = append(w.b[:0], 0)
	w.prev, w.col = cell{}, 0
}

// fit is as much of the start of the run as goes into so many columns.
func (r run) fit(columns int) run {
	switch r.kind {
	case kindASCII:
		r.n = min(r.n, columns)
		r.data = r.data[:r.n]
	case kindNarrow, kindWide:
		if k := columns / r.kind; k < r.n {
			size := 0
			for range k {
				_, z := utf8.DecodeRune(r.data[size:])
				size += z
			}
			r.n, r.data = k, r.data[:size]
		}
	default:
		n, size := 0, 0
		for n < r.n {
			w := 1 + int(r.data[size]>>7)
			if columns -= w; columns < 0 {
				break
			}
			size += 1 + int(r.data[size]&^clusterWide)
			n++
		}
		r.n, r.data = n, r.data[:size]
	}
	return r
}
