package agent

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"termio/internal/api"
)

// A DialogRule recognises one kind of dialog by the structure of the screen.
type DialogRule struct {
	Name     string         `json:"name"`
	Kind     api.DialogKind `json:"kind"`
	Top      Pattern        `json:"top,omitzero"`
	Title    []Pattern      `json:"title,omitempty"`
	Question []Pattern      `json:"question,omitempty"`
	Ask      string         `json:"ask,omitempty"` // the question, where the screen has none in one place
	Option   Pattern        `json:"option,omitzero"`
	Body     Pattern        `json:"body,omitzero"`    // rows around what the dialog is about
	Ignore   []Pattern      `json:"ignore,omitempty"` // rows that are no detail
	Footer   []Pattern      `json:"footer,omitempty"`
	Within   int            `json:"within,omitempty"`
	Wrap     bool           `json:"wrap,omitempty"`   // rows below an option go on with its label
	Bare     bool           `json:"bare,omitempty"`   // there are no options to read
	Cursor   bool           `json:"cursor,omitempty"` // the terminal's cursor is on the row of the mark
	Answer   string         `json:"answer,omitempty"`
	Next     string         `json:"next,omitempty"` // key that leaves a dialog of several choices
	// Beside is the label of an option where they stand side by side, in the footer's row.
	Beside Pattern `json:"beside,omitzero"`
	// Coloured says that the live mark is a colour that no other option has.
	Coloured bool `json:"coloured,omitempty"`
	// Text is the option that a text of the person's own goes to; the mark has to be on
	// it. Absent: the dialog takes the text wherever the mark is.
	Text Pattern `json:"text,omitzero"`
}

// The words of DialogRule.Answer.
const (
	answerNumber = "number" // the digit chooses at once
	answerMove   = "move"   // the mark is moved there, then Return
)

const (
	defaultFooterWithin = 3
	maxDialogRows       = 60 // of a dialog, from its first option up or to its last down
	maxOptions          = 20
	maxQuestion         = 600  // runes
	maxDetail           = 2000 // bytes
	maxLabel            = 200  // runes
)

// defaultOption knows the usual forms of an option's row: a mark, a number, a box
// to tick, a label, in a frame or not.
var defaultOption = sync.OnceValue(func() Pattern {
	p, _ := NewPattern(`^[\s│┃]*(?:(?P<mark>[❯›▶▸→])\s*)?(?:(?P<number>\d{1,2})[.)]\s+)?(?:\[(?P<box>.)\]\s)?(?P<label>[^\s│┃].*?)[\s│┃]*$`)
	return p
})

// FindDialog looks for a dialog of the agent on the screen. What it goes by is where
// things stand: option lines under a question, one of them with the live mark, a
// footer right beneath, and nothing but blanks after that. The same words in prose,
// in code or in a diff do not have that place, because the composer stands below
// them.
func (m *Manifest) FindDialog(v ScreenView) (*api.Dialog, bool) {
	d, rule := m.findDialog(v)
	return d, rule != nil
}

func (m *Manifest) findDialog(v ScreenView) (*api.Dialog, *DialogRule) {
	if m == nil || len(m.Dialogs) == 0 {
		return nil, nil
	}
	if m.ComposerRule != nil && m.ComposerRule.find(v).Found {
		return nil, nil
	}
	// Of rules that fit, the one whose dialog begins nearest to the options counts: what
	// is above may quote the beginning of another. Of equals it is the first.
	var found *api.Dialog
	var rule *DialogRule
	nearest := -1
	for i := range m.Dialogs {
		if d, top := m.Dialogs[i].find(v); d != nil && top > nearest {
			found, rule, nearest = d, &m.Dialogs[i], top
		}
	}
	return found, rule
}

// optionRow is an option where it stands on the screen.
type optionRow struct {
	y, column int // of the label, in runes
	number    int
	label     string
	marked    bool
	box       string // of an option that is ticked, what its box holds
}

