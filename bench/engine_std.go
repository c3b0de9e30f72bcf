package bench

import "sync"

// rwMutexEngine is a Go map under one RWMutex.
type rwMutexEngine struct {
	mu sync.RWMutex
	m  map[string]uint64
}

func newRWMutex(setup Setup) (Engine, error) {
	e := &rwMutexEngine{m: make(map[string]uint64, len(setup.Keys))}
	for i, k := range setup.Keys {
		e.m[k] = setup.Values[i]
	}
	return e, nil
}

func (e *rwMutexEngine) Session(int) Session { return rwMutexSession{e} }
func (e *rwMutexEngine) Close()              {}

// rwMutexSession never aborts, so it has no state.
type rwMutexSession struct{ *rwMutexEngine }

func (s rwMutexSession) Aborts() uint64 { return 0 }

func (s rwMutexSession) Get(key string) (uint64, bool, error) {
	s.mu.RLock()
	v, ok := s.m[key]
	s.mu.RUnlock()
	return v, ok, nil
}

func (s rwMutexSession) Put(key string, value uint64) error {
	s.mu.Lock()
	s.m[key] = value
	s.mu.Unlock()
	return nil
}

func (s rwMutexSession) Add(key string, delta uint64) (uint64, error) {
	s.mu.Lock()
	v := s.m[key] + delta
	s.m[key] = v
	s.mu.Unlock()
	return v, nil
}

func (s rwMutexSession) Begin() error {
	s.mu.RLock()
	//lint:ignore SA2001 an empty transaction is what is measured
	s.mu.RUnlock()
	return nil
}

func (s rwMutexSession) Transfer(from, to string, amount uint64) error {
	s.mu.Lock()
	s.m[from] -= amount
	s.m[to] += amount
	s.mu.Unlock()
	return nil
}

func (s rwMutexSession) Sum() (total uint64, keys int, err error) {
	s.mu.RLock()
	for _, v := range s.m {
		total += v
		keys++
	}
	s.mu.RUnlock()
	return total, keys, nil
}

// syncMapEngine is a sync.Map. Keys and values are boxed in interfaces, as its
// users must do.
type syncMapEngine struct {
	m       sync.Map
	stopped func() bool
}

func newSyncMap(setup Setup) (Engine, error) {
	e := &syncMapEngine{stopped: setup.Stopped}
	for i, k := range setup.Keys {
		e.m.Store(k, setup.Values[i])
	}
	return e, nil
}

func (e *syncMapEngine) Session(int) Session { return &syncMapSession{engine: e} }
func (e *syncMapEngine) Close()              {}

type syncMapSession struct {
	counted
	engine *syncMapEngine
}

func (s *syncMapSession) Get(key string) (uint64, bool, error) {
	v, ok := s.engine.m.Load(key)
	if !ok {
		return 0, false, nil
	}
	return v.(uint64), true, nil
}

func (s *syncMapSession) Put(key string, value uint64) error {
	s.engine.m.Store(key, value)
	return nil
}

func (s *syncMapSession) Add(key string, delta uint64) (uint64, error) {
	for {
		s.tries++
		old, _ := s.engine.m.Load(key)
		sum := old.(uint64) + delta
		if s.engine.m.CompareAndSwap(key, old, sum) {
			s.commits++
			return sum, nil
		}
		if s.engine.stopped() {
			return 0, ErrStopped
		}
	}
}
