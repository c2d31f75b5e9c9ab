package vt

import (
	"strconv"
	"unicode/utf8"
)

// MouseAction is what a mouse event is.
type MouseAction uint8

// The mouse actions.
const (
	MousePress MouseAction = iota
	MouseRelease
	MouseMove
)

// MouseButtonID is a button, or the wheel, in the numbers of xterm.
type MouseButtonID uint8

// The buttons.
const (
	ButtonLeft       MouseButtonID = 0
	ButtonMiddle     MouseButtonID = 1
	ButtonRight      MouseButtonID = 2
	ButtonNone       MouseButtonID = 3
	ButtonWheelUp    MouseButtonID = 64
	ButtonWheelDown  MouseButtonID = 65
	ButtonWheelLeft  MouseButtonID = 66
	ButtonWheelRight MouseButtonID = 67
	ButtonBack       MouseButtonID = 128
	ButtonForward    MouseButtonID = 129
)

// Mouse is one mouse event.
type Mouse struct {
	Action MouseAction
	Button MouseButtonID // for MouseMove the one held, or ButtonNone
	Mods   Mods
	X, Y   int // cell from 0,0
	PX, PY int // pixel from 0,0; only for mode 1016
}

// wheelLines is how many cursor keys a notch of the wheel stands for.
const wheelLines = 3

// AppendMouse appends what the event sends to the program under the modes in
// force; nothing if the program did not ask for it.
func (s *Screen) AppendMouse(dst []byte, e Mouse) []byte {
	wheel := e.Button >= ButtonWheelUp && e.Button <= ButtonWheelRight
	if !s.wantsMouse(e, wheel) {
		if s.modes&mouseTracking == 0 && s.modes.has(modeAltScroll) && s.AltScreen() && e.Action == MousePress {
			return s.appendWheelKeys(dst, e.Button)
		}
		return dst
	}
	if e.X < 0 || e.Y < 0 || e.X >= s.cols || e.Y >= s.rows {
		return dst
	}
	code := int(e.Button)
	if e.Action == MouseMove {
		code += 32
	}
	if !s.modes.has(modeMouseX10) {
		for i, m := range []Mods{Shift, Alt, Ctrl} {
			if e.Mods&m != 0 {
				code += 4 << i
			}
		}
	}
	if s.modes&(modeMouseSGR|modeMousePixels) != 0 {
		x, y := e.X, e.Y
		if s.modes.has(modeMousePixels) {
			x, y = max(e.PX, 0), max(e.PY, 0)
		}
		final := byte('M')
		if e.Action == MouseRelease {
			final = 'm'
		}
		dst = append(dst, "\x1b[<"...)
		return append(appendInts(dst, code, x+1, y+1), final)
	}
	if e.Action == MouseRelease {
		code = code&^0xc3 | 3
	}
	return s.appendOldMouse(dst, code, e.X, e.Y)
}

func appendInts(dst []byte, v ...int) []byte {
	for i, n := range v {
		if i > 0 {
			dst = append(dst, ';')
		}
		dst = strconv.AppendInt(dst, int64(n), 10)
	}
	return dst
}

// appendOldMouse is the encodings that don't tell which button was released.
// What a byte or character can't hold is not sent.
func (s *Screen) appendOldMouse(dst []byte, code, x, y int) []byte {
	const offset = 32
	switch {
	case s.modes.has(modeMouseURXVT):
		return append(appendInts(append(dst, "\x1b["...), code+offset, x+1, y+1), 'M')
	case s.modes.has(modeMouseUTF8):
		if x+1+offset > 0x7ff || y+1+offset > 0x7ff {
			return dst
		}
		dst = append(dst, "\x1b[M"...)
		for _, v := range []int{code, x + 1, y + 1} {
			dst = utf8.AppendRune(dst, rune(v+offset))
		}
		return dst
	}
	if x+1+offset > 0xff || y+1+offset > 0xff {
		return dst
	}
	return append(dst, 0x1b, '[', 'M', byte(code+offset), byte(x+1+offset), byte(y+1+offset))
}

func (s *Screen) wantsMouse(e Mouse, wheel bool) bool {
	switch {
	case s.modes.has(modeMouseX10):
		return e.Action == MousePress && e.Button <= ButtonRight
	case wheel:
		return s.modes&mouseTracking != 0 && e.Action == MousePress
	case s.modes.has(modeMouseNormal):
		return e.Action != MouseMove
	case s.modes.has(modeMouseButton):
		return e.Action != MouseMove || e.Button != ButtonNone
	}
	return s.modes.has(modeMouseAny)
}

// appendWheelKeys is mode 1007: the wheel moves the cursor.
func (s *Screen) appendWheelKeys(dst []byte, b MouseButtonID) []byte {
	k := Key{Name: KeyUp}
	switch b {
	case ButtonWheelUp:
	case ButtonWheelDown:
		k.Name = KeyDown
	default:
		return dst
	}
	for range wheelLines {
		dst = s.AppendKey(dst, k)
	}
	return dst
}

// AppendFocus appends the focus event, if the program asked for it.
func (s *Screen) AppendFocus(dst []byte, focused bool) []byte {
	switch {
	case !s.modes.has(modeFocus):
		return dst
	case focused:
		return append(dst, "\x1b[I"...)
	}
	return append(dst, "\x1b[O"...)
}
