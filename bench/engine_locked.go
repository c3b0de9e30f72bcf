package bench

import (
	"maps"
	"sync"

	"github.com/tidwall/btree"
)

// locked is Go maps, and B-trees where ranges are read, under one lock. It is its own session and
// [Access].
type locked[L lock] struct {
	NoAborts
	mu     L
	tables []lockedTable
	undo   *[]undone // of the transaction under way; nil if none is rolled back
}

// lock is the type of a lock. It is a parameter and not an interface, so that locking is a direct
// call.
type lock interface {
	sync.RWMutex | sync.Mutex | noLock
}

// noLock is for one goroutine.
type noLock struct{}

// undone is a value that a transaction has replaced.
type undone struct {
	table int
	key   int64
	was   Record
	there bool
}

// A lockedTable is used by one goroutine at a time, or read by several.
type lockedTable interface {
	get(key int64) (Record, bool)
	put(key int64, r Record)
	remove(key int64)
	// each visits all records, in order from low on if the table is ordered.
	each(low int64, visit func(key int64, r Record) bool)
	clone() lockedTable
}

func newLocked[L lock](setup Setup) (Engine, error) {
	e := &locked[L]{}
	for _, t := range setup.Tables {
		of := openLocked(t)
		for i, key := range t.Keys {
			of.put(key, t.Records[i])
		}
		e.tables = append(e.tables, of)
	}
	if setup.RollsBack {
		e.undo = new([]undone)
	}
	return e, nil
}

func openLocked(t TableSetup) lockedTable {
	switch {
	case t.Ordered && t.Numbers:
		return new(tree[int64])
	case t.Ordered:
		return new(tree[Record])
	case t.Numbers:
		return make(hashTable[int64], len(t.Keys))
	}
	return make(hashTable[Record], len(t.Keys))
}

func (e *locked[L]) Session(int) Session { return e }
func (e *locked[L]) Close()              {}

// Do implements [Session]. If fn fails it undoes nothing, since the run ends then, unless [Setup]
// says that functions may fail.
func (e *locked[L]) Do(readOnly bool, fn func(tx Access) error) error {
	switch mu := any(&e.mu).(type) {
	case *sync.RWMutex:
		if readOnly {
			mu.RLock()
			defer mu.RUnlock()
		} else {
			mu.Lock()
			defer mu.Unlock()
		}
	case *sync.Mutex:
		mu.Lock()
		defer mu.Unlock()
	}
	if readOnly || e.undo == nil {
		return fn(e)
	}
	*e.undo = (*e.undo)[:0]
	err := fn(e)
	if err != nil {
		e.rollBack()
	}
	return err
}

// rollBack undoes the writes of the transaction, the last one first.
func (e *locked[L]) rollBack() {
	log := *e.undo
	for i := len(log) - 1; i >= 0; i-- {
		if u := &log[i]; u.there {
			e.tables[u.table].put(u.key, u.was)
		} else {
			e.tables[u.table].remove(u.key)
		}
	}
}

// remember notes the value that a write is about to replace.
func (e *locked[L]) remember(table int, key int64) {
	if e.undo != nil {
		was, there := e.tables[table].get(key)
		*e.undo = append(*e.undo, undone{table, key, was, there})
	}
}

func (e *locked[L]) Get(table int, key int64) (Record, bool) { return e.tables[table].get(key) }

func (e *locked[L]) Put(table int, key int64, r Record) {
	e.remember(table, key)
	e.tables[table].put(key, r)
}

func (e *locked[L]) Add(table int, key, delta int64) {
	r, _ := e.tables[table].get(key)
	r.Number += delta
	e.Put(table, key, r)
}

func (e *locked[L]) Delete(table int, key int64) {
	e.remember(table, key)
	e.tables[table].remove(key)
}

func (e *locked[L]) Range(table int, low int64, visit func(key int64, r Record) bool) {
	e.tables[table].each(low, visit)
}

func (e *locked[L]) All(table int, visit func(key int64, r Record)) {
	e.tables[table].each(lowest, func(key int64, r Record) bool {
		visit(key, r)
		return true
	})
}

// lowest is the lowest key.
const lowest = -1 << 63

// Pin implements [Pinner]: a copy.
func (e *locked[L]) Pin() (Access, func(), error) {
	copied := &locked[noLock]{}
	err := e.Do(true, func(Access) error {
		for _, t := range e.tables {
			copied.tables = append(copied.tables, t.clone())
		}
		return nil
	})
	return copied, func() {}, err
}

// hashTable is a Go map.
type hashTable[V value] map[int64]V

func (t hashTable[V]) get(key int64) (Record, bool) {
	v, ok := t[key]
	return recordOf(v), ok
}

func (t hashTable[V]) put(key int64, r Record) { t[key] = valueOf[V](r) }
func (t hashTable[V]) remove(key int64)        { delete(t, key) }
func (t hashTable[V]) clone() lockedTable      { return maps.Clone(t) }

func (t hashTable[V]) each(_ int64, visit func(key int64, r Record) bool) {
	for key, v := range t {
		if !visit(key, recordOf(v)) {
			return
		}
	}
}

// tree is a B-tree.
type tree[V value] struct{ btree.Map[int64, V] }

func (t *tree[V]) get(key int64) (Record, bool) {
	v, ok := t.Get(key)
	return recordOf(v), ok
}

func (t *tree[V]) put(key int64, r Record) { t.Set(key, valueOf[V](r)) }
func (t *tree[V]) remove(key int64)        { t.Delete(key) }

func (t *tree[V]) each(low int64, visit func(key int64, r Record) bool) {
	t.Ascend(low, func(key int64, v V) bool { return visit(key, recordOf(v)) })
}

func (t *tree[V]) clone() lockedTable {
	c := new(tree[V])
	t.Scan(func(key int64, v V) bool {
		c.Set(key, v)
		return true
	})
	return c
}
