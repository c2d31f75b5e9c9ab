package tui

import (
	"fmt"
	"strconv"
	"unicode/utf8"

	"termio/internal/vt"
)

// Profile says which colours the outer terminal shows.
type Profile uint8

// The profiles.
const (
	Colors16  Profile = iota // the palette's first 16
	Colors256                // all of the palette
	TrueColor                // red, green and blue
)

// A painter turns canvases into what has an outer terminal show them, drawing only
// what has changed since the one before.
type painter struct {
	profile Profile
	shown   canvas
	known   bool // the terminal shows what shown holds

	b      []byte
	pen    vt.Style
	x, y   int // the terminal's cursor; x < 0 where that is not known
	cursor vt.Cursor
}

// forget has the next frame drawn whole: the terminal may show anything.
func (p *painter) forget() { p.known = false }

// frame appends what brings the terminal from the frame before to c, in one
// synchronized update; nothing if it shows that already.
func (p *painter) frame(dst []byte, c *canvas) []byte {
	start := len(dst)
	p.b = append(dst, "\x1b[?2026h\x1b[?25l"...)
	p.pen, p.x, p.y = vt.Style{}, -1, 0
	p.b = append(p.b, "\x1b[0m"...)
	head := len(p.b)
	whole := !p.known || p.shown.w != c.w || p.shown.h != c.h
	if whole {
		p.b = append(p.b, "\x1b[2J"...)
		p.shown.reset(c.w, c.h)
	}
	for y := range c.h {
		p.row(c, y)
	}
	p.link("", "")
	if len(p.b) == head && p.cursor == c.cursor {
		p.known = true
		return p.b[:start]
	}
	if p.pen != (vt.Style{}) {
		p.b = append(p.b, "\x1b[0m"...)
	}
	if c.cursor.Visible {
		p.to(c.cursor.X, c.cursor.Y)
		if whole || p.cursor.Style != c.cursor.Style || !p.cursor.Visible {
			p.b = fmt.Appendf(p.b, "\x1b[%d q", c.cursor.Style)
		}
		p.b = append(p.b, "\x1b[?25h"...)
	}
	p.b = append(p.b, "\x1b[?2026l"...)
	copy(p.shown.cells, c.cells)
	p.cursor, p.known = c.cursor, true
	out := p.b
	p.b = nil
	return out
}

// row draws what has changed in a row.
func (p *painter) row(c *canvas, y int) {
	want, have := c.cells[y*c.w:(y+1)*c.w], p.shown.cells[y*c.w:(y+1)*c.w]
	end := len(want) // what follows is blank, and can be erased
	for end > 0 && want[end-1] == blankCell() {
		end--
	}
	for x := 0; x < end; x++ {
		if want[x] == have[x] {
			continue
		}
		if want[x].Width == 0 && x > 0 { // its other half has changed too, or is drawn again for it
			x--
		}
		p.to(x, y)
		x += p.cell(want[x]) - 1
	}
	for x := end; x < len(want); x++ {
		if want[x] != have[x] {
			p.to(end, y)
			p.style(vt.Style{})
			p.b = append(p.b, "\x1b[K"...)
			return
		}
	}
}

// cell draws a cell at the cursor and gives its width.
func (p *painter) cell(c vt.Cell) int {
	p.style(c.Style)
	if c.Text == "" {
		p.b = append(p.b, ' ')
	} else {
		p.b = append(p.b, c.Text...)
	}
	w := max(c.Width, 1)
	p.x += w
	if _, n := utf8.DecodeRuneInString(c.Text); n < len(c.Text) || p.x >= p.shown.w {
		p.x = -1 // terminals differ in how wide they think a cluster is, and at the edge
	}
	return w
}

// to moves the cursor.
func (p *painter) to(x, y int) {
	if p.x != x || p.y != y {
		p.b = append(p.b, "\x1b["...)
		p.b = strconv.AppendInt(p.b, int64(y+1), 10)
		p.b = append(p.b, ';')
		p.b = strconv.AppendInt(p.b, int64(x+1), 10)
		p.b = append(p.b, 'H')
		p.x, p.y = x, y
	}
}

// style sets the pen.
func (p *painter) style(st vt.Style) {
	if st == p.pen {
		return
	}
	p.link(st.Link, st.LinkID)
	was := p.pen
	p.pen = st
	was.Link, was.LinkID, st.Link, st.LinkID = "", "", "", ""
	if was == st {
		return
	}
	p.b = append(p.b, "\x1b[0"...)
	for i, n := range [...]int{1, 2, 3, 5, 7, 8, 9, 53} { // in the order of vt's attributes
		if st.Attr&(1<<i) != 0 {
			p.b = append(p.b, ';')
			p.b = strconv.AppendInt(p.b, int64(n), 10)
		}
	}
	switch {
	case st.Underline == vt.NoUnderline:
	case st.Underline == vt.SingleUnderline || p.profile == Colors16:
		p.b = append(p.b, ";4"...)
	default:
		p.b = fmt.Appendf(p.b, ";4:%d", st.Underline)
	}
	p.color(st.FG, 30)
	p.color(st.BG, 40)
	if p.profile != Colors16 {
		p.underlineColor(st.UL)
	}
	p.b = append(p.b, 'm')
}

