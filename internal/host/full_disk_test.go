//go:build linux

package host_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"termio/internal/client"
	"termio/internal/termtest"
)

// A hook is silent and succeeds on a full disk too, where the daemon cannot store what
// it tells, and the daemon goes on answering.
func TestReportOnAFullDisk(t *testing.T) {
	small := t.TempDir()
	if err := syscall.Mount("tmpfs", small, "tmpfs", 0, "size=256m"); err != nil {
		t.Skipf("NOT TESTED: a file system of its own needs root: %v", err)
	}
	t.Cleanup(func() { // after the daemon's end
		if err := syscall.Unmount(small, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount %s: %v", small, err)
		}
	})
	t.Setenv("TMPDIR", small)
	d := termtest.Start(t)
	agent := filepath.Join(d.Dir, "agent")
	d.WriteFile(filepath.Join(d.Paths.AgentsDir, "filled.json"), 0o600, `{
		"id": "filled", "name": "Filled", "command": "`+agent+`",
		"hooks": {"type": "builtin", "conversation": "session_id", "events": [{"on": "Ask", "state": "attention"}]}
	}`)
	d.WriteFile(agent, 0o700, `#!/bin/sh
read x <gate
said=$(echo '{"session_id": "7f0c"}' | "$TERMIO_HOME/bin/termio" agent report attention --event Ask --conversation-from session_id --transcript 2>&1)
echo "code $? said $said." >heard
read x <gate
`)
	gate := d.Gate("gate")
	if err := syscall.Mkfifo(filepath.Join(d.Dir, "heard"), 0o600); err != nil {
		t.Fatal(err)
	}
	link := d.SpawnAgent("filled", "x")
	fillUp(t, filepath.Join(small, "full"))
	gate.Open()
	heard, err := os.Open(filepath.Join(d.Dir, "heard"))
	if err != nil {
		t.Fatal(err)
	}
	defer heard.Close()
	awaitLineOf(t, heard, "code 0 said .\n")
	list, err := d.Client().List(d.Context(), client.ListOptions{})
	if err != nil || len(list.Sessions) != 1 || list.Sessions[0].Link != link {
		t.Errorf("the list of a daemon without room: %+v, %v", list, err)
	}
	if err := os.Remove(filepath.Join(small, "full")); err != nil {
		t.Fatal(err)
	}
	gate.Open()
}

// fillUp writes a file until nothing more fits.
func fillUp(t *testing.T, file string) {
	t.Helper()
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	block := make([]byte, 1<<20)
	for size := len(block); size > 0; {
		if _, err := f.Write(block[:size]); err != nil {
			size /= 2 // down to the last byte
		}
	}
}
