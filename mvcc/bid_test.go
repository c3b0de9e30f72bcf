package mvcc

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/favour"
)

// The tests of claims run in a bubble, where time passes only while all goroutines
// wait for it.

// claim makes a claim on keys, as an Update does that has lost often.
func claim(m *Map[string, int], keys ...string) *favour.Claim {
	return claimFor(m, time.Hour, keys...)
}

func claimFor(m *Map[string, int], tenure time.Duration, keys ...string) *favour.Claim {
	set := favour.NewKeys(len(keys))
	for _, key := range keys {
		set.Add(m.hash(key))
	}
	return m.favour.Enter(set, tenure)
}

// inBubble runs f in a bubble, with a map in which k, l and other are 1.
func inBubble(t *testing.T, f func(t *testing.T, m *Map[string, int])) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		m := New[string, int](still())
		defer m.Close()
		for _, key := range []string{"k", "l", "other"} {
			m.Store(key, 1)
		}
		f(t, m)
		checkQuiet(t, m)
	})
}

func increment(key string) func(tx Tx[string, int]) error {
	return func(tx Tx[string, int]) error {
		value, _ := tx.Get(key)
		tx.Set(key, value+1)
		return nil
	}
}

// meet is Update for one that has met so many claims that it queues at the next.
func meet(ctx context.Context, m *Map[string, int], fn func(tx Tx[string, int]) error) error {
	b := bid{ctx: ctx, gave: bidMeets - 1}
	return m.retry(LevelSerializable, DefaultMaxAttempts, &b, new(conflict[string]), fn)
}

// writesOf is every way to write key.
func writesOf(key string) map[string]func(m *Map[string, int]) {
	return map[string]func(m *Map[string, int]){
		"Store":          func(m *Map[string, int]) { m.Store(key, 2) },
		"Swap":           func(m *Map[string, int]) { m.Swap(key, 2) },
		"Delete":         func(m *Map[string, int]) { m.Delete(key) },
		"CompareAndSwap": func(m *Map[string, int]) { CompareAndSwap(m, key, 1, 2) },
		"one put": func(m *Map[string, int]) {
			_ = m.Update(bg, nil, func(tx Tx[string, int]) error { tx.Set(key, 2); return nil })
		},
		"two puts": func(m *Map[string, int]) {
			_ = m.Update(bg, nil, func(tx Tx[string, int]) error { tx.Set("new", 2); tx.Set(key, 2); return nil })
		},
		"Update":                 func(m *Map[string, int]) { _ = m.Update(bg, nil, increment(key)) },
		"Update, snapshot level": func(m *Map[string, int]) { _ = m.Update(bg, snapshot, increment(key)) },
		"Commit": func(m *Map[string, int]) {
			tx := m.Begin(nil)
			_ = increment(key)(tx)
			_ = tx.Commit()
		},
	}
}

// Who writes a key that is claimed lets the claim go first; nobody else does, whatever
// it reads.
func TestWritersLetClaimsGoFirst(t *testing.T) {
	for name, write := range writesOf("k") {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, m *Map[string, int]) {
				c := claim(m, "k", "l")
				done := make(chan struct{})
				go func() { write(m); close(done) }()
				time.Sleep(time.Minute)
				synctest.Wait()
				requireValue(t, 1)(m.Load("k"))
				require.Equal(t, 1, m.favour.Stats().Waiting)
				c.End()
				<-done
				value, _ := m.Load("k")
				require.NotEqual(t, 1, value)
			})
		})
	}
	for name, write := range writesOf("other") {
		t.Run(name+", other key", func(t *testing.T) {
			inBubble(t, func(t *testing.T, m *Map[string, int]) {
				c := claim(m, "k", "l")
				start := time.Now()
				write(m)
				require.NoError(t, m.Update(bg, nil, func(tx Tx[string, int]) error {
					tx.Get("k") // a claim is no lock: it may be read
					tx.Set("other", 3)
					tx.Set("another", 3)
					return nil
				}))
				m.Load("k")
				require.False(t, CompareAndSwap(m, "k", 7, 8), "it writes nothing")
				m.LoadOrStore("k", 7)
				m.Delete("absent")
				require.Zero(t, time.Since(start))
				require.Zero(t, m.favour.Stats().Deferrals)
				c.End()
			})
		})
	}
}

