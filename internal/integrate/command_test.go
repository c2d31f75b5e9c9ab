package integrate

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"termio/internal/agent"
)

// The line is tried with a real shell: the program gets exactly its words,
// from a folder with whatever name.
func TestReportCommandInAShell(t *testing.T) {
	for _, dir := range []string{"plain", "with blanks", "it's", `back\slash`, "$HOME `id`", "ünï ☃", `do"uble`, "semi;colon & more", "new\nline", "*?[x]"} {
		t.Run(dir, func(t *testing.T) {
			exe := filepath.Join(t.TempDir(), dir, "termio")
			if err := os.MkdirAll(filepath.Dir(exe), 0o700); err != nil {
				t.Fatal(err)
			}
			h := &agent.Hooks{Conversation: "session_id", CapturesTranscript: true}
			line := reportCommand(exe, h, agent.HookEvent{On: "Odd 'event' $x", State: "working"})

			// With the program gone there is nothing to see.
			out, err := exec.Command("/bin/sh", "-c", line).CombinedOutput()
			if err != nil || len(out) > 0 {
				t.Errorf("program gone: %v %q", err, out)
			}

			if err := os.WriteFile(exe, []byte("#!/bin/sh\nfor w; do echo \"<$w>\"; done; cat\n"), 0o700); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("/bin/sh", "-c", line)
			cmd.Stdin = strings.NewReader("payload")
			out, err = cmd.CombinedOutput()
			want := "<agent>\n<report>\n<working>\n<--event>\n<Odd 'event' $x>\n<--conversation-from>\n<session_id>\n<--transcript>\npayload"
			if err != nil || string(out) != want {
				t.Errorf("%v: %q", err, out)
			}
			if got, ours := reportedBy(line); !ours || got != exe {
				t.Errorf("recognised as %q, %v", got, ours)
			}
		})
	}
}

func TestReportedByRefusesWhatItDoesNotKnow(t *testing.T) {
	for _, line := range []string{
		"", "termio", "termio agent", "termio agent report", "termio agent report done | tee log", "termio agent report 'unclosed",
		"termio agent report $(state)", "termio agent report `state`", `termio agent report "$s"`, "termio agent report done > log",
		"[ -x /a/termio ] && /b/termio agent report done", "termio agent report done\nrm x", "FOO=1 termio agent report done",
		"sudo termio agent report done", "(termio agent report done)", "termio agent report done #", "termio agent report done \\",
		"[ -x /a/termio ] || exec /a/termio agent report done",
	} {
		if exe, ours := reportedBy(line); ours {
			t.Errorf("%q is taken for ours, of %q", line, exe)
		}
	}
}
