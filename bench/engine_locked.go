package bench

import (
	"maps"
	"sync"
)

// locked is a Go map under one lock, a [sync.RWMutex] or a [sync.Mutex]. The lock's type is a
// parameter and not an interface, so that locking is a direct call. It is its own session: it never
// aborts, so it has no state.
type locked[V any, L lock] struct {
	NoAborts
	latch[L]
	m       map[string]V
	numbers map[string]uint64 // m, if values are numbers
}

type lock interface{ sync.RWMutex | sync.Mutex }

func newLocked[V any, L lock](setup Setup[V]) (Engine[V], error) {
	e := &locked[V, L]{m: make(map[string]V, len(setup.Keys))}
	for i, k := range setup.Keys {
		e.m[k] = setup.Values[i]
	}
	e.numbers, _ = any(e.m).(map[string]uint64)
	return e, nil
}

func (e *locked[V, L]) Session(int) Session[V] { return e }
func (e *locked[V, L]) Close()                 {}

// The short ones lock by themselves: a call that is not inlined is a tenth of their time.

func (e *locked[V, L]) Get(key string) (v V, ok bool, err error) {
	switch mu := any(&e.mu).(type) {
	case *sync.RWMutex:
		mu.RLock()
		v, ok = e.m[key]
		mu.RUnlock()
	case *sync.Mutex:
		mu.Lock()
		v, ok = e.m[key]
		mu.Unlock()
	}
	return v, ok, nil
}

func (e *locked[V, L]) Put(key string, value V) error {
	switch mu := any(&e.mu).(type) {
	case *sync.RWMutex:
		mu.Lock()
		e.m[key] = value
		mu.Unlock()
	case *sync.Mutex:
		mu.Lock()
		e.m[key] = value
		mu.Unlock()
	}
	return nil
}

// Begin does nothing in its transaction, which is what is measured.
func (e *locked[V, L]) Begin() error {
	switch mu := any(&e.mu).(type) {
	case *sync.RWMutex:
		mu.RLock()
		mu.RUnlock()
	case *sync.Mutex:
		mu.Lock()
		mu.Unlock()
	}
	return nil
}

func (e *locked[V, L]) Add(key string, delta uint64) (sum uint64, err error) {
	switch mu := any(&e.mu).(type) {
	case *sync.RWMutex:
		mu.Lock()
		sum = e.numbers[key] + delta
		e.numbers[key] = sum
		mu.Unlock()
	case *sync.Mutex:
		mu.Lock()
		sum = e.numbers[key] + delta
		e.numbers[key] = sum
		mu.Unlock()
	}
	return sum, nil
}

func (e *locked[V, L]) Transfer(from, to string, amount uint64) error {
	switch mu := any(&e.mu).(type) {
	case *sync.RWMutex:
		mu.Lock()
		e.numbers[from] -= amount
		e.numbers[to] += amount
		mu.Unlock()
	case *sync.Mutex:
		mu.Lock()
		e.numbers[from] -= amount
		e.numbers[to] += amount
		mu.Unlock()
	}
	return nil
}

func (e *locked[V, L]) Batch(ops []Op[V], readOnly bool) error {
	if readOnly {
		e.rlock()
		defer e.runlock()
	} else {
		e.lock()
		defer e.unlock()
	}
	apply(e.m, ops)
	return nil
}

// apply does ops on m, which only the caller uses meanwhile.
func apply[V any](m map[string]V, ops []Op[V]) {
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

func (e *locked[V, L]) Pin() (Pin[V], error) {
	e.rlock()
	defer e.runlock()
	return copied[V](maps.Clone(e.m)), nil
}

// copied is the snapshot of a map under a lock: a copy.
type copied[V any] map[string]V

func (c copied[V]) Get(key string) (V, bool, error) {
	v, ok := c[key]
	return v, ok, nil
}

func (c copied[V]) Close() {}

func (e *locked[V, L]) Sum() (total uint64, keys int, err error) {
	e.rlock()
	for _, v := range e.numbers {
		total += v
		keys++
	}
	e.runlock()
	return total, keys, nil
}
