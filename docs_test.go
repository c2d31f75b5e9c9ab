package termio_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Whoever looks for the reason of a choice looks into the index.
func TestDecisionsAreIndexed(t *testing.T) {
	index, err := os.ReadFile("docs/decisions/README.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("docs/decisions/*.md")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`^([0-9]{4})-[a-z0-9-]+\.md$`)
	byNumber := map[string]string{}
	for _, file := range files {
		base := filepath.Base(file)
		if base == "README.md" {
			continue
		}
		m := named.FindStringSubmatch(base)
		if m == nil {
			t.Errorf("%s: want NNNN-short-name.md", file)
			continue
		}
		if other := byNumber[m[1]]; other != "" {
			t.Errorf("%s and %s have one number", other, base)
		}
		byNumber[m[1]] = base
		if !strings.Contains(string(index), "("+base+")") {
			t.Errorf("%s is not in the index", base)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if want := "# " + m[1] + ": "; !strings.HasPrefix(string(text), want) {
			t.Errorf("%s does not begin with %q", file, want)
		}
	}
}

// link matches a link of a document to a file, with or without a place in it.
var link = regexp.MustCompile(`\]\(([^)#\s]+)(#[^)\s]*)?\)`)

// A document that points to a file which is gone misleads more than one that is
// silent.
func TestLinksOfDocumentsLead(t *testing.T) {
	for _, p := range repositoryFiles(t) {
		if path.Ext(p) != ".md" || strings.Contains(p, "testdata/") {
			continue
		}
		text, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
				continue
			}
			if _, err := os.Stat(filepath.FromSlash(path.Join(path.Dir(p), m[1]))); err != nil {
				t.Errorf("%s: the link to %s leads nowhere", p, m[1])
			}
		}
	}
}

// update rewrites what documents quote from golden files.
var update = flag.Bool("update", false, "write the examples of the documents anew")

// example matches a quoted golden file of a document: a comment with its path, then
// the quotation.
var example = regexp.MustCompile("(?s)(<!-- ([a-z0-9/.-]+) -->\n```[a-z]*\n)(.*?)(```\n)")

// What the documents show is what is sent.
func TestExamplesOfDocumentsAreGoldens(t *testing.T) {
	for _, p := range repositoryFiles(t) {
		if path.Ext(p) != ".md" {
			continue
		}
		text, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		fresh := example.ReplaceAllFunc(text, func(quoted []byte) []byte {
			m := example.FindSubmatch(quoted)
			golden, err := os.ReadFile(string(m[2]))
			if err != nil {
				t.Errorf("%s: %v", p, err)
				return quoted
			}
			return slices.Concat(m[1], golden, m[4])
		})
		if bytes.Equal(fresh, text) {
			continue
		}
		if !*update {
			t.Errorf("%s: an example is not the golden file it names; go test . -update writes it", p)
			continue
		}
		if err := os.WriteFile(p, fresh, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// The documents tell of every route, error code and frame kind that the sources have.
func TestProtocolIsDocumented(t *testing.T) {
	read := func(file string) string {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	protocol, commands := read("docs/protocol.md"), read("docs/cli.md")
	tests := []struct {
		source, pattern, want string
		in                    []string
	}{
		{"internal/api/daemon.go", `Route\w+ += "([^"]+)"`, "`%s`", []string{protocol}},
		{"internal/api/api.go", `Code = "([^"]+)"`, "`%s`", []string{protocol, commands}},
		{"internal/api/frame.go", `Frame\w+ +FrameKind = ([0-9]+)`, "\n| %s |", []string{protocol}},
		{"internal/api/frame.go", `Frame\w+ += ([0-9]+) +//`, "\n| %s |", []string{protocol}},
	}
	for _, tt := range tests {
		for _, m := range regexp.MustCompile(tt.pattern).FindAllStringSubmatch(read(tt.source), -1) {
			for _, document := range tt.in {
				if want := fmt.Sprintf(tt.want, m[1]); !strings.Contains(document, want) {
					t.Errorf("%s has %s, and docs do not tell of it", tt.source, m[1])
				}
			}
		}
	}
}
