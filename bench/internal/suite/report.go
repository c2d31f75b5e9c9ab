package suite

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"termio/bench/internal/machine"
	"termio/bench/internal/stat"
)

// titles say what a figure is, by the beginning of its name, and in which unit.
var titles = []struct{ figure, title, unit string }{
	{"D1", "output, no client, plain", "MiB/s"},
	{"D2", "output, no client, ansi", "MiB/s"},
	{"D3", "output, no client, unicode", "MiB/s"},
	{"D4", "output, no client, agent", "MiB/s"},
	{"D5", "output, one client", "MiB/s"},
	{"D6", "server's processor time", "s/GiB"},
	{"E1", "echo, nothing else", "µs"},
	{"E2", "echo, 50 chatty sessions", "µs"},
	{"E3", "echo, one session floods", "µs"},
	{"L1", "list, command line", "ms"},
	{"L2", "list, socket (tmux: command line)", "ms"},
	{"L3", "start of the command line", "ms"},
	{"C1", "create, command line", "ms"},
	{"C2", "create, socket (tmux: command line)", "ms"},
	{"C3", "create, nothing running", "ms"},
	{"C4", "create, mean of sessions 101 to 1000", "ms"},
	{"H1", "hook, with its shell", "ms"},
	{"M1", "memory of the servers, idle sessions", "MiB"},
	{"M2", "memory of a session with a full history", "MiB"},
	{"M3.cpu", "idle, processor time per second", "ms"},
	{"M3.wakeups", "idle, wake-ups per second", ""},
	{"M3.threads", "idle, threads", ""},
	{"A1", "attach until the screen is drawn", "ms"},
	{"A2", "bytes drawn by an attach", "B"},
	{"A3", "read the screen", "ms"},
	{"V1", "report to a watcher, socket (tmux: output to a control client)", "µs"},
	{"V2", "report to the last of 100 watchers", "µs"},
	{"V3", "hook to a watcher, whole", "ms"},
}

// Title says what a figure is, and in which unit.
func Title(figure string) (title, unit string) {
	for _, t := range titles {
		if rest, ok := strings.CutPrefix(figure, t.figure); ok {
			return t.title + strings.Replace(rest, ".", ", ", 1), t.unit
		}
	}
	return figure, ""
}

// A Result is a figure beside its gate.
type Result struct {
	stat.Gate
	Value   stat.Interval `json:"value"` // the ratio to the peer, or the figure itself
	Verdict stat.Verdict  `json:"verdict"`
}

// A Report is what a run came to.
type Report struct {
	Date     time.Time                          `json:"date"`
	Command  string                             `json:"command"`
	Machine  []string                           `json:"machine"`
	Load     string                             `json:"load"`
	Versions map[string]string                  `json:"versions"`
	Missing  []string                           `json:"missing,omitempty"`
	Figures  map[string]map[string]stat.Summary `json:"figures"`
	Results  []Result                           `json:"results"`
	Failures []string                           `json:"failures,omitempty"`
	Wrong    []string                           `json:"wrong,omitempty"`
	Noisy    int                                `json:"noisy"` // readings left out
	Samples  []Sample                           `json:"samples"`
}

// Report sums the run up beside the gates.
func (s *Suite) Report(command string, gates []stat.Gate) Report {
	r := Report{
		Date: time.Now().Truncate(time.Second), Command: command, Machine: machine.Describe(), Load: machine.Load(),
		Versions: s.Versions, Missing: s.Missing, Failures: s.Failures, Wrong: s.Wrong, Samples: s.Samples, Figures: map[string]map[string]stat.Summary{},
	}
	byRound := map[string]map[string]map[int]float64{}
	for _, sample := range s.Samples {
		if sample.Noisy {
			r.Noisy++
			continue
		}
		if byRound[sample.Figure] == nil {
			byRound[sample.Figure] = map[string]map[int]float64{}
		}
		if byRound[sample.Figure][sample.Who] == nil {
			byRound[sample.Figure][sample.Who] = map[int]float64{}
		}
		byRound[sample.Figure][sample.Who][sample.Round] = sample.Value
	}
	for figure, whos := range byRound {
		r.Figures[figure] = map[string]stat.Summary{}
		for who, rounds := range whos {
			r.Figures[figure][who] = stat.Summarise(slices.Collect(maps.Values(rounds)))
		}
	}
	for _, g := range gates {
		whos := byRound[g.Figure]
		values := slices.Collect(maps.Values(whos["termio"]))
		if g.Peer != "" {
			values = stat.Ratios(whos["termio"], whos[g.Peer])
		}
		if len(values) == 0 {
			continue // not measured, or without the peer
		}
		v := stat.MedianInterval(values)
		r.Results = append(r.Results, Result{g, v, g.Judge(v)})
	}
	return r
}

