package oracle

import (
	"context"
	"maps"
	"slices"

	"github.com/mvccmap/mvccmap/mvcc"
)

var bg = context.Background()

// An action is one kind of step. It is possible when ready says so.
type action struct {
	name  string
	ready func() bool
	run   func()
}

// actions returns the possible steps of a program.
func (p *program[K, V]) actions() []action {
	always := func() bool { return true }
	room := func() bool { return len(p.open) < maxOpen }
	tx := func() bool { return p.has(true) }
	opened := func() bool { return p.has(false) }
	seldom := func() bool { return p.choose(4, "seldom") == 3 }
	tables := func() bool { return p.db != nil && seldom() }
	return []action{
		{"one key", always, p.store},
		{"overwrite", always, p.overwrite},
		{"DeleteFunc", seldom, p.deleteFunc},
		{"Begin", room, p.begin},
		{"Snapshot", room, p.snapshot},
		{"step", tx, func() { p.stepInTx(p.pickHandle(true)) }},
		{"write", tx, func() { p.write(p.pickHandle(true)) }},
		{"read", opened, func() { p.read(p.pickHandle(false)) }},
		{"range", opened, func() { h := p.pickHandle(false); p.ranged(h, p.chooseTable(h)) }},
		{"index", opened, func() { h := p.pickHandle(false); p.lookup(h, p.chooseTable(h)) }},
		{"Commit", tx, p.commit},
		{"end", opened, p.rollback},
		{"Err", tx, func() { h := p.pickHandle(true); p.noteStep("%s.Err()", h.name); p.err(h) }},
		{"Update", always, p.update},
		{"View", always, p.view},
		{"newest", always, p.newest},
		{"Range", always, p.rangeFunc},
		{"making", tables, p.indexing},
		{"closing", tables, p.closeTable},
		{"Close", func() bool { return !p.closed && seldom() }, p.closeEngine},
		{"Clear", seldom, p.clear},
		{"DeleteRange", seldom, p.deleteRange},
		{"Reclaim", always, p.reclaim},
	}
}

// newest reads the newest values, of a table by itself.
func (p *program[K, V]) newest() {
	t := p.table()
	p.noteStep("%s:", t.m.Name())
	want, key := p.o.newest(t), p.key()
	value, ok := want[key]
	got, there := t.m.Load(key)
	p.found("Load", value, ok)(got, there)
	p.requireSame("Map.Has", ok, t.m.Has(key))
	p.requireSame("Map.Len", len(want), t.m.Len())
	p.history(t, key)
	if t.ordered && p.choose(2, "range") == 1 {
		p.rangeOf(nil, t, t.m, want)
	} else {
		p.lookupOf(nil, t, t.m, want)
	}
}

// history looks at the rest of the history of a key: how much that is depends on the pruned
// versions. Each revision must be the state of the key from its epoch to that of the next one.
func (p *program[K, V]) history(t *table[K, V], key K) {
	revisions, n := mvcc.History(t.m, key), p.o.lastState()
	value, ok := p.o.newest(t)[key]
	p.check(!ok || len(revisions) > 0, "History", "none of %v, which is %v", key, value)
	for i, r := range revisions {
		p.check(i == 0 || r.Epoch < revisions[i-1].Epoch, "History", "%v: not the newest first", revisions)
		p.check(r.Time.IsZero(), "History", "a time, without Options.Retain")
		for ; p.o.epochs[n] >= r.Epoch; n-- {
			value, ok := p.o.contentsAt(t, n)[key]
			p.found("History", value, ok)(r.Value, !r.Deleted)
			if n == 0 {
				return
			}
		}
	}
}

func (p *program[K, V]) clear() {
	t := p.table()
	p.noteStep("%s.Clear()", t.m.Name())
	t.m.Clear()
	p.deleted(t, p.inOrder(p.o.newest(t), span[K]{}, false))
}

// deleteRange deletes a part of an ordered table.
func (p *program[K, V]) deleteRange() {
	t, in := p.table(), chosen(p, func(string) K { return p.key() })
	if !t.ordered {
		return
	}
	p.noteStep("%s.DeleteRange(%v)", t.m.Name(), in.engine())
	gone := p.inOrder(p.o.newest(t), in, false)
	p.requireSame("DeleteRange", len(gone), t.m.DeleteRange(in.engine()))
	p.deleted(t, gone)
}

// deleted notes a transaction that has deleted keys of a table.
func (p *program[K, V]) deleted(t *table[K, V], keys []K) {
	writes := map[K]*V{}
	for _, key := range keys {
		writes[key] = nil
	}
	if len(writes) > 0 {
		p.o.commit(map[*table[K, V]]map[K]*V{t: writes}, nil)
	}
}