// find looks for the rule's dialog and the row that it begins with.
func (r *DialogRule) find(v ScreenView) (d *api.Dialog, top int) {
	last := v.last()
	foot := r.footer(v, last)
	if foot < 0 {
		return nil, 0
	}
	if r.Bare {
		return r.bare(v, foot)
	}
	var options []optionRow
	if r.Beside.set() {
		options = r.besides(v, foot)
	} else {
		options = r.options(v, foot)
	}
	if options == nil {
		return nil, 0
	}
	first := options[0].y
	top = r.top(v, first)
	if top < 0 || !r.titled(v, top, first) {
		return nil, 0
	}
	question, from, to := r.question(v, top, first)
	d = &api.Dialog{Kind: r.Kind, Question: question, Detail: r.detail(v, top, from, to, first)}
	for i, o := range options {
		opt := api.Option{Number: cmp.Or(o.number, i+1), Label: o.label, Selected: o.marked, Chosen: !isBlank(o.box)}
		d.Multiple = d.Multiple || o.box != ""
		if r.Answer != answerMove && o.number > 0 && o.number < 10 {
			opt.Key = strconv.Itoa(o.number)
		}
		d.Options = append(d.Options, opt)
	}
	return d, top
}

// bare finds a dialog by title and footer, and, if the rule asks for it, by a live mark
// between them.
func (r *DialogRule) bare(v ScreenView, foot int) (d *api.Dialog, top int) {
	top = r.top(v, foot)
	if top < 0 || !r.titled(v, top, foot) {
		return nil, 0
	}
	if r.Cursor && v.CursorY >= 0 {
		if o, ok := r.option(v.row(v.CursorY), v.CursorY); !ok || !o.marked || v.CursorY <= top || v.CursorY >= foot {
			return nil, 0
		}
	}
	question, _, _ := r.question(v, top, foot)
	return &api.Dialog{Kind: r.Kind, Question: question}, top
}

// footer is the row of the footer, or the one after the last row for a dialog that
// has none; -1 without a dialog.
func (r *DialogRule) footer(v ScreenView, last int) int {
	if len(r.Footer) == 0 {
		return last + 1
	}
	below := "" // the rows down to the next blank one: a narrow screen wraps the footer
	for y := last; y >= 0 && y > last-cmp.Or(r.Within, defaultFooterWithin); y-- {
		row := v.row(y)
		if isBlank(row) {
			below = ""
			continue
		}
		if _, ok := firstMatch(r.Footer, row+below); ok {
			return y
		}
		below = " " + unframe(row) + below
	}
	return -1
}

// options are the option rows above foot, in order: exactly one has the mark, and
// they are numbered from one or stand right below each other.
func (r *DialogRule) options(v ScreenView, foot int) []optionRow {
	var up []optionRow // from the bottom
	for y := foot - 1; y >= 0 && foot-y <= maxDialogRows; y-- {
		o, ok := r.option(v.row(y), y)
		switch {
		case ok && (len(up) == 0 || o.follows(up[len(up)-1])):
			up = append(up, o)
			if o.number == 1 || len(up) > maxOptions {
				y = 0
			}
		case len(up) > 0 && up[0].number == 0:
			y = 0 // options without numbers have nothing between them
		}
	}
	if len(up) == 0 || len(up) > maxOptions || up[0].number > 0 && up[len(up)-1].number != 1 {
		return nil
	}
	if r.Coloured {
		slices.Reverse(up)
		return r.coloured(v, up)
	}
	marks := 0
	options := make([]optionRow, 0, len(up))
	for i := len(up) - 1; i >= 0; i-- {
		if up[i].marked && (!r.Cursor || v.CursorY < 0 || up[i].y == v.CursorY) {
			marks++
		}
		options = append(options, up[i])
	}
	if r.Wrap {
		r.unwrap(v, options, foot)
	}
	if marks != 1 || len(options) == 1 && options[0].number == 0 {
		return nil
	}
	return options
}

