package host

import (
	"testing"
	"time"

	"termio/internal/api"
)

// waitStory drives a waiter through what happens to a session, on a clock of its own.
type waitStory struct {
	w   *waiter
	now time.Time
	t   turnState
}

// a moment is something that happens at a time after the story's beginning.
type moment struct {
	at time.Duration
	do func(*waitStory)
}

// until lets time pass: whenever the waiter asked to be woken, it is.
func (s *waitStory) until(end time.Time) {
	for {
		at := s.w.deadline()
		if s.w.out != nil || at.After(end) {
			break
		}
		s.now = at
		s.w.tick(at, s.t)
		if s.w.out == nil && !s.w.deadline().After(at) {
			panic("a waiter that is woken and decides nothing would be woken for ever")
		}
	}
	if s.w.out == nil {
		s.now = end
	}
}

// becomes is a change of status; the turn is the number of those that have begun.
func becomes(st api.Status, turn uint64) func(*waitStory) {
	return func(s *waitStory) {
		s.t.status, s.t.turn = st, turn
		s.w.status(s.now, s.t, nil)
	}
}

// asks is a dialog that opens, or one that is told of again.
func asks(number uint64) func(*waitStory) {
	return func(s *waitStory) {
		s.t.status, s.t.dialogSeq = api.NeedsYou, number
		s.w.status(s.now, s.t, nil)
	}
}

// answers is a text that went in as the answer to a dialog.
func answers(number uint64) func(*waitStory) {
	return func(s *waitStory) {
		s.t.status, s.t.turn, s.t.dialogSeq = api.NeedsYou, 1, number
		s.w.submitted(submission{at: s.now, turn: s.t, answers: number})
	}
}

// answersAtStart is an answer to the dialog of an agent that has had no turn.
func answersAtStart(s *waitStory) {
	s.t.status, s.t.dialogSeq = api.NeedsYou, 1
	s.w.submitted(submission{at: s.now, turn: s.t, answers: 1})
}

// presses is a key that goes to the dialog that is open.
func presses(s *waitStory) {
	s.t.status, s.t.turn, s.t.dialogSeq = api.NeedsYou, 1, 1
	s.w.submitted(submission{at: s.now, turn: s.t})
}

func sent(s *waitStory) {
	s.w.typing("echo hello")
	s.w.submitted(submission{at: s.now, turn: s.t})
}

func prints(text string) func(*waitStory) {
	return func(s *waitStory) { s.w.output(s.now, []byte(text)) }
}

func inFront(group int) func(*waitStory) {
	return func(s *waitStory) {
		s.t.front = group
		s.w.inFront(s.now, group, 0)
	}
}

