// Package peer drives the programs that a benchmark compares: termio, and tmux, screen
// and dtach beside it, each as a person drives it, by its own command line in a world
// of its own.
//
// It hides how each is started, how a session is made, attached to and listed, and which
// processes serve it. A peer whose program is not installed says so and is left out.
// What it starts is ended by its own command or by process number, never by name.
//
// A Peer and a Terminal belong to one goroutine.
package peer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"termio/bench/internal/kid"
	"termio/bench/internal/machine"
)

// Cols and Rows are the size of every session.
const (
	Cols = 200
	Rows = 50
)

// History is how many lines of history each program that keeps one is told to keep.
const History = 10000

// ErrNoScreen is a peer that keeps no screen.
var ErrNoScreen = errors.New("it keeps no screen")

// A Role is what runs in a session.
type Role string

// Roles.
const (
	Kid  Role = "kid"  // obeys the driver
	Idle Role = "idle" // writes a line into the world's pipe, then sleeps
)

// A Peer runs programs in terminals without a window.
type Peer interface {
	Name() string
	// Start starts what has to run before the first session.
	Start() error
	// Stop ends the sessions, and what Start started.
	Stop() error
	// Create makes a session by one call of the command line.
	Create(name string, r Role) error
	// Close ends a session.
	Close(name string) error
	// Attach is the command line that shows a session on a terminal.
	Attach(name string) *exec.Cmd
	// List is the command line that lists the sessions, nil if there is none.
	List() *exec.Cmd
	// Servers are the processes that serve a session, whose kid's parent is given.
	Servers(parent int) ([]int, error)
	// Screen is the text of a session's screen, ErrNoScreen if there is none.
	Screen(name string) (string, error)
	// Asks reports whether its terminals answer queries.
	Asks() bool
}

// A World is the folder and the environment of one run.
type World struct {
	Dir      string // short: sockets lie in it
	Termio   string // the program measured
	Bench    string // this program, which plays the kid
	environ  []string
	idlePipe string
}

// NewWorld makes a world in a folder. termio and bench are paths of programs.
func NewWorld(dir, termio, bench string) (*World, error) {
	w := &World{Dir: dir, Termio: termio, Bench: bench, idlePipe: filepath.Join(dir, "idle.pipe")}
	home := filepath.Join(dir, "home")
	if err := os.MkdirAll(home, 0o700); err != nil {
		return nil, err
	}
	if err := syscall.Mkfifo(w.idlePipe, 0o600); err != nil {
		return nil, fmt.Errorf("make a pipe: %w", err)
	}
	script := "#!/bin/sh\necho >" + w.idlePipe + "\nexec sleep 1000000\n"
	if err := os.WriteFile(w.idleScript(), []byte(script), 0o700); err != nil {
		return nil, err
	}
	w.environ = []string{
		"HOME=" + home, "PATH=" + os.Getenv("PATH"), "SHELL=/bin/sh", "TERM=xterm-256color", "LC_ALL=C.UTF-8", "TMPDIR=" + dir,
		machine.Mark + "=" + dir, kid.SocketVar + "=" + w.KidSocket(),
	}
	return w, nil
}

// KidSocket is where the kids come in.
func (w *World) KidSocket() string { return filepath.Join(w.Dir, "kid.sock") }

// Mark is the value of the mark by which the world's processes are known.
func (w *World) Mark() string { return w.Dir }

// Environ is the environment of everything that runs in the world.
func (w *World) Environ() []string { return w.environ }

func (w *World) idleScript() string { return filepath.Join(w.Dir, "idle.sh") }

// argv is the command line of a role.
func (w *World) argv(r Role) []string {
	if r == Idle {
		return []string{"/bin/sh", w.idleScript()}
	}
	return []string{w.Bench, "kid"}
}

// Command is a command line in the world.
func (w *World) Command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Env, cmd.Dir = w.environ, w.Dir
	return cmd
}

// Idling waits for the next Idle session's line and tells when it came. came waits; the
// pipe is open when Idling returns. cancel gives up where no session came about, so
// that the next one's line is not taken for its own.
func (w *World) Idling() (came func() (time.Time, error), cancel func(), err error) {
	// Opened for both directions, so that it stays open over many sessions.
	f, err := os.OpenFile(w.idlePipe, os.O_RDWR, 0)
	if err != nil {
		return nil, nil, err
	}
	if err := f.SetReadDeadline(time.Now().Add(kid.Patience)); err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	type arrival struct {
		at  time.Time
		err error
	}
	first := make(chan arrival, 1)
	go func() {
		var b [1]byte
		_, err := f.Read(b[:])
		first <- arrival{time.Now(), err}
		_ = f.Close()
	}()
	came = func() (time.Time, error) {
		a := <-first
		return a.at, a.err
	}
	return came, func() {
		_ = f.Close()
		<-first
	}, nil
}

// run runs a command line and gives its output; an error carries what it said.
func run(cmd *exec.Cmd) (string, error) {
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, strings.TrimSpace(errs.String()+" "+string(out)))
	}
	return string(out), nil
}

// endWait is how long a process gets to end by itself.
const endWait = 10 * time.Second

// Sweep ends every process of the world, by number, and gives the names of those that
// there were.
func (w *World) Sweep() []string {
	ctx, cancel := context.WithTimeout(context.Background(), endWait)
	defer cancel()
	var names []string
	for sig := syscall.SIGTERM; ; sig = syscall.SIGKILL {
		pids := machine.Ours(w.Mark())
		if len(pids) == 0 {
			return names
		}
		for _, pid := range pids {
			if sig == syscall.SIGTERM {
				names = append(names, machine.Name(pid))
			}
			_ = syscall.Kill(pid, sig)
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			return names
		}
	}
}

// Find makes the peers whose programs are installed, and names the others. Versions are
// what each says of itself.
func Find(w *World) (peers []Peer, versions map[string]string, missing []string) {
	versions = map[string]string{}
	tm := &tmux{w: w}
	for _, c := range []struct {
		p       Peer
		version []string
	}{
		{tm, []string{"tmux", "-V"}},
		{&screen{w: w}, []string{"screen", "--version"}},
		{&dtach{w: w}, []string{"dtach", "--version"}},
	} {
		if _, err := exec.LookPath(c.version[0]); err != nil {
			missing = append(missing, c.p.Name())
			continue
		}
		out, _ := w.Command(c.version[0], c.version[1:]...).Output() // screen's exit code is 1
		line, _, _ := strings.Cut(string(out), "\n")
		versions[c.p.Name()] = strings.TrimSpace(line)
		peers = append(peers, c.p)
	}
	return peers, versions, missing
}

// IdleCommand is the idle program by itself.
func (w *World) IdleCommand() *exec.Cmd {
	argv := w.argv(Idle)
	return w.Command(argv[0], argv[1:]...)
}
