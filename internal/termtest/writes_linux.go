package termtest

import (
	"encoding/binary"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// Writes are the writes to a daemon's database, as they happen: a way to kill a host at
// each of the moments at which it stores how far it is. Only Linux tells of them.
type Writes struct {
	t    testing.TB
	came chan struct{} // a value for each
}

// DatabaseWrites tells of the writes from here on.
func (d *Daemon) DatabaseWrites() *Writes {
	d.t.Helper()
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		d.t.Fatal(err)
	}
	f := os.NewFile(uintptr(fd), "inotify")
	d.t.Cleanup(func() { _ = f.Close() })
	if _, err := unix.InotifyAddWatch(fd, d.Paths.DB+"-wal", unix.IN_MODIFY); err != nil {
		d.t.Fatal(err)
	}
	w := &Writes{d.t, make(chan struct{}, 1<<16)}
	go func() { // ends with the file
		buf := make([]byte, 4096)
		for {
			n, err := f.Read(buf)
			if err != nil {
				return
			}
			for p := buf[:n]; len(p) >= unix.SizeofInotifyEvent; {
				w.came <- struct{}{}
				p = p[unix.SizeofInotifyEvent+binary.NativeEndian.Uint32(p[12:]):]
			}
		}
	}()
	return w
}

// Await forgets the writes so far, begins, and waits for as many writes, or until over is
// closed; it reports which.
func (w *Writes) Await(n int, begin func(), over <-chan struct{}) (written bool) {
	w.t.Helper()
	for len(w.came) > 0 {
		<-w.came
	}
	begin()
	for range n {
		select {
		case <-w.came:
		case <-over:
			return false
		}
	}
	return true
}
