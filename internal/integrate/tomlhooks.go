package integrate

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"termio/internal/agent"
)

// tomlHooks edits hooks in a TOML file: [[hooks]] tables, or the list of inline tables
// that a person has already written under that key. Kimi Code's, as documented
// (moonshotai.github.io/kimi-code/en/customization/hooks): a table has an event, a
// command, a matcher and a timeout, and any other key or an unknown event makes it
// refuse the whole file.
type tomlHooks struct {
	want []tomlHook
	mine func(command string) bool
}

// tomlHook is one hook, as it stands in the file.
type tomlHook struct {
	Event   string `toml:"event"`
	Matcher string `toml:"matcher"`
	Command string `toml:"command"`
	Timeout int64  `toml:"timeout"`
}

// newTOMLHooks prepares the hooks that a manifest declares.
func newTOMLHooks(h *agent.Hooks, exe string, mine func(command string) bool) *tomlHooks {
	t := &tomlHooks{mine: mine}
	for _, e := range h.Events {
		t.want = append(t.want, tomlHook{Event: e.On, Matcher: e.Matcher, Command: reportCommand(exe, h, e), Timeout: int64(h.TimeoutSeconds)})
	}
	return t
}

func (t *tomlHooks) empty() []byte { return []byte{} }

// fields are a hook's keys and values, spelled.
func (h tomlHook) fields() []string {
	fields := []string{"event = " + quoteTOML(h.Event)}
	if h.Matcher != "" {
		fields = append(fields, "matcher = "+quoteTOML(h.Matcher))
	}
	fields = append(fields, "command = "+quoteTOML(h.Command))
	if h.Timeout > 0 {
		fields = append(fields, fmt.Sprintf("timeout = %d", h.Timeout))
	}
	return fields
}

// A tomlPlace is a hook of ours in the file.
type tomlPlace struct {
	hook  tomlHook
	items []tomlItem // of a table: its header and its keys
	part  int        // of an inline list: which element
}

// own finds the hooks of ours. list is the statement of the inline list, if there is one.
func (t *tomlHooks) own(d *tomlDocument) (places []tomlPlace, list *tomlItem) {
	inRoot := true
	for i, it := range d.items {
		inRoot = inRoot && !it.header
		if !slices.Equal(it.name, []string{hooksMember}) {
			continue
		}
		switch {
		case it.list:
			p := tomlPlace{items: []tomlItem{it}}
			for _, key := range d.items[i+1:] {
				if key.header {
					break
				}
				p.items = append(p.items, key)
			}
			if t.read(&p, d.text[it.to:p.items[len(p.items)-1].to]) {
				places = append(places, p)
			}
		case !it.header && inRoot && it.value < len(d.text) && d.text[it.value] == '[':
			list = &d.items[i]
			elements, _ := d.elements(it.value)
			for n, e := range elements {
				p := tomlPlace{part: n}
				if text := d.text[e.body:e.end]; text[0] == '{' && t.readInline(&p, text) {
					places = append(places, p)
				}
			}
		}
	}
	return places, list
}

// read decodes a table's keys and reports whether the hook is ours.
func (t *tomlHooks) read(p *tomlPlace, text []byte) bool {
	return toml.Unmarshal(text, &p.hook) == nil && t.mine(p.hook.Command)
}

func (t *tomlHooks) readInline(p *tomlPlace, text []byte) bool {
	v := struct{ H *tomlHook }{&p.hook}
	return toml.Unmarshal(append([]byte("H = "), text...), &v) == nil && t.mine(p.hook.Command)
}

// state says whether none, all or other than the wanted hooks stand in the file.
func (t *tomlHooks) state(file string, data []byte) (State, []string, error) {
	d, err := parseTOML(file, data)
	if err != nil {
		return "", nil, err
	}
	places, _ := t.own(d)
	var found []tomlHook
	for _, p := range places {
		found = append(found, p.hook)
	}
	switch {
	case len(found) == 0:
		return Off, nil, nil
	case slices.Equal(found, t.want):
		return On, nil, nil
	}
	return Stale, nil, nil
}

// install gives the file's content with exactly the wanted hooks of ours.
func (t *tomlHooks) install(file string, data []byte) ([]byte, error) {
	return t.change(file, data, t.add)
}

// uninstall gives the file's content without any hook of ours; nil if nothing else
// is in it.
func (t *tomlHooks) uninstall(file string, data []byte) ([]byte, error) {
	out, err := t.change(file, data, func(*tomlDocument) error { return nil })
	if err == nil && !bytes.Equal(out, data) && len(bytes.TrimSpace(bytes.TrimPrefix(out, bom))) == 0 {
		return nil, nil
	}
	return out, err
}

// change removes our hooks, does more, and checks that all else in the file is what
// it was, as the agent will read it.
func (t *tomlHooks) change(file string, data []byte, more func(*tomlDocument) error) ([]byte, error) {
	return changeTOML(file, data, t.foreign, "add or remove its hooks by hand", func(d *tomlDocument) error {
		t.remove(d)
		return more(d)
	})
}

