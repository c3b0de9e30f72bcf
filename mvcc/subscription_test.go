package mvcc

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/debug/stage"
)

// All commits come, whole and in order, whoever makes them.
func TestWatch(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			m := New[int, int](nil)
			if ordered {
				m = NewOrdered[int, int](nil)
			}
			defer m.Close()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			m.Store(1, 1)
			s := m.Snapshot()
			r := newReplica(s)
			m.Store(2, 2) // the changes before the watch are summed up
			m.Store(2, 22)
			m.Delete(1)
			all := m.Watch(ctx, &WatchOptions[int, int]{Since: s})
			s.Close()

			mustUpdate(t, m, nil, func(tx Tx[int, int]) {
				tx.Set(1, 100)
				tx.Delete(2)
				tx.Delete(77) // not there: no change
				tx.Set(3, 3)
			})
			m.Delete(78)
			require.ErrorIs(t, m.Update(bg, nil, func(tx Tx[int, int]) error {
				tx.Set(9, 9)
				return errStop
			}), errStop)
			m.Store(3, 3) // the same value is a change
			m.Clear()
			m.Compute(5, func(int, bool) (int, ComputeOp) { return 5, UpdateOp })
			last := m.Epoch()
			var got [][]Change[int, int]
			for c, err := range all {
				if err != nil {
					require.ErrorIs(t, err, context.Canceled)
					break
				}
				require.NoError(t, r.apply(c.Epoch, c.Changes, c.Summary))
				require.Equal(t, len(got) == 0, c.Summary)
				got = append(got, c.Changes)
				if c.Epoch == last {
					cancel()
				}
			}
			slices.SortFunc(got[1], func(a, b Change[int, int]) int { return a.Key - b.Key })
			require.Equal(t, []Change[int, int]{{1, 0, 100, false, true}, {2, 22, 0, true, false},
				{3, 0, 3, false, true}}, got[1])
			require.Len(t, got, 5)
			require.Equal(t, maps.Collect(m.All()), r.have)
			require.Panics(t, func() {
				for _, err := range all {
					require.NoError(t, err)
				}
			}, "a second loop")
		})
	}
}

var errStop = errors.New("stop")

// A watch of a database gives commits over several tables in one, and those of tables that come
// later; that of a table, or of some keys, gives its own changes.
func TestWatchDB(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := newDB(t, nil)
		a := NewOrderedTable[int, int](db, "a", nil)
		_, err := NewIndex(a, "tens", func(_, v int) []int { return []int{v / 10} }, nil)
		require.NoError(t, err)
		s := db.Snapshot()
		a.Store(7, 7)
		whole := db.Watch(t.Context(), &DBWatchOptions{Since: s})
		s.Close()
		ranged := a.Watch(t.Context(), &WatchOptions[int, int]{Keys: From(10).Before(20),
			Match: func(k int) bool {
				return k%2 == 0
			}})
		b := NewTable[int, int](db, "b", nil)
		var at uint64
		require.NoError(t, db.Update(bg, nil, func(tx DBTx) error {
			a.In(tx).Set(10, 1)
			a.In(tx).Set(11, 1)
			a.In(tx).Set(30, 1)
			b.In(tx).Set(1, 2)
			tx.OnCommit(func(e uint64) { at = e })
			return nil
		}))
		closed := NewTable[int, int](db, "closed", nil)
		closed.Close()
		closed.Store(1, 1)
		b.Store(2, 3)
		n := 0
		for c, err := range whole {
			require.NoError(t, err)
			require.Empty(t, closed.Changes(c))
			switch n++; n {
			case 1:
				require.True(t, c.Summary)
				require.Equal(t, []Change[int, int]{{7, 0, 7, false, true}}, a.Changes(c))
			case 2:
				require.Equal(t, at, c.Epoch)
				require.Len(t, a.Changes(c), 3)
				require.Equal(t, []Change[int, int]{{1, 0, 2, false, true}}, b.Changes(c))
			case 3:
				require.Equal(t, "closed", c.Closed)
			case 4:
				require.Empty(t, a.Changes(c))
				require.Equal(t, []Change[int, int]{{2, 0, 3, false, true}}, b.Changes(c))
			}
			if n == 4 {
				break
			}
		}
		for c, err := range ranged {
			require.NoError(t, err)
			require.Equal(t, Commit[int, int]{Epoch: at,
				Changes: []Change[int, int]{{10, 0, 1, false, true}}}, c)
			break
		}
		require.Nil(t, dbAt(db).shared.hub.work.Load(), "its rounds end with the last watch")
		require.Nil(t, coreOf(a).feed())
		require.False(t, dbAt(db).shared.slots.Holds())
	})
}

// A watch that is too slow is told, and up to where it has got; nobody waits for it, and it keeps
// nothing.
func TestWatchGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New[int, int](nil)
		defer m.Close()
		slow := m.Watch(t.Context(), &WatchOptions[int, int]{Buffer: 10})
		quick := m.Watch(t.Context(), nil)
		var epochs []uint64
		for i := range 100 {
			m.Store(i%3, i)
			epochs = append(epochs, m.Epoch())
			time.Sleep(time.Second)
		}
		got := 0
		for c, err := range slow {
			if err != nil {
				require.ErrorIs(t, err, ErrGap)
				gap, _ := errors.AsType[*GapError](err)
				require.Equal(t, epochs[got-1], gap.Epoch)
				break
			}
			require.Equal(t, epochs[got], c.Epoch)
			got++
		}
		require.Equal(t, 10, got)
		stats := m.Stats()
		require.Equal(t, []int{1, 100, 0, 1},
			[]int{stats.Watches, stats.WatchWaiting, int(stats.WatchLag), int(stats.Gaps)})
		got = 0
		for c, err := range quick {
			require.NoError(t, err)
			require.Equal(t, epochs[got], c.Epoch)
			if got++; got == 100 {
				break
			}
		}
	})
}

