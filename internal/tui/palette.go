package tui

import (
	"cmp"
	"context"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"termio/internal/api"
	"termio/internal/vt"
)

// A palette is a list of things to choose one from by typing parts of its name: every
// action with its keys, or the sessions, the projects and the files of the project.
type palette struct {
	title   string
	query   line
	all     []choice
	found   []found
	pick    int
	looking bool // for files
}

// A choice is one thing to choose.
type choice struct {
	name   string
	detail string // looked in as well, in second place
	right  string // at the right: keys, an age
	do     func(m *model) []command
}

// found is a choice that fits what was typed.
type found struct {
	choice
	score int
	at    []int // bytes of the name that begin what was typed
}

// filesMsg are the files of a project, for the palette that asked.
type filesMsg struct {
	from  *palette
	root  string
	files []string // below root
}

// paletteActions open palettes.
func paletteActions(w *words) []action {
	return []action{
		{"command", w.actCommand, []string{":", "ctrl-p"}, ":", (*model).openCommands},
		{"open", w.palette.open, []string{"o", "/"}, "o", (*model).openQuickly},
	}
}

// openCommands opens the palette of all actions, those that move in the list last.
func (m *model) openCommands() []command {
	p := &palette{title: m.words.actCommand, query: *newLine("›", "", nil)}
	for _, a := range m.acts {
		p.all = append(p.all, choice{name: a.title, detail: a.id, right: strings.Join(a.keys, " "), do: a.run})
	}
	moves := func(c choice) int { return map[bool]int{true: 1}[strings.HasPrefix(c.detail, "list.")] }
	slices.SortStableFunc(p.all, func(a, b choice) int { return moves(a) - moves(b) })
	p.look()
	m.push(p, false)
	return nil
}

// openQuickly opens the palette of what can be gone to. What waits for its person stands
// first, then what was active last.
func (m *model) openQuickly() []command {
	p := &palette{title: m.words.palette.open, query: *newLine("›", "", nil)}
	sessions := m.fleet.asking()
	waits := len(sessions)
	for _, s := range m.fleet.sessions {
		if s.Status != api.NeedsYou {
			sessions = append(sessions, s)
		}
	}
	closed := func(s api.SessionInfo) int { return map[bool]int{true: 1}[s.Status == api.Closed] }
	slices.SortFunc(sessions[waits:], func(a, b api.SessionInfo) int {
		return cmp.Or(cmp.Compare(closed(a), closed(b)), cmp.Compare(b.Since, a.Since), cmp.Compare(a.Link, b.Link))
	})
	for _, s := range sessions {
		p.all = append(p.all, choice{
			name: plain(s.Title), detail: s.Project + " · " + s.Agent,
			right: m.words.statusWord(s.Status) + " " + m.words.age(m.now.Sub(time.UnixMilli(s.Since))),
			do: func(m *model) []command {
				m.choose(s.Link)
				m.setFocus(onPane)
				return nil
			},
		})
	}
	for _, w := range m.places() {
		p.all = append(p.all, choice{name: plain(w.name), detail: w.path, right: m.words.palette.folder, do: func(m *model) []command {
			m.choose(w.path)
			return nil
		}})
	}
	var cmds []command
	if root := m.folder(); root != "" {
		p.looking = true
		cmds = []command{findFiles(p, root)}
	}
	p.look()
	m.push(p, false)
	return cmds
}

// Bounds of the search for files.
const (
	maxFiles  = 20_000
	filesTime = 3 * time.Second
)

// findFiles looks for the files of a folder on this machine, without those that version
// control and package managers keep for themselves.
func findFiles(p *palette, root string) command {
	return func(ctx context.Context) message {
		ctx, cancel := context.WithTimeout(ctx, filesTime)
		defer cancel()
		msg := filesMsg{from: p, root: root}
		_ = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error { // what cannot be read is not there
			if err != nil {
				return nil
			}
			switch name := e.Name(); {
			case ctx.Err() != nil || len(msg.files) >= maxFiles:
				return fs.SkipAll
			case e.IsDir() && path != root && (name[0] == '.' || name == "node_modules"):
				return fs.SkipDir
			case e.Type().IsRegular() && strings.IndexFunc(name, unprintable) < 0:
				if rel, err := filepath.Rel(root, path); err == nil {
					msg.files = append(msg.files, rel)
				}
			}
			return nil
		})
		return msg
	}
}

