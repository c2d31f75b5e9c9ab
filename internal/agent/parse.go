package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"termio/internal/api"
)

// A Problem is what is wrong with a manifest: where, and why.
type Problem struct {
	File    string // name of the file, as the caller gave it
	Line    int    // 1-based; 0 when it concerns the whole file
	Path    string // JSON path, such as hooks.events[2].state
	Reason  string
	Warning bool // the manifest is used all the same
}

func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d", p.Line)
	}
	if b.Len() > 0 {
		b.WriteString(": ")
	}
	if p.Path != "" {
		b.WriteString(p.Path + " ")
	}
	b.WriteString(p.Reason)
	return b.String()
}

// API is the problem as the agents route tells it.
func (p Problem) API() api.AgentProblem {
	reason := p.Reason
	if p.Line > 0 {
		reason = fmt.Sprintf("%s (line %d)", reason, p.Line)
	}
	return api.AgentProblem{File: p.File, Path: p.Path, Reason: reason}
}

// maxManifest bounds a manifest in bytes: real ones have a few thousand.
const maxManifest = 1 << 20

// ErrInvalid is the error of a manifest that does not validate.
var ErrInvalid = errors.New("the manifest is not valid")

// Parse reads a manifest. file names it in problems. The problems hold warnings,
// such as unknown keys, and, with an error that wraps [ErrInvalid], what must be
// mended.
func Parse(data []byte, file string) (*Manifest, []Problem, error) {
	c := &checker{data: data, file: file}
	if len(data) > maxManifest {
		c.problem(nil, "", fmt.Sprintf("is larger than %d bytes", maxManifest))
		return nil, c.problems, c.err()
	}
	c.data = bytes.TrimPrefix(data, []byte("\ufeff"))
	root, at, err := readTree(c.data)
	if err != nil {
		c.problem(&node{at: at}, "", "is not JSON: "+err.Error())
		return nil, c.problems, c.err()
	}
	c.value(root, manifestShape(), "")
	c.events(root)
	if err := c.err(); err != nil {
		return nil, c.problems, err
	}
	m := &Manifest{Source: file, Warnings: c.problems, data: c.data}
	if err := json.Unmarshal(c.data, m); err != nil { // a shape that does not fit its Go type
		c.problem(nil, "", err.Error())
		return nil, c.problems, c.err()
	}
	return m, c.problems, nil
}

// checker holds a manifest against its description.
type checker struct {
	data     []byte
	file     string
	problems []Problem
	invalid  int
}

func (c *checker) err() error {
	if c.invalid == 0 {
		return nil
	}
	for _, p := range c.problems {
		if !p.Warning {
			return fmt.Errorf("%w: %s", ErrInvalid, p)
		}
	}
	return ErrInvalid
}

func (c *checker) problem(n *node, path, reason string) {
	c.invalid++
	c.problems = append(c.problems, Problem{File: c.file, Line: c.line(n), Path: path, Reason: reason})
}

func (c *checker) warn(n *node, path, reason string) {
	c.problems = append(c.problems, Problem{File: c.file, Line: c.line(n), Path: path, Reason: reason, Warning: true})
}

func (c *checker) line(n *node) int {
	if n == nil {
		return 0
	}
	return 1 + bytes.Count(c.data[:min(int(n.at), len(c.data))], []byte("\n"))
}

func (c *checker) value(n *node, s *shape, path string) {
	if n.kind != s.kind {
		c.problem(n, path, fmt.Sprintf("must be %s, not %s", s.kind, n.kind))
		return
	}
	switch s.kind {
	case isText:
		c.text(n, s, path)
	case isNumber:
		c.number(n, s, path)
	case isList:
		for i, e := range n.list {
			c.value(e, s.elem, fmt.Sprintf("%s[%d]", path, i))
		}
	case isObject:
		c.object(n, s, path)
	}
}

func (c *checker) text(n *node, s *shape, path string) {
	v := n.text()
	switch {
	case len(s.words) > 0 && !slices.Contains(s.words, v):
		c.problem(n, path, fmt.Sprintf("must be one of %s, not %q", strings.Join(s.words, ", "), v))
	case s.regexp:
		if _, err := NewPattern(v); err != nil {
			c.problem(n, path, "is a regular expression that does not compile: "+regexpReason(err))
		}
	case s.check != nil:
		if reason := s.check(v); reason != "" {
			c.problem(n, path, reason)
		}
	}
}

// regexpReason is the compiler's complaint about what stands in the manifest, without the
// name of its package, and what can be done.
func regexpReason(err error) string {
	var reason string
	for ; err != nil; err = errors.Unwrap(err) {
		reason = err.Error()
	}
	reason = strings.ReplaceAll(strings.TrimPrefix(reason, "error parsing regexp: "), "`(?i)", "`")
	return reason + `; it is RE2: no lookaround, and a sign that stands for itself has \\ before it`
}