// stepInTx does one thing in a transaction.
func (p *program[K, V]) stepInTx(h *handle[K, V]) {
	switch p.choose(8, "step") {
	case 0:
		p.read(h)
	case 1:
		p.ranged(h, p.chooseTable(h))
	case 2:
		p.lookup(h, p.chooseTable(h))
	case 3:
		p.savepoint(h, 2)
	case 4:
		p.rewrite(h)
	default:
		p.write(h)
	}
}

// write writes one key, or several.
func (p *program[K, V]) write(h *handle[K, V]) {
	t, key := p.chooseTable(h), p.key()
	tx := p.txOn(h, t)
	switch value := p.value(key); p.choose(7, "write") {
	case 0:
		p.noteStep("%s: %s.Delete(%v)", h.name, t.m.Name(), key)
		tx.Delete(key)
		h.put(p.o, t, key, nil)
	case 1:
		p.noteStep("%s: %s.Merge(%v, %v)", h.name, t.m.Name(), key, value)
		mix := p.mixer(key)
		tx.Merge(key, mix)
		h.merge(p.o, t, key, mix)
	case 3:
		in := chosen(p, func(string) K { return p.key() })
		p.noteStep("%s: %s.DeleteRange(%v)", h.name, t.m.Name(), in.engine())
		if !t.ordered {
			return
		}
		gone := p.inOrder(h.view(p.o, t), in, false)
		p.requireSame("Tx.DeleteRange", len(gone), tx.DeleteRange(in.engine()))
		h.hasRead = true
		h.partOf(t).ranges = append(h.partOf(t).ranges, in)
		for _, key := range gone {
			h.put(p.o, t, key, nil)
		}
	case 2:
		n := 1 + p.choose(len(p.keys), "how many")
		p.noteStep("%s: %s.Set of %d keys", h.name, t.m.Name(), n)
		for i, key := range p.keys[:n] {
			value := p.fresh(max(1+i, numbers)%numbers, p.choose(8, "tags"))
			tx.Set(key, value)
			h.put(p.o, t, key, &value)
		}
	default:
		p.noteStep("%s: %s.Set(%v, %v)", h.name, t.m.Name(), key, value)
		tx.Set(key, value)
		h.put(p.o, t, key, &value)
	}
}

// read reads one key, or all.
func (p *program[K, V]) read(h *handle[K, V]) {
	t, key := p.chooseTable(h), p.key()
	r, want := p.reader(h, t), h.view(p.o, t)
	value, ok := want[key]
	what := p.choose(5, "read")
	p.noteStep("%s: %s.read %d of %v", h.name, t.m.Name(), what, key)
	switch tx, isTx := r.(mvcc.Tx[K, V]); {
	case what == 0:
		p.all(h, t, r, want)
	case what == 1 && isTx:
		h.get(t, key, true)
		p.found("GetForUpdate", value, ok)(tx.GetForUpdate(key))
	case what == 1:
		p.requireSame("Len", len(want), r.(mvcc.Snapshot[K, V]).Len())
	case what == 2:
		h.get(t, key, false)
		p.requireSame("Has", ok, r.Has(key))
	default:
		h.get(t, key, false)
		p.found("Get", value, ok)(r.Get(key))
	}
}

// all scans a table, to its end or not. There may be commits meanwhile, of which the scan sees
// nothing.
func (p *program[K, V]) all(h *handle[K, V], t *table[K, V], r reader[K, V], want map[K]V) {
	n, beside := len(want), p.choose(4, "beside") == 3 && !t.closed && !p.again
	if p.choose(2, "leave") == 1 {
		n = 1 + p.choose(len(p.keys), "how many")
	}
	if h.isTx {
		h.hasRead, h.partOf(t).scanned = true, true
	}
	got := map[K]V{}
	for key, value := range r.All() {
		_, twice := got[key]
		p.check(!twice, "All", "it meets %v twice", key)
		p.found("All", want[key], true)(value, true)
		if got[key] = value; len(got) == n {
			break
		}
		if beside {
			beside = false
			p.noteStep("in the loop:")
			p.overwrite()
			p.store()
			p.reclaim()
			p.store()
			p.noteStep("end of the loop")
		}
	}
	p.check(len(got) == min(n, len(want)), "All", "%d keys", len(got))
}

