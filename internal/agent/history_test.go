package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// records are the beginnings of records as the agents write them; what is left out says
// nothing here.
var records = map[string]string{
	"claude": `{"type":"queue-operation","operation":"enqueue","sessionId":"` + idOne + `"}
{"type":"user","message":{"role":"user","content":"<command-name>/model</command-name>"},"sessionId":"` + idOne + `","cwd":"/home/u/shop","isSidechain":false}
{"type":"user","message":{"role":"user","content":"修复登录 the login"},"origin":{"kind":"human"},"sessionId":"` + idOne + `","cwd":"/home/u/shop"}
{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"Sure"}],"stop_reason":"end_turn"},"cwd":"/home/u/shop"}
`,
	"codex": `{"timestamp":"2026-11-30T15:47:26.040Z","ordinal":0,"type":"session_meta","payload":{"session_id":"` + idOne + `","id":"` + idOne + `","timestamp":"2026-11-30T15:47:25.947Z","cwd":"/home/u/shop","originator":"codex-tui","base_instructions":{"text":"` + strings.Repeat("You are a coding agent. ", 900) + `"}}}
{"timestamp":"2026-11-30T15:47:26.122Z","ordinal":8,"type":"event_msg","payload":{"type":"item_completed","item":{"type":"UserMessage","id":"i","content":[{"type":"text","text":"hello there\nand more","text_elements":[]}]}}}
`,
	"pi": `{"type":"session","version":3,"id":"` + idOne + `","timestamp":"2026-11-30T16:17:02.911Z","cwd":"/home/u/shop"}
{"type":"message","id":"2bf7d73b","message":{"role":"system","content":"","sections":{"preamble":"You are"}}}
{"type":"message","id":"b6aba5d0","message":{"role":"user","content":[{"type":"text","text":"hello there"}]}}
`,
	"qwen": `{"uuid":"b74b","parentUuid":null,"sessionId":"` + idOne + `","type":"user","provenance":"real_user","cwd":"/home/u/shop","version":"0.24.4","message":{"role":"user","parts":[{"text":"hello there"}]}}
`,
	"gemini": `{"sessionId":"` + idOne + `","projectHash":"3aac","startTime":"2026-11-30T16:44:34.097Z","kind":"main"}
{"$set":{"messages":[{"id":"d049","type":"user","content":[{"text":"<session_context>"}]}]}}
{"id":"e1c6","timestamp":"2026-11-30T16:44:49.791Z","type":"user","content":[{"text":"hello there"}]}
`,
	"copilot": `{"type":"session.start","data":{"sessionId":"` + idOne + `","version":1,"context":{"cwd":"/home/u/shop","branch":"master"}}}
{"type":"user.message","data":{"content":"hello there","transformedContent":"<current_datetime>\n\nhello there"}}
`,
	"cline": `{"session_id":"1796057012281_ab1cd","pid":4,"cwd":"/home/u/shop","status":"running","prompt":"hello there"}`,
}

