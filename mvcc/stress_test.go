package mvcc

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/stage"
)

// Everything at once, in numbers. What each test checks does not depend on which
// ran when.

// atProcs runs a test with several values of GOMAXPROCS.
func atProcs(t *testing.T, f func(t *testing.T)) {
	for _, procs := range []int{1, 2, 4, 16} {
		t.Run(fmt.Sprint("procs=", procs), func(t *testing.T) {
			old := runtime.GOMAXPROCS(procs)
			t.Cleanup(func() { runtime.GOMAXPROCS(old) })
			f(t)
		})
	}
}

// persist is for transactions that must commit sooner or later.
var persist = &TxOptions{MaxAttempts: 1 << 30}

// transfer moves money between two accounts, and sometimes closes or opens one.
func transfer(m *Map[int, int], r *rand.Rand, accounts int) error {
	return m.Update(bg, persist, func(tx Tx[int, int]) error {
		a, b := r.IntN(accounts), r.IntN(accounts)
		if a == b {
			return nil
		}
		x, _ := tx.Get(a)
		y, _ := tx.Get(b)
		n := 1 + r.IntN(20)
		if x == n { // an account with nothing in it is no account
			tx.Delete(a)
		} else {
			tx.Set(a, x-n)
		}
		if y+n == 0 {
			tx.Delete(b)
		} else {
			tx.Set(b, y+n)
		}
		return nil
	})
}

// audit adds up all accounts by one way of reading.
func audit(r Reader[int, int], accounts int, byGet bool) error {
	sum := 0
	if byGet {
		for i := range accounts {
			value, _ := r.Get(i)
			sum += value
		}
	} else {
		for _, value := range r.All() {
			sum += value
		}
	}
	return expect("sum of all accounts", 100*accounts, sum)
}

func TestTransfersAndAudits(t *testing.T) {
	atProcs(t, func(t *testing.T) {
		const accounts = 20
		rounds := stage.Sizes(12_000, 400)
		m := newMap[int, int](t, &Options{PruneThreshold: 3, ReclaimInterval: brisk().ReclaimInterval})
		for i := range accounts {
			m.Store(i, 100)
		}
		workers, auditors := stage.NewCrew(t), stage.NewCrew(t)
		workers.Run(4, func(who int) error {
			r := rand.New(rand.NewPCG(1, uint64(who)))
			for range rounds {
				if err := transfer(m, r, accounts); err != nil {
					return err
				}
			}
			return nil
		})
		workers.Run(1, func(int) error { // audits that write can only commit if they are right
			for i := range rounds / 40 {
				err := m.Update(bg, persist, func(tx Tx[int, int]) error {
					if err := audit(tx, accounts, i%2 == 0); err != nil {
						return err
					}
					tx.Set(-1, 0)
					return nil
				})
				if err != nil {
					return err
				}
			}
			return nil
		})
		auditors.Loop(2, func(who, round int) error {
			return m.View(func(s Snapshot[int, int]) error {
				if err := audit(s, accounts, round%2 == 0); err != nil {
					return err
				}
				runtime.Gosched()
				return audit(s, accounts, round%2 == 1)
			})
		})
		workers.Wait(t)
		auditors.Finish(t)
		s := m.Snapshot()
		require.NoError(t, audit(s, accounts, true))
		s.Close()
		checkQuiet(t, m)
	})
}

func TestCounters(t *testing.T) {
	atProcs(t, func(t *testing.T) {
		const workers = 6
		rounds := stage.Sizes(10_000, 300)
		m := newMap[int, int](t, nil)
		m.Store(2, 0)
		c := stage.NewCrew(t)
		c.Run(workers, func(who int) error {
			for i := range rounds {
				opts := &TxOptions{MaxAttempts: 1 << 30, Isolation: []Level{LevelSerializable,
					LevelSnapshot}[i%2]}
				err := m.Update(bg, opts, func(tx Tx[int, int]) error {
					for key := range 2 {
						value, _ := tx.Get(key)
						tx.Set(key, value+1)
					}
					return nil
				})
				if err != nil {
					return err
				}
				for {
					if value, _ := m.Load(2); CompareAndSwap(m, 2, value, value+1) {
						break
					}
				}
			}
			return nil
		})
		c.Wait(t)
		n := workers * rounds
		require.Equal(t, map[int]int{0: n, 1: n, 2: n}, contents(t, m))
		require.EqualValues(t, 2*n+1, m.Stats().Commits)
		checkQuiet(t, m)
	})
}

// Keys are inserted and deleted in pairs: every reader sees both or none.
func TestChurn(t *testing.T) {
	atProcs(t, func(t *testing.T) {
		const pairs = 50
		rounds := stage.Sizes(12_000, 400)
		m := newMap[int, int](t, brisk())
		workers, readers := stage.NewCrew(t), stage.NewCrew(t)
		workers.Run(4, func(who int) error {
			r := rand.New(rand.NewPCG(2, uint64(who)))
			for i := range rounds {
				key, value := r.IntN(pairs), who*rounds+i
				if err := m.Update(bg, persist, func(tx Tx[int, int]) error {
					if i%3 == 0 {
						if _, ok := tx.Get(key); ok {
							tx.Delete(key)
							tx.Delete(-key - 1)
							return nil
						}
					} else if i%3 == 1 { // blind
						tx.Delete(-key - 1)
						tx.Delete(key)
						return nil
					}
					tx.Set(key, value)
					tx.Set(-key-1, value)
					return nil
				}); err != nil {
					return err
				}
			}
			return nil
		})
		readers.Loop(2, func(who, round int) error {
			return m.View(func(s Snapshot[int, int]) error {
				met := map[int]int{}
				for key, value := range s.All() {
					met[key] = value
				}
				for key := range pairs {
					a, ok := met[key]
					b, other := met[-key-1]
					if ok != other || a != b {
						return fmt.Errorf("pair %d: %d (%v) and %d (%v)", key, a, ok, b, other)
					}
					got, found := s.Get(-key - 1)
					if found != ok || got != a {
						return fmt.Errorf("pair %d: All says %d (%v), Get %d (%v)", key, a, ok, got, found)
					}
				}
				return nil
			})
		})
		workers.Wait(t)
		readers.Finish(t)
		left := len(contents(t, m))
		gone := func() bool { return len(heads(m)) == left }
		stage.Eventually(t, gone, "deleted keys stay in the index")
		checkQuiet(t, m)
	})
}

