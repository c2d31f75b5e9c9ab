package host

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"termio/internal/agent"
	"termio/internal/api"
	"termio/internal/store"
)

// How long the end of a turn waits for the transcript to be complete. Agents write
// it beside everything else, some a moment after they said that they are done.
const (
	transcriptPatience = time.Second
	transcriptStill    = 200 * time.Millisecond // without a line that tells a turn's end: unchanged so long
	transcriptFirst    = 5 * time.Millisecond   // between two looks, doubled each time
	transcriptLast     = 50 * time.Millisecond
)

// transcriptLines follows the transcript of the session's conversation. mu is held
// while the file is read, so it is never taken under session.mu.
type transcriptLines struct {
	locate func() (string, bool) // finds the file of the session's conversation

	mu    sync.Mutex
	path  string // "" until there is one
	tail  agent.Tail
	ended bool // a line told the end of the turn since mark
	grew  time.Time
}

// follow sets the file; "" has it looked for.
func (t *transcriptLines) follow(path string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.path != path {
		t.path, t.tail, t.ended = path, agent.Tail{}, false
	}
}

// restore goes on where another host had read to.
func (t *transcriptLines) restore(c carriedTranscript) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.path, t.tail, t.ended = c.Path, c.Tail, c.Ended
	t.tail.Mark = slices.Clone(t.tail.Mark) // the other one is written into the next carry
}

// carried is how far it has been read, for the next host.
func (t *transcriptLines) carried() carriedTranscript {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := carriedTranscript{Path: t.path, Tail: t.tail, Ended: t.ended}
	c.Tail.Mark = slices.Clone(c.Tail.Mark)
	return c
}

// mark forgets the end of the turn before: what is read from here on is another's.
func (t *transcriptLines) mark() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = false
}

// read takes in the lines that have been written since it was last called, and gives
// what those say that were written after began: a conversation that is gone on with
// has older ones.
func (t *transcriptLines) read(m *agent.Manifest, began, now time.Time) (evs []agent.Evidence, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.path == "" {
		path, ok := t.locate()
		if !ok {
			return nil, nil
		}
		t.path = path
	}
	f, fi, err := openRegular(t.path)
	if err != nil {
		return nil, fmt.Errorf("open transcript: %w", err)
	}
	defer f.Close()
	before := t.tail.Scan
	_, err = t.tail.Advance(f, fi.Size(), fileIdentity(fi), func(line []byte) {
		if ev, ok := m.LineEvidence(line, now); ok && !ev.At.Before(began) {
			evs = append(evs, ev)
			if ev.Status == api.Done || ev.Status == api.Idle {
				t.ended = true
			}
		}
	})
	if t.tail.Scan != before {
		t.grew = now
	}
	return evs, err
}

// openRegular opens a file that an agent named. Anything but a regular file is
// refused: opening a named pipe would wait for somebody to write.
func openRegular(path string) (*os.File, os.FileInfo, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	fi, err := f.Stat()
	if err == nil && !fi.Mode().IsRegular() {
		err = fmt.Errorf("%s is no file", path)
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return f, fi, nil
}

// fileIdentity tells one file from another at the same path.
func fileIdentity(fi os.FileInfo) string {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return fmt.Sprintf("%d:%d", st.Dev, st.Ino)
	}
	return ""
}

// known is the number of whole lines that have been read.
func (t *transcriptLines) known() (path string, lines int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.path, t.tail.Lines
}

// complete reports whether nothing more is to be expected of the turn that ended.
func (t *transcriptLines) complete(tells bool, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	whole := t.tail.Scan == t.tail.Offset
	if tells {
		return whole && t.ended
	}
	return whole && now.Sub(t.grew) >= transcriptStill
}

// readTranscript reads what is new in the transcript and takes it as evidence.
func (s *session) readTranscript(r *running) {
	s.discover(r)
	s.reading.Lock()
	defer s.reading.Unlock()
	now := time.Now()
	evs, err := s.lines.read(r.man, r.started, now)
	if err != nil {
		s.log.Debug("transcript unreadable", "error", err)
	}
	read := s.lines.carried()
	path, lines := read.Path, read.Tail.Lines
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run != r || s.closed {
		return
	}
	if lines > s.lineCount {
		for _, w := range s.waiters {
			w.movement()
		}
	}
	s.lineCount = lines
	if path != "" {
		s.rec.Transcript = path
	}
	for _, ev := range evs {
		s.applyLocked(ev, now)
	}
	s.tailed = read
	s.stirLocked()
}

// cursor is the transcript and how many whole lines it has now; nil without one.
func (s *session) cursor(r *running) (string, *int64) {
	s.readTranscript(r)
	path, lines := s.lines.known()
	if path == "" {
		return "", nil
	}
	return path, &lines
}

// cursorEnd is cursor after a turn: it waits until the transcript is complete, for a
// bounded time.
func (s *session) cursorEnd(ctx context.Context, r *running) (string, *int64) {
	began := time.Now()
	tells := r.man.TranscriptTellsEnd()
	for pause := transcriptFirst; ; pause = min(2*pause, transcriptLast) {
		path, lines := s.cursor(r)
		now := time.Now()
		if path != "" && s.lines.complete(tells, now) || now.Sub(began) >= transcriptPatience {
			s.lines.mark()
			return path, lines
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return path, lines
		}
	}
}

// locateTranscript looks for the file of the session's conversation in the agent's
// store. It is transcriptLines.locate.
func (s *session) locateTranscript() (string, bool) {
	s.mu.Lock()
	man, rec := s.run.man, s.rec
	s.mu.Unlock()
	if rec.Transcript != "" {
		return rec.Transcript, true
	}
	if man.IsShell() || rec.Conversation == "" {
		return "", false
	}
	return man.Locate(s.h.placeOf(rec), rec.Conversation)
}

// place is where agents' files are looked for, with the variables that the session
// was started with.
func (h *Host) place(configEnv map[string]string) agent.Place {
	return agent.Place{FS: os.DirFS("/"), Home: h.env.UserHome, Table: h.readTable, Lookup: func(name string) string {
		if v, ok := configEnv[name]; ok {
			return v
		}
		return lookup(h.env.Environ, name)
	}}
}

// placeOf is where the files of a session's agent are looked for.
func (h *Host) placeOf(rec store.Session) agent.Place {
	at := h.place(rec.ConfigEnv)
	at.Folder = realPath(rec.Folder)
	return at
}

// readStatusFile takes in the live status file that some agents keep.
func (s *session) readStatusFile(r *running) {
	rec := s.record()
	at := s.h.placeOf(rec)
	path := r.man.StatusFilePath(r.proc.PID, at.Home, at.Lookup)
	if path == "" {
		return
	}
	f, fi, err := openRegular(path)
	if err != nil {
		return // there is none before the agent has begun, or after it has ended
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxStatusFile))
	if err != nil {
		s.log.Debug("status file unreadable", "error", err)
		return
	}
	ev, _, err := r.man.FileEvidence(data, agent.FileProcess{PID: r.proc.PID, Start: fmt.Sprint(r.proc.Start)}, fi.ModTime())
	if err != nil {
		s.log.Debug("status file not counted", "error", err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run == r && !s.closed {
		s.applyLocked(ev, time.Now())
	}
}

// maxStatusFile bounds, in bytes, a status file that is read.
const maxStatusFile = 64 << 10
