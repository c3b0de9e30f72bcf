package bench

import (
	"context"
	"errors"

	"github.com/mvccmap/mvccmap/mvcc"
)

// mvccEngine is the transactional map.
type mvccEngine struct {
	m       *mvcc.Map[string, uint64]
	stopped func() bool
}

func newMVCC(setup Setup) (Engine, error) {
	e, err := openMVCC(setup)
	return &mvccTxEngine{e}, err
}

func newMVCCDirect(setup Setup) (Engine, error) {
	e, err := openMVCC(setup)
	return &mvccDirectEngine{e}, err
}

func openMVCC(setup Setup) (*mvccEngine, error) {
	level := mvcc.LevelSerializable
	if setup.Isolation == Snapshot {
		level = mvcc.LevelSnapshot
	}
	e := &mvccEngine{
		m:       mvcc.New[string, uint64](&mvcc.Options{Capacity: len(setup.Keys), Isolation: level}),
		stopped: setup.Stopped,
	}
	for i, k := range setup.Keys {
		e.m.Store(k, setup.Values[i])
	}
	return e, nil
}

func (e *mvccEngine) Close() { e.m.Close() }

// mvccTxEngine runs every operation as a transaction of its own.
type mvccTxEngine struct{ *mvccEngine }

func (e *mvccTxEngine) Session(int) Session { return &mvccSession{mvccEngine: e.mvccEngine} }

type mvccSession struct {
	counted
	*mvccEngine
}

// update runs fn, which counts its runs in s.tries, until it has committed.
// Update itself gives up after a number of attempts.
func (s *mvccSession) update(fn func(tx mvcc.Tx[string, uint64]) error) error {
	for {
		err := s.m.Update(context.Background(), nil, fn)
		if err == nil {
			s.commits++
			return nil
		}
		if !errors.Is(err, mvcc.ErrConflict) {
			return err
		}
		if s.stopped() {
			return ErrStopped
		}
	}
}

func (s *mvccSession) Get(key string) (value uint64, ok bool, err error) {
	err = s.m.View(func(sn mvcc.Snapshot[string, uint64]) error {
		value, ok = sn.Get(key)
		return nil
	})
	return value, ok, err
}

func (s *mvccSession) Put(key string, value uint64) error {
	return s.update(func(tx mvcc.Tx[string, uint64]) error {
		s.tries++
		tx.Set(key, value)
		return nil
	})
}

func (s *mvccSession) Add(key string, delta uint64) (sum uint64, err error) {
	err = s.update(func(tx mvcc.Tx[string, uint64]) error {
		s.tries++
		v, _ := tx.Get(key)
		sum = v + delta
		tx.Set(key, sum)
		return nil
	})
	return sum, err
}

func (s *mvccSession) Begin() error {
	return s.m.View(func(mvcc.Snapshot[string, uint64]) error { return nil })
}

func (s *mvccSession) Transfer(from, to string, amount uint64) error {
	return s.update(func(tx mvcc.Tx[string, uint64]) error {
		s.tries++
		a, _ := tx.Get(from)
		b, _ := tx.Get(to)
		tx.Set(from, a-amount)
		tx.Set(to, b+amount)
		return nil
	})
}

func (s *mvccSession) Sum() (total uint64, keys int, err error) {
	err = s.m.View(func(sn mvcc.Snapshot[string, uint64]) error {
		for _, v := range sn.All() {
			total += v
			keys++
		}
		return nil
	})
	return total, keys, err
}

// mvccDirectEngine uses the one-key operations.
type mvccDirectEngine struct{ *mvccEngine }

func (e *mvccDirectEngine) Session(int) Session { return &mvccDirectSession{mvccEngine: e.mvccEngine} }

type mvccDirectSession struct {
	counted
	*mvccEngine
}

func (s *mvccDirectSession) Get(key string) (uint64, bool, error) {
	v, ok := s.m.Load(key)
	return v, ok, nil
}

func (s *mvccDirectSession) Put(key string, value uint64) error {
	s.m.Store(key, value)
	return nil
}

func (s *mvccDirectSession) Add(key string, delta uint64) (uint64, error) {
	for {
		s.tries++
		old, _ := s.m.Load(key)
		if mvcc.CompareAndSwap(s.m, key, old, old+delta) {
			s.commits++
			return old + delta, nil
		}
		if s.stopped() {
			return 0, ErrStopped
		}
	}
}
