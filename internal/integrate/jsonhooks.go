package integrate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"termio/internal/agent"
)

// jsonDialect is how one family of agents writes hooks in a JSON file: under
// "hooks" a list of groups per event, each with an optional matcher and a list
// of commands.
type jsonDialect struct {
	lenient bool // comments and trailing commas are read
	// timeout spells a hook's time limit, given in seconds.
	timeout func(seconds int) any
	// never names events that must not run beside the agent although the
	// manifest asks for it: it may be gone before they are done.
	neverAsync []string
	// off is a member of the file that, when true, stops all hooks.
	off string
}

// jsonDialects are the dialects by name.
var jsonDialects = map[string]jsonDialect{
	// Measured with Claude Code 2.1.332: a comment or a trailing comma makes it
	// ignore the whole file, a BOM does not; of a name that stands twice the last counts;
	// it runs `/bin/sh -c`, and gives SessionEnd 1.5 seconds.
	"claude": {
		timeout:    func(seconds int) any { return seconds },
		neverAsync: []string{"SessionEnd"},
		off:        "disableAllHooks",
	},
	// Measured with Codex CLI 0.171.0: each hook runs only after the person has trusted
	// it, under its place in the file.
	"codex": {timeout: func(seconds int) any { return seconds }},
}

// hookGroup is one element of an event's list, in the order in which it is written.
type hookGroup struct {
	Matcher string     `json:"matcher,omitempty"`
	Hooks   []jsonHook `json:"hooks"`
}

type jsonHook struct {
	Type    string `json:"type"`
	Command string `json:"command"`
	Timeout any    `json:"timeout,omitempty"`
	Async   bool   `json:"async,omitempty"`
}

// wantedGroup is a group of ours and the event that it belongs to.
type wantedGroup struct {
	event string
	group hookGroup
}

// jsonHooks edits one agent's hooks in a JSON file.
type jsonHooks struct {
	dialect jsonDialect
	want    []wantedGroup
	mine    func(command string) bool
}

// newJSONHooks prepares the hooks that a manifest declares.
func newJSONHooks(h *agent.Hooks, exe string, mine func(command string) bool) (*jsonHooks, error) {
	d, ok := jsonDialects[h.Dialect]
	if !ok {
		return nil, fmt.Errorf("hooks in the %q dialect of JSON are not known here: one of %s", h.Dialect,
			strings.Join(slices.Sorted(maps.Keys(jsonDialects)), ", "))
	}
	j := &jsonHooks{dialect: d, mine: mine}
	for _, e := range h.Events {
		hook := jsonHook{
			Type:    "command",
			Command: reportCommand(exe, h, e),
			Async:   h.Async && !slices.Contains(d.neverAsync, e.On),
		}
		if h.TimeoutSeconds > 0 {
			hook.Timeout = d.timeout(h.TimeoutSeconds)
		}
		j.want = append(j.want, wantedGroup{e.On, hookGroup{Matcher: e.Matcher, Hooks: []jsonHook{hook}}})
	}
	return j, nil
}

func (j *jsonHooks) parse(file string, data []byte) (*document, error) {
	return parseDocument(file, data, j.dialect.lenient)
}

// state says whether none, all or other than the wanted hooks stand in the file.
func (j *jsonHooks) state(file string, data []byte) (State, []string, error) {
	d, err := j.parse(file, data)
	if err != nil {
		return "", nil, err
	}
	found, err := j.found(d)
	if err != nil {
		return "", nil, err
	}
	var notes []string
	if p, ok := member(d.root, j.dialect.off); ok && j.dialect.off != "" {
		if lit, ok := p.value.Value.(hujson.Literal); ok && lit.Bool() {
			notes = append(notes, fmt.Sprintf("%s is set in %s, so no hook runs", j.dialect.off, file))
		}
	}
	switch {
	case len(found) == 0:
		return Off, notes, nil
	case slices.Equal(found, j.wanted()):
		return On, notes, nil
	}
	return Stale, notes, nil
}

