package keeper

import (
	"errors"
	"syscall"
	"time"

	"termio/internal/pty"
)

// The protocol between keeper and host: messages over a socket pair, whose
// host's end is descriptor ControlFD of the host. A message is its length (four
// bytes, big endian) and as much JSON; descriptors travel with it (SCM_RIGHTS),
// and its "fds" says how many. Keeper and host may be of different versions of
// the program, the keeper the older one in general. So both say theirs first and
// the lower one counts, fields that a reader doesn't know are passed over, and a
// request that the keeper doesn't know is answered by an error.
//
//	host → keeper
//	hello    first: the host's version; it wants everything there is
//	start    start a command on a new terminal, or on one whose command has ended
//	release  forget a session: drop its terminal and ring, report it no more
//	stop     end all sessions, then the host, then the keeper
//
//	keeper → host
//	hello    the keeper's version; descriptors: listening socket, lock file
//	sessions some of the sessions; two descriptors each, in their order: master, ring
//	ready    that was all of them; from here on the host is up to date
//	started  answers start; descriptors as above when the terminal is new
//	error    answers a request that was not carried out
//	exit     a session's command has ended; said once to each host, until released
//	stop     everything is being ended; the connection closes when that is done
const (
	typeHello    = "hello"
	typeStart    = "start"
	typeRelease  = "release"
	typeStop     = "stop"
	typeSessions = "sessions"
	typeReady    = "ready"
	typeStarted  = "started"
	typeError    = "error"
	typeExit     = "exit"
)

// version is the protocol's. It rises when a message gains a meaning that the
// other side has to know of.
const version = 1

// maxMessage bounds a message, in bytes. A start carries arguments and
// environment, of which Linux takes 6 MiB at most.
const maxMessage = 16 << 20

// batch is how many sessions go into one message: two descriptors each, and the
// kernel takes 253 at a time.
const batch = 100

// message is every message; Type says which fields count.
type message struct {
	Type     string          `json:"type"`
	Req      uint64          `json:"req,omitempty"` // of start, and of what answers it
	FDs      int             `json:"fds,omitempty"`
	Hello    *hello          `json:"hello,omitempty"`
	Start    *startMessage   `json:"start,omitempty"`
	ID       string          `json:"id,omitempty"` // of release
	Sessions []sessionRecord `json:"sessions,omitempty"`
	Session  *sessionRecord  `json:"session,omitempty"` // of started and exit
	Error    *errorRecord    `json:"error,omitempty"`
}

type hello struct {
	Version   int       `json:"version"`
	PID       int       `json:"pid"`
	StartedAt time.Time `json:"startedAt,omitzero"`
	Hosts     int       `json:"hosts,omitempty"` // started so far, this one included
}

// startMessage carries text that need not be UTF-8 as bytes: JSON would change it.
type startMessage struct {
	ID   string   `json:"id"`
	Argv [][]byte `json:"argv"`
	Env  [][]byte `json:"env"`
	Dir  []byte   `json:"dir"`
	Size pty.Size `json:"size"`
	Ring int      `json:"ring,omitempty"`
}

type sessionRecord struct {
	ID        string      `json:"id"`
	PID       int         `json:"pid"`
	Start     uint64      `json:"start"` // pty.Proc.Start
	StartedAt time.Time   `json:"startedAt"`
	Exit      *exitRecord `json:"exit,omitempty"`
}

type exitRecord struct {
	Code   int       `json:"code"`
	Signal int       `json:"signal,omitempty"`
	At     time.Time `json:"at"`
}

// errorRecord carries an error across, so that errors.Is works on the other side.
type errorRecord struct {
	Code    string    `json:"code"`
	Message string    `json:"message"`
	Stage   pty.Stage `json:"stage,omitempty"`
	Path    []byte    `json:"path,omitempty"`
	Errno   int       `json:"errno,omitempty"` // the same machine on both ends
}

// Errors of requests.
var (
	ErrExists      = errors.New("the session's command is still running")
	ErrStopping    = errors.New("the daemon is stopping")
	ErrUnsupported = errors.New("the keeper is older and doesn't know this request; termio daemon stop and start renews it")
	// ErrLost says that the keeper has gone: what runs goes on, nothing new starts.
	ErrLost = errors.New("the keeper has gone; restart the daemon when your sessions allow it")
)

// requestErrors are the codes of errors on the wire.
var requestErrors = map[string]error{
	"exists":      ErrExists,
	"stopping":    ErrStopping,
	"unsupported": ErrUnsupported,
}

// codeStart is a *pty.StartError; codeOther tells no more than its message.
const (
	codeStart = "start"
	codeOther = "other"
)

func toRecord(err error) *errorRecord {
	if se, ok := errors.AsType[*pty.StartError](err); ok {
		r := &errorRecord{Code: codeStart, Message: err.Error(), Stage: se.Stage, Path: []byte(se.Path)}
		if errno, ok := errors.AsType[syscall.Errno](se.Err); ok {
			r.Errno = int(errno)
		}
		return r
	}
	for code, e := range requestErrors {
		if errors.Is(err, e) {
			return &errorRecord{Code: code, Message: err.Error()}
		}
	}
	return &errorRecord{Code: codeOther, Message: err.Error()}
}

func (r *errorRecord) err() error {
	if r == nil {
		return errors.New("the keeper gave no reason")
	}
	if err, ok := requestErrors[r.Code]; ok {
		return err
	}
	if r.Code != codeStart {
		return errors.New(r.Message)
	}
	se := &pty.StartError{Stage: r.Stage, Path: string(r.Path), Err: errors.New(r.Message)}
	if r.Errno != 0 {
		se.Err = syscall.Errno(r.Errno)
	}
	return se
}

func toBytes(list []string) [][]byte {
	out := make([][]byte, len(list))
	for i, s := range list {
		out[i] = []byte(s)
	}
	return out
}

func toStrings(list [][]byte) []string {
	out := make([]string, len(list))
	for i, b := range list {
		out[i] = string(b)
	}
	return out
}
