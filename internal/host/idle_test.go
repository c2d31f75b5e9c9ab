package host_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"termio/internal/api"
	"termio/internal/termtest"
)

// Two hundred idle sessions cost the daemon nothing: no timer, no poll. All answer when
// they are spoken to, and closing them leaves no process.
func TestManyIdleSessions(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux counts the switches of another process")
	}
	const sessions, atOnce = 200, 10
	d := termtest.Start(t)
	c := d.Client()
	links := make([]string, sessions)
	inParallel(sessions, atOnce, func(i int) {
		r, err := c.Run(d.Context(), api.RunRequest{Command: "cat"})
		if err != nil {
			t.Error(err)
		}
		links[i] = r.Target
	})
	inParallel(sessions, atOnce, func(i int) {
		if _, err := c.Send(d.Context(), links[i], api.SendRequest{Text: fmt.Sprint("number ", i)}); err != nil {
			t.Error(err)
		}
	})
	for i, link := range links {
		want := fmt.Sprintf("number %d\nnumber %d\n", i, i)
		screen := d.Screen(link)
		screen.AwaitText(want)
		screen.Detach()
	}
	daemon, err := d.Client().Daemon(d.Context())
	if err != nil {
		t.Fatal(err)
	}
	if daemon.Sessions != sessions {
		t.Errorf("%d sessions, want %d", daemon.Sessions, sessions)
	}
	wantQuiet(t, d)
	inParallel(sessions, atOnce, func(i int) {
		if _, err := c.Close(d.Context(), links[i]); err != nil {
			t.Error(err)
		}
	})
	if now, err := d.Client().Daemon(d.Context()); err != nil || now.Sessions != 0 {
		t.Errorf("%d sessions left, %v", now.Sessions, err)
	}
	if left := d.Processes(); len(left) > 0 {
		t.Errorf("processes left: %q", left)
	}
}

// wantQuiet checks that the daemon sleeps. The runtime's own housekeeping after much work
// takes a while to end; what wakes up for a session, or in a loop, is in every window.
func wantQuiet(t *testing.T, d *termtest.Daemon) {
	t.Helper()
	daemon, err := d.Client().Daemon(d.Context())
	if err != nil {
		t.Fatal(err)
	}
	const window, tries, allowed = 2 * time.Second, 10, 4
	least := 1 << 30
	for range tries {
		before := switches(t, daemon.HostPID) + switches(t, daemon.KeeperPID)
		<-time.NewTimer(window).C
		least = min(least, switches(t, daemon.HostPID)+switches(t, daemon.KeeperPID)-before)
		if least <= allowed {
			break
		}
	}
	t.Logf("%d context switches in %s with %d idle sessions", least, window, daemon.Sessions)
	if least > allowed {
		t.Errorf("the idle daemon woke up %d times in %s", least, window)
	}
}

// inParallel calls f for 0..n-1, so many at once.
func inParallel(n, atOnce int, f func(i int)) {
	next := make(chan int)
	var all sync.WaitGroup
	for range atOnce {
		all.Go(func() {
			for i := range next {
				f(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	all.Wait()
}

// switches is how often a process's threads have given up the processor because they
// had nothing to do.
func switches(t *testing.T, pid int) int {
	t.Helper()
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	if err != nil || len(tasks) == 0 {
		t.Fatalf("threads of %d: %v", pid, err)
	}
	sum := 0
	for _, task := range tasks {
		status, err := os.ReadFile(task)
		if err != nil {
			continue // it has ended
		}
		for line := range strings.Lines(string(status)) {
			if n, ok := strings.CutPrefix(line, "voluntary_ctxt_switches:"); ok {
				v, err := strconv.Atoi(strings.TrimSpace(n))
				if err != nil {
					t.Fatal(err)
				}
				sum += v
			}
		}
	}
	return sum
}

// Sessions that come and go leave nothing behind, whatever they started: children in
// sessions of their own, loops that ignore every signal but the last.
func TestSpawnAndCloseCycles(t *testing.T) {
	t.Parallel()
	const cycles, atOnce = 60, 6
	d := termtest.Start(t, termtest.WithSettings(api.Settings{CloseGraceMS: 200}))
	c := d.Client()
	commands := []string{
		"cat",
		// Told of once it is up: what makes a session of its own while it is being hung up
		// could be a daemon.
		"setsid -w sh -c 'echo up >%s; exec sleep 1000' & sleep 1000",
		"(trap '' HUP TERM; while :; do sleep 1000; done) & cat",
		"sh -c 'sleep 1000 & sleep 1000 & wait'",
	}
	inParallel(cycles, atOnce, func(i int) {
		command, up := commands[i%len(commands)], filepath.Join(d.Dir, fmt.Sprint("up", i))
		told := strings.Contains(command, "%s")
		if told {
			command = fmt.Sprintf(command, up)
			if err := syscall.Mkfifo(up, 0o600); err != nil {
				t.Error(err)
			}
		}
		r, err := c.RunWait(d.Context(), api.RunRequest{Command: command, Waiting: api.Waiting{TimeoutMS: 1}})
		if err != nil {
			t.Error(err)
			return
		}
		if told {
			if _, err := os.ReadFile(up); err != nil {
				t.Error(err)
			}
		}
		if _, err := c.Close(d.Context(), r.Target); err != nil {
			t.Error(err)
		}
	})
	if left := d.Processes(); len(left) > 0 {
		t.Errorf("processes left: %q", left)
	}
	daemon, err := d.Client().Daemon(d.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, pid := range []int{daemon.HostPID, daemon.KeeperPID} {
		fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
		if err != nil {
			t.Fatal(err)
		}
		if len(fds) > 40 {
			t.Errorf("process %d holds %d descriptors", pid, len(fds))
		}
	}
}
