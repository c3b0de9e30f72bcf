package mvcc

import (
	"cmp"
	"fmt"
	"reflect"
	"unsafe"

	"github.com/mvccmap/mvccmap/internal/chain"
	"github.com/mvccmap/mvccmap/internal/hasher"
	"github.com/mvccmap/mvccmap/internal/tree"
)

// An order is the order of the keys of a map: its index is a tree then, see package internal/tree.
// Nothing of it is compiled for each type of keys but a call of the program's function.
type order struct {
	tree.Order
	natural bool // it is that of Go's operators
}

// naturalOrder returns the order of Go's operators for keys of type t, which has one.
func naturalOrder(t reflect.Type) *order { return &order{tree.NaturalOrder(t), true} }

// orderBy returns the order that a function of the program says.
func orderBy[K any](compare func(a, b K) int) *order {
	return &order{Order: tree.OrderBy(func(a, b unsafe.Pointer) int {
		return compare(*(*K)(a), *(*K)(b))
	})}
}

// strictly returns the same order, for Options.Strict: keys are told apart, and described, by h.
func (o *order) strictly(s *strict, h *hasher.Hasher) *order {
	if o.natural {
		return o
	}
	compare := o.Compare
	return &order{Order: tree.OrderBy(func(a, b unsafe.Pointer) int {
		ahead := twice(s, "compare", func() int { return cmp.Compare(compare(a, b), 0) })
		back := twice(s, "compare", func() int { return cmp.Compare(compare(b, a), 0) })
		if ahead != -back || h.Equal(a, a) && h.Equal(b, b) && (ahead == 0) != h.Equal(a, b) {
			s.fail(fmt.Sprintf("compare is no order: it returns %d for %v and %v, and %d for "+
				"these the other way round", ahead, h.Boxed(a), h.Boxed(b), back))
		}
		return ahead
	})}
}

// compareNodes compares the keys of two versions.
func (o *order) compareNodes(a, b *chain.Node) int { return o.Compare(a.Key(), b.Key()) }

// A span is a [Range] without its type.
type span = tree.Span

// spanOf returns r as a span, which keeps it.
func spanOf[K any](r *Range[K]) span {
	s := span{LowExclusive: r.low.kind == exclusive, HighExclusive: r.high.kind == exclusive}
	if r.low.kind != open {
		s.Low = unsafe.Pointer(&r.low.key)
	}
	if r.high.kind != open {
		s.High = unsafe.Pointer(&r.high.key)
	}
	return s
}

// contains reports whether all keys of b, which has any, are in a.
func (o *order) contains(a, b *span) bool {
	if a.Low != nil {
		if b.Low == nil {
			return false
		}
		if c := o.Compare(a.Low, b.Low); c > 0 || c == 0 && a.LowExclusive && !b.LowExclusive {
			return false
		}
	}
	if a.High != nil {
		if b.High == nil {
			return false
		}
		if c := o.Compare(a.High, b.High); c < 0 || c == 0 && a.HighExclusive && !b.HighExclusive {
			return false
		}
	}
	return true
}

// gone returns the spans with what a loop over r, or over all keys if that is nil, has gone through
// by now: up to the key at to, or all if that is nil. noted is the number of what it had noted, or
// -1, and then the new one.
func (o *order) gone(
	spans []span, noted int, r *span, to unsafe.Pointer, down bool,
) ([]span, int) {
	var part span
	if r != nil {
		part = *r
	}
	switch {
	case to != nil && down:
		part.Low, part.LowExclusive = to, false
	case to != nil:
		part.High, part.HighExclusive = to, false
	}
	// A loop may take over what another has noted: what replaces a span contains it.
	switch last := len(spans) - 1; {
	case noted >= 0 && o.contains(&part, &spans[noted]):
		spans[noted] = part
	case noted >= 0 && o.contains(&spans[noted], &part):
		// A loop within this one has made it wider.
	case last >= 0 && o.contains(&part, &spans[last]):
		noted = last // as when the first is taken again and again
		spans[last] = part
	default:
		return append(spans, part), last + 1
	}
	return spans, noted
}
