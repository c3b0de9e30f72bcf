package bench

import "math/bits"

// Rand is a pseudo-random sequence (SplitMix64). Each goroutine has several, so that no choice of the
// harness follows from those of a workload.
type Rand uint64

// newRand returns the sequence of the given seed and path. Those of different
// paths are unrelated for every practical purpose: they start at points of one
// sequence of period 2^64 that a hash of the path picks.
func newRand(seed uint64, path ...uint64) Rand {
	s := Rand(seed)
	for _, p := range path {
		s = Rand(s.next() ^ (p+1)*0xd1342543de82ef95)
	}
	s.next()
	return s
}

func (s *Rand) next() uint64 {
	*s += 0x9e3779b97f4a7c15
	z := uint64(*s)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// Below returns a number from 0 up to but not including n. Its bias is at most n/2^64.
func (s *Rand) Below(n int) int {
	hi, _ := bits.Mul64(s.next(), uint64(n))
	return int(hi)
}

// Chance returns true with a probability of percent in a hundred.
func (s *Rand) Chance(percent int) bool { return s.Below(100) < percent }

// A stamp is in the bytes of records, or is their number. It names the writer (0 for the first
// values, 1 for goroutine 0), the low bits of the index of the key it was written to, and which of
// the writer's writes it was. Stamps are therefore unique, and a value that turns up under another
// key, or that was never written, is noticed.
//
//	63           46 45      38 37                                   0
//	[  writer 18   ][  key 8  ][             sequence 38             ]
type stamp = uint64

const (
	seqBits    = 38
	keyBits    = 8
	writerBits = 64 - keyBits - seqBits

	seqMask = 1<<seqBits - 1
	keyMask = 1<<keyBits - 1

	// MaxThreads is the largest number of goroutines of a [Trial]: the number
	// of writers that a stored value can tell apart.
	MaxThreads = 1<<writerBits - 2
)

func makeStamp(writer, key int, seq uint64) stamp {
	return uint64(writer)<<(keyBits+seqBits) | uint64(key&keyMask)<<seqBits | seq&seqMask
}

func stampWriter(s stamp) int          { return int(s >> (keyBits + seqBits)) }
func stampKey(s stamp) int             { return int(s>>seqBits) & keyMask }
func stampSeq(s stamp) uint64          { return s & seqMask }
func loaded(key int) stamp             { return makeStamp(0, key, 1) }
func keyMatches(s stamp, key int) bool { return stampKey(s) == key&keyMask }
