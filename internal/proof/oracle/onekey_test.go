package oracle

import (
	"errors"
	"maps"
	"slices"

	"github.com/mvccmap/mvccmap/mvcc"
)

// store is a one-key operation. If a unique index refuses it, it panics, and nothing has happened.
func (p *program[K, V]) store() {
	t, key, op := p.table(), p.key(), p.choose(12, "operation")
	value := p.value(key)
	p.noteStep("%s, key %v: operation %d, %v", t.m.Name(), key, op, value)
	old, had := p.o.newest(t)[key]
	writes, deletes := true, false // the new state of the key, if it is not refused
	var call func()
	switch op {
	case 0, 1:
		call = func() { t.m.Store(key, value) }
	case 2:
		call = func() { p.found("Swap", old, had)(t.m.Swap(key, value)) }
	case 3, 4:
		writes = !had
		want, calls := value, 1
		cancel := op == 4 && p.choose(3, "cancel") == 2
		if had {
			want = old
		} else if cancel {
			writes, want = false, p.zeroValue()
		}
		call = func() {
			if op == 3 {
				p.found("LoadOrStore", want, had)(t.m.LoadOrStore(key, value))
				return
			}
			calls = 0
			p.found("LoadOrCompute", want, had)(t.m.LoadOrCompute(key, func() (V, bool) {
				calls++
				return value, cancel
			}))
			p.check(calls == 1 || had && calls == 0, "LoadOrCompute", "%d calls", calls)
		}
	case 5:
		writes, deletes = false, had
		call = func() { p.found("LoadAndDelete", old, had)(t.m.LoadAndDelete(key)) }
	case 6, 7:
		from := old
		if p.choose(4, "other value") == 3 {
			from = p.value(key)
		}
		swaps := had && from == old
		writes, deletes = swaps && op == 6, swaps && op == 7
		call = func() {
			if op == 6 {
				p.requireSame("CompareAndSwap", swaps, mvcc.CompareAndSwap(t.m, key, from, value))
			} else {
				p.requireSame("CompareAndDelete", swaps, mvcc.CompareAndDelete(t.m, key, from))
			}
		}
	case 8, 9, 10:
		how := mvcc.ComputeOp(p.choose(3, "op"))
		writes, deletes = how == mvcc.UpdateOp, how == mvcc.DeleteOp && had
		want, there := old, had && !deletes
		if writes {
			want, there = value, true
		}
		call = func() {
			p.found("Compute", want, there)(t.m.Compute(key, func(was V, ok bool) (V, mvcc.ComputeOp) {
				p.found("what Compute gives", old, had)(was, ok)
				return value, how
			}))
		}
	case 11:
		mix := p.mixer(key)
		value = mix(old, had)
		call = func() { t.m.Merge(key, mix) }
	}
	now := map[*table[K, V]]map[K]*V{t: {}}
	if deletes {
		now[t][key] = nil
	} else if writes {
		now[t][key] = &value
	}
	refused := panicOf(call)
	if !p.o.allows(now) {
		err, _ := refused.(error)
		var u *mvcc.UniqueError
		all := written(p.o.newest(t), now[t])
		ok := errors.As(err, &u) && slices.ContainsFunc(t.indexes, func(ix *index[K, V]) bool {
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

func (p *program[K, V]) zeroValue() (none V) { return none }

// overwrite makes a chain, and its committers prune it.
func (p *program[K, V]) overwrite() {
	t, key, n := p.table(), p.key(), 2+p.choose(40, "how often")
	value, had := p.o.newest(t)[key]
	if !had || len(t.indexes) > 0 {
		return // a unique index might refuse it
	}
	p.noteStep("%d times Swap(%v) in %s", n, key, t.m.Name())
	for range n {
		old := value
		value = p.value(key)
		now := value
		p.found("Swap", old, true)(t.m.Swap(key, now))
		p.o.commit(map[*table[K, V]]map[K]*V{t: {key: &now}}, nil)
	}
}

// deleteFunc deletes every other key.
func (p *program[K, V]) deleteFunc() {
	t := p.table()
	p.noteStep("DeleteFunc of %s", t.m.Name())
	want, met := p.o.newest(t), map[K]V{}
	var gone []K
	n := t.m.DeleteFunc(func(key K, value V) bool {
		met[key] = value
		if slices.Index(p.keys, key)%2 == 1 {
			return false
		}
		gone = append(gone, key)
		return true
	})
	p.check(maps.Equal(want, met), "what DeleteFunc meets", "%v, want %v", met, want)
	p.check(n == len(gone), "DeleteFunc", "want %d, got %d", len(gone), n)
	// One after the other: each is a commit of its own, at the epoch after that before.
	for i, key := range gone {
		p.o.commit(map[*table[K, V]]map[K]*V{t: {key: nil}}, nil)
		p.o.epochs[p.o.lastState()] -= uint64(len(gone) - 1 - i)
	}
}

// rangeFunc calls Range, which its function leaves.
func (p *program[K, V]) rangeFunc() {
	t, n := p.table(), p.choose(len(p.keys)+1, "how many")
	p.noteStep("Range over %s, left at %d", t.m.Name(), n)
	want, got := p.o.newest(t), map[K]V{}
	t.m.Range(func(key K, value V) bool {
		p.found("Range", want[key], true)(value, true)
		got[key] = value
		return len(got) != n
	})
	if n == 0 {
		n = len(want)
	}
	p.check(len(got) == min(n, len(want)), "Range", "%d keys of %d, up to %d", len(got), len(want), n)
}
