package demo

import (
	"bufio"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"termio/internal/api"
)

// A conversation is one transcript: a file <id>.jsonl in the agent's folder, made at
// the first prompt, a JSON object a line. The loop owns it.
type conversation struct {
	id      string
	dir     string
	resumed bool
	lines   int    // written so far, for the lines' ids
	last    string // id of the line before
	turns   int
	held    [][]byte // not written yet, with transcript=late and split
	old     []line   // what a resumed conversation already holds
}

// A line is one record of a transcript, in the shape that Claude Code writes.
type line struct {
	Type       string   `json:"type"` // user, assistant, system
	UUID       string   `json:"uuid"`
	ParentUUID string   `json:"parentUuid,omitempty"`
	SessionID  string   `json:"sessionId"`
	Cwd        string   `json:"cwd"`
	Timestamp  string   `json:"timestamp"`
	Message    *message `json:"message,omitempty"`
	Subtype    string   `json:"subtype,omitempty"` // of system: turn_duration, api_error, compact_boundary
	Content    string   `json:"content,omitempty"` // of system
	DurationMS int64    `json:"durationMs,omitempty"`
	Origin     *origin  `json:"origin,omitempty"` // of a person's prompt
	IsMeta     bool     `json:"isMeta,omitempty"` // a prompt that no person wrote
}

type origin struct {
	Kind string `json:"kind"` // human
}

type message struct {
	Role       string `json:"role"`
	ID         string `json:"id,omitempty"`
	Content    any    `json:"content"` // a text, or blocks
	StopReason string `json:"stop_reason,omitempty"`
}

// A block is a part of a message.
type block struct {
	Type      string         `json:"type"` // text, tool_use, tool_result
	Text      string         `json:"text,omitempty"`
	ID        string         `json:"id,omitempty"`
	Name      string         `json:"name,omitempty"`
	Input     map[string]any `json:"input,omitempty"`
	ToolUseID string         `json:"tool_use_id,omitempty"`
	Content   string         `json:"content,omitempty"`
	IsError   bool           `json:"is_error,omitempty"`
}

// openConversation begins or finds the conversation that the flags name.
func openConversation(s *settings) (*conversation, error) {
	c := &conversation{dir: s.home}
	asked := s.sessionID + s.resume
	if asked == "" {
		c.id = newID()
		return c, nil
	}
	id, ok := api.ParseSessionID(asked)
	if !ok {
		return nil, fmt.Errorf("%q is no conversation's id; give a UUID", asked)
	}
	c.id = string(id)
	_, err := os.Stat(c.path())
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("look for conversation %s: %w", c.id, err)
	case s.sessionID != "" && err == nil:
		return nil, fmt.Errorf("conversation %s is already in use; go on with it by --resume %s", c.id, c.id)
	case s.resume != "" && err != nil:
		return nil, fmt.Errorf("no conversation found with id %s in %s", c.id, c.dir)
	case s.resume != "":
		return c, c.load()
	}
	return c, nil
}

// newID makes a random UUID, version 4.
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails, as its documentation says
	return uuid(b)
}

// derivedID makes the UUID that follows from its parts, so that a scripted
// conversation has the same ones each time.
func derivedID(parts ...any) string {
	sum := sha256.Sum256(fmt.Appendln(nil, parts...))
	return uuid([16]byte(sum[:16]))
}

func uuid(b [16]byte) string {
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	h := hex.EncodeToString(b[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// path is the transcript's file.
func (c *conversation) path() string { return filepath.Join(c.dir, c.id+".jsonl") }

// next is the conversation after /clear.
func (c *conversation) next() *conversation {
	return &conversation{id: derivedID("clear", c.id), dir: c.dir}
}

// maxLine bounds a transcript's line, in bytes.
const maxLine = 64 << 20

// load reads what a conversation holds.
func (c *conversation) load() error {
	f, err := os.Open(c.path())
	if err != nil {
		return fmt.Errorf("read the conversation: %w", err)
	}
	defer func() { _ = f.Close() }()
	c.resumed = true
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, maxLine)
	for sc.Scan() {
		var l line
		c.lines++
		if json.Unmarshal(sc.Bytes(), &l) == nil { // others' lines and torn ones are not ours to judge
			c.last = l.UUID
			c.old = append(c.old, l)
		}
	}
	if err := sc.Err(); err != nil {
		return fmt.Errorf("read the conversation: %w", err)
	}
	return nil
}

// beginTurn does what the transcript's switch does between turns.
func (c *conversation) beginTurn(mode string) error {
	c.turns++
	if mode != "rotating" || c.turns == 1 {
		return nil
	}
	moved := filepath.Join(c.dir, fmt.Sprintf("%s.%d.jsonl", c.id, c.turns-1))
	if err := os.Rename(c.path(), moved); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("rotate the transcript: %w", err)
	}
	return nil
}

// write adds a line, or holds back what the mode says until flush.
func (c *conversation) write(mode, cwd string, now time.Time, l line) error {
	if mode == "off" || mode == "frozen" && c.turns > 1 {
		return nil
	}
	if mode != "late" {
		if err := c.flush(); err != nil {
			return err
		}
	}
	c.lines++
	l.UUID, l.ParentUUID = derivedID(c.id, c.lines), c.last
	l.SessionID, l.Cwd, l.Timestamp = c.id, cwd, now.UTC().Format("2006-01-02T15:04:05.000Z")
	c.last = l.UUID
	data, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("encode a line of the transcript: %w", err)
	}
	data = append(data, '\n')
	switch mode {
	case "late":
		c.held = append(c.held, data)
		return nil
	case "split":
		half := len(data) / 2
		c.held = append(c.held, data[half:])
		return c.append(data[:half])
	}
	return c.append(data)
}

// flush writes what was held back.
func (c *conversation) flush() error {
	for _, data := range c.held {
		if err := c.append(data); err != nil {
			return err
		}
	}
	c.held = nil
	return nil
}

// append writes at the end of the file, in one call.
func (c *conversation) append(data []byte) error {
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return fmt.Errorf("make the transcript's folder: %w", err)
	}
	f, err := os.OpenFile(c.path(), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("write the transcript: %w", err)
	}
	_, err = f.Write(data)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("write the transcript: %w", err)
	}
	return nil
}
