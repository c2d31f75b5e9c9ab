package host_test

import (
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"termio/internal/api"
	"termio/internal/client"
	"termio/internal/termtest"
	"termio/internal/vt"
)

// A program that is killed leaves its modes behind. Once the shell is back they are
// gone, for who is there, for who comes, and in the next host; what the shell has
// written meanwhile is there.
func TestKilledProgramLeavesNoModes(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t)
	events := d.WatchAll()
	link := d.Run(`sh -c 'printf "\033[?1049h\033[?1003h\033[?1006h\033[?1004h\033[?2031h\033[?2048h\033[>5u\033[>4;2m\033[?25lpid=%d." $$; exec sleep 1000'`)
	screen := d.ScreenOf(link, client.AttachOptions{Raw: true})
	pid := 0
	screen.Await("the program", func(text string) bool {
		m := regexp.MustCompile(`pid=(\d+)\.`).FindStringSubmatch(text)
		if m != nil {
			pid, _ = strconv.Atoi(m[1])
		}
		return pid != 0
	})
	m := screen.Modes()
	if !m.AltScreen || m.Mouse != vt.MouseAny || !m.Focus || m.Kitty != 5 || m.CursorVisible {
		t.Fatalf("the program has set %+v", m)
	}
	events.AwaitStatus(link, api.Working) // the host has seen it
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	plain := vt.New(vt.Options{Cols: 80, Rows: 24}).Modes()
	tidy := func(s *termtest.Screen) {
		t.Helper()
		s.Await("a shell's modes, and its prompt", func(text string) bool {
			got := s.Modes()
			got.BracketedPaste, got.CursorKeys, got.Keypad = false, false, false // a shell's own
			lines := strings.Split(strings.TrimSpace(text), "\n")
			prompt := lines[len(lines)-1]
			return got == plain && len(lines) > 1 && (prompt == "#" || prompt == "$")
		})
	}
	tidy(screen)
	tidy(d.ScreenOf(link, client.AttachOptions{Raw: true}))
	tidy(d.Screen(link))
	d.KillHost()
	tidy(d.Screen(link))
}
