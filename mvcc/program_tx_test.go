package mvcc

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// What a program does with its open transactions and snapshots, and with those
// that have ended.

func (p *program[K, V]) begin() {
	opts := []*TxOptions{serializable, snapshot, nil}[p.choose(3, "level")]
	x := p.opened(p.m.Begin(opts), opts.level(p.level))
	p.open = append(p.open, x)
	p.note("%s = Begin(%v) at %d", x.name, x.level, x.epoch)
}

// opened returns a transaction that has just begun beside what is known of it.
func (p *program[K, V]) opened(tx Tx[K, V], level Level) *openTx[K, V] {
	p.begun++
	return &openTx[K, V]{name: fmt.Sprint("tx", p.begun), tx: tx, isTx: true, level: level,
		at: p.o.now(), epoch: tx.Epoch(),
		read: map[K]bool{}, early: map[K]bool{}, locked: map[K]bool{},
		writes: map[K]*V{}, merges: map[K][]func(V, bool) V{}}
}

func (p *program[K, V]) snapshot() {
	s := p.m.Snapshot()
	p.begun++
	x := &openTx[K, V]{name: fmt.Sprint("s", p.begun), s: s, at: p.o.now(), epoch: s.Epoch()}
	p.open = append(p.open, x)
	p.note("%s = Snapshot() at %d", x.name, x.epoch)
}

func (p *program[K, V]) get() {
	x, key := p.pick(true, true), p.anyKey()
	p.note("%s.Get(%v)", x.name, key)
	p.read(x, key)
}

// read reads one key in x.
func (p *program[K, V]) read(x *openTx[K, V], key K) {
	want, present := x.get(p.o, key)
	p.same("Get", want, present)(x.reader().Get(key))
}

// scan scans in x. If beside says so there are commits meanwhile, of which the
// scan sees nothing.
func (p *program[K, V]) scan(x *openTx[K, V], beside bool) {
	p.note("%s.All()", x.name)
	want, got := x.all(p.o), map[K]V{}
	x.scanned = true
	for key, value := range x.reader().All() {
		_, twice := got[key]
		p.check(!twice, "All", "it met %v twice", key)
		if got[key] = value; beside {
			beside = false
			p.note("in the loop:")
			p.overwrite()
			p.loadAndDelete()
			p.prune()
			p.store()
			p.note("end of the loop")
		}
	}
	p.sameAll("All", want, got)
}

// leave leaves a scan before its end.
func (p *program[K, V]) leave() {
	x, n := p.pick(true, true), 1+p.choose(p.keys, "how many")
	p.note("%s.All(), left at %d", x.name, n)
	want, got := x.all(p.o), map[K]V{}
	x.scanned = true
	for key, value := range x.reader().All() {
		old, there := want[key]
		p.same("All, left early", old, there)(value, true)
		if got[key] = value; len(got) == n {
			break
		}
	}
	p.check(len(got) == min(n, len(want)), "All, left early", "%d keys of %d, up to %d",
		len(got), len(want), n)
}

// rewrite writes to the keys that a scan meets, one in three deletes, and to one
// more before all others. None of this shows in the loop.
func (p *program[K, V]) rewrite() {
	x, added := p.pick(true, false), p.anyKey()
	p.note("%s.All(), rewriting what it meets, and first %v", x.name, added)
	want, got := x.all(p.o), map[K]V{}
	x.scanned = true
	values := map[K]*V{}
	for i := range p.keys { // not in the order of the scan, which is any
		if value := p.next(); i%3 != 2 {
			values[p.key(i)] = &value
		}
	}
	write := func(key K) {
		if x.set(key, values[key]); values[key] == nil {
			x.tx.Delete(key)
		} else {
			x.tx.Set(key, *values[key])
		}
	}
	for key, value := range x.tx.All() {
		if len(got) == 0 {
			write(added)
		}
		got[key] = value
		write(key)
	}
	p.sameAll("All with writes in the loop", want, got)
}

func (p *program[K, V]) length() {
	x := p.pick(false, true)
	p.note("%s.Len()", x.name)
	n := x.s.Len()
	p.check(n == len(p.o.states[x.at]), "Len", "want %d, got %d", len(p.o.states[x.at]), n)
}

func (p *program[K, V]) set() {
	x, key, value := p.pick(true, false), p.anyKey(), p.next()
	p.note("%s.Set(%v, %v)", x.name, key, value)
	x.tx.Set(key, value)
	x.set(key, &value)
}

func (p *program[K, V]) delete() {
	x, key := p.pick(true, false), p.anyKey()
	p.note("%s.Delete(%v)", x.name, key)
	x.tx.Delete(key)
	x.set(key, nil)
}

// mixer returns a function that makes a value of one, and of a number that it makes up.
func (p *program[K, V]) mixer() func(old V, ok bool) V {
	p.values++
	n := p.values
	return func(old V, ok bool) V {
		mixed := n << 16
		if ok {
			mixed += p.numbers[old]&0xffff*31 + 1
		}
		value := p.value(mixed)
		if known, ok := p.mixed[mixed]; ok { // values may be pointers
			return known
		}
		p.mixed[mixed] = value
		p.numbers[value] = mixed
		return value
	}
}

func (p *program[K, V]) merge() {
	x, key, mix := p.pick(true, false), p.anyKey(), p.mixer()
	p.note("%s.Merge(%v, %d)", x.name, key, p.values)
	x.tx.Merge(key, mix)
	x.merge(key, mix)
}

func (p *program[K, V]) getForUpdate() {
	x, key := p.pick(true, false), p.anyKey()
	p.note("%s.GetForUpdate(%v)", x.name, key)
	if _, own := x.writes[key]; !own {
		x.locked[key] = true
	}
	want, present := x.get(p.o, key)
	p.same("GetForUpdate", want, present)(x.tx.GetForUpdate(key))
}

