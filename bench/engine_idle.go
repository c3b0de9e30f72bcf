package bench

import (
	"context"
	"math"
	"slices"
	"time"
)

// HarnessCost returns the nanoseconds that the harness itself takes of each
// operation of w in a single goroutine: the loop, the random choices and the
// record kept for verification. It is contained in every figure of every engine.
// It is measured now, as the smallest of ten readings of some milliseconds, with an engine that does
// nothing but remember what it was given; with many keys it is an underestimate, because
// memory is slower than caches. There is none for orders, where that engine would have to
// keep tables and indexes, and none for files with several tables, new keys or hashed ones.
func HarnessCost(w Workload) (ns float64, err error) {
	if w.kind == script || w.kind == replay || w.kind == plain && w.unharnessed() {
		return 0, errNoHarness
	}
	w.Params.Keys = min(w.Params.Keys, 10_000)
	t, err := New(Config{
		Workload: w, Engine: idleSpec(), Threads: 1, LatencySample: maxSample, AuditInterval: time.Hour,
	})
	if err != nil {
		return 0, err
	}
	defer t.Close()
	ops := uint64(50_000 / max(w.Params.TxnSize, 1))
	if _, err := t.RunOps(context.Background(), max(ops/5, 1)); err != nil {
		return 0, err
	}
	least := math.Inf(1) // what else the machine does only makes it longer
	for range harnessReadings {
		m, err := t.RunOps(context.Background(), max(ops, 1))
		if err != nil {
			return 0, err
		}
		least = min(least, m.NsPerOp())
	}
	return least, nil
}

const harnessReadings = 10

// idleSpec makes an engine whose single session answers as a map would, from an
// array that is indexed by the number in the key: what is left is the harness.
func idleSpec() EngineSpec {
	return EngineSpec{Name: "idle", New: newIdle[uint64], NewBytes: newIdle[[]byte]}
}

// idle is engine and session in one.
type idle[V any] struct {
	NoAborts
	keys    []string
	values  []V
	numbers []uint64 // values, if they are numbers
	total   uint64   // of the numbers at first
	absent  []bool
}

func newIdle[V any](setup Setup[V]) (Engine[V], error) {
	return idleOf(setup.Keys, setup.Values, make([]bool, len(setup.Values))), nil
}

func idleOf[V any](keys []string, values []V, absent []bool) *idle[V] {
	e := &idle[V]{keys: keys, values: values, absent: absent}
	e.numbers, _ = any(values).([]uint64)
	for _, v := range e.numbers {
		e.total += v
	}
	return e
}

// Session returns e itself for the goroutine and the runner, and for an auditor a
// copy: it runs beside the goroutine.
func (e *idle[V]) Session(worker int) Session[V] {
	if worker > 0 {
		return idleOf(e.keys, slices.Clone(e.values), slices.Clone(e.absent))
	}
	return e
}

func (e *idle[V]) Close() {}

// Range implements [Ranger].
func (e *idle[V]) Range(low string, n int, visit func(key string, value V)) error {
	for k := keyIndex(low); k < len(e.values) && n > 0; k++ {
		if !e.absent[k] {
			visit(e.keys[k], e.values[k])
			n--
		}
	}
	return nil
}

func (e *idle[V]) Begin() error { return nil }
func (e *idle[V]) Pin() (Pin[V], error) {
	return idlePin[V](slices.Clone(e.values)), nil
}
func (e *idle[V]) Sum() (uint64, int, error) { return e.total, len(e.values), nil }

func (e *idle[V]) Transfer(from, to string, amount uint64) error {
	e.numbers[keyIndex(from)] -= amount
	e.numbers[keyIndex(to)] += amount
	return nil
}

func (e *idle[V]) Get(key string) (V, bool, error) {
	k := keyIndex(key)
	return e.values[k], !e.absent[k], nil
}

func (e *idle[V]) Put(key string, value V) error {
	k := keyIndex(key)
	e.values[k], e.absent[k] = value, false
	return nil
}

func (e *idle[V]) Add(key string, delta uint64) (uint64, error) {
	k := keyIndex(key)
	e.numbers[k] += delta
	return e.numbers[k], nil
}

func (e *idle[V]) Batch(ops []Op[V], _ bool) error {
	for i := range ops {
		op := &ops[i]
		k := keyIndex(op.Key)
		op.Old, op.OK = e.values[k], !e.absent[k]
		switch op.Kind {
		case OpPut, OpModify:
			e.values[k], e.absent[k] = op.Value, false
		case OpDelete:
			e.absent[k] = true
		}
	}
	return nil
}

// idlePin is a copy of its values.
type idlePin[V any] []V

func (p idlePin[V]) Get(key string) (V, bool, error) { return p[keyIndex(key)], true, nil }
func (p idlePin[V]) Close()                          {}
