package mvcc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/debug/stage"
	"github.com/mvccmap/mvccmap/internal/engine/favour"
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
	return coreOf(m).favour.Enter(set, tenure)
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
	return coreOf(m).retry(LevelSerializable, DefaultMaxAttempts, &b, new(conflict),
		func(tx DBTx) error { return fn(Tx[string, int](tx)) })
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
			_ = m.Update(bg, nil, func(tx Tx[string, int]) error {
				tx.Set("new", 2)
				tx.Set(key, 2)
				return nil
			})
		},
		"Update": func(m *Map[string, int]) { _ = m.Update(bg, nil, increment(key)) },
		"Update, snapshot level": func(m *Map[string, int]) {
			_ = m.Update(bg, snapshot, increment(key))
		},
		"Commit": func(m *Map[string, int]) {
			tx := m.Begin(nil)
			_ = increment(key)(tx)
			_ = tx.Commit()
		},
	}
}

// A writer of a key that is claimed lets the claim go first; nobody else does, whatever
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
				require.Equal(t, 1, coreOf(m).favour.Stats().Waiting)
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
				mustUpdate(t, m, nil, func(tx Tx[string, int]) {
					tx.Get("k") // a claim is no lock: it may be read
					tx.Set("other", 3)
					tx.Set("another", 3)
				})
				m.Load("k")
				require.False(t, CompareAndSwap(m, "k", 7, 8), "it writes nothing")
				m.LoadOrStore("k", 7)
				m.Delete("absent")
				require.Zero(t, time.Since(start))
				require.Zero(t, coreOf(m).favour.Stats().Deferrals)
				c.End()
			})
		})
	}
}

// A writer that does not queue for a claim of its own waits for one claim, and not for the next
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

// An Update makes a claim when it has lost a few times, on the keys that it has read and written,
// and gives it back however it ends.
func TestUpdateMakesClaim(t *testing.T) {
	failed := errors.New("failed")
	for name, end := range map[string]func(m *Map[string, int], tx Tx[string, int]) error{
		"commits":    func(*Map[string, int], Tx[string, int]) error { return nil },
		"fails":      func(*Map[string, int], Tx[string, int]) error { return failed },
		"panics":     func(*Map[string, int], Tx[string, int]) error { panic(failed) },
		"exits":      func(*Map[string, int], Tx[string, int]) error { runtime.Goexit(); return nil },
		"rolls back": func(_ *Map[string, int], tx Tx[string, int]) error { tx.Rollback(); return nil },
		"loses again": func(m *Map[string, int], _ Tx[string, int]) error {
			elsewhere(func() { m.Store("k", 0) })
			return nil
		},
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
							require.False(t, coreOf(m).favour.Claimed(m.hash("k")), "attempt %d", attempts)
							elsewhere(func() { m.Store("k", 10*attempts) })
							return nil
						}
						for key, claimed := range map[string]bool{"k": true, "l": true, "never": true,
							"other": false} {
							require.Equal(t, claimed, coreOf(m).favour.Claimed(m.hash(key)), key)
						}
						return end(m, tx)
					})
				}()
				<-done
				require.Equal(t, bidLosses+1, attempts)
				require.NotZero(t, coreOf(m).favour.Stats().Granted)
			})
		})
	}
}

// A commit that takes longer than a turn gets a longer one: else it would begin anew for as long as
// others write one of its keys. A function given to Merge may stand still, so that has a bound.
func TestTurnsOfCommitGrow(t *testing.T) {
	const ms, usual = time.Millisecond, maxTenure + time.Millisecond
	for name, test := range map[string]struct {
		compare, merge, expires time.Duration // how long each function takes, up to the 100th call
		read                    bool          // the key that others write: a conflict, not an abort
		gets                    bool          // through, while the functions take their time
		waits                   time.Duration // how long another writer may have to wait
	}{
		"compare":        {compare: 200 * ms, gets: true, waits: 5 * time.Second},
		"read":           {compare: 200 * ms, read: true, gets: true, waits: 5 * time.Second},
		"still compare":  {compare: 12 * time.Second, waits: tookLimit + usual},
		"merge":          {merge: 15 * ms, gets: true, waits: usual},
		"still merge":    {merge: time.Second, waits: usual},
		"still expiring": {expires: time.Second, waits: usual},
	} {
		for _, update := range []bool{false, true} {
			if test.read && !update {
				continue
			}
			t.Run(fmt.Sprint(name, ", Update: ", update), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					db := newDB(t, still())
					hot := NewTable[int, int](db, "hot", nil) // whose keys are installed first
					var commits atomic.Bool                   // the function has returned
					var calls, longest atomic.Int64
					stand := func(d time.Duration) {
						if d > 0 && commits.Load() && calls.Add(1) < 90 {
							time.Sleep(d)
						}
					}
					slow := NewOrderedTableFunc[int, int](db, "slow", func(a, b int) int {
						stand(test.compare)
						return cmp.Compare(a, b)
					}, nil)
					if test.expires > 0 {
						slow.Expire(func(int, int) time.Time { stand(test.expires); return time.Time{} })
					}
					c := stage.NewWorkers(t)
					defer c.Finish(t)
					c.Loop(2, func(int, int) error {
						time.Sleep(10 * ms)
						start := time.Now()
						hot.Store(1, 1)
						longest.Store(max(longest.Load(), int64(time.Since(start))))
						return nil
					})
					fn := func(tx DBTx) error {
						commits.Store(false)
						defer commits.Store(true)
						if test.read {
							hot.In(tx).Get(1)
						}
						hot.In(tx).Set(1, 2)
						if slow.In(tx).Set(0, 1); test.merge > 0 {
							slow.In(tx).Merge(1, func(int, bool) int { stand(test.merge); return 1 })
						} else {
							slow.In(tx).Set(1, 1)
						}
						return nil
					}
					if update {
						require.NoError(t, db.Update(bg, nil, fn))
					} else {
						tx := db.Begin(nil)
						require.NoError(t, fn(tx))
						require.NoError(t, tx.Commit())
					}
					require.Positive(t, coreOf(hot).favour.Stats().Expired, "a turn was too short")
					require.Equal(t, test.gets, calls.Load() < 90)
					require.LessOrEqual(t, time.Duration(longest.Load()), test.waits)
				})
			})
		}
	}
}

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
