// Package quick carries out the calls of the command line that are made the most, a
// hook's report, `sessions list` and `sessions read` into a pipe, and `version`, so
// that they cost what a small program costs.
//
// Most of what such a call costs is the start of a large program: every package that
// is linked in is initialised before main. This one is called before the others are
// (see cmd/termio/early), which only works while it imports next to nothing: no fmt,
// no strings, no encoding/json, nothing that needs the tables of unicode. The root's
// tests hold the list.
//
// It decides nothing of its own. What is not entirely ordinary, a daemon that has to
// be started, an error, a flag it does not know, a terminal to draw for, it leaves to
// the whole program, and then nothing has been done that shows. What both print is
// written here, once; the command line's tests run both over the same cases.
//
// A call starts no goroutine and uses blocking descriptors. The functions that only
// make text may be called by any goroutine.
package quick

import (
	"os"
)

// Version is the program's version. Releases stamp it with
// -ldflags "-X termio/internal/quick.Version=…".
var Version = "0.1.0"

// A Process is what a call sees of the process that it is made by.
type Process struct {
	Args    []string // without the program's name
	Environ []string // as os.Environ gives it
	Out     *os.File
	Err     *os.File
}

// Run carries out the command that the arguments name and reports whether it did; code
// is the process's exit code then. If not, the whole program has to carry it out, and
// finds everything as it was.
func Run(p Process) (code int, done bool) {
	switch {
	case is(p.Args, "agent", "report"):
		return 0, p.report()
	case is(p.Args, "sessions", "list"):
		return p.list(p.Args[2:])
	case is(p.Args, "sessions") && len(p.Args) == 1:
		return p.list(nil)
	case is(p.Args, "sessions", "read"):
		return p.read(p.Args[2:])
	case len(p.Args) == 1 && (p.Args[0] == "version" || p.Args[0] == "--version"):
		return p.answer([]byte("termio " + Version + "\n")), true
	}
	return 0, false
}

// is reports whether the arguments begin with those words.
func is(args []string, words ...string) bool {
	if len(args) < len(words) {
		return false
	}
	for i, w := range words {
		if args[i] != w {
			return false
		}
	}
	return true
}

// answer writes a call's answer to standard output and gives the exit code: an answer
// that has not arrived is a failure.
func (p Process) answer(text []byte) (code int) {
	if _, err := p.Out.Write(text); err != nil {
		_, _ = p.Err.WriteString("error: " + Unwritten(err) + "\n")
		return 1
	}
	return 0
}

// Unwritten says why an answer could not be written.
func Unwritten(err error) string {
	if e, ok := err.(*os.PathError); ok { //nolint:errorlint // a write's own error, and errors.As needs reflect
		err = e.Err
	}
	return "the answer could not be written: " + err.Error()
}