// Who does not queue for a claim of his own waits for one claim, and not for the next
// one on the same key, that was granted when the first had ended.
func TestWritersWaitOnce(t *testing.T) {
	for name, write := range writesOf("k") {
		if strings.HasPrefix(name, "Update") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, m *Map[string, int]) {
				first, second := claim(m, "k"), claim(m, "k")
				done := false
				go func() { write(m); done = true }()
				synctest.Wait()
				require.False(t, done)
				first.End()
				require.True(t, second.Held())
				synctest.Wait()
				require.True(t, done)
				second.End()
			})
		})
	}
}

// The tenure of a claim ends, whatever its holder does: a function that sleeps, or goes
// on reading, holds nobody up for longer.
func TestTenureOfUpdateEnds(t *testing.T) {
	for _, sleep := range []time.Duration{time.Millisecond, 30 * time.Millisecond, time.Minute} {
		for _, reads := range []bool{false, true} {
			inBubble(t, func(t *testing.T, m *Map[string, int]) {
				attempts := 0
				claimed := make(chan struct{})
				finished := make(chan error)
				go func() {
					finished <- m.Update(bg, nil, func(tx Tx[string, int]) error {
						_ = increment("k")(tx)
						switch attempts++; {
						case attempts <= bidLosses:
							m.Store("k", 10*attempts)
						case attempts == bidLosses+1:
							close(claimed)
						}
						for end := time.Now().Add(sleep); time.Now().Before(end); {
							time.Sleep(time.Millisecond)
							if reads {
								tx.Get("l")
							}
						}
						return nil
					})
				}()
				<-claimed
				require.True(t, m.favour.Claimed(m.hash("k")))
				start := time.Now()
				m.Store("k", 1000)
				waited := time.Since(start)
				require.GreaterOrEqual(t, waited, min(sleep, maxTenure)/2)
				require.LessOrEqual(t, waited, maxTenure+time.Millisecond)
				require.NoError(t, <-finished)
				if sleep < maxTenure {
					require.Equal(t, bidLosses+1, attempts)
					requireValue(t, 1000)(m.Load("k"))
				} else {
					requireValue(t, 1001)(m.Load("k"))
				}
			})
		}
	}
}

// An Update makes a claim when it has lost a few times, on what it has read and
// written, and gives it back however it ends.
func TestUpdateMakesClaim(t *testing.T) {
	failed := errors.New("failed")
	for name, end := range map[string]func(m *Map[string, int], tx Tx[string, int]) error{
		"commits":     func(*Map[string, int], Tx[string, int]) error { return nil },
		"fails":       func(*Map[string, int], Tx[string, int]) error { return failed },
		"panics":      func(*Map[string, int], Tx[string, int]) error { panic(failed) },
		"exits":       func(*Map[string, int], Tx[string, int]) error { runtime.Goexit(); return nil },
		"rolls back":  func(_ *Map[string, int], tx Tx[string, int]) error { tx.Rollback(); return nil },
		"loses again": func(m *Map[string, int], _ Tx[string, int]) error { m.Store("k", 0); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, m *Map[string, int]) {
				done := make(chan struct{})
				attempts := 0
				go func() {
					defer close(done)
					defer func() { _ = recover() }()
					_ = m.Update(bg, &TxOptions{MaxAttempts: bidLosses + 1}, func(tx Tx[string, int]) error {
						tx.Get("never")
						tx.Get("l")
						_ = increment("k")(tx)
						if attempts++; attempts <= bidLosses {
							require.False(t, m.favour.Any(), "attempt %d", attempts)
							m.Store("k", 10*attempts)
							return nil
						}
						for key, claimed := range map[string]bool{"k": true, "l": true, "never": true, "other": false} {
							require.Equal(t, claimed, m.favour.Claimed(m.hash(key)), key)
						}
						return end(m, tx)
					})
				}()
				<-done
				require.Equal(t, bidLosses+1, attempts)
				require.NotZero(t, m.favour.Stats().Granted)
			})
		})
	}
}

