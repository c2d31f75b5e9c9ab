package integrate

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// newLinker is a person with two folders for the link, none on the system's own.
func newLinker(t *testing.T) (p *person, global, own string) {
	t.Helper()
	root := t.TempDir()
	global, own = filepath.Join(root, "global"), filepath.Join(root, "own", "bin")
	if err := os.Mkdir(global, 0o755); err != nil {
		t.Fatal(err)
	}
	p = newPerson(t, "PATH=/usr/bin:"+global)
	p.linkDirs = []string{global, own}
	return p, global, own
}

func TestLink(t *testing.T) {
	p, global, _ := newLinker(t)
	if got := p.Link(); got != (Link{State: Off}) {
		t.Errorf("%+v", got)
	}
	want := Link{State: On, Path: filepath.Join(global, "termio"), OnPath: true}
	for range 2 {
		if got, err := p.InstallLink(); err != nil || got != want {
			t.Errorf("%+v, %v", got, err)
		}
	}
	if dest, err := os.Readlink(want.Path); err != nil || dest != p.exe {
		t.Errorf("leads to %q, %v", dest, err)
	}
	if removed, err := p.RemoveLink(); err != nil || len(removed) != 1 || removed[0] != want.Path {
		t.Errorf("%v, %v", removed, err)
	}
	if removed, err := p.RemoveLink(); err != nil || removed != nil {
		t.Errorf("the second time: %v, %v", removed, err)
	}
}

func TestLinkInTheOwnFolder(t *testing.T) {
	p, global, own := newLinker(t)
	if err := os.Remove(global); err != nil {
		t.Fatal(err)
	}
	got, err := p.InstallLink()
	if want := (Link{State: On, Path: filepath.Join(own, "termio")}); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestLinkNeverReplacesWhatIsNotOurs(t *testing.T) {
	p, global, own := newLinker(t)
	theirs := filepath.Join(global, "termio")
	if err := os.WriteFile(theirs, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	got, err := p.InstallLink()
	if err != nil || got.Path != filepath.Join(own, "termio") || got.Hidden != theirs {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := p.RemoveLink(); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/bin/true", filepath.Join(own, "termio")); err != nil {
		t.Fatal(err)
	}
	if _, err := p.InstallLink(); err == nil || !strings.Contains(err.Error(), theirs+" is not termio's") || !strings.Contains(err.Error(), own) {
		t.Errorf("error %v", err)
	}
	if removed, err := p.RemoveLink(); err != nil || removed != nil {
		t.Errorf("%v, %v", removed, err)
	}
	for _, f := range []string{theirs, filepath.Join(own, "termio")} {
		if _, err := os.Lstat(f); err != nil {
			t.Error(err)
		}
	}
}

// A link that an uninstalled home left behind leads nowhere and is taken over.
func TestStaleLink(t *testing.T) {
	p, global, _ := newLinker(t)
	path := filepath.Join(global, "termio")
	if err := os.Symlink("/gone/.termio/bin/termio", path); err != nil {
		t.Fatal(err)
	}
	if got := p.Link(); got.State != Stale || got.Path != path {
		t.Errorf("%+v", got)
	}
	if _, err := p.InstallLink(); err != nil {
		t.Fatal(err)
	}
	if dest, err := os.Readlink(path); err != nil || dest != p.exe {
		t.Errorf("leads to %q, %v", dest, err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	// A link to somebody else's program that is away for now is theirs.
	if err := os.Symlink("/mnt/usb/other", path); err != nil {
		t.Fatal(err)
	}
	if _, err := p.RemoveLink(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
		t.Error("removed it")
	}
}
