package mvcc

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"unsafe"

	"github.com/mvccmap/mvccmap/internal/engine/chain"
	"github.com/mvccmap/mvccmap/internal/engine/hasher"
	"github.com/mvccmap/mvccmap/internal/engine/tree"
)

// An order is the order of the keys of a map, whose index is a tree then, see package
// internal/engine/tree. Only a call of the program's function is compiled for each type of keys.
type order struct {
	tree.Order
	natural bool // it is the order of Go's operators
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

// count returns 1 if x is true, else 0.
func count(x bool) int {
	if x {
		return 1
	}
	return 0
}

// compareLow compares where two spans begin, and compareHigh where they end.
func (o *order) compareLow(a, b *span) int {
	switch {
	case a.Low == nil || b.Low == nil:
		return cmp.Compare(count(a.Low != nil), count(b.Low != nil))
	case a.Low == b.Low:
		return count(a.LowExclusive) - count(b.LowExclusive)
	}
	return cmp.Or(o.Compare(a.Low, b.Low), count(a.LowExclusive)-count(b.LowExclusive))
}

func (o *order) compareHigh(a, b *span) int {
	switch {
	case a.High == nil || b.High == nil:
		return cmp.Compare(count(a.High == nil), count(b.High == nil))
	case a.High == b.High:
		return count(b.HighExclusive) - count(a.HighExclusive)
	}
	return cmp.Or(o.Compare(a.High, b.High), count(b.HighExclusive)-count(a.HighExclusive))
}

// contains reports whether all keys of b, which is not empty, are in a.
func (o *order) contains(a, b *span) bool {
	return o.compareLow(a, b) <= 0 && o.compareHigh(a, b) >= 0
}

// touches reports whether no key is between a and b. b must not begin before a.
func (o *order) touches(a, b *span) bool {
	if a.High == nil || b.Low == nil {
		return true
	}
	c := o.Compare(b.Low, a.High)
	return c < 0 || c == 0 && !(a.HighExclusive && b.LowExclusive)
}

// join makes a, which touches b, the span of both.
func (o *order) join(a, b *span) {
	low, high := o.compareLow(b, a) < 0, o.compareHigh(b, a) > 0 // compare may panic
	if low {
		a.Low, a.LowExclusive = b.Low, b.LowExclusive
	}
	if high {
		a.High, a.HighExclusive = b.High, b.HighExclusive
	}
}

// merged sorts the spans, joins those that touch, and returns the result.
func (o *order) merged(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int { return o.compareLow(&a, &b) })
	n := 0
	for i := 1; i < len(spans); i++ {
		if s := spans[i]; o.touches(&spans[n], &s) {
			o.join(&spans[n], &s)
		} else {
			n++
			spans[n] = s
		}
	}
	clear(spans[n+1:])
	return spans[:n+1]
}

// gone adds part, the keys that a loop has gone through by now, to the spans, and returns the spans
// and the number of the loop's span. noted is that number before, or -1 if the loop had none.
func (o *order) gone(spans []span, noted int, part span) ([]span, int) {
	// A loop may take over the span of another: a span that replaces one contains it.
	switch last := len(spans) - 1; {
	case noted >= 0 && o.contains(&part, &spans[noted]):
		spans[noted] = part
	case noted >= 0 && o.contains(&spans[noted], &part):
		// A loop within this one has made the noted span wider.
	case last >= 0 && o.contains(&part, &spans[last]):
		noted = last // as when the first is taken again and again
		spans[last] = part
	case last >= 0 && o.contains(&spans[last], &part):
		return spans, -1 // as when one appends behind the last again and again
	default:
		return append(spans, part), last + 1
	}
	return spans, noted
}
