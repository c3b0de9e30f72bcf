package bench

import (
	"sync"

	"github.com/puzpuzpuz/xsync/v4"
)

// The concurrent maps, which isolate nothing beyond one key.

// syncMap is a sync.Map. Keys and values are boxed in interfaces, as its users must do.
type syncMap[V any] struct {
	m sync.Map
	Limits
}

func newSyncMap[V any](setup Setup[V]) (Engine[V], error) {
	e := &syncMap[V]{Limits: setup.Limits}
	for i, k := range setup.Keys {
		e.m.Store(k, setup.Values[i])
	}
	return e, nil
}

func (e *syncMap[V]) Session(int) Session[V] { return &syncMapSession[V]{engine: e} }
func (e *syncMap[V]) Close()                 {}

type syncMapSession[V any] struct {
	Attempts
	engine *syncMap[V]
}

func (s *syncMapSession[V]) Get(key string) (value V, ok bool, err error) {
	v, ok := s.engine.m.Load(key)
	if !ok {
		return value, false, nil
	}
	return v.(V), true, nil
}

func (s *syncMapSession[V]) Put(key string, value V) error {
	s.engine.m.Store(key, value)
	return nil
}

// Delete implements [Deleter].
func (s *syncMapSession[V]) Delete(key string) error {
	s.engine.m.Delete(key)
	return nil
}

// Swap implements [Swapper].
func (s *syncMapSession[V]) Swap(key string, value V) (old V, ok bool, err error) {
	v, ok := s.engine.m.Swap(key, value)
	if !ok {
		return old, false, nil
	}
	return v.(V), true, nil
}

func (s *syncMapSession[V]) Add(key string, delta uint64) (uint64, error) {
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
type xsyncMap[V any] struct {
	NoAborts
	m       *xsync.Map[string, V]
	numbers *xsync.Map[string, uint64] // m, if values are numbers
}

func newXsync[V any](setup Setup[V]) (Engine[V], error) {
	e := &xsyncMap[V]{m: xsync.NewMap[string, V](xsync.WithPresize(len(setup.Keys)))}
	e.numbers, _ = any(e.m).(*xsync.Map[string, uint64])
	for i, k := range setup.Keys {
		e.m.Store(k, setup.Values[i])
	}
	return e, nil
}

func (e *xsyncMap[V]) Session(int) Session[V] { return e }
func (e *xsyncMap[V]) Close()                 {}

func (e *xsyncMap[V]) Get(key string) (V, bool, error) {
	v, ok := e.m.Load(key)
	return v, ok, nil
}

func (e *xsyncMap[V]) Put(key string, value V) error {
	e.m.Store(key, value)
	return nil
}

// Delete implements [Deleter].
func (e *xsyncMap[V]) Delete(key string) error {
	e.m.Delete(key)
	return nil
}

// Swap implements [Swapper].
func (e *xsyncMap[V]) Swap(key string, value V) (V, bool, error) {
	old, ok := e.m.LoadAndStore(key, value)
	return old, ok, nil
}

func (e *xsyncMap[V]) Add(key string, delta uint64) (uint64, error) {
	sum, _ := e.numbers.Compute(key, func(old uint64, _ bool) (uint64, xsync.ComputeOp) {
		return old + delta, xsync.UpdateOp
	})
	return sum, nil
}
