package host_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"termio/internal/api"
	"termio/internal/client"
	"termio/internal/termtest"
)

// waited is what a wait came to.
type waited struct {
	reply api.WaitReply
	err   error
}

// waiting waits beside the test.
func waiting(wait func(*client.Client) (api.WaitReply, error), d *termtest.Daemon) <-chan waited {
	c, came := d.Client(), make(chan waited, 1)
	go func() {
		r, err := wait(c)
		came <- waited{r, err}
	}()
	return came
}

// A wait goes on in the next host, and comes to what it would have come to: whatever
// it waits for, whatever happened while there was no host, and however often.
func TestWaitGoesOnOverARestart(t *testing.T) {
	kinds := []struct {
		name string
		do   func(*termtest.Daemon)
	}{
		{"killed", (*termtest.Daemon).KillHost},
		{"ended in order", (*termtest.Daemon).EndHost},
		{"killed twice", func(d *termtest.Daemon) { d.KillHost(); d.KillHost() }},
	}
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			d := termtest.Start(t, termtest.WithDemoStream())
			ctx := d.Context()
			gate := d.Gate("gate")
			until := "[[until " + gate.Path + "]]"

			spawned := waiting(func(c *client.Client) (api.WaitReply, error) {
				return c.SpawnWait(ctx, api.SpawnRequest{Agent: "demo", Prompt: until + "[[say first reply]]"})
			}, d)
			d.AwaitDemo("waiting")
			kind.do(d)
			gate.Open()
			first := <-spawned
			if first.err != nil || !first.reply.Created {
				t.Fatalf("spawn: %+v, %v", first.reply, first.err)
			}
			checkReply(t, first.reply, "first reply")
			link := first.reply.Target

			send := func(text string) <-chan waited {
				return waiting(func(c *client.Client) (api.WaitReply, error) {
					return c.SendWait(ctx, link, api.SendRequest{Text: text})
				}, d)
			}
			// The turn ends while there is no host.
			sent := send(until + "[[say second reply]]")
			d.AwaitDemo("waiting")
			d.StopHost(func() {
				gate.Open()
				for d.AwaitDemo("hook").Hook != "Stop" {
				}
			})
			second := <-sent
			if second.err != nil {
				t.Fatal(second.err)
			}
			checkReply(t, second.reply, "second reply")

			// Queued behind a turn, whose end is not its own.
			d.Send(link, until+"[[say third reply]]")
			d.AwaitDemo("waiting")
			queued := send("[[say fourth reply]]")
			d.AwaitDemo("submit")
			kind.do(d)
			gate.Open()
			fourth := <-queued
			if fourth.err != nil {
				t.Fatal(fourth.err)
			}
			checkReply(t, fourth.reply, "fourth reply")

			// A question, then its answer.
			asked := send(until + "[[ask Which?|A|B]]")
			d.AwaitDemo("waiting")
			kind.do(d)
			gate.Open()
			question := <-asked
			if question.err != nil || question.reply.Status != api.NeedsYou || question.reply.Prompt == "" {
				t.Fatalf("question: %+v, %v", question.reply, question.err)
			}
			answered := send("1")
			d.AwaitDemo("answer")
			kind.do(d)
			if r := <-answered; r.err != nil || r.reply.Status != api.Done {
				t.Errorf("answer: %+v, %v", r.reply, r.err)
			}

			// Nothing was typed twice.
			want := []string{
				until + "[[say first reply]]", until + "[[say second reply]]", until + "[[say third reply]]",
				"[[say fourth reply]]", until + "[[ask Which?|A|B]]",
			}
			if got := fmt.Sprint(d.Taken()); got != fmt.Sprint(want) {
				t.Errorf("taken %q, want %q", d.Taken(), want)
			}
		})
	}
}

// A call is known by its name until it is over: made again, it is not carried out again.
func TestNamedCallIsCarriedOutOnce(t *testing.T) {
	d := termtest.Start(t, termtest.WithDemo("start=trust"))
	const name = "ab12cd34-9f2e-4c31-b8d7-3e5a12c90f44"
	call := func(method, path, name, body string) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(d.Context(), method, "http://termio"+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set(api.HeaderCwd, url.PathEscape(d.Dir))
		if name != "" {
			req.Header.Set(api.HeaderRequest, name)
		}
		// A host counts an answer as given when it is on its way, and then hangs up.
		req.Close = true
		conn, err := net.Dial("unix", d.Paths.Socket)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if err := req.Write(conn); err != nil {
			t.Fatal(err)
		}
		r := bufio.NewReader(conn)
		res, err := http.ReadResponse(r, req)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.ReadByte(); err != io.EOF {
			t.Fatalf("after the answer: %v", err)
		}
		return res.StatusCode, string(b)
	}
	const spawn = `{"agent":"demo","prompt":"waits behind a dialog"}`
	_, first := call(http.MethodPost, "/v1/sessions/spawn", name, spawn)
	link := onlySession(t, d).Link
	if !strings.Contains(first, link) {
		t.Errorf("reply %s", first)
	}
	for range 2 {
		if _, again := call(http.MethodPost, "/v1/sessions/spawn", name, spawn); again != first {
			t.Errorf("made again: %s, want %s", again, first)
		}
		if _, asked := call(http.MethodGet, "/v1/requests/"+name, "", ""); asked != first {
			t.Errorf("asked for: %s, want %s", asked, first)
		}
		onlySession(t, d)
		d.KillHost()
	}
	if status, reply := call(http.MethodDelete, "/v1/sessions/"+url.PathEscape(link), "", ""); status != http.StatusOK {
		t.Errorf("close: %d %s", status, reply)
	}
	// This host has not given the answer yet. When it has, nothing is left of the call.
	if _, asked := call(http.MethodGet, "/v1/requests/"+name, "", ""); asked != first {
		t.Errorf("asked for: %s, want %s", asked, first)
	}
	if status, reply := call(http.MethodGet, "/v1/requests/"+name, "", ""); status != http.StatusServiceUnavailable {
		t.Errorf("asked when it is over: %d %s", status, reply)
	}
	const other = "ab12cd34-9f2e-4c31-b8d7-3e5a12c90f45"
	if status, reply := call(http.MethodGet, "/v1/requests/"+other, "", ""); status != http.StatusNotFound {
		t.Errorf("asked for what was never called: %d %s", status, reply)
	}
	if status, reply := call(http.MethodPost, "/v1/sessions/spawn", "me", spawn); status != http.StatusBadRequest {
		t.Errorf("a name that is no UUID: %d %s", status, reply)
	}
}

// The error of a start that came to nothing names the session that is there all the
// same, in words and for programs.
func TestFailedStartNamesItsSession(t *testing.T) {
	d := termtest.Start(t, termtest.WithDemo("drop-returns=9"))
	_, err := d.Client().SpawnWait(d.Context(), api.SpawnRequest{Agent: "demo", Prompt: "hello"})
	e, ok := errors.AsType[*api.Error](err)
	if !ok || e.Code != api.PromptStalled || e.Target != onlySession(t, d).Link {
		t.Errorf("%#v", err)
	}
}
