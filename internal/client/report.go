package client

import (
	"net/url"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"termio/internal/api"
	"termio/internal/config"
)

// An agent waits for its hooks, so a report has a second in all and gives up
// silently: better a status that lags than an agent that stands still.
const (
	reportBudget = time.Second           // of which a half is for the event on standard input
	lastDrain    = 40 * time.Millisecond // without a byte, for a writer to go on or to close
)

// maxLate is how old an event may be that is reported now.
const maxLate = time.Minute

// maxReport is how much of an event is sent on. What names the conversation, the
// tool and the question stands near its beginning; what is cut off is what a
// tool read or wrote.
const maxReport = 256 << 10

// A Report is one `termio agent report`.
type Report struct {
	State            string // working, attention, done, idle
	Event            string // the hook's own name for what happened
	ConversationFrom string // field of the event that holds the conversation's id
	Transcript       bool   // the event names the transcript
	Reply            bool   // print {} for a caller that reads it
	// At is when it happened, in Unix milliseconds, of a caller that reports later; 0 is now.
	At int64
}

// ReadsEvent reports whether the hook's event is expected on standard input.
func (r Report) ReadsEvent() bool {
	return r.Event != "" || r.ConversationFrom != "" || r.Transcript
}

// ParseReport reads the arguments after `agent report`. It is no judge: hooks
// of an older or newer termio may stand in an agent's file, so what it does not
// know is passed over. It reports false where a person asks for help instead.
func ParseReport(args []string) (r Report, ok bool) {
	value := func(i *int, arg, name string) (string, bool) {
		if len(arg) > len(name) && arg[:len(name)] == name && arg[len(name)] == '=' {
			return arg[len(name)+1:], true
		}
		if arg == name && *i+1 < len(args) {
			*i++
			return args[*i], true
		}
		return "", false
	}
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch arg {
		case "-h", "--help", "help":
			return r, false
		case "--transcript":
			r.Transcript = true
			continue
		case "--reply":
			r.Reply = true
			continue
		}
		if v, ok := value(&i, arg, "--event"); ok {
			r.Event = v
		} else if v, ok := value(&i, arg, "--conversation-from"); ok {
			r.ConversationFrom = v
		} else if v, ok := value(&i, arg, "--at"); ok {
			r.At, _ = strconv.ParseInt(v, 10, 64)
		} else if r.State == "" && arg != "" && arg[0] != '-' {
			r.State = arg
		}
	}
	return r, true
}

// Post sends the report to the daemon of the environment's termio home and
// returns within a second, whatever happens: without a session, without a
// daemon or with bad input it does nothing. It never starts a daemon. The event
// is read from descriptor stdin; {} goes to descriptor stdout where asked for.
//
// It is the dearest path of the program, run at every tool call of every agent,
// and so speaks HTTP by hand over blocking descriptors: no poller, no goroutine.
func (r Report) Post(environ []string, stdin, stdout int) {
	r.post(environ, stdin, stdout, reportBudget)
}

func (r Report) post(environ []string, stdin, stdout int, budget time.Duration) {
	now := time.Now()
	if conn, err := r.dial(environ, now.Add(budget)); err == nil {
		defer unix.Close(conn.fd)
		var event []byte
		if r.ReadsEvent() {
			event = readEvent(stdin, now.Add(budget/2))
		}
		if conn.write(append(r.head(conn.session, len(event), now), event...)) {
			// The answer's first bytes say that the daemon has taken the
			// report in. Until then this process must live: the daemon looks
			// at whose child it is.
			conn.awaitReply()
		}
	}
	if r.ReadsEvent() {
		drain(stdin, now.Add(budget))
	}
	if r.Reply {
		// Not through os.Stdout, which would end the process on a closed pipe.
		_, _ = unix.Write(stdout, []byte("{}\n"))
	}
}

// dial connects to the daemon if there is something to report.
func (r Report) dial(environ []string, deadline time.Time) (rawConn, error) {
	if _, known := api.ParseState(r.State); !known {
		return rawConn{}, unix.EINVAL
	}
	// What else is wrong with the environment is not the report's business.
	env, _ := config.FromEnv(environ)
	session, ok := api.ParseSessionID(env.Session)
	if !ok || env.Socket == "" {
		return rawConn{}, unix.ENOENT
	}
	err := env.CheckSocket()
	if err != nil {
		return rawConn{}, err
	}
	c := rawConn{session: session, deadline: deadline}
	if c.fd, err = unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0); err != nil {
		return rawConn{}, err
	}
	c.patience(unix.SO_SNDTIMEO) // a full queue of connections blocks a connect as well
	if err = unix.Connect(c.fd, &unix.SockaddrUnix{Name: env.Socket}); err != nil {
		_ = unix.Close(c.fd)
		return rawConn{}, err
	}
	return c, nil
}

