package host_test

import (
	"fmt"
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
		{name: "no bracketed paste", switches: []string{"paste=off"}, text: "# Title\n\nbody\n- item"},
		{name: "a modal composer, not in its insert mode", switches: []string{"vim=normal"}, text: "0x$ is a text"},
		{name: "first Return eaten", switches: []string{"drop-returns=1"}, text: "again"},
		{name: "Return too soon after a paste is eaten", switches: []string{"paste-settle=300ms"}, text: "patience"},
		{name: "composer comes late", switches: []string{"mount=1500ms", "early=drop"}, text: "late"},
		{name: "reads slowly", switches: []string{"read-bytes=512", "read-every=1ms"}, text: strings.Repeat("slow\n", 2000) + "end"},
		{name: "1 MiB read slowly", switches: []string{"read-bytes=4096", "read-every=1ms"}, text: strings.Repeat(long, 16) + "end"},
		{name: "suggestion in the composer", switches: []string{"suggestion=fix the tests"}, text: "mine"},
		{name: "no hooks", switches: []string{"hooks=off"}, text: "quiet"},
		{name: "title and screen only", switches: []string{"hooks=off", "program=off", "transcript=off"}, text: "bare"},
		{name: "ends of lines", text: "tab\there\r\nline\rline\n", want: "tab\there\nline\nline\n"},
		{name: "invalid UTF-8, C1, both directions", text: "a\xff \u009b201~ \u202eb", want: "a\ufffd 201~ \u202eb"},
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

// A text that is sent right behind an interruption never goes in together with the prompt
// that the agent puts back into its composer, however late that comes.
func TestTextBehindAnInterruption(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		switches []string
		submit   string // milliseconds between a paste and Return
		code     api.Code
		says     string
	}{
		{"the prompt is back at once", nil, "30", api.Busy, "somebody's draft"},
		{"a moment later", []string{"restore-delay=200ms"}, "30", api.Busy, "somebody's draft"},
		{"behind the text", []string{"restore-delay=1500ms"}, "3000", api.PromptStalled, "not submitted"},
		{"before the text shows", []string{"restore-delay=1s", "lag=2s"}, "30", api.PromptStalled, "not submitted"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := termtest.Start(t, termtest.WithDemoLog(), termtest.WithDemo(append(tt.switches, "restore=on")...))
			withManifest(t, d, `"submit": 30`, `"submit": `+tt.submit)
			gate := d.Gate("gate")
			prompt := "[[until " + gate.Path + "]]"
			events := d.WatchAll()
			link := startAgent(t, d, events, "demo2", prompt)
			if _, err := d.Client().Send(d.Context(), link, api.SendRequest{Keys: []string{"escape"}}); err != nil {
				t.Fatal(err)
			}
			events.AwaitStatus(link, api.Idle)
			_, err := d.Client().Send(d.Context(), link, api.SendRequest{Text: "go on"})
			if api.CodeOf(err) != tt.code || !strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), prompt) {
				t.Errorf("send: %v", err)
			}
			if got := d.Submitted(); !slices.Equal(got, []string{prompt}) {
				t.Errorf("submitted %q", got)
			}
		})
	}
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

// A text of which the agent took a part is an error, and never a success.
func TestPartOfATextIsAnError(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t, termtest.WithDemoLog())
	ctx := d.Context()
	first, err := d.Client().SpawnWait(ctx, api.SpawnRequest{Agent: "demo", Prompt: "[[set lossy=on]] [[set read-bytes=1000]] ready"})
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("0123456789", 5000) + "the end of it"
	_, err = d.Client().Send(ctx, first.Target, api.SendRequest{Text: text})
	if api.CodeOf(err) != api.PromptStalled || !strings.Contains(err.Error(), "only a part") {
		t.Errorf("send: %v", err)
	}
	if got := d.Submitted()[1]; len(got) >= len(text) {
		t.Errorf("%d bytes were submitted: the agent lost nothing", len(got))
	}
}

// An agent that is far behind shows nothing of a text and its Return, and reads both at
// once later. What is sent next waits until then: read together, the two would be one.
func TestSlowAgentGetsTextsOneByOne(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t, termtest.WithDemoLog())
	ctx := d.Context()
	events := d.WatchAll()
	first, err := d.Client().SpawnWait(ctx, api.SpawnRequest{Agent: "demo", Prompt: "[[set lag=6s]] [[set paste-settle=50ms]] ready"})
	if err != nil {
		t.Fatal(err)
	}
	r, err := d.Client().Send(ctx, first.Target, api.SendRequest{Text: "one [[set lag=0]]"})
	if err != nil || r.Delivery != api.Queued {
		t.Errorf("send: %+v, %v; want queued", r, err)
	}
	if r, err = d.Client().Send(ctx, first.Target, api.SendRequest{Text: "two"}); err != nil || r.Delivery != api.Queued {
		t.Errorf("send: %+v, %v; want queued", r, err)
	}
	events.Await("the second turn's end", func(e api.Event) bool {
		return e.Status == api.Done && len(d.Submitted()) == 3
	})
	if got, want := d.Submitted()[1:], []string{"one [[set lag=0]]", "two"}; !slices.Equal(got, want) {
		t.Errorf("submitted %q, want %q", got, want)
	}
}

