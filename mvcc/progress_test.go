package mvcc_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/seam/door"
	"github.com/mvccmap/mvccmap/mvcc"
)

// Progress says up to where all was given: a caller that asks for it after a commit is told of that
// one before, and even when nothing was committed.
func TestWatchProgress(t *testing.T) {
	db := mvcc.NewDB(nil)
	defer db.Close()
	m := mvcc.NewTable[int, int](db, "m", nil)
	door.Of(db).RequestProgress() // nobody watches
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	rounds, committed, given, wants := 0, 0, 0, uint64(0)
	for c, err := range db.Watch(ctx, &mvcc.DBWatchOptions{Progress: true}) {
		require.NoError(t, err)
		if !c.Progress {
			require.NotEmpty(t, m.Changes(c))
			given++
			continue
		}
		require.Empty(t, m.Changes(c))
		if c.Epoch < wants {
			continue
		}
		require.Equal(t, committed, given)
		if rounds++; rounds == 100 {
			break
		}
		for range rounds % 3 { // none, at times
			m.Store(committed%7, committed)
			committed++
		}
		wants = db.Epoch()
		door.Of(db).RequestProgress()
	}
}
