package journey

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/mvccmap/mvccmap/internal/brief"
)

// A Profile is where the processor time of a sample went.
type Profile struct {
	stacks []stack
	total  int64
}

// stack is functions, the outermost first, and the nanoseconds spent in the last.
type stack struct {
	funcs []string
	nanos int64
}

// preempted is the function at the top of the stack of one that lost its processor: its time
// counts for that one.
const preempted = "runtime.asyncPreempt"

// ReadProfile reads a CPU profile in the format of pprof; none, of nil, is empty.
func ReadProfile(data []byte) (*Profile, error) {
	if data == nil {
		return new(Profile), nil
	}
	raw, err := profile.Parse(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("reading the profile: %w", err)
	}
	p := new(Profile)
	value := len(raw.SampleType) - 1 // of a CPU profile: nanoseconds
	for _, s := range raw.Sample {
		st := stack{nanos: s.Value[value]}
		for _, l := range slices.Backward(s.Location) {
			for _, line := range slices.Backward(l.Line) {
				if line.Function != nil {
					st.funcs = append(st.funcs, brief.Func(line.Function.Name))
				}
			}
		}
		if n := len(st.funcs) - 1; n > 0 && st.funcs[n] == preempted {
			st.funcs = st.funcs[:n]
		}
		p.stacks = append(p.stacks, st)
		p.total += st.nanos
	}
	return p, nil
}

// Share returns the part of the time, from 0 to 1, spent in functions that have the text
// in their names, and in what they call.
func (p *Profile) Share(text string) float64 {
	var in int64
	for _, s := range p.stacks {
		if slices.ContainsFunc(s.funcs, func(f string) bool { return strings.Contains(f, text) }) {
			in += s.nanos
		}
	}
	return float64(in) / float64(max(p.total, 1))
}

// Top returns the n functions in which most of the time was spent, without what they
// call, with their parts.
func (p *Profile) Top(n int) []string {
	self := map[string]int64{}
	for _, s := range p.stacks {
		if len(s.funcs) > 0 {
			self[s.funcs[len(s.funcs)-1]] += s.nanos
		}
	}
	var names []string
	for name := range self {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(self[b], self[a]), strings.Compare(a, b))
	})
	names = names[:min(n, len(names))]
	for i, name := range names {
		names[i] = name + " " + brief.Percent(float64(self[name])/float64(max(p.total, 1)))
	}
	return names
}
