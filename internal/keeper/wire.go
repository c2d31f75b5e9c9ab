package keeper

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// wire reads and writes messages with descriptors. One goroutine may read while
// another writes.
type wire struct {
	conn *net.UnixConn
	in   []byte // received, not yet a whole message
	fds  []int  // received, not yet claimed by a message
	buf  []byte
	oob  []byte
	// lostFDs is set when the kernel had to drop descriptors because this process
	// may hold no more; the messages behind them are then missing theirs.
	lostFDs bool
}

// newWire takes over a connected stream socket.
func newWire(fd int) (*wire, error) {
	f := os.NewFile(uintptr(fd), "control")
	defer f.Close() // FileConn has a copy
	c, err := net.FileConn(f)
	if err != nil {
		return nil, fmt.Errorf("control connection: %w", err)
	}
	uc, ok := c.(*net.UnixConn)
	if !ok {
		_ = c.Close()
		return nil, fmt.Errorf("control connection: descriptor %d is a %T", fd, c)
	}
	return &wire{
		conn: uc,
		buf:  make([]byte, 16<<10),
		oob:  make([]byte, unix.CmsgSpace(4*2*batch)),
	}, nil
}

// read returns the next message and its descriptors, which are close-on-exec and
// the caller's own. io.EOF when the other end has closed. A message whose
// descriptors could not be received comes with none of them.
func (w *wire) read() (message, []int, error) {
	for {
		m, n, err := w.next()
		if err != nil {
			return message{}, nil, err
		}
		if n > 0 {
			w.in = w.in[n:]
			fds := w.claim(m.FDs)
			return m, fds, nil
		}
		// A reader gets what was sent with descriptors and what follows in separate
		// calls, so the order of w.fds is that of the messages.
		n, oobn, flags, _, err := w.conn.ReadMsgUnix(w.buf, w.oob)
		if oobn > 0 {
			if e := w.receive(w.oob[:oobn]); e != nil {
				return message{}, nil, e
			}
		}
		if flags&unix.MSG_CTRUNC != 0 {
			w.lostFDs = true
		}
		if err == nil && n == 0 {
			err = io.EOF
		}
		if err != nil {
			return message{}, nil, err
		}
		w.in = append(w.in, w.buf[:n]...)
	}
}

// next decodes the message at the start of w.in, n bytes long; n is 0 when it is
// not complete yet.
func (w *wire) next() (m message, n int, err error) {
	if len(w.in) < 4 {
		return m, 0, nil
	}
	size := binary.BigEndian.Uint32(w.in)
	if size > maxMessage {
		return m, 0, fmt.Errorf("control message of %d bytes: more than %d", size, maxMessage)
	}
	n = 4 + int(size)
	if len(w.in) < n {
		return m, 0, nil
	}
	if err := json.Unmarshal(w.in[4:n], &m); err != nil {
		return m, 0, fmt.Errorf("control message: %w", err)
	}
	return m, n, nil
}

// claim takes the descriptors of a message. After some were dropped nobody can
// tell whose are left, so the messages up to here go without.
func (w *wire) claim(n int) []int {
	if n == 0 {
		return nil
	}
	if w.lostFDs || n > len(w.fds) {
		closeAll(w.fds)
		w.fds, w.lostFDs = nil, false
		return nil
	}
	fds := w.fds[:n:n]
	w.fds = w.fds[n:]
	return fds
}

func (w *wire) receive(oob []byte) error {
	msgs, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return fmt.Errorf("receive descriptors: %w", err)
	}
	for i := range msgs {
		fds, err := unix.ParseUnixRights(&msgs[i])
		if errors.Is(err, unix.EINVAL) {
			continue // some other kind of control message
		}
		if err != nil {
			return fmt.Errorf("receive descriptors: %w", err)
		}
		w.fds = append(w.fds, fds...)
	}
	return nil
}

// write sends a message with descriptors, which stay the caller's.
func (w *wire) write(m message, fds ...int) error {
	m.FDs = len(fds)
	body, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("control message: %w", err)
	}
	if len(body) > maxMessage {
		return fmt.Errorf("control message of %d bytes: more than %d", len(body), maxMessage)
	}
	frame := append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
	var oob []byte
	if len(fds) > 0 {
		oob = unix.UnixRights(fds...)
	}
	n, _, err := w.conn.WriteMsgUnix(frame, oob, nil)
	if err == nil && n < len(frame) { // the buffer was full; the descriptors have gone
		_, err = w.conn.Write(frame[n:])
	}
	return err
}

func (w *wire) close() {
	_ = w.conn.Close()
	closeAll(w.fds)
	w.fds = nil
}

// closed reports whether err says that the other end, or this one, is closed.
func closed(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

func closeAll(fds []int) {
	for _, fd := range fds {
		_ = unix.Close(fd)
	}
}