// savepoint does some steps in a savepoint, which may fail.
func (p *program[K, V]) savepoint(h *handle[K, V], depth int) {
	n, ending := p.choose(4, "steps"), p.choose(3, "ending")
	p.noteStep("%s.Savepoint, %d steps, ending %d:", h.name, n, ending)
	type own struct {
		writes map[K]*V
		merges map[K][]merge[V]
		schema int
		by     []*index[K, V]
	}
	before, touched := map[*table[K, V]]own{}, maps.Clone(h.touched)
	for t, p := range h.parts {
		before[t] = own{maps.Clone(p.writes), maps.Clone(p.merges), p.schema, p.by}
	}
	save := h.tx.Savepoint
	if h.alone != nil {
		save = p.txOn(h, h.alone).Savepoint
	}
	var err error
	panicked := panicOf(func() {
		err = save(func() error {
			for range n {
				if depth > 1 {
					p.step2(h, depth-1)
				} else {
					p.write(h)
				}
			}
			switch ending {
			case 1:
				return errOwn
			case 2:
				panic(errOwn)
			}
			return nil
		})
	})
	if panicked != nil && panicked != any(errOwn) {
		panic(panicked)
	}
	p.noteStep("end of the savepoint")
	p.check((ending == 1) == (err != nil) && (ending == 2) == (panicked != nil), "Savepoint",
		"%v, %v", err, panicked)
	if ending == 0 {
		return
	}
	h.touched = touched
	for t, p := range h.parts {
		was := before[t]
		if was.writes == nil {
			was = own{map[K]*V{}, map[K][]merge[V]{}, 0, nil}
		}
		p.writes, p.merges, p.schema, p.by = was.writes, was.merges, was.schema, was.by
	}
}

// step2 is a step within a savepoint.
func (p *program[K, V]) step2(h *handle[K, V], depth int) {
	switch p.choose(7, "step") {
	case 0:
		p.savepoint(h, depth)
	case 1:
		p.read(h)
	case 2:
		p.lookup(h, p.chooseTable(h))
	case 3, 4:
		p.ranged(h, p.chooseTable(h))
	default:
		p.write(h)
	}
}

// chosen chooses a part of an order.
func chosen[K, V comparable, T any](p *program[K, V], of func(what string) T) (s span[T]) {
	low, high := of("low"), of("high")
	if kind := p.choose(3, "low end"); kind > 0 {
		s.low, s.lowOut = &low, kind == 2
	}
	if kind := p.choose(3, "high end"); kind > 0 {
		s.high, s.highOut = &high, kind == 2
	}
	return s
}

// rewrite writes in a loop: over a range, or by an index. The loop visits the same records
// nonetheless: of a range as they were, by an index as they are by then.
func (p *program[K, V]) rewrite(h *handle[K, V]) {
	t := p.chooseTable(h)
	tx, begun := p.txOn(h, t), h.view(p.o, t)
	kind := p.choose(3, "loop")
	if kind == 0 {
		p.noteStep("%s: writes in a loop over all of %s", h.name, t.m.Name())
		h.hasRead, h.partOf(t).scanned = true, true
		got := map[K]V{}
		for key, value := range tx.All() {
			got[key] = value
			p.write(h)
		}
		p.check(maps.Equal(begun, got), "a loop over all that writes", "%v, want %v", got, begun)
		return
	}
	if t.ordered && kind == 1 {
		p.noteStep("%s: writes in a loop over %s", h.name, t.m.Name())
		h.hasRead = true
		h.partOf(t).ranges = append(h.partOf(t).ranges, span[K]{})
		got := []K{}
		for key, value := range tx.Ascend(mvcc.Range[K]{}) {
			got = append(got, key)
			p.check(value == begun[key], "value in a loop that writes",
				"%v is %v, want %v", key, value, begun[key])
			p.write(h)
		}
		p.requireSame("a loop that writes", p.inOrder(begun, span[K]{}, false), got)
		return
	}
	i := slices.IndexFunc(t.indexes, func(ix *index[K, V]) bool { return ix.made < h.begun })
	if i < 0 {
		return
	}
	ix, n := t.indexes[i], p.choose(numbers, "index key")
	p.noteStep("%s: writes in a loop by %s of %s, %d", h.name, ix.name, t.m.Name(), n)
	one := span[int]{low: &n, high: &n}
	h.hasRead = true
	h.seen = append(h.seen, look[K, V]{ix: ix, in: one, point: ix.unique})
	left, gone := map[K]bool{}, map[K]bool{} // gone: at some time meanwhile
	for _, e := range ix.entries(begun, one, false) {
		left[e.key] = true
	}
	for key, value := range ix.ix.Get(tx, n) {
		p.check(left[key], "a loop by an index that writes", "%v is too much", key)
		delete(left, key)
		now, ok := h.view(p.o, t)[key]
		p.check(ok && now == value, "value in a loop by an index that writes",
			"%v is %v, want %v (%v)", key, value, now, ok)
		h.get(t, key, false)
		p.write(h)
		view := h.view(p.o, t)
		for key := range left {
			if _, ok := view[key]; !ok {
				gone[key] = true
			}
		}
	}
	for key := range left { // only revisions that had gone by then were passed over
		p.check(gone[key], "a loop by an index that writes", "%v is missed", key)
	}
}
