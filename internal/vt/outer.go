package vt

import "strconv"

// An outer terminal is somebody's own, on which a session is shown for a while. It is
// given back as it was, so nothing of what it keeps is used up: its stacks of titles
// and of keyboard flags get one entry each, and its saved modes (XTSAVE) are ours.
// The session's own stacks and saved modes live in its Screen.

// AppendOuterEnter appends what has an outer terminal keep its state, on its main
// screen, before a session is shown on it.
func AppendOuterEnter(dst []byte) []byte {
	dst = append(dst, "\x1b[22;0t"...)
	return append(appendOuterModes(dst, 's'), "\x1b[>0u"...)
}

// AppendOuterLeave appends what brings an outer terminal back to the state that
// AppendOuterEnter had it keep. One that does not know how to keep some of it has
// the defaults then. The cursor ends at the top left of the main screen.
func AppendOuterLeave(dst []byte) []byte {
	dst = append(dst, ""+
		"\x18\x1b\\"+ // end what was under way
		"\x1b[?2026l"+outerMain+"\x1b[<1u"+resetPen+outerMargins+resetModes...)
	return append(appendOuterModes(dst, 'r'), "\x1b[23;0t"...)
}

const (
	// outerMain goes to the main screen, with a plain keyboard on both.
	outerMain = "\x1b[=0;1u\x1b7\x1b[?1049l\x1b[=0;1u"
	// outerMargins ends margins and origin mode. A soft reset would, but takes the
	// keyboard's flags of some terminals with it.
	outerMargins = "\x1b[?69l\x1b[r\x1b[?6l"
)

// appendOuterModes appends XTSAVE or XTRESTORE of the modes that a session may set.
func appendOuterModes(dst []byte, final byte) []byte {
	dst = append(dst, "\x1b[?"...)
	for _, m := range privateModes {
		if m.bit&(mode132|modeAllow132|modeSync) == 0 {
			dst = append(strconv.AppendInt(dst, int64(m.number), 10), ';')
		}
	}
	dst[len(dst)-1] = final
	return dst
}

// AppendOuterReplay is AppendReplay for an outer terminal, while the host answers for
// the session: the mode that makes a terminal report its size on its own (2048) stays
// out. Output for it goes through a Filter.
func (s *Screen) AppendOuterReplay(dst []byte, historyLines int) []byte {
	modes := s.modes
	s.modes &^= modeResizeReports
	w := replayer{s: s, b: dst, outer: true}
	w.str("\x18\x1b\\\x1b[?2026h" + outerMain + resetPen + outerMargins + resetModes + "\x1b[?5W\x1b[H\x1b[2J")
	w.replay(historyLines)
	s.modes = modes
	return w.b
}

// AppendOuterBlank appends what clears an outer terminal for drawings that are not a
// replay: its main screen is shown, without any modes of a session's program.
func AppendOuterBlank(dst []byte) []byte {
	return append(dst, "\x18\x1b\\\x1b[?2026h"+outerMain+resetPen+outerMargins+resetModes+"\x1b[2J"...)
}
