package host

import (
	"context"
	"errors"
	"sync"
	"time"

	"termio/internal/vt"
)

// maxReplies bounds, in bytes, the answers to queries that wait for a program to
// read its input. One that asks on and on without reading loses the rest.
const maxReplies = 16 << 10

// typist is a terminal to type into.
type typist interface {
	// TryWrite writes what the terminal takes at once.
	TryWrite(p []byte) (int, error)
	// Write writes all of p, waiting until the program has read enough, or ctx ends.
	Write(ctx context.Context, p []byte) (int, error)
}

// errBrokenOff is the error of a unit that an interruption cut short.
var errBrokenOff = errors.New("broken off by Ctrl-C")

// stuckAfter is how long a unit may take before Ctrl-C breaks it off instead of waiting
// for its end.
const stuckAfter = time.Second

// input is the only way into a session's terminal. Two things go in: what
// people and senders type, in units that nothing may cut into (a key, a paste
// frame), and answers to the program's queries, which may come at any moment
// between two units.
//
// turn belongs to whoever types: a send holds it from its paste to its Return,
// a client for one write. unit belongs to whoever is writing at this moment.
// Both are channels of size 1, so that waiting for them can be given up.
type input struct {
	ctx  context.Context // ends with the session
	tty  typist
	turn chan struct{}
	unit chan struct{}
	wg   *sync.WaitGroup // of the session: counts a goroutine that flushes replies
	// discard throws away what the program has not read, where the terminal itself does
	// that at Ctrl-C: or the shell behind the program would run it.
	discard func()

	mu      sync.Mutex
	replies []byte             // wait for the end of the unit that is being written
	cut     context.CancelFunc // breaks off that unit; nil between two
	since   time.Time          // when it began
}

func newInput(ctx context.Context, tty typist, wg *sync.WaitGroup, discard func()) *input {
	return &input{discard: discard, ctx: ctx, tty: tty, turn: make(chan struct{}, 1), unit: make(chan struct{}, 1), wg: wg}
}

// lock waits for the turn to type.
func (in *input) lock(ctx context.Context) error {
	select {
	case in.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (in *input) unlock() { <-in.turn }

// lockFor is lock for a key. Ctrl-C does not wait until a program that reads nothing, or a
// little at a time, has taken in all of what is being typed.
func (in *input) lockFor(ctx context.Context, interrupt bool) error {
	for interrupt {
		again := time.NewTimer(stuckAfter)
		select {
		case in.turn <- struct{}{}:
			again.Stop()
			return nil
		case <-ctx.Done():
			again.Stop()
			return ctx.Err()
		case <-again.C:
			in.breakOff()
		}
	}
	return in.lock(ctx)
}

// breakOff ends the unit that is being written if that takes long: the program does not
// read it.
func (in *input) breakOff() {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.cut != nil && time.Since(in.since) >= stuckAfter {
		in.cut()
	}
}

// write types one unit. The caller has the turn. It waits as long as the program
// leaves its input unread; closing the terminal ends that, and an interruption, which
// is errBrokenOff.
func (in *input) write(p []byte) error {
	in.unit <- struct{}{}
	ctx, cut := context.WithCancel(in.ctx)
	in.mu.Lock()
	in.cut, in.since = cut, time.Now()
	in.mu.Unlock()
	_, err := in.tty.Write(ctx, p)
	in.mu.Lock()
	in.cut = nil
	in.mu.Unlock()
	if err != nil && ctx.Err() != nil && in.ctx.Err() == nil {
		err = errBrokenOff
		in.discard()
	}
	cut()
	in.release()
	return err
}

// reply answers a query of the program. It never waits: the reader of the
// terminal calls it, and a program that waits for us to read would never read.
func (in *input) reply(p []byte) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if len(in.replies) > 0 {
		in.keep(p)
		return
	}
	select {
	case in.unit <- struct{}{}:
	default:
		in.keep(p) // the writer of the unit takes them along
		return
	}
	n, err := in.tty.TryWrite(p)
	if err != nil || n == len(p) {
		<-in.unit
		return
	}
	in.keep(p[n:])
	in.wg.Go(in.release)
}

// keep puts aside what fits; in.mu is held.
func (in *input) keep(p []byte) {
	if len(in.replies)+len(p) <= maxReplies {
		in.replies = append(in.replies, p...)
	}
}

// release writes the replies that have come meanwhile and gives up the unit.
func (in *input) release() {
	for {
		in.mu.Lock()
		p := in.replies
		in.replies = nil
		if len(p) == 0 {
			<-in.unit
			in.mu.Unlock()
			return
		}
		in.mu.Unlock()
		if _, err := in.tty.Write(in.ctx, p); err != nil {
			continue // the terminal is gone: drop what is left, then release
		}
	}
}

// isInterrupt and isInterruptBytes report whether a key is Ctrl-C.
func isInterrupt(k vt.Key) bool { return k.Mods == vt.Ctrl && k.Rune == 'c' }

func isInterruptBytes(p []byte) bool { return string(p) == "\x03" || string(p) == "\x1b[99;5u" }
