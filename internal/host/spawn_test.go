package host_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"termio/internal/api"
	"termio/internal/client"
	"termio/internal/termtest"
)

// Spawns at once each succeed once or fail whole: no half-made session remains of a
// start that failed.
func TestConcurrentSpawns(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t, termtest.WithDemoLog())
	d.WriteFile(filepath.Join(d.Paths.AgentsDir, "missing.json"), 0o600,
		`{"id": "missing", "name": "Missing", "command": "no-such-command-anywhere", "install": "https://example.invalid/get"}`)
	var mu sync.Mutex
	links := map[string]bool{}
	var all sync.WaitGroup
	ctx := d.Context()
	for range 5 {
		good, bad := d.Client(), d.Client()
		all.Go(func() {
			r, err := good.SpawnWait(ctx, api.SpawnRequest{Agent: "demo", Prompt: "hello"})
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			links[r.Target] = true
		})
		all.Go(func() {
			_, err := bad.Spawn(ctx, api.SpawnRequest{Agent: "missing", Prompt: "hello"})
			if api.CodeOf(err) != api.StartFailed || !strings.Contains(err.Error(), "https://example.invalid/get") {
				t.Errorf("spawn of what is not installed: %v", err)
			}
		})
	}
	all.Wait()
	list, err := d.Client().List(ctx, client.ListOptions{Closed: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(links) != 5 || len(list.Sessions) != 5 {
		t.Errorf("%d links, %d sessions in the list", len(links), len(list.Sessions))
	}
	for _, s := range list.Sessions {
		if !links[s.Link] || s.Status != api.Done {
			t.Errorf("session %+v", s)
		}
	}
	if got := d.Submitted(); len(got) != 5 {
		t.Errorf("%d prompts submitted", len(got))
	}
}

// What cannot be started is an error with a code, and leaves nothing.
func TestSpawnErrors(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t)
	ctx := d.Context()
	d.WriteFile(filepath.Join(d.Paths.AgentsDir, "text.json"), 0o600, `{"id": "text", "name": "Text", "command": "`+filepath.Join(d.Dir, "text")+`"}`)
	d.WriteFile(filepath.Join(d.Dir, "text"), 0o600, "no program")
	tests := []struct {
		name string
		req  api.SpawnRequest
		code api.Code
	}{
		{"unknown agent", api.SpawnRequest{Agent: "nobody", Prompt: "x"}, api.BadAgent},
		{"a terminal is no agent", api.SpawnRequest{Agent: "terminal", Prompt: "x"}, api.BadAgent},
		{"no agent is installed", api.SpawnRequest{Prompt: "x"}, api.NoAgent},
		{"empty prompt", api.SpawnRequest{Agent: "demo", Prompt: " \n"}, api.NoText},
		{"prompt too long", api.SpawnRequest{Agent: "demo", Prompt: strings.Repeat("x", 5<<20)}, api.BadRequest},
		{"timeout without wait", api.SpawnRequest{Agent: "demo", Prompt: "x", Waiting: api.Waiting{TimeoutMS: 5}}, api.BadRequest},
		{"no such folder", api.SpawnRequest{Agent: "demo", Prompt: "x", Cwd: "/nowhere/at/all"}, api.BadRequest},
		{"not executable", api.SpawnRequest{Agent: "text", Prompt: "x"}, api.StartFailed},
		{"no conversation of that name", api.SpawnRequest{Agent: "demo", Prompt: "x", Resume: "../../etc"}, api.BadRequest},
		{"an agent without conversations", api.SpawnRequest{Agent: "text", Prompt: "x", Resume: "abc"}, api.WrongAgent},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := d.Post("/v1/sessions/spawn", tt.req)
			if api.CodeOf(err) != tt.code {
				t.Errorf("spawn: %v, want %s", err, tt.code)
			}
		})
	}
	list, err := d.Client().List(ctx, client.ListOptions{Closed: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Sessions) != 0 {
		t.Errorf("left: %+v", list.Sessions)
	}
}

