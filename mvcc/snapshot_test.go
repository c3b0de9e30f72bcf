package mvcc

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

func TestSnapshotStaysAsItWas(t *testing.T) {
	m := newMap[int, int](t, still())
	want := map[int]int{}
	for i := range 100 {
		m.Store(i, i)
		want[i] = i
	}
	s := m.Snapshot()
	for i := range 200 {
		m.Store(i, -i)
		if i%2 == 0 {
			m.Delete(i)
		}
		if i%3 == 0 {
			prune(m)
		}
	}
	require.Empty(t, cmp.Diff(want, maps.Collect(s.All())))
	require.Equal(t, 100, s.Len())
	for i := range 200 {
		got, ok := s.Get(i)
		require.Equal(t, i < 100, ok)
		require.Equal(t, want[i], got)
	}
	s.Close()
	checkQuiet(t, m)
}

func TestClosedSnapshot(t *testing.T) {
	for _, reused := range []bool{false, true} {
		m := newMap[int, int](t, nil)
		m.Store(1, 1)
		s := m.Snapshot()
		copied, all := s, s.All()
		s.Close()
		if reused {
			other := m.Snapshot()
			for other.st != s.st {
				defer other.Close()
				other = m.Snapshot()
			}
			defer func() {
				requireValue(t, 1)(other.Get(1))
				other.Close()
			}()
		}
		for _, s := range []Snapshot[int, int]{s, copied} {
			s.Close()
			requireTxDone(t, func() { s.Get(1) })
			requireTxDone(t, func() { s.Get(2) })
			requireTxDone(t, func() { s.Len() })
			requireTxDone(t, func() { s.Epoch() })
			requireTxDone(t, func() { all(func(int, int) bool { return true }) })
		}
	}
}

func TestRange(t *testing.T) {
	m := newMap[int, int](t, nil)
	for i := range 50 {
		m.Store(i, i)
	}
	got := map[int]int{}
	m.Range(func(key, value int) bool {
		got[key] = value
		for i := range 50 { // the loop may use the map, and does not see it
			m.Store(i, -1)
			m.Delete(i)
			m.Store(i+100, 1)
		}
		return true
	})
	require.Len(t, got, 50)
	for i := range 50 {
		require.Equal(t, i, got[i])
	}
	n := 0
	m.Range(func(int, int) bool { n++; return n < 7 })
	require.Equal(t, 7, n)
	checkQuiet(t, m)
}
