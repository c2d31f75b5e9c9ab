package store

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"termio/internal/api"
)

// Kind says what a session was started as.
type Kind string

// The kinds. A file may hold others, written by a newer version.
const (
	KindAgent Kind = "agent"
	KindRun   Kind = "run"   // a login shell with a command
	KindShell Kind = "shell" // a login shell
)

// A Session is everything stored of one pane. Times are kept in milliseconds;
// the zero time and "" mean unknown.
type Session struct {
	ID        api.SessionID
	ProjectID int64
	Kind      Kind
	AgentID   string
	Command   string // what `run` was given
	Folder    string // where it was started; absolute
	Worktree  string // its own work tree, if it has one; absolute
	SpawnedBy api.SessionID
	CreatedAt time.Time

	Title string // what its person called it

	Conversation string
	// ConversationPast are conversations it had before, oldest first. Nil in
	// PutSession leaves what is stored.
	ConversationPast []string
	Transcript       string
	// ConfigEnv are variables that decide where its agent keeps its files. Nil
	// in PutSession leaves what is stored.
	ConfigEnv map[string]string
	Prompted  bool // its conversation has been given a prompt, so it can be resumed

	Progress
	Closing
}

// Progress is what changes while a session runs.
type Progress struct {
	Status      api.Status
	StatusSince time.Time
	Seen        bool   // a person has looked since the turn ended
	LiveTitle   string // the terminal's
	FirstPrompt string
	Cwd         string // as the shell reported it
	Cols, Rows  int    // cells
	PID         int    // of the process that leads the terminal
	PIDStart    int64
	// Machine is the status machine's state. Nil leaves what is stored.
	Machine []byte
	// Carry is what else the host hands to the next one, in the host's own words. Nil
	// leaves what is stored.
	Carry []byte
}

// Closing is how a session ended; a zero ClosedAt is one that did not.
type Closing struct {
	ClosedAt   time.Time
	Reason     string
	ExitCode   *int
	ExitSignal string
}

// Closed reports whether the session has ended.
func (c Closing) Closed() bool { return !c.ClosedAt.IsZero() }

// sessionColumns are the columns of this version, in the order of values and
// scan. Statements name them one by one: a newer file has more.
const sessionColumns = `project_id, kind, agent_id, command, folder, worktree, spawned_by, created_at,
	pid, pid_start, title, conversation, conversation_past, transcript, config_env, prompted,
	status, status_since, seen, live_title, first_prompt, cwd, cols, rows, machine,
	closed_at, reason, exit_code, exit_signal, carry`

const putSession = `INSERT INTO sessions (id, ` + sessionColumns + `)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, COALESCE(?14, '[]'), ?15, COALESCE(?16, '{}'), ?17,
		?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31)
	ON CONFLICT (id) DO UPDATE SET
		project_id = ?2, kind = ?3, agent_id = ?4, command = ?5, folder = ?6, worktree = ?7, spawned_by = ?8, created_at = ?9,
		pid = ?10, pid_start = ?11, title = ?12, conversation = ?13, conversation_past = COALESCE(?14, conversation_past),
		transcript = ?15, config_env = COALESCE(?16, config_env), prompted = ?17,
		status = ?18, status_since = ?19, seen = ?20, live_title = ?21, first_prompt = ?22, cwd = ?23, cols = ?24, rows = ?25,
		machine = COALESCE(?26, machine), closed_at = ?27, reason = ?28, exit_code = ?29, exit_signal = ?30,
		carry = COALESCE(?31, carry)`

