package tui

import (
	"math/rand/v2"
	"strings"
	"testing"

	"termio/internal/vt"
)

// scribble draws something on a canvas: texts of every kind, over each other.
func scribble(r *rand.Rand, c *canvas) {
	texts := []string{
		"plain", "修复登录测试", "👩‍👩‍👧‍👦 family", "🇨🇭🇯🇵", "e\u0301a\u0308", "한글 각", "ｶﾀｶﾅ", "1️⃣ ☎️", "ไทยกำ", " ", "a\tb\x1b[31mc\u202e", "…─│╭",
	}
	styles := []vt.Style{
		{},
		{Attr: vt.Bold | vt.Inverse},
		{FG: vt.PaletteColor(1), BG: vt.PaletteColor(12)},
		{FG: vt.RGBColor(1, 2, 3)},
		{Underline: vt.CurlyUnderline, UL: vt.RGBColor(9, 8, 7)},
		{Underline: vt.SingleUnderline, UL: vt.PaletteColor(200)},
		{Link: "https://example.org/a;b", LinkID: "x"},
		{Link: "file:///a", Attr: vt.Dim},
		{BG: vt.PaletteColor(240)},
	}
	for range r.IntN(12) {
		area := rect{r.IntN(c.w+4) - 2, r.IntN(c.h), r.IntN(c.w), 1 + r.IntN(3)}
		st := styles[r.IntN(len(styles))]
		if r.IntN(4) == 0 {
			c.fill(area, st)
		} else {
			c.text(area, st, texts[r.IntN(len(texts))]+texts[r.IntN(len(texts))])
		}
	}
	if r.IntN(3) > 0 {
		c.cursor = vt.Cursor{X: r.IntN(c.w), Y: r.IntN(c.h), Visible: true, Style: r.IntN(7)}
	}
}

// differs compares a terminal with a canvas, cell for cell.
func differs(t *testing.T, s *vt.Screen, c *canvas) bool {
	t.Helper()
	for y := range c.h {
		for x := range c.w {
			if got, want := s.Cell(x, vt.Row(y)), c.at(x, y); got != want {
				t.Errorf("cell %d,%d is %+v, want %+v", x, y, got, want)
				return true
			}
		}
	}
	got, want := s.Cursor(), c.cursor
	if got.Visible != want.Visible || want.Visible && (got.X != want.X || got.Y != want.Y || got.Style != want.Style) {
		t.Errorf("the cursor is %+v, want %+v", got, want)
		return true
	}
	return false
}

// Whatever was shown before, a frame brings the terminal to what the canvas holds; and a
// canvas that is shown already costs no byte.
func TestFramesShowTheCanvas(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	p := painter{profile: TrueColor}
	w, h := 40, 8
	s := vt.New(vt.Options{Cols: w, Rows: h})
	_, _ = s.Write([]byte(strings.Repeat("what a shell left \x1b[45m", 40)))
	for range 3000 {
		switch r.IntN(50) {
		case 0:
			w, h = 1+r.IntN(60), 1+r.IntN(12)
			s.Resize(w, h)
		case 1:
			p.forget()
			_, _ = s.Write([]byte("\x1b[31mwritten by another\x1b[5;5H"))
		}
		var c canvas
		c.reset(w, h)
		scribble(r, &c)
		frame := p.frame(nil, &c)
		_, _ = s.Write(frame)
		if differs(t, s, &c) {
			t.Fatalf("the frame was %q", frame)
		}
		if again := p.frame(nil, &c); len(again) > 0 {
			t.Fatalf("the same canvas again costs %q", again)
		}
	}
}

// Only what has changed is drawn.
func TestFrameDrawsWhatChanged(t *testing.T) {
	p := painter{}
	var c canvas
	c.reset(80, 24)
	for y := range 24 {
		c.text(rect{0, y, 80, 1}, vt.Style{}, strings.Repeat("all the same ", 6))
	}
	p.frame(nil, &c)
	c.text(rect{10, 5, 1, 1}, vt.Style{}, "X")
	if got := p.frame(nil, &c); len(got) > 60 {
		t.Errorf("one cell costs %d bytes: %q", len(got), got)
	}
}

// A terminal with fewer colours gets the nearest ones that it has.
func TestNearestColors(t *testing.T) {
	tests := []struct {
		profile  Profile
		in, want vt.Color
	}{
		{TrueColor, vt.RGBColor(1, 2, 3), vt.RGBColor(1, 2, 3)},
		{Colors256, vt.RGBColor(255, 0, 0), vt.PaletteColor(196)},
		{Colors256, vt.RGBColor(128, 128, 128), vt.PaletteColor(244)},
		{Colors256, vt.PaletteColor(200), vt.PaletteColor(200)},
		{Colors16, vt.RGBColor(250, 10, 10), vt.PaletteColor(9)},
		{Colors16, vt.RGBColor(0, 0, 0), vt.PaletteColor(0)},
		{Colors16, vt.PaletteColor(196), vt.PaletteColor(9)},
		{Colors16, vt.PaletteColor(3), vt.PaletteColor(3)},
		{Colors16, 0, 0},
	}
	for _, tt := range tests {
		if got := tt.profile.nearest(tt.in); got != tt.want {
			t.Errorf("profile %d: %#x becomes %#x, want %#x", tt.profile, tt.in, got, tt.want)
		}
	}
}

// Texts are cut between clusters, by cells.
func TestTextIsCutByCells(t *testing.T) {
	tests := []struct {
		w        int
		in, want string
	}{
		{10, "short", "short"},
		{5, "longer than that", "long…"},
		{5, "修复登录", "修复…"},
		{6, "修复登录", "修复…"},
		{8, "修复登录", "修复登录"},
		{3, "👩‍👩‍👧‍👦👩‍👩‍👧‍👦", "👩‍👩‍👧‍👦…"},
		{2, "🇨🇭", "🇨🇭"},
		{1, "修", "…"},
		{20, "a\x1b[31mred\x07\u202e", "a[31mred"},
		{0, "a", ""},
	}
	for _, tt := range tests {
		var c canvas
		c.reset(30, 1)
		used := c.text(rect{0, 0, tt.w, 1}, vt.Style{}, tt.in)
		var got strings.Builder
		for x := range used {
			got.WriteString(c.at(x, 0).Text)
		}
		if got.String() != tt.want || used > tt.w {
			t.Errorf("%q in %d columns is %q (%d columns), want %q", tt.in, tt.w, got.String(), used, tt.want)
		}
	}
}
