package mvcc

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// A paged is an entry with its record.
type paged struct {
	Entry[int, int]
	value int
}

func pageOf(seq iter.Seq2[Entry[int, int], int], most int) (all []paged) {
	for e, value := range seq {
		if all = append(all, paged{e, value}); len(all) == most {
			break
		}
	}
	return all
}

// checkPages compares pages of the indexes, and what they say without a look at records, with what
// is in the table.
func (x *indexing) checkPages(t require.TestingT, r Reader[int, int], all []keyValue) {
	entriesOf := func(keys func(key, value int) []int, compare func(a, b int) int) (sorted []paged) {
		for _, kv := range all {
			is := keys(kv.key, kv.value)
			slices.Sort(is)
			for _, i := range slices.Compact(is) {
				sorted = append(sorted, paged{Entry[int, int]{i, kv.key}, kv.value})
			}
		}
		slices.SortFunc(sorted, func(a, b paged) int {
			return cmp.Or(compare(a.IndexKey, b.IndexKey), cmp.Compare(a.Key, b.Key))
		})
		return sorted
	}
	down := func(a, b int) int { return cmp.Compare(b, a) }
	for _, c := range []struct {
		ix      *Index[int, int, int]
		keys    func(key, value int) []int
		compare func(a, b int) int
	}{
		{x.tags, tagsOf, nil},
		{x.sizes, numberOf, cmp.Compare[int]},
		{x.single, numberIfAny, nil},
		{x.ranks, numberIfAny, down},
	} {
		compare := c.compare
		if compare == nil {
			compare = cmp.Compare[int]
		}
		want := entriesOf(c.keys, compare)
		count := map[int]int{}
		var keys []int
		for _, p := range want {
			if count[p.IndexKey]++; count[p.IndexKey] == 1 {
				keys = append(keys, p.IndexKey)
			}
		}
		require.Equal(t, len(want), c.ix.Count(r, Range[int]{}), c.ix.Name())
		require.Equal(t, len(want), c.ix.Len(r), c.ix.Name())
		for i := range 8 {
			require.Equal(t, count[i], c.ix.Count(r, From(i).UpTo(i)))
			require.Equal(t, count[i] > 0, c.ix.Has(r, i))
			require.Equal(t, min(count[i], 1), len(slices.Collect(c.ix.Keys(r, From(i).UpTo(i)))))
		}
		got := slices.Collect(c.ix.Keys(r, Range[int]{}))
		if c.compare == nil {
			slices.Sort(got)
			require.Equal(t, keys, got)
			continue
		}
		require.Equal(t, keys, got)
		x.checkEntries(t, r, c.ix, compare, want)
	}
}

// checkEntries compares pages of an index that has an order.
func (x *indexing) checkEntries(t require.TestingT, r Reader[int, int], ix *Index[int, int, int],
	compare func(a, b int) int, want []paged) {
	least, first, ok := ix.Min(r)
	greatest, last, has := ix.Max(r)
	if require.True(t, ok == (len(want) > 0) && has == ok); ok {
		require.Equal(t, want[0], paged{least, first})
		require.Equal(t, want[len(want)-1], paged{greatest, last})
	}
	for _, n := range []int{1, 2, 100} {
		var got []paged
		for after := (*Entry[int, int])(nil); ; {
			page := pageOf(ix.AscendEntries(r, Range[int]{}, after), n)
			if len(page) == 0 {
				break
			}
			got = append(got, page...)
			last := page[len(page)-1].Entry
			after = &last
		}
		require.Equal(t, want, got, "%s %d", ix.Name(), n)
	}
	for i := range 5 {
		for _, key := range []int{-1, 2, 9} {
			after := Entry[int, int]{i, key}
			low, high := 1, 3
			if compare(low, high) > 0 {
				low, high = high, low
			}
			var rest []paged
			for _, p := range want {
				n := cmp.Or(compare(p.IndexKey, i), cmp.Compare(p.Key, key))
				if n > 0 && p.IndexKey > 0 && p.IndexKey <= 3 {
					rest = append(rest, p)
				}
			}
			got := pageOf(ix.AscendEntries(r, From(low).UpTo(high), &after), 0)
			require.Equal(t, rest, got, "%s behind %v", ix.Name(), after)
			require.Equal(t, ix.Count(r, From(low).UpTo(high)),
				len(pageOf(ix.AscendEntries(r, From(low).UpTo(high), nil), 0)))
		}
	}
}

