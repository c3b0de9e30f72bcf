package mvcc

import (
	"fmt"
	"slices"
	"strings"
	"testing"

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
						var conflict *ConflictError
						require.ErrorAs(t, err, &conflict)
						require.Equal(t, ConflictScan, conflict.Kind)
						require.Equal(t, key, conflict.Key)
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
