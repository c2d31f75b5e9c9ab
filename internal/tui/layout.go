package tui

// Sizes, in cells, at which the interface changes its shape.
const (
	// besideCols is how wide a screen has to be for list and pane beside each other.
	besideCols = 70
	// listMin and listMax bound the list beside a pane.
	listMin, listMax = 24, 40
	// titleFrom is how high a screen has to be for a title over the pane.
	titleFrom = 10
)

// A layout is where everything is, as rectangles; parts that are not shown are empty.
type layout struct {
	head  rect // of the list: the roll-up
	list  rect // head and rows
	rows  rect // of the list
	ask   rect // the question of the selected session, below the rows
	rule  rect // between list and pane
	title rect // of the pane
	pane  rect
	bar   rect // the last row
}

// lay is the one function from a size to a layout. Where list and pane do not fit
// beside each other, the one that has the keys is shown.
func lay(cols, rows int, on focus, hidden bool, askRows int) layout {
	var l layout
	if cols <= 0 || rows <= 0 {
		return l
	}
	body := rect{0, 0, cols, rows - 1}
	l.bar = rect{0, rows - 1, cols, 1}
	beside := cols >= besideCols
	if beside && !hidden || on == onList {
		l.list = body
		if beside {
			l.list.w = max(min(cols*3/10, listMax), listMin)
			l.rule = rect{l.list.w, 0, 1, body.h}
		}
		l.head = l.list.row(0)
		l.rows = rect{l.list.x, l.list.y + 1, l.list.w, l.list.h - 1}
		if n := min(askRows, l.rows.h-3); n > 0 {
			l.rows.h -= n
			l.ask = rect{l.list.x, l.rows.y + l.rows.h, l.list.w, n}
		}
	}
	if beside || on == onPane {
		x := l.list.w + l.rule.w
		l.pane = rect{x, 0, cols - x, body.h}
		if rows >= titleFrom {
			l.title = l.pane.row(0)
			l.pane.y, l.pane.h = 1, l.pane.h-1
		}
	}
	if l.pane.empty() { // a session that is not seen keeps its size
		l.pane = rect{}
	}
	return l
}

// layout is where everything is now.
func (m *model) layout() layout { return lay(m.cols, m.rows, m.focus, m.hidden, m.askRows()) }
