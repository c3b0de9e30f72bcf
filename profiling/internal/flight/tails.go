package flight

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/mvccmap/mvccmap/profiling/internal/slow"
)

// marksASecond bounds how many slow operations leave a mark in the trace that are not to be kept.
// More would not tell more, and take room in the trace.
const marksASecond = 1000

// marks has what is known of the operations that left marks of late.
type marks struct {
	left   atomic.Int64 // how many more may, in this second
	most   atomic.Int64 // the longest took that many nanoseconds
	before atomic.Int64 // as most, when it was last asked for
}

// may reports whether one more may leave a mark.
func (m *marks) may() bool { return m.left.Load() > 0 && m.left.Add(-1) >= 0 }

// note says how long one took that leaves a mark.
func (m *marks) note(d time.Duration) {
	for most := m.most.Load(); int64(d) > most && !m.most.CompareAndSwap(most, int64(d)); {
		most = m.most.Load()
	}
}

// longest returns how long the longest took since it was last asked, or since the time before that:
// a mark may be in the trace after the one that is read.
func (m *marks) longest() time.Duration {
	now := m.most.Swap(0)
	return time.Duration(max(now, m.before.Swap(now)))
}

// TailReach is how far back the sums of slow operations go.
const TailReach = 5 * time.Minute

// tails are sums of slow operations, of one trace each, the oldest first.
type tails []traceTails

type traceTails struct {
	at    time.Time
	tails []*slow.Tail
}

// add adds the sums of a trace, and drops what is too old.
func (l *tails) add(now time.Time, list []*slow.Tail) {
	*l = slices.DeleteFunc(*l, func(t traceTails) bool { return now.Sub(t.at) > TailReach })
	if len(list) > 0 {
		*l = append(*l, traceTails{now, list})
	}
}

// sum returns the sums by operation.
func (l tails) sum() []*slow.Tail {
	var all []*slow.Tail
	for _, t := range l {
		all = append(all, t.tails...)
	}
	return slow.Merge(all)
}
