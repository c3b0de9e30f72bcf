package mvcc

import (
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/debug/stage"
)

// Large transactions beside hot writers: each must commit, by Update's own
// retries and claims, while the others go on.

// hotWriters starts 4 goroutines that overwrite the keys below n, by Store, by a
// put-only transaction of two keys, and by increments, until the crew ends. It
// returns how many operations they have done so far.
func hotWriters(c *stage.Workers, m *Map[int, int], n int) *[4]atomic.Int64 {
	var ops [4]atomic.Int64
	c.Loop(4, func(who, round int) error {
		r := rand.New(rand.NewPCG(uint64(who), uint64(round)))
		for range 64 {
			a, b := r.IntN(n), r.IntN(n)
			switch who {
			case 0:
				m.Store(a, round)
			case 1:
				m.Swap(a, round)
			default:
				err := m.Update(bg, &TxOptions{MaxAttempts: 1 << 30}, func(tx Tx[int, int]) error {
					if who == 3 {
						tx.Get(a)
					}
					tx.Set(a, round)
					tx.Set(b, round)
					return nil
				})
				if err != nil {
					return err
				}
			}
			ops[who].Add(1)
			if c.Ended() {
				break
			}
		}
		return nil
	})
	return &ops
}

// crowded runs big on a map of n keys beside hot writers of hot of them, and
// checks that each of the writers goes on while it runs and after.
func crowded(t *testing.T, n, hot int, big func(m *Map[int, int]) error) *Map[int, int] {
	t.Helper()
	m := newMap[int, int](t, nil)
	for i := range n {
		m.Store(i, 0)
	}
	c := stage.NewWorkers(t)
	ops := hotWriters(c, m, hot)
	moving := func() {
		t.Helper()
		var start [4]int64
		for who := range ops {
			start[who] = ops[who].Load()
		}
		for who := range ops {
			stage.Eventually(t, func() bool {
				return ops[who].Load() > start[who]+10 || c.Ended()
			}, "writer %d stands still", who)
		}
	}
	moving()
	done := make(chan error, 1)
	go func() { done <- big(m) }()
	err := stage.Await(t, done, "the large transaction does not commit")
	moving()
	c.Finish(t)
	require.NoError(t, err)
	checkQuiet(t, m)
	return m
}

// By hand at either level: a batch that has read nothing commits at the first call.
func TestLargeBatchBesideHotWriters(t *testing.T) {
	n := stage.Sizes(10_000, 2_000)
	for _, opts := range levels {
		t.Run(opts.Isolation.String(), func(t *testing.T) {
			m := crowded(t, n, n, func(m *Map[int, int]) error {
				tx := m.Begin(opts)
				for i := range n {
					tx.Set(i, -7)
				}
				return tx.Commit()
			})
			require.Equal(t, n, len(contents(t, m)))
			require.Equal(t, m.Stats().Conflicts, m.Stats().Retries,
				"a conflict that Update did not retry: the batch")
		})
	}
}

func TestFullScanUpdateBesideHotWriters(t *testing.T) {
	n := stage.Sizes(10_000, 2_000)
	for _, gets := range []bool{false, true} {
		m := crowded(t, n, 4, func(m *Map[int, int]) error {
			return m.Update(bg, nil, func(tx Tx[int, int]) error {
				met := 0
				if gets {
					for i := range n {
						tx.Get(i)
						met++
					}
				} else {
					for range tx.All() {
						met++
					}
				}
				tx.Set(-1, met)
				return nil
			})
		})
		requireValue(t, n)(m.Load(-1))
	}
}
