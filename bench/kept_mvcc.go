package bench

import (
	"context"
	"maps"
	"time"

	"github.com/mvccmap/mvccmap/codec"
	"github.com/mvccmap/mvccmap/journal"
	"github.com/mvccmap/mvccmap/mvcc"
)

// Expire implements [Expirer].
func (e *mvccEngine[K, V]) Expire(until func(key K, value V) time.Time) { e.m.Expire(until) }

// Keep implements [Keeper], by a journal.
func (s *mvccSession[K, V]) Keep(dir string) (Kept[K], error) {
	j, err := journal.Open(context.Background(), dir, s.db, codec.Gob, nil)
	return &mvccKept[K]{Journal: j, dir: dir}, err
}

type mvccKept[K comparable] struct {
	*journal.Journal
	dir string
}

func (k *mvccKept[K]) Sync() error { return k.Journal.Sync(context.Background()) }

func (k *mvccKept[K]) Load() (map[K]uint64, error) {
	db := mvcc.NewDB(nil)
	defer db.Close()
	m := mvcc.NewTable[K, uint64](db, tableName, nil)
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
