package oracle

import (
	"cmp"
	"maps"
	"slices"

	"github.com/mvccmap/mvccmap/mvcc"
)

// A model is a slow database that is right by inspection: it keeps the whole contents of all
// tables for each commit, and makes what an index says of them anew for each look.
type model struct {
	tables []*table
	states []state
	clock  int // counts what begins, and what indexes are made
}

// A state is what the tables have after a commit, by their numbers. It is never changed. A
// table that it does not know was made later, and is empty.
type state []map[string]int

// A table is one of the engine, beside what the model knows of it.
type table struct {
	number  int
	m       *mvcc.Map[string, int]
	ordered bool
	closed  bool
	indexes []*index
	schema  int            // 0 without indexes, else another number each time they change
	changed map[string]int // after which commit a key was written last
	// rewritten is the last commit that may have written keys that are absent as well: a
	// NewIndex writes those that have not been forgotten.
	rewritten int
}

// A kind is one of the indexes that a table may have.
type kind struct {
	name            string
	unique, ordered bool
	compare         func(a, b int) int
	keys            func(key string, value int) []int
}

// The index keys of a record are in its value: bits 0 to 2 are tags, of which it may have
// several, the rest is its number. The unique indexes leave out number 0.
var kinds = []*kind{
	{name: "tags", compare: cmp.Compare[int], keys: func(_ string, value int) (tags []int) {
		for bit := range 3 {
			if value&(1<<bit) != 0 {
				tags = append(tags, bit, bit) // twice is once
			}
		}
		return tags
	}},
	{name: "sizes", ordered: true, compare: cmp.Compare[int],
		keys: func(_ string, value int) []int { return []int{value >> 3} }},
	{name: "single", unique: true, compare: cmp.Compare[int], keys: numberIfAny},
	{name: "ranks", unique: true, ordered: true,
		compare: func(a, b int) int { return cmp.Compare(b, a) }, keys: numberIfAny},
}

func numberIfAny(_ string, value int) []int {
	if value>>3 == 0 {
		return nil
	}
	return []int{value >> 3}
}

// numbers is how many numbers there are, so index keys are below it.
const numbers = 6

// An index is one of the engine, beside what the model knows of it.
type index struct {
	*kind
	of      *table
	ix      *mvcc.Index[int, string, int]
	made    int
	dropped bool
	// After which commit an index key was given or taken away last; and was perhaps, by a
	// transaction that did one and then the other.
	changed, perhaps map[int]int
}

// keysOf returns the index keys of a record, once each.
func (k *kind) keysOf(key string, value int, ok bool) []int {
	if !ok {
		return nil
	}
	keys := slices.Clone(k.keys(key, value))
	slices.Sort(keys)
	return slices.Compact(keys)
}

// A touch is an index and an index key.
type touch struct {
	ix  *index
	key int
}

type touches = map[touch]bool

func newModel() *model { return &model{states: []state{nil}} }

func (o *model) now() int { return len(o.states) - 1 }

func (o *model) tick() int { o.clock++; return o.clock }

// in returns what was in a table after a commit. It must not be changed.
func (o *model) in(t *table, at int) map[string]int {
	if s := o.states[at]; t.number < len(s) {
		return s[t.number]
	}
	return nil
}

func (o *model) newest(t *table) map[string]int { return o.in(t, o.now()) }

// commit makes a new state; a nil value deletes. touched are the index keys whose entries were
// written.
func (o *model) commit(writes map[*table]map[string]*int, touched touches) {
	n := len(o.states)
	next := make(state, len(o.tables))
	copy(next, o.states[n-1])
	for t, keys := range writes {
		old := next[t.number]
		now := maps.Clone(old)
		if now == nil {
			now = map[string]int{}
		}
		for key, value := range keys {
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
}

// differ returns the index keys that a record has in one of two states of the table.
func (k *kind) differ(key string, old, now map[string]int) (keys []int) {
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

// An entry says that a record has an index key.
type entry struct {
	index int
	key   string
}

// entries returns what the index says of the contents of its table: in the order of the index
// keys, and then of the keys.
func (k *kind) entries(all map[string]int, in span[int], down bool) (list []entry) {
	for key, value := range all {
		for _, i := range k.keysOf(key, value, true) {
			if in.has(k.compare, i) {
				list = append(list, entry{i, key})
			}
		}
	}
	slices.SortFunc(list, func(a, b entry) int {
		if down {
			a, b = b, a
		}
		return cmp.Or(k.compare(a.index, b.index), cmp.Compare(a.key, b.key))
	})
	return list
}

// twice returns the index keys that several records have.
func (k *kind) twice(all map[string]int) map[int][]string {
	owners := map[int][]string{}
	for _, e := range k.entries(all, span[int]{}, false) {
		owners[e.index] = append(owners[e.index], e.key)
	}
	maps.DeleteFunc(owners, func(_ int, of []string) bool { return len(of) < 2 })
	return owners
}

// allows reports whether the unique indexes allow the writes.
func (o *model) allows(writes map[*table]map[string]*int) bool {
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

// written returns what becomes of the contents of a table.
func written(all map[string]int, writes map[string]*int) map[string]int {
	now := map[string]int{}
	maps.Copy(now, all)
	for key, value := range writes {
		if delete(now, key); value != nil {
			now[key] = *value
		}
	}
	return now
}

// inOrder returns the keys that are in a part of the order.
func inOrder(all map[string]int, in span[string], down bool) []string {
	keys := []string{}
	for key := range all {
		if in.has(cmp.Compare[string], key) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	if down {
		slices.Reverse(keys)
	}
	return keys
}

// A span is a [mvcc.Range] that says what it has. A nil end is open.
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

// to returns the part of s that a loop has gone through that was left at x.
func (s span[T]) to(x T, down bool) span[T] {
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
