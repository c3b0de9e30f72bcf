package soak

import (
	"context"
	"errors"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/mvcc"
)

// bank is a map for the transfers of package bench, with the options of a round.
type bank struct {
	m       *mvcc.Map[string, uint64]
	stopped func() bool
}

func newBank(setup bench.Setup, opts *mvcc.Options) *bank {
	opts.Isolation = mvcc.LevelSerializable
	if setup.Isolation == bench.Snapshot {
		opts.Isolation = mvcc.LevelSnapshot
	}
	b := &bank{m: mvcc.New[string, uint64](opts), stopped: setup.Stopped}
	for i, k := range setup.Keys {
		b.m.Store(k, setup.Values[i])
	}
	return b
}

func (b *bank) Close() { b.m.Close() }

func (b *bank) Session(worker int) bench.Session { return &teller{bank: b, direct: worker%2 == 0} }

// A teller is a session of the bank.
type teller struct {
	*bank
	direct  bool // commits by itself instead of by Update
	tries   uint64
	commits uint64
}

// Aborts implements [bench.Session].
func (s *teller) Aborts() uint64 { return s.tries - s.commits }

func (s *teller) Get(key string) (uint64, bool, error) {
	v, ok := s.m.Load(key)
	return v, ok, nil
}

func (s *teller) Put(key string, value uint64) error {
	s.m.Store(key, value)
	return nil
}

// Transfer implements [bench.Transferer].
func (s *teller) Transfer(from, to string, amount uint64) error {
	move := func(tx mvcc.Tx[string, uint64]) error {
		s.tries++
		a, _ := tx.Get(from)
		b, _ := tx.Get(to)
		tx.Set(from, a-amount)
		tx.Set(to, b+amount)
		return nil
	}
	for {
		var err error
		if s.direct {
			tx := s.m.Begin(nil)
			_ = move(tx)
			err = tx.Commit()
		} else {
			err = s.m.Update(context.Background(), &mvcc.TxOptions{MaxAttempts: 8}, move)
		}
		if err == nil {
			s.commits++
		}
		if !errors.Is(err, mvcc.ErrConflict) {
			return err
		}
		if s.stopped() {
			return bench.ErrStopped
		}
	}
}

// Sum implements [bench.Transferer].
func (s *teller) Sum() (total uint64, keys int, err error) {
	err = s.m.View(func(sn mvcc.Snapshot[string, uint64]) error {
		for _, v := range sn.All() {
			total += v
			keys++
		}
		return nil
	})
	return total, keys, err
}
