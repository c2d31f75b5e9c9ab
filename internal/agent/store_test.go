package agent

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"termio/internal/api"
)

// lines gives what a Tail reads of a text.
func lines(t *testing.T, tail *Tail, text, file string) (got []string, restarted bool) {
	t.Helper()
	restarted, err := tail.Advance(strings.NewReader(text), int64(len(text)), file, func(b []byte) { got = append(got, string(b)) })
	if err != nil {
		t.Fatal(err)
	}
	return got, restarted
}

func TestTail(t *testing.T) {
	var tail Tail
	for i, st := range []struct {
		text, file string
		want       []string
		lines      int64
		restarted  bool
	}{
		{"", "1", nil, 0, false},
		{"one\ntw", "1", []string{"one"}, 1, false},
		{"one\ntw", "1", nil, 1, false},
		{"one\ntwo\n\nthree\nfo", "1", []string{"two", "", "three"}, 4, false},
		{"one\ntwo\n\nthree\nfour\n", "1", []string{"four"}, 5, false},
		{"one\n", "1", []string{"one"}, 1, true},                             // shortened
		{"1\n2\n3\n4\n", "1", []string{"1", "2", "3", "4"}, 4, true},         // written anew, and longer
		{"1\n2\n3\n4\n5\n", "2", []string{"1", "2", "3", "4", "5"}, 5, true}, // another file in its place
		{"1\n2\n3\n4\n5\n6\n", "2", []string{"6"}, 6, false},
	} {
		got, restarted := lines(t, &tail, st.text, st.file)
		if !slices.Equal(got, st.want) || tail.Lines != st.lines || restarted != st.restarted {
			t.Errorf("step %d: %q, %d lines, restarted %v; want %q, %d, %v", i, got, tail.Lines, restarted, st.want, st.lines, st.restarted)
		}
	}
}

// TestTailAtEverySplit appends a text piece by piece: whatever the pieces, the lines
// are the same.
func TestTailAtEverySplit(t *testing.T) {
	text := "one\n\ntwo three\nfour\n" + strings.Repeat("x", 200) + "\nlast\n"
	want := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i := range text {
		for j := i; j <= len(text); j += 7 {
			var tail Tail
			var all []string
			for _, end := range []int{i, j, len(text)} {
				got, _ := lines(t, &tail, text[:end], "f")
				all = append(all, got...)
			}
			if !slices.Equal(all, want) || tail.Lines != int64(len(want)) {
				t.Fatalf("split at %d and %d: %q", i, j, all)
			}
		}
	}
}

// countingReader tells what was read.
type countingReader struct {
	io.ReaderAt
	read    int64
	largest int
	from    int64
}

func (c *countingReader) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.ReaderAt.ReadAt(p, off)
	c.read += int64(n)
	c.largest = max(c.largest, len(p))
	if c.read == int64(n) {
		c.from = off
	}
	return n, err
}

// TestTailNeverRereads: a cursor in a transcript of many megabytes is moved by reading
// what is new, in small pieces.
func TestTailNeverRereads(t *testing.T) {
	line := strings.Repeat("x", 150_000) + "\n"
	text := strings.Repeat(line, 200)
	var tail Tail
	r := &countingReader{ReaderAt: strings.NewReader(text)}
	if err := tail.SkipTo(r, int64(len(text)), "f"); err != nil {
		t.Fatal(err)
	}
	if tail.Lines != 200 || r.read != int64(len(text)) || r.largest > tailChunk {
		t.Errorf("first: %d lines, %d bytes read, at most %d at once", tail.Lines, r.read, r.largest)
	}
	text += "one more\n"
	r = &countingReader{ReaderAt: strings.NewReader(text)}
	var got []string
	if _, err := tail.Advance(r, int64(len(text)), "f", func(b []byte) { got = append(got, string(b)) }); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, []string{"one more"}) || tail.Lines != 201 || r.read > 100 {
		t.Errorf("then: %q, %d lines, %d bytes read", got, tail.Lines, r.read)
	}
}

