package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"termio/internal/api"
	"termio/internal/client"
)

// Ways for an attach to end that are no error.
var (
	errDetach    = errors.New("detached") // the person pressed the key
	errSignalled = errors.New("ended by a signal")
	errGuardGone = errors.New("the guard has gone")
	errHungUp    = errors.New("the terminal hung up")
)

// attachTerminal is the second process of an attach: it passes bytes between the
// terminal and the session until one of them, or the person, has had enough.
func (a *App) attachTerminal(ctx context.Context, target string, key detachKey) error {
	if err := unix.SetNonblock(fromGuardFD, true); err != nil { // so that a read of it can be ended
		return fmt.Errorf("open the guard's pipe: %w", err)
	}
	toGuard, fromGuard := os.NewFile(toGuardFD, "to guard"), os.NewFile(fromGuardFD, "from guard")
	defer toGuard.Close()
	defer fromGuard.Close()
	signal.Ignore(syscall.SIGTSTP, syscall.SIGTTOU)
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)

	c, err := a.dial(ctx, true)
	if err != nil {
		return err
	}
	size := a.terminalSize()
	at, err := c.Attach(ctx, target, client.AttachOptions{Size: size, Raw: true})
	if err != nil {
		return err
	}
	defer at.Close()
	hello, err := a.hello(at)
	if err != nil {
		return err
	}
	saved, err := term.MakeRaw(int(a.In.Fd()))
	if err != nil {
		return fmt.Errorf("put the terminal into raw mode: %w", err)
	}
	if _, err := fmt.Fprintln(toGuard, rawWord); err != nil {
		restoreTerminal(a.In, a.Out, saved)
		return nil // the guard is gone already
	}
	s := &terminalAttach{a: a, at: at, end: end, key: key, title: hello.Title}
	why := s.run(ctx, fromGuard)
	word, ok := s.lastWord(why, hello)
	// A guard that is just being killed may still have its pipe open.
	if _, err := fmt.Fprintln(toGuard, word); err != nil || errors.Is(why, errGuardGone) {
		restoreTerminal(a.In, a.Out, saved)
	}
	if !ok {
		return errPrinted
	}
	return nil
}

// terminalSize is the size of the person's terminal.
func (a *App) terminalSize() api.AttachSize {
	ws, err := unix.IoctlGetWinsize(int(a.Out.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return api.AttachSize{}
	}
	return api.AttachSize{Cols: int(ws.Col), Rows: int(ws.Row), Width: int(ws.Xpixel), Height: int(ws.Ypixel)}
}

// hello reads the session's introduction, and refuses one that would show a
// session inside itself.
func (a *App) hello(at *client.Attach) (api.AttachHello, error) {
	var h api.AttachHello
	f, err := at.Read()
	if err != nil {
		return h, err
	}
	if f.Kind != api.FrameHello || json.Unmarshal(f.Payload, &h) != nil {
		return h, api.NewError(api.Unavailable, "the daemon's attach does not begin with a hello; compare termio version with termio daemon status")
	}
	env, err := a.env()
	if err != nil {
		return h, err
	}
	if id, ok := api.ParseSessionID(env.Session); ok && id.Link() == h.Target {
		return h, api.NewError(api.BadRequest, "this is the session that you are in; a terminal cannot show itself")
	}
	return h, nil
}

// terminalAttach is one attach while the terminal is raw.
type terminalAttach struct {
	a     *App
	at    *client.Attach
	end   context.CancelCauseFunc
	key   detachKey
	title string // as the last hello had it; the output's goroutine's own until run returns
}

// run passes bytes until something ends the attach, and says what. When it
// returns, all its goroutines have.
func (s *terminalAttach) run(ctx context.Context, fromGuard *os.File) error {
	// Keep the title, and move what is on the screen up into its history: the
	// session's picture clears the screen.
	_, _ = io.WriteString(s.a.Out, "\x1b[22;2t\x1b[999;1H"+strings.Repeat("\n", s.a.terminalSize().Rows))
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGHUP, syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGWINCH)
	defer signal.Stop(signals)
	stopInput, wake, err := os.Pipe()
	if err != nil {
		return err
	}
	defer stopInput.Close()

	var wg sync.WaitGroup
	wg.Go(func() { s.end(s.output()) })
	wg.Go(func() { s.end(s.input(stopInput)) })
	wg.Go(func() { s.watchSignals(ctx, signals) })
	wg.Go(func() {
		var b [1]byte
		if _, err := fromGuard.Read(b[:]); errors.Is(err, io.EOF) {
			s.end(errGuardGone)
		}
	})
	<-ctx.Done()
	_ = s.at.Close()
	_ = wake.Close()
	_ = fromGuard.Close()
	wg.Wait()
	return context.Cause(ctx)
}

