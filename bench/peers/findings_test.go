package peers

import (
	"slices"
	"testing"

	"github.com/dgraph-io/badger/v4"
	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/bench"
)

// What is said of the isolation of the peers, as schedules of a single goroutine
// where that is possible. If one of these fails, a peer has become better (or
// worse), and what is said of it must change.

func badgerCount(tx *badger.Txn) (n int) {
	it := tx.NewIterator(badger.DefaultIteratorOptions)
	defer it.Close()
	for it.Rewind(); it.Valid(); it.Next() {
		n++
	}
	return n
}

// Two transactions count the keys, and each inserts one: run one after the other,
// they would not count the same. Badger commits both.
func TestBadgerMissesPhantoms(t *testing.T) {
	db := open(t, "badger", "a", "b").(*badgerEngine[uint64]).db
	t1, t2 := db.NewTransaction(true), db.NewTransaction(true)
	defer t1.Discard()
	defer t2.Discard()
	require.Equal(t, 2, badgerCount(t1))
	require.Equal(t, 2, badgerCount(t2))
	require.NoError(t, t1.Set([]byte("c"), nil))
	require.NoError(t, t2.Set([]byte("d"), nil))
	require.NoError(t, t1.Commit())
	require.NoError(t, t2.Commit())
}

// Write skew is noticed.
func TestBadgerNoticesWriteSkew(t *testing.T) {
	db := open(t, "badger", "a", "b").(*badgerEngine[uint64]).db
	t1, t2 := db.NewTransaction(true), db.NewTransaction(true)
	defer t1.Discard()
	defer t2.Discard()
	_, err := t1.Get([]byte("a"))
	require.NoError(t, err)
	_, err = t2.Get([]byte("b"))
	require.NoError(t, err)
	require.NoError(t, t1.Set([]byte("b"), nil))
	require.NoError(t, t2.Set([]byte("a"), nil))
	require.NoError(t, t1.Commit())
	require.ErrorIs(t, t2.Commit(), badger.ErrConflict)
}

// Snapshots do not change, whatever is put or deleted meanwhile.
func TestSnapshots(t *testing.T) {
	for _, name := range []string{"badger", "memdb", "bbolt", "btree"} {
		e := open(t, name, "a", "b")
		pinner := e.Session(0).(bench.Pinner[uint64])
		pin, err := pinner.Pin()
		require.NoError(t, err)
		s := e.Session(1)
		require.NoError(t, s.Put("a", 9))
		require.NoError(t, s.(bench.Batcher[uint64]).Batch([]op{
			{Kind: bench.OpDelete, Key: "b"},
			{Kind: bench.OpPut, Key: "c", Value: 3},
		}, false))
		for i, key := range []string{"a", "b", "c"} {
			v, ok, err := pin.Get(key)
			require.NoError(t, err)
			require.Equal(t, i < 2, ok, "%s, key %s", name, key)
			if ok {
				require.EqualValues(t, i, v, "%s, key %s", name, key)
			}
		}
		pin.Close()
	}
}

// Every kind of operation in a transaction, on keys that are there and that are
// not, and after others in the same transaction.
func TestBatch(t *testing.T) {
	for _, p := range Peers() {
		e := open(t, p.Name, "a", "b")
		s, ok := e.Session(0).(bench.Batcher[uint64])
		if !ok {
			continue
		}
		want := []op{
			{Kind: bench.OpGet, Key: "a", OK: true, Old: 0},
			{Kind: bench.OpHas, Key: "b", OK: true},
			{Kind: bench.OpPut, Key: "a", Value: 7},
			{Kind: bench.OpGet, Key: "a", OK: true, Old: 7},
			{Kind: bench.OpModify, Key: "b", Value: 8, OK: true, Old: 1},
			{Kind: bench.OpModify, Key: "b", Value: 9, OK: true, Old: 8},
			{Kind: bench.OpHas, Key: "none", OK: false},
			{Kind: bench.OpGet, Key: "none", OK: false},
		}
		if _, lacks := p.Lacks["free-batch"]; !lacks {
			want = append(want,
				op{Kind: bench.OpDelete, Key: "a"},
				op{Kind: bench.OpGet, Key: "a", OK: false},
				op{Kind: bench.OpHas, Key: "a", OK: false},
				op{Kind: bench.OpDelete, Key: "a"},
				op{Kind: bench.OpModify, Key: "a", Value: 4, OK: false},
				op{Kind: bench.OpModify, Key: "a", Value: 5, OK: true, Old: 4},
				op{Kind: bench.OpDelete, Key: "none"},
			)
		}
		ops := slices.Clone(want)
		for i := range ops {
			ops[i].Old, ops[i].OK = 0, ops[i].Kind != bench.OpPut && !ops[i].OK // as a caller may leave it
			switch ops[i].Kind {
			case bench.OpPut, bench.OpDelete:
				ops[i].OK = false
			}
		}
		require.NoError(t, s.Batch(ops, false), p.Name)
		for i := range ops {
			if !ops[i].OK {
				ops[i].Old = 0 // means nothing
			}
		}
		require.Empty(t, cmp.Diff(want, ops), p.Name)

		read := []op{{Kind: bench.OpGet, Key: "b"}, {Kind: bench.OpHas, Key: "a"}}
		require.NoError(t, s.Batch(read, true), p.Name)
		require.EqualValues(t, 9, read[0].Old, p.Name)
		require.True(t, read[1].OK, p.Name)
	}
}

// A byte slice that was read is a copy: a store may use its own again.
func TestDecodeCopies(t *testing.T) {
	text := []byte("text of some length")
	got, err := decode[[]byte](text)
	require.NoError(t, err)
	require.Equal(t, text, got)
	require.NotSame(t, &text[0], &got[0])
}
