package cli

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"termio/internal/config"
)

// A socket that a killed daemon left behind is no daemon; one that somebody listens at is,
// whether it answers or not.
func TestNobodyListens(t *testing.T) {
	dir, err := os.MkdirTemp("", "tl")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	listen := func(name string) *net.UnixListener {
		ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, name), Net: "unix"})
		if err != nil {
			t.Fatal(err)
		}
		ln.SetUnlinkOnClose(false)
		return ln
	}
	if err := listen("dead").Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	living := listen("living")
	defer living.Close()
	for name, want := range map[string]bool{"missing": true, "dead": true, "living": false, "file": false} {
		if got := nobodyListens(config.Paths{Socket: filepath.Join(dir, name)}); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}
