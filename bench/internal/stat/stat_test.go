package stat

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestQuantile(t *testing.T) {
	tests := []struct {
		name   string
		values []float64
		q      float64
		want   float64
	}{
		{"one", []float64{7}, 0.9, 7},
		{"odd", []float64{3, 1, 2}, 0.5, 2},
		{"even", []float64{4, 1, 3, 2}, 0.5, 2.5},
		{"lowest", []float64{3, 1, 2}, 0, 1},
		{"highest", []float64{3, 1, 2}, 1, 3},
		{"between", []float64{0, 10}, 0.1, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Quantile(tt.values, tt.q); math.Abs(got-tt.want) > 1e-9 {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
	if got := Median(nil); !math.IsNaN(got) {
		t.Errorf("the median of nothing is %v", got)
	}
}

// A round that one of the two has missed says nothing of their ratio, and the others
// must not move up into its place.
func TestRatiosPairRounds(t *testing.T) {
	got := Ratios(map[int]float64{1: 10, 2: 20, 4: 40}, map[int]float64{1: 5, 3: 1, 4: 10, 2: 0})
	if len(got) != 2 || got[0] != 2 || got[1] != 4 {
		t.Errorf("got %v, want [2 4]", got)
	}
}

func TestMedianInterval(t *testing.T) {
	v := MedianInterval([]float64{1, 1.1, 0.9, 1.05, 0.95, 1, 8})
	if v.N != 7 || v.Mid != 1 {
		t.Errorf("got %+v", v)
	}
	if v.Low < 0.9 || v.Low > 1 || v.High < 1 || v.High > 1.1 {
		t.Errorf("one wild reading of seven moves the interval: %+v", v)
	}
	if again := MedianInterval([]float64{1, 1.1, 0.9, 1.05, 0.95, 1, 8}); again != v {
		t.Errorf("the same readings give %+v, then %+v", v, again)
	}
}

func TestJudge(t *testing.T) {
	lower := Gate{Figure: "X", Better: "lower", Gate: 1, Goal: 0.5}
	higher := Gate{Figure: "X", Better: "higher", Gate: 1, Goal: 2}
	tests := []struct {
		name string
		gate Gate
		v    Interval
		want Verdict
	}{
		{"all past the gate", lower, Interval{9, 1.3, 1.1, 1.5}, Fail},
		{"noise reaches over the gate", lower, Interval{9, 1.1, 0.9, 1.5}, Inconclusive},
		{"within the gate", lower, Interval{9, 0.8, 0.7, 1.2}, Pass},
		{"the goal", lower, Interval{9, 0.4, 0.3, 0.6}, Met},
		{"the interval reaches the goal", lower, Interval{9, 0.55, 0.45, 0.7}, Met},
		{"too wide to have reached it", lower, Interval{9, 0.8, 0.4, 1.4}, Pass},
		{"too few rounds", lower, Interval{4, 3, 3, 3}, Inconclusive},
		{"more is better: past", higher, Interval{9, 0.8, 0.7, 0.9}, Fail},
		{"more is better: within", higher, Interval{9, 1.5, 1.2, 1.8}, Pass},
		{"more is better: the goal", higher, Interval{9, 2.5, 2.1, 3}, Met},
		{"one round is enough where the gate says so", Gate{Better: "lower", Gate: 1, Goal: 1, MinPairs: 1}, Interval{1, 2, 2, 2}, Fail},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.gate.Judge(tt.v); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestReadGatesRefuses(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"a word of no meaning", `{"gates":[{"figure":"D1","better":"more","gate":1,"goal":1}]}`, "use lower or higher"},
		{"a misspelt field", `{"gates":[{"figure":"D1","better":"lower","gates":1,"goal":1}]}`, "unknown field"},
		{"a goal that is worse than the gate", `{"gates":[{"figure":"D1","better":"lower","gate":1,"goal":2}]}`, "past the gate"},
		{"no figure", `{"gates":[{"better":"lower","gate":1,"goal":1}]}`, "names no figure"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "gates.json")
			if err := os.WriteFile(file, []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := ReadGates(file); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}
