package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/txtar"

	"termio/internal/api"
)

// FuzzParse: a manifest either loads, and then all that is asked of it works, or
// says what is wrong.
func FuzzParse(f *testing.F) {
	for _, pattern := range []string{"manifests/*.json", "testdata/manifests/*.json"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, problems, err := Parse(data, "f.json")
		if err != nil {
			for _, p := range problems {
				if !p.Warning && p.Reason != "" {
					return
				}
			}
			t.Fatalf("no reason given: %v", err)
		}
		v := permissionScreen("text")
		m.FindDialog(v)
		m.Composer(v)
		m.Ready(v, Seen{})
		if _, err := Plan(LaunchInput{Manifest: m, Conversation: idOne, Prompt: "p", Bypass: true, Shell: "/bin/sh"}); err != nil {
			t.Fatalf("a valid manifest gives no launch: %v", err)
		}
	})
}

// FuzzReport: whatever a hook sends, a report comes out of it that is bounded and
// clean.
func FuzzReport(f *testing.F) {
	f.Add("PermissionRequest", []byte(`{"session_id":"a","tool_name":"Bash","tool_input":{"command":"ls"}}`))
	f.Add("Stop", []byte(`{"background_tasks":[{"status":"running"}]}`))
	f.Add("Notification", []byte("\xff\x00{"))
	m, _ := Load(nil, nil).Find("claude")
	f.Fuzz(func(t *testing.T, event string, payload []byte) {
		r, err := ParseReport(m, ReportQuery{State: "attention", Event: event, At: t0}, payload)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []string{r.Tool, r.Message, r.Event, r.Subagent} {
			if strings.ContainsFunc(s, func(c rune) bool { return c < ' ' || c == 0x7f }) || !utf8.ValidString(s) || utf8.RuneCountInString(s) > maxQuestion+1 {
				t.Fatalf("not clean: %q", s)
			}
		}
		if r.Conversation != "" && !ValidConversation(r.Conversation) {
			t.Fatalf("conversation %q", r.Conversation)
		}
		if ev, ok := r.Evidence(m); ok {
			mc := NewMachine(m, t0)
			mc.Apply(ev, t0)
			if mc.Description(t0) == "" {
				t.Fatal("no description")
			}
		}
	})
}

// FuzzFindDialog: whatever is on the screen, what is found is within its bounds.
func FuzzFindDialog(f *testing.F) {
	files, err := filepath.Glob("testdata/*/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		arc, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, m := range arc.Files {
			if strings.HasSuffix(m.Name, ".txt") && m.Name != "want.txt" {
				f.Add(string(m.Data), 30)
			}
		}
	}
	m, _ := Load(nil, nil).Find("claude")
	f.Fuzz(func(t *testing.T, text string, cursor int) {
		v := ParseScreen(text)
		v.CursorY = cursor
		m.Composer(v)
		d, ok := m.FindDialog(v)
		if !ok {
			return
		}
		if len(d.Options) > maxOptions || len(d.Detail) > maxDetail || utf8.RuneCountInString(d.Question) > maxQuestion+1 {
			t.Fatalf("out of bounds: %+v", d)
		}
		prompt := m.Prompt(v, d)
		if strings.Count(prompt, "\n") >= promptLines || utf8.RuneCountInString(prompt) > promptBytes {
			t.Fatalf("prompt out of bounds: %q", prompt)
		}
		for _, o := range d.Options {
			if _, ok := m.MatchAnswer(d, o.Label, false); !ok && o.Label != "" && d.Kind != "question" && only(d.Options, o) {
				t.Fatalf("its own label is no answer: %+v", o)
			}
		}
	})
}

// only reports whether no other option could be meant by the label of o.
func only(options []api.Option, o api.Option) bool {
	n := 0
	for _, other := range options {
		if fold(other.Label) == fold(o.Label) || fold(other.Label) == "" {
			n++
		}
	}
	return n == 1
}