// wanted spells the wanted groups, sorted, to be compared with found.
func (j *jsonHooks) wanted() []string {
	var all []string
	for _, w := range j.want {
		all = append(all, spell(w.event, w.group))
	}
	slices.Sort(all)
	return all
}

// found spells the groups in which a hook of ours stands, as wanted does.
func (j *jsonHooks) found(d *document) ([]string, error) {
	var all []string
	err := j.walk(d, func(event string, _, group, hooks hujson.Value, own []int) (bool, error) {
		if len(own) > 0 {
			var v any
			if err := unmarshal(group, &v); err != nil {
				return false, err
			}
			all = append(all, spell(event, v))
		}
		return false, nil
	})
	slices.Sort(all)
	return all, err
}

// spell gives equal text for equal values.
func spell(event string, v any) string {
	b, err := json.Marshal(v)
	if err == nil {
		var plain any
		if err = json.Unmarshal(b, &plain); err == nil {
			b, err = json.Marshal(plain) // members sorted
		}
	}
	if err != nil {
		panic("integrate: a hook that cannot be spelled: " + err.Error())
	}
	return event + " " + string(b)
}

// unmarshal decodes a value of the document.
func unmarshal(v hujson.Value, into any) error {
	plain := v.Clone()
	plain.Standardize()
	dec := json.NewDecoder(bytes.NewReader(plain.Pack()))
	dec.UseNumber()
	return dec.Decode(into)
}

// walk visits every group of every event, with the list that it is in, its
// list of hooks and the places of ours in there; it ends when visit says so. What has not the shape of hooks
// is an error if it stands where ours must go, else it is passed over.
func (j *jsonHooks) walk(d *document, visit func(event string, groups, group, hooks hujson.Value, own []int) (stop bool, err error)) error {
	for _, top := range parts(d.root) {
		if top.name != hooksMember {
			continue
		}
		for _, event := range parts(top.value) {
			for _, group := range parts(event.value) {
				list, ok := member(group.value, hooksMember)
				if !ok {
					continue
				}
				var own []int
				for i, h := range parts(list.value) {
					if c, ok := member(h.value, "command"); ok && isString(c.value) && j.mine(c.value.Value.(hujson.Literal).String()) {
						own = append(own, i)
					}
				}
				if stop, err := visit(event.name, event.value, group.value, list.value, own); stop || err != nil {
					return err
				}
			}
		}
	}
	return nil
}

const hooksMember = "hooks"

func isString(v hujson.Value) bool { return v.Value.Kind() == '"' }

