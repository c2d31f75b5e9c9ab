package integrate

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tailscale/hujson"
)

// A document is a JSON file being edited. Edits cut and insert bytes and leave
// every other one where it is; after each the text is parsed anew, for files
// are small and places move.
type document struct {
	source
	root    hujson.Value
	unit    string // one level of indentation
	newline string // "\n", "\r\n", or "" in a file written on one line
}

// extensions are what a reader takes beyond plain JSON.
type extensions struct {
	comments bool
	commas   bool // behind the last element
	noBOM    bool // it does not even take a byte order mark
}

// parseDocument reads a file that holds one JSON object, with what its reader takes
// of extensions. An empty file is an empty object.
func parseDocument(file string, data []byte, takes extensions) (*document, error) {
	d := &document{source: newSource(file, data)}
	if len(bytes.TrimSpace(d.text)) == 0 {
		d.text = []byte("{\n}\n")
	}
	if err := d.parse(); err != nil {
		return nil, err
	}
	if at, what, found := d.extension(takes); found {
		return nil, d.errorAt(at, what+", which its reader does not take")
	}
	if _, ok := d.root.Value.(*hujson.Object); !ok {
		return nil, d.errorAt(d.root.StartOffset, "not an object in braces")
	}
	d.unit, d.newline = layout(d.text, d.root)
	return d, nil
}

// parse reads the text's syntax tree.
func (d *document) parse() error {
	root, err := hujson.Parse(d.text)
	if err == nil {
		d.root = root
		return nil
	}
	e := &FileError{File: d.file, Line: 1, Column: 1, Reason: err.Error()}
	if _, scanErr := fmt.Sscanf(err.Error(), "hujson: line %d, column %d:", &e.Line, &e.Column); scanErr == nil {
		_, e.Reason, _ = strings.Cut(strings.TrimPrefix(err.Error(), "hujson: line"), ": ")
	}
	return e
}

// extension finds the first thing in the text that is beyond what the reader takes.
func (d *document) extension(takes extensions) (at int, what string, found bool) {
	if d.bom && takes.noBOM {
		return 0, "a byte order mark", true
	}
	note := func(offset int, w string) {
		if !found || offset < at {
			at, what, found = offset, w, true
		}
	}
	look := func(extra hujson.Extra, offset int) {
		if i := bytes.IndexByte(extra, '/'); i >= 0 && !takes.comments {
			note(offset+i, "a comment")
		}
	}
	for v := range d.root.All() {
		look(v.BeforeExtra, v.StartOffset-len(v.BeforeExtra))
		look(v.AfterExtra, v.EndOffset)
		extra := innerExtra(*v)
		look(extra, v.EndOffset-1-len(extra))
		if ps := parts(*v); endsWithComma(ps) && !takes.commas {
			note(ps[len(ps)-1].comma, "a comma behind the last element")
		}
	}
	return at, what, found
}

// innerExtra is the white space and comments before a container's end.
func innerExtra(v hujson.Value) hujson.Extra {
	switch c := v.Value.(type) {
	case *hujson.Object:
		return c.AfterExtra
	case *hujson.Array:
		return c.AfterExtra
	}
	return nil
}

// layout finds out how a file is indented and how its lines end.
func layout(text []byte, root hujson.Value) (unit, newline string) {
	newline = "\n"
	if i := bytes.IndexByte(text, '\n'); i > 0 && text[i-1] == '\r' {
		newline = "\r\n"
	}
	obj := root.Value.(*hujson.Object)
	if len(obj.Members) == 0 {
		return "  ", newline
	}
	before := obj.Members[0].Name.BeforeExtra
	i := bytes.LastIndexByte(before, '\n')
	if i < 0 {
		return "", ""
	}
	if indent := before[i+1:]; len(bytes.TrimLeft(indent, " \t")) == 0 && len(indent) > 0 {
		return string(indent), newline
	}
	return "  ", newline
}

// apply makes edits whose places are those of the present text, and parses the result.
func (d *document) apply(edits ...edit) error {
	d.splice(edits)
	if err := d.parse(); err != nil {
		return fmt.Errorf("an edit made the file unreadable: %w", err)
	}
	return nil
}

// A part is a member or an element of a container, as places in the text.
type part struct {
	name  string       // of a member
	value hujson.Value // of a member or the element itself
	lead  int          // where the white space and comments before it begin
	body  int          // where it begins itself
	end   int          // where its value ends
	comma int          // where the comma behind it is, or would be
}

// parts are a container's members or elements; none for other values.
func parts(v hujson.Value) []part {
	var ps []part
	switch c := v.Value.(type) {
	case *hujson.Object:
		for _, m := range c.Members {
			ps = append(ps, part{
				name: m.Name.Value.(hujson.Literal).String(), value: m.Value, lead: m.Name.StartOffset - len(m.Name.BeforeExtra),
				body: m.Name.StartOffset, end: m.Value.EndOffset, comma: m.Value.EndOffset + len(m.Value.AfterExtra),
			})
		}
	case *hujson.Array:
		for _, e := range c.Elements {
			ps = append(ps, part{
				value: e, lead: e.StartOffset - len(e.BeforeExtra),
				body: e.StartOffset, end: e.EndOffset, comma: e.EndOffset + len(e.AfterExtra),
			})
		}
	}
	return ps
}

