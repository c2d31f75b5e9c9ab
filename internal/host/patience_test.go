package host

import (
	"strings"
	"testing"
	"time"

	"termio/internal/api"
)

// An agent that shows no sign is typed to when it has its terminal and is silent, and not
// before: a long conversation takes long to paint.
func TestUnready(t *testing.T) {
	tests := []struct {
		name           string
		waited, silent time.Duration
		cooked, blank  bool
		want           time.Duration
	}{
		{"silent", readyPatience, settlePatience, false, false, 0},
		{"painting", readyPatience, 2 * time.Second, false, false, settlePatience - 2*time.Second},
		{"painting for ever", startPatience, 0, false, false, 0},
		{"nothing drawn yet", readyPatience, time.Minute, false, true, settlePatience},
		{"nothing ever drawn", startPatience, time.Minute, false, true, 0},
		{"terminal not taken over", readyPatience, time.Minute, true, true, time.Second},
		{"terminal never taken over", startPatience, time.Minute, true, true, -1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := unready(tt.waited, tt.silent, tt.cooked, tt.blank); got != tt.want {
				t.Errorf("unready: %v, want %v", got, tt.want)
			}
		})
	}
}

// A text whose turn has not been told of yet keeps the next one back, for a while.
func TestBeginsUntil(t *testing.T) {
	at := time.Unix(1000, 0)
	before := taken{turn: 2, prompts: 3, status: api.Done}
	tests := []struct {
		name string
		now  taken
		want time.Time
	}{
		{"nothing known", taken{turn: 2, prompts: 3, status: api.Idle, lines: 9}, at.Add(beginPatience)},
		{"its turn began", taken{turn: 3, prompts: 3, status: api.Done}, time.Time{}},
		{"the prompt was told of", taken{turn: 2, prompts: 4, status: api.Done}, time.Time{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := beginsUntil(before, tt.now, at); !got.Equal(tt.want) {
				t.Errorf("beginsUntil: %v, want %v", got, tt.want)
			}
		})
	}
}

// What stands before a text in a composer is told from what an agent makes of the text.
func TestBehind(t *testing.T) {
	long := strings.Repeat("a line of it\n", 100)
	tests := []struct {
		text, draft string
		want        bool
	}{
		{"go on", "do it first go on", true},
		{"go on", "do it firstgo on", true},
		{"go on", "go on", false},
		{"go on", "go", false},                                 // a part of it
		{"go on", "do it first", false},                        // that alone
		{long, "[Pasted text #1 +99 lines]", false},            // in its place
		{long, "a line of it a line of it", false},             // its end, in a composer that scrolls
		{long, "before " + long[:40], true},                    //
		{"two  words\tand\nmore", "two words and more", false}, // drawn in its own way
		{"!ls", "ls", false},                                   // the mark has become a mode
		{"", "x", false},
	}
	for _, tt := range tests {
		if got := behind(tt.text, tt.draft); got != tt.want {
			t.Errorf("behind(%q, %q) = %v", tt.text, tt.draft, got)
		}
	}
}

// A look that comes early, to see whether a program has become an agent or an agent has
// settled, does not stand for the one when the screen has rested: by then the shell has
// the terminal back, and files have been written.
func TestEarlyLookAndTheOneAtRest(t *testing.T) {
	var l looks
	out := time.Unix(1000, 0)
	l.after(out, lookStill)
	early, rest := out.Add(lookAfter), out.Add(lookStill)
	l.still = early
	if l.rested(early.Add(-1), out) || !l.rested(early, out) {
		t.Error("the early look is not made when it is due")
	}
	if !l.still.Equal(rest) {
		t.Errorf("after an early look the next is due %v after the output, want %v", l.still.Sub(out), lookStill)
	}
	if !l.rested(rest, out) || !l.still.IsZero() {
		t.Errorf("after the look at rest another is due, %v", l.still)
	}
}

// A program that draws 5,000 times a second is looked at as often as one that draws 20
// times, and as soon.
func TestLooksUnderAFlood(t *testing.T) {
	const second, every = time.Second, time.Second / 5000
	var l looks
	var due []time.Duration
	begin := time.Unix(1000, 0)
	for at := time.Duration(0); at < second; at += every {
		now := begin.Add(at)
		if !l.soon.IsZero() && !now.Before(l.soon) { // as wake does
			l.soon = time.Time{}
			due = append(due, at)
		}
		l.after(now, lookStill)
		if rest := l.still.Sub(now); rest != lookStill {
			t.Fatalf("at %v it has rested in %v", at, rest)
		}
	}
	if len(due) != int(second/lookAfter)-1 || due[0] != lookAfter {
		t.Errorf("looks at %v", due)
	}
}
