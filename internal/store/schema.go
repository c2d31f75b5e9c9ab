package store

import (
	"fmt"
	"strings"
)

// migrations bring a file from version i to i+1. One that was published never
// changes. A column may only be added, and with a default, so that an older
// version can go on writing its own columns; words in them are never reused.
var migrations = []string{
	`CREATE TABLE meta (
		key   TEXT PRIMARY KEY,
		value TEXT NOT NULL
	);
	CREATE TABLE projects (
		id         INTEGER PRIMARY KEY AUTOINCREMENT,
		root       TEXT NOT NULL UNIQUE,
		name       TEXT NOT NULL,
		created_at INTEGER NOT NULL
	);
	CREATE TABLE sessions (
		id                TEXT PRIMARY KEY,
		project_id        INTEGER NOT NULL REFERENCES projects (id),
		kind              TEXT NOT NULL DEFAULT '',
		agent_id          TEXT NOT NULL DEFAULT '',
		command           TEXT NOT NULL DEFAULT '',
		folder            TEXT NOT NULL DEFAULT '',
		worktree          TEXT NOT NULL DEFAULT '',
		spawned_by        TEXT NOT NULL DEFAULT '',
		created_at        INTEGER NOT NULL DEFAULT 0,
		pid               INTEGER NOT NULL DEFAULT 0,
		pid_start         INTEGER NOT NULL DEFAULT 0,
		title             TEXT NOT NULL DEFAULT '',
		conversation      TEXT NOT NULL DEFAULT '',
		conversation_past TEXT NOT NULL DEFAULT '[]',
		transcript        TEXT NOT NULL DEFAULT '',
		config_env        TEXT NOT NULL DEFAULT '{}',
		prompted          INTEGER NOT NULL DEFAULT 0,
		status            TEXT NOT NULL DEFAULT '',
		status_since      INTEGER NOT NULL DEFAULT 0,
		seen              INTEGER NOT NULL DEFAULT 0,
		live_title        TEXT NOT NULL DEFAULT '',
		first_prompt      TEXT NOT NULL DEFAULT '',
		cwd               TEXT NOT NULL DEFAULT '',
		cols              INTEGER NOT NULL DEFAULT 0,
		rows              INTEGER NOT NULL DEFAULT 0,
		machine           BLOB,
		closed_at         INTEGER NOT NULL DEFAULT 0,
		reason            TEXT NOT NULL DEFAULT '',
		exit_code         INTEGER,
		exit_signal       TEXT NOT NULL DEFAULT ''
	);
	CREATE INDEX sessions_by_project ON sessions (project_id, closed_at);
	CREATE TABLE events (
		seq   INTEGER PRIMARY KEY AUTOINCREMENT,
		event TEXT NOT NULL
	);`,

	`ALTER TABLE sessions ADD COLUMN carry BLOB;
	CREATE TABLE requests (
		id         TEXT PRIMARY KEY,
		session    TEXT NOT NULL,
		created_at INTEGER NOT NULL DEFAULT 0,
		text       TEXT NOT NULL DEFAULT '',
		state      BLOB
	);`,
}

// migrate brings the schema up to date. A file of a newer version is used as it is.
func migrate(q *queries, steps []string) error {
	version, err := schemaVersion(q)
	if err != nil || version >= len(steps) {
		return err
	}
	return q.transaction(func(q *queries) error {
		// Another process may have done it while this one waited for its turn.
		if version, err = schemaVersion(q); err != nil {
			return err
		}
		for i := version; i < len(steps); i++ {
			for statement := range strings.SplitSeq(steps[i], ";") {
				if strings.TrimSpace(statement) == "" {
					continue
				}
				if err := q.exec(statement); err != nil {
					return fmt.Errorf("bring the schema to version %d: %w", i+1, err)
				}
			}
		}
		if version >= len(steps) {
			return nil
		}
		return q.exec(fmt.Sprintf("PRAGMA user_version = %d", len(steps)))
	})
}

func schemaVersion(q *queries) (int, error) {
	var version int
	_, err := q.row("PRAGMA user_version", nil, &version)
	return version, err
}
