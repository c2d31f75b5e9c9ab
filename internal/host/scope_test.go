package host_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"termio/internal/api"
	"termio/internal/client"
	"termio/internal/termtest"
)

// A caller sees its own project and no other.
func TestScope(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t)
	ctx := d.Context()
	root := filepath.Dir(d.Dir)
	repo := func(name string) string {
		dir := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Join(dir, "sub", "deep"), 0o700); err != nil {
			t.Fatal(err)
		}
		d.Git("init", "--quiet", dir)
		d.Git("-C", dir, "commit", "--quiet", "--allow-empty", "-m", "first")
		return dir
	}
	other := repo("other")
	tree := filepath.Join(root, "elsewhere")
	d.Git("-C", other, "worktree", "add", "--quiet", tree)
	plain := filepath.Join(root, "plain")
	if err := os.Mkdir(plain, 0o700); err != nil {
		t.Fatal(err)
	}

	here := d.Run("cat")
	// The first run from a work tree opens its repository's project.
	r, err := d.ClientAt(filepath.Join(other, "sub", "deep")).Run(ctx, api.RunRequest{Command: "cat"})
	if err != nil {
		t.Fatal(err)
	}
	there := r.Target
	tests := []struct {
		name   string
		client *client.Client
		want   string // the link in its list
		code   api.Code
	}{
		{"the project's folder", d.Client(), here, ""},
		{"the other project's folder", d.ClientAt(other), there, ""},
		{"a folder below", d.ClientAt(filepath.Join(other, "sub")), there, ""},
		{"a linked work tree of it", d.ClientAt(tree), there, ""},
		{"no project", d.ClientAt(plain), "", api.NoScope},
		{"in a session, by its variable", d.ClientIn(there), there, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			list, err := tt.client.List(ctx, listAll)
			if code := codeOf(err); code != tt.code {
				t.Fatalf("list: %v", err)
			}
			if tt.code != "" {
				return
			}
			if len(list.Sessions) != 1 || list.Sessions[0].Link != tt.want {
				t.Errorf("list: %+v", list)
			}
			for _, link := range []string{here, there} {
				_, err := tt.client.Read(ctx, link, client.ReadOptions{})
				if want := codeIf(link != tt.want, api.NotFound); codeOf(err) != want {
					t.Errorf("read %s: %v", link, err)
				}
			}
		})
	}
	t.Run("a run in no project names its folder", func(t *testing.T) {
		_, err := d.ClientAt(plain).Run(ctx, api.RunRequest{Command: "cat"})
		if api.CodeOf(err) != api.NoScope || !strings.Contains(err.Error(), "termio open") {
			t.Errorf("run: %v", err)
		}
		if _, err := d.ClientAt(plain).Run(ctx, api.RunRequest{Command: "cat", Cwd: plain}); err != nil {
			t.Errorf("run with the folder: %v", err)
		}
	})
	t.Run("every project", func(t *testing.T) {
		list, err := d.ClientAt(plain).List(ctx, client.ListOptions{All: true})
		if err != nil {
			t.Fatal(err)
		}
		if len(list.Sessions) != 3 || list.Sessions[0].Project != "p" {
			t.Errorf("list: %+v", list)
		}
		if _, err := d.ClientIn(here).List(ctx, client.ListOptions{All: true}); api.CodeOf(err) != api.NoScope {
			t.Errorf("a session asks for every project: %v", err)
		}
		if _, err := d.ClientIn(here).Run(ctx, api.RunRequest{Command: "cat", Cwd: other}); api.CodeOf(err) != api.NoScope {
			t.Errorf("a session starts outside its project: %v", err)
		}
	})
}

func codeIf(cond bool, code api.Code) api.Code {
	if cond {
		return code
	}
	return ""
}

// A process that descends from a session's is in that one, whatever its variable says.
func TestAncestryWinsOverTheVariable(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is not installed")
	}
	d := termtest.Start(t)
	ctx := d.Context()
	other := filepath.Join(filepath.Dir(d.Dir), "other")
	if err := os.Mkdir(other, 0o700); err != nil {
		t.Fatal(err)
	}
	r, err := d.ClientAt(other).Run(ctx, api.RunRequest{Command: "cat", Cwd: other})
	if err != nil {
		t.Fatal(err)
	}
	claimed := strings.TrimPrefix(r.Target, api.LinkPrefix)
	link := d.Run("curl -s --unix-socket " + d.Paths.Socket + " -H 'Termio-Session: " + claimed + "' http://t/v1/sessions")
	screen := d.Screen(link)
	screen.AwaitText(`"project":"p"`)
}

