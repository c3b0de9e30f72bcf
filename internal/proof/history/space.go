package history

import (
	"context"
	"iter"
	"math/rand/v2"

	"github.com/mvccmap/mvccmap/mvcc"
)

// A space is a map, or a database of two ordered tables, of which the second one has an index.
// A place is a key of one of them: an even one of the first, an odd one of the second.
type space[V any] struct {
	db   *mvcc.DB             // nil if there is one map
	maps [2]*mvcc.Map[int, V] // or the same one twice
	// sizes is the index, nil if there is one map.
	sizes *mvcc.Index[int, int, V]
}

// readers and writers are a snapshot or transaction, for each of the two.
type (
	readers[V any] [2]mvcc.Reader[int, V]
	writers[V any] [2]mvcc.Tx[int, V]
)

func (tx writers[V]) readers() readers[V] { return readers[V]{tx[0], tx[1]} }

// A transaction is a mvcc.Tx or mvcc.DBTx.
type transaction interface {
	Commit() error
	Rollback()
	OnCommit(fn func(epoch uint64))
	Epoch() uint64
}

// A snapshot is a mvcc.Snapshot or mvcc.DBSnapshot.
type snapshot[V any] struct {
	readers[V]
	mvccSnapshot
}

type mvccSnapshot interface {
	Close()
	Epoch() uint64
}

func (s *space[V]) mapOf(place int) *mvcc.Map[int, V] { return s.maps[place%2] }

func (s *space[V]) close() {
	if s.db != nil {
		s.db.Close()
		return
	}
	s.maps[0].Close()
}

func (s *space[V]) writersIn(tx mvcc.DBTx) writers[V] {
	return writers[V]{s.maps[0].In(tx), s.maps[1].In(tx)}
}

func (s *space[V]) begin(opts *mvcc.TxOptions) (transaction, writers[V]) {
	if s.db != nil {
		tx := s.db.Begin(opts)
		return tx, s.writersIn(tx)
	}
	tx := s.maps[0].Begin(opts)
	return tx, writers[V]{tx, tx}
}

func (s *space[V]) update(
	ctx context.Context, opts *mvcc.TxOptions, fn func(tx transaction, in writers[V]) error,
) error {
	if s.db != nil {
		return s.db.Update(ctx, opts, func(tx mvcc.DBTx) error { return fn(tx, s.writersIn(tx)) })
	}
	return s.maps[0].Update(ctx, opts, func(tx mvcc.Tx[int, V]) error {
		return fn(tx, writers[V]{tx, tx})
	})
}

func (s *space[V]) snapshotOf(sn mvcc.DBSnapshot) snapshot[V] {
	return snapshot[V]{readers[V]{s.maps[0].At(sn), s.maps[1].At(sn)}, sn}
}

func (s *space[V]) snapshot() snapshot[V] {
	if s.db != nil {
		return s.snapshotOf(s.db.Snapshot())
	}
	sn := s.maps[0].Snapshot()
	return snapshot[V]{readers[V]{sn, sn}, sn}
}

func (s *space[V]) snapshotAt(epoch uint64) (snapshot[V], error) {
	if s.db != nil {
		sn, err := s.db.SnapshotAt(epoch)
		if err != nil {
			return snapshot[V]{}, err
		}
		return s.snapshotOf(sn), nil
	}
	sn, err := s.maps[0].SnapshotAt(epoch)
	return snapshot[V]{readers[V]{sn, sn}, sn}, err
}

func (s *space[V]) view(fn func(s snapshot[V])) {
	if s.db != nil {
		_ = s.db.View(func(sn mvcc.DBSnapshot) error { fn(s.snapshotOf(sn)); return nil })
		return
	}
	_ = s.maps[0].View(func(sn mvcc.Snapshot[int, V]) error {
		fn(snapshot[V]{readers[V]{sn, sn}, sn})
		return nil
	})
}

// A rangeReader is a Tx or Snapshot of an ordered table.
type rangeReader[V any] interface {
	Ascend(r mvcc.Range[int]) iter.Seq2[int, V]
	Descend(r mvcc.Range[int]) iter.Seq2[int, V]
}

// scan returns all that is in the places from one up to another, or more.
func (s *space[V]) scan(rng *rand.Rand, from readers[V], low, high int) []iter.Seq2[int, V] {
	if s.db == nil {
		return []iter.Seq2[int, V]{from[0].All()}
	}
	part := mvcc.From(low).Before(high)
	first := from[0].(rangeReader[V]).Ascend(part)
	switch rng.IntN(3) {
	case 0:
		return []iter.Seq2[int, V]{first, s.sizes.Ascend(from[1], mvcc.Range[int]{})}
	case 1:
		first = from[0].(rangeReader[V]).Descend(part)
	}
	return []iter.Seq2[int, V]{first, from[1].(rangeReader[V]).Descend(part)}
}
