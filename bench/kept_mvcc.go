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
