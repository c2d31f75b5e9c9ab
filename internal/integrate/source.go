package integrate

import (
	"bytes"
	"fmt"
	"slices"
)

// A source is the text of a file of another program while it is edited. Edits cut and
// insert bytes and leave every other one where it is.
type source struct {
	file string
	bom  bool
	text []byte // without the BOM
}

var bom = []byte("\xef\xbb\xbf")

// A FileError says where a file of another program cannot be edited, and why.
type FileError struct {
	File         string
	Line, Column int // from 1, columns in bytes
	Reason       string
}

func (e *FileError) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s: correct the file and try again; it was left as it is", e.File, e.Line, e.Column, e.Reason)
}

// An edit replaces text[from:to].
type edit struct {
	from, to int
	with     string
}

func newSource(file string, data []byte) source {
	s := source{file: file}
	s.text, s.bom = bytes.CutPrefix(data, bom)
	return s
}

// bytes is the file's content.
func (s *source) bytes() []byte {
	if s.bom {
		return append(bytes.Clone(bom), s.text...)
	}
	return s.text
}

// errorAt is a FileError at a place in the text.
func (s *source) errorAt(offset int, reason string) error {
	before := s.text[:offset]
	return &FileError{s.file, 1 + bytes.Count(before, []byte("\n")), offset - bytes.LastIndexByte(before, '\n'), reason}
}

// splice makes edits whose places are those of the present text and do not overlap.
func (s *source) splice(edits []edit) {
	slices.SortStableFunc(edits, func(a, b edit) int { return a.from - b.from })
	var text []byte
	done := 0
	for _, e := range edits {
		text = append(append(text, s.text[done:e.from]...), e.with...)
		done = e.to
	}
	s.text = append(text, s.text[done:]...)
}