// What a wait makes of a turn: the outcome is that of the text's own turn, neither of
// what was before it nor of an agent that has not begun yet.
func TestWaiter(t *testing.T) {
	const (
		plain = 1 << iota
		queues
	)
	const limit = time.Minute
	sec := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
	exit := 7
	tests := []struct {
		name   string
		kind   int
		story  []moment
		at     float64 // seconds until it is decided
		status api.Status
		late   bool // timed out
		code   api.Code
		exit   *int
	}{
		{
			name: "idle before its first turn",
			story: []moment{
				{0, becomes(api.Idle, 0)},
				{sec(1), sent},
				{sec(1.1), becomes(api.Idle, 0)},
				{sec(2), becomes(api.Working, 1)},
				{sec(9), becomes(api.Done, 1)},
			},
			at: 9, status: api.Done,
		},
		{
			name: "what ended before the text went in",
			story: []moment{
				{0, becomes(api.Working, 1)},
				{sec(1), becomes(api.Done, 1)},
				{sec(2), sent},
				{sec(3), becomes(api.Working, 2)},
				{sec(4), becomes(api.Done, 2)},
			},
			at: 4, status: api.Done,
		},
		{
			name:  "a turn whose beginning nobody told",
			story: []moment{{0, sent}, {sec(3), becomes(api.Done, 1)}},
			at:    3, status: api.Done,
		},
		{name: "nothing moves", story: []moment{{sec(1), sent}}, at: 6, code: api.PromptStalled},
		{
			name:  "it took the text and thinks",
			story: []moment{{0, sent}, {sec(1), func(s *waitStory) { s.w.movement() }}, {sec(50), becomes(api.Working, 1)}, {sec(55), becomes(api.Done, 1)}},
			at:    55, status: api.Done,
		},
		{
			name:  "longer than the wait",
			story: []moment{{0, sent}, {sec(1), becomes(api.Working, 1)}},
			at:    60, status: api.Working, late: true,
		},
		{
			name:  "it asks",
			story: []moment{{0, sent}, {sec(1), becomes(api.Working, 1)}, {sec(2), becomes(api.NeedsYou, 1)}, {sec(9), becomes(api.Done, 1)}},
			at:    2, status: api.NeedsYou,
		},
		{
			name:  "it asks before it takes any text",
			story: []moment{{sec(1), becomes(api.NeedsYou, 0)}},
			at:    1, status: api.NeedsYou,
		},
		{
			name:  "an answer closes the dialog",
			story: []moment{{0, answers(1)}, {sec(0.1), asks(1)}, {sec(1), becomes(api.Working, 1)}, {sec(8), becomes(api.Done, 1)}},
			at:    8, status: api.Done,
		},
		{
			name:  "an answer that the dialog did not take",
			story: []moment{{0, answers(1)}, {sec(0.1), asks(1)}, {sec(2), asks(1)}},
			at:    5, status: api.NeedsYou,
		},
		{
			name:  "an answer that leads to the next question",
			story: []moment{{0, answers(1)}, {sec(0.1), asks(1)}, {sec(2), asks(2)}},
			at:    2, status: api.NeedsYou,
		},
		{
			name:  "a refusal, with nothing between the question and the end",
			story: []moment{{0, answers(1)}, {sec(1), becomes(api.Idle, 1)}},
			at:    2, status: api.Idle,
		},
		{
			name:  "an answer, and done before anybody saw it work",
			story: []moment{{0, answers(1)}, {sec(1), becomes(api.Done, 1)}},
			at:    1, status: api.Done,
		},
		{
			name:  "a key that closes a dialog",
			story: []moment{{0, presses}, {sec(1), becomes(api.Idle, 1)}},
			at:    2, status: api.Idle,
		},
		{
			name:  "a dialog of the agent's start, and its prompt after that",
			story: []moment{{0, answersAtStart}, {sec(1), becomes(api.Idle, 0)}, {sec(3), becomes(api.Working, 1)}, {sec(9), becomes(api.Done, 1)}},
			at:    9, status: api.Done,
		},
		{
			name:  "a dialog of the agent's start, and no prompt",
			story: []moment{{0, answersAtStart}, {sec(1), becomes(api.Idle, 0)}},
			at:    1 + promptFor.Seconds(), status: api.Idle,
		},
		{
			name:  "idle, and done a moment later",
			story: []moment{{0, sent}, {sec(1), becomes(api.Working, 1)}, {sec(2), becomes(api.Idle, 1)}, {sec(2.3), becomes(api.Done, 1)}},
			at:    2.3, status: api.Done,
		},
		{
			name:  "idle, and that is all",
			story: []moment{{0, sent}, {sec(1), becomes(api.Working, 1)}, {sec(2), becomes(api.Idle, 1)}},
			at:    2 + idleFor.Seconds(), status: api.Idle,
		},
		{
			name: "queued behind a turn", kind: queues,
			story: []moment{
				{0, becomes(api.Working, 1)},
				{sec(1), sent},
				{sec(20), becomes(api.Done, 1)},
				{sec(20.2), becomes(api.Working, 2)},
				{sec(30), becomes(api.Done, 2)},
			},
			at: 30, status: api.Done,
		},
		{
			name: "queues, but took the text into its turn", kind: queues,
			story: []moment{{0, becomes(api.Working, 1)}, {sec(1), sent}, {sec(20), becomes(api.Done, 1)}},
			at:    23, status: api.Done,
		},
		{
			name:  "merged into the running turn",
			story: []moment{{0, becomes(api.Working, 1)}, {sec(1), sent}, {sec(20), becomes(api.Done, 1)}},
			at:    20, status: api.Done,
		},
		{
			name:  "closed",
			story: []moment{{0, sent}, {sec(1), func(s *waitStory) { s.w.fail(api.NewError(api.SessionClosed, "closed")) }}, {sec(1), becomes(api.Done, 1)}},
			at:    1, code: api.SessionClosed,
		},
		{
			name: "a terminal prints and rests", kind: plain,
			story: []moment{{0, sent}, {sec(0.1), prints("echo hello\r\n")}, {sec(1), prints("hello\r\n$ ")}, {sec(2), prints("more\r\n$ ")}},
			at:    3.5, status: api.Idle,
		},
		{
			name: "a terminal only echoes", kind: plain,
			story: []moment{{0, sent}, {sec(0.1), prints("\x1b[1mecho hello\r\n")}},
			at:    5, code: api.PromptStalled,
		},
		{
			name: "a silent command runs", kind: plain,
			story: []moment{{0, sent}, {sec(0.1), inFront(7)}, {sec(40), inFront(0)}},
			at:    41.5, status: api.Idle,
		},
		{
			name: "the program that gets the text ends", kind: plain,
			story: []moment{{0, inFront(7)}, {0, sent}, {sec(3), inFront(0)}},
			at:    4.5, status: api.Idle,
		},
		{
			name: "a command outlasts the wait", kind: plain,
			story: []moment{{0, sent}, {sec(0.1), inFront(7)}, {sec(1), prints("output\r\n")}},
			at:    60, late: true,
		},
		{
			name: "the shell reports the end", kind: plain,
			story: []moment{
				{0, func(s *waitStory) { s.w.commandEnded(nil) }},
				{sec(1), sent},
				{sec(1.1), func(s *waitStory) { s.w.commandBegan() }},
				{sec(8), func(s *waitStory) { s.w.commandEnded(&exit) }},
			},
			at: 8, status: api.Idle, exit: &exit,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			began := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
			s := &waitStory{w: newWaiter(tt.kind&plain != 0, tt.kind&queues != 0, began.Add(limit)), now: began}
			for _, m := range tt.story {
				s.until(began.Add(m.at))
				if s.w.out != nil {
					break
				}
				m.do(s)
			}
			s.until(began.Add(limit))
			o := s.w.out
			if o == nil {
				t.Fatal("nothing was decided")
			}
			if got := s.now.Sub(began); got != sec(tt.at) {
				t.Errorf("decided after %s, want %s", got, sec(tt.at))
			}
			var code api.Code
			if o.err != nil {
				code = o.err.Code
			}
			if o.status != tt.status || o.timedOut != tt.late || code != tt.code || o.exitCode != tt.exit {
				t.Errorf("outcome %q, timed out %v, code %q, exit %v; want %q, %v, %q, %v",
					o.status, o.timedOut, code, o.exitCode, tt.status, tt.late, tt.code, tt.exit)
			}
		})
	}
}
