package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"termio/internal/api"
	"termio/internal/quick"
)

const testSession = "ab12cd34-9f2e-4c31-b8d7-3e5a12c90f44"

// shortHome makes a home whose path a socket's fits behind.
func shortHome(t *testing.T) Paths {
	t.Helper()
	dir, err := os.MkdirTemp("", "tq")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	p, err := NewPaths(filepath.Join(dir, "h"), "")
	if err != nil {
		t.Fatal(err)
	}
	if err := p.EnsureDirs(); err != nil {
		t.Fatal(err)
	}
	return p
}

// Where a place is found it is the one that config finds; what is out of the ordinary
// is left to config.
func TestQuickFind(t *testing.T) {
	p := shortHome(t)
	session := "TERMIO_SESSION=" + testSession
	dir := filepath.Dir(p.Home)
	if err := os.MkdirAll(filepath.Join(dir, ".termio", "run"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(p.Home, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name    string
		environ []string
		found   bool
	}{
		{"a home", []string{"TERMIO_HOME=" + p.Home}, true},
		{"with a session", []string{"TERMIO_HOME=" + p.Home, session}, true},
		{"a session in capitals", []string{"TERMIO_HOME=" + p.Home, strings.ToUpper(session)}, true},
		{"the last one counts", []string{"TERMIO_HOME=/nowhere", "TERMIO_HOME=" + p.Home}, true},
		{"the person's home", []string{"HOME=" + dir}, true},
		{"empty is not set", []string{"HOME=" + dir, "TERMIO_HOME="}, true},
		{"by a link", []string{"TERMIO_HOME=" + filepath.Join(dir, "link")}, true},
		{"a variable that begins alike", []string{"TERMIO_HOMES=" + p.Home}, false},
		{"no home", nil, false},
		{"relative", []string{"TERMIO_HOME=h"}, false},
		{"not in its shortest form", []string{"TERMIO_HOME=" + p.Home + "/"}, false},
		{"with a step up", []string{"TERMIO_HOME=" + p.Home + "/../h"}, false},
		{"too long for a socket", []string{"TERMIO_HOME=/" + strings.Repeat("long", 30)}, false},
		{"a session that is none", []string{"TERMIO_HOME=" + p.Home, "TERMIO_SESSION=me"}, false},
		{"nothing there", []string{"TERMIO_HOME=" + dir + "/none"}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := quick.Find(tt.environ)
			if ok != tt.found {
				t.Fatalf("found: %v, %+v", ok, got)
			}
			if !ok {
				return
			}
			env, err := FromEnv(tt.environ)
			if err != nil {
				t.Fatal(err)
			}
			session, _ := api.ParseSessionID(env.Session)
			if want := (quick.Place{Socket: env.Socket, Session: string(session)}); got != want {
				t.Errorf("%+v, and config has %+v", got, want)
			}
		})
	}
}

// A socket is trusted exactly where config trusts it.
func TestQuickPrivate(t *testing.T) {
	p := shortHome(t)
	check := func(what string) {
		t.Helper()
		if _, err := os.Lstat(p.RunDir); os.IsNotExist(err) {
			return // config lets the dial say it
		}
		if got, err := quick.Private(p.RunDir), p.CheckSocket(); got != (err == nil) {
			t.Errorf("%s: private is %v, and config says %v", what, got, err)
		}
	}
	for _, mode := range []os.FileMode{0o700, 0o500, 0o701, 0o710, 0o720, 0o755, 0o777, 0o1700} {
		if err := os.Chmod(p.RunDir, mode); err != nil {
			t.Fatal(err)
		}
		check(mode.String())
	}
	if err := os.Rename(p.RunDir, p.RunDir+"2"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(p.RunDir+"2", p.RunDir); err != nil {
		t.Fatal(err)
	}
	check("a link")
	if err := os.Remove(p.RunDir); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p.RunDir, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	check("a file")
	if quick.Private(p.RunDir + "3") {
		t.Error("what is not there is private")
	}
}
