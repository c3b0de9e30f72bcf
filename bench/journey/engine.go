package journey

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/epoch"
)

// Engine returns an engine of package bench that is a map of the parts of c.
func Engine(name, doc string, c Config) bench.EngineSpec {
	return bench.EngineSpec{
		Name: name, Doc: doc, Unordered: true, NoSnapshots: "its transactions end with their function",
		New: func(setup bench.Setup) (bench.Engine, error) {
			if len(setup.Tables) != 1 || !setup.Tables[0].Numbers {
				return nil, errors.New("journey: expected one table of numbers")
			}
			table := &setup.Tables[0]
			e := &engine{m: New(c), Limits: setup.Limits}
			tx := e.m.Begin()
			for i, key := range table.Keys {
				if key != int64(i) {
					return nil, fmt.Errorf("journey: key %d: expected %d", key, i)
				}
				e.keys = append(e.keys, fmt.Sprintf("key-%07d", i))
				tx.Put(e.keys[i], uint64(table.Records[i].Number))
			}
			return e, tx.Commit()
		},
	}
}

// An engine has strings as keys, as the post has.
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
func (e *engine) Session(int) bench.Session { return &session{engine: e} }

// A session is its own [bench.Access].
type session struct {
	bench.Attempts
	*engine
	tx *Tx // under way
}

// Do implements [bench.Session].
func (s *session) Do(readOnly bool, fn func(tx bench.Access) error) error {
	for n := 1; ; n++ {
		s.Tries++
		s.tx = s.m.Begin()
		if err := fn(s); err != nil || readOnly {
			s.Commits++
			s.tx.End()
			return err
		}
		if s.m.config.Yield {
			runtime.Gosched()
		}
		if s.tx.Commit() == nil {
			s.Commits++
			return nil
		}
		if err := s.Over(n); err != nil {
			return err
		}
	}
}

func (s *session) Get(_ int, key int64) (bench.Record, bool) {
	value, ok := s.tx.Get(s.keys[key])
	return bench.Record{Number: int64(value)}, ok
}

func (s *session) Put(_ int, key int64, r bench.Record) { s.tx.Put(s.keys[key], uint64(r.Number)) }

func (s *session) Add(_ int, key, delta int64) {
	value, _ := s.tx.Get(s.keys[key])
	s.tx.Put(s.keys[key], value+uint64(delta))
}

func (s *session) Delete(int, int64) { panic("journey: nothing is deleted") }

func (s *session) Range(int, int64, func(int64, bench.Record) bool) {
	panic("journey: its keys have no order")
}

func (s *session) All(_ int, visit func(key int64, r bench.Record)) {
	for i, name := range s.keys {
		if value, ok := s.tx.Get(name); ok {
			visit(int64(i), bench.Record{Number: int64(value)})
		}
	}
}

// A cell is a key's place in the map.
type cell struct {
	id uint64 // latches are taken in this order

	latch sync.Mutex
	// busy says that a committer holds the latch: it may have drawn an epoch and not
	// installed its version yet.
	busy  atomic.Bool
	chain chain

	// ends is the lowest epoch at which one of the versions ends that the last pruning left; none
	// if only the newest was left, or before the first pruning. Guarded by latch.
	ends epoch.Epoch
}

// read returns the value to be seen at e.
func (c *cell) read(e epoch.Epoch) (value uint64, ok bool) {
	if c.busy.Load() { // a committer that draws an epoch up to e was busy before the clock had e
		c.latch.Lock()
		c.latch.Unlock() //lint:ignore SA2001 to wait for it is all
	}
	v := c.chain.versionAt(e)
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
	RightGuard Guard = "right" // no version that was left ends below an epoch read now
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
