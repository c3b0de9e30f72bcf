package oracle

import (
	"cmp"
	"iter"
	"slices"

	"github.com/mvccmap/mvccmap/mvcc"
)

// A page is read, and facets are, by an index that is not newer than the handle, or of the table by
// itself.

// choosePart chooses a part of an index: one index key if the index has no order, or if that is
// asked for.
func (p *program[K, V]) choosePart(ix *index[K, V], one bool) span[int] {
	if !ix.ordered || one {
		i := p.choose(numbers, "index key")
		return span[int]{low: &i, high: &i}
	}
	return chosen(p, func(what string) int { return p.choose(numbers, what) })
}

// hasOneKey reports whether s has one key.
func (s span[T]) hasOneKey(compare func(a, b T) int) bool {
	return s.low != nil && s.high != nil && !s.lowOut && !s.highOut && compare(*s.low, *s.high) == 0
}

// behind returns the part of s from x on.
func (s span[T]) behind(compare func(a, b T) int, x T) span[T] {
	if s.low == nil || compare(x, *s.low) > 0 {
		s.low, s.lowOut = &x, false
	}
	return s
}

// readPage reads a page that begins behind some entry, which need not be there.
func (p *program[K, V]) readPage(h *handle[K, V], ix *index[K, V], r reader[K, V], want map[K]V) {
	if !ix.ordered {
		return
	}
	in := p.choosePart(ix, false)
	list := ix.entries(want, in, false)
	after := &mvcc.Entry[int, K]{IndexKey: p.choose(numbers, "after"), Key: p.key()}
	if len(list) > 0 && p.choose(2, "there") == 0 {
		e := list[p.choose(len(list), "which")]
		after = &mvcc.Entry[int, K]{IndexKey: e.index, Key: e.key}
	}
	seen := look[K, V]{ix: ix, edges: []int{after.IndexKey}, in: in.behind(ix.compare, after.IndexKey)}
	if p.choose(4, "first page") == 3 {
		after, seen.in, seen.edges = nil, in, nil
	}
	at := slices.IndexFunc(list, func(e entry[K]) bool {
		return after == nil ||
			cmp.Or(ix.compare(e.index, after.IndexKey), ix.order(e.key, after.Key)) > 0
	})
	if at < 0 {
		at = len(list)
	}
	list = list[at:]
	left := -1
	if len(list) > 0 && p.choose(2, "leave") == 1 {
		left = 1 + p.choose(len(list), "how many")
		list = list[:left]
		seen.leave(list[left-1].index, false)
	}
	p.noteStep("page by %s behind %v: %v, left at %d", ix.name, after, in.engine(), left)
	h.looks(seen)
	got := []entry[K]{}
	for e, value := range ix.ix.AscendEntries(r, in.engine(), after) {
		p.check(value == want[e.Key], "value of a page", "%v is %v, want %v", e, value, want[e.Key])
		if h != nil {
			h.get(ix.of, e.Key, false)
		}
		if got = append(got, entry[K]{e.IndexKey, e.Key}); len(got) == left {
			break
		}
	}
	p.check(slices.Equal(list, got), "a page", "%s: %v, want %v", ix.name, got, list)
}

// facets asks an index for its answers without its records, or with one of them.
func (p *program[K, V]) facets(h *handle[K, V], ix *index[K, V], r reader[K, V], want map[K]V) {
	what := p.choose(6, "facet")
	in := p.choosePart(ix, what < 2)
	if what >= 4 || !ix.ordered && p.choose(2, "all") == 0 && what > 1 {
		in = span[int]{}
	}
	down := what == 5
	list := ix.entries(want, in, down)
	seen := look[K, V]{ix: ix, in: in, point: ix.unique && in.hasOneKey(ix.compare)}
	p.noteStep("facet %d by %s: %v", what, ix.name, in.engine())
	switch what {
	case 0:
		p.requireSame("Index.Has", len(list) > 0, ix.ix.Has(r, *in.low))
		if len(list) > 0 {
			seen.leave(list[0].index, false)
		}
	case 1:
		key, value, ok := ix.ix.First(r, *in.low)
		p.first(h, ix, &seen, list, want, false, mvcc.Entry[int, K]{IndexKey: *in.low, Key: key}, value, ok)
	case 2:
		p.requireSame("Index.Count", len(list), ix.ix.Count(r, in.engine()))
	case 3:
		p.keysOf(ix, &seen, list, ix.ix.Keys(r, in.engine()))
	default:
		if !ix.ordered {
			p.requireSame("Index.Len", len(list), ix.ix.Len(r))
			break
		}
		end := ix.ix.Min
		if down {
			end = ix.ix.Max
		}
		e, value, ok := end(r)
		p.first(h, ix, &seen, list, want, down, e, value, ok)
	}
	h.looks(seen)
}

// first compares the first record of a part of an index.
func (p *program[K, V]) first(h *handle[K, V], ix *index[K, V], seen *look[K, V], list []entry[K],
	want map[K]V, down bool, e mvcc.Entry[int, K], value V, ok bool) {
	p.check(ok == (len(list) > 0), "the first by an index", "%v, %v, want %v", e, ok, list)
	if !ok {
		return
	}
	seen.leave(list[0].index, down)
	if h != nil {
		h.get(ix.of, e.Key, false)
	}
	p.check(value == want[e.Key] && e.IndexKey == list[0].index && e.Key == list[0].key,
		"the first by an index", "%v is %v, want %v of %v", e, value, want[e.Key], list)
}

// keysOf compares a loop over index keys, which may be left.
func (p *program[K, V]) keysOf(ix *index[K, V], seen *look[K, V], list []entry[K],
	seq iter.Seq[int]) {
	keys := []int{}
	for _, e := range list {
		if len(keys) == 0 || keys[len(keys)-1] != e.index {
			keys = append(keys, e.index)
		}
	}
	left := -1
	if ix.ordered && len(keys) > 0 && p.choose(2, "leave") == 1 {
		left = 1 + p.choose(len(keys), "how many")
		keys = keys[:left]
		seen.in = seen.in.cutAt(keys[left-1], false)
	}
	if !ix.unique {
		seen.edges = keys
	}
	got := []int{}
	for i := range seq {
		if got = append(got, i); len(got) == left {
			break
		}
	}
	if !ix.ordered {
		slices.Sort(got)
	}
	p.check(slices.Equal(keys, got), "Keys", "%s: %v, want %v", ix.name, got, keys)
}
