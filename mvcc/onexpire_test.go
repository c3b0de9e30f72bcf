package mvcc

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/debug/stage"
)

// A yard has jobs, each of which is in the queue or leased.
type yard struct {
	db     *DB
	leases *Map[int, session]
	queue  *Map[int, string]
}

func newYard(t testing.TB, opts *Options) *yard {
	db := newDB(t, opts)
	return &yard{db: db, leases: NewTable[int, session](db, "leases", nil),
		queue: NewTable[int, string](db, "queue", nil)}
}

// back puts a job back.
func (y *yard) back(tx DBTx, job int, s session) error {
	y.queue.In(tx).Set(job, fmt.Sprint(s.n))
	return nil
}

// The record goes, and the writes of the function are there, in one commit, of which those who
// watch are told; in a table, with indexes or without, and in a map by itself.
func TestOnExpire(t *testing.T) {
	t.Parallel()
	for _, indexed := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			y := newYard(t, nil)
			y.leases.OnExpire(func(tx DBTx, job int, s session) error {
				_, ok := y.leases.In(tx).Get(job)
				require.False(t, ok)
				return y.back(tx, job, s)
			})
			y.leases.Expire(untilOf)
			if indexed {
				_, err := NewIndex(y.leases, "n", func(_ int, s session) []int { return []int{s.n} }, nil)
				require.NoError(t, err)
			}
			commits := y.db.Watch(t.Context(), nil)
			for i := range 1000 {
				y.leases.Store(i, session{until: time.Now().Add(time.Second), n: i})
			}
			y.leases.Delete(0) // is not told of
			time.Sleep(time.Second + tick)
			synctest.Wait()
			require.Zero(t, y.leases.Len())
			require.Equal(t, 999, y.queue.Len())
			got, _ := y.queue.Load(7)
			require.Equal(t, "7", got)
			stats := y.db.Stats()
			require.Equal(t, uint64(999), stats.Expired)
			require.Zero(t, stats.ExpireFailures)
			gone := 0
			for c, err := range commits {
				require.NoError(t, err)
				backs := y.queue.Changes(c)
				require.Equal(t, len(backs) > 0, c.Expired)
				if c.Expired {
					require.Len(t, y.leases.Changes(c), len(backs))
				}
				if gone += len(backs); gone == 999 {
					break
				}
			}
		})
	}
	m := newMap[int, session](t, &Options{ManualReclaim: true})
	m.OnExpire(func(tx DBTx, key int, s session) error {
		m.In(tx).Set(-key, session{n: s.n})
		return nil
	})
	m.Expire(untilOf)
	m.Store(1, session{until: time.Unix(1, 0), n: 5})
	require.NoError(t, m.Reclaim(bg))
	require.Equal(t, map[int]session{-1: {n: 5}}, contents(t, m))
}

// A record that is renewed while its deletion is under way stays, and nothing is written for it;
// the others go. One that the function itself sets again stays too.
func TestOnExpireRenewed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		y := newYard(t, &Options{ManualReclaim: true})
		var calls [6]int
		y.leases.OnExpire(func(tx DBTx, job int, s session) error {
			if calls[job]++; job == 1 && calls[job] == 1 {
				elsewhere(func() { y.leases.Store(1, in(time.Hour)) })
			}
			switch {
			case job == 2 && calls[job] < 5: // once more
				y.leases.In(tx).Set(2, in(0))
				return nil
			case job == 3: // and one that may be next
				y.leases.In(tx).Set(4, in(time.Hour))
				y.leases.In(tx).Delete(5)
			}
			return y.back(tx, job, s)
		})
		y.leases.Expire(untilOf)
		for job := range 6 {
			y.leases.Store(job, in(time.Second))
		}
		time.Sleep(2 * time.Second)
		for range 10 {
			require.NoError(t, y.db.Reclaim(bg))
			time.Sleep(2 * time.Millisecond)
		}
		require.ElementsMatch(t, []int{1, 4}, slices.Collect(y.leases.Keys()))
		require.Subset(t, slices.Collect(y.queue.Keys()), []int{0, 2, 3})
		require.Equal(t, 1, calls[1])
		require.Zero(t, y.db.Stats().ExpireFailures)
		time.Sleep(time.Hour)
		require.NoError(t, y.db.Reclaim(bg))
		require.Zero(t, y.leases.Len())
		require.Subset(t, slices.Collect(y.queue.Keys()), []int{0, 1, 2, 3, 4})
	})
}

