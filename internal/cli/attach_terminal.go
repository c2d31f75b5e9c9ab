package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

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

// sequenceWithin is how long the rest of a key's sequence is waited for.
const sequenceWithin = 50 * time.Millisecond

// noticeAfter is how long the link is down before the person is told: a host that is
// replaced is back before that.
const noticeAfter = 700 * time.Millisecond

// sitCommand is the word for the second process of an attach.
const sitCommand = "sit"

// sit is the second process of an attach: it passes bytes between the terminal and
// the session until one of them, or the person, has had enough.
func (a *App) sit(ctx context.Context, target string, key detachKey) error {
	guard, err := a.openGuard()
	if err != nil {
		return err
	}
	defer guard.close()
	signal.Ignore(syscall.SIGTSTP, syscall.SIGTTOU)
	ctx, end := context.WithCancelCause(ctx)
	s := &sitting{
		app: a, end: end, key: key, posts: client.NewOutbox(),
		terminal: &outerTerminal{in: a.In, out: a.Out, saved: guard.saved},
	}
	s.display = newDisplay(a.Out, s.terminal.size, !a.colours(a.Out))
	var watchers sync.WaitGroup
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGHUP, syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGWINCH, syscall.SIGCONT)
	watchers.Go(func() { s.watchSignals(ctx, signals) })
	watchers.Go(func() {
		guard.await()
		end(errGuardGone)
	})
	err = s.attach(ctx, target, guard)
	signal.Stop(signals)
	end(nil)
	guard.close()
	watchers.Wait()
	return err
}

// sitting is one attach.
type sitting struct {
	app      *App
	terminal *outerTerminal
	display  *display
	posts    *client.Outbox
	key      detachKey
	end      context.CancelCauseFunc

	// The goroutine's that reads the attach, until run returns.
	title   string
	leads   bool
	unheard *time.Timer // tells the person that the link is down
}

// attach finds the session and shows it.
func (s *sitting) attach(ctx context.Context, target string, guard *guardLink) error {
	at, hello, err := s.connect(ctx, target)
	if why := context.Cause(ctx); err != nil && why != nil {
		if errors.Is(why, errGuardGone) {
			s.terminal.giveBackLate(false)
		}
		return errPrinted // before there was anything to see, or to say
	}
	if err != nil {
		return err
	}
	defer at.Close()
	if err := s.terminal.set(s.terminal.raw()); err != nil {
		return err
	}
	if !guard.say(drawnWord) {
		s.terminal.giveBackLate(false)
		return nil
	}
	s.terminal.takeOver()
	s.title, s.leads = hello.Title, hello.Leader
	s.display.sized(api.AttachSize{Cols: hello.Cols, Rows: hello.Rows})
	why := s.run(ctx, at)
	word, ok := s.lastWord(why, hello)
	// A guard that is just being killed may still have its pipe open.
	if heard := guard.say(word); !heard || errors.Is(why, errGuardGone) {
		s.terminal.giveBackLate(true)
	}
	if !ok {
		return errPrinted
	}
	return nil
}

// connect attaches, reads the session's introduction, and refuses one that would show
// a session inside itself.
func (s *sitting) connect(ctx context.Context, target string) (*client.Attach, api.AttachHello, error) {
	var h api.AttachHello
	c, err := s.app.dial(ctx, true)
	if err != nil {
		return nil, h, err
	}
	defer s.app.hintVersions() // standard error is no terminal here, but goes to one
	at, err := c.Attach(ctx, target, client.AttachOptions{Size: s.terminal.size(), Raw: true, Lost: s.lost})
	if err != nil {
		return nil, h, err
	}
	if h, err = s.app.hello(at); err != nil {
		_ = at.Close()
		return nil, h, err
	}
	return at, h, nil
}

// hello reads the introduction.
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

// run passes bytes until something ends the attach, and says what. When it returns,
// all its goroutines have.
func (s *sitting) run(ctx context.Context, at *client.Attach) error {
	stopInput, wake, err := os.Pipe()
	if err != nil {
		return err
	}
	defer stopInput.Close()
	var wg sync.WaitGroup
	wg.Go(func() { s.end(s.output(at)) })
	wg.Go(func() { s.end(s.input(ctx, stopInput)) })
	wg.Go(func() { s.endBy(s.posts.Send(ctx, at)) })
	wg.Go(func() { s.endBy(s.display.run(ctx)) })
	<-ctx.Done()
	if errors.Is(context.Cause(ctx), errDetach) {
		s.posts.Flush()
	}
	_ = at.Close()
	_ = wake.Close()
	wg.Wait()
	s.display.close()
	return context.Cause(ctx)
}

// endBy ends the attach for an error.
func (s *sitting) endBy(err error) {
	if err != nil {
		s.end(err)
	}
}

