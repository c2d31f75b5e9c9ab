package machine

import (
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"
)

// spin uses a processor until the process has used so much of it.
func spin(t *testing.T, much time.Duration) {
	t.Helper()
	began, err := CPU(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for {
		now, err := CPU(os.Getpid())
		if err != nil {
			t.Fatal(err)
		}
		if now-began >= much {
			return
		}
	}
}

func TestReadingsOfAProcess(t *testing.T) {
	pid := os.Getpid()
	spin(t, 5*time.Millisecond)
	if cpu, err := CPU(pid); err != nil || cpu < 5*time.Millisecond {
		t.Errorf("processor time %v, %v", cpu, err)
	}
	if pss, err := Memory(pid); err != nil || pss < 100<<10 {
		t.Errorf("memory %d, %v", pss, err)
	}
	if n, err := Threads(pid); err != nil || n < 1 {
		t.Errorf("threads %d, %v", n, err)
	}
	if n, err := Wakeups(pid); err != nil || n < 1 {
		t.Errorf("wake-ups %d, %v", n, err)
	}
	if _, err := CPU(pid, 1<<22+1); err == nil {
		t.Error("a process that is not there has used processor time")
	}
	if Name(pid) == "" || Load() == "" || len(Describe()) == 0 {
		t.Error("the machine has no name")
	}
}

// A daemon of ours that has left its parent is still ours, and the rest is not.
func TestOursAreKnownByTheirMark(t *testing.T) {
	const value = "of this test"
	cmd := exec.Command("cat")
	cmd.Env = append(os.Environ(), Mark+"="+value)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = in.Close()
		_ = cmd.Wait()
	}()
	if got := Ours(value); !slices.Equal(got, []int{cmd.Process.Pid}) {
		t.Errorf("ours are %v, want %d alone", got, cmd.Process.Pid)
	}
	if got := Ours("of another"); len(got) != 0 {
		t.Errorf("ours are %v", got)
	}
}

// What this process does is never foreign: it would end the trial that it runs.
func TestForeignLeavesOurselvesOut(t *testing.T) {
	w := NewWatcher("x")
	before := w.used
	spin(t, 5*time.Millisecond)
	if w.Foreign() < 0 {
		t.Error("foreign time runs backwards")
	}
	for _, used := range []map[int]time.Duration{before, w.used} {
		if _, ok := used[os.Getpid()]; ok {
			t.Error("this process counts as foreign")
		}
	}
}