// member finds an object's member, the last of its name: the one that counts
// for readers of JSON.
func member(v hujson.Value, name string) (part, bool) {
	for _, p := range slices.Backward(parts(v)) {
		if p.name == name {
			return p, true
		}
	}
	return part{}, false
}

// isFlag reports whether a member of the root, given as a dotted path, is that flag.
func (d *document) isFlag(path string, value bool) bool {
	v := d.root
	for name := range strings.SplitSeq(path, ".") {
		p, ok := member(v, name)
		if !ok {
			return false
		}
		v = p.value
	}
	lit, ok := v.Value.(hujson.Literal)
	return ok && string(lit) == strconv.FormatBool(value)
}

// endsWithComma reports whether a comma stands behind a container's last part.
func endsWithComma(ps []part) bool {
	return len(ps) > 0 && ps[len(ps)-1].value.AfterExtra != nil
}

// push puts a value behind the last part of a container, as a member if it has
// a name, in the layout of its neighbours. Comments at the container's end stay
// where they are, before it.
func (d *document) push(container hujson.Value, name string, value any) error {
	ps := parts(container)
	end, extra := container.EndOffset-1, innerExtra(container)
	kept := bytes.TrimRight(extra, " \t\r\n")
	at := end - len(extra) + len(kept)
	newline, indent := d.newline, d.lineIndent(container.StartOffset)+d.unit
	if len(ps) > 0 {
		newline, indent = d.leadOf(ps[len(ps)-1], newline, indent)
	}
	if newline == "" && openComment(kept) {
		newline = cmp.Or(d.newline, "\n")
	}
	text, err := d.render(name, value, newline, indent)
	if err != nil {
		return err
	}
	text = newline + indent + text
	switch {
	case endsWithComma(ps):
		text += ","
	case len(ps) > 0:
		last := ps[len(ps)-1]
		return d.apply(edit{last.end, last.end, ","}, edit{at, at, text})
	case newline != "" && !bytes.Contains(extra[len(kept):], []byte("\n")):
		// The closing bracket stood on the line of the opening one.
		return d.apply(edit{at, end, text + newline + d.lineIndent(container.StartOffset)})
	}
	return d.apply(edit{at, at, text})
}

// leadOf is the line break and the indentation that a part stands behind. A
// part on the line of its container says nothing in a file of many lines.
func (d *document) leadOf(p part, newline, indent string) (string, string) {
	before := d.text[p.lead:p.body]
	if i := bytes.LastIndexByte(before, '\n'); i >= 0 {
		return cmp.Or(d.newline, "\n"), leadingBlank(before[i+1:])
	}
	if newline == "" && len(bytes.TrimSpace(before)) == 0 {
		return "", string(before)
	}
	return newline, indent
}

// lineIndent is the indentation of the line that a place is on.
func (d *document) lineIndent(at int) string {
	return leadingBlank(d.text[bytes.LastIndexByte(d.text[:at], '\n')+1:])
}

func leadingBlank(b []byte) string {
	return string(b[:len(b)-len(bytes.TrimLeft(b, " \t"))])
}

// render spells a value, as a member if it has a name, on one line or several.
func (d *document) render(name string, value any, newline, indent string) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if newline != "" {
		enc.SetIndent(indent, cmp.Or(d.unit, "  "))
	}
	if err := enc.Encode(value); err != nil {
		return "", fmt.Errorf("spell a hook: %w", err)
	}
	text := strings.ReplaceAll(strings.TrimSuffix(b.String(), "\n"), "\n", cmp.Or(newline, "\n"))
	if name == "" {
		return text, nil
	}
	sep := ": "
	if newline == "" && !bytes.Contains(d.text, []byte(": ")) {
		sep = ":"
	}
	return string(hujson.String(name)) + sep + text, nil
}

// remove takes one part out of a container, with its comma. Comments stay.
func (d *document) remove(container hujson.Value, i int) error {
	ps := parts(container)
	p := ps[i]
	kept := bytes.TrimRight(d.text[p.lead:p.body], " \t\r\n")
	own := edit{from: p.lead + len(kept), to: p.end}
	edits := []edit{}
	switch {
	case i < len(ps)-1 || endsWithComma(ps):
		if p.comma == p.end {
			own.to++
		} else {
			edits = append(edits, edit{p.comma, p.comma + 1, ""})
		}
	case i > 0:
		edits = append(edits, edit{ps[i-1].comma, ps[i-1].comma + 1, ""})
	}
	if rest := d.text[own.to:]; openComment(kept) && rest[0] != '\n' && rest[0] != '\r' {
		own.with = cmp.Or(d.newline, "\n")
	}
	return d.apply(append(edits, own)...)
}

// openComment reports whether white space and comments end in a line comment
// without its line break.
func openComment(extra []byte) bool {
	for {
		i := bytes.IndexByte(extra, '/')
		if i < 0 || i+1 == len(extra) {
			return false
		}
		end := "*/"
		if extra[i+1] == '/' {
			end = "\n"
		}
		n := bytes.Index(extra[i+2:], []byte(end))
		if n < 0 {
			return end == "\n"
		}
		extra = extra[i+2+n+len(end):]
	}
}
