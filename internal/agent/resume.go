package agent

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
)

// A Verdict says how a conversation can be gone on with.
type Verdict string

// The verdicts.
const (
	// VerdictResume: the record is there; launch with the resume words.
	VerdictResume Verdict = "resume"
	// VerdictFresh: there never was a record, as of a session that was not prompted; launch
	// with the create words and, where we choose it, the same id.
	VerdictFresh Verdict = "fresh"
	// VerdictMissing: the record was there and is gone. Say so, and start fresh with a new id;
	// the old one stays in the session's history.
	VerdictMissing Verdict = "missing"
	// VerdictUnknown: the store can't be read now. Keep the id and offer to try again.
	VerdictUnknown Verdict = "unknown"
)

// A Decision is how to start a session again, and why.
type Decision struct {
	Verdict Verdict
	Record  string // absolute path, when there is one
	Why     string
}

// Decide looks whether a session's conversation can be resumed: exactly, or not at
// all. prompted says whether the session is known to have taken a prompt, which is
// when agents begin to keep a record.
func Decide(m *Manifest, at Place, conversation string, prompted bool) Decision {
	switch {
	case m.IsShell() || !m.CanResume():
		return Decision{Verdict: VerdictFresh, Why: "the agent keeps no conversation that could be resumed"}
	case conversation == "":
		return Decision{Verdict: VerdictFresh, Why: "no conversation was ever bound to the session"}
	case !ValidConversation(conversation):
		return Decision{Verdict: VerdictMissing, Why: fmt.Sprintf("%q is not the id of a conversation", clean(conversation, maxConversation))}
	}
	record, err := m.findConversation(at, conversation)
	switch {
	case err == nil:
		return Decision{Verdict: VerdictResume, Record: record, Why: "its record is " + record}
	case errors.Is(err, ErrUnknowable):
		if prompted || !m.ChoosesID() {
			return Decision{Verdict: VerdictResume, Why: "the session had this conversation, and the agent's store can't be looked into"}
		}
		return Decision{Verdict: VerdictFresh, Why: "the session never took a prompt"}
	case !errors.Is(err, fs.ErrNotExist):
		return Decision{Verdict: VerdictUnknown, Why: err.Error()}
	case prompted || !m.ChoosesID():
		return Decision{Verdict: VerdictMissing, Why: "the agent has no record of the conversation anymore"}
	}
	return Decision{Verdict: VerdictFresh, Why: "the session never took a prompt, so there is no record of it"}
}

// findConversation looks a conversation up wherever the manifest says.
func (m *Manifest) findConversation(at Place, conversation string) (string, error) {
	found := ""
	d, h := m.Resume.Discover, m.Resume.History
	switch {
	case m.Resume.StoreRoot != "":
		return m.FindRecord(at, conversation)
	case d != nil && d.Format == formatSQLite:
		rows, err := d.rows(at, m, TableQuery{Equal: map[string]string{d.ID: conversation}, Limit: 1}, []string{at.Folder})
		if err != nil {
			return "", err
		}
		if len(rows) > 0 {
			found = rows[0].Path
		}
	case d != nil:
		records, err := m.records(at, nil)
		if err != nil {
			return "", err
		}
		if i := slices.IndexFunc(records, func(r Record) bool { return r.ID == conversation }); i >= 0 {
			found = records[i].Path
		}
	case h != nil && h.Root != "":
		err := m.eachRecord(at, h.Root, h.Match, nil, func(p Past) {
			if found != "" {
				return
			}
			everywhere := func(string) bool { return true }
			tells, ok := m.readHead(at.FS, p.Path, everywhere, func(h recordHead) bool { return h.id != "" })
			if ok && tells.id == conversation {
				found = p.Path
			}
		})
		if err != nil {
			return "", err
		}
	default:
		return "", ErrUnknowable
	}
	if found == "" {
		return "", fmt.Errorf("conversation %s: %w", conversation, fs.ErrNotExist)
	}
	return found, nil
}

// Remembered is what an agent's record tells of a conversation that is to be taken up,
// with the folder "" where it tells none. It is [fs.ErrNotExist] only when the store
// shows that there is none, and [ErrUnknowable] where nothing can tell.
func Remembered(m *Manifest, at Place, conversation string) (Past, error) {
	p := Past{Agent: m, ID: conversation}
	if m.IsShell() || !m.CanResume() {
		return p, ErrUnknowable
	}
	record, err := m.findConversation(at, conversation)
	if err != nil {
		return p, err
	}
	p.Path = record
	if d := m.Resume.Discover; d != nil && d.Format == formatSQLite {
		rows, err := d.rows(at, m, TableQuery{Equal: map[string]string{d.ID: conversation}, Limit: 1}, []string{at.Folder})
		if err == nil && len(rows) > 0 {
			p.Folder, p.Title = rows[0].Folder, clean(rows[0].Title, maxTitle)
		}
		return p, err
	}
	file := m.recordFile(record, conversation)
	if file == "" {
		return p, nil
	}
	everywhere := func(string) bool { return true }
	tells, _ := m.readHead(at.FS, file, everywhere, pastKnown)
	p.Folder, p.Title, p.Path = tells.folder, cmp.Or(tells.title, tells.prompt), file
	return p, nil
}
