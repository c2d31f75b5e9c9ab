// Package termtest gives tests a real daemon: keeper and host as processes of their
// own, which the test binary plays itself, in a home of their own that is gone
// afterwards.
//
// A package that uses it has a TestMain that calls [Role] first. [Start] then starts
// a daemon, and its methods talk to it as any client does. Waiting is always for an
// event, with a deadline that fails the test. A test ends with no process, socket or
// file left, or fails for that.
//
// Only tests import it. Helpers may be called from the test's goroutine only.
package termtest

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"termio/internal/api"
	"termio/internal/client"
	"termio/internal/config"
	"termio/internal/demo"
	"termio/internal/host"
	"termio/internal/keeper"
	"termio/internal/quick"
	"termio/internal/server"
)

// Patience bounds every wait of a test, and a context that serves for several. It is
// long because test machines are busy; nothing waits that long unless something is
// broken.
const Patience = 3 * time.Minute

// Role plays the part that the arguments ask for, if the process was started for one:
// the daemon's processes, the demo agent, an agent's hook. TestMain calls it first and
// ends the process with the code if ok.
func Role() (code int, ok bool) {
	args := os.Args[1:]
	switch {
	case has(args, "daemon", "run"):
		return exit(runKeeper()), true
	case has(args, "daemon", "host"):
		return exit(runHost()), true
	case has(args, "demo-agent"):
		return demo.Run(context.Background(), args[1:], demo.Stdio{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, os.Environ()), true
	case has(args, "agent", "report"):
		if r, ok := quick.ParseReport(args[2:]); ok {
			r.Post(client.ReportPlace(os.Environ()), 0, 1)
		}
		return 0, true
	}
	return 0, false
}

func has(args []string, words ...string) bool {
	return len(args) >= len(words) && slices.Equal(args[:len(words)], words)
}

func exit(err error) int {
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		return 1
	}
	return 0
}

func runKeeper() error {
	env, err := config.FromEnv(os.Environ())
	if err != nil {
		return err
	}
	cfg := keeper.Config{
		Socket: env.Socket, LockFile: env.LockFile, HostPath: env.StableExe, HostArgs: []string{"daemon", "host"},
		HostEnv: env.Environ, Grace: 500 * time.Millisecond, Log: logger("keeper"),
		MaxRestartDelay: 100 * time.Millisecond, // tests kill many hosts in a row
	}
	if env.ReadyFD >= 0 {
		cfg.Ready = os.NewFile(uintptr(env.ReadyFD), "ready")
	}
	return keeper.Run(context.Background(), cfg)
}

func runHost() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	env, err := config.FromEnv(os.Environ())
	if err != nil {
		return err
	}
	conn, err := keeper.Connect(keeper.ControlFD)
	if err != nil {
		return err
	}
	defer conn.Close()
	h, err := host.Open(host.Config{Env: env, Keeper: conn, Log: logger("host")})
	if err != nil {
		return err
	}
	defer h.Close()
	ln, err := conn.Listener()
	if err != nil {
		return err
	}
	srv := server.New(h, logger("host"))
	go func() {
		select {
		case <-h.Stopped():
		case <-ctx.Done():
		}
		end, cancel := context.WithTimeout(context.Background(), Patience)
		defer cancel()
		_ = srv.Close(end)
	}()
	return srv.Serve(ln)
}

func logger(process string) *slog.Logger {
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug})).With("process", process)
}

// A Daemon is a running daemon with a project folder.
type Daemon struct {
	t     testing.TB
	Paths config.Paths
	Dir   string   // a project's folder, where clients are
	Env   []string // what the daemon was started with

	keeper int // a child of this process

	demo chan DemoEvent // with WithDemoStream
	did  []DemoEvent    // of demo, so far
}

// Option changes how a daemon is started.
type Option func(*Daemon)

// WithEnv sets variables of the daemon's environment.
func WithEnv(vars ...string) Option {
	return func(d *Daemon) { d.Env = append(d.Env, vars...) }
}

// WithSettings writes a settings file before the daemon starts.
func WithSettings(s api.Settings) Option {
	return func(d *Daemon) {
		if err := config.SaveSettings(d.Paths.SettingsFile, s); err != nil {
			d.t.Fatal(err)
		}
	}
}

