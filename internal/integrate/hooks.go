package integrate

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

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
}

// editor finds the file and the dialect of an agent's hooks; none for an agent
// without any to install.
func (in *Installer) editor(m *agent.Manifest) (file string, ed hookEditor, err error) {
	h := m.Hooks
	if h == nil || h.Type == agent.HooksBuiltin {
		return "", nil, nil
	}
	switch h.Type {
	case "", "json":
		if h.File == "" {
			return "", nil, fmt.Errorf("the manifest of %s names no file for its hooks", m.Name)
		}
		ed, err = newJSONHooks(h, in.exe, in.mine)
		return in.path(m, h.File), ed, err
	}
	return "", nil, fmt.Errorf("hooks of type %q are not known here, so %s goes without", h.Type, m.Name)
}

// Hooks looks whether an agent's hooks are installed. Notes say what keeps them
// from running all the same. An error means that the file cannot be used; it
// names place and next step.
func (in *Installer) Hooks(m *agent.Manifest) (s State, notes []string, err error) {
	file, ed, err := in.editor(m)
	if err != nil || ed == nil {
		return None, nil, err
	}
	fi, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return Off, nil, nil
	}
	if err == nil && !fi.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a file: move it away", file) // a fifo would block for ever
	}
	if err != nil {
		return "", nil, err
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return "", nil, err
	}
	return ed.state(file, data)
}

// InstallHooks puts an agent's hooks into its configuration. It gives a
// *FileError for a file that cannot be parsed, config.ErrReadOnly for one that
// is read-only; the file is as it was then.
func (in *Installer) InstallHooks(m *agent.Manifest) (Change, error) {
	file, ed, err := in.editor(m)
	if err != nil || ed == nil {
		return Change{}, err
	}
	c := Change{File: file}
	dirs, err := makeDirs(filepath.Dir(file))
	if err != nil {
		return c, fmt.Errorf("install the hooks of %s: %w", m.Name, err)
	}
	c.Changed, err = config.EditFile(file, newFile, func(old []byte) ([]byte, error) {
		out, rec, err := in.installed(ed, file, old)
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
		return c, fmt.Errorf("install the hooks of %s: %w", m.Name, err)
	}
	if in.loadRecord(file).Existed {
		c.Backup = in.backupFile(file)
	}
	if s, _, err := in.Hooks(m); err != nil || s != On {
		return c, fmt.Errorf("install the hooks of %s: %s reads back as %q (%w): another program writes it too; try again", m.Name, file, s, err)
	}
	return c, nil
}

// installed gives a file's content with our hooks, and what to remember of it.
// Where hooks of ours were, it starts from the content without them.
func (in *Installer) installed(ed hookEditor, file string, old []byte) ([]byte, record, error) {
	s, err := Off, error(nil)
	if old != nil {
		s, _, err = ed.state(file, old)
	}
	if err != nil || s == On {
		return old, record{}, err
	}
	base, rec := old, in.loadRecord(file)
	if s == Off {
		rec = record{File: file, Existed: old != nil}
		if err := in.backup(file, old); err != nil {
			return nil, rec, err
		}
	} else if before, known := rec.undo(old); known {
		base = before
	} else if base, err = ed.uninstall(file, old); err != nil {
		return nil, rec, err
	} else if base != nil {
		rec.Existed = true
	} else if rec.Existed {
		base = emptyObject
	}
	out, err := ed.install(file, base)
	if err == nil {
		rec.remember(base, out)
	}
	return out, rec, err
}

// emptyObject is what is left of a file that was there before us and holds
// nothing any more.
var emptyObject = []byte("{}\n")

// RemoveHooks takes exactly our hooks out of an agent's configuration, and the
// file away if it holds nothing else and was not there before. Errors are
// those of InstallHooks.
func (in *Installer) RemoveHooks(m *agent.Manifest) (Change, error) {
	file, ed, err := in.editor(m)
	if err != nil || ed == nil {
		return Change{}, err
	}
	c := Change{File: file}
	rec := in.loadRecord(file)
	c.Changed, err = config.EditFile(file, newFile, func(old []byte) ([]byte, error) {
		if old == nil {
			return nil, nil
		}
		if s, _, err := ed.state(file, old); err != nil || s == Off {
			return old, err
		}
		if base, known := rec.undo(old); known {
			return base, nil
		}
		out, err := ed.uninstall(file, old)
		if err == nil && out == nil && rec.Existed {
			out = emptyObject
		}
		return out, err
	})
	if err != nil {
		return c, fmt.Errorf("remove the hooks of %s: %w", m.Name, err)
	}
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		removeDirs(rec.Dirs)
	}
	return c, in.forgetRecord(file)
}

// KeepHooks puts an agent's hooks back that another program has removed or
// changed, once in this Installer's life; after that it only reports, with ErrRemovedAgain. It is for
// the start of a daemon, and for whenever a file is seen to change.
func (in *Installer) KeepHooks(m *agent.Manifest) (Change, error) {
	file, ed, err := in.editor(m)
	if err != nil || ed == nil {
		return Change{}, err
	}
	s, _, err := in.Hooks(m)
	if err != nil {
		return Change{File: file}, fmt.Errorf("keep the hooks of %s: %w", m.Name, err)
	}
	if s == On {
		return Change{File: file}, nil
	}
	in.mu.Lock()
	again := in.putBack[file]
	in.putBack[file] = true
	in.mu.Unlock()
	if again {
		return Change{File: file}, fmt.Errorf("keep the hooks of %s: %w from %s: end that, then run termio setup", m.Name, ErrRemovedAgain, file)
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
