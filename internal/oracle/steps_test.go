package oracle

import (
	"context"
	"errors"
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

// actions returns what a program can do.
func (p *program) actions() []action {
	always := func() bool { return true }
	room := func() bool { return len(p.open) < maxOpen }
	tx := func() bool { return p.has(true) }
	opened := func() bool { return p.has(false) }
	seldom := func() bool { return p.choose(4, "seldom") == 3 }
	return []action{
		{"one key", always, p.store},
		{"Begin", room, p.begin},
		{"Snapshot", room, p.snapshot},
		{"step", tx, func() { _, h := p.pick(true); p.step(h) }},
		{"write", tx, func() { _, h := p.pick(true); p.write(h) }},
		{"read", opened, func() { _, h := p.pick(false); p.read(h) }},
		{"range", opened, func() { _, h := p.pick(false); p.ranged(h, p.of(h)) }},
		{"index", opened, func() { _, h := p.pick(false); p.lookup(h, p.of(h)) }},
		{"Commit", tx, p.commit},
		{"end", opened, p.rollback},
		{"Err", tx, func() { _, h := p.pick(true); p.note("%s.Err()", h.name); p.err(h) }},
		{"Update", always, p.update},
		{"newest", always, p.newest},
		{"making and dropping", always, p.indexing},
		{"closing", seldom, p.closeTable},
		{"Clear", seldom, p.clear},
		{"Reclaim", always, p.reclaim},
	}
}

// store is a one-key operation. If a unique index refuses it, it panics, and nothing has happened.
func (p *program) store() {
	t, key, op := p.table(), p.key(), p.choose(9, "operation")
	value := p.value(key)
	p.note("%s, key %q: operation %d, %d", t.m.Name(), key, op, value)
	old, had := p.o.newest(t)[key]
	writes := &value // what it writes if it does
	var call func()
	switch op {
	case 0, 1:
		call = func() { t.m.Store(key, value) }
	case 2:
		call = func() { was, ok := t.m.Swap(key, value); p.same("Swap", []any{old, had}, []any{was, ok}) }
	case 3:
		want := []any{value, false}
		if had {
			writes, want = nil, []any{old, true}
		}
		call = func() {
			got, ok := t.m.LoadOrStore(key, value)
			p.same("LoadOrStore", want, []any{got, ok})
		}
	case 4:
		call = func() {
			was, ok := t.m.LoadAndDelete(key)
			p.same("LoadAndDelete", []any{old, had}, []any{was, ok})
		}
	case 5:
		from := old
		if p.choose(4, "other value") == 3 {
			from++
		}
		swaps := had && from == old
		if !swaps {
			writes = nil
		}
		call = func() { p.same("CompareAndSwap", swaps, mvcc.CompareAndSwap(t.m, key, from, value)) }
	case 6:
		call = func() { p.same("CompareAndDelete", had, mvcc.CompareAndDelete(t.m, key, old)) }
	case 7:
		value = old ^ value
		call = func() {
			got, ok := t.m.Compute(key, func(was int, ok bool) (int, mvcc.ComputeOp) {
				p.same("what Compute gives", []any{old, had}, []any{was, ok})
				return value, mvcc.UpdateOp
			})
			p.same("Compute", []any{value, true}, []any{got, ok})
		}
	case 8:
		value = old ^ value
		call = func() { t.m.Merge(key, func(was int, _ bool) int { return was ^ value ^ old }) }
	}
	deletes := op == 4 || op == 6
	if deletes && !had {
		writes = nil
	}
	now := map[*table]map[string]*int{t: {}}
	switch {
	case deletes && had:
		now[t][key] = nil
	case writes != nil && !deletes:
		now[t][key] = &value
	}
	refused := panicOf(call)
	if !p.o.allows(now) {
		err, _ := refused.(error)
		var u *mvcc.UniqueError
		all := written(p.o.newest(t), now[t])
		ok := errors.As(err, &u) && slices.ContainsFunc(t.indexes, func(ix *index) bool {
			return u.Index == ix.name && twice(ix, all, u)
		})
		p.check(ok, "one key", "%v, want a *UniqueError", refused)
		return
	}
	if refused != nil {
		if _, ok := refused.(error); ok {
			p.check(false, "one key", "%v", refused)
		}
		panic(refused) // that of the tester
	}
	if len(now[t]) > 0 {
		p.o.commit(now, nil)
	}
}

// newest reads the newest values, of a table by itself.
func (p *program) newest() {
	t := p.table()
	p.note("%s:", t.m.Name())
	want, key := p.o.newest(t), p.key()
	value, ok := want[key]
	got, there := t.m.Load(key)
	p.same("Load", []any{value, ok}, []any{got, there})
	if t.ordered && p.choose(2, "range") == 1 {
		p.rangeOf(nil, t, t.m, want)
	} else {
		p.lookupOf(nil, t, t.m, want)
	}
}

func (p *program) clear() {
	t := p.table()
	p.note("%s.Clear()", t.m.Name())
	t.m.Clear()
	writes := map[string]*int{}
	for key := range p.o.newest(t) {
		writes[key] = nil
	}
	if len(writes) > 0 {
		p.o.commit(map[*table]map[string]*int{t: writes}, nil)
	}
}

// step does one thing in a transaction.
func (p *program) step(h *handle) {
	switch p.choose(8, "step") {
	case 0:
		p.read(h)
	case 1:
		p.ranged(h, p.of(h))
	case 2:
		p.lookup(h, p.of(h))
	case 3:
		p.savepoint(h, 2)
	case 4:
		p.rewrite(h)
	default:
		p.write(h)
	}
}

// write writes one key, or several.
func (p *program) write(h *handle) {
	t, key := p.of(h), p.key()
	tx := p.tx(h, t)
	switch value := p.value(key); p.choose(6, "write") {
	case 0:
		p.note("%s: %s.Delete(%q)", h.name, t.m.Name(), key)
		tx.Delete(key)
		h.put(p.o, t, key, nil)
	case 1:
		p.note("%s: %s.Merge(%q, %d)", h.name, t.m.Name(), key, value)
		mix := func(old int, ok bool) int {
			if !ok {
				return value
			}
			return old ^ value&7
		}
		tx.Merge(key, mix)
		h.merge(p.o, t, key, mix)
	case 2:
		n := 1 + p.choose(len(p.keys), "how many")
		p.note("%s: %s.SetAll of %d keys", h.name, t.m.Name(), n)
		tx.SetAll(func(yield func(string, int) bool) {
			for _, key := range p.keys[:n] {
				value := (1+slices.Index(p.keys, key))<<3 | p.choose(8, "tags")
				if value>>3 >= numbers {
					value &= 7
				}
				more := yield(key, value)
				if h.put(p.o, t, key, &value); !more {
					return
				}
			}
		})
	default:
		p.note("%s: %s.Set(%q, %d)", h.name, t.m.Name(), key, value)
		tx.Set(key, value)
		h.put(p.o, t, key, &value)
	}
}

// read reads one key, or all.
func (p *program) read(h *handle) {
	t, key := p.of(h), p.key()
	r, want := p.reader(h, t), h.view(p.o, t)
	value, ok := want[key]
	what := p.choose(5, "read")
	p.note("%s: %s.read %d of %q", h.name, t.m.Name(), what, key)
	switch tx, isTx := r.(mvcc.Tx[string, int]); {
	case what == 0:
		n := len(want)
		if p.choose(2, "leave") == 1 {
			n = 1 + p.choose(len(p.keys), "how many")
		}
		if isTx {
			h.hasRead, h.part(t).scanned = true, true
		}
		got := map[string]int{}
		for key, value := range r.All() {
			if got[key] = value; len(got) == n {
				break
			}
		}
		p.check(len(got) == min(n, len(want)), "All", "%d keys", len(got))
		for key, value := range got {
			all, ok := want[key]
			p.check(ok && all == value, "All", "%q is %d, want %d (%v)", key, value, all, ok)
		}
	case what == 1 && isTx:
		h.get(t, key, true)
		got, there := tx.GetForUpdate(key)
		p.same("GetForUpdate", []any{value, ok}, []any{got, there})
	case what == 2:
		h.get(t, key, false)
		p.same("Has", ok, r.Has(key))
	default:
		h.get(t, key, false)
		got, there := r.Get(key)
		p.same("Get", []any{value, ok}, []any{got, there})
	}
}

// savepoint does some steps in a savepoint, which may fail.
func (p *program) savepoint(h *handle, depth int) {
	n, ending := p.choose(4, "steps"), p.choose(3, "ending")
	p.note("%s.Savepoint, %d steps, ending %d:", h.name, n, ending)
	type own struct {
		writes map[string]*int
		merges map[string][]merge
		schema int
		by     []*index
	}
	before, touched := map[*table]own{}, maps.Clone(h.touched)
	for t, p := range h.parts {
		before[t] = own{maps.Clone(p.writes), maps.Clone(p.merges), p.schema, p.by}
	}
	save := h.tx.Savepoint
	if h.alone != nil {
		save = p.tx(h, h.alone).Savepoint
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
	p.note("end of the savepoint")
	p.check((ending == 1) == (err != nil) && (ending == 2) == (panicked != nil), "Savepoint",
		"%v, %v", err, panicked)
	if ending == 0 {
		return
	}
	h.touched = touched
	for t, p := range h.parts {
		was := before[t]
		if was.writes == nil {
			was = own{map[string]*int{}, map[string][]merge{}, 0, nil}
		}
		p.writes, p.merges, p.schema, p.by = was.writes, was.merges, was.schema, was.by
	}
}

// step2 is a step within a savepoint.
func (p *program) step2(h *handle, depth int) {
	switch p.choose(7, "step") {
	case 0:
		p.savepoint(h, depth)
	case 1:
		p.read(h)
	case 2:
		p.lookup(h, p.of(h))
	case 3, 4:
		p.ranged(h, p.of(h))
	default:
		p.write(h)
	}
}

// chosen chooses a part of an order.
func chosen[T any](p *program, of func(what string) T) (s span[T]) {
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
func (p *program) rewrite(h *handle) {
	t := p.of(h)
	tx, begun := p.tx(h, t), h.view(p.o, t)
	if t.ordered && p.choose(2, "range") == 1 {
		p.note("%s: writes in a loop over %s", h.name, t.m.Name())
		h.hasRead = true
		h.part(t).ranges = append(h.part(t).ranges, span[string]{})
		got := []string{}
		for key, value := range tx.Ascend(mvcc.Range[string]{}) {
			got = append(got, key)
			p.check(value == begun[key], "value in a loop that writes",
				"%q is %d, want %d", key, value, begun[key])
			p.write(h)
		}
		p.same("a loop that writes", inOrder(begun, span[string]{}, false), got)
		return
	}
	i := slices.IndexFunc(t.indexes, func(ix *index) bool { return ix.made < h.begun })
	if i < 0 {
		return
	}
	ix, n := t.indexes[i], p.choose(numbers, "index key")
	p.note("%s: writes in a loop by %s of %s, %d", h.name, ix.name, t.m.Name(), n)
	one := span[int]{low: &n, high: &n}
	h.hasRead = true
	h.seen = append(h.seen, look{ix: ix, in: one, point: ix.unique})
	left := map[string]bool{}
	for _, e := range ix.entries(begun, one, false) {
		left[e.key] = true
	}
	for key, value := range ix.ix.Get(tx, n) {
		p.check(left[key], "a loop by an index that writes", "%q is too much", key)
		delete(left, key)
		now, ok := h.view(p.o, t)[key]
		p.check(ok && now == value, "value in a loop by an index that writes",
			"%q is %d, want %d (%v)", key, value, now, ok)
		h.get(t, key, false)
		p.write(h)
	}
	for key := range left { // only what has gone by then was passed over
		_, ok := h.view(p.o, t)[key]
		p.check(!ok, "a loop by an index that writes", "%q is missed", key)
	}
}
