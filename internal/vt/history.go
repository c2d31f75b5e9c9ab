package vt

// Bounds of the history. A page is the unit of allocation and of forgetting;
// the byte limit holds even when every column has its own style.
const (
	pageBytes       = 64 << 10
	firstPageBytes  = 2 << 10
	maxHistoryBytes = 32 << 20
	maxHistoryLines = 1 << 20
)

// history holds the lines that left the top of the main screen, as records in
// pages. The oldest page is used again once all its lines are past the limit.
type history struct {
	pages []*page
	limit int // lines kept
	n     int // lines held, at most one page more than the limit
	bytes int // capacity of all pages
	// total counts the lines ever pushed, so that a line keeps its number.
	total uint64
}

type page struct {
	b   []byte
	off []uint32 // where each record starts
}

func (p *page) record(i int) []byte {
	if i+1 < len(p.off) {
		return p.b[p.off[i]:p.off[i+1]]
	}
	return p.b[p.off[i]:]
}

// len is the number of lines that can be read.
func (h *history) len() int { return min(h.n, h.limit) }

// dropped is the number of lines that can't be read any more.
func (h *history) dropped() uint64 { return h.total - uint64(h.len()) }

// push encodes r as the newest line.
func (h *history) push(s *Screen, r *row) {
	if h.limit <= 0 {
		h.total++
		return
	}
	if r.cells {
		s.scratch = s.appendRecord(s.scratch[:0], r)
		h.add(s.scratch)
		return
	}
	p := h.room(1 + len(r.text) + len(r.runs)*maxRunHeader)
	p.off = append(p.off, uint32(len(p.b)))
	p.b = appendTextRecord(p.b, r)
	h.n++
	h.total++
}

// add appends a record.
func (h *history) add(rec []byte) {
	if h.limit <= 0 {
		h.total++
		return
	}
	p := h.room(len(rec))
	p.off = append(p.off, uint32(len(p.b)))
	p.b = append(p.b, rec...)
	h.n++
	h.total++
}

// room gives the newest page with space for n more bytes.
func (h *history) room(n int) *page {
	var p *page
	if k := len(h.pages); k > 0 {
		p = h.pages[k-1]
		if len(p.b)+n <= cap(p.b) {
			return p
		}
		// A small session grows one small page.
		if size := max(2*cap(p.b), len(p.b)+n); size <= pageBytes {
			h.bytes += size - cap(p.b)
			p.b = append(make([]byte, 0, size), p.b...)
			return p
		}
	}
	p = h.recycle(n)
	if p == nil {
		size := max(n, pageBytes)
		if len(h.pages) == 0 {
			size = max(n, firstPageBytes)
		}
		p = &page{b: make([]byte, 0, size)}
		h.bytes += size
	}
	h.pages = append(h.pages, p)
	return p
}

// recycle forgets pages that are past a limit and returns one that has space
// for n bytes, if any.
func (h *history) recycle(n int) *page {
	var spare *page
	for len(h.pages) > 1 {
		old := h.pages[0]
		if h.n-len(old.off) < h.limit && h.bytes < maxHistoryBytes {
			break
		}
		h.n -= len(old.off)
		h.bytes -= cap(old.b)
		copy(h.pages, h.pages[1:])
		h.pages[len(h.pages)-1] = nil
		h.pages = h.pages[:len(h.pages)-1]
		if cap(old.b) >= n && cap(old.b) <= pageBytes {
			spare = old
		}
	}
	if spare != nil {
		spare.b, spare.off = spare.b[:0], spare.off[:0]
		h.bytes += cap(spare.b)
	}
	return spare
}

// pop takes the newest record off; it stays valid until the next push.
func (h *history) pop() []byte {
	p := h.pages[len(h.pages)-1]
	k := len(p.off) - 1
	rec := p.record(k)
	p.b, p.off = p.b[:p.off[k]], p.off[:k]
	h.n--
	h.total--
	if k == 0 {
		h.bytes -= cap(p.b)
		h.pages = h.pages[:len(h.pages)-1]
	}
	return rec
}

// forget drops every line.
func (h *history) forget() {
	h.pages, h.n, h.bytes = nil, 0, 0
}

// each visits the records from..to-1 of those that can be read, oldest first.
// The slices are only valid during the call.
func (h *history) each(from, to int, f func(rec []byte)) {
	from, to = max(from, 0), min(to, h.len())
	i := -(h.n - h.len())
	for _, p := range h.pages {
		if i+len(p.off) <= from {
			i += len(p.off)
			continue
		}
		for k := max(0, from-i); k < len(p.off); k++ {
			if i+k >= to {
				return
			}
			f(p.record(k))
		}
		i += len(p.off)
	}
}

// eachStyle visits the style of every run held, also of lines past the limit.
func (h *history) eachStyle(f func(lo uint64)) {
	for _, p := range h.pages {
		for i := range p.off {
			var st cell
			for rec := p.record(i)[1:]; len(rec) > 0; {
				u, rest, err := nextRun(rec, st)
				if err != nil {
					break
				}
				f(u.style.lo)
				st, rec = u.style, rest
			}
		}
	}
}
