package integrate

import (
	"errors"
	"fmt"
	"strings"

	"termio/internal/agent"
)

// Switches are what a person has answered; nil leaves files as they are.
type Switches struct {
	Hooks *bool // live status
	// Trust is the person's word that they trust these hooks, for agents that ask for it.
	Trust *bool
	Skill *bool // session control
	Link  *bool // the command on the PATH
}

// Report tells people what became of switches, a line each.
type Report struct {
	Done     []string
	Warnings []string
}

func (r *Report) did(format string, args ...any) {
	r.Done = append(r.Done, fmt.Sprintf(format, args...))
}
func (r *Report) warn(err error) { r.Warnings = append(r.Warnings, err.Error()) }

// A Standing says how what we install stands in one agent's files.
type Standing struct {
	Hooks, Skill         string   // a State, or in words why it is unknown
	HooksFile, SkillFile string   // "" where there is nothing to install
	Notes                []string // what keeps hooks that are there from running
	// Trust is a State: whether the person is on record in TrustFile as trusting them;
	// none where the agent does not ask.
	Trust, TrustFile string
}

// Standing looks at an agent's files and changes nothing.
func (in *Installer) Standing(m *agent.Manifest) Standing {
	word := func(s State, err error) string {
		if err != nil {
			return err.Error()
		}
		return string(s)
	}
	hooks, notes, hooksErr := in.Hooks(m)
	trust, trustFile, trustErr := in.Trust(m)
	return Standing{
		Trust: word(trust, trustErr), TrustFile: trustFile,
		Hooks: word(hooks, hooksErr), Skill: word(in.Skill(m)), HooksFile: in.hooksFile(m), SkillFile: in.skillFile(m), Notes: notes,
	}
}

// Apply does what switches say that a person has just set. What is on goes to
// the agents that installed reports; what is off goes from all of them. An agent
// whose files cannot be edited is a warning, and the others go on.
func (in *Installer) Apply(s Switches, agents []*agent.Manifest, installed func(*agent.Manifest) bool) Report {
	return in.apply(s, agents, installed, in.InstallHooks)
}

// Recheck does the same at the start of a daemon: updates spread, edits by
// hand heal, and hooks that another program has removed are put back once.
func (in *Installer) Recheck(s Switches, agents []*agent.Manifest, installed func(*agent.Manifest) bool) Report {
	return in.apply(s, agents, installed, in.KeepHooks)
}

func (in *Installer) apply(s Switches, agents []*agent.Manifest, installed func(*agent.Manifest) bool, install func(*agent.Manifest) (Change, error)) Report {
	var r Report
	for _, m := range agents {
		if s.Hooks != nil && m.Hooks != nil {
			if !*s.Hooks { // while it is known which ones they are
				in.turn(&r, false, m, trustRecorded, installed, nil, in.DistrustHooks)
			}
			in.turn(&r, *s.Hooks, m, "hooks installed", installed, install, in.RemoveHooks)
		}
		if s.Trust != nil && m.Hooks != nil && (s.Hooks == nil || *s.Hooks) {
			in.turn(&r, *s.Trust, m, trustRecorded, installed, in.TrustHooks, in.DistrustHooks)
		}
		if s.Hooks != nil && *s.Hooks && m.Hooks != nil {
			if _, notes, err := in.Hooks(m); err == nil {
				r.Warnings = append(r.Warnings, notes...)
			}
		}
		if s.Skill != nil && m.Skills != nil {
			in.turn(&r, *s.Skill, m, "skill installed", installed, in.InstallSkill, in.RemoveSkill)
		}
	}
	if s.Link != nil {
		in.turnLink(&r, *s.Link)
	}
	return r
}

// trustRecorded is what is told of a record of trust.
const trustRecorded = "your trust in these hooks recorded"

// turn puts one thing into one agent's files, or takes it out. what says what was put
// there.
func (in *Installer) turn(r *Report, on bool, m *agent.Manifest, what string, installed func(*agent.Manifest) bool, put, take func(*agent.Manifest) (Change, error)) {
	if !on {
		c, err := take(m)
		switch {
		case err != nil:
			r.warn(err)
		case c.Changed:
			thing := what[:strings.LastIndexByte(what, ' ')]
			r.did("%s: %s removed from %s", m.Name, thing, in.short(c.File))
		}
		return
	}
	if !installed(m) {
		return
	}
	c, err := put(m)
	switch {
	case err != nil:
		r.warn(err)
	case c.Changed && c.Backup != "":
		r.did("%s: %s in %s; what was there before is in %s", m.Name, what, in.short(c.File), in.short(c.Backup))
	case c.Changed:
		r.did("%s: %s in %s", m.Name, what, in.short(c.File))
	}
}

func (in *Installer) turnLink(r *Report, on bool) {
	if !on {
		removed, err := in.RemoveLink()
		for _, path := range removed {
			r.did("the link %s is removed", in.short(path))
		}
		if err != nil {
			r.warn(err)
		}
		return
	}
	was := in.Link()
	l, err := in.InstallLink()
	if err != nil {
		r.warn(err)
		return
	}
	if was.State != On {
		r.did("the command is linked as %s", in.short(l.Path))
	}
	switch {
	case l.Hidden != "":
		r.warn(fmt.Errorf("%s comes before %s on the PATH and is another program", l.Hidden, l.Path))
	case !l.OnPath:
		r.warn(errors.New(strings.TrimSuffix(l.Path, "/"+commandName) + " is not on the PATH: add it there, so that shells find the command"))
	}
}

// short spells a path for people.
func (in *Installer) short(path string) string {
	if rest, ok := strings.CutPrefix(path, in.home+"/"); ok && in.home != "" {
		return "~/" + rest
	}
	return path
}
