package host

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net"
	"slices"
	"syscall"
	"time"

	"termio/internal/api"
	"termio/internal/config"
	"termio/internal/pty"
	"termio/internal/vt"
)

// Bounds of an attached client.
const (
	// clientQueue is how many bytes of frames wait for a client. One that is
	// further behind loses them and gets a fresh snapshot when it has read
	// what it was being sent: the terminal never waits for a client.
	clientQueue = 1 << 20
	// maxCells bounds both sides of a size that a client may ask for.
	maxCells = 1000
	// maxPixels bounds both sides of its size in pixels.
	maxPixels = 1 << 15
	// outerHistory is how many lines of history a raw client gets when it comes:
	// they scroll into its terminal's own scrollback. Later pictures have none, or
	// they would be there again and again.
	outerHistory = 1000
	// endPatience is how long a client may take to read the last frames.
	endPatience = 2 * time.Second
)

// AttachOptions say how a client attaches.
type AttachOptions struct {
	Size api.AttachSize // the client's own; 0x0 is a hidden client and never sets a size
	Raw  bool           // the client shows the bytes on a terminal that answers queries itself
	Back bool           // a raw client that was attached before: it has the history
}

// An Attachment is one client of one session.
type Attachment struct {
	s    *session
	raw  bool
	back bool
	conn net.Conn
	fd   syscall.RawConn // nil where the connection is none of the system's
	done chan struct{}   // closed when nothing will be written any more

	// Under s.mu.
	size    api.AttachSize // as the client has it
	turn    uint64         // when it last led: the highest one follows a leader that goes
	queue   []byte         // whole frames, but that the first may be sent in part
	busy    bool           // a goroutine is writing
	lagging bool           // what follows the queue is a fresh snapshot
	ended   bool           // the last frame is in the queue
	pace    pace
	typing  typing
}

// Attach prepares a client for a session. Serve then runs it.
func (h *Host) Attach(c Caller, target string, o AttachOptions) (*Attachment, error) {
	s, err := h.find(c, target)
	if err != nil {
		return nil, err
	}
	if err := checkSize(o.Size); err != nil {
		return nil, err
	}
	return &Attachment{s: s, raw: o.Raw, back: o.Back, size: o.Size, done: make(chan struct{}), typing: newTyping()}, nil
}

func checkSize(z api.AttachSize) error {
	if z.Cols < 0 || z.Rows < 0 || z.Cols > maxCells || z.Rows > maxCells {
		return api.NewError(api.BadRequest, "a terminal's size is at most 1000 by 1000 cells")
	}
	return nil
}

// Serve runs the attachment over conn until either side ends it. in is conn's
// reading side, with what has been read from it already. Serve closes conn.
func (a *Attachment) Serve(conn net.Conn, in io.Reader) {
	a.conn = conn
	if sc, ok := conn.(syscall.Conn); ok {
		a.fd, _ = sc.SyscallConn()
	}
	defer conn.Close()
	if !a.s.join(a) {
		return
	}
	go func() { // a client that was told the end and stays is hung up on
		<-a.done
		_ = conn.SetReadDeadline(time.Now().Add(endPatience))
	}()
	err := a.receive(api.NewFrameReader(in))
	a.s.leave(a)
	a.s.log.Debug("client left", "reason", err)
	// What is queued, a last frame that says why, still goes out.
	_ = conn.SetWriteDeadline(time.Now().Add(endPatience))
	<-a.done
}

