package integrate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/tailscale/hujson"

	"termio/internal/agent"
)

// jsonHooks edits one agent's hooks in a JSON file.
type jsonHooks struct {
	dialect jsonDialect
	want    []wantedEntry
	mine    func(command string) bool
}

// wantedEntry is an element of ours and the event whose list it belongs to.
type wantedEntry struct {
	event string
	entry any
}

// newJSONHooks prepares the hooks that a manifest declares.
func newJSONHooks(d jsonDialect, h *agent.Hooks, exe string, mine func(command string) bool) *jsonHooks {
	j := &jsonHooks{dialect: d, mine: mine}
	for _, e := range h.Events {
		j.want = append(j.want, wantedEntry{e.On, d.entry(h, e, reportCommand(exe, h, e))})
	}
	return j
}

func (j *jsonHooks) parse(file string, data []byte) (*document, error) {
	d, err := parseDocument(file, data, j.dialect.takes)
	if err != nil {
		return nil, err
	}
	if p, ok := member(d.root, versionMember); ok && j.dialect.version != 0 {
		if got := string(d.text[p.value.StartOffset:p.value.EndOffset]); got != strconv.Itoa(j.dialect.version) {
			return nil, d.errorAt(p.value.StartOffset, fmt.Sprintf("version %.20s of this file is not known here, only %d", got, j.dialect.version))
		}
	}
	return d, nil
}