func (c *checker) number(n *node, s *shape, path string) {
	low, high := s.min, s.max
	if low == 0 && high == 0 {
		high = 1 << 31
	}
	if i, ok := n.int64(); !ok || i < low || i > high {
		c.problem(n, path, fmt.Sprintf("must be a whole number from %d to %d", low, high))
	}
}

func (c *checker) object(n *node, s *shape, path string) {
	seen := make(map[string]bool)
	for _, f := range n.fields {
		at := &node{at: f.at}
		if isComment(f.key) && s.elem == nil {
			continue
		}
		if seen[f.key] {
			c.problem(at, join(path, f.key), "stands twice")
			continue
		}
		seen[f.key] = true
		if s.elem != nil { // free keys
			c.value(f.value, s.elem, join(path, f.key))
			continue
		}
		i := slices.IndexFunc(s.keys, func(k key) bool { return k.name == f.key })
		if i < 0 {
			c.warn(at, join(path, f.key), "is not known"+nearest(f.key, s.keys))
			continue
		}
		c.value(f.value, s.keys[i].shape, join(path, f.key))
	}
	for _, k := range s.keys {
		if k.required && !seen[k.name] {
			c.problem(n, join(path, k.name), "is missing")
		}
	}
	if s.also != nil {
		s.also(n, func(at *node, p, reason string) { c.problem(at, join(path, p), reason) })
	}
}

// isComment reports whether a key is a note to readers.
func isComment(key string) bool {
	return strings.HasPrefix(key, "$") || strings.HasPrefix(key, "//")
}

func join(path, key string) string {
	if path == "" || key == "" {
		return path + key
	}
	return path + "." + key
}

// nearest proposes the known key that a misspelt one was meant to be.
func nearest(word string, keys []key) string {
	for _, k := range keys {
		if strings.EqualFold(k.name, word) || editDistance(k.name, word) <= 2 {
			return fmt.Sprintf("; is %q meant?", k.name)
		}
	}
	return ""
}

// editDistance counts the letters to add, drop or change between two short words.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}

// Checks of single texts: each gives a reason, or "" when all is well.

var (
	idPattern       = compiled(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)
	variablePattern = compiled(`^[A-Za-z_][A-Za-z0-9_]*\*?$`)
	tintPattern     = compiled(`^#[0-9A-Fa-f]{6}$`)
)

// compiled compiles a pattern of ours when it is first used: whatever runs before
// main also runs in each hook of an agent.
func compiled(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

func checkID(s string) string {
	if len(s) > 64 || !idPattern().MatchString(s) {
		return fmt.Sprintf("must be up to 64 letters, digits, '-', '_' and '.', not %q", s)
	}
	return ""
}

func checkVariable(s string) string {
	if !variablePattern().MatchString(s) {
		return fmt.Sprintf("must be the name of a variable, not %q", s)
	}
	return ""
}

func checkTint(s string) string {
	if !tintPattern().MatchString(s) {
		return fmt.Sprintf("must be a colour like #d97757, not %q", s)
	}
	return ""
}

func checkLine(s string) string {
	if strings.TrimSpace(s) == "" || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' }) {
		return "must be one line of text"
	}
	return ""
}

func checkCommand(s string) string {
	switch words, err := splitWords(s); {
	case err != nil:
		return err.Error()
	case len(words) == 0:
		return "must name a program"
	}
	return ""
}

func checkWords(s string) string {
	if _, err := splitWords(s); err != nil {
		return err.Error()
	}
	return ""
}

func checkTemplate(placeholder string) func(string) string {
	return func(s string) string {
		if reason := checkWords(s); reason != "" {
			return reason
		}
		return checkWith(placeholder)(s)
	}
}

func checkWith(placeholder string) func(string) string {
	return func(s string) string {
		if !strings.Contains(s, placeholder) {
			return "must contain " + placeholder
		}
		return ""
	}
}

func checkPath(s string) string {
	if s == "~" || strings.HasPrefix(s, "~/") || strings.HasPrefix(s, "/") {
		return ""
	}
	return fmt.Sprintf("must be absolute or begin with ~/, not %q", s)
}

