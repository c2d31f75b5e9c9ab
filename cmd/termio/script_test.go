package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"termio": main})
}

// The command line's contract, as scripts against a real daemon over the real
// socket. Each script has a termio home of its own; at its end the daemon is
// stopped and nothing of it may be left.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Setup:               setup,
		Condition: func(cond string) (bool, error) {
			file, ok := strings.CutPrefix(cond, "exists:")
			if !ok {
				return false, fmt.Errorf("unknown condition %q", cond)
			}
			_, err := os.Stat(file)
			return err == nil, nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"code":  code,
			"json":  jsonField,
			"match": match,
			"shape": shape,
			"keep":  keep,
			"host":  killHost,
			"uuid":  uuidOf,

			"sees":     sees,
			"watching": watching,
			"seen":     seen,
			"ended":    ended,
			"shows":    shows,
		},
	})
}

// setup gives a script a home that is short enough for a socket, a person's home
// of its own, and nothing of the environment that the test runs in.
func setup(env *testscript.Env) error {
	dir, err := os.MkdirTemp("", "tm")
	if err != nil {
		return err
	}
	home := filepath.Join(dir, "h")
	user := filepath.Join(env.WorkDir, "user")
	if err := os.MkdirAll(user, 0o700); err != nil {
		return err
	}
	path := env.Getenv("PATH")
	env.Vars = slices.DeleteFunc(env.Vars, func(kv string) bool {
		return strings.HasPrefix(kv, "TERMIO_") || strings.HasPrefix(kv, "CLAUDE")
	})
	env.Setenv("PATH", path)
	env.Setenv("HOME", user)
	env.Setenv("TERMIO_HOME", home)
	env.Setenv("SHELL", "/bin/sh")
	env.Setenv("PS1", "$ ")
	env.Setenv("GORACE", "atexit_sleep_ms=0") // built with -race, every process would sleep a second before it ends
	env.Setenv("ENV", "")
	env.Setenv("TERMIO_CLI_TIMEOUT", "120") // a test machine may be busy
	env.Setenv("LANG", "C.UTF-8")
	env.Setenv("TERM", "xterm-256color")
	env.Values[watchersKey{}] = map[string]*watcher{}
	env.Defer(func() {
		defer func() { _ = os.RemoveAll(dir) }()
		stopDaemon(env, home)
	})
	return nil
}

// stopDaemon ends a script's daemon and fails the script if a process of it
// is left.
func stopDaemon(env *testscript.Env, home string) {
	t := env.T()
	if _, err := os.Stat(filepath.Join(home, "run")); err == nil {
		cmd := exec.Command("termio", "daemon", "stop")
		cmd.Env = env.Vars
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Log("stop the daemon:", err, string(out))
		}
	}
	if log, err := os.ReadFile(filepath.Join(home, "log", "daemon.log")); err == nil && t.Verbose() {
		t.Log("daemon.log:\n" + string(log))
	}
	if left := leftBehind(home); len(left) > 0 {
		t.Log("left behind:\n" + strings.Join(left, "\n"))
		t.FailNow()
	}
}

