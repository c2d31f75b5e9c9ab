package termtest

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
)

// WithDemo sets switches of the demo agent, as name=value, for every session.
func WithDemo(switches ...string) Option {
	return func(d *Daemon) {
		for _, s := range switches {
			name, value, _ := strings.Cut(s, "=")
			d.Env = append(d.Env, "TERMIO_DEMO_"+strings.ToUpper(strings.ReplaceAll(name, "-", "_"))+"="+value)
		}
	}
}

// DemoEvent is something that the demo agent did.
type DemoEvent struct {
	Event  string `json:"event"`
	Text   string `json:"text"`
	Key    string `json:"key"`
	Option int    `json:"option"`
	Kind   string `json:"kind"`
}

// demoLog is where the demo agents of a daemon write what they did. WithDemoLog has it
// written.
func (d *Daemon) demoLog() string { return filepath.Join(filepath.Dir(d.Dir), "demo.jsonl") }

// WithDemoLog has the demo agent write what it does, for DemoEvents.
func WithDemoLog() Option {
	return func(d *Daemon) { WithDemo("events=" + d.demoLog())(d) }
}

// DemoEvents are what the demo agent has done so far that is called so.
func (d *Daemon) DemoEvents(event string) []DemoEvent {
	d.t.Helper()
	data, err := os.ReadFile(d.demoLog())
	if err != nil {
		d.t.Fatal(err)
	}
	var all []DemoEvent
	for line := range bytes.Lines(data) {
		var e DemoEvent
		if json.Unmarshal(line, &e) == nil && e.Event == event {
			all = append(all, e)
		}
	}
	return all
}

// Submitted are the prompts that the demo agent has taken.
func (d *Daemon) Submitted() []string {
	d.t.Helper()
	var texts []string
	for _, e := range d.DemoEvents("submit") {
		texts = append(texts, e.Text)
	}
	return texts
}
