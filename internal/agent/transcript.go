package agent

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"

	"termio/internal/api"
)

// TranscriptRules say how the transcript tells of turns.
type TranscriptRules struct {
	Time  string             `json:"time,omitempty"` // key path of a line's time
	Skip  map[string]Pattern `json:"skip,omitempty"` // lines that are nobody's turn
	Rules []TranscriptRule   `json:"rules"`
}

// TranscriptRule gives the state that a line says.
type TranscriptRule struct {
	Name   string             `json:"name"`
	State  string             `json:"state"`
	Prompt bool               `json:"prompt,omitempty"`
	Error  string             `json:"error,omitempty"` // key path of the error that ended the turn
	Where  map[string]Pattern `json:"where"`           // key path → pattern; all must match
}

// A Tail follows a transcript that another program appends to. It counts whole
// lines, each byte once, and gives those that are new. It is plain data, so that the
// next host goes on where this one was.
type Tail struct {
	Lines  int64  `json:"lines"`          // whole lines before Offset
	Offset int64  `json:"offset"`         // bytes read, to the end of the last whole line
	Scan   int64  `json:"scan"`           // bytes looked at; more than Offset in an unfinished line
	File   string `json:"file,omitempty"` // the file's identity, as the host gives it
	Mark   []byte `json:"mark,omitempty"` // the last bytes before Offset, to tell a rewritten file
}

const (
	tailChunk = 64 << 10 // bytes read at a time
	tailMark  = 48       // bytes of Mark
	// maxTailLine bounds what is kept of one line: lines of over 100 KB are usual,
	// and of a larger one the beginning is enough.
	maxTailLine = 1 << 20
)

// Advance reads what was appended. size is the file's length, file tells one file
// from another at the same path (device and inode). line is called with each whole
// new line, cut to a bound, without its end; nil only counts. A file that was
// replaced, shortened or rewritten is counted from its start, and restarted is true.
// Memory is bounded whatever the file's size.
func (t *Tail) Advance(r io.ReaderAt, size int64, file string, line func([]byte)) (restarted bool, err error) {
	if changed, err := t.changed(r, size, file); err != nil {
		return false, err
	} else if changed {
		*t = Tail{}
		restarted = true
	}
	t.File = file
	var keep []byte // the unfinished line
	if line != nil && t.Scan > t.Offset {
		t.Scan = t.Offset // its beginning is needed again
	}
	buf := make([]byte, min(max(size-t.Scan, 0), tailChunk))
	for t.Scan < size {
		n, err := r.ReadAt(buf[:min(int64(len(buf)), size-t.Scan)], t.Scan)
		if n == 0 {
			if err == nil || errors.Is(err, io.EOF) {
				break // shorter than it was said to be: the next call looks again
			}
			return restarted, fmt.Errorf("read transcript: %w", err)
		}
		keep = t.chunk(buf[:n], keep, line)
	}
	return restarted, nil
}

// chunk takes the bytes at Scan.
func (t *Tail) chunk(b, keep []byte, line func([]byte)) []byte {
	for len(b) > 0 {
		i := bytes.IndexByte(b, '\n')
		part := b
		if i >= 0 {
			part = b[:i]
		}
		if line != nil {
			keep = append(keep, part[:min(len(part), maxTailLine-len(keep))]...)
		}
		if i < 0 {
			t.Scan += int64(len(b))
			t.mark(nil)
			return keep
		}
		t.Scan += int64(i) + 1
		t.Offset = t.Scan
		t.Lines++
		t.mark(b[:i+1])
		if line != nil {
			line(keep)
			keep = keep[:0]
		}
		b = b[i+1:]
	}
	return keep
}

// mark remembers the end of the last whole line.
func (t *Tail) mark(line []byte) {
	if line == nil {
		return
	}
	t.Mark = append(t.Mark[:0], line[max(len(line)-tailMark, 0):]...)
}

// changed reports whether the file is another one than was read so far.
func (t *Tail) changed(r io.ReaderAt, size int64, file string) (bool, error) {
	switch {
	case t.Scan == 0:
		return false, nil
	case t.File != file, size < t.Scan:
		return true, nil
	case len(t.Mark) == 0:
		return false, nil
	}
	now := make([]byte, len(t.Mark))
	if _, err := r.ReadAt(now, t.Offset-int64(len(now))); err != nil && !errors.Is(err, io.EOF) {
		return false, fmt.Errorf("read transcript: %w", err)
	}
	return !bytes.Equal(now, t.Mark), nil
}

// SkipTo starts at the end of a transcript that is of no interest so far but for its
// line count: the evidence in it is old.
func (t *Tail) SkipTo(r io.ReaderAt, size int64, file string) error {
	_, err := t.Advance(r, size, file, nil)
	return err
}

// LineEvidence is what one line of the transcript says; ok is false for the many
// lines that say nothing. now stands in for a line without a time.
func (m *Manifest) LineEvidence(line []byte, now time.Time) (ev Evidence, ok bool) {
	if m == nil || m.TranscriptRules == nil || len(bytes.TrimSpace(line)) == 0 {
		return ev, false
	}
	root, _, _ := readTree(line) // of a cut line, what there is
	rules := m.TranscriptRules
	for key, p := range rules.Skip {
		if root.anyMatch(key, p) {
			return ev, false
		}
	}
	for _, r := range rules.Rules {
		if !r.fits(root) {
			continue
		}
		status, known := api.ParseState(r.State)
		if !known {
			return ev, false
		}
		ev = evidence(ChannelTranscript, status, now)
		if at, err := time.Parse(time.RFC3339, root.path(rules.Time).text()); err == nil && at.Before(now) {
			ev.At = at
		}
		ev.Rule, ev.Prompt = r.Name, r.Prompt
		if r.Error != "" {
			ev.Failed, ev.Text = true, clean(root.first(r.Error), maxQuestion)
			m.limit(&ev, ev.Text)
		}
		return ev, true
	}
	return ev, false
}

func (r TranscriptRule) fits(root *node) bool {
	for key, p := range r.Where {
		if !root.anyMatch(key, p) {
			return false
		}
	}
	return len(r.Where) > 0
}

// anyMatch reports whether a scalar at the key path matches; the path goes through
// every element of a list.
func (n *node) anyMatch(path string, p Pattern) bool {
	for text := range n.scalars(path) {
		if p.Match(text) {
			return true
		}
	}
	return false
}

// first is the first scalar at the key path.
func (n *node) first(path string) string {
	for text := range n.scalars(path) {
		return text
	}
	return ""
}

// scalars gives the scalars at a key path that goes through lists.
func (n *node) scalars(path string) iter.Seq[string] {
	return func(yield func(string) bool) { n.eachScalar(path, yield) }
}

func (n *node) eachScalar(path string, yield func(string) bool) bool {
	switch {
	case n == nil:
		return true
	case n.kind == isList:
		for _, e := range n.list {
			if !e.eachScalar(path, yield) {
				return false
			}
		}
		return true
	case path == "":
		return n.kind == isObject || n.kind == isNull || yield(n.text())
	}
	key, rest, _ := strings.Cut(path, ".")
	return n.get(key).eachScalar(rest, yield)
}
