package main

import (
	"slices"
	"time"
)

// missing marks a round that a contestant did not run in.
const missing = time.Duration(-1)

// present returns the samples of the rounds that were run, sorted.
func present(samples []time.Duration) []time.Duration {
	kept := slices.DeleteFunc(slices.Clone(samples), func(d time.Duration) bool { return d == missing })
	slices.Sort(kept)
	return kept
}

// middle returns the median of a sorted list, or 0 of an empty one.
func middle(sorted []time.Duration) time.Duration {
	n := len(sorted)
	switch {
	case n == 0:
		return 0
	case n%2 == 1:
		return sorted[n/2]
	}
	return (sorted[n/2-1] + sorted[n/2]) / 2
}

// median returns the median of the rounds that were run, or 0 if none was.
func median(samples []time.Duration) time.Duration { return middle(present(samples)) }

// minimum returns the shortest round, or 0 if none was run.
func minimum(samples []time.Duration) time.Duration {
	if kept := present(samples); len(kept) > 0 {
		return kept[0]
	}
	return 0
}

// added returns the median of what each round took beyond base in the same
// round. A drift of the whole machine cancels out, as it would not between two
// medians.
func added(samples, base []time.Duration) time.Duration {
	var diffs []time.Duration
	for i := range min(len(samples), len(base)) {
		if samples[i] != missing && base[i] != missing {
			diffs = append(diffs, samples[i]-base[i])
		}
	}
	slices.Sort(diffs)
	return middle(diffs)
}

// ratio is a/b, or 0 where that means nothing.
func ratio(a, b time.Duration) float64 {
	if b <= 0 {
		return 0
	}
	return float64(a) / float64(b)
}
