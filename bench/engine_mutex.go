package bench

import (
	"maps"
	"sync"
)

// rwMutexOf is a Go map under one RWMutex.
type rwMutexOf[K comparable, V any] struct {
	mu sync.RWMutex
	m  map[K]V
}

// rwMutexNumbers is one whose values are numbers.
type rwMutexNumbers[K comparable] struct{ *rwMutexOf[K, uint64] }

func openRWMutex[K comparable, V any](setup SetupOf[K, V]) *rwMutexOf[K, V] {
	return &rwMutexOf[K, V]{m: filled(setup)}
}

func newRWMutex[K comparable, V any](setup SetupOf[K, V]) (EngineOf[K, V], error) {
	return openRWMutex(setup), nil
}

func newRWMutexNumbers[K comparable](setup SetupOf[K, uint64]) (EngineOf[K, uint64], error) {
	return rwMutexNumbers[K]{openRWMutex(setup)}, nil
}

// filled returns a Go map of what setup says.
func filled[K comparable, V any](setup SetupOf[K, V]) map[K]V {
	m := make(map[K]V, len(setup.Keys))
	for i, k := range setup.Keys {
		m[k] = setup.Values[i]
	}
	return m
}

func (e *rwMutexOf[K, V]) Session(int) SessionOf[K, V] { return rwMutexSessionOf[K, V]{e} }
func (e *rwMutexOf[K, V]) Close()                      {}

func (e rwMutexNumbers[K]) Session(int) SessionOf[K, uint64] {
	return rwMutexNumberSession[K]{rwMutexSessionOf[K, uint64](e)}
}

// rwMutexSessionOf never aborts, so it has no state.
type rwMutexSessionOf[K comparable, V any] struct{ *rwMutexOf[K, V] }

func (s rwMutexSessionOf[K, V]) Aborts() uint64 { return 0 }

func (s rwMutexSessionOf[K, V]) Get(key K) (V, bool, error) {
	s.mu.RLock()
	v, ok := s.m[key]
	s.mu.RUnlock()
	return v, ok, nil
}

func (s rwMutexSessionOf[K, V]) Put(key K, value V) error {
	s.mu.Lock()
	s.m[key] = value
	s.mu.Unlock()
	return nil
}

func (s rwMutexSessionOf[K, V]) Begin() error {
	s.mu.RLock()
	//lint:ignore SA2001 an empty transaction is what is measured
	s.mu.RUnlock()
	return nil
}

func (s rwMutexSessionOf[K, V]) Batch(ops []OpOf[K, V], readOnly bool) error {
	if readOnly {
		s.mu.RLock()
		defer s.mu.RUnlock()
	} else {
		s.mu.Lock()
		defer s.mu.Unlock()
	}
	apply(s.m, ops)
	return nil
}

func (s rwMutexSessionOf[K, V]) Pin() (PinOf[K, V], error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return copied[K, V](maps.Clone(s.m)), nil
}

// rwMutexNumberSession adds what is done with numbers.
type rwMutexNumberSession[K comparable] struct{ rwMutexSessionOf[K, uint64] }

func (s rwMutexNumberSession[K]) Add(key K, delta uint64) (uint64, error) {
	s.mu.Lock()
	v := s.m[key] + delta
	s.m[key] = v
	s.mu.Unlock()
	return v, nil
}

func (s rwMutexNumberSession[K]) Transfer(from, to K, amount uint64) error {
	s.mu.Lock()
	s.m[from] -= amount
	s.m[to] += amount
	s.mu.Unlock()
	return nil
}

func (s rwMutexNumberSession[K]) Sum() (total uint64, keys int, err error) {
	s.mu.RLock()
	total, keys = sum(s.m)
	s.mu.RUnlock()
	return total, keys, nil
}

// sum adds up the values of m and counts them.
func sum[K comparable](m map[K]uint64) (total uint64, keys int) {
	for _, v := range m {
		total += v
		keys++
	}
	return total, keys
}

// apply does ops on m, which nobody else touches.
func apply[K comparable, V any](m map[K]V, ops []OpOf[K, V]) {
	for i := range ops {
		op := &ops[i]
		switch op.Kind {
		case OpGet:
			op.Old, op.OK = m[op.Key]
		case OpHas:
			_, op.OK = m[op.Key]
		case OpPut:
			m[op.Key] = op.Value
		case OpModify:
			op.Old, op.OK = m[op.Key]
			m[op.Key] = op.Value
		case OpDelete:
			delete(m, op.Key)
		}
	}
}

// copied is the snapshot of a map under a lock: a copy.
type copied[K comparable, V any] map[K]V

func (c copied[K, V]) Get(key K) (V, bool, error) {
	v, ok := c[key]
	return v, ok, nil
}

func (c copied[K, V]) Close() {}

// mutexEngine is a Go map under one Mutex.
type mutexEngine[K comparable, V any] struct {
	mu sync.Mutex
	m  map[K]V
}

// mutexNumbers is one whose values are numbers.
type mutexNumbers[K comparable] struct{ *mutexEngine[K, uint64] }

func newMutex[K comparable, V any](setup SetupOf[K, V]) (EngineOf[K, V], error) {
	return &mutexEngine[K, V]{m: filled(setup)}, nil
}

func newMutexNumbers[K comparable](setup SetupOf[K, uint64]) (EngineOf[K, uint64], error) {
	return mutexNumbers[K]{&mutexEngine[K, uint64]{m: filled(setup)}}, nil
}

func (e *mutexEngine[K, V]) Session(int) SessionOf[K, V] { return mutexSession[K, V]{e} }
func (e *mutexEngine[K, V]) Close()                      {}

func (e mutexNumbers[K]) Session(int) SessionOf[K, uint64] {
	return mutexNumberSession[K]{mutexSession[K, uint64](e)}
}

// mutexSession never aborts, so it has no state.
type mutexSession[K comparable, V any] struct{ *mutexEngine[K, V] }

func (s mutexSession[K, V]) Aborts() uint64 { return 0 }

func (s mutexSession[K, V]) Get(key K) (V, bool, error) {
	s.mu.Lock()
	v, ok := s.m[key]
	s.mu.Unlock()
	return v, ok, nil
}

func (s mutexSession[K, V]) Put(key K, value V) error {
	s.mu.Lock()
	s.m[key] = value
	s.mu.Unlock()
	return nil
}

func (s mutexSession[K, V]) Begin() error {
	s.mu.Lock()
	//lint:ignore SA2001 an empty transaction is what is measured
	s.mu.Unlock()
	return nil
}

func (s mutexSession[K, V]) Batch(ops []OpOf[K, V], _ bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	apply(s.m, ops)
	return nil
}

func (s mutexSession[K, V]) Pin() (PinOf[K, V], error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return copied[K, V](maps.Clone(s.m)), nil
}

// mutexNumberSession adds what is done with numbers.
type mutexNumberSession[K comparable] struct{ mutexSession[K, uint64] }

func (s mutexNumberSession[K]) Add(key K, delta uint64) (uint64, error) {
	s.mu.Lock()
	v := s.m[key] + delta
	s.m[key] = v
	s.mu.Unlock()
	return v, nil
}

func (s mutexNumberSession[K]) Transfer(from, to K, amount uint64) error {
	s.mu.Lock()
	s.m[from] -= amount
	s.m[to] += amount
	s.mu.Unlock()
	return nil
}

func (s mutexNumberSession[K]) Sum() (total uint64, keys int, err error) {
	s.mu.Lock()
	total, keys = sum(s.m)
	s.mu.Unlock()
	return total, keys, nil
}
