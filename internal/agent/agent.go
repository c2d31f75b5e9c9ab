// Package agent knows how agents differ, and nothing else does: it reads
// manifests and decides from them how an agent is started, what its reports,
// titles, screens and files say about it, which status that makes, and whether a
// conversation can be resumed.
//
// It is pure. It reads through an [fs.FS] that the caller passes in, takes the time
// as an argument, starts no goroutine and acts on nothing: the host acts. The engine
// knows no agent by name; what is particular to one stands in its manifest. All text
// that comes from agents is taken as hostile: parsers are bounded and never panic.
//
// A [Manifest] and a [Catalogue] are immutable once made and may be shared. A
// [Machine] and a [Tail] belong to one goroutine.
package agent

import (
	"encoding/json"
	"fmt"
	"regexp"
)

// A Pattern is a regular expression of a manifest: RE2, case-insensitive, searched
// anywhere in the text.
type Pattern struct {
	re     *regexp.Regexp
	source string
}

// NewPattern compiles a manifest's regular expression.
func NewPattern(source string) (Pattern, error) {
	re, err := regexp.Compile("(?i)" + source)
	if err != nil {
		return Pattern{}, fmt.Errorf("regular expression %q: %w", source, err)
	}
	return Pattern{re: re, source: source}, nil
}

// String is the expression as the manifest has it.
func (p Pattern) String() string { return p.source }

// Match reports whether the pattern is found in s. The zero Pattern matches nothing.
func (p Pattern) Match(s string) bool { return p.re != nil && p.re.MatchString(s) }

// cutPrefix is s without what the pattern matches at its beginning.
func (p Pattern) cutPrefix(s string) (rest string, ok bool) {
	if p.re == nil {
		return s, false
	}
	at := p.re.FindStringIndex(s)
	if at == nil || at[0] != 0 {
		return s, false
	}
	return s[at[1]:], true
}

// set reports whether the manifest gave the pattern.
func (p Pattern) set() bool { return p.re != nil }

// groups gives the named groups of the first match.
func (p Pattern) groups(s string) (map[string]string, bool) {
	if p.re == nil {
		return nil, false
	}
	m := p.re.FindStringSubmatch(s)
	if m == nil {
		return nil, false
	}
	g := make(map[string]string)
	for i, name := range p.re.SubexpNames() {
		if name != "" {
			g[name] = m[i]
		}
	}
	return g, true
}

// UnmarshalJSON reads the pattern from a JSON string.
func (p *Pattern) UnmarshalJSON(data []byte) error {
	var s string
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}
	q, err := NewPattern(s)
	if err != nil {
		return err
	}
	*p = q
	return nil
}

// MarshalJSON writes the pattern as the manifest has it.
func (p Pattern) MarshalJSON() ([]byte, error) { return json.Marshal(p.source) }

// firstMatch is the first pattern of the list that is found in s.
func firstMatch(list []Pattern, s string) (Pattern, bool) {
	for _, p := range list {
		if p.Match(s) {
			return p, true
		}
	}
	return Pattern{}, false
}
