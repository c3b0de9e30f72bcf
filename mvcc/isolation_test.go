package mvcc

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/require"
)

// The tests in anomaly_*_test.go are named after the anomalies of
//
//   - Adya, "Weak Consistency: A Generalized Theory and Optimistic
//     Implementations for Distributed Transactions", 1999: G0, G1a, G1b, G1c,
//     G-single, G2-item, G2, OTV (observed transaction vanishes) and PMP
//     (predicate-many-preceders);
//   - Berenson et al., "A Critique of ANSI SQL Isolation Levels", SIGMOD 1995:
//     P2, P3, P4, P4C, A5A, A5B;
//   - Fekete, O'Neil, O'Neil, "A Read-Only Transaction Anomaly Under Snapshot
//     Isolation", SIGMOD Record 33(3), 2004;
//   - Sovran et al., "Transactional Storage for Geo-Replicated Systems", SOSP
//     2011: the long fork.
//
// Each is a schedule of a few transactions that are open at the same time, run by
// one goroutine at each level; then again with a one-key operation, a View, a
// Snapshot or a Range in the place of one of them. In the comments w1(x) is a
// write of x by transaction 1, r a read, c a commit and a an abort. Writes are
// buffered, and there are no locks: w1(x) w2(x) does not block, and what the
// textbooks forbid or delay at a write is refused at the commit.
//
// Where a commit has to be stopped halfway the tests are in
// anomaly_*_hooks_test.go.

// atLevels runs a test at both levels, on a map with x = y = 10.
func atLevels(t *testing.T, f func(t *testing.T, m *Map[string, int], opts *TxOptions)) {
	for _, opts := range levels {
		t.Run(opts.Isolation.String(), func(t *testing.T) {
			m := newMap[string, int](t, nil)
			m.Store("x", 10)
			m.Store("y", 10)
			f(t, m, opts)
			checkQuiet(t, m)
		})
	}
}

// A oneKeyWrite is a one-key operation that sets a key to a value.
type oneKeyWrite struct {
	name string
	set  func(m *Map[string, int], key string, value int) (done bool)
}

// overwrites set a key that is present, inserts one that is absent.
var (
	overwrites = []oneKeyWrite{
		{"Store", func(m *Map[string, int], key string, value int) bool {
			m.Store(key, value)
			return true
		}},
		{"Swap", func(m *Map[string, int], key string, value int) bool {
			_, ok := m.Swap(key, value)
			return ok
		}},
		{"CompareAndSwap", func(m *Map[string, int], key string, value int) bool {
			old, ok := m.Load(key)
			return ok && CompareAndSwap(m, key, old, value)
		}},
		{"LoadAndDelete, LoadOrStore", func(m *Map[string, int], key string, value int) bool {
			_, deleted := m.LoadAndDelete(key)
			_, loaded := m.LoadOrStore(key, value)
			return deleted && !loaded
		}},
	}
	inserts = []oneKeyWrite{
		{"Store", func(m *Map[string, int], key string, value int) bool {
			m.Store(key, value)
			return true
		}},
		{"Swap", func(m *Map[string, int], key string, value int) bool {
			_, ok := m.Swap(key, value)
			return !ok
		}},
		{"LoadOrStore", func(m *Map[string, int], key string, value int) bool {
			_, loaded := m.LoadOrStore(key, value)
			return !loaded
		}},
	}
	removals = []oneKeyWrite{
		{"Delete", func(m *Map[string, int], key string, _ int) bool { m.Delete(key); return true }},
		{"LoadAndDelete", func(m *Map[string, int], key string, _ int) bool {
			_, ok := m.LoadAndDelete(key)
			return ok
		}},
	}
)

// byOneKey runs a test at both levels for each of several one-key writes.
func byOneKey(
	t *testing.T, ways []oneKeyWrite, f func(t *testing.T, m *Map[string, int], opts *TxOptions,
		set func(key string, value int)),
) {
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			atLevels(t, func(t *testing.T, m *Map[string, int], opts *TxOptions) {
				f(t, m, opts, func(key string, value int) {
					t.Helper()
					require.True(t, way.set(m, key, value), "%s(%s, %d)", way.name, key, value)
				})
			})
		})
	}
}

