package bench

import (
	"context"
	"errors"

	"github.com/mvccmap/mvccmap/mvcc"
)

// mvccEngine is the transactional map.
type mvccEngine[K comparable, V any] struct {
	m       *mvcc.Map[K, V]
	options *mvcc.TxOptions // of every Update; nil: the defaults
	limit   int             // attempts at a one-key operation; 0: without end
	stopped func() bool
}

func openMVCC[K comparable, V any](setup SetupOf[K, V]) *mvccEngine[K, V] {
	e := &mvccEngine[K, V]{
		m:       mvcc.New[K, V](setup.Map.options(len(setup.Keys), setup.Isolation)),
		limit:   setup.Attempts,
		stopped: setup.Stopped,
	}
	if setup.Attempts > 0 {
		e.options = &mvcc.TxOptions{MaxAttempts: setup.Attempts}
	}
	for i, k := range setup.Keys {
		e.m.Store(k, setup.Values[i])
	}
	return e
}

func (e *mvccEngine[K, V]) Close() { e.m.Close() }

// Versions implements [Versioner].
func (e *mvccEngine[K, V]) Versions() int { return e.m.Stats().Versions }

// Pin implements [PinnerOf] for its sessions.
func (e *mvccEngine[K, V]) Pin() (PinOf[K, V], error) { return mvccPin[K, V]{e.m.Snapshot()}, nil }

// mvccPin is a snapshot that is open.
type mvccPin[K comparable, V any] struct{ s mvcc.Snapshot[K, V] }

func (p mvccPin[K, V]) Get(key K) (V, bool, error) {
	v, ok := p.s.Get(key)
	return v, ok, nil
}

func (p mvccPin[K, V]) Close() { p.s.Close() }

// mvccTxEngine runs every operation as a transaction of its own, mvccTxNumbers
// those on numbers, too.
type mvccTxEngine[K comparable, V any] struct{ *mvccEngine[K, V] }
type mvccTxNumbers[K comparable] struct{ *mvccEngine[K, uint64] }

func newMVCC[K comparable, V any](setup SetupOf[K, V]) (EngineOf[K, V], error) {
	return mvccTxEngine[K, V]{openMVCC(setup)}, nil
}

func newMVCCNumbers[K comparable](setup SetupOf[K, uint64]) (EngineOf[K, uint64], error) {
	return mvccTxNumbers[K]{openMVCC(setup)}, nil
}

func (e mvccTxEngine[K, V]) Session(int) SessionOf[K, V] {
	return &mvccSession[K, V]{mvccEngine: e.mvccEngine}
}

func (e mvccTxNumbers[K]) Session(int) SessionOf[K, uint64] {
	return &mvccNumberSession[K]{mvccSession[K, uint64]{mvccEngine: e.mvccEngine}}
}

type mvccSession[K comparable, V any] struct {
	counted
	*mvccEngine[K, V]
}

// update runs fn, which counts its runs in s.tries, until it has committed.
// Update itself gives up after a number of attempts.
func (s *mvccSession[K, V]) update(fn func(tx mvcc.Tx[K, V]) error) error {
	for {
		err := s.m.Update(context.Background(), s.options, fn)
		if err == nil {
			s.commits++
			return nil
		}
		if !errors.Is(err, mvcc.ErrConflict) {
			return err
		}
		switch {
		case s.options != nil:
			return ErrGaveUp
		case s.stopped():
			return ErrStopped
		}
	}
}

func (s *mvccSession[K, V]) Get(key K) (value V, ok bool, err error) {
	err = s.m.View(func(sn mvcc.Snapshot[K, V]) error {
		value, ok = sn.Get(key)
		return nil
	})
	return value, ok, err
}

func (s *mvccSession[K, V]) Put(key K, value V) error {
	return s.update(func(tx mvcc.Tx[K, V]) error {
		s.tries++
		tx.Set(key, value)
		return nil
	})
}

func (s *mvccSession[K, V]) Begin() error {
	return s.m.View(func(mvcc.Snapshot[K, V]) error { return nil })
}

