package keeper

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	ringMagic   = 0x676e697272657474 // "tterring" in memory
	ringVersion = 1
	ringHeader  = 64
	// ringWindow is how much one read may take, in bytes, and how much after the
	// head is kept zero for the next host to find an interrupted read in.
	ringWindow = 64 << 10

	// DefaultRing is the size of a session's ring when a start doesn't say, in
	// bytes.
	DefaultRing = 1 << 20
	minRing     = 4 * ringWindow
	maxRing     = 1 << 30
)

// Ring holds the last output of a session in memory that outlives the host. Its
// file is one header and the data:
//
//	0   magic    uint64, in the machine's order, like all of them
//	8   version  uint32
//	12  window   uint32, bytes
//	16  head     uint64: bytes of output so far; offset o lies at o modulo the data's length
//
// The window bytes after the head are zero, except for what a read put there whose
// host was killed before it moved the head. To keep that true at every instant, a
// read's far end is cleared first and the head moved last. NUL, the one byte that
// can't be told from a cleared one, means nothing to a terminal.
//
// A Ring belongs to the goroutine that reads its Terminal.
type Ring struct {
	mem  []byte // the whole file
	data []byte
	head *atomic.Uint64
}

// newRing makes a ring's memory, size bytes, in the keeper, which never maps it.
func newRing(size int) (fd int, err error) {
	if size == 0 {
		size = DefaultRing
	}
	size = min(max(size, minRing), maxRing)
	fd, err = ringFile()
	if err != nil {
		return -1, fmt.Errorf("create a ring: %w", err)
	}
	header := make([]byte, ringHeader)
	binary.NativeEndian.PutUint64(header[0:], ringMagic)
	binary.NativeEndian.PutUint32(header[8:], ringVersion)
	binary.NativeEndian.PutUint32(header[12:], ringWindow)
	if err = unix.Ftruncate(fd, int64(size)); err == nil {
		_, err = unix.Pwrite(fd, header, 0)
	}
	if err != nil {
		_ = unix.Close(fd)
		return -1, fmt.Errorf("create a ring of %d bytes: %w", size, err)
	}
	return fd, nil
}

// openRing maps a ring; recover has been called for one that another host used.
// The mapping doesn't need fd any more.
func openRing(fd int) (*Ring, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, fmt.Errorf("open a ring: %w", err)
	}
	if st.Size < minRing || st.Size > maxRing {
		return nil, fmt.Errorf("open a ring: its size is %d bytes", st.Size)
	}
	mem, err := unix.Mmap(fd, 0, int(st.Size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map a ring: %w", err)
	}
	magic, v, window := binary.NativeEndian.Uint64(mem), binary.NativeEndian.Uint32(mem[8:]), binary.NativeEndian.Uint32(mem[12:])
	if magic != ringMagic || v != ringVersion || window != ringWindow {
		_ = unix.Munmap(mem)
		return nil, fmt.Errorf("open a ring: magic %x, version %d, window %d; this host knows %x, %d, %d",
			magic, v, window, uint64(ringMagic), ringVersion, ringWindow)
	}
	return &Ring{
		mem:  mem,
		data: mem[ringHeader:],
		head: (*atomic.Uint64)(unsafe.Pointer(&mem[16])), // aligned: a mapping starts a page
	}, nil
}

// recover publishes what a killed host had read and not published, and returns how
// many bytes those are. It may itself be interrupted anywhere. The window is looked
// at through the file, whose descriptor is fd: looking at a mapped page that was
// never written would make it take memory.
func (r *Ring) recover(fd int, scratch []byte) (int, error) {
	w := scratch[:len(r.window())]
	pos := ringHeader + r.head.Load()%uint64(len(r.data))
	n, err := unix.Pread(fd, w, int64(pos))
	if err != nil {
		return 0, fmt.Errorf("look into a ring: %w", err)
	}
	for n > 0 && w[n-1] == 0 {
		n--
	}
	if n > 0 {
		r.publish(n)
	}
	return n, nil
}

// window is where the next read puts its bytes. It ends where the data does: the
// first read after that is on the next lap.
func (r *Ring) window() []byte {
	pos := int(r.head.Load() % uint64(len(r.data)))
	return r.data[pos:min(pos+ringWindow, len(r.data))]
}

// publish moves the head over n bytes that stand in the window, and returns them.
func (r *Ring) publish(n int) (p []byte, seq uint64) {
	seq = r.head.Load()
	p = r.window()[:n:n]
	r.clear(seq+ringWindow, n)
	r.head.Store(seq + uint64(n))
	return p, seq
}

// clear zeroes n bytes from an offset on. The first lap is zero already, and a
// page that nobody has written to takes no memory.
func (r *Ring) clear(from uint64, n int) {
	size := uint64(len(r.data))
	for end := from + uint64(n); from < end; {
		lap, pos := from/size, from%size
		part := r.data[pos:min(size, pos+end-from)]
		if lap > 0 {
			clear(part)
		}
		from += uint64(len(part))
	}
}

// Head returns the number of bytes of output that the session has had so far.
func (r *Ring) Head() uint64 { return r.head.Load() }

// From returns a copy of the output from offset seq on. at is the offset of its
// first byte: later than seq when the ring doesn't hold that any more.
func (r *Ring) From(seq uint64) (p []byte, at uint64) {
	head, size := r.head.Load(), uint64(len(r.data))
	oldest := uint64(0)
	if held := size - ringWindow; head > held {
		oldest = head - held
	}
	at = min(max(seq, oldest), head)
	p = make([]byte, 0, head-at)
	for o := at; o < head; {
		pos := o % size
		part := r.data[pos:min(size, pos+head-o)]
		p = append(p, part...)
		o += uint64(len(part))
	}
	return p, at
}

// Tail returns a copy of the last n bytes of output, or of as many as there are;
// at is the offset of the first.
func (r *Ring) Tail(n int) (p []byte, at uint64) {
	head := r.head.Load()
	return r.From(head - min(head, uint64(max(n, 0))))
}

// close unmaps the ring. Nothing that aliases it may be used any more.
func (r *Ring) close() error {
	if r.mem == nil {
		return nil
	}
	mem := r.mem
	r.mem, r.data = nil, nil
	return unix.Munmap(mem)
}
