package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// foreignDB makes a database as another program would, in a journal mode, and keeps it open.
func foreignDB(t *testing.T, mode string) (file string, db *sql.DB) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "agent's +db 100%.db")
	db, err := sql.Open("sqlite3", address(file, "journal_mode("+mode+")", "wal_autocheckpoint(0)"))
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() })
	execForeign(t, db, `CREATE TABLE "my session" (id TEXT PRIMARY KEY, folder TEXT, title TEXT, parent TEXT, time INTEGER)`)
	for i := range 3 {
		execForeign(t, db, `INSERT INTO "my session" VALUES (?, '/p', ?, NULL, ?)`, fmt.Sprint("s", i), fmt.Sprint("title ", i), i)
	}
	return file, db
}

func execForeign(t *testing.T, db *sql.DB, query string, args ...any) {
	t.Helper()
	if _, err := db.ExecContext(context.Background(), query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// beside lists the files of a database.
func beside(t *testing.T, file string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(file))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

var newestFirst = TableQuery{Table: "my session", Columns: []string{"id", "title", "", "parent", "time"}, Newest: "time", Limit: 2}

// TestReadTable reads a database in each of its states: in use, with its last writes
// in the log alone, and closed. Nothing is made or changed beside it.
func TestReadTable(t *testing.T) {
	for _, tt := range []struct {
		name, mode string
		closed     bool
	}{
		{"log in use", "WAL", false},
		{"log, closed", "WAL", true},
		{"journal in use", "DELETE", false},
		{"journal, closed", "DELETE", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			file, db := foreignDB(t, tt.mode)
			if tt.closed {
				if err := db.Close(); err != nil {
					t.Fatal(err)
				}
			}
			before := beside(t, file)
			got, err := ReadTable(t.Context(), file, newestFirst)
			if err != nil {
				t.Fatal(err)
			}
			want := [][]string{{"s2", "title 2", "", "", "2"}, {"s1", "title 1", "", "", "1"}}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("rows (-want +got):\n%s", diff)
			}
			if after := beside(t, file); !slices.Equal(before, after) {
				t.Errorf("beside the database: %q, before: %q", after, before)
			}
		})
	}
}

// TestReadTableOfAKilledProgram reads what a program left that was killed: the log stays
// as it is, for that program to take in.
func TestReadTableOfAKilledProgram(t *testing.T) {
	file, _ := foreignDB(t, "WAL")
	left := filepath.Join(t.TempDir(), "left.db")
	for _, end := range []string{"", "-wal", "-shm"} {
		data, err := os.ReadFile(file + end)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(left+end, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before, err := os.ReadFile(left + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	if rows, err := ReadTable(t.Context(), left, newestFirst); err != nil || len(rows) != 2 {
		t.Errorf("rows %q, error %v", rows, err)
	}
	if after, err := os.ReadFile(left + "-wal"); err != nil || !slices.Equal(before, after) {
		t.Errorf("the log has %d bytes, before %d (%v)", len(after), len(before), err)
	}
}

// TestReadTableHoldsUpNobody reads while the other program is in the midst of a write,
// and writes while the answer of a reader is open.
func TestReadTableHoldsUpNobody(t *testing.T) {
	for _, mode := range []string{"WAL", "DELETE"} {
		t.Run(mode, func(t *testing.T) {
			file, db := foreignDB(t, mode)
			execForeign(t, db, "BEGIN IMMEDIATE")
			execForeign(t, db, `UPDATE "my session" SET title = 'half' WHERE id = 's2'`)
			got, err := ReadTable(t.Context(), file, TableQuery{Table: "my session", Columns: []string{"title"}, Equal: map[string]string{"id": "s2"}, Limit: 9})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([][]string{{"title 2"}}, got); diff != "" {
				t.Errorf("in the midst of a write (-want +got):\n%s", diff)
			}
			execForeign(t, db, "COMMIT")

			reader, err := sql.Open("sqlite3", must(foreignAddress(file)))
			if err != nil {
				t.Fatal(err)
			}
			defer reader.Close()
			rows, err := reader.QueryContext(t.Context(), `SELECT id FROM "my session"`)
			if err != nil {
				t.Fatal(err)
			}
			defer rows.Close()
			if !rows.Next() {
				t.Fatal("no rows")
			}
			execForeign(t, db, "PRAGMA busy_timeout = 0")
			execForeign(t, db, `UPDATE "my session" SET title = 'new' WHERE id = 's2'`) // at once, or it fails
		})
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestReadTableOfAnotherForm: whatever stands there is an error that tells what it is.
func TestReadTableOfAnotherForm(t *testing.T) {
	file, _ := foreignDB(t, "WAL")
	dir := t.TempDir()
	garbage, empty := filepath.Join(dir, "garbage.db"), filepath.Join(dir, "empty.db")
	for name, text := range map[string]string{garbage: "no database, but long enough to have a header of one", empty: ""} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name, file string
		query      TableQuery
		want       error // nil: any
	}{
		{"no file", filepath.Join(dir, "none.db"), newestFirst, fs.ErrNotExist},
		{"no table", file, TableQuery{Table: "sessions", Columns: []string{"id"}, Limit: 1}, ErrSchema},
		{"no column", file, TableQuery{Table: "my session", Columns: []string{"name"}, Limit: 1}, ErrSchema},
		{"no column to compare", file, TableQuery{Table: "my session", Columns: []string{"id"}, Equal: map[string]string{"name": "name"}, Limit: 1}, ErrSchema},
		{"a table that tries more", file, TableQuery{Table: `my session" AS t; DROP TABLE "my session`, Columns: []string{"id"}, Limit: 1}, ErrSchema},
		{"empty", empty, newestFirst, ErrSchema},
		{"no database", garbage, newestFirst, nil},
		{"a folder", dir, newestFirst, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rows, err := ReadTable(t.Context(), tt.file, tt.query)
			if err == nil || tt.want != nil && !errors.Is(err, tt.want) {
				t.Errorf("rows %q, error %v; want %v", rows, err, tt.want)
			}
		})
	}
	if _, err := ReadTable(t.Context(), file, newestFirst); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}