// A scan claims the whole map.
func TestScanClaimsAll(t *testing.T) {
	inBubble(t, func(t *testing.T, m *Map[string, int]) {
		attempts := 0
		require.NoError(t, m.Update(bg, nil, func(tx Tx[string, int]) error {
			for range tx.All() {
				continue
			}
			tx.Set("k", attempts)
			if attempts++; attempts <= bidLosses {
				m.Store("l", attempts)
				return nil
			}
			require.True(t, m.favour.Claimed(m.hash("whatever")))
			return nil
		}))
	})
}

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
			require.Equal(t, n, m.favour.Stats().Waiting)
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
			require.EqualValues(t, bidMeets-1-i+1, m.favour.Stats().Waiting)
			require.EqualValues(t, min(i+1, bidMeets-1), m.favour.Stats().Deferrals)
			// As the holder of the claim would do.
			st, gen := m.begin(LevelSerializable)
			tx := Tx[string, int]{st, gen}
			_ = increment("k")(tx)
			require.True(t, st.commit(gen, new(conflict[string]), &bid{ctx: bg, claim: c}))
			c.End()
		}
		require.NoError(t, <-done)
		requireValue(t, 1+bidMeets+1)(m.Load("k"))
		require.EqualValues(t, bidMeets+1, m.favour.Stats().Granted)
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
				done <- m.retry(LevelSerializable, DefaultMaxAttempts, &b, new(conflict[string]), increment("k"))
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
			st, gen := m.begin(LevelSerializable)
			_ = increment("k")(Tx[string, int]{st, gen})
			done <- st.commit(gen, new(conflict[string]), &b)
		}()
		synctest.Wait()
		require.Equal(t, 1, m.favour.Stats().Waiting)
		c.End()
		require.True(t, <-done)
		b.end()
		requireValue(t, 2)(m.Load("k"))
	})
}

// A commit that has read nothing never queues: it gives way once.
func TestBlindCommitWaitsOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, m *Map[string, int]) {
		first, second := claim(m, "k"), claim(m, "k")
		done := false
		go func() {
			_ = meet(bg, m, func(tx Tx[string, int]) error {
				tx.Set("k", 2)
				tx.Set("l", 2)
				return nil
			})
			done = true
		}()
		synctest.Wait()
		first.End()
		synctest.Wait()
		require.True(t, done)
		second.End()
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
				require.True(t, m.favour.Claimed(m.hash("k")))
				start = time.Now()
				tx.Set("k", -1)
				return nil
			}
			_ = increment("k")(tx)
			m.Store("k", attempts)
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

// A transaction inside another one's function, on the same key, waits for that until
// its tenure ends, and then for the rest.
func TestUpdateWithinUpdate(t *testing.T) {
	inBubble(t, func(t *testing.T, m *Map[string, int]) {
		attempts := 0
		require.NoError(t, m.Update(bg, nil, func(tx Tx[string, int]) error {
			if attempts++; attempts <= bidLosses+1 {
				_ = increment("k")(tx)
				start := time.Now()
				require.NoError(t, m.Update(bg, nil, increment("k")))
				require.LessOrEqual(t, time.Since(start), 2*maxTenure)
			}
			return increment("k")(tx)
		}))
		requireValue(t, 1+bidLosses+1+1)(m.Load("k"))
	})
}

// Many goroutines and one key, with a pause in which all others run: nobody is left
// behind, and nothing is lost.
func TestManyUpdatesOfOneKey(t *testing.T) {
	workers, rounds := sizes(1000, 100), 5
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
			require.Zero(t, m.favour.Stats().Waiting)
			close(awake)
			done.Wait()
		})
	}
}