// newSized returns a table with the index sizes alone.
func newSized(t *testing.T, ordered bool) (x *indexing) {
	x = newIndexing(t, ordered)
	var err error
	x.sizes, err = NewOrderedIndex(x.m, "sizes", numberOf, nil)
	require.NoError(t, err)
	return x
}

// Pages go on where the last one has ended, whatever has become of that.
func TestPages(t *testing.T) {
	x := newSized(t, false)
	for key := range 100 {
		x.m.Store(key, key%2<<3|1)
	}
	seen := map[int]bool{}
	var after *Entry[int, int]
	for n := 0; ; n++ {
		page := pageOf(x.sizes.AscendEntries(x.m, Range[int]{}, after), 7)
		if len(page) == 0 {
			break
		}
		for _, p := range page {
			require.False(t, seen[p.Key])
			seen[p.Key] = true
		}
		last := page[len(page)-1].Entry
		after = &last
		x.m.Delete(last.Key)
		x.m.Store(last.Key-2, 2<<3)
		x.m.Store(last.Key-2, last.IndexKey<<3)
	}
	require.Len(t, seen, 100)

	// The entry is read when the loop is made.
	e := Entry[int, int]{0, 1000}
	loop := x.sizes.AscendEntries(x.m, Range[int]{}, &e)
	e = Entry[int, int]{5, 5}
	require.Equal(t, 1, pageOf(loop, 1)[0].IndexKey)

	x = newIndexing(t, false)
	x.build(t)
	// A record that has taken over the index key comes where its key says.
	for owner, want := range map[int]int{150: 0, 250: 1} {
		x.m.Store(owner, 99<<3)
		ranked := pageOf(x.ranks.AscendEntries(x.m, From(99).UpTo(99), &Entry[int, int]{99, 200}), 0)
		require.Len(t, ranked, want)
		x.m.Delete(owner)
	}
}

// Where many records have one index key Keys passes over them, in a transaction as well, and sees
// what that had written when the loop began.
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
			if number == 2 { // what the loop writes changes nothing
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

// Keys reads of a transaction what it has walked along, and not what it has passed over.
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
	testPages(t, func(i int) string { return fmt.Sprintf("a long name %04d", i) }, true)
	testPages(t, func(i int) float64 { return float64(i) - 50.5 }, true)
	testPages(t, func(i int) pair { return pair{i % 7, fmt.Sprint(i)} }, false)
	testPages(t, func(i int) any { return []any{i, fmt.Sprint(i), pair{i, ""}, [1]uint8{uint8(i)}}[i%4] }, false)
	testPages(t, func(i int) [2]bool { return [2]bool{i%2 == 0, i%4 < 2} }, false)
}

func testPages[K comparable](t *testing.T, key func(i int) K, sorted bool) {
	db := NewDB(nil)
	defer db.Close()
	m := NewTable[K, int](db, "m", nil)
	for i := range 100 {
		m.Store(key(i), i)
	}
	for _, index := range []func(K, int) []string{
		func(K, int) []string { return []string{"all"} },
		func(_ K, i int) []string { return []string{fmt.Sprint(i % 3), "all"} },
	} {
		var keys []K
		var last *Entry[string, K]
		for more := true; more; {
			ix, err := NewOrderedIndex(m, "i", index, nil)
			require.NoError(t, err)
			more = false
			for e, i := range ix.AscendEntries(m, From("all").UpTo("all"), last) {
				require.Equal(t, i, must(m.Load(e.Key)))
				keys, last = append(keys, e.Key), &e
				if more = len(keys)%7 == 0; more {
					break
				}
			}
			ix.drop()
		}
		require.Len(t, keys, m.Len())
		seen := map[K]bool{}
		for _, key := range keys {
			seen[key] = true
		}
		require.Len(t, seen, m.Len())
		if sorted {
			again := slices.Clone(keys)
			slices.SortFunc(again, func(a, b K) int {
				var n int
				switch a := any(a).(type) {
				case string:
					n = cmp.Compare(a, any(b).(string))
				case float64:
					n = cmp.Compare(a, any(b).(float64))
				}
				return n
			})
			require.Equal(t, again, keys)
		}
	}
}
