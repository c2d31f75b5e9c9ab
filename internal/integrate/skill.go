package integrate

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"termio/internal/agent"
	"termio/internal/config"
)

// skill is a copy of skills/termio/SKILL.md, where people and other installers find
// it; a test holds the two together. It has another name so that it is not found twice.
//
//go:generate cp ../../skills/termio/SKILL.md termio-skill.md
//go:embed termio-skill.md
var skill []byte

// skillName is the skill's name and that of its folder.
const skillName = "termio"

// Skill is the text that teaches an agent to drive sessions, as installed.
func Skill() []byte { return bytes.Clone(skill) }

// skillFile is where an agent looks for the skill; "" if it has no skills.
func (in *Installer) skillFile(m *agent.Manifest) string {
	if m.Skills == nil || m.Skills.Dir == "" {
		return ""
	}
	return filepath.Join(in.path(m, m.Skills.Dir), skillName, "SKILL.md")
}

// Skill looks whether the skill stands in an agent's skill folder. Stale is
// another version of it, or one edited by hand.
func (in *Installer) Skill(m *agent.Manifest) (State, error) {
	file := in.skillFile(m)
	if file == "" {
		return None, nil
	}
	data, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Off, nil
	case err != nil:
		return "", err
	case bytes.Equal(data, skill):
		return On, nil
	case !isOurSkill(data):
		return "", foreignSkill(file)
	}
	return Stale, nil
}

// InstallSkill puts the skill into an agent's skill folder, or puts right what
// stands there. A skill of that name with another purpose is left alone and an error.
func (in *Installer) InstallSkill(m *agent.Manifest) (Change, error) {
	file := in.skillFile(m)
	if file == "" {
		return Change{}, nil
	}
	c := Change{File: file}
	dirs, err := makeDirs(filepath.Dir(file))
	if err != nil {
		return c, fmt.Errorf("install the skill for %s: %w", m.Name, err)
	}
	c.Changed, err = config.EditFile(file, 0o644, func(old []byte) ([]byte, error) {
		if bytes.Equal(old, skill) {
			return old, nil
		}
		if old != nil && !isOurSkill(old) {
			return nil, foreignSkill(file)
		}
		rec := in.loadRecord(file)
		if old == nil {
			rec = record{File: file, Dirs: dirs}
		}
		return skill, in.saveRecord(rec)
	})
	if err != nil {
		removeDirs(dirs)
		return c, fmt.Errorf("install the skill for %s: %w", m.Name, err)
	}
	return c, nil
}

// RemoveSkill takes the skill out of an agent's skill folder, and the folders
// that we made for it if nothing else is in them.
func (in *Installer) RemoveSkill(m *agent.Manifest) (Change, error) {
	file := in.skillFile(m)
	if file == "" {
		return Change{}, nil
	}
	c := Change{File: file}
	dir := filepath.Dir(file)
	if fi, err := os.Lstat(dir); err == nil && fi.Mode()&fs.ModeSymlink != 0 {
		// What is behind the link belongs to whoever made it, and may serve others.
		return c, fmt.Errorf("remove the skill for %s: %s is a link that another program made: remove the link by hand", m.Name, dir)
	}
	changed, err := config.EditFile(file, 0o644, func(old []byte) ([]byte, error) {
		if old != nil && !isOurSkill(old) {
			return old, nil // not what we installed
		}
		return nil, nil
	})
	c.Changed = changed
	if err != nil {
		return c, fmt.Errorf("remove the skill for %s: %w", m.Name, err)
	}
	if _, err := os.Lstat(file); errors.Is(err, fs.ErrNotExist) {
		removeDirs(append(in.loadRecord(file).Dirs, dir))
	}
	return c, in.forgetRecord(file)
}

// isOurSkill reports whether a skill file is one of ours, whatever its version:
// its front matter says its name, or it has none any more.
func isOurSkill(data []byte) bool {
	text := strings.ReplaceAll(string(data), "\r\n", "\n")
	front, ok := strings.CutPrefix(text, "---\n")
	if !ok {
		return true
	}
	front, _, _ = strings.Cut(front, "\n---")
	for line := range strings.Lines(front) {
		if name, ok := strings.CutPrefix(line, "name:"); ok {
			return strings.Trim(strings.TrimSpace(name), `"'`) == skillName
		}
	}
	return true // the folder's name counts then
}

func foreignSkill(file string) error {
	return fmt.Errorf("%s is a skill of another kind: move it away and try again", file)
}
