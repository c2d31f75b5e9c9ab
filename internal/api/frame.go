package api

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// FrameKind says what an attach frame carries. Numbers are never reused and
// unknown kinds are skipped.
type FrameKind byte

// Frames from the daemon.
const (
	FrameHello    FrameKind = 1 // AttachHello as JSON, first
	FrameSnapshot FrameKind = 2 // 8-byte big-endian seq, then an escape-sequence replay of the whole screen as of that offset
	FrameOutput   FrameKind = 3 // 8-byte big-endian seq of the first byte, then output
	FrameSize     FrameKind = 4 // AttachSize as JSON: the size the screen has now
	FrameEnd      FrameKind = 5 // AttachEnd as JSON, last
	FrameStatus   FrameKind = 6 // Event as JSON: this session's transitions
)

// Frames from the client.
const (
	FrameInput  FrameKind = 32 // raw bytes for the terminal, as typed
	FramePaste  FrameKind = 33 // text, pasted as the screen's modes ask
	FrameResize FrameKind = 34 // AttachSize as JSON: the client's own size; 0x0 is a hidden client and never sets a size
	FrameLead   FrameKind = 35 // empty: become the leader without typing
	FrameDetach FrameKind = 36 // empty: a clean end
)

// MaxFrame bounds a frame's payload in bytes. A replay larger than that is
// sent as several snapshot frames' worth of output; readers refuse more.
const MaxFrame = 16 << 20

// A Frame is one message of an attach stream: kind, 4-byte big-endian length,
// payload.
type Frame struct {
	Kind    FrameKind
	Payload []byte
}

// ErrFrameSize is a frame past MaxFrame.
var ErrFrameSize = errors.New("attach frame too large")

const frameHead = 5

// AppendFrame encodes a frame whose payload is the concatenation of parts.
func AppendFrame(dst []byte, kind FrameKind, parts ...[]byte) []byte {
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	dst = append(dst, byte(kind))
	dst = binary.BigEndian.AppendUint32(dst, uint32(n))
	for _, p := range parts {
		dst = append(dst, p...)
	}
	return dst
}

// A FrameReader reads frames, reusing one buffer: a payload is valid until the
// next call.
type FrameReader struct {
	r    io.Reader
	head [frameHead]byte
	buf  []byte
}

// NewFrameReader reads frames from r.
func NewFrameReader(r io.Reader) *FrameReader { return &FrameReader{r: r} }

// Read gives the next frame; io.EOF at a clean end between frames.
func (fr *FrameReader) Read() (Frame, error) {
	if _, err := io.ReadFull(fr.r, fr.head[:]); err != nil {
		return Frame{}, err
	}
	n := binary.BigEndian.Uint32(fr.head[1:])
	if n > MaxFrame {
		return Frame{}, fmt.Errorf("%w: %d bytes", ErrFrameSize, n)
	}
	if uint32(cap(fr.buf)) < n {
		fr.buf = make([]byte, n)
	}
	fr.buf = fr.buf[:n]
	if _, err := io.ReadFull(fr.r, fr.buf); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return Frame{}, err
	}
	return Frame{Kind: FrameKind(fr.head[0]), Payload: fr.buf}, nil
}

// AttachHello introduces a session to a client.
type AttachHello struct {
	Target  string `json:"target"`
	Title   string `json:"title"`
	Agent   string `json:"agent"`
	Status  Status `json:"status"`
	Cols    int    `json:"cols"` // cells
	Rows    int    `json:"rows"`
	Leader  bool   `json:"leader"` // this client sets the size
	Version string `json:"version"`
}

// AttachSize is a terminal's size.
type AttachSize struct {
	Cols   int  `json:"cols"` // cells
	Rows   int  `json:"rows"`
	Width  int  `json:"width,omitempty"` // pixels, if known
	Height int  `json:"height,omitempty"`
	Leader bool `json:"leader,omitempty"` // from the daemon: whether this client leads
}

// AttachEnd says why an attach ended.
type AttachEnd struct {
	Reason string `json:"reason"`           // detached, closed, exited, lagged
	Detail string `json:"detail,omitempty"` // of closed and exited, in words for people
}
