package mvcc

import "github.com/mvccmap/mvccmap/internal/hooks"

// scanBatch is how many entries a scan looks at together. In a large map each
// entry, and each version, is a cache miss; taken one key at a time they come one
// after the other, taken together the processor has many under way at once: with
// 10^6 keys a scan went from 7.5 to 1.8 times the time of an xsync Range.
const scanBatch = 64

// scan calls visit for every entry of the index, with its head. It locks nothing
// and allocates nothing that outlives the call. visit returns false to stop.
//
// A head may have been loaded a while before visit gets it: what was visible then
// as of an epoch that is still being read can be reached from it.
//
// RangeRelaxed walks one table of the index. It meets every entry that is present
// throughout; what is inserted meanwhile it may meet or not. An entry may be met
// twice.
func (m *Map[K, V]) scan(visit func(e *entry[K, V], head *version[V]) bool) {
	var entries [scanBatch]*entry[K, V]
	n := 0
	more := true
	flush := func() bool {
		// Two loops of loads that do not depend on each other, for the cache:
		// the heads, and the states they lead to.
		var heads [scanBatch]*version[V]
		for i, e := range entries[:n] {
			heads[i] = e.head.Load()
		}
		for _, v := range heads[:n] {
			if v != nil {
				v.state.Load()
			}
		}
		for i := 0; i < n && more; i++ {
			more = visit(entries[i], heads[i])
		}
		n = 0
		return more
	}
	if hooks.Enabled && hooks.Scheduled() {
		hooks.Index(hooks.Walk, nil)
	}
	m.index.RangeRelaxed(func(_ K, e *entry[K, V]) bool {
		entries[n] = e
		n++
		if hooks.Enabled && hooks.Scheduled() {
			hooks.Index(hooks.Walk, nil)
		}
		return n < scanBatch || flush()
	})
	if more {
		flush()
	}
}
