package mvcc

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/engine/chain"
)

// A watch that begins when the last other one ends, in the round that it begins with, misses
// nothing.
func TestWatchBeginsAtTheEndOfAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New[int, int](&Options{ManualReclaim: true, PruneThreshold: 1})
		defer m.Close()
		m.Store(1, 1)
		m.Store(2, 0)
		s := m.Snapshot()
		changed := s.Changed(t.Context(), 1)
		s.Close()
		m.Store(1, 2)
		all := m.Watch(t.Context(), nil)
		<-changed
		require.True(t, coreOf(m).Slots.Holds())
		for i := range 5 {
			m.Store(2, i+1)
		}
		require.NoError(t, m.Reclaim(bg))
		want := 0
		for c, err := range all {
			require.NoError(t, err)
			require.Equal(t, []Change[int, int]{{2, want, want + 1, true, true}}, c.Changes)
			if want++; want == 5 {
				break
			}
		}
		require.False(t, coreOf(m).Slots.Holds())
	})
}

// Writers that are faster than the hub end the watches, including those of other keys; one that
// begins then begins anew.
func TestWatchOverrun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := newDB(t, nil)
		a, b := NewTable[int, int](db, "a", nil), NewTable[int, int](db, "b", nil)
		b.Store(1, 1)
		quiet := b.Watch(t.Context(), nil)
		all := a.Watch(t.Context(), &WatchOptions[int, int]{Match: func(k int) bool { return k == 2 }})
		noteTooMany(a)
		s := b.Snapshot()
		b.Store(1, 2)
		again := b.Watch(t.Context(), &WatchOptions[int, int]{Since: s})
		s.Close()
		for _, err := range all {
			require.ErrorIs(t, err, ErrGap)
		}
		for _, err := range quiet {
			require.ErrorIs(t, err, ErrGap)
		}
		for c, err := range again {
			require.NoError(t, err)
			require.True(t, c.Summary)
			require.Equal(t, []Change[int, int]{{1, 1, 2, true, true}}, c.Changes)
			break
		}
		restsNow(t, &dbAt(db).shared.hub)
	})
}

// noteTooMany notes more versions than may wait for the hub.
func noteTooMany(m *Map[int, int]) {
	h := &coreOf(m).shared.hub
	h.mu.Lock() // it cannot be waited for
	defer h.mu.Unlock()
	for i := range feedLists * longestList {
		coreOf(m).feed().note(chain.New(i, i), 1, nil)
	}
}

// restsNow checks that nobody watches and nothing is kept.
func restsNow(t *testing.T, h *hub) {
	t.Helper()
	h.mu.Lock() // a watch whose context has ended may be ending yet
	defer h.mu.Unlock()
	require.Empty(t, h.listeners)
	require.Empty(t, h.feeds)
	require.Nil(t, h.work.Load())
}
