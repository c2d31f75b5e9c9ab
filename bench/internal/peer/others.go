package peer

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"termio/bench/internal/machine"
)

// tmux has one server for all sessions.
type tmux struct {
	w      *World
	server int
}

func (t *tmux) Name() string { return "tmux" }
func (t *tmux) Asks() bool   { return true }

// command is a command line of the world's own server.
func (t *tmux) command(args ...string) *exec.Cmd {
	return t.w.Command("tmux", append([]string{"-u", "-S", filepath.Join(t.w.Dir, "tmux.sock"), "-f", t.config()}, args...)...)
}

func (t *tmux) config() string { return filepath.Join(t.w.Dir, "tmux.conf") }

func (t *tmux) Start() error {
	conf := fmt.Sprintf("set -g status off\nset -g history-limit %d\nset -s escape-time 0\nset -s exit-empty off\n"+
		"set -g default-size %dx%d\nset -g window-size latest\nset -g default-terminal tmux-256color\n", History, Cols, Rows)
	if err := os.WriteFile(t.config(), []byte(conf), 0o600); err != nil {
		return err
	}
	if _, err := run(t.command("start-server")); err != nil {
		return err
	}
	return t.ask()
}

// ask notes which process serves: the first session may have started another one.
func (t *tmux) ask() error {
	out, err := run(t.command("display-message", "-p", "#{pid}"))
	if err != nil {
		return err
	}
	t.server, err = strconv.Atoi(strings.TrimSpace(out))
	return err
}

// Stop ends the server and waits until it has gone: until then its socket refuses the
// next one.
func (t *tmux) Stop() error {
	if err := t.ask(); err != nil {
		return err
	}
	if _, err := run(t.command("kill-server")); err != nil {
		return err
	}
	for end := time.Now().Add(endWait); machine.Name(t.server) != "" && time.Now().Before(end); {
		time.Sleep(5 * time.Millisecond)
	}
	return nil
}

func (t *tmux) Create(name string, r Role) error {
	args := []string{"new-session", "-d", "-s", name, "-x", strconv.Itoa(Cols), "-y", strconv.Itoa(Rows)}
	_, err := run(t.command(append(args, t.w.argv(r)...)...))
	return err
}

func (t *tmux) Close(name string) error {
	_, err := run(t.command("kill-session", "-t", "="+name))
	return err
}

func (t *tmux) Attach(name string) *exec.Cmd       { return t.command("attach-session", "-t", "="+name) }
func (t *tmux) List() *exec.Cmd                    { return t.command("list-sessions") }
func (t *tmux) Servers(int) ([]int, error)         { return []int{t.server}, nil }
func (t *tmux) Screen(name string) (string, error) { return run(t.Capture(name)) }

// Capture is the command line that prints a session's screen; more are its flags.
func (t *tmux) Capture(name string, more ...string) *exec.Cmd {
	return t.command(append([]string{"capture-pane", "-p", "-t", "=" + name + ":"}, more...)...)
}

// Control is a client in control mode, which is told what a session writes.
func (t *tmux) Control(name string) *exec.Cmd {
	return t.command("-C", "attach-session", "-t", "="+name)
}

// Tmux has commands besides, for the figures that compare with them.
type Tmux interface {
	Peer
	Capture(name string, more ...string) *exec.Cmd
	Control(name string) *exec.Cmd
}

// screen has a process for each session.
type screen struct{ w *World }

func (s *screen) Name() string { return "screen" }
func (s *screen) Asks() bool   { return true }

func (s *screen) command(args ...string) *exec.Cmd {
	cmd := s.w.Command("screen", append([]string{"-U", "-c", filepath.Join(s.w.Dir, "screenrc")}, args...)...)
	cmd.Env = append(cmd.Env[:len(cmd.Env):len(cmd.Env)], "SCREENDIR="+filepath.Join(s.w.Dir, "screens"))
	return cmd
}

func (s *screen) Start() error {
	if err := os.MkdirAll(filepath.Join(s.w.Dir, "screens"), 0o700); err != nil {
		return err
	}
	rc := fmt.Sprintf("startup_message off\ndefscrollback %d\ndefutf8 on\naltscreen on\nvbell off\n", History)
	return os.WriteFile(filepath.Join(s.w.Dir, "screenrc"), []byte(rc), 0o600)
}

func (s *screen) Stop() error { return nil }

func (s *screen) Create(name string, r Role) error {
	_, err := run(s.command(append([]string{"-dmS", name}, s.w.argv(r)...)...))
	return err
}

func (s *screen) Close(name string) error {
	_, err := run(s.command("-S", name, "-X", "quit"))
	return err
}

func (s *screen) Attach(name string) *exec.Cmd { return s.command("-x", name) }
func (s *screen) List() *exec.Cmd              { return nil } // it ends with 1, and takes as long as it has sessions
func (s *screen) Servers(parent int) ([]int, error) {
	return []int{parent}, nil
}
func (s *screen) Screen(string) (string, error) { return "", ErrNoScreen }

// dtach has a process for each session, and keeps no screen.
type dtach struct{ w *World }

func (d *dtach) Name() string                  { return "dtach" }
func (d *dtach) Asks() bool                    { return false }
func (d *dtach) Start() error                  { return nil }
func (d *dtach) Stop() error                   { return nil }
func (d *dtach) socket(name string) string     { return filepath.Join(d.w.Dir, "dtach-"+name) }
func (d *dtach) List() *exec.Cmd               { return nil }
func (d *dtach) Screen(string) (string, error) { return "", ErrNoScreen }

func (d *dtach) Create(name string, r Role) error {
	_, err := run(d.w.Command("dtach", append([]string{"-n", d.socket(name), "-E", "-z"}, d.w.argv(r)...)...))
	return err
}

// Close ends the session's program; its dtach then ends by itself.
func (d *dtach) Close(name string) error {
	for _, pid := range machine.Ours(d.w.Mark()) {
		if args, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); err == nil && strings.Contains(string(args), "\x00"+d.socket(name)+"\x00") {
			return terminate(pid)
		}
	}
	return nil
}

func (d *dtach) Attach(name string) *exec.Cmd {
	return d.w.Command("dtach", "-a", d.socket(name), "-E", "-z", "-r", "winch")
}

func (d *dtach) Servers(parent int) ([]int, error) { return []int{parent}, nil }