// filesFound adds the files to the palette that asked for them.
func (m *model) filesFound(msg filesMsg) {
	p := msg.from
	p.looking = false
	for _, f := range msg.files {
		p.all = append(p.all, choice{name: f, do: func(m *model) []command {
			a := m.layout().pane
			return []command{editFile(m.call, api.RunRequest{Cwd: msg.root, Command: editorOf(f), Cols: a.w, Rows: a.h})}
		}})
	}
	p.look()
}

// editorOf is the shell command that opens a file in the person's editor.
func editorOf(file string) string {
	return "${VISUAL:-${EDITOR:-vi}} './" + strings.ReplaceAll(file, "'", `'\''`) + "'"
}

func editFile(c calls, r api.RunRequest) command {
	return func(ctx context.Context) message {
		v, err := c.Run(ctx, r)
		if err != nil {
			return failedMsg{err}
		}
		return startedMsg{v.Target}
	}
}

// look finds what fits what was typed, the best first.
func (p *palette) look() {
	p.pick = 0
	p.found = p.found[:0]
	words := strings.Fields(strings.ToLower(p.query.text))
	for _, c := range p.all {
		f := found{choice: c}
		fits := true
		for _, w := range words {
			score, at := fit(w, c.name)
			if score == 0 {
				if second, _ := fit(w, c.detail); second > 0 {
					score = 1 + second/10
				}
			}
			fits = fits && score > 0
			f.score, f.at = f.score+score, append(f.at, at...)
		}
		if fits {
			p.found = append(p.found, f)
		}
	}
	slices.SortStableFunc(p.found, func(a, b found) int { return cmp.Compare(b.score, a.score) })
}

// fit says how well a word fits a text, 0 for not at all, and which bytes of the text
// begin its letters: best as the beginning of a word of the text, then anywhere in it,
// then letter by letter with others between. Case does not matter.
func fit(word, text string) (score int, at []int) {
	lower := strings.ToLower(text)
	if len(lower) != len(text) { // the bytes of some letters are as many only in one case
		lower = text
	}
	best := -1
	for from := 0; ; {
		i := strings.Index(lower[from:], word)
		if i < 0 {
			break
		}
		i += from
		if begins(lower, i) {
			best = i
			break
		}
		if best < 0 {
			best = i
		}
		from = i + 1
	}
	if best >= 0 {
		for i := range word {
			at = append(at, best+i)
		}
		score = 100 - min(best, 30)
		if begins(lower, best) {
			score += 50
		}
		return score, at
	}
	from := 0
	for _, r := range word {
		i := strings.IndexRune(lower[from:], r)
		if i < 0 {
			return 0, nil
		}
		if at = append(at, from+i); begins(lower, from+i) {
			score += 4
		}
		from += i + len(string(r))
	}
	return max(score+40-(at[len(at)-1]-at[0]), 2), at
}

// begins reports whether a word of the text begins at a byte.
func begins(text string, i int) bool {
	return i == 0 || strings.IndexByte(" /-_.:·", text[i-1]) >= 0
}

// Sizes of a palette, in cells.
const paletteCols, paletteRows = 84, 24 // at most

func (p *palette) place(screen rect) rect {
	screen.h = max(screen.h-1, 0)
	r := screen.centred(paletteCols, paletteRows)
	r.y = min(r.y, 2)
	return r
}

// rowsOf is where the choices are.
func (p *palette) rowsOf(area rect) rect {
	return rect{area.x + 1, area.y + 3, area.w - 2, max(area.h-4, 0)}
}

// first is the first choice that is shown in so many rows: the marked one is in sight.
func (p *palette) first(rows int) int {
	return max(min(p.pick-rows/2, len(p.found)-rows), 0)
}

