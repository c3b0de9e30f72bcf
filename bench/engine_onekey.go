package bench

import (
	"sync"

	"github.com/puzpuzpuz/xsync/v4"

	"github.com/mvccmap/mvccmap/mvcc"
)

// oneKey is an engine of operations on one key, its own session and [Access]. It never aborts, so it
// has no state.
type oneKey struct {
	NoAborts
	tables []oneKeyTable
}

// A oneKeyTable is a concurrent map.
type oneKeyTable interface {
	get(key int64) (Record, bool)
	put(key int64, r Record)
	add(key, delta int64)
	remove(key int64)
	all(visit func(key int64, r Record))
}

// openOneKey fills the tables that open makes.
func openOneKey(setup Setup, open func(t TableSetup) oneKeyTable) (Engine, error) {
	e := &oneKey{}
	for _, t := range setup.Tables {
		of := open(t)
		for i, key := range t.Keys {
			of.put(key, t.Records[i])
		}
		e.tables = append(e.tables, of)
	}
	return e, nil
}

func (e *oneKey) Session(int) Session { return e }

func (e *oneKey) Close() {
	for _, t := range e.tables {
		if c, ok := t.(interface{ close() }); ok {
			c.close()
		}
	}
}

func (e *oneKey) Do(_ bool, fn func(Access) error) error           { return fn(e) }
func (e *oneKey) Get(table int, key int64) (Record, bool)          { return e.tables[table].get(key) }
func (e *oneKey) Put(table int, key int64, r Record)               { e.tables[table].put(key, r) }
func (e *oneKey) Add(table int, key, delta int64)                  { e.tables[table].add(key, delta) }
func (e *oneKey) Delete(table int, key int64)                      { e.tables[table].remove(key) }
func (e *oneKey) Range(int, int64, func(key int64, r Record) bool) { panic("bench: no order") }
func (e *oneKey) All(table int, visit func(key int64, r Record))   { e.tables[table].all(visit) }
func (e *oneKey) sources() map[string]func() mvcc.Stats {
	if t, ok := e.tables[0].(interface{ stats() mvcc.Stats }); ok {
		return map[string]func() mvcc.Stats{"": t.stats}
	}
	return nil
}

// direct is the transactional map by its one-key operations.
type direct[V value] struct{ mvccMap[V] }

func newDirect(setup Setup) (Engine, error) {
	options := mapOptions(setup)
	return openOneKey(setup, func(t TableSetup) oneKeyTable {
		t.Keys = nil
		if t.Numbers {
			return direct[int64]{mvccMap[int64]{openMap[int64](nil, options, t)}}
		}
		return direct[Record]{mvccMap[Record]{openMap[Record](nil, options, t)}}
	})
}

func (t direct[V]) get(key int64) (Record, bool) {
	v, ok := t.m.Load(key)
	return recordOf(v), ok
}

func (t direct[V]) put(key int64, r Record) { t.m.Store(key, valueOf[V](r)) }
func (t direct[V]) remove(key int64)        { t.m.Delete(key) }
func (t direct[V]) add(key, delta int64) {
	t.m.Merge(key, func(v V, _ bool) V { return plus(v, delta) })
}

func (t direct[V]) all(visit func(key int64, r Record)) {
	sn := t.m.Snapshot()
	defer sn.Close()
	for key, v := range sn.All() {
		visit(key, recordOf(v))
	}
}

// xsyncMap is an xsync.Map.
type xsyncMap[V value] struct{ *xsync.Map[int64, V] }

func newXsync(setup Setup) (Engine, error) {
	return openOneKey(setup, func(t TableSetup) oneKeyTable {
		size := xsync.WithPresize(len(t.Keys))
		if t.Numbers {
			return xsyncMap[int64]{xsync.NewMap[int64, int64](size)}
		}
		return xsyncMap[Record]{xsync.NewMap[int64, Record](size)}
	})
}

func (t xsyncMap[V]) get(key int64) (Record, bool) {
	v, ok := t.Load(key)
	return recordOf(v), ok
}

func (t xsyncMap[V]) put(key int64, r Record) { t.Store(key, valueOf[V](r)) }
func (t xsyncMap[V]) remove(key int64)        { t.Delete(key) }
func (t xsyncMap[V]) add(key, delta int64) {
	t.Compute(key, func(v V, _ bool) (V, xsync.ComputeOp) { return plus(v, delta), xsync.UpdateOp })
}

func (t xsyncMap[V]) all(visit func(key int64, r Record)) {
	t.Range(func(key int64, v V) bool {
		visit(key, recordOf(v))
		return true
	})
}

// syncMap is a sync.Map. Keys and values are boxed in interfaces, as its users must do.
type syncMap[V value] struct{ m sync.Map }

func newSyncMap(setup Setup) (Engine, error) {
	return openOneKey(setup, func(t TableSetup) oneKeyTable {
		if t.Numbers {
			return new(syncMap[int64])
		}
		return new(syncMap[Record])
	})
}

func (t *syncMap[V]) get(key int64) (r Record, ok bool) {
	v, ok := t.m.Load(key)
	if !ok {
		return r, false
	}
	return recordOf(v.(V)), true
}

func (t *syncMap[V]) put(key int64, r Record) { t.m.Store(key, valueOf[V](r)) }
func (t *syncMap[V]) remove(key int64)        { t.m.Delete(key) }

// add tries until the value that it replaces is the one that it has read.
func (t *syncMap[V]) add(key, delta int64) {
	for {
		old, ok := t.m.LoadOrStore(key, valueOf[V](Record{Number: delta}))
		if !ok || t.m.CompareAndSwap(key, old, plus(old.(V), delta)) {
			return
		}
	}
}

func (t *syncMap[V]) all(visit func(key int64, r Record)) {
	t.m.Range(func(key, v any) bool {
		visit(key.(int64), recordOf(v.(V)))
		return true
	})
}
