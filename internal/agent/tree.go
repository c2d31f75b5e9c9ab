package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// A node is a JSON value that knows where it stood. It serves two readers: manifests
// want exact places for their errors, reports want whatever can still be read of a
// payload that was cut off.
type node struct {
	at     int64 // offset of the first byte
	value  any   // nil, bool, json.Number, string; unused for the two below
	list   []*node
	fields []field
	kind   nodeKind
}

type field struct {
	key   string
	at    int64 // offset of the key
	value *node
}

type nodeKind byte

// The kinds of nodes, as messages spell them.
const (
	isNull nodeKind = iota
	isFlag
	isNumber
	isText
	isList
	isObject
)

func (k nodeKind) String() string {
	return [...]string{"null", "true or false", "a number", "a string", "a list", "an object"}[k]
}

// Bounds of what readTree takes in: more is an error, or, of a payload, left out.
const (
	maxDepth = 64
	maxNodes = 200_000
)

var (
	errTooDeep = errors.New("nested too deep")
	errTooBig  = errors.New("too many values")
)

// treeReader reads one JSON value. It keeps what it has when it must stop.
type treeReader struct {
	data  []byte
	dec   *json.Decoder
	nodes int
}

// readTree parses data. On an error the node holds what was read before it; at is
// the offset of the trouble.
func readTree(data []byte) (n *node, at int64, err error) {
	r := &treeReader{data: data, dec: json.NewDecoder(bytes.NewReader(data))}
	r.dec.UseNumber()
	n, err = r.value(0)
	if err == nil {
		if _, extra := r.dec.Token(); !errors.Is(extra, io.EOF) {
			err = errors.New("something follows the value")
		}
	}
	if err != nil {
		at = r.dec.InputOffset()
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			at = syntax.Offset
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err, at = io.ErrUnexpectedEOF, int64(len(data))
		}
	}
	return n, at, err
}

// next gives the next token and the offset where it begins.
func (r *treeReader) next() (json.Token, int64, error) {
	at := r.dec.InputOffset()
	for at < int64(len(r.data)) && strings.IndexByte(" \t\r\n,:", r.data[at]) >= 0 {
		at++
	}
	t, err := r.dec.Token()
	return t, at, err
}

func (r *treeReader) value(depth int) (*node, error) {
	t, at, err := r.next()
	if err != nil {
		return nil, err
	}
	return r.from(t, at, depth)
}

func (r *treeReader) from(t json.Token, at int64, depth int) (*node, error) {
	n := &node{at: at}
	if r.nodes++; r.nodes > maxNodes {
		return nil, errTooBig
	}
	switch v := t.(type) {
	case nil:
	case bool:
		n.kind, n.value = isFlag, v
	case json.Number:
		n.kind, n.value = isNumber, v
	case string:
		n.kind, n.value = isText, v
	case json.Delim:
		if depth >= maxDepth {
			return nil, errTooDeep
		}
		if v == '{' {
			n.kind = isObject
			return n, r.object(n, depth)
		}
		n.kind = isList
		return n, r.list(n, depth)
	}
	return n, nil
}

func (r *treeReader) object(n *node, depth int) error {
	for {
		t, at, err := r.next()
		if err != nil {
			return err
		}
		if t == json.Delim('}') {
			return nil
		}
		key, ok := t.(string)
		if !ok {
			return fmt.Errorf("key %v is no string", t)
		}
		v, err := r.value(depth + 1)
		if v != nil {
			n.fields = append(n.fields, field{key, at, v})
		}
		if err != nil {
			return err
		}
	}
}

func (r *treeReader) list(n *node, depth int) error {
	for {
		t, at, err := r.next()
		if err != nil {
			return err
		}
		if t == json.Delim(']') {
			return nil
		}
		v, err := r.from(t, at, depth+1)
		if v != nil {
			n.list = append(n.list, v)
		}
		if err != nil {
			return err
		}
	}
}

// get is the value of a key; of a key that stands twice, the last one, as
// encoding/json has it.
func (n *node) get(key string) *node {
	if n == nil {
		return nil
	}
	for i := len(n.fields) - 1; i >= 0; i-- {
		if n.fields[i].key == key {
			return n.fields[i].value
		}
	}
	return nil
}

// path follows a dotted key path; a number counts into a list.
func (n *node) path(path string) *node {
	if path == "" {
		return nil
	}
	for key := range strings.SplitSeq(path, ".") {
		if n == nil {
			return nil
		}
		if n.kind == isList {
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(n.list) {
				return nil
			}
			n = n.list[i]
			continue
		}
		n = n.get(key)
	}
	return n
}

// text is a scalar as text; "" for null, lists and objects.
func (n *node) text() string {
	if n == nil {
		return ""
	}
	switch v := n.value.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	case bool:
		return strconv.FormatBool(v)
	}
	return ""
}

// int64 is a whole number, also one that stands as text.
func (n *node) int64() (int64, bool) {
	i, err := strconv.ParseInt(n.text(), 10, 64)
	return i, err == nil
}