// receive takes the client's frames until it ends.
func (a *Attachment) receive(fr *api.FrameReader) error {
	for {
		f, err := fr.Read()
		if err != nil {
			return err
		}
		switch f.Kind {
		case api.FrameInput:
			err = a.typed(f.Payload)
		case api.FramePaste:
			err = a.pasted(string(f.Payload))
		case api.FrameResize:
			var z api.AttachSize
			if err = json.Unmarshal(f.Payload, &z); err == nil {
				if err = checkSize(z); err == nil {
					a.s.clientResized(a, z)
				}
			}
		case api.FrameLead:
			a.s.takeLead(a)
		case api.FrameDetach:
			a.s.detach(a, "detached")
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// join adds a client in one step: from the snapshot it gets on, every byte.
func (s *session) join(a *Attachment) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		close(a.done)
		return false
	}
	leads := s.lead == nil && a.hasSize()
	if leads { // before it is one of the clients: its hello comes first, with the size that is then
		s.setLeadLocked(a)
		s.resizeLocked(a.size)
	}
	s.clients = append(s.clients, a)
	s.h.clients.Add(1)
	if a.raw && !s.anyRawLocked(a) {
		s.filter = vt.NewFilter(s.screen)
	}
	cols, rows := s.screen.Size()
	a.sendLocked(jsonFrame(api.FrameHello, api.AttachHello{
		Target:  s.id.Link(),
		Title:   s.titleLocked(),
		Agent:   s.run.man.Name,
		Status:  s.machine.Status(),
		Cols:    cols,
		Rows:    rows,
		Leader:  leads,
		Version: config.Version,
	}))
	history := s.screen.HistoryLen()
	if a.raw {
		history = min(history, outerHistory)
	}
	if a.raw && a.back {
		history = 0
	}
	a.sendLocked(s.snapshotLocked(a.raw, history))
	s.seen = true
	s.h.fleet.touched(s.id)
	return true
}

// hasSize reports whether the client shows the session: a hidden one never leads.
func (a *Attachment) hasSize() bool { return a.size.Cols > 0 && a.size.Rows > 0 }

// snapshotLocked is the whole screen as frames: the position, then a replay. A
// replay that is larger than a frame goes on as output at the same position.
func (s *session) snapshotLocked(raw bool, history int) []byte {
	var replay []byte
	if raw {
		replay = s.screen.AppendOuterReplay(nil, history)
	} else {
		replay = s.screen.AppendReplay(nil, history)
	}
	// A raw client gets what is unfinished when it has ended, but for what is too
	// long to be held back: it is in the middle of that then, like the others.
	if !raw || s.screen.Held() == 0 {
		replay = s.screen.AppendUnfinished(replay)
	}
	var at [8]byte
	binary.BigEndian.PutUint64(at[:], uint64(s.seq))
	var frames []byte
	kind := api.FrameSnapshot
	for first := true; first || len(replay) > 0; first = false {
		n := min(len(replay), api.MaxFrame-len(at))
		frames = api.AppendFrame(frames, kind, at[:], replay[:n])
		replay, kind = replay[n:], api.FrameOutput
	}
	return frames
}

// leave removes a client.
func (s *session) leave(a *Attachment) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a.endLocked("", "")
	s.dropLocked(a)
	a.typing.leave()
}

// detach ends a client with a reason.
func (s *session) detach(a *Attachment, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a.endLocked(reason, "")
	s.dropLocked(a)
	a.typing.leave()
}

func (s *session) dropLocked(a *Attachment) {
	for i, c := range s.clients {
		if c == a {
			s.clients = slices.Delete(s.clients, i, i+1)
			s.h.clients.Add(-1)
			break
		}
	}
	if s.lead != a {
		return
	}
	// Whoever led before, or has been here longest, follows. Nobody left: the
	// screen keeps its size.
	s.lead = nil
	var next *Attachment
	for _, c := range s.clients {
		if c.size.Cols > 0 && c.size.Rows > 0 && (next == nil || c.turn > next.turn) {
			next = c
		}
	}
	if next != nil {
		s.leadLocked(next)
	}
}

// takeLead makes a client the leader.
func (s *session) takeLead(a *Attachment) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leadLocked(a)
}

// leadLocked makes a the leader: its size counts. A hidden client can't lead.
func (s *session) leadLocked(a *Attachment) {
	if s.lead == a || !a.hasSize() {
		return
	}
	was := s.lead
	s.setLeadLocked(a)
	if !s.resizeLocked(a.size) {
		for _, c := range []*Attachment{was, a} {
			if c != nil {
				c.sendSizeLocked()
			}
		}
	}
}

func (s *session) setLeadLocked(a *Attachment) {
	s.leads++
	s.lead, a.turn = a, s.leads
}

// clientResized takes a client's new size; it counts if the client leads. A raw
// client's terminal has moved its lines about by its own rules: it gets a new picture
// in any case.
func (s *session) clientResized(a *Attachment, z api.AttachSize) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a.size = z
	resized := false
	switch {
	case !a.hasSize():
	case s.lead == a:
		resized = s.resizeLocked(z)
	case s.lead == nil:
		s.setLeadLocked(a)
		if resized = s.resizeLocked(z); !resized {
			a.sendSizeLocked()
		}
	}
	if a.raw && !resized {
		a.sendLocked(s.snapshotLocked(true, 0))
	}
}

// resizeLocked gives screen and terminal a size and tells every client. It
// reports whether that changed the size in cells.
func (s *session) resizeLocked(z api.AttachSize) bool {
	size := pty.Size{Cols: uint16(z.Cols), Rows: uint16(z.Rows)}
	if z.Width > 0 && z.Height > 0 && z.Width <= maxPixels && z.Height <= maxPixels {
		size.XPixel, size.YPixel = uint16(z.Width), uint16(z.Height)
	}
	cols, rows := s.screen.Size()
	same := z.Cols == cols && z.Rows == rows
	if same && (size.XPixel == 0 || size == s.ptySize) {
		return false
	}
	s.screen.Resize(z.Cols, z.Rows)
	if size.XPixel > 0 {
		s.screen.SetCellSize(z.Width/z.Cols, z.Height/z.Rows)
	}
	if err := s.term.Resize(size); err != nil {
		s.log.Warn("resize failed", "error", err)
	}
	s.ptySize = size
	if same {
		return false
	}
	for _, c := range s.clients {
		c.sendSizeLocked()
		if c.raw { // the lines on its terminal were not moved about as the screen's were
			c.sendLocked(s.snapshotLocked(true, 0))
		}
	}
	s.lookSoonLocked(time.Now())
	return true
}

