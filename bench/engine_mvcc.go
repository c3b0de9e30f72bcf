package bench

import (
	"context"
	"errors"
	"iter"
	"maps"
	"time"

	"github.com/mvccmap/mvccmap/codec"
	"github.com/mvccmap/mvccmap/journal"
	"github.com/mvccmap/mvccmap/mvcc"
)

// mvccEngine is the transactional map.
type mvccEngine[V any] struct {
	m       *mvcc.Map[string, V]
	db      *mvcc.DB                  // of m, if it is a table
	numbers *mvcc.Map[string, uint64] // m, if values are numbers
	options *mvcc.TxOptions           // of every Update; nil: the defaults
	direct  bool                      // by its one-key operations
	Limits
}

func openMVCC[V any](setup Setup[V]) *mvccEngine[V] {
	options := setup.Map.options(len(setup.Keys), setup.Isolation)
	var m *mvcc.Map[string, V]
	var db *mvcc.DB
	switch {
	case setup.Kept:
		db = mvcc.NewDB(options)
		m = mvcc.NewTable[string, V](db, tableName, nil)
	case setup.Ordered:
		m = mvcc.NewOrdered[string, V](options)
	default:
		m = mvcc.New[string, V](options)
	}
	e := &mvccEngine[V]{m: m, db: db, Limits: setup.Limits}
	e.numbers, _ = any(m).(*mvcc.Map[string, uint64])
	if setup.Attempts > 0 {
		e.options = &mvcc.TxOptions{MaxAttempts: setup.Attempts}
	}
	for i, k := range setup.Keys {
		m.Store(k, setup.Values[i])
	}
	return e
}

func newMVCC[V any](setup Setup[V]) (Engine[V], error) {
	return openMVCC(setup), nil
}

func newMVCCDirect[V any](setup Setup[V]) (Engine[V], error) {
	e := openMVCC(setup)
	e.direct = true
	return e, nil
}

func (e *mvccEngine[V]) Session(int) Session[V] {
	if e.direct {
		return &mvccDirectSession[V]{mvccEngine: e}
	}
	return &mvccSession[V]{mvccEngine: e}
}

func (e *mvccEngine[V]) Close() {
	e.m.Close()
	if e.db != nil {
		e.db.Close()
	}
}

// Versions implements [Versioner].
func (e *mvccEngine[V]) Versions() int { return e.sources()[""]().Versions }

func (e *mvccEngine[V]) sources() map[string]func() mvcc.Stats {
	if e.db != nil {
		return e.db.Sources("")
	}
	return map[string]func() mvcc.Stats{"": e.m.Stats}
}

// Pin implements [Pinner] for its sessions.
func (e *mvccEngine[V]) Pin() (Pin[V], error) { return mvccPin[V]{e.m.Snapshot()}, nil }

// mvccPin is a snapshot that is open.
type mvccPin[V any] struct{ s mvcc.Snapshot[string, V] }

func (p mvccPin[V]) Get(key string) (V, bool, error) {
	v, ok := p.s.Get(key)
	return v, ok, nil
}

func (p mvccPin[V]) Close() { p.s.Close() }

// mvccSession runs every operation as a transaction of its own.
type mvccSession[V any] struct {
	Attempts
	*mvccEngine[V]
}

// update runs fn, which counts its runs in s.Tries, on m, which is s.m or s.numbers, until it
// has committed. Update itself gives up after a number of attempts.
func update[V, W any](
	s *mvccSession[V], m *mvcc.Map[string, W], fn func(tx mvcc.Tx[string, W]) error,
) error {
	for {
		err := m.Update(context.Background(), s.options, fn)
		if over, err := s.ended(err, s.options, s.Stopped); over {
			return err
		}
	}
}

// ended reports whether an Update that returned err was the last, and with which result: after a
// conflict another follows, unless options limit the attempts.
func (a *Attempts) ended(
	err error, options *mvcc.TxOptions, stopped func() bool,
) (over bool, result error) {
	switch {
	case err == nil || err == errRolledBack:
		a.Commits++ // or ended as it was to
		return true, err
	case !errors.Is(err, mvcc.ErrConflict):
		return true, err
	case options != nil:
		return true, ErrGaveUp
	case stopped():
		return true, ErrStopped
	}
	return false, nil
}

func (s *mvccSession[V]) Get(key string) (value V, ok bool, err error) {
	err = s.m.View(func(sn mvcc.Snapshot[string, V]) error {
		value, ok = sn.Get(key)
		return nil
	})
	return value, ok, err
}

func (s *mvccSession[V]) Put(key string, value V) error {
	return update(s, s.m, func(tx mvcc.Tx[string, V]) error {
		s.Tries++
		tx.Set(key, value)
		return nil
	})
}

