package host

import (
	"encoding/json"
	"time"

	"termio/internal/agent"
	"termio/internal/api"
	"termio/internal/vt"
)

// carry is what a session hands to the next host beside its record and its status
// machine. It is stored together with the machine, as both were at one moment: what
// the program wrote after Position has not moved the machine yet, and what stands in
// Outbox has not been told to anybody. So a host may be killed at any moment, and the
// next one loses no transition and tells none twice.
//
// Fields are only added; a host passes over those that it doesn't know.
type carry struct {
	Position int64     `json:"position"`            // in the program's output
	LastOut  time.Time `json:"last_out,omitzero"`   // when that came
	Ready    bool      `json:"ready,omitempty"`     // what runs takes input
	Leaving  bool      `json:"leaving,omitempty"`   // the agent took its status back
	OwnDraft bool      `json:"own_draft,omitempty"` // what stands in the composer was typed by a send without Return
	Closing  string    `json:"closing,omitempty"`   // why the session is being closed
	Trouble  string    `json:"trouble,omitempty"`
	Resuming string    `json:"resuming,omitempty"`  // conversation that the agent was started to go on with
	Failed   string    `json:"unresumed,omitempty"` // that this failed
	Behind   int       `json:"behind,omitempty"`    // texts that went in behind the running turn
	Tidied   []int64   `json:"tidied,omitempty"`    // where in the output the modes of a dead program were taken back

	Transcript carriedTranscript   `json:"transcript,omitzero"`
	Last       *api.Event          `json:"last,omitempty"` // what watchers were told last
	Outbox     []carriedTransition `json:"outbox,omitempty"`
	Waits      []carriedWait       `json:"waits,omitempty"`
}

// carriedTranscript is how far a transcript has been read.
type carriedTranscript struct {
	Path  string     `json:"path,omitempty"`
	Tail  agent.Tail `json:"tail,omitzero"`
	Ended bool       `json:"ended,omitempty"`
}

// carriedTransition is a transition that nobody has been told of.
type carriedTransition struct {
	Event     api.Event `json:"event"`
	Ends      bool      `json:"ends,omitempty"`
	Announced bool      `json:"announced,omitempty"` // a dialog was told of before it was drawn
}

// carryLocked makes the carry of this moment.
func (s *session) carryLocked() []byte {
	c := carry{
		Position: s.seq, LastOut: s.lastOut, Ready: s.run.isReady, Leaving: s.run.leaving, OwnDraft: s.ownDraft, Closing: s.closing, Trouble: s.trouble, Behind: s.behind, Tidied: s.tidied,
		Resuming: s.resuming, Failed: s.unresumed,
		Transcript: s.tailed, Last: s.last,
	}
	for _, t := range s.outbox {
		if t.event.Status != api.Closed { // the end is found out anew
			c.Outbox = append(c.Outbox, carriedTransition{Event: t.event, Ends: t.ends, Announced: t.announced})
		}
	}
	for _, w := range s.waiters {
		if w.request != "" {
			c.Waits = append(c.Waits, carryWait(w, s.outbox))
		}
	}
	b, err := json.Marshal(c)
	if err != nil {
		panic("what a session hands on cannot be encoded: " + err.Error()) // broken invariant: plain data
	}
	return b
}

// newCarry is the carry of a session that has not begun.
func newCarry() []byte { return []byte("{}") }

// readCarry reads what the host before handed on; false if that was nothing.
func (s *session) readCarry(data []byte) (c carry, ok bool) {
	if len(data) == 0 {
		return c, false
	}
	if err := json.Unmarshal(data, &c); err != nil {
		s.log.Error("what the host before handed on is unreadable", "error", err)
		return carry{}, false
	}
	return c, true
}

// checkpoint stores how far the session is. What must not be forgotten when the host
// is killed at the next moment has happened before it.
func (s *session) checkpoint() {
	s.saving.Lock()
	defer s.saving.Unlock()
	s.mu.Lock()
	over := s.overLocked()
	progress := s.progressLocked()
	s.mu.Unlock()
	if over { // its record says how it ended
		return
	}
	if err := s.h.store.UpdateStatus(s.id, progress); err != nil {
		s.log.Error("progress not stored", "error", err)
	}
}

// takeCarriedLocked goes on where the host before was, up to its last checkpoint.
func (s *session) takeCarriedLocked(c carry) {
	s.ownDraft, s.closing, s.trouble, s.last, s.behind = c.OwnDraft, c.Closing, c.Trouble, c.Last, c.Behind
	s.run.leaving, s.tidied = c.Leaving, c.Tidied
	s.resuming, s.unresumed = c.Resuming, c.Failed
	if !c.LastOut.IsZero() {
		s.lastOut = c.LastOut
	}
	if read := c.Transcript; s.rec.Transcript == "" || s.rec.Transcript == read.Path { // else it was bound to another since
		s.tailed, s.lineCount, s.rec.Transcript = read, read.Tail.Lines, read.Path
		s.lines.restore(read)
	}
	for _, t := range c.Outbox {
		again := newTransition(t.Event, s.run)
		again.ends, again.announced = t.Ends, t.Announced
		s.queueLocked(again)
	}
}

// restoredEventLocked takes from output that has been acted on what is state.
func (s *session) restoredEventLocked(e *vt.Event) {
	switch e.Kind {
	case vt.EventTitle:
		s.title = e.Text
	case vt.EventDir:
		if dir, ok := folderOf(e.Text); ok {
			s.cwd = dir
		}
	case vt.EventPrompt:
		s.run.marks = true
		s.run.prompt = e.Name == "A" || e.Name == "B"
	}
}
