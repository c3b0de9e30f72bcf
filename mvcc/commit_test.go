package mvcc

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/debug/stage"
)

func TestConflictLeavesNothing(t *testing.T) {
	atLevels(t, func(t *testing.T, m *Map[string, int], opts *TxOptions) {
		before := len(heads(m))
		tx := m.Begin(opts)
		tx.Get("x")
		tx.Set("x", 11)
		for i := range 200 {
			tx.Set(fmt.Sprint("new", i), i)
		}
		m.Store("x", 12)
		requireConflict(t, tx.Commit(), "x", ConflictRead, ConflictWrite)
		require.Equal(t, map[string]int{"x": 12, "y": 10}, contents(t, m))
		// The keys that the commit inserted into the index leave it again.
		stage.Eventually(t, func() bool { return len(heads(m)) == before },
			"%d entries stay in the index", len(heads(m))-before)
	})
}

func TestStatsCountCommits(t *testing.T) {
	atLevels(t, func(t *testing.T, m *Map[string, int], opts *TxOptions) {
		before := m.Stats()
		m.Store("x", 1)
		m.Delete("x")
		m.Delete("x") // nothing to delete
		m.Load("x")
		m.LoadOrStore("x", 3)
		m.LoadOrStore("x", 4) // not stored
		CompareAndSwap(m, "x", 3, 5)
		CompareAndSwap(m, "x", 3, 6) // not swapped
		mustUpdate(t, m, opts, func(tx Tx[string, int]) { tx.Get("x") })
		mustUpdate(t, m, opts, func(tx Tx[string, int]) {
			tx.Set("x", 1)
			tx.Set("y", 1)
		})
		tx := m.Begin(opts)
		tx.Get("x")
		tx.Set("x", 2)
		m.Store("x", 3)
		require.Error(t, tx.Commit())
		after := m.Stats()
		require.EqualValues(t, 6, after.Commits-before.Commits)
		require.EqualValues(t, 1, after.Conflicts-before.Conflicts)
		require.EqualValues(t, 3, after.Ended-before.Ended)
		require.Zero(t, after.Retries)
	})
}

// A transaction that first reads a key, and writes it, may do more than its commit in one function
// looks at: then it commits in the general way.
func TestPlain(t *testing.T) {
	for name, c := range map[string]struct {
		stored int // meanwhile
		do     func(tx Tx[int, int])
	}{
		"counts": {3, func(tx Tx[int, int]) { tx.Len() }},
		"misses": {3, func(tx Tx[int, int]) { tx.Get(3) }},
		"reads":  {2, func(tx Tx[int, int]) { tx.Get(2) }},
		"scans": {3, func(tx Tx[int, int]) {
			for range tx.All() {
				continue
			}
		}},
	} {
		m := newMap[int, int](t, nil)
		m.Store(1, 1)
		m.Store(2, 2)
		tx := m.Begin(nil)
		tx.Get(1)
		c.do(tx)
		m.Store(c.stored, 1)
		tx.Set(1, 10)
		require.ErrorIs(t, tx.Commit(), ErrConflict, name)
	}
	m := newMap[int, int](t, nil)
	m.Store(1, 1)
	mustUpdate(t, m, nil, func(tx Tx[int, int]) {
		tx.Get(1)
		tx.Delete(1)
	})
	_, ok := m.Load(1)
	require.False(t, ok)
	require.Zero(t, m.Len())
}

// Reads that are written are compared where they are installed; the outcomes are those
// of a validation.

