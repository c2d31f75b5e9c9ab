package vt

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// Steady output allocates nothing.
func TestWriteAllocatesNothing(t *testing.T) {
	for _, st := range streams(t) {
		t.Run(st.name, func(t *testing.T) {
			s := New(Options{Cols: 200, Rows: 50, History: 1000})
			feed(s, st.data)
			feed(s, st.data)
			data := st.data[:256<<10]
			feed(s, data)
			if n := testing.AllocsPerRun(5, func() { feed(s, data) }); n > 0 {
				t.Errorf("%v allocations for %d KiB", n, len(data)>>10)
			}
		})
	}
}

// heap is the live heap after a collection.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// What a session costs, per screen of 120x40 with 10,000 lines of history.
func TestMemory(t *testing.T) {
	const screens = 8
	for _, c := range []struct {
		name  string
		line  string
		limit int64 // bytes per screen
	}{
		{"empty", "", 8 << 10},
		{"short lines", "line %d of the output\r\n", 600 << 10},
		{"full lines", "%06d " + strings.Repeat("x", 112) + "\r\n", 1500 << 10},
		{"styled lines", strings.Repeat("\x1b[38;5;%dmword1 ", 20) + "\x1b[0m\r\n", 2800 << 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			var line []byte
			before := heap()
			list := make([]*Screen, screens)
			for i := range list {
				s := New(Options{Cols: 120, Rows: 40, History: 10000})
				for k := 0; c.line != "" && k < 10100; k++ {
					args := make([]any, strings.Count(c.line, "%"))
					for a := range args {
						args[a] = (k + 7*a) % 256
					}
					line = fmt.Appendf(line[:0], c.line, args...)
					s.Write(line)
				}
				list[i] = s
			}
			got := (heap() - before) / screens
			runtime.KeepAlive(list)
			t.Logf("%d bytes per screen", got)
			if got > c.limit {
				t.Errorf("%d bytes per screen, want at most %d", got, c.limit)
			}
		})
	}
}

// The clusters that were on the screen once make room for new ones.
func TestClustersAreSwept(t *testing.T) {
	s := New(Options{Cols: 80, Rows: 24, History: 10})
	var b []byte
	n := 0
	for base := rune('a'); base <= 'z' && n < 3*maxClusters; base++ {
		for m1 := rune(0x300); m1 < 0x36f; m1++ {
			for m2 := rune(0x300); m2 < 0x36f; m2++ {
				b = append(b, string([]rune{base, m1, m2})...)
				n++
			}
		}
		s.Write(b)
		b = b[:0]
	}
	if n < 2*maxClusters {
		t.Fatalf("only %d clusters", n)
	}
	if k := len(s.clusters.items); k > maxClusters {
		t.Errorf("%d clusters kept", k)
	}
	// The newest are whole.
	s.Write([]byte("\r\n" + strings.Repeat("q\u0301\u0302", 3)))
	if got, want := s.RowText(Row(s.cur.y)), strings.Repeat("q\u0301\u0302", 3); got != want {
		t.Errorf("after the sweep %q, want %q", got, want)
	}
	if err := integrity(s); err != nil {
		t.Error(err)
	}
}

// Links that are nowhere any more make room for new ones, and those that are
// still on the screen or in the history stay right.
func TestLinksAreSwept(t *testing.T) {
	s := New(Options{Cols: 20, Rows: 4, History: 100})
	for i := range 3 * maxExts {
		fmt.Fprintf(s, "\x1b]8;;http://host/%d\x07L\x1b]8;;\x07\r\n", i)
	}
	if k := len(s.exts.items); k > maxExts {
		t.Errorf("%d links kept", k)
	}
	last := 3*maxExts - 1
	if got, want := s.Cell(0, 2).Style.Link, fmt.Sprintf("http://host/%d", last); got != want {
		t.Errorf("link on the screen %q, want %q", got, want)
	}
	for i := range HistoryLine(s.HistoryLen()) {
		want := fmt.Sprintf("http://host/%d", last-2-s.HistoryLen()+int(i))
		if got := s.AppendHistory(nil, i)[0].Style.Link; got != want {
			t.Errorf("link in history line %d is %q, want %q", i, got, want)
		}
	}
}

// When everything in the table is in use, links are lost and text is not.
func TestLinksWhenFull(t *testing.T) {
	s := New(Options{Cols: 20, Rows: 4, History: maxHistoryLines})
	for i := range maxExts + 10000 {
		fmt.Fprintf(s, "\x1b]8;;h%d\x07L\x1b]8;;\x07\r\n", i)
	}
	if c := s.Cell(0, 2); c.Text != "L" || c.Style.Link != "" {
		t.Errorf("%+v", c)
	}
	if got, want := s.AppendHistory(nil, 0)[0].Style.Link, "h0"; got != want {
		t.Errorf("oldest link %q, want %q", got, want)
	}
}

// A cluster can't grow without end.
func TestLongClusters(t *testing.T) {
	s := draw("a" + strings.Repeat("\u0301", 100_000) + "b")
	if n := len(s.Cell(0, 0).Text); n > maxClusterBytes {
		t.Errorf("cluster of %d bytes", n)
	}
	if got := s.Cell(1, 0).Text; got != "b" {
		t.Errorf("then %q", got)
	}
}

// The history has a bound in bytes, whatever a line costs.
func TestHistoryBytesAreBounded(t *testing.T) {
	s := New(Options{Cols: 2000, Rows: 2, History: maxHistoryLines})
	var b strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&b, "\x1b[38;2;%d;%d;%d;48;2;9;8;%dmé", i%256, i/256, i%251, i%253)
	}
	b.WriteString("\r\n")
	for range 2500 {
		s.Write([]byte(b.String()))
	}
	if s.history.bytes > maxHistoryBytes+pageBytes {
		t.Errorf("%d bytes of history", s.history.bytes)
	}
	if s.HistoryDropped()+uint64(s.HistoryLen()) != 2499 {
		t.Errorf("%d dropped, %d kept", s.HistoryDropped(), s.HistoryLen())
	}
	if err := integrity(s); err != nil {
		t.Error(err)
	}
}
