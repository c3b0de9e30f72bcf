package bench

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// rwMutex is what most tests build on.
type rwMutex[V any] = locked[V, sync.RWMutex]

// tampered is a session of a map under a RWMutex whose methods a test may replace.
type tampered[V any] struct {
	*rwMutex[V]
	get      func(key string) (V, bool, error)
	put      func(key string, value V) error
	add      func(key string, delta uint64) (uint64, error)
	transfer func(from, to string, amount uint64) error
	sum      func() (total uint64, keys int, err error)
	batch    func(ops []Op[V], readOnly bool) error
	sorted   []string // the keys
	ranges   func(low string, n int, visit func(string, V)) error
	begin    func() error
	pin      func() (Pin[V], error)
	aborts   func() uint64
	mine     any // what else a test keeps here
}

func (s *tampered[V]) Get(key string) (V, bool, error) { return s.get(key) }
func (s *tampered[V]) Put(key string, value V) error   { return s.put(key, value) }
func (s *tampered[V]) Begin() error                    { return s.begin() }
func (s *tampered[V]) Pin() (Pin[V], error)            { return s.pin() }
func (s *tampered[V]) Sum() (uint64, int, error)       { return s.sum() }
func (s *tampered[V]) Aborts() uint64                  { return s.aborts() }

func (s *tampered[V]) Add(key string, delta uint64) (uint64, error) { return s.add(key, delta) }

func (s *tampered[V]) Transfer(from, to string, amount uint64) error {
	return s.transfer(from, to, amount)
}

func (s *tampered[V]) Batch(ops []Op[V], readOnly bool) error {
	return s.batch(ops, readOnly)
}

func (s *tampered[V]) Range(low string, n int, visit func(string, V)) error {
	return s.ranges(low, n, visit)
}

// ranged is Range as it should be: no key is new.
func (s *tampered[V]) ranged(low string, n int, visit func(string, V)) error {
	s.rlock()
	defer s.runlock()
	i, _ := slices.BinarySearch(s.sorted, low)
	for ; i < len(s.sorted) && n > 0; i++ {
		if v, ok := s.m[s.sorted[i]]; ok {
			visit(s.sorted[i], v)
			n--
		}
	}
	return nil
}

// tamperer is an engine whose sessions are tampered with.
type tamperer[V any] struct {
	*rwMutex[V]
	sorted []string // the keys
	with   func(s *tampered[V], worker int)
}

func (e tamperer[V]) Session(worker int) Session[V] {
	m := e.rwMutex
	s := &tampered[V]{
		rwMutex: m, sorted: e.sorted,
		get: m.Get, put: m.Put, add: m.Add, transfer: m.Transfer, sum: m.Sum, batch: m.Batch,
		begin: m.Begin, pin: m.Pin, aborts: m.Aborts,
	}
	s.ranges = s.ranged
	e.with(s, worker)
	return s
}

// tamper makes engines whose sessions with tampers with; that of the runner is called -1.
func tamper[V any](
	with func(s *tampered[V], worker int),
) func(Setup[V]) (Engine[V], error) {
	return func(setup Setup[V]) (Engine[V], error) {
		e, err := newLocked[V, sync.RWMutex](setup)
		return tamperer[V]{e.(*rwMutex[V]), slices.Sorted(slices.Values(setup.Keys)), with}, err
	}
}

// faulty is an engine with numbers whose sessions, but for the runner's, are tampered with.
func faulty(with func(s *tampered[uint64])) EngineSpec {
	return EngineSpec{Name: "faulty", New: tamper(func(s *tampered[uint64], worker int) {
		if worker >= 0 {
			with(s)
		}
	})}
}

// newTrial returns a trial that is closed at the end of the test.
func newTrial(t *testing.T, c Config) *Trial {
	t.Helper()
	tr, err := New(c)
	require.NoError(t, err, c.Name())
	t.Cleanup(tr.Close)
	return tr
}

// runOps runs n operations, which succeed.
func runOps(t *testing.T, tr *Trial, n uint64) Measurement {
	t.Helper()
	m, err := tr.RunOps(t.Context(), n)
	require.NoError(t, err, tr.config.Name())
	return m
}

func named(t *testing.T, workload, engine string) (Workload, EngineSpec) {
	t.Helper()
	w, ok := WorkloadByName(workload)
	require.True(t, ok, workload)
	e, ok := EngineByName(engine)
	require.True(t, ok, engine)
	return w, e
}