func TestTailBoundsALine(t *testing.T) {
	text := strings.Repeat("x", 3*maxTailLine) + "\nshort\n"
	var tail Tail
	var sizes []int
	if _, err := tail.Advance(strings.NewReader(text), int64(len(text)), "f", func(b []byte) { sizes = append(sizes, len(b)) }); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(sizes, []int{maxTailLine, 5}) || tail.Lines != 2 {
		t.Errorf("sizes %v, %d lines", sizes, tail.Lines)
	}
}

type failingReader struct{}

var errDisk = errors.New("the disk is gone")

func (failingReader) ReadAt([]byte, int64) (int, error) { return 0, errDisk }

func TestTailKeepsItsPlaceOnErrors(t *testing.T) {
	var tail Tail
	lines(t, &tail, "one\ntwo\n", "f")
	before := tail
	if _, err := tail.Advance(failingReader{}, 100, "f", nil); !errors.Is(err, errDisk) {
		t.Errorf("error = %v", err)
	}
	if tail.Lines != before.Lines || tail.Offset != before.Offset {
		t.Errorf("after the error: %+v, before: %+v", tail, before)
	}
	if _, err := tail.Advance(bytes.NewReader([]byte("one\ntwo\n")), 100, "f", nil); err != nil { // shorter than its size said
		t.Error(err)
	}
}

func TestLineEvidence(t *testing.T) {
	m := builtin(t, "claude")
	const stamp = `"timestamp":"2026-11-30T08:59:58.5Z"`
	for _, tt := range []struct {
		name, line string
		want       api.Status
		rule       string
	}{
		{"prompt", `{"type":"user","origin":{"kind":"human"},"message":{"content":"hi"},` + stamp + `}`, api.Working, "prompt"},
		{"prompt of a task", `{"type":"user","origin":{"kind":"task-notification"},"message":{"content":"x"}}`, "", ""},
		{"tool result", `{"type":"user","message":{"content":[{"type":"tool_result","content":"[Request interrupted by user]"}]}}`, "", ""},
		{"step", `{"type":"assistant","message":{"stop_reason":"tool_use","content":[]}}`, "", ""},
		{"end", `{"type":"assistant","message":{"stop_reason":"end_turn","content":[]},` + stamp + `}`, api.Done, "end of turn"},
		{"interrupted", `{"type":"user","message":{"content":[{"type":"text","text":"[Request interrupted by user]"}]},` + stamp + `}`, api.Idle, "interrupted"},
		{"denied", `{"type":"user","message":{"content":"[Request interrupted by user for tool use]"},` + stamp + `}`, api.Idle, "interrupted"},
		{"failed", `{"type":"assistant","isApiErrorMessage":true,"message":{"stop_reason":"stop_sequence","content":[{"type":"text","text":"API Error: 500"}]},` + stamp + `}`, api.Done, "error"},
		{"logged out", `{"type":"assistant","isApiErrorMessage":true,"message":{"content":[{"type":"text","text":"Not logged in · Please run /login"}]},` + stamp + `}`, api.NeedsYou, "error limits"},
		{"a subagent's", `{"type":"assistant","isSidechain":true,"message":{"stop_reason":"end_turn"}}`, "", ""},
		{"no JSON", `{{{`, "", ""},
		{"blank", `  `, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ev, ok := m.LineEvidence([]byte(tt.line), t0)
			if ok != (tt.want != "") || ok && (ev.Status != tt.want || !strings.HasPrefix(ev.Rule, tt.rule)) {
				t.Fatalf("LineEvidence = %s by %q, %v; want %s by %q", ev.Status, ev.Rule, ok, tt.want, tt.rule)
			}
			if ok && !ev.At.Equal(t0.Add(-1500*time.Millisecond)) {
				t.Errorf("At = %s", ev.At)
			}
			if ok && ev.Prompt != (tt.rule == "prompt") {
				t.Errorf("Prompt = %v", ev.Prompt)
			}
		})
	}
	if _, ok := m.LineEvidence([]byte(`{"type":"assistant","message":{"stop_reason":"end_turn","content":[{"text":"`+strings.Repeat("x", 2_000_000)), t0); !ok {
		t.Error("a line that was cut says nothing")
	}
}

const (
	idOne = "11111111-1111-4111-8111-111111111111"
	idTwo = "22222222-2222-4222-8222-222222222222"
)

func place(files fstest.MapFS) Place { return Place{FS: files, Home: "/home/u"} }