func (s *mvccSession[K, V]) Batch(ops []OpOf[K, V], readOnly bool) error {
	if readOnly {
		return s.m.View(func(sn mvcc.Snapshot[K, V]) error {
			for i := range ops {
				ops[i].Old, ops[i].OK = sn.Get(ops[i].Key)
			}
			return nil
		})
	}
	return s.update(func(tx mvcc.Tx[K, V]) error {
		s.tries++
		for i := range ops {
			op := &ops[i]
			switch op.Kind {
			case OpGet, OpHas:
				op.Old, op.OK = tx.Get(op.Key)
			case OpPut:
				tx.Set(op.Key, op.Value)
			case OpModify:
				op.Old, op.OK = tx.Get(op.Key)
				tx.Set(op.Key, op.Value)
			case OpDelete:
				tx.Delete(op.Key)
			}
		}
		return nil
	})
}

// mvccNumberSession adds what is done with numbers.
type mvccNumberSession[K comparable] struct{ mvccSession[K, uint64] }

func (s *mvccNumberSession[K]) Add(key K, delta uint64) (sum uint64, err error) {
	err = s.update(func(tx mvcc.Tx[K, uint64]) error {
		s.tries++
		v, _ := tx.Get(key)
		sum = v + delta
		tx.Set(key, sum)
		return nil
	})
	return sum, err
}

func (s *mvccNumberSession[K]) Transfer(from, to K, amount uint64) error {
	return s.update(func(tx mvcc.Tx[K, uint64]) error {
		s.tries++
		a, _ := tx.Get(from)
		b, _ := tx.Get(to)
		tx.Set(from, a-amount)
		tx.Set(to, b+amount)
		return nil
	})
}

func (s *mvccNumberSession[K]) Sum() (total uint64, keys int, err error) {
	err = s.m.View(func(sn mvcc.Snapshot[K, uint64]) error {
		for _, v := range sn.All() {
			total += v
			keys++
		}
		return nil
	})
	return total, keys, err
}

// mvccDirectEngine uses the one-key operations, mvccDirectNumbers those on
// numbers, too.
type mvccDirectEngine[K comparable, V any] struct{ *mvccEngine[K, V] }
type mvccDirectNumbers[K comparable] struct{ *mvccEngine[K, uint64] }

func newMVCCDirect[K comparable, V any](setup SetupOf[K, V]) (EngineOf[K, V], error) {
	return mvccDirectEngine[K, V]{openMVCC(setup)}, nil
}

func newMVCCDirectNumbers[K comparable](setup SetupOf[K, uint64]) (EngineOf[K, uint64], error) {
	return mvccDirectNumbers[K]{openMVCC(setup)}, nil
}

func (e mvccDirectEngine[K, V]) Session(int) SessionOf[K, V] {
	return &mvccDirectSession[K, V]{mvccEngine: e.mvccEngine}
}

func (e mvccDirectNumbers[K]) Session(int) SessionOf[K, uint64] {
	return &mvccDirectNumberSession[K]{mvccDirectSession[K, uint64]{mvccEngine: e.mvccEngine}}
}

type mvccDirectSession[K comparable, V any] struct {
	counted
	*mvccEngine[K, V]
}

func (s *mvccDirectSession[K, V]) Get(key K) (V, bool, error) {
	v, ok := s.m.Load(key)
	return v, ok, nil
}

func (s *mvccDirectSession[K, V]) Put(key K, value V) error {
	s.m.Store(key, value)
	return nil
}

// mvccDirectNumberSession adds what is done with numbers.
type mvccDirectNumberSession[K comparable] struct{ mvccDirectSession[K, uint64] }

func (s *mvccDirectNumberSession[K]) Add(key K, delta uint64) (uint64, error) {
	for n := 1; ; n++ {
		s.tries++
		old, _ := s.m.Load(key)
		if mvcc.CompareAndSwap(s.m, key, old, old+delta) {
			s.commits++
			return old + delta, nil
		}
		switch {
		case n == s.limit:
			return 0, ErrGaveUp
		case s.stopped():
			return 0, ErrStopped
		}
	}
}
