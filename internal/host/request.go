package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"termio/internal/api"
	"termio/internal/pty"
	"termio/internal/store"
)

// ErrLeaving ends the context of calls whose host goes while the daemon stays: the
// caller asks the next host.
var ErrLeaving = errors.New("the next host goes on with it")

// verb is what a request asks for.
type verb string

const (
	verbSpawn  verb = "spawn"
	verbRun    verb = "run"
	verbSend   verb = "send"
	verbClose  verb = "close"
	verbResume verb = "resume"
)

// phase is how far a text is on its way. Each is stored before what it stands for is
// begun, so that the next host knows what can have happened.
type phase string

const (
	phaseQueued   phase = "queued"   // nothing of it has been typed
	phaseTyping   phase = "typing"   // it is being typed
	phaseTyped    phase = "typed"    // all of it has been typed, and its Return has not been pressed
	phasePressing phase = "pressing" // its Return, or the keys, are being pressed
	phasePressed  phase = "pressed"  // its Return has been pressed; what is left is to see what it did
	phaseOver     phase = "over"     // it is delivered, or will never be
)

// requestState is the part of a request that is stored as it changes.
type requestState struct {
	Verb  verb      `json:"verb"`
	Named bool      `json:"named,omitempty"` // by its caller, who can ask for the answer again
	Wait  bool      `json:"wait,omitempty"`
	Limit time.Time `json:"limit,omitzero"` // when the wait times out
	Title string    `json:"title,omitempty"`

	Resumed bool   `json:"resumed,omitempty"` // the same conversation goes on
	Fresh   bool   `json:"fresh,omitempty"`   // there was none to go on with
	Missing string `json:"missing,omitempty"` // the one that the agent has no record of

	Keys    []string `json:"keys,omitempty"`
	Enter   bool     `json:"enter,omitempty"`
	Insist  bool     `json:"insist,omitempty"`
	Force   bool     `json:"force,omitempty"`
	Back    bool     `json:"back,omitempty"`
	Answers uint64   `json:"answers,omitempty"` // number of the dialog that the text answers; 0: it is none

	For        pty.Proc     `json:"for,omitzero"` // the program that gets it; none is the one that is started for it
	Phase      phase        `json:"phase,omitempty"`
	TypedAt    int64        `json:"typed_at,omitempty"` // position in the output when typing began
	Drafted    bool         `json:"drafted,omitempty"`
	Draft      string       `json:"draft,omitempty"` // what the composer showed of it
	Before     storedTaken  `json:"before,omitzero"`
	Transcript string       `json:"transcript,omitempty"`
	Cursor     *int64       `json:"cursor,omitempty"`
	How        api.Delivery `json:"how,omitempty"`
	Failed     *api.Error   `json:"failed,omitempty"`

	Queued bool            `json:"queued,omitempty"` // the caller was told that it is on its way
	Reply  json.RawMessage `json:"reply,omitempty"`
	Error  *api.Error      `json:"error,omitempty"` // instead of a reply
}

// A request is a call that is carried out once, whatever becomes of the caller's
// connection and of this host: what it asks for is stored before it is begun, and its
// answer before it is given.
type request struct {
	h       *Host
	id      string
	session api.SessionID
	created time.Time
	text    string
	s       *session      // nil where the session is not open any more
	d       *delivery     // nil for a close and a resume
	onWay   chan struct{} // closed when the text will take longer than its sender has to wait
	waits   sync.Once     // of onWay

	mu       sync.Mutex // one change at a time; before the store, and under no other lock
	state    requestState
	answered bool        // nobody will ask for the answer any more
	over     bool        // nothing is left to be done for it
	asking   int         // callers that wait for the answer now
	lonely   *time.Timer // while nobody asks for the answer and somebody may come to; else nil
}

// keptAnswered is how many names of calls are remembered that nothing else is known of.
const keptAnswered = 4096

// requests are those that are not over, by name. mu guards what is in here alone.
type requests struct {
	mu   sync.Mutex
	byID map[string]*request
	past []string // names of those that were forgotten last, oldest first; at most keptAnswered
}

func (t *requests) get(id string) *request {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.byID[id]
}

// forgotten reports whether a request was known not long ago.
func (t *requests) forgotten(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Contains(t.past, id)
}

func (t *requests) add(r *request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byID == nil {
		t.byID = map[string]*request{}
	}
	t.byID[r.id] = r
}

func (t *requests) remove(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.byID, id)
	if len(t.past) == keptAnswered {
		t.past = append(t.past[:0], t.past[1:]...)
	}
	t.past = append(t.past, id)
}

// newRequest makes a request for a session. Without a name of the caller's it gets one
// by which nobody will ask.
func (h *Host) newRequest(name string, id api.SessionID, text string, st requestState) *request {
	r := &request{h: h, id: name, session: id, created: time.Now(), text: text, state: st, onWay: make(chan struct{})}
	r.state.Named = name != ""
	if name == "" {
		r.id = string(newID())
	}
	return r
}

// row is the request as it is stored.
func (r *request) row() store.Request {
	return store.Request{ID: r.id, Session: r.session, CreatedAt: r.created, Text: r.text, State: r.state.encode()}
}

func (st *requestState) encode() []byte {
	b, err := json.Marshal(st)
	if err != nil {
		panic("a request cannot be encoded: " + err.Error()) // broken invariant: plain data
	}
	return b
}

// begin stores the request of an open session; nothing of it has been done before.
func (r *request) begin(s *session) error {
	r.s = s
	if err := r.h.store.PutRequest(r.row()); err != nil {
		return asAPI(api.Unavailable, "store the call", err)
	}
	r.h.requests.add(r)
	return nil
}