func TestDecide(t *testing.T) {
	claude, grok := "claude", grokText(t)
	codex := head + `"resume":{"resume":"resume {id}","discover":{"root":"~/s","format":"jsonl","id":"payload.id","cwd":"payload.cwd"}}}`
	unlooked := head + `"resume":{"create":"-n {id}","resume":"-r {id}"}}`
	there := fstest.MapFS{
		"home/u/.claude/projects/-home-u-p/" + idOne + ".jsonl": {},
		"home/u/.grok/sessions/" + idOne:                        {Mode: fs.ModeDir},
		"home/u/.grok/sessions/p/" + idTwo:                      {Mode: fs.ModeDir},
		"home/u/s/2026/a.jsonl":                                 {Data: []byte(`{"payload":{"id":"` + idOne + `","cwd":"/p"}}` + "\n{}\n")},
	}
	for _, tt := range []struct {
		name, manifest, id string
		prompted           bool
		fs                 fs.FS
		want               Verdict
		record             string
	}{
		{"claude, there", claude, idOne, true, there, VerdictResume, "/home/u/.claude/projects/-home-u-p/" + idOne + ".jsonl"},
		{"claude, never prompted", claude, idTwo, false, there, VerdictFresh, ""},
		{"claude, deleted", claude, idTwo, true, there, VerdictMissing, ""},
		{"claude, no store at all", claude, idOne, false, fstest.MapFS{}, VerdictFresh, ""},
		{"claude, the store can't be read", claude, idOne, true, brokenFS{}, VerdictUnknown, ""},
		{"claude, the store can't be read and no prompt is known", claude, idOne, false, brokenFS{}, VerdictUnknown, ""},
		{"claude, never bound", claude, "", true, there, VerdictFresh, ""},
		{"claude, no id", claude, "../x", true, there, VerdictMissing, ""},
		{"grok, there", grok, idOne, true, there, VerdictResume, "/home/u/.grok/sessions/" + idOne},
		{"grok, in a folder for its project", grok, idTwo, true, there, VerdictResume, "/home/u/.grok/sessions/p/" + idTwo},
		{"discovered, there", codex, idOne, true, there, VerdictResume, "/home/u/s/2026/a.jsonl"},
		{"discovered, gone", codex, idTwo, true, there, VerdictMissing, ""},
		{"discovered, unreadable", codex, idTwo, true, brokenFS{}, VerdictUnknown, ""},
		{"no way to look, prompted", unlooked, idOne, true, there, VerdictResume, ""},
		{"no way to look, never prompted", unlooked, idOne, false, there, VerdictFresh, ""},
		{"an agent that can't resume", head + `"order":1}`, idOne, true, there, VerdictFresh, ""},
		{"a shell", "terminal", idOne, true, there, VerdictFresh, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := manifestOf(t, tt.manifest)
			d := Decide(m, Place{FS: tt.fs, Home: "/home/u"}, tt.id, tt.prompted)
			if d.Verdict != tt.want || d.Record != tt.record || d.Why == "" {
				t.Errorf("Decide = %+v, want %s %s", d, tt.want, tt.record)
			}
		})
	}
}

func grokText(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("testdata/manifests/grok.json")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// brokenFS is a disk that fails.
type brokenFS struct{}

func (brokenFS) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: errDisk}
}

