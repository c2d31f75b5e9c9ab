package termtest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
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

// WithDemoStream has the demo agents tell what they do as they do it, for AwaitDemo.
func WithDemoStream() Option {
	return func(d *Daemon) {
		d.t.Helper()
		path := filepath.Join(filepath.Dir(d.Dir), "demo.pipe")
		err := syscall.Mkfifo(path, 0o600)
		var pipe *os.File
		if err == nil {
			pipe, err = os.OpenFile(path, os.O_RDWR, 0) // for both: it doesn't end with an agent
		}
		if err != nil {
			d.t.Fatal(err)
		}
		d.t.Cleanup(func() { _ = pipe.Close() })
		WithDemo("events=" + path)(d)
		d.demo = make(chan DemoEvent, 10000)
		go func() {
			for lines := bufio.NewScanner(pipe); lines.Scan(); {
				var e DemoEvent
				if json.Unmarshal(lines.Bytes(), &e) == nil {
					d.demo <- e
				}
			}
		}()
	}
}

// AwaitDemo passes over what demo agents do until they do something. Nothing else than
// a test's patience bounds the wait, whatever state the daemon is in.
func (d *Daemon) AwaitDemo(event string) DemoEvent {
	d.t.Helper()
	for ctx := d.Context(); ; {
		select {
		case e := <-d.demo:
			d.did = append(d.did, e)
			if e.Event == event {
				return e
			}
		case <-ctx.Done():
			d.t.Fatalf("no %s; the demo agents did: %+v", event, d.did)
		}
	}
}

// Taken are the prompts that the demo agents have taken up to what AwaitDemo gave last.
func (d *Daemon) Taken() []string {
	var texts []string
	for _, e := range d.did {
		if e.Event == "submit" {
			texts = append(texts, e.Text)
		}
	}
	return texts
}

// A Gate holds up a turn of the demo agent, with [[until PATH]] in its prompt, or a
// shell with read x <PATH, until the test opens it.
type Gate struct {
	d    *Daemon
	Path string // a named pipe
	pipe *os.File
}

// Gate makes a gate in the project's folder.
func (d *Daemon) Gate(name string) *Gate {
	d.t.Helper()
	g := &Gate{d: d, Path: filepath.Join(d.Dir, name)}
	err := syscall.Mkfifo(g.Path, 0o600)
	if err == nil {
		// Open for both: whether anybody waits already makes no difference.
		g.pipe, err = os.OpenFile(g.Path, os.O_RDWR, 0)
	}
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { _ = g.pipe.Close() })
	return g
}

// Open lets one turn go on.
func (g *Gate) Open() {
	g.d.t.Helper()
	g.Say("")
}

// Say opens the gate with a word for whoever reads it.
func (g *Gate) Say(word string) {
	g.d.t.Helper()
	if _, err := g.pipe.WriteString(word + "\n"); err != nil {
		g.d.t.Fatal(err)
	}
}

// DemoEvent is something that the demo agent did.
type DemoEvent struct {
	Event  string `json:"event"`
	Text   string `json:"text"`
	Key    string `json:"key"`
	Option int    `json:"option"`
	Kind   string `json:"kind"`
	Hook   string `json:"hook"`
	Status string `json:"status"`
	Why    string `json:"why"`
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
