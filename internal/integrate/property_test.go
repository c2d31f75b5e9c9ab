package integrate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pelletier/go-toml/v2"
	"github.com/tailscale/hujson"

	"termio/internal/agent"
	"termio/internal/config"
)

// A dialectCase is a dialect under test: an agent that uses it, and files as its
// people may have them.
type dialectCase struct {
	name     string
	file     string // where its files are
	hooks    agent.Hooks
	generate func(g *generator) string
}

// dialectCases are all the dialects whose files hold other things as well.
func dialectCases() []dialectCase {
	events := func(names ...string) []agent.HookEvent {
		var es []agent.HookEvent
		for i, n := range names {
			es = append(es, agent.HookEvent{On: n, State: []string{"working", "done", "attention"}[i%3]})
		}
		es[len(es)-1].Matcher = "startup|resume"
		return es
	}
	jsonCase := func(dialect, file string, d jsonDialect, names ...string) dialectCase {
		return dialectCase{
			name:     strings.TrimSuffix(dialect+" "+filepath.Base(file), " settings.json"),
			file:     file,
			hooks:    agent.Hooks{Type: "json", Dialect: dialect, File: file, TimeoutSeconds: 5, Conversation: "session_id", Events: events(names...)},
			generate: func(g *generator) string { return g.json(d) },
		}
	}
	var cases []dialectCase
	for _, name := range []string{"claude", "codex", "droid", "gemini", "qwen", "grok"} {
		cases = append(cases, jsonCase(name, "~/.agent/settings.json", jsonDialects[name], "UserPromptSubmit", "Stop", "SessionStart"))
	}
	bare := jsonDialects["droid"]
	bare.bare = true
	instead := jsonCase("droid", "~/.agent/hooks.json", bare, "UserPromptSubmit", "Stop", "SessionStart")
	instead.hooks.File = "~/.agent/settings.json"
	return append(cases, instead,
		jsonCase("cursor", "~/.agent/hooks.json", jsonDialects["cursor"], "beforeSubmitPrompt", "stop", "sessionStart"),
		jsonCase("copilot", "~/.agent/hooks/termio.json", jsonDialects["copilot"], "userPromptSubmitted", "agentStop", "notification"),
		dialectCase{
			name:     "kimi",
			file:     "~/.agent/config.toml",
			hooks:    agent.Hooks{Type: "toml", Dialect: "kimi", File: "~/.agent/config.toml", TimeoutSeconds: 5, Events: events("UserPromptSubmit", "Stop", "SessionStart")},
			generate: (*generator).toml,
		},
	)
}

// A generator writes configuration files as people do: each in its own way.
type generator struct {
	*rand.Rand
	takes   extensions
	unit    string // of indentation
	newline string
	flat    bool // no line breaks
	large   bool // one event has 60 hooks
}

func newGenerator(seed uint64) *generator {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 7))}
	g.unit = []string{"  ", "    ", "\t", "   ", " "}[g.IntN(5)]
	g.newline = []string{"\n", "\n", "\r\n"}[g.IntN(3)]
	g.large = seed%6 == 3
	return g
}

// one is true once in n times.
func (g *generator) one(n int) bool { return g.IntN(n) == 0 }

// json writes a file of a dialect.
func (g *generator) json(d jsonDialect) string {
	g.takes = d.takes
	g.flat = g.one(8)
	var members []string
	if d.version != 0 && !g.one(4) {
		members = append(members, fmt.Sprintf(`"version": %d`, d.version))
	}
	for i := range g.IntN(4) {
		members = append(members, fmt.Sprintf(`"unknown %d é": %s`, i, g.value(1)))
	}
	if events := g.events(d); d.bare {
		members = append(members, events...)
	} else if !g.one(4) {
		members = append(members, `"hooks": `+g.container("{}", events, 1))
	}
	g.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	text := g.container("{}", members, 0)
	if g.takes.comments && g.one(3) {
		text = "/* before // all */" + g.newline + text
	}
	if !g.one(4) {
		text += g.newline
	}
	if !d.takes.noBOM && g.one(6) {
		text = string(bom) + text
	}
	return text
}

