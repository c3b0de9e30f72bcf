package mvcc

import (
	"cmp"
	"slices"

	"github.com/mvccmap/mvccmap/internal/debug/hooks"
)

// A numbered stands for an element of a slice to be sorted: its number to sort by, and its place.
type numbered struct {
	by uint64
	at int
}

// sortBy sorts s by the number that the function by returns for an element. Elements with equal
// numbers keep their order. sortBy moves each element once, since writes are long and have
// pointers, and allocates only for more than 16 elements.
func sortBy[T any](s []T, by func(*T) uint64) {
	if len(s) < 2 {
		return
	}
	var few [16]numbered
	order := few[:]
	if len(s) > len(few) {
		order = make([]numbered, len(s))
	}
	order = order[:len(s)]
	for i := range s {
		order[i] = numbered{by(&s[i]), i}
	}
	sortNumbered(order)
	for first := range order {
		if order[first].at == first {
			continue
		}
		x := s[first]
		i := first
		for from := order[i].at; from != first; from = order[i].at { // a cycle
			s[i], order[i].at = s[from], i
			i = from
		}
		s[i], order[i].at = x, i
	}
}

//go:noinline
func sortNumbered(order []numbered) {
	slices.SortFunc(order, func(a, b numbered) int {
		return cmp.Or(cmp.Compare(a.by, b.by), cmp.Compare(a.at, b.at))
	})
}

// sortWrites sorts the writes by their tables and the hashes of their keys. So two transactions
// with the same keys meet on the first key, and do not each install some keys before they meet.
// Only speed depends on the order.
func (st *txState) sortWrites() {
	if hooks.Scheduled() {
		return // hashes are random; the order of the program does as well
	}
	if len(st.writes) == 2 {
		if a, b := &st.writes[0], &st.writes[1]; st.ranks(a, b) {
			a.v, b.v = b.v, a.v // field by field: see recycle
			a.hash, b.hash = b.hash, a.hash
			a.b, b.b = b.b, a.b
			a.i, b.i, a.of, b.of = b.i, a.i, b.of, a.of
			a.read, b.read = b.read, a.read
			if a.merge != b.merge {
				a.merge, b.merge = b.merge, a.merge
			}
		}
		return
	}
	sortBy(st.writes, st.rank)
}

// ranks reports whether a goes after b.
func (w *txWork) ranks(a, b *write) bool {
	if a.of == b.of {
		return a.hash > b.hash
	}
	return w.rank(a) > w.rank(b)
}

// rank is the number by which sortWrites sorts.
func (w *txWork) rank(of *write) uint64 {
	const tableBits = 16
	return uint64(w.parts[of.of].m.ordinal)<<(64-tableBits) | of.hash>>tableBits
}
