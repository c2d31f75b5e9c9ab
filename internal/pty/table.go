package pty

import "sync"

// A table is the whole process table at one moment, for as many as asked for it before
// that: a daemon that ends a thousand sessions at once would else read all processes of
// the machine for each of them. It is not changed any more once it has been read.
type table struct {
	once     sync.Once
	err      error
	all      []Info
	byPID    map[int]Info
	children map[int][]Info
}

// tables orders the readings: one at a time, and whoever asks during one gets the next.
var tables struct {
	reading sync.Mutex // before mu
	mu      sync.Mutex
	next    *table // asked for, and its reading has not begun; nil: nobody has asked
}

// readTable gives a table that was read after the call.
func readTable() (*table, error) {
	tables.mu.Lock()
	t := tables.next
	if t == nil {
		t = &table{}
		tables.next = t
	}
	tables.mu.Unlock()
	t.once.Do(t.read)
	return t, t.err
}

func (t *table) read() {
	tables.reading.Lock()
	defer tables.reading.Unlock()
	tables.mu.Lock()
	tables.next = nil
	tables.mu.Unlock()
	if t.all, t.err = processes(); t.err != nil {
		return
	}
	t.byPID, t.children = make(map[int]Info, len(t.all)), make(map[int][]Info, len(t.all))
	for _, p := range t.all {
		t.byPID[p.PID] = p
		t.children[p.Parent] = append(t.children[p.Parent], p)
	}
}
