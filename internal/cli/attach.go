package cli

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"termio/internal/api"
	"termio/internal/config"
)

// An attach is two processes. The one that was called is the guard: it remembers
// the terminal, starts the other and waits, and no byte passes through it. The other
// puts the terminal into raw mode and passes bytes. However that one ends, by kill -9
// or a panic too, the guard puts the terminal back before the shell writes its next
// prompt; and should the guard be the one that is killed, the other notices and does
// it. The other's command line has no word of the guard's, so that killing processes
// by the name of the command leaves one of the two.
//
// The pipe to the guard carries lines: drawnWord before the first byte is drawn, then
// at most one more, which is told to the person when the terminal is theirs again.
// The pipe from the guard carries the terminal's modes as they were, then ends with
// the guard. The other's standard error is a pipe to the guard as well: what is
// printed on a raw terminal that shows something else is printed for nobody.
const (
	toGuardFD   = 3
	fromGuardFD = 4
	drawnWord   = "drawn"
	sitCommand  = "sit"
	// maxTalk bounds, in bytes, what the guard keeps of the other's standard error.
	maxTalk = 64 << 10
)

// attachCmd is `termio attach`.
func (a *App) attachCmd() *cobra.Command {
	var key string
	cmd := &cobra.Command{
		Use:   "attach <session>",
		Short: "Sit down at a session's terminal",
		Long: `Show a session's terminal in this one and type into it. Ctrl-\ leaves it again,
and the session goes on; every other key goes to the session. Another key can be
given with --detach-key, or for good with termio settings set detach-key.

The session takes on this terminal's size, unless somebody else sits at it: then you
see it in theirs, as much as fits, until you type.
` + targetHelp,
		Args: oneTarget,
		RunE: func(cmd *cobra.Command, args []string) error {
			k, err := a.detachKey(cmd, key)
			if err != nil {
				return usage(cmd, api.BadRequest, "%v", err)
			}
			return a.guardAttach(args[0], k)
		},
	}
	cmd.Flags().StringVar(&key, "detach-key", "", "the `KEY` that leaves, such as ctrl-q, or none (default ctrl-\\)")
	return cmd
}

// sitCmd is the attach's second process, which the guard starts.
func (a *App) sitCmd() *cobra.Command {
	return &cobra.Command{
		Use:    sitCommand + " <key> <session>",
		Short:  "Be the second process of an attach; the first one starts it",
		Hidden: true,
		Args:   cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			k, err := parseDetachKey(args[0])
			if err != nil {
				return usage(cmd, api.BadRequest, "%v", err)
			}
			return a.sit(cmd.Context(), args[1], k)
		},
	}
}

// detachKey is the flag's key, else the person's setting, else the default.
func (a *App) detachKey(cmd *cobra.Command, flag string) (detachKey, error) {
	if cmd.Flags().Changed("detach-key") {
		return parseDetachKey(flag)
	}
	env, err := a.env()
	if err != nil {
		return detachKey{}, err
	}
	if s, err := config.LoadSettings(env.SettingsFile); err == nil && s.DetachKey != "" {
		return parseDetachKey(s.DetachKey)
	}
	return parseDetachKey(defaultDetachKey)
}

// guardAttach is the first process.
func (a *App) guardAttach(target string, key detachKey) error {
	if !isTerminal(a.In) || !isTerminal(a.Out) {
		return api.NewError(api.BadRequest, "attach needs a terminal on its input and output; termio sessions read prints the screen, and termio sessions send types")
	}
	t, err := openTerminal(a.In, a.Out)
	if err != nil {
		return err
	}
	if !t.inFront() {
		return api.NewError(api.BadRequest, "attach needs the terminal for itself; start it in the foreground")
	}
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the program: %w", err)
	}
	// What ends the guard ends the attach. A stop would leave a raw terminal behind,
	// and a write from the background must not stop the restoring.
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGHUP, syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT)
	defer signal.Stop(signals)
	signal.Ignore(syscall.SIGTSTP, syscall.SIGTTOU)
	defer signal.Reset(syscall.SIGTSTP, syscall.SIGTTOU)
	// From here on what is typed is the session's, also before it is there.
	if err := t.set(t.waiting()); err != nil {
		return err
	}
	defer t.giveBack(false)
	g := guard{app: a, terminal: t}
	if err := g.start(exe, sitCommand, "--", key.String(), target); err != nil {
		return err
	}
	return g.wait(signals)
}

