package keeper

import (
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"termio/internal/pty"
)

// wires makes both ends of a control connection.
func wires(t *testing.T) (a, b *wire) {
	t.Helper()
	pair, err := controlPair()
	if err != nil {
		t.Fatal(err)
	}
	var ends [2]*wire
	for i := range ends {
		if ends[i], err = newWire(pair[i]); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(ends[i].close)
	}
	return ends[0], ends[1]
}

// tempFDs makes descriptors of files that hold their number.
func tempFDs(t *testing.T, n int) []int {
	t.Helper()
	var fds []int
	for i := range n {
		f, err := os.CreateTemp(t.TempDir(), "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write([]byte{byte(i)}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		fds = append(fds, int(f.Fd()))
	}
	return fds
}

// Descriptors come with the message that they were sent with, whatever the kernel
// makes of the stream between.
func TestWireKeepsDescriptorsWithTheirMessage(t *testing.T) {
	a, b := wires(t)
	fds := tempFDs(t, 2*batch)
	sent := make(chan error, 1)
	go func() {
		var all error
		for i := 1; i <= 2*batch; i *= 3 {
			all = errors.Join(all,
				a.write(message{Type: "few", Req: uint64(i)}, fds[:i]...),
				a.write(message{Type: "none", ID: strings.Repeat("x", 100_000)}))
		}
		sent <- errors.Join(all, a.write(message{Type: "all"}, fds...))
	}()
	for {
		m, got, err := b.read()
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]int{"few": int(m.Req), "none": 0, "all": 2 * batch}[m.Type]
		if len(got) != want {
			t.Fatalf("%s %d came with %d descriptors", m.Type, m.Req, len(got))
		}
		for i, fd := range got {
			one := make([]byte, 1)
			if _, err := unix.Pread(fd, one, 0); err != nil || one[0] != byte(i) {
				t.Fatalf("descriptor %d of %s is of file %d (%v)", i, m.Type, one[0], err)
			}
			if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
				t.Fatalf("descriptor %d would be inherited (%v)", i, err)
			}
		}
		closeAll(got)
		if m.Type == "all" {
			break
		}
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
}

func TestWireRefusesNonsense(t *testing.T) {
	for _, tt := range []struct {
		name  string
		bytes []byte
		want  string
	}{
		{"too long", binary.BigEndian.AppendUint32(nil, maxMessage+1), "more than"},
		{"no JSON", append(binary.BigEndian.AppendUint32(nil, 3), "xyz"...), "control message"},
		{"cut short", append(binary.BigEndian.AppendUint32(nil, 30), "{}"...), io.EOF.Error()},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, b := wires(t)
			if _, err := a.conn.Write(tt.bytes); err != nil {
				t.Fatal(err)
			}
			a.close()
			if m, _, err := b.read(); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %+v, error %v, want %q", m, err, tt.want)
			}
		})
	}
}

func TestWireTooBigToSend(t *testing.T) {
	a, _ := wires(t)
	if err := a.write(message{Type: typeStart, ID: strings.Repeat("x", maxMessage)}); err == nil {
		t.Error("it was sent")
	}
}

// A process that may hold no more descriptors hears of it with the message, and the
// ones that did come are not leaked.
func TestWireOutOfDescriptors(t *testing.T) {
	a, b := wires(t)
	fds := tempFDs(t, 20)
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
			t.Error(err)
		}
	})
	if err := errors.Join(a.write(message{Type: "first"}, fds...), a.write(message{Type: "second"}, fds[0])); err != nil {
		t.Fatal(err)
	}
	before := openDescriptors(t)
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: uint64(fds[19] + 5), Max: old.Max}); err != nil {
		t.Fatal(err)
	}
	m, got, err := b.read()
	if err != nil || m.Type != "first" || len(got) != 0 {
		t.Errorf("got %+v with %d descriptors, %v", m, len(got), err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	m, got, err = b.read()
	if err != nil || m.Type != "second" || len(got) != 1 {
		t.Errorf("got %+v with %d descriptors, %v", m, len(got), err)
	}
	closeAll(got)
	if after := openDescriptors(t); after != before {
		t.Errorf("%d descriptors, before %d", after, before)
	}
}

// openDescriptors counts the open descriptors of this process.
func openDescriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir(descriptorFolder)
	if err != nil {
		t.Skip("no folder of descriptors")
	}
	return len(entries)
}

// What went wrong in the keeper is the same error in the host.
func TestErrorsCrossTheWire(t *testing.T) {
	for _, tt := range []struct {
		err  error
		is   error
		text string
	}{
		{ErrExists, ErrExists, ErrExists.Error()},
		{ErrStopping, ErrStopping, ErrStopping.Error()},
		{ErrUnsupported, ErrUnsupported, ErrUnsupported.Error()},
		{&pty.StartError{Stage: pty.StageFind, Path: "x\xff", Err: syscall.ENOENT}, fs.ErrNotExist, `command "x\xff" not found`},
		{&pty.StartError{Stage: pty.StageFolder, Path: "/p", Err: syscall.EACCES}, fs.ErrPermission, "folder /p: permission denied"},
		{&pty.StartError{Stage: pty.StageTerminal, Path: "/dev/ptmx", Err: syscall.EMFILE}, syscall.EMFILE, "open a terminal: /dev/ptmx: too many open files"},
		{errors.New("something else"), nil, "something else"},
	} {
		t.Run(tt.text, func(t *testing.T) {
			a, b := wires(t)
			if err := a.write(message{Type: typeError, Error: toRecord(tt.err)}); err != nil {
				t.Fatal(err)
			}
			m, _, err := b.read()
			if err != nil {
				t.Fatal(err)
			}
			got := m.Error.err()
			if got.Error() != tt.text || tt.is != nil && !errors.Is(got, tt.is) {
				t.Errorf("got %q, want %q that is %v", got, tt.text, tt.is)
			}
		})
	}
}
