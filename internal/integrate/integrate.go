// Package integrate edits the files of other programs on a person's behalf:
// hooks in an agent's configuration, the skill in its skill folder, the link
// to the command on the PATH.
//
// It hides the dialects of hooks and the editing rules. A file is edited in
// place or not at all: only entries of ours are added, changed and removed;
// order, comments, layout, links, mode and owner stay; what cannot be parsed
// is refused and left byte-identical; twice is the same as once; a removal
// gives back the very bytes if nobody else has changed the file since.
//
// The host and the command line call it. It starts nothing, keeps no file
// open, and never acts without being asked: looking (State) changes nothing.
// An Installer may be used from any goroutine.
package integrate

import (
	"os"
	"path/filepath"
	"sync"

	"termio/internal/agent"
	"termio/internal/config"
)

// An Installer edits files for one termio home.
type Installer struct {
	exe     string // what hooks run
	home    string // the person's
	backups string // our own records
	lookup  func(name string) string
	// linkDirs are where the command may be linked; the last one is the person's own.
	linkDirs []string

	mu      sync.Mutex
	putBack map[string]bool // files whose hooks this process has put back
}

// New makes an Installer for an environment. Folders that a variable of it
// moves, such as CLAUDE_CONFIG_DIR, are looked for where the variable says.
func New(env config.Env) *Installer {
	return &Installer{
		exe:      env.StableExe,
		home:     env.UserHome,
		backups:  env.BackupDir,
		lookup:   env.Get,
		linkDirs: []string{"/usr/local/bin", filepath.Join(env.UserHome, ".local", "bin")},
		putBack:  map[string]bool{},
	}
}

// State says how what we install stands in a program's files.
type State string

// The states. A State with an error beside it is unknown: the error says why.
const (
	None  State = "none"  // there is nothing to install
	Off   State = "off"   // nothing of ours is there
	On    State = "on"    // it is there as it should be
	Stale State = "stale" // it is there in part, or in an older form
)

// A Change says what an edit did.
type Change struct {
	File    string // what was edited, or would have been
	Changed bool   // false: it was as it should be
	Backup  string // a copy of the file from before our first edit, if there was one
}

// path expands a path of a manifest.
func (in *Installer) path(m *agent.Manifest, p string) string {
	return filepath.Clean(m.Expand(p, in.home, in.lookup))
}

// mine reports whether a command in another program's file is of this home:
// it runs our program, or one that is not there any more. A command of another
// termio home that is alive is left to that one.
func (in *Installer) mine(command string) bool {
	exe, ours := reportedBy(command)
	return ours && in.ours(exe)
}

// ours reports whether a program that is reported by is this home's, or is not there any more.
func (in *Installer) ours(exe string) bool {
	if exe == in.exe || !filepath.IsAbs(exe) {
		return true
	}
	fi, err := os.Stat(exe)
	return err != nil || !fi.Mode().IsRegular() || fi.Mode().Perm()&0o111 == 0
}
