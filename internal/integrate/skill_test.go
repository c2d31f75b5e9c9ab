package integrate

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"termio/internal/agent"
)

// People and other installers take the skill from the repository; what the
// program installs is the same file.
func TestPublishedSkillIsTheInstalledOne(t *testing.T) {
	published, err := os.ReadFile("../../skills/termio/SKILL.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(published) != string(Skill()) {
		t.Error("internal/integrate/termio-skill.md is no copy of skills/termio/SKILL.md: go generate ./internal/integrate")
	}
	lines := strings.Split(string(published), "\n")
	if lines[0] != "---" || lines[1] != "name: termio" || !strings.HasPrefix(lines[2], "description: ") || lines[3] != "---" {
		t.Errorf("front matter %q: want a name and a one-line description", lines[:4])
	}
}

func TestSkill(t *testing.T) {
	p := newPerson(t)
	m := claude()
	dir := filepath.Join(p.home, ".claude", "skills")
	file := filepath.Join(dir, "termio", "SKILL.md")
	state := func() State {
		t.Helper()
		s, err := p.Skill(m)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if got := state(); got != Off {
		t.Errorf("state %q", got)
	}
	for i := range 2 {
		c, err := p.InstallSkill(m)
		if err != nil || c.Changed != (i == 0) || c.File != file {
			t.Errorf("%+v, %v", c, err)
		}
	}
	if data, err := os.ReadFile(file); err != nil || string(data) != string(Skill()) || state() != On {
		t.Errorf("%v, state %q", err, state())
	}

	// Hand edits and older versions heal.
	for _, edited := range []string{"", "# no front matter\n", "---\r\nname: \"termio\"\r\ndescription: old\r\n---\r\n", "---\ndescription: x\n---\n"} {
		if err := os.WriteFile(file, []byte(edited), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := state(); got != Stale {
			t.Errorf("%q: state %q", edited, got)
		}
		if c, err := p.InstallSkill(m); err != nil || !c.Changed || state() != On {
			t.Errorf("%q: %+v, %v, state %q", edited, c, err, state())
		}
	}

	// A file of somebody else's beside it stays, and so do its folders.
	other := filepath.Join(dir, "theirs")
	if err := os.WriteFile(other, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := p.RemoveSkill(m); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(filepath.Dir(file)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the skill's folder: %v", err)
	}
	if _, err := os.Stat(other); err != nil {
		t.Error(err)
	}
	if err := os.Remove(other); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := p.InstallSkill(m); err != nil {
		t.Fatal(err)
	}
	if _, err := p.RemoveSkill(m); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a skill folder that we made: %v", err)
	}
	if s, err := p.Skill(&agent.Manifest{}); s != None || err != nil {
		t.Errorf("an agent without skills: %q, %v", s, err)
	}
}

func TestForeignSkillIsLeftAlone(t *testing.T) {
	p := newPerson(t)
	m := claude()
	file := filepath.Join(p.home, ".claude", "skills", "termio", "SKILL.md")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	const theirs = "---\nname: terminal-io\n---\n"
	if err := os.WriteFile(file, []byte(theirs), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := p.InstallSkill(m); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("error %v", err)
	}
	if _, err := p.Skill(m); err == nil {
		t.Error("no word about it")
	}
	if c, err := p.RemoveSkill(m); err != nil || c.Changed {
		t.Errorf("%+v, %v", c, err)
	}
	if data, err := os.ReadFile(file); err != nil || string(data) != theirs {
		t.Errorf("%q, %v", data, err)
	}
}

// Another installer keeps skills in one place and links to it.
func TestLinkedSkillFolder(t *testing.T) {
	p := newPerson(t)
	m := claude()
	store := filepath.Join(p.home, ".agents", "skills", "termio")
	if err := os.MkdirAll(store, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(store, "SKILL.md"), []byte("---\nname: termio\n---\nold\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(p.home, ".claude", "skills", "termio")
	if err := os.MkdirAll(filepath.Dir(link), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(store, link); err != nil {
		t.Fatal(err)
	}
	if _, err := p.InstallSkill(m); err != nil {
		t.Fatal(err)
	}
	if _, err := p.RemoveSkill(m); err == nil || !strings.Contains(err.Error(), link) {
		t.Errorf("error %v", err)
	}
	if data, err := os.ReadFile(filepath.Join(store, "SKILL.md")); err != nil || string(data) != string(Skill()) {
		t.Errorf("%v: the store was not brought up to date, or emptied", err)
	}
}
