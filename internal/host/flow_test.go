package host_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"termio/internal/api"
	"termio/internal/termtest"
)

// A program that reads whole lines, and slowly, gets 1 MiB of them to the byte, each as
// long as a line may be.
func TestSlowReaderOfLinesGetsAll(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t)
	got, probe := filepath.Join(d.Dir, "got"), filepath.Join(d.Dir, "probe")
	if err := os.Symlink(d.Paths.StableExe, probe); err != nil { // by another name, or it is taken for the agent
		t.Fatal(err)
	}
	link := d.Run(probe + ` demo-agent --read-bytes=2000 --read-every=1ms --probe ` + got + `; echo ended" "well`)
	screen := d.Screen(link)
	screen.AwaitText("probe ready")
	text := strings.TrimSuffix(strings.Repeat(strings.Repeat("x", 4094)+"é\n", 255), "\n")
	text = strings.ReplaceAll(text, "xé", "é") // 4095 bytes a line
	if _, err := d.Client().Send(d.Context(), link, api.SendRequest{Text: text}); err != nil {
		t.Error(err)
	}
	if _, err := d.Client().Send(d.Context(), link, api.SendRequest{Keys: []string{"ctrl-d"}}); err != nil {
		t.Error(err)
	}
	screen.AwaitText("ended well")
	data, err := os.ReadFile(got)
	if err != nil {
		t.Fatal(err)
	}
	if want := text + "\n"; string(data) != want {
		t.Errorf("%d bytes arrived, want the %d that were sent", len(data), len(want))
	}
}

// While a program reads nothing of a text, others go on, Ctrl-C gets through to it, and
// what it had not read is not run by the shell behind it.
func TestStuckTextIsBrokenOff(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t)
	ctx := d.Context()
	link := d.Run("sleep 1000")
	screen := d.Screen(link)
	stuck := make(chan error, 1)
	go func() {
		_, err := d.Client().SendWait(ctx, link, api.SendRequest{Text: strings.Repeat("touch bad\n", 100_000)})
		stuck <- err
	}()
	if r, err := d.Client().SpawnWait(ctx, api.SpawnRequest{Agent: "demo", Prompt: "hello"}); err != nil || r.Status != api.Done {
		t.Errorf("another session: %+v, %v", r, err)
	}
	screen.AwaitText("touch bad") // as the terminal echoes it
	if _, err := d.Client().Send(ctx, link, api.SendRequest{Keys: []string{"ctrl-c"}}); err != nil {
		t.Error(err)
	}
	if err := <-stuck; api.CodeOf(err) != api.PromptStalled || !strings.Contains(err.Error(), "Ctrl-C") {
		t.Errorf("the text: %v", err)
	}
	if r, err := d.Client().SendWait(ctx, link, api.SendRequest{Text: "echo alive >good"}); err != nil || r.Status != api.Idle {
		t.Errorf("the shell: %+v, %v", r, err)
	}
	if _, err := os.Stat(filepath.Join(d.Dir, "good")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(d.Dir, "bad")); err == nil {
		t.Error("the shell ran what the program before it had not read")
	}
}

// readsOf makes a named pipe, and tells when a text has been written into it.
func readsOf(t *testing.T, path, text string) <-chan struct{} {
	t.Helper()
	err := syscall.Mkfifo(path, 0o600)
	var pipe *os.File
	if err == nil {
		pipe, err = os.OpenFile(path, os.O_RDWR, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pipe.Close() })
	seen := make(chan struct{})
	go func() {
		var all []byte
		for buf := make([]byte, 64<<10); ; {
			n, err := pipe.Read(buf)
			if err != nil {
				return
			}
			if before := bytes.Contains(all, []byte(text)); !before {
				if all = append(all, buf[:n]...); bytes.Contains(all, []byte(text)) {
					close(seen)
				}
			}
		}
	}()
	return seen
}

// Ctrl-C of a person breaks off a paste into an agent that reads a little at a time, and
// the next text is no part of that.
func TestStuckPasteIsBrokenOff(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "log")
	begun := readsOf(t, log, "\x1b[200~0123")
	d := termtest.Start(t, termtest.WithDemoLog(), termtest.WithDemo("read-bytes=1000", "read-every=5ms", "log="+log))
	ctx := d.Context()
	first, err := d.Client().SpawnWait(ctx, api.SpawnRequest{Agent: "demo", Prompt: "hello"})
	if err != nil {
		t.Fatal(err)
	}
	screen := d.Screen(first.Target)
	stuck := make(chan error, 1)
	go func() {
		_, err := d.Client().SendWait(ctx, first.Target, api.SendRequest{Text: strings.Repeat("0123456789abcdef", 4<<16)})
		stuck <- err
	}()
	<-begun
	screen.Type("\x03")
	if err := <-stuck; api.CodeOf(err) != api.PromptStalled || !strings.Contains(err.Error(), "Ctrl-C") {
		t.Errorf("the text: %v", err)
	}
	if _, err := d.Client().SendWait(ctx, first.Target, api.SendRequest{Text: "next"}); err != nil {
		t.Error(err)
	}
	if got := d.Submitted(); len(got) != 2 || got[1] != "next" {
		t.Errorf("submitted %q", cutAll(got))
	}
}

// A session with a text in it that nobody reads is closed like any other.
func TestCloseWithAStuckText(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t)
	link := d.Run("stty raw -echo; echo now; exec sleep 1000")
	screen := d.Screen(link)
	screen.Await("the program", func(s string) bool { return strings.Contains(s, "\nnow") })
	stuck := make(chan error, 1)
	go func() {
		_, err := d.Client().SendWait(d.Context(), link, api.SendRequest{Text: strings.Repeat("x", 1<<20)})
		stuck <- err
	}()
	d.Close(link)
	if err := <-stuck; api.CodeOf(err) != api.SessionClosed && api.CodeOf(err) != api.NotLive {
		t.Errorf("the text: %v", err)
	}
}

// A prompt that is an argument of the start may be longer than any line of a terminal.
func TestLongPromptAsAnArgument(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t, termtest.WithDemoLog())
	withManifest(t, d, `"ready": {`, `"prompt": {"arg": "-- {prompt}"}, "ready": {`)
	prompt := "-a \"heading\" $HOME\n\n" + strings.Repeat("0123456789 ", 8000) + "end"
	r, err := d.Client().SpawnWait(d.Context(), api.SpawnRequest{Agent: "demo2", Prompt: prompt})
	if err != nil || r.Status != api.Done {
		t.Errorf("spawn: %+v, %v", r, err)
	}
	if got := d.Submitted(); len(got) != 1 || got[0] != prompt {
		t.Errorf("submitted %q", cutAll(got))
	}
}
