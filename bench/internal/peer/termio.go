package peer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"termio/internal/api"
	"termio/internal/client"
	"termio/internal/config"
)

// terminate asks a process to end; one that has ended is no error.
func terminate(pid int) error {
	if err := syscall.Kill(pid, syscall.SIGTERM); !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}

// prompt is what the sessions are started with; their programs do not read it.
const prompt = "go"

// Termio is the program measured. Its sessions are agents, started by spawn: the kid is
// one that reports by hooks, the idle program one that says nothing.
type Termio struct {
	w     *World
	paths config.Paths
	links map[string]string // by the name given to Create
	host  []int             // keeper and host
	c     *client.Client
}

// NewTermio makes the peer in a home of the world's own.
func NewTermio(w *World) (*Termio, error) {
	home := filepath.Join(w.Dir, "termio")
	paths, err := config.NewPaths(home, w.Dir)
	if err != nil {
		return nil, err
	}
	w.environ = append(w.environ, "TERMIO_HOME="+home)
	if err := paths.EnsureDirs(); err != nil {
		return nil, err
	}
	for role, more := range map[Role]map[string]any{
		Idle: {},
		Kid: {"hooks": map[string]any{"type": "builtin", "events": []map[string]string{
			{"on": "PreToolUse", "state": "working"}, {"on": "working", "state": "working"}, {"on": "attention", "state": "attention"},
		}}},
	} {
		manifest := map[string]any{
			"id": string(role), "name": string(role), "command": quoted(w.argv(role)),
			"prompt": map[string]string{"arg": "{prompt}"}, // none is typed: neither program has use for one
		}
		for k, v := range more {
			manifest[k] = v
		}
		data, err := json.MarshalIndent(manifest, "", "  ")
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(paths.AgentsDir, string(role)+".json"), data, 0o600); err != nil {
			return nil, err
		}
	}
	return &Termio{w: w, paths: paths, links: map[string]string{}}, nil
}

// quoted is a command as a manifest has it.
func quoted(argv []string) string {
	s := ""
	for _, arg := range argv {
		s += fmt.Sprintf(" %q", arg)
	}
	return s[1:]
}

// Name is what the tables call it.
func (t *Termio) Name() string { return "termio" }

// Asks reports that its terminals answer queries.
func (t *Termio) Asks() bool { return true }

// Paths is its home.
func (t *Termio) Paths() config.Paths { return t.paths }

// Client speaks to its daemon as a program does that stays.
func (t *Termio) Client() *client.Client { return t.c }

// Command is a command line of the program.
func (t *Termio) Command(args ...string) *exec.Cmd { return t.w.Command(t.w.Termio, args...) }

// Start starts the daemon and opens the world as a project.
func (t *Termio) Start() error {
	if _, err := run(t.Command("daemon", "start")); err != nil {
		return err
	}
	if _, err := run(t.Command("open", t.w.Dir)); err != nil { // sessions belong to a project
		return err
	}
	var err error
	ctx := context.Background()
	if t.c, err = client.Dial(ctx, t.paths, client.Options{Cwd: t.w.Dir, Environ: t.w.environ}); err != nil {
		return err
	}
	d, err := t.c.Daemon(ctx)
	if err != nil {
		return err
	}
	t.host = []int{d.KeeperPID, d.HostPID}
	return nil
}

// Stop stops the daemon, with every session.
func (t *Termio) Stop() error {
	_, err := run(t.Command("daemon", "stop"))
	clear(t.links)
	return err
}

// Create spawns an agent.
func (t *Termio) Create(name string, r Role) error {
	out, err := run(t.Command("sessions", "spawn", "--json", "--agent", string(r), prompt))
	if err != nil {
		return err
	}
	var reply api.StartReply
	if err := json.Unmarshal([]byte(out), &reply); err != nil {
		return fmt.Errorf("sessions spawn: %w", err)
	}
	t.links[name] = reply.Target
	return nil
}

// CreateCalled makes a session over the socket, without a process of its own.
func (t *Termio) CreateCalled(name string, r Role) error {
	reply, err := t.c.Spawn(context.Background(), api.SpawnRequest{Agent: string(r), Prompt: prompt, Cols: Cols, Rows: Rows, Cwd: t.w.Dir})
	t.links[name] = reply.Target
	return err
}

// Link is a session's address.
func (t *Termio) Link(name string) string { return t.links[name] }

// Close ends a session, over the socket.
func (t *Termio) Close(name string) error {
	_, err := t.c.Close(context.Background(), t.links[name])
	return err
}

// Attach is the command line that shows a session.
func (t *Termio) Attach(name string) *exec.Cmd { return t.Command("attach", t.links[name]) }

// List is the command line that lists the sessions.
func (t *Termio) List() *exec.Cmd { return t.Command("sessions", "list") }

// Servers are keeper and host.
func (t *Termio) Servers(int) ([]int, error) { return t.host, nil }

// Screen is the text of a session's screen.
func (t *Termio) Screen(name string) (string, error) {
	r, err := t.c.Read(context.Background(), t.links[name], client.ReadOptions{})
	return r.Screen, err
}

// ReadCalled prints a session's screen by a call of the command line.
func (t *Termio) ReadCalled(name string) (string, error) {
	return run(t.Command("sessions", "read", t.links[name]))
}
