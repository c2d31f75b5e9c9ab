// Package machine reads what processes cost from the system they run on: processor
// time, memory, switches, threads; and tells how busy everybody else is, so that a
// trial can wait for a quiet moment and a disturbed one can be told apart.
//
// The suite's own processes, daemons that have left their parent too, are known by a
// variable of their environment, [Mark]. Nothing is counted over a process's life
// that a process itself would have to help with.
//
// Linux only: elsewhere every reading is an error, and Foreign is always 0. Readings
// may be taken concurrently; a Watcher belongs to one goroutine.
package machine

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Mark is the variable of the environment by which the suite's processes are known.
const Mark = "TERMBENCH"

// Memory is the proportional set size of processes in bytes: what is shared counts for
// each in part.
func Memory(pids ...int) (int64, error) {
	var sum int64
	for _, pid := range pids {
		kib, err := field(fmt.Sprintf("/proc/%d/smaps_rollup", pid), "Pss:")
		if err != nil {
			return 0, err
		}
		sum += kib << 10
	}
	return sum, nil
}

// Threads is how many threads processes have.
func Threads(pids ...int) (int64, error) {
	var sum int64
	for _, pid := range pids {
		n, err := field(fmt.Sprintf("/proc/%d/status", pid), "Threads:")
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

// Wakeups is how often the threads of processes have gone to sleep so far, and so how
// often they have been woken.
func Wakeups(pids ...int) (int64, error) {
	var sum int64
	for _, pid := range pids {
		tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
		if err != nil || len(tasks) == 0 {
			return 0, fmt.Errorf("threads of process %d: %w", pid, errors.Join(err, fs.ErrNotExist))
		}
		for _, task := range tasks {
			n, err := field(task, "voluntary_ctxt_switches:")
			if errors.Is(err, fs.ErrNotExist) { // a thread that has just ended
				continue
			}
			if err != nil {
				return 0, err
			}
			sum += n
		}
	}
	return sum, nil
}

// CPU is the processor time that processes have used so far, ended threads included.
func CPU(pids ...int) (time.Duration, error) {
	var sum time.Duration
	for _, pid := range pids {
		d, err := cpuTime(pid)
		if err != nil {
			return 0, fmt.Errorf("processor time of process %d: %w", pid, err)
		}
		sum += d
	}
	return sum, nil
}

// field is the number behind a name in a file of /proc.
func field(file, name string) (int64, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			if words := strings.Fields(rest); len(words) > 0 {
				return strconv.ParseInt(words[0], 10, 64)
			}
		}
	}
	return 0, fmt.Errorf("%s has no %s", file, name)
}

// processes are the numbers of all processes.
func processes() []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var pids []int
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// Ours are the processes that carry the mark with this value, the caller apart.
func Ours(value string) []int {
	var pids []int
	for _, pid := range processes() {
		if pid != os.Getpid() && marked(pid, value) == ours {
			pids = append(pids, pid)
		}
	}
	return pids
}

// Name is the name of a process's program, "" when it has ended.
func Name(pid int) string {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	return strings.TrimSuffix(string(data), "\n")
}

// owner says whose a process is.
type owner int

const (
	nobodys owner = 1 + iota // a kernel thread, or one that has ended
	ours
	foreign
)

// marked says whose the process is, by the mark's value.
func marked(pid int, value string) owner {
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	switch {
	case errors.Is(err, fs.ErrPermission):
		return foreign
	case err != nil || len(env) == 0:
		return nobodys
	case bytes.Contains(append([]byte{0}, env...), []byte("\x00"+Mark+"="+value+"\x00")):
		return ours
	}
	return foreign
}

// A Watcher tells how much of the machine processes use that are not ours.
type Watcher struct {
	value string
	known map[int]owner
	used  map[int]time.Duration
	at    time.Time
}

// NewWatcher watches the processes that don't carry the mark with this value.
func NewWatcher(value string) *Watcher {
	w := &Watcher{value: value, known: map[int]owner{os.Getpid(): ours}}
	w.Foreign()
	return w
}

// Foreign is how many cores foreign processes have used since the last call, on average.
// What began and ended in between is not seen.
func (w *Watcher) Foreign() float64 {
	now, known, used := time.Now(), map[int]owner{}, map[int]time.Duration{}
	var sum time.Duration
	for _, pid := range processes() {
		who := w.known[pid]
		if who == 0 || who == nobodys { // one that was just being started has no environment yet
			who = marked(pid, w.value)
		}
		known[pid] = who
		if who != foreign {
			continue
		}
		d, err := cpuTime(pid)
		if err != nil {
			continue
		}
		used[pid] = d
		if before, ok := w.used[pid]; ok {
			sum += d - before
		}
	}
	took := now.Sub(w.at)
	w.known, w.used, w.at = known, used, now
	if took <= 0 {
		return 0
	}
	return float64(sum) / float64(took)
}

// gateWindow is over how long the gate looks at the machine.
const gateWindow = 120 * time.Millisecond

// AwaitQuiet waits until foreign processes use at most limit cores, but not longer
// than patience, and reports whether it came to that. It leaves the watcher at the
// beginning of a trial.
func (w *Watcher) AwaitQuiet(limit float64, patience time.Duration) bool {
	for end := time.Now().Add(patience); ; {
		w.Foreign()
		time.Sleep(gateWindow)
		if w.Foreign() <= limit {
			return true
		}
		if time.Now().After(end) {
			return false
		}
	}
}

// Describe says what machine this is, for the head of a table.
func Describe() []string {
	var about []string
	if data, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		model, n := "", 0
		for line := range strings.Lines(string(data)) {
			name, value, _ := strings.Cut(line, ":")
			switch strings.TrimSpace(name) {
			case "processor":
				n++
			case "model name":
				model = strings.TrimSpace(value)
			}
		}
		about = append(about, fmt.Sprintf("%d x %s", n, model))
	}
	if data, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		about = append(about, "Linux "+strings.TrimSpace(string(data)))
	}
	return about
}

// Load is the load average of the last minute as the system gives it, "" where it
// doesn't.
func Load() string {
	data, _ := os.ReadFile("/proc/loadavg")
	load, _, _ := strings.Cut(string(data), " ")
	return load
}