func (a *Attachment) sendSizeLocked() { a.sendLocked(a.sizeLocked()) }

// sizeLocked is the frame that tells the size that is, and whether a leads.
func (a *Attachment) sizeLocked() []byte {
	cols, rows := a.s.screen.Size()
	return jsonFrame(api.FrameSize, api.AttachSize{Cols: cols, Rows: rows, Leader: a.s.lead == a})
}

func jsonFrame(kind api.FrameKind, v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("frame cannot be encoded: " + err.Error()) // broken invariant: api types encode
	}
	return api.AppendFrame(nil, kind, b)
}

// sendLocked sends frames without waiting: straight into the connection if
// nothing else is on its way, the rest by a goroutine.
func (a *Attachment) sendLocked(frames []byte) {
	switch {
	case a.ended || a.lagging:
		return
	case len(a.queue)+len(frames) > clientQueue && len(a.queue) > 0:
		a.lagging = true
		return
	case a.busy, a.pace.held:
		a.queue = append(a.queue, frames...)
		a.pace.mixed = true
		return
	}
	n := a.tryWrite(frames)
	if n == len(frames) {
		return
	}
	a.queue = append(a.queue, frames[n:]...)
	a.busy = true
	a.s.wg.Go(a.drain)
}

// tryWrite writes what the connection takes at once. An error is left for the
// goroutine to find: the next write has it too.
func (a *Attachment) tryWrite(b []byte) int {
	if a.fd == nil {
		return 0
	}
	var n int
	_ = a.fd.Write(func(fd uintptr) bool {
		for n < len(b) {
			m, err := syscall.Write(int(fd), b[n:])
			if errors.Is(err, syscall.EINTR) {
				continue
			}
			if err != nil {
				break
			}
			n += m
		}
		return true
	})
	return n
}

// drain writes the queue, then ends.
func (a *Attachment) drain() {
	s := a.s
	for {
		s.mu.Lock()
		if len(a.queue) == 0 && a.lagging && !a.ended {
			history := 0
			if !a.raw {
				history = s.screen.HistoryLen()
			}
			a.lagging = false
			a.queue = append(a.sizeLocked(), s.snapshotLocked(a.raw, history)...) // the size may be among what it missed
		}
		b := a.queue
		a.queue = nil
		if len(b) == 0 {
			a.busy = false
			if a.ended {
				close(a.done)
			}
			s.mu.Unlock()
			return
		}
		s.mu.Unlock()
		if _, err := a.conn.Write(b); err != nil {
			s.mu.Lock()
			a.queue, a.busy = nil, false
			if !a.ended {
				a.ended = true
				_ = a.conn.Close() // its reader ends, and leaves
			}
			close(a.done)
			s.mu.Unlock()
			return
		}
	}
}

// endLocked sends the last frame, if there is a reason to give, and nothing
// after it. It may be called again.
func (a *Attachment) endLocked(reason, detail string) {
	if a.ended {
		return
	}
	if reason != "" {
		a.lagging = false
		a.sendLocked(jsonFrame(api.FrameEnd, api.AttachEnd{Reason: reason, Detail: detail}))
	}
	a.letGoLocked()
	a.ended = true
	if !a.busy {
		close(a.done)
	}
}

// fanOutLocked sends output that begins at position seq to every client.
func (s *session) fanOutLocked(seq int64, data []byte, now time.Time) {
	if len(s.clients) == 0 {
		return
	}
	var at [8]byte
	binary.BigEndian.PutUint64(at[:], uint64(seq))
	var whole, cut []byte
	if s.anyRawLocked(nil) {
		s.shown = s.filter.Append(s.shown[:0], data, s.screen)
		cut = api.AppendFrame(s.cutFrame[:0], api.FrameOutput, at[:], s.shown)
		s.cutFrame = cut
	}
	for _, a := range s.clients {
		switch {
		case a.raw && len(s.shown) > 0:
			a.outputLocked(cut, now)
		case a.raw:
		default:
			if whole == nil {
				whole = api.AppendFrame(s.frame[:0], api.FrameOutput, at[:], data)
				s.frame = whole
			}
			a.outputLocked(whole, now)
		}
	}
}

// anyRawLocked reports whether a client other than a is raw.
func (s *session) anyRawLocked(a *Attachment) bool {
	return slices.ContainsFunc(s.clients, func(c *Attachment) bool { return c != a && c.raw })
}
