package peers

import (
	"sync"

	"github.com/tidwall/btree"

	"github.com/mvccmap/mvccmap/bench"
)

func btreePeer() Peer {
	return Peer{
		Module:    "github.com/tidwall/btree",
		Isolation: "one lock, scans have snapshots",
		EngineSpec: bench.EngineSpec{
			Name: "btree",
			Doc: "A B-tree under a sync.RWMutex, held once for each transaction; scans and snapshots " +
				"take a copy, which shares its nodes until they are written to, and hold no lock",
			New:      newBTree[uint64],
			NewBytes: newBTree[[]byte],
		},
	}
}

// btreeEngine is its own session: it never aborts, so it has no state.
type btreeEngine[V any] struct {
	bench.NoAborts
	mu      sync.RWMutex
	tree    btree.Map[string, V]
	numbers *btree.Map[string, uint64] // tree, if values are numbers
}

func newBTree[V any](setup bench.Setup[V]) (bench.Engine[V], error) {
	e := new(btreeEngine[V])
	for i, k := range setup.Keys {
		e.tree.Set(k, setup.Values[i])
	}
	e.numbers, _ = any(&e.tree).(*btree.Map[string, uint64])
	return e, nil
}

func (e *btreeEngine[V]) Session(int) bench.Session[V] {
	return e
}

func (e *btreeEngine[V]) Close() {}

// snapshot returns a copy. It takes the lock as a writer does: making one makes
// both trees share their nodes.
func (e *btreeEngine[V]) snapshot() *btree.Map[string, V] {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.tree.Copy()
}

func (e *btreeEngine[V]) Get(key string) (V, bool, error) {
	e.mu.RLock()
	v, ok := e.tree.Get(key)
	e.mu.RUnlock()
	return v, ok, nil
}

func (e *btreeEngine[V]) Put(key string, value V) error {
	e.mu.Lock()
	e.tree.Set(key, value)
	e.mu.Unlock()
	return nil
}

func (e *btreeEngine[V]) Begin() error {
	e.mu.RLock()
	//lint:ignore SA2001 an empty transaction is what is measured
	e.mu.RUnlock()
	return nil
}

func (e *btreeEngine[V]) Batch(ops []bench.Op[V], readOnly bool) error {
	if readOnly {
		e.mu.RLock()
		defer e.mu.RUnlock()
	} else {
		e.mu.Lock()
		defer e.mu.Unlock()
	}
	for i := range ops {
		switch op := &ops[i]; op.Kind {
		case bench.OpGet:
			op.Old, op.OK = e.tree.Get(op.Key)
		case bench.OpHas:
			_, op.OK = e.tree.Get(op.Key)
		case bench.OpPut:
			e.tree.Set(op.Key, op.Value)
		case bench.OpModify:
			op.Old, op.OK = e.tree.Get(op.Key)
			e.tree.Set(op.Key, op.Value)
		case bench.OpDelete:
			e.tree.Delete(op.Key)
		}
	}
	return nil
}

// Range implements [bench.Ranger].
func (e *btreeEngine[V]) Range(low string, n int, visit func(key string, value V)) error {
	e.mu.RLock()
	defer e.mu.RUnlock()
	e.tree.Ascend(low, func(key string, value V) bool {
		visit(key, value)
		n--
		return n > 0
	})
	return nil
}

// Pin implements [bench.Pinner]: a copy.
func (e *btreeEngine[V]) Pin() (bench.Pin[V], error) {
	return &btreePin[V]{e.snapshot()}, nil
}

type btreePin[V any] struct{ tree *btree.Map[string, V] }

func (p *btreePin[V]) Get(key string) (V, bool, error) {
	v, ok := p.tree.Get(key)
	return v, ok, nil
}

func (p *btreePin[V]) Close() { p.tree = nil }

// add adds delta to the value of key and returns the sum; mu must be held.
func (e *btreeEngine[V]) add(key string, delta uint64) uint64 {
	v, _ := e.numbers.Get(key)
	e.numbers.Set(key, v+delta)
	return v + delta
}

func (e *btreeEngine[V]) Add(key string, delta uint64) (uint64, error) {
	e.mu.Lock()
	sum := e.add(key, delta)
	e.mu.Unlock()
	return sum, nil
}

func (e *btreeEngine[V]) Transfer(from, to string, amount uint64) error {
	e.mu.Lock()
	e.add(from, -amount)
	e.add(to, amount)
	e.mu.Unlock()
	return nil
}

func (e *btreeEngine[V]) Sum() (total uint64, keys int, err error) {
	tree, _ := any(e.snapshot()).(*btree.Map[string, uint64])
	tree.Scan(func(_ string, v uint64) bool {
		total += v
		keys++
		return true
	})
	return total, keys, nil
}