// Fifty agents that are started in a row all get their prompts.
func TestFiftySpawnsLoseNoPrompt(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t, termtest.WithDemoLog(), termtest.WithDemo("mount=20ms", "early=drop", "paste-settle=20ms"))
	events := d.WatchAll()
	want := map[string]bool{}
	links := map[string]bool{}
	for i := range 50 {
		prompt := fmt.Sprintf("# Task %d\n\nDo it.", i)
		links[d.Spawn(prompt)] = true
		want[prompt] = true
	}
	for len(links) > 0 {
		e := events.Await("the end of a turn", func(e api.Event) bool { return links[e.Link] && (e.Status == api.Done || e.Reason != "") })
		if e.Status != api.Done {
			t.Errorf("%s: %s", e.Link, e.Reason)
		}
		delete(links, e.Link)
	}
	got := d.Submitted()
	for _, text := range got {
		if !want[text] {
			t.Errorf("submitted twice, or never sent: %q", text)
		}
		delete(want, text)
	}
	if len(want) > 0 {
		t.Errorf("lost: %v", want)
	}
}

// A person types while a text goes in: what the person types is never sent with it, and
// no Return is pressed for the person, though nothing but the composer tells of the text.
func TestPersonTypesBehindAText(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t, termtest.WithDemoLog(), termtest.WithDemo("hooks=off", "program=off", "titles=off", "transcript=off"))
	ctx := d.Context()
	link := d.Spawn("hello")
	screen := d.Screen(link)
	screen.AwaitText("● You wrote 5 bytes")
	for i := range 5 {
		text := fmt.Sprintf("text %d", i)
		sent := make(chan error, 1)
		go func() {
			_, err := d.Client().Send(ctx, link, api.SendRequest{Text: text})
			sent <- err
		}()
		screen.Await(text, func(s string) bool { return strings.Contains(s, text) })
		screen.Type("mine") // as soon as the text is in the composer: it may not go in before the Return
		if err := <-sent; err != nil {
			t.Fatal(err)
		}
		screen.AwaitText("❯ mine\n")
		screen.Type("\x15")
		screen.Await("an empty composer", func(s string) bool { return !strings.Contains(s, "❯ mine\n") })
	}
	want := []string{"hello", "text 0", "text 1", "text 2", "text 3", "text 4"}
	if got := d.Submitted(); !slices.Equal(got, want) {
		t.Errorf("submitted %q, want %q", got, want)
	}
}

// The paste of a person comes in pieces, and nothing goes in between.
func TestPasteInPiecesIsNotCutInto(t *testing.T) {
	t.Parallel()
	d := termtest.Start(t, termtest.WithDemoLog())
	ctx := d.Context()
	first, err := d.Client().SpawnWait(ctx, api.SpawnRequest{Agent: "demo", Prompt: "hello"})
	if err != nil {
		t.Fatal(err)
	}
	screen := d.Screen(first.Target)
	screen.Type("\x1b[200~begin ")
	rows := 24
	taken := func() { // all that was typed before has been
		rows++
		screen.Resize(100, rows)
		screen.AwaitSize(100, rows)
	}
	taken()
	sent := make(chan error, 1)
	go func() {
		_, err := d.Client().SendWait(ctx, first.Target, api.SendRequest{Text: "sent"})
		sent <- err
	}()
	for range 50 {
		screen.Type("x")
		taken()
	}
	screen.Type(" end\x1b[20")
	screen.Type("1~\r")
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	want := []string{"hello", "begin " + strings.Repeat("x", 50) + " end", "sent"}
	if got := d.Submitted(); !slices.Equal(got, want) {
		t.Errorf("submitted %q, want %q", got, want)
	}
	// A client that goes in the middle of one leaves the terminal to the others.
	screen.Type("\x1b[200~lost")
	screen.Detach()
	next := d.Screen(first.Target)
	next.AwaitText("❯ lost")
	next.Type("\x15")
	next.Await("an empty composer", func(s string) bool { return !strings.Contains(s, "❯ lost") })
	if _, err := d.Client().SendWait(ctx, first.Target, api.SendRequest{Text: "last"}); err != nil {
		t.Error(err)
	}
}
