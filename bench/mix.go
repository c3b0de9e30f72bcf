package bench

import (
	"math"

	"github.com/mvccmap/mvccmap/internal/workfile"
)

// mix draws operations in proportion to their weights. Of each but the last it has the number that
// a draw is below.
type mix []uint64

func mixOf(f *workfile.File) mix {
	total := 0.0
	for i := range f.Operations {
		total += float64(f.Operations[i].Weight)
	}
	var m mix
	sum := 0.0
	for i := range f.Operations[:len(f.Operations)-1] {
		sum += float64(f.Operations[i].Weight)
		if sum >= total {
			m = append(m, math.MaxUint64)
			continue
		}
		m = append(m, uint64(sum/total*(1<<64)))
	}
	return m
}

// draw takes one number from s. With few operations to look through, of which most are drawn
// rarely, this is faster than an alias table, whose branch nobody can predict.
func (m mix) draw(s *stream) int {
	x := s.next()
	for i, below := range m {
		if x < below {
			return i
		}
	}
	return len(m)
}
