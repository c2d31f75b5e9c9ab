package integrate

import (
	"bytes"
	"strings"
	"testing"

	"github.com/tailscale/hujson"
)

// comments are the comments of a text, in order.
func comments(t *testing.T, text []byte) string {
	t.Helper()
	root, err := hujson.Parse(bytes.TrimPrefix(text, bom))
	if err != nil {
		return ""
	}
	var all []byte
	add := func(x hujson.Extra) {
		all = append(all, bytes.Join(bytes.Fields(x), nil)...)
	}
	var walk func(v hujson.Value)
	walk = func(v hujson.Value) {
		add(v.BeforeExtra)
		switch c := v.Value.(type) {
		case *hujson.Object:
			for _, m := range c.Members {
				walk(m.Name)
				walk(m.Value)
			}
			add(c.AfterExtra)
		case *hujson.Array:
			for _, e := range c.Elements {
				walk(e)
			}
			add(c.AfterExtra)
		}
		add(v.AfterExtra)
	}
	walk(root)
	return string(all)
}

// Whatever a file holds: either it is refused, or our hooks come in whole, all
// else stays, and they go again without a trace.
func FuzzHooks(f *testing.F) {
	for _, s := range []string{
		"", "{}", "{\n}\n", "\xef\xbb\xbf{\"a\":1}", `{"hooks":{"Stop":[{"hooks":[{"command":"x"}]}]}}`,
		"{\n  // c\n  \"hooks\": { /* d */ \"Stop\": [ // e\n ] },\n}\n// f", "{\"a\":1 // x\n}", "{\"a\":[1,],}", "{\r\n\t\"hooks\":{\r\n\t\t\"Stop\":[1 /* y */]}\r\n}",
		`{"hooks":{"Stop":[{"hooks":[{"command":"termio agent report done"},{"command":"x"}]}]}}`, `{"hooks":{},"hooks":{"Stop":[]}}`,
	} {
		f.Add([]byte(s), true)
		f.Add([]byte(s), false)
	}
	f.Fuzz(func(t *testing.T, data []byte, lenient bool) {
		dialect := jsonDialects["claude"]
		dialect.takes = extensions{comments: lenient, commas: lenient}
		j := newJSONHooks(dialect, claude().Hooks, "/x/termio", func(c string) bool { _, ours := reportedBy(c); return ours })
		before, _, err := j.state("f", data)
		if err != nil {
			if out, err := j.install("f", data); err == nil {
				t.Fatalf("edited what cannot be read: %q", out)
			}
			return
		}
		others, err := j.foreign("f", data)
		if err != nil {
			return
		}
		in, err := j.install("f", data)
		if err != nil {
			return
		}
		if s, _, err := j.state("f", in); err != nil || s != On {
			t.Fatalf("state %q, %v after the installation: %q", s, err, in)
		}
		if got, err := j.foreign("f", in); err != nil || got != others {
			t.Fatalf("%v: other things became %s, want %s", err, got, others)
		}
		again, err := j.install("f", in)
		if s, _, stateErr := j.state("f", again); err != nil || stateErr != nil || s != On {
			t.Fatalf("%v: the second time %q became %q", err, in, again)
		}
		if a, b := comments(t, data), comments(t, in); before == Off && a != b {
			t.Fatalf("comments %q became %q in %q", a, b, in)
		}
		out, err := j.uninstall("f", in)
		if err != nil {
			t.Fatalf("cannot be removed: %v from %q", err, in)
		}
		if out != nil {
			if s, _, err := j.state("f", out); err != nil || s != Off {
				t.Fatalf("state %q, %v after the removal: %q", s, err, out)
			}
			if a, b := comments(t, data), comments(t, out); before == Off && a != b {
				t.Fatalf("comments %q became %q in %q", a, b, out)
			}
		}
		rec := record{Existed: true}
		rec.remember(data, in)
		if got, known := rec.undo(in); !known || !bytes.Equal(got, data) {
			t.Fatalf("%q came back as %q", data, got)
		}
	})
}

// No line makes the recogniser of our own commands stumble, and what it takes
// for ours runs nothing but termio.
func FuzzReportedBy(f *testing.F) {
	f.Add("[ ! -x '/a/termio' ] || exec '/a/termio' agent report done")
	f.Add("termio agent report done || true")
	f.Add(`"a b/termio" agent report 'x'\''y'`)
	f.Add(`"termio" agent report '$'`)
	f.Add(`termio agent report "$(id)"`)
	f.Add("termio agent report \"\n\"")
	f.Add("termio agent report do\\\nne")
	f.Fuzz(func(t *testing.T, line string) {
		exe, ours := reportedBy(line)
		if ours && (exe == "" || strings.ContainsAny(interpreted(line), "$`\n")) {
			t.Errorf("%q is taken for ours", line)
		}
	})
}

// interpreted is what a shell may give a meaning to: a line without what quotes and
// backslashes make plain.
func interpreted(line string) string {
	var b strings.Builder
	var quote byte
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case quote == c:
			quote = 0
		case quote == '\'', quote == '"' && c == '\n': // a line break in quotes is text (POSIX, 2.2.2 and 2.2.3)
		case c == '\\':
			if i++; i < len(line) && line[i] == '\n' { // the line goes on in the next
				b.WriteByte('\n')
			}
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}
