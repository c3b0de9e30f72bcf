package mvcc

import (
	"math"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/debug/stage"
)

// Keys that a Go map could not find again, or could not hash.

// A keyUse is one of the ways to read a key, or to write it.
type keyUse[K comparable] struct {
	name  string
	write bool
	do    func(m *Map[K, int], key K)
}

func keyUses[K comparable]() []keyUse[K] {
	tx := func(do func(tx Tx[K, int], key K)) func(m *Map[K, int], key K) {
		return func(m *Map[K, int], key K) {
			for _, opts := range levels {
				tx := m.Begin(opts)
				defer tx.Rollback()
				do(tx, key)
				if err := m.Update(bg, opts, func(tx Tx[K, int]) error {
					do(tx, key)
					return nil
				}); err != nil {
					panic(err)
				}
			}
		}
	}
	return []keyUse[K]{
		{"Load", false, func(m *Map[K, int], key K) { m.Load(key) }},
		{"LoadAndDelete", false, func(m *Map[K, int], key K) { m.LoadAndDelete(key) }},
		{"Delete", false, func(m *Map[K, int], key K) { m.Delete(key) }},
		{"CompareAndSwap", false, func(m *Map[K, int], key K) { CompareAndSwap(m, key, 1, 2) }},
		{"Snapshot.Get", false, func(m *Map[K, int], key K) {
			s := m.Snapshot()
			defer s.Close()
			s.Get(key)
		}},
		{"Tx.Get", false, tx(func(tx Tx[K, int], key K) { tx.Get(key) })},
		{"Store", true, func(m *Map[K, int], key K) { m.Store(key, 1) }},
		{"Swap", true, func(m *Map[K, int], key K) { m.Swap(key, 1) }},
		{"LoadOrStore", true, func(m *Map[K, int], key K) { m.LoadOrStore(key, 1) }},
		{"Tx.Set", true, tx(func(tx Tx[K, int], key K) { tx.Set(key, 1) })},
		{"Tx.Delete", false, tx(func(tx Tx[K, int], key K) { tx.Delete(key) })},
	}
}

// usable checks that a map works in every way, after something went wrong.
func usable[K comparable](t *testing.T, m *Map[K, int], good K) {
	t.Helper()
	for _, use := range keyUses[K]() {
		use.do(m, good)
	}
	m.Store(good, 7)
	requireValue(t, 7)(m.Load(good))
	require.Len(t, contents(t, m), 1)
	m.Delete(good)
	prune(m)
	require.Empty(t, heads(m))
	checkQuiet(t, m)
}

func testNaN[K comparable](t *testing.T, name string, bad, good K) {
	t.Run(name, func(t *testing.T) {
		m := newMap[K, int](t, nil)
		m.Store(good, 1)
		m.Delete(good)
		for _, use := range keyUses[K]() {
			p := panicOf(func() { use.do(m, bad) })
			if use.write {
				require.Equal(t, any(ErrBadKey), p, use.name)
			} else {
				require.Nil(t, p, use.name)
			}
		}
		require.Empty(t, contents(t, m))
		prune(m)
		require.Empty(t, heads(m))
		// Nothing is found either among the transaction's own writes.
		tx := m.Begin(nil)
		for i := range 2 * linearWrites {
			tx.Set(good, i)
			requireAbsent[int](t)(tx.Get(bad))
		}
		require.NoError(t, tx.Commit())
		usable(t, m, good)
	})
}

func TestNaNKeys(t *testing.T) {
	nan := math.NaN()
	type inside struct {
		name string
		at   struct{ x, y float32 }
	}
	bad := inside{name: "a"}
	bad.at.y = float32(nan)
	testNaN[float64](t, "float64", nan, 1)
	testNaN[complex64](t, "complex64", complex(float32(nan), 0), 1i)
	testNaN(t, "struct", bad, inside{name: "a"})
	testNaN(t, "array", [2]float64{0, nan}, [2]float64{0, 1})
	testNaN[any](t, "interface", nan, 1.0)
	testNaN[any](t, "interface holding complex", complex(0, nan), 1i)
	testNaN[any](t, "interface holding struct", bad, inside{name: "a"})
	testNaN[any](t, "interface holding array", [2]float64{0, nan}, [2]float64{0, 1})
	testNaN[any](t, "interface holding array of interface", [1]any{nan}, [1]any{"x"})
}

func testUnhashable[K comparable](t *testing.T, name string, bad, good K) {
	t.Run(name, func(t *testing.T) {
		m := newMap[K, int](t, nil)
		for _, filled := range []bool{false, true} {
			if filled {
				m.Store(good, 1)
			}
			for _, use := range keyUses[K]() {
				p := panicOf(func() { use.do(m, bad) })
				_, ok := p.(interface{ RuntimeError() })
				require.True(t, ok, "%s: want a runtime error, got %v", use.name, p)
			}
			// Among own writes, few and many, before and after.
			for _, n := range []int{1, 2 * linearWrites} {
				tx := m.Begin(nil)
				for i := range n {
					tx.Set(good, i)
				}
				requireRuntimeError(t, func() { tx.Set(bad, 1) })
				requireRuntimeError(t, func() { tx.Delete(bad) })
				requireRuntimeError(t, func() { tx.Get(bad) })
				requireValue(t, n-1)(tx.Get(good))
				require.NoError(t, tx.Commit(), "the key that panicked has joined the transaction")
			}
		}
		usable(t, m, good)
	})
}

