package mvcc

import (
	"errors"
	"maps"
)

// actions returns what a program can do.
func (p *program[K, V]) actions() []action {
	always := func() bool { return true }
	room := func() bool { return len(p.open) < maxOpen }
	has := func(tx, snapshot bool) func() bool {
		return func() bool { return len(p.handles(tx, snapshot)) > 0 }
	}
	anyOpen, anyTx, anySnapshot := has(true, true), has(true, false), has(false, true)
	return []action{
		{"Store", always, p.store},
		{"Swap", always, p.swap},
		{"LoadOrStore", always, p.loadOrStore},
		{"LoadAndDelete", always, p.loadAndDelete},
		{"CompareAndSwap", always, p.compareAndSwap},
		{"Load", always, p.load},
		{"Range", always, p.ranges},
		{"overwrite", always, p.overwrite},
		{"Begin", room, p.begin},
		{"Snapshot", room, p.snapshot},
		{"Get", anyOpen, p.get},
		{"All", anyOpen, func() { p.scan(p.pick(true, true), false) }},
		{"All, and commits beside it", anyOpen, func() { p.scan(p.pick(true, true), true) }},
		{"All, left early", anyOpen, p.leave},
		{"All, and writes in the loop", anyTx, p.rewrite},
		{"Len", anySnapshot, p.length},
		{"Set", anyTx, p.set},
		{"Delete", anyTx, p.delete},
		{"Set many", anyTx, p.setMany},
		{"Err", anyTx, p.err},
		{"Commit", anyTx, p.commit},
		{"Rollback", anyTx, p.rollback},
		{"Close of a snapshot", anySnapshot, p.closeSnapshot},
		{"ended handle", func() bool { return len(p.done) > 0 }, p.late},
		{"Update", always, p.update},
		{"View", always, p.view},
		{"prune", always, p.prune},
		{"Close", func() bool { return !p.closed }, p.closeMap},
		{"Compute", always, p.compute},
		{"LoadOrCompute", always, p.loadOrCompute},
		{"CompareAndDelete", always, p.compareAndDelete},
		{"DeleteFunc", always, p.deleteFunc},
		{"Clear", func() bool { return p.choose(8, "clear") == 7 }, p.clear},
		{"GetForUpdate", anyTx, p.getForUpdate},
		{"Merge", anyTx, p.merge},
		{"Savepoint", anyTx, p.savepoint},
	}
}

// handles returns the indexes of the open transactions or snapshots or both.
func (p *program[K, V]) handles(tx, snapshot bool) (is []int) {
	for i, x := range p.open {
		if x.isTx && tx || !x.isTx && snapshot {
			is = append(is, i)
		}
	}
	return is
}

// pickIndex chooses one of them.
func (p *program[K, V]) pickIndex(tx, snapshot bool) int {
	is := p.handles(tx, snapshot)
	return is[p.choose(len(is), "handle")]
}

func (p *program[K, V]) pick(tx, snapshot bool) *openTx[K, V] {
	return p.open[p.pickIndex(tx, snapshot)]
}

func (p *program[K, V]) store() {
	key, value := p.anyKey(), p.next()
	p.note("Store(%v, %v)", key, value)
	p.m.Store(key, value)
	p.one(key, &value)
}

func (p *program[K, V]) swap() {
	key, value := p.anyKey(), p.next()
	p.note("Swap(%v, %v)", key, value)
	old, there := p.o.newest()[key]
	p.same("Swap", old, there)(p.m.Swap(key, value))
	p.one(key, &value)
}

func (p *program[K, V]) loadOrStore() {
	key, value := p.anyKey(), p.next()
	p.note("LoadOrStore(%v, %v)", key, value)
	old, there := p.o.newest()[key]
	if there {
		p.same("LoadOrStore", old, true)(p.m.LoadOrStore(key, value))
		return
	}
	p.same("LoadOrStore", value, false)(p.m.LoadOrStore(key, value))
	p.one(key, &value)
}

func (p *program[K, V]) loadAndDelete() {
	key := p.anyKey()
	p.note("LoadAndDelete(%v)", key)
	old, there := p.o.newest()[key]
	p.same("LoadAndDelete", old, there)(p.m.LoadAndDelete(key))
	if there {
		p.one(key, nil)
	}
}

