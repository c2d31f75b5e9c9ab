package quick

import (
	"os"
	"strconv"
	"syscall"
	"time"
)

// patience is how long a call waits for the daemon before it leaves the waiting, and
// the words for it, to the whole program, which makes the call again.
const patience = 2 * time.Second

// A Place is where a daemon is called, and by whom.
type Place struct {
	Socket  string
	Session string // the caller's, canonical; "" outside every session
}

// maxSocketPath is how long a socket's path may be, in bytes; a longer one is found by
// the whole program.
const maxSocketPath = 103

// Find tells the place from an environment. It knows the ordinary case alone: a home
// whose path is plain and short, and a session that is none or an id.
func Find(environ []string) (Place, bool) {
	home := Getenv(environ, "TERMIO_HOME")
	if home == "" {
		if home = Getenv(environ, "HOME"); home == "" {
			return Place{}, false
		}
		home += "/.termio"
	}
	p := Place{Socket: home + "/run/termio.sock"}
	if !plain(home) || len(p.Socket) > maxSocketPath {
		return Place{}, false
	}
	if s := Getenv(environ, "TERMIO_SESSION"); s != "" {
		var ok bool
		if p.Session, ok = sessionID(s); !ok {
			return Place{}, false
		}
	}
	return p, Private(home + "/run")
}

// Getenv is the value of a variable, "" if it is not set. Where a name stands twice the
// last one counts, as in os/exec.
func Getenv(environ []string, name string) string {
	for i := len(environ) - 1; i >= 0; i-- {
		if kv := environ[i]; len(kv) > len(name) && kv[len(name)] == '=' && kv[:len(name)] == name {
			return kv[len(name)+1:]
		}
	}
	return ""
}

// plain reports whether a path is absolute and as short as it can be written.
func plain(path string) bool {
	if path == "" || path[0] != '/' {
		return false
	}
	elem := 0 // where the current element begins
	for i := 1; i <= len(path); i++ {
		if i < len(path) && path[i] == 0 {
			return false
		}
		if i < len(path) && path[i] != '/' {
			continue
		}
		switch path[elem+1 : i] {
		case "", ".", "..":
			return false
		}
		elem = i
	}
	return true
}

// Private reports whether dir is a folder of this user's own that nobody else can
// reach into, so that a socket in it is nobody else's.
func Private(dir string) bool {
	fi, err := os.Lstat(dir)
	if err != nil || !fi.IsDir() || fi.Mode().Perm()&0o077 != 0 {
		return false
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}

// sessionID is the canonical form of a session's id.
func sessionID(s string) (string, bool) {
	if len(s) != 36 {
		return "", false
	}
	id := []byte(s)
	for i, c := range id {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
			id[i] = c
		}
		if dash != (c == '-') || !dash && (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return "", false
		}
	}
	return string(id), true
}

// timeout is how long a call may wait: less than the person's own time-out, so that
// the words are the whole program's.
func timeout(environ []string) (time.Duration, bool) {
	s := Getenv(environ, "TERMIO_CLI_TIMEOUT")
	if s == "" {
		return patience, true
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 2 {
		return 0, false
	}
	return min(patience, time.Duration(n)*time.Second/2), true
}
