package bench

import "sync"

// syncMapEngine is a sync.Map. Keys and values are boxed in interfaces, as its
// users must do.
type syncMapEngine[K comparable, V any] struct {
	m       sync.Map
	limit   int // attempts at an operation; 0: without end
	stopped func() bool
}

// syncMapNumbers is one whose values are numbers.
type syncMapNumbers[K comparable] struct{ *syncMapEngine[K, uint64] }

func openSyncMap[K comparable, V any](setup SetupOf[K, V]) *syncMapEngine[K, V] {
	e := &syncMapEngine[K, V]{limit: setup.Attempts, stopped: setup.Stopped}
	for i, k := range setup.Keys {
		e.m.Store(k, setup.Values[i])
	}
	return e
}

func newSyncMap[K comparable, V any](setup SetupOf[K, V]) (EngineOf[K, V], error) {
	return openSyncMap(setup), nil
}

func newSyncMapNumbers[K comparable](setup SetupOf[K, uint64]) (EngineOf[K, uint64], error) {
	return syncMapNumbers[K]{openSyncMap(setup)}, nil
}

func (e *syncMapEngine[K, V]) Session(int) SessionOf[K, V] { return &syncMapSession[K, V]{engine: e} }
func (e *syncMapEngine[K, V]) Close()                      {}

func (e syncMapNumbers[K]) Session(int) SessionOf[K, uint64] {
	return &syncMapNumberSession[K]{syncMapSession[K, uint64]{engine: e.syncMapEngine}}
}

type syncMapSession[K comparable, V any] struct {
	counted
	engine *syncMapEngine[K, V]
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

// syncMapNumberSession adds what is done with numbers.
type syncMapNumberSession[K comparable] struct{ syncMapSession[K, uint64] }

func (s *syncMapNumberSession[K]) Add(key K, delta uint64) (uint64, error) {
	for n := 1; ; n++ {
		s.tries++
		old, _ := s.engine.m.Load(key)
		sum := old.(uint64) + delta
		if s.engine.m.CompareAndSwap(key, old, sum) {
			s.commits++
			return sum, nil
		}
		switch {
		case n == s.engine.limit:
			return 0, ErrGaveUp
		case s.engine.stopped():
			return 0, ErrStopped
		}
	}
}
