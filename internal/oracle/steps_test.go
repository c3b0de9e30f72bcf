package oracle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/mvccmap/mvccmap/mvcc"
)

func (p *program) context() context.Context { return context.Background() }

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

func (p *program) ranged(h *handle, t *table) {
	if !t.ordered {
		t = p.now["ordered"]
		if h.alone != nil {
			return
		}
	}
	p.note("%s: %s:", h.name, t.m.Name())
	p.rangeOf(h, t, p.reader(h, t), h.view(p.o, t))
}

// rangeOf reads a part of an ordered table.
func (p *program) rangeOf(h *handle, t *table, r reader, want map[string]int) {
	in, down, prefix := span[string]{}, p.choose(2, "down") == 1, ""
	var engine mvcc.Range[string]
	note := func(in span[string]) {
		if h != nil && h.isTx {
			h.hasRead = true
			h.part(t).ranges = append(h.part(t).ranges, in)
		}
	}
	switch p.choose(6, "range") {
	case 0: // Min or Max
		keys := inOrder(want, in, down)
		key, value, ok := r.Min()
		if down {
			key, value, ok = r.Max()
			if h != nil && h.isTx && len(keys) > 0 {
				note(in.to(keys[len(keys)-1], false)) // Min was called as well
			}
		}
		p.note("Min or Max, down %v", down)
		if len(keys) == 0 {
			p.check(!ok, "Min or Max", "%q, want none", key)
			note(in)
			return
		}
		p.same("Min or Max", []any{keys[0], want[keys[0]], true}, []any{key, value, ok})
		note(in.to(keys[0], down))
		return
	case 1:
		prefix = p.key()
		engine = mvcc.Prefix(prefix)
		in.low = &prefix
		end := prefix
		for strings.HasSuffix(end, "\xff") {
			end = end[:len(end)-1]
		}
		if end != "" {
			end = end[:len(end)-1] + string([]byte{end[len(end)-1] + 1})
			in.high, in.highOut = &end, true
		}
	default:
		in = chosen(p, func(string) string { return p.key() })
		engine = in.engine()
	}
	keys := inOrder(want, in, down)
	if prefix != "" {
		for key := range want {
			p.check(strings.HasPrefix(key, prefix) == slices.Contains(keys, key), "the model",
				"prefix %q, %q", prefix, key)
		}
	}
	left := len(keys) + 1
	if p.choose(2, "leave") == 1 {
		left = 1 + p.choose(len(p.keys), "how many")
	}
	p.note("range %q, down %v, left at %d", engine, down, left)
	seq := r.Ascend(engine)
	if down {
		seq = r.Descend(engine)
	}
	got := []string{}
	for key, value := range seq {
		got = append(got, key)
		p.check(value == want[key], "value in a range", "%q is %d, want %d", key, value, want[key])
		if h != nil && len(got) == 1 && p.choose(4, "nested") == 3 {
			p.rangeOf(h, t, r, want)
		}
		if len(got) == left {
			break
		}
	}
	p.same("range", keys[:min(left, len(keys))], got)
	if len(got) == left {
		in = in.to(got[left-1], down)
	}
	note(in)
}

func (p *program) lookup(h *handle, t *table) {
	p.note("%s: %s:", h.name, t.m.Name())
	p.lookupOf(h, t, p.reader(h, t), h.view(p.o, t))
}

// lookupOf reads by an index of a table, if it has one. One that was made after the handle began
// cannot be read.
func (p *program) lookupOf(h *handle, t *table, r reader, want map[string]int) {
	if len(t.indexes) == 0 {
		return
	}
	ix := t.indexes[p.choose(len(t.indexes), "index")]
	i, down := p.choose(numbers, "index key"), p.choose(2, "down") == 1
	seq, in, point := ix.ix.Get(r, i), span[int]{low: &i, high: &i}, ix.unique
	if ix.ordered && p.choose(3, "range") > 0 {
		in, point = chosen(p, func(what string) int { return p.choose(numbers, what) }), false
		if seq = ix.ix.Ascend(r, in.engine()); down {
			seq = ix.ix.Descend(r, in.engine())
		}
	} else {
		down = false
	}
	p.note("by %s: %v, down %v", ix.name, in.engine(), down)
	if h != nil && ix.made > h.begun {
		got := panicOf(func() {
			for range seq {
				break
			}
		})
		p.check(strings.Contains(fmt.Sprint(got), "was not complete"), "an index that is too new", "%v",
			got)
		return
	}
	list := ix.entries(want, in, down)
	left := -1
	if len(list) > 0 && p.choose(2, "leave") == 1 {
		left = 1 + p.choose(len(list), "how many")
	}
	if h != nil && h.isTx {
		seen := look{ix: ix, in: in, point: point}
		if left > 0 {
			edge := list[left-1].index
			seen.in = in.to(edge, down)
			if !ix.unique {
				seen.edge = &edge
			}
		}
		h.hasRead = true
		h.seen = append(h.seen, seen)
	}
	p.loop(h, ix, want, seq, list, left)
}

// loop compares a loop by an index, which is left after so many records, with the entries that it
// must find. In a transaction each of the records is read.
func (p *program) loop(h *handle, ix *index, want map[string]int,
	seq iter.Seq2[string, int], list []entry, left int) {
	got := make([]entry, 0, len(list))
	for key, value := range seq {
		p.check(len(got) < len(list), "by an index", "%s: %q is too much after %v", ix.name, key, got)
		p.check(value == want[key], "value by an index",
			"%s: %q is %d, want %d", ix.name, key, value, want[key])
		if h != nil {
			h.get(ix.of, key, false)
		}
		if got = append(got, entry{list[len(got)].index, key}); len(got) == left {
			break
		}
	}
	wanted := list
	if left > 0 {
		wanted = list[:left]
	}
	// Records of the same index key come in the order of their keys only if the table has one;
	// those of a transaction that a unique index is going to refuse do not.
	if !ix.of.ordered || ix.unique && len(ix.twice(want)) > 0 {
		if wanted, got = grouped(list, got); left < 0 {
			slices.SortFunc(wanted, entryOrder)
		}
	}
	if !slices.Equal(wanted, got) {
		p.same("by an index", fmt.Sprint(ix.name, wanted), fmt.Sprint(ix.name, got))
	}
}

func entryOrder(a, b entry) int {
	return cmp.Or(cmp.Compare(a.index, b.index), cmp.Compare(a.key, b.key))
}

// grouped returns what is wanted and what was got in the same order: got was given the index keys
// of what is wanted, so that only the keys within one may be others.
func grouped(list, got []entry) (want, sorted []entry) {
	sorted = slices.Clone(got)
	slices.SortFunc(sorted, entryOrder)
	if len(slices.Compact(slices.Clone(sorted))) < len(sorted) {
		return list, sorted // one is there twice
	}
	for _, e := range list {
		if slices.Contains(got, e) {
			want = append(want, e)
		}
	}
	if len(got) == len(list) {
		want = slices.Clone(list)
	}
	slices.SortFunc(want, entryOrder)
	return want, sorted
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
