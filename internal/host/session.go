package host

import (
	"context"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"termio/internal/agent"
	"termio/internal/api"
	"termio/internal/keeper"
	"termio/internal/pty"
	"termio/internal/store"
	"termio/internal/vt"
)

// A session is one terminal and what runs on it. Its reader is the one
// goroutine that it always has; it sleeps in the poller while the program is
// silent. Everything else (a delivery, a published transition, a look at the
// screen) runs in goroutines that exist while there is work.
//
// mu guards all live state. What is done under it is short: nothing reads a
// file, waits for a program or talks to the store.
type session struct {
	h         *Host
	id        api.SessionID
	project   store.Project
	created   time.Time
	log       *slog.Logger
	term      *keeper.Terminal
	in        *input
	lines     transcriptLines
	ctx       context.Context // ends with the session
	cancel    context.CancelFunc
	wg        sync.WaitGroup // every goroutine of the session
	begun     chan struct{}  // closed when a program that was started here is known
	ended     chan struct{}  // closed when the session is closed and its record says so
	readEnded chan struct{}  // closed when the reader has ended
	promoting sync.Mutex     // one promotion at a time; before saving
	saving    sync.Mutex     // one change of what is stored at a time; before mu
	reading   sync.Mutex     // one reading of the transcript at a time; before mu

	mu        sync.Mutex
	rec       store.Session // as it is stored, or about to be
	screen    *vt.Screen
	seq       int64    // position in the output of what the screen has taken in
	leader    pty.Proc // of the terminal: the login shell, or an agent in its place
	run       *running
	suspended suspended     // the agent that was started by hand last, if it waits to be brought back
	program   string        // what the program in front last said of itself (OSC 7501); "" is nothing
	replaced  chan struct{} // closed when the shell is in the place of an agent that has ended; nil: none has
	machine   *agent.Machine
	closing   string // why the session is being closed; "" while it is not
	closed    bool
	cwd       string
	title     string // as the program set it
	lastOut   time.Time
	typedAt   time.Time // when somebody last typed
	passedOn  time.Time // when a notification of the program was last passed on
	seen      bool      // a person has looked since the turn ended
	trouble   string
	resuming  string    // conversation that the agent was started to go on with, until it takes a prompt
	unresumed string    // that this failed, and what to do about it
	pressed   taken     // what was known when Return was last pressed for a text
	pressedAt time.Time // when
	sent      string    // the text that it was pressed for
	told      told      // what the agent said last that it took
	behind    int       // texts that went in behind a running turn since one went in at rest
	ownDraft  bool      // what stands in the composer was typed by a send without Return

	events     []vt.Event // scratch
	frame      []byte     // scratch
	shown      []byte     // scratch: output for raw clients
	cutFrame   []byte     // scratch
	clients    []*Attachment
	lead       *Attachment // types last and sets the size
	ptySize    pty.Size    // as a client set it last
	shellModes vt.Modes    // as they were when the shell was in front last
	tidied     []int64     // where in the output a dead program's modes were taken back
	untidy     bool        // a program has given the keyboard back to the shell
	leads      uint64      // how often the lead changed hands
	filter     vt.Filter   // for raw clients
	waiters    []*waiter
	lane       lane
	held       []*delivery // lines back to a spawner, for when the composer is free
	listeners  map[chan struct{}]bool

	look       looks
	last       *api.Event        // what watchers were told last; nil: nothing yet
	tailed     carriedTranscript // as far as evidence of the transcript has been taken in
	left       bool              // this host is done with it, and the next one goes on; closed as well
	outbox     []*transition     // the first is being completed while outRuns
	outRuns    bool              // a goroutine empties the outbox
	completing bool              // it waits for something that the first one shall tell
	queued     int64             // number of transitions so far
	lineCount  int64             // whole lines of the transcript, as far as is known
	dialogAt   time.Time         // when the open dialog opened
	dialogSeq  uint64            // its number
	boundAt    time.Time         // when the conversation was bound
	searched   time.Time         // when its record was last searched for in the agent's store
	led        bool              // the host's table knows the leader: its end can be taken
	early      *keeper.Exit      // the program's end, told before its start
	exit       *keeper.Exit      // the end of the terminal's leader
	finishing  bool
}

