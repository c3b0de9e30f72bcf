package results

import (
	"fmt"
	"math"

	"golang.org/x/perf/benchunit"
)

// Scaled writes a figure as benchstat does: with a prefix, and as many digits as a
// comparison needs.
func Scaled(unit string, v float64) string { return benchunit.Scale(v, benchunit.ClassOf(unit)) }

// Change says by how much a row has changed, or "~" if that is not significant.
func (r *Row) Change() string {
	if !r.Significant {
		return "~"
	}
	return r.Percent()
}

// Percent says by how much a row has changed, whether that is significant or not.
func (r *Row) Percent() string {
	if math.IsInf(r.Delta, 0) {
		return "from 0"
	}
	return fmt.Sprintf("%+.2f%%", r.Delta)
}

// Chances says how probable such a change is by chance, and how many samples there are.
func (r *Row) Chances() string {
	n := fmt.Sprintf("n=%d", r.Old.N)
	if r.Old.N != r.New.N {
		n += fmt.Sprintf("+%d", r.New.N)
	}
	return fmt.Sprintf("p=%.3f %s", r.P, n)
}

// SamplesFor returns how many samples on each side it takes for a difference to be
// significant.
func SamplesFor(alpha float64) int {
	orders := 1.0
	for n := 1; ; n++ {
		// Of n + n samples n can be chosen in so many ways.
		orders *= float64(2*n) * float64(2*n-1) / float64(n*n)
		if 2/orders <= alpha {
			return n
		}
	}
}

// Measured returns the workloads and engines of a run.
func (r *Run) Measured() (workloads, engines []string) {
	seen := map[string]bool{}
	for i := range r.Samples {
		s := &r.Samples[i]
		if !seen["w"+s.Workload] {
			seen["w"+s.Workload] = true
			workloads = append(workloads, s.Workload)
		}
		if !seen["e"+s.Engine] {
			seen["e"+s.Engine] = true
			engines = append(engines, s.Engine)
		}
	}
	return workloads, engines
}