// besides are the options that stand side by side in the footer's row.
func (r *DialogRule) besides(v ScreenView, foot int) (options []optionRow) {
	row := v.row(foot)
	for _, at := range r.Beside.re.FindAllStringIndex(row, maxOptions+1) {
		options = append(options, optionRow{y: foot, column: utf8.RuneCountInString(row[:at[0]]), label: clean(row[at[0]:at[1]], maxLabel)})
	}
	if len(options) < 2 || len(options) > maxOptions {
		return nil
	}
	return r.coloured(v, options)
}

// coloured marks the one option that has colours of its own, all others having the
// same. Of two nobody could tell which of them it is: none is marked then, as where the
// colours are not known.
func (r *DialogRule) coloured(v ScreenView, options []optionRow) []optionRow {
	if v.Colours == nil || len(options) < 3 {
		return options
	}
	counts := map[uint64]int{}
	for _, o := range options {
		counts[v.Colours(o.column, o.y)]++
	}
	if len(counts) != 2 {
		return nil // it is just being drawn, or no dialog
	}
	for i, o := range options {
		options[i].marked = counts[v.Colours(o.column, o.y)] == 1
	}
	return options
}

// unwrap adds to each label the rows below it that are indented as far.
func (r *DialogRule) unwrap(v ScreenView, options []optionRow, foot int) {
	for i := range options {
		o, end := &options[i], foot
		if i+1 < len(options) {
			end = options[i+1].y
		}
		for y := o.y + 1; y < end; y++ {
			row := []rune(v.row(y))
			if len(row) <= o.column || !isBlank(string(row[:o.column])) {
				break
			}
			o.label = clean(o.label+" "+string(row), maxLabel)
		}
	}
}

// follows reports whether below, the option found last, can be the next one after o.
func (o optionRow) follows(below optionRow) bool {
	if o.number > 0 || below.number > 0 {
		return o.number > 0 && o.number == below.number-1
	}
	return o.column == below.column
}

func (r *DialogRule) option(row string, y int) (optionRow, bool) {
	p := r.Option
	if !p.set() {
		p = defaultOption()
	}
	g, ok := p.groups(row)
	if !ok || isRuling(row) {
		return optionRow{}, false
	}
	o := optionRow{y: y, label: clean(g["label"], maxLabel), marked: strings.TrimSpace(g["mark"]) != "", box: g["box"]}
	o.number, _ = strconv.Atoi(g["number"])
	o.column = utf8.RuneCountInString(row[:max(strings.LastIndex(row, g["label"]), 0)])
	return o, o.label != ""
}

// top is the row that the dialog begins below, -1 when there should be one and is
// not.
func (r *DialogRule) top(v ScreenView, first int) int {
	if !r.Top.set() {
		return max(first-maxDialogRows, 0)
	}
	for y := first - 1; y >= 0 && first-y <= maxDialogRows; y-- {
		if r.Top.Match(v.row(y)) {
			return y
		}
	}
	if first < maxDialogRows && len(v.Rows) > 0 && !isBlank(v.row(0)) {
		return 0 // a dialog that is taller than the screen: its top has gone
	}
	return -1
}

func (r *DialogRule) titled(v ScreenView, top, first int) bool {
	if len(r.Title) == 0 {
		return true
	}
	for y := top; y < first; y++ {
		if _, ok := firstMatch(r.Title, v.row(y)); ok {
			return true
		}
	}
	return false
}

// question is the text that asks, and the rows from..to-1 that hold it.
func (r *DialogRule) question(v ScreenView, top, first int) (text string, from, to int) {
	if r.Ask != "" {
		return r.Ask, first, first
	}
	for y := first - 1; y >= top; y-- {
		if _, ok := firstMatch(r.Question, v.row(y)); ok {
			return clean(unframe(v.row(y)), maxQuestion), y, y + 1
		}
	}
	to = first
	for to > top && (isBlank(unframe(v.row(to-1))) || isRuling(v.row(to-1))) {
		to--
	}
	from = to
	if r.Top.Match(v.row(top)) {
		top++ // where the dialog begins is no part of what it asks
	}
	var lines []string
	for from > top && to-from < 6 && !isBlank(unframe(v.row(from-1))) && !isRuling(v.row(from-1)) {
		from--
		lines = append([]string{unframe(v.row(from))}, lines...)
	}
	return clean(strings.Join(lines, " "), maxQuestion), from, to
}

