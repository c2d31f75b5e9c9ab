package host_test

import (
	"fmt"
	"strings"
	"testing"

	"termio/internal/api"
	"termio/internal/client"
	"termio/internal/termtest"
)

// A client that joins while the program prints has the same screen as one that was
// there from the beginning: snapshot and bytes are one piece.
func TestJoinInTheMiddle(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t)
	link := d.Run(`i=0; while [ $i -lt 3000 ]; do i=$((i+1)); printf 'line %d \033[3%dmcolour\033[m \346\227\245\346\234\254\n' $i $((i%8)); done; echo the end; cat`) // cat: no prompt comes after the end
	var screens []*termtest.Screen
	for range 6 {
		screens = append(screens, d.Screen(link))
	}
	atEnd := func(text string) bool { return strings.Contains(text, "\nthe end\n") }
	for _, s := range screens {
		s.Await("the end", atEnd)
	}
	read, err := d.Client().Read(d.Context(), link, client.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range screens {
		if got := strings.TrimRight(s.Text(), "\n "); got != read.Screen {
			t.Errorf("client %d shows\n%s\nwant\n%s", i, got, read.Screen)
		}
	}
}

// The last to type sets the size; viewers see the leader's, and a hidden client sets none.
func TestLeaderSetsTheSize(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t)
	events := d.WatchAll()
	link := d.Run("cat")
	events.AwaitStatus(link, api.Working)
	size := func(cols, rows int) client.AttachOptions {
		return client.AttachOptions{Size: api.AttachSize{Cols: cols, Rows: rows}}
	}
	desk := d.ScreenOf(link, size(120, 40))
	desk.AwaitSize(120, 40)
	if !desk.Hello.Leader {
		t.Error("the only client does not lead")
	}
	phone := d.ScreenOf(link, size(47, 49))
	phone.AwaitSize(120, 40)
	hidden := d.ScreenOf(link, size(0, 0))
	hidden.AwaitSize(120, 40)
	phone.Resize(40, 50) // a viewer's size is its own affair
	phone.Type("p")
	desk.AwaitSize(40, 50)
	desk.AwaitText("cat\np") // two clients' keys have no order of their own
	hidden.Type("h")         // typing without a size leads nobody
	desk.AwaitText("ph")
	desk.Type("d")
	phone.AwaitSize(120, 40)
	desk.Resize(100, 30)
	phone.AwaitSize(100, 30)
	desk.Detach()
	phone.AwaitSize(40, 50)
	phone.Detach()
	later := d.Screen(link)
	later.AwaitSize(40, 50)
	later.AwaitText("phd")
}

// A paste is one piece even while somebody types and the program asks questions.
func TestPasteIsNotCut(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t, termtest.WithDemoLog(), termtest.WithDemo("read-bytes=64", "read-every=1ms"))
	ctx := d.Context()
	first, err := d.Client().SpawnWait(ctx, api.SpawnRequest{Agent: "demo", Prompt: "hello"})
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("0123456789", 3000)
	sent := make(chan error, 1)
	c := d.Client()
	go func() {
		_, err := c.SendWait(ctx, first.Target, api.SendRequest{Text: text})
		sent <- err
	}()
	screen := d.Screen(first.Target)
	screen.AwaitText("0123456789")
	for i := range 20 {
		screen.Type(fmt.Sprint(i % 10))
	}
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	if got := d.Submitted(); got[1] != text {
		t.Errorf("submitted %q", cutAll(got))
	}
}

// Each query of a program has one answer, with any number of clients and with none.
func TestQueriesAreAnsweredOnce(t *testing.T) {
	t.Parallel()
	for _, clients := range []int{0, 2} {
		t.Run(fmt.Sprint(clients, " clients"), func(t *testing.T) {
			d := termtest.Start(t, termtest.WithDemoLog(), termtest.WithDemo("queries=xtversion,kitty,da1,da2,cpr,dsr,decrqm,osc10,osc11,osc7501"))
			ctx := d.Context()
			r, err := d.Client().SpawnWait(ctx, api.SpawnRequest{Agent: "demo", Prompt: "hello"})
			if err != nil {
				t.Fatal(err)
			}
			for i := range clients {
				d.ScreenOf(r.Target, client.AttachOptions{Raw: i == 0, Size: api.AttachSize{Cols: 90, Rows: 30}}).AwaitSize(90, 30)
			}
			if _, err := d.Client().SendWait(ctx, r.Target, api.SendRequest{Text: "[[query da1,cpr,osc11]]"}); err != nil {
				t.Fatal(err)
			}
			asked, answered := d.DemoEvents("query"), d.DemoEvents("reply")
			if len(asked) != 13 || len(answered) != 13 {
				t.Errorf("%d queries, %d answers: %v", len(asked), len(answered), answered)
			}
			if got := d.Submitted(); len(got) != 2 || got[0] != "hello" {
				t.Errorf("submitted %q: an answer came as text", got)
			}
		})
	}
}

// A client that does not read gets a fresh snapshot in place of what it missed, and
// holds up neither the program nor the others.
func TestSlowClient(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t)
	events := d.WatchAll()
	link := d.Run("cat | (read go; seq 1 400000; echo the end)")
	events.AwaitStatus(link, api.Working)
	slow := d.SlowClient(link)
	quick := d.Screen(link)
	quick.Type("\r")
	quick.AwaitText("\nthe end\n")
	snapshots, text := slow.ReadUntil("\nthe end\n")
	if snapshots < 2 {
		t.Errorf("%d snapshots: the backlog was kept", snapshots)
	}
	if quick := quick.Text(); text != quick {
		t.Errorf("screen\n%s\nwant\n%s", text, quick)
	}
}
