package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"

	"termio/internal/agent"
	"termio/internal/api"
	"termio/internal/pty"
	"termio/internal/store"
)

// agentFor chooses the agent of a spawn. Where a conversation is taken up and no agent is
// named, it is the one that has it.
func (h *Host) agentFor(ctx context.Context, sc scope, req api.SpawnRequest, dir string) (*agent.Manifest, error) {
	if req.Agent == "" && agent.ValidConversation(req.Resume) {
		recs, err := h.records(store.Filter{Closed: true})
		if err != nil {
			return nil, err
		}
		if m, err := h.owner(req.Resume, dir, recs); m != nil || err != nil {
			return m, err
		}
	}
	return h.chooseAgent(ctx, sc, req.Agent)
}

// conversationFor settles which conversation a launch begins or goes on with; fresh says
// that there was nothing to go on with. release gives the conversation free when the
// session has it, or has not started.
func (h *Host) conversationFor(sc scope, rec *store.Session, m *agent.Manifest, req api.SpawnRequest) (resumed, fresh bool, release func(), err error) {
	nothing := func() {}
	switch {
	case req.Resume == "" && m.ChoosesID():
		rec.Conversation = string(newID())
		return false, false, nothing, nil
	case req.Resume == "":
		return false, false, nothing, nil
	case !m.CanResume():
		return false, false, nothing, api.NewError(api.WrongAgent, m.Name+" cannot go on with a past conversation")
	case !agent.ValidConversation(req.Resume):
		return false, false, nothing, api.NewError(api.BadRequest, fmt.Sprintf("%q is no conversation's id; termio agents history shows them", printable(req.Resume)))
	}
	recs, err := h.records(store.Filter{Closed: true})
	if err != nil {
		return false, false, nothing, err
	}
	p, env, err := h.remembered(m, req.Resume, rec.Folder, recs)
	switch {
	case err == nil:
		rec.ConfigEnv = env
		if err := h.adoptFolder(sc, rec, p, req); err != nil {
			return false, false, nothing, err
		}
	case errors.Is(err, agent.ErrUnknowable):
	case errors.Is(err, fs.ErrNotExist):
		// What was asked for is nowhere: nothing else is taken for it.
		if other, oerr := h.owner(req.Resume, rec.Folder, recs); oerr == nil && other != nil && other.ID != m.ID {
			return false, false, nothing, api.NewError(api.WrongAgent, fmt.Sprintf("conversation %s is one of %s, not of %s; name it with --agent %s", req.Resume, other.Name, m.Name, other.ID))
		}
		rec.ConversationPast = append(rec.ConversationPast, req.Resume)
		if m.ChoosesID() {
			rec.Conversation = string(newID())
		}
		return false, true, nothing, nil
	default:
		return false, false, nothing, api.NewError(api.StartFailed, fmt.Sprintf("conversation %s cannot be looked up now: %v", req.Resume, err))
	}
	rec.Conversation, rec.Prompted = req.Resume, true
	rec.FirstPrompt = cmp.Or(rec.FirstPrompt, p.Title)
	if release, err = h.claim(m, *rec, p.Path); err != nil {
		return false, false, nothing, err
	}
	if file, ok := m.Locate(h.placeOf(*rec), req.Resume); ok {
		rec.Transcript = file
	}
	return true, false, release, nil
}

// adoptFolder has a conversation that is taken up go on in the folder that it was begun
// in, unless the caller names another one: most agents find it there alone.
func (h *Host) adoptFolder(sc scope, rec *store.Session, p agent.Past, req api.SpawnRequest) error {
	if p.Folder == "" || req.Cwd != "" || req.Worktree != nil || filepath.Clean(p.Folder) == rec.Folder {
		return nil
	}
	if !folderThere(p.Folder) {
		return api.NewError(api.StartFailed, fmt.Sprintf("conversation %s was begun in %s, which is gone; --cwd names another folder for it", p.ID, p.Folder))
	}
	dir := realPath(p.Folder)
	around, ok, err := h.projectAround(dir)
	if err != nil {
		return err
	}
	if !ok || around.ID != sc.project.ID {
		return api.NewError(api.NoScope, fmt.Sprintf("conversation %s was begun in %s, which is not in this project; take it up from there", p.ID, p.Folder))
	}
	rec.Folder = dir
	return nil
}

// claims are the conversations that sessions are being started with. From then on the
// sessions' own records tell.
type claims struct {
	mu   sync.Mutex
	held map[string]api.SessionID
}

// take notes a conversation; other is who has noted it before.
func (c *claims) take(key string, id api.SessionID) (other api.SessionID, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if other, taken := c.held[key]; taken {
		return other, false
	}
	if c.held == nil {
		c.held = map[string]api.SessionID{}
	}
	c.held[key] = id
	return "", true
}

func (c *claims) drop(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.held, key)
}

// claim holds that a session is the only one that goes on with its conversation, in
// termio and as far as can be known outside of it. Agents let two processes write
// into one conversation, or keep the second one waiting. release is called when the
// session is in the table, or has not started.
func (h *Host) claim(m *agent.Manifest, rec store.Session, record string) (release func(), err error) {
	key := conversationKey(m.ID, rec.Conversation)
	open := func(by string) error {
		return api.NewError(api.BadRequest, fmt.Sprintf("conversation %s is open in %s", rec.Conversation, by))
	}
	other, ok := h.claims.take(key, rec.ID)
	if !ok {
		return func() {}, open(other.Link())
	}
	release = func() { h.claims.drop(key) }
	for _, s := range h.open() {
		if r := s.record(); s.id != rec.ID && r.Conversation == rec.Conversation && r.AgentID == m.ID && !s.agentNow().IsShell() {
			release()
			return func() {}, open(s.id.Link())
		}
	}
	if pid := h.openElsewhere(m, rec, record); pid != 0 {
		release()
		by := fmt.Sprintf("another process (%d); end it there first", pid)
		if s := h.ancestor(pid); s != nil {
			by = s.id.Link()
		}
		return func() {}, open(by)
	}
	return release, nil
}

// openElsewhere is a process that has a conversation open, by its agent's status files or
// because it has the record open; 0 where there is none, or nothing tells.
func (h *Host) openElsewhere(m *agent.Manifest, rec store.Session, record string) int {
	for _, p := range m.StatusFileProcesses(h.placeOf(rec), rec.Conversation) {
		if info, err := pty.Inspect(p.PID); err == nil && !info.Ended && (p.Start == "" || p.Start == fmt.Sprint(info.Start)) {
			return p.PID
		}
	}
	if m.HoldsRecord() && record != "" {
		if pids, err := pty.Holders(realPath(record)); err == nil && len(pids) > 0 {
			return pids[0]
		}
	}
	return 0
}
