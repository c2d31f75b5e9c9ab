package host

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"strings"
	"time"
	"unicode"

	"termio/internal/agent"
	"termio/internal/api"
	"termio/internal/pty"
	"termio/internal/store"
)

// The size of a terminal until a client attaches, in cells.
const (
	defaultCols = 80
	defaultRows = 24
)

// Spawn starts an agent session with a prompt. It answers as soon as the session
// exists, or with req.Wait when the outcome of the first turn is known.
func (h *Host) Spawn(ctx context.Context, c Caller, req api.SpawnRequest) (any, error) {
	if r := h.requests.get(c.Request); r != nil {
		return r.answer(ctx)
	}
	if err := checkWaiting(req.Waiting); err != nil {
		return nil, err
	}
	if err := checkText(req.Prompt, req.Resume == "" && !req.NoPrompt); err != nil {
		return nil, err
	}
	sc, dir, err := h.startFolder(c, req.Cwd)
	if err != nil {
		return nil, err
	}
	man, err := h.agentFor(ctx, sc, req, dir)
	if err != nil {
		return nil, err
	}
	if man.IsShell() {
		return nil, api.NewError(api.BadAgent, man.Name+" is a plain terminal; termio sessions run starts one")
	}
	rec := newRecord(sc, store.KindAgent, man.ID, dir)
	rec.ConfigEnv = man.ConfigEnv(h.env.Environ)
	rec.FirstPrompt = req.Prompt
	resume, fresh, release, err := h.conversationFor(sc, &rec, man, req)
	if err != nil {
		return nil, err
	}
	defer release()
	undo := func() {}
	if req.Worktree != nil {
		if undo, err = h.addWorktree(ctx, &rec, *req.Worktree); err != nil {
			return nil, err
		}
	}
	prompt := req.Prompt
	if sc.from != nil && prompt != "" {
		prompt = agent.Note(sc.fromRec.ID.Link(), prompt)
	}
	st := startState(verbSpawn, req.Waiting)
	if st.Fresh = fresh; fresh { // there was nothing to resume, which is said
		st.Missing = req.Resume
	}
	r := h.newRequest(c.Request, rec.ID, prompt, st)
	err = h.begin(ctx, launch{
		rec: rec, man: man, project: sc.project, resume: resume, prompt: prompt,
		size: sizeOf(req.Cols, req.Rows), req: r,
	})
	if err != nil {
		undo()
		return nil, err
	}
	return r.answer(ctx)
}

// Run starts a login shell and enters a command.
func (h *Host) Run(ctx context.Context, c Caller, req api.RunRequest) (any, error) {
	if r := h.requests.get(c.Request); r != nil {
		return r.answer(ctx)
	}
	if err := checkWaiting(req.Waiting); err != nil {
		return nil, err
	}
	kind := store.KindRun
	if req.Shell {
		kind, req.Command = store.KindShell, ""
	}
	if err := checkText(req.Command, !req.Shell); err != nil {
		return nil, err
	}
	sc, dir, err := h.startFolder(c, req.Cwd)
	if err != nil {
		return nil, err
	}
	rec := newRecord(sc, kind, h.shell().ID, dir)
	rec.Command = req.Command
	r := h.newRequest(c.Request, rec.ID, req.Command, startState(verbRun, req.Waiting))
	err = h.begin(ctx, launch{rec: rec, man: h.shell(), project: sc.project, size: sizeOf(req.Cols, req.Rows), req: r})
	if err != nil {
		return nil, err
	}
	return r.answer(ctx)
}

// startState is the state of a request for a new session, of which nothing has been
// done.
func startState(v verb, w api.Waiting) requestState {
	return requestState{
		Verb: v, Wait: w.Wait, Limit: time.Now().Add(api.ClampTimeout(w.TimeoutMS)), Phase: phaseQueued, Enter: true,
	}
}

// deliverFirst has the text delivered that a session is started for, to the program that
// was started for it. typed says that it is typed; else the program was started with it,
// if there is one.
func (r *request) deliverFirst(s *session, run *running, typed bool) {
	st := r.get()
	s.mu.Lock()
	d := &delivery{
		s: s, run: run, req: r, text: r.text, enter: true, first: true, command: st.Verb == verbRun, done: make(chan struct{}),
	}
	r.s, r.d = s, d
	if st.Wait {
		d.waiter = s.newWaiterLocked(st.Limit)
		d.waiter.request = r.id
	}
	arg := !typed || d.text == ""
	if arg && d.waiter != nil {
		d.waiter.submitted(submission{at: time.Now(), turn: s.turnStateLocked(), arg: true})
	}
	if !arg {
		d.startLocked()
	}
	s.mu.Unlock()
	r.h.requests.add(r)
	if arg {
		close(d.done)
		d.over()
	}
}

// checkWaiting holds that waiting is always explicit.
func checkWaiting(w api.Waiting) error {
	if w.TimeoutMS != 0 && !w.Wait {
		return api.NewError(api.BadRequest, "a timeout goes with wait only: nothing waits without it")
	}
	if w.TimeoutMS < 0 {
		return api.NewError(api.BadRequest, "a timeout is a number of milliseconds")
	}
	return nil
}