// A reading runs body with something that reads as of the call.
type reading struct {
	name string
	run  func(t *testing.T, m *Map[string, int], body func(r Reader[string, int]))
}

// readings are the ways to read several keys as of one moment, but for Range.
var readings = []reading{
	{"serializable", readingAt(serializable)},
	{"snapshot", readingAt(snapshot)},
	{"Snapshot", func(t *testing.T, m *Map[string, int], body func(r Reader[string, int])) {
		s := m.Snapshot()
		defer s.Close()
		body(s)
	}},
	{"View", func(t *testing.T, m *Map[string, int], body func(r Reader[string, int])) {
		require.NoError(t, m.View(func(s Snapshot[string, int]) error { body(s); return nil }))
	}},
}

func readingAt(opts *TxOptions) func(t *testing.T, m *Map[string, int],
	body func(r Reader[string, int])) {
	return func(t *testing.T, m *Map[string, int], body func(r Reader[string, int])) {
		tx := m.Begin(opts)
		defer tx.Rollback()
		body(tx)
		require.NoError(t, tx.Commit(), "a transaction that wrote nothing conflicts")
	}
}

// byReading runs a test for writers at both levels and each way to read.
func byReading(
	t *testing.T, f func(t *testing.T, m *Map[string, int], opts *TxOptions,
		read func(body func(r Reader[string, int]))),
) {
	for _, way := range readings {
		t.Run(way.name, func(t *testing.T) {
			atLevels(t, func(t *testing.T, m *Map[string, int], opts *TxOptions) {
				f(t, m, opts, func(body func(r Reader[string, int])) {
					t.Helper()
					done := false
					way.run(t, m, func(r Reader[string, int]) { body(r); done = true })
					require.True(t, done)
				})
			})
		})
	}
}

// requireRead checks what a reader sees: by All, and by Get for each key of want
// and for those of absent.
func requireRead(t testing.TB, r Reader[string, int], want map[string]int, absent ...string) {
	t.Helper()
	require.Equal(t, want, maps.Collect(r.All()))
	for key, value := range want {
		requireValue(t, value)(r.Get(key))
	}
	for _, key := range absent {
		requireAbsent[int](t)(r.Get(key))
	}
}

// requireNow checks what every operation that reads says at this moment: the map
// holds want, and not the keys of absent.
func requireNow(t *testing.T, m *Map[string, int], want map[string]int, absent ...string) {
	t.Helper()
	for _, way := range readings {
		way.run(t, m, func(r Reader[string, int]) { t.Helper(); requireRead(t, r, want, absent...) })
	}
	require.Equal(t, want, ranged(m), "Range")
	for key, value := range want {
		requireValue(t, value)(m.Load(key))
		requireValue(t, value)(m.LoadOrStore(key, -1))
		require.False(t, CompareAndSwap(m, key, value+1, -1),
			"CompareAndSwap from a value that is not there")
	}
	for _, key := range absent {
		requireAbsent[int](t)(m.Load(key))
		requireAbsent[int](t)(m.LoadAndDelete(key))
		require.False(t, CompareAndSwap(m, key, 0, -1))
	}
}

// ranged returns what Range visits.
func ranged(m *Map[string, int]) map[string]int {
	met := map[string]int{}
	m.Range(func(key string, value int) bool { met[key] = value; return true })
	return met
}

// mustSet sets several keys in one Update that reads nothing.
func mustSet(t testing.TB, m *Map[string, int], opts *TxOptions, values map[string]int) {
	t.Helper()
	mustUpdate(t, m, opts, func(tx Tx[string, int]) {
		for key, value := range values {
			tx.Set(key, value)
		}
	})
}

// refusedUnlessSnapshot checks the outcome of a commit that completes an anomaly
// which the snapshot level permits: there it commits, and at serializable level
// it conflicts over key.
func refusedUnlessSnapshot(
	t testing.TB, opts *TxOptions, err error, key string, kind ConflictKind,
) {
	t.Helper()
	if opts == serializable {
		requireConflict(t, err, key, kind)
	} else {
		require.NoError(t, err, "snapshot level permits this")
	}
}
