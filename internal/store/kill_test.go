package store

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"termio/internal/api"
)

// writerFile makes the test binary the program that TestKill kills.
const writerFile = "TERMIO_TEST_WRITER"

func TestMain(m *testing.M) {
	if file := os.Getenv(writerFile); file != "" {
		fmt.Fprintln(os.Stderr, "writer:", keepWriting(file))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// keepWriting stores sessions and events for ever and says on standard output
// what has been acknowledged, a line each.
func keepWriting(file string) error {
	s, err := Open(file)
	if err != nil {
		return err
	}
	p, _, err := s.AddProject("/a", t0)
	if err != nil {
		return err
	}
	first, err := s.LastSeq()
	if err != nil {
		return err
	}
	for n := int(first); ; n++ {
		v := Session{ID: id(n), ProjectID: p.ID, Conversation: "c" + strconv.Itoa(n), CreatedAt: t0}
		if err := s.PutSession(v); err != nil {
			return err
		}
		if _, err := fmt.Fprintln(os.Stdout, "session", n); err != nil {
			return err
		}
		for i := range 5 {
			e := api.Event{Link: v.ID.Link(), Title: strconv.Itoa(i)}
			if err := s.Transition(v.ID, Progress{Status: api.Working, LiveTitle: strconv.Itoa(i)}, &e); err != nil {
				return err
			}
			if _, err := fmt.Fprintln(os.Stdout, "event", e.Seq); err != nil {
				return err
			}
		}
	}
}

// A store killed at any moment opens again with everything it has
// acknowledged, and gives no number twice.
func TestKill(t *testing.T) {
	file := filepath.Join(t.TempDir(), "t.db")
	var lastSeq int64
	sessions := map[int]bool{}
	for round := range 12 {
		seqs, put := writeAndKill(t, file, 3+round*7)
		for _, seq := range seqs {
			if seq != lastSeq+1 && seq != lastSeq+2 { // one may have been stored but not said
				t.Errorf("round %d: number %d after %d", round, seq, lastSeq)
			}
			lastSeq = seq
		}
		for _, n := range put {
			sessions[n] = true
		}
		s := openAt(t, file)
		events, _, err := s.EventsSince(0, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		if n := int64(len(events)); n < lastSeq || n > lastSeq+1 {
			t.Errorf("round %d: %d events, %d were acknowledged", round, n, lastSeq)
		}
		lastSeq = int64(len(events))
		for n := range sessions {
			if got := session(t, s, n); got.Conversation != "c"+strconv.Itoa(n) {
				t.Errorf("round %d: session %d is %+v", round, n, got)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if got := ask(t, file, "PRAGMA integrity_check"); got != "ok" {
			t.Fatalf("round %d: %s", round, got)
		}
	}
}

// writeAndKill starts a writer, kills it after a number of acknowledgements
// and returns all that it has acknowledged.
func writeAndKill(t *testing.T, file string, after int) (seqs []int64, sessions []int) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), writerFile+"="+file)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for n := 0; lines.Scan(); n++ { // ends when the dead writer's pipe is empty
		what, number, _ := strings.Cut(lines.Text(), " ")
		i, err := strconv.Atoi(number)
		if err != nil {
			break // cut off in the middle
		}
		if what == "session" {
			sessions = append(sessions, i)
		} else {
			seqs = append(seqs, int64(i))
		}
		if n == after {
			if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = cmd.Wait()
	if len(seqs)+len(sessions) <= after {
		t.Fatalf("the writer ended early: %v %v", seqs, sessions)
	}
	return seqs, sessions
}
