package durable

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/mvcc"
)

// A Resume during a look has the coroutine look again. Otherwise the bubble is deadlocked.
func TestResumeDuringALook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan struct{})
		var c coroutine
		c.start(func() {
			looks := 0
			c.Await(func() bool {
				if looks++; looks == 1 {
					c.Resume()
				}
				return looks == 2
			})
			close(ended)
		})
		<-ended
	})
}

// A journal outside a bubble of testing/synctest writes the commits of the bubble, and may be closed
// there.
func TestJournalOutsideBubble(t *testing.T) {
	db := mvcc.NewDB(nil)
	defer db.Close()
	table := mvcc.NewTable[string, int](db, "table", nil)
	j, err := Open(t.Context(), db, t.TempDir(), &Options{Codec: JSON})
	require.NoError(t, err)
	synctest.Test(t, func(t *testing.T) {
		for i := range 100 {
			table.Store("key", i)
			table.Watch(t.Context(), nil) // makes a round, which resumes the journal
		}
	})
	require.NoError(t, j.Sync(t.Context()))
	synctest.Test(t, func(t *testing.T) { require.NoError(t, j.Close()) })
}
