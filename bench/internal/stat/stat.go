// Package stat turns the readings of a benchmark into what may be said of them:
// medians with their spread, the ratio of two that were measured in the same
// round, how sure that ratio is, and whether it passes a gate.
//
// The suite calls it with the readings of one run; readings of different runs or
// machines never meet, for absolute figures drift by a third from hour to hour.
// Everything is a function of values: the same readings give the same verdict,
// the resampling included.
//
// Functions may be called concurrently.
package stat

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
)

// Quantile is the q-quantile (0 to 1) of values, between its two neighbours where it
// falls between them; NaN of none. values stay as they are.
func Quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	at := q * float64(len(sorted)-1)
	low := int(math.Floor(at))
	if low+1 == len(sorted) {
		return sorted[low]
	}
	part := at - float64(low)
	return sorted[low]*(1-part) + sorted[low+1]*part
}

// Median is the middle of values; NaN of none.
func Median(values []float64) float64 { return Quantile(values, 0.5) }

// A Summary tells of the readings of one program.
type Summary struct {
	N      int     `json:"n"`
	Median float64 `json:"median"`
	P10    float64 `json:"p10"`
	P90    float64 `json:"p90"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

// Summarise summarises readings; at least one.
func Summarise(values []float64) Summary {
	return Summary{
		N: len(values), Median: Median(values), P10: Quantile(values, 0.1), P90: Quantile(values, 0.9),
		Min: slices.Min(values), Max: slices.Max(values),
	}
}

// An Interval is a figure and the bounds in which it lies with a confidence of 90 %.
type Interval struct {
	N    int     `json:"n"` // readings, or pairs of them
	Mid  float64 `json:"mid"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// resamples is how often the readings are drawn anew for an interval.
const resamples = 2000

// MedianInterval is the median of values with its bootstrap interval. Of none it is
// NaN throughout.
func MedianInterval(values []float64) Interval {
	mid := Median(values)
	if len(values) < 2 {
		return Interval{len(values), mid, mid, mid}
	}
	// A fixed seed: a verdict must not depend on when it is asked for.
	draw := rand.New(rand.NewPCG(uint64(len(values)), 1))
	medians := make([]float64, resamples)
	sample := make([]float64, len(values))
	for i := range medians {
		for j := range sample {
			sample[j] = values[draw.IntN(len(values))]
		}
		medians[i] = Median(sample)
	}
	return Interval{len(values), mid, Quantile(medians, 0.05), Quantile(medians, 0.95)}
}

// Ratios divides two programs' readings of the same round, in the order of the rounds.
// Rounds that only one of them has are left out.
func Ratios(ours, theirs map[int]float64) []float64 {
	var ratios []float64
	for _, round := range slices.Sorted(maps.Keys(ours)) {
		if other, ok := theirs[round]; ok && other > 0 {
			ratios = append(ratios, ours[round]/other)
		}
	}
	return ratios
}
