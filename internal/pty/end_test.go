package pty

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// endNow ends a session without patience.
func endNow(t *testing.T, p Proc) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := End(ctx, time.Minute, p); err != nil {
		t.Error(err)
	}
}

// started reads "name pid" lines until it has so many.
func (term *terminal) started(n int) map[string]Proc {
	term.t.Helper()
	all := map[string]Proc{}
	for len(all) < n {
		name, number, _ := strings.Cut(term.line(), " ")
		pid, err := strconv.Atoi(number)
		if err != nil {
			term.t.Fatalf("no number: %q %q", name, number)
		}
		info, err := Inspect(pid)
		if err != nil {
			term.t.Fatal(err)
		}
		all[name] = info.Proc
	}
	return all
}

// gone waits for the end of a process that is nobody's child here.
func gone(p Proc) bool {
	ref, err := refer(p)
	if err != nil {
		return errors.Is(err, ErrGone)
	}
	defer ref.close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return ref.wait(ctx)
}

// family is a session as agents leave them: a job in the background, one that
// hears no hang-up, one that is stopped, one whose parent has ended, and a server
// in a session of its own.
const family = `
sh -c 'echo job $$; exec tail -f /dev/null' &
sh -c 'trap "" HUP; echo deaf $$; while :; do tail -f /dev/null; done' &
sh -c 'echo stopped $$; kill -STOP $$' &
sh -c 'sh -c "echo orphan \$\$; exec tail -f /dev/null" & exit 0' &
setsid sh -c 'echo server $$; exec tail -f /dev/null' &
echo leader $$
wait; tail -f /dev/null
`

func TestEndEndsTheWholeSession(t *testing.T) {
	term := openTerminal(t, Size{Cols: 80, Rows: 24})
	c := term.start(family)
	all := term.started(6)
	other := openTerminal(t, Size{Cols: 80, Rows: 24}).start(`read x`)

	if err := End(t.Context(), 100*time.Millisecond, c.Proc); err != nil {
		t.Fatal(err)
	}
	for name, p := range all {
		if p.Alive() {
			t.Errorf("%s (%d) lives on", name, p.PID)
		}
	}
	if left, err := Members(c.PID); err != nil || len(left) != 0 {
		t.Errorf("left in the session: %+v (%v)", left, err)
	}
	if !other.Alive() {
		t.Error("another session was ended as well")
	}
	c.wait(t)
}

func TestEndIsGentle(t *testing.T) {
	for _, tt := range []struct {
		name, signal, script string
		stops                bool
	}{
		{"hang-up first", "HUP", "while :; do read x; done", false},
		{"then terminate", "TERM", "while :; do read x; done", false},
		{"also for what is stopped", "HUP", "kill -STOP $$; while :; do read x; done", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			term := openTerminal(t, Size{Cols: 80, Rows: 24})
			c := term.start(`trap '' HUP; trap 'echo saw ` + tt.signal + `; exit 7' ` + tt.signal + `; echo ready; ` + tt.script)
			if got := term.line(); got != "ready" {
				t.Fatalf("got %q", got)
			}
			if tt.stops {
				c.stopped(t)
			}
			// Grace is what each signal has to itself: the test waits all of it for one
			// that is not heard, and a busy machine may need some for one that is.
			grace := patience
			if tt.signal != "HUP" {
				grace = 5 * time.Second
			}
			if err := End(t.Context(), grace, c.Proc); err != nil {
				t.Fatal(err)
			}
			if got, want := term.line(), "saw "+tt.signal; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
			if ws := c.wait(t); ws.ExitStatus() != 7 {
				t.Errorf("exit status %d, want the program's own", ws.ExitStatus())
			}
		})
	}
}

// A session whose leader has ended may have left something behind.
func TestEndWithoutItsLeader(t *testing.T) {
	term := openTerminal(t, Size{Cols: 80, Rows: 24})
	c := term.start(`sh -c 'trap "" HUP; echo job $$; exec tail -f /dev/null' & read x; exit 3`)
	job := term.started(1)["job"]
	term.write("\n")
	if ws := c.wait(t); ws.ExitStatus() != 3 {
		t.Fatalf("status %v", ws)
	}
	if !job.Alive() {
		t.Fatal("the job ended with its leader: nothing to test")
	}
	endNow(t, c.Proc)
	if job.Alive() {
		t.Error("the job lives on")
	}
}

// The number of an ended session may be somebody else's by now.
func TestEndSparesAReusedNumber(t *testing.T) {
	term := openTerminal(t, Size{Cols: 80, Rows: 24})
	c := term.start(`read x`)
	endNow(t, Proc{PID: c.PID, Start: c.Start - 1})
	if !c.Alive() {
		t.Error("a process was ended that only has the number")
	}
}

// A daemon is started on purpose to outlive the session: tmux from a shell, say.
func TestEndSparesADaemon(t *testing.T) {
	term := openTerminal(t, Size{Cols: 80, Rows: 24})
	c := term.start(`sh -c 'setsid sh -c "echo daemon \$\$; exec tail -f /dev/null >/dev/null 2>&1 </dev/null" & exit 0'; read x`)
	daemon := term.started(1)["daemon"]
	t.Cleanup(func() {
		if err := syscall.Kill(daemon.PID, syscall.SIGKILL); err != nil || !gone(daemon) {
			t.Errorf("the test left process %d behind: %v", daemon.PID, err)
		}
	})
	info, err := Inspect(daemon.PID)
	if err != nil || info.Session != daemon.PID {
		t.Fatalf("daemon %+v (%v)", info, err)
	}
	// It has cut its ties when its parent, a member of the session, has ended.
	if parent, err := Inspect(info.Parent); err == nil && parent.Session == c.PID && !gone(parent.Proc) {
		t.Fatal("the daemon's parent has not ended")
	}
	endNow(t, c.Proc)
	if !daemon.Alive() {
		t.Error("the daemon was ended with the session")
	}
	c.wait(t)
}

// Nothing that was ended may stay, whatever the sessions started.
func TestEndManySessions(t *testing.T) {
	var leaders []Proc
	var children []*child
	for range 8 {
		term := openTerminal(t, Size{Cols: 80, Rows: 24})
		c := term.start(`tail -f /dev/null & setsid tail -f /dev/null & echo up; wait`)
		if got := term.line(); got != "up" {
			t.Fatalf("got %q", got)
		}
		leaders, children = append(leaders, c.Proc), append(children, c)
	}
	if err := End(t.Context(), patience, leaders...); err != nil {
		t.Fatal(err)
	}
	for _, c := range children {
		c.wait(t)
		if left, err := Members(c.PID); err != nil || len(left) != 0 {
			t.Errorf("left: %+v (%v)", left, err)
		}
	}
}

func TestEndOfNothing(t *testing.T) {
	if err := End(t.Context(), patience); err != nil {
		t.Error(err)
	}
}
