package integrate

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"termio/internal/agent"
	"termio/internal/config"
)

// newFile is the mode of files that we make: they are their owner's business.
const newFile fs.FileMode = 0o600

// ErrRemovedAgain means that hooks which were put back once are gone again.
var ErrRemovedAgain = errors.New("another program removes termio's hooks")

// hookEditor edits the hooks in one file of an agent's, in its dialect.
type hookEditor interface {
	// state looks for hooks of ours; notes are what keeps them from running.
	state(file string, data []byte) (s State, notes []string, err error)
	// install gives the content with exactly the wanted hooks of ours.
	install(file string, data []byte) ([]byte, error)
	// uninstall gives the content without hooks of ours, nil if nothing else is in it.
	uninstall(file string, data []byte) ([]byte, error)
	// empty is a file with nothing in it.
	empty() []byte
}

// A target is a file of an agent's and how its hooks are edited.
type target struct {
	file string
	mode fs.FileMode // of a file that we make
	ed   hookEditor
	// shared is set for a file in which the agent itself writes what we do: what is there
	// before our first edit is its own, and changed where it stands.
	shared bool
	// idle is set for a file that the agent does not look into now: what is of ours
	// in there is taken out.
	idle bool
}

// targets are the files of an agent's hooks; none for an agent without any to install.
func (in *Installer) targets(m *agent.Manifest) ([]target, error) {
	h := m.Hooks
	if h == nil || h.Type == agent.HooksBuiltin {
		return nil, nil
	}
	switch h.Type {
	case "", "json":
		if h.File == "" {
			return nil, fmt.Errorf("the manifest of %s names no file for its hooks", m.Name)
		}
		return in.jsonTargets(m)
	case "toml":
		return []target{{file: in.path(m, h.File), mode: newFile, ed: newTOMLHooks(h, in.exe, in.mine)}}, nil
	case "plugin", "scripts":
		return in.ownFiles(m)
	}
	return nil, fmt.Errorf("hooks of type %q are not known here, so %s goes without", h.Type, m.Name)
}

// jsonTargets are the files of hooks in JSON: of two in which an agent takes them, the
// one that it reads.
func (in *Installer) jsonTargets(m *agent.Manifest) ([]target, error) {
	h := m.Hooks
	d, ok := jsonDialects[h.Dialect]
	if !ok {
		return nil, fmt.Errorf("hooks in the %q dialect of JSON are not known here: one of %s", h.Dialect,
			strings.Join(slices.Sorted(maps.Keys(jsonDialects)), ", "))
	}
	usual := target{file: in.path(m, h.File), mode: newFile, ed: newJSONHooks(d, h, in.exe, in.mine)}
	if d.instead == "" {
		return []target{usual}, nil
	}
	d.bare = true
	other := target{file: filepath.Join(filepath.Dir(usual.file), d.instead), mode: newFile, ed: newJSONHooks(d, h, in.exe, in.mine)}
	if _, err := os.Stat(other.file); errors.Is(err, fs.ErrNotExist) {
		other.idle = true
	} else {
		usual.idle = true
	}
	return []target{usual, other}, nil
}

// hooksFile is the file, or the folder of the files, of an agent's hooks; "" if it has none.
func (in *Installer) hooksFile(m *agent.Manifest) string {
	ts, _ := in.targets(m)
	var used []string
	for _, t := range ts {
		if !t.idle {
			used = append(used, t.file)
		}
	}
	switch len(used) {
	case 0:
		return ""
	case 1:
		return used[0]
	}
	return filepath.Dir(used[0])
}

// Hooks looks whether an agent's hooks are installed. Notes say what keeps them
// from running all the same. An error means that a file cannot be used; it
// names place and next step.
func (in *Installer) Hooks(m *agent.Manifest) (s State, notes []string, err error) {
	ts, err := in.targets(m)
	if err != nil || len(ts) == 0 {
		return None, nil, err
	}
	for _, t := range ts {
		if t.idle {
			continue
		}
		one, more, err := t.look()
		if err != nil {
			return "", nil, err
		}
		notes = append(notes, more...)
		if s == "" {
			s = one
		} else if s != one {
			s = Stale
		}
	}
	if s == On {
		if note := in.trustNote(m); note != "" {
			notes = append(notes, note)
		}
	}
	return s, notes, nil
}

// look looks into a target's file.
func (t target) look() (s State, notes []string, err error) {
	fi, err := os.Stat(t.file)
	if errors.Is(err, fs.ErrNotExist) {
		return Off, nil, nil
	}
	if err == nil && !fi.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a file: move it away", t.file) // a fifo would block for ever
	}
	if err != nil {
		return "", nil, err
	}
	data, err := os.ReadFile(t.file)
	if err != nil {
		return "", nil, err
	}
	return t.ed.state(t.file, data)
}

// InstallHooks puts an agent's hooks into its configuration. It gives a
// *FileError for a file that cannot be parsed, config.ErrReadOnly for one that
// is read-only; the file is as it was then. Of several files all are looked at
// before the first is edited.
func (in *Installer) InstallHooks(m *agent.Manifest) (Change, error) {
	ts, err := in.targets(m)
	if err != nil || len(ts) == 0 {
		return Change{}, err
	}
	c := Change{File: in.hooksFile(m)}
	for _, t := range ts {
		if err := t.takes(); err != nil {
			return c, fmt.Errorf("install the hooks of %s: %w", m.Name, err)
		}
	}
	for _, t := range ts {
		edit := in.installIn
		if t.idle {
			if s, _, err := t.look(); err != nil || s == Off {
				continue // nothing of ours is in the way
			}
			edit = in.removeFrom
		}
		changed, err := edit(t)
		c.Changed = c.Changed || changed
		if err != nil {
			return c, fmt.Errorf("install the hooks of %s: %w", m.Name, err)
		}
		if in.loadRecord(t.file).Existed && !t.idle {
			c.Backup = in.backupFile(t.file)
		}
	}
	if s, _, err := in.Hooks(m); err != nil || s != On {
		return c, fmt.Errorf("install the hooks of %s: %s reads back as %q (%w): another program writes it too; try again", m.Name, c.File, s, err)
	}
	return c, nil
}

