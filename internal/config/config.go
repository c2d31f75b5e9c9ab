// Package config knows where termio keeps things and what its person has set:
// the paths under TERMIO_HOME, the settings file and the environment. It is the
// only reader of the environment and the only place that spells a path of ours.
//
// Every other package is handed an Env or Paths by main. Nothing here talks to
// a daemon, logs, or starts a goroutine. Files that people edit by hand are
// changed in place: comments, order and unknown keys stay, a file that cannot
// be parsed is reported and left alone, and a write is seen whole or not at all.
//
// Values are plain data. The functions may be called from any goroutine; edits
// of one file are ordered within a process.
package config

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"termio/internal/quick"
)

// Version is the program's version.
var Version = quick.Version

// DefaultCLITimeout is how long a one-shot command waits for a reply when
// TERMIO_CLI_TIMEOUT says nothing.
const DefaultCLITimeout = 15 * time.Second

// Env is what the program takes from its environment, read once in main.
type Env struct {
	Paths
	Session    string        // TERMIO_SESSION as it stands; "" outside every session
	CLITimeout time.Duration // TERMIO_CLI_TIMEOUT, in seconds there
	UserHome   string        // the person's home folder; "" if unknown
	Shell      string        // the login shell; /bin/sh if unknown
	ReadyFD    int           // TERMIO_READY_FD: where a starting daemon says that it serves; -1 if absent
	Environ    []string      // everything, as given; what children start from
}

// FromEnv reads an environment such as os.Environ gives. After an error the
// Env is still usable for whatever the error does not name: a bad time-out
// leaves the default in place.
func FromEnv(environ []string) (Env, error) {
	e := Env{CLITimeout: DefaultCLITimeout, Shell: "/bin/sh", ReadyFD: -1, Environ: environ}
	e.UserHome = e.Get("HOME")
	e.Session = e.Get("TERMIO_SESSION")
	if sh := e.Get("SHELL"); filepath.IsAbs(sh) {
		e.Shell = sh
	}
	if n, err := strconv.Atoi(e.Get("TERMIO_READY_FD")); err == nil && n >= 0 {
		e.ReadyFD = n
	}
	home := e.Get("TERMIO_HOME")
	switch {
	case home != "":
	case e.UserHome != "":
		home = filepath.Join(e.UserHome, ".termio")
	default:
		return e, fmt.Errorf("neither TERMIO_HOME nor HOME is set, so there is no place for termio's files: set HOME")
	}
	var err error
	if e.Paths, err = NewPaths(home, e.Get("TMPDIR")); err != nil {
		return e, err
	}
	if s := e.Get("TERMIO_CLI_TIMEOUT"); s != "" {
		d, err := parseSeconds(s)
		if err != nil {
			return e, fmt.Errorf("TERMIO_CLI_TIMEOUT is %q: give a number of seconds above 0, such as 30", s)
		}
		e.CLITimeout = d
	}
	return e, nil
}

// Get is the value of a variable, "" if it is not set. Where a name stands
// twice the last one counts, as in os/exec.
func (e Env) Get(name string) string {
	for i := len(e.Environ) - 1; i >= 0; i-- {
		if k, v, ok := strings.Cut(e.Environ[i], "="); ok && k == name {
			return v
		}
	}
	return ""
}

// parseSeconds reads a positive number of seconds, with a fraction if wanted.
func parseSeconds(s string) (time.Duration, error) {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0, err
	}
	if !(f > 0 && f <= 1e6) { // also refuses NaN
		return 0, strconv.ErrRange
	}
	return time.Duration(f * float64(time.Second)), nil
}
