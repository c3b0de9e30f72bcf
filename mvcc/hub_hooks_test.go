//go:build mvcccheck

package mvcc

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/debug/hooks"
)

// A note that comes between the last look for notes and the moment at which the hub is idle has the
// next round made as soon as any other note, by the clock of the bubble.
func TestNoteBeforeHubIsIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New[int, int](nil)
		defer m.Close()
		commits := m.Watch(t.Context(), nil)
		var noted time.Time
		once(t, hooks.RoundSet, func() {
			noted = time.Now()
			m.Store(1, 1)
		})
		for _, err := range commits {
			require.NoError(t, err)
			require.Equal(t, hubPause, time.Since(noted))
			break
		}
	})
}
