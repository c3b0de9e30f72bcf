package bench

import (
	"encoding/binary"
	"fmt"
)

// ValueSize is a range of sizes in bytes, from which each value's is drawn at
// random; Min and Max may be the same. Values of 8 bytes alone are numbers, and stored as such; all
// others are byte slices.
type ValueSize struct{ Min, Max int }

// WordSize is the size of values that are numbers, and the smallest size of a value. MaxValueSize
// is the largest.
const (
	WordSize     = 8
	MaxValueSize = 1 << 20
)

// String returns "100", or "16-64" for a range.
func (v ValueSize) String() string {
	if v.Min == v.Max {
		return fmt.Sprint(v.Min)
	}
	return fmt.Sprintf("%d-%d", v.Min, v.Max)
}

// filler makes the bytes of records. They have a stamp in the first 8, and every other byte follows
// from the stamp and the length: a slice that has been cut, mixed with another or written to is
// noticed.
type filler struct {
	size  ValueSize
	sizes Rand // picks the size
}

// bytes returns bytes that carry s. They are new: the engine may keep them.
func (c *filler) bytes(s stamp) []byte {
	n := c.size.Min
	if c.size.Max > n {
		n += c.sizes.Below(c.size.Max - n + 1)
	}
	b := make([]byte, n)
	binary.LittleEndian.PutUint64(b, s)
	fill := filling(s, n)
	i := WordSize
	for ; i+8 <= n; i += 8 {
		binary.LittleEndian.PutUint64(b[i:], fill.next())
	}
	if i < n {
		var rest [8]byte
		binary.LittleEndian.PutUint64(rest[:], fill.next())
		copy(b[i:], rest[:])
	}
	return b
}

// stamp returns the stamp that b carries, or 0, which is never carried, if b is damaged.
func (c *filler) stamp(b []byte) stamp {
	n := len(b)
	if n < c.size.Min || n > c.size.Max {
		return 0
	}
	s := binary.LittleEndian.Uint64(b)
	fill := filling(s, n)
	i := WordSize
	for ; i+8 <= n; i += 8 {
		if binary.LittleEndian.Uint64(b[i:]) != fill.next() {
			return 0
		}
	}
	if i < n {
		var rest [8]byte
		binary.LittleEndian.PutUint64(rest[:], fill.next())
		if string(b[i:]) != string(rest[:n-i]) {
			return 0
		}
	}
	return s
}

// filling returns the sequence of the bytes that follow the stamp s in a slice of length n. They
// look random, so that a store gains nothing by compressing them.
func filling(s stamp, n int) Rand { return Rand(s ^ uint64(n)*0x9e3779b97f4a7c15) }

// flaw names the fault of damaged bytes, in words that follow the name of a key.
func (c *filler) flaw(b []byte) string {
	if n := len(b); n < c.size.Min || n > c.size.Max {
		return fmt.Sprintf("holds a value of %d bytes, where all have %v", n, c.size)
	}
	return fmt.Sprintf("holds a damaged value of %d bytes: %.32x", len(b), b)
}
