package config

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestFromEnv(t *testing.T) {
	e, err := FromEnv([]string{
		"HOME=/home/ada", "TERMIO_SESSION=x", "TERMIO_CLI_TIMEOUT=1.5", "SHELL=/bin/zsh", "TERMIO_READY_FD=3",
		"PATH=/first", "PATH=/last", "BROKEN",
	})
	if err != nil {
		t.Fatal(err)
	}
	if e.Home != "/home/ada/.termio" || e.Socket != "/home/ada/.termio/run/termio.sock" {
		t.Errorf("home %q, socket %q", e.Home, e.Socket)
	}
	if e.Session != "x" || e.CLITimeout != 1500*time.Millisecond || e.Shell != "/bin/zsh" || e.ReadyFD != 3 {
		t.Errorf("env %+v", e)
	}
	if got := e.Get("PATH"); got != "/last" {
		t.Errorf("PATH %q: the last one counts", got)
	}
}

func TestFromEnvDefaults(t *testing.T) {
	e, err := FromEnv([]string{"HOME=/home/ada", "TERMIO_HOME=/srv/t/", "SHELL=zsh", "TERMIO_CLI_TIMEOUT="})
	if err != nil {
		t.Fatal(err)
	}
	if e.Home != "/srv/t" || e.CLITimeout != 15*time.Second || e.Shell != "/bin/sh" || e.ReadyFD != -1 {
		t.Errorf("home %q, timeout %v, shell %q, fd %d", e.Home, e.CLITimeout, e.Shell, e.ReadyFD)
	}
}

func TestFromEnvRefuses(t *testing.T) {
	for _, bad := range []string{"0", "-1", "x", "NaN", "1e99", "15s"} {
		e, err := FromEnv([]string{"HOME=/h", "TERMIO_CLI_TIMEOUT=" + bad})
		if err == nil || !strings.Contains(err.Error(), "TERMIO_CLI_TIMEOUT") {
			t.Errorf("timeout %q: error %v", bad, err)
		}
		if e.Home != "/h/.termio" || e.CLITimeout != DefaultCLITimeout {
			t.Errorf("timeout %q: the rest is not usable: %+v", bad, e)
		}
	}
	if _, err := FromEnv(nil); err == nil || !strings.Contains(err.Error(), "set HOME") {
		t.Errorf("no home at all: error %v", err)
	}
}

// shortTemp is a folder whose path leaves room for a socket.
func shortTemp(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "tc")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// longHome is a home whose own socket would not fit.
func longHome(t *testing.T) string {
	t.Helper()
	return filepath.Join(shortTemp(t), strings.Repeat("é", 60), ".termio")
}

func TestEnsureDirs(t *testing.T) {
	old := filepath.Join(shortTemp(t), "home")
	if err := os.MkdirAll(filepath.Join(old, "run"), 0o777); err != nil {
		t.Fatal(err)
	}
	p, err := NewPaths(old, "")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // twice is the same as once
		if err := p.EnsureDirs(); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{p.RunDir, p.LogDir, p.StateDir, p.ConfigDir, p.AgentsDir, p.BinDir} {
		fi, err := os.Stat(dir)
		if err != nil {
			t.Fatal(err)
		}
		if fi.Mode().Perm() != 0o700 {
			t.Errorf("%s has mode %o", dir, fi.Mode().Perm())
		}
	}
	if err := p.CheckSocket(); err != nil {
		t.Error(err)
	}
}