// A session that was spawned from inside another one is told by whom, and may send it
// one line, which waits for the person's draft.
func TestProvenanceAndTheWayBack(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t, termtest.WithDemoLog())
	ctx := d.Context()
	boss, err := d.Client().SpawnWait(ctx, api.SpawnRequest{Agent: "demo", Prompt: "lead"})
	if err != nil {
		t.Fatal(err)
	}
	worker, err := d.ClientIn(boss.Target).SpawnWait(ctx, api.SpawnRequest{Prompt: "work"})
	if err != nil {
		t.Fatal(err)
	}
	got := d.Submitted()
	if prompt := got[len(got)-1]; !strings.Contains(prompt, boss.Target) || !strings.HasSuffix(prompt, "\nwork") {
		t.Errorf("prompt %q", prompt)
	}
	list, err := d.Client().List(ctx, listAll)
	if err != nil {
		t.Fatal(err)
	}
	if s := list.Sessions[1]; s.SpawnedBy != boss.Target || s.Title != "work" || s.Agent != "Demo" {
		t.Errorf("worker: %+v", s)
	}
	screen := d.Screen(boss.Target)
	screen.Type("half a line")
	screen.AwaitText("❯ half a line")
	events := d.WatchAll()
	sent, err := d.ClientIn(worker.Target).Send(ctx, boss.Target, api.SendRequest{Text: "finished"})
	if err != nil {
		t.Fatal(err)
	}
	if sent.Delivery != api.Queued {
		t.Errorf("delivery %q", sent.Delivery)
	}
	screen.Type("\r")
	events.AwaitStatus(boss.Target, api.Done)
	events.AwaitStatus(boss.Target, api.Working)
	events.AwaitStatus(boss.Target, api.Done)
	got = d.Submitted()
	if last := got[len(got)-2:]; last[0] != "half a line" || last[1] != "finished" {
		t.Errorf("submitted %q", last)
	}
	if _, err := d.ClientIn(worker.Target).Send(ctx, worker.Target, api.SendRequest{Text: "to myself"}); api.CodeOf(err) != api.BadRequest {
		t.Errorf("send to oneself: %v", err)
	}
}

// A session is reached from outside its project by its whole address only where nobody
// can be in the project any more: its folder is gone. Else the error says where to go.
func TestSessionOfAnotherProject(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t)
	ctx := d.Context()
	other := filepath.Join(filepath.Dir(d.Dir), "other")
	if err := os.Mkdir(other, 0o700); err != nil {
		t.Fatal(err)
	}
	r, err := d.ClientAt(other).Run(ctx, api.RunRequest{Command: "cat", Cwd: other})
	if err != nil {
		t.Fatal(err)
	}
	inside := d.Run("cat")
	_, err = d.Client().Read(ctx, r.Target, client.ReadOptions{})
	if api.CodeOf(err) != api.NotFound || !strings.Contains(err.Error(), other) {
		t.Errorf("read of another project's: %v", err)
	}
	if _, err := d.ClientIn(inside).Read(ctx, r.Target, client.ReadOptions{}); api.CodeOf(err) != api.NotFound || strings.Contains(err.Error(), other) {
		t.Errorf("read from inside a session: %v", err)
	}
	if err := os.Remove(other); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Client().Read(ctx, r.Target[:len(r.Target)-1], client.ReadOptions{}); api.CodeOf(err) != api.NotFound {
		t.Errorf("read by a part of the address: %v", err)
	}
	if _, err := d.ClientIn(inside).Close(ctx, r.Target); api.CodeOf(err) != api.NotFound {
		t.Errorf("close from inside a session: %v", err)
	}
	if _, err := d.ClientAt("").Read(ctx, r.Target, client.ReadOptions{}); err != nil {
		t.Errorf("read without a folder: %v", err)
	}
	if _, err := d.Client().Close(ctx, r.Target); err != nil {
		t.Errorf("close: %v", err)
	}
}