// suspended is an agent that was started by hand and has been stopped.
type suspended struct {
	proc    pty.Proc // zero: there is none
	program string   // what it had said of itself
	ready   bool     // it took input
}

// running is what a session shows: an agent, or a shell. It is replaced whole
// when an agent ends and the shell is back, or one is started by hand.
type running struct {
	man     *agent.Manifest
	proc    pty.Proc      // the agent, or the shell
	started time.Time     //
	byHand  bool          // started in the session's shell, not by us
	ready   chan struct{} // closed when it takes input
	isReady bool
	gone    chan struct{} // closed when something else took its place
	marks   bool          // the shell reports its prompts (OSC 133)
	prompt  bool          // it last reported a prompt, not a command
	edits   bool          // the shell has a line editor, which takes the terminal out of canonical mode
	front   int           // foreground process group at the last look
	leaving bool          // its last program status was that it has none (OSC 7501 clear): it is about to end
}

func newRunning(m *agent.Manifest, p pty.Proc, now time.Time) *running {
	return &running{man: m, proc: p, started: now, ready: make(chan struct{}), gone: make(chan struct{})}
}

// shell reports whether it is a plain shell.
func (r *running) shell() bool { return r.man.IsShell() }

// read is the session's reader: it takes in what the program writes until the
// terminal is closed. When the program has ended it waits for the next one on
// the same terminal.
func (s *session) read() {
	defer close(s.readEnded)
	for {
		data, _, err := s.term.Read()
		if err != nil {
			if !s.atEnd(err) {
				return
			}
			continue
		}
		s.mu.Lock()
		s.outputLocked(data, time.Now())
		s.mu.Unlock()
	}
}

// outputLocked takes in what the program wrote: screen, answers, events, clients.
func (s *session) outputLocked(data []byte, now time.Time) {
	at := s.seq
	s.seq += int64(len(data))
	s.lastOut = now
	_, _ = s.screen.Write(data) // never fails
	if replies := s.screen.TakeReplies(); len(replies) > 0 {
		s.in.reply(replies)
	}
	s.events = s.screen.TakeEvents(s.events[:0])
	for i := range s.events {
		s.eventLocked(&s.events[i], now)
	}
	s.fanOutLocked(at, data, now)
	for _, w := range s.waiters {
		w.output(now, data)
	}
	s.lookSoonLocked(now)
}

// eventLocked handles what the program announced beside the picture.
func (s *session) eventLocked(e *vt.Event, now time.Time) {
	switch e.Kind {
	case vt.EventTitle:
		s.title = e.Text
		s.applyLocked(s.run.man.TitleEvidence(e.Text, now), now)
		for _, w := range s.waiters {
			w.movement()
		}
	case vt.EventDir:
		if dir, ok := folderOf(e.Text); ok {
			s.cwd = dir
			s.h.fleet.touched(s.id)
		}
	case vt.EventProgress:
		if ev, ok := agent.ProgressEvidence(e.Value, now); ok {
			s.applyLocked(ev, now)
		}
	case vt.EventStatus:
		s.program = e.Text
		if ev, ok := s.run.man.ProgramEvidence(e.Text, now); ok {
			s.run.leaving = ev.Rule == "state=clear"
			s.applyLocked(ev, now)
		}
	case vt.EventPrompt:
		s.markLocked(e, now)
	case vt.EventNotify:
		s.passOnLocked(e, now)
	}
}

// markLocked follows the marks of a shell that reports its prompts and commands.
func (s *session) markLocked(e *vt.Event, now time.Time) {
	r := s.run
	if !r.shell() {
		return
	}
	r.marks = true
	switch e.Name {
	case "A", "B":
		r.prompt = true
		s.readyLocked()
	case "C":
		r.prompt = false
		for _, w := range s.waiters {
			w.commandBegan()
		}
	case "D":
		var exit *int
		if e.HasExit {
			code := e.Value
			exit = &code
		}
		for _, w := range s.waiters {
			w.commandEnded(exit)
		}
	}
	s.lookSoonLocked(now)
}

