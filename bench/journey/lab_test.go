package journey

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/epoch"
	"github.com/mvccmap/mvccmap/internal/debug/leak"
)

// eachConfig runs a test on every tracker and chain, and on each way of cleaning.
func eachConfig(t *testing.T, test func(t *testing.T, c Config)) {
	for _, tracker := range trackers {
		for chain := range chains {
			for name, cleaning := range map[string]Cleaning{
				"committers": {},
				"guarded":    {Guard: RightGuard},
				"worker":     {Workers: 1, Threshold: 2},
				"workers":    {Workers: 4, Threshold: 4, Spaced: true, Guard: RightGuard},
				"tick":       {Workers: 1, Threshold: 2, Every: time.Millisecond, Guard: RightGuard},
			} {
				t.Run(fmt.Sprintf("%s/%s/%s", tracker, chain, name), func(t *testing.T) {
					c := Config{Tracker: tracker, Chain: chain, Cleaning: cleaning}
					c.Reuse = name == "tick"
					test(t, c)
				})
			}
		}
	}
}

func put(t *testing.T, m *Map, key string, value uint64) {
	t.Helper()
	tx := m.Begin()
	tx.Put(key, value)
	require.NoError(t, tx.Commit())
}

func get(t *testing.T, tx *Tx, key string) uint64 {
	t.Helper()
	v, ok := tx.Get(key)
	require.True(t, ok, key)
	return v
}

// A transaction reads the commits before its beginning, and its own writes.
func TestSnapshotReads(t *testing.T) {
	eachConfig(t, func(t *testing.T, c Config) {
		m := New(c)
		defer m.Close()
		put(t, m, "a", 1)
		put(t, m, "b", 1)
		old := m.Begin()
		for i := range uint64(100) {
			tx := m.Begin()
			require.Equal(t, i+1, get(t, tx, "a"))
			tx.Put("a", i+2)
			tx.Put("b", i+2)
			require.Equal(t, i+2, get(t, tx, "a"))
			require.NoError(t, tx.Commit())
			require.Equal(t, uint64(1), get(t, old, "a"))
			require.Equal(t, uint64(1), get(t, old, "b"))
			_, ok := old.Get("none")
			require.False(t, ok)
		}
		old.End()
	})
}

// Of two transactions that write a key the first to commit wins; one that has not written the key
// does not matter.
func TestFirstCommitterWins(t *testing.T) {
	eachConfig(t, func(t *testing.T, c Config) {
		m := New(c)
		defer m.Close()
		put(t, m, "a", 1)
		put(t, m, "b", 1)
		first, second, other := m.Begin(), m.Begin(), m.Begin()
		first.Put("a", 2)
		second.Put("b", 3)
		second.Put("a", 3)
		other.Put("b", 4)
		require.NoError(t, first.Commit())
		require.ErrorIs(t, second.Commit(), ErrConflict)
		require.NoError(t, other.Commit())
		tx := m.Begin()
		defer tx.End()
		require.Equal(t, uint64(2), get(t, tx, "a"))
		require.Equal(t, uint64(4), get(t, tx, "b"))
	})
}

// overwritten returns how many versions one key has after so many commits without readers.
func overwritten(t *testing.T, c Config, commits int) int {
	t.Helper()
	m := New(c)
	defer m.Close()
	for i := range commits {
		put(t, m, "a", uint64(i))
	}
	return m.Versions()
}

// The guard that takes the mark of a new key for an epoch lets nothing be pruned, ever. So do the
// keepers that do not notice that anything ends. All else is pruned.
func TestNothingIsEverPruned(t *testing.T) {
	const commits = 200
	for _, tracker := range trackers {
		for chain := range chains {
			for _, guard := range []Guard{NoGuard, RightGuard, WrongGuard} {
				t.Run(fmt.Sprintf("%s/%s/%s", tracker, chain, guard), func(t *testing.T) {
					c := Config{Tracker: tracker, Chain: chain, Cleaning: Cleaning{Guard: guard}}
					n := overwritten(t, c, commits)
					if guard == WrongGuard || !forgets(tracker) {
						require.Equal(t, commits, n)
					} else {
						require.LessOrEqual(t, n, 3)
					}
				})
			}
		}
	}
}

// A worker prunes the keys that it is asked for.
func TestWorkersPrune(t *testing.T) {
	for _, spaced := range []bool{false, true} {
		m := New(Config{Tracker: Counted, Chain: List, Cleaning: Cleaning{
			Workers: 2, Threshold: 4, Spaced: spaced, Guard: RightGuard,
		}})
		for i := range 403 {
			put(t, m, "a", uint64(i))
		}
		m.Close() // waiting keys are pruned
		require.Less(t, m.Versions(), 8)
	}
}

