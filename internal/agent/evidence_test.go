package agent

import "testing"

func TestPlainTitle(t *testing.T) {
	m := mustParse(t, `{"id": "a", "name": "A", "command": "a", "titleStatus": {"working": ["^[◐◑] "], "attention": ["^\\[!\\] action required \\| "]}}`)
	tests := []struct{ title, want string }{
		{"◐ fix the tests", "fix the tests"},
		{"[!] Action Required | fix", "fix"},
		{"[!] fix", "fix"},
		{"✳ Claude Code", "Claude Code"},
		{"⠋ build | proj", "build | proj"},
		{"~/code/app", "~/code/app"},
		{"user@host: ~", "user@host: ~"},
		{"vim notes.txt", "vim notes.txt"},
		{"✳", "✳"},
		{"", ""},
	}
	for _, tt := range tests {
		if got := m.PlainTitle(tt.title); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.title, got, tt.want)
		}
	}
	var shell *Manifest
	if got := shell.PlainTitle("● x"); got != "x" {
		t.Errorf("of a shell: %q", got)
	}
}
