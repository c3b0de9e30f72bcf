package bench

import (
	"encoding/binary"
	"fmt"
)

// ValueSize is a range of sizes in bytes, from which each value's is drawn at
// random; Min and Max may be the same. A size of 8 alone makes values 64-bit
// numbers, stored as such; all others make them byte slices.
type ValueSize struct{ Min, Max int }

// WordSize is the size of values that are 64-bit numbers, and the least there is.
// MaxValueSize is the largest that a value can have.
const (
	WordSize     = 8
	MaxValueSize = 1 << 20
)

// Words reports whether values of the size are 64-bit numbers.
func (v ValueSize) Words() bool { return v == ValueSize{WordSize, WordSize} }

// String returns "100", or "16-64" for a range.
func (v ValueSize) String() string {
	if v.Min == v.Max {
		return fmt.Sprint(v.Min)
	}
	return fmt.Sprintf("%d-%d", v.Min, v.Max)
}

// values makes a goroutine's values from stamps, and stamps from values. A number
// is its stamp. A byte slice has the stamp in its first 8 bytes, and every other
// byte follows from the stamp and the length: a slice that has been cut, mixed
// with another or written to is noticed.
type values[V any] struct{ filler }

// filler makes byte slices.
type filler struct {
	size  ValueSize
	sizes stream // picks the size
	skew  *zipf  // over the sizes; nil: uniform
}

// make returns a value that carries s. A slice is new: the map may keep it.
func (c *values[V]) make(s stamp) (v V) {
	c.set(&v, s)
	return v
}

// set makes *to a value that carries s. It is written so that it is inlined: for
// numbers it is then an assignment.
func (c *values[V]) set(to *V, s stamp) {
	if word, ok := any(to).(*stamp); ok {
		*word = s
		return
	}
	c.bytes(s, to)
}

// bytes sets *to, which is a byte slice, to one that carries s.
func (c *filler) bytes(s stamp, to any) {
	n := c.size.Min
	switch {
	case c.size.Max == n:
	case c.skew != nil:
		n += c.skew.draw(&c.sizes)
	default:
		n += c.sizes.below(c.size.Max - n + 1)
	}
	c.filled(s, n, to)
}

// filled sets *to, which is a byte slice, to one of n bytes that carries s.
func (c *filler) filled(s stamp, n int, to any) {
	b := make([]byte, n)
	binary.LittleEndian.PutUint64(b, s)
	fill := filling(s, n)
	i := WordSize
	for ; i+8 <= n; i += 8 {
		binary.LittleEndian.PutUint64(b[i:], uint64(fill.next()))
	}
	if i < n {
		var rest [8]byte
		binary.LittleEndian.PutUint64(rest[:], uint64(fill.next()))
		copy(b[i:], rest[:])
	}
	*to.(*[]byte) = b
}

// stamp returns the stamp that v carries, or 0, which no value carries, if v is
// damaged. It is inlined, too.
func (c *values[V]) stamp(v V) stamp {
	if s, ok := any(&v).(*stamp); ok {
		return *s
	}
	return c.stampOf(&v)
}

// stampOf returns the stamp that *from, which is a byte slice, carries, or 0 if it
// is damaged.
func (c *filler) stampOf(from any) stamp {
	b := *from.(*[]byte)
	n := len(b)
	if n < c.size.Min || n > c.size.Max {
		return 0
	}
	s := binary.LittleEndian.Uint64(b)
	fill := filling(s, n)
	i := WordSize
	for ; i+8 <= n; i += 8 {
		if binary.LittleEndian.Uint64(b[i:]) != uint64(fill.next()) {
			return 0
		}
	}
	if i < n {
		var rest [8]byte
		binary.LittleEndian.PutUint64(rest[:], uint64(fill.next()))
		if string(b[i:]) != string(rest[:n-i]) {
			return 0
		}
	}
	return s
}

// filling is what follows the stamp s in a slice of length n. It looks random, so
// that a map gains nothing by compressing it.
func filling(s stamp, n int) stream { return stream(s ^ uint64(n)*0x9e3779b97f4a7c15) }

// flaw says what is wrong with v itself, in words that follow the name of a key; it is empty if v
// is sound.
func (c *values[V]) flaw(v V) string {
	b, ok := any(&v).(*[]byte)
	if !ok || c.stampOf(b) != 0 {
		return ""
	}
	if n := len(*b); n < c.size.Min || n > c.size.Max {
		return fmt.Sprintf("holds a value of %d bytes, where all have %v", n, c.size)
	}
	return fmt.Sprintf("holds a damaged value of %d bytes: %.32x", len(*b), *b)
}