// TestRecordsOfBuiltinAgents lists a conversation of each agent whose records are known
// from the real program, by its manifest alone.
func TestRecordsOfBuiltinAgents(t *testing.T) {
	const dir = "home/u/"
	for _, tt := range []struct{ agent, file, id, title string }{
		{"claude", ".claude/projects/-home-u-shop/" + idOne + ".jsonl", idOne, "修复登录 the login"},
		{"codex", ".codex/sessions/2026/11/30/rollout-2026-11-30T15-47-25-" + idOne + ".jsonl", idOne, "hello there and more"},
		{"pi", ".pi/agent/sessions/--home-u-shop--/2026-11-30T16-17-02-911Z_" + idOne + ".jsonl", idOne, "hello there"},
		{"qwen", ".qwen/projects/-home-u-shop/chats/" + idOne + ".jsonl", idOne, "hello there"},
		{"gemini", ".gemini/tmp/shop/chats/session-2026-11-30T16-44-11111111.jsonl", idOne, "hello there"},
		{"copilot", ".copilot/session-state/" + idOne + "/events.jsonl", idOne, "hello there"},
		{"cline", ".cline/data/sessions/1796057012281_ab1cd/1796057012281_ab1cd.json", "1796057012281_ab1cd", "hello there"},
	} {
		t.Run(tt.agent, func(t *testing.T) {
			m := builtin(t, tt.agent)
			files := fstest.MapFS{
				dir + tt.file:                          {Data: []byte(records[tt.agent]), ModTime: t0},
				dir + ".gemini/tmp/shop/.project_root": {Data: []byte("/home/u/shop")},
			}
			got := Conversations([]Source{{m, place(files)}}, inShop(10))
			want := PastResult{Past: []Past{{Agent: m, ID: tt.id, Folder: "/home/u/shop", Title: tt.title, Path: "/" + dir + tt.file, Updated: t0}}, Errors: map[int]error{}}
			if diff := cmp.Diff(want, got, byID); diff != "" {
				t.Errorf("Conversations (-want +got):\n%s", diff)
			}
			p, err := Remembered(m, place(files), tt.id)
			if err != nil || p.Folder != "/home/u/shop" || p.Title != tt.title || p.Path != "/"+dir+tt.file {
				t.Errorf("Remembered = %+v, %v", p, err)
			}
			if _, err := Remembered(m, place(files), idTwo); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("Remembered of an unknown id: %v", err)
			}
			if d := Decide(m, place(files), tt.id, true); d.Verdict != VerdictResume {
				t.Errorf("Decide = %+v", d)
			}
		})
	}
}

// byID compares manifests by their ids.
var byID = cmp.Comparer(func(a, b *Manifest) bool { return a.ID == b.ID })

// inShop asks for the conversations of one project.
func inShop(limit int) PastQuery {
	return PastQuery{
		Folders: []string{"/home/u/shop"}, Limit: limit,
		Wanted: func(f string) bool { return f == "/home/u/shop" || strings.HasPrefix(f, "/home/u/shop/") },
	}
}