// events writes members for events, with up to 60 hooks of other programs in them.
func (g *generator) events(d jsonDialect) []string {
	var events []string
	depth := 2
	if d.bare {
		depth = 1
	}
	for _, name := range []string{"UserPromptSubmit", "Stop", "beforeSubmitPrompt", "agentStop", "SomethingElse"} {
		if g.one(2) {
			continue
		}
		var entries []string
		count := g.IntN(4)
		if g.large {
			count, g.large = 60, false
		}
		for range count {
			hook := g.container("{}", []string{
				fmt.Sprintf("%q: %q", d.commandMember(), "their command '"+name+"' \\ "+fmt.Sprint(g.IntN(9))),
				`"type": "command"`, `"own": ` + g.value(depth+3),
			}, depth+2)
			if !d.flat {
				hook = g.container("{}", []string{`"hooks": ` + g.container("[]", []string{hook}, depth+2), `"matcher": "*"`}, depth+1)
			}
			entries = append(entries, hook)
		}
		events = append(events, fmt.Sprintf("%q: %s", name, g.container("[]", entries, depth)))
	}
	return events
}

// container writes elements in brackets, at a depth, with comments and commas as the
// reader takes them.
func (g *generator) container(brackets string, elements []string, depth int) string {
	var b strings.Builder
	b.WriteByte(brackets[0])
	broken := !g.flat && (depth == 0 || !g.one(6))
	for i, e := range elements {
		if broken {
			b.WriteString(g.newline + strings.Repeat(g.unit, depth+1))
			if g.one(9) {
				b.WriteString(" ") // odd indentation
			}
		}
		if g.takes.comments && broken && g.one(5) {
			fmt.Fprintf(&b, "// note %d%s%s", i, g.newline, strings.Repeat(g.unit, depth+1))
		}
		b.WriteString(e)
		if g.takes.comments && g.one(9) {
			fmt.Fprintf(&b, " /* behind %d */", i)
		}
		if i < len(elements)-1 || g.takes.commas && g.one(3) {
			b.WriteByte(',')
		}
		if g.takes.comments && broken && g.one(9) {
			fmt.Fprintf(&b, " // end %d", i)
		}
	}
	if broken && (len(elements) > 0 || g.one(2)) {
		b.WriteString(g.newline + strings.Repeat(g.unit, depth))
	}
	b.WriteByte(brackets[1])
	return b.String()
}

// value is any JSON value.
func (g *generator) value(depth int) string {
	switch g.IntN(6) {
	case 0:
		return `"text \" with \\ and \u00e9 // no comment"`
	case 1:
		return "1.50e+3"
	case 2:
		return "null"
	case 3:
		return g.container("[]", []string{"1", "true"}, depth)
	case 4:
		return g.container("{}", []string{`"deep": []`, `"hooks": {}`}, depth)
	}
	return "false"
}

// toml writes a configuration file in TOML.
func (g *generator) toml() string {
	var lines []string
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	if g.one(3) {
		add("# a comment, [[hooks]] in it")
	}
	add(`model = "kimi" # with a note`)
	if g.one(2) {
		add("%s", "text = \"\"\"\n[[hooks]]\ncommand = \"\\\"no\"\n\"\"\"\"")
	}
	inline := g.one(3)
	foreign := g.IntN([]int{1, 4, 60}[g.IntN(3)])
	if inline {
		var es []string
		for i := range foreign {
			es = append(es, fmt.Sprintf(`{ event = "Stop", command = 'their # "%d"' }`, i))
		}
		switch {
		case len(es) > 0 && g.one(2):
			sep := "," + g.newline + g.unit
			add("hooks = [%s%s%s%s%s]", g.newline+g.unit, strings.Join(es, sep), []string{"", ",", ", # last"}[g.IntN(3)], g.newline, "")
		default:
			add("hooks = [%s]", strings.Join(es, ", "))
		}
	}
	add("")
	add("[providers.'a.b'] # header")
	add("%skey = %s", g.unit, `[1, { x = "]" }, # inside`+g.newline+` 'y' ]`)
	add("when = 1979-05-27T07:32:00Z")
	if !inline {
		for i := range foreign {
			add("")
			add("[[ hooks ]]  # theirs %d", i)
			add("event = \"Stop\"\n\ncommand = '''their %d'''", i)
		}
	}
	if g.one(2) {
		add("")
		add("[\"hooks\".x]")
		if !inline && foreign > 0 {
			lines = lines[:len(lines)-2] // that would be a part of the last hook
		} else {
			lines = lines[:len(lines)-2]
			add("[last]")
			add("a = 1")
		}
	}
	text := strings.ReplaceAll(strings.Join(lines, "\n"), "\r\n", "\n")
	text = strings.ReplaceAll(text, "\n", g.newline)
	if !g.one(4) {
		text += g.newline
	}
	if g.one(6) {
		text = string(bom) + text
	}
	return text
}

