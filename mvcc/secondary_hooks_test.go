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