// Every step stands up to the checks of package bench: values that do not go back, sums
// that are conserved in each scan, and no lost update.
func TestSteps(t *testing.T) {
	names := map[string]bool{}
	for _, step := range Steps() {
		require.False(t, names[step.Name], "there are two steps %s", step.Name)
		names[step.Name] = true
		for _, workload := range []string{"read-heavy", "transfer", "counter"} {
			t.Run(step.Name+"/"+workload, func(t *testing.T) {
				w, ok := bench.WorkloadByName(workload)
				require.True(t, ok)
				w.Params.Keys = 4
				if workload == "read-heavy" {
					w = Workloads()[1]
				}
				trial, err := bench.New(bench.Config{
					Workload: w, Engine: step.Engine, Threads: 4, AuditInterval: time.Millisecond,
				})
				require.NoError(t, err)
				defer trial.Close()
				m, err := trial.RunOps(t.Context(), 400)
				require.NoError(t, err)
				require.Equal(t, uint64(400), m.Ops)
				require.NoError(t, trial.Verify())
			})
		}
	}
}

// watched is a chain that tells when it is read.
type watched struct {
	chain
	read func()
}

func (w *watched) versionAt(e epoch.Epoch) *version {
	w.read()
	return w.chain.versionAt(e)
}

// A reader at an epoch that is drawn waits for the version of that, if it is not there yet.
func TestReadWaitsForCommitter(t *testing.T) {
	m := New(Config{Tracker: Counted, Chain: List})
	defer m.Close()
	put(t, m, "a", 1)
	c := m.cell("a")
	c.chain = &watched{c.chain, func() {
		if c.busy.Load() {
			t.Error("the chain is read while a committer is busy")
		}
	}}
	c.lock()
	e := m.clock.Next()
	got := make(chan uint64)
	go func() {
		tx := m.Begin()
		defer tx.End()
		v, _ := tx.Get("a")
		got <- v
	}()
	for range 100 {
		runtime.Gosched() // the reader should have come to where it waits
	}
	c.chain.push(&version{epoch: e, value: 2})
	c.unlock()
	require.Equal(t, uint64(2), <-got)
}

// A transaction that does not commit leaves the tracker, unless it is to have that bug.
func TestLeaveAborted(t *testing.T) {
	for _, stays := range []bool{false, true} {
		m := New(Config{Tracker: Counted, Chain: List, LeaveAborted: stays})
		put(t, m, "a", 1)
		tx := m.Begin()
		tx.Put("a", 2)
		put(t, m, "a", 3)
		require.ErrorIs(t, tx.Commit(), ErrConflict)
		require.Equal(t, stays, m.tracker.MinVisible(m.clock) < m.clock.Now())
		m.Close()
	}
}

func TestMain(m *testing.M) { leak.VerifyTestMain(m) }

// A chain shows at each epoch that may still be read the same as a list of all versions,
// whatever is pushed and pruned.
func TestChains(t *testing.T) {
	for kind, newChain := range chains {
		t.Run(string(kind), func(t *testing.T) {
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			r := rand.New(rand.NewPCG(seed, 0))
			c := newChain()
			var all []epoch.Epoch // of the versions, whose values are the same
			now, least := epoch.First, epoch.First
			for range 500 {
				if r.IntN(3) > 0 {
					now += epoch.Epoch(1 + r.IntN(3))
					c.push(&version{epoch: now, value: uint64(now)})
					all = append(all, now)
				} else if len(all) > 0 {
					least += epoch.Epoch(r.IntN(int(now-least) + 1))
					kept, ends := countSeen(all, least)
					require.Equal(t, ends, c.prune(least))
					require.Equal(t, kept, c.depth(), "versions")
				}
				for e := least; e <= now+1; e++ {
					want := epoch.Epoch(0)
					for _, v := range all {
						if v <= e {
							want = v
						}
					}
					if v := c.versionAt(e); want == 0 {
						require.Nil(t, v)
					} else {
						require.Equal(t, uint64(want), v.value)
					}
				}
			}
		})
	}
}

// countSeen returns how many versions readers at least or above see, and the lowest epoch at which
// one of them ends.
func countSeen(all []epoch.Epoch, least epoch.Epoch) (n int, ends epoch.Epoch) {
	first := 0
	for i, e := range all {
		if e <= least {
			first = i
		}
	}
	if first+1 < len(all) {
		return len(all) - first, all[first+1]
	}
	return len(all) - first, none
}
