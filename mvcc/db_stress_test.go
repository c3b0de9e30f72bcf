package mvcc

import (
	"fmt"
	"iter"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/stage"
)

// Transfers between tables, beside readers of both, of each by itself and of several maps'
// clocks: no sum is ever wrong.
func TestDBStress(t *testing.T) {
	for _, level := range []Level{LevelSerializable, LevelSnapshot} {
		t.Run(level.String(), func(t *testing.T) {
			db := NewDB(&Options{ReclaimInterval: 1e6, Isolation: level})
			defer db.Close()
			const tables, keys, each = 3, 8, 100
			var maps [tables]*Map[int, int]
			for i := range maps {
				maps[i] = NewTable[int, int](db, fmt.Sprint(i), nil)
				for k := range keys {
					maps[i].Store(k, each)
				}
			}
			sum := func(of func(i int) iter.Seq[int]) (n int) {
				for i := range maps {
					for value := range of(i) {
						n += value
					}
				}
				return n
			}
			writers := stage.NewCrew(t)
			writers.Run(4, func(g int) error {
				for n := range 400 {
					from, to, a, b := (g+n)%tables, n%tables, n%keys, (n*7+g)%keys
					err := db.Update(bg, nil, func(tx DBTx) error {
						x, y := maps[from].In(tx), maps[to].In(tx)
						value, _ := x.Get(a)
						x.Set(a, value-1)
						value, _ = y.Get(b)
						y.Set(b, value+1)
						return nil
					})
					if err != nil {
						return err
					}
					if n%8 == 0 { // of one table alone
						maps[from].Merge(a, func(old int, _ bool) int { return old })
					}
				}
				return nil
			})
			writers.Run(4, func(int) error {
				for range 100 {
					if err := db.View(func(s DBSnapshot) error {
						got := sum(func(i int) iter.Seq[int] { return maps[i].At(s).Values() })
						return expect("sum in a snapshot", tables*keys*each, got)
					}); err != nil {
						return err
					}
					if err := db.Update(bg, nil, func(tx DBTx) error {
						got := sum(func(i int) iter.Seq[int] { return maps[i].In(tx).Values() })
						return expect("sum in a transaction", tables*keys*each, got)
					}); err != nil {
						return err
					}
				}
				return nil
			})
			writers.Wait(t)
			got := sum(func(i int) iter.Seq[int] { return maps[i].Values() })
			require.Equal(t, tables*keys*each, got)
			require.NoError(t, db.Reclaim(bg))
			require.NoError(t, db.Reclaim(bg))
			stats := db.Stats()
			require.Equal(t, tables*keys, stats.Versions)
			require.Zero(t, stats.LiveTx)
		})
	}
}

// Two tables, whose transactions each read what the other writes: no write skew, as long as
// they are serializable.
func TestDBWriteSkew(t *testing.T) {
	s := newShop(t, nil)
	for _, there := range []bool{false, true} {
		one, two := s.db.Begin(nil), s.db.Begin(nil)
		requireHas(t, there)(s.stock.In(one).Get("a"))
		requireHas(t, there)(s.orders.In(two).Get(1))
		s.orders.In(one).Set(1, 1)
		s.stock.In(two).Set("a", 1)
		require.NoError(t, one.Commit())
		require.ErrorIs(t, two.Commit(), ErrConflict)
		s.stock.Store("a", 1)
	}
}

func requireHas(t *testing.T, want bool) func(_ int, has bool) {
	return func(_ int, has bool) {
		t.Helper()
		require.Equal(t, want, has)
	}
}
