package mvcc

// A Range is a range of the keys of an ordered map. The zero Range has all keys. It is made
// with [From], [After], [UpTo], [Before] and [Prefix]: From(a).Before(b) has a and not b. A
// range whose high end is below the low one is empty. (It has nothing to do with [Map.Range].)
type Range[K any] struct {
	low, high bound[K]
	prefix    bool // it is one by Prefix, and so for the order of Go's operators
}

// A bound is one end of a range.
type bound[K any] struct {
	key  K
	kind boundKind
}

type boundKind uint8

const (
	open boundKind = iota
	inclusive
	exclusive
)

// From returns the range of the keys that are low or higher.
func From[K any](low K) Range[K] { return Range[K]{low: bound[K]{low, inclusive}} }

// After returns the range of the keys that are higher than low.
func After[K any](low K) Range[K] { return Range[K]{low: bound[K]{low, exclusive}} }

// UpTo returns the range of the keys that are high or lower.
func UpTo[K any](high K) Range[K] { return Range[K]{}.UpTo(high) }

// Before returns the range of the keys that are lower than high.
func Before[K any](high K) Range[K] { return Range[K]{}.Before(high) }

// Prefix returns the range of the strings that begin with prefix, for a map or index whose order
// is that of Go's operators: with an order by a function, as of [NewOrderedFunc], what is given
// the range panics.
func Prefix[K ~string](prefix K) Range[K] {
	r := From(prefix)
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] != 0xff { // the least string that is above all of these
			r = r.Before(prefix[:i] + K([]byte{prefix[i] + 1}))
			break
		}
	}
	r.prefix = true
	return r
}

// UpTo returns r without the keys that are higher than high; a high end that r had is gone.
func (r Range[K]) UpTo(high K) Range[K] {
	r.high, r.prefix = bound[K]{high, inclusive}, false
	return r
}

// Before returns r without the keys that are high or higher; a high end that r had is gone.
func (r Range[K]) Before(high K) Range[K] {
	r.high, r.prefix = bound[K]{high, exclusive}, false
	return r
}
