package vt

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Entries of the colour table past the palette: the dynamic colours of OSC 10
// to 19 follow it.
const (
	paletteSize  = 256
	colorFG      = paletteSize
	colorBG      = paletteSize + 1
	colorCursor  = paletteSize + 2
	dynamicCount = 10
)

func dynamicColor(osc int) int { return paletteSize + osc - 10 }

// colors answers colour queries. It holds what the program changed and the
// defaults, which are the host's to set.
type colors struct {
	defaults  [3]uint32 // foreground, background, cursor as 0xrrggbb
	custom    bool      // defaults were set
	overrides map[int]uint32
}

// SetColors sets the colours that a program is told are the terminal's, as
// 0xrrggbb. Without it: light grey on black. A program that asked for it (mode
// 2031) is told when light turns to dark or back.
func (s *Screen) SetColors(foreground, background, cursor uint32) {
	before := s.colors.scheme()
	s.colors.custom = true
	s.colors.defaults = [3]uint32{foreground & 0xffffff, background & 0xffffff, cursor & 0xffffff}
	if now := s.colors.scheme(); now != before && s.modes.has(modeColorScheme) {
		s.send("\x1b[?997;%dn", now)
	}
}

func (c *colors) get(i int) uint32 {
	if v, ok := c.overrides[i]; ok {
		return v
	}
	if i < paletteSize {
		return paletteDefault(i)
	}
	d := c.defaults
	if !c.custom {
		d = [3]uint32{0xe5e5e5, 0x000000, 0xe5e5e5}
	}
	switch i {
	case colorBG, dynamicColor(14), dynamicColor(16), dynamicColor(19):
		return d[1]
	case colorCursor:
		return d[2]
	}
	return d[0]
}

func (c *colors) set(i int, v uint32) {
	if c.overrides == nil {
		c.overrides = make(map[int]uint32)
	}
	c.overrides[i] = v
}

func (c *colors) unset(i int) {
	delete(c.overrides, i)
	if len(c.overrides) == 0 {
		c.overrides = nil
	}
}

// sorted gives the overrides in ascending order.
func (c *colors) sorted() []int { return slices.Sorted(maps.Keys(c.overrides)) }

// scheme is 1 for a dark background, 2 for a light one.
func (c *colors) scheme() int {
	v := c.get(colorBG)
	if 299*(v>>16&255)+587*(v>>8&255)+114*(v&255) > 127500 {
		return 2
	}
	return 1
}

// paletteDefault is xterm's: 16 named colours, a 6×6×6 cube, 24 greys.
func paletteDefault(i int) uint32 {
	switch {
	case i < 16:
		return [16]uint32{
			0x000000, 0xcd0000, 0x00cd00, 0xcdcd00, 0x0000ee, 0xcd00cd, 0x00cdcd, 0xe5e5e5,
			0x7f7f7f, 0xff0000, 0x00ff00, 0xffff00, 0x5c5cff, 0xff00ff, 0x00ffff, 0xffffff,
		}[i]
	case i < 232:
		level := func(n int) uint32 {
			if n == 0 {
				return 0
			}
			return uint32(55 + 40*n)
		}
		i -= 16
		return level(i/36)<<16 | level(i/6%6)<<8 | level(i%6)
	}
	g := uint32(8 + 10*(i-232))
	return g<<16 | g<<8 | g
}

// spell writes a colour as X11 does, 16 bits a component.
func spell(v uint32) string {
	r, g, b := v>>16&255, v>>8&255, v&255
	return fmt.Sprintf("rgb:%04x/%04x/%04x", r*257, g*257, b*257)
}

// parseColor reads rgb:r/g/b with 1–4 hexadecimal digits each, or #rgb in the
// same widths. Names are not known here.
func parseColor(text string) (uint32, bool) {
	var parts []string
	if spec, ok := strings.CutPrefix(text, "rgb:"); ok {
		parts = strings.Split(spec, "/")
	} else if spec, ok := strings.CutPrefix(text, "#"); ok && len(spec)%3 == 0 {
		k := len(spec) / 3
		parts = []string{spec[:k], spec[k : 2*k], spec[2*k:]}
	}
	if len(parts) != 3 {
		return 0, false
	}
	var v uint32
	for _, p := range parts {
		n, err := strconv.ParseUint(p, 16, 16)
		if err != nil || len(p) > 4 {
			return 0, false
		}
		v = v<<8 | uint32(n*255/(1<<(4*len(p))-1))
	}
	return v, true
}

// paletteColors is OSC 4: pairs of index and colour, or a question mark.
func (s *Screen) paletteColors(arg string) {
	f := strings.Split(arg, ";")
	for i := 0; i+1 < len(f); i += 2 {
		n, err := strconv.Atoi(f[i])
		if err != nil || n < 0 || n >= paletteSize {
			continue
		}
		s.color(n, fmt.Sprintf("4;%d", n), f[i+1])
	}
}

// dynamicColors is OSC 10–19: each further colour is for the next number.
func (s *Screen) dynamicColors(n int, arg string) {
	for spec := range strings.SplitSeq(arg, ";") {
		if n > 19 {
			return
		}
		s.color(dynamicColor(n), strconv.Itoa(n), spec)
		n++
	}
}

// color sets or reports one entry; name is how the OSC calls it.
func (s *Screen) color(i int, name, spec string) {
	if spec == "?" {
		s.reply("\x1b]%s;%s%s", name, spell(s.colors.get(i)), s.out.terminator)
		return
	}
	if v, ok := parseColor(spec); ok {
		s.colors.set(i, v)
	}
}

// resetPalette is OSC 104.
func (s *Screen) resetPalette(arg string) {
	for f := range strings.SplitSeq(arg, ";") {
		n, err := strconv.Atoi(f)
		switch {
		case arg == "":
			for i := range paletteSize {
				s.colors.unset(i)
			}
		case err == nil && n >= 0 && n < paletteSize:
			s.colors.unset(n)
		}
	}
}