// code N command… runs a command and wants exactly that exit code.
func code(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N command [args…]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		got = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("run %s: %v", args[1], err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// replyOf is the JSON that the last command printed on one line of its output:
// the last one, or where there are several the one with the given number.
func replyOf(ts *testscript.TestScript, line int) any {
	lines := strings.Split(strings.TrimRight(ts.ReadFile("stdout"), "\n"), "\n")
	if line == 0 {
		line = len(lines)
	}
	if line > len(lines) {
		ts.Fatalf("the output has %d lines, and line %d is asked for", len(lines), line)
	}
	var v any
	if err := json.Unmarshal([]byte(lines[line-1]), &v); err != nil {
		ts.Fatalf("line %d is no JSON: %v\n%s", line, err, lines[line-1])
	}
	return v
}

// field follows a path such as 2:sessions.0.title through a reply; the number
// before the colon is the line.
func field(ts *testscript.TestScript, path string) (any, bool) {
	line := 0
	if n, rest, ok := strings.Cut(path, ":"); ok {
		if i, err := strconv.Atoi(n); err == nil {
			line, path = i, rest
		}
	}
	v := replyOf(ts, line)
	if path == "" {
		return v, true
	}
	for name := range strings.SplitSeq(path, ".") {
		switch x := v.(type) {
		case map[string]any:
			next, ok := x[name]
			if !ok {
				return nil, false
			}
			v = next
		case []any:
			if name == "len" {
				v = float64(len(x))
				continue
			}
			i, err := strconv.Atoi(name)
			if err != nil || i >= len(x) {
				return nil, false
			}
			v = x[i]
		default:
			return nil, false
		}
	}
	return v, true
}

// spelled is a JSON value as scripts write it: a string without its quotes.
func spelled(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(data)
}

// json PATH VALUE wants a field of the last reply to have a value; with ! it
// must not, and without a value it must not be there.
func jsonField(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 && len(args) != 1 {
		ts.Fatalf("usage: [!] json PATH [VALUE]")
	}
	v, there := field(ts, args[0])
	switch {
	case len(args) == 1 && neg == there:
		ts.Fatalf("%s is there: %v (%s)", args[0], there, spelled(v))
	case len(args) == 2 && (there && spelled(v) == args[1]) == neg:
		ts.Fatalf("%s is %q, there: %v; wanted %q to be so: %v", args[0], spelled(v), there, args[1], !neg)
	}
}

// match PATH REGEXP wants a field of the last reply to match.
func match(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: [!] match PATH REGEXP")
	}
	re, err := regexp.Compile(args[1])
	ts.Check(err)
	v, there := field(ts, args[0])
	if (there && re.MatchString(spelled(v))) == neg {
		ts.Fatalf("%s is %q", args[0], spelled(v))
	}
}

// shape FILE wants the last reply to be the JSON of a file, once what differs
// from run to run is taken out of both.
func shape(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: shape FILE")
	}
	got, err := json.MarshalIndent(normal(ts, "", replyOf(ts, 0)), "", "  ")
	ts.Check(err)
	want := strings.TrimSpace(ts.ReadFile(args[0]))
	if string(got) != want {
		ts.Fatalf("the reply is\n%s\nwant\n%s", got, want)
	}
}

var (
	uuid  = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	short = regexp.MustCompile(`^[0-9a-f]{8}$`)
	ages  = regexp.MustCompile(`\b(now|[0-9]+ms|[0-9]+[smh])\b`)
)

// normal replaces what differs from run to run: ids, times, processes, folders.
func normal(ts *testscript.TestScript, name string, v any) any {
	switch x := v.(type) {
	case map[string]any:
		for k, e := range x {
			x[k] = normal(ts, k, e)
		}
	case []any:
		for i, e := range x {
			x[i] = normal(ts, "", e)
		}
	case string:
		x = strings.ReplaceAll(x, ts.Getenv("WORK"), "$WORK")
		x = strings.ReplaceAll(x, ts.Getenv("TERMIO_HOME"), "$TERMIO_HOME")
		x = uuid.ReplaceAllString(x, "UUID")
		if short.MatchString(x) {
			x = "SHORT"
		}
		if name == "description" {
			x = ages.ReplaceAllString(x, "AGE")
		}
		return x
	case float64:
		switch name {
		case "at", "since", "started_at", "last_activity", "created", "seq":
			return "TIME"
		case "pid", "keeper_pid", "host_pid":
			return "PID"
		}
	}
	return v
}

// keep NAME PATH puts a field of the last reply into a variable; without a path,
// the last line of the last command's output.
func keep(ts *testscript.TestScript, neg bool, args []string) {
	switch {
	case neg || len(args) == 0 || len(args) > 2:
		ts.Fatalf("usage: keep NAME [PATH]")
	case len(args) == 1:
		lines := strings.Split(strings.TrimSpace(ts.ReadFile("stdout")), "\n")
		ts.Setenv(args[0], lines[len(lines)-1])
	default:
		v, there := field(ts, args[1])
		if !there {
			ts.Fatalf("there is no %s", args[1])
		}
		ts.Setenv(args[0], spelled(v))
	}
}

// environ is a script's environment as far as the program looks at it.
func environ(ts *testscript.TestScript) []string {
	var env []string
	for _, name := range []string{"PATH", "HOME", "TERMIO_HOME", "TERMIO_SESSION", "TERMIO_CLI_TIMEOUT", "SHELL", "PS1", "ENV", "LANG", "TERM"} {
		if v := ts.Getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// host PID kills the daemon's second process as nothing else could.
func killHost(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: host PID")
	}
	pid, err := strconv.Atoi(args[0])
	ts.Check(err)
	ts.Check(syscall.Kill(pid, syscall.SIGKILL))
}

// uuid LINK sets UUID to the id in a link.
func uuidOf(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 || !uuid.MatchString(args[0]) {
		ts.Fatalf("usage: uuid LINK")
	}
	ts.Setenv("UUID", uuid.FindString(args[0]))
}
