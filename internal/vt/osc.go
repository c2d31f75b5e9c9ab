package vt

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Bounds of what an OSC may leave behind, in bytes.
const (
	maxTitle  = 1024
	maxTitles = 10
	maxDir    = 4096
	maxNote   = 4096
	maxStatus = 16 << 10
)

// osc runs an operating system command.
func (s *Screen) osc(b []byte) {
	number, arg, hasArg := strings.Cut(string(b), ";")
	n, err := strconv.Atoi(number)
	if err != nil || n < 0 || len(number) > 5 {
		return
	}
	switch n {
	case 0, 1, 2:
		s.setTitle(n, cleanText([]byte(arg), maxTitle))
	case 4:
		s.paletteColors(arg)
	case 7:
		s.dir = cleanText([]byte(arg), maxDir)
		s.emit(Event{Kind: EventDir, Text: s.dir})
	case 8:
		s.hyperlink(arg)
	case 9:
		s.notify9(arg)
	case 10, 11, 12, 13, 14, 15, 16, 17, 18, 19:
		s.dynamicColors(n, arg)
	case 5, 21, 22, 50, 51, 60, 66, 701, 702, 708:
		// Special colours, kitty's colours, pointer shapes, fonts, allowed
		// features, text sizes, rxvt's reports: none here.
		if strings.Contains(arg, "?") {
			s.query()
		}
	case 1337: // iTerm's reports, and files that it would ask for
		if strings.HasPrefix(arg, "Re") {
			s.query()
		}
	case 52:
		s.clipboard(arg)
	case 99:
		s.notify99(arg)
	case 104:
		s.resetPalette(arg)
	case 110, 111, 112, 113, 114, 115, 116, 117, 118, 119:
		s.colors.unset(dynamicColor(n - 100))
	case 133:
		s.promptMark(arg)
	case 777:
		s.notify777(arg)
	case 7501:
		s.programStatus(b, arg, hasArg)
	}
}

// cleanText makes text from a program safe to show and store: valid UTF-8, no
// control characters, at most limit bytes.
func cleanText(b []byte, limit int) string {
	var out strings.Builder
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		b = b[n:]
		if r < 0x20 || r >= 0x7f && r < 0xa0 {
			continue
		}
		if out.Len()+utf8.RuneLen(r) > limit {
			break
		}
		out.WriteRune(r)
	}
	return out.String()
}

// titles holds the window title, the icon title and the stack of both.
type titles struct {
	title, icon string
	stack       []titlePair
}

type titlePair struct{ title, icon string }

// push is XTWINOPS 22; a full stack loses its oldest entry.
func (t *titles) push() {
	if len(t.stack) == maxTitles {
		t.stack = append(t.stack[:0], t.stack[1:]...)
	}
	t.stack = append(t.stack, titlePair{t.title, t.icon})
}

// popTitle is XTWINOPS 23: 1 brings back the icon title, 2 the title, 0 both.
func (s *Screen) popTitle(which int) {
	t := &s.titles
	k := len(t.stack) - 1
	if k < 0 {
		return
	}
	top := t.stack[k]
	t.stack = t.stack[:k]
	if which != 1 {
		s.setTitle(2, top.title)
		s.elsewhere("\x1b]2;%s\x1b\\", top.title)
	}
	if which != 2 {
		s.setTitle(1, top.icon)
		s.elsewhere("\x1b]1;%s\x1b\\", top.icon)
	}
}

// setTitle is OSC 0 (both), 1 (icon) and 2 (title).
func (s *Screen) setTitle(n int, text string) {
	t := &s.titles
	if n != 1 && t.title != text {
		t.title = text
		s.emit(Event{Kind: EventTitle, Text: text})
	}
	if n != 2 && t.icon != text {
		t.icon = text
		s.emit(Event{Kind: EventIconTitle, Text: text})
	}
}

// Title is the window title (OSC 0, 2).
func (s *Screen) Title() string { return s.titles.title }

// IconTitle is the icon title (OSC 0, 1).
func (s *Screen) IconTitle() string { return s.titles.icon }

// Dir is the working directory as the program announced it last (OSC 7),
// usually a file URL with a host name.
func (s *Screen) Dir() string { return s.dir }

