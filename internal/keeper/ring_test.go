package keeper

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// ringFD makes the smallest ring.
func ringFD(t *testing.T) int {
	t.Helper()
	fd, err := newRing(minRing)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	return fd
}

func mapRing(t *testing.T, fd int) (*Ring, int) {
	t.Helper()
	r, err := openRing(fd)
	if err != nil {
		t.Fatal(err)
	}
	recovered, err := r.recover(fd, make([]byte, ringWindow))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.close(); err != nil {
			t.Error(err)
		}
	})
	return r, recovered
}

// output is the byte that a session's output has at an offset; never NUL.
func output(offset uint64) byte { return byte(offset%251) + 1 }

// fill puts n bytes of output into the window, as a read does.
func fill(r *Ring, n int) {
	w := r.window()
	for i := range n {
		w[i] = output(r.Head() + uint64(i))
	}
}

// check compares bytes with the output at an offset.
func check(t *testing.T, p []byte, at uint64) {
	t.Helper()
	for i, b := range p {
		if want := output(at + uint64(i)); b != want {
			t.Fatalf("offset %d: byte %d, want %d", at+uint64(i), b, want)
		}
	}
}

func TestRingOverManyLaps(t *testing.T) {
	r, _ := mapRing(t, ringFD(t))
	random := rand.New(rand.NewPCG(1, 2))
	for r.Head() < 10*minRing {
		n := 1 + random.IntN(len(r.window()))
		fill(r, n)
		before := r.Head()
		p, seq := r.publish(n)
		if seq != before || len(p) != n || r.Head() != before+uint64(n) {
			t.Fatalf("publish %d at %d: %d bytes at %d, head %d", n, before, len(p), seq, r.Head())
		}
		check(t, p, seq)
		for i, b := range r.window() {
			if b != 0 {
				t.Fatalf("head %d: byte %d of the window is %d", r.Head(), i, b)
			}
		}
		all, at := r.From(0)
		check(t, all, at)
		held := uint64(minRing - ringHeader - ringWindow)
		if want := r.Head() - min(r.Head(), held); at != want || at+uint64(len(all)) != r.Head() {
			t.Fatalf("head %d: holds %d bytes from %d, want from %d", r.Head(), len(all), at, want)
		}
	}
}

func TestRingFromAndTail(t *testing.T) {
	r, _ := mapRing(t, ringFD(t))
	for range 7 {
		fill(r, 50_000)
		r.publish(50_000)
		if r.Head()%50_000 != 0 { // a window at the end of a lap is shorter
			t.Fatal(r.Head())
		}
		if len(r.window()) < 50_000 {
			break
		}
	}
	head := r.Head()
	oldest := head - min(head, uint64(len(r.data))-ringWindow)
	for _, tt := range []struct {
		name   string
		get    func() ([]byte, uint64)
		at     uint64
		length uint64
	}{
		{"from the start", func() ([]byte, uint64) { return r.From(0) }, oldest, head - oldest},
		{"from the middle", func() ([]byte, uint64) { return r.From(head - 1000) }, head - 1000, 1000},
		{"from the head", func() ([]byte, uint64) { return r.From(head) }, head, 0},
		{"from the future", func() ([]byte, uint64) { return r.From(head + 5) }, head, 0},
		{"last bytes", func() ([]byte, uint64) { return r.Tail(10) }, head - 10, 10},
		{"no bytes", func() ([]byte, uint64) { return r.Tail(0) }, head, 0},
		{"less than none", func() ([]byte, uint64) { return r.Tail(-1) }, head, 0},
		{"more than there are", func() ([]byte, uint64) { return r.Tail(1 << 40) }, oldest, head - oldest},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, at := tt.get()
			if at != tt.at || uint64(len(p)) != tt.length {
				t.Errorf("%d bytes at %d, want %d at %d", len(p), at, tt.length, tt.at)
			}
			check(t, p, at)
		})
	}
}

// A host may be killed at any instant of a read: what the next one finds must be
// the same. The instants are those between the writes that publish makes.
func TestRingAfterAnInterruptedRead(t *testing.T) {
	for _, tt := range []struct {
		name      string
		interrupt func(r *Ring, n int)
		want      int // bytes that the next host recovers, of n
	}{
		{"before the read", func(*Ring, int) {}, 0},
		{"after the read", func(r *Ring, n int) { fill(r, n) }, 1},
		{"while the window's far end is cleared", func(r *Ring, n int) {
			fill(r, n)
			r.clear(r.Head()+ringWindow, n/2)
		}, 1},
		{"before the head moves", func(r *Ring, n int) {
			fill(r, n)
			r.clear(r.Head()+ringWindow, n)
		}, 1},
		{"after all", func(r *Ring, n int) {
			fill(r, n)
			r.publish(n)
		}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			fd := ringFD(t)
			random := rand.New(rand.NewPCG(3, 4))
			var head uint64
			for head < 5*minRing {
				r, recovered := mapRing(t, fd)
				if recovered != 0 || r.Head() != head {
					t.Fatalf("recovered %d, head %d, want %d", recovered, r.Head(), head)
				}
				for range 3 {
					n := 1 + random.IntN(len(r.window()))
					fill(r, n)
					r.publish(n)
				}
				n := 1 + random.IntN(len(r.window()))
				head = r.Head()
				tt.interrupt(r, n)
				if tt.want == 0 && r.Head() != head {
					head = r.Head()
				}

				next, recovered := mapRing(t, fd)
				if recovered != tt.want*n || next.Head() != head+uint64(recovered) {
					t.Fatalf("recovered %d of %d, head %d, was %d", recovered, n, next.Head(), head)
				}
				head = next.Head()
				all, at := next.From(0)
				check(t, all, at)
			}
		})
	}
}

// A new session's ring takes next to no memory.
func TestRingIsSparse(t *testing.T) {
	fd, err := newRing(0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	r, _ := mapRing(t, fd)
	copy(r.window(), "$ ")
	r.publish(2)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		t.Fatal(err)
	}
	if used, page := st.Blocks*512, int64(unix.Getpagesize()); st.Size != DefaultRing || used > page {
		t.Errorf("a ring of %d bytes takes %d", st.Size, used)
	}
}

func TestOpenRingRefuses(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(t *testing.T, fd int)
		want   string
	}{
		{"a cut file", func(t *testing.T, fd int) {
			if err := unix.Ftruncate(fd, 100); err != nil {
				t.Fatal(err)
			}
		}, "its size is 100 bytes"},
		{"another file", func(t *testing.T, fd int) {
			if _, err := unix.Pwrite(fd, bytes.Repeat([]byte("x"), 8), 0); err != nil {
				t.Fatal(err)
			}
		}, "magic 7878787878787878"},
		{"a later version", func(t *testing.T, fd int) {
			if _, err := unix.Pwrite(fd, binary.NativeEndian.AppendUint32(nil, 9), 8); err != nil {
				t.Fatal(err)
			}
		}, "version 9"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			fd := ringFD(t)
			tt.change(t, fd)
			if _, err := openRing(fd); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q in it", err, tt.want)
			}
		})
	}
}
