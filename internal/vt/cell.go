package vt

// A cell is 16 bytes without pointers, so that a screen costs the garbage
// collector nothing and a style change costs no lookup. Colours and attributes
// stand inline; the two rare things, grapheme clusters and hyperlinks with
// underline colours, are interned beside the screen (intern.go).
//
//	lo: rune or cluster index 0–20 | width role 21–22 | cluster 23 |
//	    protected 31 | attributes 32–39 | underline style 40–42 | ext index 48–63
type cell struct {
	lo     uint64
	fg, bg Color
}

const (
	runeMask = 1<<21 - 1

	// Width roles. A wide character is a head and a tail; a spacer fills the
	// last column of a row when a wide character had to wrap.
	roleMask   = 3 << 21
	roleHead   = 1 << 21
	roleTail   = 2 << 21
	roleSpacer = 3 << 21

	flagCluster = 1 << 23
	// contentMask covers what a cell shows; the rest of lo is its style.
	contentMask = runeMask | roleMask | flagCluster

	flagProtected = 1 << 31
	attrShift     = 32
	attrMask      = 0xff << attrShift
	ulShift       = 40
	ulMask        = 7 << ulShift
	extShift      = 48
	extMask       = 0xffff << extShift
)

// blank is the cell of a fresh screen: a space in default style.
var blank = cell{lo: ' '}

func (c cell) style() cell { return cell{c.lo &^ contentMask, c.fg, c.bg} }

func (c cell) isBlank() bool {
	return c.fg == 0 && c.bg == 0 && (c.lo == ' ' || c.lo == ' '|roleSpacer)
}

// isSpacer reports whether c still is the spacer of a wide character that had
// to wrap; one that was given a style since is a blank like others.
func (c cell) isSpacer() bool { return c == cell{lo: ' ' | roleSpacer} }

func (c cell) width() int {
	switch c.lo & roleMask {
	case roleHead:
		return 2
	case roleTail:
		return 0
	}
	return 1
}

// splitWide blanks the other half of a wide character that is about to lose
// the half at column x. Columns past the end of c are blank already.
func splitWide(c []cell, x int) {
	if x < 0 || x >= len(c) {
		return
	}
	switch c[x].lo & roleMask {
	case roleTail:
		c[x-1] = cell{lo: ' ', bg: c[x-1].bg}
	case roleHead:
		c[x+1] = cell{lo: ' ', bg: c[x+1].bg}
	}
}

// severAt blanks a wide character that has its head left of x and its tail at
// x, so that the row can be cut between x-1 and x.
func severAt(c []cell, x int) {
	if x > 0 && x < len(c) && c[x].lo&roleMask == roleTail {
		c[x-1] = cell{lo: ' ', bg: c[x-1].bg}
		c[x] = cell{lo: ' ', bg: c[x].bg}
	}
}

// Color is a colour as the program chose it: the terminal's default, an entry
// of the palette, or red, green and blue.
type Color uint32

const (
	colorPalette Color = 1 << 24
	colorRGB     Color = 2 << 24
)

// PaletteColor is entry i of the 256 colour palette.
func PaletteColor(i uint8) Color { return colorPalette | Color(i) }

// RGBColor is a direct colour.
func RGBColor(r, g, b uint8) Color {
	return colorRGB | Color(r)<<16 | Color(g)<<8 | Color(b)
}

// IsDefault reports whether c is the terminal's default colour.
func (c Color) IsDefault() bool { return c == 0 }

// Palette returns the palette index and whether c is a palette colour.
func (c Color) Palette() (uint8, bool) { return uint8(c), c>>24 == 1 }

// RGB returns the components and whether c is a direct colour.
func (c Color) RGB() (r, g, b uint8, ok bool) {
	return uint8(c >> 16), uint8(c >> 8), uint8(c), c>>24 == 2
}

// valid refuses what no program can have set; decoders call it.
func (c Color) valid() bool {
	switch c >> 24 {
	case 0:
		return c == 0
	case 1:
		return c&0xffff00 == 0
	case 2:
		return true
	}
	return false
}

// Attr is a set of character attributes (SGR 1–9 and 53).
type Attr uint8

// The attributes of a cell. Underlines have a style of their own.
const (
	Bold Attr = 1 << iota
	Dim
	Italic
	Blink
	Inverse
	Hidden
	Strike
	Overline
)

// Underline is the form of a cell's underline (SGR 4:n).
type Underline uint8

// The underline forms, in the order of SGR 4:0 to 4:5.
const (
	NoUnderline Underline = iota
	SingleUnderline
	DoubleUnderline
	CurlyUnderline
	DottedUnderline
	DashedUnderline
)

// Style is everything about a cell but its text.
type Style struct {
	Attr      Attr
	Underline Underline
	FG, BG    Color
	// UL is the underline's colour; default means the text's.
	UL Color
	// Link is the target of an OSC 8 hyperlink, LinkID its id parameter.
	Link, LinkID string
}

// Cell is one column of a row as a renderer wants it.
type Cell struct {
	// Text is a grapheme cluster; empty in the second column of a wide one.
	Text string
	// Width is 1 or 2 columns, 0 for the second column of a wide cluster.
	Width int
	Style Style
}
