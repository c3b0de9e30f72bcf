package flight

import (
	"cmp"
	"slices"
	"sync/atomic"
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
	Phase      string        `json:"phase,omitempty"`      // of the program, "" if unknown
	End        time.Time     `json:"end"`
	Count      uint64        `json:"count"` // how many of its kind were slow by then

	// Report is nil if the trace could not be read, and Problem says why.
	Report  *slow.Report `json:"report,omitempty"`
	Problem string       `json:"problem,omitempty"`

	mark  uint64
	usual bool          // it was asked for, and was not slow
	turns *atomic.Int64 // how many of its kind were kept in this recording, nil if not known
	Data  []byte        `json:"-"` // the trace
}

// Cost is the time lost by operations of its kind, if all slow ones were as slow as c.
func (c *Slow) Cost() float64 { return float64(max(c.Count, 1)) * float64(c.Took-c.Threshold) }

// kept returns how many of its kind were kept already.
func (c *Slow) kept() int64 {
	if c.turns == nil {
		return 0
	}
	return c.turns.Load()
}

// losesTo reports whether b, if not nil, is to be kept rather than c: b ended less than fresh ns
// before c, and fewer of its kind were kept or, if as many, b costs at least as much.
func (c *Slow) losesTo(b *Slow, fresh int64) bool {
	if b == nil || int64(c.End.Sub(b.End)) >= fresh {
		return false
	}
	if b.usual || c.usual {
		return b.usual
	}
	return cmp.Or(cmp.Compare(c.kept(), b.kept()), cmp.Compare(b.Cost(), c.Cost())) >= 0
}

// Keep stores c, and gives it a number. While more than limit are stored, or more than maxBytes of
// traces, it drops one, never c: of those of the Op that has most, the oldest of the cheaper half.
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
		of, most := map[string]int{}, 0
		for _, c := range list {
			of[c.Op]++
			most = max(most, of[c.Op])
		}
		old := slices.DeleteFunc(slices.Clone(list[:len(list)-1]), func(c *Slow) bool {
			return of[c.Op] < most
		})
		slices.SortFunc(old, func(a, b *Slow) int {
			return cmp.Or(cmp.Compare(b.Cost(), a.Cost()), cmp.Compare(b.ID, a.ID))
		})
		old = old[min((len(old)+1)/2, len(old)-1):]
		oldest := slices.MinFunc(old, func(a, b *Slow) int { return cmp.Compare(a.ID, b.ID) })
		return slices.Index(list, oldest)
	})
}