// remove takes every hook of ours out of the document, and the lists that are
// empty because of that.
func (j *jsonHooks) remove(d *document) error {
	for again := true; again; {
		again = false
		err := j.walk(d, func(event string, groups, group, hooks hujson.Value, own []int) (bool, error) {
			if len(own) == 0 {
				return false, nil
			}
			again = true
			if len(own) < len(parts(hooks)) {
				return true, d.remove(hooks, own[len(own)-1])
			}
			return true, d.removeUp(group)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// removeUp removes a group, and each container around it that held nothing else.
func (d *document) removeUp(v hujson.Value) error {
	at := v.StartOffset
	for {
		container, i, ok := d.around(at)
		if !ok {
			return nil
		}
		p := parts(container)[i]
		commented := bytes.IndexByte(innerExtra(container), '/') >= 0 || bytes.IndexByte(d.text[p.lead:p.body], '/') >= 0
		if len(parts(container)) > 1 || commented || container.StartOffset == d.root.StartOffset {
			return d.remove(container, i)
		}
		at = container.StartOffset
	}
}

// around finds the container of which the value at an offset is a part.
func (d *document) around(at int) (container hujson.Value, i int, ok bool) {
	for v := range d.root.All() {
		for n, p := range parts(*v) {
			if p.value.StartOffset == at {
				return *v, n, true
			}
		}
	}
	return hujson.Value{}, 0, false
}

// add puts the wanted hooks behind those that are there.
func (j *jsonHooks) add(d *document) error {
	for _, w := range j.want {
		if err := j.addGroup(d, w); err != nil {
			return err
		}
	}
	return nil
}

func (j *jsonHooks) addGroup(d *document, w wantedGroup) error {
	all, ok := member(d.root, hooksMember)
	if !ok {
		return d.push(d.root, hooksMember, map[string]any{w.event: []hookGroup{w.group}})
	}
	if all.value.Value.Kind() != '{' {
		return d.errorAt(all.value.StartOffset, `"hooks" is not an object in braces`)
	}
	event, ok := member(all.value, w.event)
	if !ok {
		return d.push(all.value, w.event, []hookGroup{w.group})
	}
	if event.value.Value.Kind() != '[' {
		return d.errorAt(event.value.StartOffset, fmt.Sprintf("%q in \"hooks\" is not a list in brackets", w.event))
	}
	return d.push(event.value, "", w.group)
}

// install gives the file's content with exactly the wanted hooks of ours.
func (j *jsonHooks) install(file string, data []byte) ([]byte, error) {
	return j.change(file, data, j.add)
}

// uninstall gives the file's content without any hook of ours; nil if nothing
// else is in it.
func (j *jsonHooks) uninstall(file string, data []byte) ([]byte, error) {
	out, err := j.change(file, data, func(*document) error { return nil })
	if err != nil || bytes.Equal(out, data) {
		return out, err
	}
	d, err := j.parse(file, out)
	if err != nil {
		return nil, err
	}
	if len(parts(d.root)) == 0 && len(bytes.TrimSpace(innerExtra(d.root))) == 0 && d.root.BeforeExtra.IsStandard() && d.root.AfterExtra.IsStandard() {
		return nil, nil
	}
	return out, nil
}

// change removes our hooks, does more, and checks that all else in the file is
// what it was, as the agent will read it.
func (j *jsonHooks) change(file string, data []byte, more func(d *document) error) ([]byte, error) {
	before, err := j.foreign(file, data)
	if err != nil {
		return nil, err
	}
	d, err := j.parse(file, data)
	if err != nil {
		return nil, err
	}
	if err := j.remove(d); err != nil {
		return nil, err
	}
	if err := more(d); err != nil {
		return nil, err
	}
	after, err := j.foreign(file, d.bytes())
	if err != nil {
		return nil, fmt.Errorf("the edit of %s would not read back: %w", file, err)
	}
	if before != after {
		return nil, fmt.Errorf("%s: the edit would touch what is not termio's: add or remove its hooks by hand, and report this", file)
	}
	return d.bytes(), nil
}

// foreign spells all of a file but our hooks and what is empty without them.
func (j *jsonHooks) foreign(file string, data []byte) (string, error) {
	d, err := j.parse(file, data)
	if err != nil {
		return "", err
	}
	var v map[string]any
	if err := unmarshal(d.root, &v); err != nil {
		return "", d.errorAt(d.root.StartOffset, err.Error())
	}
	if events, ok := v[hooksMember].(map[string]any); ok {
		for name, groups := range events {
			list, ok := groups.([]any)
			if !ok {
				continue
			}
			list = slices.DeleteFunc(list, func(g any) bool { return j.ownGroup(g) })
			if events[name] = list; len(list) == 0 {
				delete(events, name)
			}
		}
		if len(events) == 0 {
			delete(v, hooksMember)
		}
	}
	b, err := json.Marshal(v)
	return string(b), err
}

// ownGroup strips our hooks off a decoded group and reports whether nothing is left.
func (j *jsonHooks) ownGroup(g any) bool {
	group, ok := g.(map[string]any)
	if !ok {
		return false
	}
	list, ok := group[hooksMember].([]any)
	if !ok {
		return false
	}
	rest := slices.DeleteFunc(slices.Clone(list), func(h any) bool {
		hook, _ := h.(map[string]any)
		command, ok := hook["command"].(string)
		return ok && j.mine(command)
	})
	group[hooksMember] = rest
	return len(rest) == 0 && len(list) > 0
}
