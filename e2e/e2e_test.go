// Package e2e_test drives the real agent command lines through the real termio
// binary, as a person or a script would: only commands, their JSON and their exit
// codes. The agents are pinned (install.sh), live in a home folder of their own, and
// talk to a fake model on loopback that does what the prompt says.
//
// What is asserted here is what nobody can fake: that hooks, dialogs, transcripts and
// resume of the released agent are what the manifests take them for. Everything else
// is tested with the demo agent, faster.
//
// A test is skipped, with its reason, where its agent is not installed; where
// TERMIO_CI is set that is a failure.
package e2e_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"termio/internal/api"
	"termio/internal/termtest/fakemodel"
)

// deadline bounds each command. A wait inside one is shorter (waitLimit), so that it
// is termio that reports it.
const (
	deadline  = 90 * time.Second
	waitLimit = "60s"
	// endPatience is for a process between its last deed and its end.
	endPatience = time.Minute
)

// binary is the termio that is tested, built once.
var binary string

func TestMain(m *testing.M) { os.Exit(run(m)) }

// run builds the binary and runs the tests.
func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "termio-e2e")
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "termio")
	build := exec.Command("go", "build", "-o", binary, "termio/cmd/termio")
	build.Stdout, build.Stderr = os.Stderr, os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "e2e: build termio:", err)
		return 1
	}
	return m.Run()
}

// missing ends a test whose agent is not there: loudly, and on CI as a failure.
func missing(t *testing.T, agent string) {
	t.Helper()
	reason := agent + " is not installed here; e2e/install.sh does it"
	if os.Getenv("TERMIO_CI") != "" {
		t.Fatal(reason)
	}
	t.Skip(reason)
}

// agentBinary finds an installed agent's program by the pattern of its place among
// the installed packages.
func agentBinary(t *testing.T, agent, pattern string) string {
	t.Helper()
	folder := os.Getenv("TERMIO_E2E_AGENTS")
	if folder == "" {
		folder = filepath.Join("..", ".cache", "agents")
	}
	found, err := filepath.Glob(filepath.Join(folder, "*", "node_modules", pattern))
	if err != nil {
		t.Fatal(err)
	}
	if len(found) == 0 {
		missing(t, agent)
	}
	path, err := filepath.Abs(found[0])
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// world is a machine of its own for one test: a home, a project, a daemon, a model.
type world struct {
	t       *testing.T
	model   *fakemodel.Server
	home    string
	project string
	env     []string
}

// newWorld makes one. It has no agent yet. At the end of the test its daemon is
// stopped, and no process of it may be left.
func newWorld(t *testing.T) *world {
	t.Helper()
	// Short, for the sockets in it.
	root, err := os.MkdirTemp("/tmp", "te")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(root); err != nil {
			t.Error(err)
		}
	})
	if root, err = filepath.EvalSymlinks(root); err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, model: fakemodel.New(t), home: filepath.Join(root, "home"), project: filepath.Join(root, "home", "shop")}
	for _, dir := range []string{w.project, filepath.Join(w.home, "bin"), filepath.Join(root, "tmp")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	w.env = []string{
		"HOME=" + w.home,
		"PATH=" + filepath.Join(w.home, "bin") + ":/usr/local/bin:/usr/bin:/bin",
		"SHELL=/bin/sh",
		"TMPDIR=" + filepath.Join(root, "tmp"),
		"TERM=xterm-256color",
		"LANG=C.UTF-8",
		"TERMIO_CLI_TIMEOUT=60", // a test machine may be busy
		"TERMIO_HOME=" + filepath.Join(root, "t"),
	}
	// A login shell sets the PATH anew; a person's profile puts it right.
	w.write(".profile", "PATH=$HOME/bin:$PATH\nexport PATH\n")
	w.git("init", "-q")
	t.Cleanup(w.end)
	return w
}

