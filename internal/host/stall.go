package host

import (
	"bytes"
	"context"
	"fmt"
	"hash/fnv"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"termio/internal/agent"
	"termio/internal/api"
)

// How often sessions are looked at while somebody watches for stalls: a twentieth of
// the time that makes one, within these bounds.
const (
	stallTickMin = 20 * time.Millisecond
	stallTickMax = 30 * time.Second
	gitPatience  = 20 * time.Second
)

// stallWatch looks for sessions that work without getting anywhere, and only while
// somebody watches for that.
type stallWatch struct {
	mu     sync.Mutex
	cancel context.CancelFunc // of the looking; nil while nobody watches
}

// watchStalls is told by the bus when the first watcher of stalls comes and when the
// last one goes.
func (h *Host) watchStalls(watched bool) {
	h.stalls.mu.Lock()
	defer h.stalls.mu.Unlock()
	if h.stalls.cancel != nil {
		h.stalls.cancel()
		h.stalls.cancel = nil
	}
	if !watched || h.ctx.Err() != nil {
		return
	}
	ctx, cancel := context.WithCancel(h.ctx)
	h.stalls.cancel = cancel
	h.wg.Go(func() { h.lookForStalls(ctx) })
}

func (h *Host) lookForStalls(ctx context.Context) {
	quiet := map[api.SessionID]*quietStretch{}
	for {
		after := h.settings().StalledAfter
		select {
		case <-time.After(max(stallTickMin, min(after/20, stallTickMax))):
		case <-ctx.Done():
			return
		}
		open := map[api.SessionID]bool{}
		for _, s := range h.open() {
			open[s.id] = true
			q := quiet[s.id]
			if q == nil {
				q = &quietStretch{}
				quiet[s.id] = q
			}
			h.lookForStall(ctx, s, q)
		}
		for id := range quiet {
			if !open[id] {
				delete(quiet, id)
			}
		}
	}
}

// lookForStall looks at one session.
func (h *Host) lookForStall(ctx context.Context, s *session, q *quietStretch) {
	v := h.settings()
	seen, ok := s.stallSigns()
	if !ok {
		*q = quietStretch{}
		return
	}
	seen.repo = repoState(ctx, seen.folder)
	if evidence, stalled := q.look(seen, v.StalledAfter, int64(v.StalledLines)); stalled {
		s.mu.Lock()
		t := newTransition(s.stateLocked(), s.run)
		t.event.At = seen.now.UnixMilli()
		t.event.Status, t.event.Evidence = api.Stalled, evidence
		t.event.Prompt, t.event.Dialog = "", nil
		if !s.closed {
			s.queueLocked(t)
		}
		s.mu.Unlock()
	}
}

// stallSigns is what a session shows of its progress; false for one that does not
// work, or is no agent.
func (s *session) stallSigns() (stallSigns, bool) {
	s.mu.Lock()
	r := s.run
	working := !s.closed && !r.shell() && s.machine.Status() == api.Working
	signs := stallSigns{
		now: time.Now(), since: s.machine.Since(), tool: s.machine.Tool(), folder: s.rec.Folder,
		scrolled: s.screen.HistoryDropped() + uint64(s.screen.HistoryLen()),
	}
	if s.rec.Worktree != "" {
		signs.folder = s.rec.Worktree
	}
	s.mu.Unlock()
	if !working {
		return signs, false
	}
	s.readTranscript(r)
	_, signs.lines = s.lines.known()
	return signs, true
}

// stallSigns is what a working session shows at one look.
type stallSigns struct {
	now      time.Time
	since    time.Time // it works
	tool     string    // that is open
	folder   string
	repo     string // the state of its repository; "" is none
	lines    int64  // of its transcript
	scrolled uint64 // lines of text that scrolled off the screen
}

// quietStretch is a time in which a working session showed no progress.
type quietStretch struct {
	begin    stallSigns // as it was when the stretch began
	last     stallSigns
	fired    bool
	looks    int // since the beginning
	printing int // looks at which new lines of text had come
}

// look takes one more look, and reports a stall once a stretch: no change in the
// repository, fewer than enough new lines in the transcript, and no sustained output,
// for as long as after.
func (q *quietStretch) look(now stallSigns, after time.Duration, enough int64) (evidence string, stalled bool) {
	b := q.begin
	if b.now.IsZero() || !now.since.Equal(b.since) || now.repo != b.repo || now.lines-b.lines >= enough {
		*q = quietStretch{begin: now, last: now}
		return "", false
	}
	q.looks++
	if now.scrolled != q.last.scrolled {
		q.printing++
	}
	q.last = now
	if now.now.Sub(b.now) < after || q.fired {
		return "", false
	}
	if q.printing > q.looks/2 {
		*q = quietStretch{begin: now, last: now}
		return "", false
	}
	q.fired = true
	parts := []string{"working " + agent.Age(now.now.Sub(now.since))}
	if now.repo != "" {
		parts = append(parts, "no repo change")
	}
	parts = append(parts, fmt.Sprintf("transcript +%d lines", now.lines-b.lines))
	if now.tool != "" {
		parts = append(parts, "open tool call: "+now.tool)
	}
	return strings.Join(parts, ", "), true
}

// repoState is a folder's repository in one word: its HEAD, what git calls changed or
// untracked, and size and time of those files. "" is no repository, or no git.
func repoState(ctx context.Context, folder string) string {
	tree, ok := findWorkTree(folder)
	if !ok {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, gitPatience)
	defer cancel()
	head, _ := git(ctx, tree.root, "rev-parse", "HEAD") // a new repository has none
	status, err := git(ctx, tree.root, "status", "--porcelain=v1", "-z", "--untracked-files=all")
	if err != nil {
		return ""
	}
	sum := fnv.New64a()
	_, _ = sum.Write(head)
	for entry := range bytes.SplitSeq(status, []byte{0}) {
		_, _ = sum.Write(entry)
		if len(entry) > 3 {
			if fi, err := os.Lstat(filepath.Join(tree.root, string(entry[3:]))); err == nil {
				_, _ = fmt.Fprintln(sum, fi.Size(), fi.ModTime().UnixNano())
			}
		}
	}
	return fmt.Sprint(sum.Sum64())
}

// git runs git in a folder without taking its locks or asking anybody.
func git(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return out, fmt.Errorf("git %s: %w: %s", args[0], err, bytes.TrimSpace(stderr.Bytes()))
	}
	return out, nil
}
