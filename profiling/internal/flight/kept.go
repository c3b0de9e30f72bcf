package flight

import (
	"cmp"
	"slices"
	"time"

	"github.com/mvccmap/mvccmap/profiling/internal/capture"
	"github.com/mvccmap/mvccmap/profiling/internal/slow"
)

// A Slow is an operation that took long. Once it is kept it has its trace, and is
// immutable.
type Slow struct {
	ID         int           `json:"id"`
	Op         string        `json:"op"`
	Took       time.Duration `json:"took_ns"`
	Threshold  time.Duration `json:"threshold_ns"`
	Percentile float64       `json:"percentile,omitempty"` // of the threshold, 0 if that was set
	Phase      string        `json:"phase,omitempty"`      // what ran, "" if unknown
	End        time.Time     `json:"end"`

	// Report is nil if the trace could not be read, and Problem says why.
	Report  *slow.Report `json:"report,omitempty"`
	Problem string       `json:"problem,omitempty"`

	mark uint64
	Data []byte `json:"-"` // the trace
}

// excess says how slow it was for its kind.
func (c *Slow) excess() float64 { return float64(c.Took) / float64(max(c.Threshold, 1)) }

// losesTo reports whether b, which may be nil, is rather to be kept than c: it
// is slower, and not as old as fresh, in nanoseconds.
func (c *Slow) losesTo(b *Slow, fresh int64) bool {
	return b != nil && b.excess() >= c.excess() && int64(c.End.Sub(b.End)) < fresh
}

// Keep stores c, which gets a number. If there are then more than limit, or they are larger than
// maxBytes together, the oldest make room: not c, nor those of the half that was the slowest for
// its kind.
func Keep(kept *capture.History[*Slow], c *Slow, limit, maxBytes int) {
	kept.Add(func(id int) *Slow {
		c.ID = id
		return c
	}, func(list []*Slow) int {
		size := 0
		for _, c := range list {
			size += len(c.Data)
		}
		if len(list) == 1 || len(list) <= limit && size <= maxBytes {
			return -1
		}
		old := slices.Clone(list[:len(list)-1])
		slices.SortFunc(old, func(a, b *Slow) int {
			return cmp.Or(cmp.Compare(b.excess(), a.excess()), cmp.Compare(b.ID, a.ID))
		})
		old = old[min(limit/2, len(old)-1):]
		oldest := slices.MinFunc(old, func(a, b *Slow) int { return cmp.Compare(a.ID, b.ID) })
		return slices.Index(list, oldest)
	})
}
