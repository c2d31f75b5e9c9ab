package vt

import "unicode/utf8"

// classOf returns the class byte of r: its width in bits 0–1, how it joins
// grapheme clusters in bits 2–5, and bit 6 if U+FE0F after it asks for an
// emoji. The table is constant data, so it costs nothing at start.
func classOf(r rune) uint8 {
	i := int(uint32(r) >> 7)
	if i >= len(widthIndex) {
		i = len(widthIndex) - 1
	}
	return widthBlocks[int(widthIndex[i])<<7|int(r&0x7f)]
}

const (
	classWidth     = 0x03
	classVariation = 0x40
	classJoinShift = 2
	classJoinMask  = 0x0f
)

// How a rune joins clusters (Unicode Standard Annex 29, table 2, and the
// Indic_Conjunct_Break property).
const (
	joinOther = iota
	joinExtend
	joinZWJ
	joinSpacing
	joinL
	joinV
	joinT
	joinLV
	joinLVT
	joinRegional
	joinPict
	joinModifier // emoji modifier: extends a pictograph, else stands alone
	joinLinker
	joinControl
	joinConsonant
)

// clusterState is what has to be known of a cluster to tell whether the next
// rune joins it. The zero state joins nothing. The numbers stand in the binary
// form.
type clusterState uint8

const (
	stateNone clusterState = iota
	stateOther
	stateL
	stateV         // after V or LV
	stateT         // after T or LVT
	stateRegional  // one regional indicator
	statePict      // pictograph and extenders
	statePictZWJ   // pictograph, extenders, joiner
	stateConsonant // consonant and extenders
	stateLinked    // consonant, extenders and at least one linker
)

// next reports whether a rune of class cl joins the cluster, and the state of
// the cluster that it is then in. Rules GB6–GB13 of annex 29; GB9b (prepend)
// is left out: those signs have a width of their own.
func (st clusterState) next(cl uint8) (joins bool, after clusterState) {
	switch cl >> classJoinShift & classJoinMask {
	case joinExtend:
		if st == statePictZWJ {
			return true, stateOther
		}
		return st != stateNone, st.extended()
	case joinLinker:
		if st == stateConsonant || st == stateLinked {
			return true, stateLinked
		}
		return st != stateNone, stateOther
	case joinZWJ:
		switch st {
		case statePict:
			return true, statePictZWJ
		case stateConsonant, stateLinked:
			return true, st
		}
		return st != stateNone, stateOther
	case joinSpacing:
		return st != stateNone, stateOther
	case joinL:
		return st == stateL, stateL
	case joinV:
		return st == stateL || st == stateV, stateV
	case joinT:
		return st == stateV || st == stateT, stateT
	case joinLV:
		return st == stateL, stateV
	case joinLVT:
		return st == stateL, stateT
	case joinRegional:
		if st == stateRegional {
			return true, stateOther
		}
		return false, stateRegional
	case joinPict:
		return st == statePictZWJ, statePict
	case joinModifier:
		return st == statePict, statePict
	case joinConsonant:
		return st == stateLinked, stateConsonant
	case joinControl:
		return false, stateNone
	}
	return false, stateOther
}

// extended is the state after an extender.
func (st clusterState) extended() clusterState {
	switch st {
	case statePict, stateConsonant, stateLinked:
		return st
	}
	return stateOther
}

// cluster returns the bytes and the columns of the first grapheme cluster of
// s, with the rules the screen uses. Controls have no width.
func cluster(s string) (n, width int) {
	r, z := utf8.DecodeRuneInString(s)
	if r < 0x20 || r >= 0x7f && r < 0xa0 {
		return z, 0
	}
	cl := classOf(r)
	width = int(cl & classWidth)
	base := cl
	_, st := stateNone.next(cl)
	n = z
	for n < len(s) {
		if s[n] < utf8.RuneSelf {
			return n, width
		}
		r, z := utf8.DecodeRuneInString(s[n:])
		if r < 0xa0 {
			return n, width
		}
		cl := classOf(r)
		joins, after := st.next(cl)
		if !joins && cl&classWidth != 0 {
			return n, width
		}
		st = after
		width = widen(width, base, cl, r)
		n += z
	}
	return n, width
}

// widen is the width of a cluster after r joined it.
func widen(width int, base, cl uint8, r rune) int {
	if r == variationEmoji && base&classVariation != 0 || joinsWide(cl) {
		return 2
	}
	return width
}

// joinsWide: an emoji that joined makes the whole cluster one.
func joinsWide(cl uint8) bool {
	if cl&classWidth != 2 {
		return false
	}
	k := cl >> classJoinShift & classJoinMask
	return k == joinPict || k == joinModifier || k == joinRegional
}

const variationEmoji = 0xfe0f

// Width is the number of terminal columns that s takes, grapheme clusters
// counted as the screen counts them. Control characters count nothing.
func Width(s string) int {
	w := 0
	for len(s) > 0 {
		if c := s[0]; c < utf8.RuneSelf && (len(s) == 1 || s[1] < utf8.RuneSelf) {
			if c >= 0x20 && c != 0x7f {
				w++
			}
			s = s[1:]
			continue
		}
		n, k := cluster(s)
		w += k
		s = s[n:]
	}
	return w
}

// Cut returns the longest prefix of s, in whole grapheme clusters, that fits
// into the given number of columns, and the columns it takes.
func Cut(s string, columns int) (prefix string, width int) {
	i := 0
	for i < len(s) {
		n, w := cluster(s[i:])
		if width+w > columns {
			break
		}
		width += w
		i += n
	}
	return s[:i], width
}
