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