// hyperlink is OSC 8: it changes the pen.
func (s *Screen) hyperlink(arg string) {
	params, uri, ok := strings.Cut(arg, ";")
	if !ok || len(uri) > maxLinkBytes {
		return
	}
	e := s.ext(s.cur.pen.lo)
	e.uri, e.id = cleanText([]byte(uri), maxLinkBytes), ""
	for kv := range strings.SplitSeq(params, ":") {
		if v, ok := strings.CutPrefix(kv, "id="); ok && e.uri != "" {
			e.id = strings.Map(func(r rune) rune {
				if r == ';' || r == ':' {
					return -1
				}
				return r
			}, cleanText([]byte(v), 250))
		}
	}
	s.cur.pen.lo = s.cur.pen.lo&^extMask | s.internExt(e)
}

// notify9 is OSC 9: a notification, or with 4; a progress state.
func (s *Screen) notify9(arg string) {
	if arg == "4" || strings.HasPrefix(arg, "4;") {
		s.progress(strings.TrimPrefix(arg[1:], ";"))
		return
	}
	if k, _, ok := strings.Cut(arg, ";"); ok && len(k) <= 2 {
		if _, err := strconv.Atoi(k); err == nil {
			return // ConEmu's other commands
		}
	}
	if text := cleanText([]byte(arg), maxNote); text != "" {
		s.emit(Event{Kind: EventNotify, Text: text})
	}
}

func (s *Screen) progress(arg string) {
	state, percent, _ := strings.Cut(arg, ";")
	v, err := strconv.Atoi(state)
	if err != nil && state != "" || v < 0 || v > 4 {
		return
	}
	pct, _ := strconv.Atoi(strings.TrimSuffix(percent, ";"))
	s.emit(Event{Kind: EventProgress, Value: v, Percent: clamp(pct, 0, 100)})
}

// notify777 is rxvt's notify;title;body.
func (s *Screen) notify777(arg string) {
	f := strings.SplitN(arg, ";", 3)
	if f[0] != "notify" || len(f) < 2 {
		return
	}
	e := Event{Kind: EventNotify, Name: cleanText([]byte(f[1]), maxTitle)}
	if len(f) == 3 {
		e.Text = cleanText([]byte(f[2]), maxNote)
	}
	s.emit(e)
}

// notify99 is kitty's: metadata;payload. Payloads in parts or in base64 are
// left alone; a query stays unanswered.
func (s *Screen) notify99(arg string) {
	meta, body, _ := strings.Cut(arg, ";")
	title := true
	for kv := range strings.SplitSeq(meta, ":") {
		switch kv {
		case "p=?":
			s.query()
			return
		case "d=0", "e=1", "p=close", "p=alive", "p=icon", "p=buttons":
			return
		case "p=body":
			title = false
		}
	}
	text := cleanText([]byte(body), maxNote)
	if text == "" {
		return
	}
	e := Event{Kind: EventNotify, Text: text}
	if title {
		e = Event{Kind: EventNotify, Name: text}
	}
	s.emit(e)
}

// clipboard is OSC 52. Reading is refused without an answer.
func (s *Screen) clipboard(arg string) {
	selection, data, ok := strings.Cut(arg, ";")
	if !ok {
		return
	}
	if data == "?" {
		s.query()
		return
	}
	s.emit(Event{
		Kind: EventClipboard, Name: cleanText([]byte(selection), 16),
		Text: cleanText([]byte(data), maxString),
	})
}

// promptMark is OSC 133.
func (s *Screen) promptMark(arg string) {
	mark, params, _ := strings.Cut(arg, ";")
	if len(mark) != 1 {
		return
	}
	e := Event{Kind: EventPrompt, Name: cleanText([]byte(mark), 1), Text: cleanText([]byte(params), maxNote)}
	if mark == "D" {
		code, _, _ := strings.Cut(params, ";")
		if v, err := strconv.Atoi(code); err == nil {
			e.Value, e.HasExit = v, true
		}
	}
	s.emit(e)
}

// programStatus is OSC 7501. Its query is answered with its own bytes.
func (s *Screen) programStatus(raw []byte, arg string, hasArg bool) {
	if arg == "?" {
		if !s.query() || !s.opt.ProgramStatus {
			return
		}
		s.send("\x1b]%s%s", raw, s.out.terminator)
		return
	}
	if hasArg {
		s.emit(Event{Kind: EventStatus, Text: cleanText([]byte(arg), maxStatus)})
	}
}