func TestLocate(t *testing.T) {
	files := fstest.MapFS{
		"home/u/.claude/projects/-p/" + idOne + ".jsonl":                                    {},
		"moved/projects/-p/" + idTwo + ".jsonl":                                             {},
		"home/u/.grok/sessions/" + idOne + "/log.jsonl":                                     {},
		"home/u/.grok/sessions/" + idTwo + "/a.jsonl":                                       {},
		"home/u/.grok/sessions/" + idTwo + "/b.jsonl":                                       {},
		"home/u/.codex/sessions/2026/11/30/rollout-2026-11-30T10-00-00-" + idOne + ".jsonl": {},
		"home/u/s/a.jsonl": {Data: []byte(`{"id":"` + idOne + `","cwd":"/p"}`)},
	}
	moved := Place{FS: files, Home: "/home/u", Lookup: func(n string) string { return map[string]string{"CLAUDE_CONFIG_DIR": "/moved"}[n] }}
	named := strings.Replace(grokText(t), `"dir:{id}"`, `"dir:{id}","transcript":"b.jsonl"`, 1)
	discovered := head + `"resume":{"resume":"r {id}","discover":{"root":"~/s","format":"jsonl","id":"id","cwd":"cwd"}}}`
	for _, tt := range []struct {
		name, manifest, id, want string
		at                       Place
	}{
		{"claude", "claude", idOne, "/home/u/.claude/projects/-p/" + idOne + ".jsonl", place(files)},
		{"claude, its folder moved", "claude", idTwo, "/moved/projects/-p/" + idTwo + ".jsonl", moved},
		{"claude, none", "claude", idTwo, "", place(files)},
		{"codex, by the file's name alone", "codex", idOne, "/home/u/.codex/sessions/2026/11/30/rollout-2026-11-30T10-00-00-" + idOne + ".jsonl", place(files)},
		{"the only file in a folder", grokText(t), idOne, "/home/u/.grok/sessions/" + idOne + "/log.jsonl", place(files)},
		{"two files in a folder", grokText(t), idTwo, "", place(files)},
		{"the named file in a folder", named, idTwo, "/home/u/.grok/sessions/" + idTwo + "/b.jsonl", place(files)},
		{"the named file is not there", named, idOne, "", place(files)},
		{"a discovered record is the transcript", discovered, idOne, "/home/u/s/a.jsonl", place(files)},
		{"an agent without a store", head + `"order":1}`, idOne, "", place(files)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := manifestOf(t, tt.manifest).Locate(tt.at, tt.id)
			if got != tt.want && (ok || tt.want != "") || ok != (tt.want != "") {
				t.Errorf("Locate = %q, %v; want %q", got, ok, tt.want)
			}
		})
	}
}

