package mvcc

import (
	"fmt"
	"math"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/stage"
)

// comparing returns a map whose compare calls a function once, when it is set, in the call given
// then.
func comparing(t *testing.T) (m *Map[int, int], in *func()) {
	in = new(func())
	m = NewOrderedFunc[int, int](func(a, b int) int {
		if f := *in; f != nil {
			*in = nil
			f()
		}
		return a - b
	}, still())
	t.Cleanup(m.Close)
	for k := range 10 {
		m.Store(10*k, k)
	}
	return m, in
}

// A call whose transaction ends while it compares keys panics, and leaves nothing in the
// transaction that the state serves by then.
func TestEndedWhileComparing(t *testing.T) {
	for name, call := range map[string]func(tx Tx[int, int]){
		"Set":    func(tx Tx[int, int]) { tx.Set(5, 1) },
		"Delete": func(tx Tx[int, int]) { tx.Delete(15) },
		"Merge":  func(tx Tx[int, int]) { tx.Merge(25, func(int, bool) int { return 1 }) },
		"Get":    func(tx Tx[int, int]) { tx.Get(30) },
	} {
		t.Run(name, func(t *testing.T) {
			m, in := comparing(t)
			tx := m.Begin(nil)
			var stranger Tx[int, int]
			*in = func() {
				tx.Rollback()
				stranger = m.Begin(nil)
				require.True(t, stage.Race || stateOf(tx.st) == stateOf(stranger.st))
			}
			require.Equal(t, ErrTxDone, panicOf(func() { call(tx) }))
			require.Empty(t, stateOf(stranger.st).writes)
			require.Empty(t, stateOf(stranger.st).reads)
			stranger.Set(1, 1)
			require.NoError(t, stranger.Commit())
			require.Equal(t, 11, m.Len())
		})
	}
}

// A transaction with two writes of one key, as when compare writes by it, is refused when it
// commits: it would wait for itself.
func TestTwoWritesOfOneKey(t *testing.T) {
	m, in := comparing(t)
	tx := m.Begin(nil)
	*in = func() { tx.Set(5, 7) }
	tx.Set(5, 8)
	require.Len(t, stateOf(tx.st).writes, 2)
	require.Equal(t, errTwice, panicOf(func() { _ = tx.Commit() }))
	requireAbsent[int](t)(m.Load(5))
	m.Store(5, 9)
	requireValue(t, 9)(m.Load(5))
	require.Zero(t, m.Stats().LiveTx)
	checkQuiet(t, m)
}

// A transaction of a table that is converted to one of the database is the same in that table.
func TestConvertedTx(t *testing.T) {
	db := NewDB(still())
	defer db.Close()
	users := NewTable[int, int](db, "users", nil)
	other := NewTable[int, int](db, "other", nil)
	mustUpdate(t, users, nil, func(tx Tx[int, int]) {
		tx.Set(1, 1)
		in := users.In(DBTx(tx))
		requireValue(t, 1)(in.Get(1))
		in.Set(1, 2)
		requireValue(t, 2)(tx.Get(1))
		other.In(DBTx(tx)).Set(1, 3)
	})
	requireValue(t, 2)(users.Load(1))
	requireValue(t, 3)(other.Load(1))
}

// The key of a merge is that of the last one.
func TestMergesOfBothZeros(t *testing.T) {
	m := newMap[float64, int](t, nil)
	add := func(old int, _ bool) int { return old + 1 }
	mustUpdate(t, m, nil, func(tx Tx[float64, int]) {
		tx.Merge(0, add)
		tx.Merge(math.Copysign(0, -1), add)
		for key := range tx.All() {
			require.True(t, math.Signbit(key))
		}
	})
	for key, value := range m.All() {
		require.True(t, math.Signbit(key))
		require.Equal(t, 2, value)
	}
}

// A key that is read again and again joins the read set once, whatever the state has served before.
func TestReadAgain(t *testing.T) {
	m := newMap[int, int](t, still())
	for k := range 8 {
		m.Store(k, 1)
	}
	for range 3 {
		tx := m.Begin(nil)
		for range 100 {
			tx.Get(1)
		}
		require.Len(t, stateOf(tx.st).reads, 1)
		tx.Set(1, 2)
		require.True(t, stateOf(tx.st).written())
		tx.Rollback()
		tx = m.Begin(nil)
		for k := range 8 { // makes room
			tx.Get(k)
		}
		tx.Rollback()
	}
}

// A rude index key evicts the transaction that is told of it.
type rude struct {
	key int
	do  *func()
}

