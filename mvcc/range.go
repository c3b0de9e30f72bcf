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

// below and above report whether key lies beyond an end of r.
func (r *Range[K]) below(compare func(a, b K) int, key K) bool {
	if r.low.kind == open {
		return false
	}
	c := compare(key, r.low.key)
	return c < 0 || c == 0 && r.low.kind == exclusive
}

func (r *Range[K]) above(compare func(a, b K) int, key K) bool {
	if r.high.kind == open {
		return false
	}
	c := compare(key, r.high.key)
	return c > 0 || c == 0 && r.high.kind == exclusive
}

// has reports whether key is in r.
func (r *Range[K]) has(compare func(a, b K) int, key K) bool {
	return !r.below(compare, key) && !r.above(compare, key)
}

// contains reports whether all keys of o, which has any, are in r.
func (r *Range[K]) contains(compare func(a, b K) int, o Range[K]) bool {
	low := r.low.kind == open || o.low.kind != open &&
		(compare(r.low.key, o.low.key) < 0 ||
			(r.low.kind == inclusive || o.low.kind == exclusive) && compare(r.low.key, o.low.key) == 0)
	return low && (r.high.kind == open || o.high.kind != open &&
		(compare(r.high.key, o.high.key) > 0 ||
			(r.high.kind == inclusive || o.high.kind == exclusive) && compare(r.high.key, o.high.key) == 0))
}
