package oracle

import (
	"cmp"
	"maps"
	"slices"

	"github.com/mvccmap/mvccmap/mvcc"
)

// A model is a slow database that is right by inspection: it keeps the whole contents of all
// tables for each commit, and makes the entries of an index from them anew for each look.
type model[K, V comparable] struct {
	tables []*table[K, V]
	states []state[K, V]
	epochs []uint64 // of the states
	engine engine
	clock  int // counts transactions that begin, and indexes that are made
}

// A state has the contents of the tables after a commit, by their numbers. It is never
// changed. A table that it does not know was made later, and is empty.
type state[K, V comparable] []map[K]V

// A table is one of the engine, beside the model's knowledge of it.
type table[K, V comparable] struct {
	number  int
	m       *mvcc.Map[K, V]
	ordered bool
	compare func(a, b K) int
	closed  bool
	indexes []*index[K, V]
	schema  int         // 0 without indexes, else another number each time they change
	changed map[K]int   // after which commit a key was written last
	history map[K][]int // and after which before, oldest first
	// rewritten is the last commit that may have written keys that are absent as well: a
	// NewIndex writes those that have not been forgotten.
	rewritten int
}

// A kind is one of the indexes that a table may have.
type kind[K, V comparable] struct {
	name            string
	unique, ordered bool
	compare         func(a, b int) int
	order           func(a, b K) int
	keys            func(key K, value V) []int
}

// kindsOf returns the indexes that there may be. The index keys of a record are in its value:
// bits 0 to 2 are tags, of which it may have several, the next three are its number. The unique
// indexes leave out number 0.
func kindsOf[K, V comparable](d data[K, V]) []*kind[K, V] {
	number := func(value V) int { return d.number(value) >> 3 & 7 }
	ifAny := func(_ K, value V) []int {
		if number(value) == 0 {
			return nil
		}
		return []int{number(value)}
	}
	kinds := []*kind[K, V]{
		{name: "tags", compare: cmp.Compare[int], keys: func(_ K, value V) (tags []int) {
			for bit := range 3 {
				if d.number(value)&(1<<bit) != 0 {
					tags = append(tags, bit, bit) // twice is once
				}
			}
			return tags
		}},
		{name: "sizes", ordered: true, compare: cmp.Compare[int],
			keys: func(_ K, value V) []int { return []int{number(value)} }},
		{name: "single", unique: true, compare: cmp.Compare[int], keys: ifAny},
		{name: "ranks", unique: true, ordered: true,
			compare: func(a, b int) int { return cmp.Compare(b, a) }, keys: ifAny},
	}
	for _, k := range kinds {
		k.order = d.compare
	}
	return kinds
}

// numbers is how many numbers there are, so index keys are below it.
const numbers = 6

// An index is one of the engine, beside the model's knowledge of it.
type index[K, V comparable] struct {
	*kind[K, V]
	of   *table[K, V]
	ix   *mvcc.Index[int, K, V]
	made int
	// After which commit an index key was given or taken away last; and was perhaps, by a
	// transaction that did one and then the other.
	changed, perhaps map[int]int
}

// keysOf returns the index keys of a record, once each.
func (k *kind[K, V]) keysOf(key K, value V, ok bool) []int {
	if !ok {
		return nil
	}
	keys := slices.Clone(k.keys(key, value))
	slices.Sort(keys)
	return slices.Compact(keys)
}

// A touch is an index and an index key.
type touch[K, V comparable] struct {
	ix  *index[K, V]
	key int
}

type touches[K, V comparable] = map[touch[K, V]]bool

func (o *model[K, V]) lastState() int { return len(o.states) - 1 }

func (o *model[K, V]) nextTick() int { o.clock++; return o.clock }

// contentsAt returns the contents of a table after a commit. They must not be changed.
func (o *model[K, V]) contentsAt(t *table[K, V], at int) map[K]V {
	if s := o.states[at]; t.number < len(s) {
		return s[t.number]
	}
	return nil
}

func (o *model[K, V]) newest(t *table[K, V]) map[K]V { return o.contentsAt(t, o.lastState()) }

// commit makes a new state; a nil value deletes. touched are the index keys whose entries were
// written.
func (o *model[K, V]) commit(writes map[*table[K, V]]map[K]*V, touched touches[K, V]) {
	n := len(o.states)
	next := make(state[K, V], len(o.tables))
	copy(next, o.states[n-1])
	for t, keys := range writes {
		old := next[t.number]
		now := maps.Clone(old)
		if now == nil {
			now = map[K]V{}
		}
		for key, value := range keys {
			t.history[key] = append(t.history[key], n)
			if t.changed[key] = n; value == nil {
				delete(now, key)
			} else {
				now[key] = *value
			}
			for _, ix := range t.indexes {
				for _, i := range ix.differ(key, old, now) {
					ix.changed[i] = n
				}
			}
		}
		next[t.number] = now
	}
	for at := range touched {
		if at.ix.changed[at.key] != n {
			at.ix.perhaps[at.key] = n
		}
	}
	o.states = append(o.states, next)
	o.epochs = append(o.epochs, o.engine.Epoch())
}

