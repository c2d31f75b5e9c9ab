package host_test

import (
	"slices"
	"strings"
	"testing"

	"termio/internal/api"
	"termio/internal/termtest"
)

// What is sent to an agent arrives as one prompt, whole, whatever the agent does
// with a paste and a Return.
func TestDelivery(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("0123456789abcde\n", 64<<10/16)
	tests := []struct {
		name     string
		switches []string
		text     string
		want     string // "" is text
	}{
		{name: "one line", text: "do it"},
		{name: "several lines with a blank one", text: "# Title\n\nbody\n- item"},
		{name: "64 KiB", text: long + "end"},
		{name: "1 MiB", text: strings.Repeat(long, 16) + "end"},
		{name: "pastes shown as an attachment", switches: []string{"attach=100"}, text: strings.Repeat("x", 3000)},
		{name: "no bracketed paste", switches: []string{"paste=off"}, text: "plain"},
		{name: "first Return eaten", switches: []string{"drop-returns=1"}, text: "again"},
		{name: "Return too soon after a paste is eaten", switches: []string{"paste-settle=300ms"}, text: "patience"},
		{name: "composer comes late", switches: []string{"mount=1500ms", "early=drop"}, text: "late"},
		{name: "reads slowly", switches: []string{"read-bytes=512", "read-every=1ms"}, text: strings.Repeat("slow\n", 2000) + "end"},
		{name: "suggestion in the composer", switches: []string{"suggestion=fix the tests"}, text: "mine"},
		{name: "no hooks", switches: []string{"hooks=off"}, text: "quiet"},
		{name: "title and screen only", switches: []string{"hooks=off", "program=off", "transcript=off"}, text: "bare"},
		{name: "control characters", text: "a\x1b[201~\rb\x00c\x07\td", want: "a[201~\nbc\td"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := termtest.Start(t, termtest.WithDemoLog(), termtest.WithDemo(tt.switches...))
			ctx := d.Context()
			reply, err := d.Client().SpawnWait(ctx, api.SpawnRequest{Agent: "demo", Prompt: tt.text})
			if err != nil {
				t.Fatal(err)
			}
			if reply.Status != api.Done || reply.TimedOut {
				t.Errorf("spawn: %+v", reply)
			}
			sent, err := d.Client().SendWait(ctx, reply.Target, api.SendRequest{Text: "second " + tt.text})
			if err != nil {
				t.Fatal(err)
			}
			if sent.Status != api.Done {
				t.Errorf("send: %+v", sent)
			}
			want := tt.want
			if want == "" {
				want = tt.text
			}
			if got := d.Submitted(); !slices.Equal(got, []string{want, "second " + want}) {
				t.Errorf("submitted %q, want %q and the same again", cutAll(got), cutAll([]string{want}))
			}
		})
	}
}

func cutAll(texts []string) []string {
	var out []string
	for _, s := range texts {
		if len(s) > 200 {
			s = s[:100] + "…" + s[len(s)-100:]
		}
		out = append(out, s)
	}
	return out
}

// Ten sends to an agent that is busy arrive in their order, none merged with another.
func TestSendsToABusyAgentStayApart(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t, termtest.WithDemoLog())
	gate := d.Gate("go")
	events := d.WatchAll()
	link := d.Spawn("[[until " + gate.Path + "]]")
	events.AwaitStatus(link, api.Working)
	var want []string
	for i := range 10 {
		text := strings.Repeat("n", i+1)
		r, err := d.Client().Send(d.Context(), link, api.SendRequest{Text: text})
		if err != nil {
			t.Fatal(err)
		}
		if r.Delivery != api.Queued {
			t.Errorf("delivery %q, want queued", r.Delivery)
		}
		want = append(want, text)
	}
	if got := d.Submitted()[1:]; !slices.Equal(got, want) {
		t.Errorf("submitted %q, want %q", got, want)
	}
	gate.Open()
	events.AwaitStatus(link, api.Done)
}

// A Return that never works is an error that says so, with the screen.
func TestTypedNotSubmitted(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t, termtest.WithDemo("drop-returns=99"), termtest.WithDemoLog())
	events := d.WatchAll()
	link := d.Spawn("never taken")
	failed := events.Await("a failed delivery", func(e api.Event) bool { return e.Link == link && e.Reason != "" })
	if !strings.Contains(failed.Reason, "not delivered") {
		t.Errorf("reason %q", failed.Reason)
	}
	list, err := d.Client().List(d.Context(), listAll)
	if err != nil {
		t.Fatal(err)
	}
	if desc := list.Sessions[0].Description; !strings.Contains(desc, "not delivered") {
		t.Errorf("description %q", desc)
	}
	_, err = d.Client().Send(d.Context(), link, api.SendRequest{Text: " and more", Force: true})
	if api.CodeOf(err) != api.PromptStalled || !strings.Contains(err.Error(), "and more") {
		t.Errorf("send: %v", err)
	}
	if got := d.Submitted(); len(got) != 0 {
		t.Errorf("submitted %q", got)
	}
}

// A person's half-typed line is neither merged with nor wiped; a suggestion is none.
func TestDraftIsLeftAlone(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t, termtest.WithDemoLog())
	ctx := d.Context()
	first, err := d.Client().SpawnWait(ctx, api.SpawnRequest{Agent: "demo", Prompt: "hello"})
	if err != nil {
		t.Fatal(err)
	}
	screen := d.Screen(first.Target)
	screen.Type("half a tho")
	screen.AwaitText("❯ half a tho")
	_, err = d.Client().Send(ctx, first.Target, api.SendRequest{Text: "mine"})
	if api.CodeOf(err) != api.Busy || !strings.Contains(err.Error(), "half a tho") {
		t.Errorf("send over a draft: %v", err)
	}
	screen.Type("ught\r")
	screen.AwaitText("● You wrote 14 bytes")
	if _, err := d.Client().SendWait(ctx, first.Target, api.SendRequest{Text: "mine"}); err != nil {
		t.Errorf("send to the free composer: %v", err)
	}
	if got, want := d.Submitted(), []string{"hello", "half a thought", "mine"}; !slices.Equal(got, want) {
		t.Errorf("submitted %q, want %q", got, want)
	}
}
