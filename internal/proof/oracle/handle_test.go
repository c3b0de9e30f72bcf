package oracle

import (
	"maps"
	"slices"

	"github.com/mvccmap/mvccmap/mvcc"
)

// A handle is an open transaction or snapshot, beside the model's knowledge of it.
type handle[K, V comparable] struct {
	name  string
	tx    mvcc.DBTx
	s     mvcc.DBSnapshot
	isTx  bool
	alone *table[K, V] // it is one of this table, and not of the database
	plain bool         // and began when that had no indexes
	level mvcc.Level
	begun int
	at    int // the state that it reads
	epoch uint64

	readers map[*table[K, V]]reader[K, V]
	parts   map[*table[K, V]]*part[K, V]
	hasRead bool
	seen    []look[K, V]
	// The reads of its writes in unique indexes, and the writes in all. Only the latter
	// is undone by a savepoint.
	met, touched touches[K, V]
}

// A part has the reads and pending writes of a transaction in one table.
type part[K, V comparable] struct {
	read, early, locked map[K]bool // keys got, before a scan, and for an update
	scanned             bool
	ranges              []span[K]
	writes              map[K]*V // nil: delete
	merges              map[K][]merge[V]
	schema              int // of the table, and the indexes, when the first write was made
	by                  []*index[K, V]
}

// A look is a read of an index by a transaction.
type look[K, V comparable] struct {
	ix *index[K, V]
	in span[int]
	// edges are index keys of which only some entries were read: the last one of a loop that was
	// left, and that behind which a page begins.
	edges []int
	// point says that it was one index key of a unique index.
	point bool
}

type merge[V any] = func(old V, ok bool) V

func (h *handle[K, V]) partOf(t *table[K, V]) *part[K, V] {
	p := h.parts[t]
	if p == nil {
		p = &part[K, V]{read: map[K]bool{}, early: map[K]bool{}, locked: map[K]bool{},
			writes: map[K]*V{}, merges: map[K][]merge[V]{}}
		h.parts[t] = p
	}
	return p
}

func (p *part[K, V]) writesAny() bool { return len(p.writes)+len(p.merges) > 0 }

func (h *handle[K, V]) writesAny() bool {
	for _, p := range h.parts {
		if p.writesAny() {
			return true
		}
	}
	return false
}

// view returns the contents of a table as the handle sees them.
func (h *handle[K, V]) view(o *model[K, V], t *table[K, V]) map[K]V {
	if h.parts[t] == nil {
		return o.contentsAt(t, h.at)
	}
	return h.partOf(t).contentsAfter(o.contentsAt(t, h.at))
}

// contentsAfter returns the contents of a table after the writes.
func (p *part[K, V]) contentsAfter(all map[K]V) map[K]V { return written(all, p.final(all)) }

// final returns the writes of the part if the table has these contents.
func (p *part[K, V]) final(all map[K]V) map[K]*V {
	writes := maps.Clone(p.writes)
	for key, merges := range p.merges {
		value, ok := all[key]
		for _, fn := range merges {
			value, ok = fn(value, ok), true
		}
		writes[key] = &value
	}
	return writes
}

func (h *handle[K, V]) final(o *model[K, V]) map[*table[K, V]]map[K]*V {
	writes := map[*table[K, V]]map[K]*V{}
	for t, p := range h.parts {
		if p.writesAny() {
			writes[t] = p.final(o.newest(t))
		}
	}
	return writes
}

// get notes that the transaction reads a key.
func (h *handle[K, V]) get(t *table[K, V], key K, update bool) {
	if !h.isTx {
		return
	}
	p := h.partOf(t)
	if _, own := p.writes[key]; own {
		return
	}
	h.hasRead = true
	if p.read[key] = true; !p.scanned {
		p.early[key] = true
	}
	if update {
		p.locked[key] = true
	}
}

// put notes a Set, or a Delete, which says nil.
func (h *handle[K, V]) put(o *model[K, V], t *table[K, V], key K, value *V) {
	p := h.toWrite(t)
	if len(p.by) > 0 {
		old := h.view(o, t)
		h.get(t, key, false)
		now := written(old, map[K]*V{key: value})
		for _, ix := range p.by {
			for _, i := range ix.differ(key, old, now) {
				if h.touched[touch[K, V]{ix, i}] = true; ix.unique {
					h.met[touch[K, V]{ix, i}] = true
				}
			}
		}
	}
	delete(p.merges, key)
	p.writes[key] = value
}

// merge notes a Merge.
func (h *handle[K, V]) merge(o *model[K, V], t *table[K, V], key K, fn merge[V]) {
	p := h.toWrite(t)
	if _, own := p.writes[key]; own || len(p.by) > 0 {
		old, ok := h.view(o, t)[key]
		h.get(t, key, false)
		value := fn(old, ok)
		h.put(o, t, key, &value)
		return
	}
	p.merges[key] = append(slices.Clip(p.merges[key]), fn)
}

