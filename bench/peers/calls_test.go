package peers

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/hashicorp/go-memdb"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/btree"
	"github.com/tidwall/buntdb"
	"go.etcd.io/bbolt"

	"github.com/mvccmap/mvccmap/mvcc"
)

// What single calls cost beside the peers that have them, by one goroutine:
//
//	go test -run '^$' -bench Calls -count 10 .
//
// A page is 20 records behind one that a client has kept, by an index of which 100 records have each
// key; a facet is how many records a key has, and how many keys there are in a part of them.

const (
	callRecords = 100_000
	callGroup   = 100
	callPage    = 20
)

// A call is measured for each engine that has it.
type call struct {
	what, engine string
	run          func(r *rand.Rand) error
}

func BenchmarkCalls(b *testing.B) {
	for _, begin := range []func(b *testing.B) []call{
		callsOfMvcc, callsOfMemDB, callsOfBuntDB, callsOfBadger, callsOfBBolt, callsOfBTree,
	} {
		for _, c := range begin(b) {
			b.Run(c.what+"/engine="+c.engine, func(b *testing.B) {
				b.ReportAllocs()
				r := rand.New(rand.NewPCG(1, 1))
				for b.Loop() {
					if err := c.run(r); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func wants(what string, got, want int) error {
	if got != want {
		return fmt.Errorf("%s: %d, want %d", what, got, want)
	}
	return nil
}

// A callRow is a record: go-memdb finds its index key by reflection, as its users do.
type callRow struct{ ID, Group uint64 }

func callsOfMvcc(b *testing.B) []call {
	db := mvcc.NewDB(nil)
	b.Cleanup(db.Close)
	rows := mvcc.NewOrderedTable[uint64, callRow](db, "rows", nil)
	for id := range uint64(callRecords) {
		rows.Store(id, callRow{id, id / callGroup})
	}
	groups, err := mvcc.NewOrderedIndex(rows, "group",
		func(_ uint64, r callRow) []uint64 { return []uint64{r.Group} }, nil)
	require.NoError(b, err)
	plain := mvcc.NewOrderedTable[uint64, uint64](db, "plain", nil)
	for id := range uint64(callRecords) {
		plain.Store(id, id)
	}
	numbers := mvcc.NewTable[string, uint64](db, "numbers", nil)
	sequence := mvcc.NewSequence(numbers, "rows", 0)
	lasting := mvcc.New[uint64, time.Time](nil)
	b.Cleanup(lasting.Close)
	lasting.Expire(func(_ uint64, until time.Time) time.Time { return until })
	kept := mvcc.New[uint64, uint64](&mvcc.Options{Retain: time.Hour})
	b.Cleanup(kept.Close)
	for i := range uint64(10) {
		kept.Store(1, i)
	}
	past := kept.Epoch()
	kept.Store(1, 10)
	until := time.Now().Add(time.Hour)

	return []call{
		{"page", "mvcc", func(r *rand.Rand) error {
			id, n := r.Uint64N(callRecords-callGroup), 0
			after := &mvcc.Entry[uint64, uint64]{IndexKey: id / callGroup, Key: id}
			return db.View(func(s mvcc.DBSnapshot) error {
				for range groups.AscendEntries(rows.At(s), mvcc.Range[uint64]{}, after) {
					if n++; n == callPage {
						break
					}
				}
				return wants("records", n, callPage)
			})
		}},
		{"facet", "mvcc", func(r *rand.Rand) error {
			group := r.Uint64N(callRecords/callGroup - 10)
			return db.View(func(s mvcc.DBSnapshot) error {
				n := 0
				for range groups.Keys(rows.At(s), mvcc.From(group).Before(group+10)) {
					n++
				}
				return errors.Join(wants("keys", n, 10),
					wants("records", groups.Count(rows.At(s), mvcc.From(group).UpTo(group)), callGroup))
			})
		}},
		{"delete-range", "mvcc", func(r *rand.Rand) error {
			from := r.Uint64N(callRecords - callGroup)
			err := wants("deleted", plain.DeleteRange(mvcc.From(from).Before(from+callGroup)), callGroup)
			for id := from; id < from+callGroup; id++ {
				plain.Store(id, id)
			}
			return err
		}},
		{"number", "mvcc", func(*rand.Rand) error {
			_, err := sequence.Next()
			return err
		}},
		{"number", "mvcc-record", func(*rand.Rand) error { // what a sequence is for
			return numbers.Update(context.Background(), nil, func(tx mvcc.Tx[string, uint64]) error {
				n, _ := tx.Get("other")
				tx.Set("other", n+1)
				return nil
			})
		}},
		{"expiring-put", "mvcc", func(r *rand.Rand) error {
			lasting.Store(r.Uint64N(callRecords), until)
			return nil
		}},
		{"history", "mvcc", func(*rand.Rand) error {
			return wants("revisions", len(mvcc.History(kept, 1)), 11)
		}},
		{"past", "mvcc", func(*rand.Rand) error {
			s, err := kept.SnapshotAt(past)
			if err != nil {
				return err
			}
			defer s.Close()
			value, _ := s.Get(1)
			return wants("the value", int(value), 9)
		}},
	}
}

func callsOfMemDB(b *testing.B) []call {
	db, err := memdb.NewMemDB(&memdb.DBSchema{Tables: map[string]*memdb.TableSchema{"rows": {
		Name: "rows",
		Indexes: map[string]*memdb.IndexSchema{
			"id": {Name: "id", Unique: true, Indexer: &memdb.UintFieldIndex{Field: "ID"}},
			"group": {Name: "group", Indexer: &memdb.CompoundIndex{Indexes: []memdb.Indexer{
				&memdb.UintFieldIndex{Field: "Group"}, &memdb.UintFieldIndex{Field: "ID"}}}},
		},
	}}})
	require.NoError(b, err)
	tx := db.Txn(true)
	for id := range uint64(callRecords) {
		require.NoError(b, tx.Insert("rows", &callRow{id, id / callGroup}))
	}
	tx.Commit()
	return []call{
		{"page", "memdb", func(r *rand.Rand) error {
			id, n := r.Uint64N(callRecords-callGroup), 0
			tx := db.Txn(false)
			defer tx.Abort()
			rows, err := tx.LowerBound("rows", "group", id/callGroup, id+1)
			if err != nil {
				return err
			}
			for row := rows.Next(); row != nil; row = rows.Next() {
				if n++; n == callPage {
					break
				}
			}
			return wants("records", n, callPage)
		}},
		{"facet", "memdb", func(r *rand.Rand) error {
			group := r.Uint64N(callRecords/callGroup - 10)
			tx := db.Txn(false)
			defer tx.Abort()
			rows, err := tx.LowerBound("rows", "group", group, uint64(0))
			if err != nil {
				return err
			}
			keys := map[uint64]int{}
			for row := rows.Next(); row != nil; row = rows.Next() {
				of := row.(*callRow).Group
				if of == group+10 {
					break
				}
				keys[of]++
			}
			return errors.Join(wants("keys", len(keys), 10), wants("records", keys[group], callGroup))
		}},
	}
}

func callsOfBuntDB(b *testing.B) []call {
	db, err := buntdb.Open(":memory:")
	require.NoError(b, err)
	b.Cleanup(func() { _ = db.Close() })
	key := func(id uint64) string { return fmt.Sprintf("%08d", id) }
	require.NoError(b, db.CreateIndex("group", "*", buntdb.IndexString))
	require.NoError(b, db.Update(func(tx *buntdb.Tx) error {
		for id := range uint64(callRecords) {
			// The value ends with the key: so the index has an order among those of one group.
			if _, _, err := tx.Set(key(id), key(id/callGroup)+key(id), nil); err != nil {
				return err
			}
		}
		return nil
	}))
	lasting := &buntdb.SetOptions{Expires: true, TTL: time.Hour}
	return []call{
		{"page", "buntdb", func(r *rand.Rand) error {
			id, n := r.Uint64N(callRecords-callGroup), 0
			err := db.View(func(tx *buntdb.Tx) error {
				return tx.AscendGreaterOrEqual("group", key(id/callGroup)+key(id+1),
					func(_, _ string) bool { n++; return n < callPage })
			})
			return errors.Join(err, wants("records", n, callPage))
		}},
		{"expiring-put", "buntdb", func(r *rand.Rand) error {
			id := r.Uint64N(callRecords)
			return db.Update(func(tx *buntdb.Tx) error {
				_, _, err := tx.Set(key(id), key(id/callGroup)+key(id), lasting)
				return err
			})
		}},
	}
}

func callsOfBadger(b *testing.B) []call {
	db, err := badger.Open(badger.DefaultOptions("").WithInMemory(true).WithLogger(nil).
		WithNumVersionsToKeep(100).WithMetricsEnabled(false))
	require.NoError(b, err)
	b.Cleanup(func() { _ = db.Close() })
	key := func(id uint64) []byte { return binary.BigEndian.AppendUint64(nil, id) }
	for i := range uint64(11) {
		require.NoError(b, db.Update(func(tx *badger.Txn) error { return tx.Set(key(1), key(i)) }))
	}
	sequence, err := db.GetSequence([]byte("sequence"), 1000)
	require.NoError(b, err)
	b.Cleanup(func() { _ = sequence.Release() })
	return []call{
		{"number", "badger", func(*rand.Rand) error {
			_, err := sequence.Next()
			return err
		}},
		{"expiring-put", "badger", func(r *rand.Rand) error {
			id := callRecords + r.Uint64N(callRecords)
			return db.Update(func(tx *badger.Txn) error {
				return tx.SetEntry(badger.NewEntry(key(id), key(id)).WithTTL(time.Hour))
			})
		}},
		{"history", "badger", func(*rand.Rand) error {
			n := 0
			err := db.View(func(tx *badger.Txn) error {
				opts := badger.DefaultIteratorOptions
				opts.AllVersions, opts.PrefetchValues = true, false
				it := tx.NewKeyIterator(key(1), opts)
				defer it.Close()
				for it.Rewind(); it.Valid(); it.Next() {
					if err := it.Item().Value(func([]byte) error { return nil }); err != nil {
						return err
					}
					n++
				}
				return nil
			})
			return errors.Join(err, wants("revisions", n, 11))
		}},
	}
}

func callsOfBBolt(b *testing.B) []call {
	db, err := bbolt.Open(filepath.Join(b.TempDir(), "db"), 0o600, &bbolt.Options{NoSync: true})
	require.NoError(b, err)
	b.Cleanup(func() { _ = db.Close() })
	require.NoError(b, db.Update(func(tx *bbolt.Tx) error {
		_, err := tx.CreateBucket(bboltBucket)
		return err
	}))
	return []call{{"number", "bbolt", func(*rand.Rand) error {
		return db.Update(func(tx *bbolt.Tx) error {
			_, err := tx.Bucket(bboltBucket).NextSequence()
			return err
		})
	}}}
}

func callsOfBTree(b *testing.B) []call {
	type entry [2]uint64
	groups := btree.NewBTreeG(func(x, y entry) bool {
		return x[0] < y[0] || x[0] == y[0] && x[1] < y[1]
	}) // which has a lock of its own
	plain := btree.NewBTreeG(func(x, y entry) bool { return x[0] < y[0] })
	for id := range uint64(callRecords) {
		groups.Set(entry{id / callGroup, id})
		plain.Set(entry{id, id})
	}
	return []call{
		{"page", "btree", func(r *rand.Rand) error {
			id, n := r.Uint64N(callRecords-callGroup), 0
			groups.Ascend(entry{id / callGroup, id + 1}, func(entry) bool { n++; return n < callPage })
			return wants("records", n, callPage)
		}},
		{"facet", "btree", func(r *rand.Rand) error {
			group, keys := r.Uint64N(callRecords/callGroup-10), map[uint64]int{}
			groups.Ascend(entry{group, 0}, func(e entry) bool {
				if e[0] == group+10 {
					return false
				}
				keys[e[0]]++
				return true
			})
			return errors.Join(wants("keys", len(keys), 10), wants("records", keys[group], callGroup))
		}},
		{"delete-range", "btree", func(r *rand.Rand) error {
			from, n := r.Uint64N(callRecords-callGroup), 0
			for id := from; id < from+callGroup; id++ {
				if _, ok := plain.Delete(entry{id}); ok {
					n++
				}
			}
			for id := from; id < from+callGroup; id++ {
				plain.Set(entry{id, id})
			}
			return wants("deleted", n, callGroup)
		}},
	}
}