func (p *program[K, V]) compareAndSwap() {
	key, value := p.anyKey(), p.next()
	old, there := p.o.newest()[key]
	if p.choose(4, "other value") == 3 {
		old, there = p.next(), false
	}
	p.note("CompareAndSwap(%v, %v, %v)", key, old, value)
	swapped := CompareAndSwap(p.m, key, old, value)
	p.check(swapped == there, "CompareAndSwap", "want %v, got %v", there, swapped)
	if swapped {
		p.one(key, &value)
	}
}

func (p *program[K, V]) compute() {
	key, op, value := p.anyKey(), ComputeOp(p.choose(3, "op")), p.next()
	p.note("Compute(%v) by %v to %v", key, op, value)
	old, there := p.o.newest()[key]
	calls := 0
	actual, ok := p.m.Compute(key, func(was V, loaded bool) (V, ComputeOp) {
		calls++
		p.same("what Compute gives", old, there)(was, loaded)
		return value, op
	})
	p.check(calls == 1, "Compute", "%d calls", calls)
	switch op {
	case UpdateOp:
		p.same("Compute", value, true)(actual, ok)
		p.one(key, &value)
	case DeleteOp:
		p.check(!ok && actual == old, "Compute", "deleted %v, got %v (%v)", old, actual, ok)
		if there {
			p.one(key, nil)
		}
	case CancelOp:
		p.same("Compute", old, there)(actual, ok)
	}
}

func (p *program[K, V]) loadOrCompute() {
	key, cancel, value := p.anyKey(), p.choose(3, "cancel") == 2, p.next()
	p.note("LoadOrCompute(%v), %v, cancel %v", key, value, cancel)
	old, there := p.o.newest()[key]
	calls := 0
	actual, loaded := p.m.LoadOrCompute(key, func() (V, bool) { calls++; return value, cancel })
	var none V
	switch {
	case there:
		p.same("LoadOrCompute", old, true)(actual, loaded)
	case cancel:
		p.same("LoadOrCompute", none, false)(actual, loaded)
	default:
		p.same("LoadOrCompute", value, false)(actual, loaded)
		p.one(key, &value)
	}
	p.check(calls == 1 || there && calls == 0, "LoadOrCompute", "%d calls, there %v", calls, there)
}

func (p *program[K, V]) compareAndDelete() {
	key := p.anyKey()
	old, there := p.o.newest()[key]
	if p.choose(4, "other value") == 3 {
		old, there = p.next(), false
	}
	p.note("CompareAndDelete(%v, %v)", key, old)
	deleted := CompareAndDelete(p.m, key, old)
	p.check(deleted == there, "CompareAndDelete", "want %v, got %v", there, deleted)
	if deleted {
		p.one(key, nil)
	}
}

// deleteFunc deletes every other key.
func (p *program[K, V]) deleteFunc() {
	p.note("DeleteFunc")
	want, met := maps.Clone(p.o.newest()), map[K]V{}
	doomed := map[K]bool{}
	for i := 0; i < p.keys; i += 2 {
		doomed[p.key(i)] = true
	}
	var gone []K
	n := p.m.DeleteFunc(func(key K, value V) bool {
		met[key] = value
		if doomed[key] {
			gone = append(gone, key)
		}
		return doomed[key]
	})
	p.sameAll("what DeleteFunc meets", want, met)
	p.check(n == len(gone), "DeleteFunc", "want %d, got %d", len(gone), n)
	// One after the other: each is a commit of its own, whose epoch is known.
	first := uint64(coreOf(p.m).slots.Now()) - uint64(len(gone))
	for i, key := range gone {
		p.o.commit(first+uint64(i)+1, map[K]*V{key: nil})
	}
}

func (p *program[K, V]) clear() {
	p.note("Clear()")
	writes := map[K]*V{}
	for key := range p.o.newest() {
		writes[key] = nil
	}
	p.m.Clear()
	p.ended++
	if len(writes) > 0 {
		p.committed(writes)
	}
}

func (p *program[K, V]) load() {
	key := p.anyKey()
	p.note("Load(%v)", key)
	old, there := p.o.newest()[key]
	p.same("Load", old, there)(p.m.Load(key))
	p.check(p.m.Len() == len(p.o.newest()), "Map.Len", "want %d, got %d", len(p.o.newest()), p.m.Len())
	p.check(p.m.Has(key) == there, "Has", "want %v", there)
}

