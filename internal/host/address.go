package host

import (
	"fmt"
	"strings"

	"termio/internal/api"
)

// addressee is what a session can be called by.
type addressee struct {
	id    api.SessionID
	title string // as lists show it
}

// resolve finds the one session that addr names: a link, an id, a prefix of an
// id or a displayed title in any case. A whole id names its session even if
// another one is called like it; anything that fits two is ambiguous, because
// a guess would type into the wrong one.
func resolve(addr string, in []addressee) (api.SessionID, error) {
	addr = strings.TrimSpace(addr)
	if addr == "" {
		return "", api.NewError(api.NoTarget, "no session given; termio sessions list shows them")
	}
	word := strings.TrimPrefix(strings.ToLower(addr), api.LinkPrefix)
	if id, ok := api.ParseSessionID(word); ok {
		for _, a := range in {
			if a.id == id {
				return id, nil
			}
		}
	}
	var fits []addressee
	for _, a := range in {
		if isIDPrefix(word, a.id) || strings.EqualFold(strings.TrimSpace(a.title), addr) {
			fits = append(fits, a)
		}
	}
	switch len(fits) {
	case 0:
		return "", api.NewError(api.NotFound, fmt.Sprintf("no session %q here; termio sessions list shows them", printable(addr)))
	case 1:
		return fits[0].id, nil
	}
	return "", api.NewError(api.Ambiguous, fmt.Sprintf("%q fits %d sessions; use one of their links:%s", printable(addr), len(fits), listed(fits)))
}

// isIDPrefix reports whether word, in lower case, begins id.
func isIDPrefix(word string, id api.SessionID) bool {
	return word != "" && strings.HasPrefix(string(id), word)
}

// maxListed bounds how many sessions an ambiguous address names.
const maxListed = 10

// listed names sessions for a message, one a line.
func listed(as []addressee) string {
	var b strings.Builder
	for i, a := range as {
		if i == maxListed {
			fmt.Fprintf(&b, "\n  and %d more", len(as)-i)
			break
		}
		fmt.Fprintf(&b, "\n  %s  %s", a.id.Link(), a.title)
	}
	return b.String()
}

// maxPrintable is how many characters of somebody's text a message repeats.
const maxPrintable = 80

// printable makes text fit for one line of a message: control characters gone,
// which could move the reader's cursor, and cut.
func printable(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd"))
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > maxPrintable {
		return string(r[:maxPrintable-1]) + "…"
	}
	return s
}
