package bench

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
