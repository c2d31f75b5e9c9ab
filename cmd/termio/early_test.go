package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"termio/internal/config"
)

// initialised runs a command of the program and gives the packages that were initialised
// for it, with the bytes that each allocated.
func initialised(t *testing.T, args ...string) map[string]int {
	t.Helper()
	cmd := exec.Command("termio", args...)
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1", "TERMIO_HOME="+t.TempDir())
	var trace strings.Builder
	cmd.Stderr = &trace
	if err := cmd.Run(); err != nil {
		t.Fatalf("termio %s: %v\n%s", strings.Join(args, " "), err, trace.String())
	}
	packages := map[string]int{}
	for _, m := range regexp.MustCompile(`(?m)^init (\S+) .* (\d+) bytes`).FindAllStringSubmatch(trace.String(), -1) {
		packages[m[1]], _ = strconv.Atoi(m[2])
	}
	if len(packages) == 0 {
		t.Fatalf("no trace in %q", trace.String())
	}
	return packages
}

// The calls that are made the most end before the packages are initialised that they
// have no use for.
func TestEarlyCallsInitialiseLittle(t *testing.T) {
	for _, args := range [][]string{{"version"}, {"agent", "report", "working"}} {
		got := initialised(t, args...)
		for _, p := range []string{"unicode", "reflect", "encoding/json", "regexp", "net", "net/http", "crypto/tls", "github.com/spf13/cobra", "termio/internal/cli"} {
			if _, ok := got[p]; ok {
				t.Errorf("termio %s: %s has been initialised", strings.Join(args, " "), p)
			}
		}
		sum := 0
		for _, bytes := range got {
			sum += bytes
		}
		if len(got) > 32 || sum > 32<<10 {
			t.Errorf("termio %s: %d packages allocated %d bytes to be initialised", strings.Join(args, " "), len(got), sum)
		}
	}
}

// What every other call allocates before main is bounded too: of our own packages, and
// of each that somebody adds.
func TestCallsInitialiseWithinBounds(t *testing.T) {
	const one, all = 24 << 10, 160 << 10
	// The test binary plays the program, and has packages of its own.
	of := regexp.MustCompile(`^(github\.com/(google/go-cmp|rogpeppe)/|testing\b|golang\.org/x/tools/|termio/internal/termtest)`)
	sum := 0
	for p, bytes := range initialised(t, "version", "--json") {
		if of.MatchString(p) || p == "termio/cmd/termio/early" { // which copies the environment, as main does
			continue
		}
		if sum += bytes; bytes > one {
			t.Errorf("%s allocates %d bytes to be initialised; make its tables on first use", p, bytes)
		}
	}
	if sum > all {
		t.Errorf("all packages together allocate %d bytes to be initialised", sum)
	}
}

// A list without a daemon's answer to wait for makes a handful of system calls beyond
// those of any start.
func TestEarlyCallsMakeFewSystemCalls(t *testing.T) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("NOT TESTED: how many system calls a call makes needs strace, which is not on the PATH")
	}
	home := filepath.Join(t.TempDir(), "h")
	if err := os.MkdirAll(filepath.Join(home, "run"), 0o700); err != nil {
		t.Fatal(err)
	}
	// Of the program itself, not of the runtime and its threads.
	own := []string{"newfstatat", "fstat", "stat", "lstat", "getcwd", "geteuid", "socket", "connect", "setsockopt", "read", "write", "close", "openat", "execve"}
	count := func(args ...string) int {
		trace := filepath.Join(t.TempDir(), "trace")
		cmd := exec.Command(strace, append([]string{"-f", "-o", trace, "-e", "trace=" + strings.Join(own, ","), "termio"}, args...)...)
		cmd.Env = append(slices.Clone(os.Environ()), "TERMIO_HOME="+home, "TERMIO_SESSION=ab12cd34-9f2e-4c31-b8d7-3e5a12c90f44")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Skipf("NOT TESTED: strace cannot trace here: %v %s", err, out)
		}
		data, err := os.ReadFile(trace)
		if err != nil {
			t.Fatal(err)
		}
		return len(regexp.MustCompile(`(?m)^\d+ +[a-z0-9_]+\(`).FindAll(data, -1))
	}
	start := count("version")
	if n := count("agent", "report", "working"); n-start > 8 {
		t.Errorf("a report makes %d system calls more than the program's start, which makes %d", n-start, start)
	}
}

// The version that the early calls tell is the program's.
func TestEarlyVersion(t *testing.T) {
	out, err := exec.Command("termio", "version").Output()
	if want := "termio " + config.Version + "\n"; err != nil || string(out) != want {
		t.Errorf("%q, %v", out, err)
	}
}