func TestDiscover(t *testing.T) {
	m := mustParse(t, head+`"resume":{"resume":"r {id}","discover":{"root":"~/s","format":"jsonl","id":"p.id","cwd":"p.cwd","parent":"p.parent","created":"p.created","held":true}}}`)
	launch := at(100)
	record := func(id, cwd string, modified time.Time) *fstest.MapFile {
		return &fstest.MapFile{Data: fmt.Appendf(nil, `{"p":{"id":%q,"cwd":%q}}`+"\n{\"more\":1}\n", id, cwd), ModTime: modified}
	}
	mine := record("mine", "/home/u/p", at(101))
	for _, tt := range []struct {
		name  string
		files fstest.MapFS
		bind  func(*Binding)
		want  string
		count int
	}{
		{"none", fstest.MapFS{}, nil, "", 0},
		{"the only one", fstest.MapFS{"home/u/s/2026/11/a.jsonl": mine}, nil, "mine", 1},
		{"another folder's", fstest.MapFS{"home/u/s/a.jsonl": record("x", "/home/u/q", at(101))}, nil, "", 0},
		{"made before the launch", fstest.MapFS{"home/u/s/a.jsonl": record("x", "/home/u/p", at(50))}, nil, "", 0},
		{"an older one that goes on", fstest.MapFS{"home/u/s/a.jsonl": {
			Data: fmt.Appendf(nil, `{"p":{"id":"x","cwd":"/home/u/p","created":%q}}`, at(50).Format(time.RFC3339Nano)), ModTime: at(101),
		}}, nil, "", 0},
		{"the one that the agent has open", fstest.MapFS{
			"home/u/s/a.jsonl": mine, "home/u/s/b.jsonl": record("x", "/home/u/p", at(102)), "home/u/t/c.jsonl": record("y", "/home/u/p", at(102)),
		}, func(b *Binding) {
			b.Held = []string{"/dev/null", "/home/u/s/a.jsonl", "/home/u/s/a.jsonl", "/home/u/s/log.txt", "/home/u/t/c.jsonl"}
		}, "mine", 1},
		{"the agent has none open yet: a new one is another's", fstest.MapFS{"home/u/s/a.jsonl": mine}, func(b *Binding) { b.Held = []string{} }, "", 0},
		{"the agent has two open", fstest.MapFS{"home/u/s/a.jsonl": mine, "home/u/s/b.jsonl": record("x", "/home/u/p", at(102))}, func(b *Binding) {
			b.Held = []string{"/home/u/s/a.jsonl", "/home/u/s/b.jsonl"}
		}, "", 2},
		{"it has a subagent's open beside its own", fstest.MapFS{
			"home/u/s/a.jsonl": mine, "home/u/s/b.jsonl": {Data: []byte(`{"p":{"id":"x","cwd":"/home/u/p","parent":"mine"}}`), ModTime: at(102)},
		}, func(b *Binding) { b.Held = []string{"/home/u/s/a.jsonl", "/home/u/s/b.jsonl"} }, "mine", 1},
		{"two", fstest.MapFS{"home/u/s/a.jsonl": mine, "home/u/s/b.jsonl": record("x", "/home/u/p", at(102))}, nil, "", 2},
		{"two, one of them claimed", fstest.MapFS{"home/u/s/a.jsonl": mine, "home/u/s/b.jsonl": record("x", "/home/u/p", at(102))}, func(b *Binding) { b.Claimed = func(id string) bool { return id == "x" } }, "mine", 1},
		{"through a symlink", fstest.MapFS{"home/u/s/a.jsonl": record("mine", "/link/p", at(101))}, func(b *Binding) {
			b.Real = func(p string) string { return strings.Replace(p, "/link", "/home/u", 1) }
		}, "mine", 1},
		{"a subagent's", fstest.MapFS{"home/u/s/a.jsonl": {Data: []byte(`{"p":{"id":"x","cwd":"/home/u/p","parent":"mine"}}`), ModTime: at(101)}}, nil, "", 0},
		{"garbage beside it", fstest.MapFS{"home/u/s/a.jsonl": mine, "home/u/s/b.jsonl": {Data: []byte("\x00{{"), ModTime: at(101)}, "home/u/s/c.txt": mine}, nil, "mine", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := Binding{Folder: "/home/u/p", Launched: launch}
			if tt.bind != nil {
				tt.bind(&b)
			}
			r, n, err := m.Discover(place(tt.files), b)
			if err != nil || r.ID != tt.want || n != tt.count {
				t.Errorf("Discover = %q, %d, %v; want %q, %d", r.ID, n, err, tt.want, tt.count)
			}
		})
	}
	if _, _, err := m.Discover(Place{FS: brokenFS{}, Home: "/home/u"}, Binding{}); !errors.Is(err, errDisk) {
		t.Errorf("a disk that fails: %v", err)
	}
}

func TestCatalogue(t *testing.T) {
	c := Load(nil, nil)
	var ids []string
	for _, m := range c.All() {
		ids = append(ids, m.ID)
		if m.Source != Builtin || len(m.Warnings) > 0 {
			t.Errorf("%s: source %s, %v", m.ID, m.Source, m.Warnings)
		}
	}
	if want := []string{
		"terminal", "claudeCode", "codex", "opencode", "amp", "pi", "copilot", "cursor", "gemini", "kimi", "qwen", "antigravity",
		"droid", "crush", "cline", "hermes", "grok", "demo",
	}; !slices.Equal(ids, want) {
		t.Errorf("agents = %v, want %v", ids, want)
	}
	if len(c.Problems()) > 0 {
		t.Errorf("problems: %v", c.Problems())
	}
	for word, want := range map[string]string{
		"claudeCode": "claudeCode", "claude": "claudeCode", "Claude Code": "claudeCode", " CLAUDE code ": "claudeCode", "CLAUDECODE": "claudeCode",
		"codex": "codex", "Codex": "codex", "terminal": "terminal", "shell": "terminal", "demo": "demo", "nobody": "", "": "",
	} {
		got := ""
		if m, ok := c.Find(word); ok {
			got = m.ID
		}
		if got != want {
			t.Errorf("Find(%q) = %q, want %q", word, got, want)
		}
	}
}

