package integrate

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"termio/internal/agent"
)

// ownFile edits a file that is ours as a whole: a plugin, or a script that an agent
// finds by its name. A file there that we did not write is never touched.
type ownFile struct {
	content []byte
	mine    func(exe string) bool
}

// ownMark begins the line by which a file of ours is recognised, in whatever version;
// the program that it runs follows, as JSON.
const ownMark = "written by termio, do not edit; it runs "

// owner reads the mark of a file and gives the program that it runs.
func owner(data []byte) (exe string, ours bool) {
	head := string(data[:min(len(data), 16<<10)])
	_, rest, ok := strings.Cut(head, ownMark)
	if !ok {
		return "", false
	}
	line, _, _ := strings.Cut(rest, "\n")
	if err := json.Unmarshal([]byte(strings.TrimSpace(line)), &exe); err != nil {
		return "", true // damaged, and ours all the same
	}
	return exe, true
}

func (o *ownFile) empty() []byte { return nil }

func (o *ownFile) state(file string, data []byte) (State, []string, error) {
	exe, ours := owner(data)
	switch {
	case bytes.Equal(data, o.content):
		return On, nil, nil
	case !ours:
		return Off, []string{file + " is another program's"}, nil
	case !o.mine(exe):
		return Off, []string{fmt.Sprintf("%s is of the termio that runs %s", file, exe)}, nil
	}
	return Stale, nil, nil
}

func (o *ownFile) install(file string, data []byte) ([]byte, error) {
	if data != nil {
		if s, notes, _ := o.state(file, data); s == Off {
			return nil, fmt.Errorf("%s: move it away and try again; it was left as it is", notes[0])
		}
	}
	return o.content, nil
}

func (o *ownFile) uninstall(file string, data []byte) ([]byte, error) {
	if s, _, _ := o.state(file, data); s == Off {
		return data, nil
	}
	return nil, nil
}

//go:embed plugins/*.js
var plugins embed.FS

// pluginNames are the names of the plugins' files, by dialect, as each agent looks for
// them.
var pluginNames = map[string]string{
	"opencode": "termio.js", // {plugin,plugins}/*.{js,ts} of a configuration folder
	"pi":       "termio.ts", // extensions/*.ts
	"amp":      "termio.ts", // plugins/*.ts
}

// pluginEvent is what a plugin does at an event that fits.
type pluginEvent struct {
	Field   string   `json:"field,omitempty"`
	Matcher string   `json:"matcher,omitempty"`
	Args    []string `json:"args"`
}

// pluginFile makes an agent's plugin: the manifest's events, and the dialect's code.
func pluginFile(h *agent.Hooks, exe string) (name string, content []byte, err error) {
	name, ok := pluginNames[h.Dialect]
	if !ok {
		return "", nil, fmt.Errorf("plugins of %q are not known here", h.Dialect)
	}
	events := map[string][]pluginEvent{}
	for _, e := range h.Events {
		events[e.On] = append(events[e.On], pluginEvent{Field: e.Field, Matcher: e.Matcher, Args: reportWords(h, e)})
	}
	table, err := json.MarshalIndent(events, "", "  ")
	if err != nil {
		return "", nil, fmt.Errorf("spell the events: %w", err)
	}
	var b bytes.Buffer
	program := jsonText(exe)
	fmt.Fprintf(&b, "// %s%s\n", ownMark, program)
	b.WriteString("// It tells termio what the agent does in a session of termio's, and does nothing outside of one.\n")
	b.WriteString("// `termio setup --no` takes it out again.\n")
	fmt.Fprintf(&b, "import { spawn } from \"node:child_process\"\n\nconst termio = %s\nconst events = %s\n", program, table)
	for _, part := range []string{"report", h.Dialect} {
		code, err := fs.ReadFile(plugins, "plugins/"+part+".js")
		if err != nil {
			panic("integrate: no plugin " + part) // it is part of the program
		}
		b.Write(code)
	}
	return name, b.Bytes(), nil
}

// jsonText spells a text as JSON, with what HTML would need left as it is.
func jsonText(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always can be
	return strings.TrimSuffix(b.String(), "\n")
}

// scriptFile makes the script that an agent runs at an event. Cline reads its answer:
// an empty object lets all go on.
func scriptFile(h *agent.Hooks, e agent.HookEvent, exe string) []byte {
	return fmt.Appendf(nil, "#!/bin/sh\n# %s%s\n# `termio setup --no` takes it out again.\n%s\necho '{}'\n",
		ownMark, jsonText(exe), reportCommand(exe, h, e, "--reply"))
}

// ownFiles are the files of an agent whose hooks are files of ours.
func (in *Installer) ownFiles(m *agent.Manifest) ([]target, error) {
	h := m.Hooks
	dir := in.path(m, h.Dir)
	if h.Type == "plugin" {
		name, content, err := pluginFile(h, in.exe)
		if err != nil {
			return nil, err
		}
		return []target{{file: filepath.Join(dir, name), mode: newFile, ed: &ownFile{content, in.ours}}}, nil
	}
	var ts []target
	for _, e := range h.Events {
		ts = append(ts, target{file: filepath.Join(dir, e.On), mode: 0o700, ed: &ownFile{scriptFile(h, e, in.exe), in.ours}})
	}
	return ts, nil
}
