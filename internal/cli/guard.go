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

	"golang.org/x/sys/unix"

	"termio/internal/api"
)

// What takes over a person's terminal, an attach or the interface, is two processes. The one that was called is the guard: it remembers
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
	// maxTalk bounds, in bytes, what the guard keeps of the other's standard error.
	maxTalk = 64 << 10
)

// guardedPart is what the second process does.
type guardedPart struct {
	name    string   // for people
	instead string   // what serves where there is no terminal
	goesOn  string   // what does when the part is ended from outside
	screen  bool     // it is drawn on the alternate screen
	args    []string // the second process's
}

// guarded is the first process.
func (a *App) guarded(part guardedPart) error {
	if !isTerminal(a.In) || !isTerminal(a.Out) {
		return api.NewError(api.BadRequest, part.name+" needs a terminal on its input and output; "+part.instead)
	}
	t, err := openTerminal(a.In, a.Out)
	if err != nil {
		return err
	}
	t.screen = part.screen
	if !t.inFront() {
		return api.NewError(api.BadRequest, part.name+" needs the terminal for itself; start it in the foreground")
	}
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the program: %w", err)
	}
	// What ends the guard ends the other. A stop would leave a raw terminal behind,
	// and a write from the background must not stop the restoring.
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGHUP, syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT)
	defer signal.Stop(signals)
	signal.Ignore(syscall.SIGTSTP, syscall.SIGTTOU)
	defer signal.Reset(syscall.SIGTSTP, syscall.SIGTTOU)
	// From here on what is typed is the other's, also before it is there.
	if err := t.set(t.waiting()); err != nil {
		return err
	}
	defer t.giveBack(false)
	g := guard{app: a, part: part, terminal: t}
	if err := g.start(exe); err != nil {
		return err
	}
	return g.wait(signals)
}

// guard is the first process while there is a second.
type guard struct {
	app      *App
	part     guardedPart
	terminal *outerTerminal
	cmd      *exec.Cmd
	alive    *os.File // ends with this process

	pipes sync.WaitGroup // of the goroutines that read what the second process writes
	drawn bool
	last  string // what the person is told
	talk  []byte // what the second process printed
}

// start starts the second process.
func (g *guard) start(exe string) error {
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
	g.cmd = exec.Command(exe, g.part.args...)
	g.cmd.Stdin, g.cmd.Stdout, g.cmd.Stderr = g.app.In, g.app.Out, stderr
	g.cmd.ExtraFiles = []*os.File{toGuard, fromGuard} // toGuardFD, fromGuardFD
	g.cmd.Env = g.app.environ
	err = g.cmd.Start()
	_, _, _ = toGuard.Close(), fromGuard.Close(), stderr.Close()
	if err != nil {
		return errors.Join(fmt.Errorf("start the %s: %w", g.part.name, err), words.Close(), alive.Close(), talk.Close())
	}
	// It fits into the pipe, so this does not wait.
	if err := binary.Write(alive, binary.NativeEndian, g.terminal.saved); err != nil {
		_ = g.cmd.Process.Kill()
		return fmt.Errorf("tell the %s its terminal: %w", g.part.name, err)
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
		return fmt.Errorf("the %s was ended from outside (%v); %s", g.part.name, exit.ProcessState, g.part.goesOn)
	}
	return err
}

// guardLink is the second process's end of the pipes.
type guardLink struct {
	to, from *os.File
	saved    unix.Termios
}

// openGuard takes the guard's pipes, and what it says first.
func (a *App) openGuard() (*guardLink, error) {
	for _, fd := range []int{toGuardFD, fromGuardFD} {
		// A daemon that is started from here must not have them, or the guard would
		// wait for its end.
		unix.CloseOnExec(fd)
	}
	if err := unix.SetNonblock(fromGuardFD, true); err != nil { // so that a read of it can be ended
		return nil, fmt.Errorf("open the guard's pipe: %w", err)
	}
	g := &guardLink{to: os.NewFile(toGuardFD, "to guard"), from: os.NewFile(fromGuardFD, "from guard")}
	if err := binary.Read(g.from, binary.NativeEndian, &g.saved); err != nil {
		return nil, fmt.Errorf("read the terminal's modes from the guard: %w", err)
	}
	return g, nil
}

// say tells the guard a line; false if it is gone.
func (g *guardLink) say(line string) bool {
	_, err := fmt.Fprintln(g.to, line)
	return err == nil
}

// await waits for the guard's end, or for close.
func (g *guardLink) await() {
	var b [1]byte
	_, _ = g.from.Read(b[:])
}

func (g *guardLink) close() { _, _ = g.to.Close(), g.from.Close() }