// empty is a file of this dialect with nothing in it.
func (j *jsonHooks) empty() []byte {
	if v := j.dialect.version; v != 0 {
		return fmt.Appendf(nil, "{\n  %q: %d\n}\n", versionMember, v)
	}
	return []byte("{}\n")
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
	if o := j.dialect.off; o.path != "" && d.isFlag(o.path, o.value) {
		notes = append(notes, fmt.Sprintf("%s is %v in %s, so no hook runs", o.path, o.value, file))
	}
	if j.dialect.alone {
		for _, p := range parts(d.root) {
			if p.name != hooksMember {
				notes = append(notes, fmt.Sprintf("the agent ignores all of %s because of %q in it", file, p.name))
			}
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

// wanted spells the wanted entries, sorted, to be compared with found.
func (j *jsonHooks) wanted() []string {
	var all []string
	for _, w := range j.want {
		all = append(all, spell(w.event, w.entry))
	}
	slices.Sort(all)
	return all
}

// found spells the entries in which a hook of ours stands, as wanted does.
func (j *jsonHooks) found(d *document) ([]string, error) {
	var all []string
	err := j.walk(d, func(p place) (bool, error) {
		var v any
		if err := unmarshal(p.entry, &v); err != nil {
			return false, err
		}
		all = append(all, spell(p.event, v))
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

// A place is an entry of an event's list in which hooks of ours stand.
type place struct {
	event string
	entry hujson.Value
	hooks hujson.Value // the list that holds them, in nested dialects
	own   []int        // of it, ours
}

// walk visits every entry with hooks of ours; it ends when visit says so. What has
// not the shape of hooks is passed over. All members named "hooks" are looked at,
// though only the last counts for a reader.
func (j *jsonHooks) walk(d *document, visit func(p place) (stop bool, err error)) error {
	for _, events := range j.eventLists(d) {
		for _, event := range parts(events) {
			for _, entry := range parts(event.value) {
				p := place{event: event.name, entry: entry.value}
				if !j.ownHooks(&p) {
					continue
				}
				if stop, err := visit(p); stop || err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// eventLists are the objects whose members are events.
func (j *jsonHooks) eventLists(d *document) []hujson.Value {
	if j.dialect.bare {
		return []hujson.Value{d.root}
	}
	var lists []hujson.Value
	for _, top := range parts(d.root) {
		if top.name == hooksMember {
			lists = append(lists, top.value)
		}
	}
	return lists
}

// ownHooks looks for hooks of ours in an entry.
func (j *jsonHooks) ownHooks(p *place) bool {
	if j.dialect.flat {
		return j.isOurs(p.entry)
	}
	list, ok := member(p.entry, hooksMember)
	if !ok {
		return false
	}
	p.hooks = list.value
	for i, h := range parts(list.value) {
		if j.isOurs(h.value) {
			p.own = append(p.own, i)
		}
	}
	return len(p.own) > 0
}

// isOurs reports whether a hook runs a command of ours.
func (j *jsonHooks) isOurs(hook hujson.Value) bool {
	c, ok := member(hook, j.dialect.commandMember())
	return ok && isString(c.value) && j.mine(c.value.Value.(hujson.Literal).String())
}

// Members of such a file.
const (
	hooksMember   = "hooks"
	versionMember = "version"
)

func isString(v hujson.Value) bool { return v.Value.Kind() == '"' }

// remove takes every hook of ours out of the document, and the lists that are
// empty because of that.
func (j *jsonHooks) remove(d *document) error {
	for again := true; again; {
		again = false
		err := j.walk(d, func(p place) (bool, error) {
			again = true
			if len(p.own) < len(parts(p.hooks)) {
				return true, d.remove(p.hooks, p.own[len(p.own)-1])
			}
			return true, d.removeUp(p.entry)
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
	if _, ok := member(d.root, versionMember); !ok && j.dialect.version != 0 {
		if err := d.push(d.root, versionMember, j.dialect.version); err != nil {
			return err
		}
	}
	for _, w := range j.want {
		if err := j.addEntry(d, w); err != nil {
			return err
		}
	}
	return nil
}

func (j *jsonHooks) addEntry(d *document, w wantedEntry) error {
	events := d.root
	if !j.dialect.bare {
		all, ok := member(d.root, hooksMember)
		if !ok {
			return d.push(d.root, hooksMember, map[string]any{w.event: []any{w.entry}})
		}
		if all.value.Value.Kind() != '{' {
			return d.errorAt(all.value.StartOffset, `"hooks" is not an object in braces`)
		}
		events = all.value
	}
	event, ok := member(events, w.event)
	if !ok {
		return d.push(events, w.event, []any{w.entry})
	}
	if event.value.Value.Kind() != '[' {
		return d.errorAt(event.value.StartOffset, fmt.Sprintf("%q in \"hooks\" is not a list in brackets", w.event))
	}
	return d.push(event.value, "", w.entry)
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
	left := slices.DeleteFunc(parts(d.root), func(p part) bool { return p.name == versionMember && j.dialect.version != 0 })
	if len(left) == 0 && len(bytes.TrimSpace(innerExtra(d.root))) == 0 && d.root.BeforeExtra.IsStandard() && d.root.AfterExtra.IsStandard() {
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
	events := v
	if !j.dialect.bare {
		events, _ = v[hooksMember].(map[string]any)
	}
	for name, entries := range events {
		list, ok := entries.([]any)
		if !ok {
			continue
		}
		list = slices.DeleteFunc(list, func(e any) bool { return j.ownEntry(e) })
		if events[name] = list; len(list) == 0 {
			delete(events, name)
		}
	}
	if events != nil && len(events) == 0 {
		delete(v, hooksMember)
	}
	if v[versionMember] == json.Number(strconv.Itoa(j.dialect.version)) {
		delete(v, versionMember) // we add it where it is missing
	}
	b, err := json.Marshal(v)
	return string(b), err
}

// ownEntry strips our hooks off a decoded entry and reports whether nothing is left.
func (j *jsonHooks) ownEntry(e any) bool {
	ours := func(h any) bool {
		hook, _ := h.(map[string]any)
		command, ok := hook[j.dialect.commandMember()].(string)
		return ok && j.mine(command)
	}
	if j.dialect.flat {
		return ours(e)
	}
	group, ok := e.(map[string]any)
	if !ok {
		return false
	}
	list, ok := group[hooksMember].([]any)
	if !ok {
		return false
	}
	rest := slices.DeleteFunc(slices.Clone(list), ours)
	group[hooksMember] = rest
	return len(rest) == 0 && len(list) > 0
}
