package cli

import (
	"slices"
	"testing"

	"termio/internal/api"
)

func TestJoinWorktree(t *testing.T) {
	tests := []struct {
		name     string
		in, want []string // a nil want is an error
	}{
		{"no flag", []string{"fix", "it"}, []string{"fix", "it"}},
		{"alone", []string{"--worktree", "fix it"}, []string{"--worktree", "fix it"}},
		{"one word", []string{"--worktree", "fix"}, []string{"--worktree", "fix"}},
		{"last", []string{"fix it", "--worktree"}, []string{"fix it", "--worktree"}},
		{"joined already", []string{"--worktree=b", "fix", "it"}, []string{"--worktree=b", "fix", "it"}},
		{"branch and quoted prompt", []string{"--worktree", "b", "fix it"}, []string{"--worktree=b", "fix it"}},
		{"quoted prompt and branch", []string{"fix it", "--worktree", "b", "--json"}, []string{"fix it", "--worktree=b", "--json"}},
		{"branch and standard input", []string{"--worktree", "b", "-"}, []string{"--worktree=b", "-"}},
		{"branch and dashes", []string{"--worktree", "b", "--", "fix"}, []string{"--worktree=b", "--", "fix"}},
		{"a flag follows", []string{"--worktree", "--agent", "codex", "fix", "it"}, []string{"--worktree", "--agent", "codex", "fix", "it"}},
		{"a value between", []string{"--worktree", "b", "--agent", "codex", "fix it"}, []string{"--worktree=b", "--agent", "codex", "fix it"}},
		{"after dashes it is prompt", []string{"--", "--worktree", "b", "fix it"}, []string{"--", "--worktree", "b", "fix it"}},
		{"as a value it is none", []string{"--agent", "--worktree", "b", "c"}, []string{"--agent", "--worktree", "b", "c"}},
		{"either", []string{"--worktree", "fix", "the", "bug"}, nil},
		{"either, around", []string{"fix", "--worktree", "the", "bug"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := joinWorktree(tt.in)
			if tt.want == nil {
				if api.CodeOf(err) != api.BadRequest {
					t.Errorf("%q, %v; want a question", got, err)
				}
				return
			}
			if err != nil || !slices.Equal(got, tt.want) {
				t.Errorf("%q, %v; want %q", got, err, tt.want)
			}
		})
	}
}