func (s *mvccSession[V]) Begin() error {
	return s.m.View(func(mvcc.Snapshot[string, V]) error { return nil })
}

func (s *mvccSession[V]) Batch(ops []Op[V], readOnly bool) error {
	if readOnly {
		return s.m.View(func(sn mvcc.Snapshot[string, V]) error {
			for i := range ops {
				ops[i].Old, ops[i].OK = sn.Get(ops[i].Key)
			}
			return nil
		})
	}
	return update(s, s.m, func(tx mvcc.Tx[string, V]) error {
		s.Tries++
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

func (s *mvccSession[V]) Add(key string, delta uint64) (sum uint64, err error) {
	err = update(s, s.numbers, func(tx mvcc.Tx[string, uint64]) error {
		s.Tries++
		v, _ := tx.Get(key)
		sum = v + delta
		tx.Set(key, sum)
		return nil
	})
	return sum, err
}

func (s *mvccSession[V]) Transfer(from, to string, amount uint64) error {
	return update(s, s.numbers, func(tx mvcc.Tx[string, uint64]) error {
		s.Tries++
		a, _ := tx.Get(from)
		b, _ := tx.Get(to)
		tx.Set(from, a-amount)
		tx.Set(to, b+amount)
		return nil
	})
}

func (s *mvccSession[V]) Sum() (total uint64, keys int, err error) {
	err = s.numbers.View(func(sn mvcc.Snapshot[string, uint64]) error {
		for _, v := range sn.All() {
			total += v
			keys++
		}
		return nil
	})
	return total, keys, err
}

// Follow implements [Follower].
func (s *mvccSession[V]) Follow(
	ctx context.Context, begin func(all iter.Seq2[string, uint64]),
	commit func(all []mvcc.Change[string, uint64]) error,
) error {
	for ctx.Err() == nil {
		sn := s.numbers.Snapshot()
		commits := s.numbers.Watch(ctx, &mvcc.WatchOptions[string, uint64]{Since: sn})
		begin(sn.All())
		sn.Close()
		for c, err := range commits {
			if err != nil { // a gap, or the end
				break
			}
			if err := commit(c.Changes); err != nil {
				return err
			}
		}
	}
	return nil
}

// Range implements [Ranger].
func (s *mvccSession[V]) Range(low string, n int, visit func(key string, value V)) error {
	return s.m.View(func(sn mvcc.Snapshot[string, V]) error {
		for key, value := range sn.Ascend(mvcc.From(low)) {
			visit(key, value)
			if n--; n <= 0 {
				break
			}
		}
		return nil
	})
}

// mvccDirectSession uses the one-key operations.
type mvccDirectSession[V any] struct {
	Attempts
	*mvccEngine[V]
}

func (s *mvccDirectSession[V]) Get(key string) (V, bool, error) {
	v, ok := s.m.Load(key)
	return v, ok, nil
}

func (s *mvccDirectSession[V]) Put(key string, value V) error {
	s.m.Store(key, value)
	return nil
}

// Delete implements [Deleter].
func (s *mvccDirectSession[V]) Delete(key string) error {
	s.m.Delete(key)
	return nil
}

// Swap implements [Swapper].
func (s *mvccDirectSession[V]) Swap(key string, value V) (V, bool, error) {
	old, ok := s.m.Swap(key, value)
	return old, ok, nil
}

func (s *mvccDirectSession[V]) Add(key string, delta uint64) (uint64, error) {
	for n := 1; ; n++ {
		s.Tries++
		old, _ := s.numbers.Load(key)
		if mvcc.CompareAndSwap(s.numbers, key, old, old+delta) {
			s.Commits++
			return old + delta, nil
		}
		if err := s.Over(n); err != nil {
			return 0, err
		}
	}
}

// Expire implements [Expirer].
func (e *mvccEngine[V]) Expire(until func(key string, value V) time.Time) { e.m.Expire(until) }

// Keep implements [Keeper], by a journal.
func (s *mvccSession[V]) Keep(dir string) (Kept, error) {
	j, err := journal.Open(context.Background(), dir, s.db, codec.Gob, nil)
	return &mvccKept{Journal: j, dir: dir}, err
}

type mvccKept struct {
	*journal.Journal
	dir string
}

func (k *mvccKept) Sync() error { return k.Journal.Sync(context.Background()) }

func (k *mvccKept) Load() (map[string]uint64, error) {
	db := mvcc.NewDB(nil)
	defer db.Close()
	m := mvcc.NewTable[string, uint64](db, tableName, nil)
	j, err := journal.Open(context.Background(), k.dir, db, codec.Gob, nil)
	if err != nil {
		return nil, err
	}
	s := m.Snapshot()
	defer s.Close()
	return maps.Collect(s.All()), j.Close()
}

// tableName is the name of a database's only table.
const tableName = "keys"
