package mvcc

import (
	"errors"
	"iter"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// A step after the snapshot was closed, or the transaction has ended, panics, also if its key was
// found before.
func TestLoopOverClosed(t *testing.T) {
	db := newDB(t, nil)
	table := NewTable[int, int](db, "table", nil)
	ordered := NewOrderedTable[int, int](db, "ordered", nil)
	ix, err := NewIndex(table, "all", func(int, int) []int { return []int{1} }, nil)
	require.NoError(t, err)
	for k := range 50 {
		table.Store(k, k)
		ordered.Store(k, k)
	}
	all, inOrder, up, down := table.Snapshot(), ordered.Snapshot(), ordered.Snapshot(), ordered.Snapshot()
	by, plain, own := table.Snapshot(), table.Begin(nil), table.Begin(nil)
	for k := range 3 {
		own.Set(k, k)
	}
	for name, loop := range map[string]struct {
		end func()
		all iter.Seq2[int, int]
	}{
		"all":         {all.Close, all.All()},
		"ordered":     {inOrder.Close, inOrder.All()},
		"up":          {up.Close, up.Ascend(From(3))},
		"down":        {down.Close, down.Descend(UpTo(40))},
		"index":       {by.Close, ix.Get(by, 1)},
		"transaction": {plain.Rollback, plain.All()},
		"own writes":  {own.Rollback, own.All()},
	} {
		t.Run(name, func(t *testing.T) {
			steps := 0
			require.PanicsWithValue(t, ErrTxDone, func() {
				for range loop.all {
					if steps++; steps == 2 {
						loop.end()
					}
				}
			})
			require.Equal(t, 2, steps)
		})
	}
}

// A loop over a range that is left at once does not copy all that the transaction has written.
func TestLeftLoopBesideManyWrites(t *testing.T) {
	m := NewOrdered[int, int](still())
	defer m.Close()
	mustUpdate(t, m, nil, func(tx Tx[int, int]) {
		for k := range 1000 {
			tx.Set(k, k)
		}
		leave := func(k int) {
			for key := range tx.Ascend(From(k)) {
				require.Equal(t, k, key)
				break
			}
			for key := range tx.Descend(UpTo(k)) {
				require.Equal(t, k, key)
				break
			}
		}
		leave(1)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		const times = 100
		for k := range times {
			leave(400 + k)
		}
		runtime.ReadMemStats(&after)
		require.Less(t, (after.TotalAlloc-before.TotalAlloc)/times, uint64(4<<10))
		require.Less(t, len(stateOf(tx.st).loops), 3, "loops that have ended are forgotten")
	})
}

// Loops that are under way together visit the records that there were when each began,
// whatever is written, undone and merged between their steps.
func TestLoopsUnderWay(t *testing.T) {
	type loop struct {
		next func() (int, int, bool)
		stop func()
		want []keyValue
	}
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 7))
		m := NewOrdered[int, int](still())
		for range 10 {
			m.Store(rng.IntN(40), rng.IntN(1000))
		}
		mustUpdate(t, m, levels[seed%2], func(tx Tx[int, int]) {
			var loops []loop
			write := func() {
				for range rng.IntN(6) {
					switch key := rng.IntN(40); rng.IntN(4) {
					case 0:
						tx.Delete(key)
					case 1:
						tx.Merge(key, func(old int, _ bool) int { return old + 1 })
					default:
						tx.Set(key, rng.IntN(1000))
					}
				}
			}
			begin := func() {
				in, seq := From(rng.IntN(20)).UpTo(20+rng.IntN(20)), tx.Ascend
				if rng.IntN(2) == 0 {
					seq = tx.Descend
				}
				if want := collected(seq(in)); len(want) > 0 { // it begins with its first step
					next, stop := iter.Pull2(seq(in))
					key, value, _ := next()
					require.Equal(t, want[0], keyValue{key, value})
					loops = append(loops, loop{next, stop, want[1:]})
				}
			}
			for range 60 {
				switch rng.IntN(6) {
				case 0:
					begin()
				case 1:
					write()
				case 2:
					_ = tx.Savepoint(func() error {
						write()
						begin()
						write()
						return []error{nil, errors.New("undone")}[rng.IntN(2)]
					})
				default:
					if len(loops) == 0 {
						continue
					}
					i := rng.IntN(len(loops))
					key, value, ok := loops[i].next()
					if len(loops[i].want) > 0 {
						require.True(t, ok)
						require.Equal(t, loops[i].want[0], keyValue{key, value}, seed)
						loops[i].want = loops[i].want[1:]
						continue
					}
					require.False(t, ok)
					loops = slices.Delete(loops, i, i+1)
				}
			}
			for _, l := range loops {
				l.stop()
			}
		})
		m.Close()
	}
}