// head is the request up to the event.
func (r Report) head(session api.SessionID, size int, now time.Time) []byte {
	q := "state=" + url.QueryEscape(r.State)
	if r.Event != "" {
		q += "&event=" + url.QueryEscape(r.Event)
	}
	if r.ConversationFrom != "" {
		q += "&conversation_from=" + url.QueryEscape(r.ConversationFrom)
	}
	if r.Transcript {
		q += "&transcript=1"
	}
	at := now.UnixMilli()
	if r.At > at-maxLate.Milliseconds() && r.At < at { // a clock that was set tells nothing
		at = r.At
	}
	q += "&at=" + strconv.FormatInt(at, 10)
	// The cwd is the agent's own: hooks run in it.
	cwd, _ := os.Getwd()
	h := "POST /v1/reports?" + q + " HTTP/1.1\r\nHost: termio\r\nConnection: close\r\nContent-Type: application/json\r\n" +
		api.HeaderVersion + ": " + config.Version + "\r\n" +
		api.HeaderSession + ": " + string(session) + "\r\n" +
		api.HeaderCwd + ": " + url.PathEscape(cwd) + "\r\n" +
		"Content-Length: " + strconv.Itoa(size) + "\r\n\r\n"
	return []byte(h)
}

// readEvent reads the event on standard input until it is whole, its writer has
// closed, or time is up. What is past the bound is read and thrown away, so that
// the writer does not break on a closed pipe.
func readEvent(fd int, deadline time.Time) []byte {
	if isDevice(fd) {
		return nil
	}
	var (
		event = make([]byte, 0, 4<<10)
		waste []byte
		whole jsonEnd
	)
	for readable(fd, deadline) {
		if len(event) == cap(event) && cap(event) < maxReport {
			event = append(make([]byte, 0, min(4*cap(event), maxReport)), event...)
		}
		buf := event[len(event):cap(event)]
		keep := len(buf) > 0
		if !keep {
			if waste == nil {
				waste = make([]byte, 64<<10)
			}
			buf = waste
		}
		n := read(fd, buf)
		if n <= 0 {
			break
		}
		if keep {
			event = event[:len(event)+n]
		}
		if whole.scan(buf[:n]) {
			break
		}
	}
	return event
}

// drain reads to the end of standard input while something comes, but not for long
// without: most writers close at once, and some never do.
func drain(fd int, deadline time.Time) {
	if isDevice(fd) {
		return
	}
	buf := make([]byte, 64<<10)
	for {
		until := time.Now().Add(lastDrain)
		if until.After(deadline) {
			until = deadline
		}
		if !readable(fd, until) || read(fd, buf) <= 0 {
			return
		}
	}
}

// isDevice reports whether fd is a terminal, /dev/null or nothing at all: none
// of them holds an event.
func isDevice(fd int) bool {
	var st unix.Stat_t
	return unix.Fstat(fd, &st) != nil || st.Mode&unix.S_IFMT == unix.S_IFCHR
}

// jsonEnd finds where a JSON object or array ends, so that a writer who keeps
// his end open does not cost the whole budget.
type jsonEnd struct {
	depth    int
	inString bool
	escaped  bool
}

// scan reads on and reports whether the value has ended.
func (j *jsonEnd) scan(p []byte) bool {
	for _, c := range p {
		switch {
		case j.escaped:
			j.escaped = false
		case j.inString:
			j.escaped = c == '\\'
			j.inString = c != '"'
		case c == '"':
			j.inString = true
		case c == '{', c == '[':
			j.depth++
		case c == '}', c == ']':
			if j.depth--; j.depth == 0 {
				return true
			}
		}
	}
	return false
}

// readable waits until fd has something to read, or its end.
func readable(fd int, deadline time.Time) bool {
	for {
		left := time.Until(deadline)
		if left <= 0 {
			return false
		}
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(left.Milliseconds())+1)
		if err == unix.EINTR {
			continue
		}
		return err == nil && n > 0
	}
}

// read is one read, tried again when a signal interrupts it; below 0 is an error.
func read(fd int, p []byte) int {
	for {
		n, err := unix.Read(fd, p)
		if err == nil {
			return n
		}
		if err != unix.EINTR {
			return -1
		}
	}
}

// rawConn is a blocking socket whose calls end by the deadline.
type rawConn struct {
	fd       int
	session  api.SessionID
	deadline time.Time
}

// patience sets one of the socket's time-outs to what is left of the budget.
func (c rawConn) patience(option int) {
	tv := unix.NsecToTimeval(max(time.Until(c.deadline), time.Millisecond).Nanoseconds())
	_ = unix.SetsockoptTimeval(c.fd, unix.SOL_SOCKET, option, &tv)
}

// write writes all of p and reports whether it did.
func (c rawConn) write(p []byte) bool {
	for len(p) > 0 {
		n, err := unix.Write(c.fd, p)
		switch {
		case err == nil:
			p = p[n:]
		case err != unix.EINTR:
			return false
		}
		if len(p) > 0 {
			c.patience(unix.SO_SNDTIMEO)
		}
	}
	return true
}

// awaitReply waits for the first bytes of the answer.
func (c rawConn) awaitReply() {
	var b [64]byte
	c.patience(unix.SO_RCVTIMEO)
	read(c.fd, b[:])
}
