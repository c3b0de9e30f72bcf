package mvcc

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// pieceOf returns a short string, another for each i, that is part of a long one, and has live
// count the long ones.
func pieceOf(i int, live *atomic.Int64) string {
	long := strings.Repeat(fmt.Sprintf("%03d", i), 1<<10)
	live.Add(1)
	runtime.AddCleanup(unsafe.StringData(long), func(live *atomic.Int64) { live.Add(-1) }, live)
	return long[:3]
}

// Of keys that were written again with the same content only the last one is kept, by the map and
// by all that belongs to it: so the long string of the first one is given back.
func TestMemoryOfKeys(t *testing.T) {
	type pair struct {
		n    int
		also any
		name [2]string
	}
	unique := &IndexOptions{Unique: true}
	never := func(_ string, v string) time.Time { return time.Unix(1<<40, int64(len(v))) }
	table := func(t *testing.T, opts *IndexOptions, ordered bool) *Map[string, string] {
		db := newDB(t, nil)
		m := NewTable[string, string](db, "m", nil)
		var err error
		if byValue := func(k, v string) []string { return []string{v} }; ordered {
			_, err = NewOrderedIndex(m, "i", byValue, opts)
		} else {
			_, err = NewIndex(m, "i", byValue, opts)
		}
		require.NoError(t, err)
		return m
	}
	for name, make := range map[string]func(t *testing.T) *Map[string, string]{
		"plain":   func(t *testing.T) *Map[string, string] { return newMap[string, string](t, nil) },
		"ordered": func(*testing.T) *Map[string, string] { return NewOrdered[string, string](nil) },
		"expiring": func(t *testing.T) *Map[string, string] {
			m := newMap[string, string](t, nil)
			m.Expire(never)
			return m
		},
		"indexed":           func(t *testing.T) *Map[string, string] { return table(t, nil, false) },
		"indexed in order":  func(t *testing.T) *Map[string, string] { return table(t, nil, true) },
		"uniquely indexed":  func(t *testing.T) *Map[string, string] { return table(t, unique, false) },
		"uniquely in order": func(t *testing.T) *Map[string, string] { return table(t, unique, true) },
	} {
		t.Run(name, func(t *testing.T) {
			m := make(t)
			defer m.Close()
			testMemoryOfKeys(t, m, func(i int, s string) (string, string) { return s, s })
		})
	}
	t.Run("ordered any", func(t *testing.T) {
		m := NewOrderedFunc[any, int](func(a, b any) int {
			return strings.Compare(fmt.Sprint(a), fmt.Sprint(b))
		}, nil)
		defer m.Close()
		testMemoryOfKeys(t, m, func(i int, s string) (any, int) {
			return []any{s, pair{i, s, [2]string{"a", s}}, pair{}, nil}[i%4], i
		})
	})
}

func testMemoryOfKeys[K, V comparable](
	t *testing.T, m *Map[K, V], record func(i int, s string) (K, V),
) {
	const n = 70
	var live atomic.Int64
	want := map[K]V{}
	for round := range 2 {
		text := func(i int) string {
			if round == 0 {
				return pieceOf(i, &live)
			}
			return fmt.Sprintf("%03d", i)
		}
		for i := range n / 2 {
			m.Store(record(i, text(i)))
		}
		mustUpdate(t, m, nil, func(tx Tx[K, V]) {
			for i := n / 2; i < n; i++ {
				tx.Set(record(i, text(i)))
			}
		})
	}
	for i := range n {
		k, v := record(i, fmt.Sprintf("%03d", i))
		want[k] = v
	}
	require.Positive(t, live.Load())
	whenCollected(t, func() bool {
		require.NoError(t, m.Reclaim(bg))
		return live.Load() == 0
	}, "what a key was a part of is kept")
	require.Equal(t, want, maps.Collect(m.All()))
}