// decoded is what a reader of either format sees.
func decoded(t *testing.T, name string, data []byte) map[string]any {
	t.Helper()
	data = bytes.TrimPrefix(data, bom)
	if strings.HasSuffix(name, ".toml") {
		var v map[string]any
		if err := toml.Unmarshal(data, &v); err != nil {
			t.Fatalf("not TOML: %v\n%s", err, data)
		}
		return v
	}
	plain, err := hujson.Standardize(bytes.Clone(data))
	if err != nil {
		t.Fatalf("not JSON: %v\n%s", err, data)
	}
	var v map[string]any
	if err := json.Unmarshal(plain, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// stripped is a decoded file without commands that hold a word, and without what is
// empty because of that.
func stripped(v any, word string) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, e := range v {
			if s := stripped(e, word); s != nil {
				out[k] = s
			}
		}
		for _, member := range []string{"command", "bash"} {
			if c, ok := v[member].(string); ok && strings.Contains(c, word) {
				return nil
			}
		}
		group, nested := v[hooksMember].([]any)
		if len(out) == 0 || nested && len(group) > 0 && out[hooksMember] == nil {
			return nil
		}
		return out
	case []any:
		var out []any
		for _, e := range v {
			if s := stripped(e, word); s != nil {
				out = append(out, s)
			}
		}
		if out == nil {
			return nil
		}
		return out
	}
	return v
}

// Files of every dialect, as people have them: our hooks come in whole, once however
// often they are installed, all else stays, and a removal gives back the very bytes.
func TestEveryDialectKeepsFiles(t *testing.T) {
	const files = 12
	for _, c := range dialectCases() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel() // most of the time goes into syncing files
			for seed := range uint64(files) {
				text := c.generate(newGenerator(seed))
				p := newPerson(t)
				m := &agent.Manifest{ID: "mine", Name: "Mine", Command: "mine", Hooks: &c.hooks}
				file := p.path(m, c.file)
				putFile(t, seed, file, text)
				if s, _, err := p.Hooks(m); err != nil || s != Off {
					t.Fatalf("seed %d: state %q, %v in\n%s", seed, s, err, text)
				}
				checkInstalled(t, p, m, file, text)
				if !t.Failed() {
					checkWithoutRecord(t, p, m, file, text)
				}
				if t.Failed() {
					t.Fatalf("seed %d, file\n%q", seed, text)
				}
			}
		})
	}
}