// A start that fails late fails whole: no session, no work tree and no branch of it is
// left. A branch that was there stays.
func TestFailedStartLeavesNothing(t *testing.T) {
	d := termtest.Start(t)
	d.WriteFile(filepath.Join(d.Paths.AgentsDir, "broken.json"), 0o600, `{"id": "broken", "name": "Broken", "command": "`+filepath.Join(d.Dir, "broken")+`"}`)
	d.WriteFile(filepath.Join(d.Dir, "broken"), 0o700, "#!/no/such/interpreter\n") // found, and yet it does not start
	d.Git("commit", "--quiet", "--allow-empty", "-m", "first")
	d.Git("branch", "theirs")
	was := d.Git("branch", "--list") + d.Git("worktree", "list")
	own, named, theirs := "", "feature/x", "theirs"
	for _, branch := range []*string{nil, &own, &named, &theirs} {
		_, err := d.Client().Spawn(d.Context(), api.SpawnRequest{Agent: "broken", Prompt: "x", Worktree: branch})
		if api.CodeOf(err) != api.StartFailed {
			t.Errorf("spawn: %v", err)
		}
	}
	d.KillHost() // which brings to light what the database holds beside the living
	list, err := d.Client().List(d.Context(), client.ListOptions{Closed: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Sessions) != 0 {
		t.Errorf("sessions left: %+v", list.Sessions)
	}
	if now := d.Git("branch", "--list") + d.Git("worktree", "list"); now != was {
		t.Errorf("branches and work trees:\n%swere:\n%s", now, was)
	}
	if left, err := filepath.Glob(filepath.Join(d.Paths.Worktrees, "*")); err != nil || len(left) != 0 {
		t.Errorf("folders left: %v, %v", left, err)
	}
}

// A daemon that was started inside an agent, a multiplexer or a session of ours passes
// nothing of that on.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t, termtest.WithEnv("CLAUDECODE=1", "CLAUDE_CODE_SESSION_ID=x", "TMUX=/tmp/t", "TERMIO_SESSION=00000000-0000-4000-8000-000000000000",
		"KITTY_WINDOW_ID=1", "CLAUDE_CODE_USE_BEDROCK=1", "TERM=dumb", "MINE=kept"))
	out := filepath.Join(d.Dir, "env")
	if err := syscall.Mkfifo(out, 0o600); err != nil {
		t.Fatal(err)
	}
	link := d.Run("env >env")
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	env := strings.Split(string(data), "\n")
	for _, want := range []string{
		"TERMIO_SESSION=" + strings.TrimPrefix(link, api.LinkPrefix), "TERM=xterm-256color", "COLORTERM=truecolor",
		"TERM_PROGRAM=termio", "CLAUDE_CODE_USE_BEDROCK=1", "MINE=kept",
	} {
		if !slices.Contains(env, want) {
			t.Errorf("%s is missing", want)
		}
	}
	for _, name := range []string{"CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "TMUX", "KITTY_WINDOW_ID", "TERMIO_READY_FD"} {
		if slices.ContainsFunc(env, func(kv string) bool { return strings.HasPrefix(kv, name+"=") }) {
			t.Errorf("%s was passed on", name)
		}
	}
}

// A command that a terminal would cut is run from a file.
func TestRunLongCommand(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t)
	long := "x=" + strings.Repeat("0123456789", 900) + "; printf %s \"$x\" | wc -c >length"
	if _, err := d.Client().RunWait(d.Context(), api.RunRequest{Command: long}); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(d.Dir, "length"))
	if err != nil {
		t.Fatal(err)
	}
	if strings.TrimSpace(string(got)) != "9000" {
		t.Errorf("length %q", got)
	}
	link := d.Run("cat")
	_, err = d.Client().Send(d.Context(), link, api.SendRequest{Text: strings.Repeat("y", 5000)})
	if api.CodeOf(err) != api.BadRequest || !strings.Contains(err.Error(), "4095") {
		t.Errorf("a long line for a program that reads lines: %v", err)
	}
	list, err := d.Client().List(d.Context(), listAll)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list.Sessions {
		d.Close(s.Link)
	}
	if entries, err := filepath.Glob(filepath.Join(d.Paths.StateDir, "run-*")); err != nil || len(entries) != 0 {
		t.Errorf("files left: %v, %v", entries, err)
	}
}

