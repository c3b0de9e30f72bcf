package pprofui

import "github.com/google/pprof/profile"

// IsEmpty reports whether the pages would have nothing to show of p: no sample has a value.
func IsEmpty(p *profile.Profile) bool { return shownType(p) < 0 }

// showSamples makes the pages of p and base, which may be nil, begin with a sample type that has
// samples: a heap profile without live objects begins with the allocated ones.
func showSamples(p, base *profile.Profile) {
	i := shownType(p)
	if i < 0 && base != nil {
		i = shownType(base)
	}
	if 0 <= i && i < len(p.SampleType) {
		p.DefaultSampleType = p.SampleType[i].Type
	}
}

// shownType returns the index of the default sample type of p, or else of the last one. If that
// type has no samples it returns the index of the last type with samples, or -1.
func shownType(p *profile.Profile) int {
	shown, sampled := len(p.SampleType)-1, make([]bool, len(p.SampleType))
	for _, s := range p.Sample {
		for i, v := range s.Value {
			sampled[i] = sampled[i] || v != 0
		}
	}
	for i, t := range p.SampleType {
		if t.Type == p.DefaultSampleType {
			shown = i
		}
	}
	for last := len(sampled) - 1; shown >= 0 && !sampled[shown]; last-- {
		shown = last
	}
	return shown
}