// link begins or ends a hyperlink.
func (p *painter) link(target, id string) {
	if p.pen.Link == target && p.pen.LinkID == id {
		return
	}
	p.pen.Link, p.pen.LinkID = target, id
	p.b = append(p.b, "\x1b]8;"...)
	if id != "" {
		p.b = append(append(p.b, "id="...), id...)
	}
	p.b = append(append(append(p.b, ';'), target...), "\x1b\\"...)
}

// color appends the parameters of a colour; base is 30 for the text's, 40 for the
// background's.
func (p *painter) color(c vt.Color, base int) {
	c = p.profile.nearest(c)
	if i, ok := c.Palette(); ok {
		switch {
		case i < 8:
			p.b = fmt.Appendf(p.b, ";%d", base+int(i))
		case i < 16:
			p.b = fmt.Appendf(p.b, ";%d", base+60+int(i)-8)
		default:
			p.b = fmt.Appendf(p.b, ";%d;5;%d", base+8, i)
		}
	}
	if r, g, b, ok := c.RGB(); ok {
		p.b = fmt.Appendf(p.b, ";%d;2;%d;%d;%d", base+8, r, g, b)
	}
}

// underlineColor appends the parameters of an underline's colour.
func (p *painter) underlineColor(c vt.Color) {
	c = p.profile.nearest(c)
	if i, ok := c.Palette(); ok {
		p.b = fmt.Appendf(p.b, ";58:5:%d", i)
	}
	if r, g, b, ok := c.RGB(); ok {
		p.b = fmt.Appendf(p.b, ";58:2::%d:%d:%d", r, g, b)
	}
}

// nearest is the colour of the profile that comes closest to c.
func (f Profile) nearest(c vt.Color) vt.Color {
	switch i, palette := c.Palette(); {
	case c.IsDefault() || f == TrueColor:
		return c
	case palette && (f == Colors256 || i < 16):
		return c
	case palette:
		return nearest16(cube(i))
	}
	r, g, b, _ := c.RGB()
	if f == Colors16 {
		return nearest16(r, g, b)
	}
	return nearest256(r, g, b)
}

// level is a component of the palette's 6×6×6 cube.
func level(i uint8) uint8 {
	if i == 0 {
		return 0
	}
	return 55 + 40*i
}

// cube gives the components of an entry past the first 16 of the palette.
func cube(i uint8) (r, g, b uint8) {
	if i >= 232 {
		v := 8 + 10*(i-232)
		return v, v, v
	}
	i -= 16
	return level(i / 36), level(i / 6 % 6), level(i % 6)
}

func distance(r1, g1, b1, r2, g2, b2 uint8) int {
	sq := func(a, b uint8) int { d := int(a) - int(b); return d * d }
	return sq(r1, r2) + sq(g1, g2) + sq(b1, b2)
}

func nearest256(r, g, b uint8) vt.Color {
	step := func(v uint8) uint8 {
		if v < 48 {
			return 0
		}
		return uint8(min((int(v)-35)/40, 5))
	}
	best := 16 + 36*step(r) + 6*step(g) + step(b)
	cr, cg, cb := cube(best)
	grey := uint8(232 + min(max((int(r)+int(g)+int(b))/3-3, 0)/10, 23))
	gr, gg, gb := cube(grey)
	if distance(r, g, b, gr, gg, gb) < distance(r, g, b, cr, cg, cb) {
		best = grey
	}
	return vt.PaletteColor(best)
}

// nearest16 finds one of the first 16 entries, as terminals usually show them.
func nearest16(r, g, b uint8) vt.Color {
	best, least := 0, int(^uint(0)>>1)
	for i := range 16 {
		on := uint8(205)
		if i >= 8 {
			on = 255
		}
		bit := func(n int) uint8 {
			if i>>n&1 == 1 {
				return on
			}
			return 0
		}
		pr, pg, pb := bit(0), bit(1), bit(2)
		if i == 8 {
			pr, pg, pb = 127, 127, 127
		}
		if d := distance(r, g, b, pr, pg, pb); d < least {
			best, least = i, d
		}
	}
	return vt.PaletteColor(uint8(best))
}