// checkText bounds a text, and asks for one.
func checkText(text string, needed bool) error {
	if needed && strings.TrimSpace(text) == "" {
		return api.NewError(api.NoText, "the text is empty")
	}
	if needed && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsControl(r) && !unicode.IsSpace(r) }) {
		return api.NewError(api.NoText, "the text holds nothing but control characters, which are not typed; sessions send --key presses keys")
	}
	if len(text) > MaxText {
		return api.NewError(api.BadRequest, fmt.Sprintf("a text of %d bytes; at most %d go in at once: put it into a file and send its path", len(text), MaxText))
	}
	return nil
}

// startFolder decides where a new session starts and in which project: the
// folder that the caller names, else the caller's own. A folder that is in no
// project yet is opened, so that a first spawn works.
func (h *Host) startFolder(c Caller, named string) (scope, string, error) {
	sc, err := h.callerSession(c)
	if err != nil {
		return sc, "", err
	}
	dir := named
	if dir == "" {
		dir = c.Cwd
	}
	if dir != "" {
		real, err := realFolder(dir)
		switch {
		case err == nil:
			dir = real
		case named != "":
			return sc, "", folderError(named, err)
		case sc.fromRec.ID == "":
			return sc, "", folderError(dir, err)
		default:
			dir = "" // the caller's own folder is gone: its session's serves
		}
	}
	if sc.fromRec.ID == "" {
		if dir == "" {
			return sc, "", api.NewError(api.NoScope, noProject(""))
		}
		sc.project, err = h.openAround(dir, named != "")
		return sc, dir, err
	}
	if err := h.ownProject(&sc); err != nil {
		return sc, "", err
	}
	if dir != "" {
		p, ok, err := h.projectAround(dir)
		if err != nil {
			return sc, "", err
		}
		if ok && p.ID == sc.project.ID {
			return sc, dir, nil
		}
		if named != "" {
			return sc, "", api.NewError(api.NoScope, fmt.Sprintf("%s is outside this session's project %s", dir, sc.project.Root))
		}
	}
	return sc, h.folderOfSession(sc), nil
}

// folderOfSession is where a caller's session was started, if that is still
// there, else its project's root.
func (h *Host) folderOfSession(sc scope) string {
	if fi, err := os.Stat(sc.fromRec.Folder); err == nil && fi.IsDir() {
		return sc.fromRec.Folder
	}
	return sc.project.Root
}

// chooseAgent finds the agent by the word given, else the caller's own kind,
// else the default.
func (h *Host) chooseAgent(ctx context.Context, sc scope, word string) (*agent.Manifest, error) {
	cat := h.catalogue()
	if word != "" {
		if m, ok := cat.Find(word); ok {
			return m, nil
		}
		return nil, api.NewError(api.BadAgent, fmt.Sprintf("no agent %q; termio agents list shows them", printable(word)))
	}
	if sc.from != nil {
		if m := sc.from.agentNow(); !m.IsShell() {
			return m, nil
		}
	}
	preferred := h.settings().DefaultAgent
	if err := h.checkDefaultAgent(preferred); err != nil {
		return nil, api.NewError(api.BadAgent, fmt.Sprintf("the setting default-agent: %v", err))
	}
	m, ok := cat.Default(preferred, func(m *agent.Manifest) bool {
		_, err := h.lookPath(m.Program(), false)
		return err == nil
	})
	if !ok {
		return nil, api.NewError(api.NoAgent, "no agent is installed; termio agents list says where to get one, and --agent demo needs none")
	}
	return m, nil
}

// lookPath finds a program where the person's login shell would. The program's own
// name is its stable copy, so that a manifest may name it.
func (h *Host) lookPath(program string, fresh bool) (string, error) {
	if program == "termio" {
		return h.env.StableExe, nil
	}
	path, err := pty.LookPath(program, "", h.login.get(false))
	if err != nil && fresh {
		path, err = pty.LookPath(program, "", h.login.get(true))
	}
	return path, err
}

// shell is the manifest of a plain terminal.
func (h *Host) shell() *agent.Manifest {
	m, ok := h.catalogue().Find("terminal")
	if !ok {
		panic("no terminal among the built-in agents") // broken invariant
	}
	return m
}

// newRecord is the record of a session that is about to start.
func newRecord(sc scope, kind store.Kind, agentID, dir string) store.Session {
	now := time.Now()
	rec := store.Session{
		ID: newID(), ProjectID: sc.project.ID, Kind: kind, AgentID: agentID, Folder: dir,
		SpawnedBy: sc.fromRec.ID, CreatedAt: now, ConversationPast: []string{}, ConfigEnv: map[string]string{},
	}
	rec.Status, rec.StatusSince = api.Idle, now
	return rec
}

// newID is a random UUID (version 4).
func newID() api.SessionID {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return api.SessionID(fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:]))
}

func sizeOf(cols, rows int) pty.Size {
	z := pty.Size{Cols: defaultCols, Rows: defaultRows}
	if cols > 0 && cols <= maxCells && rows > 0 && rows <= maxCells {
		z.Cols, z.Rows = uint16(cols), uint16(rows)
	}
	return z
}

// launch is what a session is started from.
type launch struct {
	rec     store.Session
	man     *agent.Manifest
	project store.Project
	resume  bool
	prompt  string
	size    pty.Size
	req     *request // what the session is started for
}
