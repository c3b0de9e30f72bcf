package mvcc

import (
	"cmp"
	"slices"
	"sort"
)

// A numbered element is one of a slice that is to be sorted: by what, and where it is.
type numbered struct {
	by uint64
	at int
}

// sortBy sorts s by what by says of each element, and leaves those that are alike in their
// order. For a slice whose type depends on those of a map it takes the place of
// [slices.SortFunc], which is ten functions for each map type, a fifth of its code.
func sortBy[T any](s []T, by func(*T) uint64) {
	var few [16]numbered
	order := few[:0]
	for i := range s {
		order = append(order, numbered{by(&s[i]), i})
	}
	slices.SortFunc(order, func(a, b numbered) int {
		return cmp.Or(cmp.Compare(a.by, b.by), cmp.Compare(a.at, b.at))
	})
	for first := range order {
		x := s[first]
		i := first
		for from := order[i].at; from != first; from = order[i].at { // a cycle
			s[i], order[i].at = s[from], i
			i = from
		}
		s[i], order[i].at = x, i
	}
}

// sortKeys is [slices.SortFunc] for keys of a map.
func sortKeys[K any](keys []K, compare func(a, b K) int) {
	sort.Slice(keys, func(i, j int) bool { return compare(keys[i], keys[j]) < 0 })
}
