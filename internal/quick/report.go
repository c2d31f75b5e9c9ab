package quick

import (
	"strconv"
	"syscall"
	"time"
	"unsafe"
)

// An agent waits for its hooks, so a report has a second in all and gives up
// silently: better a status that lags than an agent that stands still.
const reportBudget = time.Second // of which a half is for the event on standard input

// pauses is how often a writer may pause within the budget for so long that it seems to
// have nothing more to write, and not to close: 40 ms each.
const pauses = 25

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

// report is `termio agent report …`.
func (p Process) report() bool {
	r, ok := ParseReport(p.Args[2:])
	if !ok {
		return false
	}
	to := Place{}
	if _, from := sessionID(Getenv(p.Environ, "TERMIO_SESSION")); from && r.known() {
		if to, ok = Find(p.Environ); !ok {
			return false
		}
	}
	r.Post(to, 0, 1)
	return true
}

// known reports whether the state is one that sessions have.
func (r Report) known() bool {
	switch r.State {
	case "working", "attention", "done", "idle":
		return true
	}
	return false
}

// Post sends the report to the daemon at a place and returns within a second, whatever
// happens: from no session, without a daemon or with bad input it does nothing. It never
// starts a daemon. The event is read from descriptor stdin; {} goes to descriptor stdout
// where asked for.
//
// It is the dearest path of the program, run at every tool call of every agent,
// and so speaks HTTP by hand over blocking descriptors: no poller, no goroutine.
func (r Report) Post(to Place, stdin, stdout int) {
	r.post(to, stdin, stdout, reportBudget)
}

func (r Report) post(to Place, stdin, stdout int, budget time.Duration) {
	now := time.Now()
	if c, ok := r.dial(to, now.Add(budget)); ok {
		defer c.close()
		var event []byte
		if r.ReadsEvent() {
			event = readEvent(stdin, now.Add(budget/2))
		}
		if c.write(append(r.head(to, len(event), now), event...)) {
			// The answer's first bytes say that the daemon has taken the
			// report in. Until then this process must live: the daemon looks
			// at whose child it is.
			c.awaitReply()
		}
	}
	if r.ReadsEvent() {
		drain(stdin, budget/pauses, now.Add(budget))
	}
	if r.Reply {
		// Not through os.Stdout, which would end the process on a closed pipe.
		_, _ = syscall.Write(stdout, []byte("{}\n"))
	}
}

// dial connects to the daemon if there is something to report.
func (r Report) dial(to Place, deadline time.Time) (conn, bool) {
	if !r.known() || to.Socket == "" || to.Session == "" {
		return conn{}, false
	}
	c, err := dial(to.Socket, deadline)
	return c, err == nil
}

// head is the request up to the event. The working folder in it is the agent's own:
// hooks run in it.
func (r Report) head(from Place, size int, now time.Time) []byte {
	b := append(make([]byte, 0, 1<<10+size), routeReport+"?state="...)
	b = appendEscaped(b, r.State)
	if r.Event != "" {
		b = appendEscaped(append(b, "&event="...), r.Event)
	}
	if r.ConversationFrom != "" {
		b = appendEscaped(append(b, "&conversation_from="...), r.ConversationFrom)
	}
	if r.Transcript {
		b = append(b, "&transcript=1"...)
	}
	at := now.UnixMilli()
	if r.At > at-maxLate.Milliseconds() && r.At < at { // a clock that was set tells nothing
		at = r.At
	}
	b = strconv.AppendInt(append(b, "&at="...), at, 10)
	b = from.head(nil, string(b))
	b = append(b, "Content-Type: application/json\r\nContent-Length: "...)
	return append(strconv.AppendInt(b, int64(size), 10), "\r\n\r\n"...)
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
func drain(fd int, pause time.Duration, deadline time.Time) {
	if isDevice(fd) {
		return
	}
	buf := make([]byte, 64<<10)
	for {
		until := time.Now().Add(pause)
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
	var st syscall.Stat_t
	return syscall.Fstat(fd, &st) != nil || st.Mode&syscall.S_IFMT == syscall.S_IFCHR
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
		ready, err := wait(fd, left)
		if err != syscall.EINTR {
			return err == nil && ready
		}
	}
}

// set is the set of one descriptor that wait waits for.
func set(fd int) (s syscall.FdSet, ok bool) {
	const bits = 8 * int(unsafe.Sizeof(s.Bits[0]))
	if fd < 0 || fd >= bits*len(s.Bits) {
		return s, false
	}
	s.Bits[fd/bits] |= 1 << (fd % bits)
	return s, true
}

// awaitReply waits for the first bytes of the answer.
func (c conn) awaitReply() {
	var b [64]byte
	c.patience(syscall.SO_RCVTIMEO)
	read(c.fd, b[:])
}