// small returns w with so few keys, and so small transactions, that a test of it
// is quick.
func small(w Workload) Workload {
	switch {
	case w.kind == freeBatch:
		w.Params.Keys, w.Params.TxnSize = 40, 8
	case w.HasAudits():
		w.Params.Keys = 200
	case w.Params.Keys > 1_000:
		w.Params.Keys = 1_000
	}
	return w
}

// smallWorkloads returns all workloads, small.
func smallWorkloads() []Workload {
	list := Workloads()
	for i := range list {
		list[i] = small(list[i])
	}
	return list
}

// smallNumbers returns all workloads of an [Engine], small and with values that are
// numbers, for engines that have no others.
func smallNumbers() []Workload {
	list := slices.DeleteFunc(smallWorkloads(), func(w Workload) bool { return w.special() })
	for i := range list {
		list[i].Params.ValueSize = ValueSize{}
	}
	return list
}

// special reports whether few engines can do w.
func (w Workload) special() bool {
	return w.kind == orders || w.kind == script || w.kind == watched || w.kind == journaled || w.kind == expiring
}

// every returns what is true once in n times.
func every(n int) func() bool {
	var i atomic.Int64
	return func() bool { return i.Add(1)%int64(n) == 0 }
}

// The sessions that do one thing, f, instead of what they should once in a thousand times.

func badGet(f func(s *numberSession, key string) (uint64, bool, error)) func(*numberSession) {
	return func(s *numberSession) {
		bad := every(1_000)
		s.get = func(key string) (uint64, bool, error) {
			if bad() {
				return f(s, key)
			}
			return s.rwMutex.Get(key)
		}
	}
}

func badPut(f func(s *numberSession, key string, v uint64) error) func(*numberSession) {
	return func(s *numberSession) {
		bad := every(1_000)
		s.put = func(key string, v uint64) error {
			if bad() {
				return f(s, key, v)
			}
			return s.rwMutex.Put(key, v)
		}
	}
}

func badAdd(f func(s *numberSession, key string) (uint64, error)) func(*numberSession) {
	return func(s *numberSession) {
		bad := every(1_000)
		s.add = func(key string, delta uint64) (uint64, error) {
			if bad() {
				return f(s, key)
			}
			return s.rwMutex.Add(key, delta)
		}
	}
}

func badTransfer(f func(s *numberSession, from string, amount uint64)) func(*numberSession) {
	return func(s *numberSession) {
		bad := every(1_000)
		s.transfer = func(from, to string, amount uint64) error {
			if bad() {
				f(s, from, amount)
				return nil
			}
			return s.rwMutex.Transfer(from, to, amount)
		}
	}
}

func badRange(
	f func(s *numberSession, low string, n int, visit func(string, uint64)) error,
) func(*numberSession) {
	return func(s *numberSession) {
		bad := every(20)
		s.ranges = func(low string, n int, visit func(string, uint64)) error {
			if bad() {
				return f(s, low, n, visit)
			}
			return s.ranged(low, n, visit)
		}
	}
}

// What a range may do wrong.
var (
	leavesOut = badRange(func(s *numberSession, low string, n int, visit func(string, uint64)) error {
		first := true
		return s.ranged(low, n+1, func(key string, v uint64) {
			if !first || n == 1 {
				visit(key, v)
			}
			first = false
		})
	})
	endsEarly = badRange(func(s *numberSession, low string, n int, visit func(string, uint64)) error {
		return s.ranged(low, n-1, visit)
	})
	givesTwice = badRange(func(s *numberSession, low string, n int, visit func(string, uint64)) error {
		return s.ranged(low, n, func(key string, v uint64) {
			visit(key, v)
			visit(key, v)
		})
	})
)

// badBatch has what one transaction in 20 says spoiled by f, which is told what there was at first.
func badBatch(f func(old map[string]uint64, ops []numberOp, readOnly bool)) func(*numberSession) {
	return func(s *numberSession) {
		bad, old := every(20), maps.Clone(s.m)
		s.batch = func(ops []numberOp, readOnly bool) error {
			err := s.rwMutex.Batch(ops, readOnly)
			if bad() {
				f(old, ops, readOnly)
			}
			return err
		}
	}
}

// live is a snapshot that goes on with the map.
type live struct{ *rwMutex[uint64] }

// skipping lets s do only the first operations of a transaction that writes, as many as done says;
// it is told that the others are done as well.
func skipping(s *numberSession, done func(ops []numberOp) int) {
	s.batch = func(ops []numberOp, readOnly bool) error {
		if readOnly {
			return s.rwMutex.Batch(ops, true)
		}
		n := done(ops)
		for i := range ops[n:] {
			ops[n+i].Old, ops[n+i].OK = ops[n+i].Value, true
		}
		return s.rwMutex.Batch(ops[:n], false)
	}
}
