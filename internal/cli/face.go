package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"termio/internal/client"
	"termio/internal/config"
	"termio/internal/tui"
)

// faceCommand is the word for the second process of the interface.
const faceCommand = "face"

// faceCmd is the interface's second process, which the guard starts.
func (a *App) faceCmd() *cobra.Command {
	return &cobra.Command{
		Use:    faceCommand + " <project or link>",
		Short:  "Be the second process of the interface; the first one starts it",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE:   func(cmd *cobra.Command, args []string) error { return a.face(cmd.Context(), args[0]) },
	}
}

// showsInterface reports whether the interface can be shown: there is a terminal that
// can be drawn on, nobody wants JSON, and this is not inside a session.
func (a *App) showsInterface() bool {
	env, err := a.env()
	term := env.Get("TERM")
	return err == nil && !a.json && env.Session == "" && term != "" && term != "dumb" && isTerminal(a.In) && isTerminal(a.Out)
}

// show shows the interface with a project or a session selected.
func (a *App) show(what string) error {
	return a.guarded(guardedPart{
		name: "interface", instead: "termio sessions list says who is here", goesOn: "sessions go on",
		screen: true, args: []string{faceCommand, "--", what},
	})
}

// face is the second process: it draws the interface until its person leaves.
func (a *App) face(ctx context.Context, what string) error {
	guard, err := a.openGuard()
	if err != nil {
		return err
	}
	defer guard.close()
	env, err := a.env()
	if err != nil {
		return err
	}
	c, err := client.Dial(ctx, env.Paths, client.Options{Cwd: cwd(), Interface: true, Timeout: env.CLITimeout, Start: true, Environ: a.environ})
	if err != nil {
		return err
	}
	signal.Ignore(syscall.SIGTSTP, syscall.SIGTTOU)
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	t, err := newFaceTerminal(&outerTerminal{in: a.In, out: a.Out, saved: guard.saved, screen: true})
	if err != nil {
		return err
	}
	defer t.close()
	if err := t.set(t.raw()); err != nil {
		return err
	}
	if !guard.say(drawnWord) {
		t.giveBackLate(false)
		return nil
	}
	t.takeOver()
	resized := make(chan struct{}, 1)
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGHUP, syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGWINCH, syscall.SIGCONT)
	var watchers sync.WaitGroup
	watchers.Go(func() { t.watch(ctx, signals, resized, end) })
	watchers.Go(func() {
		guard.await()
		end(errGuardGone)
	})
	err = tui.Run(ctx, tui.Options{
		Client: c, Terminal: t, Resized: resized, Look: lookOf(env), Locale: localeOf(env), Select: what,
	})
	signal.Stop(signals)
	end(nil)
	if errors.Is(err, errGuardGone) {
		t.giveBackLate(true)
	}
	guard.close()
	watchers.Wait()
	switch {
	case errors.Is(err, errGuardGone), errors.Is(err, errSignalled), errors.Is(err, errHungUp), errors.Is(err, io.EOF):
		return nil
	}
	return err
}

// faceTerminal is the person's terminal as the interface sees it.
type faceTerminal struct {
	*outerTerminal
	stop, wake *os.File // a pipe that ends reads
	once       sync.Once
}

func newFaceTerminal(t *outerTerminal) (*faceTerminal, error) {
	stop, wake, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	return &faceTerminal{outerTerminal: t, stop: stop, wake: wake}, nil
}

// Read, Interrupt, Write and Size are the interface's.
func (t *faceTerminal) Read(p []byte, patience time.Duration) (int, error) {
	n, err := t.read(p, patience, int(t.stop.Fd()))
	if errors.Is(err, errStopReading) {
		err = io.EOF
	}
	return n, err
}

// Interrupt ends reads.
func (t *faceTerminal) Interrupt() { t.once.Do(func() { _ = t.wake.Close() }) }

func (t *faceTerminal) Write(p []byte) (int, error) {
	n, err := t.out.Write(p)
	if err != nil {
		err = errHungUp
	}
	return n, err
}

// Size is the terminal's size in cells; that of the first terminals where nobody knows.
func (t *faceTerminal) Size() (cols, rows int) {
	z := t.size()
	if z.Cols <= 0 || z.Rows <= 0 {
		return 80, 24
	}
	return z.Cols, z.Rows
}

func (t *faceTerminal) close() {
	t.Interrupt()
	_ = t.stop.Close()
}

// watch passes size changes on, and ends the interface for what asks for its end.
func (t *faceTerminal) watch(ctx context.Context, signals <-chan os.Signal, resized chan struct{}, end context.CancelCauseFunc) {
	for {
		select {
		case sig := <-signals:
			switch sig {
			case syscall.SIGWINCH:
			case syscall.SIGCONT: // who stopped us may have had the terminal meanwhile
				_ = t.set(t.raw())
			default:
				end(errSignalled)
				return
			}
			poke(resized)
		case <-ctx.Done():
			return
		}
	}
}

// lookOf is what the environment says of the terminal.
func lookOf(env config.Env) tui.Look {
	l := tui.Look{Profile: tui.Colors16, Plain: env.Get("NO_COLOR") != ""}
	switch term, color := env.Get("TERM"), env.Get("COLORTERM"); {
	case color == "truecolor" || color == "24bit" || strings.HasSuffix(term, "-direct"):
		l.Profile = tui.TrueColor
	case strings.Contains(term, "256color"):
		l.Profile = tui.Colors256
	}
	return l
}

// localeOf is the language that the environment asks for, in the order that POSIX gives.
func localeOf(env config.Env) string {
	for _, name := range []string{"LC_ALL", "LC_MESSAGES", "LANG"} {
		if v := env.Get(name); v != "" {
			return v
		}
	}
	return ""
}