// Failed names what fails a check: wrong screens, figures past their gates, turns that
// came to nothing. With steady, only what a busy machine cannot be the reason of.
func (r Report) Failed(steady bool) []string {
	failed := slices.Clone(r.Wrong)
	if !steady {
		failed = append(failed, r.Failures...)
	}
	for _, res := range r.Results {
		if res.Verdict == stat.Fail && (res.Steady || !steady) {
			failed = append(failed, fmt.Sprintf("%s: %s, gate %v", res.Figure, res.against(), res.Gate.Gate))
		}
	}
	return failed
}

// against is a result's value in words.
func (r Result) against() string {
	value := fmt.Sprintf("%s [%s, %s]", number(r.Value.Mid), number(r.Value.Low), number(r.Value.High))
	if r.Peer == "" {
		return value
	}
	return value + " x " + r.Peer
}

// number prints three digits of a number.
func number(v float64) string {
	switch a := math.Abs(v); {
	case a >= 100 || v == math.Trunc(v):
		return fmt.Sprintf("%.0f", v)
	case a >= 10:
		return fmt.Sprintf("%.1f", v)
	case a >= 1:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.3f", v)
}

// JSON writes all of it.
func (r Report) JSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", " ")
	return enc.Encode(r)
}

// Markdown writes the tables.
func (r Report) Markdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, `%s`\n\n", r.Date.UTC().Format("2006-01-02 15:04 UTC"), r.Command)
	fmt.Fprintf(&b, "%s; load at the end %s. ", strings.Join(r.Machine, ", "), r.Load)
	for _, who := range slices.Sorted(maps.Keys(r.Versions)) {
		fmt.Fprintf(&b, "%s: %s. ", who, r.Versions[who])
	}
	if len(r.Missing) > 0 {
		fmt.Fprintf(&b, "Not installed, and left out: %s. ", strings.Join(r.Missing, ", "))
	}
	fmt.Fprintf(&b, "Readings left out because of others on the machine: %d.\n", r.Noisy)
	r.figureTable(&b)
	r.resultTable(&b)
	if bad := slices.Concat(r.Wrong, r.Failures); len(bad) > 0 {
		b.WriteString("\nFailures:\n\n")
		for _, f := range bad {
			fmt.Fprintf(&b, "- %s\n", f)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// columns are the programs in the order of the table.
var columns = []string{"termio", "tmux", "screen", "dtach", "reader", "bare", "post", "sh", "floor"}

// figureTable writes medians with the tenth and the ninetieth percentile.
func (r Report) figureTable(b *strings.Builder) {
	used := slices.DeleteFunc(slices.Clone(columns), func(who string) bool {
		for _, whos := range r.Figures {
			if _, ok := whos[who]; ok {
				return false
			}
		}
		return true
	})
	fmt.Fprintf(b, "\n| | figure | unit | %s |\n|---|---|---|%s\n", strings.Join(used, " | "), strings.Repeat("---|", len(used)))
	for _, figure := range sortedFigures(slices.Collect(maps.Keys(r.Figures))) {
		title, unit := Title(figure)
		fmt.Fprintf(b, "| %s | %s | %s |", figure, title, unit)
		for _, who := range used {
			v, ok := r.Figures[figure][who]
			switch {
			case !ok:
				b.WriteString(" |")
			case v.N == 1:
				fmt.Fprintf(b, " %s |", number(v.Median))
			default:
				fmt.Fprintf(b, " %s (%s–%s) |", number(v.Median), number(v.P10), number(v.P90))
			}
		}
		b.WriteString("\n")
	}
}

// resultTable writes each gate with where the figure stands.
func (r Report) resultTable(b *strings.Builder) {
	b.WriteString("\n| figure | to | termio | rounds | gate | goal | |\n|---|---|---|---|---|---|---|\n")
	for _, res := range r.Results {
		sign := "≤"
		if res.Better == "higher" {
			sign = "≥"
		}
		peer := res.Peer
		if peer == "" {
			peer = "itself"
		}
		fmt.Fprintf(b, "| %s | %s | %s [%s, %s] | %d | %s %v | %s %v | %s |\n", res.Figure, peer,
			number(res.Value.Mid), number(res.Value.Low), number(res.Value.High), res.Value.N, sign, res.Gate.Gate, sign, res.Goal, res.Verdict)
	}
}

// sortedFigures puts figures in the order of the titles, and numbers in their order.
func sortedFigures(figures []string) []string {
	rank := func(figure string) int {
		for i, t := range titles {
			if strings.HasPrefix(figure, t.figure) {
				return i
			}
		}
		return len(titles)
	}
	slices.SortFunc(figures, func(a, b string) int {
		if d := rank(a) - rank(b); d != 0 {
			return d
		}
		if d := len(a) - len(b); d != 0 && strings.ContainsAny(a, "0123456789") && strings.Contains(a, ".1") && strings.Contains(b, ".1") {
			return d
		}
		return strings.Compare(a, b)
	})
	return figures
}
