package vt

// EventKind says what an Event is about.
type EventKind uint8

// The kinds of events.
const (
	// EventTitle: the title changed (OSC 0, 2); Text is the new one.
	EventTitle EventKind = iota + 1
	// EventIconTitle: the icon title changed (OSC 0, 1).
	EventIconTitle
	// EventDir: the working directory as announced (OSC 7); Text is the URL
	// or path.
	EventDir
	// EventNotify: a desktop notification (OSC 9, 777, 99); Name is its
	// title, if it has one, Text its body.
	EventNotify
	// EventProgress: OSC 9;4; Value is the state (0 none, 1 normal, 2
	// error, 3 indeterminate, 4 paused), Percent 0–100.
	EventProgress
	// EventPrompt: a shell integration mark (OSC 133); Name is its letter,
	// A prompt, B input, C output, D end; Text the parameters. For D,
	// HasExit says whether Value is an exit code.
	EventPrompt
	// EventStatus: a report of the Program Status Protocol (OSC 7501);
	// Text is the record as sent.
	EventStatus
	// EventClipboard: a write to the clipboard (OSC 52); Name is the
	// selection, Text the data, still in base64.
	EventClipboard
	// EventBell: BEL; Value counts the bells that came together.
	EventBell
	// EventReset: the program reset the terminal (RIS).
	EventReset
)

// Event is something the program announced beside the picture. Texts are valid
// UTF-8 without control characters, and bounded.
type Event struct {
	Kind    EventKind
	Name    string
	Text    string
	Value   int
	Percent int
	HasExit bool
}

func (s *Screen) bell() {
	if k := len(s.out.events); k > 0 && s.out.events[k-1].Kind == EventBell {
		s.out.events[k-1].Value++
		return
	}
	s.emit(Event{Kind: EventBell, Value: 1})
}
