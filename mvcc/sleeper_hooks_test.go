//go:build mvcccheck

package mvcc

import (
	"errors"
	"flag"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/debug/hooks"
	"github.com/mvccmap/mvccmap/internal/debug/stage"
)

// The sleeping committer. One goroutine is held at each step of its commit, for
// as long as -sleep says and until everybody else has got through many
// operations on the same keys. Under a lock that a commit holds nobody would get
// through any, and the test would hang.

var sleepFor = flag.Duration("sleep", 100*time.Millisecond,
	"for how long the sleeping committer is held at each step")

// awakeOps is how many operations each of the others must complete meanwhile.
const awakeOps = 100

// A sleeper is a way to commit, and where it may be held.
type sleeper struct {
	name   string
	commit func(m *Map[string, int]) error
	blind  bool // has read nothing, so must commit
	points []hooks.Point
}

var sleepers = []sleeper{
	{
		name: "read of 4 keys, write of 3",
		commit: byHand(nil, func(tx Tx[string, int]) {
			tx.Get("never written")
			addTo(tx, 1, "a", "b", "c")
		}),
		points: []hooks.Point{
			hooks.CommitEntries, hooks.Installed, hooks.InstalledAll, hooks.Announced, hooks.Drawn,
			hooks.Tentative, hooks.Validated, hooks.Published, hooks.Finalized,
		},
	},
	{
		name:   "read-modify-write of 3 keys",
		commit: byHand(nil, func(tx Tx[string, int]) { addTo(tx, 1, "a", "b", "c") }),
		points: []hooks.Point{
			hooks.CommitEntries, hooks.Installed, hooks.InstalledAll, hooks.Announced, hooks.Drawn,
			hooks.Published, hooks.Finalized,
		},
	},
	{
		name: "scan and put",
		commit: byHand(nil, func(tx Tx[string, int]) {
			sum := 0
			for _, value := range tx.All() {
				sum += value
			}
			tx.Set("a", sum)
		}),
		points: []hooks.Point{hooks.InstalledAll, hooks.Announced, hooks.Drawn, hooks.Tentative,
			hooks.Validated},
	},
	{
		name:  "put-only batch of 3 keys",
		blind: true,
		commit: byHand(nil, func(tx Tx[string, int]) {
			for _, key := range []string{"a", "b", "c"} {
				tx.Set(key, -1)
			}
		}),
		points: []hooks.Point{
			hooks.CommitEntries, hooks.Installed, hooks.InstalledAll, hooks.Announced, hooks.Drawn,
			hooks.Published, hooks.Finalized,
		},
	},
	{
		name:   "Store",
		blind:  true,
		commit: func(m *Map[string, int]) error { m.Store("a", -1); return nil },
		points: []hooks.Point{hooks.StoreInstalled, hooks.StoreDrawn},
	},
	{
		name:   "increment of 1 key, snapshot level",
		commit: byHand(snapshot, func(tx Tx[string, int]) { addTo(tx, 1, "a") }),
		points: []hooks.Point{hooks.CommitEntries, hooks.InstalledAll, hooks.Announced, hooks.Drawn,
			hooks.Published, hooks.Finalized},
	},
}

// byHand returns a function that commits what do does.
func byHand(opts *TxOptions, do func(tx Tx[string, int])) func(m *Map[string, int]) error {
	return func(m *Map[string, int]) error {
		tx := m.Begin(opts)
		defer tx.Rollback()
		do(tx)
		return tx.Commit()
	}
}

// addTo adds n to each of keys.
func addTo(tx Tx[string, int], n int, keys ...string) {
	for _, key := range keys {
		value, _ := tx.Get(key)
		tx.Set(key, value+n)
	}
}

func TestSleepingCommitter(t *testing.T) {
	hold := *sleepFor
	if testing.Short() || stage.Race {
		hold = min(hold, 10*time.Millisecond)
	}
	for _, s := range sleepers {
		for _, p := range s.points {
			t.Run(s.name+"/"+p.String(), func(t *testing.T) { s.hold(t, p, hold) })
		}
	}
}