// Of keys that are equal, and not the same, everybody sees the last one: the zeros.
func TestLastKeyIsKept(t *testing.T) {
	minus := math.Copysign(0, -1)
	sign := func(k float64, _ int) []bool { return []bool{math.Signbit(k)} }
	one := func(seq iter.Seq2[float64, int]) bool {
		for k := range seq {
			return math.Signbit(k)
		}
		t.Error("no record")
		return false
	}
	db := newDB(t, nil)
	m := NewOrderedTable[float64, int](db, "m", nil)
	all, err := NewIndex(m, "all", func(float64, int) []int { return []int{1} }, nil)
	require.NoError(t, err)
	unique, err := NewIndex(m, "unique", func(float64, int) []int { return []int{1} },
		&IndexOptions{Unique: true})
	require.NoError(t, err)
	signs, err := NewIndex(m, "signs", sign, nil)
	require.NoError(t, err)
	watch := m.Watch(bg, nil)
	m.Store(0, 1)
	old := m.Snapshot()
	defer old.Close()
	check := func(r Reader[float64, int], negative bool, scans ...iter.Seq2[float64, int]) {
		t.Helper()
		for _, seq := range append(scans, all.Get(r, 1), unique.Get(r, 1), signs.Get(r, negative)) {
			require.Equal(t, negative, one(seq))
		}
		require.Empty(t, maps.Collect(signs.Get(r, !negative)))
	}
	m.Store(minus, 2)
	check(old, false, old.All(), old.Ascend(From(0.0)))
	check(m, true, m.All(), m.Descend(UpTo(0.0)))
	mustUpdate(t, m, nil, func(tx Tx[float64, int]) {
		check(tx, true, tx.All(), tx.Ascend(UpTo(0.0)))
		tx.Set(minus, 3)
		tx.Set(0, 4)
		check(tx, false, tx.All(), tx.Ascend(UpTo(0.0)))
	})
	check(m, false, m.All())
	now := m.Snapshot()
	defer now.Close()
	require.False(t, math.Signbit(slices.Collect(now.Diff(old))[0].Key))
	seen := 0
	for c, err := range watch {
		require.NoError(t, err)
		require.Equal(t, seen == 1, math.Signbit(c.Changes[0].Key))
		if seen++; seen == 3 {
			break
		}
	}
}

// No record is found by an index key that is not equal to itself, however one asks.
func TestIndexOfNaN(t *testing.T) {
	type point struct{ x, y float64 }
	nan := point{1, math.NaN()}
	compare := func(a, b point) int { // as programs write it: no order at all beside a NaN
		switch {
		case a.y < b.y:
			return -1
		case a.y > b.y:
			return 1
		}
		return cmp.Compare(a.x, b.x)
	}
	for _, unique := range []bool{false, true} {
		for _, ordered := range []bool{false, true} {
			db := NewDB(nil)
			m := NewTable[int, point](db, "m", nil)
			for i := range 100 {
				m.Store(i, point{1, float64(i)})
			}
			keys, opts := func(_ int, v point) []point { return []point{v} }, &IndexOptions{Unique: unique}
			ix, err := NewIndex(m, "i", keys, opts)
			if ordered {
				ix, err = NewOrderedIndexFunc(m, "ordered", compare, keys, opts)
			}
			require.NoError(t, err)
			look := func(r Reader[int, point]) {
				for range 20 {
					require.Empty(t, maps.Collect(ix.Get(r, nan)))
					_, _, ok := ix.First(r, nan)
					require.False(t, ok)
				}
			}
			s := m.Snapshot()
			look(m)
			look(s)
			mustUpdate(t, m, nil, func(tx Tx[int, point]) {
				look(tx)
				tx.Set(1, point{2, 1})
				look(tx)
			})
			select {
			case <-ix.Changed(t.Context(), s, nan):
				t.Error("it has changed")
			default:
			}
			s.Close()
			require.PanicsWithValue(t, ErrBadKey, func() { m.Store(1, nan) })
			require.Panics(t, func() { ix.First(NewTable[int, point](db, "other", nil), nan) })
			db.Close()
		}
	}
	m := newMap[float64, int](t, nil)
	m.Store(1, 1)
	s := m.Snapshot()
	m.Store(2, 2)
	select {
	case <-s.Changed(t.Context(), math.NaN()):
		t.Error("it has changed")
	default:
	}
	s.Close()
	require.Nil(t, coreOf(m).feed(), "nothing waits for a key that cannot be there")
}
