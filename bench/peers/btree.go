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
			Name:   "btree",
			Doc:    "A B-tree under a sync.RWMutex, held once for each transaction; scans and snapshots take a copy, which shares its nodes until they are written to, and hold no lock",
			New:    newBTreeNumbers,
			Makers: bench.Makers{StringBytes: newBTree[[]byte]},
		},
	}
}

type btreeEngine[V any] struct {
	mu   sync.RWMutex
	tree btree.Map[string, V]
}

// btreeNumbers is one whose values are numbers.
type btreeNumbers struct{ *btreeEngine[uint64] }

func openBTree[V any](setup bench.SetupOf[string, V]) *btreeEngine[V] {
	e := new(btreeEngine[V])
	for i, k := range setup.Keys {
		e.tree.Set(k, setup.Values[i])
	}
	return e
}

func newBTree[V any](setup bench.SetupOf[string, V]) (bench.EngineOf[string, V], error) {
	return openBTree(setup), nil
}

func newBTreeNumbers(setup bench.Setup) (bench.Engine, error) {
	return btreeNumbers{openBTree(setup)}, nil
}

func (e *btreeEngine[V]) Session(int) bench.SessionOf[string, V] {
	return btreeSession[V]{btreeEngine: e}
}

func (e *btreeEngine[V]) Close() {}

func (e btreeNumbers) Session(int) bench.Session {
	return btreeNumberSession{btreeSession[uint64]{btreeEngine: e.btreeEngine}}
}

// snapshot returns a copy. It takes the lock as a writer does: making one makes
// both trees share their nodes.
func (e *btreeEngine[V]) snapshot() *btree.Map[string, V] {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.tree.Copy()
}

// btreeSession never aborts, so it has no state.
type btreeSession[V any] struct {
	never
	*btreeEngine[V]
}

func (s btreeSession[V]) Get(key string) (V, bool, error) {
	s.mu.RLock()
	v, ok := s.tree.Get(key)
	s.mu.RUnlock()
	return v, ok, nil
}

func (s btreeSession[V]) Put(key string, value V) error {
	s.mu.Lock()
	s.tree.Set(key, value)
	s.mu.Unlock()
	return nil
}

func (s btreeSession[V]) Begin() error {
	s.mu.RLock()
	//lint:ignore SA2001 an empty transaction is what is measured
	s.mu.RUnlock()
	return nil
}

func (s btreeSession[V]) Batch(ops []bench.OpOf[string, V], readOnly bool) error {
	if readOnly {
		s.mu.RLock()
		defer s.mu.RUnlock()
	} else {
		s.mu.Lock()
		defer s.mu.Unlock()
	}
	for i := range ops {
		switch op := &ops[i]; op.Kind {
		case bench.OpGet:
			op.Old, op.OK = s.tree.Get(op.Key)
		case bench.OpHas:
			_, op.OK = s.tree.Get(op.Key)
		case bench.OpPut:
			s.tree.Set(op.Key, op.Value)
		case bench.OpModify:
			op.Old, op.OK = s.tree.Get(op.Key)
			s.tree.Set(op.Key, op.Value)
		case bench.OpDelete:
			s.tree.Delete(op.Key)
		}
	}
	return nil
}

// Pin implements [bench.PinnerOf]: a copy.
func (s btreeSession[V]) Pin() (bench.PinOf[string, V], error) {
	return &btreePin[V]{s.snapshot()}, nil
}

type btreePin[V any] struct{ tree *btree.Map[string, V] }

func (p *btreePin[V]) Get(key string) (V, bool, error) {
	v, ok := p.tree.Get(key)
	return v, ok, nil
}

func (p *btreePin[V]) Close() { p.tree = nil }

// btreeNumberSession adds what is done with numbers.
type btreeNumberSession struct{ btreeSession[uint64] }

// add adds delta to the value of key and returns the sum; mu must be held.
func (s btreeNumberSession) add(key string, delta uint64) uint64 {
	v, _ := s.tree.Get(key)
	s.tree.Set(key, v+delta)
	return v + delta
}

func (s btreeNumberSession) Add(key string, delta uint64) (uint64, error) {
	s.mu.Lock()
	sum := s.add(key, delta)
	s.mu.Unlock()
	return sum, nil
}

func (s btreeNumberSession) Transfer(from, to string, amount uint64) error {
	s.mu.Lock()
	s.add(from, -amount)
	s.add(to, amount)
	s.mu.Unlock()
	return nil
}

func (s btreeNumberSession) Sum() (total uint64, keys int, err error) {
	s.snapshot().Scan(func(_ string, v uint64) bool {
		total += v
		keys++
		return true
	})
	return total, keys, nil
}
