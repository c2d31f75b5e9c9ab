package host

// echo follows what a terminal prints while a text is typed into it and tells whether
// all of that is the text itself. Blanks, control characters and escape sequences
// don't count: line editors wrap and colour what is typed.
type echo struct {
	want  []byte // what of the text is still to come
	other bool   // something else was printed
	state echoState
}

// echoState is where in an escape sequence the output is.
type echoState byte

const (
	echoText    echoState = iota
	echoEscape            // behind ESC
	echoControl           // in a control sequence, up to its final byte
	echoString            // in a string, up to BEL or ESC
)

func newEcho(text string) *echo {
	e := &echo{}
	for i := range len(text) {
		if c := text[i]; c > ' ' && c != 0x7f {
			e.want = append(e.want, c)
		}
	}
	return e
}

// is takes in output and reports whether all of it so far is echo.
func (e *echo) is(data []byte) bool {
	for _, c := range data {
		if e.other {
			break
		}
		e.take(c)
	}
	return !e.other
}

func (e *echo) take(c byte) {
	switch e.state {
	case echoEscape:
		switch c {
		case '[':
			e.state = echoControl
		case ']', 'P', '_', '^', 'X':
			e.state = echoString
		case '(', ')', '#', ' ':
			// one more byte follows
		default:
			e.state = echoText
		}
	case echoControl:
		if c >= 0x40 && c <= 0x7e {
			e.state = echoText
		}
	case echoString:
		switch c {
		case 0x07:
			e.state = echoText
		case 0x1b:
			e.state = echoEscape
		}
	default:
		switch {
		case c == 0x1b:
			e.state = echoEscape
		case c <= ' ' || c == 0x7f:
		case len(e.want) > 0 && e.want[0] == c:
			e.want = e.want[1:]
		default:
			e.other = true
		}
	}
}
