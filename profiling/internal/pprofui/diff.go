package pprofui

import (
	"slices"

	"github.com/google/pprof/profile"
)

// ScaleTo gives p the totals of like, value by value.
func ScaleTo(p, like *profile.Profile) {
	ratios := make([]float64, len(p.SampleType))
	for i := range ratios {
		ratios[i] = 1
		if from, to := total(p, i), total(like, i); from != 0 && to != 0 {
			ratios[i] = to / from
		}
	}
	p.ScaleN(ratios)
}

// total sums value i over all samples, 0 if there is no such value.
func total(p *profile.Profile, i int) (sum float64) {
	for _, s := range p.Sample {
		if i < len(s.Value) {
			sum += float64(s.Value[i])
		}
	}
	return sum
}

// dropUnshared takes the file names of a function out of both profiles if one of
// them has none for it: the flame graph tells functions apart by their files, too.
// Otherwise profiles of two builds of a program would have nothing in common.
func dropUnshared(p, q *profile.Profile) {
	nameless, all := map[string]bool{}, slices.Concat(p.Function, q.Function)
	for _, f := range all {
		if f.Filename == "" {
			nameless[f.Name] = true
		}
	}
	for _, f := range all {
		if nameless[f.Name] {
			f.Filename = ""
		}
	}
}
