package mvcc

import (
	"slices"
	"sort"
	"unsafe"
)

// rangeBatch is up to how many keys of a range are looked up together: see scanBatch.
const rangeBatch = 64

// walk calls visit with the keys of r that are in the order, some at a time, ascending or
// descending, until it returns false. It reports whether all were visited.
//
// The first visits are of few keys: most readers of a page stop soon.
func (o *treeOrder[K]) walk(r Range[K], down bool, visit func(keys []K) bool) (all bool) {
	size, left := 4, false
	batch := make([]K, 0, size)
	each := func(key K) bool {
		if r.below(o.compare, key) {
			return !down // the pivot itself
		}
		if r.above(o.compare, key) {
			return down
		}
		if batch = append(batch, key); len(batch) < size {
			return true
		}
		left = !visit(batch)
		if batch = batch[:0]; size < rangeBatch {
			size *= 2
			batch = make([]K, 0, size)
		}
		return !left
	}
	now := o.keys()
	recent := now.of(&r, down, o.compare)
	both := func(k orderKey[K]) bool { // of the tree, and before it what comes before it
		key := k.key
		for len(recent) > 0 {
			c := o.compare(recent[0], key)
			if c != 0 && (c > 0) != down {
				break
			}
			// The same one has gone from the tree, and come again.
			if c != 0 && !each(recent[0]) {
				return false
			}
			recent = recent[1:]
		}
		return each(key)
	}
	switch tree := now.tree; {
	case !down && r.low.kind == open:
		tree.Scan(both)
	case !down:
		tree.Ascend(orderKey[K]{r.low.key}, both)
	case r.high.kind == open:
		tree.Reverse(both)
	default:
		tree.Descend(orderKey[K]{r.high.key}, both)
	}
	for len(recent) > 0 && !left {
		if !each(recent[0]) {
			break
		}
		recent = recent[1:]
	}
	return !left && (len(batch) == 0 || visit(batch))
}

// of returns the recent keys of r, in the order of a walk.
func (k *orderedKeys[K]) of(r *Range[K], down bool, compare func(a, b K) int) []K {
	keys := k.recent
	keys = keys[sort.Search(len(keys), func(i int) bool { return !r.below(compare, keys[i]) }):]
	keys = keys[:sort.Search(len(keys), func(i int) bool { return r.above(compare, keys[i]) })]
	if down && len(keys) > 1 {
		keys = slices.Clone(keys)
		slices.Reverse(keys)
	}
	return keys
}

func (o *treeOrder[K]) scan(
	x *index, r unsafe.Pointer, down bool, visit func(p place, head *node) bool,
) (all bool) {
	return o.walk(rangeAt[K](r), down, func(keys []K) bool {
		var hashes [rangeBatch]uint64
		for i := range keys {
			hashes[i] = x.hash.sum(unsafe.Pointer(&keys[i]))
		}
		x.prefetch(hashes[:len(keys)])
		for i := range keys {
			if p, head := x.find(hashes[i], unsafe.Pointer(&keys[i])); head != nil && !visit(p, head) {
				return false
			}
		}
		return true
	})
}

func (o *treeOrder[K]) side(at, key unsafe.Pointer) int {
	r := rangeAt[K](at)
	switch key := *(*K)(key); {
	case r.below(o.compare, key):
		return -1
	case r.above(o.compare, key):
		return 1
	}
	return 0
}

// rangeAt returns the range at r, all keys if that is nil.
func rangeAt[K comparable](r unsafe.Pointer) (is Range[K]) {
	if r != nil {
		is = *(*Range[K])(r)
	}
	return is
}

func (o *treeOrder[K]) gone(
	ranges []unsafe.Pointer, noted int, r, to unsafe.Pointer, down bool,
) ([]unsafe.Pointer, int) {
	part := rangeAt[K](r)
	switch {
	case to != nil && down:
		part.low = bound[K]{*(*K)(to), inclusive}
	case to != nil:
		part.high = bound[K]{*(*K)(to), inclusive}
	}
	at := func(i int) *Range[K] { return (*Range[K])(ranges[i]) }
	// A loop may take over what another has noted: what replaces a range contains it.
	switch last := len(ranges) - 1; {
	case noted >= 0 && part.contains(o.compare, *at(noted)):
		*at(noted) = part
	case noted >= 0 && at(noted).contains(o.compare, part):
		// A loop within this one has made it wider.
	case last >= 0 && part.contains(o.compare, *at(last)):
		noted = last // as when the first is taken again and again
		*at(last) = part
	default:
		own := part
		return append(ranges, unsafe.Pointer(&own)), last + 1
	}
	return ranges, noted
}
