package peers

import (
	"sync"

	"github.com/tidwall/btree"

	"github.com/mvccmap/mvccmap/bench"
)

func btreePeer() bench.EngineSpec {
	return bench.EngineSpec{
		Name: "btree",
		Doc: "A B-tree under a sync.RWMutex, held once for each transaction; full scans and snapshots " +
			"take a copy, which shares its nodes until they are written to, and hold no lock. " +
			"Isolation: one lock, scans have snapshots",
		New: newBTree,
	}
}

type tree = btree.Map[int64, bench.Record]

type btreeEngine struct {
	bench.NoAborts
	mu        sync.RWMutex
	trees     []*tree
	copying   sync.Mutex // is held while they are copied, beside mu for reading
	rollsBack bool
}

func newBTree(setup bench.Setup) (bench.Engine, error) {
	e := &btreeEngine{rollsBack: setup.RollsBack}
	for _, t := range setup.Tables {
		of := new(tree)
		for i, key := range t.Keys {
			of.Set(key, t.Records[i])
		}
		e.trees = append(e.trees, of)
	}
	return e, nil
}

func (e *btreeEngine) Close() {}

// copied returns copies of the trees. The caller holds mu, at least for reading: a copy changes
// only words of a tree that its writers use, so other readers go on.
func (e *btreeEngine) copied() []*tree {
	e.copying.Lock()
	defer e.copying.Unlock()
	list := make([]*tree, len(e.trees))
	for i, t := range e.trees {
		list[i] = t.Copy()
	}
	return list
}

func (e *btreeEngine) Session(int) bench.Session { return &btreeSession{btreeEngine: e} }

// btreeSession is its own [bench.Access]. It is padded: sessions of different goroutines must not
// share a cache line.
type btreeSession struct {
	_ [128]byte
	*btreeEngine
	in      []*tree // the trees, or the copies that are read
	reading bool    // mu is held for reading
	_       [128]byte
}

// Do implements [bench.Session]. A transaction that is rolled back has written to copies.
func (s *btreeSession) Do(readOnly bool, fn func(bench.Access) error) error {
	s.in = s.trees
	if readOnly {
		s.mu.RLock()
		s.reading = true
		err := fn(s)
		if s.reading {
			s.mu.RUnlock()
		}
		return err
	}
	s.reading = false
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rollsBack {
		s.in = s.copied()
	}
	err := fn(s)
	if err == nil && s.rollsBack {
		s.trees = s.in
	}
	return err
}

// Pin implements [bench.Pinner].
func (s *btreeSession) Pin() (bench.Access, func(), error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return &btreeSession{in: s.copied()}, func() {}, nil
}

func (s *btreeSession) Get(table int, key int64) (bench.Record, bool) { return s.in[table].Get(key) }
func (s *btreeSession) Put(table int, key int64, r bench.Record)      { s.in[table].Set(key, r) }
func (s *btreeSession) Delete(table int, key int64)                   { s.in[table].Delete(key) }

func (s *btreeSession) Add(table int, key, delta int64) {
	r, _ := s.in[table].Get(key)
	r.Number += delta
	s.in[table].Set(key, r)
}

func (s *btreeSession) Range(table int, low int64, visit func(int64, bench.Record) bool) {
	s.in[table].Ascend(low, visit)
}

// All implements [bench.Access]. It has the transaction read copies from then on, which are as the
// trees were when the transaction began, and unlocks the trees.
func (s *btreeSession) All(table int, visit func(int64, bench.Record)) {
	if s.reading {
		s.in, s.reading = s.copied(), false
		s.mu.RUnlock()
	}
	s.in[table].Scan(func(key int64, r bench.Record) bool {
		visit(key, r)
		return true
	})
}