// differ returns the index keys that a record has in one of two states of the table.
func (k *kind[K, V]) differ(key K, old, now map[K]V) (keys []int) {
	a, had := old[key]
	b, has := now[key]
	was, is := k.keysOf(key, a, had), k.keysOf(key, b, has)
	for _, i := range was {
		if !slices.Contains(is, i) {
			keys = append(keys, i)
		}
	}
	for _, i := range is {
		if !slices.Contains(was, i) {
			keys = append(keys, i)
		}
	}
	return keys
}

// wanted returns how many versions of a table are the newest of their key, or seen by handles; and
// how many of them are values.
func (o *model[K, V]) wanted(t *table[K, V], open []*handle[K, V]) (all, values int) {
	for key, history := range t.history {
		for i, n := range history {
			seen := func(h *handle[K, V]) bool { return n <= h.at && h.at < history[i+1] }
			if i == len(history)-1 || slices.ContainsFunc(open, seen) {
				all++
				if _, ok := o.contentsAt(t, n)[key]; ok {
					values++
				}
			}
		}
	}
	return all, values
}

// An entry says that a record has an index key.
type entry[K comparable] struct {
	index int
	key   K
}

// entries returns the entries of the index for the contents of its table: in the order of the
// index keys, and then of the keys.
func (k *kind[K, V]) entries(all map[K]V, in span[int], down bool) (list []entry[K]) {
	for key, value := range all {
		for _, i := range k.keysOf(key, value, true) {
			if in.has(k.compare, i) {
				list = append(list, entry[K]{i, key})
			}
		}
	}
	slices.SortFunc(list, func(a, b entry[K]) int {
		if down {
			a, b = b, a
		}
		return cmp.Or(k.compare(a.index, b.index), k.order(a.key, b.key))
	})
	return list
}

// twice returns the index keys that several records have.
func (k *kind[K, V]) twice(all map[K]V) map[int][]K {
	owners := map[int][]K{}
	for _, e := range k.entries(all, span[int]{}, false) {
		owners[e.index] = append(owners[e.index], e.key)
	}
	maps.DeleteFunc(owners, func(_ int, of []K) bool { return len(of) < 2 })
	return owners
}

// allows reports whether the unique indexes allow the writes.
func (o *model[K, V]) allows(writes map[*table[K, V]]map[K]*V) bool {
	for t, keys := range writes {
		all := written(o.newest(t), keys)
		for _, ix := range t.indexes {
			if ix.unique && len(ix.twice(all)) > 0 {
				return false
			}
		}
	}
	return true
}

// written returns the new contents of a table.
func written[K, V comparable](all map[K]V, writes map[K]*V) map[K]V {
	now := map[K]V{}
	maps.Copy(now, all)
	for key, value := range writes {
		if delete(now, key); value != nil {
			now[key] = *value
		}
	}
	return now
}

// inOrder returns the keys that are in a part of the order.
func (p *program[K, V]) inOrder(all map[K]V, in span[K], down bool) []K {
	keys := []K{}
	for key := range all {
		if in.has(p.compare, key) {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, p.compare)
	if down {
		slices.Reverse(keys)
	}
	return keys
}

// A span is a [mvcc.Range] that shows its bounds. A nil end is open.
type span[T any] struct {
	low, high       *T
	lowOut, highOut bool // the end is not in it
}

func (s span[T]) has(compare func(a, b T) int, x T) bool {
	if s.low != nil {
		if c := compare(x, *s.low); c < 0 || c == 0 && s.lowOut {
			return false
		}
	}
	if s.high != nil {
		if c := compare(x, *s.high); c > 0 || c == 0 && s.highOut {
			return false
		}
	}
	return true
}

// cutAt returns the part of s that a loop has gone through that was left at x.
func (s span[T]) cutAt(x T, down bool) span[T] {
	if down {
		s.low, s.lowOut = &x, false
	} else {
		s.high, s.highOut = &x, false
	}
	return s
}

func (s span[T]) engine() (r mvcc.Range[T]) {
	switch {
	case s.low != nil && s.lowOut:
		r = mvcc.After(*s.low)
	case s.low != nil:
		r = mvcc.From(*s.low)
	}
	switch {
	case s.high != nil && s.highOut:
		r = r.Before(*s.high)
	case s.high != nil:
		r = r.UpTo(*s.high)
	}
	return r
}