// set changes what is stored of the request. What a dead disk refuses is logged as well: a
// text that is half typed has to be finished all the same.
func (r *request) set(change func(*requestState)) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.answered && r.over {
		return nil // it is gone
	}
	change(&r.state)
	err := r.h.store.UpdateRequest(r.id, r.state.encode())
	if err != nil {
		r.h.log.Error("request not stored", "session", r.session.Short(), "error", err)
	}
	return err
}

// get is how far the request is.
func (r *request) get() requestState {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state
}

// done notes that nothing is left to be done for the request, or that nobody will ask
// for its answer any more; when both are so it is forgotten.
func (r *request) done(over, answered bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	was := r.over && r.answered
	r.over, r.answered = r.over || over, r.answered || answered
	if r.answered && r.lonely != nil {
		r.lonely.Stop()
	}
	if was || !r.over || !r.answered {
		return
	}
	r.h.requests.remove(r.id)
	if err := r.h.store.RemoveRequest(r.id); err != nil {
		r.h.log.Error("request not forgotten", "session", r.session.Short(), "error", err)
	}
}

// Answered notes that the caller of a request has its answer: it has been written.
func (h *Host) Answered(name string) {
	if r := h.requests.get(name); r != nil {
		r.done(false, true)
	}
}

// callerPatience is how long a caller of a named request may take to ask again after its
// connection was lost, or after its host was. Our own clients ask within 5 s; one that its
// person had stopped must not hear that nothing was done.
const callerPatience = 15 * time.Minute

// ask notes that a caller waits for the answer, and leave that it does so no more: it has
// the answer, or has lost its connection and may come again.
func (r *request) ask() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asking++
	if r.lonely != nil {
		r.lonely.Stop()
		r.lonely = nil
	}
}

func (r *request) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.asking--; r.asking == 0 {
		r.awaitCallerLocked()
	}
}

// awaitCallerLocked gives the request up if nobody asks for its answer in time; r.mu is
// held. A host that leaves leaves that to the next one.
func (r *request) awaitCallerLocked() {
	if r.answered || r.h.ctx.Err() != nil {
		return
	}
	r.lonely = time.AfterFunc(callerPatience, func() {
		r.mu.Lock()
		lonely := r.asking == 0 && !r.answered
		r.mu.Unlock()
		if lonely {
			r.h.whileOpen(r.abandon)
		}
	})
}

// answer waits for the answer, and stores it before it is given.
func (r *request) answer(ctx context.Context) (any, error) {
	r.ask()
	defer r.leave()
	st := r.get()
	switch {
	case st.Error != nil:
		return nil, st.Error
	case st.Reply != nil:
		return st.Reply, nil
	}
	reply, err := r.await(ctx, st)
	if ctx.Err() != nil {
		if !st.Named && r.h.ctx.Err() == nil && !errors.Is(context.Cause(ctx), ErrLeaving) {
			r.abandon()
		}
		return nil, ctx.Err()
	}
	if err != nil {
		e := *asAPI(api.Internal, string(st.Verb), err)
		if st.starts() {
			e.Target = r.session.Link()
		}
		r.keep(func(st *requestState) { st.Error = &e })
		return nil, &e
	}
	b, err := json.Marshal(reply)
	if err != nil {
		panic("a reply cannot be encoded: " + err.Error()) // broken invariant: api types encode
	}
	r.keep(func(st *requestState) { st.Reply = b })
	return reply, nil
}

// starts reports whether the request is for a new session.
func (st *requestState) starts() bool { return st.Verb == verbSpawn || st.Verb == verbRun }

// keep stores an answer if somebody may ask for it again.
func (r *request) keep(change func(*requestState)) {
	if r.get().Named {
		_ = r.set(change)
		return
	}
	r.done(false, true)
}

// await waits until the request can be answered.
func (r *request) await(ctx context.Context, st requestState) (any, error) {
	s := r.s
	switch {
	case s == nil:
		return nil, fmt.Errorf("request %s has no session", r.id) // broken invariant: lost ones are answered
	case st.Verb == verbClose:
		select {
		case <-s.ended:
			return api.CloseReply{Head: api.OKHead(), Closed: s.id.Link(), Title: st.Title}, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	case st.Wait:
		v, err := s.awaitOutcome(ctx, r.d, st.starts())
		if reply, ok := v.(api.WaitReply); ok {
			reply.Fresh, reply.Missing = st.Fresh, st.Missing
			v = reply
		}
		return v, err
	case st.starts(), st.Verb == verbResume:
		return api.StartReply{
			Head: api.OKHead(), Target: s.id.Link(), Title: s.displayTitle(), Created: true, Queued: st.starts(),
			Resumed: st.Resumed, Fresh: st.Fresh, Missing: st.Missing,
		}, nil
	case st.Queued:
		return s.sendReply(r.d, api.Queued), nil
	}
	patience := time.NewTimer(busyPatience)
	defer patience.Stop()
	select {
	case <-r.d.done:
		if r.d.err != nil {
			return nil, r.d.err
		}
		return s.sendReply(r.d, r.d.how), nil
	case <-patience.C: // it stays on its way, behind another text or an agent that starts
		r.d.promise()
		_ = r.set(func(st *requestState) { st.Queued = true })
		return s.sendReply(r.d, api.Queued), nil
	case <-r.onWay:
		_ = r.set(func(st *requestState) { st.Queued = true })
		return s.sendReply(r.d, api.Queued), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// later has the caller told that the text is on its way.
func (r *request) later() { r.waits.Do(func() { close(r.onWay) }) }

// abandon notes that the caller has gone for good. What was begun goes on.
func (r *request) abandon() {
	if r.s != nil && r.d != nil && r.d.waiter != nil {
		r.s.dropWaiter(r.d.waiter)
	}
	r.done(false, true)
}
