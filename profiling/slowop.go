package profiling

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/mvccmap/mvccmap/profiling/slow"
)

// A slowOp is an operation that took long, with the trace of it once that is
// kept. It is immutable then.
type slowOp struct {
	ID         int           `json:"id"`
	Op         string        `json:"op"`
	Took       time.Duration `json:"took_ns"`
	Threshold  time.Duration `json:"threshold_ns"`
	Percentile float64       `json:"percentile,omitempty"` // that the threshold was, 0 if it was set
	Phase      string        `json:"phase,omitempty"`      // what ran, "" if unknown
	End        time.Time     `json:"end"`

	// Report is nil if the trace could not be read, and Problem says why.
	Report  *slow.Report `json:"report,omitempty"`
	Problem string       `json:"problem,omitempty"`

	mark uint64
	data []byte // the trace
}

// excess says how slow it was for its kind.
func (c *slowOp) excess() float64 { return float64(c.Took) / float64(max(c.Threshold, 1)) }

// losesTo reports whether b, which may be nil, is rather to be kept than c: it
// is slower, and not as old as fresh, in nanoseconds.
func (c *slowOp) losesTo(b *slowOp, fresh int64) bool {
	return b != nil && b.excess() >= c.excess() && int64(c.End.Sub(b.End)) < fresh
}

// keptOps is a bounded list of slow operations. When it is full, the half that
// was the slowest for its kind stays, and the oldest of the others makes room.
// Its methods may be called from several goroutines.
type keptOps struct {
	mu    sync.Mutex
	last  int // the newest ID; IDs count from 1 and are never reused
	list  []*slowOp
	bytes int
}

// add gives c the next ID and stores it; then at most limit are left, and those
// together are not larger than maxBytes unless c alone is.
func (k *keptOps) add(c *slowOp, limit, maxBytes int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.last++
	c.ID = k.last
	k.list = append(k.list, c)
	k.bytes += len(c.data)
	for len(k.list) > 1 && (len(k.list) > limit || k.bytes > maxBytes) {
		k.drop(limit / 2)
	}
}

// drop removes the oldest that is not among the given number of slowest, and not
// the newest of all.
func (k *keptOps) drop(slowest int) {
	old := slices.Clone(k.list[:len(k.list)-1])
	slices.SortFunc(old, func(a, b *slowOp) int {
		return cmp.Or(cmp.Compare(b.excess(), a.excess()), cmp.Compare(b.ID, a.ID))
	})
	old = old[min(slowest, len(old)-1):]
	oldest := slices.MinFunc(old, func(a, b *slowOp) int { return cmp.Compare(a.ID, b.ID) })
	k.bytes -= len(oldest.data)
	k.list = slices.DeleteFunc(k.list, func(c *slowOp) bool { return c == oldest })
}

// get returns the operation with the given ID, or nil. gone tells that there was
// one.
func (k *keptOps) get(id int) (c *slowOp, gone bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, c := range k.list {
		if c.ID == id {
			return c, false
		}
	}
	return nil, 0 < id && id <= k.last
}

// newestFirst returns the operations in the order in which they are shown.
func (k *keptOps) newestFirst() []*slowOp {
	k.mu.Lock()
	defer k.mu.Unlock()
	list := slices.Clone(k.list)
	slices.Reverse(list)
	return list
}
