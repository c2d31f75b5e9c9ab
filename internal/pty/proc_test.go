package pty

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestForegroundProcess(t *testing.T) {
	term := openTerminal(t, Size{Cols: 80, Rows: 24})
	// With job control each command is a group of its own.
	c := term.start(`set -m; sh -c 'echo up; read x; exit 0' named; echo back; read x`)
	if got := term.line(); got != "up" {
		t.Fatalf("got %q", got)
	}
	fg, err := ForegroundProcess(term.fd)
	if err != nil {
		t.Fatal(err)
	}
	if fg.Parent != c.PID || fg.Session != c.PID || fg.Group != fg.PID || fg.Name != "sh" {
		t.Errorf("foreground %+v, want a group of its own under %d", fg, c.PID)
	}
	args, err := Args(fg.PID)
	if err != nil || !slices.Contains(args, "named") {
		t.Errorf("args %q (%v)", args, err)
	}
	term.write("\n")
	for term.line() != "back" {
	}
	if fg, err = ForegroundProcess(term.fd); err != nil || fg.Proc != c.Proc {
		t.Errorf("foreground %+v (%v), want the shell %v", fg, err, c.Proc)
	}
}

// The first command of a pipeline leads its group and is often the first to end.
func TestForegroundWithoutItsLeader(t *testing.T) {
	term := openTerminal(t, Size{Cols: 80, Rows: 24})
	term.start(`set -m; sh -c 'echo up >&2; exec >/dev/null; read x' | sh -c 'cat; echo first gone; exec tail -f /dev/null'`)
	for term.line() != "up" {
	}
	leader, err := Foreground(term.fd)
	if err != nil {
		t.Fatal(err)
	}
	term.write("\n")
	for term.line() != "first gone" {
	}
	// Its end of the pipe is closed a moment before it has ended.
	if first, err := Inspect(leader); err == nil && !first.Ended && !gone(first.Proc) {
		t.Fatal("the first command has not ended")
	}
	fg, err := ForegroundProcess(term.fd)
	if err != nil {
		t.Fatal(err)
	}
	if fg.Group != leader || fg.PID == leader {
		t.Errorf("foreground %+v, want another member of group %d", fg, leader)
	}
	session, err := Inspect(fg.Session)
	if err != nil {
		t.Fatal(err)
	}
	endNow(t, session.Proc)
}

func TestCwd(t *testing.T) {
	term := openTerminal(t, Size{Cols: 80, Rows: 24})
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	sub := filepath.Join(dir, "sub")
	c := term.start(`mkdir sub; cd sub; echo there; read x; rmdir ../sub; echo removed; read x`, func(c *Command) { c.Dir = dir })
	if got := term.line(); got != "there" {
		t.Fatalf("got %q", got)
	}
	if got, err := Cwd(c.PID); err != nil || got != sub {
		t.Errorf("working folder %q (%v), want %q", got, err, sub)
	}
	term.write("\n")
	for term.line() != "removed" {
	}
	if got, err := Cwd(c.PID); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("removed working folder %q, error %v", got, err)
	}
	term.write("\n")
	c.wait(t)
	if _, err := Cwd(c.PID); !errors.Is(err, ErrGone) {
		t.Errorf("working folder of an ended process: %v", err)
	}
	if c.Alive() {
		t.Error("an ended process is alive")
	}
}

func TestOpenFiles(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "a record.jsonl")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	files, err := OpenFiles(os.Getpid())
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip("the system does not tell")
	}
	if err != nil || !slices.Contains(files, name) {
		t.Errorf("OpenFiles = %q, %v; want %q in it", files, err, name)
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	files, err = OpenFiles(os.Getpid())
	for _, f := range files {
		if !filepath.IsAbs(f) || strings.Contains(f, name) {
			t.Errorf("OpenFiles holds %q", f)
		}
	}
	if err != nil {
		t.Error(err)
	}
	if _, err := OpenFiles(1 << 30); !errors.Is(err, ErrGone) {
		t.Errorf("of no process: %v, want %v", err, ErrGone)
	}
}

func TestAncestors(t *testing.T) {
	term := openTerminal(t, Size{Cols: 80, Rows: 24})
	c := term.start(`sh -c 'echo $$; read x'; exit 0`)
	inner, err := strconv.Atoi(term.line())
	if err != nil {
		t.Fatal(err)
	}
	chain := Ancestors(inner)
	if len(chain) < 3 {
		t.Fatalf("chain %+v", chain)
	}
	want := []int{inner, c.PID, os.Getpid()}
	for i, pid := range want {
		if chain[i].PID != pid {
			t.Errorf("chain[%d] is %d, want %d", i, chain[i].PID, pid)
		}
	}
	if chain[1].Proc != c.Proc {
		t.Errorf("the child is %v in the chain and %v at its start", chain[1].Proc, c.Proc)
	}
	if last := chain[len(chain)-1]; last.Parent != 0 {
		t.Errorf("the chain ends at %+v", last)
	}
	term.write("\n")
	c.wait(t)
	if got := Ancestors(c.PID); len(got) != 0 {
		t.Errorf("ancestors of an ended process: %+v", got)
	}
}
