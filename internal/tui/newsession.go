package tui

import (
	"context"
	"slices"
	"strings"

	"termio/internal/api"
	"termio/internal/vt"
)

// newSession is the dialog that starts an agent: what it is to do, which agent, where.
// What is typed into it is kept when it is closed without a start, and when a start fails.
type newSession struct {
	prompt   *field
	agents   []api.AgentInfo // those found first; nil until the daemon has told
	agent    int
	places   []place
	where    int
	worktree bool
	branch   line // of the work tree; empty: the daemon names it
	bypass   bool
	was      bool // bypass, as the settings have it
	part     int  // that has the keys
	starting bool
	err      string
}

// A place is a folder to start in.
type place struct {
	path, name string
	git        bool
}

// The parts of the dialog, in the order of the tab key.
const (
	partPrompt = iota
	partAgent
	partPlace
	partWorktree
	partBranch
	partBypass
)

// Messages of the dialog.
type (
	agentsMsg struct {
		agents   []api.AgentInfo
		settings api.Settings
		err      error
	}
	spawnedMsg struct {
		from *newSession
		link string
		err  error
	}
)

// draftOfNew is the key of the prompt for a new session among the drafts.
const draftOfNew = "new"

// startActions are those that start sessions and give them work.
func startActions(w *words) []action {
	return []action{
		{"session.new", w.actNew, []string{"n"}, "n", (*model).openNew},
		{"session.send", w.start.send, []string{"s"}, "s", (*model).openCompose},
		{"session.quick", w.start.quick, []string{"N"}, "", func(m *model) []command {
			a := m.layout().pane
			return []command{startAgent(m.call, api.SpawnRequest{Cwd: m.folder(), Cols: a.w, Rows: a.h})}
		}},
	}
}

// openNew opens the dialog and asks which agents there are.
func (m *model) openNew() []command {
	n := &newSession{prompt: newField(m.drafts[draftOfNew]), places: m.places()}
	at := m.folder()
	for i, p := range n.places {
		if p.path == at {
			n.where = i
		}
	}
	m.push(n, false)
	return []command{findAgents(m.call)}
}