// A key that was read and is written conflicts if it was written meanwhile, also back to the same
// value; one that was absent and is so again does not.
func TestConflictsOfWrittenReads(t *testing.T) {
	for name, c := range map[string]struct {
		key       string
		meanwhile func(m *Map[string, int])
		conflict  bool
	}{
		"nothing":        {"k", func(*Map[string, int]) {}, false},
		"overwritten":    {"k", func(m *Map[string, int]) { m.Store("k", 2) }, true},
		"the same value": {"k", func(m *Map[string, int]) { m.Store("k", 1) }, true},
		"deleted":        {"k", func(m *Map[string, int]) { m.Delete("k") }, true},
		"deleted, new":   {"k", func(m *Map[string, int]) { m.Delete("k"); m.Store("k", 1) }, true},
		"absent":         {"new", func(*Map[string, int]) {}, false},
		"inserted":       {"new", func(m *Map[string, int]) { m.Store("new", 1) }, true},
		"inserted and deleted": {"new", func(m *Map[string, int]) {
			m.Store("new", 1)
			m.Delete("new")
		}, false},
		"deleted before": {"gone", func(*Map[string, int]) {}, false},
		"inserted again": {"gone", func(m *Map[string, int]) { m.Store("gone", 1) }, true},
		"another key":    {"k", func(m *Map[string, int]) { m.Store("other", 2) }, false},
	} {
		for _, keys := range []int{1, 2, 20} {
			t.Run(name, func(t *testing.T) {
				m := newMap[string, int](t, still())
				m.Store("k", 1)
				m.Store("gone", 1)
				m.Delete("gone")
				tx := m.Begin(nil)
				value, ok := tx.Get(c.key)
				tx.Set(c.key, value+10)
				for i := range keys - 1 {
					tx.Set(string(rune('A'+i)), 1)
				}
				c.meanwhile(m)
				prune(m)
				before := contents(t, m)
				err := tx.Commit()
				if c.conflict {
					requireConflict(t, err, c.key, ConflictRead)
					require.Equal(t, before, contents(t, m))
				} else {
					require.NoError(t, err)
					require.Equal(t, ok, c.key == "k")
					requireValue(t, value+10)(m.Load(c.key))
				}
				checkQuiet(t, m)
			})
		}
	}
}

// A write says which read is of its key: that read has another number when those that are there
// twice are gone, and a savepoint that is undone does not bring the old one back.
func TestUndoneAmongManyReads(t *testing.T) {
	m := newMap[int, int](t, still())
	for key := range 10 {
		m.Store(key, key)
	}
	tx := m.Begin(nil)
	for _, key := range []int{0, 1, 0, 2} {
		tx.Get(key)
	}
	tx.Set(2, 0)
	require.EqualValues(t, 4, stateOf(tx.st).writes[0].read)
	undo := errors.New("undo")
	require.ErrorIs(t, tx.Savepoint(func() error {
		tx.Set(2, 1)
		for range compactReads {
			tx.Get(0)
			tx.Get(1)
		}
		return undo
	}), undo)
	require.Less(t, len(stateOf(tx.st).reads), compactReads)
	require.Zero(t, stateOf(tx.st).writes[0].read)
	require.NoError(t, tx.Commit())
}

func TestReadSetIsBounded(t *testing.T) {
	m := newMap[int, int](t, still())
	const keys = 3 * compactReads
	for i := range keys {
		m.Store(i, i)
	}
	tx := m.Begin(nil)
	for i := range 100_000 {
		tx.Get(i % 2)
		tx.Get(-1 - i%2)
	}
	require.LessOrEqual(t, len(stateOf(tx.st).reads), compactReads)
	require.LessOrEqual(t, stateOf(tx.st).absences(), compactReads)
	for round := range 20 {
		for i := range keys {
			tx.Get(i)
			tx.Get(-1 - i)
		}
		require.LessOrEqual(t, len(stateOf(tx.st).reads), compactFactor*keys, "round %d", round)
		require.LessOrEqual(t, stateOf(tx.st).absences(), compactFactor*keys)
	}
	// None is forgotten, though each is read many times, by turns with two others.
	const beside = 5
	for _, key := range []int{0, 1, keys / 2, keys - 1, -1, -2, -keys} {
		other := m.Begin(nil)
		for _, of := range []int{0, 1, keys / 2, keys - 1, -1, -2, -keys} {
			for range compactReads {
				other.Get(of)
				other.Get(beside)
				other.Get(keys)
			}
		}
		other.Set(keys, 1)
		m.Store(key, -1)
		requireConflict(t, other.Commit(), key, ConflictRead)
		m.Delete(-1)
		m.Delete(-2)
		m.Delete(-keys)
	}
	tx.Rollback()
	// The next transaction takes the state over, unless the pool dropped it, as under -race it may.
	again := m.Begin(nil)
	require.Equal(t, compactReads, stateOf(again.st).full)
	again.Rollback()
}
