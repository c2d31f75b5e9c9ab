package tui

import (
	"strings"

	"termio/internal/api"
	"termio/internal/vt"
)

// newParts is where everything of the dialog is.
type newParts struct {
	promptLabel, prompt rect
	agentLabel, agents  rect
	about               rect // where to get the agent that is marked
	place               rect
	worktree, branch    rect // branch is empty without a work tree
	bypass              rect
	err, hint           rect
}

// Sizes of the dialog, in cells.
const newCols, newRows = 84, 26 // at most

func (n *newSession) place(screen rect) rect {
	screen.h = max(screen.h-1, 0)
	return screen.centred(newCols, newRows)
}

// parts is the one function from a place to where everything is. The prompt and the
// agents share what the rest leaves.
func (n *newSession) parts(area rect) newParts {
	in := rect{area.x + 2, area.y + 1, area.w - 4, area.h - 2}
	if in.empty() {
		return newParts{}
	}
	y := 0
	next := func(h int) rect {
		r := rect{in.x, in.y + y, in.w, max(min(h, in.h-y), 0)}
		y += h
		return r
	}
	errRows := min(len(wrap(n.err, in.w)), 3)
	fixed := 7 + errRows // labels, about, place, work tree, bypass, hint
	if n.has(partBranch) {
		fixed++
	}
	roomy := in.h >= 20
	if roomy {
		fixed += 3
	}
	free := max(in.h-fixed, 2)
	promptRows := min(max(free/2, 1), 6)
	gap := func() {
		if roomy {
			next(1)
		}
	}
	var p newParts
	p.promptLabel, p.prompt = next(1), next(promptRows).inset(1)
	gap()
	p.agentLabel, p.agents = next(1), next(min(free-promptRows, max(len(n.agents), 1)))
	p.about = next(1)
	gap()
	p.place, p.worktree = next(1), next(1)
	if n.has(partBranch) {
		p.branch = next(1)
	}
	p.bypass = next(1)
	p.hint = in.row(in.h - 1)
	p.err = rect{in.x, in.y + in.h - 1 - errRows, in.w, errRows}
	return p
}

// firstAgent is the first one that is shown in so many rows: the marked one is in sight.
func (n *newSession) firstAgent(rows int) int {
	return max(min(n.agent-rows/2, len(n.agents)-rows), 0)
}

func (n *newSession) draw(m *model, c *canvas, area rect) {
	w := &m.words.start
	m.frameAround(c, area, m.words.actNew)
	p := n.parts(area)
	on := func(st vt.Style) vt.Style { return under(st, m.theme.panel) }
	label := func(r rect, part int, text string) rect {
		st := on(m.theme.dim)
		if n.part == part {
			st = on(m.theme.key)
		}
		return cut(r, c.text(r, st, text)+1)
	}
	label(p.promptLabel, partPrompt, w.prompt)
	ground := m.theme.shown
	if n.part == partPrompt {
		ground = m.theme.selected
	}
	ground.Attr = 0
	n.prompt.draw(c, p.prompt, under(m.theme.input, ground), under(m.theme.faint, ground), n.part == partPrompt && !n.starting, w.promptHint)
	label(p.agentLabel, partAgent, w.agent)
	n.drawAgents(m, c, p)
	n.drawPlace(m, c, label(p.place, partPlace, w.where))
	n.drawWorktree(m, c, p, label)
	n.drawSwitch(m, c, p.bypass, partBypass, n.bypass, w.bypass, m.theme.needsYou)
	for i, l := range wrap(n.err, p.err.w) {
		c.text(p.err.row(i), on(m.theme.errText), l)
	}
	hint := w.hint
	if n.starting {
		hint = w.starting
	}
	c.text(p.hint, on(m.theme.faint), hint)
}

// drawAgents draws those that are found, then the others, and where to get the marked one.
func (n *newSession) drawAgents(m *model, c *canvas, p newParts) {
	w := &m.words.start
	if n.agents == nil {
		c.text(p.agents.inset(1), under(m.theme.faint, m.theme.panel), w.looking)
		return
	}
	first := n.firstAgent(p.agents.h)
	for i := range p.agents.h {
		if first+i >= len(n.agents) {
			break
		}
		a, r, ground := n.agents[first+i], p.agents.row(i), m.theme.panel
		mark := "  "
		if first+i == n.agent {
			mark = "› "
			if ground = m.theme.shown; n.part == partAgent {
				ground = m.theme.selected
			}
			c.fill(r, ground)
		}
		st := m.theme.text
		if !a.Installed {
			st = m.theme.faint
			r.w -= c.right(r, under(st, ground), w.absent) + 1
		}
		c.text(cut(r, c.text(r, under(m.theme.key, ground), mark)), under(st, ground), a.Name)
	}
	edge := rect{p.agents.x + p.agents.w, p.agents.y, 1, 1}
	if first > 0 {
		c.text(edge, under(m.theme.key, m.theme.panel), "↑")
	}
	if edge.y += p.agents.h - 1; first+p.agents.h < len(n.agents) {
		c.text(edge, under(m.theme.key, m.theme.panel), "↓")
	}
	if n.agent < len(n.agents) {
		c.text(p.about.inset(1), under(m.theme.faint, m.theme.panel), aboutAgent(w, n.agents[n.agent]))
	}
}

// aboutAgent is what the person has to know of the marked agent.
func aboutAgent(w *startWords, a api.AgentInfo) string {
	switch {
	case !a.Installed:
		return w.getIt(a.Install)
	case len(a.Warnings) > 0:
		return a.Warnings[0]
	}
	return a.Path
}

func (n *newSession) drawPlace(m *model, c *canvas, r rect) {
	on := func(st vt.Style) vt.Style { return under(st, m.theme.panel) }
	at := n.at()
	if at.path == "" {
		c.text(r, on(m.theme.text), m.words.start.here)
		return
	}
	name := at.name
	if n.has(partPlace) {
		name = "‹ " + name + " ›"
	}
	r = cut(r, c.text(r, on(m.theme.text), name)+1)
	if r.w >= vt.Width(at.path) {
		c.text(r, on(m.theme.faint), at.path)
	}
}

func (n *newSession) drawWorktree(m *model, c *canvas, p newParts, label func(rect, int, string) rect) {
	w := &m.words.start
	if !n.has(partWorktree) {
		c.text(p.worktree, under(m.theme.faint, m.theme.panel), "[ ] "+w.noGit)
		return
	}
	n.drawSwitch(m, c, p.worktree, partWorktree, n.worktree, w.worktree, m.theme.text)
	if p.branch.empty() {
		return
	}
	r := label(cut(p.branch, 4), partBranch, w.branch)
	on := under(m.theme.input, m.theme.panel)
	if n.branch.text == "" {
		c.text(r, under(m.theme.faint, m.theme.panel), w.branchHint)
	}
	c.text(r, on, n.branch.text)
	if n.part == partBranch && !n.starting {
		c.cursor = vt.Cursor{X: r.x + min(vt.Width(n.branch.text[:n.branch.at]), max(r.w-1, 0)), Y: r.y, Visible: true}
	}
}

// drawSwitch draws something that is on or off; loud is how it is said when it is on.
func (n *newSession) drawSwitch(m *model, c *canvas, r rect, part int, on bool, text string, loud vt.Style) {
	st := m.theme.dim
	if on {
		st = loud
	}
	if n.part == part {
		st = m.theme.key
	}
	box := "[ ] "
	if on {
		box = "[x] "
	}
	c.text(r, under(st, m.theme.panel), box+strings.TrimSpace(text))
}
