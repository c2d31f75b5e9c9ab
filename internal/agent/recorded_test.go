package agent

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"termio/internal/api"
)

var update = flag.Bool("update", false, "rewrite what the recorded cases want")

// TestRecorded runs every case under testdata through the manifest that its folder is
// named after. A case is a txtar file: events.jsonl as ReadSteps reads them, the
// screens that they name, and want.txt, what the manifest makes of them. A new agent
// is a manifest and cases.
func TestRecorded(t *testing.T) {
	files, err := filepath.Glob("testdata/*/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range files {
		agent := filepath.Base(filepath.Dir(file))
		t.Run(agent+"/"+strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			arc, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := replay(t, builtin(t, agent), arc)
			want := member(arc, "want.txt")
			if *update && want.Data != nil {
				want.Data = []byte(got)
				if err := os.WriteFile(file, txtar.Format(arc), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(string(want.Data), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// member is a file of a case; one without data when there is none.
func member(arc *txtar.Archive, name string) *txtar.File {
	for i := range arc.Files {
		if arc.Files[i].Name == name {
			return &arc.Files[i]
		}
	}
	return &txtar.File{}
}

// replay tells a case's outcomes, a line each: what changed, when, and who said so.
func replay(t *testing.T, m *Manifest, arc *txtar.Archive) string {
	t.Helper()
	steps, err := ReadSteps(bytes.NewReader(member(arc, "events.jsonl").Data), func(name string) ([]byte, error) {
		if f := member(arc, name); f.Data != nil {
			return f.Data, nil
		}
		return nil, fmt.Errorf("no %s in the case", name)
	})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, o := range m.Try(steps) {
		st := steps[max(o.Step, 0)]
		var told []string
		if o.Change.Changed {
			told = append(told, fmt.Sprintf("%s: %s", o.Status, o.Why))
		}
		if o.Change.TurnStarted {
			told = append(told, "turn started")
		}
		if o.Change.TurnEnded {
			told = append(told, "turn ended")
		}
		if o.Change.Prompted {
			told = append(told, "prompt taken")
		}
		if o.Change.Dialog && o.Status == api.NeedsYou {
			told = append(told, tellDialog(o.Dialog))
		}
		if st.Screen != nil && o.At == st.At {
			told = append(told, tellScreen(m, o, *st.Screen))
		}
		for _, f := range o.Findings {
			told = append(told, strings.TrimSpace(f.Path+" "+f.Reason))
			if !f.Warning {
				t.Errorf("at %.3f a fault of the manifest: %s", o.At.Seconds(), f)
			}
		}
		if len(told) > 0 {
			fmt.Fprintf(&b, "%8.3f  %s\n", o.At.Seconds(), strings.Join(told, "; "))
		}
	}
	return b.String()
}

func tellDialog(d *api.Dialog) string {
	if d == nil {
		return "dialog unknown"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %q", d.Kind, d.Question)
	if d.Detail != "" {
		fmt.Fprintf(&b, " about %q", d.Detail)
	}
	if d.Multiple {
		b.WriteString(" several of")
	}
	for _, o := range d.Options {
		fmt.Fprintf(&b, " [%d", o.Number)
		if o.Key != "" {
			fmt.Fprintf(&b, " key %s", o.Key)
		}
		if o.Selected {
			b.WriteString(" selected")
		}
		if o.Chosen {
			b.WriteString(" chosen")
		}
		fmt.Fprintf(&b, " %s]", o.Label)
	}
	return b.String()
}

// tellScreen says what the screen's own rules see.
func tellScreen(m *Manifest, o Outcome, v ScreenView) string {
	var told []string
	if d, ok := m.FindDialog(v); ok {
		told = append(told, "dialog "+tellDialog(d))
	}
	if c := o.Composer; c.Found {
		told = append(told, fmt.Sprintf("composer at %d %q", c.Row, c.Draft))
	}
	if o.Ready {
		told = append(told, "ready, "+o.Sign)
	} else {
		told = append(told, "not ready, "+o.Sign)
	}
	return "screen: " + strings.Join(told, ", ")
}
