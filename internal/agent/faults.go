package agent

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"termio/internal/api"
)

// problem is what is wrong with a place of the manifest, with the line it stands in.
func (m *Manifest) problem(path, reason string) Problem {
	file := m.Source
	if file == Builtin {
		file = m.ID + ".json (built in)"
	}
	return Problem{File: file, Line: m.line(path), Path: path, Reason: reason}
}

// note is what a person who writes a manifest should know, and is no fault of it.
func note(reason string) Problem { return Problem{Reason: reason, Warning: true} }

// line is the line of a JSON path in the manifest's file, or of the nearest place around
// it; 0 when the file is not known.
func (m *Manifest) line(path string) int {
	n, _, err := readTree(m.data)
	if err != nil || n == nil {
		return 0
	}
	for _, step := range strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' }) {
		next := n.get(step)
		if i, err := strconv.Atoi(step); err == nil && n.kind == isList && i < len(n.list) {
			next = n.list[i]
		}
		if next == nil {
			break
		}
		n = next
	}
	return 1 + bytes.Count(m.data[:min(int(n.at), len(m.data))], []byte("\n"))
}

// undeclared says that an event was shown which the manifest does not declare.
func (m *Manifest) undeclared(event string) Problem {
	path, meant := "hooks.events", ""
	for i, e := range m.Hooks.Events {
		if near(e.On, event) {
			path, meant = fmt.Sprintf("hooks.events[%d].on", i), fmt.Sprintf(`; is %q what should be %q?`, e.On, event)
			break
		}
	}
	return m.problem(path, fmt.Sprintf("no event %q is declared%s Declared are %s: name them as the agent does, which calls no other",
		event, cmp.Or(meant, "."), strings.Join(m.Hooks.names(), ", ")))
}

// near reports whether a word is another one, misspelt.
func near(a, b string) bool {
	return a != b && (strings.EqualFold(a, b) || editDistance(strings.ToLower(a), strings.ToLower(b)) <= min(2, len(b)/3))
}

// misfits says which of the manifest's fields a payload of an event does not have, though
// it should. Of a payload that was not given nothing is known.
func (m *Manifest) misfits(e int, root *node) []Problem {
	if root == nil || root.kind != isObject {
		return nil
	}
	h, event := m.Hooks, m.Hooks.Events[e]
	var found []Problem
	check := func(path, field string, must bool) {
		if field == "" || root.path(field) != nil {
			return
		}
		keys, meant := lacking(root, field)
		if !must && meant == "" {
			return
		}
		found = append(found, m.problem(path, fmt.Sprintf("is %q, and the payload of %s has no such field; it has %s%s",
			field, event.On, strings.Join(keys, ", "), meant)))
	}
	check("hooks.conversation", h.Conversation, true)
	check("hooks.tool", h.Tool, false)
	check("hooks.subagent", h.Subagent, false)
	check("hooks.message", h.Message, false)
	check("hooks.promptTitle", h.PromptTitle, event.isPrompt())
	check("hooks.error", h.Error, event.Error)
	check(fmt.Sprintf("hooks.events[%d].field", e), event.Field, true)
	if h.Background != nil {
		check("hooks.background.list", h.Background.List, false)
	}
	if event.State == api.NeedsYou.State() && len(found) == 0 {
		found = m.unasked(root)
	}
	return found
}

// unasked says why no question was found in the payload of an event that asks.
func (m *Manifest) unasked(root *node) (found []Problem) {
	tool := root.path(m.Hooks.Tool).text()
	if m.Hooks.dialog(tool, root) != nil {
		return nil
	}
	for i, d := range m.Hooks.Dialogs {
		path := fmt.Sprintf("hooks.dialogs[%d]", i)
		if d.Tool.set() && !d.Tool.Match(tool) {
			continue
		}
		for _, field := range placeholders(d.Question) {
			if root.path(field).text() == "" {
				keys, meant := lacking(root, field)
				found = append(found, m.problem(path+".question", fmt.Sprintf("asks for {%s}, and the payload has no such text; it has %s%s", field, strings.Join(keys, ", "), meant)))
			}
		}
	}
	return found
}

// placeholders are the key paths of a template.
func placeholders(template string) (paths []string) {
	for part := range strings.SplitSeq(template, "{") {
		if path, _, ok := strings.Cut(part, "}"); ok {
			paths = append(paths, path)
		}
	}
	return paths
}

