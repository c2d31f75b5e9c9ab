package integrate

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"termio/internal/config"
)

// A record is what we remember of a file that we have edited, so that a
// removal gives back the very bytes. Losing it costs only layout: a removal
// then takes out our entries and what is empty without them.
type record struct {
	File    string   `json:"file"`
	Existed bool     `json:"existed"`        // the file was there before our first edit
	Dirs    []string `json:"dirs,omitempty"` // folders that we made for it
	Undo    []undo   `json:"undo,omitempty"` // the latest last
}

// An undo takes one edit back: in a file with that sum, Len bytes at At were Old.
type undo struct {
	Sum string `json:"sum"` // SHA-256 of the file after the edit
	At  int    `json:"at"`
	Len int    `json:"len"`
	Old []byte `json:"old"`
}

// maxUndo is how many edits a record remembers: a crash between record and file leaves one
// that was never made.
const maxUndo = 3

// remember adds the edit that made after out of before.
func (r *record) remember(before, after []byte) {
	n, m := len(before), len(after)
	head := 0
	for head < n && head < m && before[head] == after[head] {
		head++
	}
	tail := 0
	for tail < n-head && tail < m-head && before[n-1-tail] == after[m-1-tail] {
		tail++
	}
	r.Undo = append(r.Undo, undo{Sum: sum(after), At: head, Len: m - head - tail, Old: before[head : n-tail]})
	if len(r.Undo) > maxUndo {
		r.Undo = r.Undo[len(r.Undo)-maxUndo:]
	}
}

// undo gives a file's content without our edit, nil for a file that was not
// there; known is false if somebody else has changed it since.
func (r *record) undo(data []byte) (before []byte, known bool) {
	s := sum(data)
	for _, u := range r.Undo {
		if u.Sum == s && u.At+u.Len <= len(data) {
			before = bytes.Join([][]byte{data[:u.At], u.Old, data[u.At+u.Len:]}, nil)
			if len(before) == 0 && !r.Existed {
				before = nil
			}
			return before, true
		}
	}
	return nil, false
}

func sum(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}

// recordDir is where the record and the backup of a file are.
func (in *Installer) recordDir(file string) string {
	return filepath.Join(in.backups, sum([]byte(file))[:16])
}

func (in *Installer) recordFile(file string) string {
	return filepath.Join(in.recordDir(file), "record.json")
}

func (in *Installer) backupFile(file string) string {
	return filepath.Join(in.recordDir(file), "original")
}

// loadRecord reads what is remembered of a file; an unreadable record is as none.
func (in *Installer) loadRecord(file string) record {
	r := record{File: file}
	data, err := os.ReadFile(in.recordFile(file))
	if err == nil && json.Unmarshal(data, &r) == nil && r.File == file {
		return r
	}
	return record{File: file}
}

// saveRecord stores a record before the edit that it is about.
func (in *Installer) saveRecord(r record) error {
	data, err := json.Marshal(r)
	if err == nil {
		err = in.write(in.recordFile(r.File), data)
	}
	if err != nil {
		return fmt.Errorf("remember the edit: %w", err)
	}
	return nil
}

// write puts a file of ours into the records.
func (in *Installer) write(file string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	_, err := config.EditFile(file, newFile, func([]byte) ([]byte, error) { return data, nil })
	return err
}

// backup keeps a file as it was before our first edit; nil is a file that was not there.
func (in *Installer) backup(file string, data []byte) error {
	if data == nil {
		return nil
	}
	if err := in.write(in.backupFile(file), data); err != nil {
		return fmt.Errorf("back the file up: %w", err)
	}
	return nil
}

// forgetRecord drops a record whose edits are undone. The backup stays.
func (in *Installer) forgetRecord(file string) error {
	err := os.Remove(in.recordFile(file))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forget the edit of %s: %w", file, err)
	}
	return nil
}
