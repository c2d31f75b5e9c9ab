package host_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"termio/internal/api"
	"termio/internal/termtest"
)

// fleetReader is what an open interface knows.
type fleetReader struct {
	t     *testing.T
	lines chan api.FleetLine
	rows  map[string]api.SessionInfo
	last  api.FleetLine
}

// openFleet opens an interface's stream; it ends with the test.
func openFleet(t *testing.T, d *termtest.Daemon) *fleetReader {
	t.Helper()
	f := &fleetReader{t: t, lines: make(chan api.FleetLine, 100), rows: map[string]api.SessionInfo{}}
	ctx, cancel := context.WithCancel(d.Context())
	done := make(chan error, 1)
	c := d.Client()
	go func() {
		done <- c.Fleet(ctx, func(l api.FleetLine) error {
			select {
			case f.lines <- l:
			case <-ctx.Done():
			}
			return nil
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("fleet: %v", err)
		}
	})
	return f
}

// until takes lines in until what is known is as wanted.
func (f *fleetReader) until(what string, want func() bool) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), termtest.Patience)
	defer cancel()
	for !want() {
		select {
		case f.last = <-f.lines:
			if f.last.Whole {
				clear(f.rows)
			}
			for _, r := range f.last.Sessions {
				f.rows[r.Link] = r
			}
		case <-ctx.Done():
			f.t.Fatalf("waiting for %s: the rows are %+v", what, f.rows)
		}
	}
}

// An interface sees each state of a session, what it is called, that it was looked at,
// and its end; also over a restart of the host.
func TestFleetTellsWhatChanges(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t)
	f := openFleet(t, d)
	f.until("the whole state", func() bool { return f.last.Whole })

	link := d.Spawn("[[ask Which colour?|Red|Blue]] [[say Fine.]]")
	row := func() api.SessionInfo { return f.rows[link] }
	f.until("the question", func() bool { return row().Dialog != nil && len(row().Dialog.Options) >= 2 })
	if got := row(); got.Status != api.NeedsYou || got.ProjectRoot != d.Dir || got.Project != filepath.Base(d.Dir) {
		t.Errorf("the row is %+v", got)
	}
	d.KillHost()
	f.until("the next host's word", func() bool { return f.last.Whole })
	if row().Status != api.NeedsYou {
		t.Errorf("after a restart the session is %s", row().Status)
	}
	d.Send(link, "2")
	f.until("the end of the turn", func() bool { return row().Status == api.Done && !row().Seen })
	d.Screen(link)
	f.until("that somebody has looked", func() bool { return row().Seen })

	if _, err := d.Client().Rename(d.Context(), link, "  colours\x1b[31m\nx "); err != nil {
		t.Fatal(err)
	}
	f.until("the new title", func() bool {
		return strings.HasPrefix(row().Title, "colours") && !strings.ContainsAny(row().Title, "\x1b\n")
	})
	if _, err := d.Client().Rename(d.Context(), link, ""); err != nil {
		t.Fatal(err)
	}
	f.until("the automatic title", func() bool { return strings.HasPrefix(row().Title, "[[ask") })

	if v, err := d.Client().Focus(d.Context(), link); err != nil || v.Focused != link {
		t.Errorf("focus: %+v, %v", v, err)
	}
	f.until("the focus", func() bool { return f.last.Focus == link })
	d.Close(link)
	f.until("the end", func() bool { return row().Status == api.Closed && row().ProjectRoot == d.Dir })
}

// What a person opens is told, with git's work trees; and a project that was opened
// elsewhere is selected.
func TestFleetTellsProjects(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t)
	d.WriteFile(filepath.Join(d.Dir, "a"), 0o644, "a")
	f := openFleet(t, d)
	f.until("the whole state", func() bool { return f.last.Whole })

	d.Git("checkout", "-q", "-b", "trunk")
	d.Git("add", "a")
	d.Git("-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qm", "a")
	tree := filepath.Join(filepath.Dir(d.Dir), "side")
	d.Git("worktree", "add", "-q", "-b", "side", tree)
	t.Cleanup(func() { _ = os.RemoveAll(tree) })
	if _, err := d.Client().Open(d.Context(), api.OpenRequest{Path: d.Dir}); err != nil {
		t.Fatal(err)
	}
	f.until("the project", func() bool { return f.last.Open == d.Dir })
	want := []api.WorktreeInfo{{Path: d.Dir, Branch: "trunk"}, {Path: tree, Branch: "side"}}
	for _, p := range f.last.Projects {
		if p.Root == d.Dir && len(p.Worktrees) == 2 && p.Worktrees[0] == want[0] && p.Worktrees[1] == want[1] {
			return
		}
	}
	t.Errorf("the projects are %+v, want %+v in one", f.last.Projects, want)
}

// An answer is for the dialog that its person saw: should another one be open by then,
// it gets no key.
func TestAnswerIsForTheDialogSeen(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t)
	f := openFleet(t, d)
	link := d.Spawn("[[ask First?|Red|Blue]] [[ask Second?|Left|Right]] [[say Fine.]]")
	dialog := func(question string) func() bool {
		return func() bool {
			r := f.rows[link]
			return r.Dialog != nil && strings.Contains(r.Dialog.Question, question) && len(r.Dialog.Options) >= 2
		}
	}
	f.until("the first question", dialog("First?"))
	first := f.rows[link].Dialog
	if _, err := d.Client().Send(d.Context(), link, api.SendRequest{Text: "1", Dialog: first}); err != nil {
		t.Fatal(err)
	}
	f.until("the second question", dialog("Second?"))
	if _, err := d.Client().Send(d.Context(), link, api.SendRequest{Text: "2", Dialog: first}); api.CodeOf(err) != api.NeedsAnswer {
		t.Errorf("an answer to the question before gives %v", err)
	}
	if _, err := d.Client().Send(d.Context(), link, api.SendRequest{Text: "2", Dialog: f.rows[link].Dialog}); err != nil {
		t.Errorf("an answer to the second question: %v", err)
	}
	f.until("the end of the turn", func() bool { return f.rows[link].Status == api.Done })
	if _, err := d.Client().Send(d.Context(), link, api.SendRequest{Text: "1", Dialog: first}); api.CodeOf(err) != api.NeedsAnswer {
		t.Errorf("an answer to no question gives %v", err)
	}
}

// An interface starts agents and shells for a person who types then.
func TestStartWithoutText(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t)
	v, err := d.Client().Spawn(d.Context(), api.SpawnRequest{Agent: "demo", NoPrompt: true})
	if err != nil {
		t.Fatal(err)
	}
	d.Screen(v.Target).Await("the composer", func(text string) bool { return strings.Contains(text, ">") || strings.Contains(text, "❯") })
	r, err := d.Client().Run(d.Context(), api.RunRequest{Shell: true})
	if err != nil {
		t.Fatal(err)
	}
	d.Screen(r.Target).Await("a prompt", func(text string) bool { return strings.ContainsAny(text, "#$") })
	if _, err := d.Client().Run(d.Context(), api.RunRequest{}); api.CodeOf(err) != api.NoText {
		t.Errorf("no command and no shell gives %v", err)
	}
}
