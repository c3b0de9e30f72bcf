package mvcc

import (
	"errors"
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/epoch"
)

func add(n int) func(int, bool) int { return func(old int, _ bool) int { return old + n } }

// requireAnyConflict requires a conflict over key, of any kind.
func requireAnyConflict(t *testing.T, err error, key any) {
	t.Helper()
	var c *ConflictError
	require.ErrorAs(t, err, &c)
	require.Equal(t, key, c.Key)
}

// A key that is read is read, though it is merged too: at level serializable it must not have
// changed, at level snapshot the merge is given the newest value.
func TestMergeOfWhatIsRead(t *testing.T) {
	atLevels(t, func(t *testing.T, m *Map[string, int], opts *TxOptions) {
		for _, first := range []bool{true, false} {
			m.Store("x", 10)
			tx := m.Begin(opts)
			if first {
				requireValue(t, 10)(tx.Get("x"))
			}
			tx.Merge("x", add(1))
			requireValue(t, 11)(tx.Get("x"))
			require.Equal(t, 11, maps.Collect(tx.All())["x"])
			m.Store("x", 20)
			requireValue(t, 11)(tx.Get("x"))
			err := tx.Commit()
			if opts == serializable {
				requireAnyConflict(t, err, "x")
				requireValue(t, 20)(m.Load("x"))
			} else {
				require.NoError(t, err)
				requireValue(t, 21)(m.Load("x"))
			}
		}
		checkQuiet(t, m)
	})
}

// A merge that panics, or does not return, ends its transaction; nothing of it is seen, and
// the map goes on.
func TestMergePanics(t *testing.T) {
	own := errors.New("own")
	for how, exit := range exits {
		for where, f := range map[string]func(tx Tx[string, int]){
			"alone":      func(tx Tx[string, int]) {},
			"of several": func(tx Tx[string, int]) { tx.Set("a", 1); tx.Set("z", 1); tx.Merge("b", add(1)) },
			"validating": func(tx Tx[string, int]) { tx.Get("x"); tx.Set("a", 1) },
			"read":       func(tx Tx[string, int]) { tx.Get("k") },
		} {
			t.Run(how+"/"+where, func(t *testing.T) {
				m := newMap[string, int](t, still())
				m.Store("k", 1)
				var slots []*epoch.Slot
				leave(t, func() {
					_ = m.Update(bg, nil, func(tx Tx[string, int]) error {
						slots = append(slots, stateOf(tx.st).slot)
						f(tx)
						tx.Merge("k", func(int, bool) int { exit(); return 0 })
						return nil
					})
				})
				leave(t, func() {
					tx := m.Begin(nil)
					defer tx.Rollback()
					slots = append(slots, stateOf(tx.st).slot)
					f(tx)
					tx.Merge("k", func(int, bool) int { exit(); return 0 })
					_ = tx.Commit()
				})
				for _, slot := range slots {
					require.True(t, slot.Settled(), "nobody has decided about what was installed")
				}
				require.Equal(t, map[string]int{"k": 1}, contents(t, m))
				// The state that it had serves others.
				mustUpdate(t, m, nil, func(tx Tx[string, int]) {
					tx.Set("p", 1)
					tx.Set("q", 1)
				})
				require.Equal(t, map[string]int{"k": 1, "p": 1, "q": 1}, contents(t, m))
				for range 3 {
					require.NoError(t, m.Update(bg, nil, func(tx Tx[string, int]) error {
						f(tx)
						return increment("k")(tx)
					}))
				}
				requireValue(t, 4)(m.Load("k"))
				checkQuiet(t, m)
			})
		}
	}
	m := newMap[string, int](t, still())
	tx := m.Begin(nil)
	tx.Set("k", 1)
	require.PanicsWithValue(t, own, func() { tx.Merge("k", func(int, bool) int { panic(own) }) })
	require.NoError(t, tx.Commit(), "it was applied at once, and has done nothing")
	requireValue(t, 1)(m.Load("k"))

	// One that ends its transaction: the state may be that of another one by then.
	tx = m.Begin(nil)
	tx.Set("k", 1)
	require.PanicsWithValue(t, ErrTxDone, func() {
		tx.Merge("k", func(int, bool) int { tx.Rollback(); return 42 })
	})
	mustUpdate(t, m, nil, func(tx Tx[string, int]) {
		tx.Set("l", 1)
	})
	require.Equal(t, map[string]int{"k": 1, "l": 1}, contents(t, m))
}

