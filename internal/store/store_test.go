package store

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"termio/internal/api"
)

var t0 = time.UnixMilli(1_700_000_000_123)

// newStore opens a store in a folder whose name tries the file's address.
func newStore(t *testing.T) *Store {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "a b?c#d%20é")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return openAt(t, filepath.Join(dir, "t.db"))
}

func openAt(t *testing.T, file string) *Store {
	t.Helper()
	s, err := Open(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// reopen closes a store and opens its file again.
func reopen(t *testing.T, s *Store) *Store {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return openAt(t, s.file)
}

// id is the n-th session's.
func id(n int) api.SessionID {
	return api.SessionID(fmt.Sprintf("00000000-0000-4000-8000-%012d", n))
}

// addProject adds a project at root.
func addProject(t *testing.T, s *Store, root string) Project {
	t.Helper()
	p, _, err := s.AddProject(root, t0)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// put stores a session of a project with nothing but what is needed.
func put(t *testing.T, s *Store, n int, p Project) Session {
	t.Helper()
	v := Session{ID: id(n), ProjectID: p.ID, Kind: KindShell, Folder: p.Root, CreatedAt: t0.Add(time.Duration(n) * time.Second)}
	if err := s.PutSession(v); err != nil {
		t.Fatal(err)
	}
	return v
}

// session reads one that must be there.
func session(t *testing.T, s *Store, n int) Session {
	t.Helper()
	v, ok, err := s.Session(id(n))
	if err != nil || !ok {
		t.Fatalf("session %d: found %v, error %v", n, ok, err)
	}
	return v
}

// ids are the sessions that a filter chooses.
func ids(t *testing.T, s *Store, f Filter) []api.SessionID {
	t.Helper()
	all, err := s.Sessions(f)
	if err != nil {
		t.Fatal(err)
	}
	var got []api.SessionID
	for _, v := range all {
		got = append(got, v.ID)
	}
	return got
}

// direct runs statements on a file as another program would.
func direct(t *testing.T, file string, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite3", address(file))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, st := range statements {
		if _, err := db.Exec(st); err != nil {
			t.Fatal(err)
		}
	}
}

// ask reads one value from a file as another program would.
func ask(t *testing.T, file, query string) string {
	t.Helper()
	db, err := sql.Open("sqlite3", address(file))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var v string
	if err := db.QueryRow(query).Scan(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

func whole(p Project) Session {
	code := 0
	return Session{
		ID: id(1), ProjectID: p.ID, Kind: KindAgent, AgentID: "demo", Command: "make\ntest", Folder: "/src/a", Worktree: "/wt/a",
		SpawnedBy: id(9), CreatedAt: t0, Title: "„Titel“ \x00\x1b", Conversation: "c2",
		ConversationPast: []string{"c0", "c1"}, Transcript: "/t.jsonl", ConfigEnv: map[string]string{"CODEX_HOME": "/c"}, Prompted: true,
		Progress: Progress{
			Status: api.NeedsYou, StatusSince: t0.Add(time.Second), Seen: true, LiveTitle: "live", FirstPrompt: "do it",
			Cwd: "/src/a/b", Cols: 80, Rows: 24, PID: 4321, PIDStart: 1 << 40, Machine: []byte{0, 1, 255}, Carry: []byte("carried"),
		},
		Closing: Closing{ClosedAt: t0.Add(time.Hour), Reason: "exited", ExitCode: &code, ExitSignal: "SIGHUP"},
	}
}

func TestSessionRoundTrip(t *testing.T) {
	s := newStore(t)
	want := whole(addProject(t, s, "/src/a"))
	if err := s.PutSession(want); err != nil {
		t.Fatal(err)
	}
	s = reopen(t, s)
	if diff := cmp.Diff(want, session(t, s, 1)); diff != "" {
		t.Error(diff)
	}

	// Every field changes, and changes back to nothing.
	empty := Session{ID: id(1), ProjectID: want.ProjectID, ConversationPast: []string{}, ConfigEnv: map[string]string{}}
	empty.Machine, empty.Carry = []byte{}, []byte{}
	if err := s.PutSession(empty); err != nil {
		t.Fatal(err)
	}
	got := session(t, s, 1)
	got.Machine, got.Carry = append([]byte{}, got.Machine...), append([]byte{}, got.Carry...)
	if diff := cmp.Diff(empty, got); diff != "" {
		t.Error(diff)
	}
	if _, ok, err := s.Session(id(2)); ok || err != nil {
		t.Errorf("a session that was never stored: %v, %v", ok, err)
	}
}

func TestPutSessionLeavesWhatIsNotGiven(t *testing.T) {
	s := newStore(t)
	want := whole(addProject(t, s, "/src/a"))
	if err := s.PutSession(want); err != nil {
		t.Fatal(err)
	}
	less := want
	less.ConversationPast, less.ConfigEnv, less.Machine, less.Carry = nil, nil, nil, nil
	less.Title = "new"
	if err := s.PutSession(less); err != nil {
		t.Fatal(err)
	}
	want.Title = "new"
	if diff := cmp.Diff(want, session(t, s, 1)); diff != "" {
		t.Error(diff)
	}
}

func TestPutSessionNeedsItsProject(t *testing.T) {
	s := newStore(t)
	if err := s.PutSession(Session{ID: id(1), ProjectID: 77}); err == nil {
		t.Error("stored a session of no project")
	}
}

func TestSessionsFilter(t *testing.T) {
	s := newStore(t)
	a, b := addProject(t, s, "/a"), addProject(t, s, "/b")
	for n := range 4 {
		put(t, s, n, a)
	}
	put(t, s, 4, b)
	if err := s.CloseSession(id(1), Closing{ClosedAt: t0, Reason: "closed"}, &api.Event{}); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		f    Filter
		want []api.SessionID
	}{
		{"open ones", Filter{}, []api.SessionID{id(0), id(2), id(3), id(4)}},
		{"of a project", Filter{ProjectID: a.ID}, []api.SessionID{id(0), id(2), id(3)}},
		{"with the closed", Filter{ProjectID: a.ID, Closed: true}, []api.SessionID{id(0), id(1), id(2), id(3)}},
		{"the latest", Filter{Closed: true, Limit: 2}, []api.SessionID{id(3), id(4)}},
		{"of no project", Filter{ProjectID: 99}, nil},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, ids(t, s, tt.f)); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}

func TestTransition(t *testing.T) {
	s := newStore(t)
	put(t, s, 1, addProject(t, s, "/a"))
	p := Progress{Status: api.Working, StatusSince: t0, LiveTitle: "x", Cols: 10, Rows: 5, PID: 7, PIDStart: 8, Machine: []byte("m"), Carry: []byte("c")}
	e := api.Event{Link: id(1).Link(), Status: api.Working}
	if err := s.Transition(id(1), p, &e); err != nil {
		t.Fatal(err)
	}
	if e.Seq != 1 {
		t.Errorf("seq %d", e.Seq)
	}
	if diff := cmp.Diff(p, session(t, s, 1).Progress); diff != "" {
		t.Error(diff)
	}
	p.Status = api.Done
	if err := s.UpdateStatus(id(1), p); err != nil {
		t.Fatal(err)
	}
	if got := session(t, s, 1).Status; got != api.Done {
		t.Errorf("status %s", got)
	}

	// A transition of a session that is not stored leaves no event behind.
	unknown := api.Event{Link: id(2).Link()}
	if err := s.Transition(id(2), p, &unknown); err == nil || unknown.Seq != 0 {
		t.Errorf("error %v, seq %d", err, unknown.Seq)
	}
	if err := s.UpdateStatus(id(2), p); err == nil {
		t.Error("updated a session that is not stored")
	}
	if events, _, err := s.EventsSince(0, 10); err != nil || len(events) != 1 {
		t.Errorf("%d events, error %v", len(events), err)
	}
}

// Of the sessions that have ended the newest are kept, and every one that has not.
func TestClosedSessionsAreBounded(t *testing.T) {
	s := newStore(t)
	project := addProject(t, s, "/a")
	for n := range 4 {
		put(t, s, n, project)
	}
	// As many as are kept ended one after the other, the first of them long ago.
	err := s.write("fill the table", func(q *queries) error {
		return q.exec(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
			INSERT INTO sessions (id, project_id, closed_at) SELECT 'old-' || i, ?, i FROM n`, maxClosed, project.ID)
	})
	if err != nil {
		t.Fatal(err)
	}
	for n := range 2 {
		if err := s.CloseSession(id(n), Closing{ClosedAt: t0, Reason: "exited"}, &api.Event{Status: api.Closed}); err != nil {
			t.Fatal(err)
		}
	}
	all, err := s.Sessions(Filter{Closed: true})
	if err != nil {
		t.Fatal(err)
	}
	closed, open := map[api.SessionID]bool{}, 0
	for _, v := range all {
		if v.Closed() {
			closed[v.ID] = true
		} else {
			open++
		}
	}
	if len(closed) != maxClosed || open != 2 {
		t.Errorf("%d closed and %d open, want %d and 2", len(closed), open, maxClosed)
	}
	if closed["old-1"] || closed["old-2"] || !closed["old-3"] || !closed[id(0)] || !closed[id(1)] {
		t.Error("others than those that ended first are forgotten")
	}
}

func TestCloseSessionOnce(t *testing.T) {
	s := newStore(t)
	put(t, s, 1, addProject(t, s, "/a"))
	code := 7
	first := Closing{ClosedAt: t0, Reason: "exited", ExitCode: &code}
	e := api.Event{Status: api.Closed}
	if err := s.CloseSession(id(1), first, &e); err != nil || e.Seq != 1 {
		t.Fatalf("error %v, seq %d", err, e.Seq)
	}
	again := api.Event{Status: api.Closed}
	if err := s.CloseSession(id(1), Closing{ClosedAt: t0.Add(time.Hour), Reason: "lost"}, &again); err != nil || again.Seq != 0 {
		t.Errorf("error %v, seq %d", err, again.Seq)
	}
	got := session(t, s, 1)
	if diff := cmp.Diff(first, got.Closing); diff != "" || got.Status != api.Closed || !got.Closed() {
		t.Errorf("%s, status %s", diff, got.Status)
	}
	if err := s.CloseSession(id(2), first, &again); err == nil {
		t.Error("closed a session that is not stored")
	}

	// Opened again, such as by a resume, it is as new.
	got.Closing = Closing{}
	if err := s.PutSession(got); err != nil {
		t.Fatal(err)
	}
	if v := session(t, s, 1); v.Closed() || v.ExitCode != nil || v.Reason != "" {
		t.Errorf("closing %+v", v.Closing)
	}
}

func TestProjects(t *testing.T) {
	s := newStore(t)
	p, created, err := s.AddProject("/src/app/", t0)
	if err != nil || !created || p.Root != "/src/app" || p.Name != "app" || !p.CreatedAt.Equal(t0) {
		t.Fatalf("%+v, %v, %v", p, created, err)
	}
	again, created, err := s.AddProject("/src/app", t0.Add(time.Hour))
	if err != nil || created || again != p {
		t.Errorf("%+v, %v, %v", again, created, err)
	}
	if _, _, err := s.AddProject("src", t0); err == nil {
		t.Error("added a relative path")
	}
	inner, root := addProject(t, s, "/src/app/vendor/x"), addProject(t, s, "/")
	v := put(t, s, 1, inner)
	v.Worktree = "/elsewhere/wt"
	if err := s.PutSession(v); err != nil {
		t.Fatal(err)
	}
	s = reopen(t, s)
	all, err := s.Projects()
	if diff := cmp.Diff([]Project{p, inner, root}, all); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	tests := []struct {
		path string
		want Project
	}{
		{"/src/app", p},
		{"/src/app/", p},
		{"/src/app/cmd", p},
		{"/src/apple", root},
		{"/src/app/vendor/x/y", inner},
		{"/elsewhere/wt/sub", inner},
		{"/elsewhere", root},
		{"/", root},
	}
	for _, tt := range tests {
		if got, ok, err := s.ProjectFor(tt.path); err != nil || !ok || got != tt.want {
			t.Errorf("%s: %+v, %v, %v", tt.path, got, ok, err)
		}
	}
}

func TestNoProjectFor(t *testing.T) {
	s := newStore(t)
	addProject(t, s, "/src/app")
	if p, ok, err := s.ProjectFor("/src"); ok || err != nil {
		t.Errorf("%+v, %v, %v", p, ok, err)
	}
}

func TestFilesAreForTheirOwnerOnly(t *testing.T) {
	s := newStore(t)
	addProject(t, s, "/a")
	entries, err := os.ReadDir(filepath.Dir(s.file))
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) < 2 {
		t.Errorf("only %v: no write-ahead log", entries)
	}
	for _, e := range entries {
		fi, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		if fi.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %o", e.Name(), fi.Mode().Perm())
		}
	}
}

func TestClosedStore(t *testing.T) {
	s := newStore(t)
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := s.AddProject("/a", t0); !errors.Is(err, errClosed) {
		t.Errorf("error %v", err)
	}
	if _, err := s.Projects(); !errors.Is(err, errClosed) {
		t.Errorf("error %v", err)
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	notDB := filepath.Join(dir, "notes.db")
	text := strings.Repeat("these are my notes\n", 300)
	if err := os.WriteFile(notDB, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Open(notDB)
	if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), notDB) || !strings.Contains(err.Error(), "move the file away") {
		t.Errorf("error %v", err)
	}
	if got, err := os.ReadFile(notDB); err != nil || string(got) != text {
		t.Errorf("the file was changed: %v", err)
	}
	if _, err := Open(filepath.Join(dir, "no", "such", "t.db")); err == nil || !strings.Contains(err.Error(), "folder") {
		t.Errorf("error %v", err)
	}
	if _, err := Open(dir); err == nil {
		t.Error("opened a folder")
	}
}

// Overwritten pages are an error that names the file, wherever they are met.
func TestDamagedPages(t *testing.T) {
	s := newStore(t)
	p := addProject(t, s, "/a")
	for n := range 200 {
		put(t, s, n, p)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(s.file)
	if err != nil {
		t.Fatal(err)
	}
	for i := 4096; i < len(data); i++ {
		data[i] = 0xaa
	}
	if err := os.WriteFile(s.file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err = Open(s.file); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), s.file) {
		t.Errorf("error %v", err)
	}
}

func TestBusy(t *testing.T) {
	s := newStore(t)
	db, err := sql.Open("sqlite3", address(s.file))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("BEGIN EXCLUSIVE"); err != nil {
		t.Fatal(err)
	}
	if err := s.w.use(func(q *queries) error { return q.exec("PRAGMA busy_timeout = 1") }); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.AddProject("/a", t0); !errors.Is(err, ErrBusy) || !strings.Contains(err.Error(), s.file) {
		t.Errorf("error %v", err)
	}
	if _, err := db.Exec("ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.AddProject("/a", t0); err != nil {
		t.Errorf("after the other program let go: %v", err)
	}
}

// What a newer version has written stays when this one updates the row.
func TestNewerFile(t *testing.T) {
	s := newStore(t)
	p := addProject(t, s, "/a")
	put(t, s, 1, p)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	newer := append(migrations[:len(migrations):len(migrations)],
		"ALTER TABLE sessions ADD COLUMN mood TEXT NOT NULL DEFAULT 'calm'; ALTER TABLE projects ADD COLUMN icon TEXT; CREATE TABLE moods (x)")
	n, err := open(s.file, newer, bootID(), maxEvents)
	if err != nil {
		t.Fatal(err)
	}
	if err := n.w.use(func(q *queries) error {
		return errors.Join(
			q.exec("UPDATE sessions SET mood = 'bright', status = 'dreaming', kind = 'swarm', reason = 'abducted', config_env = '[[1]]', conversation_past = '{}'"),
			q.exec(`INSERT INTO events (event) VALUES ('{"status":"dreaming","dream":{"deep":1},"link":"l"}')`))
	}); err != nil {
		t.Fatal(err)
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}

	s = openAt(t, s.file)
	v := session(t, s, 1)
	if v.Status != "dreaming" || v.Kind != "swarm" || v.Reason != "abducted" {
		t.Errorf("%+v", v)
	}
	v.Title = "renamed"
	if err := s.PutSession(v); err != nil {
		t.Fatal(err)
	}
	put(t, s, 2, p)
	events, _, err := s.EventsSince(0, 10)
	if err != nil || len(events) != 1 || events[0].Status != "dreaming" {
		t.Errorf("%+v, %v", events, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	raw := "SELECT mood || status || kind || reason || config_env || conversation_past || title FROM sessions WHERE rowid = "
	if got, want := ask(t, s.file, raw+"1"), "brightdreamingswarmabducted[[1]]{}renamed"; got != want {
		t.Errorf("row %q, want %q", got, want)
	}
	if got := ask(t, s.file, raw+"2"); got != "calmshell{}[]" {
		t.Errorf("new row %q", got)
	}
	if got := ask(t, s.file, "PRAGMA user_version"); got != fmt.Sprint(len(newer)) {
		t.Errorf("version %s", got)
	}
	if got := ask(t, s.file, "SELECT event FROM events"); !strings.Contains(got, `"dream":{"deep":1}`) {
		t.Errorf("event %s", got)
	}
}

func TestMigrations(t *testing.T) {
	file := filepath.Join(t.TempDir(), "t.db")
	s := openAt(t, file)
	put(t, s, 1, addProject(t, s, "/a"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	// A step that fails leaves the file at the version it had.
	n := len(migrations)
	broken := append(migrations[:n:n], "ALTER TABLE sessions ADD COLUMN a TEXT; ALTER TABLE nothing ADD COLUMN b TEXT")
	if _, err := open(file, broken, bootID(), maxEvents); err == nil || !strings.Contains(err.Error(), fmt.Sprint("version ", n+1)) {
		t.Errorf("error %v", err)
	}
	if got := ask(t, file, "PRAGMA user_version"); got != fmt.Sprint(n) {
		t.Errorf("version %s", got)
	}
	// Several processes that start at once bring it up to date once.
	next := append(migrations[:n:n], "ALTER TABLE sessions ADD COLUMN a TEXT NOT NULL DEFAULT 'x'")
	var wg sync.WaitGroup
	for range 5 {
		wg.Go(func() {
			s, err := open(file, next, bootID(), maxEvents)
			if err != nil {
				t.Error(err)
				return
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := ask(t, file, "SELECT a || (SELECT user_version FROM pragma_user_version) FROM sessions"); got != fmt.Sprint("x", n+1) {
		t.Errorf("row and version %q", got)
	}
}

// What a session is bound to is synced to the disk; progress is not held up by it.
func TestDurability(t *testing.T) {
	s := newStore(t)
	const normal, full = 1, 2
	level := func(q *queries) (n int) {
		if _, err := q.row("PRAGMA synchronous", nil, &n); err != nil {
			t.Error(err)
		}
		return n
	}
	var during, after int
	if err := s.writeThrough("try", func(q *queries) error { during = level(q); return nil }); err != nil {
		t.Fatal(err)
	}
	if err := s.write("try", func(q *queries) error { after = level(q); return nil }); err != nil {
		t.Fatal(err)
	}
	if during != full || after != normal {
		t.Errorf("synchronous %d in a durable write, %d in the next plain one", during, after)
	}
	// Also after one that failed.
	if err := s.writeThrough("try", func(*queries) error { return errors.New("no") }); err == nil {
		t.Error("no error")
	}
	if err := s.write("try", func(q *queries) error { after = level(q); return nil }); err != nil || after != normal {
		t.Errorf("synchronous %d after a failed one, %v", after, err)
	}
}
