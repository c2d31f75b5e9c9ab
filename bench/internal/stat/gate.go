package stat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
)

// A Gate bounds one figure: its ratio to a peer's of the same round, or its own value
// where no peer is named.
type Gate struct {
	Figure string  `json:"figure"`
	Peer   string  `json:"peer,omitempty"`
	Better string  `json:"better"` // lower or higher
	Gate   float64 `json:"gate"`   // past it, the figure has failed
	Goal   float64 `json:"goal"`   // what is aimed at
	// MinPairs is how many rounds a verdict needs; 0 is DefaultPairs.
	MinPairs int `json:"min_pairs,omitempty"`
	// Steady says that noise of the machine cannot move the figure past its gate: a
	// count, a size, or a ratio with room. Only such a figure fails a quick check.
	Steady bool `json:"steady,omitempty"`
}

// DefaultPairs is how many rounds a verdict needs where its gate doesn't say.
const DefaultPairs = 5

// ReadGates reads the table of gates.
func ReadGates(file string) ([]Gate, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the gates: %w", err)
	}
	var table struct {
		Comment []string `json:"//"`
		Gates   []Gate   `json:"gates"`
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&table); err != nil {
		return nil, fmt.Errorf("read the gates: %s: %w", file, err)
	}
	for _, g := range table.Gates {
		if err := g.check(); err != nil {
			return nil, fmt.Errorf("read the gates: %s: %s: %w", file, g.Figure, err)
		}
	}
	return table.Gates, nil
}

// check says what is wrong with a gate.
func (g Gate) check() error {
	switch {
	case g.Figure == "":
		return fmt.Errorf("a gate names no figure")
	case g.Better != "lower" && g.Better != "higher":
		return fmt.Errorf("better is %q: use lower or higher", g.Better)
	case g.past(g.Goal, g.Gate):
		return fmt.Errorf("the goal %v is past the gate %v", g.Goal, g.Gate)
	}
	return nil
}

// past reports whether a value is worse than a bound.
func (g Gate) past(value, bound float64) bool {
	if g.Better == "higher" {
		return value < bound
	}
	return value > bound
}

// A Verdict says how a figure stands to its gate.
type Verdict string

// Verdicts.
const (
	Met          Verdict = "goal"         // the interval reaches the goal
	Pass         Verdict = "pass"         // the median is within the gate
	Fail         Verdict = "FAIL"         // the whole interval is past the gate
	Inconclusive Verdict = "inconclusive" // neither, or too few rounds
)

// Judge compares a figure with the gate.
func (g Gate) Judge(v Interval) Verdict {
	need := g.MinPairs
	if need == 0 {
		need = DefaultPairs
	}
	best, worst := v.Low, v.High
	if g.Better == "higher" {
		best, worst = v.High, v.Low
	}
	switch {
	case v.N < need:
		return Inconclusive
	case g.past(best, g.Gate):
		return Fail
	case g.past(v.Mid, g.Gate):
		return Inconclusive
	case !g.past(best, g.Goal) && (!g.past(v.Mid, g.Goal) || !g.past(worst, g.Gate)):
		return Met
	}
	return Pass
}
