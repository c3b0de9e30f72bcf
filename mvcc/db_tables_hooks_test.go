//go:build mvcccheck

package mvcc

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/debug/hooks"
	"github.com/mvccmap/mvccmap/internal/debug/stage"
)

// A snapshot begins while a table is closed and another one is made: it has the tables of its
// epoch, whichever that is.
func TestSnapshotMeetsNewTable(t *testing.T) {
	stage := stage.New(t)
	for _, again := range []bool{false, true} {
		db := NewDB(still())
		a := NewTable[int, int](db, "a", nil)
		a.Store(1, 1)
		var s DBSnapshot
		actor := stage.Actor("snapshot", func() { s = db.Snapshot() })
		actor.Step(1 << hooks.BeginLoaded) // the list is loaded, and the clock
		a.Close()
		b := NewTable[int, int](db, "b", nil)
		b.Store(1, 1)
		if again { // the snapshot has to take a newer epoch
			dbAt(db).shared.gc.Refresh()
		}
		for _, more := actor.Step(0); more; _, more = actor.Step(0) {
		}
		require.Nil(t, actor.Result)
		var names []string
		for _, table := range seenIn(s) {
			names = append(names, table.counters.name)
		}
		want := "a"
		if s.Epoch() >= b.Epoch() {
			want = "b"
		}
		require.Equal(t, []string{want}, names)
		s.Close()
		db.Close()
	}
}

// A snapshot of the past that has begun has a table which was closed since, or is not to be had,
// however far the bound goes meanwhile.
func TestClosedTableOfPast(t *testing.T) {
	db := newDB(t, still())
	a := NewTable[int, int](db, "a", nil)
	a.Store(1, 1)
	at := db.Epoch()
	a.Close()
	once(t, hooks.PastBegun, func() {
		dbAt(db).root.Slots.Next()
		require.NoError(t, db.Reclaim(bg))
	})
	_, err := db.SnapshotAt(at)
	require.ErrorIs(t, err, ErrEpochGone)
	require.ErrorContains(t, err, "was closed at epoch")
}