// TestCatalogueFollowsTheFolder is the life of a person's folder: an agent is added,
// a built-in replaced, a file broken and mended, and all of it removed.
func TestCatalogueFollowsTheFolder(t *testing.T) {
	mine := `{"id":"mine","name":"Mine","command":"mine","order":5}`
	tell := func(c *Catalogue) string {
		var b strings.Builder
		for _, m := range c.All() {
			if m.Source == Builtin && !slices.Contains([]string{"terminal", "claudeCode", "demo"}, m.ID) {
				continue // as these three, which stand for all
			}
			fmt.Fprintf(&b, "%s=%s from %s; ", m.ID, m.Name, m.Source)
		}
		for _, p := range c.Problems() {
			fmt.Fprintf(&b, "problem %s; ", p)
		}
		return b.String()
	}
	var c *Catalogue
	for _, st := range []struct {
		name  string
		files fstest.MapFS
		want  string
	}{
		{"no folder", nil, "terminal=Terminal from builtin; claudeCode=Claude Code from builtin; demo=Demo from builtin; "},
		{
			"an agent of one's own",
			fstest.MapFS{"mine.json": {Data: []byte(mine)}, "notes.txt": {}, ".x.json": {Data: []byte("{")}},
			"terminal=Terminal from builtin; mine=Mine from mine.json; claudeCode=Claude Code from builtin; demo=Demo from builtin; ",
		},
		{
			"a built-in replaced whole",
			fstest.MapFS{"mine.json": {Data: []byte(mine)}, "claudeCode.json": {Data: []byte(`{"id":"claudeCode","name":"My Claude","command":"c"}`)}},
			"terminal=Terminal from builtin; mine=Mine from mine.json; demo=Demo from builtin; claudeCode=My Claude from claudeCode.json; ",
		},
		{
			"both broken: the last good ones stay",
			fstest.MapFS{"mine.json": {Data: []byte("{\n")}, "claudeCode.json": {Data: []byte(`{"id":"claudeCode","name":"C"}`)}},
			"terminal=Terminal from builtin; mine=Mine from mine.json; demo=Demo from builtin; claudeCode=My Claude from claudeCode.json; " +
				"problem claudeCode.json:1: command is missing; only the built-in terminal has none; problem mine.json:2: is not JSON: unexpected EOF; ",
		},
		{
			"a new one broken from the start",
			fstest.MapFS{"other.json": {Data: []byte(`[]`)}},
			"terminal=Terminal from builtin; claudeCode=Claude Code from builtin; demo=Demo from builtin; problem other.json:1: must be an object, not a list; ",
		},
		{
			"a file of another name than its agent",
			fstest.MapFS{"m.json": {Data: []byte(mine)}},
			"terminal=Terminal from builtin; claudeCode=Claude Code from builtin; demo=Demo from builtin; problem m.json: id is \"mine\", so the file must be named mine.json; ",
		},
		{"removed", fstest.MapFS{}, "terminal=Terminal from builtin; claudeCode=Claude Code from builtin; demo=Demo from builtin; "},
	} {
		var user fs.FS
		if st.files != nil {
			user = st.files
		}
		c = Load(user, c)
		if diff := cmp.Diff(st.want, tell(c)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", st.name, diff)
		}
	}
	if c := Load(os.DirFS(filepath.Join(t.TempDir(), "missing")), nil); len(c.Problems()) > 0 {
		t.Errorf("a folder that is not there: %v", c.Problems())
	}
}

func TestDefault(t *testing.T) {
	c := Load(fstest.MapFS{
		"b.json": {Data: []byte(`{"id":"b","name":"B","command":"b","order":20}`)},
		"a.json": {Data: []byte(`{"id":"a","name":"A","command":"a"}`)},
	}, nil)
	only := func(ids ...string) func(*Manifest) bool {
		return func(m *Manifest) bool { return slices.Contains(ids, m.ID) }
	}
	for _, tt := range []struct {
		name, preferred string
		installed       func(*Manifest) bool
		want            string
	}{
		{"the person's", "a", only("a", "b"), "a"},
		{"the person's, not installed: the launch says so", "a", only(), "a"},
		{"the first by order", "", only("a", "b", "terminal", "demo"), "b"},
		{"a setting that names no agent", "gone", only("a"), "a"},
		{"a shell is no agent", "terminal", only("terminal", "demo"), ""},
		{"none", "", only("demo"), ""},
	} {
		m, ok := c.Default(tt.preferred, tt.installed)
		got := ""
		if ok {
			got = m.ID
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
