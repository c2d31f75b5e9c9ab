package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"

	"termio/internal/api"
)

// ErrStale is the error of a status file that another process left behind.
var ErrStale = errors.New("the status file is of another process")

// StatusFilePath is where the agent's process keeps its status file; "" if it keeps
// none. home and lookup are of the agent's environment.
func (m *Manifest) StatusFilePath(pid int, home string, lookup func(string) string) string {
	if m == nil || m.StatusFile == nil {
		return ""
	}
	return m.Expand(strings.ReplaceAll(m.StatusFile.Path, "{pid}", strconv.Itoa(pid)), home, lookup)
}

// A FileProcess is the process whose status file is read. Start is its start as the
// system counts it (on Linux field 22 of /proc/PID/stat); "" is not known.
type FileProcess struct {
	PID   int
	Start string
}

// FileEvidence is what a status file says. A file of another process gives
// [ErrStale]; one that can't be read as JSON, as in the instant of being written, is
// an error too: neither changes anything. conversation is the id that the file names.
func (m *Manifest) FileEvidence(data []byte, p FileProcess, modified time.Time) (ev Evidence, conversation string, err error) {
	ev = evidence(ChannelFile, "", modified)
	if m == nil || m.StatusFile == nil {
		return ev, "", errors.New("the agent keeps no status file")
	}
	f := m.StatusFile
	root, _, err := readTree(data)
	if err != nil {
		return ev, "", fmt.Errorf("status file: %w", err)
	}
	if pid, ok := root.path(f.PID).int64(); ok && p.PID != 0 && pid != int64(p.PID) {
		return ev, "", ErrStale
	}
	if start := root.path(f.Started).text(); start != "" && p.Start != "" && start != p.Start {
		return ev, "", ErrStale
	}
	if ms, ok := root.path(f.Updated).int64(); ok && ms > 0 {
		ev.At = time.UnixMilli(ms)
	}
	if c := root.path(f.Conversation).text(); ValidConversation(c) {
		conversation = c
	}
	word := root.path(f.State).text()
	state, known := f.Values[word]
	ev.Rule = f.State + "=" + clean(word, maxText)
	if known {
		ev.Status, _ = api.ParseState(state)
	}
	ev.Text = clean(root.path(f.Reason).text(), maxText)
	return ev, conversation, nil
}

// maxStatusFiles bounds how many status files are read for one conversation.
const maxStatusFiles = 1000

// StatusFileProcesses are the processes whose status files name a conversation. Files are
// left behind by processes that were killed: whether one still runs is for the caller to see.
func (m *Manifest) StatusFileProcesses(at Place, conversation string) (all []FileProcess) {
	if m == nil || m.StatusFile == nil || m.StatusFile.Conversation == "" {
		return nil
	}
	dir, name := path.Split(m.Expand(m.StatusFile.Path, at.Home, at.Lookup))
	before, after, ok := strings.Cut(name, "{pid}")
	if !ok {
		return nil
	}
	entries, err := fs.ReadDir(at.FS, inFS(dir))
	if err != nil {
		return nil // it has no status files, so they name nobody
	}
	for _, e := range entries[:min(len(entries), maxStatusFiles)] {
		rest, ok := strings.CutPrefix(e.Name(), before)
		text, fits := strings.CutSuffix(rest, after)
		pid, err := strconv.Atoi(text)
		if !ok || !fits || err != nil || !e.Type().IsRegular() {
			continue
		}
		data, err := fs.ReadFile(at.FS, path.Join(inFS(dir), e.Name()))
		if err != nil {
			continue
		}
		root, _, _ := readTree(data)
		if root.path(m.StatusFile.Conversation).text() == conversation {
			all = append(all, FileProcess{PID: pid, Start: root.path(m.StatusFile.Started).text()})
		}
	}
	return all
}