// TestConversationsOfADatabase reads those of agents that keep a database: one for all
// projects, or one in each project's folder.
func TestConversationsOfADatabase(t *testing.T) {
	rows := map[string][][]string{
		"/home/u/.local/share/opencode/opencode.db": {
			{"ses_new", "/home/u/shop", "", "Newer", "1796057088030", "1796057098703"},
			{"ses_sub", "/home/u/shop", "ses_new", "A subagent's", "1796057088031", "1796057098704"},
			{"ses_old", "/home/u/shop/web", "", "Older", "1796057012281", "1796057082060"},
			{"ses_other", "/home/u/other", "", "Elsewhere", "1796057012281", "1796057082060"},
			{"--flag", "/home/u/shop", "", "No id", "1796057012281", "1796057082060"},
		},
		"/home/u/shop/.crush/crush.db": {{"c1", "", "", "Of Crush", "1796057090", "1796057091"}},
	}
	at := place(fstest.MapFS{})
	at.Folder = "/home/u/shop"
	at.Table = func(file string, q TableQuery) ([][]string, error) {
		all, ok := rows[file]
		if !ok {
			return nil, fmt.Errorf("%s: %w", file, fs.ErrNotExist)
		}
		var out [][]string
		for _, r := range all {
			if want, ok := q.Equal["id"]; !ok || want == r[0] {
				out = append(out, r)
			}
		}
		return out, nil
	}
	openCode, crush := builtin(t, "opencode"), builtin(t, "crush")
	got := Conversations([]Source{{openCode, at}, {crush, at}}, inShop(10))
	want := []Past{
		{Agent: openCode, ID: "ses_new", Folder: "/home/u/shop", Title: "Newer", Path: "/home/u/.local/share/opencode/opencode.db", Updated: time.UnixMilli(1796057098703)},
		{Agent: crush, ID: "c1", Folder: "/home/u/shop", Title: "Of Crush", Path: "/home/u/shop/.crush/crush.db", Updated: time.Unix(1796057091, 0), Source: 1},
		{Agent: openCode, ID: "ses_old", Folder: "/home/u/shop/web", Title: "Older", Path: "/home/u/.local/share/opencode/opencode.db", Updated: time.UnixMilli(1796057082060)},
	}
	if diff := cmp.Diff(want, got.Past, byID); diff != "" {
		t.Errorf("Conversations (-want +got):\n%s", diff)
	}
	for _, tt := range []struct {
		name string
		m    *Manifest
		id   string
		want Verdict
	}{
		{"there", openCode, "ses_old", VerdictResume},
		{"gone", openCode, "ses_gone", VerdictMissing},
		{"in the project's own", crush, "c1", VerdictResume},
		{"not in the project's own", crush, "c2", VerdictMissing},
	} {
		if d := Decide(tt.m, at, tt.id, true); d.Verdict != tt.want {
			t.Errorf("%s: %+v", tt.name, d)
		}
	}
	moved := at
	moved.Lookup = func(name string) string { return map[string]string{"XDG_DATA_HOME": "/data"}[name] }
	if d := Decide(openCode, moved, "ses_old", true); d.Verdict != VerdictMissing {
		t.Errorf("with the data moved: %+v", d)
	}

	// The one that was begun after the launch, in the session's folder, is the session's.
	r, n, err := openCode.Discover(at, Binding{Folder: "/home/u/shop", Launched: time.UnixMilli(1796057088000)})
	if err != nil || n != 1 || r.ID != "ses_new" {
		t.Errorf("Discover = %+v, %d, %v", r, n, err)
	}

	for _, err := range []error{fmt.Errorf("other form: %w", ErrUnknowable), errors.New("busy")} {
		at.Table = func(string, TableQuery) ([][]string, error) { return nil, err }
		want := VerdictUnknown
		if errors.Is(err, ErrUnknowable) {
			want = VerdictResume // the session had it, and nothing says that it is gone
		}
		if d := Decide(openCode, at, "ses_old", true); d.Verdict != want {
			t.Errorf("%v: %+v, want %s", err, d, want)
		}
		if got := Conversations([]Source{{openCode, at}}, inShop(10)); len(got.Past) != 0 {
			t.Errorf("%v: %+v", err, got.Past)
		}
	}
}

// countingFS counts the files that are opened, and the bytes that are read of them.
type countingFS struct {
	fs.FS
	opened int
}

func (c *countingFS) Open(name string) (fs.File, error) {
	f, err := c.FS.Open(name)
	if err != nil || path.Ext(name) != ".jsonl" {
		return f, err
	}
	c.opened++
	return f, nil
}

func (c *countingFS) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(c.FS, name) }

// TestConversationsOpenOnlyWhatIsShown: of a store with many thousand records the
// names and times of the project's are looked at, and the newest opened.
func TestConversationsOpenOnlyWhatIsShown(t *testing.T) {
	files := fstest.MapFS{}
	for i := range 5000 {
		id := fmt.Sprintf("%08d-1111-4111-8111-111111111111", i)
		folder := "/home/u/shop"
		if i%2 == 1 {
			folder = "/home/u/other"
		}
		name := "home/u/.claude/projects/" + strings.ReplaceAll(folder, "/", "-") + "/" + id + ".jsonl"
		files[name] = &fstest.MapFile{
			Data:    []byte(strings.ReplaceAll(strings.ReplaceAll(records["claude"], idOne, id), "/home/u/shop", folder)),
			ModTime: t0.Add(time.Duration(i) * time.Minute),
		}
	}
	counting := &countingFS{FS: files}
	at := place(nil)
	at.FS = counting
	got := Conversations([]Source{{builtin(t, "claude"), at}}, inShop(20))
	if len(got.Past) != 20 || !got.More || counting.opened != 21 {
		t.Errorf("%d conversations, more %v, %d records opened; want 20, true, 21", len(got.Past), got.More, counting.opened)
	}
	for i, p := range got.Past {
		if want := fmt.Sprintf("%08d", 4998-2*i); !strings.HasPrefix(p.ID, want) {
			t.Errorf("conversation %d is %s, want %s", i, p.ID, want)
		}
	}
}