// write puts a file into the home.
func (w *world) write(name, content string) {
	w.t.Helper()
	path := filepath.Join(w.home, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// read gives a file of the home.
func (w *world) read(name string) []byte {
	w.t.Helper()
	data, err := os.ReadFile(filepath.Join(w.home, name))
	if err != nil {
		w.t.Fatal(err)
	}
	return data
}

// writeJSON puts a value into the home as a JSON file.
func (w *world) writeJSON(name string, v any) {
	w.t.Helper()
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		w.t.Fatal(err)
	}
	w.write(name, string(data)+"\n")
}

// git runs git in the project.
func (w *world) git(args ...string) {
	w.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = w.project, w.env
	if out, err := cmd.CombinedOutput(); err != nil {
		w.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// has reports whether a file is in the project.
func (w *world) has(name string) bool {
	w.t.Helper()
	_, err := os.Stat(filepath.Join(w.project, name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		w.t.Fatal(err)
	}
	return err == nil
}

// result is how a command ended.
type result struct {
	args           []string
	exit           int
	stdout, stderr string
}

func (r result) String() string {
	return fmt.Sprintf("termio %s: exit %d\n%s%s", strings.Join(r.args, " "), r.exit, r.stdout, r.stderr)
}

// termio runs a command in the project and waits for its end.
func (w *world) termio(args ...string) result {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Dir, cmd.Env = w.project, w.env
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	r := result{args: args, exit: cmd.ProcessState.ExitCode(), stdout: stdout.String(), stderr: stderr.String()}
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited || ctx.Err() != nil {
		w.t.Fatalf("%v\n%v", r, errors.Join(err, ctx.Err()))
	}
	return r
}

// sessions runs `termio sessions … --json`, expects the exit code and decodes the
// reply into v.
func (w *world) sessions(v any, exit int, args ...string) {
	w.t.Helper()
	// The flag goes after the verb: a prompt behind -- must stay the last word.
	r := w.termio(append([]string{"sessions", args[0], "--json"}, args[1:]...)...)
	if r.exit != exit {
		w.t.Fatalf("want exit %d\n%v", exit, r)
	}
	if err := json.Unmarshal([]byte(r.stdout), v); err != nil {
		w.t.Fatalf("%v\n%v", err, r)
	}
}

// spawn starts an agent on a prompt and waits for the outcome.
func (w *world) spawn(agent, prompt string) api.WaitReply {
	w.t.Helper()
	var reply api.WaitReply
	w.sessions(&reply, 0, "spawn", "--agent", agent, "--wait", "--timeout", waitLimit, "--", prompt)
	return reply
}

// send sends a text and waits for the outcome.
func (w *world) send(target, text string) api.WaitReply {
	w.t.Helper()
	var reply api.WaitReply
	w.sessions(&reply, 0, "send", "--wait", "--timeout", waitLimit, target, "--", text)
	return reply
}

// refused sends a text that must be refused with a code.
func (w *world) refused(code api.Code, target, text string) *api.Error {
	w.t.Helper()
	var e api.Error
	w.sessions(&e, 1, "send", target, "--", text)
	if e.Code != code {
		w.t.Fatalf("refused with %s (%s), want %s", e.Code, e.Message, code)
	}
	return &e
}

// row is a session's row in the list.
func (w *world) row(target string) api.SessionInfo {
	w.t.Helper()
	var list api.ListReply
	w.sessions(&list, 0, "list", "--closed")
	for _, s := range list.Sessions {
		if s.Link == target {
			return s
		}
	}
	w.t.Fatalf("%s is not in %+v", target, list.Sessions)
	return api.SessionInfo{}
}

// drawn waits until a session's screen holds a text, or does no more.
func (w *world) drawn(target string, there bool, text string) {
	w.t.Helper()
	for until := time.Now().Add(deadline); ; {
		r := w.termio("sessions", "read", target)
		switch {
		case r.exit != 0 || time.Now().After(until):
			w.t.Fatalf("waiting for %q, there: %v; %v", text, there, r)
		case strings.Contains(r.stdout, text) == there:
			return
		}
	}
}

// asked waits until the agent has sent the model a request with this prompt.
func (w *world) asked(prompt string) fakemodel.Request {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	r, err := w.model.Await(ctx, func(r fakemodel.Request) bool { return r.Prompt == prompt })
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// held waits until the model holds a reply.
func (w *world) held(name string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	if err := w.model.Held(ctx, name, 1); err != nil {
		w.t.Fatal(err)
	}
}

// hungUp waits until the agent has given up on a reply that the model holds.
func (w *world) hungUp(name string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	if err := w.model.HungUp(ctx, name, 1); err != nil {
		w.t.Fatal(err)
	}
}

// watcher is a running `termio sessions watch`.
type watcher struct {
	w      *world
	events chan api.Event // closed at the stream's end; the reader waits when it is full
}

// watch starts one that sees every state, and waits until it is subscribed.
func (w *world) watch() *watcher {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, binary, "sessions", "watch", "--json", "--state", "working,idle,done,needs-you,closed")
	cmd.Dir, cmd.Env = w.project, w.env
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	watch := &watcher{w: w, events: make(chan api.Event, 1024)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(watch.events)
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			var e api.Event
			if json.Unmarshal(lines.Bytes(), &e) == nil && e.Link != "" {
				watch.events <- e
			}
		}
	}()
	w.t.Cleanup(func() {
		cancel()
		<-done
		_ = cmd.Wait()
	})
	return watch
}

// until returns the next event of a session that has the status.
func (v *watcher) until(target string, status api.Status) api.Event {
	v.w.t.Helper()
	timeout := time.After(deadline)
	var seen []string
	for {
		select {
		case e, ok := <-v.events:
			if !ok {
				v.w.t.Fatalf("the watch ended before %s; seen %v", status, seen)
			}
			if e.Link != target {
				continue
			}
			if e.Status == status {
				return e
			}
			seen = append(seen, string(e.Status))
		case <-timeout:
			v.w.t.Fatalf("no %s within %v; seen %v", status, deadline, seen)
		}
	}
}

// untilAll waits until each of the sessions has had the status.
func (v *watcher) untilAll(status api.Status, targets ...string) {
	v.w.t.Helper()
	timeout := time.After(deadline)
	for len(targets) > 0 {
		select {
		case e, ok := <-v.events:
			if !ok {
				v.w.t.Fatalf("the watch ended before %s of %v", status, targets)
			}
			if e.Status == status {
				targets = slices.DeleteFunc(targets, func(t string) bool { return t == e.Link })
			}
		case <-timeout:
			v.w.t.Fatalf("no %s of %v within %v", status, targets, deadline)
		}
	}
}

// soonLimit is how long a session may take to be at rest after an interruption or a
// denial that no hook may tell of.
const soonLimit = 3 * time.Second

// soon is until, and holds the time that the event names to soonLimit.
func (v *watcher) soon(target string, status api.Status) {
	v.w.t.Helper()
	asked := time.Now()
	if e := v.until(target, status); time.UnixMilli(e.At).Sub(asked) > soonLimit {
		v.w.t.Errorf("%s after %v, want it within %v", status, time.UnixMilli(e.At).Sub(asked), soonLimit)
	}
}

// end stops the daemon and looks for what it left behind. A failed test first tells
// what a person would look at.
func (w *world) end() {
	if w.t.Failed() {
		w.diagnose()
	}
	if r := w.termio("daemon", "stop"); r.exit != 0 {
		w.t.Error(r)
	}
	for _, p := range processesWith("TERMIO_HOME=" + w.value("TERMIO_HOME")) {
		if p.ends(endPatience) { // it was about to
			continue
		}
		w.t.Errorf("left behind: process %d: %s", p.pid, p.command)
		_ = syscall.Kill(p.pid, syscall.SIGKILL)
	}
}

// diagnose logs the screens, the evidence and the daemon's log.
func (w *world) diagnose() {
	var list api.ListReply
	r := w.termio("sessions", "list", "--closed", "--json")
	w.t.Log(r)
	if json.Unmarshal([]byte(r.stdout), &list) == nil {
		for _, s := range list.Sessions {
			w.t.Log(w.termio("sessions", "read", s.Link))
			w.t.Log(w.termio("sessions", "explain", s.Link))
		}
	}
	w.t.Log(w.termio("daemon", "logs"))
	for _, r := range w.model.Requests() {
		w.t.Logf("asked %s %q result %q", r.Path, r.Prompt, r.ToolResult)
	}
}

// value is the value of a variable of the world's environment.
func (w *world) value(name string) string {
	for _, kv := range w.env {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v
		}
	}
	return ""
}