// detail is what the dialog shows besides the question: what stands in its body, or
// all of it.
func (r *DialogRule) detail(v ScreenView, top, from, to, first int) string {
	begin, end := top, first
	if r.Body.set() {
		var edges []int
		for y := top; y < first; y++ {
			if r.Body.Match(v.row(y)) {
				edges = append(edges, y)
			}
		}
		if len(edges) > 1 {
			begin, end = edges[0], edges[len(edges)-1]
		}
	}
	var lines []string
	for y := begin; y < end; y++ {
		row := v.row(y)
		if y >= from && y < to || isRuling(row) || isBlank(unframe(row)) {
			continue
		}
		if _, ok := firstMatch(r.Ignore, row); !ok {
			lines = append(lines, clean(unframe(row), maxLabel))
		}
	}
	return cut(strings.Join(lines, "\n"), maxDetail)
}

// Bounds of a prompt's text, from the contract of the command line.
const (
	promptLines = 12
	promptBytes = 1200
)

// Prompt tells a person what a session waits for: the question with its options if
// dialog has them, else the last lines of the screen, within 12 lines and 1,200
// characters. What must go to fit is the detail, never question or options.
func (m *Manifest) Prompt(v ScreenView, dialog *api.Dialog) string {
	if dialog == nil || dialog.Question == "" && len(dialog.Options) == 0 {
		return lastLines(v)
	}
	var lines []string
	if dialog.Question != "" {
		lines = append(lines, dialog.Question)
	}
	for _, o := range dialog.Options {
		line := o.Label
		if o.Number > 0 {
			line = strconv.Itoa(o.Number) + ". " + line
		}
		lines = append(lines, line)
	}
	lines = fitLines(lines)
	if dialog.Detail != "" {
		room := promptBytes - utf8.RuneCountInString(strings.Join(lines, "\n")) - 1
		head := strings.Split(dialog.Detail, "\n")
		head = head[:min(len(head), max(promptLines-len(lines), 0))]
		if text := cutRunes(strings.Join(head, "\n"), room); text != "" {
			lines = append([]string{text}, lines...)
		}
	}
	return strings.Join(lines, "\n")
}

// fitLines makes question and options fit by shortening the longest of them.
func fitLines(lines []string) []string {
	if len(lines) > promptLines { // more options than lines: the last line holds the rest
		lines = append(lines[:promptLines-1:promptLines-1], strings.Join(lines[promptLines-1:], "; "))
	}
	for limit := maxQuestion; utf8.RuneCountInString(strings.Join(lines, "\n")) > promptBytes; limit = limit * 3 / 4 {
		for i := range lines {
			lines[i] = cutRunes(lines[i], max(limit, 8))
		}
		if limit < 8 {
			break
		}
	}
	return lines
}

func cutRunes(s string, limit int) string {
	if limit <= 1 {
		return ""
	}
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	n := 0
	for i := range s {
		if n++; n == limit {
			return s[:i] + "…"
		}
	}
	return s
}

// lastLines are the last lines of the screen that are not blank.
func lastLines(v ScreenView) string {
	var lines []string
	size := 0
	for y := v.last(); y >= 0 && len(lines) < promptLines; y-- {
		row := strings.TrimRight(v.row(y), " ")
		if isBlank(row) {
			continue
		}
		size += utf8.RuneCountInString(row) + 1
		if size > promptBytes+1 {
			if len(lines) == 0 {
				lines = append(lines, cutRunes(row, promptBytes))
			}
			break
		}
		lines = append([]string{row}, lines...)
	}
	return strings.Join(lines, "\n")
}
