package config

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// maxSocketPath is how many bytes a unix socket's path may have on every
// system: macOS has 104 for it with the closing NUL, Linux 108.
const maxSocketPath = 103

// Paths are the places of one termio home. All are absolute.
type Paths struct {
	Home         string // TERMIO_HOME, ~/.termio by default
	RunDir       string // run/: sockets and locks; for its owner only
	Socket       string // run/termio.sock, or in a short folder where that path is too long
	LockFile     string // run/daemon.lock: whoever holds it is the daemon
	StartLock    string // run/start.lock: held while a client starts a daemon
	LogDir       string // log/
	Log          string // log/daemon.log
	StateDir     string // state/
	DB           string // state/termio.db
	ConfigDir    string // config/: what people edit
	SettingsFile string // config/settings.json
	AgentsDir    string // config/agents: a person's own manifests
	BinDir       string // bin/
	StableExe    string // bin/termio: the path that hooks call, constant over upgrades
	Worktrees    string // worktrees/: work trees that termio made
	DemoDir      string // demo/: the demo agent's own files
	BackupDir    string // state/backups: other programs' files as they were before our first edit

	pointer string // run/socket: names Socket where that is not in RunDir; "" otherwise
	short   string // where Socket goes if nothing has named it yet
}

// NewPaths lays out a home. A relative home is taken from the working folder.
// Where run/termio.sock is longer than a socket's path may be, the socket goes
// to a folder of its own under tmp ("" is /tmp) whose name is made from the
// home; run/socket then names it, and rules over tmp, so that processes with
// different TMPDIRs meet.
func NewPaths(home, tmp string) (Paths, error) {
	home, err := filepath.Abs(home)
	if err != nil {
		return Paths{}, fmt.Errorf("find termio's folder %s: %w", home, err)
	}
	if strings.ContainsRune(home, 0) {
		return Paths{}, fmt.Errorf("TERMIO_HOME holds a NUL byte: give a folder's path")
	}
	at := func(elem ...string) string { return filepath.Join(home, filepath.Join(elem...)) }
	p := Paths{
		Home:         home,
		RunDir:       at("run"),
		Socket:       at("run", "termio.sock"),
		LockFile:     at("run", "daemon.lock"),
		StartLock:    at("run", "start.lock"),
		LogDir:       at("log"),
		Log:          at("log", "daemon.log"),
		StateDir:     at("state"),
		DB:           at("state", "termio.db"),
		ConfigDir:    at("config"),
		SettingsFile: at("config", "settings.json"),
		AgentsDir:    at("config", "agents"),
		BinDir:       at("bin"),
		StableExe:    at("bin", "termio"),
		Worktrees:    at("worktrees"),
		DemoDir:      at("demo"),
		BackupDir:    at("state", "backups"),
	}
	if len(p.Socket) > maxSocketPath {
		p.pointer = at("run", "socket")
		p.short = shortSocket(home, tmp)
		p.Socket = p.short
		if s, ok := readPointer(p.pointer); ok {
			p.Socket = s
		}
	}
	return p, nil
}

// shortSocket is the socket's place for a home whose own path is too long.
func shortSocket(home, tmp string) string {
	sum := sha256.Sum256([]byte(home))
	rest := filepath.Join("termio-"+strconv.Itoa(os.Geteuid()), hex.EncodeToString(sum[:6]), "termio.sock")
	if s := filepath.Join(tmp, rest); filepath.IsAbs(s) && len(s) <= maxSocketPath {
		return s
	}
	return filepath.Join("/tmp", rest)
}

// readPointer reads the socket's place from run/socket.
func readPointer(file string) (string, bool) {
	b, err := os.ReadFile(file)
	if err != nil {
		return "", false
	}
	s := strings.TrimSuffix(string(b), "\n")
	ok := filepath.IsAbs(s) && len(s) <= maxSocketPath && filepath.Clean(s) == s && !strings.ContainsAny(s, "\n\x00")
	return s, ok
}

// EnsureDirs makes the folders, for their owner only, and refuses those that
// another user could reach into: a socket there could be someone else's. A
// daemon calls it before it binds, a client before it starts a daemon. It may
// settle Socket anew when another process has just named it.
func (p *Paths) EnsureDirs() error {
	if err := os.MkdirAll(p.Home, 0o700); err != nil {
		return fmt.Errorf("make termio's folder: %w", err)
	}
	home, err := filepath.EvalSymlinks(p.Home) // a link to it is its person's own doing
	if err != nil {
		return fmt.Errorf("find termio's folder: %w", err)
	}
	if err := ownedDir(home, 0o002, "set TERMIO_HOME to a folder of your own"); err != nil {
		return err
	}
	for _, d := range []string{p.RunDir, p.LogDir, p.StateDir, p.ConfigDir, p.AgentsDir, p.BinDir} {
		if err := os.Mkdir(d, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("make termio's folder: %w", err)
		}
	}
	for _, d := range []string{p.RunDir, p.LogDir, p.StateDir} {
		if err := privateDir(d); err != nil {
			return err
		}
	}
	if p.pointer == "" {
		return nil
	}
	return p.ensureShortSocket()
}

