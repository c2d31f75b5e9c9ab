package vt

import "unicode/utf8"

// Bounds of the two intern tables. The ext index has 16 bits; the cluster
// table is larger than any screen that fits on a desk.
const (
	maxClusters     = 1 << 17
	maxExts         = 1 << 16
	maxClusterBytes = 127 // one byte in a history record holds the length and the width
	maxLinkBytes    = 2083
	// sweepPause is how many requests a full table refuses before it is
	// swept again, so that a hopeless sweep is not repeated per character.
	sweepPause = 4096
)

// ext is what a cell's 16-bit ext index stands for: entry 0 is the zero ext.
type ext struct {
	ul      Color
	uri, id string
}

// table interns values of one kind. Freed entries are reused before it grows.
type table[T comparable] struct {
	items []T
	index map[T]uint32
	free  []uint32
	pause int
}

func (t *table[T]) get(i uint32) T {
	if int(i) < len(t.items) {
		return t.items[i]
	}
	var zero T
	return zero
}

// add interns v. It reports false when the table is full even after sweep,
// which has to call keep for every index in use.
func (t *table[T]) add(v T, limit int, sweep func()) (uint32, bool) {
	if i, ok := t.index[v]; ok {
		return i, true
	}
	if len(t.free) == 0 && len(t.items) >= limit {
		if t.pause > 0 {
			t.pause--
			return 0, false
		}
		sweep()
		if len(t.free) < limit/64 {
			t.pause = sweepPause
		}
		if len(t.free) == 0 {
			return 0, false
		}
	}
	if t.index == nil {
		t.index = make(map[T]uint32)
		var zero T
		t.items = append(t.items[:0], zero) // index 0 is never given out
	}
	var i uint32
	if k := len(t.free); k > 0 {
		i, t.free = t.free[k-1], t.free[:k-1]
		t.items[i] = v
	} else {
		i = uint32(len(t.items))
		t.items = append(t.items, v)
	}
	t.index[v] = i
	return i, true
}

// sweep frees every entry that used does not hold.
func (t *table[T]) sweep(used []bool) {
	t.free = t.free[:0]
	var zero T
	for i := len(t.items) - 1; i > 0; i-- {
		if used[i] {
			continue
		}
		if t.items[i] != zero {
			delete(t.index, t.items[i])
			t.items[i] = zero
		}
		t.free = append(t.free, uint32(i))
	}
}

// A joinCache remembers what cells became when a rune joined them, for text
// repeats. Direct mapped; a sweep empties it.
type joinCache [256]struct {
	key  uint64 // content bits and rune, 0 is empty
	bits uint32
}

func joinSlot(key uint64) int { return int(key * 0x9e3779b97f4a7c15 >> 56) }

// joinCluster interns the content of a cell after r has joined it. It reports
// false if that is too long or there is no space.
func (s *Screen) joinCluster(lo uint64, r rune) (uint64, bool) {
	key := uint64(r)<<32 | lo&(runeMask|flagCluster)
	if s.joins == nil {
		s.joins = new(joinCache)
	}
	slot := &s.joins[joinSlot(key)]
	if slot.key == key {
		return uint64(slot.bits), true
	}
	b := s.scratch[:0]
	if lo&flagCluster != 0 {
		b = append(b, s.clusters.get(uint32(lo&runeMask))...)
	} else {
		b = utf8.AppendRune(b, rune(lo&runeMask))
	}
	b = utf8.AppendRune(b, r)
	s.scratch = b
	if len(b) > maxClusterBytes {
		return 0, false
	}
	bits, ok := s.internCluster(b)
	if ok {
		// Without a cache a sweep has just been; the slot is an old one's.
		if s.joins != nil {
			slot.key, slot.bits = key, uint32(bits)
		}
	}
	return bits, ok
}

// internCluster returns the content bits for a cluster of two or more runes.
func (s *Screen) internCluster(b []byte) (uint64, bool) {
	if i, ok := s.clusters.index[string(b)]; ok {
		return flagCluster | uint64(i), true
	}
	i, ok := s.clusters.add(string(b), maxClusters, s.sweepClusters)
	return flagCluster | uint64(i), ok
}

// internExt returns the ext bits for e, zero when the table is full: the link
// is lost, the text stays.
func (s *Screen) internExt(e ext) uint64 {
	if e == (ext{}) {
		return 0
	}
	i, ok := s.exts.add(e, maxExts, s.sweepExts)
	if !ok {
		return 0
	}
	return uint64(i) << extShift
}

func (s *Screen) ext(lo uint64) ext { return s.exts.get(uint32(lo >> extShift)) }

// eachCell visits every cell of both screens. Text rows hold no cluster; their
// runs are visited for the ext index.
func (s *Screen) eachCell(f func(c cell)) {
	for _, g := range []*grid{&s.main, &s.alt} {
		for i := range g.rows {
			r := &g.rows[i]
			list := r.runs
			if r.cells {
				list = r.c
			}
			for _, c := range list {
				f(c)
			}
		}
	}
}

func (s *Screen) sweepClusters() {
	if s.busy {
		return
	}
	used := make([]bool, len(s.clusters.items))
	s.eachCell(func(c cell) {
		if c.lo&flagCluster != 0 {
			used[c.lo&runeMask] = true
		}
	})
	s.clusters.sweep(used)
	s.joins = nil
}

func (s *Screen) sweepExts() {
	if s.busy {
		return
	}
	used := make([]bool, len(s.exts.items))
	mark := func(lo uint64) { used[lo>>extShift] = true }
	s.eachCell(func(c cell) { mark(c.lo) })
	mark(s.cur.pen.lo)
	mark(s.main.saved.pen.lo)
	mark(s.alt.saved.pen.lo)
	s.history.eachStyle(func(lo uint64) { mark(lo) })
	s.exts.sweep(used)
}
