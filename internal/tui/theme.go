package tui

import "termio/internal/vt"

// A Look says what the outer terminal can show and what its person wants of it.
type Look struct {
	Profile Profile
	Plain   bool // no colours of our own (NO_COLOR); sessions keep theirs
	Light   bool // what to begin with, until the terminal has told its background
	Still   bool // nothing moves that need not
}

// A theme is every style that the interface draws with; parts name what they draw, never
// a colour.
type theme struct {
	text, dim, faint vt.Style
	title            vt.Style // headings of sections and panes
	selected         vt.Style // the row that is selected while the sidebar has the keys
	shown            vt.Style // the same row while the pane has them
	rule             vt.Style // lines between parts
	ruleLive         vt.Style // the line beside the part that has the keys
	bar              vt.Style // the last row
	key              vt.Style // a key's name in a hint
	panel            vt.Style // the ground of what lies over everything else
	panelEdge        vt.Style
	input            vt.Style // what is being typed
	match            vt.Style // the letters that were looked for
	working          vt.Style
	done             vt.Style
	needsYou         vt.Style // the mark, and the title beside it
	alarm            vt.Style // a count that wants to be seen from the other side of the room
	idle             vt.Style
	closed           vt.Style
	unread           vt.Style // a title with something new in it
	errText          vt.Style
	// tint colours an agent's mark.
	tint func(rgb uint32) vt.Style
}

// newTheme makes the theme of a look. On 16 colours the terminal's own palette decides
// what they are; more are used where there are more.
func newTheme(l Look) theme {
	if l.Plain {
		return plainTheme()
	}
	fg := func(c vt.Color) vt.Style { return vt.Style{FG: c} }
	pick := func(basic uint8, dark, light uint32) vt.Color {
		switch {
		case l.Profile == Colors16:
			return vt.PaletteColor(basic)
		case l.Light:
			return rgb(light)
		}
		return rgb(dark)
	}
	with := func(s vt.Style, a vt.Attr) vt.Style { s.Attr |= a; return s }
	on := func(s vt.Style, bg vt.Color) vt.Style { s.BG = bg; return s }

	grey, faint := pick(8, 0x8a8f98, 0x6b7280), pick(8, 0x5c626b, 0x9aa1ab)
	green, amber, blue, red := pick(2, 0x6cc38a, 0x1f7a41), pick(3, 0xf0b04f, 0x9a5b00), pick(4, 0x6ea8fe, 0x1d5fd1), pick(1, 0xf0716b, 0xb3261e)
	ground, raised, mark := vt.Color(0), vt.Color(0), vt.Color(0)
	if l.Profile != Colors16 {
		ground, raised, mark = pick(0, 0x2b3038, 0xe3e8f0), pick(0, 0x1e2228, 0xf3f5f8), pick(0, 0x24282f, 0xecf0f5)
	}
	t := theme{
		dim: fg(grey), faint: fg(faint), title: vt.Style{Attr: vt.Bold},
		selected: on(vt.Style{Attr: vt.Bold}, ground), shown: on(vt.Style{}, mark),
		rule: fg(faint), ruleLive: fg(blue), bar: fg(grey), key: with(fg(blue), vt.Bold),
		panel: on(vt.Style{}, raised), panelEdge: on(fg(faint), raised), input: vt.Style{}, match: with(fg(blue), vt.Bold),
		working: fg(blue), done: fg(green), needsYou: with(fg(amber), vt.Bold), alarm: with(fg(amber), vt.Bold|vt.Inverse),
		idle: fg(faint), closed: fg(faint), unread: vt.Style{Attr: vt.Bold}, errText: fg(red),
		tint: func(c uint32) vt.Style { return fg(rgb(c)) },
	}
	if l.Profile == Colors16 {
		t.selected, t.shown = vt.Style{Attr: vt.Inverse}, vt.Style{Attr: vt.Bold}
	}
	return t
}

// plainTheme tells everything apart without a colour.
func plainTheme() theme {
	bold, dim, inverse := vt.Style{Attr: vt.Bold}, vt.Style{Attr: vt.Dim}, vt.Style{Attr: vt.Inverse}
	return theme{
		dim: dim, faint: dim, title: bold, selected: inverse, shown: vt.Style{Underline: vt.SingleUnderline},
		rule: dim, ruleLive: bold, bar: dim, key: bold, match: vt.Style{Underline: vt.SingleUnderline},
		needsYou: bold, alarm: vt.Style{Attr: vt.Bold | vt.Inverse}, idle: dim, closed: dim, unread: bold, errText: bold,
		tint: func(uint32) vt.Style { return vt.Style{} },
	}
}

// rgb is a colour from 0xrrggbb.
func rgb(c uint32) vt.Color { return vt.RGBColor(uint8(c>>16), uint8(c>>8), uint8(c)) }

// under is st on the background of another style.
func under(st, ground vt.Style) vt.Style {
	st.BG = ground.BG
	st.Attr |= ground.Attr & (vt.Inverse | vt.Bold)
	if st.Underline == vt.NoUnderline {
		st.Underline = ground.Underline
	}
	return st
}

// isLight reports whether a background is a light one, as an eye weighs its colours.
func isLight(c colorMsg) bool {
	return 299*int(c.r)+587*int(c.g)+114*int(c.b) > 128*1000
}