// One goroutine writes a rising number to two keys, by turns by a batch and by a
// Store for each; nobody ever sees it fall, nor the second ahead of the first.
func TestMonotonicReads(t *testing.T) {
	rounds := stage.Sizes(30_000, 3_000)
	m := newMap[string, int](t, nil)
	m.Store("first", 0)
	m.Store("second", 0)
	w, readers := stage.NewCrew(t), stage.NewCrew(t)
	w.Run(1, func(int) error {
		for i := 1; i <= rounds; i++ {
			if i%2 == 0 {
				m.Store("first", i)
				m.Store("second", i)
				continue
			}
			if err := m.Update(bg, persist, func(tx Tx[string, int]) error {
				if i%4 == 1 {
					tx.Get("third")
				}
				tx.Set("first", i)
				tx.Set("second", i)
				return nil
			}); err != nil {
				return err
			}
		}
		return nil
	})
	// makes it validate in vain
	w.Loop(1, func(_, round int) error { m.Store("third", round); return nil })
	readers.Loop(3, func(who, round int) error {
		load := m.Load
		if who == 0 {
			s := m.Snapshot()
			defer s.Close()
			load = s.Get
		}
		last := 0
		for i := range 100 {
			second, _ := load("second")
			first, _ := load("first")
			if first < second || second < last || who == 0 && i > 0 && second != last {
				return fmt.Errorf("reader %d: second %d, then first %d; before %d", who, second, first, last)
			}
			last = second
		}
		return nil
	})
	stage.Eventually(t, func() bool {
		v, _ := m.Load("second")
		return v == rounds || w.Ended()
	}, "the writer stands still")
	w.Finish(t)
	readers.Finish(t)
	checkQuiet(t, m)
}

// GOMAXPROCS grows and shrinks under load; nothing that belongs to a P is lost.
func TestGrowingGOMAXPROCS(t *testing.T) {
	old := runtime.GOMAXPROCS(1)
	t.Cleanup(func() { runtime.GOMAXPROCS(old) })
	m := newMap[int, int](t, brisk())
	const accounts = 16
	for i := range accounts {
		m.Store(i, 100)
	}
	var ops atomic.Int64
	c := stage.NewCrew(t)
	c.Loop(8, func(who, round int) error {
		ops.Add(1)
		if who < 2 {
			return m.View(func(s Snapshot[int, int]) error { return audit(s, accounts, round%2 == 0) })
		}
		return transfer(m, rand.New(rand.NewPCG(uint64(who), uint64(round))), accounts)
	})
	for _, procs := range []int{1, 2, 3, 8, 32, 4, 1, 64, 2} {
		runtime.GOMAXPROCS(procs)
		start := ops.Load()
		stage.Eventually(t, func() bool { return ops.Load() > start+500 || c.Ended() }, "no progress")
		handles := make([]Snapshot[int, int], 100)
		for i := range handles {
			handles[i] = m.Snapshot()
		}
		for _, s := range handles {
			s.Close()
		}
	}
	c.Finish(t)
	require.Zero(t, m.Stats().Leaked)
	require.Less(t, coreOf(m).Slots.Owned(), 1024, "slots are lost with Ps")
	checkQuiet(t, m)
}

// Thousands of goroutines, each with a transaction and a snapshot open.
func TestThousandsOfGoroutines(t *testing.T) {
	n := stage.Sizes(5_000, 500)
	m := newMap[int, int](t, nil)
	for i := range 100 {
		m.Store(i, 100)
	}
	all, begun, release := stage.NewCrew(t), atomic.Int64{}, make(chan struct{})
	all.Run(n, func(who int) error {
		tx := m.Begin(nil)
		defer tx.Rollback()
		s := m.Snapshot()
		defer s.Close()
		tx.Set(1000+who, who)
		begun.Add(1)
		<-release
		if err := audit(s, 100, who%2 == 0); err != nil {
			return err
		}
		if err := tx.Commit(); err != nil {
			return err
		}
		r := rand.New(rand.NewPCG(3, uint64(who)))
		for range 5 {
			if err := transfer(m, r, 100); err != nil {
				return err
			}
		}
		return nil
	})
	stage.Eventually(t, func() bool { return begun.Load() == int64(n) }, "goroutines do not begin")
	require.Equal(t, 2*n, m.Stats().LiveTx)
	close(release)
	all.Wait(t)
	s := m.Snapshot()
	defer s.Close()
	for who := range n {
		requireValue(t, who)(s.Get(1000 + who))
	}
	require.NoError(t, audit(s, 100, true))
	s.Close()
	checkQuiet(t, m)
}