// savepoint writes some keys in a savepoint, and in one within it, and lets either fail.
func (p *program[K, V]) savepoint() {
	x := p.pick(true, false)
	p.savepointOf(x, 2)
}

func (p *program[K, V]) savepointOf(x *openTx[K, V], depth int) {
	n, ending := p.choose(4, "how many"), p.choose(3, "ending")
	p.note("%s.Savepoint, depth %d, %d writes, ending %d:", x.name, depth, n, ending)
	writes, merges := maps.Clone(x.writes), maps.Clone(x.merges)
	run := func() error {
		return x.tx.Savepoint(func() error {
			for range n {
				key := p.anyKey()
				switch p.choose(4, "write") {
				case 0:
					x.tx.Delete(key)
					x.set(key, nil)
				case 1:
					mix := p.mixer()
					x.tx.Merge(key, mix)
					x.merge(key, mix)
				default:
					value := p.next()
					x.tx.Set(key, value)
					x.set(key, &value)
				}
				if depth > 1 && p.choose(2, "nested") == 1 {
					p.savepointOf(x, depth-1)
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
	}
	var err error
	panicked := panicOf(func() { err = run() })
	p.note("end of depth %d", depth)
	switch ending {
	case 0:
		p.check(panicked == nil && err == nil, "Savepoint", "%v, %v", panicked, err)
		return
	case 1:
		p.check(panicked == nil && err == errOwn, "Savepoint that fails", "%v, %v", panicked, err)
	case 2:
		p.check(panicked == any(errOwn), "Savepoint that panics", "%v", panicked)
	}
	x.writes, x.merges = writes, merges
}

func (p *program[K, V]) setMany() {
	x, n := p.pick(true, false), 1+p.choose(p.keys, "how many")
	p.note("%s.Set of the first %d keys", x.name, n)
	x.tx.SetAll(func(yield func(K, V) bool) {
		for i := range n {
			value := p.next()
			x.set(p.key(i), &value)
			if !yield(p.key(i), value) {
				return
			}
		}
	})
}

func (p *program[K, V]) err() {
	x := p.pick(true, false)
	p.note("%s.Err()", x.name)
	p.doomed(x)
}

// doomed asks Err, and reports whether it says that x cannot commit.
func (p *program[K, V]) doomed(x *openTx[K, V]) bool {
	_, may := x.verdict(p.o)
	err := x.tx.Err()
	p.check(err != nil || !x.doomed(p.o), "Err", "nil, though a value that was read is overwritten")
	p.check(err == nil || !may, "Err", "%v, though a commit may succeed", err)
	if err != nil {
		p.checkConflict("Err", x, err)
	}
	return err != nil
}

// checkConflict checks that err is a conflict of x that there is.
func (p *program[K, V]) checkConflict(what string, x *openTx[K, V], err error) {
	var c *ConflictError
	p.check(errors.Is(err, ErrConflict) && errors.As(err, &c), what, "%v", err)
	p.check(x.explains(p.o, c), what, "%#v of %s (%v, at %d) is not what happened", c, x.name,
		x.level, x.epoch)
}

func (p *program[K, V]) commit() {
	i := p.pickIndex(true, false)
	x := p.open[i]
	p.note("%s.Commit()", x.name)
	must, may := x.verdict(p.o)
	doomed := p.doomed(x)
	var told []uint64
	for range 2 {
		x.tx.OnCommit(func(epoch uint64) { told = append(told, epoch) })
	}
	err := x.tx.Commit()
	p.close(i)
	p.check(err != nil || may && !doomed, "Commit", "it succeeded")
	p.check(err == nil || !must, "Commit", "%v", err)
	if err != nil {
		p.checkConflict("Commit", x, err)
		p.conflicts++
		for key := range x.writes {
			p.checkChain(key, false)
		}
		p.check(told == nil, "OnCommit", "told of %v", told)
		return
	}
	epoch := x.epoch
	if x.writesAny() {
		p.committed(x.final(p.o))
		epoch = uint64(coreOf(p.m).slots.Now())
	}
	p.check(slices.Equal(told, []uint64{epoch, epoch}), "OnCommit", "told of %v, want %d twice", told,
		epoch)
}

func (p *program[K, V]) rollback() {
	i := p.pickIndex(true, false)
	p.note("%s.Rollback()", p.open[i].name)
	p.open[i].tx.Rollback()
	p.close(i)
}

func (p *program[K, V]) closeSnapshot() {
	i := p.pickIndex(false, true)
	p.note("%s.Close()", p.open[i].name)
	p.open[i].s.Close()
	p.close(i)
}

// late uses a handle that has ended.
func (p *program[K, V]) late() {
	x, key := p.done[p.choose(len(p.done), "ended handle")], p.anyKey()
	p.note("late calls of %s", x.name)
	calls := []func(){
		func() { x.reader().Get(key) },
		func() { x.reader().Epoch() },
		func() {
			for range x.reader().All() {
				p.check(false, "late All", "it meets a key")
			}
		},
	}
	if x.isTx {
		x.tx.Rollback()
		p.check(x.tx.Err() == ErrTxDone, "late Err", "%v", x.tx.Err())
		err := x.tx.Commit()
		p.check(err == ErrTxDone, "late Commit", "%v", err)
		value := p.next()
		calls = append(calls, func() { x.tx.Set(key, value) }, func() { x.tx.Delete(key) })
	} else {
		x.s.Close()
	}
	for _, call := range calls {
		got := panicOf(call)
		p.check(got == any(ErrTxDone), "panic of a late call", "%v", got)
	}
}
