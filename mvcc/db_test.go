package mvcc

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/debug/stage"
	"github.com/mvccmap/mvccmap/internal/engine/favour"
)

type shop struct {
	db     *DB
	stock  *Map[string, int]
	orders *Map[int, int]
}

func newShop(t *testing.T, opts *Options) shop {
	db := newDB(t, opts)
	return shop{db, NewTable[string, int](db, "stock", nil), NewTable[int, int](db, "orders", nil)}
}

func TestDB(t *testing.T) {
	s := newShop(t, nil)
	require.Equal(t, []string{"orders", "stock"}, s.db.Tables())
	require.Equal(t, "stock", s.stock.Name())
	before := s.db.Snapshot()
	defer before.Close()
	var inner DBTx
	epochs := []uint64{}
	err := s.db.Update(bg, nil, func(tx DBTx) error {
		inner = tx
		stock, orders := s.stock.In(tx), s.orders.In(tx)
		require.Equal(t, stock, s.stock.In(tx), "the same transaction each time")
		stock.Set("apple", 3)
		orders.Set(1, 7)
		orders.OnCommit(func(e uint64) { epochs = append(epochs, e) })
		_, ok := s.stock.Load("apple")
		require.False(t, ok)
		value, _ := s.stock.In(tx).Get("apple")
		require.Equal(t, 3, value)
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, []uint64{s.db.Epoch()}, epochs, "both in one commit")
	require.EqualValues(t, 1, s.db.Stats().Commits)
	require.PanicsWithValue(t, ErrTxDone, func() { s.stock.In(inner) })
	require.Zero(t, s.stock.At(before).Len()+s.orders.At(before).Len())
	require.NoError(t, s.db.View(func(v DBSnapshot) error {
		require.Equal(t, 1, s.stock.At(v).Len())
		value, ok := s.orders.At(v).Get(1)
		require.True(t, ok)
		require.Equal(t, 7, value)
		return nil
	}))
	at := before.Epoch()
	s.stock.At(before).Close()
	require.PanicsWithValue(t, ErrTxDone, func() { before.Epoch() }, "it is the same snapshot")
	_, err = s.db.SnapshotAt(at + 100)
	require.ErrorIs(t, err, ErrEpochGone)

	boom := errors.New("boom")
	require.Same(t, boom, s.db.Update(bg, nil, func(tx DBTx) error {
		s.stock.In(tx).Set("pear", 1)
		return boom
	}))
	require.False(t, s.stock.Has("pear"))

	tx := s.db.Begin(nil)
	s.stock.In(tx).Set("pear", 1)
	require.NoError(t, s.stock.In(tx).Commit(), "a part of it is the transaction")
	require.ErrorIs(t, tx.Commit(), ErrTxDone)
	require.True(t, s.stock.Has("pear"))
	tx = s.db.Begin(nil)
	s.stock.In(tx).Delete("pear")
	s.stock.In(tx).Rollback()
	tx.Rollback()
	require.True(t, s.stock.Has("pear"))
	require.Equal(t, 2, s.stock.Stats().Keys)
	require.Equal(t, 3, s.db.Stats().Keys)
	require.Zero(t, s.db.Stats().LiveTx)
}

// The conflict that one table reports, and the level, the sets of reads and the savepoints are
// those of the transaction over all tables.
func TestDBConflicts(t *testing.T) {
	s := newShop(t, nil)
	s.stock.Store("apple", 1)
	for _, read := range []struct {
		name string
		fn   func(tx DBTx)
		kind ConflictKind
		key  any
	}{
		{"get", func(tx DBTx) { s.stock.In(tx).Get("apple") }, ConflictRead, "apple"},
		{"absent", func(tx DBTx) { s.stock.In(tx).Get("pear") }, ConflictRead, "pear"},
		{"scan", func(tx DBTx) {
			s.stock.In(tx).All()(func(string, int) bool { return true })
		}, ConflictScan, "apple"},
		{"read and written", func(tx DBTx) {
			s.stock.In(tx).Get("apple")
			s.stock.In(tx).Set("apple", 7)
		}, ConflictRead, "apple"},
	} {
		t.Run(read.name, func(t *testing.T) {
			s.stock.Delete("pear")
			s.stock.Store("apple", 1)
			tx := s.db.Begin(nil)
			read.fn(tx)
			s.orders.In(tx).Set(1, 1)
			require.NoError(t, tx.Err())
			if read.key == "pear" {
				s.stock.Store("pear", 1)
			} else {
				s.stock.Store("apple", 2)
			}
			var c *ConflictError
			require.ErrorAs(t, tx.Commit(), &c)
			require.Equal(t, []any{"stock", read.key, read.kind}, []any{c.Table, c.Key, c.Kind})
			require.False(t, s.orders.Has(1))
			require.NotZero(t, s.stock.Stats().Conflicts)
			require.Zero(t, s.orders.Stats().Conflicts)
		})
	}
	t.Run("snapshot level", func(t *testing.T) {
		tx := s.db.Begin(&TxOptions{Isolation: LevelSnapshot})
		s.orders.In(tx).Get(5) // it has read, though in another table
		s.stock.In(tx).Set("apple", 9)
		s.stock.Store("apple", 3)
		var c *ConflictError
		require.ErrorAs(t, tx.Commit(), &c)
		require.Equal(t, ConflictWrite, c.Kind)
	})
	t.Run("err", func(t *testing.T) {
		tx := s.db.Begin(nil)
		s.stock.In(tx).Get("apple")
		s.orders.In(tx).Set(1, 1)
		s.stock.Store("apple", 2)
		require.ErrorIs(t, tx.Err(), ErrConflict)
		require.ErrorIs(t, s.orders.In(tx).Err(), ErrConflict)
		require.ErrorIs(t, tx.Commit(), ErrConflict)
	})
	require.Zero(t, s.db.Stats().LiveTx)
}

// A table that was closed is out of the database, and its number serves another one.
func TestDBTables(t *testing.T) {
	s := newShop(t, nil)
	tx := s.db.Begin(nil)
	s.stock.In(tx).Set("a", 1)
	s.stock.Close()
	s.stock.Close()
	require.Equal(t, []string{"orders"}, s.db.Tables())
	again := NewTable[int, int](s.db, "stock", nil)
	again.In(tx).Set(1, 2)
	require.PanicsWithValue(t, `mvcc: In: table "stock" was closed`, func() { s.stock.In(tx) })
	require.NoError(t, tx.Commit(), "it had it in hand")
	require.True(t, s.stock.Has("a"), "by itself it is a map still")
	require.True(t, again.Has(1))
	_, ok := Table[string, int](s.db, "stock")
	require.False(t, ok, "it has other types")
	found, ok := Table[int, int](s.db, "stock")
	require.True(t, ok)
	require.Same(t, again, found)
	require.Contains(t, fmt.Sprintf("%v %#v", s.db, s.db), `tables: ["orders" "stock"]`)

	alone := s.stock.Begin(nil)
	alone.Get("b")
	alone.Set("c", 1)
	s.stock.Store("b", 1)
	require.ErrorIs(t, alone.Commit(), ErrConflict)
	require.EqualValues(t, 1, s.db.Stats().ReadConflicts, "before the table is gone")
	source := s.db.Sources("x")["x/orders"]
	require.Zero(t, source().Keys)
	s.orders.Store(1, 1)
	require.Equal(t, 1, source().Keys)
	of := source()
	require.Equal(t, Stats{Epoch: of.Epoch, Keys: 1, Entries: 1, Bytes: of.Bytes}, of)
	require.NotZero(t, s.db.Stats().MinVisible)
	s.orders.Close()
	require.Zero(t, source())

	// Idle states keep no table.
	members, pruned := len(*dbAt(s.db).shared.members.Load()), s.db.Stats().Pruned
	s.stock, s.orders = nil, nil
	require.Eventually(t, func() bool {
		runtime.GC()
		_ = s.db.Reclaim(bg) // the buckets to be visited
		return len(*dbAt(s.db).shared.members.Load()) == members-2
	}, stage.Patience, 10*time.Millisecond)
	require.EqualValues(t, 1, s.db.Stats().ReadConflicts, "counters grow")
	require.Equal(t, pruned, s.db.Stats().Pruned)
	require.Equal(t, 1, s.db.Stats().Keys)
}

// Of several goroutines that ask for the part of a shared snapshot, one too late, all get
// the same, and none disturbs the transaction that uses the state next.
func TestDBParts(t *testing.T) {
	s := newShop(t, nil)
	snapshot := s.db.Snapshot()
	up := snapshot.st
	var wg sync.WaitGroup
	parts := make([]Snapshot[string, int], 8)
	for i := range parts {
		wg.Go(func() { parts[i] = s.stock.At(snapshot) })
	}
	wg.Wait()
	for _, p := range parts {
		require.Equal(t, parts[0], p)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // another P has other idle states
	snapshot.Close()
	require.PanicsWithValue(t, ErrTxDone, func() { parts[0].Get("a") })
	begin := func() DBTx {
		tx := s.db.Begin(nil)
		t.Cleanup(tx.Rollback)
		if tx.st != up {
			t.Skip("another state") // with the race detector
		}
		return tx
	}
	tx := begin()
	s.orders.In(tx).Set(1, 1)
	late := &stateOf(up).part(coreOf(s.stock)).txn
	require.True(t, s.orders.In(tx).Has(1))
	require.Equal(t, late, s.stock.In(tx).st)
	s.stock.In(tx).Set("a", 1)
	require.NoError(t, tx.Commit())

	// The next one has the same parts, as if they were new, unless they are many or of closed tables.
	tx = begin()
	require.Same(t, late, s.stock.In(tx).st)
	for i := range 2 * keptParts {
		NewTable[int, int](s.db, fmt.Sprint(i), nil).In(tx).Set(i, i)
	}
	require.NoError(t, tx.Commit())
	require.Nil(t, stateOf(up).others.Load())
	tx = begin()
	requireValue(t, 1)(s.stock.In(tx).Get("a"))
	s.stock.Close()
	tx.Rollback()
	require.Nil(t, stateOf(up).others.Load())
	tx = begin()
	require.True(t, s.orders.In(tx).Has(1))
	tx.Rollback()
	s.orders.Close()
	require.NotSame(t, up, s.db.Begin(nil).st, "idle states have parts in it")
}

// A table that is closed takes the slots of idle states along, at once.
func TestDBTablesComeAndGo(t *testing.T) {
	s := newShop(t, nil)
	most := 0
	for i := range 2000 {
		m := NewTable[int, int](s.db, "brief", nil)
		require.NoError(t, s.db.Update(bg, nil, func(tx DBTx) error {
			m.In(tx).Set(1, i)
			s.orders.In(tx).Set(1, i)
			return nil
		}))
		m.Close()
		most = max(most, dbAt(s.db).root.Slots.Owned())
	}
	if !stage.Race { // pools forget at random there
		require.Less(t, most, 200)
	}
}

// A claim on all keys of a table is nothing to a writer of others.
func TestDBClaims(t *testing.T) {
	s := newShop(t, nil)
	for _, scan := range []func(tx Tx[string, int]){
		func(tx Tx[string, int]) { tx.All()(func(string, int) bool { return true }) },
		func(tx Tx[string, int]) { tx.Get("a") },
	} {
		for _, tx := range []Tx[string, int]{s.stock.Begin(nil), s.stock.In(s.db.Begin(nil))} {
			scan(tx)
			st := tx.st
			claimed := stateOf(st).claimedKeys
			keys := claimed()
			for _, key := range []string{"a", "b"} {
				all := partOf(st).scanned
				require.Equal(t, key == "a" || all, keys.Has(coreOf(s.stock).claimHash(s.stock.hash(key))), key)
			}
			for id := range 100 {
				require.False(t, keys.Has(coreOf(s.orders).claimHash(s.orders.hash(id))))
			}
			tx.Rollback()
		}
	}
}

// claimedKeys are the keys on which the transaction that st belongs to would make a claim.
func (st *txState) claimedKeys() *favour.Keys { return st.keySet(true) }

// Mistakes that docs/misuse.md does not show.
func TestDBMisuse(t *testing.T) {
	s, other := newShop(t, nil), newShop(t, nil)
	tx := s.db.Begin(nil)
	defer tx.Rollback()
	snapshot := s.db.Snapshot()
	defer snapshot.Close()
	panics := func(want string, f func()) {
		t.Helper()
		require.PanicsWithValue(t, want, f)
	}
	panics(`mvcc: At: table "stock" belongs to another database`, func() { other.stock.At(snapshot) })
	panics(errZeroTx, func() { s.stock.In(DBTx{}) })
	panics(errZeroSnapshot, func() { s.stock.At(DBSnapshot{}) })
	panics(errZeroMap, func() { (&Map[int, int]{}).In(tx) })
	panics("mvcc: TableOptions.Capacity is -1, want 0 or more", func() {
		NewTable[int, int](s.db, "x", &TableOptions{Capacity: -1})
	})
	panics("mvcc: Update: fn is nil", func() { _ = s.db.Update(bg, nil, nil) })
	panics("mvcc: View: fn is nil", func() { _ = s.db.View(nil) })
	DBTx{}.Rollback()
	DBSnapshot{}.Close()
}
