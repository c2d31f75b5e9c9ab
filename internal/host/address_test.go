package host

import (
	"strings"
	"testing"

	"termio/internal/api"
)

func TestResolve(t *testing.T) {
	const (
		a = api.SessionID("ab12cd34-9f2e-4c31-b8d7-3e5a12c90f44")
		b = api.SessionID("ab99cd34-9f2e-4c31-b8d7-3e5a12c90f45")
		c = api.SessionID("cc12cd34-9f2e-4c31-b8d7-3e5a12c90f46")
		d = api.SessionID("dd12cd34-9f2e-4c31-b8d7-3e5a12c90f47")
	)
	sessions := []addressee{{a, "Run the tests"}, {b, "cc"}, {c, "twin"}, {d, "Twin"}}
	tests := []struct {
		name, addr string
		want       api.SessionID
		code       api.Code
	}{
		{"link", a.Link(), a, ""},
		{"link in capitals", strings.ToUpper(a.Link()), a, ""},
		{"bare id", string(b), b, ""},
		{"unique prefix", "ab1", a, ""},
		{"prefix of a link", api.LinkPrefix + "dd", d, ""},
		{"shared prefix", "ab", "", api.Ambiguous},
		{"title with spaces in any case", "run THE tests", a, ""},
		{"title padded", "  Run the tests ", a, ""},
		{"part of a title", "Run the", "", api.NotFound},
		{"two with one title", "twin", "", api.Ambiguous},
		{"title of one, prefix of another", "cc", "", api.Ambiguous},
		{"nothing", "  ", "", api.NoTarget},
		{"unknown id", "ee12cd34-9f2e-4c31-b8d7-3e5a12c90f47", "", api.NotFound},
		{"the link's head alone", api.LinkPrefix, "", api.NotFound},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := resolve(tt.addr, sessions)
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if code := codeOf(err); code != tt.code {
				t.Errorf("code %q, want %q", code, tt.code)
			}
		})
	}
}

// codeOf is the code of err, "" without one.
func codeOf(err error) api.Code {
	if err == nil {
		return ""
	}
	return api.CodeOf(err)
}

func TestAmbiguousListsCandidates(t *testing.T) {
	_, err := resolve("twin", []addressee{
		{"cc12cd34-9f2e-4c31-b8d7-3e5a12c90f46", "twin"},
		{"dd12cd34-9f2e-4c31-b8d7-3e5a12c90f47", "Twin"},
	})
	for _, want := range []string{"termio://session/cc12cd34-9f2e-4c31-b8d7-3e5a12c90f46", "termio://session/dd12cd34-9f2e-4c31-b8d7-3e5a12c90f47"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not name %s", err, want)
		}
	}
}

func TestPrintable(t *testing.T) {
	if got, want := printable("a\x1b[2J\nb\u009bc\xff"), "a [2J b c\ufffd"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