// Start starts a daemon with /bin/sh as the login shell. It is stopped when the test
// ends, and the test fails if anything of it is left.
func Start(t testing.TB, options ...Option) *Daemon {
	t.Helper()
	// A short path: a socket's name has little room, and t.TempDir's is long.
	root, err := os.MkdirTemp("", "tt")
	if err != nil {
		t.Fatal(err)
	}
	root, err = filepath.EvalSymlinks(root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(root); err != nil {
			t.Error(err)
		}
	})
	d := &Daemon{t: t, Dir: filepath.Join(root, "p")}
	home := filepath.Join(root, "h")
	for _, dir := range []string{d.Dir, filepath.Join(home, ".termio")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	d.Env = []string{
		"HOME=" + home, "TERMIO_HOME=" + filepath.Join(home, ".termio"), "PATH=" + os.Getenv("PATH"), "SHELL=/bin/sh",
		"TMPDIR=" + root, "GIT_CONFIG_NOSYSTEM=1", "PS1=$ ",
		"GORACE=atexit_sleep_ms=0", // built with -race, every process would sleep a second before it ends
	}
	if d.Paths, err = config.NewPaths(filepath.Join(home, ".termio"), root); err != nil {
		t.Fatal(err)
	}
	if err := d.Paths.EnsureDirs(); err != nil {
		t.Fatal(err)
	}
	for _, o := range options {
		o(d)
	}
	d.Git("init", "--quiet")
	d.start()
	return d
}

