package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"termio/internal/agent"
	"termio/internal/api"
	"termio/internal/store"
)

// How many past conversations are listed.
const (
	defaultHistory = 50
	maxHistory     = 1000
)

// A HistoryRequest says which past conversations are asked for.
type HistoryRequest struct {
	Project string // a folder in it; "" is the caller's
	Agent   string // id or display name; "" is every one
	Limit   int    // at most so many; 0 is 50
}

// History lists the conversations that agents have had in a project, also those that
// were begun elsewhere than in termio, newest first.
func (h *Host) History(c Caller, req HistoryRequest) (api.HistoryReply, error) {
	sc, err := h.historyScope(c, req.Project)
	if err != nil {
		return api.HistoryReply{}, err
	}
	agents := h.catalogue().All()
	if req.Agent != "" {
		m, ok := h.catalogue().Find(req.Agent)
		if !ok {
			return api.HistoryReply{}, api.NewError(api.BadAgent, fmt.Sprintf("no agent %q; termio agents list shows them", printable(req.Agent)))
		}
		agents = []*agent.Manifest{m}
	}
	recs, err := h.records(store.Filter{Closed: true})
	if err != nil {
		return api.HistoryReply{}, err
	}
	sources, _ := h.sources(agents, recs)
	q := agent.PastQuery{
		Folders: h.projectFolders(sc.project, recs), Limit: min(cmp.Or(req.Limit, defaultHistory), maxHistory),
		Wanted: h.inProject(sc.project, recs), Known: known(agents, sc.project, recs),
	}
	found := agent.Conversations(sources, q)
	reply := api.HistoryReply{Head: api.OKHead(), Project: sc.project.Name, Conversations: []api.Conversation{}, More: found.More}
	sessions := sessionsOf(recs)
	for _, p := range found.Past {
		reply.Conversations = append(reply.Conversations, h.conversation(p, sessions))
	}
	for _, i := range slices.Sorted(maps.Keys(found.Errors)) {
		reply.Warnings = append(reply.Warnings, fmt.Sprintf("%s: %v", sources[i].Agent.Name, found.Errors[i]))
	}
	return reply, nil
}

// historyScope is the caller's project, or the one that it names.
func (h *Host) historyScope(c Caller, folder string) (scope, error) {
	if folder == "" {
		return h.scopeOf(c)
	}
	sc, err := h.callerSession(c)
	if err != nil {
		return sc, err
	}
	p, ok, err := h.projectAround(folder)
	switch {
	case err != nil:
		return sc, err
	case !ok:
		return sc, api.NewError(api.NoScope, noProject(folder))
	case sc.fromRec.ID != "" && p.ID != sc.fromRec.ProjectID:
		return sc, api.NewError(api.NoScope, fmt.Sprintf("%s is outside this session's project", folder))
	}
	sc.project = p
	return sc, nil
}

// sources are where the agents keep their conversations: where they do now, and where
// the sessions remember that they did, with the variables that say so.
func (h *Host) sources(agents []*agent.Manifest, recs []store.Session) (all []agent.Source, env []map[string]string) {
	for _, m := range agents {
		envs := []map[string]string{m.ConfigEnv(h.env.Environ)}
		for _, r := range recs {
			if r.AgentID == m.ID && !slices.ContainsFunc(envs, func(e map[string]string) bool { return maps.Equal(e, r.ConfigEnv) }) {
				envs = append(envs, r.ConfigEnv)
			}
		}
		for _, e := range envs {
			all, env = append(all, agent.Source{Agent: m, At: h.place(e)}), append(env, e)
		}
	}
	return all, env
}

// projectFolders are the folders that hold all of a project: its own, and its work
// trees, also those that are gone and had sessions.
func (h *Host) projectFolders(p store.Project, recs []store.Session) []string {
	folders := append([]string{p.Root}, workTrees(p.Root)...)
	for _, r := range recs {
		if r.ProjectID == p.ID && r.Worktree != "" {
			folders = append(folders, r.Worktree)
		}
	}
	slices.Sort(folders)
	return slices.Compact(folders)
}

// inProject tells of folders whether they belong to a project. One that is gone belongs
// to whose work tree it was.
func (h *Host) inProject(p store.Project, recs []store.Session) func(folder string) bool {
	folders := h.projectFolders(p, recs)
	told := map[string]bool{}
	return func(folder string) bool {
		in, ok := told[folder]
		if !ok {
			around, found, err := h.projectAround(folder)
			in = err == nil && found && around.ID == p.ID ||
				!found && slices.ContainsFunc(folders, func(f string) bool { return holds(f, filepath.Clean(folder)) })
			told[folder] = in
		}
		return in
	}
}

