package mvcc

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A commit elsewhere is no conflict; one in the part that was read is, whatever it does.
func TestRangeConflicts(t *testing.T) {
	for _, c := range []struct {
		name     string
		read     func(tx Tx[int, int])
		conflict []int // writes of these keys are conflicts
		fine     []int
	}{
		{"range", func(tx Tx[int, int]) {
			pairs(tx.Ascend(From(10).Before(20)))
		}, []int{10, 12, 15, 19}, []int{9, 20, 30, 0}},
		{"down", func(tx Tx[int, int]) {
			pairs(tx.Descend(After(10).UpTo(20)))
		}, []int{11, 20}, []int{10, 21}},
		{"a page", func(tx Tx[int, int]) {
			n := 0
			for range tx.Ascend(From(10)) { // 10, 20
				if n++; n == 2 {
					break
				}
			}
		}, []int{10, 11, 20}, []int{9, 21, 30}},
		{"a page down", func(tx Tx[int, int]) {
			for range tx.Descend(Range[int]{}) { // 50
				break
			}
		}, []int{50, 51}, []int{49, 40}},
		{"min", func(tx Tx[int, int]) { tx.Min() }, []int{-5, 0}, []int{1, 50}},
		{"max", func(tx Tx[int, int]) { tx.Max() }, []int{50, 60}, []int{49}},
		{"nested", func(tx Tx[int, int]) {
			for key := range tx.Ascend(From(-5)) {
				if key == 10 {
					break
				}
				tx.Min() // of all to 0: that is more than the outer loop has read
			}
		}, []int{-7, -5, 0, 9}, []int{11, 20}},
		{"nested to the end", func(tx Tx[int, int]) {
			for key := range tx.Ascend(From(25)) {
				if key == 40 {
					break
				}
				pairs(tx.Ascend(From(21)))
			}
		}, []int{22, 25, 45, 60}, []int{20, 0}},
		{"empty", func(tx Tx[int, int]) {
			pairs(tx.Ascend(After(30).Before(40)))
		}, []int{31, 39}, []int{30, 40}},
		{"own first", func(tx Tx[int, int]) { tx.Set(-1, 1); tx.Min() }, []int{-2}, []int{0, 3}},
	} {
		for _, inside := range []bool{true, false} {
			keys := c.fine
			if inside {
				keys = c.conflict
			}
			for _, key := range keys {
				for _, how := range []string{"store", "delete"} {
					t.Run(fmt.Sprintf("%s/%d/%s", c.name, key, how), func(t *testing.T) {
						m := newOrdered[int](t, nil)
						for k := 0; k <= 50; k += 10 {
							m.Store(k, k)
						}
						tx := m.Begin(nil)
						c.read(tx)
						tx.Set(1000, 1)
						if how == "store" || !m.Has(key) {
							m.Store(key, 7)
						} else {
							m.Delete(key)
						}
						err := tx.Commit()
						if !inside {
							require.NoError(t, err)
							return
						}
						requireConflict(t, err, key, ConflictScan)
					})
				}
			}
		}
	}
	t.Run("snapshot level", func(t *testing.T) {
		m := newOrdered[int](t, nil)
		tx := m.Begin(snapshot)
		pairs(tx.Ascend(Range[int]{}))
		tx.Set(1000, 1)
		m.Store(1, 1)
		require.NoError(t, tx.Commit(), "phantoms are allowed")
	})
}

func TestPrefix(t *testing.T) {
	m := NewOrdered[string, int](nil)
	defer m.Close()
	all := []string{"", "a", "a\xff", "a\xff\xff", "ab", "b", "\xff", "\xff\xff", "\xff\xffx"}
	for _, key := range all {
		m.Store(key, 1)
	}
	for _, prefix := range append(all, "a\xfe", "ac", "c") {
		var got, want []string
		for key := range m.Ascend(Prefix(prefix)) {
			got = append(got, key)
		}
		for _, key := range all {
			if strings.HasPrefix(key, prefix) {
				want = append(want, key)
			}
		}
		slices.Sort(want)
		require.Equal(t, want, got, "%q", prefix)
	}
}

// DeleteRange deletes the keys of its range, at once, whatever else the map has: indexes that
// follow, a watch that is told, and expiry.
func TestDeleteRange(t *testing.T) {
	alone := NewOrdered[int, int](nil)
	t.Cleanup(alone.Close)
	db := newDB(t, nil)
	table := NewOrderedTable[int, int](db, "table", nil)
	indexed := NewOrderedTable[int, int](db, "indexed", nil)
	hence := time.Now().Add(time.Hour)
	indexed.Expire(func(int, int) time.Time { return hence })
	keys := func(_, v int) []int { return []int{v} }
	many, err := NewIndex(indexed, "many", keys, nil)
	require.NoError(t, err)
	unique, err := NewOrderedIndex(indexed, "unique", keys, &IndexOptions{Unique: true})
	require.NoError(t, err)
	for name, m := range map[string]*Map[int, int]{"alone": alone, "table": table, "indexed": indexed} {
		t.Run(name, func(t *testing.T) {
			for i := range 100 {
				m.Store(i, i)
			}
			commits := m.Watch(t.Context(), nil)
			old := m.Snapshot()
			defer old.Close()
			require.Equal(t, 10, m.DeleteRange(From(10).Before(20)))
			require.Zero(t, m.DeleteRange(From(10).Before(20)))
			require.Zero(t, m.DeleteRange(From(9).Before(3)))
			require.Equal(t, 90, m.Len())
			require.Equal(t, 100, CountRange(old, Range[int]{}))
			require.Equal(t, 9, CountRange(m, From(1).Before(20)))
			for c, err := range commits {
				require.NoError(t, err)
				require.Len(t, c.Changes, 10)
				for _, change := range c.Changes {
					require.True(t, change.Had && !change.Has && change.Key/10 == 1, change)
				}
				break
			}
			for _, opts := range levels {
				mustUpdate(t, m, opts, func(tx Tx[int, int]) {
					more := func(old int, _ bool) int { return old + 1000 }
					tx.Set(15, 2015)
					tx.Delete(20)
					tx.Merge(21, more)
					tx.Merge(16, func(int, bool) int { return 2016 })
					some := From(15).UpTo(25)
					want := len(maps.Collect(tx.Ascend(some)))
					require.GreaterOrEqual(t, want, 3)
					require.Equal(t, want, CountRange(tx, some))
					require.Equal(t, want, tx.DeleteRange(some))
					require.Zero(t, CountRange(tx, some))
					require.Zero(t, tx.DeleteRange(some))
					tx.Set(12, 2012)
				})
				left := slices.Sorted(maps.Keys(maps.Collect(m.Ascend(From(10).UpTo(26)))))
				require.Equal(t, []int{12, 26}, left)
			}
			if m == indexed {
				require.Equal(t, m.Len(), many.Len(m))
				require.Equal(t, m.Len(), unique.Count(m, Range[int]{}))
			}
			require.Equal(t, m.Len(), m.DeleteRange(Range[int]{}))
			require.Empty(t, maps.Collect(m.All()))
		})
	}
	require.Zero(t, many.Len(indexed)+unique.Len(indexed))
	require.Zero(t, many.Count(indexed, Range[int]{})+unique.Count(indexed, Range[int]{}))
}