func (p *program[K, V]) ranges() {
	n := p.choose(p.keys+1, "how many")
	p.note("Range, left at %d", n)
	want, got := p.o.newest(), map[K]V{}
	p.m.Range(func(key K, value V) bool {
		got[key] = value
		p.same("Range", want[key], true)(value, true)
		return len(got) != n
	})
	if n == 0 {
		n = len(want)
	}
	p.ended++
	p.check(len(got) == min(n, len(want)), "Range", "%d keys of %d, up to %d", len(got), len(want), n)
}

// overwrite makes a chain, and its committers prune it.
func (p *program[K, V]) overwrite() {
	key, n := p.anyKey(), 2+p.choose(40, "how often")
	p.note("%d times Store(%v)", n, key)
	for range n {
		value := p.next()
		p.m.Store(key, value)
		p.one(key, &value)
	}
}

// How the function of an Update behaves.
const (
	plainly  = iota
	besides  // another writes what it has read, once
	overmuch // the same, and there is no second attempt
	failing
	panicking
	endings
)

var errOwn = errors.New("the program's own")

// update reads one key and writes another in an Update.
func (p *program[K, V]) update() {
	key, other, ending := p.anyKey(), p.anyKey(), p.choose(endings, "ending")
	opts := &TxOptions{Isolation: Level(p.choose(3, "level"))}
	if ending == overmuch {
		opts.MaxAttempts = 1
	}
	p.note("Update(%v), reads %v, writes %v, ending %d:", opts.Isolation, key, other, ending)
	var x *openTx[K, V]
	calls, must := 0, true
	run := func() error {
		return p.m.Update(bg, opts, func(tx Tx[K, V]) error {
			calls++
			x = p.opened(tx, opts.level(p.level))
			p.pins = append(p.pins, x.epoch)
			defer func() { p.pins = p.pins[:len(p.pins)-1] }()
			p.read(x, key)
			if calls == 1 && (ending == besides || ending == overmuch) {
				value := p.next()
				p.m.Store(key, value)
				p.one(key, &value)
			}
			value := p.next()
			tx.Set(other, value)
			x.writes[other] = &value
			if must, _ = x.verdict(p.o); !must {
				p.conflicts++
			}
			switch ending {
			case failing:
				return errOwn
			case panicking:
				panic(errOwn)
			}
			return nil
		})
	}
	var err error
	panicked := panicOf(func() { err = run() })
	p.ended += uint64(calls)
	p.retries += uint64(calls - 1)
	switch {
	case ending == panicking:
		p.check(panicked == any(errOwn) && calls == 1, "Update that panics", "%v", panicked)
	case panicked != nil:
		panic(panicked)
	case ending == failing:
		p.check(err == errOwn && calls == 1, "Update that fails", "%v, %d calls", err, calls)
	case !must:
		p.check(ending == overmuch && calls == 1, "Update", "%v, %d calls", err, calls)
		p.checkConflict("Update", x, err)
	default:
		p.check(err == nil, "Update", "%v", err)
		p.committed(x.writes)
	}
}

// view scans in a View, whose error is passed on.
func (p *program[K, V]) view() {
	p.note("View")
	calls, now := 0, p.o.now()
	err := p.m.View(func(s Snapshot[K, V]) error {
		calls++
		p.pins = append(p.pins, s.Epoch())
		defer func() { p.pins = p.pins[:len(p.pins)-1] }()
		p.store()
		p.sameAll("View", p.o.states[now], maps.Collect(s.All()))
		return errOwn
	})
	p.ended++
	p.check(err == errOwn && calls == 1, "View", "%v, %d calls", err, calls)
}

func (p *program[K, V]) prune() {
	p.note("prune")
	if p.quiet { // what was old, and has ended since, is noticed by Reclaim
		p.check(p.m.Reclaim(bg) == nil, "Reclaim", "it fails")
	}
	prune(p.m)
	for i := range p.keys {
		p.checkChain(p.key(i), p.quiet)
	}
}

// closeMap ends the background work; the map goes on.
func (p *program[K, V]) closeMap() {
	p.note("Close()")
	p.m.Close()
	p.closed, p.quiet = true, true
}
