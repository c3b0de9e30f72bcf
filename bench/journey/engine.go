package journey

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/epoch"
)

// Engine returns what package bench measures as a map of the parts of c.
func Engine(name, doc string, c Config) bench.EngineSpec {
	return bench.EngineSpec{
		Name: name, Doc: doc,
		New: func(setup bench.Setup[uint64]) (bench.Engine[uint64], error) {
			e := &engine{m: New(c), keys: setup.Keys, Limits: setup.Limits}
			tx := e.m.Begin()
			for i, k := range setup.Keys {
				tx.Put(k, setup.Values[i])
			}
			return e, tx.Commit()
		},
	}
}

type engine struct {
	m    *Map
	keys []string
	bench.Limits
}

// Close implements [bench.Engine].
func (e *engine) Close() { e.m.Close() }

// Versions implements [bench.Versioner].
func (e *engine) Versions() int { return e.m.Versions() }

// Session implements [bench.Engine].
func (e *engine) Session(int) bench.Session[uint64] { return &session{engine: e} }

type session struct {
	bench.Attempts
	*engine
}

// view runs fn in a transaction that only reads.
func (s *session) view(fn func(tx *Tx)) {
	tx := s.m.Begin()
	fn(tx)
	tx.End()
}

// update runs fn in transactions until one has committed.
func (s *session) update(fn func(tx *Tx)) error {
	for n := 1; ; n++ {
		s.Tries++
		tx := s.m.Begin()
		fn(tx)
		if s.m.config.Yield {
			runtime.Gosched()
		}
		if tx.Commit() == nil {
			s.Commits++
			return nil
		}
		if err := s.Over(n); err != nil {
			return err
		}
	}
}

// Get implements [bench.Session].
func (s *session) Get(key string) (value uint64, ok bool, err error) {
	s.view(func(tx *Tx) { value, ok = tx.Get(key) })
	return value, ok, nil
}

// Put implements [bench.Session].
func (s *session) Put(key string, value uint64) error {
	return s.update(func(tx *Tx) { tx.Put(key, value) })
}

// Add implements [bench.Incrementer].
func (s *session) Add(key string, delta uint64) (sum uint64, err error) {
	err = s.update(func(tx *Tx) {
		v, _ := tx.Get(key)
		sum = v + delta
		tx.Put(key, sum)
	})
	return sum, err
}

// Transfer implements [bench.Transferer].
func (s *session) Transfer(from, to string, amount uint64) error {
	return s.update(func(tx *Tx) {
		a, _ := tx.Get(from)
		b, _ := tx.Get(to)
		tx.Put(from, a-amount)
		tx.Put(to, b+amount)
	})
}

// Sum implements [bench.Transferer].
func (s *session) Sum() (total uint64, keys int, err error) {
	s.view(func(tx *Tx) {
		for _, k := range s.keys {
			if v, ok := tx.Get(k); ok {
				total += v
				keys++
			}
		}
	})
	return total, keys, nil
}

// Begin implements [bench.Beginner].
func (s *session) Begin() error {
	s.view(func(*Tx) {})
	return nil
}

// A cell is a key's place in the map.
type cell struct {
	id uint64 // latches are taken in this order

	latch sync.Mutex
	// busy says that a committer holds the latch: it may have drawn an epoch and not
	// installed its version yet.
	busy  atomic.Bool
	chain chain

	// ends is the lowest epoch at which a version ends that the last pruning left; none
	// if it left none, or before the first pruning. Guarded by latch.
	ends epoch.Epoch
}

// read returns what is to be seen at e.
func (c *cell) read(e epoch.Epoch) (value uint64, ok bool) {
	if c.busy.Load() { // a committer that draws an epoch up to e was busy before the clock had e
		c.latch.Lock()
		c.latch.Unlock() //lint:ignore SA2001 to wait for it is all
	}
	v := c.chain.at(e)
	if v == nil {
		return 0, false
	}
	return v.value, true
}

// lock takes the latch to commit, unlock gives it back.
func (c *cell) lock() {
	c.latch.Lock()
	c.busy.Store(true)
}

func (c *cell) unlock() {
	c.busy.Store(false)
	c.latch.Unlock()
}

// A Guard keeps a chain from being walked when there is nothing to drop.
type Guard string

// The guards.
const (
	NoGuard    Guard = ""
	RightGuard Guard = "right" // nothing that was left ends below what is read now
	// WrongGuard takes the mark of a key that has never been pruned, the highest
	// epoch, for an epoch. So the key never is pruned.
	WrongGuard Guard = "wrong"
)

// prune drops the versions that no reader at epoch least or above sees.
func (c *cell) prune(least epoch.Epoch, guard Guard) {
	c.latch.Lock()
	defer c.latch.Unlock()
	switch guard {
	case RightGuard:
		if c.ends != none && least < c.ends {
			return
		}
	case WrongGuard:
		if least < c.ends {
			return
		}
	}
	c.ends = c.chain.prune(least)
}
