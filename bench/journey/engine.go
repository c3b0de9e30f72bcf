package journey

import (
	"runtime"

	"github.com/mvccmap/mvccmap/bench"
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
