package host_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"termio/internal/api"
	"termio/internal/termtest"
)

// The host is killed over and over during a conversation, each time at another of the
// writes by which it notes how far a text is: each text is taken once and in its order,
// or its sender is told that it may not have been.
func TestKillsOverAConversation(t *testing.T) {
	t.Parallel()
	const kills = 30
	d := termtest.Start(t, termtest.WithDemoStream())
	ctx := d.Context()
	begun, err := d.Client().SpawnWait(ctx, api.SpawnRequest{Agent: "demo", Prompt: "[[say begun]]"})
	if err != nil {
		t.Fatal(err)
	}
	link := begun.Target
	writes := d.DatabaseWrites()
	var sent []string
	told := map[string]error{}
	between := 0
	for i := range kills {
		text := fmt.Sprintf("[[say reply %d]]", i)
		sent = append(sent, text)
		over := make(chan struct{})
		c := d.Client()
		d.KillHostAfter(func() {
			begin := func() {
				go func() {
					defer close(over)
					if _, err := c.Send(d.Context(), link, api.SendRequest{Text: text}); err != nil {
						told[text] = err
					}
				}()
			}
			if writes.Await(1+i%15, begin, over) {
				between++
			}
		})
		<-over
		if err := told[text]; err != nil {
			t.Logf("told at write %d: %v", 1+i%15, err)
			if code := api.CodeOf(err); code != api.Unavailable {
				t.Errorf("%s: %v", code, err)
			}
			if strings.Contains(err.Error(), "nothing was typed") {
				continue
			}
			// What stands in the composer is its sender's affair.
			if _, err := d.Client().Send(d.Context(), link, api.SendRequest{Keys: []string{"ctrl-c"}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := d.Client().SendWait(d.Context(), link, api.SendRequest{Text: "[[say last]]"}); err != nil {
		t.Fatal(err)
	}
	for !slices.Contains(d.Taken(), "[[say last]]") {
		d.AwaitDemo("submit")
	}
	taken := d.Taken()[1:]
	t.Logf("%d kills, %d of them before the reply: %d texts taken, %d callers told", kills, between, len(taken)-1, len(told))
	at := 0
	for _, text := range sent {
		switch {
		case at < len(taken) && taken[at] == text:
			at++
		case told[text] == nil:
			t.Errorf("%s was not taken, and nobody was told", text)
		}
	}
	if rest := taken[at:]; !slices.Equal(rest, []string{"[[say last]]"}) {
		t.Errorf("taken twice or out of order: %q of %q", rest, taken)
	}
}

// The same for a program that reads lines while others print without pause: what was
// typed cannot always be told from what is printed, and then its sender is told so.
func TestKillsWhileOutputFlows(t *testing.T) {
	t.Parallel()
	const kills = 12
	d := termtest.Start(t, termtest.WithEnv("SHELL=/bin/bash"))
	for _, pipe := range []string{"nothing", "ended"} {
		if err := syscall.Mkfifo(filepath.Join(d.Dir, pipe), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d.WriteFile(filepath.Join(d.Dir, "reader"), 0o700, `#!/bin/bash
(while :; do echo flood; read -t 0.005 x <>nothing; done) &
while IFS= read -r line; do
	echo "$line" >>got
	[ "$line" != end ] || echo over >ended
done
`)
	link := d.Run("./reader")
	d.Screen(link).AwaitText("flood\nflood")
	writes := d.DatabaseWrites()
	var sent []string
	told := map[string]error{}
	for i := range kills {
		text := fmt.Sprintf("line %d", i)
		sent = append(sent, text)
		over := make(chan struct{})
		c := d.Client()
		d.KillHostAfter(func() {
			writes.Await(1+i%8, func() {
				go func() {
					defer close(over)
					if _, err := c.Send(d.Context(), link, api.SendRequest{Text: text}); err != nil {
						told[text] = err
					}
				}()
			}, over)
		})
		<-over
		if err := told[text]; err != nil {
			t.Logf("told at write %d: %v", 1+i%8, err)
			// What stands on the line is its sender's affair.
			if _, err := d.Client().Send(d.Context(), link, api.SendRequest{Keys: []string{"ctrl-u"}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := d.Client().Send(d.Context(), link, api.SendRequest{Text: "end"}); err != nil {
		t.Fatal(err)
	}
	ended, err := os.Open(filepath.Join(d.Dir, "ended"))
	if err != nil {
		t.Fatal(err)
	}
	defer ended.Close()
	awaitLineOf(t, ended, "over\n")
	data, err := os.ReadFile(filepath.Join(d.Dir, "got"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(data), "\n")
	t.Logf("%d kills, %d callers told, read %q", kills, len(told), lines)
	for _, text := range sent {
		n := 0
		for _, line := range lines {
			if line == text {
				n++
			}
		}
		if n > 1 || n == 0 && told[text] == nil {
			t.Errorf("%s was read %d times; its sender was told: %v", text, n, told[text])
		}
	}
}
