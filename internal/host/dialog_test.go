package host_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"termio/internal/api"
	"termio/internal/termtest"
)

// A question told by a hook before it is drawn reaches waiters and watchers with
// its options: without them nobody can answer it.
func TestQuestionComesWithItsOptions(t *testing.T) {
	d := termtest.Start(t)
	events := d.WatchAll()
	link := d.Spawn("[[ask Which colour?|Red|Blue]]")
	e := events.AwaitStatus(link, api.NeedsYou)
	want := &api.Dialog{Kind: api.DialogQuestion, Question: "Which colour?", Options: []api.Option{
		{Number: 1, Key: "1", Label: "Red", Selected: true},
		{Number: 2, Key: "2", Label: "Blue"},
		{Number: 3, Key: "3", Label: "Type something."},
	}}
	if diff := cmp.Diff(want, e.Dialog); diff != "" {
		t.Errorf("dialog (-want +got):\n%s", diff)
	}
	if want := "Which colour?\n1. Red\n2. Blue\n3. Type something."; e.Prompt != want {
		t.Errorf("prompt %q, want %q", e.Prompt, want)
	}
}