// Lines are the output of a logger.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// A record whose function fails, in whatever way, does not keep others from going. It stays,
// without the writes made for it, is told of, and tried again, ever more rarely.
func TestOnExpireFails(t *testing.T) {
	t.Parallel()
	ways := map[string]func(y *yard, tx DBTx) error{
		"broken": func(*yard, DBTx) error { return errors.New("broken") },
		"in another map": func(*yard, DBTx) error {
			return fmt.Errorf("in another map: %w", ErrConflict)
		},
		"it panics": func(*yard, DBTx) error { panic("oh") },
		"its gorou": func(*yard, DBTx) error { runtime.Goexit(); return nil },
		"has ended": func(_ *yard, tx DBTx) error { tx.Rollback(); return nil },
		"is unique": func(y *yard, tx DBTx) error { y.queue.In(tx).Set(-1, "taken"); return nil },
		"in a merge": func(y *yard, tx DBTx) error {
			y.queue.In(tx).Merge(-1, func(string, bool) string { panic("in a merge") })
			return nil
		},
		"(runtime.Goexit)": func(y *yard, tx DBTx) error {
			y.queue.In(tx).Merge(-1, func(string, bool) string { runtime.Goexit(); return "" })
			return nil
		},
	}
	for says, way := range ways {
		t.Run(says, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				told := &lines{}
				y := newYard(t, &Options{Logger: slog.New(slog.NewTextHandler(told, nil))})
				_, err := NewIndex(y.queue, "text", func(_ int, s string) []string { return []string{s} },
					&IndexOptions{Unique: true})
				require.NoError(t, err)
				y.queue.Store(-100, "taken")
				var broken atomic.Bool
				broken.Store(true)
				var tried atomic.Int64
				y.leases.OnExpire(func(tx DBTx, job int, s session) error {
					y.queue.In(tx).Set(job, fmt.Sprint("back ", job))
					if job%300 == 13 && broken.Load() {
						y.queue.In(tx).Set(5000, "not to be seen")
						tried.Add(1)
						return way(y, tx)
					}
					return nil
				})
				y.leases.Expire(untilOf)
				for job := range 600 {
					y.leases.Store(job, in(time.Second))
				}
				time.Sleep(time.Second + 3*tick)
				synctest.Wait()
				require.ElementsMatch(t, []int{13, 313}, slices.Collect(y.leases.Keys()))
				require.Equal(t, 599, y.queue.Len())
				require.False(t, y.queue.Has(5000))
				stats := y.db.Stats()
				require.Equal(t, uint64(598), stats.Expired)
				require.Equal(t, uint64(2), stats.ExpireFailures)
				require.Contains(t, told.String(), says)
				require.Contains(t, told.String(), "table=leases key=13 ")
				require.Contains(t, told.String(), "table=leases key=313 ")
				time.Sleep(time.Second)
				synctest.Wait()
				require.Equal(t, uint64(4), y.db.Stats().ExpireFailures, "after a second")
				time.Sleep(time.Hour)
				synctest.Wait()
				n := y.db.Stats().ExpireFailures
				require.Greater(t, n, uint64(2*60))
				require.Less(t, n, uint64(2*70), "once a minute")
				before := tried.Load()
				time.Sleep(time.Minute)
				require.LessOrEqual(t, tried.Load(), before+8)
				broken.Store(false)
				time.Sleep(time.Minute + tick)
				synctest.Wait()
				require.Zero(t, y.leases.Len())
				require.Equal(t, 601, y.queue.Len())
				x := coreOf(y.leases).expiry()
				require.Zero(t, x.overdue.Load())
				require.Empty(t, x.tries)
				time.Sleep(time.Second)
				require.Zero(t, notesOf(y.leases))
			})
		})
	}
}

