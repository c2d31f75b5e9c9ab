package pty

import (
	"errors"
	"slices"
)

// ErrGone says that a process has ended, or that its number belongs to another
// one by now.
var ErrGone = errors.New("process is gone")

// Proc is one process for good: numbers are used again, a number with its start
// time is not.
type Proc struct {
	PID int
	// Start is when it started, to be compared and nothing else: clock ticks
	// since boot (field 22 of /proc/PID/stat) on Linux, microseconds since 1970
	// on macOS. 0 is unknown.
	Start uint64
}

// Info is what the process table tells of a process.
type Info struct {
	Proc
	Parent  int    // process id
	Group   int    // process group id
	Session int    // terminal session id: the process id of its first leader
	Name    string // short name as the kernel cuts it, at most 15 bytes on Linux
	Ended   bool   // only its exit status is left, for its parent to take
}

// Alive reports whether the process is still there and has not ended.
func (p Proc) Alive() bool {
	info, err := Inspect(p.PID)
	return err == nil && info.Start == p.Start && !info.Ended
}

// Ancestors returns the process, its parent and so on up to the first one of the
// system, as they are at the moment of asking. Nothing is polled or kept. It is
// empty when the process is gone.
func Ancestors(pid int) []Info { return AncestorsTo(pid, nil) }

// AncestorsTo is Ancestors up to the first one that last says is far enough: each that
// follows would cost a file of the process table.
func AncestorsTo(pid int, last func(pid int) bool) []Info {
	const deepest = 128 // no real tree is; a loop would be a kernel's bug
	var chain []Info
	for pid > 0 && len(chain) < deepest {
		info, err := Inspect(pid)
		if err != nil {
			break
		}
		if n := len(chain); n > 0 && info.Start > chain[n-1].Start {
			break // younger than its child: the number was used again in between
		}
		chain = append(chain, info)
		if last != nil && last(pid) {
			break
		}
		pid = info.Parent
	}
	return chain
}

// Members returns the processes of a terminal session that have not ended,
// oldest first. It reads the whole process table: ask on demand, not in a loop.
func Members(session int) ([]Info, error) {
	all, err := processes()
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(p Info) bool { return p.Session != session || p.Ended })
	slices.SortFunc(all, func(a, b Info) int {
		if a.Start != b.Start {
			return int(min(max(int64(a.Start-b.Start), -1), 1))
		}
		return a.PID - b.PID
	})
	return all, nil
}
