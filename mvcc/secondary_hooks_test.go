//go:build mvcccheck

package mvcc

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/hooks"
	"github.com/mvccmap/mvccmap/internal/stage"
)

// Somebody has locked a bucket to insert a key, and found that the table has no indexes.
// NewIndex waits for it.
func TestIndexWaitsForInsert(t *testing.T) {
	x := newIndexing(t, false)
	s := stage.New(t)
	inserter := s.Actor("inserter", func() { x.m.Store(1, 8) }).To(hooks.InsertLocked)
	var built atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		x.build(t)
		built.Store(true)
	}()
	require.Eventually(t, func() bool {
		return built.Load() || stage.Standing("PassLocks")
	}, stage.Patience, time.Millisecond)
	require.False(t, built.Load())
	inserter.Finish()
	<-done
	x.check(t, x.m)
}

// And what a writer that has seen no index installs is what NewIndex writes over, or is
// aborted by it.
func TestIndexMeetsWhatIsInstalled(t *testing.T) {
	for _, multi := range []bool{false, true} {
		x := newIndexing(t, false)
		x.m.Store(1, 8)
		s := stage.New(t)
		writer := s.Actor("writer", func() {
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
			writer.To(hooks.InstalledAll)
		} else {
			writer.To(hooks.StoreInstalled)
		}
		x.build(t)
		x.check(t, x.m)
		writer.Finish()
		x.check(t, x.m)
		require.Equal(t, 16, must(x.m.Load(1)))
	}
}