// A savepoint that fails leaves none of the writes made in it, and all those made before; programs
// do the rest.
func TestSavepoint(t *testing.T) {
	own := errors.New("own")
	m := newMap[int, int](t, still())
	m.Store(0, 10)
	var told []uint64
	require.NoError(t, m.Update(bg, nil, func(tx Tx[int, int]) error {
		tx.Merge(0, add(1))
		for i := 1; i <= 2*linearWrites; i++ {
			tx.Set(i, i)
		}
		require.Equal(t, own, tx.Savepoint(func() error {
			for range 1000 { // one key is noted once
				tx.Set(1, -1)
				tx.Merge(0, add(1000))
			}
			tx.Delete(2)
			tx.OnCommit(func(uint64) { t.Error("it was undone") })
			require.NoError(t, tx.Savepoint(func() error { tx.Set(3, -3); tx.Set(50, 50); return nil }))
			requireValue(t, 50)(tx.Get(50))
			require.LessOrEqual(t, len(stateOf(tx.st).undo), 8)
			return own
		}))
		requireAbsent[int](t)(tx.Get(50))
		tx.OnCommit(func(epoch uint64) { told = append(told, epoch) })
		return nil
	}))
	want := map[int]int{0: 11}
	for i := 1; i <= 2*linearWrites; i++ {
		want[i] = i
	}
	require.Equal(t, want, contents(t, m))
	require.Equal(t, []uint64{m.Epoch()}, told)

	// One that ends the transaction itself.
	for _, fails := range []error{nil, own} {
		tx := m.Begin(nil)
		err := tx.Savepoint(func() error { tx.Set(1, 2); tx.Rollback(); return fails })
		if fails == nil {
			require.Equal(t, ErrTxDone, err)
		} else {
			require.Equal(t, own, err)
		}
		require.Equal(t, ErrTxDone, tx.Err())
	}
	requireValue(t, 1)(m.Load(1))
	checkQuiet(t, m)
}

// A function of OnCommit is called once, after the commit, though there were many attempts; and not
// if the transaction fails.
func TestOnCommit(t *testing.T) {
	m := newMap[string, int](t, still())
	m.Store("k", 1)
	calls, told := 0, 0
	require.NoError(t, m.Update(bg, nil, func(tx Tx[string, int]) error {
		tx.OnCommit(func(epoch uint64) {
			told++
			requireValue(t, 103)(m.Load("k"))
			s, err := m.SnapshotAt(epoch)
			require.NoError(t, err)
			requireValue(t, 103)(s.Get("k"))
			s.Close()
			m.Store("k", 0) // the transaction has ended
		})
		if calls++; calls < 3 {
			defer elsewhere(func() { m.Store("k", 100+calls) })
		}
		return increment("k")(tx)
	}))
	require.Equal(t, 3, calls)
	require.Equal(t, 1, told)
	tx := m.Begin(nil)
	tx.OnCommit(func(uint64) { t.Error("it did not commit") })
	tx.Rollback()
	require.Error(t, m.Update(bg, nil, func(tx Tx[string, int]) error {
		tx.OnCommit(func(uint64) { t.Error("it did not commit") })
		return errors.New("no")
	}))
	checkQuiet(t, m)
}

// At level snapshot, a key read for update must not change: no write skew.
func TestGetForUpdate(t *testing.T) {
	atLevels(t, func(t *testing.T, m *Map[string, int], opts *TxOptions) {
		m.Store("x", 1)
		m.Store("y", 1)
		a, b := m.Begin(opts), m.Begin(opts)
		for tx, keys := range map[Tx[string, int]][2]string{a: {"x", "y"}, b: {"y", "x"}} {
			requireValue(t, 1)(tx.GetForUpdate(keys[0]))
			requireAbsent[int](t)(tx.GetForUpdate("none"))
			tx.Set(keys[1], 0)
		}
		require.NoError(t, a.Commit())
		requireConflict(t, b.Err(), "y", ConflictRead)
		requireConflict(t, b.Commit(), "y", ConflictRead)
		tx := m.Begin(opts)
		requireAbsent[int](t)(tx.GetForUpdate("none"))
		tx.Set("x", 5)
		m.Store("none", 1)
		requireConflict(t, tx.Commit(), "none", ConflictRead)
		checkQuiet(t, m)
	})
}
