package agent

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

var updateSchema = flag.Bool("update-schema", false, "write docs/manifest.schema.json")

func TestSchemaIsPublished(t *testing.T) {
	file := filepath.Join("..", "..", "docs", "manifest.schema.json")
	if *updateSchema {
		if err := os.WriteFile(file, Schema(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, Schema()) {
		t.Errorf("%s is not what the description gives; run go generate ./internal/agent", file)
	}
	if !json.Valid(got) {
		t.Error("the schema is no JSON")
	}
}

// TestFieldsAreDocumented holds the table of fields in docs/agents.md to the
// description.
func TestFieldsAreDocumented(t *testing.T) {
	file := filepath.Join("..", "..", "docs", "agents.md")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const from, to = "<!-- fields, written by go generate ./internal/agent -->\n", "<!-- end of fields -->"
	before, rest, ok := strings.Cut(string(text), from)
	_, after, ok2 := strings.Cut(rest, to)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the fields", file)
	}
	var b strings.Builder
	b.WriteString("\n| field | meaning |\n|---|---|\n")
	tellFields(&b, "", manifestShape())
	want := before + from + b.String() + "\n" + to + after
	if *updateSchema {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if string(text) != want {
		t.Errorf("the fields in %s are not those of the description; run go generate ./internal/agent", file)
	}
}

// tellFields writes a row for each field of a shape, in its order.
func tellFields(b *strings.Builder, path string, s *shape) {
	for _, k := range s.keys {
		name, at := join(path, k.name), k.shape
		for at.kind == isList {
			name, at = name+"[]", at.elem
		}
		if at.kind == isObject && at.elem != nil {
			name += ".*"
		}
		doc := strings.TrimSpace(k.shape.doc + " " + strings.TrimPrefix(at.doc, k.shape.doc))
		if len(at.words) > 0 {
			doc = strings.TrimSpace(doc + " `" + strings.Join(at.words, "`, `") + "`")
		}
		if k.required {
			doc = "**required.** " + doc
		}
		fmt.Fprintf(b, "| `%s` | %s |\n", name, strings.ReplaceAll(doc, "|", "\\|"))
		tellFields(b, name, at)
	}
}

// TestDescriptionFitsTypes holds the description of the manifest against the types
// that it is decoded into: a key that only one side has would be lost.
func TestDescriptionFitsTypes(t *testing.T) {
	compareShape(t, "manifest", manifestShape(), reflect.TypeFor[Manifest]())
}

func compareShape(t *testing.T, path string, s *shape, typ reflect.Type) {
	if typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	switch {
	case typ == reflect.TypeFor[Pattern]():
		if !s.regexp {
			t.Errorf("%s is a pattern in Go and not in the description", path)
		}
	case s.kind == isList:
		if typ.Kind() != reflect.Slice {
			t.Fatalf("%s is a list, and %s in Go", path, typ)
		}
		compareShape(t, path+"[]", s.elem, typ.Elem())
	case s.kind == isObject && s.elem != nil:
		if typ.Kind() != reflect.Map {
			t.Fatalf("%s is a table, and %s in Go", path, typ)
		}
		compareShape(t, path+".*", s.elem, typ.Elem())
	case s.kind == isObject:
		compareObject(t, path, s, typ)
	default:
		want := map[nodeKind]reflect.Kind{isText: reflect.String, isFlag: reflect.Bool, isNumber: reflect.Int}[s.kind]
		if typ.Kind() != want {
			t.Errorf("%s is %s, and %s in Go", path, s.kind, typ)
		}
	}
}

func compareObject(t *testing.T, path string, s *shape, typ reflect.Type) {
	fields := make(map[string]reflect.Type)
	for f := range typ.Fields() {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "-" && name != "" {
			fields[name] = f.Type
		}
	}
	for _, k := range s.keys {
		ft, ok := fields[k.name]
		if !ok {
			t.Errorf("%s.%s is described and %s has no such field", path, k.name, typ)
			continue
		}
		delete(fields, k.name)
		compareShape(t, path+"."+k.name, k.shape, ft)
	}
	for name := range fields {
		t.Errorf("%s.%s is a field of %s and not described", path, name, typ)
	}
}

// problemText is one problem a line, as people see them.
func problemText(problems []Problem) string {
	var b strings.Builder
	for _, p := range problems {
		kind := "error"
		if p.Warning {
			kind = "warning"
		}
		fmt.Fprintf(&b, "%s: %s\n", kind, p)
	}
	return b.String()
}

func TestParse(t *testing.T) {
	const head = `{"id":"x","name":"X","command":"x"`
	for _, tt := range []struct {
		name, in, want string
	}{
		{"smallest", head + `}`, ""},
		{"comments", head + `,"//":"a","//":"b","$schema":"s","//note":1}`, ""},
		{"unknown key", head + `,"titelStatus":{}}`, "warning: m.json:1: titelStatus is not known; is \"titleStatus\" meant?\n"},
		{"nothing required", "{\n}", "error: m.json:1: id is missing\nerror: m.json:1: name is missing\nerror: m.json:1: command is missing; only the built-in terminal has none\n"},
		{"terminal", `{"id":"terminal","name":"T"}`, ""},
		{"syntax", "{\n \"id\": \"x\",\n}", "error: m.json:3: is not JSON: invalid character '}' looking for beginning of object key string\n"},
		{"cut off", `{"id":"x"`, "error: m.json:1: is not JSON: unexpected EOF\n"},
		{"something after", head + `} x`, "error: m.json:1: is not JSON: something follows the value\n"},
		{"list", `[]`, "error: m.json:1: must be an object, not a list\n"},
		{"wrong type", head + `,"order":"first"}`, "error: m.json:1: order must be a number, not a string\n"},
		{"fraction", head + `,"order":1.5}`, "error: m.json:1: order must be a whole number from -1000000 to 1000000\n"},
		{"twice", head + `,"id":"y"}`, "error: m.json:1: id stands twice\n"},
		{"id", `{"id":"a/b","name":"X","command":"x"}`, "error: m.json:1: id must be up to 64 letters, digits, '-', '_' and '.', not \"a/b\"\n"},
		{"open quote", `{"id":"x","name":"X","command":"x 'y"}`, "error: m.json:1: command has a quote that does not end\n"},
		{
			"pattern", head + ",\n\"titleStatus\":{\"working\":[\"ok\",\n\"a(b\"]}}",
			"error: m.json:3: titleStatus.working[1] is a regular expression that does not compile: missing closing ): `a(b`; it is RE2: no lookaround, and a sign that stands for itself has \\\\ before it\n",
		},
		{"lookahead is no RE2", head + `,"status":{"attention":["a(?=b)"]}}`, "error: m.json:1: status.attention[0] is a regular expression that does not compile: invalid or unsupported Perl syntax: `(?=`; it is RE2: no lookaround, and a sign that stands for itself has \\\\ before it\n"},
		{"state", head + `,"hooks":{"file":"~/f","events":[{"on":"Stop","state":"finished"}]}}`, "error: m.json:1: hooks.events[0].state must be one of working, attention, done, idle, not \"finished\"\n"},
		{"no events", head + `,"hooks":{"file":"~/f","events":[]}}`, "error: m.json:1: hooks.events must not be empty\n"},
		{"no file", head + `,"hooks":{"events":[{"on":"Stop","state":"done"}]}}`, "error: m.json:1: hooks.file is missing; hooks of type json need it\n"},
		{"dir of json", head + `,"hooks":{"file":"~/f","dir":"~/d","events":[{"on":"Stop","state":"done"}]}}`, "error: m.json:1: hooks.dir does not go with hooks of type json\n"},
		{"dialect of another type", head + `,"hooks":{"type":"toml","file":"~/f","dialect":"claude","events":[{"on":"Stop","state":"done"}]}}`, "error: m.json:1: hooks.dialect must be one of kimi for hooks of type toml, not \"claude\"\n"},
		{"shell in a field", head + `,"hooks":{"file":"~/f","conversation":"a; rm","events":[{"on":"Stop","state":"done"}]}}`, "error: m.json:1: hooks.conversation must be a field or a dotted key path, not \"a; rm\"\n"},
		{"create and discover", head + `,"resume":{"create":"-n {id}","resume":"-r {id}","discover":{"root":"~/r","format":"json","id":"id","cwd":"cwd"}}}`, "error: m.json:1: resume.discover does not go with create: either we choose the id or the agent does\n"},
		{"create alone", head + `,"resume":{"create":"-n {id}"}}`, "error: m.json:1: resume.resume is missing: an id that can't be resumed is of no use\n"},
		{"no placeholder", head + `,"resume":{"resume":"--last"}}`, "error: m.json:1: resume.resume must contain {id}\n"},
		{"store without match", head + `,"resume":{"resume":"-r {id}","storeRoot":"~/s"}}`, "error: m.json:1: resume.storeRoot and storeMatch go together\n"},
		{"match out of the store", head + `,"resume":{"resume":"-r {id}","storeRoot":"~/s","storeMatch":"file:../{id}"}}`, "error: m.json:1: resume.storeMatch has a pattern that is no relative path: \"../{id}\"\n"},
		{"match of no kind", head + `,"resume":{"resume":"-r {id}","storeRoot":"~/s","storeMatch":"{id}"}}`, "error: m.json:1: resume.storeMatch must be dir:PATTERN or file:PATTERN, not \"{id}\"\n"},
		{"sqlite without a table", head + `,"resume":{"resume":"-r {id}","discover":{"root":"~/r","format":"sqlite","id":"id","cwd":"cwd"}}}`, "error: m.json:1: resume.discover.table goes with the format sqlite, which needs it\n"},
		{"relative path", head + `,"skills":{"dir":"skills"}}`, "error: m.json:1: skills.dir must be absolute or begin with ~/, not \"skills\"\n"},
		{"ready without a composer", head + `,"ready":{"composer":true}}`, "error: m.json:1: ready.composer needs a composer\n"},
		{"too deep", strings.Repeat(`{"a":`, 100) + "1" + strings.Repeat("}", 100), "error: m.json:1: is not JSON: nested too deep\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, problems, err := Parse([]byte(tt.in), "m.json")
			if got := problemText(problems); got != tt.want {
				t.Errorf("problems:\n%s\nwant:\n%s", got, tt.want)
			}
			if invalid := strings.Contains(tt.want, "error: "); invalid != (err != nil) || invalid == (m != nil) {
				t.Errorf("Parse = %v, %v", m, err)
			}
		})
	}
}

// TestParseGrok loads the manifest that the published protocol prints whole, unchanged.
func TestParseGrok(t *testing.T) {
	data, err := os.ReadFile("testdata/manifests/grok.json")
	if err != nil {
		t.Fatal(err)
	}
	m, problems, err := Parse(data, "grok.json")
	if err != nil || len(problems) > 0 {
		t.Fatalf("Parse: %v\n%s", err, problemText(problems))
	}
	if m.ID != "grok" || m.Name != "Grok" || m.Place() != 95 || m.Token() != "grok" || m.PermissionBypassFlag != "--yolo" {
		t.Errorf("head of the manifest: %+v", m)
	}
	if m.Resume.Create != "--session-id {id}" || m.Resume.StoreMatch != "dir:{id}" {
		t.Errorf("resume = %+v", m.Resume)
	}
	if m.Hooks.Conversation != "sessionId" || len(m.Hooks.Events) != 5 || m.Hooks.Dialect != "grok" {
		t.Errorf("hooks = %+v", m.Hooks)
	}
	// The built-in one is the same, but for the note that it was not tried.
	own := *builtin(t, "grok")
	if own.Unverified == "" {
		t.Error("the built-in one does not say that it was not tried")
	}
	own.Unverified, own.Source, own.Warnings = "", m.Source, m.Warnings
	text := func(m *Manifest) string { b, _ := json.Marshal(m); return string(b) }
	if a, b := text(m), text(&own); a != b {
		t.Errorf("the built-in one is %s, want %s", b, a)
	}
}