// PutSession stores a session whole, new or known, and survives a power loss:
// it is for who and what a session is, and for what it is bound to. A session
// with a zero Closing that was closed is open again. The request that it is started
// for, if there is one, is stored with it: both or neither.
func (s *Store) PutSession(v Session, with ...Request) error {
	past, err := jsonOrNil(v.ConversationPast, v.ConversationPast == nil)
	if err != nil {
		return fmt.Errorf("store session %s: %w", v.ID, err)
	}
	env, err := jsonOrNil(v.ConfigEnv, v.ConfigEnv == nil)
	if err != nil {
		return fmt.Errorf("store session %s: %w", v.ID, err)
	}
	return s.writeThrough(fmt.Sprintf("store session %s", v.ID), func(q *queries) error {
		for _, r := range with {
			if err := putRequest(q, r); err != nil {
				return err
			}
		}
		return q.exec(putSession,
			string(v.ID), v.ProjectID, string(v.Kind), v.AgentID, v.Command, v.Folder, v.Worktree, string(v.SpawnedBy), millis(v.CreatedAt),
			v.PID, v.PIDStart, v.Title, v.Conversation, past, v.Transcript, env, v.Prompted,
			string(v.Status), millis(v.StatusSince), v.Seen, v.LiveTitle, v.FirstPrompt, v.Cwd, v.Cols, v.Rows, blobOrNil(v.Machine),
			millis(v.ClosedAt), v.Reason, v.ExitCode, v.ExitSignal, blobOrNil(v.Carry))
	})
}

const updateProgress = `UPDATE sessions SET status = ?2, status_since = ?3, seen = ?4, live_title = ?5, first_prompt = ?6,
	cwd = ?7, cols = ?8, rows = ?9, machine = COALESCE(?10, machine), carry = COALESCE(?11, carry), pid = ?12, pid_start = ?13 WHERE id = ?1`

// UpdateStatus stores how far a session is. A session that is not stored is an
// error.
func (s *Store) UpdateStatus(id api.SessionID, p Progress) error {
	return s.write(fmt.Sprintf("store the status of session %s", id), func(q *queries) error { return progress(q, id, p) })
}

// Transition stores a session's progress together with the event that tells of
// it: both or neither. It numbers the event like AppendEvent.
func (s *Store) Transition(id api.SessionID, p Progress, e *api.Event) error {
	return s.record(fmt.Sprintf("store the status of session %s", id), e, func(q *queries) error { return progress(q, id, p) })
}

func progress(q *queries, id api.SessionID, p Progress) error {
	return mustChange(q.change(updateProgress, string(id), string(p.Status), millis(p.StatusSince), p.Seen, p.LiveTitle, p.FirstPrompt,
		p.Cwd, p.Cols, p.Rows, blobOrNil(p.Machine), blobOrNil(p.Carry), p.PID, p.PIDStart))
}

// errAlreadyClosed ends a CloseSession that has nothing to do.
var errAlreadyClosed = errors.New("already closed")

// forgetClosed forgets the sessions that ended first when more than so many have. It reads
// an index alone as long as there are fewer.
const forgetClosed = `DELETE FROM sessions WHERE id IN
	(SELECT id FROM sessions WHERE closed_at > 0 ORDER BY closed_at DESC, rowid DESC LIMIT -1 OFFSET ?)`

// CloseSession stores how a session ended, together with the event that tells
// of it: both or neither. A session that is closed already keeps its first
// reason and no event is added, which e.Seq 0 shows; one that is not stored is
// an error.
func (s *Store) CloseSession(id api.SessionID, c Closing, e *api.Event) error {
	err := s.record(fmt.Sprintf("close session %s", id), e, func(q *queries) error {
		n, err := q.change(`UPDATE sessions SET status = ?2, closed_at = ?3, reason = ?4, exit_code = ?5, exit_signal = ?6
			WHERE id = ?1 AND closed_at = 0`, string(id), string(api.Closed), millis(c.ClosedAt), c.Reason, c.ExitCode, c.ExitSignal)
		if err != nil {
			return err
		}
		if n > 0 {
			return q.exec(forgetClosed, maxClosed)
		}
		known, err := q.row("SELECT id FROM sessions WHERE id = ?", []any{string(id)}, new(string))
		if err == nil && known {
			err = errAlreadyClosed
		}
		return mustChange(0, err)
	})
	if errors.Is(err, errAlreadyClosed) {
		return nil
	}
	return err
}

