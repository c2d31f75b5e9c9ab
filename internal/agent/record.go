package agent

import (
	"bytes"
	"cmp"
	"io"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"
)

// recordHead is what the beginning of a record tells.
type recordHead struct {
	id, folder, title, prompt string
	updated                   time.Time
	subagent                  bool
	skipped                   bool // every line so far counts for nothing
}

// pastKnown reports whether enough is known for a list.
func pastKnown(h recordHead) bool { return h.folder != "" && (h.title != "" || h.prompt != "") }

// readHead reads as much of a record's beginning as it takes to be enough; ok is false
// for one that can't be read, is a subagent's, or, by its first bytes, of a folder that is
// not wanted.
func (m *Manifest) readHead(fsys fs.FS, file string, wanted func(string) bool, enough func(recordHead) bool) (h recordHead, ok bool) {
	f, err := fsys.Open(inFS(file))
	if err != nil {
		return h, false
	}
	defer f.Close()
	folder := m.folderBeside(fsys, file)
	if folder != "" && !wanted(folder) {
		return h, false
	}
	var buf []byte
	for size := firstHead; ; size *= 4 {
		more, err := io.ReadAll(io.LimitReader(f, int64(size-len(buf))))
		if err != nil {
			return h, false
		}
		buf = append(buf, more...)
		final := len(buf) < size || size >= maxRecordHead
		h = m.headOf(buf, path.Ext(file) == "."+formatJSON, final)
		h.folder = cmp.Or(folder, h.folder)
		if h.folder != "" && !wanted(h.folder) {
			return h, false
		}
		if final || enough(h) {
			return h, !h.subagent && !h.skipped
		}
	}
}

// folderBeside reads the folder that stands in a file of its own.
func (m *Manifest) folderBeside(fsys fs.FS, file string) string {
	h := m.Resume.History
	if h == nil || h.FolderFile == "" {
		return ""
	}
	f, err := fsys.Open(inFS(path.Join(path.Dir(file), h.FolderFile)))
	if err != nil {
		return ""
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxPath))
	if err != nil {
		return ""
	}
	return pathText(&node{kind: isText, value: strings.TrimSpace(string(data))})
}

// headOf reads the beginning of a record: the lines in it, of which the last may be cut
// off, or one JSON value.
func (m *Manifest) headOf(data []byte, single, final bool) recordHead {
	h := recordHead{skipped: true}
	first := true
	for len(data) > 0 {
		line, rest, whole := data, []byte(nil), single
		if i := bytes.IndexByte(data, '\n'); i >= 0 && !single {
			line, rest, whole = data[:i], data[i+1:], true
		}
		root, _, _ := readTree(line) // of a cut line, what there is
		m.headLine(&h, root, first, whole || final)
		first, data = false, rest
	}
	return h
}

// headLine takes in one line. Of a line that is cut off only the first can tell
// something already: whose it is.
func (m *Manifest) headLine(h *recordHead, root *node, first, whole bool) {
	r := m.Resume
	if d := r.Discover; d != nil && first {
		h.id, h.folder = root.path(d.ID).text(), pathText(root.path(d.Cwd))
		h.title, h.updated = clean(root.path(d.Title).text(), maxTitle), stamp(root.path(d.Updated).text())
		h.subagent = root.path(d.Parent).text() != ""
		h.skipped = false
	}
	if root == nil || !whole && !first || m.skipsLine(root) {
		return
	}
	h.skipped = false
	c := r.History
	if c == nil {
		return
	}
	if c.ID != "" && h.id == "" {
		h.id = root.first(c.ID)
	}
	if c.Folder != "" && h.folder == "" {
		h.folder = pathText(&node{kind: isText, value: root.first(c.Folder)})
	}
	if !whole {
		return
	}
	if text := lineText(c.Title, root); text != "" {
		h.title = text
	}
	if h.prompt == "" {
		h.prompt = lineText(c.Prompt, root)
	}
}

// skipsLine reports whether a line counts for nothing, such as a subagent's.
func (m *Manifest) skipsLine(root *node) bool {
	var skip map[string]Pattern
	if c := m.Resume.History; c != nil && c.Skip != nil {
		skip = c.Skip
	} else if m.TranscriptRules != nil {
		skip = m.TranscriptRules.Skip
	}
	for key, p := range skip {
		if root.anyMatch(key, p) {
			return true
		}
	}
	return false
}

// lineText is the text of the first rule that fits a line.
func lineText(rules []LineText, root *node) string {
	for _, r := range rules {
		fits := true
		for key, p := range r.Where {
			fits = fits && root.anyMatch(key, p)
		}
		if !fits {
			continue
		}
		if text := clean(root.first(r.Text), maxTitle); text != "" {
			return text
		}
	}
	return ""
}

// stamp reads a time as agents write it: RFC 3339, or a number of seconds or
// milliseconds since 1970. Zero is none.
func stamp(text string) time.Time {
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t
	}
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err != nil || n <= 0:
		return time.Time{}
	case n < 1e11: // in milliseconds, a day in 1973
		return time.Unix(n, 0)
	}
	return time.UnixMilli(n)
}