// hold runs one sleeper and eight others.
func (s *sleeper) hold(t *testing.T, p hooks.Point, hold time.Duration) {
	m := newMap[string, int](t, nil)
	same, others := []string{"a", "b", "c"}, []string{"d", "e"}
	for _, key := range append(same, others...) {
		m.Store(key, 0)
	}
	var err error
	w := stage.New(t).Actor("sleeper", func() { err = s.commit(m) }).To(p)

	var done [8]atomic.Int64
	workers := stage.NewWorkers(t)
	worker := func(first, n int, op func(who, round int) error) {
		workers.Loop(n, func(i, round int) error {
			if err := op(i, round); err != nil {
				return err
			}
			done[first+i].Add(1)
			return nil
		})
	}
	worker(0, 2, func(_, round int) error { // the same keys, each by itself
		if _, ok := m.Load(same[round%3]); !ok {
			return errors.New("Load: absent")
		}
		return nil
	})
	worker(2, 2, func(int, int) error { // the same keys, together
		return m.View(func(s Snapshot[string, int]) error {
			for range 2 {
				for _, key := range same {
					if _, ok := s.Get(key); !ok {
						return errors.New("Get: absent")
					}
				}
			}
			return expect("number of keys", 5, s.Len())
		})
	})
	worker(4, 2, func(who, round int) error {
		if who == 0 {
			m.Store(same[round%3], round)
			return nil
		}
		return m.Update(bg, nil, func(tx Tx[string, int]) error {
			tx.Set(same[round%3], -round)
			tx.Set(same[(round+1)%3], -round)
			return nil
		})
	})
	worker(6, 2, func(who, round int) error {
		return m.Update(bg, nil, func(tx Tx[string, int]) error {
			value, _ := tx.Get(others[who])
			tx.Set(others[who], value+1)
			return expect("the counter that nobody else writes", round, value)
		})
	})

	start := time.Now()
	stage.Eventually(t, func() bool {
		for i := range done {
			if done[i].Load() < awakeOps {
				return workers.Ended()
			}
		}
		return time.Since(start) >= hold
	}, "others wait for a committer that is held at %v", p)
	require.True(t, w.Held)
	workers.Finish(t)
	frozen := contents(t, m)
	before := m.Snapshot()
	defer before.Close()

	w.Finish()
	if s.blind {
		require.NoError(t, err, "what has read nothing must commit")
	} else if err != nil {
		require.ErrorIs(t, err, ErrConflict)
	}
	for key, value := range frozen {
		requireValue(t, value)(before.Get(key))
	}
	now := contents(t, m)
	require.Len(t, now, 5)
	require.Equal(t, frozen["d"], now["d"])
	require.Equal(t, frozen["e"], now["e"])
	if err != nil {
		require.Equal(t, frozen, now, "a commit that failed has left something")
	}
	before.Close()
	checkQuiet(t, m)
}

// Readers push a sleeper's epoch ahead of them, again and again. That is no sign
// of life of the sleeper's: one that wants to overwrite its keys must not wait until
// the readers stop. With one processor they run whenever the overwriter yields.
func TestReadersDoNotShieldSleeper(t *testing.T) {
	for _, p := range []hooks.Point{hooks.Announced, hooks.Drawn, hooks.Tentative, hooks.Validated} {
		for name, overwrite := range map[string]func(m *Map[string, int]) error{
			"Store": func(m *Map[string, int]) error { m.Store("a", -1); return nil },
			"Update": func(m *Map[string, int]) error {
				return m.Update(bg, nil, func(tx Tx[string, int]) error {
					addTo(tx, -1, "a", "b")
					return nil
				})
			},
		} {
			t.Run(p.String()+"/"+name, func(t *testing.T) {
				m := newMap[string, int](t, nil)
				m.Store("a", 0)
				m.Store("b", 0)
				var err error
				w := stage.New(t).Actor("sleeper", func() { err = sleepers[0].commit(m) }).To(p)
				procs := runtime.GOMAXPROCS(1)
				defer runtime.GOMAXPROCS(procs)
				readers := stage.NewWorkers(t)
				readers.Loop(2, func(int, int) error {
					return m.View(func(s Snapshot[string, int]) error { s.Get("a"); return nil })
				})
				writer := make(chan error, 1)
				go func() { writer <- overwrite(m) }()
				require.NoError(t, stage.Await(t, writer, "the overwriter waits for the sleeper"))
				readers.Finish(t)
				value, _ := m.Load("a")
				require.Equal(t, -1, value)
				w.Finish()
				require.ErrorIs(t, err, ErrConflict)
				checkQuiet(t, m)
			})
		}
	}
}

// expect returns an error unless got is want.
func expect[T comparable](name string, want, got T) error {
	if want != got {
		return fmt.Errorf("%s: want %v, got %v", name, want, got)
	}
	return nil
}