// watchSignals passes size changes on and ends the attach for the others.
func (s *terminalAttach) watchSignals(ctx context.Context, signals <-chan os.Signal) {
	if err := s.at.Lead(); err != nil { // a terminal shows no other size than its own
		return
	}
	for {
		select {
		case sig := <-signals:
			if sig != syscall.SIGWINCH {
				s.end(errSignalled)
				return
			}
			if size := s.a.terminalSize(); size.Cols > 0 {
				_ = s.at.Resize(size)
			}
		case <-ctx.Done():
			return
		}
	}
}

// output writes what the session shows.
func (s *terminalAttach) output() error {
	for {
		f, err := s.at.Read()
		if err != nil {
			return err
		}
		switch f.Kind {
		case api.FrameSnapshot, api.FrameOutput:
			const seq = 8
			if len(f.Payload) < seq {
				continue
			}
			if _, err := s.a.Out.Write(f.Payload[seq:]); err != nil {
				return errHungUp
			}
		case api.FrameHello:
			// The next host: it knows of no leader yet.
			var h api.AttachHello
			if json.Unmarshal(f.Payload, &h) == nil && h.Title != "" {
				s.title = h.Title
			}
			if err := s.at.Lead(); err != nil {
				return err
			}
		case api.FrameEnd:
			var e api.AttachEnd
			if err := json.Unmarshal(f.Payload, &e); err != nil {
				return fmt.Errorf("read the attach's end: %w", err)
			}
			return ended(e.Reason)
		}
	}
}

// ended is the daemon's reason for the end of an attach.
type ended string

func (e ended) Error() string { return string(e) }

// input reads what the person types until stop has an end.
func (s *terminalAttach) input(stop *os.File) error {
	d := detacher{key: s.key}
	in, stopFd := int(s.a.In.Fd()), int(stop.Fd())
	buf := make([]byte, 32<<10)
	out := make([]byte, 0, len(buf)+maxSeq)
	for {
		// Reading waits for either: a read of a terminal is not to be
		// interrupted otherwise without changing it for the shell as well.
		var set unix.FdSet
		set.Set(in)
		set.Set(stopFd)
		_, err := unix.Select(max(in, stopFd)+1, &set, nil, nil, nil)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return fmt.Errorf("wait for input: %w", err)
		case set.IsSet(stopFd):
			return nil
		}
		n, err := unix.Read(in, buf)
		switch {
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.EAGAIN):
			continue
		case err != nil || n == 0:
			return errHungUp
		}
		var detach bool
		out, detach = d.scan(out[:0], buf[:n])
		if len(out) > 0 {
			if err := s.at.Input(out); err != nil {
				return err
			}
		}
		if detach {
			return errDetach
		}
	}
}

// lastWord is what the person is told once the terminal is theirs again, and
// whether the attach came to a good end.
func (s *terminalAttach) lastWord(why error, hello api.AttachHello) (word string, ok bool) {
	title := clean(s.title)
	var e ended
	switch {
	case errors.Is(why, errDetach), errors.Is(why, errSignalled), errors.Is(why, errGuardGone), errors.Is(why, errHungUp):
		id, _ := api.ParseSessionID(strings.TrimPrefix(hello.Target, api.LinkPrefix))
		return fmt.Sprintf("[detached from %s; termio attach %s goes back]", title, id.Short()), true
	case !errors.As(why, &e):
		return fmt.Sprintf("[detached from %s: %s]", title, clean(why.Error())), false
	case e == "closed":
		return fmt.Sprintf("[%s was closed]", title), true
	case e == "exited":
		return fmt.Sprintf("[%s has ended]", title), true
	}
	return fmt.Sprintf("[detached from %s: %s]", title, clean(string(e))), true
}