// TestConversationsLeaveOut: what is no conversation of the project, or can't be read,
// is not listed, and keeps nothing else from it.
func TestConversationsLeaveOut(t *testing.T) {
	const store = "home/u/.claude/projects/-home-u-shop/"
	line := strings.SplitAfter(records["claude"], "\n")[2]
	m := builtin(t, "claude")
	files := fstest.MapFS{
		store + idOne + ".jsonl":                                       {Data: []byte(records["claude"]), ModTime: t0},
		store + "agent-1.jsonl":                                        {Data: []byte(strings.ReplaceAll(line, `"sessionId"`, `"isSidechain":true,"sessionId"`))},
		store + idOne + "/subagents/agent-2.jsonl":                     {Data: []byte(line)},
		store + "empty.jsonl":                                          {},
		store + "garbage.jsonl":                                        {Data: []byte("\x00\xff{{{")},
		store + "-flag.jsonl":                                          {Data: []byte(line)},
		store + "notes.txt":                                            {Data: []byte(line)},
		store + "pipe.jsonl":                                           {Mode: fs.ModeNamedPipe},
		store + "folder.jsonl":                                         {Mode: fs.ModeDir},
		"home/u/.claude/projects/-home-u-shop-two/other.jsonl":         {Data: []byte(strings.ReplaceAll(line, "/home/u/shop", "/home/u/shop-two"))},
		"home/u/.claude/projects/-home-u-elsewhere/lies.jsonl":         {Data: []byte(line)},
		"home/u/.claude/projects/-home-u-shop-web/" + idTwo + ".jsonl": {Data: []byte(strings.ReplaceAll(line, "/home/u/shop", "/home/u/shop/web")), ModTime: t0.Add(-time.Hour)},
	}
	got := Conversations([]Source{{m, place(files)}, {m, place(files)}, {builtin(t, "pi"), place(files)}}, inShop(10))
	var ids []string
	for _, p := range got.Past {
		ids = append(ids, p.ID)
	}
	if diff := cmp.Diff([]string{idOne, idTwo}, ids); diff != "" || got.More || len(got.Errors) > 0 {
		t.Errorf("ids (-want +got):\n%s\nmore %v, errors %v", diff, got.More, got.Errors)
	}
}

// TestKnownConversations: sessions tell of what the agents' stores don't.
func TestKnownConversations(t *testing.T) {
	grok, amp, claude := builtin(t, "grok"), builtin(t, "amp"), builtin(t, "claude")
	files := fstest.MapFS{
		"home/u/.grok/sessions/" + idOne + "/x": {},
		"home/u/.grok/sessions/" + idTwo + "/x": {},
	}
	q := inShop(10)
	q.Known = []Past{
		{Agent: grok, ID: idOne, Folder: "/home/u/shop", Title: "said to Grok", Updated: t0},
		{Agent: amp, ID: "T-1", Folder: "/home/u/shop", Title: "said to Amp", Updated: t0.Add(-time.Hour)},
		{Agent: amp, ID: "T-2", Folder: "/home/u/other", Title: "elsewhere", Updated: t0},
		{Agent: claude, ID: idOne, Folder: "/home/u/shop", Title: "deleted since", Updated: t0},
	}
	got := Conversations([]Source{{grok, place(files)}, {claude, place(files)}, {amp, place(files)}}, q)
	var lines []string
	for _, p := range got.Past {
		lines = append(lines, fmt.Sprintf("%s %s %s %d", p.Agent.ID, p.ID, p.Title, p.Source))
	}
	if diff := cmp.Diff([]string{"amp T-1 said to Amp -1", "grok " + idOne + " said to Grok 0"}, lines); diff != "" {
		t.Errorf("conversations (-want +got):\n%s", diff)
	}
}
