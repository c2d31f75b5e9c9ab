package integrate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"termio/internal/agent"
)

func TestApply(t *testing.T) {
	p, global, _ := newLinker(t)
	p.write("{}")
	absent := claude()
	absent.ID, absent.Name = "absent", "Absent"
	absent.Hooks.File, absent.Skills.Dir = "~/.absent/settings.json", "~/.absent/skills"
	broken := claude()
	broken.ID, broken.Name = "broken", "Broken"
	broken.Hooks.File, broken.Skills = "~/.broken.json", nil
	brokenFile := filepath.Join(p.home, ".broken.json")
	if err := os.WriteFile(brokenFile, []byte("{,}"), 0o600); err != nil {
		t.Fatal(err)
	}
	agents := []*agent.Manifest{absent, broken, claude(), {ID: "terminal"}}
	here := func(m *agent.Manifest) bool { return m.ID != "absent" }
	yes, no := true, false

	if got := p.Apply(Switches{}, agents, here); got.Done != nil || got.Warnings != nil {
		t.Errorf("nothing was answered: %+v", got)
	}
	all := Switches{Hooks: &yes, Skill: &yes, Link: &yes}
	got := p.Apply(all, agents, here)
	want := []string{
		"Claude Code: hooks installed in ~/.claude/settings.json; what was there before is in ~/.termio/" +
			strings.TrimPrefix(p.backupFile(p.settings), p.home+"/.termio/"),
		"Claude Code: skill installed in ~/.claude/skills/termio/SKILL.md",
		"the command is linked as " + filepath.Join(global, "termio"),
	}
	if diff := cmp.Diff(want, got.Done); diff != "" {
		t.Error(diff)
	}
	if len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], brokenFile+":1:2") {
		t.Errorf("warnings %q", got.Warnings)
	}
	if _, err := os.Stat(filepath.Join(p.home, ".absent")); err == nil {
		t.Error("files of an agent that is not installed were made")
	}
	if got := p.Apply(all, agents, here); got.Done != nil {
		t.Errorf("the second time: %q", got.Done)
	}

	// A start finds hooks gone, then a second time in one life of the daemon.
	p.write("{}")
	if got := p.Recheck(all, agents, here); len(got.Done) != 1 || p.state() != On {
		t.Errorf("%q, state %q", got.Done, p.state())
	}
	p.write("{}")
	if got := p.Recheck(all, agents, here); got.Done != nil || len(got.Warnings) != 2 || p.state() != Off {
		t.Errorf("%+v, state %q", got, p.state())
	}
	p.install()

	got = p.Apply(Switches{Hooks: &no, Skill: &no, Link: &no}, agents, func(*agent.Manifest) bool { return false })
	want = []string{
		"Claude Code: hooks removed from ~/.claude/settings.json",
		"Claude Code: skill removed from ~/.claude/skills/termio/SKILL.md",
		"the link " + filepath.Join(global, "termio") + " is removed",
	}
	if diff := cmp.Diff(want, got.Done); diff != "" {
		t.Error(diff)
	}
	p.sameAs("{}")
}

func TestLinkOffThePathIsSaid(t *testing.T) {
	p, global, own := newLinker(t)
	if err := os.Remove(global); err != nil {
		t.Fatal(err)
	}
	yes := true
	got := p.Apply(Switches{Link: &yes}, nil, nil)
	if len(got.Warnings) != 1 || !strings.HasPrefix(got.Warnings[0], own+" is not on the PATH") {
		t.Errorf("%+v", got)
	}
}