// putFile writes a file where an agent looks for it: as it is, for its owner alone, or
// behind a link.
func putFile(t *testing.T, seed uint64, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	mode, target := fs.FileMode(0o644), file
	switch seed % 3 {
	case 1:
		mode = 0o600
	case 2:
		target = file + ".real"
		if err := os.Symlink(filepath.Base(target), file); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(target, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// checkInstalled installs into a file, twice, and removes.
func checkInstalled(t *testing.T, p *person, m *agent.Manifest, file, text string) {
	t.Helper()
	modes := func() (all [2]fs.FileMode) {
		for i, stat := range []func(string) (fs.FileInfo, error){os.Stat, os.Lstat} {
			fi, err := stat(file)
			if err != nil {
				t.Fatal(err)
			}
			all[i] = fi.Mode()
		}
		return all
	}
	before := modes()
	in := installed(t, p, m, file)
	if again := installed(t, p, m, file); again != in {
		t.Errorf("the second time changed\n%s\ninto\n%s", in, again)
	}
	if got := modes(); got != before {
		t.Errorf("modes %v became %v", before, got)
	}
	foreignKept(t, p, file, text, in)
	if got := strings.Count(in, p.exe+"'") / 2; got != len(m.Hooks.Events) {
		t.Errorf("%d hooks of ours, want %d:\n%s", got, len(m.Hooks.Events), in)
	}
	if !strings.HasSuffix(file, ".toml") {
		if a, b := comments(t, []byte(text)), comments(t, []byte(in)); a != b {
			t.Errorf("comments %q became %q", a, b)
		}
	} else if a, b := strings.Count(text, "#"), strings.Count(in, "#"); a != b {
		t.Errorf("%d comments became %d", a, b)
	}
	if _, err := p.RemoveHooks(m); err != nil {
		t.Fatal(err)
	}
	unchanged(t, file, text)
	if got := modes(); got != before {
		t.Errorf("modes %v became %v", before, got)
	}
}

// checkWithoutRecord installs and removes with what we remember of the file lost: then
// only its layout may come back otherwise.
func checkWithoutRecord(t *testing.T, p *person, m *agent.Manifest, file, text string) {
	t.Helper()
	installed(t, p, m, file)
	if err := os.RemoveAll(p.backups); err != nil {
		t.Fatal(err)
	}
	if _, err := p.RemoveHooks(m); err != nil {
		t.Fatal(err)
	}
	rest, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if bytes.Contains(rest, []byte(p.exe)) {
		t.Errorf("hooks of ours are left in\n%s", rest)
	}
	if err != nil {
		rest = p.emptyFile(m)
	}
	foreignKept(t, p, file, text, string(rest))
}

// emptyFile is what stands for a file that was removed because nothing was left in it.
func (p *person) emptyFile(m *agent.Manifest) []byte {
	if m.Hooks.Type == "toml" {
		return nil
	}
	return []byte("{}")
}

// installed installs and gives the file's content.
func installed(t *testing.T, p *person, m *agent.Manifest, file string) string {
	t.Helper()
	if _, err := p.InstallHooks(m); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// foreignKept fails unless an edited file says what it said, but for hooks of ours.
func foreignKept(t *testing.T, p *person, file, before, after string) {
	t.Helper()
	says := func(text string) map[string]any {
		all := map[string]any{}
		for k, v := range decoded(t, file, []byte(text)) {
			if s := stripped(v, p.exe); s != nil && k != versionMember {
				all[k] = s
			}
		}
		return all
	}
	if diff := cmp.Diff(says(before), says(after)); diff != "" {
		t.Errorf("what others wrote changed: %s", diff)
	}
}

// What cannot be parsed and what is read-only is refused, and stays as it is.
func TestEveryDialectRefuses(t *testing.T) {
	const files = 4
	for _, c := range dialectCases() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel() // most of the time goes into syncing files
			for seed := range uint64(files) {
				g := newGenerator(seed)
				text := c.generate(g)
				p := newPerson(t)
				m := &agent.Manifest{ID: "mine", Name: "Mine", Command: "mine", Hooks: &c.hooks}
				file := p.path(m, c.file)
				putFile(t, 0, file, text)
				if err := os.Chmod(file, 0o444); err != nil {
					t.Fatal(err)
				}
				if _, err := p.InstallHooks(m); !errors.Is(err, config.ErrReadOnly) {
					t.Errorf("seed %d: error %v in a read-only file", seed, err)
				}
				unchanged(t, file, text)

				broken := "]" + text
				if c.hooks.Type == "json" && g.one(2) {
					broken = text[:strings.LastIndexByte(text, '}')]
				}
				if err := errors.Join(os.Chmod(file, 0o644), os.WriteFile(file, []byte(broken), 0o644)); err != nil {
					t.Fatal(err)
				}
				_, err := p.InstallHooks(m)
				if e, ok := errors.AsType[*FileError](err); !ok || e.File != file || e.Line < 1 {
					t.Errorf("seed %d: error %v in\n%s", seed, err, broken)
				}
				unchanged(t, file, broken)
				if _, err := p.RemoveHooks(m); err == nil {
					t.Errorf("seed %d: removed from what cannot be read", seed)
				}
				unchanged(t, file, broken)
			}
		})
	}
}

func unchanged(t *testing.T, file, text string) {
	t.Helper()
	if got, err := os.ReadFile(file); err != nil || string(got) != text {
		t.Errorf("the file is %q (%v), want %q", got, err, text)
	}
}