// lacking tells the keys that a payload has where a key path leaves it, and which of them
// may be meant.
func lacking(root *node, path string) (keys []string, meant string) {
	at, missing, before := root, path, ""
	for key := range strings.SplitSeq(path, ".") {
		next := at.get(key)
		if next == nil || next.kind != isObject {
			missing = key
			break
		}
		at, before = next, before+key+"."
	}
	for _, f := range at.fields {
		keys = append(keys, before+f.key)
		if near(f.key, missing) {
			meant = fmt.Sprintf("; is %q meant?", before+f.key)
		}
	}
	slices.Sort(keys)
	return keys, meant
}

// Misses says why a step did not give the status that was expected of it: which patterns
// matched nothing, and which state an event has.
func (m *Manifest) Misses(st Step, want api.Status) []Problem {
	switch {
	case st.Hook != nil && m.Hooks != nil:
		var found []Problem
		for i, e := range m.Hooks.Events {
			if e.On == st.Hook.Event && e.State != want.State() {
				found = append(found, m.problem(fmt.Sprintf("hooks.events[%d].state", i), fmt.Sprintf("of %s is %q", e.On, e.State)))
			}
		}
		return found
	case st.Title != nil && m.TitleStatus != nil:
		return m.unmatched("titleStatus", m.TitleStatus, want, []string{*st.Title}, "the title")
	case st.Screen != nil:
		return m.unseen(*st.Screen, want)
	}
	return nil
}

// unseen says which patterns for a status match no row of a screen.
func (m *Manifest) unseen(v ScreenView, want api.Status) (found []Problem) {
	const screen = "any row of the screen"
	if m.Status != nil && m.Hooks == nil {
		found = append(found, m.unmatched("status", m.Status, want, v.Rows, screen)...)
	}
	if want == api.Working && m.ComposerRule != nil {
		found = append(found, m.noneOf("composer.working", m.ComposerRule.Working, v.Rows, screen)...)
	}
	if want != api.NeedsYou {
		return found
	}
	for i, d := range m.Dialogs {
		path := fmt.Sprintf("dialogs[%d].", i)
		before := len(found)
		for name, patterns := range map[string][]Pattern{"title": d.Title, "question": d.Question, "footer": d.Footer, "top": {d.Top}, "body": {d.Body}} {
			if len(patterns) == 1 && !patterns[0].set() {
				continue
			}
			found = append(found, m.noneOf(path+name, patterns, v.Rows, screen)...)
		}
		slices.SortFunc(found[before:], func(a, b Problem) int { return strings.Compare(a.Path, b.Path) })
		if len(found) == before {
			found = append(found, m.problem(strings.TrimSuffix(path, "."),
				"has all its rows, and not in their places: option lines under one mark, the footer right beneath, nothing but blanks after it, no composer below"))
		}
	}
	return found
}

// unmatched says that the patterns for a status match nothing of what was shown, or which
// one of another status does.
func (m *Manifest) unmatched(path string, rules *Rules, want api.Status, shown []string, what string) []Problem {
	switch want {
	case api.Working:
		return m.noneOf(path+".working", rules.Working, shown, what)
	case api.NeedsYou:
		return m.noneOf(path+".attention", rules.Attention, shown, what)
	}
	var found []Problem
	for name, patterns := range map[string][]Pattern{"working": rules.Working, "attention": rules.Attention} {
		for i, p := range patterns {
			if slices.ContainsFunc(shown, p.Match) {
				found = append(found, m.problem(fmt.Sprintf("%s.%s[%d]", path, name, i), fmt.Sprintf("%q matches %s", p.String(), what)))
			}
		}
	}
	return found
}

// noneOf says of patterns that none of them matches.
func (m *Manifest) noneOf(path string, patterns []Pattern, shown []string, what string) (found []Problem) {
	for i, p := range patterns {
		if slices.ContainsFunc(shown, p.Match) {
			return nil
		}
		at := path
		if m.isList(path) {
			at = fmt.Sprintf("%s[%d]", path, i)
		}
		found = append(found, m.problem(at, fmt.Sprintf("%q does not match %s", p.String(), what)))
	}
	if len(patterns) == 0 {
		found = append(found, m.problem(path, "is missing: no pattern says so"))
	}
	return found
}

// isList reports whether the patterns at a path stand in a list.
func (m *Manifest) isList(path string) bool {
	return !strings.HasSuffix(path, ".top") && !strings.HasSuffix(path, ".body")
}