// toWrite returns the part, with the indexes that the writes are to follow.
func (h *handle[K, V]) toWrite(t *table[K, V]) *part[K, V] {
	p := h.partOf(t)
	if !h.plain && !p.writesAny() {
		p.schema, p.by = t.schema, slices.Clone(t.indexes)
	}
	return p
}

// outcomes are the possible ends of a commit.
type outcomes struct{ ok, conflict, refused bool }

// verdict returns the possible ends of a commit now.
func (h *handle[K, V]) verdict(o *model[K, V]) outcomes {
	if !h.writesAny() {
		return outcomes{ok: true}
	}
	surely, perhaps := h.conflicts(o)
	switch twice, stale := h.refused(o); {
	case twice && !stale:
		return outcomes{refused: true}
	case twice: // the cause may be gone, and never have been in the index that it sees
		return outcomes{refused: true, conflict: true, ok: !surely && o.allows(h.final(o))}
	case surely || !o.allows(h.final(o)):
		return outcomes{conflict: true}
	default:
		return outcomes{ok: true, conflict: perhaps}
	}
}

// refused reports whether two records have the same index key of a unique index in the view of
// the transaction; and whether that is not sure, because it does not see the index as it is.
func (h *handle[K, V]) refused(o *model[K, V]) (twice, stale bool) {
	for t, p := range h.parts {
		if !p.writesAny() {
			continue
		}
		for _, ix := range p.by {
			if ix.unique && len(ix.twice(h.view(o, t))) > 0 {
				twice = true
				stale = stale || ix.made > h.begun
			}
		}
	}
	return twice, stale
}

// conflicts reports whether there is a reason for a conflict.
func (h *handle[K, V]) conflicts(o *model[K, V]) (surely, perhaps bool) {
	reason := func(n int, some bool) {
		if n > h.at {
			surely, perhaps = surely || !some, perhaps || some
		}
	}
	serial := h.level == mvcc.LevelSerializable
	for t, p := range h.parts {
		if p.writesAny() && p.schema != t.schema {
			// A write of one key alone is looked at where that is installed.
			reason(h.at+1, len(p.by) == 0 && !h.hasRead && h.countWrites() == 1)
		}
		if !h.hasRead {
			continue
		}
		read := p.read
		if !serial {
			read = p.locked
			for key := range p.writes {
				reason(t.changed[key], false)
				reason(t.rewritten, true)
			}
		}
		for key := range read {
			_, before := o.contentsAt(t, h.at)[key]
			if _, after := o.newest(t)[key]; before || after {
				reason(t.changed[key], false)
			}
		}
		if !serial {
			continue
		}
		in := p.ranges
		if p.scanned {
			in = append(slices.Clip(in), span[K]{})
		}
		for _, in := range in {
			reason(t.rewritten, true)
			for key, n := range t.changed {
				if in.has(t.compare, key) {
					reason(n, false)
				}
			}
		}
	}
	if !serial {
		for at := range h.touched {
			reason(max(at.ix.changed[at.key], at.ix.perhaps[at.key]), true)
		}
		return surely, perhaps
	}
	for _, look := range h.seen {
		for i := range numbers {
			switch {
			case !look.in.has(look.ix.compare, i):
				continue
			case look.point:
				h.pointRead(o, look.ix, i, reason)
			default:
				reason(look.ix.changed[i], slices.Contains(look.edges, i))
			}
			reason(look.ix.perhaps[i], true)
		}
	}
	for at := range h.met {
		h.pointRead(o, at.ix, at.key, reason)
		reason(at.ix.perhaps[at.key], true)
	}
	return surely, perhaps
}

func (h *handle[K, V]) countWrites() (n int) {
	for _, p := range h.parts {
		n += len(p.writes) + len(p.merges)
	}
	return n
}

// pointRead finds reasons for a conflict over an index key of a unique index.
func (h *handle[K, V]) pointRead(
	o *model[K, V], ix *index[K, V], i int, reason func(n int, some bool),
) {
	one := span[int]{low: &i, high: &i}
	before := ix.made < h.begun && len(ix.entries(o.contentsAt(ix.of, h.at), one, false)) > 0
	if before || len(ix.entries(o.newest(ix.of), one, false)) > 0 {
		reason(ix.changed[i], false)
	}
}

// doomed reports whether Err must say that the transaction cannot commit: a value was
// overwritten that it has got.
func (h *handle[K, V]) doomed(o *model[K, V]) bool {
	if !h.writesAny() {
		return false
	}
	for t, p := range h.parts {
		read := p.early
		if h.level == mvcc.LevelSnapshot {
			read = p.locked
		}
		for key := range read {
			if _, before := o.contentsAt(t, h.at)[key]; before && t.changed[key] > h.at {
				return true
			}
		}
	}
	return false
}
