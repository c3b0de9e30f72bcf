package mvcc

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// Which writer waits for which, when several want the same key.

// Updates of one key that meet a claim on it queue behind it, park, and get their turns
// in order; each runs its function at most twice.
func TestUpdatesQueue(t *testing.T) {
	for _, procs := range []int{1, 2, 8} {
		inBubble(t, func(t *testing.T, m *Map[string, int]) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
			const n = 50
			c := claim(m, "k")
			var calls atomic.Int32
			var found [n]int // the value that each has incremented
			for i := range n {
				go func() {
					_ = meet(bg, m, func(tx Tx[string, int]) error {
						calls.Add(1)
						found[i], _ = tx.Get("k")
						return increment("k")(tx)
					})
				}()
				synctest.Wait()
			}
			require.Equal(t, n, coreOf(m).favour.Stats().Waiting)
			require.Zero(t, m.Stats().LiveTx, "who gives way has no transaction open")
			require.EqualValues(t, n, calls.Load())
			c.End()
			synctest.Wait()
			for i := range n {
				require.Equal(t, 1+i, found[i])
			}
			require.LessOrEqual(t, int(calls.Load()), 2*n)
			requireValue(t, 1+n)(m.Load("k"))
		})
	}
}

// A context ends a wait for a turn, and leaves the others theirs.
func TestContextEndsWait(t *testing.T) {
	inBubble(t, func(t *testing.T, m *Map[string, int]) {
		c := claim(m, "k")
		ctx, cancel := context.WithTimeout(bg, time.Second)
		defer cancel()
		tooLate, inTime := make(chan error, 1), make(chan error, 1)
		start := time.Now()
		go func() {
			tooLate <- meet(ctx, m, increment("k"))
		}()
		synctest.Wait()
		go func() { inTime <- meet(bg, m, increment("k")) }()
		synctest.Wait()
		require.ErrorIs(t, <-tooLate, context.DeadlineExceeded)
		require.Equal(t, time.Second, time.Since(start))
		c.End()
		require.NoError(t, <-inTime)
		requireValue(t, 2)(m.Load("k"))

		c = claim(m, "k")
		attempts := 0
		go func() {
			tooLate <- m.Update(ctx, nil, func(Tx[string, int]) error { attempts++; return nil })
		}()
		require.ErrorIs(t, <-tooLate, context.DeadlineExceeded)
		require.Zero(t, attempts)
		c.End()
	})
}

// A context ends the wait of an attempt that lets others go first, too: one that reads is not
// committed, and one that has read nothing goes on.
func TestContextEndsGivingWay(t *testing.T) {
	for _, reads := range []bool{false, true} {
		inBubble(t, func(t *testing.T, m *Map[string, int]) {
			c := claim(m, "k")
			ctx, cancel := context.WithTimeout(bg, time.Second)
			defer cancel()
			start := time.Now()
			err := m.Update(ctx, nil, func(tx Tx[string, int]) error {
				if reads {
					tx.Get("k")
				}
				tx.Set("k", 7)
				tx.Set("l", 7)
				return nil
			})
			require.Equal(t, time.Second, time.Since(start))
			if reads {
				require.ErrorIs(t, err, context.DeadlineExceeded)
				requireValue(t, 1)(m.Load("k"))
			} else {
				require.NoError(t, err)
				requireValue(t, 7)(m.Load("k"))
			}
			c.End()
		})
	}
}