// foreign spells all that the file says but for our hooks.
func (t *tomlHooks) foreign(d *tomlDocument) (string, error) {
	v, err := d.values()
	if err != nil {
		return "", err
	}
	if hooks, ok := v[hooksMember].([]any); ok {
		hooks = slices.DeleteFunc(hooks, func(h any) bool {
			hook, _ := h.(map[string]any)
			command, ok := hook["command"].(string)
			return ok && t.mine(command)
		})
		if v[hooksMember] = hooks; len(hooks) == 0 {
			delete(v, hooksMember)
		}
	}
	return fmt.Sprintf("%#v", v), nil
}

// remove takes every hook of ours out.
func (t *tomlHooks) remove(d *tomlDocument) {
	for {
		places, list := t.own(d)
		if len(places) == 0 {
			return
		}
		p := places[len(places)-1]
		if p.items != nil {
			d.removeTable(p.items)
		} else {
			d.removeElement(*list, p.part)
		}
	}
}

// removeTable takes out a table's own lines, with the blank line before it. What
// others have written between and behind them stays.
func (d *tomlDocument) removeTable(items []tomlItem) {
	var edits []edit
	for _, it := range items {
		edits = append(edits, d.lines(it))
	}
	first, last := &edits[0], edits[len(edits)-1]
	before := d.text[:first.from]
	if rest, ok := bytes.CutSuffix(before, []byte(d.newline+d.newline)); ok {
		first.from = len(rest) + len(d.newline)
	} else if len(bytes.TrimSpace(before)) == 0 {
		first.from = 0
	}
	if last.to == len(d.text) && last.to > 0 && d.text[last.to-1] != '\n' {
		// The file had no line break at its end before us either.
		first.from = len(bytes.TrimRight(d.text[:first.from], "\r\n"))
	}
	d.apply(edits...)
}

// removeElement takes an element out of an inline list, with its comma.
func (d *tomlDocument) removeElement(list tomlItem, n int) {
	elements, _ := d.elements(list.value)
	e := elements[n]
	from := len(bytes.TrimRight(d.text[:e.body], " \t\r\n"))
	if c := d.text[bytes.LastIndexByte(d.text[:from], '\n')+1 : from]; bytes.IndexByte(c, '#') >= 0 {
		from = e.body // a comment's line break must stay
	}
	own := edit{from: from, to: e.end}
	switch {
	case e.comma == e.end:
		own.to++
		d.apply(own)
	case e.comma >= 0:
		d.apply(own, edit{e.comma, e.comma + 1, ""})
	case n > 0:
		comma := elements[n-1].comma
		d.apply(own, edit{comma, comma + 1, ""})
	default:
		d.apply(own)
	}
}

// add puts the wanted hooks behind those that are there, in the way in which those
// are written.
func (t *tomlHooks) add(d *tomlDocument) error {
	_, list := t.own(d)
	for _, it := range d.items {
		if len(it.name) > 0 && it.name[0] == hooksMember && !it.list && (list == nil || it.from != list.from) && d.inRoot(it) {
			return d.errorAt(it.from, `"hooks" is neither [[hooks]] tables nor a list`)
		}
	}
	if list != nil {
		for _, h := range t.want {
			_, list = t.own(d)
			d.pushElement(*list, h)
		}
		return nil
	}
	d.pushTables(t.want)
	return nil
}

// inRoot reports whether a statement's name counts from the file's root.
func (d *tomlDocument) inRoot(it tomlItem) bool {
	return it.header || !slices.ContainsFunc(d.items, func(h tomlItem) bool { return h.header && h.from < it.from })
}

// pushTables puts tables at the file's end, the only place that no table before it
// can claim.
func (d *tomlDocument) pushTables(hooks []tomlHook) {
	var b strings.Builder
	open := len(d.text) > 0 && d.text[len(d.text)-1] != '\n'
	if open {
		b.WriteString(d.newline)
	}
	for i, h := range hooks {
		if i > 0 || len(bytes.TrimSpace(d.text)) > 0 {
			b.WriteString(d.newline)
		}
		b.WriteString("[[" + hooksMember + "]]" + d.newline + strings.Join(h.fields(), d.newline) + d.newline)
	}
	text := b.String()
	if open {
		text = strings.TrimSuffix(text, d.newline)
	}
	d.apply(edit{len(d.text), len(d.text), text})
}

// pushElement puts an inline table behind the last element of a list.
func (d *tomlDocument) pushElement(list tomlItem, h tomlHook) {
	elements, end := d.elements(list.value)
	text := "{ " + strings.Join(h.fields(), ", ") + " }"
	if len(elements) == 0 {
		d.apply(edit{list.value + 1, list.value + 1, text})
		return
	}
	last := elements[len(elements)-1]
	lead := " "
	if before := d.text[list.value:last.body]; bytes.IndexByte(before, '\n') >= 0 {
		lead = d.newline + leadingBlank(d.text[bytes.LastIndexByte(d.text[:last.body], '\n')+1:])
	}
	if last.comma < 0 {
		d.apply(edit{last.end, last.end, "," + lead + text})
		return
	}
	at := last.comma + 1
	if rest := d.text[at : end-1]; bytes.IndexByte(rest, '#') >= 0 { // behind its comment
		at += bytes.LastIndexByte(rest, '#')
		at = d.lineEnd(at)
		at -= len(d.newline) - 1
	}
	d.apply(edit{at, at, lead + text + ","})
}