// The commits that wait for a loop are dropped when its context ends: a gap that it is told of
// then, too, begins where it was given something last.
func TestGapBesideContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gaps := 0
		for range 50 {
			m := New[int, int](nil)
			ctx, cancel := context.WithCancel(t.Context())
			watch := m.Watch(ctx, &WatchOptions[int, int]{Buffer: 10})
			given := m.Epoch()
			for _, n := range []int{5, 20} { // these wait, and those are too many
				for i := range n {
					m.Store(i, i)
				}
				time.Sleep(time.Second)
			}
			cancel()
			synctest.Wait()
			for c, err := range watch {
				if gap, ok := errors.AsType[*GapError](err); ok {
					gaps++
					require.Equal(t, given, gap.Epoch)
				}
				if err != nil {
					break
				}
				given = c.Epoch
			}
			m.Close()
		}
		require.Positive(t, gaps)
	})
}

// A commit that is larger than the buffer is given whole to a loop that keeps up, whatever comes
// before it and after it.
func TestLargeCommitBehindSmall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New[int, int](nil)
		defer m.Close()
		fill := func(n int) {
			mustUpdate(t, m, nil, func(tx Tx[int, int]) {
				for i := range n {
					tx.Set(i, i)
				}
			})
		}
		watch := m.Watch(t.Context(), &WatchOptions[int, int]{Buffer: 10})
		coreOf(m).shared.hub.mu.Lock() // so that a round finds them all
		sizes := []int{1, 2, 11, 3, 100, 4}
		for _, n := range sizes {
			fill(n)
		}
		coreOf(m).shared.hub.mu.Unlock()
		time.Sleep(time.Second)
		fill(0)
		for c, err := range watch {
			require.NoError(t, err)
			require.Len(t, c.Changes, sizes[0])
			if sizes = sizes[1:]; len(sizes) == 0 {
				break
			}
		}
	})
}

// Replicas of the accounts follow transfers by all ways there are: they never see half of one,
// and miss none, however they begin.
func TestWatchBesideWriters(t *testing.T) {
	const accounts, opening = 20, 100
	for _, ordered := range []bool{false, true} {
		db := NewDB(&Options{PruneThreshold: 1})
		a, b := NewTable[int, int](db, "a", nil), NewTable[int, int](db, "b", nil)
		if ordered {
			b = NewOrderedTable[int, int](db, "ordered", nil)
		}
		for i := range accounts {
			a.Store(i, opening)
			b.Store(i, opening)
		}
		var writers, watchers sync.WaitGroup
		ctx, cancel := context.WithTimeout(t.Context(), stage.Sizes(2*time.Second, 300*time.Millisecond))
		for w := range 4 {
			writers.Go(func() {
				r := rand.New(rand.NewPCG(uint64(w), 1))
				for i := 1; ctx.Err() == nil; i++ {
					if i%64 == 0 { // else the hub gives up
						time.Sleep(100 * time.Microsecond)
					}
					from, to, n := r.IntN(accounts), r.IntN(accounts), r.IntN(5)
					switch r.IntN(5) {
					case 0: // a write that changes nothing
						a.Compute(from, func(v int, _ bool) (int, ComputeOp) { return v, UpdateOp })
					case 1: // from one key to another, which may be gone
						_ = a.Update(ctx, nil, func(tx Tx[int, int]) error {
							v, _ := tx.Get(from)
							tx.Delete(from)
							tx.Merge(to+accounts, func(old int, _ bool) int { return old + v })
							return nil
						})
					default:
						_ = db.Update(ctx, &TxOptions{Isolation: []Level{LevelSerializable,
							LevelSnapshot}[r.IntN(2)]}, func(tx DBTx) error {
							x, y := a.In(tx), b.In(tx)
							v, _ := x.Get(from)
							w, _ := y.Get(to)
							x.Set(from, v-n)
							y.Set(to, w+n)
							return nil
						})
					}
				}
			})
		}
		const total = 2 * accounts * opening
		// follow follows for a while, or to the end if that is to be checked.
		follow := func(n int) (ra, rb *replica[int]) {
			s := db.Snapshot()
			ra, rb = newReplica(a.At(s)), newReplica(b.At(s))
			all := db.Watch(t.Context(), &DBWatchOptions{Since: s, Buffer: 1 << 30})
			s.Close()
			if _, ended := ra.have[-1]; ended {
				return
			}
			for c, err := range all {
				if errors.Is(err, ErrGap) { // the machine is busy
					return
				}
				if err != nil {
					t.Error(err)
					return
				}
				for m, r := range map[*Map[int, int]]*replica[int]{a: ra, b: rb} {
					if changes := m.Changes(c); len(changes) > 0 {
						if err := r.apply(c.Epoch, changes, c.Summary); err != nil {
							t.Error(err)
							return
						}
					}
				}
				if got := ra.sum() + rb.sum(); got != total {
					t.Errorf("half of a transfer at %d: %d", c.Epoch, got)
					return
				}
				_, ends := ra.have[-1]
				if n--; n == 0 || ends {
					return
				}
			}
			return
		}
		for range 2 {
			watchers.Go(func() {
				for ctx.Err() == nil && !t.Failed() {
					follow(1 + rand.IntN(1000))
				}
			})
		}
		var ra *replica[int]
		watchers.Go(func() {
			for ended := false; !ended && !t.Failed(); _, ended = ra.have[-1] {
				ra, _ = follow(-1)
			}
		})
		writers.Wait()
		a.Store(-1, 0) // the end
		watchers.Wait()
		cancel()
		require.Equal(t, maps.Collect(a.All()), ra.have)
		db.Close()
	}
}
