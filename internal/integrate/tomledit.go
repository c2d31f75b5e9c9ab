package integrate

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"
)

// A tomlDocument is a TOML file being edited by byte ranges. The parser says whether
// the file can be read and what its values are; where its statements stand is found
// here, for nothing that the parser gives packs back byte for byte.
type tomlDocument struct {
	source
	newline string
	items   []tomlItem
}

// A tomlItem is a statement of the file: a table's header, or a key with its value.
type tomlItem struct {
	from, to int  // text[from:to], without blanks and comments around it
	header   bool // [name] or [[name]]
	list     bool // of a header: [[name]]
	name     []string
	value    int // of a key: where its value begins
}

// parseTOML reads a file.
func parseTOML(file string, data []byte) (*tomlDocument, error) {
	d := &tomlDocument{source: newSource(file, data), newline: "\n"}
	if i := bytes.IndexByte(d.text, '\n'); i > 0 && d.text[i-1] == '\r' {
		d.newline = "\r\n"
	}
	if _, err := d.values(); err != nil {
		return nil, err
	}
	d.scan()
	return d, nil
}

// values are what the file says, as its reader sees it.
func (d *tomlDocument) values() (map[string]any, error) {
	var v map[string]any
	err := toml.Unmarshal(d.text, &v)
	if err == nil {
		return v, nil
	}
	e := &FileError{File: d.file, Line: 1, Column: 1, Reason: strings.TrimPrefix(err.Error(), "toml: ")}
	if at, ok := errors.AsType[*toml.DecodeError](err); ok {
		e.Line, e.Column = at.Position()
	}
	return nil, e
}

// apply makes edits whose places are those of the present text.
func (d *tomlDocument) apply(edits ...edit) {
	d.splice(edits)
	d.scan()
}

// changeTOML edits a file, and checks that its reader will read all that foreign spells
// as it was. next is what the person is told to do where that cannot be had.
func changeTOML(file string, data []byte, foreign func(*tomlDocument) (string, error), next string, do func(*tomlDocument) error) ([]byte, error) {
	d, err := parseTOML(file, data)
	if err != nil {
		return nil, err
	}
	before, err := foreign(d)
	if err != nil {
		return nil, err
	}
	if err := do(d); err != nil {
		return nil, err
	}
	after, err := foreign(d)
	if err != nil {
		return nil, fmt.Errorf("the edit of %s would not read back: %w: %s", file, err, next)
	}
	if before != after {
		return nil, fmt.Errorf("%s: the edit would touch what is not termio's: %s, and report this", file, next)
	}
	return d.bytes(), nil
}

// scan finds the statements. The text is known to be TOML.
func (d *tomlDocument) scan() {
	d.items = nil
	for at := d.skip(0); at < len(d.text); at = d.skip(at) {
		it := tomlItem{from: at}
		if d.text[at] == '[' {
			it.header, it.list = true, at+1 < len(d.text) && d.text[at+1] == '['
			open := 1
			if it.list {
				open = 2
			}
			it.name, at = d.key(at + open)
			it.to = min(at+open, len(d.text))
		} else {
			it.name, at = d.key(at)
			it.value = d.blanks(min(at+1, len(d.text))) // behind the equals sign
			it.to = d.valueEnd(it.value)
		}
		if it.to <= it.from {
			return // not TOML after all: never loop
		}
		d.items = append(d.items, it)
		at = it.to
	}
}

// skip passes over blanks, line breaks and comments.
func (d *tomlDocument) skip(at int) int {
	for at < len(d.text) {
		switch d.text[at] {
		case ' ', '\t', '\r', '\n':
			at++
		case '#':
			at = d.lineEnd(at)
		default:
			return at
		}
	}
	return at
}

func (d *tomlDocument) blanks(at int) int {
	for at < len(d.text) && (d.text[at] == ' ' || d.text[at] == '\t') {
		at++
	}
	return at
}