// Not each of very many failures is told of, but how many there are.
func TestOnExpireManyFail(t *testing.T) {
	t.Parallel()
	told := &lines{}
	y := newYard(t, &Options{ManualReclaim: true, Logger: slog.New(slog.NewTextHandler(told, nil))})
	y.leases.OnExpire(func(DBTx, int, session) error { return errors.New("broken") })
	y.leases.Expire(untilOf)
	for job := range 100 {
		y.leases.Store(job, session{until: time.Unix(1, 0)})
	}
	require.NoError(t, y.db.Reclaim(bg))
	require.Equal(t, 100, y.leases.Len())
	require.Equal(t, toldAtOnce, bytes.Count([]byte(told.String()), []byte("error=broken")))
	require.Contains(t, told.String(), "90 more records stay")
}

// A record that could not be deleted, and is written anew, goes when its new time has come, however
// long it was to rest.
func TestOverdueIsRenewed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		y := newYard(t, nil)
		var broken atomic.Bool
		broken.Store(true)
		y.leases.OnExpire(func(tx DBTx, job int, s session) error {
			if broken.Load() {
				return errors.New("broken")
			}
			return y.back(tx, job, s)
		})
		y.leases.Expire(untilOf)
		y.leases.Store(1, in(time.Second))
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		for n := y.db.Stats().ExpireFailures; y.db.Stats().ExpireFailures == n; { // up to just now
			time.Sleep(time.Second)
			synctest.Wait()
		}
		time.Sleep(time.Second)
		broken.Store(false)
		y.leases.Store(1, in(5*time.Second))
		time.Sleep(4 * time.Second)
		synctest.Wait()
		require.Equal(t, 1, y.leases.Len())
		time.Sleep(time.Second + tick)
		synctest.Wait()
		require.Zero(t, y.leases.Len())
	})
}

// Beside workers that take, renew and give back jobs, and die, each job is in one place at each
// moment.
func TestOnExpireBesideWriters(t *testing.T) {
	t.Parallel()
	const jobs = 20
	y := newYard(t, &Options{ReclaimInterval: time.Millisecond})
	y.leases.OnExpire(y.back)
	y.leases.Expire(untilOf)
	for job := range jobs {
		y.queue.Store(job, "new")
	}
	crew := stage.NewWorkers(t)
	crew.Run(4, func(worker int) error {
		random := rand.New(rand.NewPCG(3, uint64(worker)))
		for range stage.Sizes(10000, 1000) {
			job, life := random.IntN(jobs), time.Duration(random.IntN(3000))*time.Microsecond
			if err := y.db.Update(bg, nil, func(tx DBTx) error {
				lease, leased := y.leases.In(tx).Get(job)
				switch {
				case !leased: // take
					if _, queued := y.queue.In(tx).Get(job); !queued {
						return fmt.Errorf("job %d is lost", job)
					}
					y.queue.In(tx).Delete(job)
					y.leases.In(tx).Set(job, in(life))
				case random.IntN(2) == 0: // renew
					lease.until = lease.until.Add(life)
					y.leases.In(tx).Set(job, lease)
				default: // give back
					y.leases.In(tx).Delete(job)
					y.queue.In(tx).Set(job, "back")
				}
				return nil
			}); err != nil {
				return err
			}
		}
		return nil
	})
	crew.Loop(1, func(int, int) error {
		return y.db.View(func(s DBSnapshot) error {
			for job := range jobs {
				_, leased := y.leases.At(s).Get(job)
				if _, queued := y.queue.At(s).Get(job); queued == leased {
					return fmt.Errorf("job %d is queued: %t, and leased: %t", job, queued, leased)
				}
			}
			return nil
		})
	})
	stage.Eventually(t, func() bool { return y.db.Stats().Expired > 0 }, "nothing has expired")
	crew.Finish(t)
	stage.Eventually(t, func() bool { return y.leases.Len() == 0 }, "a lease stays")
	require.Equal(t, jobs, y.queue.Len())
	require.Zero(t, y.db.Stats().ExpireFailures)
}