// CheckDirs says what is wrong with the folders that EnsureDirs makes, and makes
// and changes nothing. One that is not there is fine.
func (p Paths) CheckDirs() []error {
	var bad []error
	check := func(dir string, deny fs.FileMode, remedy string) {
		if err := ownedDir(dir, deny, remedy); err != nil && !errors.Is(err, fs.ErrNotExist) {
			bad = append(bad, err)
		}
	}
	if home, err := filepath.EvalSymlinks(p.Home); err == nil {
		check(home, 0o002, "set TERMIO_HOME to a folder of your own")
	}
	for _, d := range []string{p.RunDir, p.LogDir, p.StateDir} {
		check(d, 0o077, "move it away")
	}
	if p.pointer != "" {
		check(filepath.Dir(p.Socket), 0o077, "remove it and start again")
	}
	return bad
}

// CheckSocket refuses to trust a socket whose folder another user has made or
// could change; a client calls it before it dials. A folder that is not there
// is fine: the dial says so better.
func (p Paths) CheckSocket() error {
	dirs := []string{p.RunDir}
	if p.pointer != "" {
		dir := filepath.Dir(p.Socket)
		dirs = append(dirs, filepath.Dir(dir), dir)
	}
	for _, d := range dirs {
		err := ownedDir(d, 0o077, "remove it and start again")
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// ensureShortSocket makes the short folder and names it in run/socket. Whoever
// links the name first decides; the others follow.
func (p *Paths) ensureShortSocket() error {
	if named, ok := readPointer(p.pointer); ok {
		if err := makeShortDir(named); err == nil {
			p.Socket = named
			return nil
		}
		// The named folder cannot be had any more, such as after a reboot that
		// cleared it away together with its parent.
		if err := os.Remove(p.pointer); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("name the socket anew: %w", err)
		}
		p.Socket = p.short
	}
	if err := makeShortDir(p.Socket); err != nil {
		return err
	}
	f, err := os.CreateTemp(p.RunDir, ".socket-*")
	if err != nil {
		return fmt.Errorf("name the socket: %w", err)
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(p.Socket + "\n")
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("name the socket: %w", err)
	}
	err = os.Link(f.Name(), p.pointer)
	if errors.Is(err, fs.ErrExist) {
		if named, ok := readPointer(p.pointer); ok {
			p.Socket = named
			return makeShortDir(named)
		}
		err = os.Rename(f.Name(), p.pointer) // it held nothing usable
	}
	if err != nil {
		return fmt.Errorf("name the socket: %w", err)
	}
	return nil
}

// makeShortDir makes the two folders above a short socket and checks both: the
// upper one stands in a folder where everybody may write.
func makeShortDir(socket string) error {
	dir := filepath.Dir(socket)
	for _, d := range []string{filepath.Dir(dir), dir} {
		if err := os.Mkdir(d, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("make the socket's folder: %w", err)
		}
		if err := ownedDir(d, 0o077, "remove it, or set TERMIO_HOME to a shorter path"); err != nil {
			return err
		}
	}
	return nil
}

// privateDir checks a folder of ours and takes group and others off its mode.
func privateDir(dir string) error {
	if err := ownedDir(dir, 0, "move it away"); err != nil {
		return err
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return fmt.Errorf("close termio's folder to others: %w", err)
	}
	return nil
}

// ownedDir refuses a folder that is a link, is not ours, or has a bit of deny
// in its mode.
func ownedDir(dir string, deny fs.FileMode, remedy string) error {
	fi, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("check termio's folder: %w", err)
	}
	if !fi.IsDir() {
		return fmt.Errorf("%s is not a folder (%s): %s", dir, kind(fi.Mode()), remedy)
	}
	if st, ok := fi.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("%s belongs to user %d and this is user %d: %s", dir, st.Uid, os.Geteuid(), remedy)
	}
	if fi.Mode().Perm()&deny != 0 {
		return fmt.Errorf("%s is open to other users (mode %04o): chmod go= %s, or %s", dir, fi.Mode().Perm(), dir, remedy)
	}
	return nil
}

// kind names what stands where a folder or a file should.
func kind(m fs.FileMode) string {
	switch {
	case m&fs.ModeSymlink != 0:
		return "a symbolic link"
	case m.IsRegular():
		return "a file"
	case m.IsDir():
		return "a folder"
	}
	return "a special file"
}
