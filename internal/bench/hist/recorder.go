package hist

import "sync/atomic"

// A Recorder is a histogram that one goroutine records to while others read it, without
// any of them waiting. The zero value is empty and ready for use. Several goroutines
// may record to one, at the cost of sharing its cache lines; it is made for one
// goroutine each. It must not be copied once in use.
//
// There is nothing to swap and nothing to stop: a reader takes a copy of the counts
// with [Recorder.AddTo] whenever it likes, and the records between two copies are their
// difference, by [Hist.Sub].
type Recorder struct {
	counts [buckets]atomic.Uint64
	max    atomic.Uint64
}

// Record counts one value; a negative one counts as zero. It does not allocate.
func (r *Recorder) Record(v int64) {
	u := uint64(max(v, 0))
	// Before the count: whoever has seen the count sees a maximum that is not
	// below the value.
	for top := r.max.Load(); u > top && !r.max.CompareAndSwap(top, u); {
		top = r.max.Load()
	}
	r.counts[index(u)].Add(1)
}

// AddTo adds the counts to h. Values recorded meanwhile are contained or not, each by
// itself; a value contained once is contained in every later copy. The maximum may be
// that of a value that is not contained yet.
func (r *Recorder) AddTo(h *Hist) {
	for i := range &r.counts {
		if c := r.counts[i].Load(); c != 0 {
			h.counts[i] += c
			h.n += c
		}
	}
	h.max = max(h.max, r.max.Load())
}

// Reset empties r. Nobody may record meanwhile; a reader meanwhile gets some of the
// former counts.
func (r *Recorder) Reset() {
	for i := range &r.counts {
		if r.counts[i].Load() != 0 {
			r.counts[i].Store(0)
		}
	}
	r.max.Store(0)
}
