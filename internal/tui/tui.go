// Package tui is the terminal interface: a sidebar that always tells which agent works,
// which is done and which needs its person, and the live terminal of the one that is
// selected.
//
// It hides how an outer terminal's bytes become keys, how a frame becomes the fewest
// bytes that show it, and how a session's terminal is kept drawn. One model, owned by
// one goroutine, takes messages in; its update does no I/O and its drawing changes
// nothing. What takes time are commands, in goroutines that Run waits for. It draws
// when something has changed and at no other time: a timer runs only while something
// moves.
//
// The command line calls Run with a terminal in raw mode, which it also gives back. The
// package never asks the environment, never decides about a session, and passes no text
// of a session on as anything but cells.
package tui

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"termio/internal/api"
	"termio/internal/client"
	"termio/internal/vt"
)

// A Terminal is the outer terminal, in raw mode.
type Terminal interface {
	// Read reads what the terminal sends, until Interrupt. It gives 0 bytes and no
	// error when nothing has come for as long as patience, unless that is 0.
	Read(p []byte, patience time.Duration) (n int, err error)
	// Interrupt ends a Read that waits, and all that follow, with io.EOF.
	Interrupt()
	// Write draws; it may wait as long as the terminal does not take it.
	Write(p []byte) (n int, err error)
	// Size is its size in cells.
	Size() (cols, rows int)
}

// Options say what is shown, and to whom.
type Options struct {
	Client   *client.Client
	Terminal Terminal
	Resized  <-chan struct{} // gets a value when the terminal's size may have changed
	Look     Look
	Locale   string // such as zh_CN.UTF-8: the language of the interface
	Select   string // a project's root or a session's link to begin with
}

// Run shows the interface until its person leaves, the terminal has gone (io.EOF), or
// ctx ends, whose cause it then returns. Sessions go on.
func Run(ctx context.Context, o Options) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	p := &program{o: o, ctx: ctx, end: cancel, input: make(chan []any), messages: make(chan message, 256), drawn: make(chan error, 1)}
	screens := &attachments{ctx: ctx, client: o.Client, post: p.post}
	p.model = newModel(o.Look, wordsOf(o.Locale), o.Client, screens)
	p.model.view.root = o.Client.Paths().Home
	p.model.start = o.Select
	if strings.HasPrefix(o.Select, api.LinkPrefix) {
		p.model.focus = onPane
	}
	p.paint.profile = o.Look.Profile
	p.wg.Go(p.read)
	p.wg.Go(p.follow)
	err := p.loop()
	cancel(err)
	o.Terminal.Interrupt()
	p.model.closePane()
	p.wg.Wait()
	screens.wg.Wait()
	return err
}

// AppendEnter appends what an outer terminal is told before the first frame.
func AppendEnter(dst []byte) []byte {
	// The alternate screen has a keyboard stack of its own in some terminals: the flags
	// are set after it is shown. Then: mouse with motion while a button is down, focus,
	// pastes, reports of light and dark, and what the background is now.
	return append(dst, "\x1b[?1049h\x1b[=5;1u\x1b[?1002h\x1b[?1006h\x1b[?1004h\x1b[?2004h\x1b[?2031h\x1b]11;?\x1b\\"...)
}

// AppendLeave appends what ends the interface on an outer terminal, in whatever state it
// is: its main screen and its cursor are as they were before AppendEnter.
func AppendLeave(dst []byte) []byte {
	dst = append(dst, "\x18\x1b\\\x1b[?2026l\x1b[=0;1u\x1b[?1049l"...)
	return append(vt.AppendOuterLeave(dst), "\x1b8"...)
}

// program is the loop around a model.
type program struct {
	o     Options
	ctx   context.Context
	end   context.CancelCauseFunc
	model *model

	input    chan []any   // from the terminal: before all others
	messages chan message // bounded; who posts waits
	drawn    chan error   // a frame has been written
	wg       sync.WaitGroup

	canvas    canvas
	paint     painter
	out       []byte
	drawing   bool // a frame is being written
	dirty     bool
	lastMouse vt.MouseMode
}

// post gives the model a message; it waits while too many wait, until the end.
func (p *program) post(m message) {
	select {
	case p.messages <- m:
	case <-p.ctx.Done():
	}
}

// run starts commands.
func (p *program) run(cmds []command) {
	for _, c := range cmds {
		p.wg.Go(func() {
			if m := c(p.ctx); m != nil && p.ctx.Err() == nil {
				p.post(m)
			}
		})
	}
}

// sequenceWithin is how long the rest of a key's sequence is waited for.
const sequenceWithin = 30 * time.Millisecond

// read turns what the terminal sends into messages.
func (p *program) read() {
	var d decoder
	buf := make([]byte, 64<<10)
	for {
		patience := time.Duration(0)
		if d.waiting() {
			patience = sequenceWithin
		}
		n, err := p.o.Terminal.Read(buf, patience)
		var msgs []any
		switch {
		case err != nil:
			if p.ctx.Err() == nil {
				p.end(err)
			}
			return
		case n == 0:
			msgs = d.flush()
		default:
			msgs = d.feed(buf[:n])
		}
		if len(msgs) == 0 {
			continue
		}
		select {
		case p.input <- msgs:
		case <-p.ctx.Done():
			return
		}
	}
}

