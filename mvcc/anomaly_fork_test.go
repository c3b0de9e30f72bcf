package mvcc

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The long fork: two transactions write x and y, two others read both, and they
// disagree about which came first. Parallel snapshot isolation permits it. Here
// all readers see prefixes of one order of commits, at either level.
func TestLongFork(t *testing.T) {
	atLevels(t, func(t *testing.T, m *Map[string, int], opts *TxOptions) {
		m.Store("x", 0)
		m.Store("y", 0)
		// Both writers are open at once, and readers of every kind begin before,
		// between and after their commits; all read when it is over.
		a, b := m.Begin(opts), m.Begin(opts)
		a.Set("x", 1)
		b.Set("y", 1)
		var readers [3]forkReaders
		readers[0].open(m)
		require.NoError(t, a.Commit())
		readers[1].open(m)
		require.NoError(t, b.Commit())
		readers[2].open(m)
		prune(m)
		for i, want := range []view{{0, 0}, {1, 0}, {1, 1}} {
			readers[i].require(t, want)
		}
	})
	// The writers are one-key operations.
	t.Run("one-key", func(t *testing.T) {
		byOneKey(t, overwrites, func(t *testing.T, m *Map[string, int], opts *TxOptions,
			set func(string, int)) {
			m.Store("x", 0)
			m.Store("y", 0)
			var readers [3]forkReaders
			readers[0].open(m)
			set("y", 1)
			requireValue(t, 0)(m.Load("x"))
			requireValue(t, 1)(m.Load("y"))
			require.Equal(t, map[string]int{"x": 0, "y": 1}, ranged(m))
			readers[1].open(m)
			set("x", 1)
			readers[2].open(m)
			prune(m)
			for i, want := range []view{{0, 0}, {0, 1}, {1, 1}} {
				readers[i].require(t, want)
			}
		})
	})
	// One writer is a transaction that has read, the other an operation; each of
	// them first in turn.
	t.Run("mixed", func(t *testing.T) {
		for _, name := range []string{"transaction first", "operation first"} {
			t.Run(name, func(t *testing.T) {
				byOneKey(t, overwrites, func(t *testing.T, m *Map[string, int], opts *TxOptions,
					set func(string, int)) {
					m.Store("x", 0)
					m.Store("y", 0)
					tx := m.Begin(opts)
					requireValue(t, 0)(tx.Get("x"))
					tx.Set("x", 1)
					commit := func() { require.NoError(t, tx.Commit()) }
					steps, want := []func(){commit, func() { set("y", 1) }}, view{1, 0}
					if name == "operation first" {
						steps[0], steps[1], want = steps[1], steps[0], view{0, 1}
					}
					steps[0]()
					var between forkReaders
					between.open(m)
					steps[1]()
					prune(m)
					between.require(t, want)
				})
			})
		}
	})
}

// A view is what a reader saw of x and y.
type view struct{ X, Y int }

// forkReaders are readers of every kind that were opened at one moment.
type forkReaders struct {
	txs []Tx[string, int]
	s   Snapshot[string, int]
}

func (f *forkReaders) open(m *Map[string, int]) {
	for _, opts := range levels {
		f.txs = append(f.txs, m.Begin(opts))
	}
	f.s = m.Snapshot()
}

// require checks that all see want, in either order of reading, and ends them.
func (f *forkReaders) require(t *testing.T, want view) {
	t.Helper()
	all := []Reader[string, int]{f.s}
	for _, tx := range f.txs {
		all = append(all, tx)
	}
	for i, r := range all {
		if i%2 == 0 {
			requireValue(t, want.Y)(r.Get("y"))
		}
		requireRead(t, r, map[string]int{"x": want.X, "y": want.Y})
	}
	for _, tx := range f.txs {
		require.NoError(t, tx.Commit())
	}
	f.s.Close()
}
