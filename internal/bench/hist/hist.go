// Package hist records latencies in fixed-size histograms whose buckets grow
// with the value, so that every quantile is known to within a fraction of
// itself.
//
// Values below 128 have a bucket each. Above, every power of two is cut into
// 128 buckets of equal width, so a bucket is never wider than 1/128 of its
// lower edge; reporting its middle is wrong by less than 0.4 %.
//
// A goroutine records to a [Recorder] while others read it: recording is an index
// computation and an atomic addition, without allocation, lock or a branch that depends
// on the distribution. A [Hist] is a copy of its counts at one time; copies are added
// up over goroutines and subtracted over time.
package hist

import (
	"iter"
	"math"
	"math/bits"
)

const (
	subBits = 7
	sub     = 1 << subBits // buckets for each power of two

	// MaxBits bounds the values that have buckets: 2^MaxBits and more, for
	// nanoseconds 73 minutes, share the last one. The maximum stays exact.
	MaxBits = 42
	buckets = (MaxBits - subBits + 1) * sub
)

// MaxError bounds the relative error of [Hist.Quantile] for values above 127
// and below 2^42; smaller values are exact.
const MaxError = 1.0 / (2 * sub)

// Hist has the counts of values by size. The zero value is empty and ready for use. It is not for
// concurrent use, and must not be copied once in use: it has 36 KB.
type Hist struct {
	counts [buckets]uint64
	n      uint64
	max    uint64 // exact, or the upper end of a bucket; see Sub
}

// Add counts a value n times; a negative value counts as zero. The value counts for [Hist.Max] even
// if n is zero. Add does not allocate.
func (h *Hist) Add(v int64, n uint64) {
	u := uint64(max(v, 0))
	h.counts[index(u)] += n
	h.n += n
	h.max = max(h.max, u)
}

// index returns the bucket of u. For u of sub or more, shift is the number of
// low bits that the bucket does not keep.
func index(u uint64) int {
	if u < sub {
		return int(u)
	}
	shift := bits.Len64(u) - 1 - subBits
	return min(shift*sub+int(u>>shift), buckets-1)
}

// middle returns the value reported for bucket i: the middle of its range.
func middle(i int) uint64 {
	if i < 2*sub {
		return uint64(i)
	}
	shift := i/sub - 1
	low := uint64(i-shift*sub) << shift
	return low + (uint64(1)<<shift)/2
}

// upper returns the largest value of bucket i. The last bucket has no end.
func upper(i int) uint64 {
	switch {
	case i == buckets-1:
		return math.MaxInt64
	case i < 2*sub:
		return uint64(i)
	}
	shift := i/sub - 1
	return (uint64(i-shift*sub)+1)<<shift - 1
}

// Merge adds the counts of o to h.
func (h *Hist) Merge(o *Hist) {
	for i, c := range &o.counts {
		h.counts[i] += c
	}
	h.n += o.n
	h.max = max(h.max, o.max)
}

// Sub takes the counts of old, an earlier copy of the same recorder, from h: the rest
// was recorded since. [Hist.Max] is then the smaller of its earlier value and the
// largest value that the highest bucket left can hold, so it is exact if the maximum
// was recorded since, and too large by less than 1/128 if not.
func (h *Hist) Sub(old *Hist) {
	top := -1
	for i, c := range &old.counts {
		h.counts[i] -= c
		if h.counts[i] != 0 {
			top = i
		}
	}
	h.n -= old.n
	if top < 0 {
		h.max = 0
		return
	}
	h.max = min(h.max, upper(top))
}

// Reset empties h.
func (h *Hist) Reset() { *h = Hist{} }

// Count returns the number of values recorded.
func (h *Hist) Count() uint64 { return h.n }

// Max returns the largest value recorded, exactly unless [Hist.Sub] says
// otherwise; 0 if there is none.
func (h *Hist) Max() int64 { return int64(h.max) }

// Mean returns the mean of the recorded values, to within [MaxError]; 0 if there
// is none. It walks all buckets.
func (h *Hist) Mean() float64 {
	if h.n == 0 {
		return 0
	}
	sum := 0.0
	for v, c := range h.All() {
		sum += float64(v) * float64(c)
	}
	return sum / float64(h.n)
}

// All returns the values, smallest first, each to within [MaxError], and how
// often each was recorded. It walks all buckets and leaves empty ones out.
func (h *Hist) All() iter.Seq2[int64, uint64] {
	return func(yield func(value int64, count uint64) bool) {
		for i, c := range &h.counts {
			if c != 0 && !yield(int64(min(middle(i), h.max)), c) {
				return
			}
		}
	}
}

// Quantile returns the smallest value that a fraction q of the recorded values
// does not exceed (the nearest-rank definition), to within [MaxError], and 0 if
// nothing was recorded. q is clamped to [0, 1]. It walks all buckets.
func (h *Hist) Quantile(q float64) int64 {
	if h.n == 0 {
		return 0
	}
	rank := uint64(math.Ceil(min(max(q, 0), 1) * float64(h.n)))
	rank = min(max(rank, 1), h.n)
	if rank == h.n {
		return int64(h.max)
	}
	var seen uint64
	for i, c := range &h.counts {
		if seen += c; seen >= rank {
			return int64(min(middle(i), h.max))
		}
	}
	return int64(h.max)
}

// Supports reports whether enough values were recorded to speak of quantile q:
// at least ten of them must lie beyond it.
func (h *Hist) Supports(q float64) bool { return h.n >= Needed(q) }

// Needed returns how many values it takes to speak of quantile q.
func Needed(q float64) uint64 {
	if q >= 1 {
		return math.MaxUint64
	}
	// The slack keeps 1000 * (1 - 0.99) from being 9.999....
	return uint64(math.Ceil((10 - 1e-6) / (1 - q)))
}
