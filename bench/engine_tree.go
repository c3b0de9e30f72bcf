package bench

import (
	"sync"

	"github.com/tidwall/btree"
)

// lockedTree is what a locked engine is where ranges are read: a B-tree under one lock. It is its
// own session, as [locked] is.
type lockedTree[V any, L lock] struct {
	NoAborts
	latch[L]
	m       btree.Map[string, V]
	numbers *btree.Map[string, uint64] // m, if values are numbers
}

// newLockedMap makes an engine that is a map or, where ranges are read, a tree.
func newLockedMap[V any, L lock](setup Setup[V]) (Engine[V], error) {
	if !setup.Ordered {
		return newLocked[V, L](setup)
	}
	e := new(lockedTree[V, L])
	for i, k := range setup.Keys {
		e.m.Set(k, setup.Values[i])
	}
	e.numbers, _ = any(&e.m).(*btree.Map[string, uint64])
	return e, nil
}

func (e *lockedTree[V, L]) Session(int) Session[V] { return e }
func (e *lockedTree[V, L]) Close()                 {}

func (e *lockedTree[V, L]) Get(key string) (V, bool, error) {
	e.rlock()
	v, ok := e.m.Get(key)
	e.runlock()
	return v, ok, nil
}

func (e *lockedTree[V, L]) Put(key string, value V) error {
	e.lock()
	e.m.Set(key, value)
	e.unlock()
	return nil
}

func (e *lockedTree[V, L]) Transfer(from, to string, amount uint64) error {
	e.lock()
	a, _ := e.numbers.Get(from)
	b, _ := e.numbers.Get(to)
	e.numbers.Set(from, a-amount)
	e.numbers.Set(to, b+amount)
	e.unlock()
	return nil
}

func (e *lockedTree[V, L]) Sum() (total uint64, keys int, err error) {
	e.rlock()
	e.numbers.Scan(func(_ string, v uint64) bool {
		total += v
		keys++
		return true
	})
	e.runlock()
	return total, keys, nil
}

func (e *lockedTree[V, L]) Batch(ops []Op[V], readOnly bool) error {
	if readOnly {
		e.rlock()
		defer e.runlock()
	} else {
		e.lock()
		defer e.unlock()
	}
	for i := range ops {
		op := &ops[i]
		switch op.Kind {
		case OpGet, OpHas:
			op.Old, op.OK = e.m.Get(op.Key)
		case OpPut:
			e.m.Set(op.Key, op.Value)
		case OpModify:
			op.Old, op.OK = e.m.Set(op.Key, op.Value)
		case OpDelete:
			e.m.Delete(op.Key)
		}
	}
	return nil
}

// Range implements [Ranger].
func (e *lockedTree[V, L]) Range(low string, n int, visit func(key string, value V)) error {
	e.rlock()
	defer e.runlock()
	e.m.Ascend(low, func(key string, value V) bool {
		visit(key, value)
		n--
		return n > 0
	})
	return nil
}

// latch is a lock, of which a [sync.Mutex] is the same for readers.
type latch[L lock] struct{ mu L }

func (l *latch[L]) lock() {
	switch mu := any(&l.mu).(type) {
	case *sync.RWMutex:
		mu.Lock()
	case *sync.Mutex:
		mu.Lock()
	}
}

func (l *latch[L]) unlock() {
	switch mu := any(&l.mu).(type) {
	case *sync.RWMutex:
		mu.Unlock()
	case *sync.Mutex:
		mu.Unlock()
	}
}

// rlock is lock, for reading.
func (l *latch[L]) rlock() {
	switch mu := any(&l.mu).(type) {
	case *sync.RWMutex:
		mu.RLock()
	case *sync.Mutex:
		mu.Lock()
	}
}

func (l *latch[L]) runlock() {
	switch mu := any(&l.mu).(type) {
	case *sync.RWMutex:
		mu.RUnlock()
	case *sync.Mutex:
		mu.Unlock()
	}
}