// guard is the first process while there is a second.
type guard struct {
	app      *App
	terminal *outerTerminal
	cmd      *exec.Cmd
	alive    *os.File // ends with this process

	pipes sync.WaitGroup // of the goroutines that read what the second process writes
	drawn bool
	last  string // what the person is told
	talk  []byte // what the second process printed
}

// start starts the second process.
func (g *guard) start(exe string, args ...string) error {
	words, toGuard, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("make the guard's pipe: %w", err)
	}
	fromGuard, alive, err := os.Pipe()
	if err != nil {
		return errors.Join(fmt.Errorf("make the guard's pipe: %w", err), words.Close(), toGuard.Close())
	}
	talk, stderr, err := os.Pipe()
	if err != nil {
		return errors.Join(fmt.Errorf("make the guard's pipe: %w", err), words.Close(), toGuard.Close(), fromGuard.Close(), alive.Close())
	}
	g.alive = alive
	g.cmd = exec.Command(exe, args...)
	g.cmd.Stdin, g.cmd.Stdout, g.cmd.Stderr = g.app.In, g.app.Out, stderr
	g.cmd.ExtraFiles = []*os.File{toGuard, fromGuard} // toGuardFD, fromGuardFD
	g.cmd.Env = g.app.environ
	err = g.cmd.Start()
	_, _, _ = toGuard.Close(), fromGuard.Close(), stderr.Close()
	if err != nil {
		return errors.Join(fmt.Errorf("start the attach: %w", err), words.Close(), alive.Close(), talk.Close())
	}
	// It fits into the pipe, so this does not wait.
	if err := binary.Write(alive, binary.NativeEndian, g.terminal.saved); err != nil {
		_ = g.cmd.Process.Kill()
		return fmt.Errorf("tell the attach its terminal: %w", err)
	}
	g.pipes.Go(func() {
		defer words.Close()
		for sc := bufio.NewScanner(words); sc.Scan(); {
			if sc.Text() == drawnWord {
				g.drawn = true
			} else {
				g.last = sc.Text()
			}
		}
	})
	g.pipes.Go(func() {
		defer talk.Close()
		g.talk, _ = io.ReadAll(io.LimitReader(talk, maxTalk))
		_, _ = io.Copy(io.Discard, talk)
	})
	return nil
}

// wait waits for the second process, puts the terminal back and tells what there is
// to tell.
func (g *guard) wait(signals <-chan os.Signal) error {
	ended := make(chan struct{})
	go func() {
		g.pipes.Wait()
		close(ended)
	}()
	pass := syscall.SIGTERM
	for over := false; !over; {
		select {
		case <-signals:
			_ = g.cmd.Process.Signal(pass)
			pass = syscall.SIGKILL // should it be stuck in a write to a frozen terminal
		case <-ended:
			over = true
		}
	}
	err := g.cmd.Wait()
	_ = g.alive.Close()
	g.terminal.giveBack(g.drawn)
	_, _ = g.app.Err.Write(g.talk)
	if g.last != "" {
		fmt.Fprintln(g.app.Out, g.last)
	}
	exit, ok := errors.AsType[*exec.ExitError](err)
	switch {
	case err == nil:
		return nil
	case ok && exit.Exited():
		return errPrinted // in its own words
	case ok && g.last == "":
		return fmt.Errorf("the attach was ended from outside (%v); the session goes on", exit.ProcessState)
	}
	return err
}
