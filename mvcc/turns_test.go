package mvcc

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/favour"
	"github.com/mvccmap/mvccmap/internal/stage"
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

// An Update gives way to two claims as any other, and queues at the third: else one claim
// would make others for as long as there are writers.
func TestUpdateQueuesAtThirdClaim(t *testing.T) {
	inBubble(t, func(t *testing.T, m *Map[string, int]) {
		var claims []*favour.Claim
		for range bidMeets {
			claims = append(claims, claim(m, "k"))
		}
		done := make(chan error)
		go func() { done <- m.Update(bg, nil, increment("k")) }()
		for i, c := range claims {
			synctest.Wait()
			require.EqualValues(t, bidMeets-1-i+1, coreOf(m).favour.Stats().Waiting)
			require.EqualValues(t, min(i+1, bidMeets-1), coreOf(m).favour.Stats().Deferrals)
			// As the holder of the claim would do.
			st, gen := coreOf(m).begin(LevelSerializable, forProgram)
			tx := Tx[string, int]{&st.own.txn, gen}
			_ = increment("k")(tx)
			_, r := st.commit(gen, new(conflict), &bid{ctx: bg, claim: c})
			require.Equal(t, resultOK, r)
			c.End()
		}
		require.NoError(t, <-done)
		requireValue(t, 1+bidMeets+1)(m.Load("k"))
		require.EqualValues(t, bidMeets+1, coreOf(m).favour.Stats().Granted)
	})
}

// An Update that gives way has no transaction open meanwhile: it does not become too old,
// and nothing is kept for it.
func TestNothingIsOpenWhileGivingWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New[string, int](aging())
		defer m.Close()
		m.Store("k", 1)
		for _, gave := range []int{0, bidMeets - 1} {
			c := claim(m, "k")
			done := make(chan error)
			go func() {
				b := bid{ctx: bg, gave: gave}
				done <- coreOf(m).retry(LevelSerializable, DefaultMaxAttempts, &b, new(conflict),
					func(tx DBTx) error { return increment("k")(Tx[string, int](tx)) })
			}()
			synctest.Wait()
			require.Zero(t, m.Stats().LiveTx)
			time.Sleep(10 * time.Hour)
			c.End()
			require.NoError(t, <-done)
		}
		requireValue(t, 3)(m.Load("k"))
	})
}

// The last attempt of an Update does not queue, as there is none that would have the
// turn: it gives way, and commits if it can.
func TestLastAttemptGivesWay(t *testing.T) {
	inBubble(t, func(t *testing.T, m *Map[string, int]) {
		c := claim(m, "k")
		b := bid{ctx: bg, gave: bidMeets, last: true}
		done := make(chan bool)
		go func() {
			st, gen := coreOf(m).begin(LevelSerializable, forProgram)
			_ = increment("k")(Tx[string, int]{&st.own.txn, gen})
			_, r := st.commit(gen, new(conflict), &b)
			done <- r == resultOK
		}()
		synctest.Wait()
		require.Equal(t, 1, coreOf(m).favour.Stats().Waiting)
		c.End()
		require.True(t, <-done)
		b.end()
		requireValue(t, 2)(m.Load("k"))
	})
}

// A function that reads nothing any more, when it has its turn, does not give way to
// its own claim.
func TestUpdateThatReadsNoMore(t *testing.T) {
	inBubble(t, func(t *testing.T, m *Map[string, int]) {
		attempts := 0
		start := time.Now()
		require.NoError(t, m.Update(bg, nil, func(tx Tx[string, int]) error {
			if attempts++; attempts > bidLosses {
				require.True(t, coreOf(m).favour.Claimed(m.hash("k")))
				start = time.Now()
				tx.Set("k", -1)
				return nil
			}
			_ = increment("k")(tx)
			elsewhere(func() { m.Store("k", attempts) })
			return nil
		}))
		require.Zero(t, time.Since(start))
		requireValue(t, -1)(m.Load("k"))
	})
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

// It ends the wait of an attempt that lets others go first, too: what it reads is not committed,
// and what has read nothing goes on.
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

// Many goroutines and one key, with a pause in which all others run: nobody is left
// behind, and nothing is lost.
func TestManyUpdatesOfOneKey(t *testing.T) {
	workers, rounds := stage.Sizes(1000, 100), 5
	m := newMap[string, int](t, nil)
	var wg sync.WaitGroup
	errs := make(chan error, workers)
	for range workers {
		wg.Go(func() {
			for range rounds {
				err := m.Update(bg, nil, func(tx Tx[string, int]) error {
					value, _ := tx.Get("k")
					runtime.Gosched()
					tx.Set("k", value+1)
					return nil
				})
				if err != nil {
					errs <- err
					return
				}
			}
		})
	}
	wg.Wait()
	close(errs)
	require.NoError(t, <-errs)
	requireValue(t, workers*rounds)(m.Load("k"))
	checkQuiet(t, m)
}

// Functions that sleep, in any place of the queue: those behind them wait for their
// tenures and for as long again, and no longer.
func TestSleepersInQueue(t *testing.T) {
	const n = 5
	for sleepers := range 1 << n {
		inBubble(t, func(t *testing.T, m *Map[string, int]) {
			c := claimFor(m, favour.MinTenure, "k")
			awake, slept := make(chan struct{}), new(atomic.Int64)
			var done sync.WaitGroup
			start := time.Now()
			for i := range n {
				calls := 0
				done.Go(func() {
					_ = meet(bg, m, func(tx Tx[string, int]) error {
						if calls++; calls == 2 && sleepers>>i&1 == 1 { // it has its turn
							slept.Add(1)
							<-awake
						}
						return increment("k")(tx)
					})
					if sleepers>>i&1 == 0 {
						// The tenures of the claims before it, and of the first.
						require.LessOrEqual(t, time.Since(start), time.Duration(slept.Load())*2*favour.MinTenure)
					}
				})
				synctest.Wait()
			}
			c.End()
			time.Sleep(time.Minute)
			synctest.Wait()
			require.Zero(t, coreOf(m).favour.Stats().Waiting)
			close(awake)
			done.Wait()
		})
	}
}
