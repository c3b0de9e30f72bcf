package tree

import "math/bits"

// lowest returns the number of the lowest bit of m, which has one.
func lowest(m uint32) int { return bits.TrailingZeros32(m) & 31 }

func ones(m uint32) int { return bits.OnesCount32(m) }
