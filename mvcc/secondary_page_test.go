package mvcc

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// newSized returns a table with the index sizes alone.
func newSized(t *testing.T, ordered bool) (x *indexing) {
	x = newIndexing(t, ordered)
	var err error
	x.sizes, err = NewOrderedIndex(x.m, "sizes", numberOf, nil)
	require.NoError(t, err)
	return x
}

// Where many records have one index key Keys passes over them, in a transaction as well, whose
// writes from before the loop it sees.
func TestKeysOfMany(t *testing.T) {
	x := newSized(t, false)
	many := func(tx Tx[int, int], from int, numbers ...int) {
		for _, number := range numbers {
			for i := range 3 * manyEqual {
				tx.Set(number*1000+from+i, number<<3)
			}
		}
	}
	mustUpdate(t, x.m, nil, func(tx Tx[int, int]) { many(tx, 0, 1, 3, 4) })
	x.m.Store(5000, 5<<3)
	for _, opts := range levels {
		tx := x.m.Begin(opts)
		many(tx, 500, 1, 2, 6)
		tx.Set(7000, 7<<3)
		for key := range 3 * manyEqual {
			tx.Delete(4000 + key)
		}
		var got []int
		for number := range x.sizes.Keys(tx, After(0)) {
			got = append(got, number)
			if number == 2 { // the writes of the loop change nothing
				many(tx, 0, 4, 9)
				for key := range 3 * manyEqual {
					tx.Delete(6500 + key)
				}
			}
		}
		require.Equal(t, []int{1, 2, 3, 5, 6, 7}, got)
		require.Equal(t, []int{1, 2, 3, 4, 5, 7, 9}, slices.Collect(x.sizes.Keys(tx, Range[int]{})))
		require.Equal(t, []int{2, 3, 4}, slices.Collect(x.sizes.Keys(tx, From(2).Before(5))))
		tx.Rollback()
	}
	require.Equal(t, []int{1, 3, 4, 5}, slices.Collect(x.sizes.Keys(x.m, Range[int]{})))
	require.Equal(t, []int{4, 5}, slices.Collect(x.sizes.Keys(x.m, After(3))))
	for number := range x.sizes.Keys(x.m, Range[int]{}) {
		require.Equal(t, 1, number)
		break
	}
}

// In a transaction Keys reads the entries that it walks along, and not those that it passes over.
func TestKeysConflicts(t *testing.T) {
	const n = 10 * manyEqual
	for name, c := range map[string]struct {
		write    func(m *Map[int, int])
		conflict bool
	}{
		"a record more in what was passed over": {func(m *Map[int, int]) { m.Store(n, 1<<3) }, false},
		"one less there":                        {func(m *Map[int, int]) { m.Delete(n - 1) }, false},
		"the first one gone":                    {func(m *Map[int, int]) { m.Delete(0) }, true},
		"an index key between":                  {func(m *Map[int, int]) { m.Store(n, 2<<3) }, true},
		"an index key behind":                   {func(m *Map[int, int]) { m.Store(n, 9<<3) }, true},
		"the only one gone":                     {func(m *Map[int, int]) { m.Delete(-3) }, true},
		"a value":                               {func(m *Map[int, int]) { m.Store(0, 1<<3|1) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			x := newSized(t, true)
			mustUpdate(t, x.m, nil, func(tx Tx[int, int]) {
				for key := range n {
					tx.Set(key, 1<<3)
				}
				tx.Set(-3, 3<<3)
			})
			tx := x.m.Begin(nil)
			require.Equal(t, []int{1, 3}, slices.Collect(x.sizes.Keys(tx, Range[int]{})))
			tx.Set(10*n, 0)
			c.write(x.m)
			if err := tx.Commit(); c.conflict {
				require.ErrorIs(t, err, ErrConflict)
			} else {
				require.NoError(t, err)
			}
		})
	}
}

// Records of one index key are in the same order in each process, if their keys can be the same:
// that of Go's operators, or of these numbers.
func TestOrderOfRecords(t *testing.T) {
	type name string
	type point struct {
		X, Y float32
		_    int
		Of   [2]name
		Also any
	}
	for _, c := range []struct {
		want uint64
		got  uint64
	}{
		{0xfda01ca3eca39e24, stableOf(true)},
		{0x5769543fcf95767f, stableOf(complex(1, 2))},
		{0x5a93b658dd18619, stableOf([3]int8{-1, 0, 1})},
		{0xdda7c17ff7e4ae33, stableOf(point{X: 1, Of: [2]name{"", "a long name that has many bytes"}, Also: uint16(7)})},
		{0x1f124ab837abca10, stableOf[any](nil)},
		{0xaf563d8b52d336e, stableOf[any](point{Also: point{Y: 2}})},
		{0x2f62321a5ee0c92c, stableOf(struct {
			A int32
			B uint32
			C uint64
			D complex64
			E uintptr
		}{-1, 1, 2, 3, 4})},
	} {
		require.Equal(t, c.want, c.got)
	}
	minus := float32(math.Copysign(0, -1))
	require.Equal(t, stableOf(point{}), stableOf(point{X: minus}))
	require.Equal(t, stableOf(struct{ N int }{-5}), stableOf(struct{ N int64 }{-5}))
	require.NotEqual(t, stableOf[any](1), stableOf[any](int8(1)))
	require.NotEqual(t, stableOf([2]string{"a", "bc"}), stableOf([2]string{"ab", "c"}))
	one, other := new(int), new(int)
	require.Equal(t, stableOf(struct{ P *int }{one}), stableOf(struct{ P *int }{one}))
	require.NotEqual(t, stableOf(struct{ P *int }{one}), stableOf(struct{ P *int }{other}))
	require.PanicsWithValue(t, "mvcc: a key has a []int, which cannot be hashed",
		func() { stableOf[any]([]int{1}) })
	require.Positive(t, testing.AllocsPerRun(10, func() { stableOf[any](point{}) }))
}

func stableOf[K comparable](key K) uint64 {
	c := newCollation[int, K](nil, nil)
	return c.stable(keyAt(key))
}

// In pages of a table without an order, by an index made anew for each, each record comes once.
func TestPagesOfTypes(t *testing.T) {
	type pair struct {
		A int
		B string
	}
	testPages(t, func(i int) string { return fmt.Sprintf("a long name %04d", i) })
	testPages(t, func(i int) any { return []any{i, fmt.Sprint(i), pair{i, ""}, [1]uint8{uint8(i)}}[i%4] })
	testPages(t, func(i int) [2]bool { return [2]bool{i%2 == 0, i%4 < 2} })
}

func testPages[K comparable](t *testing.T, key func(i int) K) {
	db := NewDB(nil)
	defer db.Close()
	m := NewTable[K, int](db, "m", nil)
	for i := range 100 {
		m.Store(key(i), i)
	}
	seen := map[K]bool{}
	var last *Entry[string, K]
	for more := true; more; {
		ix, err := NewOrderedIndex(m, "i", func(_ K, i int) []string {
			return []string{fmt.Sprint(i % 3), "all"}
		}, nil)
		require.NoError(t, err)
		more = false
		for e, i := range ix.AscendEntries(m, From("all").UpTo("all"), last) {
			require.Equal(t, i, must(m.Load(e.Key)))
			require.False(t, seen[e.Key])
			seen[e.Key], last = true, &e
			if more = len(seen)%7 == 0; more {
				break
			}
		}
		ix.drop()
	}
	require.Len(t, seen, m.Len())
}
