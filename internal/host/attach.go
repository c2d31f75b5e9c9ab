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
	// endPatience is how long a client may take to read the last frames.
	endPatience = 2 * time.Second
)

// AttachOptions say how a client attaches.
type AttachOptions struct {
	Size api.AttachSize // the client's own; 0x0 is a hidden client and never sets a size
	Raw  bool           // the client shows the bytes on a terminal that answers queries itself
}

// An Attachment is one client of one session.
type Attachment struct {
	s    *session
	raw  bool
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
	return &Attachment{s: s, raw: o.Raw, size: o.Size, done: make(chan struct{})}, nil
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
			err = a.s.typed(a, f.Payload)
		case api.FramePaste:
			err = a.s.pasted(a, string(f.Payload))
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
	s.clients = append(s.clients, a)
	s.h.clients.Add(1)
	if a.raw && !s.anyRawLocked(a) {
		s.filter = vt.NewFilter(s.screen)
	}
	leads := s.lead == nil && a.hasSize()
	cols, rows := s.screen.Size()
	if leads {
		cols, rows = a.size.Cols, a.size.Rows
	}
	// The hello goes first, before what leading sends to every client.
	a.sendJSONLocked(api.FrameHello, api.AttachHello{
		Target:  s.id.Link(),
		Title:   s.titleLocked(),
		Agent:   s.run.man.Name,
		Status:  s.machine.Status(),
		Cols:    cols,
		Rows:    rows,
		Leader:  leads,
		Version: config.Version,
	})
	if leads {
		s.leadLocked(a)
	}
	a.sendLocked(s.snapshotLocked(a.raw))
	s.seen = true
	return true
}

// hasSize reports whether the client shows the session: a hidden one never leads.
func (a *Attachment) hasSize() bool { return a.size.Cols > 0 && a.size.Rows > 0 }

// snapshotLocked is the whole screen as frames: the position, then a replay. A
// replay that is larger than a frame goes on as output at the same position.
func (s *session) snapshotLocked(raw bool) []byte {
	replay := s.screen.AppendReplay(nil, s.screen.HistoryLen())
	if !raw { // a raw client gets what is unfinished when it has ended
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
	a.endLocked("")
	s.dropLocked(a)
}

// detach ends a client with a reason.
func (s *session) detach(a *Attachment, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a.endLocked(reason)
	s.dropLocked(a)
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
	s.leads++
	s.lead, a.turn = a, s.leads
	if !s.resizeLocked(a.size) {
		for _, c := range []*Attachment{was, a} {
			if c != nil {
				c.sendSizeLocked()
			}
		}
	}
}

// clientResized takes a client's new size; it counts if the client leads.
func (s *session) clientResized(a *Attachment, z api.AttachSize) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a.size = z
	switch {
	case !a.hasSize():
	case s.lead == a:
		s.resizeLocked(z)
	case s.lead == nil:
		s.leadLocked(a)
	}
}

// resizeLocked gives screen and terminal a size and tells every client. It
// reports whether that changed anything.
func (s *session) resizeLocked(z api.AttachSize) bool {
	if cols, rows := s.screen.Size(); z.Cols == cols && z.Rows == rows {
		return false
	}
	s.screen.Resize(z.Cols, z.Rows)
	size := pty.Size{Cols: uint16(z.Cols), Rows: uint16(z.Rows)}
	if z.Width > 0 && z.Height > 0 && z.Width <= maxPixels && z.Height <= maxPixels {
		size.XPixel, size.YPixel = uint16(z.Width), uint16(z.Height)
		s.screen.SetCellSize(z.Width/z.Cols, z.Height/z.Rows)
	}
	if err := s.term.Resize(size); err != nil {
		s.log.Warn("resize failed", "error", err)
	}
	for _, c := range s.clients {
		c.sendSizeLocked()
	}
	s.lookSoonLocked(time.Now())
	return true
}

func (a *Attachment) sendSizeLocked() {
	cols, rows := a.s.screen.Size()
	a.sendJSONLocked(api.FrameSize, api.AttachSize{Cols: cols, Rows: rows, Leader: a.s.lead == a})
}

func (a *Attachment) sendJSONLocked(kind api.FrameKind, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic("frame cannot be encoded: " + err.Error()) // broken invariant: api types encode
	}
	a.sendLocked(api.AppendFrame(nil, kind, b))
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
	case a.busy:
		a.queue = append(a.queue, frames...)
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
			a.queue, a.lagging = s.snapshotLocked(a.raw), false
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
func (a *Attachment) endLocked(reason string) {
	if a.ended {
		return
	}
	if reason != "" {
		a.lagging = false
		b, _ := json.Marshal(api.AttachEnd{Reason: reason})
		a.sendLocked(api.AppendFrame(nil, api.FrameEnd, b))
	}
	a.ended = true
	if !a.busy {
		close(a.done)
	}
}

// fanOutLocked sends output that begins at position seq to every client.
func (s *session) fanOutLocked(seq int64, data []byte) {
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
			a.sendLocked(cut)
		case a.raw:
		default:
			if whole == nil {
				whole = api.AppendFrame(s.frame[:0], api.FrameOutput, at[:], data)
				s.frame = whole
			}
			a.sendLocked(whole)
		}
	}
}

// anyRawLocked reports whether a client other than a is raw.
func (s *session) anyRawLocked(a *Attachment) bool {
	return slices.ContainsFunc(s.clients, func(c *Attachment) bool { return c != a && c.raw })
}

// personTypedLocked notes that somebody types.
func (s *session) personTypedLocked(now time.Time) {
	s.seen, s.ownDraft = true, false
	s.typedLocked(now)
}

// typed puts a client's keys in and makes it the leader.
func (s *session) typed(a *Attachment, keys []byte) error {
	if len(keys) == 0 {
		return nil
	}
	s.mu.Lock()
	s.leadLocked(a)
	s.personTypedLocked(time.Now())
	s.mu.Unlock()
	return s.typeUnit(keys)
}

// pasted puts text in as a paste, as the program has asked for pastes.
func (s *session) pasted(a *Attachment, text string) error {
	s.mu.Lock()
	s.leadLocked(a)
	p := s.screen.AppendPaste(nil, text)
	s.personTypedLocked(time.Now())
	s.mu.Unlock()
	return s.typeUnit(p)
}

// typeUnit waits for the turn to type and writes one unit.
func (s *session) typeUnit(p []byte) error {
	if err := s.in.lock(s.ctx); err != nil {
		return err
	}
	defer s.in.unlock()
	return s.in.write(p)
}