// A work tree that was made for a session outlives it, with what is in it.
func TestWorktreeIsKept(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t)
	d.Git("commit", "--quiet", "--allow-empty", "-m", "first")
	ctx := d.Context()
	branch := "feature/x"
	r, err := d.Client().SpawnWait(ctx, api.SpawnRequest{Agent: "demo", Prompt: "hello", Worktree: &branch})
	if err != nil {
		t.Fatal(err)
	}
	s := onlySession(t, d)
	if s.Worktree == "" || s.Folder != s.Worktree {
		t.Fatalf("session: %+v", s)
	}
	if got := d.Git("-C", s.Worktree, "branch", "--show-current"); strings.TrimSpace(got) != branch {
		t.Errorf("branch %q", got)
	}
	// The work tree lies elsewhere and is in the project's scope.
	if list, err := d.ClientAt(s.Worktree).List(ctx, listAll); err != nil || len(list.Sessions) != 1 || list.Project != "p" {
		t.Errorf("list: %+v, %v", list, err)
	}
	work := filepath.Join(s.Worktree, "uncommitted")
	d.WriteFile(work, 0o600, "work")
	d.Close(r.Target)
	if _, err := os.Stat(work); err != nil {
		t.Error(err)
	}
	plain := filepath.Join(filepath.Dir(d.Dir), "plain")
	if err := os.Mkdir(plain, 0o700); err != nil {
		t.Fatal(err)
	}
	empty := ""
	_, err = d.ClientAt(plain).Spawn(ctx, api.SpawnRequest{Agent: "demo", Prompt: "hello", Cwd: plain, Worktree: &empty})
	if api.CodeOf(err) != api.BadRequest {
		t.Errorf("work tree outside a repository: %v", err)
	}
}

// A session that ended goes on under the same link: the same conversation for an
// agent, a new shell for a terminal.
func TestResume(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t)
	ctx := d.Context()
	r, err := d.Client().SpawnWait(ctx, api.SpawnRequest{Agent: "demo", Prompt: "[[say first]]"})
	if err != nil {
		t.Fatal(err)
	}
	was := onlySession(t, d)
	if _, err := d.Client().Resume(ctx, r.Target); api.CodeOf(err) != api.BadRequest {
		t.Errorf("resume of an open session: %v", err)
	}
	d.Close(r.Target)
	resumed, err := d.Client().Resume(ctx, r.Target)
	if err != nil {
		t.Fatal(err)
	}
	if resumed.Target != r.Target || !resumed.Resumed || resumed.Fresh {
		t.Errorf("resume: %+v", resumed)
	}
	next, err := d.Client().SendWait(ctx, r.Target, api.SendRequest{Text: "[[say second]]"})
	if err != nil {
		t.Fatal(err)
	}
	checkReply(t, next, "second")
	if next.Transcript != r.Transcript || *next.Cursor < *r.CursorEnd {
		t.Errorf("after %+v came %+v", r, next)
	}
	if now := onlySession(t, d); now.Conversation != was.Conversation || now.Title != was.Title {
		t.Errorf("session\n%+v\nwas\n%+v", now, was)
	}
	_, err = d.Client().Spawn(ctx, api.SpawnRequest{Agent: "demo", Prompt: "x", Resume: was.Conversation})
	if api.CodeOf(err) != api.BadRequest || !strings.Contains(err.Error(), r.Target) {
		t.Errorf("a conversation that is open: %v", err)
	}
	d.Close(r.Target)
	other, err := d.Client().SpawnWait(ctx, api.SpawnRequest{Agent: "demo", Prompt: "[[say third]]", Resume: was.Conversation})
	if err != nil {
		t.Fatal(err)
	}
	if other.Transcript != r.Transcript || other.Target == r.Target {
		t.Errorf("spawn that resumes: %+v", other)
	}
	shell := d.Run("true")
	d.Close(shell)
	if again, err := d.Client().Resume(ctx, shell); err != nil || again.Target != shell {
		t.Errorf("resume of a terminal: %+v, %v", again, err)
	}
}