// takes reports whether a target's file, as it is, can be edited.
func (t target) takes() error {
	if t.idle {
		return nil
	}
	if _, _, err := t.look(); err != nil {
		return err
	}
	data, err := os.ReadFile(t.file)
	if err == nil {
		_, err = t.ed.install(t.file, data)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// installIn puts hooks into one file.
func (in *Installer) installIn(t target) (changed bool, err error) {
	dirs, err := makeDirs(filepath.Dir(t.file))
	if err != nil {
		return false, err
	}
	changed, err = config.EditFile(t.file, t.mode, func(old []byte) ([]byte, error) {
		out, rec, err := in.installed(t, old)
		if err != nil || bytes.Equal(out, old) && old != nil {
			return out, err
		}
		if rec.Dirs == nil {
			rec.Dirs = dirs
		}
		return out, in.saveRecord(rec)
	})
	if err != nil {
		removeDirs(dirs)
	}
	return changed, err
}

// installed gives a file's content with our hooks, and what to remember of it.
// Where hooks of ours were, it starts from the content without them.
func (in *Installer) installed(t target, old []byte) ([]byte, record, error) {
	s, err := Off, error(nil)
	if old != nil {
		s, _, err = t.ed.state(t.file, old)
	}
	if err != nil || s == On {
		return old, record{}, err
	}
	base, rec := old, in.loadRecord(t.file)
	if s == Off {
		rec = record{File: t.file, Existed: old != nil}
	} else if t.shared && len(rec.Undo) == 0 {
		rec = record{File: t.file, Existed: true}
		s = Off
	} else if before, known := rec.undo(old); known {
		base = before
	} else if base, err = t.ed.uninstall(t.file, old); err != nil {
		return nil, rec, err
	} else if base != nil {
		rec.Existed = true
	} else if rec.Existed {
		base = t.ed.empty()
	}
	out, err := t.ed.install(t.file, base)
	if err == nil && s == Off {
		err = in.backup(t.file, old)
	}
	if err == nil {
		rec.remember(base, out)
	}
	return out, rec, err
}

// RemoveHooks takes exactly our hooks out of an agent's configuration, and the
// file away if it holds nothing else and was not there before. Errors are
// those of InstallHooks.
func (in *Installer) RemoveHooks(m *agent.Manifest) (Change, error) {
	ts, err := in.targets(m)
	if err != nil || len(ts) == 0 {
		return Change{}, err
	}
	c := Change{File: in.hooksFile(m)}
	var errs []error
	for _, t := range slices.Backward(ts) { // the folders were made for the first one
		changed, err := in.removeFrom(t)
		c.Changed = c.Changed || changed
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return c, fmt.Errorf("remove the hooks of %s: %w", m.Name, err)
	}
	return c, nil
}

// removeFrom takes hooks out of one file.
func (in *Installer) removeFrom(t target) (changed bool, err error) {
	rec := in.loadRecord(t.file)
	changed, err = config.EditFile(t.file, t.mode, func(old []byte) ([]byte, error) {
		if old == nil {
			return nil, nil
		}
		if s, _, err := t.ed.state(t.file, old); err != nil || s == Off {
			return old, err
		}
		if base, known := rec.undo(old); known {
			return base, nil
		}
		out, err := t.ed.uninstall(t.file, old)
		if err == nil && out == nil && rec.Existed {
			out = t.ed.empty()
		}
		return out, err
	})
	if err != nil {
		return changed, err
	}
	if _, err := os.Stat(t.file); errors.Is(err, fs.ErrNotExist) {
		removeDirs(rec.Dirs)
	}
	return changed, in.forgetRecord(t.file)
}

// KeepHooks puts an agent's hooks back that another program has removed or
// changed, once in this Installer's life; after that it only reports, with ErrRemovedAgain. It is for
// the start of a daemon, and for whenever a file is seen to change.
func (in *Installer) KeepHooks(m *agent.Manifest) (Change, error) {
	s, _, err := in.Hooks(m)
	c := Change{File: in.hooksFile(m)}
	if err != nil {
		return c, fmt.Errorf("keep the hooks of %s: %w", m.Name, err)
	}
	if s == On || s == None {
		return c, nil
	}
	in.mu.Lock()
	again := in.putBack[c.File]
	in.putBack[c.File] = true
	in.mu.Unlock()
	if again {
		return c, fmt.Errorf("keep the hooks of %s: %w from %s: end that, then run termio setup", m.Name, ErrRemovedAgain, c.File)
	}
	return in.InstallHooks(m)
}

// makeDirs makes a folder and those above it, and says which were made, the outermost first.
func makeDirs(dir string) ([]string, error) {
	var missing []string
	for d := dir; ; d = filepath.Dir(d) {
		if _, err := os.Stat(d); !errors.Is(err, fs.ErrNotExist) || filepath.Dir(d) == d {
			break
		}
		missing = append([]string{d}, missing...)
	}
	return missing, os.MkdirAll(dir, 0o700)
}

// removeDirs removes folders that are empty, the innermost first.
func removeDirs(dirs []string) {
	for i := len(dirs) - 1; i >= 0; i-- {
		if err := os.Remove(dirs[i]); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return // somebody uses it by now
		}
	}
}
