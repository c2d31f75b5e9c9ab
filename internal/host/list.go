package host

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"termio/internal/agent"
	"termio/internal/api"
	"termio/internal/store"
	"termio/internal/vt"
)

// List gives the sessions in scope, oldest first; with ended also those that ended.
func (h *Host) List(c Caller, ended bool) (api.ListReply, error) {
	sc, err := h.scopeOf(c)
	if err != nil {
		return api.ListReply{}, err
	}
	reply := api.ListReply{Head: api.OKHead(), Project: sc.name(), Sessions: []api.SessionInfo{}}
	open := map[api.SessionID]bool{}
	now := time.Now()
	for _, s := range h.open() {
		if !sc.holds(s.project.ID) {
			continue
		}
		open[s.id] = true
		reply.Sessions = append(reply.Sessions, s.info(now, sc.all))
	}
	if !ended {
		return reply, nil
	}
	all, err := h.records(store.Filter{ProjectID: sc.project.ID, Closed: true})
	if err != nil {
		return reply, err
	}
	var past []api.SessionInfo
	for _, r := range all {
		if r.Closed() && !open[r.ID] {
			past = append(past, h.endedInfo(r, now))
		}
	}
	reply.Sessions = append(past, reply.Sessions...)
	return reply, nil
}

// info is the session as a row of a list.
func (s *session) info(now time.Time, withProject bool) api.SessionInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	man := s.run.man
	i := api.SessionInfo{
		Link: s.id.Link(), ID: s.id.Short(), Title: s.titleLocked(), Agent: man.Name,
		Status: s.machine.Status(), Description: s.descriptionLocked(now), Transcript: s.rec.Transcript, Cwd: s.cwd,
		Background: s.machine.Background(), AgentID: man.ID, Wire: man.Token(), Conversation: s.rec.Conversation, Earlier: s.rec.ConversationPast,
		Since: s.machine.Since().UnixMilli(), Seen: s.seen, PID: s.leader.PID, Folder: s.rec.Folder, Worktree: s.rec.Worktree,
		LastActivity: s.lastOut.UnixMilli(), Created: s.created.UnixMilli(),
	}
	if withProject {
		i.Project, i.ProjectRoot = s.project.Name, s.project.Root
	}
	if s.rec.SpawnedBy != "" {
		i.SpawnedBy = s.rec.SpawnedBy.Link()
	}
	if man.IsShell() {
		i.Transcript, i.Conversation = "", ""
	}
	if i.Status == api.NeedsYou {
		i.Dialog = s.machine.Dialog()
		i.Prompt = man.Prompt(s.viewLocked(), i.Dialog)
	}
	return i
}

// descriptionLocked says in a few words what the session is doing.
func (s *session) descriptionLocked(now time.Time) string {
	text := s.machine.Description(now)
	for _, more := range []string{s.unresumed, s.trouble} {
		if more != "" {
			text += "; " + more
		}
	}
	return text
}

// closedFor says in a few words how long ago a session ended, and how unless it was
// just closed.
func closedFor(r store.Session, now time.Time) string {
	text := fmt.Sprintf("closed %s ago", agent.Age(now.Sub(r.ClosedAt)))
	if r.Reason != "" && r.Reason != reasonClosed {
		text += ": " + r.Reason
	}
	return text
}

// endedInfo is the row of a session that has ended.
func (h *Host) endedInfo(r store.Session, now time.Time) api.SessionInfo {
	i := api.SessionInfo{
		Link: r.ID.Link(), ID: r.ID.Short(), Title: h.recordTitle(r), Agent: r.AgentID, AgentID: r.AgentID,
		Status: api.Closed, Description: closedFor(r, now),
		Transcript: r.Transcript, Cwd: r.Cwd, Reason: r.Reason, Conversation: r.Conversation, Earlier: r.ConversationPast, Since: r.ClosedAt.UnixMilli(),
		Folder: r.Folder, Worktree: r.Worktree, ExitCode: r.ExitCode, Created: r.CreatedAt.UnixMilli(),
	}
	if m, ok := h.catalogue().Find(r.AgentID); ok {
		i.Agent, i.Wire = m.Name, m.Token()
	}
	if r.SpawnedBy != "" {
		i.SpawnedBy = r.SpawnedBy.Link()
	}
	return i
}

// recordTitle is the displayed title of a session that is not open.
func (h *Host) recordTitle(r store.Session) string {
	switch {
	case r.Title != "":
		return r.Title
	case r.FirstPrompt != "":
		return headline(r.FirstPrompt)
	case r.Command != "":
		return headline(r.Command)
	case r.LiveTitle != "":
		return headline(r.LiveTitle)
	}
	if m, ok := h.catalogue().Find(r.AgentID); ok {
		return m.Name
	}
	return r.AgentID
}

// displayTitle is the session's title as lists show it.
func (s *session) displayTitle() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.titleLocked()
}

// Read gives a session's screen as text: the viewport, with history also what
// scrolled off it, or the last lines of that.
func (h *Host) Read(c Caller, target string, lines int, history bool) (api.ReadReply, error) {
	s, err := h.find(c, target)
	if err != nil {
		return api.ReadReply{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	rows := s.screen.Text()
	if history {
		rows = append(s.screen.HistoryText(0, vt.HistoryLine(s.screen.HistoryLen())), rows...)
	}
	for len(rows) > 0 && strings.TrimSpace(rows[len(rows)-1]) == "" {
		rows = rows[:len(rows)-1]
	}
	if lines > 0 && lines < len(rows) {
		rows = rows[len(rows)-lines:]
	}
	return api.ReadReply{Head: api.OKHead(), Target: s.id.Link(), Title: s.titleLocked(), Screen: strings.Join(rows, "\n")}, nil
}

// Explain gives the evidence behind a session's status, that of the screen as it is now.
func (h *Host) Explain(c Caller, target string) (api.ExplainReply, error) {
	s, err := h.find(c, target)
	if err != nil {
		return api.ExplainReply{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lookNowLocked(time.Now())
	evidence, why := s.machine.Explain()
	if evidence == nil {
		evidence = []api.EvidenceInfo{}
	}
	return api.ExplainReply{
		Head: api.OKHead(), Target: s.id.Link(), Title: s.titleLocked(), Agent: s.run.man.Name,
		Status: s.machine.Status(), Since: s.machine.Since().UnixMilli(), Why: why, Evidence: evidence,
		Conversation: s.rec.Conversation, Transcript: s.rec.Transcript,
		Dialog: s.machine.Dialog(), Background: s.machine.Background(),
	}, nil
}

// rowsLocked is the text of the viewport.
func (s *session) rowsLocked() []string { return s.screen.Text() }

// dimLocked reports whether a cell is drawn as suggestions are: faint, or in a grey.
func (s *session) dimLocked(x, y int) bool {
	st := s.screen.Cell(x, vt.Row(y)).Style
	if st.Attr&vt.Dim != 0 {
		return true
	}
	if i, ok := st.FG.Palette(); ok {
		return i == 8 || i >= 232 && i <= 246
	}
	if r, g, b, ok := st.FG.RGB(); ok {
		lo, hi := slices.Min([]uint8{r, g, b}), slices.Max([]uint8{r, g, b})
		return hi-lo <= 16 && hi <= 160
	}
	return false
}

// coloursLocked tells the colours of cells apart.
func (s *session) coloursLocked(x, y int) uint64 {
	st := s.screen.Cell(x, vt.Row(y)).Style
	return uint64(st.FG)<<32 | uint64(st.BG)
}
