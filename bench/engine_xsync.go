package bench

import "github.com/puzpuzpuz/xsync/v4"

// xsyncEngine is an xsync.Map: no isolation beyond one key.
type xsyncEngine[K comparable, V any] struct {
	m *xsync.Map[K, V]
}

// xsyncNumbers is one whose values are numbers.
type xsyncNumbers[K comparable] struct{ *xsyncEngine[K, uint64] }

func openXsync[K comparable, V any](setup SetupOf[K, V]) *xsyncEngine[K, V] {
	e := &xsyncEngine[K, V]{m: xsync.NewMap[K, V](xsync.WithPresize(len(setup.Keys)))}
	for i, k := range setup.Keys {
		e.m.Store(k, setup.Values[i])
	}
	return e
}

func newXsync[K comparable, V any](setup SetupOf[K, V]) (EngineOf[K, V], error) {
	return openXsync(setup), nil
}

func newXsyncNumbers[K comparable](setup SetupOf[K, uint64]) (EngineOf[K, uint64], error) {
	return xsyncNumbers[K]{openXsync(setup)}, nil
}

func (e *xsyncEngine[K, V]) Session(int) SessionOf[K, V] { return xsyncSession[K, V]{e.m} }
func (e *xsyncEngine[K, V]) Close()                      {}

func (e xsyncNumbers[K]) Session(int) SessionOf[K, uint64] {
	return xsyncNumberSession[K]{xsyncSession[K, uint64]{e.m}}
}

// xsyncSession never aborts, so it has no state.
type xsyncSession[K comparable, V any] struct{ m *xsync.Map[K, V] }

func (s xsyncSession[K, V]) Aborts() uint64 { return 0 }

func (s xsyncSession[K, V]) Get(key K) (V, bool, error) {
	v, ok := s.m.Load(key)
	return v, ok, nil
}

func (s xsyncSession[K, V]) Put(key K, value V) error {
	s.m.Store(key, value)
	return nil
}

// xsyncNumberSession adds what is done with numbers.
type xsyncNumberSession[K comparable] struct{ xsyncSession[K, uint64] }

func (s xsyncNumberSession[K]) Add(key K, delta uint64) (uint64, error) {
	sum, _ := s.m.Compute(key, func(old uint64, _ bool) (uint64, xsync.ComputeOp) {
		return old + delta, xsync.UpdateOp
	})
	return sum, nil
}