// places are the folders to start in: each project with its work trees.
func (m *model) places() []place {
	var all []place
	for _, p := range m.fleet.projects {
		if inside(m.view.root, p.Root) {
			continue // the places of what belongs to no project
		}
		all = append(all, place{p.Root, p.Name, len(p.Worktrees) > 0})
		for _, t := range p.Worktrees {
			if t.Path != p.Root {
				all = append(all, place{t.Path, p.Name + " ⎇ " + t.Branch, true})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b place) int { return strings.Compare(a.name, b.name) })
	return all
}

// findAgents asks which agents there are, and how they are started.
func findAgents(c calls) command {
	return func(ctx context.Context) message {
		a, err := c.Agents(ctx)
		if err != nil {
			return agentsMsg{err: err}
		}
		s, err := c.Settings(ctx)
		return agentsMsg{a.Agents, s.Settings, err}
	}
}

// agentsFound has the dialog, if it is still open, know which agents there are.
func (m *model) agentsFound(msg agentsMsg) {
	for _, t := range m.layers {
		if n, ok := t.layer.(*newSession); ok {
			n.agentsFound(msg)
		}
	}
}

// agentsFound takes in which agents there are.
func (n *newSession) agentsFound(msg agentsMsg) {
	if msg.err != nil {
		n.err = msg.err.Error()
		return
	}
	n.agents = slices.DeleteFunc(slices.Clone(msg.agents), func(a api.AgentInfo) bool { return a.Command == "" }) // a plain terminal
	slices.SortStableFunc(n.agents, func(a, b api.AgentInfo) int {
		switch {
		case a.Installed == b.Installed:
			return 0
		case a.Installed:
			return -1
		}
		return 1
	})
	n.agent = max(slices.IndexFunc(n.agents, func(a api.AgentInfo) bool { return a.ID == msg.settings.DefaultAgent && a.Installed }), 0)
	n.was = msg.settings.BypassPermissions != nil && *msg.settings.BypassPermissions
	n.bypass = n.was
}

// at is the folder that was chosen.
func (n *newSession) at() place {
	if len(n.places) == 0 {
		return place{}
	}
	return n.places[n.where]
}

// has reports whether a part can be gone to.
func (n *newSession) has(part int) bool {
	switch part {
	case partPlace:
		return len(n.places) > 1
	case partWorktree:
		return n.at().git
	case partBranch:
		return n.at().git && n.worktree
	}
	return true
}

// step goes to another part.
func (n *newSession) step(by int) {
	for {
		n.part = (n.part + by + partBypass + 1) % (partBypass + 1)
		if n.has(n.part) {
			return
		}
	}
}

func (n *newSession) update(m *model, msg message) []command {
	switch msg := msg.(type) {
	case pasteMsg:
		if n.starting {
			break
		}
		if n.part == partBranch {
			n.branch.insert(plain(string(msg)))
			break
		}
		n.part = partPrompt
		n.prompt.insert(string(msg))
	case keyMsg:
		return n.key(m, vt.Key(msg))
	case mouseMsg:
		return n.mouse(m, vt.Mouse(msg))
	}
	return nil
}

func (n *newSession) key(m *model, k vt.Key) []command {
	switch {
	case k.Name == vt.KeyEscape, k == m.keys.prefix, k == vt.Key{Rune: 'c', Mods: vt.Ctrl}:
		m.keepDraft(draftOfNew, n.prompt.text())
		m.pop()
	case n.starting:
	case k.Name == vt.KeyTab && k.Mods&vt.Shift != 0:
		n.step(-1)
	case k.Name == vt.KeyTab:
		n.step(+1)
	case k == vt.Key{Name: vt.KeyEnter}:
		return n.start(m)
	case n.part == partPrompt:
		n.prompt.key(k, n.parts(n.place(m.screen())).prompt.w)
	case n.part == partBranch && k.Name != vt.KeyUp && k.Name != vt.KeyDown:
		n.branch.key(k)
	case n.part == partAgent && (k.Name == vt.KeyUp || k == vt.Key{Rune: 'k'}):
		n.agent = max(n.agent-1, 0)
	case n.part == partAgent && (k.Name == vt.KeyDown || k == vt.Key{Rune: 'j'}):
		n.agent = max(min(n.agent+1, len(n.agents)-1), 0)
	case k.Name == vt.KeyUp:
		n.step(-1)
	case k.Name == vt.KeyDown:
		n.step(+1)
	case k.Name == vt.KeyLeft:
		n.change(-1)
	case k.Name == vt.KeyRight, k == vt.Key{Rune: ' '}:
		n.change(+1)
	default:
		m.say(m.words.unknown)
	}
	return nil
}

// change turns a switch over, or goes to the next folder.
func (n *newSession) change(by int) {
	switch n.part {
	case partPlace:
		n.where = (n.where + by + len(n.places)) % len(n.places)
	case partWorktree:
		n.worktree = !n.worktree
	case partBypass:
		n.bypass = !n.bypass
	}
}

// start starts the session. The dialog stays until that has happened, so that nothing
// typed is lost if it does not.
func (n *newSession) start(m *model) []command {
	if n.agent >= len(n.agents) {
		return nil // the daemon has not told which there are
	}
	a := n.agents[n.agent]
	if !a.Installed {
		n.err = m.words.start.notFound(a.Name, a.Install)
		return nil
	}
	area := m.layout().pane
	r := api.SpawnRequest{Agent: a.ID, Prompt: strings.TrimSpace(n.prompt.text()), Cwd: n.at().path, Cols: area.w, Rows: area.h}
	r.NoPrompt = r.Prompt == ""
	if n.has(partWorktree) && n.worktree {
		branch := strings.TrimSpace(n.branch.text)
		r.Worktree = &branch
	}
	var change *api.SettingsChange
	if n.bypass != n.was {
		change = &api.SettingsChange{Settings: api.Settings{BypassPermissions: &n.bypass}}
	}
	n.starting, n.err = true, ""
	m.keepDraft(draftOfNew, n.prompt.text())
	return []command{spawn(m.call, n, r, change)}
}

// spawn starts an agent, after a change of the settings that it is to be started with.
func spawn(c calls, from *newSession, r api.SpawnRequest, change *api.SettingsChange) command {
	return func(ctx context.Context) message {
		if change != nil {
			if _, err := c.Set(ctx, *change); err != nil {
				return spawnedMsg{from: from, err: err}
			}
		}
		v, err := c.Spawn(ctx, r)
		return spawnedMsg{from, v.Target, err}
	}
}

// spawned takes the outcome of a start.
func (m *model) spawned(msg spawnedMsg) []command {
	open := slices.ContainsFunc(m.layers, func(t onTop) bool { return t.layer == msg.from })
	if msg.err != nil {
		msg.from.starting, msg.from.err = false, msg.err.Error()
		if !open {
			m.fail(msg.err.Error())
		}
		return nil
	}
	delete(m.drafts, draftOfNew)
	if open {
		m.layers = slices.DeleteFunc(m.layers, func(t onTop) bool { return t.layer == msg.from })
	}
	return m.update(m.now, startedMsg{msg.link})
}

// keepDraft keeps a text that was typed and not sent.
func (m *model) keepDraft(of, text string) {
	if m.drafts == nil {
		m.drafts = map[string]string{}
	}
	m.drafts[of] = text
	if strings.TrimSpace(text) == "" {
		delete(m.drafts, of)
	}
}

// mouse is a press on a part of the dialog, which does what it says.
func (n *newSession) mouse(m *model, e vt.Mouse) []command {
	if e.Action != vt.MousePress || n.starting || e.Button != vt.ButtonLeft {
		return nil
	}
	p := n.parts(n.place(m.screen()))
	switch {
	case p.prompt.holds(e.X, e.Y):
		n.part = partPrompt
	case p.agents.holds(e.X, e.Y):
		n.part = partAgent
		if i := n.firstAgent(p.agents.h) + e.Y - p.agents.y; i < len(n.agents) {
			n.agent = i
		}
	case p.place.holds(e.X, e.Y) && n.has(partPlace):
		n.part = partPlace
		n.change(+1)
	case p.worktree.holds(e.X, e.Y) && n.has(partWorktree):
		n.part = partWorktree
		n.change(+1)
	case p.branch.holds(e.X, e.Y):
		n.part = partBranch
	case p.bypass.holds(e.X, e.Y):
		n.part = partBypass
		n.change(+1)
	case p.hint.holds(e.X, e.Y):
		return n.start(m)
	}
	return nil
}