// start starts the daemon's processes and has them ended with the test.
func (d *Daemon) start() {
	d.t.Helper()
	exe, err := os.Executable()
	if err != nil {
		d.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	c, err := client.Dial(ctx, d.Paths, client.Options{Start: true, Exe: exe, Environ: d.Env, Cwd: d.Dir})
	if err != nil {
		d.t.Fatalf("start daemon: %v\n%s", err, d.log())
	}
	d.Paths = c.Paths()
	r, err := c.Daemon(ctx)
	if err != nil {
		d.t.Fatalf("start daemon: %v\n%s", err, d.log())
	}
	d.keeper = r.KeeperPID
	d.t.Cleanup(d.end)
	if _, err := c.Open(ctx, api.OpenRequest{Path: d.Dir}); err != nil {
		d.t.Fatalf("open project: %v", err)
	}
}

// end stops the daemon and looks for what is left of it.
func (d *Daemon) end() {
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	c, err := client.Dial(ctx, d.Paths, client.Options{Cwd: d.Dir, Timeout: Patience})
	if err == nil {
		_, err = c.Stop(ctx)
	}
	if err != nil && api.CodeOf(err) != api.Unavailable {
		d.t.Errorf("stop daemon: %v", err)
	} else if err != nil { // a test may have ended it
		d.t.Logf("stop daemon: %v", err)
	}
	d.awaitKeeper(ctx)
	if left := d.left(func(string) bool { return true }); len(left) > 0 {
		d.t.Errorf("processes left: %v", left)
		for pid := range left {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	for _, sign := range []string{"WARNING: DATA RACE", "panic: ", "fatal error: "} {
		if strings.Contains(d.log(), sign) {
			d.t.Errorf("the daemon's log has %q", sign)
		}
	}
	if d.t.Failed() {
		d.t.Logf("log of the daemon:\n%s", d.log())
	}
}

// awaitKeeper waits until the keeper's process has ended: it lets go of its lock, which
// callers wait for, a moment before.
func (d *Daemon) awaitKeeper(ctx context.Context) {
	p, err := os.FindProcess(d.keeper)
	if err != nil {
		return
	}
	ended := make(chan struct{})
	go func() {
		_, _ = p.Wait() // an error if it is no child: started by somebody else
		close(ended)
	}()
	select {
	case <-ended:
	case <-ctx.Done():
		d.t.Error("the keeper goes on")
	}
}

// maxLog is how many bytes of a daemon's log a failed test prints.
const maxLog = 16 << 10

func (d *Daemon) log() string {
	b, err := os.ReadFile(d.Paths.Log)
	if err != nil {
		return err.Error()
	}
	return string(b[max(0, len(b)-maxLog):])
}

// processes are the living processes that have this daemon's home in their
// environment, with their command lines. Only Linux tells.
func (d *Daemon) processes() map[int]string {
	left := map[int]string{}
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		d.t.Fatal(err)
	}
	for _, dir := range dirs {
		env, err := os.ReadFile(filepath.Join(dir, "environ"))
		if err != nil || !bytes.Contains(append([]byte{0}, env...), []byte("\x00TERMIO_HOME="+d.Paths.Home+"\x00")) {
			continue
		}
		args, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		pid, _ := strconv.Atoi(filepath.Base(dir))
		left[pid] = strings.TrimRight(strings.ReplaceAll(string(args), "\x00", " "), " ")
	}
	return left
}

// Crash kills the daemon whole, keeper and host at once, and starts the next one. What
// ran in its terminals loses them.
func (d *Daemon) Crash() {
	d.t.Helper()
	was, err := d.Client().Daemon(d.Context())
	if err != nil {
		d.t.Fatal(err)
	}
	// A stopped keeper does not see its host's end, and starts no other one.
	for _, hit := range []struct {
		pid int
		sig syscall.Signal
	}{{was.KeeperPID, syscall.SIGSTOP}, {was.HostPID, syscall.SIGKILL}, {was.KeeperPID, syscall.SIGKILL}} {
		if err := syscall.Kill(hit.pid, hit.sig); err != nil {
			d.t.Fatal(err)
		}
	}
	d.awaitKeeper(d.Context())
	d.awaitLock()
	d.start()
}

// awaitLock waits until nobody holds the daemon's lock: keeper and host are gone.
func (d *Daemon) awaitLock() {
	d.t.Helper()
	f, err := os.Open(d.Paths.LockFile)
	if err != nil {
		d.t.Fatal(err)
	}
	free := make(chan error, 1)
	go func() { // it ends with the last holder, whenever that is
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
		free <- errors.Join(err, f.Close())
	}()
	select {
	case err := <-free:
		if err != nil {
			d.t.Fatal(err)
		}
	case <-d.Context().Done():
		d.t.Fatal("somebody still holds the daemon's lock")
	}
}

// LockDatabase keeps the daemon from writing to its database, as a full disk would,
// until unlock is called.
func (d *Daemon) LockDatabase() (unlock func()) {
	d.t.Helper()
	db, err := sql.Open("sqlite3", d.Paths.DB) // the store's own driver
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { _ = db.Close() })
	conn, err := db.Conn(d.Context())
	if err == nil {
		_, err = conn.ExecContext(d.Context(), "PRAGMA busy_timeout = 10000; BEGIN IMMEDIATE")
	}
	if err != nil {
		d.t.Fatalf("lock the database: %v", err)
	}
	return func() {
		d.t.Helper()
		if _, err := conn.ExecContext(d.Context(), "ROLLBACK"); err != nil {
			d.t.Fatalf("unlock the database: %v", err)
		}
	}
}

// Exec changes the daemon's database, as a host before the next one may have left it.
func (d *Daemon) Exec(statement string, args ...any) {
	d.t.Helper()
	db, err := sql.Open("sqlite3", d.Paths.DB)
	if err != nil {
		d.t.Fatal(err)
	}
	defer db.Close()
	conn, err := db.Conn(d.Context())
	if err == nil {
		_, err = conn.ExecContext(d.Context(), "PRAGMA busy_timeout = 10000")
	}
	if err == nil {
		_, err = conn.ExecContext(d.Context(), statement, args...)
	}
	if err != nil {
		d.t.Fatalf("%s: %v", statement, err)
	}
}

// left are the living processes of this daemon whose command line counts. One that is
// on its way out, which on a busy machine takes its time, is waited for.
func (d *Daemon) left(counts func(line string) bool) map[int]string {
	left := d.processes()
	until := time.Now().Add(Patience)
	maps.DeleteFunc(left, func(pid int, line string) bool { return !counts(line) || endsBy(pid, until) })
	return left
}

// Processes are the command lines of the processes that the daemon's sessions have
// started, and that do not end; its own two are not among them.
func (d *Daemon) Processes() []string {
	left := d.left(func(line string) bool {
		return !strings.HasSuffix(line, " daemon run") && !strings.HasSuffix(line, " daemon host")
	})
	return slices.Collect(maps.Values(left))
}

// Git runs git in the project's folder.
func (d *Daemon) Git(args ...string) string {
	d.t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.invalid"}, args...)...)
	cmd.Dir, cmd.Env = d.Dir, d.Env
	out, err := cmd.CombinedOutput()
	if err != nil {
		d.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// WriteFile writes a file, making its folder.
func (d *Daemon) WriteFile(path string, mode os.FileMode, text string) {
	d.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		d.t.Fatal(err)
	}
	// Nothing may be started meanwhile: until it executes its program it would hold the
	// file open for writing, and a script that is written so cannot be executed.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		d.t.Fatal(err)
	}
}

// Context is one that ends with the test's patience.
func (d *Daemon) Context() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	d.t.Cleanup(cancel)
	return ctx
}

// Client is a caller in the project's folder and in no session.
func (d *Daemon) Client() *client.Client { return d.ClientAt(d.Dir) }