// ForgetSession removes a session that never came to life, and the requests for it: its
// start failed. It is no error if there is none.
func (s *Store) ForgetSession(id api.SessionID) error {
	return s.write(fmt.Sprintf("forget session %s", id), func(q *queries) error {
		if err := q.exec("DELETE FROM requests WHERE session = ?", string(id)); err != nil {
			return err
		}
		return q.exec("DELETE FROM sessions WHERE id = ?", string(id))
	})
}

// mustChange makes a change of no row an error.
func mustChange(n int64, err error) error {
	if err == nil && n == 0 {
		return errors.New("no such session is stored")
	}
	return err
}

// Filter chooses sessions.
type Filter struct {
	ProjectID int64 // 0: every project
	Closed    bool  // also those that ended
	Limit     int   // the latest ones only; 0: all
}

// Sessions returns the sessions that a filter chooses, oldest first.
func (s *Store) Sessions(f Filter) ([]Session, error) {
	limit := f.Limit
	if limit <= 0 {
		limit = -1
	}
	var all []Session
	err := s.read("list the sessions", func(q *queries) error {
		return q.rows("SELECT id, "+sessionColumns+` FROM sessions WHERE (?1 = 0 OR project_id = ?1) AND (?2 OR closed_at = 0)
			ORDER BY created_at DESC, rowid DESC LIMIT ?3`, []any{f.ProjectID, f.Closed, limit}, func(scan scanner) error {
			v, err := scanSession(scan)
			all = append(all, v)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	slices.Reverse(all)
	return all, nil
}

// Session returns one session; false if there is none.
func (s *Store) Session(id api.SessionID) (Session, bool, error) {
	var v Session
	found := false
	err := s.read(fmt.Sprintf("read session %s", id), func(q *queries) error {
		return q.rows("SELECT id, "+sessionColumns+" FROM sessions WHERE id = ?", []any{string(id)}, func(scan scanner) (err error) {
			found = true
			v, err = scanSession(scan)
			return err
		})
	})
	return v, found, err
}

// scanSession reads a row of id and sessionColumns. A list or map that a newer
// version spells otherwise is left out; storing the session keeps it.
func scanSession(scan scanner) (Session, error) {
	var v Session
	var created, since, closed int64
	var past, env string
	var exit sql.NullInt64
	err := scan(&v.ID, &v.ProjectID, &v.Kind, &v.AgentID, &v.Command, &v.Folder, &v.Worktree, &v.SpawnedBy, &created,
		&v.PID, &v.PIDStart, &v.Title, &v.Conversation, &past, &v.Transcript, &env, &v.Prompted,
		&v.Status, &since, &v.Seen, &v.LiveTitle, &v.FirstPrompt, &v.Cwd, &v.Cols, &v.Rows, &v.Machine,
		&closed, &v.Reason, &exit, &v.ExitSignal, &v.Carry)
	if err != nil {
		return Session{}, err
	}
	v.CreatedAt, v.StatusSince, v.ClosedAt = fromMillis(created), fromMillis(since), fromMillis(closed)
	if exit.Valid {
		code := int(exit.Int64)
		v.ExitCode = &code
	}
	if json.Unmarshal([]byte(past), &v.ConversationPast) != nil {
		v.ConversationPast = nil
	}
	if json.Unmarshal([]byte(env), &v.ConfigEnv) != nil {
		v.ConfigEnv = nil
	}
	return v, nil
}

// millis is how times are stored.
func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func fromMillis(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// jsonOrNil encodes a list or map, nil for one that is not given.
func jsonOrNil(v any, absent bool) (any, error) {
	if absent {
		return nil, nil
	}
	b, err := json.Marshal(v)
	return string(b), err
}

func blobOrNil(b []byte) any {
	if b == nil {
		return nil
	}
	return b
}
