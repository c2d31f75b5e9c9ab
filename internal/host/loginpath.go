package host

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// How the login shell is asked for its PATH.
const (
	askPatience = 3 * time.Second  // a shell's start files may hang
	askAgain    = 10 * time.Second // not more often, however many commands are not found
	askMarker   = "termio-path-follows"
)

// loginPath knows where the person's login shell finds commands. A daemon that
// was started by a desktop or at boot has another PATH than the person's
// terminals, and agents are installed where the terminals look.
type loginPath struct {
	shell string
	env   []string // the daemon's own

	mu    sync.Mutex
	asked time.Time // zero: never
	path  string
}

// get gives the PATH, asking the shell the first time. fresh asks again unless
// that was just done: a command that was not found may have been installed
// since. The daemon's own entries follow the shell's, and are all there is
// when the shell doesn't answer.
func (l *loginPath) get(fresh bool) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.asked.IsZero() || fresh && time.Since(l.asked) > askAgain {
		own := lookup(l.env, "PATH")
		path, err := askShell(l.shell, l.env)
		if err != nil {
			path = ""
		}
		l.path, l.asked = joinPaths(path, own), time.Now()
	}
	return l.path
}

// askShell starts the shell as a terminal would, with its start files, and has
// it print its environment. What the start files print comes before the marker.
func askShell(shell string, env []string) (string, error) {
	// No caller's context: the answer is kept for all of them.
	ctx, cancel := context.WithTimeout(context.Background(), askPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, shell, "-i", "-l", "-c", "echo "+askMarker+"; /usr/bin/env")
	cmd.Env = env
	// A session of its own: what the start files leave running is ended with it,
	// and nothing reaches for the daemon's terminal.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	_, list, found := bytes.Cut(out, []byte(askMarker+"\n"))
	if !found {
		return "", fmt.Errorf("ask %s for its PATH: %w", shell, err)
	}
	for line := range strings.Lines(string(list)) {
		if p, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "PATH="); ok {
			return p, nil
		}
	}
	return "", fmt.Errorf("ask %s for its PATH: it has none", shell)
}

// joinPaths appends the entries of more that are not in path yet.
func joinPaths(path, more string) string {
	dirs := slices.DeleteFunc(filepath.SplitList(path), func(d string) bool { return d == "" })
	for _, d := range filepath.SplitList(more) {
		if d != "" && !slices.Contains(dirs, d) {
			dirs = append(dirs, d)
		}
	}
	return strings.Join(dirs, string(filepath.ListSeparator))
}

// lookup gives the value of a variable in an environment.
func lookup(env []string, name string) string {
	for _, kv := range slices.Backward(env) {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v
		}
	}
	return ""
}

// withEnv sets a variable in an environment.
func withEnv(env []string, name, value string) []string {
	env = slices.DeleteFunc(slices.Clone(env), func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
	return append(env, name+"="+value)
}