// readyLocked notes that what runs takes input. The next host has to know: what showed it
// may be gone from the screen by then.
func (s *session) readyLocked() {
	r := s.run
	if r.isReady {
		return
	}
	r.isReady = true
	close(r.ready)
	if !s.closed {
		s.wg.Go(s.checkpoint)
	}
}

// applyLocked gives a piece of evidence to the machine.
func (s *session) applyLocked(ev agent.Evidence, now time.Time) {
	s.changedLocked(s.machine.Apply(ev, now), now)
}

// typedLocked notes that something is about to be typed. In a turn the screen is looked
// at first: what shows that it runs may be gone after the key.
func (s *session) typedLocked(now time.Time) {
	if s.machine.Status() == api.Working {
		s.lookNowLocked(now)
	}
	s.typedAt = now
	s.applyLocked(agent.InputEvidence(now), now)
}

// titleLocked is the displayed title: the person's own, else what a session is
// for, else what the program calls itself.
func (s *session) titleLocked() string {
	switch {
	case s.rec.Title != "":
		return s.rec.Title
	case s.rec.FirstPrompt != "":
		return headline(s.rec.FirstPrompt)
	case s.rec.Command != "" && s.run.shell():
		return headline(s.rec.Command)
	}
	if title := headline(s.run.man.PlainTitle(s.title)); title != "" {
		return title
	}
	return s.run.man.Name
}

// headline is the first line of a text, short enough for a title.
func headline(s string) string {
	for line := range strings.Lines(s) {
		if strings.TrimSpace(line) != "" {
			return printable(line)
		}
	}
	return ""
}

// subscribeLocked returns a channel that gets a value whenever something about the
// session may have changed, until unsubscribeLocked.
func (s *session) subscribeLocked() chan struct{} {
	c := make(chan struct{}, 1)
	if s.listeners == nil {
		s.listeners = map[chan struct{}]bool{}
	}
	s.listeners[c] = true
	return c
}

func (s *session) unsubscribeLocked(c chan struct{}) { delete(s.listeners, c) }

// stirLocked wakes those that wait for a change.
func (s *session) stirLocked() {
	for c := range s.listeners {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// await waits until cond, which is asked with mu held, or until patience has
// passed or ctx ends; it reports what cond said last.
func (s *session) await(ctx context.Context, patience time.Duration, cond func() bool) bool {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	if cond() {
		return true
	}
	c := s.subscribeLocked()
	defer s.unsubscribeLocked(c)
	for {
		s.mu.Unlock()
		over := false
		select {
		case <-c:
		case <-timer.C:
			over = true
		case <-ctx.Done():
			over = true
		}
		s.mu.Lock()
		if cond() {
			return true
		}
		if over {
			return false
		}
	}
}

// ourHost reports whether a name in a file URL is this machine's.
func ourHost(name string) bool {
	if name == "" || strings.EqualFold(name, "localhost") {
		return true
	}
	own, err := os.Hostname()
	if err != nil {
		return false
	}
	short, _, _ := strings.Cut(own, ".")
	return strings.EqualFold(name, own) || strings.EqualFold(name, short)
}

// folderOf reads what a shell reports as its folder: a file URL of this machine,
// or a path.
func folderOf(text string) (string, bool) {
	if rest, ok := strings.CutPrefix(text, "file://"); ok {
		i := strings.IndexByte(rest, '/')
		if i < 0 || !ourHost(rest[:i]) {
			return "", false
		}
		p, err := url.PathUnescape(rest[i:])
		if err != nil {
			return "", false
		}
		text = p
	}
	if !filepath.IsAbs(text) || len(text) > 4096 {
		return "", false
	}
	return filepath.Clean(text), true
}
