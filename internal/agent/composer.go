package agent

import (
	"cmp"
	"strings"
	"unicode/utf8"
)

// A ComposerRule recognises the line that takes the person's text.
type ComposerRule struct {
	Prompt Pattern   `json:"prompt"` // first row; the group draft is what is typed
	More   Pattern   `json:"more,omitzero"`
	Above  Pattern   `json:"above,omitzero"`
	Below  Pattern   `json:"below,omitzero"`
	Empty  []Pattern `json:"empty,omitempty"`  // drafts that are none
	Cursor bool      `json:"cursor,omitempty"` // the terminal's cursor shows, and is in it
	Within int       `json:"within,omitempty"`
	// Working is found near the composer while a turn runs.
	Working []Pattern `json:"working,omitempty"`
}

// A Composer is what was found of the composer on a screen.
type Composer struct {
	Found bool
	Draft string // what is typed and not sent; a suggestion is none
	Empty bool   // found, and nothing is typed
	Row   int    // its first row in the viewport
}

const (
	defaultComposerWithin = 12
	maxDraftRows          = 40
)

// Composer looks for the agent's composer on the screen.
func (m *Manifest) Composer(v ScreenView) Composer {
	if m == nil || m.ComposerRule == nil {
		return Composer{}
	}
	return m.ComposerRule.find(v)
}

// find looks from the bottom: text that looks like a composer stands in what the
// agent printed as well, but the live one is the last.
func (r *ComposerRule) find(v ScreenView) Composer {
	c, _ := r.locate(v)
	return c
}

// locate is find with the row after the composer's last.
func (r *ComposerRule) locate(v ScreenView) (c Composer, end int) {
	last := v.last()
	for y := last; y >= 0 && last-y < cmp.Or(r.Within, defaultComposerWithin)+maxDraftRows; y-- {
		g, ok := r.Prompt.groups(v.row(y))
		if !ok || r.Above.set() && !r.Above.Match(v.row(y-1)) {
			continue
		}
		lines := []string{g["draft"]}
		dim := r.dim(v, y, g["draft"])
		end = y + 1
		for ; r.More.set() && end <= last && end-y < maxDraftRows; end++ {
			if r.Below.set() && r.Below.Match(v.row(end)) {
				break
			}
			more, ok := r.More.groups(v.row(end))
			if !ok {
				break
			}
			lines = append(lines, more["draft"])
			dim = dim && (isBlank(more["draft"]) || r.dim(v, end, more["draft"]))
		}
		if r.Below.set() && !r.Below.Match(v.row(end)) || last-end >= cmp.Or(r.Within, defaultComposerWithin) {
			continue
		}
		if r.Cursor && !v.cursorIn(y, end) {
			continue
		}
		c = Composer{Found: true, Row: y, Draft: strings.TrimSpace(strings.Join(lines, "\n"))}
		if _, ok := firstMatch(r.Empty, c.Draft); ok || dim {
			c.Draft = ""
		}
		c.Empty = c.Draft == ""
		return c, end
	}
	return Composer{}, 0
}

// markRows is how far above the composer the mark of a running turn may stand: a list
// of what is to be done, or queued prompts, come between the two.
const markRows = 16

// turn is what stands around the composer: the pattern by which a turn runs, nil for
// none. ok is false while that cannot be said: the composer is not drawn, or the cursor
// is elsewhere, as in the middle of a drawing or in a view that has a composer in it.
func (r *ComposerRule) turn(v ScreenView) (mark *Pattern, ok bool) {
	if len(r.Working) == 0 {
		return nil, false
	}
	c, end := r.locate(v)
	if !c.Found || v.CursorY >= 0 && (v.CursorY < c.Row || v.CursorY >= end) {
		return nil, false
	}
	for y := max(c.Row-markRows, 0); y < len(v.Rows); y++ {
		if y >= c.Row && y < end {
			continue // what somebody types is no mark
		}
		if p, found := firstMatch(r.Working, v.row(y)); found {
			return &p, true
		}
	}
	return nil, true
}

// dim reports whether a draft is only a suggestion: all of it is faint, but for the
// one cell that the cursor may stand on.
func (r *ComposerRule) dim(v ScreenView, y int, draft string) bool {
	text := strings.TrimSpace(draft)
	if v.Dim == nil || text == "" {
		return false
	}
	row := v.row(y)
	x := utf8.RuneCountInString(row[:max(strings.LastIndex(row, text), 0)])
	bright := 0
	for i, c := range []rune(text) {
		if c != ' ' && !v.Dim(x+i, y) {
			bright++
		}
	}
	return bright == 0 || bright == 1 && utf8.RuneCountInString(text) > 1
}

// Seen are the signs of readiness that the machine remembers of the running agent.
type Seen struct {
	Program string   // state that OSC 7501 said last, in a manifest's word
	File    string   // state that the status file said last
	Hooks   []string // names of hook events since the start
}

// Ready reports whether the agent takes input, and which sign says so. A dialog on
// the screen means that it does not, whatever the signs, and so does a composer that
// the manifest describes and that is not there. Without any sign in the
// manifest nothing is known, and the answer is false with an empty sign: the caller
// then waits for a bounded time only.
func (m *Manifest) Ready(v ScreenView, seen Seen) (ok bool, sign string) {
	if m == nil || m.ReadySigns == nil {
		return false, ""
	}
	if d, open := m.FindDialog(v); open {
		return false, "a dialog is open: " + d.Question
	}
	r := m.ReadySigns
	if m.ComposerRule != nil {
		switch c := m.ComposerRule.find(v); {
		case !c.Found: // a pager, a picker, or a version that draws it otherwise
			return false, "the composer is not on the screen"
		case c.Empty && r.Composer:
			return true, "the composer is empty"
		}
	}
	if r.Program != "" && seen.Program == r.Program {
		return true, "OSC 7501 says " + r.Program
	}
	if r.File != "" && seen.File == r.File {
		return true, "the status file says " + r.File
	}
	for _, h := range seen.Hooks {
		if r.Hook != "" && h == r.Hook {
			return true, "the hook " + h + " came"
		}
	}
	if p, ok := firstMatch(r.Title, v.Title); ok {
		return true, "the title matches " + p.String()
	}
	for _, row := range v.Rows {
		if p, ok := firstMatch(r.Screen, row); ok {
			return true, "the screen matches " + p.String()
		}
	}
	return false, "no sign of readiness yet"
}