func TestUnhashableKeys(t *testing.T) {
	type inside struct {
		n int
		v any
	}
	testUnhashable[any](t, "slice", []int{1}, 1)
	testUnhashable[any](t, "map", map[int]int{}, "x")
	testUnhashable[any](t, "func", func() {}, nil)
	testUnhashable[any](t, "array", [2]any{1, []int{1}}, [2]any{1, 2})
	testUnhashable[any](t, "struct", inside{1, []int{1}}, inside{1, 1})
	testUnhashable[any](t, "nested", inside{1, [1]any{[]int{1}}}, inside{1, nil})
}

// Types of two functions may have one name, and their values one hash.
func TestTypesOfOneName(t *testing.T) {
	one := func() any { type T struct{ N int }; return T{1} }()
	two := func() any { type T struct{ N int }; return T{1} }()
	require.NotEqual(t, one, two)
	db := newDB(t, nil)
	m := NewTable[any, any](db, "m", nil)
	within := NewTable[[2]any, int](db, "within", nil)
	byValue, err := NewIndex(m, "value", func(_, value any) []any { return []any{value, "all"} }, nil)
	require.NoError(t, err)
	byPair, err := NewIndex(m, "pair", func(key, value any) [][2]any { return [][2]any{{1, key}, {value, 1}} },
		&IndexOptions{Unique: true})
	require.NoError(t, err)
	all, err := NewIndex(within, "all", func([2]any, int) []bool { return []bool{true} }, nil)
	require.NoError(t, err)
	for i, key := range []any{one, two} {
		m.Store(key, key)
		within.Store([2]any{i, key}, i)
		within.Store([2]any{"", key}, i)
	}
	for i, key := range []any{one, two} {
		require.Equal(t, key, must(m.Load(key)))
		found, _, ok := byValue.First(m, key)
		require.True(t, ok && found == key)
		require.Equal(t, 1, byValue.Count(m, From(key).UpTo(key)))
		require.Equal(t, i, must(within.Load([2]any{"", key})))
		for _, index := range [][2]any{{1, key}, {key, 1}} {
			found, _, ok = byPair.First(m, index)
			require.True(t, ok && found == key)
		}
	}
	require.Equal(t, 2, byValue.Count(m, From[any]("all").UpTo("all")))
	require.Equal(t, 4, all.Len(within))
	m.Delete(one)
	require.Equal(t, 1, byValue.Count(m, From[any]("all").UpTo("all")))
	require.True(t, byValue.Has(m, two) && !byValue.Has(m, one))
}

// A function that is in the way of its own call for ever ends in a panic, or in ErrConflict where
// there is an error to return, and leaves nothing behind.
func TestOwnKey(t *testing.T) {
	n := 0
	requireConflict := func(err error) { // and the value that the others panic with
		require.ErrorIs(t, err, ErrConflict)
		panic(errOwnKey)
	}
	bump := func(m *Map[string, int]) func(int, bool) int {
		return func(old int, _ bool) int { n++; m.Store("k", n); return old }
	}
	for name, call := range map[string]func(m *Map[string, int]){
		"Compute": func(m *Map[string, int]) { m.Merge("k", bump(m)) },
		"Compute in Compute": func(m *Map[string, int]) {
			m.Merge("k", func(int, bool) int {
				n++
				m.Merge("k", func(int, bool) int { return n })
				return n
			})
		},
		"DeleteFunc": func(m *Map[string, int]) {
			m.DeleteFunc(func(string, int) bool { n++; m.Store("k", n); return true })
		},
		"Tx.Merge, alone": func(m *Map[string, int]) {
			_ = m.Update(bg, nil, func(tx Tx[string, int]) error { tx.Merge("k", bump(m)); return nil })
		},
		"Tx.Merge": func(m *Map[string, int]) {
			requireConflict(m.Update(bg, nil, func(tx Tx[string, int]) error {
				tx.Merge("k", bump(m))
				tx.Merge("l", bump(m))
				return nil
			}))
		},
		"Tx.Merge and a read": func(m *Map[string, int]) {
			requireConflict(m.Update(bg, nil, func(tx Tx[string, int]) error {
				tx.Get("l")
				tx.Merge("k", bump(m))
				return nil
			}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := New[string, int](still())
				defer m.Close()
				m.Store("k", 1)
				require.PanicsWithValue(t, errOwnKey, func() { call(m) })
				time.Sleep(time.Minute)
				require.False(t, coreOf(m).favour.Any(), "a claim is left")
				require.NoError(t, m.Update(bg, nil, increment("k")))
				requireValue(t, n+1)(m.Load("k"))
				checkQuiet(t, m)
			})
		})
	}
}

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

// deep calls f with a stack n frames deep, so that it may have to move in a call that f makes.
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
