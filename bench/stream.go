package bench

import "math/bits"

// stream is a pseudo-random sequence (SplitMix64). Each goroutine has several,
// one for each thing it chooses, so that no choice follows from another: a
// counter that decided both the key and whether to write it would leave some
// keys never written and others never read.
type stream uint64

// newStream returns the stream of the given seed and path. Streams of different
// paths are unrelated for every practical purpose: they start at points of one
// sequence of period 2^64 that a hash of the path picks.
func newStream(seed uint64, path ...uint64) stream {
	s := stream(seed)
	for _, p := range path {
		s = stream(s.next() ^ (p+1)*0xd1342543de82ef95)
	}
	s.next()
	return s
}

func (s *stream) next() uint64 {
	*s += 0x9e3779b97f4a7c15
	z := uint64(*s)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// below returns a number in [0, n). Its bias is at most n/2^64.
func (s *stream) below(n int) int {
	hi, _ := bits.Mul64(s.next(), uint64(n))
	return int(hi)
}

// A stamp is the value that the get-and-put workloads store. It names the writer (0 for the first
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
