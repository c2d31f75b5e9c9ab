package agent

import (
	"errors"
	"fmt"
	"io/fs"
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
	if m.Resume.Discover == nil || m.Resume.StoreRoot != "" {
		return m.FindRecord(at, conversation)
	}
	records, err := m.records(at, nil)
	if err != nil {
		return "", err
	}
	for _, r := range records {
		if r.ID == conversation {
			return r.Path, nil
		}
	}
	return "", fmt.Errorf("conversation %s: %w", conversation, fs.ErrNotExist)
}
