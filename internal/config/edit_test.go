package config

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// to is an edit that puts s in place of whatever is there.
func to(s string) func([]byte) ([]byte, error) {
	return func([]byte) ([]byte, error) { return []byte(s), nil }
}

func write(t *testing.T, file, content string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(file, mode); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// onlyFile fails if anything but that file was left in its folder.
func onlyFile(t *testing.T, file string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(file))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != filepath.Base(file) {
			t.Errorf("%s was left behind", e.Name())
		}
	}
}

func TestEditFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f")
	steps := []struct {
		name    string
		edit    func([]byte) ([]byte, error)
		changed bool
		want    string
	}{
		{"absent stays absent", func(old []byte) ([]byte, error) { return old, nil }, false, ""},
		{"made", to("one"), true, "one"},
		{"the same again", to("one"), false, "one"},
		{"replaced", to("two"), true, "two"},
		{"emptied", to(""), true, ""},
		{"refused", func([]byte) ([]byte, error) { return nil, errors.New("no") }, false, ""},
		{"removed", func([]byte) ([]byte, error) { return nil, nil }, true, ""},
	}
	for _, s := range steps {
		changed, err := EditFile(file, 0o640, s.edit)
		if (err != nil) != (s.name == "refused") || changed != s.changed {
			t.Errorf("%s: changed %v, error %v", s.name, changed, err)
		}
		if got, _ := os.ReadFile(file); string(got) != s.want {
			t.Errorf("%s: file holds %q, want %q", s.name, got, s.want)
		}
		if fi, err := os.Stat(file); err == nil && fi.Mode().Perm() != 0o640 {
			t.Errorf("%s: mode %o", s.name, fi.Mode().Perm())
		}
	}
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the removed file is there: %v", err)
	}
}

func TestEditFileKeepsModeAndOwner(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f")
	write(t, file, "old", 0o604)
	if os.Geteuid() == 0 {
		if err := os.Chown(file, 1234, 2345); err != nil {
			t.Fatal(err)
		}
	}
	before, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := EditFile(file, 0o600, to("new")); err != nil {
		t.Fatal(err)
	}
	after, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if before.Mode() != after.Mode() {
		t.Errorf("mode %v became %v", before.Mode(), after.Mode())
	}
	a, b := before.Sys().(*syscall.Stat_t), after.Sys().(*syscall.Stat_t)
	if a.Uid != b.Uid || a.Gid != b.Gid {
		t.Errorf("owner %d:%d became %d:%d", a.Uid, a.Gid, b.Uid, b.Gid)
	}
	onlyFile(t, file)
}

func TestEditFileFollowsLinks(t *testing.T) {
	dir := t.TempDir()
	real := filepath.Join(dir, "dotfiles", "f")
	if err := os.Mkdir(filepath.Dir(real), 0o700); err != nil {
		t.Fatal(err)
	}
	link, second := filepath.Join(dir, "link"), filepath.Join(dir, "second")
	if err := os.Symlink("dotfiles/f", link); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(link, second); err != nil {
		t.Fatal(err)
	}
	for _, content := range []string{"made through a dangling link", "changed"} {
		if _, err := EditFile(second, 0o600, to(content)); err != nil {
			t.Fatal(err)
		}
		if got := read(t, real); got != content {
			t.Errorf("the file behind the links holds %q", got)
		}
	}
	for _, l := range []string{link, second} {
		if fi, err := os.Lstat(l); err != nil || fi.Mode()&os.ModeSymlink == 0 {
			t.Errorf("%s is no link any more: %v", l, err)
		}
	}
	onlyFile(t, real)
}

func TestEditFileRefuses(t *testing.T) {
	dir := t.TempDir()
	loop := filepath.Join(dir, "loop")
	if err := os.Symlink("loop", loop); err != nil {
		t.Fatal(err)
	}
	if _, err := EditFile(loop, 0o600, to("x")); !errors.Is(err, syscall.ELOOP) {
		t.Errorf("a link to itself: %v", err)
	}
	if _, err := EditFile(dir, 0o600, to("x")); err == nil {
		t.Error("a folder was edited")
	}
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := EditFile(fifo, 0o600, to("x")); err == nil {
		t.Error("a fifo was edited")
	}
	ro := filepath.Join(dir, "ro")
	write(t, ro, "mine", 0o400)
	if _, err := EditFile(ro, 0o600, to("x")); !errors.Is(err, ErrReadOnly) {
		t.Errorf("a read-only file: %v", err)
	}
	if _, err := EditFile(ro, 0o600, to("mine")); err != nil {
		t.Errorf("nothing to change in a read-only file: %v", err)
	}
	if got := read(t, ro); got != "mine" {
		t.Errorf("the read-only file holds %q", got)
	}
}

// Another program's write between our read and our rename is not overwritten.
func TestEditFileStartsAgain(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f")
	write(t, file, "a", 0o600)
	calls := 0
	_, err := EditFile(file, 0o600, func(old []byte) ([]byte, error) {
		if calls++; calls == 1 {
			write(t, file, "theirs", 0o600)
		}
		return append(old, "+ours"...), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := read(t, file); got != "theirs+ours" || calls != 2 {
		t.Errorf("file holds %q after %d calls", got, calls)
	}

	calls = 0
	_, err = EditFile(file, 0o600, func(old []byte) ([]byte, error) {
		calls++
		write(t, file, string(old)+"!", 0o600)
		return []byte("ours"), nil
	})
	if err == nil || calls != maxEditTries {
		t.Errorf("a file that never rests: %v after %d calls", err, calls)
	}
	onlyFile(t, file)
}