// workTrees are a repository's further work trees, by git's own files.
func workTrees(root string) (all []string) {
	links, err := filepath.Glob(filepath.Join(strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(root), ".git", "worktrees", "*", "gitdir"))
	if err != nil {
		return nil
	}
	for _, link := range links {
		if dotGit, ok := readLink(link, "", filepath.Dir(link)); ok {
			all = append(all, filepath.Dir(dotGit))
		}
	}
	return all
}

// known are the conversations that a project's sessions have had.
func known(agents []*agent.Manifest, p store.Project, recs []store.Session) (all []agent.Past) {
	for _, r := range recs {
		i := slices.IndexFunc(agents, func(m *agent.Manifest) bool { return m.ID == r.AgentID })
		if r.ProjectID != p.ID || i < 0 {
			continue
		}
		one := agent.Past{Agent: agents[i], Folder: r.Folder, Title: headline(cmp.Or(r.Title, r.FirstPrompt)), Updated: r.StatusSince}
		if r.Closed() {
			one.Updated = r.ClosedAt
		}
		for _, id := range r.ConversationPast {
			past := one
			past.ID, past.Title = id, ""
			all = append(all, past)
		}
		if r.Conversation != "" && r.Prompted {
			one.ID, one.Path = r.Conversation, r.Transcript
			all = append(all, one)
		}
	}
	return all
}

// sessionsOf finds the session that has a conversation; of several, one that is open,
// else the last.
func sessionsOf(recs []store.Session) map[string]store.Session {
	by := map[string]store.Session{}
	for _, r := range recs {
		if r.Conversation == "" {
			continue
		}
		key := conversationKey(r.AgentID, r.Conversation)
		if old, ok := by[key]; !ok || old.Closed() {
			by[key] = r
		}
	}
	return by
}

func conversationKey(agentID, conversation string) string { return agentID + "\x00" + conversation }

// conversation is a past conversation as it goes over the wire.
func (h *Host) conversation(p agent.Past, sessions map[string]store.Session) api.Conversation {
	v := api.Conversation{
		ID: p.ID, Agent: p.Agent.Name, AgentID: p.Agent.ID, Title: p.Title, Folder: p.Folder, Path: p.Path,
		Updated: p.Updated.UnixMilli(),
	}
	if r, ok := sessions[conversationKey(p.Agent.ID, p.ID)]; ok {
		v.Session, v.Open = r.ID.Link(), !r.Closed()
	}
	return v
}

// remembered finds a conversation by its id in the stores of an agent: in the place
// where the agent keeps them now, else in one that a session remembers. The environment
// says which.
func (h *Host) remembered(m *agent.Manifest, id, folder string, recs []store.Session) (p agent.Past, env map[string]string, err error) {
	err = agent.ErrUnknowable
	sources, envs := h.sources([]*agent.Manifest{m}, recs)
	for i, src := range sources {
		src.At.Folder = folder
		found, ferr := agent.Remembered(m, src.At, id)
		if ferr == nil {
			return found, envs[i], nil
		}
		if i == 0 || errors.Is(err, fs.ErrNotExist) { // the one that says most
			err = ferr
		}
	}
	return p, nil, err
}

// owner finds the agent that has a conversation, for a caller that names none.
func (h *Host) owner(id, folder string, recs []store.Session) (*agent.Manifest, error) {
	var owners []*agent.Manifest
	for _, m := range h.catalogue().All() {
		if !m.CanResume() {
			continue
		}
		if _, _, err := h.remembered(m, id, folder, recs); err == nil || h.hadBy(m, id, recs) {
			owners = append(owners, m)
		}
	}
	switch len(owners) {
	case 0:
		return nil, nil
	case 1:
		return owners[0], nil
	}
	names := make([]string, len(owners))
	for i, m := range owners {
		names[i] = m.ID
	}
	return nil, api.NewError(api.Ambiguous, fmt.Sprintf("several agents have a conversation %s: %s; name one with --agent", id, strings.Join(names, ", ")))
}

// hadBy reports whether a session with the agent had a conversation.
func (h *Host) hadBy(m *agent.Manifest, id string, recs []store.Session) bool {
	return slices.ContainsFunc(recs, func(r store.Session) bool {
		return r.AgentID == m.ID && (r.Conversation == id || slices.Contains(r.ConversationPast, id))
	})
}

// readTable reads an agent's database for the agent package.
func (h *Host) readTable(file string, q agent.TableQuery) ([][]string, error) {
	rows, err := store.ReadTable(context.WithoutCancel(h.ctx), file, store.TableQuery(q))
	if errors.Is(err, store.ErrSchema) {
		err = fmt.Errorf("%w: %w", agent.ErrUnknowable, err)
	}
	return rows, err
}

// folderThere reports whether a folder is there.
func folderThere(dir string) bool {
	fi, err := os.Stat(dir)
	return err == nil && fi.IsDir()
}
