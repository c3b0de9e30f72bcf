package mvcc

import (
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/stage"
)

// Everything at once, in numbers. What each test checks does not depend on which
// ran when.

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
