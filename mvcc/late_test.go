package mvcc

import (
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/debug/stage"
)

// comparing returns a map whose compare calls a function once, when it is set, in the call given
// then.
func comparing(t *testing.T) (m *Map[int, int], in *func()) {
	in = new(func())
	m = NewOrderedFunc[int, int](func(a, b int) int {
		if f := *in; f != nil {
			*in = nil
			f()
		}
		return a - b
	}, still())
	t.Cleanup(m.Close)
	for k := range 10 {
		m.Store(10*k, k)
	}
	return m, in
}

// A call whose transaction ends while it compares keys panics, and leaves nothing in the
// transaction that the state serves by then.
func TestEndedWhileComparing(t *testing.T) {
	for name, call := range map[string]func(tx Tx[int, int]){
		"Set":    func(tx Tx[int, int]) { tx.Set(5, 1) },
		"Delete": func(tx Tx[int, int]) { tx.Delete(15) },
		"Merge":  func(tx Tx[int, int]) { tx.Merge(25, func(int, bool) int { return 1 }) },
		"Get":    func(tx Tx[int, int]) { tx.Get(30) },
	} {
		t.Run(name, func(t *testing.T) {
			m, in := comparing(t)
			tx := m.Begin(nil)
			var stranger Tx[int, int]
			*in = func() {
				tx.Rollback()
				stranger = m.Begin(nil)
				require.True(t, stage.Race || stateOf(tx.st) == stateOf(stranger.st))
			}
			require.Equal(t, ErrTxDone, panicOf(func() { call(tx) }))
			require.Empty(t, stateOf(stranger.st).writes)
			require.Empty(t, stateOf(stranger.st).reads)
			stranger.Set(1, 1)
			require.NoError(t, stranger.Commit())
			require.Equal(t, 11, m.Len())
		})
	}
}

// A transaction with two writes of one key, as when compare writes by it, is refused when it
// commits: it would wait for itself.
func TestTwoWritesOfOneKey(t *testing.T) {
	m, in := comparing(t)
	tx := m.Begin(nil)
	*in = func() { tx.Set(5, 7) }
	tx.Set(5, 8)
	require.Len(t, stateOf(tx.st).writes, 2)
	require.Equal(t, errTwice, panicOf(func() { _ = tx.Commit() }))
	requireAbsent[int](t)(m.Load(5))
	m.Store(5, 9)
	requireValue(t, 9)(m.Load(5))
	require.Zero(t, m.Stats().LiveTx)
	checkQuiet(t, m)
}

// deep calls f with a stack n frames deep, so that it may have to move in a call that f makes.
//
//go:noinline
func deep(n int, f func()) byte {
	var pad [16]byte
	if n == 0 {
		f()
		return pad[0]
	}
	return deep(n-1, f) + pad[n%16]
}

type triple struct {
	a, b string
	n    int
}

// Keys that are hashed and compared by functions are found wherever the stack moves meanwhile.
// (Under the race detector a check of their address would be a call in between.)
func TestKeysOnDeepStacks(t *testing.T) {
	m := newMap[triple, int](t, nil)
	o := NewOrderedFunc[triple, int](func(a, b triple) int { return a.n - b.n }, nil)
	defer o.Close()
	for i := range 100 {
		m.Store(triple{"a", "b", i}, i)
		o.Store(triple{"a", "b", i}, i)
	}
	for range 3 {
		var wg sync.WaitGroup
		for n := range 600 {
			for _, x := range []*Map[triple, int]{m, o} {
				wg.Go(func() {
					deep(n, func() {
						for i := range 3 {
							if v, ok := x.Load(triple{"a", "b", i}); !ok || v != i {
								t.Error("not found: ", n, i)
							}
						}
					})
				})
			}
		}
		wg.Wait()
		runtime.GC()
	}
}