// ClientAt is a caller in a folder and in no session.
func (d *Daemon) ClientAt(dir string) *client.Client { return d.dial(client.Options{Cwd: dir}) }

// ClientIn is a caller that says it is in a session.
func (d *Daemon) ClientIn(link string) *client.Client {
	return d.dial(client.Options{Cwd: d.Dir, Session: strings.TrimPrefix(link, api.LinkPrefix)})
}

func (d *Daemon) dial(o client.Options) *client.Client {
	d.t.Helper()
	o.Timeout = Patience
	c, err := client.Dial(d.Context(), d.Paths, o)
	if err != nil {
		d.t.Fatal(err)
	}
	return c
}

// KillHost kills the host and waits until the next one answers.
func (d *Daemon) KillHost() {
	d.t.Helper()
	d.signalHost(syscall.SIGKILL)
}

// EndHost has the host end in order, leaving its sessions to the next one, and waits
// until that one answers.
func (d *Daemon) EndHost() {
	d.t.Helper()
	d.signalHost(syscall.SIGTERM)
}

// KillHostAfter kills the host as soon as moment returns, and waits until the next one
// answers.
func (d *Daemon) KillHostAfter(moment func()) {
	d.t.Helper()
	d.signalHostAfter(moment, syscall.SIGKILL)
}

func (d *Daemon) signalHost(sig syscall.Signal) {
	d.t.Helper()
	d.signalHostAfter(func() {}, sig)
}

func (d *Daemon) signalHostAfter(moment func(), sig syscall.Signal) {
	d.t.Helper()
	was, err := d.Client().Daemon(d.Context())
	if err != nil {
		d.t.Fatal(err)
	}
	moment()
	if err := syscall.Kill(was.HostPID, sig); err != nil {
		d.t.Fatal(err)
	}
	d.awaitHost(was.HostPID)
}

// awaitHost waits until another host than the one that was killed answers. The
// listening socket outlives hosts: a call waits in its backlog, unless it was in the
// dead host's hands already.
func (d *Daemon) awaitHost(was int) {
	d.t.Helper()
	ctx := d.Context()
	for ctx.Err() == nil {
		now, err := d.Client().Daemon(ctx)
		switch {
		case err == nil && now.HostPID != was:
			return
		case err != nil && api.CodeOf(err) != api.Unavailable:
			d.t.Fatal(err)
		}
	}
	d.t.Fatal("no new host")
}

// Run starts a command in a terminal session and gives its link.
func (d *Daemon) Run(command string) string {
	d.t.Helper()
	r, err := d.Client().Run(d.Context(), api.RunRequest{Command: command})
	if err != nil {
		d.t.Fatalf("run %q: %v", command, err)
	}
	return r.Target
}

// Spawn starts the demo agent with a prompt and gives its link.
func (d *Daemon) Spawn(prompt string) string {
	d.t.Helper()
	return d.SpawnAgent("demo", prompt)
}

// SpawnAgent starts an agent with a prompt and gives its link.
func (d *Daemon) SpawnAgent(agent, prompt string) string {
	d.t.Helper()
	r, err := d.Client().Spawn(d.Context(), api.SpawnRequest{Agent: agent, Prompt: prompt})
	if err != nil {
		d.t.Fatalf("spawn %q: %v", prompt, err)
	}
	return r.Target
}

// Send types a text into a session.
func (d *Daemon) Send(link, text string) {
	d.t.Helper()
	if _, err := d.Client().Send(d.Context(), link, api.SendRequest{Text: text}); err != nil {
		d.t.Fatalf("send %q: %v", text, err)
	}
}

// Close ends a session.
func (d *Daemon) Close(link string) {
	d.t.Helper()
	if _, err := d.Client().Close(d.Context(), link); err != nil {
		d.t.Fatalf("close %s: %v", link, err)
	}
}

// StopHost stops the host, does something while there is none, and lets the keeper
// start the next one.
func (d *Daemon) StopHost(while func()) {
	d.t.Helper()
	was, err := d.Client().Daemon(d.Context())
	if err != nil {
		d.t.Fatal(err)
	}
	// Stopped, the host is there for the keeper and does nothing: what happens
	// meanwhile is told to the next one.
	if err := syscall.Kill(was.HostPID, syscall.SIGSTOP); err != nil {
		d.t.Fatal(err)
	}
	func() {
		defer func() { // also where the test fails meanwhile
			if err := syscall.Kill(was.HostPID, syscall.SIGKILL); err != nil {
				d.t.Error(err)
			}
		}()
		while()
	}()
	d.awaitHost(was.HostPID)
}
