package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"termio/internal/api"
	"termio/internal/config"
	"termio/internal/vt"
)

// An attach is two processes. The one that was called is the guard: it remembers
// the terminal, starts the other and waits. The other puts the terminal into raw
// mode and passes bytes. However that one ends, by kill -9 too, the guard puts the
// terminal back before the shell writes its next prompt; and should the guard be
// the one that is killed, the other notices and does it.
//
// The pipe to the guard carries lines: rawWord once the terminal is raw, then at
// most one more, which is told to the person when the terminal is theirs again.
// The pipe from the guard carries nothing and ends with it.
const (
	toGuardFD   = 3
	fromGuardFD = 4
	rawWord     = "raw"
)

// attachCmd is `termio attach`.
func (a *App) attachCmd() *cobra.Command {
	var (
		key     string
		guarded bool
	)
	cmd := &cobra.Command{
		Use:   "attach <session>",
		Short: "Sit down at a session's terminal",
		Long: `Show a session's terminal in this one and type into it. Ctrl-\ leaves it again,
and the session goes on; every other key goes to the session. Another key can be
given with --detach-key, or for good with termio settings set detach-key.
` + targetHelp,
		Args: oneTarget,
		RunE: func(cmd *cobra.Command, args []string) error {
			k, err := a.detachKey(cmd, key)
			if err != nil {
				return usage(cmd, api.BadRequest, "%v", err)
			}
			if guarded {
				return a.attachTerminal(cmd.Context(), args[0], k)
			}
			return a.guardAttach(args[0], k)
		},
	}
	cmd.Flags().StringVar(&key, "detach-key", "", "the `KEY` that leaves, such as ctrl-q, or none (default ctrl-\\)")
	cmd.Flags().BoolVar(&guarded, "guarded", false, "be the attach's second process")
	_ = cmd.Flags().MarkHidden("guarded")
	return cmd
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
	saved, err := term.GetState(int(a.In.Fd()))
	if err != nil {
		return fmt.Errorf("read the terminal's modes: %w", err)
	}
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the program: %w", err)
	}
	words, toGuard, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("make the guard's pipe: %w", err)
	}
	defer words.Close()
	fromGuard, alive, err := os.Pipe()
	if err != nil {
		_ = toGuard.Close()
		return fmt.Errorf("make the guard's pipe: %w", err)
	}
	defer alive.Close()

	cmd := exec.Command(exe, "attach", "--guarded", "--detach-key", key.String(), "--", target)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = a.In, a.Out, a.Err
	cmd.ExtraFiles = []*os.File{toGuard, fromGuard} // toGuardFD, fromGuardFD
	cmd.Env = a.environ
	// What ends the guard ends the attach; what the keys of a cooked terminal
	// send reaches both anyway. A stop would leave a raw terminal behind, and a
	// write from the background must not stop the restoring.
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGHUP, syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT)
	defer signal.Stop(signals)
	signal.Ignore(syscall.SIGTSTP, syscall.SIGTTOU)
	defer signal.Reset(syscall.SIGTSTP, syscall.SIGTTOU)

	err = cmd.Start()
	_, _ = toGuard.Close(), fromGuard.Close()
	if err != nil {
		return fmt.Errorf("start the attach: %w", err)
	}
	return a.guard(cmd, words, signals, saved)
}

// guard waits for the second process and puts the terminal back.
func (a *App) guard(cmd *exec.Cmd, words io.Reader, signals <-chan os.Signal, saved *term.State) error {
	ended := make(chan struct{})
	var raw bool
	var last string
	go func() {
		defer close(ended)
		for sc := bufio.NewScanner(words); sc.Scan(); {
			if sc.Text() == rawWord {
				raw = true
			} else {
				last = sc.Text()
			}
		}
	}()
	pass := syscall.SIGTERM
	for over := false; !over; {
		select {
		case <-signals:
			_ = cmd.Process.Signal(pass)
			pass = syscall.SIGKILL // should it be stuck in a write to a frozen terminal
		case <-ended:
			over = true
		}
	}
	err := cmd.Wait()
	if raw {
		restoreTerminal(a.In, a.Out, saved)
	}
	if last != "" {
		fmt.Fprintln(a.Out, last)
	}
	exit, ok := errors.AsType[*exec.ExitError](err)
	switch {
	case err == nil:
		return nil
	case ok && exit.Exited():
		return errPrinted // in its own words
	case ok && last == "":
		return fmt.Errorf("the attach was ended from outside (%v); the session goes on", exit.ProcessState)
	}
	return err
}

// afterReset goes on where vt's reset of the modes ends: the title from before,
// the cursor's own colour, and a line below all that was drawn.
const afterReset = "\x1b[23;2t\x1b]112\x1b\\\x1b[999;1H\n"

// restoreTerminal gives the terminal back. Errors mean that it is gone.
func restoreTerminal(in, out *os.File, saved *term.State) {
	_ = term.Restore(int(in.Fd()), saved)
	_, _ = out.Write(append(vt.AppendReset(nil), afterReset...))
}
