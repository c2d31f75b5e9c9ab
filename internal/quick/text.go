package quick

import (
	"strconv"
	"unicode/utf8"
)

// Clean makes text of a session or a file safe for a terminal: one line, no
// control characters, nothing that reorders what stands beside it.
func Clean(s string) string { return filtered(s, false) }

// CleanBlock is Clean for text of several lines.
func CleanBlock(s string) string { return filtered(s, true) }

// filtered leaves out the characters that would do something to a terminal. A new line
// is kept in a block; in a line it becomes a space, as a tab does. What is no UTF-8
// becomes the character that says so.
func filtered(s string, block bool) string {
	healthy := true
	for _, r := range s {
		healthy = healthy && !unhealthy(r) && r != utf8.RuneError
	}
	if healthy {
		return s
	}
	b := make([]byte, 0, len(s)+8)
	for _, r := range s {
		switch {
		case block && r == '\n':
			b = append(b, '\n')
		case !block && (r == '\n' || r == '\t'):
			b = append(b, ' ')
		case !unhealthy(r):
			b = utf8.AppendRune(b, r)
		}
	}
	return string(b)
}

// unhealthy reports whether a character would do something to the terminal it
// is printed on: C0, DEL, C1, and the marks that turn the direction of text.
func unhealthy(r rune) bool {
	return r < 0x20 || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}

// Count is a number of things in words.
func Count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return strconv.Itoa(n) + " " + thing + "s"
}

// Dash stands between a session's title and what it is doing.
const Dash = " — "

// A Session is what a list prints of one, as it came from the daemon.
type Session struct {
	Project, Link, Agent, Wire, Status, Title, Description, Reason string
}

// Doing is a session's title, and what it is doing, each in one line.
func (s Session) Doing() (title, rest string) {
	rest = Clean(s.Description)
	if !contains(s.Description, s.Reason) {
		rest += " (" + Clean(s.Reason) + ")"
	}
	return Clean(s.Title), rest
}

// Row are the cells of a session in a list; all is a list over all projects.
func (s Session) Row(all bool) []string {
	agent := s.Wire // the short name
	if agent == "" {
		agent = s.Agent
	}
	title, rest := s.Doing()
	row := []string{Clean(s.Project), s.Link, Clean(agent), s.Status, title + Dash + rest}
	if !all {
		row = row[1:]
	}
	return row
}

// ListHead are the heads of a list's columns.
func ListHead(all bool) []string {
	head := []string{"PROJECT", "LINK", "AGENT", "STATUS", "TITLE"}
	if !all {
		head = head[1:]
	}
	return head
}

// ListTop is the line above a list of so many sessions.
func ListTop(project string, all bool, sessions int) string {
	scope := Clean(project)
	if all {
		scope = "all projects"
	}
	if sessions == 0 {
		return scope + ": no sessions\n"
	}
	return scope + ": " + Count(sessions, "session") + "\n"
}

// contains reports whether sub stands in s.
func contains(s, sub string) bool {
	for i := 0; i+len(sub) <= len(s); i++ {
		if s[i:i+len(sub)] == sub {
			return true
		}
	}
	return false
}

// AppendTable writes rows below their head, in columns as wide as their widest cell. The
// last column is neither padded nor cut, so that a row is a line, however long; spaces
// at a line's end are left out. The head is row -1 to paint.
func AppendTable(b []byte, head []string, rows [][]string, cells func(string) int, paint func(row, col int, padded string) string) []byte {
	widths := make([]int, len(head))
	for n := -1; n < len(rows); n++ {
		for i, cell := range line(head, rows, n)[:len(head)-1] {
			widths[i] = max(widths[i], cells(cell))
		}
	}
	var padded []byte
	for n := -1; n < len(rows); n++ {
		for i, cell := range line(head, rows, n) {
			padded = append(padded[:0], cell...)
			for room := widths[i] + 2 - cells(cell); i < len(head)-1 && room > 0; room-- {
				padded = append(padded, ' ')
			}
			b = append(b, paint(n, i, string(padded))...)
		}
		for len(b) > 0 && b[len(b)-1] == ' ' {
			b = b[:len(b)-1]
		}
		b = append(b, '\n')
	}
	return b
}

// line is row n of a table, -1 being its head.
func line(head []string, rows [][]string, n int) []string {
	if n < 0 {
		return head
	}
	return rows[n]
}