// Times between tries to find a daemon that has gone.
const (
	againFirst = 200 * time.Millisecond
	againMost  = 5 * time.Second
)

// follow takes in the fleet stream, and looks for the daemon again when it has gone.
func (p *program) follow() {
	pause := againFirst
	for p.ctx.Err() == nil {
		err := p.o.Client.Fleet(p.ctx, func(l api.FleetLine) error {
			pause = againFirst
			p.post(fleetMsg{l})
			return nil
		})
		if p.ctx.Err() != nil {
			return
		}
		if err == nil {
			err = errors.New("the stream ended")
		}
		p.post(daemonMsg{err})
		select {
		case <-time.After(pause):
		case <-p.ctx.Done():
		}
		pause = min(2*pause, againMost)
	}
}

// frameGap is the least time between two frames that nobody's key has caused: a session
// that prints without pause is drawn as often as an eye can tell.
const frameGap = 8 * time.Millisecond

// loop takes messages until the end. What waits already is taken in before a frame is
// drawn; a frame is drawn at once, unless the one before is still on its way to the
// terminal.
func (p *program) loop() error {
	cols, rows := p.o.Terminal.Size()
	p.update(sizeMsg{cols, rows})
	if _, err := p.o.Terminal.Write(AppendEnter(nil)); err != nil {
		return fmt.Errorf("draw: %w", err)
	}
	var gap <-chan time.Time
	var last time.Time
	wake := waker{timer: time.NewTimer(time.Hour)}
	defer wake.timer.Stop()
	urgent := true // a key may have caused what the next frame shows
	for {
		if p.model.quitting {
			return nil
		}
		if p.dirty && !p.drawing {
			switch rest := frameGap - time.Since(last); {
			case rest <= 0 || urgent:
				last, urgent = time.Now(), false
				p.draw()
			case gap == nil:
				gap = time.After(rest)
			}
		}
		wake.arm(p.model.wakeAt())
		select {
		case msgs := <-p.input:
			urgent = true
			p.takeInput(msgs)
			continue
		default:
		}
		select {
		case msgs := <-p.input:
			urgent = true
			p.takeInput(msgs)
		case m := <-p.messages:
			p.update(m)
		case <-p.o.Resized:
			cols, rows := p.o.Terminal.Size()
			p.update(sizeMsg{cols, rows})
		case err := <-p.drawn:
			p.drawing = false
			if err != nil {
				return fmt.Errorf("draw: %w", err)
			}
		case <-gap:
			gap = nil
		case <-wake.timer.C:
			wake.at = time.Time{}
			p.update(tickMsg{})
		case <-p.ctx.Done():
			return context.Cause(p.ctx)
		}
		p.drain()
	}
}

// A waker is the one timer of the loop.
type waker struct {
	timer *time.Timer
	at    time.Time // when it goes off; zero if nobody waits for it
}

// arm has the timer go off after d, unless it does so earlier already.
func (w *waker) arm(d time.Duration, ok bool) {
	switch at := time.Now().Add(d); {
	case !ok:
		w.timer.Stop()
		w.at = time.Time{}
	case w.at.IsZero() || at.Before(w.at):
		w.timer.Reset(d)
		w.at = at
	}
}

// drain takes in what waits, up to a bound, so that a burst makes one frame.
func (p *program) drain() {
	for range cap(p.messages) {
		select {
		case m := <-p.messages:
			p.update(m)
		default:
			return
		}
	}
}

func (p *program) takeInput(msgs []any) {
	for _, m := range msgs {
		p.update(m)
	}
}

func (p *program) update(m message) {
	p.run(p.model.update(time.Now(), m))
	p.dirty = true
}

// draw draws a frame and has it written by a goroutine: a terminal that does not take it
// must not keep the keys from being heard.
func (p *program) draw() {
	p.dirty = false
	if p.model.whole {
		p.model.whole = false
		p.paint.forget()
	}
	p.model.draw(&p.canvas)
	p.out = p.paint.frame(p.out[:0], &p.canvas)
	p.out = p.outerModes(p.out)
	if len(p.out) == 0 {
		return
	}
	p.drawing = true
	frame := p.out
	p.wg.Go(func() {
		_, err := p.o.Terminal.Write(frame)
		p.drawn <- err
	})
}

// outerModes has the outer terminal report every motion of the mouse while the program
// in the pane wants to know.
func (p *program) outerModes(dst []byte) []byte {
	want := vt.MouseButton
	if l := p.model.pane; l != nil && l.live != nil && l.live.modes().Mouse == vt.MouseAny {
		want = vt.MouseAny
	}
	if want == p.lastMouse {
		return dst
	}
	p.lastMouse = want
	if want == vt.MouseAny {
		return append(dst, "\x1b[?1003h"...)
	}
	return append(dst, "\x1b[?1003l\x1b[?1002h"...)
}
