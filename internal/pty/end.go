package pty

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"
)

// killPatience bounds the wait for what SIGKILL has hit: only a process that
// sleeps in the kernel, on a dead network disk for instance, needs longer.
const killPatience = 5 * time.Second

// End ends terminal sessions whole: the processes whose session leader is or was
// one of leaders, and their descendants, also those that made a session of their
// own (servers that an agent starts with setsid). What cut its ties on purpose,
// by setsid and the end of its parent, is a daemon and stays: a tmux server
// started in a session outlives it here as it does in any terminal.
//
// Everything gets SIGHUP (and SIGCONT, for a stopped job hears nothing else);
// what is left after grace gets SIGTERM, and what is left after another grace
// SIGKILL. When ctx ends, the rest of the patience is skipped, not the ending.
//
// A leader is named with its start time, and every other process is remembered
// with its own, so that a number used again is never hit. End returns when
// nothing is left, or with an error that names what is. Ended processes that
// their parent has not waited for count as gone.
func End(ctx context.Context, grace time.Duration, leaders ...Proc) error {
	e := ending{leaders: leaders, known: map[Proc]*target{}}
	defer e.close()
	for _, step := range []struct {
		signals  []syscall.Signal
		patience time.Duration
	}{
		{[]syscall.Signal{syscall.SIGHUP, syscall.SIGCONT}, grace},
		{[]syscall.Signal{syscall.SIGTERM, syscall.SIGCONT}, grace},
		{[]syscall.Signal{syscall.SIGKILL}, killPatience},
	} {
		wait := ctx
		if step.signals[0] == syscall.SIGKILL {
			wait = context.WithoutCancel(ctx)
		}
		wait, cancel := context.WithTimeout(wait, step.patience)
		left, err := e.signalAll(wait, step.signals)
		cancel()
		if err != nil {
			return fmt.Errorf("end processes: %w", err)
		}
		if left == 0 {
			return nil
		}
	}
	if err := e.find(); err != nil || len(e.known) == 0 {
		return err
	}
	return fmt.Errorf("end processes: %w", e.stubborn())
}

// ending is one call of End. One goroutine uses it.
type ending struct {
	leaders []Proc
	known   map[Proc]*target // everything that was found so far and may live
}

// target is one process to end.
type target struct {
	info Info
	ref  procRef
	sent syscall.Signal // the last signal it got
}

// signalAll signals everything there is, waits for its end, and looks again,
// because what is ending may have started more. left is 0 when nothing is left;
// else ctx ended first.
func (e *ending) signalAll(ctx context.Context, signals []syscall.Signal) (left int, err error) {
	for {
		if err := e.find(); err != nil {
			return len(e.known), err
		}
		if len(e.known) == 0 {
			return 0, nil
		}
		for _, t := range e.known {
			if t.sent == signals[0] {
				continue
			}
			t.sent = signals[0]
			for _, s := range signals {
				// What can't be signalled (set-uid, or just gone) is found out below.
				_ = t.ref.signal(s)
			}
		}
		for p, t := range e.known {
			if !t.ref.wait(ctx) {
				return len(e.known), nil
			}
			t.ref.close()
			delete(e.known, p)
		}
	}
}

// find adds to known what belongs to the sessions by now, and drops what is gone.
func (e *ending) find() error {
	now, err := readTable()
	if err != nil {
		return err
	}
	for p, t := range e.known {
		if is, ok := now.byPID[p.PID]; !ok || is.Proc != p || is.Ended {
			t.ref.close()
			delete(e.known, p)
		}
	}
	sessions := map[int]bool{}
	for _, l := range e.leaders {
		// A session's number is free for another process only when nothing is left
		// of the session. A leader that is gone altogether may have left members.
		if is, ok := now.byPID[l.PID]; !ok || is.Start == l.Start {
			sessions[l.PID] = true
		}
	}
	self := os.Getpid()
	var next []Info
	for _, p := range now.all {
		if _, ok := e.known[p.Proc]; ok || sessions[p.Session] {
			next = append(next, p)
		}
	}
	seen := map[int]bool{self: true}
	for len(next) > 0 {
		p := next[len(next)-1]
		next = next[:len(next)-1]
		if seen[p.PID] {
			continue
		}
		seen[p.PID] = true
		next = append(next, now.children[p.PID]...)
		if _, ok := e.known[p.Proc]; ok || p.Ended {
			continue
		}
		ref, err := refer(p.Proc)
		if errors.Is(err, ErrGone) {
			continue
		}
		if err != nil {
			return err
		}
		e.known[p.Proc] = &target{info: p, ref: ref}
	}
	return nil
}

// stubborn names what is left.
func (e *ending) stubborn() error {
	var left []string
	for p, t := range e.known {
		left = append(left, fmt.Sprintf("%s (%d)", t.info.Name, p.PID))
	}
	slices.Sort(left)
	return fmt.Errorf("still there after SIGKILL: %v", left)
}

func (e *ending) close() {
	for _, t := range e.known {
		t.ref.close()
	}
}

// A procRef holds on to one process.
type procRef interface {
	// signal sends to this process, never to a later one with its number.
	signal(syscall.Signal) error
	// wait returns whether the process ended before ctx did.
	wait(ctx context.Context) bool
	close()
}

// numbered refers to a process by number and start time, where the system has
// nothing better. Between the look and the signal the number could be used again;
// that takes a full turn of all numbers within microseconds.
type numbered Proc

func (n numbered) signal(s syscall.Signal) error {
	if !Proc(n).Alive() {
		return ErrGone
	}
	return syscall.Kill(n.PID, s)
}

func (n numbered) wait(ctx context.Context) bool {
	// Nothing tells of the end of somebody else's child here, so it is asked for,
	// less and less often.
	const first, last = time.Millisecond, 50 * time.Millisecond
	for pause := first; Proc(n).Alive(); pause = min(2*pause, last) {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(pause):
		}
	}
	return true
}

func (numbered) close() {}