func TestEnsureDirsRefusesWhatOthersCanChange(t *testing.T) {
	tests := []struct {
		name string
		make func(t *testing.T, home string) error
		want string
	}{
		{"home open to all", func(t *testing.T, home string) error {
			if err := os.Mkdir(home, 0o700); err != nil {
				return err
			}
			return os.Chmod(home, 0o777)
		}, "open to other users (mode 0777)"},
		{"run is a link", func(t *testing.T, home string) error {
			if err := os.Mkdir(home, 0o700); err != nil {
				return err
			}
			return os.Symlink(t.TempDir(), filepath.Join(home, "run"))
		}, "a symbolic link"},
		{"run is a file", func(t *testing.T, home string) error {
			if err := os.Mkdir(home, 0o700); err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(home, "run"), nil, 0o600)
		}, "run is not a folder"},
		{"home belongs to another user", func(t *testing.T, home string) error {
			if os.Geteuid() != 0 {
				t.Skip("only root can make another user's folder")
			}
			if err := os.Mkdir(home, 0o700); err != nil {
				return err
			}
			return os.Chown(home, 12345, -1)
		}, "belongs to user 12345"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			home := filepath.Join(shortTemp(t), "h")
			if err := tt.make(t, home); err != nil {
				t.Fatal(err)
			}
			p, err := NewPaths(home, "")
			if err != nil {
				t.Fatal(err)
			}
			if err := p.EnsureDirs(); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

// A link as home is its person's own doing, such as a home on another disk.
func TestHomeMayBeALink(t *testing.T) {
	dir := shortTemp(t)
	link := filepath.Join(dir, "link")
	if err := os.Mkdir(filepath.Join(dir, "real"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real", link); err != nil {
		t.Fatal(err)
	}
	p, err := NewPaths(link, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := p.EnsureDirs(); err != nil {
		t.Fatal(err)
	}
}

func TestLongHomeGetsAShortSocket(t *testing.T) {
	home, tmp := longHome(t), shortTemp(t)
	p, err := NewPaths(home, tmp)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Socket) > maxSocketPath || !strings.HasPrefix(p.Socket, tmp+"/termio-") {
		t.Fatalf("socket %q", p.Socket)
	}
	if err := p.EnsureDirs(); err != nil {
		t.Fatal(err)
	}
	if err := p.CheckSocket(); err != nil {
		t.Error(err)
	}

	// A process with another TMPDIR finds the same socket.
	other, err := NewPaths(home, shortTemp(t))
	if err != nil {
		t.Fatal(err)
	}
	if other.Socket != p.Socket {
		t.Errorf("sockets %q and %q of one home", other.Socket, p.Socket)
	}
	if err := other.EnsureDirs(); err != nil || other.Socket != p.Socket {
		t.Errorf("socket %q of %q, error %v", other.Socket, p.Socket, err)
	}

	// After the named folder went away for good, a new one is named.
	if err := os.RemoveAll(tmp); err != nil {
		t.Fatal(err)
	}
	tmp2 := shortTemp(t)
	again, err := NewPaths(home, tmp2)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.EnsureDirs(); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(again.Socket, tmp2) {
		t.Errorf("socket %q, want one in %s", again.Socket, tmp2)
	}
}

// Two first processes with different TMPDIRs agree, whichever comes first.
func TestShortSocketIsNamedOnce(t *testing.T) {
	home := longHome(t)
	a, errA := NewPaths(home, shortTemp(t))
	b, errB := NewPaths(home, shortTemp(t))
	if errA != nil || errB != nil {
		t.Fatal(errA, errB)
	}
	if err := a.EnsureDirs(); err != nil {
		t.Fatal(err)
	}
	if err := b.EnsureDirs(); err != nil {
		t.Fatal(err)
	}
	if a.Socket != b.Socket {
		t.Errorf("sockets %q and %q", a.Socket, b.Socket)
	}
}

// So do many that start at once.
func TestShortSocketIsNamedOnceByMany(t *testing.T) {
	for range 20 {
		home := longHome(t)
		all := make([]Paths, 6)
		var wg sync.WaitGroup
		for i := range all {
			var err error
			if all[i], err = NewPaths(home, shortTemp(t)); err != nil {
				t.Fatal(err)
			}
		}
		for i := range all {
			wg.Go(func() {
				if err := all[i].EnsureDirs(); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		named, ok := readPointer(all[0].pointer)
		for _, p := range all {
			if !ok || p.Socket != named {
				t.Errorf("socket %q, named is %q", p.Socket, named)
			}
		}
	}
}

// Somebody else's folder at the short place could hold somebody else's socket.
func TestShortSocketIsNotTakenFromOthers(t *testing.T) {
	home, tmp := longHome(t), shortTemp(t)
	p, err := NewPaths(home, tmp)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(p.Socket), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Dir(filepath.Dir(p.Socket)), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := p.CheckSocket(); err == nil {
		t.Error("a client would have trusted the folder")
	}
	if err := p.EnsureDirs(); err == nil || !strings.Contains(err.Error(), "open to other users") {
		t.Errorf("error %v", err)
	}
}

func TestVeryLongTmpFallsBack(t *testing.T) {
	p, err := NewPaths(longHome(t), "/"+strings.Repeat("t", 90))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(p.Socket, "/tmp/termio-") {
		t.Errorf("socket %q", p.Socket)
	}
}
