package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"termio/internal/agent"
	"termio/internal/api"
	"termio/internal/client"
)

// liveReply answers agents test --live: what an agent's channels told of one turn.
type liveReply struct {
	api.Head
	ID           string        `json:"id"`
	Name         string        `json:"name"`
	Target       string        `json:"target"` // of the session, which is closed by now
	Status       api.Status    `json:"status"` // how the turn ended
	TimedOut     bool          `json:"timed_out"`
	Conversation string        `json:"conversation,omitempty"`
	Transcript   string        `json:"transcript,omitempty"`
	Channels     []liveChannel `json:"channels"`
	Findings     []string      `json:"findings,omitempty"`
	Faults       int           `json:"faults"`
}

// liveChannel is what one channel told.
type liveChannel struct {
	Channel  string   `json:"channel"`
	Declared string   `json:"declared,omitempty"` // the manifest's key for it
	Heard    []string `json:"heard,omitempty"`    // what matched and what it said, in order, each once
	Note     string   `json:"note,omitempty"`     // why it did not count
}

// tryLive starts an agent on a prompt in the current folder, listens to its channels until
// the turn has ended, and closes the session.
func (a *App) tryLive(ctx context.Context, id, prompt string, limit time.Duration) error {
	env, err := a.env()
	if err != nil {
		return err
	}
	m, ok := agent.Load(os.DirFS(env.AgentsDir), nil).Find(id)
	if !ok {
		return noAgent(id, env.AgentsDir)
	}
	c, err := a.dial(ctx, true)
	if err != nil {
		return err
	}
	here, err := absolute(".")
	if err != nil {
		return err
	}
	started, err := c.Spawn(ctx, api.SpawnRequest{Agent: m.ID, Prompt: prompt, Cwd: here})
	if err != nil {
		return err
	}
	v := liveReply{Head: api.OKHead(), ID: m.ID, Name: m.Name, Target: started.Target}
	for _, d := range m.Channels() {
		v.Channels = append(v.Channels, liveChannel{Channel: d.Channel, Declared: d.Key})
	}
	err = v.listen(ctx, c, limit)
	if _, cerr := c.Close(context.WithoutCancel(ctx), started.Target); err == nil && cerr != nil && !errors.Is(cerr, &api.Error{Code: api.NotFound}) {
		err = cerr
	}
	if err != nil {
		return err
	}
	v.judge(m)
	a.print(v, func(w io.Writer) { printLive(w, v) })
	if v.Faults > 0 {
		return errPrinted
	}
	return nil
}

// errSettled ends the watch of a turn that has ended.
var errSettled = errors.New("the turn has ended")

// listen takes in what the channels say at each change, until the turn is over or waits
// for a person.
func (v *liveReply) listen(ctx context.Context, c *client.Client, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	worked := false
	err := c.Watch(ctx, client.WatchOptions{States: []api.Status{api.Working, api.Idle, api.Done, api.NeedsYou, api.Closed}}, func(l client.Line) error {
		if l.Event == nil || l.Event.Link != v.Target {
			return nil
		}
		x, err := c.Explain(ctx, v.Target)
		if err != nil {
			return err
		}
		v.hear(x)
		worked = worked || x.Status == api.Working
		if x.Status == api.Done || x.Status == api.NeedsYou || worked && x.Status == api.Idle || l.Event.Status == api.Closed {
			return errSettled
		}
		return nil
	})
	switch {
	case errors.Is(err, errSettled):
		return nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		v.TimedOut = true
		return nil
	}
	return err
}

// hear adds each channel's last word.
func (v *liveReply) hear(x api.ExplainReply) {
	v.Status, v.Conversation, v.Transcript = x.Status, x.Conversation, x.Transcript
	for _, e := range x.Evidence {
		i := slices.IndexFunc(v.Channels, func(c liveChannel) bool { return c.Channel == e.Channel })
		if i < 0 {
			v.Channels = append(v.Channels, liveChannel{Channel: e.Channel})
			i = len(v.Channels) - 1
		}
		c := &v.Channels[i]
		c.Note = e.Note
		said := e.Rule
		if e.Status != "" {
			said = strings.TrimSpace(fmt.Sprintf("%s → %s", said, e.Status))
		}
		if said != "" && !slices.Contains(c.Heard, said) {
			c.Heard = append(c.Heard, said)
		}
	}
}

// judge says what a person who writes the manifest has to look at.
func (v *liveReply) judge(m *agent.Manifest) {
	fault := func(format string, args ...any) {
		v.Findings = append(v.Findings, fmt.Sprintf(format, args...))
		v.Faults++
	}
	if v.TimedOut {
		fault("the turn did not end: it is %s. Look with termio sessions read and explain which channel should have told", v.Status)
	}
	for _, c := range v.Channels {
		if c.Declared == "hooks" && len(c.Heard) == 0 {
			fault("hooks are declared, and none was heard: termio doctor says whether they are installed and trusted; then compare hooks.events with the agent's own names")
		}
	}
	if m.CanResume() && v.Conversation == "" {
		fault("no conversation was bound: hooks.conversation or resume.discover should tell its id, or the session cannot be resumed")
	}
}

func printLive(w io.Writer, v liveReply) {
	how := "ended as " + string(v.Status)
	if v.TimedOut {
		how = "did not end"
	}
	fmt.Fprintf(w, "%s (%s): the turn %s\n", clean(v.Name), clean(v.ID), how)
	rows := make([][]string, len(v.Channels))
	for i, c := range v.Channels {
		heard := strings.Join(c.Heard, ", ")
		if c.Note != "" {
			heard += " (" + c.Note + ")"
		}
		rows[i] = []string{c.Channel, orDash(c.Declared), orDash(clean(heard))}
	}
	table(w, 0, []string{"CHANNEL", "DECLARED BY", "HEARD"}, rows, func(_, _ int, cell string) string { return cell })
	if v.Conversation != "" {
		fmt.Fprintf(w, "conversation: %s\n", clean(v.Conversation))
	}
	if v.Transcript != "" {
		fmt.Fprintf(w, "transcript: %s\n", clean(v.Transcript))
	}
	for _, f := range v.Findings {
		fmt.Fprintf(w, "fault: %s\n", clean(f))
	}
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
