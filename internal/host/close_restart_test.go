package host_test

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"termio/internal/api"
	"termio/internal/client"
	"termio/internal/termtest"
)

// A close that a host was killed at is finished by the next one: the agent, which got
// its SIGHUP and ended, has no shell in its place, and the session is closed as it was
// meant to be.
func TestCloseGoesOnOverARestart(t *testing.T) {
	for _, name := range []string{"while it ends", "when it has ended"} {
		t.Run(name, func(t *testing.T) {
			d := termtest.Start(t, withDying)
			gate := d.Gate("gate")
			alive := filepath.Join(d.Dir, "alive")
			if err := syscall.Mkfifo(alive, 0o600); err != nil {
				t.Fatal(err)
			}
			link := d.SpawnAgent("dying", "x")
			life, err := os.Open(alive)
			if err != nil {
				t.Fatal(err)
			}
			defer life.Close()
			type result struct {
				reply api.CloseReply
				err   error
			}
			closed := make(chan result, 1)
			closing := d.Client()
			go func() {
				r, err := closing.Close(d.Context(), link)
				closed <- result{r, err}
			}()
			awaitLineOf(t, life, "hangup\n")
			if name == "while it ends" {
				d.KillHost()
				gate.Open()
			} else {
				d.StopHost(func() {
					gate.Open()
					awaitLineOf(t, life, "")
				})
			}
			events := d.Watch(url.Values{"since": {"0"}, "snapshot": {"0"}, "state": {allStates}})
			last := events.Await("the end", func(e api.Event) bool {
				if e.Agent == "Terminal" {
					t.Errorf("a shell took the agent's place: %+v", e)
				}
				return e.Status == api.Closed
			})
			if last.Link != link || last.Reason != "closed" {
				t.Errorf("the end: %+v", last)
			}
			list, err := d.Client().List(d.Context(), client.ListOptions{Closed: true})
			if err != nil {
				t.Fatal(err)
			}
			if s := list.Sessions[0]; s.Status != api.Closed || s.Reason != "closed" || s.Agent != "Dying" {
				t.Errorf("list: %+v", s)
			}
			if r := <-closed; r.err != nil || r.reply.Closed != link {
				t.Errorf("close: %+v, %v", r.reply, r.err)
			}
		})
	}
}

// allStates is the state parameter for every transition.
const allStates = "working,needs-you,done,idle,closed"

// withDying installs an agent that tells when it is hung up, and ends when it may.
func withDying(d *termtest.Daemon) {
	d.WriteFile(filepath.Join(d.Paths.AgentsDir, "dying.json"), 0o600,
		`{"id": "dying", "name": "Dying", "command": "`+filepath.Join(d.Dir, "dying")+`"}`)
	d.WriteFile(filepath.Join(d.Dir, "dying"), 0o700, `#!/bin/sh
trap 'echo hangup >&9; read x <gate; exit 0' HUP
exec 9>alive
while :; do read -r x <never; done
`)
	if err := syscall.Mkfifo(filepath.Join(d.Dir, "never"), 0o600); err != nil {
		panic(err)
	}
}

// awaitLineOf reads from a pipe until a line has come, or with "" until its end.
func awaitLineOf(t *testing.T, f *os.File, line string) {
	t.Helper()
	var got strings.Builder
	buf := make([]byte, 64)
	for line == "" || !strings.Contains(got.String(), line) {
		n, err := f.Read(buf)
		got.Write(buf[:n])
		if err != nil {
			if line != "" {
				t.Fatalf("%v after %q", err, got.String())
			}
			return
		}
	}
}

// A close that comes when the agent has just ended by itself, and a shell is being
// started in its place, ends that shell as well, and the host lives on.
func TestCloseWhileAShellTakesTheAgentsPlace(t *testing.T) {
	const sessions, atOnce = 40, 4
	d := termtest.Start(t)
	d.WriteFile(filepath.Join(d.Paths.AgentsDir, "brief.json"), 0o600,
		`{"id": "brief", "name": "Brief", "command": "/bin/sh -c 'exit 0'"}`)
	before, err := d.Client().Daemon(d.Context())
	if err != nil {
		t.Fatal(err)
	}
	clients := make([]*client.Client, sessions)
	for i := range clients {
		clients[i] = d.Client()
	}
	inParallel(sessions, atOnce, func(i int) {
		r, err := clients[i].Spawn(d.Context(), api.SpawnRequest{Agent: "brief", Prompt: "x"})
		if err == nil {
			_, err = clients[i].Close(d.Context(), r.Target)
		}
		if err != nil {
			t.Error(err)
		}
	})
	after, err := d.Client().Daemon(d.Context())
	if err != nil {
		t.Fatal(err)
	}
	if after.HostPID != before.HostPID {
		t.Errorf("the host died meanwhile: process %d, then %d", before.HostPID, after.HostPID)
	}
	if after.Sessions != 0 {
		t.Errorf("%d sessions left", after.Sessions)
	}
	if left := d.Processes(); len(left) > 0 {
		t.Errorf("processes left: %q", left)
	}
	list, err := d.Client().List(d.Context(), client.ListOptions{Closed: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list.Sessions { // none was stored as open again
		if s.Status != api.Closed || s.Reason != "closed" && s.Reason != "Brief exited" {
			t.Errorf("session %+v", s)
		}
	}
}
