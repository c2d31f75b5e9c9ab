package vt

import (
	"fmt"
	"slices"
)

// Bounds of what waits for the host. When answers are full the newest are
// dropped, for a program reads them in order; when events are full the oldest
// are, for the newest say how things are now.
const (
	maxReplies = 64 << 10
	maxEvents  = 256
)

// outbox collects what a Write gives besides the picture.
type outbox struct {
	replies    []byte
	dropped    bool // an answer did not fit
	events     []Event
	lost       int // events that did not fit
	spans      []Span
	size       int    // bytes of this Write
	written    uint64 // bytes of all Writes before
	pos        int    // offset behind the last byte of the sequence being run
	start      int    // offset of its first byte, negative if it came earlier
	unfinished int    // bytes of the sequence that has not ended
	// broke is one more than the offset over all Writes of the last byte that
	// broke off something unfinished.
	broke      uint64
	terminator string // how the string being run ended
	curX, curY int    // the cursor before this Write
}

// A Span is a range of the bytes of the last Write. Start, and rarely End, are
// negative by the number of bytes that came in earlier Writes.
type Span struct {
	Start, End int
	// broke: the query's first byte broke off something unfinished before it,
	// which has to be broken off for other terminals too.
	broke bool
	// put is what other terminals get in its place.
	put []byte
}

func (o *outbox) startSequence(left int) {
	o.start = o.size - left
	o.pos = o.start
}

// over is one more than the offset over all Writes.
func (o *outbox) over(offset int) uint64 { return o.written + uint64(offset) + 1 }

func (s *Screen) beginWrite(n int) {
	o := &s.out
	o.written += uint64(o.size)
	o.size, o.start, o.pos = n, -o.unfinished, 0
	o.spans = o.spans[:0]
	o.curX, o.curY = s.cur.x, s.cur.y
}

func (s *Screen) endWrite() {
	o := &s.out
	o.unfinished = 0
	if s.parser.state != inGround || s.parser.u8n > 0 {
		o.unfinished = o.size - o.start
	}
	if s.cur.x != o.curX || s.cur.y != o.curY {
		s.changed = true
	}
	s.endChange()
}

// endChange makes the changes since the last call count as one generation.
func (s *Screen) endChange() {
	if s.changed {
		s.gen = s.next
		s.next++
		s.changed = false
	}
}

// query marks the sequence being run as a question that the host answers. It
// reports false for one too long to have been held back.
func (s *Screen) query() bool {
	o := &s.out
	if o.pos-o.start > maxHeld {
		return false
	}
	switch k := len(o.spans) - 1; {
	case k >= 0 && o.spans[k].Start == o.start:
	case k >= 0 && o.spans[k].End == o.start:
		o.spans[k].End = o.pos
	default:
		o.spans = append(o.spans, Span{Start: o.start, End: o.pos, broke: o.broke == o.over(o.start)})
	}
	return true
}

// elsewhere has other terminals get something in the place of the sequence being run, of
// which they would keep what is the session's own: a stack, a saved mode.
func (s *Screen) elsewhere(format string, args ...any) {
	if s.query() {
		last := &s.out.spans[len(s.out.spans)-1]
		last.put = fmt.Appendf(last.put, format, args...)
	}
}

// reply answers the sequence being run, which is a query.
func (s *Screen) reply(format string, args ...any) {
	if s.query() {
		s.send(format, args...)
	}
}

// send queues bytes for the program's input.
func (s *Screen) send(format string, args ...any) {
	o := &s.out
	if len(o.replies) > maxReplies {
		o.dropped = true
		return
	}
	o.replies = fmt.Appendf(o.replies, format, args...)
}

// TakeReplies returns the answers to queries since the last call, in the order
// of the queries, for the program's input. At most 64 KiB wait; answers past
// that are dropped, which RepliesDropped tells.
func (s *Screen) TakeReplies() []byte {
	b := s.out.replies
	s.out.replies = nil
	return b
}

// RepliesDropped reports whether an answer was dropped since it was last
// called, because nobody took those before it.
func (s *Screen) RepliesDropped() bool {
	d := s.out.dropped
	s.out.dropped = false
	return d
}

// TakeEvents appends the events since the last call. At most 256 wait; beyond
// that the oldest are dropped.
func (s *Screen) TakeEvents(dst []Event) []Event {
	dst = append(dst, s.out.events...)
	clear(s.out.events)
	s.out.events = s.out.events[:0]
	return dst
}

func (s *Screen) emit(e Event) {
	o := &s.out
	if len(o.events) == maxEvents {
		o.events = slices.Delete(o.events, 0, 1)
		o.lost++
	}
	o.events = append(o.events, e)
}

// QuerySpans returns where in the last Write queries stood that only the host
// may answer, and what else no other terminal may see as it is, in ascending order. The result is valid until the next Write. A
// query that began in an earlier Write has a negative start: a caller that
// forwards output has to hold back Held bytes, as Filter does.
func (s *Screen) QuerySpans() []Span { return s.out.spans }

// Held is the number of bytes, up to the end of the last Write and over Writes,
// of a sequence that has not ended and may turn out to be a query. It is 0 when
// the sequence can be none any more: a long string, an ignored one.
func (s *Screen) Held() int {
	n, p := s.out.unfinished, &s.parser
	if n > maxHeld || p.drop && (p.state == inString || p.state == inStringEsc) {
		return 0
	}
	return n
}

// A Filter gives the part of a session's output that another terminal may see:
// all of it but the queries, which would be answered twice, and but what would use up
// that terminal's stacks and saved modes, in the place of which it gets what they come
// to. An unfinished
// sequence is held back until it has ended, so that the output it gives is
// always cut between sequences.
type Filter struct{ held []byte }

// NewFilter makes a filter that goes on where s is now: a sequence that has begun
// and may be a query is held already.
func NewFilter(s *Screen) Filter {
	if s.Held() == 0 {
		return Filter{}
	}
	return Filter{held: s.AppendUnfinished(nil)}
}

// Append appends what p adds for the other terminal. It is called once after
// each s.Write(p), in order.
func (f *Filter) Append(dst, p []byte, s *Screen) []byte {
	all, off := p, len(f.held)
	if off > 0 {
		all = append(f.held, p...)
	}
	at := 0
	for _, q := range s.QuerySpans() {
		start, end := max(q.Start+off, at), max(q.End+off, at)
		dst = append(dst, all[at:start]...)
		if q.broke {
			dst = append(dst, "\x1b\\"...)
		}
		dst = append(dst, q.put...)
		at = end
	}
	end := max(len(all)-s.Held(), at)
	dst = append(dst, all[at:end]...)
	f.held = append(f.held[:0], all[end:]...)
	return dst
}
