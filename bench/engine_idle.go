package bench

import "slices"

// idleSpec makes an engine whose single session answers as a map would, from an
// array that is indexed by the number in the key: what is left is the harness.
func idleSpec() EngineSpec {
	return EngineSpec{
		Name: "idle",
		New:  newIdleNumbers[string],
		Makers: Makers{
			StringBytes: newIdle[string, []byte],
			Uint64:      newIdleNumbers[uint64], Uint64Bytes: newIdle[uint64, []byte],
			Struct: newIdleNumbers[StructKey], StructBytes: newIdle[StructKey, []byte],
		},
	}
}

// idle is engine and session in one.
type idle[K comparable, V any] struct {
	values []V
	absent []bool
}

// idleNumbers is one whose values are numbers.
type idleNumbers[K comparable] struct {
	*idle[K, uint64]
	total uint64
}

func newIdle[K comparable, V any](setup SetupOf[K, V]) (EngineOf[K, V], error) {
	return &idle[K, V]{values: setup.Values, absent: make([]bool, len(setup.Values))}, nil
}

func newIdleNumbers[K comparable](setup SetupOf[K, uint64]) (EngineOf[K, uint64], error) {
	e := &idleNumbers[K]{idle: &idle[K, uint64]{values: setup.Values, absent: make([]bool, len(setup.Values))}}
	for _, v := range e.values {
		e.total += v
	}
	return e, nil
}

func (e *idle[K, V]) Close()                          {}
func (e *idle[K, V]) Aborts() uint64                  { return 0 }
func (e *idle[K, V]) Begin() error                    { return nil }
func (e *idle[K, V]) Pin() (PinOf[K, V], error)       { return idlePin[K, V](slices.Clone(e.values)), nil }
func (e *idleNumbers[K]) Sum() (uint64, int, error)   { return e.total, len(e.values), nil }
func (e *idleNumbers[K]) Transfer(K, K, uint64) error { return nil } // its auditor would not see it

// Session returns e itself for the goroutine and the runner, and for an auditor a
// copy: it runs beside the goroutine.
func (e *idle[K, V]) Session(worker int) SessionOf[K, V] {
	if worker > 0 {
		return &idle[K, V]{values: slices.Clone(e.values), absent: slices.Clone(e.absent)}
	}
	return e
}

// Session is that of idle.
func (e *idleNumbers[K]) Session(worker int) SessionOf[K, uint64] {
	if worker > 0 {
		return &idleNumbers[K]{idle: e.idle.Session(worker).(*idle[K, uint64]), total: e.total}
	}
	return e
}

func (e *idle[K, V]) Get(key K) (V, bool, error) {
	k := keyIndex(key)
	return e.values[k], !e.absent[k], nil
}

func (e *idle[K, V]) Put(key K, value V) error {
	k := keyIndex(key)
	e.values[k], e.absent[k] = value, false
	return nil
}

func (e *idle[K, V]) Batch(ops []OpOf[K, V], _ bool) error {
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

func (e *idleNumbers[K]) Add(key K, delta uint64) (uint64, error) {
	k := keyIndex(key)
	e.values[k] += delta
	return e.values[k], nil
}

// idlePin is a copy of its values.
type idlePin[K comparable, V any] []V

func (p idlePin[K, V]) Get(key K) (V, bool, error) { return p[keyIndex(key)], true, nil }
func (p idlePin[K, V]) Close()                     {}