func (r rude) String() string {
	if f := *r.do; f != nil {
		f()
	}
	return fmt.Sprint(r.key)
}

// Commit returns ErrTxTooOld also if the transaction is evicted while it looks for what a unique
// index does not allow.
func TestEvictedWhileUnique(t *testing.T) {
	db := NewDB(&Options{MaxTxAge: time.Nanosecond, ManualReclaim: true})
	defer db.Close()
	users := NewTable[int, int](db, "users", nil)
	do := new(func())
	_, err := NewIndex(users, "by", func(_, v int) []rude { return []rude{{v, do}} },
		&IndexOptions{Unique: true})
	require.NoError(t, err)
	tx := db.Begin(nil)
	in := users.In(tx)
	for k := range 4 {
		in.Set(k, k/2)
	}
	*do = func() {
		for range 3 { // looks, until it is old
			require.NoError(t, db.Reclaim(bg))
		}
	}
	require.Equal(t, ErrTxTooOld, tx.Commit())
	*do = nil
	require.Zero(t, users.Len())
	require.Zero(t, db.Stats().LiveTx)
}

// deep calls f with a stack that is n frames deep, so that it may have to move in what f calls.
//
//go:noinline
func deep(n int, f func()) byte {
	var pad [16]byte
	if n == 0 {
		f()
		return pad[0]
	}
	return deep(n-1, f) + pad[n%16]
}

type triple struct {
	a, b string
	n    int
}

// Keys that are hashed and compared by functions are found wherever the stack moves meanwhile.
// (Under the race detector a check of their address would be a call in between.)
func TestKeysOnDeepStacks(t *testing.T) {
	m := newMap[triple, int](t, nil)
	o := NewOrderedFunc[triple, int](func(a, b triple) int { return a.n - b.n }, nil)
	defer o.Close()
	for i := range 100 {
		m.Store(triple{"a", "b", i}, i)
		o.Store(triple{"a", "b", i}, i)
	}
	for range 3 {
		var wg sync.WaitGroup
		for n := range 600 {
			for _, x := range []*Map[triple, int]{m, o} {
				wg.Go(func() {
					deep(n, func() {
						for i := range 3 {
							if v, ok := x.Load(triple{"a", "b", i}); !ok || v != i {
								t.Error("not found: ", n, i)
							}
						}
					})
				})
			}
		}
		wg.Wait()
		runtime.GC()
	}
}

// The first key of a transaction is found without a look at all of its writes.
func TestMinBesideManyWrites(t *testing.T) {
	m := NewOrdered[int, int](still())
	defer m.Close()
	for k := range 100 {
		m.Store(-1-k, k)
	}
	mustUpdate(t, m, nil, func(tx Tx[int, int]) {
		for k := range 1000 {
			tx.Set(k, k)
		}
		var before, after runtime.MemStats
		tx.Max()
		runtime.ReadMemStats(&before)
		const times = 100
		for range times {
			key, _, ok := tx.Max()
			if !ok || key != 999 {
				t.Fatal(key)
			}
		}
		runtime.ReadMemStats(&after)
		require.Less(t, (after.TotalAlloc-before.TotalAlloc)/times, uint64(4<<10))
		for n := range 1100 { // take all, from both ends
			key, _, ok := tx.Min()
			if n%2 == 1 {
				key, _, ok = tx.Max()
			}
			require.True(t, ok)
			want := -100 + n/2
			if n%2 == 1 {
				want = 999 - n/2
			}
			require.Equal(t, want, key)
			tx.Delete(key)
		}
		_, _, ok := tx.Min()
		require.False(t, ok)
	})
	require.Zero(t, m.Len())
}

// A unique index that cannot be made, while a transaction breaks its rule, is no reason to refuse
// that.
func TestUniqueIndexDroppedMeanwhile(t *testing.T) {
	db := NewDB(still())
	defer db.Close()
	users := NewTable[int, int](db, "users", nil)
	ix, err := NewIndex(users, "by", func(_, v int) []int { return []int{v} }, &IndexOptions{Unique: true})
	require.NoError(t, err)
	attempts := 0
	require.NoError(t, db.Update(bg, nil, func(tx DBTx) error {
		attempts++
		users.In(tx).Set(1, 1)
		users.In(tx).Set(2, 1)
		if attempts == 1 {
			ix.drop()
		}
		return nil
	}))
	require.Equal(t, 2, attempts)
	require.Equal(t, 2, users.Len())
}
