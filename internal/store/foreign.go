package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/driver"
)

// foreignPatience bounds what is asked of another program's database.
const foreignPatience = 2 * time.Second

// maxForeignText bounds, in bytes, a text that is read of another program's database.
const maxForeignText = 64 << 10

// ErrSchema is the error of a database that has not the table or the columns that it
// was asked for.
var ErrSchema = errors.New("the database has another form")

// A TableQuery asks for some columns of a table.
type TableQuery struct {
	Table   string
	Columns []string          // names; "" gives "" in every row
	Equal   map[string]string // column → the value that it must have
	Newest  string            // column to order by, greatest first; "" leaves the order open
	Limit   int               // rows at most
}

// ReadTable reads rows of another program's SQLite database as texts; NULL is "". It
// leaves that program alone: nothing is written, no file is made beside the database,
// and no lock is taken that could hold up a writer. Of a database with a write-ahead
// log that is in use, what was committed last is seen. It is [fs.ErrNotExist] when there
// is no such file, and [ErrSchema] when the table or a column is not there.
func ReadTable(ctx context.Context, file string, q TableQuery) ([][]string, error) {
	address, err := foreignAddress(file)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	db, err := driver.Open(address, leaveLog)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	defer db.Close()
	ctx, cancel := context.WithTimeout(ctx, foreignPatience)
	defer cancel()
	rows, err := q.run(ctx, db)
	if code := sqlite3.ErrorCode(0); errors.As(err, &code) && code == sqlite3.ERROR {
		err = fmt.Errorf("%w (%w)", ErrSchema, err)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	return rows, nil
}

// foreignAddress says how to open another program's database. Only one that has a
// write-ahead log with something in it is opened as its own program does, which takes
// a mark in the shared memory beside it, in nobody's way; every other one is read
// without any lock, for a reader's lock on it would keep its program from writing.
func foreignAddress(file string) (string, error) {
	head, err := fileHead(file, 20)
	if err != nil {
		return "", err
	}
	values := url.Values{"immutable": {"1"}}
	if logged := len(head) == 20 && head[19] == 2; logged && size(file+"-wal") > 0 && size(file+"-shm") > 0 {
		values = url.Values{"mode": {"ro"}}
	}
	values["_pragma"] = []string{"busy_timeout(200)", "query_only(1)", "trusted_schema(0)"}
	u := url.URL{Scheme: "file", Path: file, RawQuery: strings.ReplaceAll(values.Encode(), "+", "%20")}
	return u.String(), nil
}

// leaveLog keeps a connection, should it be the last one, from trying to put the log's
// pages back and lock the file for that.
func leaveLog(c *sqlite3.Conn) error {
	_, err := c.Config(sqlite3.DBCONFIG_NO_CKPT_ON_CLOSE, true)
	return err
}

// fileHead is the beginning of a regular file.
func fileHead(file string, n int) ([]byte, error) {
	if fi, err := os.Stat(file); err != nil {
		return nil, err
	} else if !fi.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: file, Err: errors.New("not a file")}
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	head := make([]byte, n)
	got, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	return head[:got], nil
}

func size(file string) int64 {
	fi, err := os.Stat(file)
	if err != nil {
		return 0
	}
	return fi.Size()
}

// run asks the query. Names are qualified: SQLite would take a quoted name that it
// doesn't know for a text.
func (q TableQuery) run(ctx context.Context, db *sql.DB) ([][]string, error) {
	column := func(name string) string { return `t."` + strings.ReplaceAll(name, `"`, `""`) + `"` }
	var columns, conditions []string
	var args []any
	for _, name := range q.Columns {
		if name == "" {
			columns = append(columns, "''")
			continue
		}
		columns = append(columns, fmt.Sprintf("substr(CAST(%s AS TEXT), 1, %d)", column(name), maxForeignText))
	}
	for name, value := range q.Equal {
		conditions = append(conditions, fmt.Sprintf("CAST(%s AS TEXT) = ?", column(name)))
		args = append(args, value)
	}
	text := "SELECT " + strings.Join(columns, ", ") + ` FROM "` + strings.ReplaceAll(q.Table, `"`, `""`) + `" AS t`
	if len(conditions) > 0 {
		text += " WHERE " + strings.Join(conditions, " AND ")
	}
	if q.Newest != "" {
		text += " ORDER BY " + column(q.Newest) + " DESC"
	}
	rows, err := db.QueryContext(ctx, text+fmt.Sprintf(" LIMIT %d", q.Limit), args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all [][]string
	for rows.Next() {
		cells := make([]sql.NullString, len(q.Columns))
		dest := make([]any, len(cells))
		for i := range cells {
			dest[i] = &cells[i]
		}
		if err := rows.Scan(dest...); err != nil {
			return nil, err
		}
		row := make([]string, len(cells))
		for i, c := range cells {
			row[i] = c.String
		}
		all = append(all, row)
	}
	return all, rows.Err()
}
