package journey

import (
	"bytes"
	"cmp"
	"fmt"
	"runtime/pprof"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/mvccmap/mvccmap/internal/brief"
)

// A Profile is where the processor time of samples went.
type Profile struct {
	Err error // the first, of taking it

	stacks []stack
	last   int // of them: the first of the sample that was added last
}

// stack is functions, the outermost first, and the nanoseconds spent in the last.
type stack struct {
	funcs []string
	nanos int64
}

// Around has a sample profiled, see [bench.Trial.Around], and adds it.
func (p *Profile) Around() (end func()) {
	var data bytes.Buffer
	if err := pprof.StartCPUProfile(&data); err != nil {
		p.Err = cmp.Or(p.Err, err)
		return func() {}
	}
	return func() {
		pprof.StopCPUProfile()
		p.Err = cmp.Or(p.Err, p.add(data.Bytes()))
	}
}

// preempted is the function at the top of the stack of one that lost its processor: its time
// counts for that one.
const preempted = "runtime.asyncPreempt"

// add adds a CPU profile in the format of pprof.
func (p *Profile) add(data []byte) error {
	raw, err := profile.ParseData(data)
	if err != nil {
		return fmt.Errorf("reading the profile: %w", err)
	}
	p.last = len(p.stacks)
	for _, s := range raw.Sample {
		st := stack{nanos: s.Value[len(s.Value)-1]}
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
	}
	return nil
}

// Empty reports whether nothing was sampled.
func (p *Profile) Empty() bool { return len(p.stacks) == 0 }

// Share returns the part of the time of the last sample, from 0 to 1, spent in functions that have
// the text in their names, and in what they call.
func (p *Profile) Share(text string) float64 {
	var in, total int64
	for _, s := range p.stacks[p.last:] {
		total += s.nanos
		if slices.ContainsFunc(s.funcs, func(f string) bool { return strings.Contains(f, text) }) {
			in += s.nanos
		}
	}
	return float64(in) / float64(max(total, 1))
}
