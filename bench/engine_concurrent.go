package bench

import (
	"sync"

	"github.com/puzpuzpuz/xsync/v4"
)

// The concurrent maps, which isolate nothing beyond one key.

// syncMap is a sync.Map. Keys and values are boxed in interfaces, as its users must do.
type syncMap[K comparable, V any] struct {
	m sync.Map
	Limits
}

func newSyncMap[K comparable, V any](setup Setup[K, V]) (Engine[K, V], error) {
	e := &syncMap[K, V]{Limits: setup.Limits}
	for i, k := range setup.Keys {
		e.m.Store(k, setup.Values[i])
	}
	return e, nil
}

func (e *syncMap[K, V]) Session(int) Session[K, V] { return &syncMapSession[K, V]{engine: e} }
func (e *syncMap[K, V]) Close()                    {}

type syncMapSession[K comparable, V any] struct {
	Attempts
	engine *syncMap[K, V]
}

func (s *syncMapSession[K, V]) Get(key K) (value V, ok bool, err error) {
	v, ok := s.engine.m.Load(key)
	if !ok {
		return value, false, nil
	}
	return v.(V), true, nil
}

func (s *syncMapSession[K, V]) Put(key K, value V) error {
	s.engine.m.Store(key, value)
	return nil
}

func (s *syncMapSession[K, V]) Add(key K, delta uint64) (uint64, error) {
	for n := 1; ; n++ {
		s.Tries++
		old, _ := s.engine.m.Load(key)
		sum := old.(uint64) + delta
		if s.engine.m.CompareAndSwap(key, old, sum) {
			s.Commits++
			return sum, nil
		}
		if err := s.engine.Over(n); err != nil {
			return 0, err
		}
	}
}

// xsyncMap is an xsync.Map. It is its own session: it never aborts, so it has no state.
type xsyncMap[K comparable, V any] struct {
	NoAborts
	m       *xsync.Map[K, V]
	numbers *xsync.Map[K, uint64] // m, if values are numbers
}

func newXsync[K comparable, V any](setup Setup[K, V]) (Engine[K, V], error) {
	e := &xsyncMap[K, V]{m: xsync.NewMap[K, V](xsync.WithPresize(len(setup.Keys)))}
	e.numbers, _ = any(e.m).(*xsync.Map[K, uint64])
	for i, k := range setup.Keys {
		e.m.Store(k, setup.Values[i])
	}
	return e, nil
}

func (e *xsyncMap[K, V]) Session(int) Session[K, V] { return e }
func (e *xsyncMap[K, V]) Close()                    {}

func (e *xsyncMap[K, V]) Get(key K) (V, bool, error) {
	v, ok := e.m.Load(key)
	return v, ok, nil
}

func (e *xsyncMap[K, V]) Put(key K, value V) error {
	e.m.Store(key, value)
	return nil
}

func (e *xsyncMap[K, V]) Add(key K, delta uint64) (uint64, error) {
	sum, _ := e.numbers.Compute(key, func(old uint64, _ bool) (uint64, xsync.ComputeOp) {
		return old + delta, xsync.UpdateOp
	})
	return sum, nil
}
