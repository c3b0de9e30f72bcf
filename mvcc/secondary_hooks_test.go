//go:build mvcccheck

package mvcc

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/hooks"
)

// Somebody has locked a bucket to insert a key, and found that the table has no indexes.
// NewIndex waits for it.
func TestIndexWaitsForInsert(t *testing.T) {
	x := newIndexing(t, false)
	s := newStage(t)
	inserter := s.actor("inserter", func() { x.m.Store(1, 8) }).to(hooks.InsertLocked)
	var built atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		x.build(t)
		built.Store(true)
	}()
	require.Eventually(t, func() bool {
		return built.Load() || standing("passLocks")
	}, patience, time.Millisecond)
	require.False(t, built.Load())
	inserter.finish()
	<-done
	x.check(t, x.m)
}

// And what a writer that has seen no index installs is what NewIndex writes over, or is
// aborted by it.
func TestIndexMeetsWhatIsInstalled(t *testing.T) {
	for _, multi := range []bool{false, true} {
		x := newIndexing(t, false)
		x.m.Store(1, 8)
		s := newStage(t)
		writer := s.actor("writer", func() {
			if !multi {
				x.m.Store(1, 16)
				return
			}
			require.NoError(t, x.m.Update(bg, nil, func(tx Tx[int, int]) error {
				tx.Set(1, 16)
				tx.Set(2, 24)
				return nil
			}))
		})
		if multi {
			writer.to(hooks.InstalledAll)
		} else {
			writer.to(hooks.StoreInstalled)
		}
		x.build(t)
		x.check(t, x.m)
		writer.finish()
		x.check(t, x.m)
		require.Equal(t, 16, must(x.m.Load(1)))
	}
}
