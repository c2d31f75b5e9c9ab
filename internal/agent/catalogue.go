package agent

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// The built-in agents are manifests like anyone's; there is no private door.
//
//go:embed manifests/*.json
var builtins embed.FS

// terminalID is the one agent that may lack a command: a login shell.
const terminalID = "terminal"

// A Catalogue holds the agents there are: the built-in ones and a person's own. It
// never changes; a change of a file makes a new one.
type Catalogue struct {
	all      []*Manifest // in picker order
	problems []Problem
	files    map[string]*Manifest // last good manifest of each file of the person
}

// Load reads the catalogue. user is the folder of the person's manifests, nil or
// missing for none; a file with a built-in's id replaces that one whole. A file that
// does not validate is a problem, and its last good version, from previous, stays in
// use; the others are not touched by it. previous is nil at first.
func Load(user fs.FS, previous *Catalogue) *Catalogue {
	c := &Catalogue{files: make(map[string]*Manifest)}
	byID := make(map[string]*Manifest)
	for _, m := range builtinManifests() {
		byID[m.ID] = m
	}
	for _, name := range c.userFiles(user) {
		m, ok := c.readUser(user, name)
		if !ok && previous != nil {
			m = previous.files[name]
		}
		if m == nil {
			continue
		}
		c.files[name] = m
		byID[m.ID] = m
	}
	for _, m := range byID {
		c.all = append(c.all, m)
	}
	slices.SortFunc(c.all, func(a, b *Manifest) int {
		if a.Place() != b.Place() {
			return a.Place() - b.Place()
		}
		return strings.Compare(a.ID, b.ID)
	})
	return c
}

// builtinManifests parses the embedded manifests.
func builtinManifests() []*Manifest {
	names, err := fs.Glob(builtins, "manifests/*.json")
	if err != nil {
		panic("agent: embedded manifests: " + err.Error()) // a constant pattern
	}
	all := make([]*Manifest, 0, len(names))
	for _, name := range names {
		data, err := builtins.ReadFile(name)
		if err != nil {
			panic("agent: embedded manifests: " + err.Error()) // they are part of the program
		}
		m, _, err := Parse(data, path.Base(name))
		if err != nil {
			panic("agent: embedded manifest: " + err.Error()) // tests hold them valid
		}
		m.Source = Builtin
		all = append(all, m)
	}
	return all
}

// BuiltinText is the manifest of a built-in agent as it stands, nil if id is none's.
func BuiltinText(id string) []byte {
	data, err := builtins.ReadFile("manifests/" + id + ".json")
	if err != nil {
		return nil
	}
	return data
}

// userFiles lists the person's manifests, sorted.
func (c *Catalogue) userFiles(user fs.FS) []string {
	if user == nil {
		return nil
	}
	entries, err := fs.ReadDir(user, ".")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.problems = append(c.problems, Problem{Reason: "the folder of manifests can't be read: " + err.Error()})
	}
	var names []string
	for _, e := range entries {
		if name := e.Name(); !e.IsDir() && path.Ext(name) == ".json" && name[0] != '.' {
			names = append(names, name)
		}
	}
	return names
}

// readUser reads one of the person's manifests and notes its problems.
func (c *Catalogue) readUser(user fs.FS, name string) (*Manifest, bool) {
	fail := func(reason string) (*Manifest, bool) {
		c.problems = append(c.problems, Problem{File: name, Reason: reason})
		return nil, false
	}
	if info, err := fs.Stat(user, name); err != nil {
		return fail("can't be read: " + err.Error())
	} else if info.Size() > maxManifest {
		return fail(fmt.Sprintf("is larger than %d bytes", maxManifest))
	}
	data, err := fs.ReadFile(user, name)
	if err != nil {
		return fail("can't be read: " + err.Error())
	}
	m, problems, err := Parse(data, name)
	if err != nil {
		c.problems = append(c.problems, slices.DeleteFunc(problems, func(p Problem) bool { return p.Warning })...)
		return nil, false
	}
	if want := m.ID + ".json"; name != want {
		c.problems = append(c.problems, Problem{
			File: name, Path: "id",
			Reason: fmt.Sprintf("is %q, so the file must be named %s", m.ID, want),
		})
		return nil, false
	}
	return m, true
}

// All are the agents in picker order. The slice is the caller's.
func (c *Catalogue) All() []*Manifest { return slices.Clone(c.all) }

// Problems are the files that could not be used as they are.
func (c *Catalogue) Problems() []Problem { return slices.Clone(c.problems) }

// Find gives the agent of an id, a display name or an alias, in any case. An id goes
// before a name, and a name before an alias.
func (c *Catalogue) Find(word string) (*Manifest, bool) {
	word = strings.TrimSpace(word)
	for _, fits := range []func(m *Manifest) bool{
		func(m *Manifest) bool { return m.ID == word },
		func(m *Manifest) bool { return strings.EqualFold(m.ID, word) },
		func(m *Manifest) bool { return strings.EqualFold(m.Name, word) },
		func(m *Manifest) bool {
			return slices.ContainsFunc(m.Aliases, func(a string) bool { return strings.EqualFold(a, word) })
		},
	} {
		if i := slices.IndexFunc(c.all, fits); i >= 0 {
			return c.all[i], true
		}
	}
	return nil, false
}

// Default gives the agent that a spawn without one starts: preferred, the person's
// setting, if there is such an agent, else the first installed one. Shells and
// agents that are only started when named are no default.
func (c *Catalogue) Default(preferred string, installed func(*Manifest) bool) (*Manifest, bool) {
	if preferred != "" {
		if m, ok := c.Find(preferred); ok && !m.IsShell() {
			return m, true
		}
	}
	for _, m := range c.all {
		if !m.IsShell() && !m.Explicit && installed(m) {
			return m, true
		}
	}
	return nil, false
}