// watchSignals passes size changes on and ends the attach for what asks for its end.
func (s *sitting) watchSignals(ctx context.Context, signals <-chan os.Signal) {
	for {
		select {
		case sig := <-signals:
			switch sig {
			case syscall.SIGWINCH:
			case syscall.SIGCONT: // who stopped us may have had the terminal meanwhile
				_ = s.terminal.set(s.terminal.raw())
			default:
				s.end(errSignalled)
				return
			}
			s.posts.Resize(s.terminal.size())
		case <-ctx.Done():
			return
		}
	}
}

// lost notes that the link is down. The person is told if it stays so.
func (s *sitting) lost(since time.Time) {
	text := fmt.Sprintf("[link down since %s; keys are kept, the session goes on]", since.Format(time.TimeOnly))
	s.unheard = time.AfterFunc(noticeAfter, func() { s.display.notice(text) })
}

// output shows what the session shows.
func (s *sitting) output(at *client.Attach) error {
	defer s.found()
	for {
		f, err := at.Read()
		if err != nil {
			return err
		}
		const seq = 8
		switch f.Kind {
		case api.FrameSnapshot:
			if len(f.Payload) >= seq {
				err = s.display.snapshot(f.Payload[seq:])
			}
		case api.FrameOutput:
			if len(f.Payload) >= seq {
				err = s.display.output(f.Payload[seq:])
			}
		case api.FrameSize:
			var z api.AttachSize
			if json.Unmarshal(f.Payload, &z) == nil {
				s.leads = z.Leader
				s.display.sized(z)
			}
		case api.FrameHello:
			s.backAgain(f.Payload)
		case api.FrameEnd:
			var e api.AttachEnd
			if err := json.Unmarshal(f.Payload, &e); err != nil {
				return fmt.Errorf("read the attach's end: %w", err)
			}
			return ended(e)
		}
		if err != nil {
			return err
		}
	}
}

// found notes that the link is there.
func (s *sitting) found() {
	if s.unheard != nil {
		s.unheard.Stop()
	}
}

// backAgain takes the hello of the next host, which does not know who led.
func (s *sitting) backAgain(payload []byte) {
	s.found()
	var h api.AttachHello
	if json.Unmarshal(payload, &h) != nil {
		return
	}
	if h.Title != "" {
		s.title = h.Title
	}
	s.display.sized(api.AttachSize{Cols: h.Cols, Rows: h.Rows})
	if s.leads && !h.Leader {
		s.posts.Lead()
	}
	s.leads = s.leads || h.Leader
}

// ended is the daemon's word for the end of an attach.
type ended api.AttachEnd

func (e ended) Error() string { return e.Reason }

// input reads what the person types until stop has an end.
func (s *sitting) input(ctx context.Context, stop *os.File) error {
	d := detacher{key: s.key}
	stopFd := int(stop.Fd())
	buf := make([]byte, 32<<10)
	out := make([]byte, 0, len(buf)+maxSeq)
	for {
		patience := time.Duration(0)
		if d.pending() {
			patience = sequenceWithin
		}
		n, err := s.terminal.read(buf, patience, stopFd)
		switch {
		case errors.Is(err, errStopReading):
			return nil
		case err != nil:
			return err
		case n == 0:
			s.posts.Type(ctx, d.release(out[:0]))
			continue
		}
		var detach bool
		out, detach = d.scan(out[:0], buf[:n])
		if len(out) > 0 {
			s.posts.Type(ctx, out)
		}
		if detach {
			return errDetach
		}
	}
}

// lastWord is what the person is told once the terminal is theirs again, and
// whether the attach came to a good end.
func (s *sitting) lastWord(why error, hello api.AttachHello) (word string, ok bool) {
	const titleCells = 40
	title := cutCells(clean(s.title), titleCells)
	id, _ := api.ParseSessionID(strings.TrimPrefix(hello.Target, api.LinkPrefix))
	var e ended
	switch {
	case errors.Is(why, errDetach), errors.Is(why, errSignalled), errors.Is(why, errGuardGone), errors.Is(why, errHungUp):
		return fmt.Sprintf("[detached from %s; termio attach %s goes back]", title, id.Short()), true
	case !errors.As(why, &e):
		return fmt.Sprintf("[detached from %s: %s; termio attach %s goes back]", title, clean(why.Error()), id.Short()), false
	case e.Reason != "closed" && e.Reason != "exited":
		return fmt.Sprintf("[detached from %s: %s]", title, clean(e.Reason)), true
	case e.Detail == "" || e.Detail == e.Reason:
		return fmt.Sprintf("[session closed: %s]", title), true
	}
	return fmt.Sprintf("[session closed: %s: %s]", title, clean(e.Detail)), true
}
