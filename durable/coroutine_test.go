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

// A panic has the stack of the coroutine, not only that of the goroutine that runs it.
func TestPanicInACoroutine(t *testing.T) {
	c := coroutine{body: func() { panic("broken") }}
	c.resumes.Store(1)
	defer func() { require.Regexp(t, `(?s)^broken\n.*TestPanicInACoroutine.func1`, recover()) }()
	c.run()
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
			j.door.RequestProgress() // resumes the journal
		}
	})
	require.NoError(t, j.Sync(t.Context()))
	synctest.Test(t, func(t *testing.T) { require.NoError(t, j.Close()) })
}