// lineEnd is the place of the line's break, or the text's end.
func (d *tomlDocument) lineEnd(at int) int {
	if i := bytes.IndexByte(d.text[at:], '\n'); i >= 0 {
		return at + i
	}
	return len(d.text)
}

// key reads a dotted key and gives the place behind it and its blanks.
func (d *tomlDocument) key(at int) (name []string, end int) {
	for {
		at = d.blanks(at)
		from := at
		if at < len(d.text) && (d.text[at] == '"' || d.text[at] == '\'') {
			at = d.stringEnd(at)
			name = append(name, tomlString(d.text[from:at]))
		} else {
			for at < len(d.text) && bytes.IndexByte([]byte(" \t.=]\r\n"), d.text[at]) < 0 {
				at++
			}
			name = append(name, string(d.text[from:at]))
		}
		at = d.blanks(at)
		if at >= len(d.text) || d.text[at] != '.' {
			return name, at
		}
		at++
	}
}

// tomlString is the text that a quoted string spells.
func tomlString(quoted []byte) string {
	var v struct{ S string }
	if err := toml.Unmarshal(append([]byte("S = "), quoted...), &v); err != nil {
		return string(quoted)
	}
	return v.S
}

// stringEnd is the place behind the string that begins at a place.
func (d *tomlDocument) stringEnd(at int) int {
	quote := d.text[at]
	end := string(quote)
	if long := strings.Repeat(end, 3); bytes.HasPrefix(d.text[at:], []byte(long)) {
		end = long
	}
	for at += len(end); at < len(d.text); at++ {
		switch {
		case quote == '"' && d.text[at] == '\\':
			at++
		case bytes.HasPrefix(d.text[at:], []byte(end)):
			at += len(end)
			for len(end) == 3 && at < len(d.text) && d.text[at] == quote {
				at++ // up to two quotes may stand before the closing three
			}
			return at
		}
	}
	return len(d.text)
}

// valueEnd is the place behind the value that begins at a place.
func (d *tomlDocument) valueEnd(at int) int {
	depth := 0
	for at < len(d.text) {
		switch c := d.text[at]; c {
		case '"', '\'':
			at = d.stringEnd(at)
			continue
		case '[', '{':
			depth++
		case ']', '}':
			if depth == 0 {
				return at
			}
			depth--
		case '#':
			if depth == 0 {
				return len(bytes.TrimRight(d.text[:at], " \t\r"))
			}
			at = d.lineEnd(at)
			continue
		case '\n', ',':
			if depth == 0 {
				return len(bytes.TrimRight(d.text[:at], " \t\r"))
			}
		}
		at++
	}
	return len(bytes.TrimRight(d.text, " \t\r\n"))
}

// elements are the values of a list that begins at a place, as their own places, with
// the place behind its closing bracket.
func (d *tomlDocument) elements(at int) (ps []part, end int) {
	end = d.valueEnd(at)
	for at = d.skip(at + 1); at < end-1; at = d.skip(at) {
		p := part{body: at, end: d.valueEnd(at)}
		p.comma = d.skip(p.end)
		at = p.comma
		if p.comma < len(d.text) && d.text[p.comma] == ',' {
			at++
		} else {
			p.comma = -1
		}
		if p.end <= p.body {
			break
		}
		ps = append(ps, p)
	}
	return ps, end
}

// lines is a statement with the line that it is alone on; a comment behind it stays.
func (d *tomlDocument) lines(it tomlItem) edit {
	from := bytes.LastIndexByte(d.text[:it.from], '\n') + 1
	if to := d.lineEnd(it.to); len(bytes.TrimSpace(d.text[it.to:to])) == 0 {
		return edit{from: from, to: min(to+1, len(d.text))}
	}
	return edit{from: it.from, to: d.blanks(it.to)}
}

// quoteTOML spells a text as a basic string.
func quoteTOML(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ' || r == 0x7f || r == utf8.RuneError:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