func (p *palette) update(m *model, msg message) []command {
	rows := p.rowsOf(p.place(m.screen()))
	switch msg := msg.(type) {
	case pasteMsg:
		p.query.insert(plain(string(msg)))
		p.look()
	case mouseMsg:
		switch e := vt.Mouse(msg); {
		case e.Button == vt.ButtonWheelUp:
			p.move(-1)
		case e.Button == vt.ButtonWheelDown:
			p.move(+1)
		case e.Action != vt.MousePress:
		case rows.holds(e.X, e.Y):
			if n := p.first(rows.h) + e.Y - rows.y; n < len(p.found) {
				p.pick = n
				return p.enter(m)
			}
		case !p.place(m.screen()).holds(e.X, e.Y):
			m.pop()
		}
	case keyMsg:
		switch k := vt.Key(msg); {
		case k.Name == vt.KeyEscape, k == m.keys.prefix, k == vt.Key{Rune: 'c', Mods: vt.Ctrl}:
			m.pop()
		case k.Name == vt.KeyEnter:
			return p.enter(m)
		case k.Name == vt.KeyUp, k == vt.Key{Rune: 'p', Mods: vt.Ctrl}, k.Name == vt.KeyTab && k.Mods&vt.Shift != 0:
			p.move(-1)
		case k.Name == vt.KeyDown, k == vt.Key{Rune: 'n', Mods: vt.Ctrl}, k.Name == vt.KeyTab:
			p.move(+1)
		case k.Name == vt.KeyPageUp:
			p.move(-rows.h)
		case k.Name == vt.KeyPageDown:
			p.move(+rows.h)
		default:
			was := p.query.text
			p.query.key(k)
			if p.query.text != was {
				p.look()
			}
		}
	}
	return nil
}

func (p *palette) move(by int) { p.pick = max(min(p.pick+by, len(p.found)-1), 0) }

// enter does what is marked.
func (p *palette) enter(m *model) []command {
	if p.pick >= len(p.found) {
		return nil
	}
	m.pop()
	return p.found[p.pick].do(m)
}

func (p *palette) draw(m *model, c *canvas, area rect) {
	m.frameAround(c, area, p.title)
	if area.h < 4 || area.w < 6 {
		return
	}
	on := func(st vt.Style) vt.Style { return under(st, m.theme.panel) }
	in := rect{area.x + 2, area.y + 1, area.w - 4, 1}
	p.query.draw(m, c, in)
	c.text(rect{area.x + 1, area.y + 2, area.w - 2, 1}, m.theme.panelEdge, strings.Repeat("─", area.w-2))
	rows := p.rowsOf(area)
	first := p.first(rows.h)
	for i := range rows.h {
		if n := first + i; n < len(p.found) {
			p.drawFound(m, c, rows.row(i), &p.found[n], n == p.pick)
		}
	}
	switch {
	case len(p.found) == 0 && !p.looking:
		c.text(rows.row(0).inset(1), on(m.theme.faint), m.words.palette.nothing)
	case p.looking:
		c.right(in, on(m.theme.faint), m.words.palette.looking)
	}
}

// drawFound draws a choice, with the letters that were looked for.
func (p *palette) drawFound(m *model, c *canvas, r rect, f *found, marked bool) {
	ground := m.theme.panel
	if marked {
		ground = m.theme.selected
		c.fill(r, ground)
	}
	r = r.inset(1)
	if vt.Width(f.right) < r.w/2 {
		r.w -= c.right(r, under(m.theme.key, ground), f.right) + 1
	}
	used := 0
	for at := 0; at < len(f.name); {
		cl, w := cluster(f.name[at:])
		if used+w > r.w-1 && at+len(cl) < len(f.name) || used+w > r.w {
			used += c.text(cut(r, used), under(m.theme.text, ground), "…")
			break
		}
		st := m.theme.text
		if slices.Contains(f.at, at) {
			st = m.theme.match
		}
		c.text(rect{r.x + used, r.y, w, 1}, under(st, ground), cl)
		used, at = used+w, at+len(cl)
	}
	if r = cut(r, used+2); r.w >= vt.Width(f.detail) || r.w > 12 {
		c.text(r, under(m.theme.faint, ground), f.detail)
	}
}