func checkStoreMatch(s string) string {
	kind, pattern, ok := strings.Cut(s, ":")
	if !ok || (kind != storeDir && kind != storeFile) {
		return fmt.Sprintf("must be dir:PATTERN or file:PATTERN, not %q", s)
	}
	for part := range strings.SplitSeq(pattern, "/") {
		if part == "" || part == "." || part == ".." {
			return fmt.Sprintf("has a pattern that is no relative path: %q", pattern)
		}
	}
	if strings.ContainsAny(pattern, `?[]\`) {
		return fmt.Sprintf("knows no wildcard but *: %q", pattern)
	}
	return checkWith("{id}")(pattern)
}

// dialects lists the forms of hooks for each way of installing them; the empty one
// is the type's own usual form.
var dialects = map[string][]string{
	"json":    {"", "claude", "codex", "grok", "droid", "gemini", "qwen", "cursor", "copilot"},
	"toml":    {"kimi"},
	"plugin":  {"opencode", "pi", "amp"},
	"scripts": {"cline"},
}

func checkHooks(n *node, say func(*node, string, string)) {
	typ := n.get("type").text()
	if typ == "" {
		typ = "json"
	}
	needs, without := "file", []string{"dir"}
	switch typ {
	case "plugin", "scripts":
		needs, without = "dir", []string{"file"}
	case HooksBuiltin:
		needs, without = "", []string{"file", "dir", "dialect", "timeout", "async"}
	}
	if needs != "" && n.get(needs) == nil {
		say(n, needs, "is missing; hooks of type "+typ+" need it")
	}
	for _, key := range without {
		if v := n.get(key); v != nil {
			say(v, key, "does not go with hooks of type "+typ)
		}
	}
	if known, ok := dialects[typ]; ok && !slices.Contains(known, n.get("dialect").text()) {
		say(n, "dialect", fmt.Sprintf("must be one of %s for hooks of type %s, not %q",
			strings.Trim(strings.Join(known, ", "), ", "), typ, n.get("dialect").text()))
	}
	if e := n.get("events"); e != nil && len(e.list) == 0 {
		say(e, "events", "must not be empty")
	}
	// These names end up as arguments of the installed command.
	for _, key := range []string{"conversation", "tool", "promptTitle"} {
		if v := n.get(key); v != nil && !fieldPattern().MatchString(v.text()) {
			say(v, key, fmt.Sprintf("must be a field or a dotted key path, not %q", v.text()))
		}
	}
	for i, e := range n.path("events").elements() {
		if m := e.get("matcher"); m != nil && e.get("field") != nil {
			if _, err := NewPattern(m.text()); err != nil {
				say(m, "events["+strconv.Itoa(i)+"].matcher", "is checked against field and does not compile: "+regexpReason(err))
			}
		}
	}
}

var fieldPattern = compiled(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`)

// elements are a list's nodes; none when n is no list.
func (n *node) elements() []*node {
	if n == nil {
		return nil
	}
	return n.list
}

func checkResume(n *node, say func(*node, string, string)) {
	create, resume, discover := n.get("create"), n.get("resume"), n.get("discover")
	if create != nil && discover != nil {
		say(discover, "discover", "does not go with create: either we choose the id or the agent does")
	}
	if (create != nil || discover != nil) && resume == nil {
		say(n, "resume", "is missing: an id that can't be resumed is of no use")
	}
	root, match := n.get("storeRoot"), n.get("storeMatch")
	if (root == nil) != (match == nil) {
		say(n, "storeRoot", "and storeMatch go together")
	}
	if n.get("transcript") != nil && !strings.HasPrefix(match.text(), storeDir+":") {
		say(n.get("transcript"), "transcript", "goes with a dir: store; a file: store is the transcript itself")
	}
	sqlite := discover.path("format").text() == formatSQLite
	if discover != nil && sqlite != (discover.get("table") != nil) {
		say(discover, "discover.table", "goes with the format sqlite, which needs it")
	}
	if discover != nil && discover.get("cwd") == nil && !relative(discover.get("root").text()) {
		say(discover, "discover.cwd", "is missing: whose conversation a record is goes by its folder")
	}
	if relative(discover.get("root").text()) && !sqlite {
		say(discover.get("root"), "discover.root", "is relative, which goes with the format sqlite only")
	}
	if h := n.get("history"); h != nil && (h.get("match") != nil) != (h.get("root") != nil) {
		say(h, "history.root", "and history.match go together")
	} else if h.get("root") != nil && (h.get("id") == nil || root != nil || discover != nil) {
		say(h, "history.root", "needs history.id, and has no storeRoot or discover beside it")
	}
}

// relative reports whether a path of a manifest is one in the conversation's folder.
func relative(path string) bool { return path != "" && checkPath(path) != "" }

// checkRoot wants a path, or one below the conversation's folder.
func checkRoot(s string) string {
	if relative(s) {
		return checkInside(s)
	}
	return ""
}

// checkInside wants a path that stays inside the folder it is in.
func checkInside(s string) string {
	if !fs.ValidPath(s) || s == "." {
		return fmt.Sprintf("must be absolute, begin with ~/ or lie inside the folder, not %q", s)
	}
	return ""
}

// checkRecordMatch is checkStoreMatch without the need for the id.
func checkRecordMatch(s string) string {
	if !strings.HasPrefix(s, storeFile+":") {
		return fmt.Sprintf("must be file:PATTERN, not %q", s)
	}
	return checkStoreMatch(s + "{id}")
}
