// Package hist records latencies in a fixed-size histogram whose buckets grow
// with the value, so that every quantile is known to within a fraction of
// itself.
//
// Values below 128 have a bucket each. Above, every power of two is cut into
// 128 buckets of equal width, so a bucket is never wider than 1/128 of its
// lower edge; reporting its middle is wrong by less than 0.4 %. Recording is an
// index computation and an addition to an array: no allocation, no branch that
// depends on the distribution.
package hist

import (
	"math"
	"math/bits"
)

const (
	subBits = 7
	sub     = 1 << subBits // buckets for each power of two

	// maxBits bounds what is told apart: values of 2^maxBits and more, for
	// nanoseconds 73 minutes, share the last bucket. The maximum stays exact.
	maxBits = 42
	buckets = (maxBits - subBits + 1) * sub
)

// MaxError bounds the relative error of [Hist.Quantile] for values above 127
// and below 2^42; smaller values are exact.
const MaxError = 1.0 / (2 * sub)

// Hist counts values by size. The zero value is empty and ready for use. It has
// one writer: goroutines that record at the same time each have their own, and
// merge them when they are done. It must not be copied once in use, for its
// size if nothing else (36 KB).
type Hist struct {
	counts [buckets]uint64
	n      uint64
	sum    uint64
	max    uint64
}

// Record counts one value; a negative one counts as zero. It does not allocate.
func (h *Hist) Record(v int64) {
	u := uint64(max(v, 0))
	h.counts[index(u)]++
	h.n++
	h.sum += u
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

// Merge adds the counts of o to h. Neither may be recorded to meanwhile.
func (h *Hist) Merge(o *Hist) {
	for i, c := range &o.counts {
		h.counts[i] += c
	}
	h.n += o.n
	h.sum += o.sum
	h.max = max(h.max, o.max)
}

// Reset empties h.
func (h *Hist) Reset() { *h = Hist{} }

// Count returns the number of values recorded.
func (h *Hist) Count() uint64 { return h.n }

// Max returns the largest value recorded, exactly; 0 if there is none.
func (h *Hist) Max() int64 { return int64(h.max) }

// Mean returns the mean of the recorded values, exactly; 0 if there is none.
func (h *Hist) Mean() float64 {
	if h.n == 0 {
		return 0
	}
	return float64(h.sum) / float64(h.n)
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
func (h *Hist) Supports(q float64) bool {
	// The slack keeps 1000 * (1 - 0.99) from being 9.999....
	return float64(h.n)*(1-q) >= 10-1e-6
}
