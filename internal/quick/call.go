package quick

import (
	"os"
	"strconv"
	"syscall"
	"time"
)

// The words of the wire that these calls need, as internal/api has them; that package
// cannot be imported here, and a test holds that they are the same.
const (
	headerSession = "Termio-Session"
	headerCwd     = "Termio-Cwd"
	headerVersion = "Termio-Version"
	headerDaemon  = "Termio-Daemon"

	routeReport = "POST /v1/reports"
	routeList   = "GET /v1/sessions"
	routeRead   = "GET /v1/sessions/{target}/screen"
)

// maxReply bounds a reply in bytes. The largest is a screen with its history.
const maxReply = 256 << 20

// conn is a blocking socket whose calls end by the deadline.
type conn struct {
	fd       int
	deadline time.Time
}

// dial connects to a daemon.
func dial(socket string, deadline time.Time) (conn, error) {
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		return conn{}, err
	}
	c := conn{fd, deadline}
	c.patience(syscall.SO_SNDTIMEO) // a full queue of connections blocks a connect as well
	if err := syscall.Connect(fd, &syscall.SockaddrUnix{Name: socket}); err != nil {
		c.close()
		return conn{}, err
	}
	return c, nil
}

func (c conn) close() { _ = syscall.Close(c.fd) }

// patience sets one of the socket's time-outs to what is left until the deadline.
func (c conn) patience(option int) {
	tv := syscall.NsecToTimeval(max(time.Until(c.deadline), time.Millisecond).Nanoseconds())
	_ = syscall.SetsockoptTimeval(c.fd, syscall.SOL_SOCKET, option, &tv)
}

// write writes all of p and reports whether it did.
func (c conn) write(p []byte) bool {
	for len(p) > 0 {
		n, err := syscall.Write(c.fd, p)
		switch {
		case err == nil:
			p = p[n:]
		case err != syscall.EINTR:
			return false
		}
		if len(p) > 0 {
			c.patience(syscall.SO_SNDTIMEO)
		}
	}
	return true
}

// read is one read, tried again when a signal interrupts it; below 0 is an error.
func read(fd int, p []byte) int {
	for {
		n, err := syscall.Read(fd, p)
		if err == nil {
			return n
		}
		if err != syscall.EINTR {
			return -1
		}
	}
}

// get asks the daemon and gives the body of its reply. It is false for whatever is not
// the whole and good answer of a daemon of this very version.
func (p Process) get(path string) ([]byte, bool) {
	patience, ok := timeout(p.Environ)
	if !ok {
		return nil, false
	}
	place, ok := Find(p.Environ)
	if !ok {
		return nil, false
	}
	c, err := dial(place.Socket, time.Now().Add(patience))
	if err != nil {
		return nil, false
	}
	defer c.close()
	c.patience(syscall.SO_RCVTIMEO)
	if !c.write(append(place.head(nil, path), "\r\n"...)) {
		return nil, false
	}
	return c.reply()
}

// head is a request up to its last header, for whom it is and from whom.
func (p Place) head(b []byte, request string) []byte {
	b = append(append(b, request...), " HTTP/1.1\r\nHost: termio\r\nConnection: close\r\n"...)
	b = append(append(b, headerVersion+": "...), Version...)
	if p.Session != "" {
		b = append(append(b, "\r\n"+headerSession+": "...), p.Session...)
	}
	if cwd, err := os.Getwd(); err == nil {
		b = appendEscaped(append(b, "\r\n"+headerCwd+": "...), cwd)
	}
	return append(b, "\r\n"...)
}

// appendEscaped percent-encodes all that could mean something in a path, a query or a
// header. A dot is escaped as well: a server takes the segment ".." as a step up.
func appendEscaped(b []byte, s string) []byte {
	const hex = "0123456789ABCDEF"
	for i := range len(s) {
		c := s[i]
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_' || c == '~' {
			b = append(b, c)
		} else {
			b = append(b, '%', hex[c>>4], hex[c&15])
		}
	}
	return b
}

// reply reads a reply and gives its body.
func (c conn) reply() ([]byte, bool) {
	buf := make([]byte, 0, 16<<10)
	need := -1 // bytes of the body, once known
	for need < 0 || len(buf) < need {
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
		n := read(c.fd, buf[len(buf):cap(buf)])
		if n <= 0 {
			return nil, false
		}
		buf = buf[:len(buf)+n]
		if need >= 0 {
			continue
		}
		if head := endOfHead(buf); head > 0 {
			length, ok := parseHead(buf[:head])
			if !ok {
				return nil, false
			}
			buf, need = buf[head:], length
			if cap(buf) < need {
				buf = append(make([]byte, 0, need), buf...)
			}
		} else if len(buf) > 64<<10 {
			return nil, false
		}
	}
	return buf, len(buf) == need
}

// endOfHead is where a reply's body begins; 0 if the head is not whole.
func endOfHead(b []byte) int {
	for i := 3; i < len(b); i++ {
		if b[i] == '\n' && b[i-1] == '\r' && b[i-2] == '\n' {
			return i + 1
		}
	}
	return 0
}

// parseHead gives the length of the body of a reply that is good.
func parseHead(b []byte) (length int, ok bool) {
	const good = "HTTP/1.1 200 "
	if len(b) < len(good) || string(b[:len(good)]) != good {
		return 0, false
	}
	length, daemon := -1, ""
	for len(b) > 0 {
		end := 0
		for b[end] != '\n' {
			end++
		}
		line := string(b[:max(end-1, 0)])
		b = b[end+1:]
		if v, is := header(line, "Content-Length"); is {
			n, err := strconv.Atoi(v)
			if err != nil || n < 0 || n > maxReply {
				return 0, false
			}
			length = n
		} else if v, is := header(line, headerDaemon); is {
			daemon = v
		}
	}
	return length, length >= 0 && daemon == Version
}

// header is the value of a header line of that name.
func header(line, name string) (string, bool) {
	n := len(name)
	if len(line) > n+1 && line[n] == ':' && line[n+1] == ' ' && line[:n] == name {
		return line[n+2:], true
	}
	return "", false
}
