package vt

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// tmuxPane is a pane of a tmux server of its own, in which a shell writes one file
// after the other to the terminal.
type tmuxPane struct {
	socket, dir string
	next        *os.File      // names of files for the shell
	done        *bufio.Reader // a line for each that tmux has taken in whole
}

// tmuxShell runs in the pane: a status query after each file is answered when all
// before it has been drawn.
const tmuxShell = `stty raw -echo
exec 3<"$1/next" 4>"$1/done"
while read -r file <&3; do
	printf '\033c\033[!p'
	cat "$file"
	printf '\033\\\033[5n'
	head -c 4 >/dev/null
	echo ok >&4
done`

func startTmux(t *testing.T) *tmuxPane {
	t.Helper()
	if os.Getenv("TERMIO_VT_PEERS") == "" {
		t.Skip("NOT RUN: set TERMIO_VT_PEERS to the folder of internal/vt/testdata/install.sh")
	}
	tmux, err := exec.LookPath("tmux")
	if err != nil {
		t.Fatal("no tmux here; .ci/run setup installs it")
	}
	dir, err := os.MkdirTemp("", "vt")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	p := &tmuxPane{socket: filepath.Join(dir, "s"), dir: dir}
	for _, name := range []string{"next", "done"} {
		if err := syscall.Mkfifo(filepath.Join(dir, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	script := filepath.Join(dir, "sh")
	if err := os.WriteFile(script, []byte(tmuxShell), 0o600); err != nil {
		t.Fatal(err)
	}
	if p.next, err = os.OpenFile(filepath.Join(dir, "next"), os.O_RDWR, 0); err != nil {
		t.Fatal(err)
	}
	done, err := os.OpenFile(filepath.Join(dir, "done"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.next.Close(); done.Close() })
	p.done = bufio.NewReader(done)
	if err := done.SetReadDeadline(time.Now().Add(5 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	start := exec.Command(tmux, "-u", "-f", "/dev/null", "-S", p.socket, "new-session", "-d", "-x", "80", "-y", "24",
		"sh", script, dir, ";", "set-option", "-g", "status", "off", ";", "set-option", "-g", "window-size", "manual")
	start.Env = append(os.Environ(), "TERM=xterm-256color", "LC_ALL=C.UTF-8", "HOME="+dir)
	if out, err := start.CombinedOutput(); err != nil {
		t.Fatalf("start tmux: %v\n%s", err, out)
	}
	t.Cleanup(func() { exec.Command(tmux, "-S", p.socket, "kill-server").Run() })
	return p
}

func (p *tmuxPane) run(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command("tmux", append([]string{"-S", p.socket}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("tmux %q: %v\n%s", args, err, out)
	}
	return string(out)
}

func (p *tmuxPane) show(t *testing.T, cols, rows int, in string) shown {
	t.Helper()
	file := filepath.Join(p.dir, "in")
	if err := os.WriteFile(file, []byte(in), 0o600); err != nil {
		t.Fatal(err)
	}
	p.run(t, "resize-window", "-x", strconv.Itoa(cols), "-y", strconv.Itoa(rows))
	fmt.Fprintln(p.next, file)
	if _, err := p.done.ReadString('\n'); err != nil {
		t.Fatalf("the pane's shell: %v", err)
	}
	var out shown
	screen := p.run(t, "display-message", "-p", "#{cursor_x} #{cursor_y}", ";", "capture-pane", "-p", "-e", "-N")
	head, screen, _ := strings.Cut(screen, "\n")
	if _, err := fmt.Sscan(head, &out.x, &out.y); err != nil {
		t.Fatalf("tmux: %q", head)
	}
	// tmux draws a pane anew in escape sequences, a line for each row.
	s := New(Options{Cols: cols, Rows: rows})
	s.Write([]byte("\x1b)0")) // it invokes graphics as G1
	s.Write(bytes.ReplaceAll([]byte(strings.TrimSuffix(screen, "\n")), []byte("\n"), []byte("\r\n")))
	out.rows = ours(s).rows
	out.x = min(out.x, cols-1) // behind the last column a wrap is pending
	return out
}

func TestDifferentialTmux(t *testing.T) {
	p := startTmux(t)
	compareStreams(t, p, map[string]string{
		// What tmux 3.3a lacks.
		"side margins":    "no DECLRMM",
		"rectangles":      "none of the rectangle controls",
		"selective":       "no DECSCA",
		"selective apart": "no DECSCA",
		"columns":         "no SL, SR, DECIC, DECDC",
		"national":        "ASCII and graphics only",
		"more charsets":   "no G2, G3 and British set",
		"single shift":    "no SS2 and SS3",
		"reverse wrap":    "no mode 45",
		"HPR and VPR":     "neither",
		"1048":            "no mode 1048",
		"LNM":             "no LNM",
		"DECXCPR":         "no answer",
		"queries":         "no DECRQM, DECRQSS of its own kind",
		"DECRQSS cursor":  "no answer to it",
		"links":           "not in what it captures",
		"overline":        "captured as other attributes",
		// What it does otherwise.
		"lines":                   "IL and DL work outside the margins too",
		"lines from a column":     "IL and DL keep the column; ECMA-48 7.2.41 leaves it open, xterm goes to the margin",
		"ICH":                     "does nothing where the count reaches the last column",
		"IRM":                     "built on its ICH",
		"repeat":                  "counts past the line otherwise",
		"BS":                      "goes back over the edge of a wrapped line",
		"tabs":                    "CHT and CBT do not stop there",
		"origin":                  "DECSTBM goes to the screen's corner under DECOM",
		"RIS":                     "keeps DECOM",
		"DECSTR":                  "keeps the pen",
		"DECALN":                  "keeps the margins",
		"wide":                    "a half that is left keeps its cell",
		"wide at the edge":        "the same",
		"LF at a pending wrap":    "the wrap stays pending",
		"move at a pending wrap":  "CUB counts from behind the last column",
		"erase at a pending wrap": "the wrap stays pending",
		"chars at a pending wrap": "the wrap stays pending",
		"DECAWM off":              "the same",
		"screens apart":           "1049 in the other screen does nothing",
		"old screens":             "47 clears",
		"charsets kept":           "sets are not kept by DECSC",
		"save and scroll":         "one saved cursor for both screens",
		"broken":                  "takes what follows for text after some",
	}, func(in string, s shown) shown {
		s.history, s.replies, s.pending = 0, "", false
		s.plainBlanks()
		return s
	})
}
