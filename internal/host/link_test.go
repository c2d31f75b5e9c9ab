package host_test

import (
	"io"
	"net"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"termio/internal/api"
	"termio/internal/client"
	"termio/internal/termtest"
)

// A link passes connections on to the daemon, until they are cut.
type link struct {
	ln  net.Listener
	all sync.WaitGroup

	mu    sync.Mutex
	conns []net.Conn
}

// newLink makes a link, and a client whose calls go through it.
func newLink(t *testing.T, d *termtest.Daemon) (*link, *client.Client) {
	t.Helper()
	paths := d.Paths
	paths.Socket = filepath.Join(filepath.Dir(d.Dir), "link")
	ln, err := net.Listen("unix", paths.Socket)
	if err != nil {
		t.Fatal(err)
	}
	l := &link{ln: ln}
	l.all.Go(func() {
		for {
			near, err := ln.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("unix", d.Paths.Socket)
			if err != nil {
				_ = near.Close()
				continue
			}
			l.mu.Lock()
			l.conns = append(l.conns, near, far)
			l.mu.Unlock()
			for _, way := range [][2]net.Conn{{near, far}, {far, near}} {
				l.all.Go(func() {
					_, _ = io.Copy(way[0], way[1])
					_ = way[0].Close()
				})
			}
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		l.cut()
		l.all.Wait()
	})
	c, err := client.Dial(d.Context(), paths, client.Options{Cwd: d.Dir, Timeout: termtest.Patience})
	if err != nil {
		t.Fatal(err)
	}
	return l, c
}

// cut breaks every connection; new ones are passed on.
func (l *link) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.conns {
		_ = c.Close()
	}
	l.conns = nil
}

// A caller whose link is cut while it waits, and whose host lives on, gets the answer
// through the next one: the text is taken once, and nobody is told that nothing was typed.
func TestCallOverACutLink(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t, termtest.WithDemoStream())
	ctx := d.Context()
	gate := d.Gate("gate")
	link, c := newLink(t, d)
	text := "[[until " + gate.Path + "]][[say over]]"
	came := make(chan waited, 1)
	go func() {
		r, err := c.SpawnWait(ctx, api.SpawnRequest{Agent: "demo", Prompt: text})
		came <- waited{r, err}
	}()
	d.AwaitDemo("waiting")
	for range 3 {
		link.cut()
	}
	gate.Open()
	w := <-came
	if w.err != nil {
		t.Fatal(w.err)
	}
	checkReply(t, w.reply, "over")
	onlySession(t, d)

	sent := make(chan waited, 1)
	go func() {
		r, err := c.SendWait(ctx, w.reply.Target, api.SendRequest{Text: text})
		sent <- waited{r, err}
	}()
	d.AwaitDemo("waiting")
	link.cut()
	gate.Open()
	if w := <-sent; w.err != nil {
		t.Error(w.err)
	} else {
		checkReply(t, w.reply, "over")
	}
	if got := d.Taken(); !slices.Equal(got, []string{text, text}) {
		t.Errorf("taken %q", got)
	}
}
