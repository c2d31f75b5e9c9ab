package host

import (
	"testing"
	"time"
)

// A stall is a working session's stretch without progress: told once, armed again by
// progress, and kept back by output that goes on.
func TestQuietStretch(t *testing.T) {
	const after, enough = 20 * time.Minute, 5
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	type step struct {
		minute   int
		repo     string
		lines    int64
		scrolled uint64
		tool     string
		since    int // minute in which the work began
		want     string
	}
	tests := []struct {
		name  string
		steps []step
	}{
		{"told once with its evidence", []step{
			{minute: 0, repo: "a"},
			{minute: 19, repo: "a", lines: 3},
			{minute: 20, repo: "a", lines: 3, want: "working 20m, no repo change, transcript +3 lines"},
			{minute: 40, repo: "a", lines: 4},
		}},
		{"armed again by progress", []step{
			{minute: 0, repo: "a"},
			{minute: 20, repo: "a", want: "working 20m, no repo change, transcript +0 lines"},
			{minute: 25, repo: "b"},
			{minute: 44, repo: "b"},
			{minute: 45, repo: "b", want: "working 45m, no repo change, transcript +0 lines"},
		}},
		{"enough lines are progress", []step{{minute: 0}, {minute: 19, lines: 5}, {minute: 38, lines: 5}, {minute: 39, lines: 6, want: "working 39m, transcript +1 lines"}}},
		{"a new turn begins anew", []step{{minute: 0}, {minute: 19, since: 18}, {minute: 30, since: 18}, {minute: 39, since: 18, want: "working 21m, transcript +0 lines"}}},
		{"output that goes on", []step{
			{minute: 0},
			{minute: 5, scrolled: 10},
			{minute: 10, scrolled: 20},
			{minute: 15, scrolled: 30},
			{minute: 20, scrolled: 40},
			{minute: 25, scrolled: 40},
			{minute: 30, scrolled: 40},
			{minute: 35, scrolled: 40},
			{minute: 40, scrolled: 40, want: "working 40m, transcript +0 lines"},
		}},
		{"an open tool call is named", []step{{minute: 0, tool: "Bash"}, {minute: 21, tool: "Bash", want: "working 21m, transcript +0 lines, open tool call: Bash"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var q quietStretch
			for _, s := range tt.steps {
				got, stalled := q.look(stallSigns{
					now: start.Add(time.Duration(s.minute) * time.Minute), since: start.Add(time.Duration(s.since) * time.Minute),
					repo: s.repo, lines: s.lines, scrolled: s.scrolled, tool: s.tool,
				}, after, enough)
				if got != s.want || stalled != (s.want != "") {
					t.Errorf("minute %d: %q, want %q", s.minute, got, s.want)
				}
			}
		})
	}
}
